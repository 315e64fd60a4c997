package store

import (
	"context"
	"errors"
	"slices"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/db"
)

const (
	giftColumns = `id, contact_id, campaign_id, plan_id, status, code, body, checksum, revision, given_at`

	sqlLoadGifts = `SELECT ` + giftColumns + ` FROM gift WHERE account_id = $1 AND id = ANY($2)`

	sqlReferences = `SELECT reference, id FROM external_reference WHERE account_id = $1 AND reference = ANY($2)`
)

// The kinds of external references.
const (
	giftReference = "g:"
	planReference = "p:"
)

// GiftDocument is a gift as a change has left it.
type GiftDocument struct {
	crm.Gift
	Slug     string // of its campaign
	Created  bool   // it is new
	Existing bool   // a create has found it by its external id
	NewGiver bool   // a create has made a contact
}

// Fate tells what has become of a create.
func (d GiftDocument) Fate() (created, merged bool) { return d.Created, false }

// Append appends the wire form.
func (d GiftDocument) Append(dst []byte) []byte {
	return crm.AppendGift(dst, d.ID, d.Code, d.Campaign, d.Slug, d.AppendBody(nil))
}

// storedGift is a gift as it is stored, whether it can be read or not.
type storedGift struct {
	crm.Gift
	body     []byte
	revision int64 // of its last change
	damage   error
}

func scanGift(r db.Row) (int64, *storedGift) {
	id := r.Int(0)
	body, err := documentIn(giftTable, r, 6, id)
	g := &storedGift{body: slices.Clone(body), revision: r.Int(8), damage: err}
	if err == nil {
		g.Gift, g.damage = crm.ParseGift(id, r.Text(5), r.Int(2), g.body)
		g.Local = moment(r.Int(9))
	}
	return id, g
}

func scanReference(r db.Row) (string, int64) { return r.Text(0), r.Int(1) }

// CreateGift records a gift of a valid input. Its giver is a contact of the account, or is found or made as by a create of a contact. An
// external id that is known already answers with its gift, where that is what was sent.
func (s *GiftStore) CreateGift(ctx context.Context, account int64, in crm.GiftInput) (GiftDocument, error) {
	now := s.now()
	return answered(ctx, s.Base, account, newGiftNeeds(account, &in), func(t *tx) (GiftDocument, error) {
		a, err := t.lock(account)
		if err != nil {
			return GiftDocument{}, err
		}
		return t.recordGift(a, &in, now)
	})
}

// recordGift finds the gift with the external id that was sent, or makes a new one.
func (t *tx) recordGift(a *accountUnit, in *crm.GiftInput, now time.Time) (GiftDocument, error) {
	made, from, err := t.decideGift(a, in, now)
	if err != nil || made.Existing {
		return made, err
	}
	return t.insertGift(a, made, from, now)
}

// newGiftNeeds is giftNeeds with what finds the giver of a new gift.
func newGiftNeeds(account int64, in *crm.GiftInput) needs {
	n := giftNeeds(account, in)
	if in.Contact == nil {
		n.keys, n.sets = in.Giver.MatchKeys(), append(n.sets, in.Giver.CommonWords()...)
	}
	return n
}

// giftNeeds is what a create or a change of a gift will look up.
func giftNeeds(account int64, in *crm.GiftInput) (n needs) {
	if in.Campaign != nil && *in.Campaign != 0 {
		n.campaigns, n.sets = append(n.campaigns, *in.Campaign), giftSets(*in.Campaign)
	}
	if in.Contact != nil && !foreign(account, *in.Contact) {
		n.contact = *in.Contact
	}
	if in.Plan != nil && *in.Plan != "" {
		n.plan = codeID(account, *in.Plan)
	}
	if in.ExternalID != nil && *in.ExternalID != "" {
		n.references = append(n.references, giftReference+*in.ExternalID)
	}
	n.gift = in
	return n
}

// codeID is the id that a public id stands for, 0 where it can be none.
func codeID(account int64, code string) int64 {
	if seq, ok := crm.CodeSeq(code); ok {
		return crm.MakeID(account, seq)
	}
	return 0
}

// sameGift is the gift with the external id that was sent, nil where there is none.
func (t *tx) sameGift(a *accountUnit, in *crm.GiftInput) (*storedGift, error) {
	if in.ExternalID == nil || *in.ExternalID == "" {
		return nil, nil
	}
	id, err := giftsOf(a).references.get(t, a.account, giftReference+*in.ExternalID)
	if err != nil || id == 0 {
		return nil, err
	}
	found, err := giftsOf(a).gifts.get(t, a.account, id)
	switch {
	case err != nil:
		return nil, err
	case found == nil:
		return nil, &Damaged{Table: giftTable.Name, ID: id, Account: a.account}
	case found.damage != nil:
		return nil, found.damage
	case !in.Agrees(&found.Gift):
		return nil, fault("external_id", "belongs to gift %v, which differs from what was sent", found.Code)
	}
	return found, nil
}

