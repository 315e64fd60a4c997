package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/crm/text"
	"donorbook/internal/db"
)

const (
	GiftColumns = `id, contact_id, campaign_id, plan_id, status, code, body, checksum, revision, given_at`

	sqlLoadGifts = `SELECT ` + GiftColumns + ` FROM gift WHERE account_id = $1 AND id = ANY($2)`

	sqlGivers = `SELECT r.reference, (SELECT g.contact_id FROM gift g WHERE g.account_id = $1 AND g.id = r.id)
		FROM external_reference r WHERE r.account_id = $1 AND r.reference = ANY($2)`
)

// GiftDocument is a gift as a change has left it.
type GiftDocument struct {
	giving.Gift
	Slug     string // of its campaign
	Created  bool   // it is new
	Existing bool   // a create has found it by its external id
	Updated  bool   // a file has told more about one that was found
	Counted  int64  // what a row of a file adds to all sums
	NewGiver bool   // a create has made a contact
	Marked   bool   // its giver must not be reached in a way that was open before
	Waits    bool   // it is a refund that waits for its gift
	learned  bool   // one that was found has another id from now on
	Doubt
}

// GiversOf are the contacts that gifts with external ids are from, by these ids.
func (s *Store) GiversOf(ctx context.Context, account int64, external []string) (givers map[string]int64, err error) {
	givers = make(map[string]int64)
	references := Collect(external, func(id string) string { return find.GiftReference + id })
	return givers, s.View(ctx, func(c db.Conn) error {
		return c.Each(func(r db.Row) error {
			givers[strings.TrimPrefix(r.Text(0), find.GiftReference)] = r.Int(1)
			return nil
		}, sqlGivers, account, references)
	})
}

// Outcome tells what has become of a create.
func (d GiftDocument) Outcome() Outcome {
	return Outcome{Created: d.Created, Tag: d.ETag()}
}

// Append appends the wire form.
func (d GiftDocument) Append(dst []byte) []byte {
	return giving.AppendGift(dst, d.ID, d.Code, d.Campaign, d.Slug, d.AppendBody(nil))
}

// ETag names the state that a gift is in.
func (d GiftDocument) ETag() doc.ETag { return doc.TagOf(d.Append(nil)) }

// StoredGift is a gift as it is stored, whether it can be read or not.
type StoredGift struct {
	giving.Gift
	Body     []byte
	Revision int64 // of its last change
	Damage   error
}

func ScanGift(r db.Row) (int64, *StoredGift) {
	id := r.Int(0)
	body, err := DocumentIn(GiftTable, r, 6, id)
	g := &StoredGift{Body: slices.Clone(body), Revision: r.Int(8), Damage: err}
	if err == nil {
		g.Gift, g.Damage = giving.ParseGift(id, r.Text(5), r.Int(2), g.Body)
		g.Local = OnClock(r.Int(9))
	}
	return id, g
}

// CreateGift records a gift of a valid input. Its giver is a contact of the account, or is found or made as by a create
// of a contact. An external id that is known already answers with its gift, where that is what was sent.
func (s *Store) CreateGift(ctx context.Context, account int64, in giving.GiftInput) (GiftDocument, error) {
	now := s.Now()
	if err := s.findCampaign(ctx, &in); err != nil {
		return GiftDocument{}, err
	}
	return Answered(ctx, s, account, NewGiftNeeds(account, &in), func(u Unit) (GiftDocument, error) {
		made, err := RecordGift(u, &in, now)
		if err == nil && in.SendReceipt && made.Created {
			err = s.thankAtOnce(u, &made.Gift, now)
		}
		return made, err
	})
}

// RecordGift finds the gift with the external id that was sent, or makes a new one.
func RecordGift(u Unit, in *giving.GiftInput, now time.Time) (GiftDocument, error) {
	made, from, err := decideGift(u, in, now)
	if err == nil && made.learned {
		err = dropTakenIDs(u, &made.Gift)
	}
	if err != nil || made.Skipped {
		return made, err
	}
	met, err := meetWaiting(u, &made, in)
	switch before := u.Gifts.Rows[made.ID]; {
	case err != nil:
		return made, err
	case !made.Existing:
		if made, err = insertGift(u, made, from, now); err == nil {
			err = payPledge(u, &made.Gift, in.Filed, now)
		}
		if err == nil && in.Filed != nil {
			err = payEarlier(u, &made.Gift, now)
		}
	case made.Updated:
		if err = SaveGift(u, before, &made.Gift, now); err == nil && before.Status == giving.Pending {
			err = payPledge(u, &made.Gift, in.Filed, now)
		}
	case made.learned:
		err = SaveGift(u, before, &made.Gift, now)
	}
	if err == nil {
		err = endWaiting(u, met, now)
	}
	return made, err
}

