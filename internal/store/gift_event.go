package store

import (
	"encoding/json"
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

// eventData is what a change did: [field, before, after] for each field.
func eventData(before, after *crm.Gift) string {
	changes := crm.GiftChanges(before, after)
	if len(after.Entries) > len(before.Entries) {
		last := after.Entries[len(after.Entries)-1]
		changes = append(changes, crm.GiftChange{Field: "refund", After: crm.MoneyInput(-last.Amount, after.Currency)})
	}
	for i := range changes {
		changes[i].Before, changes[i].After = clipped(changes[i].Before), clipped(changes[i].After)
	}
	data, _ := json.Marshal(changes) // texts alone
	return string(data)
}

// keptText is how much of a text the history keeps: a page shows many.
const keptText = 200

// clipped shortens a text, which stays one; what else a gift has is short.
func clipped(value string) string {
	var text string
	if json.Unmarshal([]byte(value), &text) != nil {
		return value
	}
	short, _ := json.Marshal(crm.Clip(text, keptText))
	return string(short)
}

func scanGiftEvent(r db.Row) GiftEvent {
	event := GiftEvent{At: moment(r.Int(0)), Who: r.Text(1)}
	_ = json.Unmarshal([]byte(r.Text(2)), &event.Changes) // as eventData wrote it
	return event
}
