package crm

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/text"
)

// Contact is a person or a company that gives or may give. It is always read whole and written whole.
type Contact struct {
	ID         int64
	FirstName  string // "" means unset, as in every text; a person has a first and a last name
	MiddleName string
	LastName   string
	DOB        time.Time // midnight UTC; zero means unset
	Company    string
	Title      string
	TwitterURL, LinkedinURL,
	FacebookURL string
	Emails     []Email // the first one is the primary one, as with phones and addresses
	Phones     []Phone
	Note       string
	Addresses  []Address
	Stats      Stats
	Tags       []string
	Custom     []custom.Value // in the order of the fields' ids
	ArchivedAt time.Time      // zero while the contact is active
	CreatedAt  time.Time
	UpdatedAt  time.Time
	ErasedAt   time.Time // zero unless the person was removed for good (contact_erase.go)
	MergedInto int64     // the contact that it was merged into, 0 for none (contact_merge.go)

	IsCompany                                  bool // and needs a company, but no first and last name
	Prefix, Suffix, Salutation                 string
	ExternalIDs                                []ExternalID
	DoNotMail, DoNotEmail, DoNotCall, Deceased bool
	// one of the emails, which takes no mail; "" for none (contact_reach.go)
	BouncedEmail string

	// MatchKeys are the normal forms of the emails, phones and external ids, as they were when these were written: a
	// later change of the default region or of a library never makes a stored contact and its index disagree.
	MatchKeys []string

	// LastGift is when the last gift was given that counts; zero for none. Given is what all of them come to, in the
	// smallest unit of the account's currency, of which the stats have the whole units. Both stand beside the document.
	// FirstGift and Recurring, the part of plans, are known in exports alone.
	LastGift, FirstGift time.Time
	Given, Recurring    int64
}

// Stats counts what a contact gave.
type Stats struct {
	RecurringContributions int64
	TotalContributions     int64
}

// ContactInput is what a client, a form or a row of a file says about a contact. A nil field was not sent; an
// empty text was sent to clear the field.
type ContactInput struct {
	FirstName, MiddleName, LastName      *string
	DOB                                  *string // m/d/Y
	Company, Title                       *string
	TwitterURL, LinkedinURL, FacebookURL *string
	Emails                               *[]Email
	Phones                               *[]Phone
	Addresses                            *[]Address
	Tags                                 *[]string
	Note                                 *string
	IsCompany                            *bool
	Prefix, Suffix, Salutation           *string
	ExternalIDs                          *[]ExternalID
	AddedIDs                             []ExternalID // beside those that are there
	DoNotMail, DoNotEmail                *bool
	DoNotCall, Deceased                  *bool
	BouncedEmail                         *string
	Custom                               []custom.Input // what was said about custom fields
	Fields                               *custom.Fields // that Custom is checked by
	ForceCreate                          string         // what a body says about de-duplication, for ParseForceCreate
	// the version of what the change is about; "" for whatever is there
	Seen string
	// of the contact that a row of our own export was, or that a person has decided for; 0 for none
	ID int64
	// the snapshot of another contact with this email or phone that a person has decided about
	SeenMatch string

	// What Validate worked out, so that nothing has to be parsed again while a transaction is open.
	dob       time.Time
	emailKeys []string // in step with Emails
	phoneKeys []string // in step with Phones
	region    string   // of phone numbers without +
	custom    []custom.Change

	// SentAs are the names under which a client sent what stands at a path: "city" for addresses.0.city. For a list by
	// its name it is a key that stands for its first element: the others stay.
	SentAs map[string]string

	// contrary are marks of which the opposite was sent as well, and contradicts them. A contact that is sent back has
	// both, and the client has changed one of them: the one that differs from what is stored counts.
	contrary []string

	LeftOut []LeftOut // cells of a row that say nothing which a contact can have
	ReadAs  []LeftOut // cells of a row that were understood by a rule, which someone may want to look at
	Unusual bool      // the name in a file is in capitals, or has none
	FromRow bool      // of a file: a name may be missing where there is anything else to know a person by
}

