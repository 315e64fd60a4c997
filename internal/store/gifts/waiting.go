package gifts

import (
	"cmp"
	"slices"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/giving"
	"donorbook/internal/store"
	"donorbook/internal/store/derived"
)

// calledElsewhere is what a row of a file calls its gift, or the gift that it refunds; nothing of a gift that no file tells of.
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
func meetWaiting(t *store.Tx, a *store.Account, made *GiftDocument, in *giving.GiftInput) (met []*StoredGift, err error) {
	before := made.Net()
	for _, called := range calledElsewhere(in) {
		all, err := waitingFor(t, a, called)
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
func waitingFor(t *store.Tx, a *store.Account, called string) (all []*StoredGift, err error) {
	for {
		id, err := derived.Of(a).References.Get(t, a.Account, find.IDReference(giving.WaitingID(len(all), called)))
		if err != nil || id == 0 {
			return all, err
		}
		waiting, err := Of(a).Gifts.Get(t, a.Account, id)
		switch {
		case err != nil:
			return nil, err
		case waiting == nil:
			return nil, &store.Damaged{Table: store.GiftTable.Name, ID: id, Account: a.Account}
		case waiting.Damage != nil:
			return nil, waiting.Damage
		}
		all = append(all, waiting)
	}
}

// endWaiting cancels refunds that have waited for their gifts, which have them now.
func endWaiting(t *store.Tx, a *store.Account, met []*StoredGift, now time.Time) error {
	for _, waiting := range met {
		done := waiting.HasMet()
		if err := SaveGift(t, a, waiting, &done, now); err != nil {
			return err
		}
	}
	return nil
}

// recordWaiting records a refund whose gift is not known as a gift that was given back in full.
func recordWaiting(t *store.Tx, a *store.Account, in *giving.GiftInput, reference string, now time.Time) (made GiftDocument, err error) {
	as := *in
	as.Filed = &giving.Filed{Same: in.Filed.Same, Neighbors: in.Filed.Neighbors, OtherName: in.Filed.OtherName}
	as.ExternalID, as.Method = &reference, cmp.Or(in.Method, new("other"))
	as.Status, as.Plan, as.Fee, as.FeeCovered = nil, nil, nil, nil
	made, from, err := decideGift(t, a, &as, now)
	if err != nil || made.Existing || made.Skipped {
		return made, err
	}
	var named []crm.ExternalID
	for _, gift := range in.Refunds() {
		others, err := waitingFor(t, a, gift)
		if err != nil {
			return made, err
		}
		named = append(named, giving.WaitingID(len(others), gift))
	}
	if made.Gift, err = made.Wait(reference, in, named); err != nil {
		return made, err
	}
	made.Waits, made.Counted = true, 0
	return insertGift(t, a, made, from, now)
}