// decideGift is the gift with the external id that was sent, or else a new one and its giver. It writes nothing.
func (t *tx) decideGift(a *accountUnit, in *crm.GiftInput, now time.Time) (made GiftDocument, from giver, err error) {
	found, err := t.sameGift(a, in)
	switch {
	case err != nil:
		return made, from, err
	case found != nil:
		return GiftDocument{Gift: found.Gift, Slug: t.slug(a, found.Campaign), Existing: true}, from, nil
	}
	campaign, campaignErr := t.ownCampaign(a, in.Campaign)
	plan, planErr := t.planOf(a, in.Plan)
	from, giverErr := t.giver(a, in, now)
	if err := firstOrFaults(campaignErr, planErr, giverErr); err != nil {
		return made, from, err
	}
	if plan != nil && plan.Contact != from.contact.ID {
		return made, from, fault("plan_id", doc.OtherGiver)
	}
	currency, code := a.currencyOf(in), ""
	if campaign != nil {
		made.Slug = campaign.slug
	}
	if plan != nil {
		code = plan.Code
	}
	if made.Gift, err = crm.NewGift(in, &from.contact, currency, code, now); err == nil {
		made.Local = crm.GiftClock(made.At, a.location())
		err = t.checkSum(a, &made.Gift)
	}
	made.Created, made.NewGiver = true, from.isNew
	return made, from, err
}

// insertGift writes a gift that was decided about, and its giver.
func (t *tx) insertGift(a *accountUnit, made GiftDocument, from giver, now time.Time) (_ GiftDocument, err error) {
	if a.giftSeq >= crm.MaxSeq {
		return made, errors.New("the account has given out all its ids of gifts")
	}
	if made.Contact, err = from.save(t, a); err != nil {
		return made, err
	}
	a.touch(t)
	a.giftSeq++
	made.ID = crm.MakeID(a.account, a.giftSeq)
	made.Code = crm.NewCode(made.ID)
	if from.isNew {
		a.knowNone(shareOf(&made.Gift))
	}
	t.writeGift(t.Insert, a, t.record(a, crm.GiftNoun, made.ID, crm.DidCreate, ""), &made.Gift)
	if made.ExternalID != "" {
		t.refer(a, giftReference+made.ExternalID, made.ID)
	}
	return made, t.afterGift(a, nil, &made.Gift, now)
}

// checkSum refuses a gift that no sum can hold.
func (t *tx) checkSum(a *accountUnit, g *crm.Gift) error {
	sums, err := campaignsOf(a).giving.get(t, a.account, crm.Cell(0, crm.Month(g.Local), g.Currency, 0))
	if err == nil && sums != nil && sums.Amount > maxSum {
		err = fault("amount", "is refused: the gifts of the account would be too much to count")
	}
	return err
}

// giver is the contact that a gift is from, and what becomes of it.
type giver struct {
	contact crm.Contact
	row     *stored // of a contact that is there
	isNew   bool
}

// giver finds the giver of a gift: the contact that was named, the one that matches, or a new one. Nothing is written yet.
func (t *tx) giver(a *accountUnit, in *crm.GiftInput, now time.Time) (g giver, err error) {
	if in.Contact != nil {
		row, err := t.activeContact(a, *in.Contact)
		if err != nil {
			return g, err
		}
		return giver{contact: row.contact, row: row}, nil
	}
	row, err := t.match(a.account, &in.Giver, in.Giver.MatchKeys())
	switch {
	case err != nil:
		return g, err
	case row == nil && in.Known:
		return g, in.NoGiver()
	case row == nil:
		g.contact, err = crm.NewContact(in.Giver, now)
		g.isNew = true
	default:
		g.row = row
		g.contact, err = row.contact.Merge(in.Giver.FillsOnly(&row.contact), now)
	}
	return g, crm.GiverFaults(err)
}

// activeContact is a contact that a gift may be from.
func (t *tx) activeContact(a *accountUnit, id int64) (*stored, error) {
	if foreign(a.account, id) {
		return nil, fault("contact_id", doc.Unknown, "contacts")
	}
	row, err := t.load(a.account, id)
	switch {
	case errors.Is(err, crm.ErrNotFound):
		return nil, fault("contact_id", doc.Unknown, "contacts")
	case err == nil && row.contact.Archived():
		return nil, fault("contact_id", "is the id of an archived contact: restore the contact first")
	}
	return row, err
}

