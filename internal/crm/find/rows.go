package find

import (
	"donorbook/internal/crm"
)

// Rows is everything that follows from one record alone, beside the columns of its own row: what it is found and counted by. It does not depend on the record's
// id, its times or other records. A change writes the difference of what followed from the record before and what follows from it now; a check, a repair and an
// upgrade add up what follows from all records. All of them ask here, so that they agree.
type Rows struct {
	Keys   []string // match keys that lead to it, sorted
	Sets   []string // that it is in, in one order
	Tags   []string // that count it
	Words  string   // that a search finds it by
	Active int64    // what it adds to the number of active contacts
}

// The sets of contacts. The archive is a set, those in it that were merged into others, and every tag, whatever the state of its contacts. So are those who lack
// an email, or a phone: most contacts have both, and are in neither. The sets of common words are called as these.
const (
	ArchiveSet = "archived"
	MergedSet  = "merged"
	TagSet     = "t:"
	LackingSet = "l:"
)

// SetNames are the names of the sets of tags, or of details.
func SetNames[T ~string](kind string, of []T) []string {
	names := make([]string, len(of), len(of)+8)
	for i, name := range of {
		names[i] = kind + string(name)
	}
	return names
}

// ContactRows is what follows from a contact of an account. Tags count active contacts.
func ContactRows(c *crm.Contact, account int64) *Rows {
	r := &Rows{Keys: c.MatchKeys, Sets: contactSets(c), Words: SearchDocument(c, account)}
	if !c.Archived() {
		r.Tags, r.Active = c.Tags, 1
	}
	return r
}

func contactSets(c *crm.Contact) []string {
	names := SetNames(TagSet, c.Tags)
	if c.Archived() {
		names = append(names, ArchiveSet)
	}
	if c.MergedInto != 0 {
		names = append(names, MergedSet)
	}
	for _, d := range crm.Details {
		if !c.HasDetail(d) {
			names = append(names, LackingSet+string(d))
		}
	}
	return append(names, CommonWords(c)...)
}

// UnreadableRows is what is still known of a contact whose document cannot be read, by what its row says beside that.
func UnreadableRows(matchKeys []string, archived bool) *Rows {
	if archived {
		return &Rows{Keys: matchKeys, Sets: []string{ArchiveSet}}
	}
	return &Rows{Keys: matchKeys, Active: 1}
}
