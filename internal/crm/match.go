package crm

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/text"
)

// CreateMode says what a create does about a match: a contact that shares an email or a phone.
type CreateMode int

const (
	Dedupe    CreateMode = iota // merge into the match, where there is one
	Force                       // always make a new contact
	MergeSeen                   // merge into the match that the input's SeenMatch names, and into no other
	KeepSeen                    // make a new contact beside the match that SeenMatch names, and beside no other
	Skip                        // leave the match as it is, where there is one
)

// Matched is a create or a change that a person has to decide about first: its emails or phones are those of another
// contact.
type Matched struct{ Contact Contact }

func (m *Matched) Error() string { return "another contact has this email or phone" }

// MergesInto tells whether a create is merged into its match, which is nil where there is none. A match that the person
// has not seen as it is now is *Matched.
func (in *ContactInput) MergesInto(match *Contact, mode CreateMode) (bool, error) {
	switch {
	case match == nil && mode == MergeSeen:
		return false, ErrChanged
	case match == nil || mode == Force:
		return false, nil
	case mode == Dedupe:
		return true, nil
	}
	return mode == MergeSeen, in.CheckSeen(match)
}

// CheckSeen is *Matched where the input was not decided about this match as it is now.
func (in *ContactInput) CheckSeen(match *Contact) error {
	if in.SeenMatch != match.Snapshot() {
		return &Matched{*match}
	}
	return nil
}

var createModes = map[string]CreateMode{"true": Force, "1": Force, "false": Dedupe, "0": Dedupe}

// ParseForceCreate reads force_create, which may be in the query, in the body or in both; "" was not sent. What is
// wrong is added to v.
func ParseForceCreate(v *doc.Invalid, query, body string) CreateMode {
	query, body = strings.ToLower(query), strings.ToLower(body)
	mode, known := createModes[cmp.Or(query, body, "false")]
	other, alsoKnown := createModes[cmp.Or(body, query, "false")]
	switch {
	case !known || !alsoKnown:
		v.Add("force_create", "must be true, 1, false or 0")
	case mode != other:
		v.Add("force_create", "must be the same in the query and in the body")
	}
	return mode
}

// The kinds of match keys.
const (
	EmailPrefix    = "e:"
	PhonePrefix    = "p:"
	ExternalPrefix = "x:"
)

var keyPrefixes = [...]string{ExternalPrefix, EmailPrefix, PhonePrefix}

// MatchKeys are the normal forms by which this input finds the contact it is about.
func (in *ContactInput) MatchKeys() []string {
	return WithoutEmpty(slices.Concat(in.emailKeys, in.phoneKeys, in.IDKeys()))
}

// ReachKeys are the match keys of its emails and phones.
func (in *ContactInput) ReachKeys() []string {
	return WithoutEmpty(slices.Concat(in.emailKeys, in.phoneKeys))
}

// AddedKeys are the match keys of emails and phones that the contact does not have yet.
func (in *ContactInput) AddedKeys(c Contact) []string {
	return lacking(in.ReachKeys(), c.MatchKeys)
}

// Shared are the emails and the phones of the input that the contact has too, as the input writes them.
func (in *ContactInput) Shared(c Contact) (emails, phones []string) {
	shared := func(keys []string, list *[]Typed) (values []string) {
		for i, key := range keys {
			if ContainsSorted(c.MatchKeys, key) {
				values = append(values, (*list)[i].Value)
			}
		}
		return values
	}
	return shared(in.emailKeys, in.Emails), shared(in.phoneKeys, in.Phones)
}

// SharesID tells whether the contact has an external id of the input, perhaps from a file that named no system.
func (in *ContactInput) SharesID(c Contact) bool {
	return shares(in.IDKeys(), c) || shares(in.UnnamedIDKeys(), c)
}

// SharesReach tells whether the contact has an email or a phone of the input.
func (in *ContactInput) SharesReach(c Contact) bool { return shares(in.ReachKeys(), c) }

func shares(keys []string, c Contact) bool {
	return slices.ContainsFunc(keys, func(key string) bool { return ContainsSorted(c.MatchKeys, key) })
}

// KindsOfKeys are match keys by what they are made of, in the order in which they are looked for: an external id beats
// an email, and that a phone.
func KindsOfKeys(keys []string) (kinds [len(keyPrefixes)][]string) {
	for i, prefix := range keyPrefixes {
		for _, key := range keys {
			if strings.HasPrefix(key, prefix) {
				kinds[i] = append(kinds[i], key)
			}
		}
	}
	return kinds
}

// Closer tells whether the input, which shares a match key with both, is rather about a than about b: an email match
// beats a phone match, then the same first and last name, then the lowest id.
func (in *ContactInput) Closer(a, b Contact) bool {
	if am, bm := in.SharesEmail(a), in.SharesEmail(b); am != bm {
		return am
	}
	if an, bn := in.SameName(a), in.SameName(b); an != bn {
		return an
	}
	return a.ID < b.ID
}

