package contacts

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"donorbook/internal/console/page"
	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/store"
)

// contactFormView is the form of a contact, new or not.
type contactFormView struct {
	Form                            *page.Form
	Title, Name                     string // Name is that of the contact, "" for a new one
	Action, Back                    string
	Save                            string // what the button says
	Emails, Phones, Addresses, Tags []formRow
	ExternalIDs                     []formRow
	MoreOpen                        bool // what is folded says something, or is wrong
	CompanyBorn                     bool // a company that came with a date of birth shows it
	Marks                           []page.Option
	Custom                          customView
	Overwrites                      []doc.Change // what saving would do to what another person has saved meanwhile
}

// formRow is one of several rows of a list in a form.
type formRow struct {
	Index int
	Label string // such as Email 2
	Empty bool
}

func NewPage(r *page.Request) error {
	return contactForm(r, http.StatusOK, crm.Contact{})
}

func Create(r *page.Request) error {
	if r.Form.GoesBack() {
		return contactForm(r, http.StatusOK, crm.Contact{})
	}
	in, err := readContact(r, crm.Contact{})
	if err != nil {
		return err
	}
	tags := tags(r.Form)
	in.Tags = &tags
	if err := in.Validate(nil, true, r.Options.Region, r.Now()); err != nil {
		return refuseContact(r, crm.Contact{}, err)
	}
	if decide(r.Form, &in); in.ID == 0 {
		if asked, err := askAboutSimilar(r, in, crm.Contact{}); asked || err != nil {
			return err
		}
	}
	made, err := r.Store.CreateContact(r.Once(shownContact(r)), r.Account(), in, createMode(r.Form))
	if first := new(store.Replayed); errors.As(err, &first) {
		return err
	}
	matched := new(crm.Matched)
	if errors.As(err, &matched) && in.ID == 0 {
		return askAboutMatch(r, in, crm.Contact{}, matched.Contact)
	}
	if in.ID != 0 && err != nil { // the contact that was decided for has changed
		if asked, err := askAboutSimilar(r, in, crm.Contact{}); asked || err != nil {
			return err
		}
	}
	if errors.Is(err, crm.ErrChanged) {
		r.Form.Fail("", "The other contact no longer has this email or phone, so nothing was added to it. Save again to add a new contact.")
		return contactForm(r, http.StatusUnprocessableEntity, crm.Contact{})
	}
	if err != nil {
		return refuseContact(r, crm.Contact{}, err)
	}
	if r.Options.Created != nil {
		r.Options.Created(made.Merged)
	}
	after, err := crm.ParseContact(made.ID, made.Body, nil)
	if err == nil && !made.Merged {
		err = keepApart(r, made.ID)
	}
	if err != nil {
		return err
	}
	told := page.Notice{Text: page.ContactName(after) + " was added."}
	if made.Merged {
		before, err := crm.ParseContact(made.ID, made.Before, nil)
		if err != nil {
			return err
		}
		told = mergeNotice(in, before, after)
	}
	to := r.Path(page.ContactPath(made.ID))
	if r.Form.Value(thenField) == "gift" {
		to += "?gift#f-amount"
	}
	return r.Redirect(to, told)
}

func shownContact(r *page.Request) func(store.Result) page.Next {
	return func(made store.Result) page.Next {
		return page.Next{To: r.Path(page.ContactPath(made.(store.ContactDocument).ID)), Notice: page.Notice{Text: "The contact was added."}}
	}
}

