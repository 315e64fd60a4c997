package jobs

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/sheet"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/table"
)

// GiftOutcome is what became of one of several gifts.
type GiftOutcome struct {
	store.GiftDocument
	Refused *doc.Invalid // nil where it was recorded or known
}

// CreateGifts records gifts of valid inputs, one after the other, as CreateGift does each of them. They share a commit.
// One that is refused leaves the others alone.
func (s *JobStore) CreateGifts(ctx context.Context, account int64,
	inputs []*giving.GiftInput,
) (outcomes []GiftOutcome, err error) {
	if len(inputs) == 0 {
		return nil, nil
	}
	now := s.Now()
	var n store.Needs
	for _, in := range inputs {
		n.More = append(n.More, store.NewGiftNeeds(account, in))
	}
	err = s.Update(ctx, account, n, func(t *store.Tx) error {
		outcomes = make([]GiftOutcome, len(inputs))
		u, err := t.LockAccount(account)
		if err != nil {
			return err
		}
		for i, in := range inputs {
			outcomes[i].GiftDocument, err = store.RecordGift(u, in, now)
			if err != nil && !errors.As(err, &outcomes[i].Refused) {
				return err
			}
		}
		return nil
	})
	return outcomes, err
}

// UnitGifts is how many gifts of a file are recorded together at most: each changes many sums, and most change a
// contact.
const UnitGifts = 100

// giftRow is a row of a file of gifts.
type giftRow struct {
	*sheet.GiftRow
	isJSON  bool
	Refused error                             // what is wrong with it, whatever the database says
	quote   func([]crm.LeftOut) []crm.LeftOut // adds what the cells of the row say
}

// leftOut is what the gift is recorded without.
func (row *giftRow) leftOut() []crm.LeftOut { return row.quote(slices.Clone(row.LeftOut)) }

// matching is what a company adds to a gift that has nothing wrong with it, nil for nothing.
func (row *ImportRow) matching() *ImportRow {
	if row.Gift.isJSON || row.Gift.Refused != nil {
		return nil
	}
	match := row.Gift.Match()
	if match == nil {
		return nil
	}
	return &ImportRow{Line: row.Line, Gift: &giftRow{GiftRow: match, quote: row.Gift.quote}}
}

// Check finds what is wrong with the row by itself.
func (row *giftRow) Check(region string, now time.Time) {
	row.Refused = store.FirstOrFaults(row.Refused, row.Validate(region, now))
}

// giftRows reads the rows of a file of gifts.
type giftRows struct {
	table     *table.Reader
	isJSON    bool
	columns   *sheet.Rows
	seen      map[uint64]uint32 // how often each key of rows without an external id came
	Most      int               // of seen
	campaigns store.CampaignNames

	// that come after all others: payments of pledges, gifts whose refunds other rows may have, and then these
	later   []ImportRow
	held    int             // bytes of later
	Room    int             // for these bytes
	refunds map[string]bool // the external ids of gifts that rows give back
	atEnd   bool            // of the file
}

// Bounds of the rows that are held back until the file ends.
const (
	maxLater = 50_000
	maxHeld  = 64 << 20 // bytes
)

// maxSeen bounds what is remembered of rows without an external id, which have two keys of about 30 bytes each.
const (
	maxSeen   = 4_000_000
	keysOfRow = 2
)

func (s *JobStore) NewGiftRows(account int64, spec *FileImport, rows *table.Reader) (*giftRows, error) {
	g := &giftRows{Most: maxSeen, Room: maxHeld, campaigns: store.CampaignNames{Store: s.Store, Account: account}}
	return g, g.begin(spec, rows)
}