// SharesEmail tells whether the contact has an email of the input.
func (in *ContactInput) SharesEmail(c Contact) bool {
	return shares(in.emailKeys, c)
}

// SameName compares first and last name, or the names of companies, without regard to case and marks.
func (in *ContactInput) SameName(c Contact) bool {
	if c.IsCompany {
		return in.Company != nil && text.Fold(*in.Company) == text.Fold(c.Company)
	}
	return in.FirstName != nil && in.LastName != nil &&
		text.Fold(*in.FirstName) == text.Fold(c.FirstName) && text.Fold(*in.LastName) == text.Fold(c.LastName)
}

// ContainsSorted tells whether a key is one of sorted keys.
func ContainsSorted(keys []string, key string) bool {
	_, found := slices.BinarySearch(keys, key)
	return found
}

// addMatchKey adds a key and tells whether it was new. Match keys are kept sorted: equal sets are equal lists.
func (c *Contact) addMatchKey(key string) bool {
	at, known := slices.BinarySearch(c.MatchKeys, key)
	if !known {
		c.MatchKeys = slices.Insert(c.MatchKeys, at, key)
	}
	return !known
}

// replaceMatchKeys replaces the keys of one kind.
func (c *Contact) replaceMatchKeys(prefix string, keys []string) {
	kept := slices.DeleteFunc(slices.Clone(c.MatchKeys),
		func(key string) bool { return strings.HasPrefix(key, prefix) })
	c.MatchKeys = append(kept, WithoutEmpty(keys)...)
	slices.Sort(c.MatchKeys)
}

// WithoutEmpty leaves out the keys of values that tell no two people apart.
func WithoutEmpty(keys []string) []string {
	return slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return key == "" })
}

// SortedKeys sorts keys and leaves out those that occur again.
func SortedKeys(keys []string) []string {
	slices.Sort(keys)
	return slices.Compact(keys)
}

// KeyChange are the match keys that a contact loses and gains by a change.
func KeyChange(from, to *Contact) (gone, added []string) {
	return lacking(from.MatchKeys, to.MatchKeys), lacking(to.MatchKeys, from.MatchKeys)
}

// lacking are the keys that the others, which are sorted, do not have.
func lacking(keys, others []string) (missing []string) {
	for _, key := range keys {
		if !ContainsSorted(others, key) {
			missing = append(missing, key)
		}
	}
	return missing
}

// WithDerivedKeys is the contact with its match keys worked out anew.
func (c Contact) WithDerivedKeys() Contact {
	c.replaceMatchKeys(ExternalPrefix, externalKeys(c.ExternalIDs))
	c.addExtensions()
	keys := make([]string, 0, len(c.Emails))
	for _, email := range c.Emails {
		key, ok := text.NormalEmail(email.Value)
		if !ok { // it was accepted by other rules
			return c
		}
		keys = append(keys, EmailPrefix+key)
	}
	c.replaceMatchKeys(EmailPrefix, keys)
	c.MatchKeys = slices.Compact(c.MatchKeys)
	return c
}

// addExtensions gives the match keys of phones their extensions, which those of earlier releases lack. Otherwise they
// stay as they are: they depend on the country that was set when a number came in.
func (c *Contact) addExtensions() {
	if !slices.ContainsFunc(c.Phones, func(p Phone) bool { return text.MayHaveExtension(p.Value) }) {
		return
	}
	known := slices.DeleteFunc(slices.Clone(c.MatchKeys),
		func(key string) bool { return !strings.HasPrefix(key, PhonePrefix) })
	keys := phoneRule.rekeyed(nil, c.Phones, known, "")
	numbers := make(map[string]bool)
	for _, key := range keys {
		number, _ := text.CutExtension(key)
		numbers[number] = true
	}
	for _, key := range known {
		if number, _ := text.CutExtension(key); !numbers[number] { // of a number that it has no longer
			keys = append(keys, key)
		}
	}
	c.replaceMatchKeys(PhonePrefix, keys)
}

// MatchKey is the match key of an email or a phone; ok is false where the text is neither.
func MatchKey(value, region string) (key string, ok bool) {
	if strings.Contains(value, "@") {
		key, ok = text.NormalEmail(value)
		return EmailPrefix + key, ok
	}
	key, ok = text.NormalPhone(value, region)
	return PhonePrefix + key, ok && key != ""
}

// PhoneDigits are the digits of the contact's phone numbers: of the normal form, without its extension and with it, or
// as they were written where a number does not tell people apart.
func (c *Contact) PhoneDigits() (numbers []string) {
	known := 0
	for _, key := range c.MatchKeys {
		if phone, ok := strings.CutPrefix(key, PhonePrefix); ok {
			known++
			number, extension := text.CutExtension(phone)
			numbers = append(numbers, text.Digits(number))
			if extension != "" {
				numbers = append(numbers, text.Digits(phone))
			}
		}
	}
	if known < len(c.Phones) {
		for _, p := range c.Phones {
			numbers = append(numbers, text.Digits(p.Value))
		}
	}
	return slices.DeleteFunc(numbers, func(number string) bool { return len(number) < MinPhonePart })
}

