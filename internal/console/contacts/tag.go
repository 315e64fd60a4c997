package contacts

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"donorbook/internal/console/page"
	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/store"
	"donorbook/internal/store/jobs"
)

// suggestedTags are as many as a list below a field shows.
const suggestedTags = 12

// splitTags are the different tags in fields: a comma separates them. More than maxValues are
// far too many for the rules, so the rest need not be read.
func splitTags(fields ...string) (tags []string) {
	seen := map[string]bool{}
	for _, field := range fields {
		for tag := range strings.SplitSeq(field, ",") {
			if tag = strings.TrimSpace(tag); tag != "" && !seen[tag] && len(tags) < page.MaxValues {
				seen[tag] = true
				tags = append(tags, tag)
			}
		}
	}
	return tags
}

func AddTags(r *page.Request, contact crm.Contact) error {
	return changeTags(r, contact, splitTags(r.Form.Value("tag")), r.Store.AddTags, "added", "already there")
}

// RemoveTag removes one tag by its whole name: a program may have given it a comma.
func RemoveTag(r *page.Request, contact crm.Contact) error {
	return changeTags(r, contact, []string{r.Form.Value("tag")}, r.Store.RemoveTags, "already removed", "removed")
}

// changeTags adds or removes tags and says what became of those that the contact lacked and of those that it had. The next
// page begins at the field for another one.
func changeTags(r *page.Request, contact crm.Contact, names []string, change func(ctx context.Context, account, id int64, tags []string) (store.ContactDocument, error), lacked, had string) error {
	if len(names) == 0 {
		names = []string{""}
	}
	tags, err := crm.CheckTags(names)
	if err == nil {
		_, err = change(r.Context(), r.Account(), r.ID, tags)
	}
	if err != nil {
		return refuseTags(r, contact, err)
	}
	became := map[string][]string{}
	for _, name := range tags {
		word := lacked
		if slices.Contains(contact.Tags, name) {
			word = had
		}
		became[word] = append(became[word], "“"+name+"”")
	}
	said := strings.TrimSpace(told(became[lacked], lacked) + " " + told(became[had], had))
	return r.Redirect(r.Path(page.ContactPath(r.ID))+"#f-tag", page.Notice{Text: said})
}

// told is a sentence about names, such as: “a”, “b” and “c” were added.
func told(names []string, became string) string {
	switch last := len(names) - 1; {
	case last < 0:
		return ""
	case last == 0:
		return names[0] + " was " + became + "."
	default:
		return strings.Join(names[:last], ", ") + " and " + names[last] + " were " + became + "."
	}
}

// refuseTags says what is wrong with the tags at the field that they were typed into.
func refuseTags(r *page.Request, contact crm.Contact, err error) error {
	if err := refuseTag(r.Form, err); err != nil {
		return goneBy(r, contact, err)
	}
	return page.ErrRefused
}

// refuseTag is refuse for tags that were typed into one field.
func refuseTag(f *page.Form, err error) error {
	if err := f.Refuse(err); err != nil {
		return err
	}
	for i, fault := range f.Faults {
		label := "Tags"
		if fault.Field != "tags" {
			label = "A tag"
		}
		f.Faults[i] = doc.Fault{Field: "tag", Rule: doc.Rule(page.FaultText(fault, label))}
	}
	return nil
}

// goneBy leads back to a contact that someone archived between our read and our change.
func goneBy(r *page.Request, contact crm.Contact, err error) error {
	if !errors.Is(err, crm.ErrArchived) {
		return err
	}
	return r.Redirect(r.Path(page.ContactPath(contact.ID)), page.Notice{Text: "Someone just archived " + page.ContactName(contact) + ", so nothing was changed. Restore the contact to change it."})
}

// suggestTags answers a script with the tags that begin with what is typed into a field. After a comma that is the next tag,
// and each suggestion is the whole field with it.
func suggestTags(r *page.Request) error {
	typed := ""
	for name, values := range r.URL.Query() {
		if name == "tag" || strings.HasPrefix(name, "tags.") {
			typed = values[0]
		}
	}
	last := strings.TrimLeft(typed[strings.LastIndex(typed, ",")+1:], " ")
	counts, err := r.Store.SuggestTags(r.Context(), r.Account(), last, suggestedTags)
	if err != nil {
		return err
	}
	options := tagLinks(r, slices.DeleteFunc(counts, func(tag store.TagCount) bool { return strings.Contains(tag.Name, ",") })) // chosen, it would become two
	for i := range options {
		options[i].Name = strings.TrimSuffix(typed, last) + options[i].Name
	}
	return r.RenderPart("contact", "tag-options", page.View{Data: options})
}

