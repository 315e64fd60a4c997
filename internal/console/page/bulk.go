package page

import (
	"strings"

	"donorbook/internal/crm"
)

// BulkWords are the words for an action on some contacts: what is done, the button that does it, what has happened, what is under way, and what those were that did
// not change.
type BulkWords struct{ Title, Button, Done, Begun, Already string }

// BulkWordsFor says what an action does to so many contacts, which are named by contacts. An action without tags is one that still asks for them.
func BulkWordsFor(action crm.BulkAction, n int64, contacts string) BulkWords {
	tags := "tags"
	if len(action.Tags) > 0 {
		tags = QuotedTags(action.Tags)
	}
	switch action.Kind {
	case crm.BulkTag:
		return BulkWords{"Add " + tags + " to " + contacts, "Add tags", "Added " + tags + " to " + contacts + ".", "Adding " + tags + " to " + contacts + ".", "already had " + tags}
	case crm.BulkUntag:
		return BulkWords{"Remove " + tags + " from " + contacts, "Remove tags", "Removed " + tags + " from " + contacts + ".", "Removing " + tags + " from " + contacts + ".", "did not have " + tags}
	case crm.BulkArchive:
		return BulkWords{"Archive " + contacts, "Archive contacts", "Archived " + contacts + ".", "Archiving " + contacts + ".", Choose(n, "was", "were") + " already archived"}
	case crm.BulkRestore:
		return BulkWords{"Restore " + contacts, "Restore contacts", "Restored " + contacts + ".", "Restoring " + contacts + ".", Choose(n, "was", "were") + " already active"}
	case BulkExport:
		return BulkWords{Title: "Export " + contacts, Button: "Download file"}
	case crm.BulkRename:
		said := BulkWords{
			Title: "Delete the tag " + tags, Done: "Changed the tag on " + contacts + ".", Already: "no longer had " + tags,
		}
		if action.Becomes != "" {
			said.Title = "Change the tag " + tags + " to “" + action.Becomes + "”"
		}
		return said
	}
	return BulkWords{}
}

// The actions that lead to another page: the export of a selection, and the comparison of two contacts.
const (
	BulkExport = "export"
	BulkMerge  = "merge"
)

// Unconfirmed answers a form that would write to another number of things than the person has seen: the page that asks is shown
// again. It has not answered where the person has seen this number.
func (r *Request) Unconfirmed(now int64, thing, ask string) (answered bool, err error) {
	seen := r.Form.Value(SeenField)
	if seen == IDText(now) {
		return false, nil
	}
	if err := r.Repeated(); err != nil {
		return true, err
	}
	said := "Nothing was sent yet. Check who is written to, then confirm."
	if seen != "" {
		said = "Nothing was sent yet: the list now has " + Plural(now, thing) + ". Check the number, then confirm again."
	}
	return true, r.Redirect(ask, Notice{Text: said})
}

// BulkTold is what became of contacts, in sentences.
func BulkTold(action crm.BulkAction, n crm.BulkCounts) string {
	contacts := Plural(n.Changed, "contact")
	if action.Kind == crm.BulkRename {
		contacts = WithArchived(n.Changed, n.ChangedArchived)
	}
	told := []string{BulkWordsFor(action, n.Changed, contacts).Done}
	add := func(n int64, text string) {
		if n > 0 {
			told = append(told, Plural(n, "contact")+" "+text+".")
		}
	}
	add(n.Already, BulkWordsFor(action, n.Already, "").Already)
	add(n.Archived, Choose(n.Archived, "is archived and was", "are archived and were")+" left alone")
	add(n.Erased, Choose(n.Erased, "was", "were")+" erased and cannot be restored")
	add(n.Merged, Choose(n.Merged, "was", "were")+" merged into another contact: undo the merge to bring "+Choose(n.Merged, "it", "them")+" back")
	add(n.Refused, "would have too many tags and "+Choose(n.Refused, "was", "were")+" left alone")
	add(n.Unreadable, "could not be read")
	return strings.Join(told, " ")
}