// begin begins with the first row of a file. Rows of JSON have the names of the API, whatever their columns are taken
// for.
func (g *giftRows) begin(spec *FileImport, rows *table.Reader) error {
	mapping := spec.Mapping
	if spec.JSON {
		mapping = nil
	}
	if err := sheet.Gifts.Check(mapping); err != nil && !spec.JSON {
		return &table.FileError{Name: spec.Name, Message: ReasonOf(err)}
	}
	g.table, g.isJSON, g.columns, g.seen = rows, spec.JSON,
		sheet.Gifts.Rows(mapping, spec.Region).UsualNames(spec.UsualNames).Days(spec.Days), make(map[uint64]uint32)
	g.later, g.held, g.refunds, g.atEnd = nil, 0, make(map[string]bool), false
	return nil
}

// read is the next row as it stands in the file.
func (g *giftRows) read() (row ImportRow, err error) {
	if row, err = nextRow(g.table); err != nil {
		return row, err
	}
	cells, columns := row.Cells, g.columns
	row.Gift = &giftRow{isJSON: g.isJSON, quote: func(left []crm.LeftOut) []crm.LeftOut {
		return columns.Quoted(left,
			cells)
	}}
	switch line := int(row.Line); {
	case row.broken:
		row.Gift.GiftRow = g.columns.BrokenGift(line, row.Reason, row.Cells, g.table.Object())
	case g.isJSON:
		row.Gift.GiftRow = g.columns.GiftObject(line, g.table.Object())
	default:
		row.Gift.GiftRow = g.columns.Gift(line, row.Cells)
	}
	row.broken, row.Reason = false, "" // the gift says what is wrong with it
	return row, nil
}

// Next is the next row. Payments come after all pledges, and refunds after all gifts: many systems list the latest
// first.
func (g *giftRows) Next() (row ImportRow, err error) {
	for !g.atEnd {
		row, err = g.named()
		if g.atEnd = errors.Is(err, io.EOF); g.atEnd {
			slices.SortStableFunc(g.later, func(a, b ImportRow) int {
				return cmp.Compare(store.Flag(a.Gift.IsRefund()), store.Flag(b.Gift.IsRefund()))
			})
			break
		}
		if err == nil && row.Gift.IsRefund() {
			g.noteRefund(row.Gift.GiftRow)
		}
		if err != nil || !g.isLater(&row) {
			return g.settled(row), err
		}
		g.later, g.held = append(g.later, row), g.held+row.size()
	}
	if len(g.later) == 0 {
		return row, io.EOF
	}
	row, g.later = g.later[0], g.later[1:]
	return g.settled(row), nil
}

// noteRefund notes which gift a row gives back, unless the row says that this has not happened.
func (g *giftRows) noteRefund(row *sheet.GiftRow) {
	if gift, ok := row.GivesBack(); ok {
		g.refunds[gift] = true
	}
}

// settled is a row whose refund another one may have told, which was read by now.
func (g *giftRows) settled(row ImportRow) ImportRow {
	if row.Gift != nil && row.Gift.AwaitsRefund() {
		row.Gift.FindRefund(g.refunds[*row.Gift.ExternalID])
	}
	return row
}

// isLater tells whether a row is held back. Payments leave room for refunds, which would be rejected.
func (g *giftRows) isLater(row *ImportRow) bool {
	hasRoom := func(part int) bool { return len(g.later) < maxLater/part && g.held+row.size() <= g.Room/part }
	return (row.Gift.IsRefund() || row.Gift.AwaitsRefund()) && hasRoom(1) || row.Gift.OfPledge() && hasRoom(2)
}

// size is about how many bytes a row holds: it keeps its cells, and what was read from them.
func (row *ImportRow) size() (n int) {
	for _, cell := range row.Cells {
		n += 2 * len(cell)
	}
	return n
}

// named is the next row of the file. One without an external id gets one that is made from what it says, and from how
// many rows that say it came before.
func (g *giftRows) named() (row ImportRow, err error) {
	if row, err = g.read(); err != nil {
		return row, err
	}
	read := row.Gift.GiftRow
	if read.ExternalID != nil && *read.ExternalID != "" && !read.IsRefund() {
		return row, nil
	}
	row.Gift.Refused = read.GiveReference(g.count)
	return row, nil
}

