package crm

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/text"
)

// Two contacts for one person become one: the survivor gets what the other one has, and the other one stays in the
// archive, with all that it had, so that the merge can be undone.

// mergedKey is the key that only the document of a contact has that was merged into another one.
const mergedKey = "merged_into"

func (c *Contact) appendMerged(dst []byte) []byte {
	if c.MergedInto == 0 {
		return dst
	}
	return strconv.AppendInt(append(dst, `,"`+mergedKey+`":`...), c.MergedInto, 10)
}

// MergeChoice says whose value the survivor gets where both contacts have one. Without a choice it keeps its own.
type MergeChoice struct {
	PreferOther bool
	Fields      map[string]int64 // the id of the contact whose value a field gets, by the name of the field
	Rule        MergeRule
	Without     []string // fields that the survivor gets nothing of
}

// MergeRule says which text a merge keeps when both contacts have one and nobody chose. The names are stored.
type MergeRule string

// The rules.
const (
	AbsorbRule    MergeRule = ""          // two contacts: the survivor's stay, and notes are put together
	OverwriteRule MergeRule = "overwrite" // what was sent is newer
	CompleteRule  MergeRule = "complete"  // what was sent only fills what is empty
	AddRule       MergeRule = "add"       // what a person has typed is newer, and notes are put together
)

// keptChoice is a choice as a merge keeps it. It has no ids.
type keptChoice struct {
	Rule        MergeRule `json:"rule,omitempty"`
	PreferOther bool      `json:"prefer_other,omitempty"`
	Theirs      []string  `json:"theirs,omitempty"` // fields that got the value of the other contact
	Mine        []string  `json:"mine,omitempty"`
	Without     []string  `json:"without,omitempty"`
}

// Text is what a merge keeps of its choice.
func (choice *MergeChoice) Text(survivor int64) string {
	kept := keptChoice{Rule: choice.Rule, PreferOther: choice.PreferOther, Without: choice.Without}
	for name, id := range choice.Fields {
		if id == survivor {
			kept.Mine = append(kept.Mine, name)
		} else {
			kept.Theirs = append(kept.Theirs, name)
		}
	}
	slices.Sort(kept.Mine)
	slices.Sort(kept.Theirs)
	text, _ := json.Marshal(kept) // texts alone
	return string(text)
}

// ReadMergeChoice is the choice that a merge of two contacts keeps.
func ReadMergeChoice(text string, survivor, other int64) (choice MergeChoice, err error) {
	if text == "" {
		return choice, nil
	}
	var kept keptChoice
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if err = dec.Decode(&kept); err == nil && !slices.Contains([]MergeRule{AbsorbRule, OverwriteRule, CompleteRule,
		AddRule}, kept.Rule) {
		err = doc.NewInvalid("rule", doc.OneOf, "overwrite, complete, add")
	}
	choice = MergeChoice{Rule: kept.Rule, PreferOther: kept.PreferOther, Without: kept.Without,
		Fields: make(map[string]int64)}
	for _, name := range kept.Mine {
		choice.Fields[name] = survivor
	}
	for _, name := range kept.Theirs {
		choice.Fields[name] = other
	}
	return choice, err
}

// MergeInput is what a client says about a merge.
type MergeInput struct {
	Contact int64 // that is merged into the survivor
	MergeChoice
	Seen string // both contacts as a person saw them, by SeenWith; "" for however they are
}

// SeenWith names two contacts together with the states that they are in.
func (c *Contact) SeenWith(other *Contact) string { return c.Snapshot() + " " + other.Snapshot() }

// DecodeMerge reads the body that merges a contact into another one. Other keys are ignored.
func DecodeMerge(r *doc.Reader) (in MergeInput, err error) {
	in.Fields = make(map[string]int64)
	r.Document(func(key string) {
		switch key {
		case "contact_id":
			in.Contact = r.ID()
		case "prefer":
			prefer := r.Text()
			if in.PreferOther = prefer == "other"; !in.PreferOther && prefer != "" && prefer != "survivor" {
				r.Wrong(doc.OneOf, "survivor, other")
			}
		case "fields":
			r.Element(func(name string) { in.Fields[name] = r.ID() })
		default:
			r.Ignore()
		}
	})
	if err := r.End(); r.Err != nil {
		return in, err
	}
	if in.Contact == 0 && !r.Fault.HasFault("contact_id") {
		r.Fault.Add("contact_id", doc.Required)
	}
	return in, r.Fault.Err()
}

// check refuses fields that no one can choose, and ids of other contacts than these two.
func (choice *MergeChoice) check(c, other *Contact) error {
	var v doc.Invalid
	for name, id := range choice.Fields {
		field, _, isPart := strings.Cut(name, ".")
		f := ContactTable.Find(field)
		switch {
		case f == nil || f.Merge == nil || isPart != (f.Differ != nil):
			v.Add("fields."+name, doc.NoMergeField)
		case id != c.ID && id != other.ID:
			v.Add("fields."+name, doc.MergeFieldOf, c.ID, other.ID)
		}
	}
	slices.SortFunc(v.Faults, func(a, b doc.Fault) int { return strings.Compare(a.Field, b.Field) })
	return v.Err()
}