const (
	tagsPerPage   = 50
	alikeTagsMost = 20 // groups of tags that are alike, of those shown at once
)

// tagsView is the list of tags.
type tagsView struct {
	page.Part[tagRow]
	Query string
	Total int64
	Alike []alikeTags
}

// tagRow is one tag of the list.
type tagRow struct {
	tagLink
	Rename, Delete string // addresses
	Busy           string // what is being done to it
}

// alikeTags are tags that differ in letter case alone.
type alikeTags struct {
	Into  tagLink // the one that the most contacts have
	Names []string
	All   []tagLink
}

// TagsPage lists the tags. A script asks for the ones that a field suggests.
func TagsPage(r *page.Request) error {
	if r.IsPart() {
		return suggestTags(r)
	}
	view := tagsView{Query: strings.TrimSpace(r.URL.Query().Get("q"))}
	l := r.List(r.Path("/tags"), page.PageParameter, tagsPerPage)
	counts, found, err := r.Store.Tags(r.Context(), r.Account(), view.Query, l.PageRequest)
	if err != nil {
		return err
	}
	busy, err := busyTags(r)
	if err != nil {
		return err
	}
	links, err := sizedTags(r, counts)
	if err != nil {
		return err
	}
	for _, link := range links {
		of := url.Values{"tag": {link.Name}}
		view.Rows = append(view.Rows, tagRow{link, page.WithQuery(r.Path("/tags/rename"), of), page.WithQuery(r.Path("/tags/delete"), of), busy[link.Name]})
	}
	view.Total, view.Pager = found.Total, l.Pager(found.Total)
	if l.Page == 1 && view.Query == "" {
		if view.Alike, err = findAlikeTags(r, busy); err != nil {
			return err
		}
	}
	return r.Render("tags", page.View{Title: "Tags", Section: "tags", Form: r.Form, Data: view})
}

// sizedTags are tags with how many contacts have them, archived ones too.
func sizedTags(r *page.Request, counts []store.TagCount) ([]tagLink, error) {
	links := tagLinks(r, counts)
	names := store.Collect(links, func(link tagLink) string { return link.Name })
	archived, err := r.Store.ArchivedWithTags(r.Context(), r.Account(), names)
	for i := range links {
		links[i].Archived = archived[links[i].Name]
	}
	return links, err
}

// busyTags says what is being done to tags in the background, by their names.
func busyTags(r *page.Request) (map[string]string, error) {
	works, err := r.Store.TagsUnderWay(r.Context(), r.Account())
	busy := map[string]string{}
	for _, work := range works {
		for _, name := range work.Tags {
			if busy[name] = "Deletion in progress"; work.Becomes != "" {
				busy[name] = "Change to “" + work.Becomes + "” in progress"
			}
		}
	}
	return busy, err
}

func findAlikeTags(r *page.Request, busy map[string]string) (all []alikeTags, err error) {
	groups, err := r.Store.AlikeTags(r.Context(), r.Account(), alikeTagsMost)
	if err != nil {
		return nil, err
	}
	links, err := sizedTags(r, slices.Concat(groups...))
	for _, group := range groups {
		one := alikeTags{All: links[:len(group)]}
		one.Into, links = one.All[0], links[len(group):]
		underWay := busy[one.Into.Name] != ""
		for _, tag := range one.All[1:] {
			one.Names = append(one.Names, tag.Name)
			underWay = underWay || busy[tag.Name] != ""
		}
		if !underWay {
			all = append(all, one)
		}
	}
	return all, err
}

// tagView is the page that renames a tag, or deletes it.
type tagView struct {
	Tag  tagLink
	Into *tagLink // an existing tag that it would be merged into
}

// namedTag is the tag that a page or a form is about.
func namedTag(r *page.Request) (view tagView, err error) {
	name := r.Form.Value("tag")
	if name == "" {
		name = r.URL.Query().Get("tag")
	}
	size, err := r.Store.TagSize(r.Context(), r.Account(), name)
	view.Tag = tagLink{name, tagAddress(r, name), size.Active, size.Archived}
	return view, err
}

