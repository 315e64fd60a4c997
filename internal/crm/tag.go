package crm

import (
	"slices"
	"time"
)

// DecodeTags reads the body of the tag endpoints: at least one tag name.
func DecodeTags(body []byte) ([]string, error) {
	r := newJSONReader("The request body", body)
	var tags *[]string
	r.document(func(key string) {
		if key == "tags" {
			tags = readList(r, maxTagsSent, r.text)
		} else {
			r.skip()
		}
	})
	if err := r.end(); r.err != nil {
		return nil, err
	}
	switch {
	case r.fault.has("tags"):
	case tags == nil || len(*tags) == 0:
		r.fault.Add("tags", "must be an array with at least one tag name")
	default:
		*tags = validateTags(&r.fault, *tags)
		sortFaults(&r.fault, contactFields)
	}
	if err := r.fault.Err(); err != nil {
		return nil, err
	}
	return *tags, nil
}

// CheckTags checks names that were typed, and keeps the distinct ones. At least one is needed.
func CheckTags(names []string) ([]string, error) {
	v := &Invalid{}
	if len(names) == 0 {
		v.Add("tags", SomeTag)
	}
	names = validateTags(v, names)
	return names, v.Err()
}

// validateTags checks each name and keeps the distinct ones.
func validateTags(v *Invalid, names []string) []string {
	for i, name := range names {
		at := place{"tags", i}
		if name == "" && !v.hasAt(at, "") {
			v.addAt(at, "", NotEmpty)
		}
		validateTextAt(v, at, "", name, maxTag)
	}
	names = distinct(names)
	tooMany(v, "tags", len(names), maxTags)
	return names
}

// tooMany adds a fault where a list is too long. What was repeated has been counted once.
func tooMany(v *Invalid, field string, n, limit int) {
	if n > limit && !v.has(field) {
		v.Add(field, TooMany, limit)
	}
}

// FoldTag is a tag's name as it is searched for by its beginning.
func FoldTag(name string) string { return cut(fold(name), maxTagFold) }

// maxTagFold bounds it, in bytes.
const maxTagFold = 200

// TagRange is the range of folded names that begin with what was typed; where nothing was typed it begins with "".
func TagRange(prefix string) KeyRange { return startingWith(FoldTag(searchable(prefix))) }

// AddTags appends the tags that the contact does not have.
func (c Contact) AddTags(tags []string, now time.Time) (Contact, error) {
	return c.SyncTags(append(slices.Clone(c.Tags), tags...), now)
}

// SyncTags replaces the whole set.
func (c Contact) SyncTags(tags []string, now time.Time) (Contact, error) {
	changed := c
	changed.Tags = distinct(tags)
	return changed.changedFrom(c, now)
}

// RemoveTags drops the listed tags; one that the contact does not have is no fault.
func (c Contact) RemoveTags(tags []string, now time.Time) (Contact, error) {
	kept := slices.DeleteFunc(slices.Clone(c.Tags), setOf(tags).has)
	return c.SyncTags(kept, now)
}
