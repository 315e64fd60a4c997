package console

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
)

// contactFormView is the form of a contact, new or not.
type contactFormView struct {
	Form                            *form
	Title, Name                     string // Name is that of the contact, "" for a new one
	Action, Back                    string
	Save                            string // what the button says
	Emails, Phones, Addresses, Tags []formRow
	ExternalIDs                     []formRow
	Marks                           []option
	Custom                          customView
	Overwrites                      []doc.Change // what saving would do to what another person has saved meanwhile
}

// formRow is one of several rows of a list in a form.
type formRow struct {
	Index int
	Label string // such as Email 2
	Empty bool
}

func (c *Console) newContactPage(w http.ResponseWriter, r *http.Request, v visit, f *form) error {
	return c.contactForm(w, r, v, http.StatusOK, f, crm.Contact{})
}

func (c *Console) createContact(w http.ResponseWriter, r *http.Request, v visit, f *form) error {
	if f.goesBack() {
		return c.contactForm(w, r, v, http.StatusOK, f, crm.Contact{})
	}
	in, err := c.readContact(r, v, f)
	if err != nil {
		return err
	}
	tags := f.tags()
	in.Tags, in.SeenMatch = &tags, f.Value(matchField)
	if err := in.Validate(nil, true, c.options.Region, c.now()); err != nil {
		return c.refuseContact(w, r, v, f, crm.Contact{}, err)
	}
	made, err := c.store.CreateContact(r.Context(), v.account(), in, f.createMode())
	if matched := new(crm.Matched); errors.As(err, &matched) {
		return c.askAboutMatch(w, r, v, f, in, crm.Contact{}, matched.Contact)
	}
	if errors.Is(err, crm.ErrChanged) {
		f.fail("", "The other contact no longer has this email or phone, so nothing was added to it. Save again to add a new contact.")
		return c.contactForm(w, r, v, http.StatusUnprocessableEntity, f, crm.Contact{})
	}
	if err != nil {
		return c.refuseContact(w, r, v, f, crm.Contact{}, err)
	}
	if c.options.Created != nil {
		c.options.Created(made.Merged)
	}
	after, err := crm.ParseContact(made.ID, made.Body, nil)
	if err != nil {
		return err
	}
	told := notice{Text: contactName(after) + " was added."}
	if made.Merged {
		before, err := crm.ParseContact(made.ID, made.Before, nil)
		if err != nil {
			return err
		}
		told = mergeNotice(in, before, after)
	}
	leaveNotice(w, told)
	return redirect(w, r, v.path(contactPath(made.ID)))
}

// mergeNotice says who it was, and what is different now.
func mergeNotice(in crm.ContactInput, before, after crm.Contact) notice {
	told := notice{Text: "What you typed was added to " + contactName(before) + ". This changed:", Changes: changesBy(in, before, after)}
	if len(told.Changes) == 0 {
		told.Text = contactName(before) + " already had everything that you typed. Nothing changed."
	}
	return told
}

// changesBy lists what an input has changed, or would.
func changesBy(in crm.ContactInput, before, after crm.Contact) []doc.Change {
	changes := crm.Changes(before, after)
	if in.Fields != nil {
		changes = append(changes, in.Fields.Changes(before.Custom, after.Custom)...)
	}
	return changes
}

// readContact reads the form of a contact, with the definitions of the custom fields that it has.
func (c *Console) readContact(r *http.Request, v visit, f *form) (in crm.ContactInput, err error) {
	if in = crm.ReadContactForm(f); len(in.Custom) > 0 {
		in.Fields, err = c.store.CustomFields(r.Context(), v.account())
	}
	return in, err
}

func (c *Console) editContactPage(w http.ResponseWriter, r *http.Request, v visit, f *form) error {
	contact, ok, err := c.activeContact(w, r, v)
	if err != nil || !ok {
		return err
	}
	crm.FillContactForm(&contact, f.setUnsent)
	f.setUnsent(seenField, contact.Version())
	return c.contactForm(w, r, v, http.StatusOK, f, contact)
}

func (c *Console) saveContact(w http.ResponseWriter, r *http.Request, v visit, f *form) error {
	contact, ok, err := c.activeContact(w, r, v)
	if err != nil || !ok {
		return err
	}
	if f.goesBack() {
		return c.contactForm(w, r, v, http.StatusOK, f, contact)
	}
	in, err := c.readContact(r, v, f)
	if err != nil {
		return err
	}
	in.Seen, in.SeenMatch = f.Value(seenField), f.Value(matchField)
	if err = in.Validate(nil, false, c.options.Region, c.now()); err == nil {
		_, err = c.store.EditContact(r.Context(), v.account(), contact.ID, in)
	}
	if matched := new(crm.Matched); errors.As(err, &matched) {
		return c.askAboutMatch(w, r, v, f, in, contact, matched.Contact)
	}
	if errors.Is(err, crm.ErrChanged) {
		return c.refuseOldContact(w, r, v, f, in)
	}
	if err != nil {
		return c.refuseContact(w, r, v, f, contact, err)
	}
	leaveNotice(w, notice{Text: "The changes were saved."})
	return redirect(w, r, v.path(contactPath(contact.ID)))
}

