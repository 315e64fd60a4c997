package gifts

import (
	"encoding/json"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/crm/text"
)

// giftDifferences is what a change did to a gift.
func giftDifferences(before, after *giving.Gift) (kind history.Kind, all doc.Differences) {
	kind = history.DidUpdate
	changes := giving.GiftChanges(before, after)
	if refunded := after.Refunded() - before.Refunded(); refunded > 0 {
		kind = history.DidRefund
		changes = append(changes, giving.GiftChange{Field: "refund", After: text.MoneyInput(refunded, after.Currency)})
	} else if refunded < 0 {
		kind = history.DidRefund
		changes = append(changes, giving.GiftChange{Field: "refund_undone", After: text.MoneyInput(-refunded, after.Currency)})
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
