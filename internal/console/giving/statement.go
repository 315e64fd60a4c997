package giving

import (
	"strconv"
	"strings"
	"time"

	"donorbook/internal/console/page"
	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/mail"
	"donorbook/internal/store"
	"donorbook/internal/store/jobs"
)

// statementsView is the giving statements of a year: of one contact, or a page of those of a list of donors.
type statementsView struct {
	Form       *page.Form // the year
	Action     string
	Year       int64
	Kind       giving.DonorKind
	Settings   access.AccountSettings
	Contact    *crm.Contact // whose statement it is; nil for a list
	NoMail     string       // why it cannot be mailed to the contact
	Mails      bool         // this server sends mail
	Mail       *mail.Mail   // the last one with a statement
	Found      string       // whose statements they are
	Erased     int          // people on this page who have none
	Today      time.Time
	Statements []*statement
	Pager      page.Pager
}

// statement is what one contact gave in a year, with where it goes.
type statement struct {
	giving.Statement
	To []string // lines
}

// StatementPage is the statement of one contact. A person who was erased has none.
func StatementPage(r *page.Request) error {
	contact, err := r.ContactOf()
	if err == nil && contact.Erased() {
		err = crm.ErrNotFound
	}
	if err != nil {
		return err
	}
	view, err := newStatements(r, page.ContactPath(r.ID)+"/statement")
	if err != nil {
		return err
	}
	view.Contact = &contact
	if len(r.Form.Faults) == 0 {
		made, err := r.Store.Statement(r.Context(), r.Account(), contact.ID, view.Year)
		if err != nil {
			return err
		}
		view.add(&contact, made)
		view.NoMail = contact.NoMail().Sentence()
		if view.Mail, err = r.Store.MailAbout(r.Context(), r.Account(), jobs.AboutStatement(contact.ID, view.Year)); err != nil {
			return err
		}
	}
	return showStatements(r, view, "Giving statement of "+page.ContactName(contact))
}

// StatementsPage is the statements of the contacts whom the list of donors shows with the same filter, page by page.
func StatementsPage(r *page.Request) error {
	view, err := newStatements(r, "/statements")
	if err != nil {
		return err
	}
	if view.Kind == giving.LapsedDonors {
		r.Form.Fail("", "Lapsed donors gave nothing this year, so they have no statements.")
	}
	if len(r.Form.Faults) == 0 {
		filter := giving.DonorFilter{Year: view.Year, Kind: view.Kind}
		found, err := r.Store.Statements(r.Context(), r.Account(), filter, donorPlace(r.URL.Query()), view.add)
		if err != nil {
			return err
		}
		view.tell(r, filter, found)
	}
	return showStatements(r, view, "Giving statements")
}

// tell says whose statements a page has, and where the others are.
func (view *statementsView) tell(r *page.Request, filter giving.DonorFilter, found store.StatementPage) {
	view.Erased = found.Erased
	if found.Total > 0 {
		view.Found = page.Plural(found.Total, "donor") + donorWords(filter) + "."
	}
	address := func(at store.DonorPlace) string {
		if at == (store.DonorPlace{}) {
			return ""
		}
		return page.WithQuery(r.Path("/statements"), page.DonorQuery(filter, at))
	}
	view.Pager.Previous, view.Pager.Next = address(found.Prev), address(found.Next)
}

func newStatements(r *page.Request, path string) (*statementsView, error) {
	r.Form.Fields = r.URL.Query()
	year := int64(r.Today().Year()) - 1
	if gave, err := r.Store.GaveIn(r.Context(), r.Account(), year); err != nil {
		return nil, err
	} else if !gave { // an organization that has just begun
		year++
	}
	view := &statementsView{
		Form: r.Form, Action: r.Path(path), Year: yearOf(r.Form, year, int64(r.Today().Year())), Kind: donorKind(r.Form), Today: r.Today(), Mails: r.Store.Mails(),
	}
	var err error
	view.Settings, err = r.Store.AccountSettings(r.Context(), r.Account())
	return view, err
}

func showStatements(r *page.Request, view *statementsView, title string) error {
	if len(view.Form.Faults) == 0 {
		title += " " + strconv.FormatInt(view.Year, 10)
	}
	return r.Render("statement", page.View{Title: title, Section: "contacts", Form: view.Form, Data: view})
}

func (view *statementsView) add(contact *crm.Contact, made giving.Statement) {
	view.Statements = append(view.Statements, &statement{made, contact.PostLines(view.Settings.Home())})
}

// OrganizationAddress is the lines of the organization's address.
func (view *statementsView) OrganizationAddress() []string {
	return addressLines(view.Settings.Address)
}

// addressLines are the lines of an address, none for one that is not set.
func addressLines(address string) []string {
	if address == "" {
		return nil
	}
	return strings.Split(address, "\n")
}