// NewGiftNeeds is giftNeeds with what finds the giver of a new gift.
func NewGiftNeeds(account int64, in *giving.GiftInput) Needs {
	n := giftNeeds(account, in)
	if n.Keys = in.Giver.MatchKeys(); in.Contact == nil {
		n.Sets = append(n.Sets, find.InputCommonWords(&in.Giver)...)
	}
	return n
}

// giftNeeds is what a create or a change of a gift will look up.
func giftNeeds(account int64, in *giving.GiftInput) (n Needs) {
	if in.Campaign != nil && *in.Campaign != 0 {
		n.Campaigns, n.Sets = append(n.Campaigns, *in.Campaign), find.GiftSets(*in.Campaign)
	}
	if in.Contact != nil && !Foreign(account, *in.Contact) {
		n.Contact = *in.Contact
	}
	if in.Plan != nil && *in.Plan != "" {
		n.Plan = CodeID(account, *in.Plan)
	}
	if in.ExternalID != nil && *in.ExternalID != "" {
		n.References = append(n.References, find.GiftReference+*in.ExternalID)
	}
	if in.Filed != nil {
		n.References = append(append(n.References, filedReferences(in.Filed)...), otherReferences(in)...)
	}
	n.Gift = in
	for _, id := range calledElsewhere(in) {
		n.References = append(n.References, find.IDReference(giving.WaitingID(0, id)))
	}
	return n
}

// CodeID is the id that a public id stands for, 0 where it can be none.
func CodeID(account int64, code string) int64 {
	if seq, ok := giving.CodeSeq(code); ok {
		return doc.MakeID(account, seq)
	}
	return 0
}

// decideGift is the gift with the external id that was sent, or else a new one and its giver. It writes nothing.
func decideGift(u Unit, in *giving.GiftInput, now time.Time) (made GiftDocument, from giver, err error) {
	if made, err = knownByOther(u, in, now); err != nil || made.Existing {
		return made, from, err
	}
	if in.ExternalID != nil {
		found, err := giftReferred(u, *in.ExternalID)
		if found != nil && err == nil {
			made, err = knownGift(found.Gift, in, now)
			made.Slug = slug(u, found.Campaign)
		}
		if found != nil || err != nil {
			return made, from, err
		}
	}
	if made, isNone, err := aboutPledge(u, in); err != nil || !isNone {
		return made, from, err
	}
	campaign, campaignErr := campaignOf(u, in)
	plan, planErr := planNamed(u, in)
	planOf := in.PlanOf(plan)
	from, giverErr := findGiver(u, in, planOf, now)
	if err := FirstOrFaults(campaignErr, planErr, giverErr); err != nil {
		return made, from, err
	}
	if made.Doubt = from.Doubt; made.Skipped {
		return made, from, nil
	}
	others, err := isOthers(u, planOf, plan, from.contact.ID)
	switch {
	case err != nil:
		return made, from, err
	case others && planOf != 0: // the money has come all the same
		if made.PlanOf, err = Row(u, planOf); err != nil {
			return made, from, err
		}
		plan = nil
	case others:
		return made, from, Fault("plan_id", doc.OtherGiver)
	}
	if err := namePledge(u, in, from.contact.ID); err != nil {
		return made, from, err
	}
	currency, code := CurrencyOf(u.Account, in), ""
	if campaign != nil {
		made.Slug = campaign.Slug
	}
	if plan != nil {
		code = plan.Code
	}
	if made.Gift, err = giving.NewGift(in, &from.contact, currency, code, now); err == nil {
		made.Local = giving.GiftClock(made.At, u.Location())
		err = checkSum(u, &made.Gift)
	}
	if plan == nil && planOf == 0 && in.Filed != nil && in.Filed.Plan != "" && !made.Test {
		from.plan = giving.PlanOf(&made.Gift, in.Filed, now)
	}
	made.Created, made.NewGiver, made.Counted, made.Marked = true, from.isNew, made.Net(), from.isMarked()
	return made, from, err
}