// mergeNotice says who it was, and what is different now.
func mergeNotice(in crm.ContactInput, before, after crm.Contact) page.Notice {
	told := page.Notice{Text: "What you typed was added to " + page.ContactName(before) + ". This changed:", Changes: changesBy(in, before, after)}
	if len(told.Changes) == 0 {
		told.Text = page.ContactName(before) + " already had everything that you typed. Nothing changed."
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
func readContact(r *page.Request, old crm.Contact) (in crm.ContactInput, err error) {
	if r.Form.Value("type") == "company" && old.DOB.IsZero() {
		r.Form.Set("dob", "")
	}
	if in = crm.ReadContactForm(r.Form); len(in.Custom) > 0 {
		in.Fields, err = r.Store.CustomFields(r.Context(), r.Account())
	}
	return in, err
}

func EditPage(r *page.Request, contact crm.Contact) error {
	crm.FillContactForm(&contact, r.Form.SetUnsent)
	r.Form.SetUnsent(page.SeenField, contact.Version())
	return contactForm(r, http.StatusOK, contact)
}

func Save(r *page.Request, contact crm.Contact) error {
	if r.Form.GoesBack() {
		return contactForm(r, http.StatusOK, contact)
	}
	in, err := readContact(r, contact)
	if err != nil {
		return err
	}
	in.Seen = r.Form.Value(page.SeenField)
	if err = in.Validate(nil, false, r.Options.Region, r.Now()); err == nil {
		decide(r.Form, &in)
		if in.ID == 0 {
			if asked, err := askAboutSimilar(r, in, contact); asked || err != nil {
				return err
			}
		}
		_, err = r.Store.EditContact(r.Context(), r.Account(), contact.ID, in)
	}
	if matched := new(crm.Matched); errors.As(err, &matched) {
		return askAboutMatch(r, in, contact, matched.Contact)
	}
	if errors.Is(err, crm.ErrChanged) {
		return page.OfActive(func(r *page.Request, now crm.Contact) error { return refuseOldContact(r, now, in) })(r)
	}
	if err != nil {
		return refuseContact(r, contact, err)
	}
	if r.Form.Value(page.DecisionField) != page.MergeDecision {
		if err := keepApart(r, contact.ID); err != nil {
			return err
		}
	}
	to := page.ContactPath(contact.ID)
	if seen, _, _ := strings.Cut(in.SeenMatch, "-"); r.Form.Value(page.DecisionField) == page.MergeDecision {
		to = mergePath(contact.ID, page.ParseID(seen))
	}
	return r.Redirect(r.Path(to), page.Notice{Text: "Changes saved."})
}

// refuseOldContact shows the form again where somebody else has changed the contact since it was opened. It is about the
// contact as it is now, and says what saving would do to it: whoever has looked may save it.
func refuseOldContact(r *page.Request, contact crm.Contact, in crm.ContactInput) error {
	r.Form.FailSeen("contact", contact.Version())
	in.Seen = ""
	saved, err := contact.Patch(in, r.Now())
	if err != nil {
		return refuseContact(r, contact, err)
	}
	return contactForm(r, http.StatusUnprocessableEntity, contact, changesBy(in, contact, saved)...)
}

// refuseContact shows the form again, with what is wrong.
func refuseContact(r *page.Request, old crm.Contact, err error) error {
	if err := r.Form.Refuse(err); err != nil {
		return goneBy(r, old, err)
	}
	return contactForm(r, http.StatusUnprocessableEntity, old)
}

func contactForm(r *page.Request, status int, old crm.Contact, overwrites ...doc.Change) error {
	fields, err := r.Store.CustomFields(r.Context(), r.Account())
	if err != nil {
		return err
	}
	view := contactFormView{
		Overwrites: overwrites, Custom: customForm(fields, r.Form, &old),
		Form: r.Form, Title: "New contact", Action: r.Path("/contacts"), Back: r.Path("/contacts"), Save: "Add contact",
		Emails: rowsOf(r.Form, "emails", 2), Phones: rowsOf(r.Form, "phones", 2), Addresses: rowsOf(r.Form, "addresses", 1),
		ExternalIDs: rowsOf(r.Form, "external_ids", 1),
	}
	r.Form.SetUnsent(thenField, map[bool]string{true: "gift"}[old.ID == 0 && r.URL.Query().Has("gift")])
	view.MoreOpen, view.CompanyBorn = saysMore(r.Form), !old.DOB.IsZero()
	for _, mark := range crm.Marks {
		view.Marks = append(view.Marks, page.Option{Value: mark, Label: crm.MarkLabel(mark), Chosen: r.Form.Value(mark) != ""})
	}
	if old.ID == 0 {
		view.Tags = rowsOf(r.Form, "tags", 2)
	} else {
		path := r.Path(page.ContactPath(old.ID))
		view.Name = page.ContactName(old)
		view.Title, view.Action, view.Back, view.Save = "Edit "+view.Name, path, path, "Save changes"
	}
	return r.Render("contact_form", page.View{Title: view.Title, Status: status, Section: "contacts", Data: view})
}

// thenField is what the person wants to do with a contact that is added.
const thenField = "then"

// firstFields are what the form of a contact asks first; "" is the form as a whole.
var firstFields = []string{"", "type", "first_name", "last_name", "company", "emails.0.value", "emails.0.type", "phones.0.value", "phones.0.type", thenField, page.SeenField, page.MatchField, page.SimilarField, page.ApartField, page.DecisionField, "custom_fields.shown"}

// saysMore tells whether a form has something in its other fields, or something is wrong there.
func saysMore(f *page.Form) bool {
	for name := range f.Fields {
		if f.Value(name) != "" && !slices.Contains(firstFields, name) {
			return true
		}
	}
	return slices.ContainsFunc(f.Faults, func(fault doc.Fault) bool { return !slices.Contains(firstFields, fault.Field) })
}

// tags are the rows of tags. A row with commas becomes a row for each of its tags.
func tags(f *page.Form) []string {
	var rows []string
	for i := range f.Rows("tags", []string{""}) {
		name := page.RowName("tags", i)("")
		rows = append(rows, f.Value(name))
		f.Fields.Del(name)
	}
	tags := splitTags(rows...)
	for i, tag := range tags {
		f.Set(page.RowName("tags", i)(""), tag)
	}
	return tags
}

// rowsOf are the rows to show: those that are filled in and one more, at least so many, and at most one more than a contact may
// have. What is left out is told before everything else, for the form that is sent next lacks it.
func rowsOf(f *page.Form, list string, least int) (rows []formRow) {
	label, parts, limit := crm.ContactList(list)
	n, most := f.Rows(list, parts), limit+1
	if n > most {
		f.FailFirst(fmt.Sprintf("You entered %s %s, more than this form can hold. Only the first %d were kept.", page.Count(int64(n)), list, most))
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
