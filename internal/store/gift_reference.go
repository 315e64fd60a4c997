package store

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/donate"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/giving"
	"donorbook/internal/db"
)

// Gifts and plans are found by what other systems call them. Their files tell of refunds, pledges and plans by these
// names.

// giftReferred is the gift with an external id, nil where there is none.
func giftReferred(u Unit, reference string) (*StoredGift, error) {
	if reference == "" {
		return nil, nil
	}
	id, err := u.References.Get(u.Tx, u.Number, find.GiftReference+reference)
	if err != nil || id == 0 {
		return nil, err
	}
	found, err := u.Gifts.Get(u.Tx, u.Number, id)
	switch {
	case err != nil:
		return nil, err
	case found == nil:
		return nil, &Damaged{Table: GiftTable.Name, ID: id, Account: u.Number}
	}
	return found, found.Damage
}

// knownGift is a gift whose external id was sent again, with what a file tells about it. One that is not what was sent
// is refused.
func knownGift(g giving.Gift, in *giving.GiftInput, now time.Time) (made GiftDocument, err error) {
	if other := in.Differs(&g); other != "" {
		who := "gift " + g.Code
		if MadeBy(g.ID) > 0 {
			who = "the gift of an earlier row"
		}
		return made, Fault("external_id", other, who)
	}
	made = GiftDocument{Gift: g, Existing: true}
	if in.Filed != nil {
		if made.Gift, made.Updated, err = g.Advance(in, now); err == nil {
			made.Gift, made.learned = made.Learn(in.Filed)
		}
		made.Counted = made.Net() - g.Net()
	}
	return made, err
}

// otherReferences are what a gift may be known by beside its external id: each of its ids with its heading, and as the
// external id that an earlier file or version gave it.
func otherReferences(in *giving.GiftInput) (references []string) {
	if in.Filed.Earlier != "" {
		references = append(references, find.GiftReference+in.Filed.Earlier)
	}
	for _, id := range in.Filed.IDs {
		if references = append(references, find.IDReference(id)); in.ExternalID == nil || id.Value != *in.ExternalID {
			references = append(references, find.GiftReference+id.Value)
		}
	}
	return references
}

// knownByOther is the gift that has another id of a row, if it is the same payment. One that is not has an id that
// means something else, so that the new gift goes without it.
func knownByOther(u Unit, in *giving.GiftInput, now time.Time) (made GiftDocument, err error) {
	if in.Filed == nil {
		return made, nil
	}
	for _, reference := range otherReferences(in) {
		found, err := giftReferred(u, strings.TrimPrefix(reference, find.GiftReference))
		if err != nil {
			return made, err
		}
		if found == nil {
			continue
		}
		named := *in
		// no other id was made from all that the row says
		named.FromRow = reference == find.GiftReference+in.Filed.Earlier
		if made, err = knownGift(found.Gift, &named, now); err == nil {
			made.Slug = slug(u, found.Campaign)
			return made, nil
		}
		made = GiftDocument{}
		in.Filed.IDs = slices.DeleteFunc(slices.Clone(in.Filed.IDs),
			func(id crm.ExternalID) bool { return find.IDReference(id) == reference })
	}
	return made, nil
}

// dropTakenIDs leaves out ids that lead to another gift.
func dropTakenIDs(u Unit, g *giving.Gift) (err error) {
	g.IDs = slices.DeleteFunc(slices.Clone(g.IDs), func(id crm.ExternalID) bool {
		other, failed := u.References.Get(u.Tx, u.Number, find.IDReference(id))
		err = cmp.Or(err, failed)
		return other != 0 && other != g.ID
	})
	return err
}

// freeReference refuses an external id that another gift or plan has than the one whose own it is.
func freeReference(u Unit, kind string, sent *string, own string) error {
	if sent == nil || *sent == "" || *sent == own {
		return nil
	}
	id, err := u.References.Get(u.Tx, u.Number, kind+*sent)
	if err == nil && id != 0 {
		err = Fault("external_id", referenceTaken[kind])
	}
	return err
}

var referenceTaken = map[string]doc.Rule{find.GiftReference: "belongs to another gift",
	find.PlanReference: "belongs to another plan"}

