package console

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"donorbook/internal/crm"
	"donorbook/internal/store"
)

// suggestedTags are as many as a list below a field shows.
const suggestedTags = 12

func (c *Console) addTags(w http.ResponseWriter, r *http.Request, v visit) error {
	return c.changeTag(w, r, v, c.store.AddTags, func(had bool) string {
		if had {
			return "was there already"
		}
		return "was added"
	})
}

func (c *Console) removeTag(w http.ResponseWriter, r *http.Request, v visit) error {
	return c.changeTag(w, r, v, c.store.RemoveTags, func(had bool) string {
		if had {
			return "was removed"
		}
		return "was gone already"
	})
}

// changeTag adds or removes a tag and says what became of it. The next page begins at the field for another one.
func (c *Console) changeTag(w http.ResponseWriter, r *http.Request, v visit,
	change func(ctx context.Context, account, id int64, tags []string) (store.Document, error), told func(had bool) string,
) error {
	contact, ok, err := c.activeContact(w, r, v)
	if err != nil || !ok {
		return err
	}
	f, err := readForm(r)
	if err != nil {
		return err
	}
	name := f.Value("tag")
	tags, err := crm.CheckTags([]string{name})
	if err == nil {
		_, err = change(r.Context(), v.account(), contact.ID, tags)
	}
	if err != nil {
		return c.refuseTag(w, r, v, f, contact, err)
	}
	leaveNotice(w, notice{Text: "“" + name + "” " + told(slices.Contains(contact.Tags, name)) + "."})
	return redirect(w, r, v.path(contactPath(contact.ID))+"#f-tag")
}

// refuseTag shows the contact again, with what is wrong with the tag.
func (c *Console) refuseTag(w http.ResponseWriter, r *http.Request, v visit, f *form, contact crm.Contact, err error) error {
	if err := f.refuse(err); err != nil {
		return c.goneBy(w, r, v, contact, err)
	}
	for i, fault := range f.Faults {
		words := strings.NewReplacer("The tags.0 field", "A tag", "The tags field is refused: the", "The")
		f.Faults[i] = crm.Fault{Field: "tag", Message: words.Replace(fault.Message)}
	}
	return c.showContact(w, r, v, http.StatusUnprocessableEntity, contact, f)
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
