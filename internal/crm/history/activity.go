package history

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/text"
)

// Activity is one change as the history keeps it.
type Activity struct {
	Revision int64 // its number
	Noun     Noun
	Kind     Kind
	ID       int64 // of what was changed
	Undoes   int64 // the change that it takes back, 0 for none
	Job      int64 // that it belongs to, 0 for none
	At       time.Time
	Channel  Channel
	Who      string
	Data     string
	Undone   bool // another change has taken it back
	Left     int  // elements of lists and ends of texts that Shorten has left out

	Fields *custom.Fields // by which custom fields have their names; may be nil
}

// OfCustomFields tells whether custom fields of a contact were changed.
func (a *Activity) OfCustomFields() bool {
	return a.Noun == ContactNoun && strings.Contains(a.Data, `"custom_fields.`)
}

// What is shown of a change among others: a contact may have hundreds of emails and tags, and a note many pages.
const (
	shortData = 4 << 10 // bytes that are shown whole
	shortList = 5       // elements that were added to a list, or removed
	shortText = 200     // characters
	shortNote = 1_000
)

// Shorten leaves out what a page of many changes does not show of one.
func (a *Activity) Shorten() {
	kept := a.note()
	switch letters := []rune(kept.Text); {
	case len(letters) > shortNote:
		kept.Text, a.Left = string(letters[:shortNote])+"…", 1
		a.Data = kept.text()
	case a.Kind != DidNote && len(a.Data) > shortData:
		a.Data, a.Left = doc.ShortDifferences(a.Data, shortList, shortText)
	}
}

// NoteInput is a note that a person or a program adds to the history of a contact. A nil field was not sent.
type NoteInput struct {
	Note       *string
	OccurredAt *string // a date or a time; now where it is empty

	at time.Time // what Validate worked out
}

// DecodeNote reads the body that adds a note. Other keys are ignored.
func DecodeNote(r *doc.Reader) (in NoteInput, faults *doc.Invalid, err error) {
	r.Document(func(key string) {
		switch key {
		case "note":
			in.Note = r.TextSent()
		case "occurred_at":
			in.OccurredAt = r.TextSent()
		default:
			r.Ignore()
		}
	})
	if err := r.End(); r.Err != nil {
		return NoteInput{}, nil, err
	}
	return in, &r.Fault, nil
}

// ParseSort reads the order of a list of activities: the oldest first, unless it says otherwise.
func ParseSort(value func(name string) string) (newest bool, err error) {
	var v doc.Invalid
	_, newest = crm.ParseSort(&v, value, "id")
	return newest, v.Err()
}

// Validate checks a note. faults are those found while reading.
func (in *NoteInput) Validate(faults *doc.Invalid, now time.Time) error {
	c := doc.NewChecker(faults, true)
	c.Now = now
	switch {
	case c.HasFault("note"):
	case in.Note == nil || *in.Note == "":
		c.AddAt(doc.Place{}, "note", doc.Required)
	default:
		c.CheckText(doc.Place{}, "note", *in.Note, crm.MaxNote)
	}
	if in.OccurredAt != nil && *in.OccurredAt != "" && !c.HasFault("occurred_at") {
		in.at = giving.CheckTime(c, doc.Place{}, "occurred_at", *in.OccurredAt, c.Now.Add(giving.ClockSkew),
			doc.NotInFuture)
	}
	return c.Err()
}

// keptNote is a note as the history keeps it.
type keptNote struct {
	Text string `json:"text"`
	At   string `json:"occurred_at,omitempty"`
}

// Text is what the history keeps of a valid note.
func (in *NoteInput) Text() string {
	kept := keptNote{Text: *in.Note}
	if !in.at.IsZero() {
		kept.At = string(text.AppendContactTime(nil, in.at))
	}
	return kept.text()
}

func (n keptNote) text() string {
	text, _ := json.Marshal(n) // texts alone
	return string(text)
}

// Note is what a note says, "" where it was taken back or erased.
func (a *Activity) Note() string {
	if a.Undone {
		return ""
	}
	return a.note().Text
}

func (a *Activity) note() (kept keptNote) {
	if a.Kind == DidNote && a.Data != "" {
		_ = json.Unmarshal([]byte(a.Data), &kept)
	}
	return kept
}

// Gift is the gift, or the plan, that a change of a contact mentions.
func (a *Activity) Gift() (gift MentionedGift) {
	if a.Kind == DidGive || a.Kind == DidRefund || a.Kind == DidPlan {
		_ = json.Unmarshal([]byte(a.Data), &gift) // an erased one has nothing
	}
	return gift
}

// OccurredAt is when it happened: a note may be about an earlier day.
func (a *Activity) OccurredAt() time.Time {
	if at, ok := text.ParseContactTime(a.note().At); ok {
		return at
	}
	return a.At
}

// Append appends the wire form.
func (a *Activity) Append(dst []byte) []byte {
	dst = strconv.AppendInt(append(dst, `{"id":`...), a.Revision, 10)
	dst = doc.AppendText(append(dst, `,"type":`...), a.Kind.String())
	dst = a.appendData(append(dst, `,"data":`...))
	dst = doc.AppendText(append(dst, `,"created_by":`...), a.Who)
	dst = crm.ContactTime.Append(append(dst, `,"occurred_at":`...), a.OccurredAt())
	return append(dst, '}')
}