// filedReferences are what a row of a file will look up.
func filedReferences(filed *giving.Filed) (references []string) {
	for _, mention := range filed.Mentions {
		references = append(references, find.GiftReference+mention)
	}
	if filed.Key != "" {
		references = append(references, find.GiftReference+filed.Key)
	}
	for reference, kind := range map[string]string{filed.Plan: find.PlanReference, filed.Pledge: find.GiftReference,
		filed.RefundOf: find.GiftReference} {
		if reference != "" {
			references = append(references, kind+reference)
		}
	}
	return references
}

// planNamed is the plan that a gift names by its id or by what it is called elsewhere, nil for none.
func planNamed(u Unit, in *giving.GiftInput) (*giving.Plan, error) {
	if in.Filed == nil || in.Filed.Plan == "" || in.Plan != nil && *in.Plan != "" {
		return planOf(u, in.Plan)
	}
	id, err := u.References.Get(u.Tx, u.Number, find.PlanReference+in.Filed.Plan)
	if err != nil || id == 0 {
		return nil, err
	}
	plan, err := u.Plans.Get(u.Tx, u.Number, id)
	switch {
	case err != nil || plan == nil:
		return nil, err
	case plan.Damage != nil:
		return nil, plan.Damage
	}
	return &plan.Plan, nil
}

// aboutPledge decides about a row that gives a pledge up, or that is a part of it which is to come; isNone tells that
// the row is neither, or that its pledge is not known.
func aboutPledge(u Unit, in *giving.GiftInput) (made GiftDocument, isNone bool, err error) {
	if !in.NamesPledge() {
		return made, true, nil
	}
	found, err := giftReferred(u, in.Filed.Pledge)
	if err != nil || found == nil {
		return made, true, err
	}
	giver, err := Row(u, found.Contact)
	switch {
	case err != nil:
		return made, true, err
	case giver != nil && in.Giver.PersonName().Contradicts(giver.Contact.PersonName()):
		// another system calls its own pledge so
		return made, true, nil
	case in.Filed.WriteOff:
		isKnown := false
		made.Gift, isKnown = found.WriteOff(*in.ExternalID, *in.Amount)
		made.Existing, made.Updated = true, !isKnown
		return made, false, nil
	case found.Status == giving.Pending:
		made.Skipped, made.Installment = true, true
		return made, false, nil
	}
	return made, true, nil
}

// namePledge finds the pledge of a payment whose row names none: the only open one of the giver that is as large, or
// the only one of these for the same campaign.
func namePledge(u Unit, in *giving.GiftInput, giver int64) error {
	if in.Filed == nil || !in.Filed.Pays || in.Filed.Pledge != "" || giver == 0 {
		return nil
	}
	ids, err := lastGiven(u, giver)
	if err != nil {
		return err
	}
	open := giving.PledgesPaid(loadedOf(u.Account, giver, ids), in, CurrencyOf(u.Account, in))
	if len(open) == 1 {
		in.Filed.Pledge = open[0].ExternalID
	}
	return nil
}

// loadedOf are the gifts of a giver that are loaded.
func loadedOf(a *Account, giver int64, ids []int64) (all []*giving.Gift) {
	for _, id := range ids {
		if g := a.Gifts.Rows[id]; g != nil && g.Damage == nil && g.Contact == giver && !g.Waits() {
			all = append(all, &g.Gift)
		}
	}
	return all
}

// sqlPayments are the payments that name a pledge.
const sqlPayments = `SELECT id FROM external_reference WHERE account_id = $1 AND reference >= $2 AND reference < $3
	ORDER BY reference`

// payEarlier makes a new pledge smaller by the payments of it that came in files before.
func payEarlier(u Unit, pledge *giving.Gift, now time.Time) error {
	if pledge.Status != giving.Pending || pledge.ExternalID == "" {
		return nil
	}
	start := find.PaymentReferences(pledge.ExternalID)
	payments, err := db.List(u.Conn, Number, sqlPayments, u.Number, start, start+"\U0010FFFF")
	if err == nil {
		err = u.Gifts.Load(u.Tx, u.Number, payments)
	}
	for _, id := range payments {
		if payment := u.Gifts.Rows[id]; err == nil && payment != nil && payment.Damage == nil {
			err = payPledge(u, &payment.Gift, &giving.Filed{Pledge: pledge.ExternalID}, now)
		}
	}
	return err
}

