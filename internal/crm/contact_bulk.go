package crm

import (
	"slices"
	"time"

	"donorbook/internal/crm/doc"
)

// BulkAction is what is done to many contacts at once.
type BulkAction struct {
	Kind    BulkKind `json:"action"`
	Tags    []string `json:"tags,omitempty"`    // that are added, removed or renamed
	Becomes string   `json:"becomes,omitempty"` // the new name of tags; "" deletes them
}

// BulkKind is one of the actions. The names are stored.
type BulkKind string

// The actions. To rename tags is never asked for by a selection: it is done to all contacts that have them.
const (
	BulkTag     BulkKind = "tag"
	BulkUntag   BulkKind = "untag"
	BulkArchive BulkKind = "archive"
	BulkRestore BulkKind = "restore"
	BulkRename  BulkKind = "rename"
)

// NewBulkAction checks what was asked for. Tags are needed where an action adds or removes them, and ignored elsewhere.
func NewBulkAction(kind BulkKind, tags []string) (BulkAction, error) {
	switch kind {
	case BulkTag, BulkUntag:
		tags, err := CheckTags(tags)
		return BulkAction{Kind: kind, Tags: tags}, err
	case BulkArchive, BulkRestore:
		return BulkAction{Kind: kind}, nil
	}
	return BulkAction{}, doc.NewInvalid("action", doc.OneOf, "tag, untag, archive, restore")
}

// BulkCounts says what became of contacts.
type BulkCounts struct {
	Changed         int64 `json:"changed"`
	ChangedArchived int64 `json:"changed_archived,omitempty"` // of these are archived, and stay so
	Already         int64 `json:"already"`                    // were so before
	Archived        int64 `json:"archived,omitempty"`         // were left alone for that
	Erased          int64 `json:"erased,omitempty"`           // cannot be restored
	Merged          int64 `json:"merged,omitempty"`           // are another contact now
	Refused         int64 `json:"refused,omitempty"`          // would hold more than a contact may
	Unreadable      int64 `json:"unreadable,omitempty"`       // are damaged
}

// Apply does the action to a contact and counts what became of it. Tags are neither added to archived contacts nor
// removed from them.
func (a BulkAction) Apply(c Contact, now time.Time, counts *BulkCounts) Contact {
	if c.Archived() && (a.Kind == BulkTag || a.Kind == BulkUntag) {
		counts.Archived++
		return c
	}
	if a.Kind == BulkRestore && (c.Erased() || c.MergedInto != 0) {
		if c.Erased() {
			counts.Erased++
		} else {
			counts.Merged++
		}
		return c
	}
	changed, err := a.apply(c, now)
	switch {
	case err != nil:
		counts.Refused++
		return c
	case changed.Archived() == c.Archived() && slices.Equal(changed.Tags, c.Tags):
		counts.Already++
		return c
	}
	if counts.Changed++; c.Archived() && changed.Archived() {
		counts.ChangedArchived++
	}
	return changed
}

func (a BulkAction) apply(c Contact, now time.Time) (Contact, error) {
	switch {
	case a.Kind == BulkTag:
		return c.AddTags(a.Tags, now)
	case a.Kind == BulkUntag:
		return c.RemoveTags(a.Tags, now)
	case a.Kind == BulkArchive && !c.Archived():
		return c.Archive(now), nil
	case a.Kind == BulkRestore && c.Archived():
		return c.Restore(now), nil
	case a.Kind == BulkRename:
		for _, tag := range a.Tags {
			c = c.RenameTag(tag, a.Becomes, now)
		}
	}
	return c, nil
}

// SelectionChanged refuses work on all that a search finds, because the person who asked for it has seen another
// number.
type SelectionChanged struct{ Contacts int64 }

func (*SelectionChanged) Error() string { return "the search finds another number of contacts now" }
