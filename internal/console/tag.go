package console

import (
	"context"
	"errors"
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
	return r.redirect(r.path(contactPath(contact.ID)), notice{Text: "Someone archived " + contactName(contact) + " a moment ago, so nothing was changed. Restore the contact to change it."})
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
