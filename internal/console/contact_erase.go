package console

import (
	"net/http"
	"strings"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
)

// contactData sends everything about one person in one file, for a person who asks what is kept about them.
func (c *Console) contactData(w http.ResponseWriter, r *http.Request, v visit, _ *form) error {
	data, err := c.store.ContactData(r.Context(), v.account(), v.id)
	if err != nil {
		return err
	}
	name := downloadName(v, "contact-"+r.PathValue("id"), "json", c.today(v))
	if err := beginDownload(w, name, "json"); err != nil {
		return err
	}
	return data.Write(r.Context(), w)
}

// erasureView asks whether to erase a person.
type erasureView struct {
	Contact *crm.Contact
	Name    string
}

func (c *Console) eraseContactPage(w http.ResponseWriter, r *http.Request, v visit, f *form) error {
	contact, err := c.contactOf(r, v)
	if err != nil {
		return err
	}
	if contact.Erased() {
		return redirect(w, r, v.path(contactPath(v.id)))
	}
	view := erasureView{&contact, contactName(contact)}
	return c.render(w, r, v, "contact_erase", page{Title: "Erase " + view.Name, Section: "contacts", Form: f, Data: view})
}

// eraseContact needs the name to be typed: nothing brings an erased person back.
func (c *Console) eraseContact(w http.ResponseWriter, r *http.Request, v visit, f *form) error {
	contact, err := c.contactOf(r, v)
	if err != nil {
		return err
	}
	if !strings.EqualFold(strings.Join(strings.Fields(f.Value("name")), " "), strings.Join(strings.Fields(contactName(contact)), " ")) {
		wrong := new(doc.Invalid)
		wrong.Add("name", "Type the name as it is written above. Nothing was erased.")
		return wrong
	}
	job, err := c.store.EraseContact(r.Context(), v.account(), v.id)
	if err != nil {
		return err
	}
	said := notice{Text: "The contact was erased. Gifts stay in all totals, without a name."}
	if job != 0 {
		said.Text = "The contact was erased. Gifts stay in all totals. What gifts, the history and imports say about the person is being removed now."
		said.View, said.Link = v.path(jobPath(job)), "View progress"
	}
	return redirect(w, r, v.path("/contacts"), said)
}
