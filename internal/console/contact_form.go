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
	"donorbook/internal/store"
	"donorbook/internal/store/contacts"
)

// contactFormView is the form of a contact, new or not.
type contactFormView struct {
	Form                            *form
	Title, Name                     string // Name is that of the contact, "" for a new one
	Action, Back                    string
	Save                            string // what the button says
	Emails, Phones, Addresses, Tags []formRow
	ExternalIDs                     []formRow
	MoreOpen                        bool // what is folded says something, or is wrong
	CompanyBorn                     bool // a company that came with a date of birth shows it
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

func (r *request) newContactPage() error {
	return r.contactForm(http.StatusOK, crm.Contact{})
}

func (r *request) createContact() error {
	if r.form.goesBack() {
		return r.contactForm(http.StatusOK, crm.Contact{})
	}
	in, err := r.readContact(crm.Contact{})
	if err != nil {
		return err
	}
	tags := r.form.tags()
	in.Tags = &tags
	if err := in.Validate(nil, true, r.options.Region, r.now()); err != nil {
		return r.refuseContact(crm.Contact{}, err)
	}
	if r.form.decide(&in); in.ID == 0 {
		if asked, err := r.askAboutSimilar(in, crm.Contact{}); asked || err != nil {
			return err
		}
	}
	made, err := r.store.CreateContact(r.once(r.shownContact), r.account(), in, r.form.createMode())
	if first := new(store.Replayed); errors.As(err, &first) {
		return err
	}
	matched := new(crm.Matched)
	if errors.As(err, &matched) && in.ID == 0 {
		return r.askAboutMatch(in, crm.Contact{}, matched.Contact)
	}
	if in.ID != 0 && err != nil { // the contact that was decided for has changed
		if asked, err := r.askAboutSimilar(in, crm.Contact{}); asked || err != nil {
			return err
		}
	}
	if errors.Is(err, crm.ErrChanged) {
		r.form.fail("", "The other contact no longer has this email or phone, so nothing was added to it. Save again to add a new contact.")
		return r.contactForm(http.StatusUnprocessableEntity, crm.Contact{})
	}
	if err != nil {
		return r.refuseContact(crm.Contact{}, err)
	}
	if r.options.Created != nil {
		r.options.Created(made.Merged)
	}
	after, err := crm.ParseContact(made.ID, made.Body, nil)
	if err == nil && !made.Merged {
		err = r.keepApart(made.ID)
	}
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
	to := r.path(contactPath(made.ID))
	if r.form.Value(thenField) == "gift" {
		to += "?gift#f-amount"
	}
	return r.redirect(to, told)
}

func (r *request) shownContact(made store.Result) shown {
	return shown{r.path(contactPath(made.(contacts.Document).ID)), notice{Text: "The contact was added."}}
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

// readContact reads the form of a contact, with the definitions of the custom fields that it has. A company has no birthday, unless it came with one.
func (r *request) readContact(old crm.Contact) (in crm.ContactInput, err error) {
	if r.form.Value("type") == "company" && old.DOB.IsZero() {
		r.form.set("dob", "")
	}
	if in = crm.ReadContactForm(r.form); len(in.Custom) > 0 {
		in.Fields, err = r.store.CustomFields(r.Context(), r.account())
	}
	return in, err
}

func (r *request) editContactPage() error {
	contact, ok, err := r.activeContact()
	if err != nil || !ok {
		return err
	}
	crm.FillContactForm(&contact, r.form.setUnsent)
	r.form.setUnsent(seenField, contact.Version())
	return r.contactForm(http.StatusOK, contact)
}

func (r *request) saveContact() error {
	contact, ok, err := r.activeContact()
	if err != nil || !ok {
		return err
	}
	if r.form.goesBack() {
		return r.contactForm(http.StatusOK, contact)
	}
	in, err := r.readContact(contact)
	if err != nil {
		return err
	}
	in.Seen = r.form.Value(seenField)
	if err = in.Validate(nil, false, r.options.Region, r.now()); err == nil {
		r.form.decide(&in)
		if in.ID == 0 {
			if asked, err := r.askAboutSimilar(in, contact); asked || err != nil {
				return err
			}
		}
		_, err = r.store.EditContact(r.Context(), r.account(), contact.ID, in)
	}
	if matched := new(crm.Matched); errors.As(err, &matched) {
		return r.askAboutMatch(in, contact, matched.Contact)
	}
	if errors.Is(err, crm.ErrChanged) {
		return r.refuseOldContact(in)
	}
	if err != nil {
		return r.refuseContact(contact, err)
	}
	if r.form.Value(decisionField) != mergeDecision {
		if err := r.keepApart(contact.ID); err != nil {
			return err
		}
	}
	to := contactPath(contact.ID)
	if seen, _, _ := strings.Cut(in.SeenMatch, "-"); r.form.Value(decisionField) == mergeDecision {
		to = mergePath(contact.ID, idOf(seen))
	}
	return r.redirect(r.path(to), notice{Text: "Changes saved."})
}

// refuseOldContact shows the form again where somebody else has changed the contact since it was opened. It is about the
// contact as it is now, and says what saving would do to it: whoever has looked may save it.
func (r *request) refuseOldContact(in crm.ContactInput) error {
	contact, ok, err := r.activeContact()
	if err != nil || !ok {
		return err
	}
	r.form.failSeen("contact", contact.Version())
	in.Seen = ""
	saved, err := contact.Patch(in, r.now())
	if err != nil {
		return r.refuseContact(contact, err)
	}
	return r.contactForm(http.StatusUnprocessableEntity, contact, changesBy(in, contact, saved)...)
}

// refuseContact shows the form again, with what is wrong.
func (r *request) refuseContact(old crm.Contact, err error) error {
	if err := r.form.refuse(err); err != nil {
		return r.goneBy(old, err)
	}
	return r.contactForm(http.StatusUnprocessableEntity, old)
}

func (r *request) contactForm(status int, old crm.Contact, overwrites ...doc.Change) error {
	fields, err := r.store.CustomFields(r.Context(), r.account())
	if err != nil {
		return err
	}
	view := contactFormView{
		Overwrites: overwrites, Custom: customForm(fields, r.form, &old),
		Form: r.form, Title: "New contact", Action: r.path("/contacts"), Back: r.path("/contacts"), Save: "Add contact",
		Emails: r.form.rowsOf("emails", 2), Phones: r.form.rowsOf("phones", 2), Addresses: r.form.rowsOf("addresses", 1),
		ExternalIDs: r.form.rowsOf("external_ids", 1),
	}
	r.form.setUnsent(thenField, map[bool]string{true: "gift"}[old.ID == 0 && r.URL.Query().Has("gift")])
	view.MoreOpen, view.CompanyBorn = r.form.saysMore(), !old.DOB.IsZero()
	for _, mark := range crm.Marks[:len(crm.Marks)-1] { // the type has a field of its own
		view.Marks = append(view.Marks, option{mark, crm.MarkLabel(mark), r.form.Value(mark) != ""})
	}
	if old.ID == 0 {
		view.Tags = r.form.rowsOf("tags", 2)
	} else {
		path := r.path(contactPath(old.ID))
		view.Name = contactName(old)
		view.Title, view.Action, view.Back, view.Save = "Edit "+view.Name, path, path, "Save changes"
	}
	return r.render("contact_form", page{Title: view.Title, Status: status, Section: "contacts", Data: view})
}

// thenField is what the person wants to do with a contact that is added.
const thenField = "then"

// firstFields are what the form of a contact asks first; "" is the form as a whole.
var firstFields = []string{"", "type", "first_name", "last_name", "company", "emails.0.value", "emails.0.type", "phones.0.value", "phones.0.type", thenField, seenField, matchField, similarField, apartField, decisionField, "custom_fields.shown"}

// saysMore tells whether a form has something in its other fields, or something is wrong there.
func (f *form) saysMore() bool {
	for name := range f.values {
		if f.Value(name) != "" && !slices.Contains(firstFields, name) {
			return true
		}
	}
	return slices.ContainsFunc(f.Faults, func(fault doc.Fault) bool { return !slices.Contains(firstFields, fault.Field) })
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
		told := fmt.Sprintf("You entered %s %s, more than this form can hold. Only the first %d were kept.", shownCount(int64(n)), list, most)
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