// What a contact may hold.
const (
	maxTag    = 64
	MaxNote   = 10_000
	maxEmails = 100 // and as many phones and addresses
	maxTags   = 500

	// How often a value may be repeated is bounded as well: of a list that a client sends, ten times as many elements
	// are read as a contact may have. That is counted before anything else is done with them.
	maxSent     = 10 * maxEmails
	maxTagsSent = 10 * maxTags

	// maxDocument is how large the stored document may be, in bytes: a page of a list has a hundred of them.
	maxDocument   = 128 << 10
	documentFrame = 1024 // what it takes beside its fields
)

// ContactTable is a contact, field by field. A new field is a line in tailTable, and a field in the two types above.
var ContactTable = slices.Concat(headTable, tailTable)

var headTable = doc.Table[*Contact, *ContactInput]{
	doc.Sent("first_name", "First name", doc.String(doc.MaxText), func(c *Contact) *string { return &c.FirstName },
		func(in *ContactInput) **string { return &in.FirstName }),
	doc.Sent("middle_name", "Middle name", doc.String(doc.MaxText), func(c *Contact) *string { return &c.MiddleName },
		func(in *ContactInput) **string { return &in.MiddleName }),
	doc.Sent("last_name", "Last name", doc.String(doc.MaxText), func(c *Contact) *string { return &c.LastName },
		func(in *ContactInput) **string { return &in.LastName }),
	dobField(),
	doc.Sent("company", "Company", doc.String(doc.MaxText), func(c *Contact) *string { return &c.Company },
		func(in *ContactInput) **string { return &in.Company }),
	doc.Sent("title", "Title", doc.String(doc.MaxText), func(c *Contact) *string { return &c.Title },
		func(in *ContactInput) **string { return &in.Title }),
	doc.Sent("twitter_url", "Twitter", doc.Link(), func(c *Contact) *string { return &c.TwitterURL },
		func(in *ContactInput) **string { return &in.TwitterURL }),
	doc.Sent("linkedin_url", "LinkedIn", doc.Link(), func(c *Contact) *string { return &c.LinkedinURL },
		func(in *ContactInput) **string { return &in.LinkedinURL }),
	doc.Sent("facebook_url", "Facebook", doc.Link(), func(c *Contact) *string { return &c.FacebookURL },
		func(in *ContactInput) **string { return &in.FacebookURL }),
	emailsField(),
	phonesField(),
	doc.Derived[*Contact, *ContactInput]("primary_email",
		func(dst []byte, c *Contact) []byte { return appendPrimary(dst, c.Emails) }),
	doc.Derived[*Contact, *ContactInput]("primary_phone",
		func(dst []byte, c *Contact) []byte { return appendPrimary(dst, c.Phones) }),
	doc.Sent("note", "Note", doc.String(MaxNote), func(c *Contact) *string { return &c.Note },
		func(in *ContactInput) **string { return &in.Note }),
	addressesField(),
	doc.Derived[*Contact, *ContactInput]("primary_address", appendPrimaryAddress),
	doc.KeptObject[*Contact, *ContactInput]("stats", statsTable, func(c *Contact) *Stats { return &c.Stats }),
	tagsField(),
	customFieldsField(),
	doc.Kept[*Contact, *ContactInput]("archived_at", ContactTime, func(c *Contact) *time.Time { return &c.ArchivedAt }),
	doc.Kept[*Contact, *ContactInput]("created_at", ContactTime, func(c *Contact) *time.Time { return &c.CreatedAt }),
	doc.Kept[*Contact, *ContactInput]("updated_at", ContactTime, func(c *Contact) *time.Time { return &c.UpdatedAt }),
}

// tailTable are the fields of which most contacts have none. Where a contact has none of them, its stored document ends
// before them, as documents do that were written before there were such fields, and a read adds their defaults. A new
// field comes last, and is no list: then its name is the last one of a document.
var tailTable = slices.Concat(doc.Table[*Contact, *ContactInput]{
	doc.Sent("type", "Type", contactType, func(c *Contact) *bool { return &c.IsCompany },
		func(in *ContactInput) **bool { return &in.IsCompany }),
	doc.Sent("prefix", "Prefix", doc.String(doc.MaxText), func(c *Contact) *string { return &c.Prefix },
		func(in *ContactInput) **string { return &in.Prefix }),
	doc.Sent("suffix", "Suffix", doc.String(doc.MaxText), func(c *Contact) *string { return &c.Suffix },
		func(in *ContactInput) **string { return &in.Suffix }),
	doc.Sent("salutation", "Salutation", doc.String(doc.MaxText), func(c *Contact) *string { return &c.Salutation },
		func(in *ContactInput) **string { return &in.Salutation }),
	externalIDsField(),
}, markFields(), doc.Table[*Contact, *ContactInput]{bouncedField()})