// count tells how many rows with a key came before, and counts one more.
func (g *giftRows) count(key sheet.RowKey) (before int, err error) {
	// of a million rows, two are taken for the same once in 30 million files
	short := binary.LittleEndian.Uint64(key[:])
	n, known := g.seen[short]
	if !known && len(g.seen) >= g.Most {
		return 0,
			store.Fault("external_id",
				"is required: a file can have at most %v different rows without one. Split the file", g.Most/keysOfRow)
	}
	g.seen[short] = n + 1
	return int(n), nil
}

// making does a unit of work of an import, beside those about rows.
type making func(store.Needs, func(*store.Tx) error) error

// findCampaigns finds the campaigns that rows name, and says why rows are rejected before anything is recorded.
func (r *ImportRun) findCampaigns(ctx context.Context, u *importUnit, by making) error {
	for i := range u.Rows {
		for row := &u.Rows[i]; row != nil && row.Gift != nil; row = row.match {
			if err := r.findCampaign(ctx, row, by); err != nil {
				return err
			}
		}
	}
	return nil
}

// findPromise makes a row that has the reference of a promised gift one of who promised it.
func (r *ImportRun) findPromise(ctx context.Context, row *ImportRow) error {
	if row.Gift.IsRefund() || row.Gift.isJSON {
		return nil
	}
	known := r.gifts.campaigns.Store
	err := known.View(ctx, func(c db.Conn) (err error) {
		if row.promise, err = store.PromiseIn(c, r.account, strings.Join(row.Cells, "\n")); err != nil ||
			row.promise == nil {
			return err
		}
		return known.Fill(c, r.account, row.promise, &row.Gift.GiftInput)
	})
	if err == nil && row.promise != nil {
		row.Gift.Refused = nil
		row.Gift.Check(r.spec.Region, r.now())
	}
	return err
}

func (r *ImportRun) findCampaign(ctx context.Context, row *ImportRow, by making) error {
	if err := r.findPromise(ctx, row); err != nil {
		return err
	}
	if err := row.Gift.Refused; err != nil {
		if row.Reason = ReasonOf(err); row.Reason == "" {
			return err
		}
		return nil
	}
	name := row.Gift.CampaignName
	if name == "" {
		return nil
	}
	id, err := r.campaignNamed(ctx, name, by)
	reason := ReasonOf(err)
	switch {
	case err == nil:
		row.Gift.Campaign = &id
	case reason == "":
		return err
	default: // the money has come all the same
		row.Gift.Campaign, row.Gift.CampaignName = nil, ""
		row.Gift.LeftOut = append(row.Gift.LeftOut, crm.LeftOut{Column: cmp.Or(row.Gift.SentAs["campaign"], "campaign"),
			Value: name, Reason: noCampaignReason(err)})
	}
	return nil
}

// noCampaignReason says why a gift has no campaign.
func noCampaignReason(err error) string {
	if store.IsNoCampaign(err) {
		return "is not an existing campaign"
	}
	var refused *doc.Invalid
	errors.As(err, &refused)
	return refused.Faults[0].Format(string(refused.Faults[0].Rule))
}

// campaignNamed is the campaign that a row names. One that does not exist is made where a person wants that; a dry run
// takes it as made.
func (r *ImportRun) campaignNamed(ctx context.Context, name string, by making) (id int64, err error) {
	id, err = r.gifts.campaigns.Find(ctx, name)
	if !store.IsNoCampaign(err) {
		return id, err
	}
	switch {
	case r.trial != nil:
		if r.trial.explain(sheet.UnknownValue{Target: "campaign", Value: name}); r.spec.Mode != LeaveCampaigns {
			return r.gifts.campaigns.Try(name)
		}
		return id, err
	case r.spec.Mode == LeaveCampaigns:
		return id, err
	}
	return r.gifts.campaigns.Make(ctx, name, by)
}

