package crm

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/text"
)

// Two contacts for one person become one: the survivor gets what the other one has, and the other one stays in the archive, with all that it had, so that the merge can
// be undone.

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
}

// MergeInput is what a client says about a merge.
type MergeInput struct {
	Contact int64 // that is merged into the survivor
	MergeChoice
}

// DecodeMerge reads the body that merges a contact into another one. Other keys are ignored.
func DecodeMerge(body []byte) (in MergeInput, err error) {
	r := doc.NewReader("The request body", body)
	in.Fields = make(map[string]int64)
	r.Document(func(key string) {
		switch key {
		case "contact_id":
			in.Contact = r.Integer()
		case "prefer":
			prefer := r.Text()
			if in.PreferOther = prefer == "other"; !in.PreferOther && prefer != "" && prefer != "survivor" {
				r.Wrong(doc.OneOf, "survivor, other")
			}
		case "fields":
			r.Element(func(name string) { in.Fields[name] = r.Integer() })
		default:
			r.Skip()
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

// prefersOther tells whether the other contact's value of a field is the one to keep; chosen, whether that was said of this very field.
func (choice *MergeChoice) prefersOther(name string, other int64) (prefers, chosen bool) {
	if id := choice.Fields[name]; id != 0 {
		return id == other, true
	}
	return choice.PreferOther, false
}

// CheckMerge refuses to merge another contact into this one. Both are of one account.
func (c *Contact) CheckMerge(other *Contact) error {
	switch {
	case c.MergedInto != 0:
		return doc.NewInvalid("", doc.MergedContact, c.ID, c.MergedInto)
	case c.Archived():
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

// Absorb is the contact with what another one adds. A value of the survivor stays, unless it is empty or the choice says otherwise; lists are united, those of the
// preferred contact first; two notes become one; a mark that either has stays. Numbers of phones are compared as in a region.
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

func (c *Contact) absorbField(f *doc.Field[*Contact, *ContactInput], other *Contact, choice *MergeChoice, region string) {
	prefers, chosen := choice.prefersOther(f.Name, other.ID)
	switch {
	case f.Unite != nil:
		f.Unite(c, other, prefers, region)
	case f.Differ != nil: // custom fields, one by one
		for _, value := range other.Custom {
			if prefers, _ := choice.prefersOther(f.Name+"."+custom.Key(value.Field), other.ID); prefers || c.CustomValue(value.Field).Value == "" {
				c.Custom = custom.Put(c.Custom, value)
			}
		}
	case f.Name == "note" && !chosen:
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
		if f.Merge == nil || f.Unite != nil || f.Differ != nil || f.Text == nil || f.Same(c, merged) || f.Same(c, &blank) || strings.Contains(f.Text(merged), f.Text(c)) && f.Name == "note" {
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

// MergeInto is what stays of a contact that was merged into another one: all that it had but its external ids, which are the survivor's from then on.
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

// Undated is the contact without the times at which its parts were made, so that the same document is the same text whenever it comes.
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
