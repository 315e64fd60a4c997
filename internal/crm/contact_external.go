package crm

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/text"
)

// ExternalID is what another system calls a contact. No two contacts of an account have the same.
type ExternalID struct {
	Source string // the system
	Value  string
}

const (
	maxSource      = 64
	maxExternalIDs = 100

	otherSource  = "other"  // of an id that came without one
	ImportSource = "import" // of an id in a file whose heading names no system
)

var externalTable = doc.Table[*ExternalID, *ExternalID]{
	doc.Part("source", "source", idText(maxSource).And(checkSource),
		func(id *ExternalID) *string { return &id.Source }),
	doc.Part("value", "", idText(doc.MaxText), func(id *ExternalID) *string { return &id.Value }),
}

// idText is a text of one line. Other systems may have numbers.
func idText(limit int) doc.Kind[string] {
	k := doc.String(limit).And(func(c *doc.Checker, at doc.Place, name string, value *string) {
		if strings.ContainsFunc(*value, unicode.IsControl) {
			c.AddAt(at, name, doc.OneLine)
		}
	})
	k.Read = (*doc.Reader).TextOrNumber
	return k
}

// checkSource refuses a colon, which stands between a source and its value in a file.
func checkSource(c *doc.Checker, at doc.Place, name string, value *string) {
	if strings.Contains(*value, ":") {
		c.AddAt(at, name, doc.NoColon)
	}
}

// Written is an id in one text, as files have it.
func (id *ExternalID) Written() string { return id.Source + ":" + id.Value }

// ReadExternalID reads an id in one text; source is that of a value alone.
func ReadExternalID(written, source string) ExternalID {
	if before, value, found := strings.Cut(written, ":"); found {
		return ExternalID{Source: strings.TrimSpace(before), Value: strings.TrimSpace(value)}
	}
	return ExternalID{Source: source, Value: written}
}

// System is the system that has given the id, "" where it is not known.
func (id *ExternalID) System() string {
	if id.Source == otherSource || id.Source == ImportSource {
		return ""
	}
	return id.Source
}

func (id *ExternalID) inWords() string {
	if system := id.System(); system != "" {
		return id.Value + " (" + system + ")"
	}
	return id.Value
}

// Key is the match key of an id. The value comes first, so that it is found whatever its source is.
func (id *ExternalID) Key() string {
	return ExternalIDKeys(id.Value) + text.FoldCase(id.Source)
}

// ExternalIDKeys is what the match keys of all ids with a value begin with.
func ExternalIDKeys(value string) string { return ExternalPrefix + value + "\t" }

// readExternalID reads an id as an object, or its value alone.
func readExternalID(r *doc.Reader, id *ExternalID) {
	switch r.Next() {
	case '"', '0':
		id.Value = r.TextOrNumber()
	case '{':
		r.Element(func(key string) { externalTable.Read(r, key, id) })
	default:
		r.Skip()
		r.Wrong(doc.ObjectOrText)
	}
}

// readAddedID reads external_id. null and "" say nothing.
func (in *ContactInput) readAddedID(r *doc.Reader) {
	if r.Next() == 'n' {
		r.Skip()
		return
	}
	var id ExternalID
	isObject := r.Next() == '{'
	if readExternalID(r, &id); isObject || id.Value != "" {
		in.AddedIDs = append(in.AddedIDs, id)
	}
}

// externalIDsField are the ids of a contact. A merge unites them; external_id adds one to those that are there.
func externalIDsField() doc.Field[*Contact, *ContactInput] {
	of := doc.Objects(externalTable, 32, (*ExternalID).inWords)
	of.Read = readExternalID
	of.Key = func(id *ExternalID, _ string) string { return id.Key() }
	f := doc.List("external_ids", "External ID", "External IDs", maxExternalIDs, maxSent, of,
		func(c *Contact) *[]ExternalID { return &c.ExternalIDs },
		func(in *ContactInput) **[]ExternalID { return &in.ExternalIDs })
	f.Check = func(c *doc.Checker, _ doc.Place, in *ContactInput) {
		if in.ExternalIDs != nil && !c.HasFault("external_ids") {
			*in.ExternalIDs = checkExternalIDs(c, *in.ExternalIDs)
		}
		for i := range in.AddedIDs {
			in.AddedIDs[i].check(c, doc.Place{Name: "external_id"})
		}
	}
	f.Merge = func(c *Contact, in *ContactInput, _ time.Time) { c.addExternalIDs(in.sentIDs()) }
	replace, takeBack := f.Patch, f.Undo
	f.Patch = func(c *Contact, in *ContactInput, now time.Time) {
		if replace(c, in, now); in.ExternalIDs != nil {
			c.replaceMatchKeys(ExternalPrefix, externalKeys(c.ExternalIDs))
		}
		c.addExternalIDs(in.AddedIDs)
	}
	f.Undo = func(c *Contact, d *doc.Difference, region string) bool {
		left := takeBack(c, d, region)
		c.replaceMatchKeys(ExternalPrefix, externalKeys(c.ExternalIDs))
		return left
	}
	return f
}

