package store

import (
	"context"
	"errors"
	"io"
	"slices"
	"strconv"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

// GiftOutcome is what became of one of several gifts.
type GiftOutcome struct {
	GiftDocument
	Refused *crm.Invalid // nil where it was recorded or known
}

// errTakeBack undoes a trial.
var errTakeBack = errors.New("the trial is taken back")

// CreateGifts records gifts of valid inputs, one after the other, as CreateGift does each of them. They share a commit. One that is refused
// leaves the others alone. A trial tells what would become of them, and changes nothing.
func (s *Store) CreateGifts(ctx context.Context, account int64, inputs []*crm.GiftInput, trial bool) (outcomes []GiftOutcome, err error) {
	if len(inputs) == 0 {
		return nil, nil
	}
	now := s.now()
	var n needs
	for _, in := range inputs {
		n.more = append(n.more, newGiftNeeds(account, in))
	}
	err = s.update(ctx, account, n, func(t *tx) error {
		outcomes = make([]GiftOutcome, len(inputs))
		a, err := t.lock(account)
		if err != nil {
			return err
		}
		for i, in := range inputs {
			outcomes[i].GiftDocument, err = t.recordGift(a, in, now)
			if err = in.Named(err); err != nil && !errors.As(err, &outcomes[i].Refused) {
				return err
			}
		}
		if trial {
			return errTakeBack
		}
		return nil
	})
	if errors.Is(err, errTakeBack) {
		err = nil
	}
	return outcomes, err
}

// GiftImport says how a file of gifts is imported.
type GiftImport struct {
	Region   string                                      // of phone numbers without +
	Trial    bool                                        // change nothing
	Rejected func(row *crm.GiftRow, reason string) error // is called for each row that is refused, in their order
	Progress func(result GiftImportResult)               // is called after each commit
}

// GiftImportResult is how many rows were read, and what became of them.
type GiftImportResult struct {
	Rows     int64 `json:"rows"`
	Recorded int64 `json:"recorded"`
	Known    int64 `json:"known"` // recorded before, by their external ids
	Rejected int64 `json:"rejected"`
	Contacts int64 `json:"new_contacts"`
}

// Rows of a file that are recorded together at most, and how many bytes they have together, about.
const (
	importRows  = 100
	importBytes = 4 << 20
)

// importing is an import that is under way.
type importing struct {
	GiftImport
	store     *Store
	account   int64
	seen      map[crm.RowKey]int // how often each row without an external id came
	campaigns map[string]int64   // that were named
	made      map[string]bool    // match keys of the contacts that a trial would have made
	result    GiftImportResult
}

// ImportGifts records the rows of a file as gifts. Rows are decided about in their order, some together. What was recorded before is found
// by its external id, so an import that was interrupted goes on when it is started again.
func (s *Store) ImportGifts(ctx context.Context, account int64, file *crm.GiftFile, how GiftImport) (GiftImportResult, error) {
	m := &importing{GiftImport: how, store: s, account: account, seen: map[crm.RowKey]int{}, campaigns: map[string]int64{}, made: map[string]bool{}}
	for {
		rows, err := nextRows(file)
		if len(rows) == 0 || err != nil {
			return m.result, err
		}
		if err := m.record(ctx, rows); err != nil {
			return m.result, err
		}
		m.Progress(m.result)
	}
}

// nextRows are some rows; none at the end of the file.
func nextRows(file *crm.GiftFile) (rows []*crm.GiftRow, err error) {
	for size := 0; len(rows) < importRows && size < importBytes; {
		row, err := file.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		rows, size = append(rows, row), size+row.Size()
	}
	return rows, nil
}

func (m *importing) record(ctx context.Context, rows []*crm.GiftRow) error {
	reasons := make([]error, len(rows))
	var inputs []*crm.GiftInput
	for i, row := range rows {
		key := row.Key()
		if row.ExternalID == nil || *row.ExternalID == "" {
			row.GiveReference(key, m.seen[key])
			m.seen[key]++
		}
		reasons[i] = firstOrFaults(row.Validate(m.Region, m.store.now()), m.findCampaign(ctx, row))
		var refused *crm.Invalid
		switch {
		case reasons[i] == nil:
			inputs = append(inputs, &row.GiftInput)
		case !errors.As(reasons[i], &refused):
			return reasons[i]
		}
	}
	outcomes, err := m.store.CreateGifts(ctx, m.account, inputs, m.Trial)
	if err != nil {
		return err
	}
	for i, row := range rows {
		if reasons[i] == nil {
			reasons[i] = m.count(row, outcomes[0])
			outcomes = outcomes[1:]
		}
		if err := m.told(row, reasons[i]); err != nil {
			return err
		}
	}
	return nil
}

// count notes what became of a row; the error is why it was refused.
func (m *importing) count(row *crm.GiftRow, outcome GiftOutcome) error {
	keys := row.Giver.MatchKeys()
	known := m.Trial && slices.ContainsFunc(keys, func(key string) bool { return m.made[key] })
	switch {
	case outcome.Refused != nil && known && outcome.Refused.Faults[0].Rule == crm.UnknownGiver && len(outcome.Refused.Faults) == 1:
		m.result.Recorded++ // a row further up would have made the contact
	case outcome.Refused != nil:
		return outcome.Refused
	case outcome.Existing:
		m.result.Known++
	default:
		m.result.Recorded++
		if outcome.NewGiver && !known {
			m.result.Contacts++
		}
	}
	if m.Trial && outcome.NewGiver {
		for _, key := range keys {
			m.made[key] = true
		}
	}
	return nil
}

func (m *importing) told(row *crm.GiftRow, reason error) error {
	m.result.Rows++
	var refused *crm.Invalid
	if !errors.As(reason, &refused) {
		return reason
	}
	m.result.Rejected++
	return m.Rejected(row, refused.AllFaults())
}

// findCampaign finds the campaign that a row names by its id or its slug.
func (m *importing) findCampaign(ctx context.Context, row *crm.GiftRow) error {
	if row.CampaignName == "" {
		return nil
	}
	id, known := m.campaigns[row.CampaignName]
	if !known {
		var err error
		if id, err = m.store.CampaignNamed(ctx, m.account, row.CampaignName); err != nil {
			return row.Named(err)
		}
		m.campaigns[row.CampaignName] = id
	}
	row.Campaign = &id
	return nil
}

// ContactNamed is the active contact of an account with an id, an email or a phone. One that several contacts have is a fault of the
// field contact.
func (s *Store) ContactNamed(ctx context.Context, account int64, name, region string) (int64, error) {
	if id, err := strconv.ParseInt(name, 10, 64); err == nil {
		if err := s.CheckContact(ctx, account, id); err == nil || !errors.Is(err, crm.ErrNotFound) {
			return id, archivedFault(err)
		}
	}
	key, ok := crm.MatchKey(name, region)
	if !ok {
		return 0, fault("contact", noContact)
	}
	ids, err := snapshot(ctx, s, func(c db.Conn) ([]int64, error) {
		found, err := db.List(c, func(r db.Row) int64 { return r.Int(1) }, sqlMatch, account, []string{key})
		if err != nil || len(found) == 0 {
			return nil, err
		}
		return db.List(c, number, sqlActive, account, found)
	})
	slices.Sort(ids)
	switch {
	case err != nil:
		return 0, err
	case len(ids) == 0:
		return 0, fault("contact", noContact)
	case len(ids) > 1:
		return 0, fault("contact", "is the email or the phone of several contacts: name one by its id, such as %v or %v", ids[0], ids[1])
	}
	return ids[0], nil
}

const noContact crm.Rule = "must be the id, an email or a phone of one of the account's active contacts"

func archivedFault(err error) error {
	if errors.Is(err, crm.ErrArchived) {
		return fault("contact", "is the id of an archived contact: restore the contact first")
	}
	return err
}

// CampaignNamed is the campaign of an account with an id or a slug, which may be one that it had before. Where there is none, it is a fault
// of the field campaign.
func (s *Store) CampaignNamed(ctx context.Context, account int64, name string) (int64, error) {
	number, _ := strconv.ParseInt(name, 10, 64) // 0 is no id
	for _, ask := range []struct {
		sql string
		arg any
	}{{sqlCampaignRow, number}, {sqlSlug, name}, {sqlCampaignByOldSlug, name}} {
		row, err := find(ctx, s, crm.ErrNotFound, func(r db.Row) [2]int64 { return [2]int64{r.Int(0), r.Int(1)} }, ask.sql, ask.arg)
		switch {
		case err == nil && row[1] == account:
			return row[0], nil
		case err != nil && !errors.Is(err, crm.ErrNotFound):
			return 0, err
		}
	}
	return 0, fault("campaign", "must be the id or the slug of one of the account's campaigns")
}
