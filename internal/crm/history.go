package crm

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// Noun is what a change is about. The numbers are stored.
type Noun int64

// The nouns that have a history.
const (
	ContactNoun Noun = iota + 1
	CampaignNoun
	GiftNoun
	PlanNoun
	TagNoun
	KeyNoun
	UserNoun
	SettingNoun
	FieldNoun
	SegmentNoun
	JobNoun
)

var nounNames = []string{"", "contact", "campaign", "transaction", "plan", "tag", "key", "user", "setting", "custom_field", "segment", "job"}

func (n Noun) String() string { return nameAt(nounNames, int64(n)) }

// ChangeKind is what a change did. The numbers are stored.
type ChangeKind int64

// The kinds of changes.
const (
	DidCreate ChangeKind = iota + 1
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
	DidPlan // a recurring plan of a contact has begun
)

var kindNames = []string{"", "created", "updated", "tagged", "untagged", "archived", "restored", "merged", "erased", "gift", "refund", "note", "deleted", "lost", "exported", "imported", "plan"}

func (k ChangeKind) String() string { return nameAt(kindNames, int64(k)) }

// Door is where a change came in. The numbers are stored.
type Door int64

// The doors.
const (
	OtherDoor Door = iota
	APIDoor
	ConsoleDoor
	CommandDoor
	ImportDoor
	BulkDoor
)

var doorNames = []string{"other", "api", "console", "command line", "import", "bulk"}

func (d Door) String() string { return nameAt(doorNames, int64(d)) }

func nameAt(names []string, i int64) string {
	if i < 0 || i >= int64(len(names)) {
		return ""
	}
	return names[i]
}

// Difference is what a change did to one field, both ways. Of a list it is what was taken out and put in at one place; At is -1 for any
// other field.
type Difference struct {
	Field         string
	Before, After json.RawMessage
	At            int
	Out, In       []json.RawMessage
}

// Differences are what a change did to a document.
type Differences []Difference

// Differences compares a contact with what it became. When it was changed is not compared: the change says that itself.
func (c *Contact) Differences(after *Contact) Differences { return differences(contactTable, c, after) }

// Differences compares a campaign with what it became.
func (c *Campaign) Differences(after *Campaign) Differences {
	return differences(campaignTable, c, after)
}

// Differences compares a plan with what it became.
func (p *Plan) Differences(after *Plan) Differences { return differences(planTable, p, after) }

func differences[D, I any](t table[D, I], was, is D) (all Differences) {
	for i := range t {
		f := &t[i]
		if f.same == nil || f.name == "updated_at" || f.same(was, is) {
			continue
		}
		if f.differ != nil {
			all = append(all, f.differ(was, is)...)
			continue
		}
		before, now := f.value(was), f.value(is)
		if f.limit > 0 {
			all = append(all, spliced(f.name, elements(before), elements(now)))
		} else {
			all = append(all, Difference{Field: f.name, Before: before, After: now, At: -1})
		}
	}
	return all
}

// value is what the history keeps of a field. One that is kept beside the document is a text.
func (s *stored[D]) value(doc D) []byte {
	if s.append == nil {
		return appendText(nil, s.text(doc))
	}
	return s.append(nil, doc)
}

// elements are those of an array that we wrote.
func elements(array []byte) (list []json.RawMessage) {
	_ = json.Unmarshal(array, &list)
	return list
}

// spliced is the one place at which two lists differ.
func spliced(field string, before, after []json.RawMessage) Difference {
	same := func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }
	at, end := 0, 0
	for at < min(len(before), len(after)) && same(before[at], after[at]) {
		at++
	}
	for end < min(len(before), len(after))-at && same(before[len(before)-1-end], after[len(after)-1-end]) {
		end++
	}
	return Difference{Field: field, At: at, Out: before[at : len(before)-end], In: after[at : len(after)-end]}
}

// listDifference is how a difference of a list is written.
type listDifference struct {
	At  int               `json:"at"`
	Out []json.RawMessage `json:"out,omitempty"`
	In  []json.RawMessage `json:"in,omitempty"`
}

