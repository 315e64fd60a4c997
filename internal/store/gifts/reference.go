package gifts

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/giving"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/contacts"
	"donorbook/internal/store/derived"
)

// Gifts and plans are found by what other systems call them. Their files tell of refunds, pledges and plans by these names.

// giftReferred is the gift with an external id, nil where there is none.
func giftReferred(t *store.Tx, a *store.Account, reference string) (*StoredGift, error) {
	if reference == "" {
		return nil, nil
	}
	id, err := derived.Of(a).References.Get(t, a.Account, find.GiftReference+reference)
	if err != nil || id == 0 {
		return nil, err
	}
	found, err := Of(a).Gifts.Get(t, a.Account, id)
	switch {
	case err != nil:
		return nil, err
	case found == nil:
		return nil, &store.Damaged{Table: store.GiftTable.Name, ID: id, Account: a.Account}
	}
	return found, found.Damage
}

// knownGift is a gift whose external id was sent again, with what a file tells about it. One that is not what was sent is refused.
func knownGift(g giving.Gift, in *giving.GiftInput, now time.Time) (made GiftDocument, err error) {
	if other := in.Differs(&g); other != "" {
		who := "gift " + g.Code
		if store.MadeBy(g.ID) > 0 {
			who = "the gift of an earlier row"
		}
		return made, store.Fault("external_id", other, who)
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

// otherReferences are what a gift may be known by beside its external id: each of its ids with its heading, and as the external id that an earlier file or version gave it.
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

// knownByOther is the gift that has another id of a row, if it is the same payment. One that is not has an id that means something else, so that the new gift goes without it.
func knownByOther(t *store.Tx, a *store.Account, in *giving.GiftInput, now time.Time) (made GiftDocument, err error) {
	if in.Filed == nil {
		return made, nil
	}
	for _, reference := range otherReferences(in) {
		found, err := giftReferred(t, a, strings.TrimPrefix(reference, find.GiftReference))
		if err != nil {
			return made, err
		}
		if found == nil {
			continue
		}
		named := *in
		named.FromRow = reference == find.GiftReference+in.Filed.Earlier // no other id was made from all that the row says
		if made, err = knownGift(found.Gift, &named, now); err == nil {
			made.Slug = slug(t, a, found.Campaign)
			return made, nil
		}
		made = GiftDocument{}
		in.Filed.IDs = slices.DeleteFunc(slices.Clone(in.Filed.IDs), func(id crm.ExternalID) bool { return find.IDReference(id) == reference })
	}
	return made, nil
}

// dropTakenIDs leaves out ids that lead to another gift.
func dropTakenIDs(t *store.Tx, a *store.Account, g *giving.Gift) (err error) {
	g.IDs = slices.DeleteFunc(slices.Clone(g.IDs), func(id crm.ExternalID) bool {
		other, failed := derived.Of(a).References.Get(t, a.Account, find.IDReference(id))
		err = cmp.Or(err, failed)
		return other != 0 && other != g.ID
	})
	return err
}

// freeReference refuses an external id that another gift or plan has than the one whose own it is.
func freeReference(t *store.Tx, a *store.Account, kind string, sent *string, own string) error {
	if sent == nil || *sent == "" || *sent == own {
		return nil
	}
	id, err := derived.Of(a).References.Get(t, a.Account, kind+*sent)
	if err == nil && id != 0 {
		err = store.Fault("external_id", referenceTaken[kind])
	}
	return err
}

var referenceTaken = map[string]doc.Rule{find.GiftReference: "belongs to another gift", find.PlanReference: "belongs to another plan"}

// filedReferences are what a row of a file will look up.
func filedReferences(filed *giving.Filed) (references []string) {
	for _, mention := range filed.Mentions {
		references = append(references, find.GiftReference+mention)
	}
	if filed.Key != "" {
		references = append(references, find.GiftReference+filed.Key)
	}
	for reference, kind := range map[string]string{filed.Plan: find.PlanReference, filed.Pledge: find.GiftReference, filed.RefundOf: find.GiftReference} {
		if reference != "" {
			references = append(references, kind+reference)
		}
	}
	return references
}

// planNamed is the plan that a gift names by its id or by what it is called elsewhere, nil for none.
func planNamed(t *store.Tx, a *store.Account, in *giving.GiftInput) (*giving.Plan, error) {
	if in.Filed == nil || in.Filed.Plan == "" || in.Plan != nil && *in.Plan != "" {
		return planOf(t, a, in.Plan)
	}
	id, err := derived.Of(a).References.Get(t, a.Account, find.PlanReference+in.Filed.Plan)
	if err != nil || id == 0 {
		return nil, err
	}
	plan, err := Of(a).Plans.Get(t, a.Account, id)
	switch {
	case err != nil || plan == nil:
		return nil, err
	case plan.Damage != nil:
		return nil, plan.Damage
	}
	return &plan.Plan, nil
}

// aboutPledge decides about a row that gives a pledge up, or that is a part of it which is to come; isNone tells that the row is neither, or that its pledge is not known.
func aboutPledge(t *store.Tx, a *store.Account, in *giving.GiftInput) (made GiftDocument, isNone bool, err error) {
	if !in.NamesPledge() {
		return made, true, nil
	}
	found, err := giftReferred(t, a, in.Filed.Pledge)
	if err != nil || found == nil {
		return made, true, err
	}
	giver, err := contacts.Row(t, a, found.Contact)
	switch {
	case err != nil:
		return made, true, err
	case giver != nil && in.Giver.PersonName().Contradicts(giver.Contact.PersonName()): // another system calls its own pledge so
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

// namePledge finds the pledge of a payment whose row names none: the only open one of the giver that is as large, or the only one of these for the same campaign.
func namePledge(t *store.Tx, a *store.Account, in *giving.GiftInput, giver int64) error {
	if in.Filed == nil || !in.Filed.Pays || in.Filed.Pledge != "" || giver == 0 {
		return nil
	}
	ids, err := lastGiven(t, a, giver)
	if err != nil {
		return err
	}
	open := giving.PledgesPaid(loadedOf(a, giver, ids), in, CurrencyOf(a, in))
	if len(open) == 1 {
		in.Filed.Pledge = open[0].ExternalID
	}
	return nil
}

// loadedOf are the gifts of a giver that are loaded.
func loadedOf(a *store.Account, giver int64, ids []int64) (all []*giving.Gift) {
	for _, id := range ids {
		if g := Of(a).Gifts.Rows[id]; g != nil && g.Damage == nil && g.Contact == giver && !g.Waits() {
			all = append(all, &g.Gift)
		}
	}
	return all
}

// sqlPayments are the payments that name a pledge.
const sqlPayments = `SELECT id FROM external_reference WHERE account_id = $1 AND reference >= $2 AND reference < $3 ORDER BY reference`

// payEarlier makes a new pledge smaller by the payments of it that came in files before.
func payEarlier(t *store.Tx, a *store.Account, pledge *giving.Gift, now time.Time) error {
	if pledge.Status != giving.Pending || pledge.ExternalID == "" {
		return nil
	}
	start := find.PaymentReferences(pledge.ExternalID)
	payments, err := db.List(t.Conn, store.Number, sqlPayments, a.Account, start, start+"\U0010FFFF")
	if err == nil {
		err = Of(a).Gifts.Load(t, a.Account, payments)
	}
	for _, id := range payments {
		if payment := Of(a).Gifts.Rows[id]; err == nil && payment != nil && payment.Damage == nil {
			err = payPledge(t, a, &payment.Gift, &giving.Filed{Pledge: pledge.ExternalID}, now)
		}
	}
	return err
}

// payPledge makes the pledge smaller that a row of a file names with a payment that has come. One of another giver is a pledge that another system calls so.
func payPledge(t *store.Tx, a *store.Account, payment *giving.Gift, filed *giving.Filed, now time.Time) error {
	if filed == nil {
		return nil
	}
	found, err := giftReferred(t, a, filed.Pledge)
	if err != nil || found == nil || found.Contact != payment.Contact || found.Status != giving.Pending || found.Currency != payment.Currency || payment.Net() <= 0 {
		return err
	}
	paid := found.PayPledge(payment.Payment().Amount, now)
	return SaveGift(t, a, found, &paid, now)
}

// UnpayPledge takes back what a payment that is withdrawn has made of a pledge. later is that of one that came after it: one that came before has a change of its own for that.
func UnpayPledge(t *store.Tx, a *store.Account, payment *giving.Gift, later bool, now time.Time) error {
	for _, id := range payment.IDs {
		if id.Source != giving.PledgeSource || payment.Net() <= 0 {
			continue
		}
		pledge, err := giftReferred(t, a, id.Value)
		if err != nil || pledge == nil || pledge.Contact != payment.Contact || later && pledge.ID < payment.ID || pledge.Currency != payment.Currency {
			return err
		}
		if raised := pledge.UnpayPledge(payment.Payment().Amount); raised.Status == giving.Pending {
			return SaveGift(t, a, pledge, &raised, now)
		}
	}
	return nil
}

// RecordRefund gives back what a row of a file says. A refund whose gift is not known waits for it.
func RecordRefund(t *store.Tx, a *store.Account, in *giving.GiftInput, now time.Time) (made GiftDocument, err error) {
	original, reference := in.Filed.Original(*in.ExternalID)
	waiting, err := giftReferred(t, a, reference)
	if err != nil {
		return made, err
	}
	if waiting != nil && !waiting.Waits() {
		waiting = nil
	}
	found, err := giftReferred(t, a, original)
	if err == nil && (found == nil || found == waiting) {
		found, err = takenBack(t, a, in, reference)
	}
	switch {
	case err != nil:
		return made, err
	case found != nil:
	case waiting != nil:
		return GiftDocument{Gift: waiting.Gift, Existing: true}, nil
	default:
		return recordWaiting(t, a, in, reference, now)
	}
	made.Slug = slug(t, a, found.Campaign)
	if made.Gift, made.Existing, err = found.RefundFiled(reference, in); err != nil {
		return made, err
	}
	made.Counted = made.Net() - found.Net()
	if !made.Existing {
		err = SaveGift(t, a, found, &made.Gift, now)
	} else if !slices.Equal(made.Entries, found.Entries) { // it knows the row from now on, which is nothing for its history
		t.Touch()
		err = PutGift(t, a, &made.Gift, found.Revision)
	}
	if err == nil && waiting != nil {
		err = endWaiting(t, a, []*StoredGift{waiting}, now)
	}
	return made, err
}

// sqlTakenBack are the last gifts of a contact.
const sqlTakenBack = `SELECT id FROM gift WHERE account_id = $1 AND contact_id = $2 ORDER BY given_at DESC, id DESC LIMIT $3`

// MostTakenBack is among how many gifts of a donor the one is looked for that a row gives back.
const MostTakenBack int64 = 100

// takenBack is the gift that a row gives back which does not name it: one that the row mentions or shares an id with, or else the only one of the donor that fits; nil for none.
func takenBack(t *store.Tx, a *store.Account, in *giving.GiftInput, reference string) (*StoredGift, error) {
	if in.Filed.RefundOf != "" {
		return nil, nil
	}
	for _, mention := range append(otherReferences(in), in.Filed.Mentions...) {
		found, err := giftReferred(t, a, strings.TrimPrefix(mention, find.GiftReference))
		if err != nil {
			return nil, err
		}
		if found != nil {
			if !found.Waits() && giving.TakenBack([]*giving.Gift{&found.Gift}, reference, in) == 0 {
				return found, nil
			}
		}
	}
	contact, err := payer(t, a, in)
	if err != nil || contact == 0 {
		return nil, err
	}
	ids, err := lastGiven(t, a, contact)
	if err != nil {
		return nil, err
	}
	all := loadedOf(a, contact, ids)
	if at := giving.TakenBack(all, reference, in); at >= 0 {
		return Of(a).Gifts.Rows[all[at].ID], nil
	}
	return nil, nil
}

// lastGiven are the last gifts of a contact, which are loaded: those that are written, those of the unit of work, and those that a dry run has decided about. They are none where there are too many.
func lastGiven(t *store.Tx, a *store.Account, contact int64) (ids []int64, err error) {
	if ids, err = db.List(t.Conn, store.Number, sqlTakenBack, a.Account, contact, MostTakenBack+1); err != nil || int64(len(ids)) > MostTakenBack {
		return nil, err
	}
	if Of(a).Given != nil {
		if ids, err = Of(a).Given(contact, ids); err != nil {
			return nil, err
		}
	}
	if err = Of(a).Gifts.Load(t, a.Account, ids); err != nil {
		return nil, err
	}
	for id, g := range Of(a).Gifts.Rows {
		if g != nil && g.Contact == contact {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// payer is the contact that a refund goes to, as far as its row tells; 0 is not known.
func payer(t *store.Tx, a *store.Account, in *giving.GiftInput) (int64, error) {
	if in.Contact != nil {
		return *in.Contact, nil
	}
	row, _, err := matchID(t, a, in)
	if row == nil && err == nil {
		var g giver
		err = g.match(t, a, in, 0)
		row = g.row
	}
	if row == nil || err != nil {
		return 0, err
	}
	return row.ID, nil
}
