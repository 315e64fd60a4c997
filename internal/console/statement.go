package console

import (
	"context"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"time"

	"donorbook/internal/crm"
)

// statementsView is the giving statements of a year: of one contact, or of all who gave. They are read while the page is sent.
type statementsView struct {
	Form       *form // the year
	Action     string
	Year       int64
	Settings   crm.AccountSettings
	Contact    *contactRow // whose statement it is; nil for all
	Total      int64       // contacts
	Today      time.Time
	Statements iter.Seq[*statement]

	console *Console
	ctx     context.Context
	account int64
	titles  map[int64]string // of campaigns, as far as they are known
	err     error            // which ended the reading
}

// statement is what one contact gave in a year.
type statement struct {
	view    *statementsView
	contact int64

	Name, Company string
	Address       []string // lines
	totals        map[string]int64
	NotMoney      bool // some gifts were no money
}

// statementGift is one line of a statement.
type statementGift struct {
	At       time.Time
	Campaign string // title; "" is none
	Method   string
	Amount   string // what is left; "" where it was no money
	Paid     string // and Refunded: where a part was given back
	Refunded string
}

// statementPage is the statement of one contact.
func (c *Console) statementPage(w http.ResponseWriter, r *http.Request, v visit, f *form) error {
	contact, err := c.contactOf(r, v)
	if err != nil {
		return err
	}
	view, err := c.newStatements(r, v, f, contactPath(v.id)+"/statement")
	if err != nil {
		return err
	}
	row := contactRows(v, []crm.Contact{contact})[0]
	view.Contact = &row
	view.Statements = func(yield func(*statement) bool) { yield(view.statement(contact)) }
	return c.streamStatements(w, r, v, view, "Giving statement of "+row.Name)
}

// statementsPage is the statements of all contacts who gave in a year, one after the other.
func (c *Console) statementsPage(w http.ResponseWriter, r *http.Request, v visit, f *form) error {
	view, err := c.newStatements(r, v, f, "/statements")
	if err != nil {
		return err
	}
	if len(f.Faults) == 0 {
		total, givers, err := c.store.Givers(r.Context(), v.account(), view.Year)
		if err != nil {
			return err
		}
		view.Total = total
		view.Statements = func(yield func(*statement) bool) {
			for contact, err := range givers {
				if view.err = err; err != nil || !yield(view.statement(contact)) || view.err != nil {
					return
				}
			}
		}
	}
	return c.streamStatements(w, r, v, view, "Giving statements")
}

func (c *Console) newStatements(r *http.Request, v visit, f *form, path string) (*statementsView, error) {
	f.values = r.URL.Query()
	year := crm.Year(c.now()) - 1
	if total, _, err := c.store.Givers(r.Context(), v.account(), year); err != nil {
		return nil, err
	} else if total == 0 { // an organization that has just begun
		year++
	}
	view := &statementsView{
		Form: f, Action: v.path(path), Year: yearOf(f, year), Today: c.now().UTC(),
		console: c, ctx: r.Context(), account: v.account(), titles: map[int64]string{},
	}
	var err error
	view.Settings, err = c.store.AccountSettings(r.Context(), v.account())
	return view, err
}

// streamStatements sends the page. A failure of the database half-way breaks it off, so that it does not look complete.
func (c *Console) streamStatements(w http.ResponseWriter, r *http.Request, v visit, view *statementsView, title string) error {
	p := page{Title: title, Section: "contacts", Form: view.Form, Data: view}
	if len(view.Form.Faults) > 0 {
		return c.render(w, r, v, "statement", p)
	}
	p.Title += " " + strconv.FormatInt(view.Year, 10)
	return c.stream(w, r, v, "statement", p, func() error { return view.err })
}

func (view *statementsView) statement(contact crm.Contact) *statement {
	s := &statement{view: view, contact: contact.ID, Name: contactName(contact), Company: contact.Company, totals: map[string]int64{}}
	if len(contact.Addresses) > 0 {
		s.Address = contact.Addresses[0].Lines()
	}
	return s
}

// Gifts are the gifts that count, and adds them up.
func (s *statement) Gifts() iter.Seq[statementGift] {
	return func(yield func(statementGift) bool) {
		for record, err := range s.view.console.store.CountedGifts(s.view.ctx, s.view.account, s.contact, s.view.Year) {
			var line statementGift
			if err == nil {
				line, err = s.add(&record.Gift)
			}
			if err != nil {
				s.view.err = err
				return
			}
			if !yield(line) {
				return
			}
		}
	}
}

// add is the line of a gift. A statement is about what was paid, with the part of a fee that the giver added: that is what left the
// giver's account.
func (s *statement) add(g *crm.Gift) (line statementGift, err error) {
	line = statementGift{At: g.At, Method: g.Method}
	if line.Campaign, err = s.view.title(g.Campaign); err != nil {
		return line, err
	}
	if !g.IsMoney() {
		s.NotMoney = true
		return line, nil
	}
	s.totals[g.Currency] += g.Left()
	line.Amount = crm.Money(g.Left(), g.Currency)
	if g.Refunded() != 0 {
		line.Paid, line.Refunded = crm.Money(g.Payment().Amount, g.Currency), crm.Money(g.Refunded(), g.Currency)
	}
	return line, nil
}

// Total is the sum of what was listed, in each currency; "" where nothing was money.
func (s *statement) Total() string { return moneyList(s.totals) }

// title is the title of a campaign, which is looked up once.
func (view *statementsView) title(campaign int64) (string, error) {
	title, known := view.titles[campaign]
	if known || campaign == 0 {
		return title, nil
	}
	found, err := view.console.store.CampaignNames(view.ctx, view.account, []int64{campaign})
	view.titles[campaign] = found[campaign].Title
	return view.titles[campaign], err
}

// OrganizationAddress is the lines of the organization's address.
func (view *statementsView) OrganizationAddress() []string {
	if view.Settings.Address == "" {
		return nil
	}
	return strings.Split(view.Settings.Address, "\n")
}