// Text is what the history keeps: an object of [before, after] by field.
func (d Differences) Text() string {
	var b bytes.Buffer
	for i, one := range d {
		b.WriteByte("{,"[min(i, 1)])
		b.Write(appendText(nil, one.Field))
		b.WriteByte(':')
		if one.At >= 0 {
			text, _ := json.Marshal(listDifference{one.At, one.Out, one.In}) // raw texts that are valid
			b.Write(text)
			continue
		}
		b.WriteByte('[')
		b.Write(one.Before)
		b.WriteByte(',')
		b.Write(one.After)
		b.WriteByte(']')
	}
	if b.Len() == 0 {
		return ""
	}
	b.WriteByte('}')
	return b.String()
}

// ParseDifferences reads what the history keeps. Keys whose values are neither a pair nor a splice are left out: a change may say more
// than what differs.
func ParseDifferences(text string) (all Differences, err error) {
	if text == "" {
		return nil, nil
	}
	dec := json.NewDecoder(strings.NewReader(text))
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, err
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return nil, err
		}
		one := Difference{At: -1}
		one.Field, _ = key.(string)
		var pair []json.RawMessage
		var list listDifference
		switch {
		case raw[0] == '[' && json.Unmarshal(raw, &pair) == nil && len(pair) == 2:
			one.Before, one.After = pair[0], pair[1]
		case raw[0] == '{' && json.Unmarshal(raw, &list) == nil && len(list.Out)+len(list.In) > 0:
			one.At, one.Out, one.In = list.At, list.Out, list.In
		default:
			continue
		}
		all = append(all, one)
	}
	return all, nil
}

// Kind is what a change of a contact is called by what it did.
func (d Differences) Kind() ChangeKind {
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

// Has tells whether a field differs.
func (d Differences) Has(field string) bool {
	return slices.ContainsFunc(d, func(one Difference) bool { return one.Field == field })
}

// MentionedGift is what the history of a contact says about a gift of theirs: which one, what was given or refunded, and the state that it is in. The
// amount is negative where a refund was undone. Of a plan it says what is given each time, and how often.
type MentionedGift struct {
	Gift      string      `json:"transaction_id,omitempty"`
	Plan      string      `json:"plan_id,omitempty"`
	Amount    json.Number `json:"amount"`
	Before    json.Number `json:"before,omitempty"` // the amount that was corrected
	Currency  string      `json:"currency"`
	Status    string      `json:"status"`
	Frequency string      `json:"frequency,omitempty"`
}

// GiftMention is a mentioned gift as the history keeps it.
func GiftMention(before, after *Gift) string {
	mention := MentionedGift{Gift: after.Code, Currency: after.Currency, Status: string(after.Status)}
	amount := after.Payment().Amount
	if before != nil && len(after.Entries) > len(before.Entries) {
		if refunded := after.Refunded() - before.Refunded(); refunded != 0 {
			amount = refunded
		} else {
			mention.Before = json.Number(MoneyInput(before.Payment().Amount, after.Currency))
		}
	}
	return mention.text(amount)
}

// PlanMention is a mentioned plan as the history keeps it.
func PlanMention(p *Plan) string {
	return MentionedGift{Plan: p.Code, Currency: p.Currency, Status: string(p.Status), Frequency: p.Frequency}.text(p.Amount)
}

func (m MentionedGift) text(amount int64) string {
	m.Amount = json.Number(MoneyInput(amount, m.Currency))
	text, _ := json.Marshal(m) // texts alone
	return string(text)
}

// TextDifference is what a change did to a text; "" is none. A text that stays says what the change is about.
func TextDifference(field, before, after string) Difference {
	return Difference{Field: field, Before: appendText(nil, before), After: appendText(nil, after), At: -1}
}

// TextsDifference is what a change did to a list of texts that is kept whole.
func TextsDifference(field string, before, after []string) Difference {
	return Difference{Field: field, Before: appendTexts(nil, before), After: appendTexts(nil, after), At: -1}
}
