package store

import (
	"context"
	"encoding/binary"
	"errors"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/sheet"
	"donorbook/internal/table"
)

// GiftOutcome is what became of one of several gifts.
type GiftOutcome struct {
	GiftDocument
	Refused *doc.Invalid // nil where it was recorded or known
}

// CreateGifts records gifts of valid inputs, one after the other, as CreateGift does each of them. They share a commit. One that is refused
// leaves the others alone.
func (s *JobStore) CreateGifts(ctx context.Context, account int64, inputs []*crm.GiftInput) (outcomes []GiftOutcome, err error) {
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
			if err != nil && !errors.As(err, &outcomes[i].Refused) {
				return err
			}
		}
		return nil
	})
	return outcomes, err
}

// unitGifts is how many gifts of a file are recorded together at most: each changes many sums, and most change a contact.
const unitGifts = 100

// giftRow is a row of a file of gifts.
type giftRow struct {
	*sheet.GiftRow
	isJSON  bool
	refused error // what is wrong with it, whatever the database says
}

// check finds what is wrong with the row by itself.
func (row *giftRow) check(region string, now time.Time) {
	row.refused = firstOrFaults(row.refused, row.Validate(region, now))
}

// giftRows reads the rows of a file of gifts.
type giftRows struct {
	table     *table.Reader
	isJSON    bool
	columns   *sheet.Rows
	seen      map[uint64]uint32 // how often each row without an external id came
	most      int               // of seen
	campaigns campaignNames
}

// maxSeen bounds what is remembered of rows without an external id, which is about 30 bytes each.
const maxSeen = 4_000_000

func (s *JobStore) newGiftRows(account int64, spec *FileImport, rows *table.Reader) (*giftRows, error) {
	g := &giftRows{most: maxSeen, campaigns: campaignNames{store: s.GiftStore, account: account}}
	return g, g.begin(spec, rows)
}

// begin begins with the first row of a file. Rows of JSON have the names of the API, whatever their columns are taken for.
func (g *giftRows) begin(spec *FileImport, rows *table.Reader) error {
	mapping := spec.Mapping
	switch {
	case spec.JSON:
		mapping = nil
	case mapping == nil: // of an import that an older version has begun
		mapping = sheet.Gifts.Recognize(rows.Header(), nil)
	}
	if err := sheet.Gifts.Check(mapping); err != nil && !spec.JSON {
		return &table.FileError{Name: spec.Name, Message: reasonOf(err)}
	}
	g.table, g.isJSON, g.columns, g.seen = rows, spec.JSON, sheet.Gifts.Rows(mapping, spec.Region), make(map[uint64]uint32)
	return nil
}

// read is the next row as it stands in the file.
func (g *giftRows) read() (row importRow, err error) {
	if row, err = nextRow(g.table); err != nil {
		return row, err
	}
	row.gift = &giftRow{isJSON: g.isJSON}
	switch line := int(row.line); {
	case row.broken:
		row.gift.GiftRow = g.columns.BrokenGift(line, row.Reason, row.Cells, g.table.Object())
	case g.isJSON:
		row.gift.GiftRow = g.columns.GiftObject(line, g.table.Object())
	default:
		row.gift.GiftRow = g.columns.Gift(line, row.Cells)
	}
	row.broken, row.Reason = false, "" // the gift says what is wrong with it
	return row, nil
}

// next is the next row. One without an external id gets one that is made from what it says, and from how many equal rows came before it.
func (g *giftRows) next() (row importRow, err error) {
	if row, err = g.read(); err != nil {
		return row, err
	}
	read := row.gift.GiftRow
	if read.ExternalID != nil && *read.ExternalID != "" {
		return row, nil
	}
	key := read.Key()
	short := binary.LittleEndian.Uint64(key[:]) // of a million rows, two are taken for the same once in 30 million files
	n, known := g.seen[short]
	if !known && len(g.seen) >= g.most {
		row.gift.refused = fault("external_id", "is needed: a file can have %v different rows without one. Split the file", g.most)
		return row, nil
	}
	read.GiveReference(key, int(n))
	g.seen[short] = n + 1
	return row, nil
}

// findCampaigns finds the campaigns that rows name, and says why rows are rejected before anything is recorded.
func (r *importRun) findCampaigns(ctx context.Context, u *importUnit) error {
	for i := range u.rows {
		row := &u.rows[i]
		var noCampaign error
		if name := row.gift.CampaignName; name != "" {
			id, err := r.gifts.campaigns.find(ctx, name)
			row.gift.Campaign, noCampaign = &id, row.gift.Named(firstOrFaults(err)) // a copy, which has the names of its row
		}
		if err := firstOrFaults(row.gift.refused, noCampaign); err != nil {
			if row.Reason = reasonOf(err); row.Reason == "" {
				return err
			}
		}
	}
	return nil
}

// importGift decides about a row of gifts by a create: what became of it, and the gift, or why it is rejected.
func (t *tx) importGift(a *accountUnit, row *importRow, create func(*crm.GiftInput) (GiftDocument, error)) (outcome string, made GiftDocument, reason string, err error) {
	if own, err := t.exportedGift(a, row.gift.GiftRow); err != nil {
		return "", made, "", err
	} else if own != nil {
		return RowUnchanged, GiftDocument{Gift: own.Gift, Existing: true}, "", nil
	}
	if row.Reason != "" {
		return RowRejected, made, row.Reason, nil
	}
	made, err = create(&row.gift.GiftInput)
	switch {
	case err != nil:
		if reason = reasonOf(row.gift.Named(err)); reason != "" {
			err = nil
		}
		return RowRejected, GiftDocument{}, reason, err
	case made.Existing:
		return RowUnchanged, made, "", nil
	}
	return RowCreated, made, "", nil
}

// exportedGift is the gift that a row was exported from, nil where it is not in this account, or was canceled since, as an undo does.
func (t *tx) exportedGift(a *accountUnit, row *sheet.GiftRow) (*storedGift, error) {
	id := codeID(a.account, row.Own)
	if id == 0 {
		return nil, nil
	}
	found, err := giftsOf(a).gifts.get(t, a.account, id)
	if err != nil || found == nil || found.damage != nil || found.Code != row.Own {
		return nil, err
	}
	if found.Status == crm.Cancelled && (row.Status == nil || *row.Status != string(crm.Cancelled)) {
		return nil, nil
	}
	return found, nil
}