// isOthers tells whether a plan that a gift names is that of another contact. The plan of one that was merged into the
// giver may not have moved yet.
func isOthers(u Unit, planOf int64, plan *giving.Plan, giver int64) (bool, error) {
	if planOf == 0 && plan != nil {
		planOf = plan.Contact
	}
	if planOf == 0 || planOf == giver {
		return false, nil
	}
	row, err := Survivor(u, planOf)
	return row == nil || row.ID != giver, err
}

// insertGift writes a gift that was decided about, and its giver.
func insertGift(u Unit, made GiftDocument, from giver, now time.Time) (_ GiftDocument, err error) {
	if u.GiftSeq >= doc.MaxSeq {
		return made, errors.New("the account has used all its ids of gifts")
	}
	if err := roomForPlan(u.Account); from.plan != nil && err != nil {
		return made, err
	}
	if made.Contact, err = from.save(u); err != nil {
		return made, err
	}
	if from.plan != nil {
		if made.PlanCode, err = insertPlan(u, from.plan, made.Contact); err != nil {
			return made, err
		}
	}
	u.Touch()
	u.GiftSeq++
	made.ID = doc.MakeID(u.Number, u.GiftSeq)
	made.Code = giving.NewCode(made.Code, made.ID)
	if from.isNew {
		knowNone(u.Account, &made.Gift)
	}
	nameThanker(u.Tx, &made.Gift)
	if err := PutGift(u, &made.Gift, u.Record(history.GiftNoun, made.ID, history.DidCreate, "")); err != nil {
		return made, err
	}
	return made, afterGift(u, nil, &made.Gift, now)
}

// checkSum refuses a gift that no sum can hold.
func checkSum(u Unit, g *giving.Gift) error {
	sums, err := u.Giving.Get(u.Tx, u.Number, giving.Cell(0, giving.Month(g.Local), g.Currency, 0))
	if err == nil && sums != nil && sums.Amount > maxSum {
		err = Fault("amount", "is refused: the account's total would be too large")
	}
	return err
}

// Doubt is what a person has to know about the giver of a row of a file.
type Doubt struct {
	// has the id, the email or the phone of the row, and another name; nil where it does not matter
	Other   *StoredContact
	Skipped bool // the row is left out because of that, or because it is an installment

	Installment bool // of a pledge that is recorded: it has not been paid yet
	// whose plan the row names, so that the gift is recorded without it; nil where it is the giver's
	PlanOf *StoredContact
}

// findCampaign looks up the campaign that an input names by its code, before the unit of work, which checks whose it
// is.
func (s *Store) findCampaign(ctx context.Context, in *giving.GiftInput) error {
	if in.CampaignCode == nil {
		return nil
	}
	id, err := Lend(ctx, s.Read, func(c db.Conn) (int64, error) { return Coded(c, 0, *in.CampaignCode) })
	in.Campaign = &id
	return err
}

// campaignOf is the campaign of the account that an input names, nil for none.
func campaignOf(u Unit, in *giving.GiftInput) (*OwnCampaign, error) {
	if in.Campaign == nil || *in.Campaign == 0 {
		return nil, nil
	}
	campaign, err := u.Campaigns.Get(u.Tx, u.Number, *in.Campaign)
	if err == nil && campaign == nil {
		err = in.NoCampaign()
	}
	return campaign, err
}

func slug(u Unit, id int64) string {
	if campaign, err := campaignOf(u, &giving.GiftInput{Campaign: &id}); err == nil && campaign != nil {
		return campaign.Slug
	}
	return ""
}

// PutGift is the one way in which a gift changes: it writes its row, and the difference of what followed from it
// before, as the unit of work knows it, and what follows from it now. One whose time has changed has none yet by the
// organization's clock.
func PutGift(u Unit, g *giving.Gift, revision int64) error {
	if g.Local.IsZero() {
		g.Local = giving.GiftClock(g.At, u.Location())
	}
	body := g.AppendBody(make([]byte, 0, UsualBody))
	var before *find.Rows
	write := u.Insert
	if was := u.Gifts.Rows[g.ID]; was != nil {
		before, write = find.GiftRows(&was.Gift), u.Save
	}
	u.Gifts.Rows[g.ID] = &StoredGift{Gift: *g, Body: body, Revision: revision}
	write(GiftTable, GiftValues(u.Number, revision, g, body)...)
	return Derive(u, g.ID, before, find.GiftRows(g))
}

// knowNone notes that the contact of a gift, which is new, has no sums yet, so that they need not be looked up.
func knowNone(a *Account, g *giving.Gift) {
	for _, name := range giving.ShareOf(g).Cells() {
		if giving.CellContact(name) != 0 {
			a.Giving.Rows[name] = nil
		}
	}
}

