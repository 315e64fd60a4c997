package console

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/store/contacts"
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
			if tag = strings.TrimSpace(tag); tag != "" && !seen[tag] && len(tags) < maxValues {
				seen[tag] = true
				tags = append(tags, tag)
			}
		}
	}
	return tags
}

func (r *request) addTags() error {
	return r.changeTags(splitTags(r.form.Value("tag")), r.store.AddTags, "added", "already there")
}

// removeTag removes one tag by its whole name: a program may have given it a comma.
func (r *request) removeTag() error {
	return r.changeTags([]string{r.form.Value("tag")}, r.store.RemoveTags, "already removed", "removed")
}

// changeTags adds or removes tags and says what became of those that the contact lacked and of those that it had. The next
// page begins at the field for another one.
func (r *request) changeTags(names []string, change func(ctx context.Context, account, id int64, tags []string) (contacts.Document, error), lacked, had string) error {
	contact, ok, err := r.activeContact()
	if err != nil || !ok {
		return err
	}
	if len(names) == 0 {
		names = []string{""}
	}
	tags, err := crm.CheckTags(names)
	if err == nil {
		_, err = change(r.Context(), r.account(), r.id, tags)
	}
	if err != nil {
		return r.refuseTags(contact, err)
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
	return r.redirect(r.path(contactPath(r.id))+"#f-tag", notice{Text: said})
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
func (r *request) refuseTags(contact crm.Contact, err error) error {
	if err := r.form.refuseTag(err); err != nil {
		return r.goneBy(contact, err)
	}
	return errRefused
}

// refuseTag is refuse for tags that were typed into one field.
func (f *form) refuseTag(err error) error {
	if err := f.refuse(err); err != nil {
		return err
	}
	for i, fault := range f.Faults {
		label := "Tags"
		if fault.Field != "tags" {
			label = "A tag"
		}
		f.Faults[i] = doc.Fault{Field: "tag", Rule: doc.Rule(words(fault, label))}
	}
	return nil
}

// goneBy leads back to a contact that someone archived between our read and our change.
func (r *request) goneBy(contact crm.Contact, err error) error {
	if !errors.Is(err, crm.ErrArchived) {
		return err
	}
	return r.redirect(r.path(contactPath(contact.ID)), notice{Text: "Someone just archived " + contactName(contact) + ", so nothing was changed. Restore the contact to change it."})
}

// suggestTags answers a script with the tags that begin with what is typed into a field. After a comma that is the next tag,
// and each suggestion is the whole field with it.
func (r *request) suggestTags() error {
	typed := ""
	for name, values := range r.URL.Query() {
		if name == "tag" || strings.HasPrefix(name, "tags.") {
			typed = values[0]
		}
	}
	last := strings.TrimLeft(typed[strings.LastIndex(typed, ",")+1:], " ")
	counts, err := r.store.SuggestTags(r.Context(), r.account(), last, suggestedTags)
	if err != nil {
		return err
	}
	options := r.tagLinks(slices.DeleteFunc(counts, func(tag contacts.TagCount) bool { return strings.Contains(tag.Name, ",") })) // chosen, it would become two
	for i := range options {
		options[i].Name = strings.TrimSuffix(typed, last) + options[i].Name
	}
	return r.renderPart("contact", "tag-options", page{Data: options})
}

const (
	tagsPerPage   = 50
	alikeTagsMost = 20 // groups of tags that are alike, of those shown at once
)

// tagsView is the list of tags.
type tagsView struct {
	rows[tagRow]
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

// tagsPage lists the tags. A script asks for the ones that a field suggests.
func (r *request) tagsPage() error {
	if r.isPart() {
		return r.suggestTags()
	}
	view := tagsView{Query: strings.TrimSpace(r.URL.Query().Get("q"))}
	l := r.list(r.path("/tags"), pageParameter, tagsPerPage)
	counts, found, err := r.store.Tags(r.Context(), r.account(), view.Query, l.PageRequest)
	if err != nil {
		return err
	}
	busy, err := r.busyTags()
	if err != nil {
		return err
	}
	links, err := r.sizedTags(counts)
	if err != nil {
		return err
	}
	for _, link := range links {
		of := url.Values{"tag": {link.Name}}
		view.Rows = append(view.Rows, tagRow{link, withQuery(r.path("/tags/rename"), of), withQuery(r.path("/tags/delete"), of), busy[link.Name]})
	}
	view.Total, view.Pager = found.Total, l.pager(found.Total)
	if l.Page == 1 && view.Query == "" {
		if view.Alike, err = r.alikeTags(busy); err != nil {
			return err
		}
	}
	return r.render("tags", page{Title: "Tags", Section: "tags", Form: r.form, Data: view})
}

// sizedTags are tags with how many contacts have them, archived ones too.
func (r *request) sizedTags(counts []contacts.TagCount) ([]tagLink, error) {
	links := r.tagLinks(counts)
	names := make([]string, len(links))
	for i := range links {
		names[i] = links[i].Name
	}
	archived, err := r.store.ArchivedWithTags(r.Context(), r.account(), names)
	for i := range links {
		links[i].Archived = archived[links[i].Name]
	}
	return links, err
}

// busyTags says what is being done to tags in the background, by their names.
func (r *request) busyTags() (map[string]string, error) {
	works, err := r.store.TagsUnderWay(r.Context(), r.account())
	busy := map[string]string{}
	for _, work := range works {
		for _, name := range work.Names {
			if busy[name] = "Deletion in progress"; work.Becomes != "" {
				busy[name] = "Change to “" + work.Becomes + "” in progress"
			}
		}
	}
	return busy, err
}

func (r *request) alikeTags(busy map[string]string) (all []alikeTags, err error) {
	groups, err := r.store.AlikeTags(r.Context(), r.account(), alikeTagsMost)
	if err != nil {
		return nil, err
	}
	links, err := r.sizedTags(slices.Concat(groups...))
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
func (r *request) namedTag() (view tagView, err error) {
	name := r.form.Value("tag")
	if name == "" {
		name = r.URL.Query().Get("tag")
	}
	size, err := r.store.TagSize(r.Context(), r.account(), name)
	view.Tag = tagLink{name, r.tagAddress(name), size.Active, size.Archived}
	return view, err
}

func (r *request) renameTagPage() error {
	view, err := r.namedTag()
	if err != nil {
		return r.tagGone(view, err)
	}
	r.form.setUnsent("name", view.Tag.Name)
	return r.render("tag_rename", page{Title: "Rename " + view.Tag.Name, Section: "tags", Form: r.form, Data: view})
}

// renameTag renames a tag. Into one that exists it is merged, once the person has been asked.
func (r *request) renameTag() error {
	view, err := r.namedTag()
	if err != nil {
		return r.tagGone(view, err)
	}
	name := r.form.Value("name")
	if err := crm.CheckTagName(name); err != nil {
		return err
	}
	if name == view.Tag.Name {
		return r.redirect(r.path("/tags"), notice{Text: "The tag already has this name. Nothing was changed."})
	}
	into, err := r.store.TagSize(r.Context(), r.account(), name)
	if exists := err == nil; exists && r.form.Value("merge") != name {
		view.Into = &tagLink{Name: name, Contacts: into.Active, Archived: into.Archived}
		return r.render("tag_rename", page{Title: "Merge " + view.Tag.Name, Section: "tags", Form: r.form, Data: view})
	}
	if err != nil && !errors.Is(err, crm.ErrNotFound) {
		return err
	}
	done, err := r.store.RenameTag(r.Context(), r.account(), view.Tag.Name, name)
	said := fmt.Sprintf("“%s” is now “%s” on %s.", view.Tag.Name, name, withArchived(done.Changed, done.Archived))
	return r.tagChanged(view, done, err, said, fmt.Sprintf("“%s” is being changed to “%s” in the background.", view.Tag.Name, name))
}

func (r *request) deleteTagPage() error {
	view, err := r.namedTag()
	if err != nil {
		return r.tagGone(view, err)
	}
	return r.render("tag_delete", page{Title: "Delete " + view.Tag.Name, Section: "tags", Form: r.form, Data: view})
}

func (r *request) deleteTag() error {
	view, err := r.namedTag()
	if err != nil {
		return r.tagGone(view, err)
	}
	done, err := r.store.DeleteTag(r.Context(), r.account(), view.Tag.Name)
	said := fmt.Sprintf("Removed “%s” from %s.", view.Tag.Name, withArchived(done.Changed, done.Archived))
	return r.tagChanged(view, done, err, said, fmt.Sprintf("“%s” is being deleted in the background.", view.Tag.Name))
}

// mergeTags makes one tag of those that are alike.
func (r *request) mergeTags() error {
	into := r.form.Value("into")
	names, err := crm.CheckTags(r.form.Values("tag"))
	if err == nil {
		err = crm.CheckTagName(into)
	}
	if err != nil {
		return err
	}
	done, err := r.store.MergeTags(r.Context(), r.account(), names, into)
	said := fmt.Sprintf("%s became “%s” on %s.", quotedTags(names), into, withArchived(done.Changed, done.Archived))
	view := tagView{Tag: tagLink{Name: names[0]}}
	return r.tagChanged(view, done, err, said, fmt.Sprintf("%s is being changed to “%s” in the background.", quotedTags(names), into))
}

// tagChanged says what became of a tag.
func (r *request) tagChanged(view tagView, done jobs.TagChange, err error, said, begun string) error {
	if err != nil {
		return r.tagGone(view, err)
	}
	told := notice{Text: said, Undo: r.undoAddress(done.Job, r.path("/tags"))}
	if done.Unfinished() {
		told = notice{Text: begun, View: r.path(jobPath(done.Job)), Link: "View progress"}
	}
	return r.redirect(r.path("/tags"), told)
}

// tagGone leads back to the list where someone else has renamed or deleted the tag.
func (r *request) tagGone(view tagView, err error) error {
	if !errors.Is(err, crm.ErrNotFound) {
		return err
	}
	return r.redirect(r.path("/tags"), notice{Text: "No contacts have the tag “" + view.Tag.Name + "” anymore. Nothing was changed."})
}

// Size is how many contacts have the tag, in words: those that a list shows first, and archived ones.
func (t tagLink) Size() string { return withArchived(t.Contacts+t.Archived, t.Archived) }

// withArchived is a number of contacts of which some are archived.
func withArchived(contacts, archived int64) string {
	switch {
	case archived == 0:
		return plural(contacts, "contact")
	case archived == contacts:
		return plural(contacts, "archived contact")
	}
	return plural(contacts-archived, "contact") + " and " + plural(archived, "archived contact")
}

// quotedTags are names in quotation marks.
func quotedTags(names []string) string { return "“" + strings.Join(names, "”, “") + "”" }
