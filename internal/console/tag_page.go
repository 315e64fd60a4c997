package console

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"donorbook/internal/crm"
	"donorbook/internal/store/contacts"
	"donorbook/internal/store/jobs"
)

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
func (c *Console) tagsPage(w http.ResponseWriter, r *http.Request, v visit, f *form) error {
	if isPart(r) {
		return c.suggestTags(w, r, v, f)
	}
	view := tagsView{Query: strings.TrimSpace(r.URL.Query().Get("q"))}
	l := listOf(r, v.path("/tags"), pageParameter, tagsPerPage)
	counts, found, err := c.store.Tags(r.Context(), v.account(), view.Query, l.PageRequest)
	if err != nil {
		return err
	}
	busy, err := c.busyTags(r, v)
	if err != nil {
		return err
	}
	links, err := c.sizedTags(r, v, counts)
	if err != nil {
		return err
	}
	for _, link := range links {
		of := url.Values{"tag": {link.Name}}
		view.Rows = append(view.Rows, tagRow{link, withQuery(v.path("/tags/rename"), of), withQuery(v.path("/tags/delete"), of), busy[link.Name]})
	}
	view.Total, view.Pager = found.Total, l.pager(found.Total)
	if l.Page == 1 && view.Query == "" {
		if view.Alike, err = c.alikeTags(r, v, busy); err != nil {
			return err
		}
	}
	return c.render(w, r, v, "tags", page{Title: "Tags", Section: "tags", Form: f, Data: view})
}

// sizedTags are tags with how many contacts have them, archived ones too.
func (c *Console) sizedTags(r *http.Request, v visit, counts []contacts.TagCount) ([]tagLink, error) {
	links := tagLinks(v, counts)
	names := make([]string, len(links))
	for i := range links {
		names[i] = links[i].Name
	}
	archived, err := c.store.ArchivedWithTags(r.Context(), v.account(), names)
	for i := range links {
		links[i].Archived = archived[links[i].Name]
	}
	return links, err
}

// busyTags says what is being done to tags in the background, by their names.
func (c *Console) busyTags(r *http.Request, v visit) (map[string]string, error) {
	works, err := c.store.TagsUnderWay(r.Context(), v.account())
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

func (c *Console) alikeTags(r *http.Request, v visit, busy map[string]string) (all []alikeTags, err error) {
	groups, err := c.store.AlikeTags(r.Context(), v.account(), alikeTagsMost)
	if err != nil {
		return nil, err
	}
	links, err := c.sizedTags(r, v, slices.Concat(groups...))
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
func (c *Console) namedTag(r *http.Request, v visit, f *form) (view tagView, err error) {
	name := f.Value("tag")
	if name == "" {
		name = r.URL.Query().Get("tag")
	}
	size, err := c.store.TagSize(r.Context(), v.account(), name)
	view.Tag = tagLink{name, tagAddress(v, name), size.Active, size.Archived}
	return view, err
}

func (c *Console) renameTagPage(w http.ResponseWriter, r *http.Request, v visit, f *form) error {
	view, err := c.namedTag(r, v, f)
	if err != nil {
		return c.tagGone(w, r, v, view, err)
	}
	f.setUnsent("name", view.Tag.Name)
	return c.render(w, r, v, "tag_rename", page{Title: "Rename " + view.Tag.Name, Section: "tags", Form: f, Data: view})
}

// renameTag renames a tag. Into one that exists it is merged, once the person has been asked.
func (c *Console) renameTag(w http.ResponseWriter, r *http.Request, v visit, f *form) error {
	view, err := c.namedTag(r, v, f)
	if err != nil {
		return c.tagGone(w, r, v, view, err)
	}
	name := f.Value("name")
	if err := crm.CheckTagName(name); err != nil {
		return err
	}
	if name == view.Tag.Name {
		return redirect(w, r, v.path("/tags"), notice{Text: "The tag has this name already. Nothing was changed."})
	}
	into, err := c.store.TagSize(r.Context(), v.account(), name)
	if exists := err == nil; exists && f.Value("merge") != name {
		view.Into = &tagLink{Name: name, Contacts: into.Active, Archived: into.Archived}
		return c.render(w, r, v, "tag_rename", page{Title: "Merge " + view.Tag.Name, Section: "tags", Form: f, Data: view})
	}
	if err != nil && !errors.Is(err, crm.ErrNotFound) {
		return err
	}
	done, err := c.store.RenameTag(r.Context(), v.account(), view.Tag.Name, name)
	said := fmt.Sprintf("“%s” is now “%s” on %s.", view.Tag.Name, name, withArchived(done.Changed, done.Archived))
	return c.tagChanged(w, r, v, view, done, err, said, fmt.Sprintf("“%s” is being changed to “%s” in the background.", view.Tag.Name, name))
}

func (c *Console) deleteTagPage(w http.ResponseWriter, r *http.Request, v visit, f *form) error {
	view, err := c.namedTag(r, v, f)
	if err != nil {
		return c.tagGone(w, r, v, view, err)
	}
	return c.render(w, r, v, "tag_delete", page{Title: "Delete " + view.Tag.Name, Section: "tags", Form: f, Data: view})
}

func (c *Console) deleteTag(w http.ResponseWriter, r *http.Request, v visit, f *form) error {
	view, err := c.namedTag(r, v, f)
	if err != nil {
		return c.tagGone(w, r, v, view, err)
	}
	done, err := c.store.DeleteTag(r.Context(), v.account(), view.Tag.Name)
	said := fmt.Sprintf("“%s” was taken from %s.", view.Tag.Name, withArchived(done.Changed, done.Archived))
	return c.tagChanged(w, r, v, view, done, err, said, fmt.Sprintf("“%s” is being deleted in the background.", view.Tag.Name))
}

// mergeTags makes one tag of those that are alike.
func (c *Console) mergeTags(w http.ResponseWriter, r *http.Request, v visit, f *form) error {
	into := f.Value("into")
	names, err := crm.CheckTags(f.Values("tag"))
	if err == nil {
		err = crm.CheckTagName(into)
	}
	if err != nil {
		return err
	}
	done, err := c.store.MergeTags(r.Context(), v.account(), names, into)
	said := fmt.Sprintf("%s became “%s” on %s.", quotedTags(names), into, withArchived(done.Changed, done.Archived))
	view := tagView{Tag: tagLink{Name: names[0]}}
	return c.tagChanged(w, r, v, view, done, err, said, fmt.Sprintf("%s is being changed to “%s” in the background.", quotedTags(names), into))
}

// tagChanged says what became of a tag.
func (c *Console) tagChanged(w http.ResponseWriter, r *http.Request, v visit, view tagView, done jobs.TagChange, err error, said, begun string) error {
	if err != nil {
		return c.tagGone(w, r, v, view, err)
	}
	told := notice{Text: said, Undo: undoAddress(v, done.Job, v.path("/tags"))}
	if done.Unfinished() {
		told = notice{Text: begun, View: v.path(jobPath(done.Job)), Link: "View progress"}
	}
	return redirect(w, r, v.path("/tags"), told)
}

// tagGone leads back to the list where someone else has renamed or deleted the tag.
func (c *Console) tagGone(w http.ResponseWriter, r *http.Request, v visit, view tagView, err error) error {
	if !errors.Is(err, crm.ErrNotFound) {
		return err
	}
	return redirect(w, r, v.path("/tags"), notice{Text: "No contact has the tag “" + view.Tag.Name + "” anymore. Nothing was changed."})
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