// save writes the giver, where it is new or has learned something.
func (g *giver) save(t *tx, a *accountUnit) (id int64, err error) {
	if g.isNew {
		body := g.contact.AppendBody(make([]byte, 0, usualBody))
		return t.insertContact(a.account, g.contact, body, g.contact.SearchDocument(a.account))
	}
	_, err = t.change(g.row, crm.DidMerge, func(crm.Contact) (crm.Contact, error) { return g.contact, nil })
	return g.row.id, err
}

// ownCampaign is the campaign of the account with an id, nil for none.
func (t *tx) ownCampaign(a *accountUnit, id *int64) (*ownCampaign, error) {
	if id == nil || *id == 0 {
		return nil, nil
	}
	campaign, err := campaignsOf(a).campaigns.get(t, a.account, *id)
	if err == nil && campaign == nil {
		err = fault("campaign_id", doc.Unknown, "campaigns")
	}
	return campaign, err
}

func (t *tx) slug(a *accountUnit, id int64) string {
	if campaign, err := t.ownCampaign(a, &id); err == nil && campaign != nil {
		return campaign.slug
	}
	return ""
}

// writeGift writes a gift, and notes it for the changes that come after. One whose time has changed has none yet by the organization's clock.
func (t *tx) writeGift(write func(*db.Table, ...any), a *accountUnit, revision int64, g *crm.Gift) {
	if g.Local.IsZero() {
		g.Local = crm.GiftClock(g.At, a.location())
	}
	body := g.AppendBody(make([]byte, 0, usualBody))
	giftsOf(a).gifts.rows[g.ID] = &storedGift{Gift: *g, body: body, revision: revision}
	write(giftTable, giftValues(a.account, revision, g, body)...)
}

// giftValues are the columns of a gift. They follow from its document and the organization's clock.
func giftValues(account, revision int64, g *crm.Gift, body []byte) []any {
	return []any{account, g.ID, g.Contact, g.Campaign, g.Plan(), g.StatusNumber(), g.MethodNumber(), g.Currency, g.Net(),
		g.Local.Unix(), g.Code, body, checksum(body), revision, ahead(g)}
}

// ahead is by how many seconds the organization's clock was ahead of UTC.
func ahead(g *crm.Gift) int64 { return g.Local.Unix() - g.At.Unix() }

func (t *tx) refer(a *accountUnit, reference string, id int64) {
	t.Insert(referenceTable, a.account, reference, id)
	giftsOf(a).references.rows[reference] = id
}

// afterGift brings everything that is derived from gifts up to date.
func (t *tx) afterGift(a *accountUnit, before, after *crm.Gift, now time.Time) error {
	if err := t.moveGift(a, before, after); err != nil {
		return err
	}
	if after.PlanCode != "" && after.Status == crm.Succeeded && !after.Test && (before == nil || before.PlanCode != after.PlanCode || before.Status != after.Status) {
		if err := t.payPlan(a, after, now); err != nil {
			return err
		}
	}
	kind, data := crm.DidGive, crm.GiftMention(before, after)
	switch {
	case before == nil:
	case after.Refunded() != before.Refunded():
		kind = crm.DidRefund
	case len(after.Entries) > len(before.Entries): // its amount was corrected
	case before.Status == after.Status && before.Contact == after.Contact:
		kind = 0 // the history of the gift itself tells the rest
	}
	if before != nil && before.Contact != after.Contact {
		if err := t.saveStats(a, before.Contact, before, after, kind, data); err != nil {
			return err
		}
	}
	return t.saveStats(a, after.Contact, before, after, kind, data)
}

// UpdateGift changes what may be changed of a gift.
func (s *GiftStore) UpdateGift(ctx context.Context, account int64, code string, in crm.GiftInput) (GiftDocument, error) {
	return s.changeGift(ctx, account, code, giftNeeds(account, &in), func(t *tx, a *accountUnit, g crm.Gift, now time.Time) (crm.Gift, error) {
		_, campaignErr := t.ownCampaign(a, in.Campaign)
		_, planErr := t.planOf(a, in.Plan)
		var contact *crm.Contact
		var contactErr error
		if in.Contact != nil && *in.Contact != 0 && *in.Contact != g.Contact {
			row, err := t.activeContact(a, *in.Contact)
			if contactErr = err; err == nil {
				contact = &row.contact
			}
		}
		if err := firstOrFaults(campaignErr, planErr, contactErr, t.freeReference(a, &in, &g)); err != nil {
			return g, err
		}
		changed, err := g.Change(&in, contact, now)
		if err != nil || changed.Contact == g.Contact && changed.PlanCode == g.PlanCode {
			return changed, err
		}
		plan, err := t.planOf(a, &changed.PlanCode)
		switch {
		case err != nil || plan == nil || plan.Contact == changed.Contact:
			return changed, err
		case changed.PlanCode == g.PlanCode:
			return g, fault("contact_id", doc.PlansContact)
		}
		return g, fault("plan_id", doc.OtherGiver)
	})
}

