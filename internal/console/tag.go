package console

import (
	"errors"
	"net/http"
	"strings"

	"donorbook/internal/crm"
)

// suggestedTags are as many as a list below a field shows.
const suggestedTags = 12

func (c *Console) addTags(w http.ResponseWriter, r *http.Request, v visit) error {
	contact, ok, err := c.activeContact(w, r, v)
	if err != nil || !ok {
		return err
	}
	f, err := readForm(r)
	if err != nil {
		return err
	}
	tags, err := crm.CheckTags([]string{f.Value("tag")})
	if err == nil {
		_, err = c.store.AddTags(r.Context(), v.account(), contact.ID, tags)
	}
	if err == nil {
		leaveNotice(w, notice{Text: "“" + tags[0] + "” was added."})
		return redirect(w, r, v.path(contactPath(contact.ID)))
	}
	if err := f.refuse(err); err != nil {
		return c.goneBy(w, r, v, contact, err)
	}
	for i, fault := range f.Faults {
		words := strings.NewReplacer("The tags.0 field", "A tag", "The tags field is refused: the", "The")
		f.Faults[i] = crm.Fault{Field: "tag", Message: words.Replace(fault.Message)}
	}
	return c.showContact(w, r, v, http.StatusUnprocessableEntity, contact, f)
}

func (c *Console) removeTag(w http.ResponseWriter, r *http.Request, v visit) error {
	contact, ok, err := c.activeContact(w, r, v)
	if err != nil || !ok {
		return err
	}
	f, err := readForm(r)
	if err != nil {
		return err
	}
	name := f.values.Get("tag")
	if _, err := c.store.RemoveTags(r.Context(), v.account(), contact.ID, []string{name}); err != nil {
		return c.goneBy(w, r, v, contact, err)
	}
	leaveNotice(w, notice{Text: "“" + name + "” was removed."})
	return redirect(w, r, v.path(contactPath(contact.ID)))
}

// goneBy leads back to a contact that somebody archived between our look at it and our change.
func (c *Console) goneBy(w http.ResponseWriter, r *http.Request, v visit, contact crm.Contact, err error) error {
	if !errors.Is(err, crm.ErrForbidden) {
		return err
	}
	leaveNotice(w, notice{Text: contactName(contact) + " was archived a moment ago, so nothing was changed."})
	return redirect(w, r, v.path(contactPath(contact.ID)))
}

// suggestTags answers a script with the tags that begin with what is typed into a field.
func (c *Console) suggestTags(w http.ResponseWriter, r *http.Request, v visit) error {
	if !isPart(r) {
		return redirect(w, r, v.path("/contacts"))
	}
	typed := ""
	for name, values := range r.URL.Query() {
		if name == "tag" || strings.HasPrefix(name, "tags.") {
			typed = values[0]
		}
	}
	counts, err := c.store.SuggestTags(r.Context(), v.account(), typed, suggestedTags)
	if err != nil {
		return err
	}
	return c.renderPart(w, v, "contact", "tag-options", page{Data: tagLinks(v, counts)})
}