// prefersOther tells whether the other contact's value of a field is the one to keep; chosen, whether that was said of
// this very field.
func (choice *MergeChoice) prefersOther(name string, other int64) (prefers, chosen bool) {
	if id := choice.Fields[name]; id != 0 {
		return id == other, true
	}
	return choice.PreferOther || choice.Rule == OverwriteRule || choice.Rule == AddRule, false
}

// CheckMerge refuses to merge another contact into this one. Both are of one account.
func (c *Contact) CheckMerge(other *Contact) error {
	switch {
	case c.Archived(): // or merged into another one
		return ErrArchived
	case c.ID == other.ID:
		return doc.NewInvalid("contact_id", doc.MergeSelf)
	case other.MergedInto != 0:
		return doc.NewInvalid("contact_id", doc.MergedID, other.MergedInto)
	case other.Erased():
		return doc.NewInvalid("contact_id", doc.ErasedID)
	case other.Archived():
		return doc.NewInvalid("contact_id", doc.ArchivedID)
	case c.IsCompany != other.IsCompany:
		return doc.NewInvalid("contact_id", doc.OtherType)
	}
	return nil
}

// Absorb is the contact with what another one adds. A value of the survivor stays, unless it is empty or the choice
// says otherwise; lists are united, those of the preferred contact first; two notes become one; a mark that either has
// stays. Numbers of phones are compared as in a region.
func (c Contact) Absorb(other *Contact, choice MergeChoice, region string, now time.Time) (Contact, error) {
	if err := choice.check(&c, other); err != nil {
		return c, err
	}
	merged := c
	for i := range ContactTable {
		if f := &ContactTable[i]; f.Merge != nil {
			merged.absorbField(f, other, &choice, region)
		}
	}
	merged.MatchKeys = SortedKeys(slices.Concat(c.MatchKeys, other.MatchKeys)) // of all that they had
	if merged.sameAs(&c) {
		return c, nil
	}
	merged.UpdatedAt = text.ChangeTime(now, c.UpdatedAt)
	if doc.IsLonger(merged.Note, MaxNote) {
		return c, doc.NewInvalid("note", doc.NotesTooLong, MaxNote)
	}
	return merged, merged.checkRoom(&c)
}

func (c *Contact) absorbField(f *doc.Field[*Contact, *ContactInput], other *Contact, choice *MergeChoice,
	region string,
) {
	prefers, chosen := choice.prefersOther(f.Name, other.ID)
	switch {
	case slices.Contains(choice.Without, f.Name):
	case f.Unite != nil:
		f.Unite(c, other, prefers && choice.Rule == AbsorbRule, region)
	case f.Differ != nil: // custom fields, one by one
		for _, value := range other.Custom {
			if prefers, _ := choice.prefersOther(f.Name+"."+custom.Key(value.Field), other.ID); prefers ||
				c.CustomValue(value.Field).Value == "" {
				c.Custom = custom.Put(c.Custom, value)
			}
		}
	case f.Name == "note" && !chosen && (choice.Rule == AbsorbRule || choice.Rule == AddRule):
		c.Note = joinNotes(c.Note, other.Note)
	case f.Same(other, &blank):
		if prefers && chosen {
			f.Copy(c, other)
		}
	case prefers && (chosen || !IsMark(f.Name)), f.Same(c, &blank):
		f.Copy(c, other)
	}
}

// joinNotes is two notes in one. A note that the other one says already is not said again.
func joinNotes(a, b string) string {
	switch {
	case strings.Contains(a, b):
		return a
	case strings.Contains(b, a):
		return b
	}
	return a + "\n\n" + b
}

// Compared is a field of two contacts side by side, for a person who merges them.
type Compared struct {
	Name         string // as a MergeChoice calls it
	Label        string
	Mine, Theirs []string // what it says, or each element of a list says
	IsList, Same bool
	Choice       bool  // both have a value, and not the same: one is chosen, or which of two lists comes first
	CanJoin      bool  // or both are kept
	Better       int64 // the contact whose value is proposed, 0 for both
}

// primaries are the lists whose first element is used before the others.
var primaries = []string{"emails", "phones", "addresses"}

// Compare is every field that one of two contacts of a type has, in the order of the table.
func (c *Contact) Compare(other *Contact, fields *custom.Fields) (all []Compared) {
	for i := range ContactTable {
		f := &ContactTable[i]
		row := Compared{Name: f.Name, Label: f.Label, Better: c.ID, CanJoin: f.Name == "note"}
		switch {
		case f.Merge == nil || f.Name == "type":
			continue
		case f.Differ != nil:
			for _, one := range fields.Active() {
				row.Name, row.Label = f.Name+"."+one.Key(), one.Title
				all = append(all, row.of(filled(c.CustomValue(one.ID).Text()), filled(other.CustomValue(one.ID).Text()),
					other)...)
			}
			continue
		case f.Words != nil:
			row.Label, row.IsList = f.Plural, true
			all = append(all, row.of(f.Words(c), f.Words(other), other)...)
			continue
		case IsMark(f.Name) && !f.Same(c, other):
			if row.Choice = true; f.Same(c, &blank) {
				row.Better = other.ID
			}
			row.Mine, row.Theirs = []string{yesNo(!f.Same(c, &blank))}, []string{yesNo(!f.Same(other, &blank))}
			all = append(all, row)
			continue
		}
		all = append(all, row.of(filled(f.Text(c)), filled(f.Text(other)), other)...)
	}
	return all
}

