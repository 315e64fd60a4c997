package gifts

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/crm/text"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

// GiftEvent is one change of a gift.
type GiftEvent struct {
	At      time.Time
	Who     string
	Changes []giving.GiftChange // a refund is a change of "refund", its undoing one of "refund_undone"
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
		changes = append(changes, giving.GiftChange{Field: "refund_undone", After: text.MoneyInput(-refunded, after.Currency)})
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

// shownEvents is how many changes of a gift are shown.
const shownEvents = 200

// giftEvents are the latest changes of a gift, in the order in which they happened.
func giftEvents(c db.Conn, account, id int64) (events []GiftEvent, err error) {
	changes, err := store.DocumentChanges(c, account, history.GiftNoun, id, shownEvents)
	for _, one := range changes {
		if one.Kind == history.DidCreate {
			continue
		}
		event := GiftEvent{At: one.At, Who: one.Who}
		differences, parseErr := doc.ParseDifferences(one.Data)
		err = errors.Join(err, parseErr)
		for _, d := range differences {
			event.Changes = append(event.Changes, giving.GiftChange{Field: d.Field, Before: plain(d.Before), After: plain(d.After)})
		}
		events = append(events, event)
	}
	slices.Reverse(events)
	return events, err
}

// plain is a value as a gift has it, "" where there is none.
func plain(value json.RawMessage) string {
	if string(value) == "null" {
		return ""
	}
	return string(value)
}