// GiftValues are the columns of a gift. They follow from its document and the clock that it was recorded by.
func GiftValues(account, revision int64, g *giving.Gift, body []byte) []any {
	return []any{account, g.ID, g.Contact, g.Campaign, g.Plan(), g.StatusNumber(), g.MethodNumber(), g.Currency,
		g.Net(),
		g.Local.Unix(), g.Code, body, Checksum(body), revision, Ahead(g), thank(g)}
}

// Ahead is by how many seconds the clock was ahead of UTC that the gift was recorded by.
func Ahead(g *giving.Gift) int64 { return g.Local.Unix() - g.At.Unix() }

// afterGift brings the contact of a gift, or both, and its plan up to date with it.
func afterGift(u Unit, before, after *giving.Gift, now time.Time) error {
	kind, data := history.DidGive, history.GiftMention(before, after)
	switch {
	case before == nil:
	case after.Refunded() != before.Refunded():
		kind = history.DidRefund
	case len(after.Entries) > len(before.Entries): // its amount was corrected
	case before.Status == after.Status && before.Contact == after.Contact:
		kind = 0 // the history of the gift itself tells the rest
	}
	if before != nil && before.Contact != after.Contact {
		if err := SaveStats(u, before.Contact, before, after, kind, data); err != nil {
			return err
		}
	}
	if err := SaveStats(u, after.Contact, before, after, kind, data); err != nil {
		return err
	}
	if after.PlanCode != "" && after.Status == giving.Succeeded && !after.Test &&
		(before == nil || before.Void == nil) && (before == nil || before.PlanCode != after.PlanCode ||
		before.Status != after.Status) {
		return payPlan(u, after, now)
	}
	return nil
}

// UpdateGift changes what may be changed of a gift.
func (s *Store) UpdateGift(ctx context.Context, account int64, code string, in giving.GiftInput) (GiftDocument, error) {
	if err := s.findCampaign(ctx, &in); err != nil {
		return GiftDocument{}, err
	}
	return s.changeGift(ctx, account, code, giftNeeds(account, &in),
		func(u Unit, g giving.Gift, now time.Time) (giving.Gift, error) {
			_, campaignErr := campaignOf(u, &in)
			_, planErr := planOf(u, in.Plan)
			contact, contactErr := (*crm.Contact)(nil), error(nil)
			if in.Contact != nil && *in.Contact != 0 && *in.Contact != g.Contact {
				row, err := activeContact(u, *in.Contact, false)
				if contactErr = err; err == nil {
					contact = &row.Contact
				}
			}
			if err := FirstOrFaults(campaignErr, planErr, contactErr,
				freeReference(u, find.GiftReference, in.ExternalID, g.ExternalID)); err != nil {
				return g, err
			}
			changed, err := g.Change(&in, contact, now)
			if err != nil || changed.Contact == g.Contact && changed.PlanCode == g.PlanCode {
				return changed, err
			}
			plan, err := planOf(u, &changed.PlanCode)
			switch {
			case err != nil || plan == nil || plan.Contact == changed.Contact:
				return changed, err
			case changed.PlanCode == g.PlanCode:
				return g, Fault("contact_id", doc.PlansContact)
			}
			return g, Fault("plan_id", doc.OtherGiver)
		}, nil)
}

// changeGift is the one way in which a gift changes: load, let crm decide, save, and note who did what.
func (s *Store) changeGift(ctx context.Context, account int64, code string, n Needs,
	decide func(Unit, giving.Gift, time.Time) (giving.Gift, error), then afterChange,
) (GiftDocument, error) {
	id := CodeID(account, code)
	if id == 0 {
		return GiftDocument{}, crm.ErrNotFound
	}
	now := s.Now()
	n.Gifts = append(n.Gifts, id)
	return Answered(ctx, s, account, n, func(u Unit) (made GiftDocument, err error) {
		old, err := byCode(u, &u.Gifts, code)
		if err != nil {
			return made, err
		}
		changed, err := decide(u, old.Gift, now)
		if err == nil {
			err = Matches(ctx, func() doc.ETag {
				return GiftDocument{Gift: old.Gift,
					Slug: slug(u, old.Campaign)}.ETag()
			})
		}
		if err != nil {
			return made, err
		} else if !old.Thanks.Done() {
			nameThanker(u.Tx, &changed)
		}
		made = GiftDocument{Gift: changed, Slug: slug(u, changed.Campaign)}
		if string(changed.AppendBody(nil)) == string(old.Body) && changed.Campaign == old.Campaign {
			return made, nil
		}
		if err = SaveGift(u, old, &made.Gift, now); err == nil && then != nil {
			err = then(u, &made.Gift)
		}
		return made, err
	})
}

