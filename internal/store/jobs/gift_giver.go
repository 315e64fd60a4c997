package jobs

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"donorbook/internal/crm"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/giving"
	"donorbook/internal/store"
	"donorbook/internal/store/contacts"
	"donorbook/internal/store/gifts"
)

// Rows of a file that have no email or phone say who gave by the name with the id, or with the ZIP code and the street. Rows with the same ones are gifts of one contact, which
// the run remembers by 64 bits of these (trial). What a run has forgotten because the program ended, the gifts tell: rows that are done have recorded them.

// giverKeys are what a row without an email or a phone is known by; a row that was not checked has none.
func (row *giftRow) giverKeys() []string {
	if row.Refused != nil || row.Contact != nil || row.IsRefund() || len(row.Giver.ReachKeys()) > 0 {
		return nil
	}
	return row.Giver.NameKeys()
}

// meet tells a row which contact rows before have had for the same giver, and which contacts may have its name and address.
func (r *ImportRun) meet(a *store.Account, row *ImportRow, before int64) {
	filed := row.Gift.Filed
	if filed == nil {
		return
	}
	same := r.givers.first(row.Gift.giverKeys())
	r.givers.pretend(a, same)
	if filed.Same, filed.Neighbors, filed.OtherName = same.id, 0, OtherNameModes[r.spec.OtherName]; r.spec.MatchNames {
		filed.Neighbors = before
	}
}

// meetPlan tells a row of a dry run whose plan it names, where rows before would make that plan.
func (r *ImportRun) meetPlan(a *store.Account, filed *giving.Filed) {
	plan := r.trial.first(planKeys(filed))
	r.trial.pretend(a, plan)
	filed.PlanOf = plan.id
}

// planKeys are what a dry run knows the plan of a row by.
func planKeys(filed *giving.Filed) []string {
	if filed.Plan == "" {
		return nil
	}
	return []string{find.PlanReference + filed.Plan}
}

// takeGiver notes what a person has to know about the giver of a gift.
func (row *TrialRow) takeGiver(from *giftRow, made *gifts.GiftDocument) {
	row.LeftOut = append(row.LeftOut, from.leftOut()...)
	row.anonymous = from.Anonymous && made.Created
	if row.NewContact = made.NewGiver; made.PlanOf != nil {
		column := cmp.Or(from.SentAs["plan"], from.SentAs["refund_of"], "Plan")
		row.LeftOut = append(row.LeftOut, crm.LeftOut{Column: column, Value: from.Filed.Plan, Reason: "is a recurring gift of " + made.PlanOf.Contact.PersonName().String() + ": the gift is recorded without it"})
	}
	if row.OtherName = made.Other != nil; row.OtherName {
		row.meets(&from.Giver, made.Other)
	}
	if row.OtherName || len(row.LeftOut) > 0 {
		row.FileName = from.Giver.PersonName().String()
	}
}

// decideTry decides about a gift of a dry run. A contact that was found by its name and address gets the id of its row, so that a row with another id does
// not find it.
func (r *ImportRun) decideTry(t *store.Tx, a *store.Account, in *giving.GiftInput) (made gifts.GiftDocument, err error) {
	made, _, err = gifts.DecideGift(t, a, in, r.store.Now())
	if err != nil || made.Existing || made.NewGiver || made.Skipped || made.LosesID || in.Giver.AddedIDs == nil || in.Filed.Neighbors == 0 {
		return made, err
	}
	taken := fmt.Sprint("taken ", made.Contact)
	if len(r.trial.holding(taken)) > 0 {
		in.Filed.Neighbors = 0
		made, _, err = gifts.DecideGift(t, a, in, r.store.Now())
		return made, err
	}
	c, err := contacts.Row(t, a, made.Contact)
	if err == nil && c != nil && !slices.ContainsFunc(c.Contact.ExternalIDs, func(id crm.ExternalID) bool { return id.Value == in.Giver.AddedIDs[0].Value }) {
		r.trial.give(made.Contact, crm.PersonName{}, taken)
	}
	return made, err
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
	if keys := row.Gift.giverKeys(); len(keys) > 0 {
		c.keys[*row.Gift.ExternalID], c.externals = keys, append(c.externals, *row.Gift.ExternalID)
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