// appendData appends what is known about a change. Every key is there, whatever the kind of the change is.
func (a *Activity) appendData(dst []byte) []byte {
	changes := ""
	gift := a.Gift()
	switch {
	case a.Kind == DidNote:
	case gift == (MentionedGift{}):
		changes = a.Data
	case gift.Before != "":
		changes = doc.Differences{{Field: "amount", Before: json.RawMessage(gift.Before),
			After: json.RawMessage(gift.Amount), At: -1}}.Text()
	}
	dst = appendDifferences(append(dst, `{"changes":`...), changes)
	dst = doc.AppendText(append(dst, `,"note":`...), a.Note())
	dst = doc.AppendText(append(dst, `,"transaction_id":`...), gift.Gift)
	dst = doc.AppendText(append(dst, `,"plan_id":`...), gift.Plan)
	dst = appendNumber(append(dst, `,"amount":`...), gift.Amount.String())
	dst = doc.AppendText(append(dst, `,"currency":`...), gift.Currency)
	dst = doc.AppendText(append(dst, `,"status":`...), gift.Status)
	undoes := ""
	if a.Undoes != 0 {
		undoes = strconv.FormatInt(a.Undoes, 10)
	}
	return append(appendNumber(append(dst, `,"undoes":`...), undoes), '}')
}

// appendNumber appends a number as it is written; "" is none.
func appendNumber(dst []byte, number string) []byte {
	if number == "" {
		number = "null"
	}
	return append(dst, number...)
}

func appendDifferences(dst []byte, data string) []byte {
	all := doc.KnownDifferences(data)
	dst = append(dst, '[')
	for i, d := range all {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = doc.AppendText(append(dst, `{"field":`...), d.Field)
		if d.At >= 0 {
			d.Before, d.After = joined(d.Out), joined(d.In)
		}
		dst = append(append(dst, `,"before":`...), d.Before...)
		dst = append(append(dst, `,"after":`...), d.After...)
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

// joined is a list of values as JSON.
func joined(list []json.RawMessage) json.RawMessage {
	text := []byte{'['}
	for i, value := range list {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, value...)
	}
	return append(text, ']')
}

// Changes are what a change did, in words for people. Fields that say nothing to them are left out.
func (a *Activity) Changes() []doc.Change {
	all := doc.KnownDifferences(a.Data)
	switch a.Noun {
	case ContactNoun:
		return append(told(crm.ContactTable, all, new(crm.Contact)), a.Fields.Told(all)...)
	case CampaignNoun:
		return told(campaign.Table, all, new(campaign.Campaign))
	case PlanNoun:
		return told(giving.PlanTable, all, new(giving.Plan))
	}
	var changes []doc.Change
	for _, d := range all {
		// or it says what the change is about
		if before, after := plainText(d.Before), plainText(d.After); before != after {
			changes = append(changes, doc.Change{Field: fieldName(d.Field), Before: before, After: after})
		}
	}
	return changes
}

// Subject is what a change is about that has no page of its own: the email of a user, or the name of a key or a tag.
func (a *Activity) Subject() string {
	all := doc.KnownDifferences(a.Data)
	for _, d := range all {
		switch d.Field {
		case "email", "invitation", "name", "title":
			if before := plainText(d.Before); before != "" {
				return before
			}
			return plainText(d.After)
		}
	}
	return ""
}

// told puts differences of a document into words. Values are read into a document of its own.
func told[D, I any](t doc.Table[D, I], all doc.Differences, document D) (changes []doc.Change) {
	for _, d := range all {
		f := t.Find(d.Field)
		switch {
		case f == nil || f.Label == "":
		case d.At >= 0 && f.Tell != nil:
			changes = append(changes, doc.ListChanges(f.Label, tellAll(f.Tell, d.Out), tellAll(f.Tell, d.In))...)
		case f.Load != nil && f.Text != nil:
			read := func(value []byte) string {
				doc.ReadKept(value, func(r *doc.Reader) { f.Load(r, document) })
				return f.Text(document)
			}
			changes = append(changes, doc.Change{Field: f.Label, Before: read(d.Before), After: read(d.After)})
		default:
			label := f.Label
			if f.Plural != "" {
				label = f.Plural
			}
			changes = append(changes, doc.Change{Field: label, Before: plainText(d.Before), After: plainText(d.After)})
		}
	}
	return changes
}

func tellAll(tell func([]byte) string, list []json.RawMessage) (texts []string) {
	for _, element := range list {
		texts = append(texts, tell(element))
	}
	return texts
}

// plainText is a value as a person reads it: a text, or a list of texts. Of anything else that it is there is all that
// is said.
func plainText(value json.RawMessage) string {
	var text string
	var list []string
	switch {
	case json.Unmarshal(value, &text) == nil:
		return text
	case json.Unmarshal(value, &list) == nil:
		return strings.Join(list, ", ")
	case len(value) > 0 && value[0] != '{' && value[0] != '[':
		return string(value)
	}
	return ""
}

// fieldName is what people call a field that no table has.
func fieldName(field string) string {
	if label, ok := Label(field); ok && label != "" {
		return label
	}
	if field == "" {
		return ""
	}
	text := strings.ReplaceAll(field, "_", " ")
	return strings.ToUpper(text[:1]) + text[1:]
}
