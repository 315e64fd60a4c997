package store

import (
	"encoding/json"
	"slices"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

// GiftEvent is one change of a gift.
type GiftEvent struct {
	At      time.Time
	Who     string
	Changes []crm.GiftChange // a refund is a change of "refund"
}

// giftDifferences is what a change did to a gift.
func giftDifferences(before, after *crm.Gift) (kind crm.ChangeKind, all crm.Differences) {
	kind = crm.DidUpdate
	changes := crm.GiftChanges(before, after)
	if len(after.Entries) > len(before.Entries) {
		kind = crm.DidRefund
		last := after.Entries[len(after.Entries)-1]
		changes = append(changes, crm.GiftChange{Field: "refund", After: crm.MoneyInput(-last.Amount, after.Currency)})
	}
	for _, c := range changes {
		all = append(all, crm.Difference{Field: c.Field, Before: clipped(c.Before), After: clipped(c.After), At: -1})
	}
	return kind, all
}

// keptText is how much of a text the history keeps: a page shows many.
const keptText = 200

// clipped shortens a text, which stays one; what else a gift has is short. No value is null.
func clipped(value string) json.RawMessage {
	var text string
	switch {
	case value == "":
		return json.RawMessage("null")
	case json.Unmarshal([]byte(value), &text) == nil:
		value = crm.Clip(text, keptText)
	case json.Valid([]byte(value)):
		return json.RawMessage(value)
	}
	short, _ := json.Marshal(value)
	return short
}

const sqlGiftEvents = `WITH RECURSIVE chain (at, actor, data, kind, prev, depth) AS (
	SELECT c.at, c.actor, c.data, c.kind, c.prev, 1 FROM gift AS g JOIN change AS c ON c.account_id = $1 AND c.revision = g.revision WHERE g.account_id = $1 AND g.id = $2
	UNION ALL
	SELECT c.at, c.actor, c.data, c.kind, c.prev, chain.depth + 1 FROM chain JOIN change AS c ON c.account_id = $1 AND c.revision = chain.prev
	WHERE chain.prev <> 0 AND chain.depth < 200)
	SELECT at, actor, data, kind FROM chain ORDER BY depth`

// giftEvents are the latest changes of a gift, in the order in which they happened.
func giftEvents(c db.Conn, account, id int64) (events []GiftEvent, err error) {
	err = c.Each(func(r db.Row) error {
		if crm.ChangeKind(r.Int(3)) == crm.DidCreate {
			return nil
		}
		event := GiftEvent{At: moment(r.Int(0)), Who: r.Text(1)}
		differences, err := crm.ParseDifferences(r.Text(2))
		for _, d := range differences {
			event.Changes = append(event.Changes, crm.GiftChange{Field: d.Field, Before: plain(d.Before), After: plain(d.After)})
		}
		events = append(events, event)
		return err
	}, sqlGiftEvents, account, id)
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
