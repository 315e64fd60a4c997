package console

import (
	"strings"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
)

// contactData sends everything about one person in one file, for a person who asks what is kept about them.
func (r *request) contactData() error {
	data, err := r.store.ContactData(r.Context(), r.account(), r.id)
	if err != nil {
		return err
	}
	name := r.downloadName("contact-"+r.PathValue("id"), "json", r.today())
	if err := beginDownload(r.w, name, "json"); err != nil {
		return err
	}
	return data.Write(r.Context(), r.w)
}

// erasureView asks whether to erase a person.
type erasureView struct {
	Contact *crm.Contact
	Name    string
}

func (r *request) eraseContactPage(contact crm.Contact) error {
	if contact.Erased() {
		return r.redirect(r.path(contactPath(r.id)))
	}
	view := erasureView{&contact, contactName(contact)}
	return r.render("contact_erase", page{Title: "Erase " + view.Name, Section: "contacts", Form: r.form, Data: view})
}

// eraseContact needs the name to be typed: nothing brings an erased person back.
func (r *request) eraseContact(contact crm.Contact) (err error) {
	if !strings.EqualFold(strings.Join(strings.Fields(r.form.Value("name")), " "), strings.Join(strings.Fields(contactName(contact)), " ")) {
		wrong := new(doc.Invalid)
		wrong.Add("name", "Type the name as it is written above. Nothing was erased.")
		return wrong
	}
	job, err := r.store.EraseContact(r.Context(), r.account(), r.id)
	if err != nil {
		return err
	}
	said := notice{Text: "The contact was erased. Gifts stay in all totals, without a name."}
	if job != 0 {
		said.Text = "The contact was erased. Gifts still count in all totals. The person’s details are being removed from gifts, history and imports."
		said.View, said.Link = r.path(jobPath(job)), "View progress"
	}
	return r.redirect(r.path("/contacts"), said)
}
