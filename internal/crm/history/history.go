// Package history has what the record of changes says: which document, what was done, by which way it came in, in words
// for people, and what can be taken back. It knows all nouns; none of them knows it.
package history

import (
	"encoding/json"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/text"
)

// Noun is what a change is about. The numbers are stored.
type Noun int64

// The nouns that have a history.
const (
	ContactNoun Noun = iota + 1
	CampaignNoun
	GiftNoun
	PlanNoun
	TagNoun // of tags that were renamed or deleted by a release up to 0.10; now the job tells of them
	KeyNoun
	UserNoun
	SettingNoun
	FieldNoun
	SegmentNoun
	JobNoun
)

var nounNames = []string{"", "contact", "campaign", "transaction", "plan", "tag", "key", "user", "setting",
	"custom_field", "segment", "job"}

func (n Noun) String() string { return nameAt(nounNames, int64(n)) }

// Nouns are those that a part of the history is about, by the name of the part. Some changes of contacts are about
// gifts.
var Nouns = map[string][]Noun{
	"contacts": {ContactNoun, TagNoun, SegmentNoun, JobNoun}, "gifts": {GiftNoun, PlanNoun},
	"campaigns": {CampaignNoun}, "settings": {KeyNoun, SettingNoun, FieldNoun}, "people": {UserNoun},
}

// Kind is what a change did. The numbers are stored.
type Kind int64

// The kinds of changes.
const (
	DidCreate Kind = iota + 1
	DidUpdate
	DidTag
	DidUntag
	DidArchive
	DidRestore
	DidMerge
	DidErase
	DidGive
	DidRefund
	DidNote
	DidDelete
	DidLose // a row that was missing, and that a repair has put in its place
	DidExport
	DidImport
	DidPlan    // a recurring plan of a contact has begun
	DidJoin    // a contact was merged into another one
	DidPart    // a merge into a contact was undone
	DidDismiss // a contact was called another person than a contact that looked like it, or that was taken back
)

var kindNames = []string{"", "created", "updated", "tagged", "untagged", "archived", "restored", "merged", "erased",
	"gift", "refund", "note", "deleted", "lost", "exported", "imported", "plan", "merged_into", "unmerged",
	"distinguished"}

func (k Kind) String() string { return nameAt(kindNames, int64(k)) }

// Channel is where a change came in. The numbers are stored.
type Channel int64

// The channels.
const (
	OtherChannel Channel = iota
	APIChannel
	ConsoleChannel
	CommandChannel
	ImportChannel
	BulkChannel
	PageChannel // a giver on a donation page, and what the payment provider told of it
)

var channelNames = []string{"other", "api", "console", "command line", "import", "bulk", "page"}

func (d Channel) String() string { return nameAt(channelNames, int64(d)) }

func nameAt(names []string, i int64) string {
	if i < 0 || i >= int64(len(names)) {
		return ""
	}
	return names[i]
}

// KindOf is what a change of a contact is called by what it did.
func KindOf(d doc.Differences) Kind {
	for _, one := range d {
		if one.Field == "archived_at" {
			if string(one.After) == "null" {
				return DidRestore
			}
			return DidArchive
		}
	}
	if len(d) == 1 && d[0].Field == "tags" {
		switch {
		case len(d[0].Out) == 0:
			return DidTag
		case len(d[0].In) == 0:
			return DidUntag
		}
	}
	return DidUpdate
}

// MentionedGift is what the history of a contact says about a gift of theirs: which one, what was given or refunded,
// and the state that it is in. The amount, which is what was paid, is negative where a refund was undone. Of a plan it
// says what is given each time, and how often.
type MentionedGift struct {
	Gift      string      `json:"transaction_id,omitempty"`
	Plan      string      `json:"plan_id,omitempty"`
	Amount    json.Number `json:"amount"`
	Before    json.Number `json:"before,omitempty"` // the amount that was corrected
	Currency  string      `json:"currency"`
	Status    string      `json:"status"`
	Was       string      `json:"was,omitempty"` // the status before, of a gift whose void was undone
	Frequency string      `json:"frequency,omitempty"`
}

// GiftMention is a mentioned gift as the history keeps it.
func GiftMention(before, after *giving.Gift) string {
	mention := MentionedGift{Gift: after.Code, Currency: after.Currency, Status: string(after.Status)}
	amount := after.Payment().Amount
	if before != nil && before.Status == giving.Voided {
		mention.Was = string(giving.Voided)
	}
	if before != nil && len(after.Entries) > len(before.Entries) {
		if refunded := after.Refunded() - before.Refunded(); refunded != 0 {
			amount = refunded
		} else {
			mention.Before = json.Number(text.MoneyInput(before.Payment().Amount, after.Currency))
		}
	}
	return mention.text(amount)
}

// PlanMention is a mentioned plan as the history keeps it.
func PlanMention(p *giving.Plan) string {
	return MentionedGift{Plan: p.Code, Currency: p.Currency, Status: string(p.Status),
		Frequency: p.Frequency}.text(p.Amount)
}

func (m MentionedGift) text(amount int64) string {
	m.Amount = json.Number(text.MoneyInput(amount, m.Currency))
	text, _ := json.Marshal(m) // texts alone
	return string(text)
}
