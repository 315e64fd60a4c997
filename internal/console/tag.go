package console

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/store/contacts"
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

func (c *Console) addTags(w http.ResponseWriter, r *http.Request, v visit, f *form) error {
	return c.changeTags(w, r, v, f, splitTags(f.Value("tag")), c.store.AddTags, "added", "already there")
}

// removeTag removes one tag by its whole name: a program may have given it a comma.
func (c *Console) removeTag(w http.ResponseWriter, r *http.Request, v visit, f *form) error {
	return c.changeTags(w, r, v, f, []string{f.Value("tag")}, c.store.RemoveTags, "already removed", "removed")
}

// changeTags adds or removes tags and says what became of those that the contact lacked and of those that it had. The next
// page begins at the field for another one.
func (c *Console) changeTags(w http.ResponseWriter, r *http.Request, v visit, f *form, names []string,
	change func(ctx context.Context, account, id int64, tags []string) (contacts.Document, error), lacked, had string,
) error {
	contact, ok, err := c.activeContact(w, r, v)
	if err != nil || !ok {
		return err
	}
	if len(names) == 0 {
		names = []string{""}
	}
	tags, err := crm.CheckTags(names)
	if err == nil {
		_, err = change(r.Context(), v.account(), v.id, tags)
	}
	if err != nil {
		return c.refuseTags(w, r, v, f, contact, err)
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
	return redirect(w, r, v.path(contactPath(v.id))+"#f-tag", notice{Text: said})
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
func (c *Console) refuseTags(w http.ResponseWriter, r *http.Request, v visit, f *form, contact crm.Contact, err error) error {
	if err := f.refuseTag(err); err != nil {
		return c.goneBy(w, r, v, contact, err)
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
func (c *Console) goneBy(w http.ResponseWriter, r *http.Request, v visit, contact crm.Contact, err error) error {
	if !errors.Is(err, crm.ErrArchived) {
		return err
	}
	return redirect(w, r, v.path(contactPath(contact.ID)), notice{Text: "Someone archived " + contactName(contact) + " a moment ago, so nothing was changed. Restore the contact to change it."})
}

// suggestTags answers a script with the tags that begin with what is typed into a field. After a comma that is the next tag,
// and each suggestion is the whole field with it.
func (c *Console) suggestTags(w http.ResponseWriter, r *http.Request, v visit, _ *form) error {
	typed := ""
	for name, values := range r.URL.Query() {
		if name == "tag" || strings.HasPrefix(name, "tags.") {
			typed = values[0]
		}
	}
	last := strings.TrimLeft(typed[strings.LastIndex(typed, ",")+1:], " ")
	counts, err := c.store.SuggestTags(r.Context(), v.account(), last, suggestedTags)
	if err != nil {
		return err
	}
	options := tagLinks(v, slices.DeleteFunc(counts, func(tag contacts.TagCount) bool { return strings.Contains(tag.Name, ",") })) // chosen, it would become two
	for i := range options {
		options[i].Name = strings.TrimSuffix(typed, last) + options[i].Name
	}
	return c.renderPart(w, v, "contact", "tag-options", page{Data: options})
}