var (
	contactFields = append(ContactTable.Names(), aliasKeys...)

	ContactTime = doc.Moment(text.ParseContactTime, text.AppendContactTime)
	microTime   = doc.Moment(text.ParseMicroTime, text.AppendMicroTime)

	statsTable = doc.Table[*Stats, *Stats]{
		doc.Part("recurring_contributions", "", doc.Integer(),
			func(s *Stats) *int64 { return &s.RecurringContributions }),
		doc.Part("total_contributions", "", doc.Integer(), func(s *Stats) *int64 { return &s.TotalContributions }),
	}
)

// dobField is a day: clients send it as m/d/Y, and the form of a browser in its own way.
func dobField() doc.Field[*Contact, *ContactInput] {
	f := doc.Kept[*Contact, *ContactInput]("dob", microTime, func(c *Contact) *time.Time { return &c.DOB })
	f.Label = "Date of birth"
	f.Text = func(c *Contact) string { return dayText(c.DOB, "Jan 2, 2006") }
	f.Fill = func(c *Contact, _ doc.Place, set doc.Setter) { set("dob", dayText(c.DOB, time.DateOnly)) }
	f.Read = func(r *doc.Reader, in *ContactInput) { in.DOB = r.TextSent() }
	f.Take = func(form doc.Form, _ doc.Place, in *ContactInput) {
		text := form.Value("dob")
		if day, err := time.Parse(time.DateOnly, text); err == nil {
			text = day.Format("1/2/2006")
		}
		in.DOB = &text
	}
	f.Check = func(c *doc.Checker, at doc.Place, in *ContactInput) {
		if in.DOB == nil || *in.DOB == "" || c.HasAt(at, "dob") {
			return
		}
		var ok bool
		if in.dob, ok = text.ParseDOB(*in.DOB, c.Now); !ok {
			c.AddAt(at, "dob", doc.BirthDay)
		}
	}
	f.Merge = func(c *Contact, in *ContactInput, _ time.Time) {
		if !in.dob.IsZero() {
			c.DOB = in.dob
		}
	}
	f.Patch = func(c *Contact, in *ContactInput, _ time.Time) {
		if in.DOB != nil {
			c.DOB = in.dob
		}
	}
	return f
}

func dayText(t time.Time, layout string) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(layout)
}

// Archived tells whether the contact was archived.
func (c *Contact) Archived() bool { return !c.ArchivedAt.IsZero() }

// AppendContact appends the wire form of a contact whose stored body is given: a read copies bytes.
func AppendContact(dst []byte, id int64, body []byte) []byte {
	return appendEnd(appendStart(dst, id), body)
}

func appendStart(dst []byte, id int64) []byte {
	return strconv.AppendInt(append(dst, `{"id":`...), id, 10)
}

// appendEnd appends the end of a stored body, with the defaults of the fields that it lacks, and the opposites of its
// marks.
func appendEnd(dst, body []byte) []byte {
	rest := restAfter[string(lastName(body))]
	dst = append(append(dst, body[:len(body)-1]...), rest...)
	if len(rest) == len(wholeTail) { // most contacts
		return append(dst, allSubscribed...)
	}
	return appendSubscriptions(dst, body)
}

// lastName is the name of the last field. It is behind the last comma and quote, which no text holds: its quotes are
// escaped.
func lastName(body []byte) []byte {
	for at := len(body) - 2; at >= 0; at-- {
		if body[at] == ',' && body[at+1] == '"' {
			name, _, _ := bytes.Cut(body[at+2:], []byte{'"'})
			return name
		}
	}
	return nil
}

// restAfter is what comes behind a document that ends with a field, by the name of that field, up to the opposites of
// marks.
var restAfter = func() map[string][]byte {
	rests := make(map[string][]byte)
	for i := range tailTable {
		rests[ContactTable[len(headTable)+i-1].Name] = tailTable[i:].Append(nil, &blank)
	}
	rests[erasedKey], rests[mergedKey] = rests["updated_at"], rests["updated_at"]
	return rests
}()

var wholeTail = restAfter["updated_at"]