// add adds what a row adds to all sums.
func (p *ImportProgress) add(currency string, amount int64) {
	if amount == 0 {
		return
	}
	counted := maps.Clone(p.Counted) // a unit of work may be decided about again
	if counted == nil {
		counted = make(map[string]int64)
	}
	counted[currency] += amount
	p.Counted = counted
}

// importGift decides about a row of gifts: what became of it, and the gift, or why it is rejected. What has nothing to
// do with the money is left out.
func (r *ImportRun) importGift(u store.Unit, row *ImportRow,
	now time.Time,
) (outcome string, made store.GiftDocument, reason string, err error) {
	if own, err := exportedGift(u, row.Gift.GiftRow); err != nil {
		return "", made, "", err
	} else if own != nil {
		if own.Void != nil {
			return RowSkipped, store.GiftDocument{Gift: own.Gift, Existing: true}, own.Void.Says(), nil
		}
		return RowUnchanged, store.GiftDocument{Gift: own.Gift, Existing: true}, "", nil
	}
	if row.Reason != "" && row.Gift.IsNoGift() {
		return RowSkipped, made, row.Reason, nil
	}
	if row.Reason != "" {
		return RowRejected, made, row.Reason, nil
	}
	for {
		made, err = recordGift(u, &row.Gift.GiftInput, now)
		sent, filed := row.Gift.GiftInput, *row.Gift.Filed
		if err == nil || row.Gift.isJSON || !row.Gift.Without(err, &sent, &filed) {
			break
		}
		row.Gift.GiftInput, *row.Gift.Filed = sent, filed
		if err = row.Gift.Validate(r.spec.Region, r.now()); err != nil {
			break
		}
	}
	if err == nil && !made.Created && !made.Skipped {
		err = store.MarkGiver(u, &made, &row.Gift.GiftInput, now)
	}
	switch {
	case err != nil:
		if reason = ReasonOf(row.Gift.Named(err)); reason != "" {
			err = nil
		}
		return RowRejected, store.GiftDocument{}, reason, err
	case made.Installment:
		return RowSkipped, made, "This installment of pledge " + row.Gift.Filed.Pledge +
			" has not been paid yet: the pledge has its amount.", nil
	case made.Skipped:
		return RowSkipped, made, "", nil
	case made.Existing && made.Void != nil:
		return RowSkipped, made, made.Void.Says(), nil
	case made.Updated, row.Gift.IsRefund() && !made.Existing && !made.Waits:
		return RowMerged, made, "", nil
	case made.Existing:
		return RowUnchanged, made, "", nil
	}
	if row.promise != nil {
		err = store.KeepPromise(u, row.promise, made.Code)
	}
	return RowCreated, made, "", err
}

// recordGift records a row of gifts: a gift, or a refund of one.
func recordGift(u store.Unit, in *giving.GiftInput, now time.Time) (store.GiftDocument, error) {
	if in.Filed.IsRefund {
		return store.RecordRefund(u, in, now)
	}
	return store.RecordGift(u, in, now)
}

// exportedGift is the gift that a row was exported from, nil where it is not in this account, or was canceled since, as
// an undo does.
func exportedGift(u store.Unit, row *sheet.GiftRow) (*store.StoredGift, error) {
	id := store.CodeID(u.Number, row.Own)
	if id == 0 {
		return nil, nil
	}
	found, err := u.Gifts.Get(u.Tx, u.Number, id)
	if err != nil || found == nil || found.Damage != nil || found.Code != row.Own {
		return nil, err
	}
	if found.Status == giving.Cancelled && (row.Status == nil || *row.Status != string(giving.Cancelled)) {
		return nil, nil
	}
	return found, nil
}

// maxUnknown is how many values a dry run asks a person about.
const maxUnknown = 100

// explain notes a value that a person has to explain.
func (tr *trial) explain(value sheet.UnknownValue) {
	if len(tr.told.Unknown) < maxUnknown && !slices.Contains(tr.told.Unknown, value) {
		tr.told.Unknown = append(tr.told.Unknown, value)
	}
}