// MinPhonePart is how many digits of a phone number a search takes.
const MinPhonePart = 4

// FillsOnly is the input as far as it adds something to a contact: it fills what is empty, adds emails, phones and
// addresses, and never renames anyone.
func (in ContactInput) FillsOnly(c *Contact) ContactInput {
	in.FirstName, in.LastName, in.IsCompany = nil, nil, nil
	for _, f := range []struct {
		is   string
		sent **string
	}{{c.Company, &in.Company}, {c.MiddleName, &in.MiddleName}, {c.Prefix, &in.Prefix}, {c.Suffix, &in.Suffix},
		{c.Salutation, &in.Salutation}} {
		if f.is != "" {
			*f.sent = nil
		}
	}
	return in
}

// Add is the contact with what a person has typed about it after they were told that it is there: its name stays,
// except for parts that it lacks, and a note is added to the one that it has. What else was typed is newer than what is
// there.
func (c Contact) Add(in ContactInput, now time.Time) (Contact, error) {
	in.IsCompany = nil
	// known by an email alone until now
	if isNameless := c.LastName == "" && strings.Contains(c.FirstName, "@"); !isNameless {
		for _, name := range []struct {
			has   string
			typed **string
		}{{c.FirstName, &in.FirstName}, {c.MiddleName, &in.MiddleName}, {c.LastName, &in.LastName}} {
			if name.has != "" {
				*name.typed = nil
			}
		}
	}
	if c.IsCompany {
		in.Company = nil
	}
	if in.Note != nil && *in.Note != "" && c.Note != "" {
		in.Note = new(joinNotes(c.Note, *in.Note))
		if doc.IsLonger(*in.Note, MaxNote) {
			return c, doc.NewInvalid("note", doc.NotesTooLong, MaxNote)
		}
	}
	return c.Merge(in, now)
}

// AddChoice is how Add chooses, for a merge that keeps it.
func (c *Contact) AddChoice() MergeChoice {
	choice := MergeChoice{Rule: AddRule, Fields: make(map[string]int64), Without: []string{"type"}}
	if isNameless := c.LastName == "" && strings.Contains(c.FirstName, "@"); !isNameless {
		choice.Fields["first_name"], choice.Fields["middle_name"], choice.Fields["last_name"] = c.ID, c.ID, c.ID
	}
	if c.IsCompany {
		choice.Without = append(choice.Without, "company")
	}
	return choice
}

// ImportRule says what an import does with a row about a contact that exists, and with one that shares an email or a
// phone with a contact of another name.
type ImportRule struct {
	Existing    CreateMode // Dedupe, Skip or Force
	OtherName   CreateMode // Force keeps both, Dedupe merges, Skip leaves the row out
	FileIsRight bool       // what the file says overwrites what the contact has; otherwise it only fills what is empty
}

// Merge is the contact with what a row adds. It never gets the name of another person or company.
func (rule ImportRule) Merge(c Contact, in ContactInput, now time.Time) (Contact, error) {
	if in.PersonName().Contradicts(c.PersonName()) {
		in.FirstName, in.MiddleName, in.LastName = nil, nil, nil
		if c.IsCompany {
			in.Company = nil
		}
	}
	if rule.FileIsRight {
		return c.Merge(in, now)
	}
	return c.Complete(in, now)
}

// Choice is how Merge chooses, for a merge that keeps it.
func (rule ImportRule) Choice(c *Contact, in *ContactInput) (choice MergeChoice) {
	if choice.Rule = CompleteRule; rule.FileIsRight {
		choice.Rule = OverwriteRule
	}
	if in.PersonName().Contradicts(c.PersonName()) {
		choice.Without = []string{"first_name", "middle_name", "last_name"}
		if c.IsCompany {
			choice.Without = append(choice.Without, "company")
		}
	}
	return choice
}

// Complete is Merge without overwriting: texts and custom fields that are empty are filled, and lists grow.
func (c Contact) Complete(in ContactInput, now time.Time) (Contact, error) {
	in.custom = slices.DeleteFunc(slices.Clone(in.custom),
		func(change custom.Change) bool { return c.CustomValue(change.To.Field).Value != "" })
	return c.revise(in, now, func(c *Contact, in *ContactInput, now time.Time) {
		for i := range ContactTable {
			if f := &ContactTable[i]; f.Merge != nil && (f.Count != nil || f.Differ != nil || f.Same(c, &blank)) {
				f.Merge(c, in, now)
			}
		}
	})
}