// AppendBody appends what the store keeps: everything of the wire form that follows the id, unless the tail says
// nothing.
func (c *Contact) AppendBody(dst []byte) []byte {
	dst = c.appendMerged(c.appendErased(headTable.Append(dst, c)))
	if !tailTable.Same(c, &blank) {
		dst = tailTable.Append(dst, c)
	}
	return append(dst, '}')
}

// ParseContact reads a stored body back.
func ParseContact(id int64, body []byte, matchKeys []string) (Contact, error) {
	c := Contact{ID: id, MatchKeys: matchKeys}
	err := doc.ReadStored(body, func(r *doc.Reader, key string) {
		switch key {
		case erasedKey:
			c.ErasedAt = ContactTime.Read(r)
		case mergedKey:
			c.MergedInto = r.Integer()
		default:
			ContactTable.Load(r, key, &c)
		}
	})
	if err != nil {
		return Contact{}, fmt.Errorf("contact %d: %w", id, err)
	}
	return c, nil
}

// ReadContactForm takes a whole form but for its tags. What is empty was cleared. States and countries may be typed by
// name.
func ReadContactForm(form doc.Form) (in ContactInput) {
	headTable.Take(form, doc.Place{}, &in)
	if form.Value("type") != "" { // the form has the tail: no list of it is cleared by a form that lacks it
		tailTable.Take(form, doc.Place{}, &in)
	}
	in.spellAddresses()
	return in
}

// FillContactForm puts a contact into its form.
func FillContactForm(c *Contact, set func(name, value string)) {
	ContactTable.Fill(c, doc.Place{}, set)
}

// Validate checks everything about the input that does not depend on the stored contact, and works out the normal
// forms. New people need a first and a last name, and new companies a company; changed ones keep theirs. faults are
// those found while reading.
func (in *ContactInput) Validate(faults *doc.Invalid, isNew bool, region string, now time.Time) error {
	c := doc.NewChecker(faults, isNew)
	c.Region, c.Now = region, now
	in.region = region
	in.checkNamed(c)
	ContactTable.Check(c, doc.Place{}, in)
	err := in.asSent(c.Err())
	doc.SortFaults(&c.Invalid, contactFields)
	return err
}

// NewContact is the contact that a valid input describes. Its id is given by the store.
func NewContact(in ContactInput, now time.Time) (Contact, error) {
	now = now.UTC().Truncate(time.Second)
	c := &Contact{CreatedAt: now, UpdatedAt: now}
	ContactTable.Merge(c, &in, now)
	return *c, in.asSent(cmp.Or(in.settleBounced(c), in.checkChanged(c, &blank)))
}

// blank is what every new contact grows from.
var blank Contact

// Merge adds a valid input to the contact that it matches: texts that were sent overwrite, new emails, phones,
// addresses and tags are appended, nothing is dropped. Merging twice is merging once.
func (c Contact) Merge(in ContactInput, now time.Time) (Contact, error) {
	return c.revise(in, now, ContactTable.Merge)
}

// Patch changes what was sent: texts are set or cleared, lists replaced whole. A key that stands for the first element
// of a list changes that one alone.
func (c Contact) Patch(in ContactInput, now time.Time) (Contact, error) {
	if in.Seen != "" && in.Seen != c.Version() {
		return c, ErrChanged
	}
	return c.revise(in, now, ContactTable.Patch)
}

// revise makes a change. It stamps a contact that differs from what it was, and refuses one that holds too much.
func (c Contact) revise(in ContactInput, now time.Time,
	change func(c *Contact, in *ContactInput, now time.Time),
) (Contact, error) {
	now = text.ChangeTime(now, c.UpdatedAt)
	r := &struct { // together, so that they take one allocation
		old, new Contact
		in       ContactInput
	}{c, c, in}
	r.new.MatchKeys = slices.Clip(c.MatchKeys) // a key that is added goes into a list of its own
	change(&r.new, &r.in, now)
	if err := r.in.settleBounced(&r.new); err != nil || r.new.sameAs(&r.old) {
		return r.old, err
	}
	r.new.UpdatedAt = now
	return r.new, r.in.asSent(r.in.checkChanged(&r.new, &r.old))
}

// checkChanged refuses what only the contact shows to be wrong.
func (in *ContactInput) checkChanged(c, old *Contact) error {
	if err := custom.CheckListed(in.custom, old.Custom); err != nil {
		return err
	}
	return cmp.Or(in.checkStaysNamed(c, old), c.checkRoom(old))
}