func RenameTagPage(r *page.Request) error {
	view, err := namedTag(r)
	if err != nil {
		return tagGone(r, view, err)
	}
	r.Form.SetUnsent("name", view.Tag.Name)
	return r.Render("tag_rename", page.View{Title: "Rename " + view.Tag.Name, Section: "tags", Form: r.Form, Data: view})
}

// RenameTag renames a tag. Into one that exists it is merged, once the person has been asked.
func RenameTag(r *page.Request) error {
	view, err := namedTag(r)
	if err != nil {
		return tagGone(r, view, err)
	}
	name := r.Form.Value("name")
	if err := crm.CheckTagName(name); err != nil {
		return err
	}
	if name == view.Tag.Name {
		return r.Redirect(r.Path("/tags"), page.Notice{Text: "The tag already has this name. Nothing was changed."})
	}
	into, err := r.Store.TagSize(r.Context(), r.Account(), name)
	if exists := err == nil; exists && r.Form.Value("merge") != name {
		view.Into = &tagLink{Name: name, Contacts: into.Active, Archived: into.Archived}
		return r.Render("tag_rename", page.View{Title: "Merge " + view.Tag.Name, Section: "tags", Form: r.Form, Data: view})
	}
	if err != nil && !errors.Is(err, crm.ErrNotFound) {
		return err
	}
	done, err := r.Store.RenameTags(r.Context(), r.Account(), name, view.Tag.Name)
	changed := page.WithArchived(done.Changed, done.ChangedArchived)
	said := fmt.Sprintf("“%s” is now “%s” on %s.", view.Tag.Name, name, changed)
	return tagChanged(r, view, done, err, said, fmt.Sprintf("“%s” is being changed to “%s” in the background.", view.Tag.Name, name))
}

func DeleteTagPage(r *page.Request) error {
	view, err := namedTag(r)
	if err != nil {
		return tagGone(r, view, err)
	}
	return r.Render("tag_delete", page.View{Title: "Delete " + view.Tag.Name, Section: "tags", Form: r.Form, Data: view})
}

func DeleteTag(r *page.Request) error {
	view, err := namedTag(r)
	if err != nil {
		return tagGone(r, view, err)
	}
	done, err := r.Store.RenameTags(r.Context(), r.Account(), "", view.Tag.Name)
	said := fmt.Sprintf("Removed “%s” from %s.", view.Tag.Name, page.WithArchived(done.Changed, done.ChangedArchived))
	return tagChanged(r, view, done, err, said, fmt.Sprintf("“%s” is being deleted in the background.", view.Tag.Name))
}

// MergeTags makes one tag of those that are alike.
func MergeTags(r *page.Request) error {
	into := r.Form.Value("into")
	names, err := crm.CheckTags(r.Form.Values("tag"))
	if err == nil {
		err = crm.CheckTagName(into)
	}
	if err != nil {
		return err
	}
	done, err := r.Store.RenameTags(r.Context(), r.Account(), into, names...)
	changed := page.WithArchived(done.Changed, done.ChangedArchived)
	said := fmt.Sprintf("%s became “%s” on %s.", page.QuotedTags(names), into, changed)
	view := tagView{Tag: tagLink{Name: names[0]}}
	return tagChanged(r, view, done, err, said, fmt.Sprintf("%s is being changed to “%s” in the background.", page.QuotedTags(names), into))
}

// tagChanged says what became of a tag.
func tagChanged(r *page.Request, view tagView, done jobs.TagChange, err error, said, begun string) error {
	if err != nil {
		return tagGone(r, view, err)
	}
	told := page.Notice{Text: said, Undo: r.UndoAddress(done.Job, r.Path("/tags"))}
	if done.Unfinished() {
		told = page.Notice{Text: begun, View: r.Path(page.JobPath(done.Job)), Link: "View progress"}
	}
	return r.Redirect(r.Path("/tags"), told)
}

// tagGone leads back to the list where someone else has renamed or deleted the tag.
func tagGone(r *page.Request, view tagView, err error) error {
	if !errors.Is(err, crm.ErrNotFound) {
		return err
	}
	return r.Redirect(r.Path("/tags"), page.Notice{Text: "No contacts have the tag “" + view.Tag.Name + "” anymore. Nothing was changed."})
}

// Size is how many contacts have the tag, in words: those that a list shows first, and archived ones.
func (t tagLink) Size() string { return page.WithArchived(t.Contacts+t.Archived, t.Archived) }
