package crm

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/text"
)

// DecodeTags reads the body of the tag endpoints: at least one tag name.
func DecodeTags(r *doc.Reader) ([]string, error) {
	var in ContactInput
	r.Document(func(key string) {
		if key == "tags" {
			ContactTable.Read(r, key, &in)
		} else {
			r.Ignore()
		}
	})
	if err := r.End(); r.Err != nil {
		return nil, err
	}
	switch {
	case r.Fault.HasFault("tags"):
	case in.Tags == nil || len(*in.Tags) == 0:
		r.Fault.Add("tags", "must be an array with at least one tag name")
	default:
		*in.Tags = validateTags(&r.Fault, *in.Tags)
		doc.SortFaults(&r.Fault, []string{"tags"})
	}
	if err := r.Fault.Err(); err != nil {
		return nil, err
	}
	return *in.Tags, nil
}

// DecodeTagName reads the body that renames a tag. It is "" where no name was sent.
func DecodeTagName(r *doc.Reader) (name string, err error) {
	var sent *string
	r.Document(func(key string) {
		if key == "name" {
			sent = r.TextSent()
		} else {
			r.Ignore()
		}
	})
	if err := r.End(); err != nil || sent == nil {
		return "", err
	}
	return *sent, CheckTagName(*sent)
}

// CheckTagName checks the new name of a tag.
func CheckTagName(name string) error {
	v := &doc.Invalid{}
	if name == "" {
		v.Add("name", doc.NotEmpty)
	}
	v.CheckText(doc.Place{}, "name", name, maxTag)
	return v.Err()
}

// IsTagName tells whether a contact may have a tag of this name, so that it can be looked for.
func IsTagName(name string) bool {
	return name != "" && name == strings.TrimSpace(name) && doc.TextRule(name) == "" && !doc.IsLonger(name, maxTag)
}

// CheckTags checks names that were typed, and keeps the distinct ones. At least one is needed.
func CheckTags(names []string) ([]string, error) {
	v := &doc.Invalid{}
	if len(names) == 0 {
		v.Add("tags", doc.SomeTag)
	}
	names = validateTags(v, names)
	return names, v.Err()
}

// validateTags checks each name and keeps the distinct ones.
func validateTags(v *doc.Invalid, names []string) []string {
	for i, name := range names {
		at := doc.ElementOf("tags", i)
		if name == "" {
			v.AddAt(at, "", doc.NotEmpty)
		}
		v.CheckText(at, "", name, maxTag)
	}
	names = text.Distinct(names)
	v.TooMany("tags", len(names), maxTags)
	return names
}

var tagTable = doc.Table[*string, *string]{doc.Part("", "", doc.String(maxTag),
	func(tag *string) *string { return tag })}

// tagsField has no part in a form: there a row may hold several tags.
func tagsField() doc.Field[*Contact, *ContactInput] {
	of := doc.Objects(tagTable, len(`"",`), func(tag *string) string { return *tag })
	of.Read, of.Load = tagTable[0].Load, tagTable[0].Load
	of.Append = func(dst []byte, tag *string, _ int) []byte { return doc.AppendText(dst, *tag) }
	of.Key = func(tag *string, _ string) string { return *tag }
	f := doc.List("tags", "Tag", "Tags", maxTags, maxTagsSent, of, func(c *Contact) *[]string { return &c.Tags },
		func(in *ContactInput) **[]string { return &in.Tags })
	f.Fill, f.Take = nil, nil
	f.Check = func(c *doc.Checker, _ doc.Place, in *ContactInput) {
		if in.Tags != nil && !c.HasFault("tags") {
			*in.Tags = validateTags(&c.Invalid, *in.Tags)
		}
	}
	f.Merge = func(c *Contact, in *ContactInput, _ time.Time) {
		if in.Tags != nil {
			c.Tags = text.Distinct(append(slices.Clone(c.Tags), *in.Tags...))
		}
	}
	return f
}

// FoldTag is a tag's name as it is searched for by its beginning.
func FoldTag(name string) string { return text.Cut(text.Fold(name), maxTagFold) }

// TagCase is a tag's name without regard to letter case. Tags for which it is the same were hardly meant to be two.
func TagCase(name string) string { return text.FoldCase(name) }

// maxTagFold bounds it, in bytes.
const maxTagFold = 200

// TagRange is the range of folded names that begin with what was typed; where nothing was typed it begins with "".
func TagRange(prefix string) KeyRange {
	from := FoldTag(Searchable(prefix))
	return KeyRange{from, from + lastTag}
}

// lastTag comes after whatever a folded name may go on with.
var lastTag = strings.Repeat("\U0010FFFF", maxTagFold/utf8.UTFMax+1)

// AppendTag appends the wire form of a tag that so many active contacts have.
func AppendTag(dst []byte, name string, contacts int64) []byte {
	dst = doc.AppendText(append(dst, `{"name":`...), name)
	dst = strconv.AppendInt(append(dst, `,"contacts":`...), contacts, 10)
	return append(dst, '}')
}

// RenameTag gives a tag another name, or takes it away where that is "". Where the contact has both names, the one that
// comes first stays. Nothing can be wrong with that: it is done to all contacts that have the tag, and must not stop at
// one whose document is full.
func (c Contact) RenameTag(name, becomes string, now time.Time) Contact {
	at := slices.Index(c.Tags, name)
	if at < 0 {
		return c
	}
	tags := slices.Clone(c.Tags)
	if tags[at] = becomes; becomes == "" {
		tags = slices.Delete(tags, at, at+1)
	}
	renamed, _ := c.SyncTags(tags, now)
	return renamed
}

// AddTags appends the tags that the contact does not have.
func (c Contact) AddTags(tags []string, now time.Time) (Contact, error) {
	return c.SyncTags(append(slices.Clone(c.Tags), tags...), now)
}

// SyncTags replaces the whole set.
func (c Contact) SyncTags(tags []string, now time.Time) (Contact, error) {
	return c.revise(ContactInput{}, now, func(c *Contact, _ *ContactInput,
		_ time.Time) {
		c.Tags = text.Distinct(tags)
	})
}

// RemoveTags drops the listed tags; one that the contact does not have is no fault.
func (c Contact) RemoveTags(tags []string, now time.Time) (Contact, error) {
	kept := slices.DeleteFunc(slices.Clone(c.Tags), text.SetOf(tags).Contains)
	return c.SyncTags(kept, now)
}

// Searchable is a text as it can be searched for: what no stored text holds is left out, and so is what is longer than
// any.
func Searchable(value string) string {
	value = strings.ReplaceAll(strings.ToValidUTF8(value, ""), "\x00", "")
	return strings.TrimSpace(text.Cut(strings.TrimSpace(value), utf8.UTFMax*doc.MaxText))
}

// KeyRange is a stretch of index keys, both ends included.
type KeyRange struct{ From, To string }

// Has tells whether a key lies in the range.
func (r KeyRange) Has(key string) bool { return r.From <= key && key <= r.To }