// checkExternalIDs looks at each id and keeps those that differ from each other.
func checkExternalIDs(c *doc.Checker, sent []ExternalID) []ExternalID {
	kept := []ExternalID{}
	var seen text.Set
	for i := range sent {
		if sent[i].check(c, doc.ElementOf("external_ids", i)); seen.Add(sent[i].Key()) && len(kept) <= maxExternalIDs {
			kept = append(kept, sent[i])
		}
	}
	c.TooMany("external_ids", len(kept), maxExternalIDs)
	return kept
}

func (id *ExternalID) check(c *doc.Checker, at doc.Place) {
	if c.HasAt(at, "") {
		return
	}
	if id.Source == "" {
		id.Source = otherSource
	}
	if externalTable.Check(c, at, id); id.Value == "" {
		c.AddAt(at, "value", doc.Required)
	}
}

// addExternalIDs adds the ids that the contact does not have. They are in a list of their own from then on.
func (c *Contact) addExternalIDs(ids []ExternalID) {
	c.ExternalIDs = slices.Clip(c.ExternalIDs)
	for _, id := range ids {
		if c.addMatchKey(id.Key()) {
			c.ExternalIDs = append(c.ExternalIDs, id)
		}
	}
}

// sentIDs are all ids of the input.
func (in *ContactInput) sentIDs() []ExternalID {
	if in.ExternalIDs == nil {
		return in.AddedIDs
	}
	return slices.Concat(*in.ExternalIDs, in.AddedIDs)
}

// IDKeys are the match keys of the external ids of the input.
func (in *ContactInput) IDKeys() []string { return externalKeys(in.sentIDs()) }

// UnnamedIDKeys are the match keys that the ids of a system had if an earlier file did not name it.
func (in *ContactInput) UnnamedIDKeys() (keys []string) {
	for _, id := range in.AddedIDs {
		if id.Source != ImportSource {
			id.Source = ImportSource
			keys = append(keys, id.Key())
		}
	}
	return keys
}

// WithoutIDs is the input without the external ids that a contact has, and these.
func (in ContactInput) WithoutIDs(c *Contact) (left ContactInput, taken []ExternalID) {
	left = in.withOwnLists()
	leave := func(id ExternalID) bool {
		isTaken := ContainsSorted(c.MatchKeys, id.Key())
		if isTaken {
			taken = append(taken, id)
		}
		return isTaken
	}
	if left.AddedIDs = slices.DeleteFunc(left.AddedIDs, leave); left.ExternalIDs != nil {
		*left.ExternalIDs = slices.DeleteFunc(*left.ExternalIDs, leave)
	}
	return left, taken
}

func externalKeys(ids []ExternalID) (keys []string) {
	for i := range ids {
		keys = append(keys, ids[i].Key())
	}
	return keys
}

// CallID is TakenID in the words of a file: the column has a name.
func (in *ContactInput) CallID(err error) error {
	var v *doc.Invalid
	if errors.As(err, &v) && v.Faults[0].Rule == doc.IDTaken {
		args := v.Faults[0].Args
		return doc.NewInvalid("", "%v %v belongs to contact %v.", in.IDColumn(), args[0], args[2])
	}
	return err
}

// IDColumn is what the file calls external ids.
func (in *ContactInput) IDColumn() string { return cmp.Or(in.SentAs["external_id"], "External ID") }

// TakenID is the fault of a contact with an external id that another one has.
func TakenID(key string, other int64) error {
	value, source, _ := strings.Cut(strings.TrimPrefix(key, ExternalPrefix), "\t")
	return doc.NewInvalid("external_ids", doc.IDTaken, value, source, other)
}