// freeReference refuses an external id that another gift has.
func (t *tx) freeReference(a *accountUnit, in *crm.GiftInput, g *crm.Gift) error {
	if in.ExternalID == nil || *in.ExternalID == "" || *in.ExternalID == g.ExternalID {
		return nil
	}
	id, err := giftsOf(a).references.get(t, a.account, giftReference+*in.ExternalID)
	if err == nil && id != 0 {
		err = fault("external_id", "belongs to another gift")
	}
	return err
}

// RefundGift gives back a part of a gift, in ten-thousandths, or all that is left where amount is nil. seen is the version of the gift
// that a person saw, "" for whatever is there.
func (s *GiftStore) RefundGift(ctx context.Context, account int64, code string, amount *int64, seen string) (GiftDocument, error) {
	return s.moveMoney(ctx, account, code, amount, seen, crm.Gift.Refund)
}

// UndoRefund takes back a part of what was refunded of a gift, or all of it where amount is nil.
func (s *GiftStore) UndoRefund(ctx context.Context, account int64, code string, amount *int64, seen string) (GiftDocument, error) {
	return s.moveMoney(ctx, account, code, amount, seen, crm.Gift.UndoRefund)
}

func (s *GiftStore) moveMoney(ctx context.Context, account int64, code string, amount *int64, seen string, move func(crm.Gift, *int64, time.Time) (crm.Gift, error)) (GiftDocument, error) {
	return s.changeGift(ctx, account, code, needs{}, func(_ *tx, _ *accountUnit, g crm.Gift, now time.Time) (crm.Gift, error) {
		if seen != "" && seen != g.Version() {
			return g, crm.ErrChanged
		}
		return move(g, amount, now)
	})
}

// changeGift is the one way in which a gift changes: load, let crm decide, save, and note who did what.
func (s *GiftStore) changeGift(ctx context.Context, account int64, code string, n needs, decide func(*tx, *accountUnit, crm.Gift, time.Time) (crm.Gift, error)) (GiftDocument, error) {
	id := codeID(account, code)
	if id == 0 {
		return GiftDocument{}, crm.ErrNotFound
	}
	now := s.now()
	n.gifts = append(n.gifts, id)
	return answered(ctx, s.Base, account, n, func(t *tx) (made GiftDocument, err error) {
		a, err := t.lock(account)
		if err != nil {
			return made, err
		}
		old, err := t.giftByCode(a, id, code)
		if err != nil {
			return made, err
		}
		changed, err := decide(t, a, old.Gift, now)
		if err != nil {
			return made, err
		}
		made = GiftDocument{Gift: changed, Slug: t.slug(a, changed.Campaign)}
		if string(changed.AppendBody(nil)) == string(old.body) && changed.Campaign == old.Campaign {
			return made, nil
		}
		return made, t.saveGift(a, old, changed, now)
	})
}

// saveGift writes a gift that has changed, and everything that follows from it.
func (t *tx) saveGift(a *accountUnit, old *storedGift, changed crm.Gift, now time.Time) error {
	kind, differences := giftDifferences(&old.Gift, &changed)
	revision := t.record(a, crm.GiftNoun, old.ID, kind, differences.Text())
	t.author.undoes = 0 // what follows from it is no change that was taken back
	t.moveReference(a, giftReference, old.ExternalID, changed.ExternalID, old.ID)
	before := old.Gift
	if !changed.At.Equal(before.At) {
		changed.Local = time.Time{}
	}
	t.writeGift(t.Save, a, revision, &changed)
	return t.afterGift(a, &before, &changed, now)
}

// moveReference makes another external id lead to a gift or a plan; "" is none.
func (t *tx) moveReference(a *accountUnit, kind, old, changed string, id int64) {
	if old == changed {
		return
	}
	if old != "" {
		t.Delete(referenceTable, a.account, kind+old)
		giftsOf(a).references.rows[kind+old] = 0
	}
	if changed != "" {
		t.refer(a, kind+changed, id)
	}
}

// giftByCode is a gift by its whole public id: one that only has the same sequence number is none.
func (t *tx) giftByCode(a *accountUnit, id int64, code string) (*storedGift, error) {
	g, err := giftsOf(a).gifts.get(t, a.account, id)
	switch {
	case err != nil:
		return nil, err
	case g == nil:
		return nil, crm.ErrNotFound
	case g.damage != nil:
		return nil, g.damage
	case g.Code != code:
		return nil, crm.ErrNotFound
	}
	return g, nil
}