// SaveGift writes a gift that has changed, and everything that follows from it. A receipt that says something else is
// replaced.
func SaveGift(u Unit, old *StoredGift, changed *giving.Gift, now time.Time) error {
	if changed.Local.IsZero() || !changed.At.Equal(old.At) {
		changed.Local = giving.GiftClock(changed.At, u.Location())
	}
	if changed.Receipt != "" && changed.Receipt == old.Receipt && changed.Receipted() != old.Receipted() {
		if err := replaceReceipt(u, changed, now); err != nil {
			return err
		}
	}
	kind, differences := giftDifferences(&old.Gift, changed)
	revision := u.Record(history.GiftNoun, old.ID, kind, differences.Text())
	u.Author.Undoes = 0 // what follows from it is no change that was taken back
	before := old.Gift
	if err := PutGift(u, changed, revision); err != nil {
		return err
	}
	return afterGift(u, &before, changed, now)
}

// giftUnit is what a batch knows of the gifts and plans of an account.
type giftUnit struct {
	Gifts Lookup[int64, *StoredGift]
	Plans Lookup[int64, *StoredPlan]

	// adds the gifts of a contact that units before this one would have left, and puts all of them there, where all are
	// only considered; nil for most
	Given func(contact int64, ids []int64) ([]int64, error)
}

// lookUpGifts asks for what changes of gifts have named.
func lookUpGifts(u Unit, all []*Needs) error {
	var found, gifts, plans []int64
	for _, n := range all {
		found, gifts = append(found, n.Campaigns...), append(gifts, n.Gifts...)
		if n.Plan != 0 {
			plans = append(plans, n.Plan)
		}
	}
	return db.First(
		func() error { return u.Campaigns.Prefetch(u.Tx, u.Number, found) },
		func() error { return u.Gifts.Prefetch(u.Tx, u.Number, gifts) },
		func() error { return u.Plans.Prefetch(u.Tx, u.Number, plans) },
	)
}

// lookUpPlanSets asks for the sets that givers join by the campaigns of their plans, which were looked up just now.
func lookUpPlanSets(u Unit, all []*Needs) error {
	blocks := make(map[int64][]string)
	for _, n := range all {
		if n.Gift == nil || n.Gift.Campaign != nil {
			continue
		}
		if plan := knownPlan(u.Account, n.Gift); plan != nil {
			for _, id := range givers(u.Account, n) {
				blocks[BlockOf(id)] = append(blocks[BlockOf(id)], find.GiftSets(plan.Campaign)...)
			}
		}
	}
	return LookUpBlocks(u, blocks)
}

// lookUpGiving asks for the sums that the changes will move, as far as they can be known: of the contacts that were
// named or have an email or a phone that was sent.
func lookUpGiving(u Unit, all []*Needs) error {
	var cells []string
	for _, n := range all {
		for _, id := range n.Gifts {
			if g := u.Gifts.Rows[id]; g != nil && g.Damage == nil {
				cells = append(cells, giving.ShareOf(&g.Gift).Cells()...)
			}
		}
		if n.Gift == nil || n.Gift.GivenAt == nil {
			continue
		}
		at := giving.GiftClock(n.Gift.Time(), u.Location())
		s := giving.Share{Currency: CurrencyOf(u.Account, n.Gift), At: at.Unix()}
		if n.Gift.Campaign != nil {
			s.Campaign = *n.Gift.Campaign
		}
		for _, contact := range givers(u.Account, n) {
			s.Contact = contact
			cells = append(cells, s.Cells()...)
		}
	}
	return u.Giving.Prefetch(u.Tx, u.Number, cells)
}

// CurrencyOf is the currency that a gift will have: the one that was sent, that of its plan, of its campaign, or of the
// account. Plan and campaign must have been looked up.
func CurrencyOf(a *Account, in *giving.GiftInput) string {
	if in.Currency != nil && *in.Currency != "" {
		return *in.Currency
	}
	if plan := knownPlan(a, in); plan != nil {
		return plan.Currency
	}
	if in.Campaign != nil {
		if campaign := a.Campaigns.Rows[*in.Campaign]; campaign != nil {
			return campaign.Currency
		}
	}
	return a.Currency
}

