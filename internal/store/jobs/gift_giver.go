package jobs

import (
	"cmp"
	"context"
	"errors"

	"donorbook/internal/crm"
	"donorbook/internal/crm/text"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

// Rows of a file that have no email or phone say who gave by the name with the id, or with the ZIP code and the street.
// Rows with the same ones are gifts of one contact, which the run remembers by 64 bits of these (trial). What a run has
// forgotten because the program ended, the gifts tell: rows that are done have recorded them.

// giverKeys are what a row without an email or a phone is known by; a row that was not checked has none.
func (row *giftRow) giverKeys() []string {
	if row.Refused != nil || row.Contact != nil || len(row.Giver.ReachKeys()) > 0 {
		return nil
	}
	return row.Giver.NameKeys()
}

// meet tells a row which contact rows before have had for the same giver, or files before from the same source, which
// contacts may have its name and address, and what a person has chosen for all rows.
func (r *ImportRun) meet(u store.Unit, row *ImportRow, before int64) (err error) {
	filed := row.Gift.Filed
	if filed == nil {
		return nil
	}
	keys := row.Gift.giverKeys()
	if filed.Same, filed.Neighbors, filed.OtherName = r.givers.first(keys...), 0,
		OtherNameModes[r.spec.OtherName]; r.spec.MatchNames {
		filed.Neighbors = before
	}
	filed.Thank = r.spec.Thanks
	if filed.Same == 0 && len(keys) > 0 {
		filed.Same, err = r.knownBefore(u, &row.Gift.Giver, before)
	}
	return err
}

// knownBefore is the contact with the name and the address of a row that has no email, phone or id, which a file from
// the same source has made; 0 where there is none. So the next export of a system brings no one twice.
func (r *ImportRun) knownBefore(u store.Unit, in *crm.ContactInput, before int64) (id int64, err error) {
	if len(in.MatchKeys()) > 0 {
		return 0, nil
	}
	found, err := store.MatchSame(u, in, before, func(id int64) (bool, error) { return r.isFromSource(u.Tx, id) })
	if found != nil {
		id = found.ID
	}
	return id, err
}

// sqlMadeBy is the job that has made a contact.
const sqlMadeBy = `SELECT job FROM change WHERE account_id = $1 AND noun = ` + store.ContactNoun +
	` AND id = $2 AND id <> 0 AND kind = ` + store.DidCreate + ` AND job <> 0 ORDER BY revision LIMIT 1`

// isFromSource tells whether an import of a file from the same source has made a contact.
func (r *ImportRun) isFromSource(t *store.Tx, contact int64) (bool, error) {
	made, err := db.List(t.Conn, store.Number, sqlMadeBy, r.account, contact)
	if err != nil || len(made) == 0 {
		return false, err
	}
	is, known := r.sources[made[0]]
	if !known {
		j, err := store.FindIn(t.Conn, crm.ErrNotFound, ScanJob, SQLJob, r.account, made[0])
		if err != nil && !errors.Is(err, crm.ErrNotFound) {
			return false, err
		}
		if im, err := ImportOf(j); err == nil && j.Kind == ImportJob {
			is = im.Spec.source() == r.spec.source()
		}
		r.sources[made[0]] = is
	}
	return is, nil
}

// source is what tells that files come from one place: the system, or else the columns.
func (spec *FileImport) source() string {
	return cmp.Or(spec.Mapping.System(), headerKey(spec.Of, spec.Header))
}

// takeGiver notes what a person has to know about the giver of a gift.
func (row *TrialRow) takeGiver(from *giftRow, made *store.GiftDocument) {
	if !made.Existing || made.Updated { // of a row that is known, nothing is taken
		row.LeftOut = append(row.LeftOut, from.leftOut()...)
	}
	row.anonymous, row.newContacts, row.marked = store.Flag(from.Anonymous && made.Created), store.Flag(made.NewGiver),
		store.Flag(made.Marked)
	if made.NewGiver {
		row.ReadAs, row.unusual = from.Giver.ReadAs, from.Giver.Unusual
	}
	if row.waits = made.Waits; row.waits {
		amount := text.MoneyInput(-made.Payment().Amount, made.Currency)
		row.ReadAs = append(row.ReadAs, crm.LeftOut{Column: cmp.Or(from.SentAs["amount"], "Amount"), Value: amount,
			Reason: "refunds a gift that is not known: it is recorded as a gift that was given back in full, so that nothing counts, and waits for its gift"})
	}
	if row.NewContact = made.NewGiver; made.PlanOf != nil {
		column := cmp.Or(from.SentAs["plan"], from.SentAs["refund_of"], "Plan")
		row.LeftOut = append(row.LeftOut, crm.LeftOut{Column: column, Value: from.Filed.Plan,
			Reason: "is a recurring gift of " + made.PlanOf.Contact.PersonName().String() +
				": the gift is recorded without it"})
	}
	if row.OtherName = made.Other != nil; row.OtherName {
		row.meets(&from.Giver, made.Other)
	}
	if row.OtherName || len(row.LeftOut)+len(row.ReadAs) > 0 {
		row.FileName = from.Giver.PersonName().String()
	}
}

// recalled is how many rows are looked up together.
const recalled = 500

// recall finds out again who the givers of rows are that are done.
type recall struct {
	run       *ImportRun
	keys      map[string][]string // what a row is known by, by its external id
	externals []string            // in the order of the rows
}

func (c *recall) see(ctx context.Context, row *ImportRow) error {
	if row.Gift == nil {
		return nil
	}
	c.run.interpret(row, c.run.now())
	for ; row != nil; row = row.match {
		if keys := row.Gift.giverKeys(); len(keys) > 0 {
			c.keys[*row.Gift.ExternalID], c.externals = keys, append(c.externals, *row.Gift.ExternalID)
		}
	}
	if len(c.externals) < recalled {
		return nil
	}
	return c.look(ctx)
}

func (c *recall) look(ctx context.Context) error {
	if len(c.externals) == 0 {
		return nil
	}
	givers, err := c.run.store.GiversOf(ctx, c.run.account, c.externals)
	for _, external := range c.externals {
		c.run.givers.give(givers[external], crm.PersonName{}, c.keys[external]...)
	}
	c.run.givers.endUnit()
	clear(c.keys)
	c.externals = c.externals[:0]
	return err
}