// payPledge makes the pledge smaller that a row of a file names with a payment that has come. One of another giver is a
// pledge that another system calls so.
func payPledge(u Unit, payment *giving.Gift, filed *giving.Filed, now time.Time) error {
	if filed == nil {
		return nil
	}
	found, err := giftReferred(u, filed.Pledge)
	if err != nil || found == nil || found.Contact != payment.Contact || found.Status != giving.Pending ||
		found.Currency != payment.Currency || payment.Net() <= 0 {
		return err
	}
	paid := found.PayPledge(payment.Payment().Amount, now)
	return SaveGift(u, found, &paid, now)
}

// UnpayPledge takes back what a payment that is withdrawn has made of a pledge. later is that of one that came after
// it: one that came before has a change of its own for that.
func UnpayPledge(u Unit, payment *giving.Gift, later bool, now time.Time) error {
	for _, id := range payment.IDs {
		if id.Source != giving.PledgeSource || payment.Net() <= 0 {
			continue
		}
		pledge, err := giftReferred(u, id.Value)
		if err != nil || pledge == nil || pledge.Contact != payment.Contact || later && pledge.ID < payment.ID ||
			pledge.Currency != payment.Currency {
			return err
		}
		if raised := pledge.UnpayPledge(payment.Payment().Amount); raised.Status == giving.Pending {
			return SaveGift(u, pledge, &raised, now)
		}
	}
	return nil
}

// RecordRefund gives back what a row of a file says. A refund whose gift is not known waits for it.
func RecordRefund(u Unit, in *giving.GiftInput, now time.Time) (made GiftDocument, err error) {
	original, reference := in.Filed.Original(*in.ExternalID)
	waiting, err := giftReferred(u, reference)
	if err != nil {
		return made, err
	}
	if waiting != nil && !waiting.Waits() {
		waiting = nil
	}
	found, err := giftReferred(u, original)
	if err == nil && (found == nil || found == waiting) {
		found, err = takenBack(u, in, reference)
	}
	switch {
	case err != nil:
		return made, err
	case found != nil:
	case waiting != nil:
		return GiftDocument{Gift: waiting.Gift, Existing: true}, nil
	default:
		return recordWaiting(u, in, reference, now)
	}
	made.Slug = slug(u, found.Campaign)
	if made.Gift, made.Existing, err = found.RefundFiled(reference, in); err != nil {
		return made, err
	}
	made.Counted = made.Net() - found.Net()
	if !made.Existing {
		err = SaveGift(u, found, &made.Gift, now)
	} else if !slices.Equal(made.Entries,
		found.Entries) { // it knows the row from now on, which is nothing for its history
		u.Tx.Touch()
		err = PutGift(u, &made.Gift, found.Revision)
	}
	if err == nil && waiting != nil {
		err = endWaiting(u, []*StoredGift{waiting}, now)
	}
	return made, err
}

// sqlTakenBack are the last gifts of a contact.
const sqlTakenBack = `SELECT id FROM gift WHERE account_id = $1 AND contact_id = $2 ORDER BY given_at DESC, id DESC
	LIMIT $3`

// MostTakenBack is among how many gifts of a donor the one is looked for that a row gives back.
const MostTakenBack int64 = 100

// takenBack is the gift that a row gives back which does not name it: one that the row mentions or shares an id with,
// or else the only one of the donor that fits; nil for none.
func takenBack(u Unit, in *giving.GiftInput, reference string) (*StoredGift, error) {
	if in.Filed.RefundOf != "" {
		return nil, nil
	}
	for _, mention := range append(otherReferences(in), in.Filed.Mentions...) {
		found, err := giftReferred(u, strings.TrimPrefix(mention, find.GiftReference))
		if err != nil {
			return nil, err
		}
		if found != nil {
			if !found.Waits() && giving.TakenBack([]*giving.Gift{&found.Gift}, reference, in) == 0 {
				return found, nil
			}
		}
	}
	contact, err := payer(u, in)
	if err != nil || contact == 0 {
		return nil, err
	}
	ids, err := lastGiven(u, contact)
	if err != nil {
		return nil, err
	}
	all := loadedOf(u.Account, contact, ids)
	if at := giving.TakenBack(all, reference, in); at >= 0 {
		return u.Gifts.Rows[all[at].ID], nil
	}
	return nil, nil
}