// of is the row with what the two contacts say; none where both say nothing.
func (row Compared) of(mine, theirs []string, other *Contact) []Compared {
	if len(mine)+len(theirs) == 0 {
		return nil
	}
	row.Mine, row.Theirs, row.Same = mine, theirs, slices.Equal(mine, theirs)
	row.Choice = len(mine) > 0 && len(theirs) > 0 && mine[0] != theirs[0] &&
		(!row.IsList || slices.Contains(primaries, row.Name))
	switch {
	case !row.Choice:
	case row.CanJoin:
		row.Better = 0
	case !row.IsList && saysMore(theirs[0], mine[0]):
		row.Better = other.ID
	}
	return []Compared{row}
}

// saysMore tells whether one text is better than another: Thomas than T., and O’Neil than ONEIL. Where a person has to
// know, neither is.
func saysMore(a, b string) bool {
	if mixed := hasBothCases(a); mixed != hasBothCases(b) {
		return mixed
	}
	long, short := text.Fold(a), strings.TrimRight(text.Fold(b), ". ")
	return len(long) > len(short) && strings.HasPrefix(long, short)
}

func hasBothCases(s string) bool {
	return strings.IndexFunc(s, unicode.IsUpper) >= 0 && strings.IndexFunc(s, unicode.IsLower) >= 0
}

func yesNo(is bool) string {
	if is {
		return "Yes"
	}
	return "No"
}

func filled(value string) []string {
	if value == "" {
		return nil
	}
	return []string{value}
}

// StaysBefore tells which of two contacts is proposed as the survivor: the one that has given more, or the older one.
func (c *Contact) StaysBefore(other *Contact) bool {
	if c.Given != other.Given {
		return c.Given > other.Given
	}
	return c.ID < other.ID
}

// Lost is a value of one of two contacts that the merged one does not have.
type Lost struct {
	Contact int64  // whose value it is
	Field   string // as a person calls it
	Value   string
	Kept    string // what the merged contact has instead
}

// LostBy are the values of a contact that a merge has not kept. They stay in the history.
func (c *Contact) LostBy(merged *Contact, fields *custom.Fields) (lost []Lost) {
	for i := range ContactTable {
		f := &ContactTable[i]
		if f.Merge == nil || f.Unite != nil || f.Differ != nil || f.Text == nil || f.Same(c, merged) ||
			f.Same(c, &blank) || strings.Contains(f.Text(merged), f.Text(c)) && f.Name == "note" {
			continue
		}
		lost = append(lost, Lost{c.ID, f.Label, f.Text(c), f.Text(merged)})
	}
	for _, change := range fields.Changes(c.Custom, merged.Custom) {
		if change.Before != "" {
			lost = append(lost, Lost{c.ID, change.Field, change.Before, change.After})
		}
	}
	return lost
}

// MergeInto is what stays of a contact that was merged into another one: all that it had but its external ids, which
// are the survivor's from then on.
func (c Contact) MergeInto(survivor int64, now time.Time) Contact {
	c = c.Unmake(now)
	c.MergedInto = survivor
	return c
}

// SeparateFrom is the contact as it was before it was merged into another one.
func (c Contact) SeparateFrom(d doc.Differences, region string, now time.Time) (Contact, error) {
	before, _, err := c.TakeBack(d, region, now)
	before.MergedInto = 0
	return before, err
}

// Undated is the contact without the times at which its parts were made, so that the same document is the same text
// whenever it comes.
func (c Contact) Undated() Contact { return c.Dated(time.Time{}) }

// Dated is the contact as if it were new now.
func (c Contact) Dated(now time.Time) Contact {
	c.CreatedAt, c.UpdatedAt = now, now
	c.Addresses = slices.Clone(c.Addresses)
	for i := range c.Addresses {
		c.Addresses[i] = c.Addresses[i].at(now)
	}
	return c
}

// SameDocument tells whether two contacts say the same, whenever they were made and whatever was given.
func (c *Contact) SameDocument(other *Contact) bool {
	a, b := c.Undated(), other.Undated()
	a.Stats, b.Stats = Stats{}, Stats{}
	return string(a.AppendBody(nil)) == string(b.AppendBody(nil))
}

// WithoutExternalIDs is the contact without some of its external ids.
func (c Contact) WithoutExternalIDs(leave func(key string) bool) Contact {
	c.ExternalIDs = slices.DeleteFunc(slices.Clone(c.ExternalIDs), func(id ExternalID) bool { return leave(id.Key()) })
	c.replaceMatchKeys(ExternalPrefix, externalKeys(c.ExternalIDs))
	return c
}