// checkRoom refuses a contact that holds too much.
func (c *Contact) checkRoom(old *Contact) error {
	var v doc.Invalid
	for i := range ContactTable {
		if f := &ContactTable[i]; f.Limit > 0 && f.Count(c) > f.Limit {
			v.Add(f.Name, doc.Full, f.Limit, f.Name)
		}
	}
	if len(v.Faults) > 0 {
		return &v
	}
	if field := c.outgrown(old); field != "" {
		return doc.NewInvalid(field, doc.TooLarge, maxDocument>>10)
	}
	return nil
}

func (c *Contact) sameAs(old *Contact) bool {
	return c.ID == old.ID && ContactTable.Same(c, old) && slices.Equal(c.MatchKeys, old.MatchKeys)
}

// sizeBound is a size that the document does not exceed. It is quickly worked out, and tells of most contacts that they
// are small.
func (c *Contact) sizeBound() int {
	const escaped = 6                              // bytes that one byte becomes at most
	const repeated = 8 * utf8.UTFMax * doc.MaxText // the first email, phone and address stand in the document twice
	return escaped * (documentFrame + repeated + ContactTable.Size(c))
}

// outgrown names the field by which a contact has become too large: the one that has grown the most. It is "" where the
// contact is not too large, or was at least as large before.
func (c *Contact) outgrown(old *Contact) (field string) {
	if c.sizeBound() <= maxDocument {
		return ""
	}
	if size := len(c.AppendBody(nil)); size <= maxDocument || size <= len(old.AppendBody(nil)) {
		return ""
	}
	most := 0
	for i := range ContactTable {
		f := &ContactTable[i]
		if f.Size == nil {
			continue
		}
		if grown := f.Size(c) - f.Size(old); field == "" || grown > most {
			field, most = f.Name, grown
		}
	}
	return field
}

// Changes lists what differs between two states of a contact. What differs in custom fields, custom.Fields.Changes
// tells.
func Changes(before, after Contact) (changes []doc.Change) {
	for i := range ContactTable {
		f := &ContactTable[i]
		switch {
		case f.Same == nil || f.Same(&before, &after) || f.Label == "" || f.Differ != nil:
		case f.Words == nil:
			changes = append(changes, doc.Change{Field: f.Label, Before: f.Text(&before), After: f.Text(&after)})
		default:
			changes = append(changes, doc.ListChanges(f.Label, f.Words(&before), f.Words(&after))...)
		}
	}
	return changes
}

// Version names the state that a contact is in. A client that changes it may say which state it saw. A time
// would not do, because two changes in one second have the same.
func (c *Contact) Version() string {
	seen := *c
	seen.Stats = Stats{} // a gift that arrives meanwhile is no change of what a person edits
	return doc.VersionOf(seen.AppendBody(nil))
}

// Snapshot names the contact together with its state: twins may be in the same one.
func (c *Contact) Snapshot() string { return strconv.FormatInt(c.ID, 10) + "-" + c.Version() }

// Differences compares a contact with what it became. When it was changed is not compared: the change says that itself.
func (c *Contact) Differences(after *Contact) doc.Differences {
	all := doc.Compare(ContactTable, c, after)
	if c.MergedInto != after.MergedInto {
		all = append(all, doc.NumberDifference(mergedKey, c.MergedInto, after.MergedInto))
	}
	return all
}

// ContactTexts are the text fields of a contact, in the order of the wire. Columns of files come from here.
var ContactTexts = ContactTable.Texts()

// TakeBack is the contact as it was before a change. What was changed since stays as it is: left names these fields.
// Numbers of phones are understood as in a region, like those of a change.
func (c Contact) TakeBack(d doc.Differences, region string, now time.Time) (before Contact, left []string, err error) {
	before, err = c.revise(ContactInput{}, now, func(c *Contact, _ *ContactInput, _ time.Time) {
		for i := range d {
			name, _, _ := strings.Cut(d[i].Field, ".")
			if f := ContactTable.Find(name); f != nil && !f.TakeBack(c, &d[i], region) {
				left = append(left, d[i].Field)
			}
		}
	})
	if err == nil && before.sameAs(&c) {
		err = doc.NewInvalid("", doc.NothingToUndo)
	}
	return before, left, err
}