// refuseOldContact shows the form again where somebody else has changed the contact since it was opened. It is about the
// contact as it is now, and says what saving would do to it: whoever has looked may save it.
func (c *Console) refuseOldContact(w http.ResponseWriter, r *http.Request, v visit, f *form, in crm.ContactInput) error {
	contact, ok, err := c.activeContact(w, r, v)
	if err != nil || !ok {
		return err
	}
	f.failSeen("contact", contact.Version())
	in.Seen = ""
	saved, err := contact.Patch(in, c.now())
	if err != nil {
		return c.refuseContact(w, r, v, f, contact, err)
	}
	return c.contactForm(w, r, v, http.StatusUnprocessableEntity, f, contact, changesBy(in, contact, saved)...)
}

// refuseContact shows the form again, with what is wrong.
func (c *Console) refuseContact(w http.ResponseWriter, r *http.Request, v visit, f *form, old crm.Contact, err error) error {
	if err := f.refuse(err); err != nil {
		return c.goneBy(w, r, v, old, err)
	}
	return c.contactForm(w, r, v, http.StatusUnprocessableEntity, f, old)
}

func (c *Console) contactForm(w http.ResponseWriter, r *http.Request, v visit, status int, f *form, old crm.Contact, overwrites ...doc.Change) error {
	fields, err := c.store.CustomFields(r.Context(), v.account())
	if err != nil {
		return err
	}
	view := contactFormView{
		Overwrites: overwrites, Custom: customForm(fields, f, &old),
		Form: f, Title: "New contact", Action: v.path("/contacts"), Back: v.path("/contacts"), Save: "Add contact",
		Emails: f.rowsOf("emails", 2), Phones: f.rowsOf("phones", 2), Addresses: f.rowsOf("addresses", 1),
		ExternalIDs: f.rowsOf("external_ids", 1),
	}
	for _, mark := range crm.Marks[:len(crm.Marks)-1] { // the type has a field of its own
		view.Marks = append(view.Marks, option{mark, crm.MarkLabel(mark), f.Value(mark) != ""})
	}
	if old.ID == 0 {
		view.Tags = f.rowsOf("tags", 2)
	} else {
		path := v.path(contactPath(old.ID))
		view.Name = contactName(old)
		view.Title, view.Action, view.Back, view.Save = "Edit "+view.Name, path, path, "Save changes"
	}
	return c.render(w, r, v, "contact_form", page{Title: view.Title, Status: status, Section: "contacts", Data: view})
}

// tags are the rows of tags. A row with commas becomes a row for each of its tags.
func (f *form) tags() []string {
	var rows []string
	for i := range f.Rows("tags", []string{""}) {
		name := rowName("tags", i)("")
		rows = append(rows, f.Value(name))
		f.values.Del(name)
	}
	tags := splitTags(rows...)
	for i, tag := range tags {
		f.set(rowName("tags", i)(""), tag)
	}
	return tags
}

// rowName names the parts of a row: emails.0.value. A row of one part is named by its number alone.
func rowName(list string, index int) func(part string) string {
	return func(part string) string {
		return strings.TrimSuffix(list+"."+strconv.Itoa(index)+"."+part, ".")
	}
}

// Rows numbers the rows of a list anew without the empty ones, so that the rules and the form count alike. It returns how
// many there are. A row in which only a type was chosen is empty.
func (f *form) Rows(list string, parts []string) (n int) {
	var rows []int
	for name := range f.values {
		number, _, _ := strings.Cut(strings.TrimPrefix(name, list+"."), ".")
		if i, err := strconv.Atoi(number); err == nil && i >= 0 && strings.HasPrefix(name, list+".") {
			rows = append(rows, i)
		}
	}
	slices.Sort(rows)
	for _, i := range slices.Compact(rows) {
		from, to := rowName(list, i), rowName(list, n)
		if !slices.ContainsFunc(parts, func(part string) bool { return part != "type" && f.Value(from(part)) != "" }) {
			continue
		}
		for _, part := range parts {
			f.set(to(part), f.Value(from(part)))
		}
		n++
	}
	for _, i := range rows {
		for _, part := range parts {
			if i >= n {
				f.values.Del(rowName(list, i)(part))
			}
		}
	}
	return n
}

// rowsOf are the rows to show: those that are filled in and one more, at least so many, and at most one more than a contact may
// have. What is left out is told before everything else, for the form that is sent next lacks it.
func (f *form) rowsOf(list string, least int) (rows []formRow) {
	label, parts, limit := crm.ContactList(list)
	n, most := f.Rows(list, parts), limit+1
	if n > most {
		told := fmt.Sprintf("There were %s %s, more than this form holds. Only the first %d are still here.", shownCount(int64(n)), list, most)
		f.Faults, f.first = slices.Insert(f.Faults, 0, doc.Fault{Rule: doc.Rule(told)}), nil
	}
	for i := range min(max(n+1, least), most) {
		row := formRow{Index: i, Label: label, Empty: i >= n}
		if i > 0 {
			row.Label += " " + strconv.Itoa(i+1)
		}
		rows = append(rows, row)
	}
	return rows
}