// lastGiven are the last gifts of a contact, which are loaded: those that are written, those of the unit of work, and
// those that a dry run has decided about. They are none where there are too many.
func lastGiven(u Unit, contact int64) (ids []int64, err error) {
	if ids, err = db.List(u.Conn, Number, sqlTakenBack, u.Number, contact, MostTakenBack+1); err != nil ||
		int64(len(ids)) > MostTakenBack {
		return nil, err
	}
	if u.Given != nil {
		if ids, err = u.Given(contact, ids); err != nil {
			return nil, err
		}
	}
	if err = u.Gifts.Load(u.Tx, u.Number, ids); err != nil {
		return nil, err
	}
	for id, g := range u.Gifts.Rows {
		if g != nil && g.Contact == contact {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// payer is the contact that a refund goes to, as far as its row tells; 0 is not known.
func payer(u Unit, in *giving.GiftInput) (int64, error) {
	if in.Contact != nil {
		return *in.Contact, nil
	}
	row, _, err := matchID(u, in)
	if row == nil && err == nil {
		var g giver
		err = g.match(u, in, 0)
		row = g.row
	}
	if row == nil || err != nil {
		return 0, err
	}
	return row.ID, nil
}

// calledElsewhere is what a row of a file calls its gift, or the gift that it refunds; nothing of a gift that no file
// tells of.
func calledElsewhere(in *giving.GiftInput) (ids []string) {
	switch {
	case in.Filed == nil:
		return nil
	case in.Filed.IsRefund:
		return in.Refunds()
	case in.ExternalID != nil && *in.ExternalID != "":
		ids = append(ids, *in.ExternalID)
	}
	for _, id := range in.Filed.IDs {
		if !slices.Contains(ids, id.Value) {
			ids = append(ids, id.Value)
		}
	}
	return ids
}

// meetWaiting gives a gift the refunds that have waited for it, which are no gifts of their own any more.
func meetWaiting(u Unit, made *GiftDocument, in *giving.GiftInput) (met []*StoredGift, err error) {
	before := made.Net()
	for _, called := range calledElsewhere(in) {
		all, err := waitingFor(u, called)
		if err != nil {
			return nil, err
		}
		for _, waiting := range all {
			if after, ok := made.Take(&waiting.Gift); ok && waiting.ID != made.ID && !slices.Contains(met, waiting) {
				made.Gift, met = after, append(met, waiting)
				made.Updated = made.Existing
			}
		}
	}
	made.Counted += made.Net() - before
	return met, nil
}

// waitingFor are the refunds that wait, or have waited, for a gift that is called so elsewhere.
func waitingFor(u Unit, called string) (all []*StoredGift, err error) {
	for {
		id, err := u.References.Get(u.Tx, u.Number, find.IDReference(giving.WaitingID(len(all), called)))
		if err != nil || id == 0 {
			return all, err
		}
		waiting, err := u.Gifts.Get(u.Tx, u.Number, id)
		switch {
		case err != nil:
			return nil, err
		case waiting == nil:
			return nil, &Damaged{Table: GiftTable.Name, ID: id, Account: u.Number}
		case waiting.Damage != nil:
			return nil, waiting.Damage
		}
		all = append(all, waiting)
	}
}

// endWaiting cancels refunds that have waited for their gifts, which have them now.
func endWaiting(u Unit, met []*StoredGift, now time.Time) error {
	for _, waiting := range met {
		done := waiting.HasMet()
		if err := SaveGift(u, waiting, &done, now); err != nil {
			return err
		}
	}
	return nil
}

// recordWaiting records a refund whose gift is not known as a gift that was given back in full.
func recordWaiting(u Unit, in *giving.GiftInput, reference string, now time.Time) (made GiftDocument, err error) {
	as := *in
	as.Filed = &giving.Filed{Same: in.Filed.Same, Neighbors: in.Filed.Neighbors, OtherName: in.Filed.OtherName}
	as.ExternalID, as.Method = &reference, cmp.Or(in.Method, new("other"))
	as.Status, as.Plan, as.Fee, as.FeeCovered = nil, nil, nil, nil
	made, from, err := decideGift(u, &as, now)
	if err != nil || made.Existing || made.Skipped {
		return made, err
	}
	var named []crm.ExternalID
	for _, gift := range in.Refunds() {
		others, err := waitingFor(u, gift)
		if err != nil {
			return made, err
		}
		named = append(named, giving.WaitingID(len(others), gift))
	}
	if made.Gift, err = made.Wait(reference, in, named); err != nil {
		return made, err
	}
	made.Waits, made.Counted = true, 0
	return insertGift(u, made, from, now)
}

// A transfer or a check that was promised on a donation page is known by its reference, wherever a file of the bank has
// it.

// Promise is a promised gift whose reference a row of a file has.
type Promise struct {
	ID       string
	Campaign int64
	Wish     donate.Wish

	reference string
	arrived   string // the gift that a person has recorded already; "" for none
}

const (
	sqlPromise = `SELECT id, campaign_id, wish, code FROM donation WHERE account_id = $1 AND number = $2
		AND provider = '' AND wish <> '{}'`
	sqlKept = `UPDATE donation SET state = 'paid', code = $3 WHERE account_id = $1 AND id = $2
		AND state IN ('started', 'processing') AND provider = ''`
	sqlUnkept = `UPDATE donation SET state = 'processing', code = '', updated_at = $3 WHERE account_id = $1
		AND code = $2 AND code <> '' AND provider = ''`
)

// PromiseIn finds the promise whose reference is in a text, nil for none.
func PromiseIn(c db.Conn, account int64, text string) (p *Promise, err error) {
	number, ok := donate.FindReference(text)
	if !ok {
		return nil, nil
	}
	_, err = c.One(func(r db.Row) {
		p = &Promise{ID: r.Text(0), Campaign: r.Int(1), reference: donate.Reference(number), arrived: r.Text(3)}
		_ = json.Unmarshal([]byte(r.Text(2)), &p.Wish) // it was written by us
	}, sqlPromise, account, number)
	return p, err
}

// sameTransfer is how far the day that a person has entered may be from that of the bank.
const sameTransfer = 14 * 24 * time.Hour

// Fill makes a row of a file the gift of who promised it. It must be checked anew. One that a person has recorded
// already is that gift.
func (s *Store) Fill(c db.Conn, account int64, p *Promise, in *giving.GiftInput) error {
	who := p.Wish.Gift("", in.Time())
	in.Anonymous, in.Known, in.Giver, in.Email, in.Phone, in.Address, in.OptIn = false, false, who.Giver, who.Email,
		who.Phone, who.Address, who.OptIn
	if who.Dedication != nil && in.Dedication == nil {
		in.Dedication = who.Dedication
	}
	if in.Campaign == nil && p.Campaign != 0 {
		in.Campaign = &p.Campaign
	}
	if p.arrived == "" {
		return nil
	}
	found, err := db.List(c, func(r db.Row) *StoredGift { _, g := ScanGift(r); return g }, sqlLoadGifts, account,
		[]int64{CodeID(account, p.arrived)})
	if err != nil || len(found) == 0 || found[0].Damage != nil {
		return err
	}
	g := &found[0].Gift
	if same := g.ExternalID == p.reference && in.Amount != nil &&
		*in.Amount == donate.Sent(g.Payment().Amount, g.Currency); same && in.Time().Sub(g.At).Abs() < sameTransfer {
		in.ExternalID, in.FromRow = &p.reference, true
	}
	return nil
}

// KeepPromise notes which gift a promise became.
func KeepPromise(u Unit, p *Promise, code string) error {
	return u.Run(sqlKept, u.Number, p.ID, code)
}

// BreakPromise lets a promise wait again whose gift is withdrawn.
func BreakPromise(u Unit, g *giving.Gift, now time.Time) error {
	return u.Run(sqlUnkept, u.Number, g.Code, Seconds(now))
}