// knownPlan is the plan that a gift belongs to, nil where there is none that can be read.
func knownPlan(a *Account, in *giving.GiftInput) *StoredPlan {
	if in.Plan == nil {
		return nil
	}
	if plan := a.Plans.Rows[CodeID(a.Number, *in.Plan)]; plan != nil && plan.Damage == nil {
		return plan
	}
	return nil
}

// givers are the contacts that a gift may be from.
func givers(a *Account, n *Needs) []int64 {
	if n.Contact != 0 {
		return []int64{n.Contact}
	}
	ids := Having(a, n.Keys)
	if len(ids) == 0 {
		ids = append(ids, 0) // the sums of all
	}
	return ids
}

const (
	GiftResource = "gift"
	PlanResource = "plan"
)

// Resource names the gift for an answer that shows it.
func (d GiftDocument) Resource() Resource { return Resource{Kind: GiftResource, ID: d.ID} }

// Resource names the plan for an answer that shows it.
func (d PlanDocument) Resource() Resource { return Resource{Kind: PlanResource, ID: d.ID} }

func rereadGift(u Unit, id int64, _ string) (Result, error) {
	g, err := u.Gifts.Get(u.Tx, u.Number, id)
	if err = cmp.Or(err, Missing(g == nil)); err != nil {
		return nil, err
	}
	return GiftDocument{Gift: g.Gift, Slug: slug(u, g.Campaign)}, g.Damage
}

func rereadPlan(u Unit, id int64, _ string) (Result, error) {
	p, err := u.Plans.Get(u.Tx, u.Number, id)
	if err = cmp.Or(err, Missing(p == nil)); err != nil {
		return nil, err
	}
	return PlanDocument{Plan: p.Plan}, p.Damage
}

// coded is what is found by its public id.
type coded interface {
	comparable
	state() (code string, damage error)
}

func (g *StoredGift) state() (string, error) { return g.Code, g.Damage }
func (p *StoredPlan) state() (string, error) { return p.Code, p.Damage }

// byCode is a gift or a plan by its whole public id: one that only has the same sequence number is none.
func byCode[D coded](u Unit, rows *Lookup[int64, D], code string) (row D, err error) {
	var none D
	if id := CodeID(u.Number, code); id != 0 {
		row, err = rows.Get(u.Tx, u.Number, id)
	}
	if err != nil || row == none {
		return none, cmp.Or(err, crm.ErrNotFound)
	}
	found, damage := row.state()
	if damage == nil && found != code {
		damage = crm.ErrNotFound
	}
	return row, damage
}

// giftDifferences is what a change did to a gift.
func giftDifferences(before, after *giving.Gift) (kind history.Kind, all doc.Differences) {
	kind = history.DidUpdate
	changes := giving.GiftChanges(before, after)
	if refunded := after.Refunded() - before.Refunded(); refunded > 0 {
		kind = history.DidRefund
		changes = append(changes, giving.GiftChange{Field: "refund", After: text.MoneyInput(refunded, after.Currency)})
	} else if refunded < 0 {
		kind = history.DidRefund
		changes = append(changes, giving.GiftChange{Field: "refund_undone",
			After: text.MoneyInput(-refunded, after.Currency)})
	}
	if learned := after.Learned(before); len(learned) > 0 {
		ids, _ := json.Marshal(learned)
		if len(changes) == 0 {
			kind = history.DidMerge
		}
		changes = append(changes, giving.GiftChange{Field: giving.LearnedIDs, After: string(ids)})
	}
	for _, c := range changes {
		all = append(all, doc.Difference{Field: c.Field, Before: clipped(c.Before), After: clipped(c.After), At: -1})
	}
	return kind, all
}

// KeptText is how much of a text the history keeps: a page shows many.
const KeptText = 200

// clipped shortens a text, which stays one; what else a gift has is short. No value is null.
func clipped(value string) json.RawMessage {
	var text string
	switch {
	case value == "":
		return json.RawMessage("null")
	case json.Unmarshal([]byte(value), &text) == nil:
		value = giving.Clip(text, KeptText)
	case json.Valid([]byte(value)):
		return json.RawMessage(value)
	}
	short, _ := json.Marshal(value)
	return short
}

const SQLGiftRevision = `SELECT revision FROM gift WHERE account_id = $1 AND id = $2`
