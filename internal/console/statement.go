package console

import (
	"context"
	"iter"
	"strconv"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/text"
	"donorbook/internal/store/gifts"
)

// statementsView is the giving statements of a year: of one contact, or a page of those of a list of donors.
type statementsView struct {
	Form       *form // the year
	Action     string
	Year       int64
	Kind       giving.DonorKind
	Settings   access.AccountSettings
	Contact    *crm.Contact // whose statement it is; nil for a list
	Found      string       // whose statements they are
	Erased     int          // people on this page who have none
	Today      time.Time
	Statements []*statement
	Pager      pager

	console *Console
	ctx     context.Context
	account int64
	names   map[int64]gifts.CampaignName // as far as they are known
}

// statement is what one contact gave in a year.
type statement struct {
	Name, Company string
	Address       []string // lines
	Gifts         []statementGift
	totals        map[string]int64
	currency      string // of the organization
	NotMoney      bool   // some gifts were no money
	Refunds       bool   // something was given back
	Covered       bool   // the giver has paid fees
	Event         bool   // a gift was for an event, where givers may get something
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

// statementPage is the statement of one contact. A person who was erased has none.
func (r *request) statementPage() error {
	contact, err := r.contactOf()
	if err == nil && contact.Erased() {
		err = crm.ErrNotFound
	}
	if err != nil {
		return err
	}
	view, err := r.newStatements(contactPath(r.id) + "/statement")
	if err != nil {
		return err
	}
	view.Contact = &contact
	if len(r.form.Faults) == 0 {
		err = r.store.Statement(r.Context(), r.account(), contact.ID, view.Year, func(gifts iter.Seq2[gifts.GiftRecord, error]) error { return view.add(contact, gifts) })
	}
	if err != nil {
		return err
	}
	return r.showStatements(view, "Giving statement of "+contactName(contact))
}

// statementsPage is the statements of the contacts whom the list of donors shows with the same filter, page by page.
func (r *request) statementsPage() error {
	view, err := r.newStatements("/statements")
	if err != nil {
		return err
	}
	if view.Kind == giving.LapsedDonors {
		r.form.fail("", "Lapsed donors gave nothing this year, so they have no statements.")
	}
	if len(r.form.Faults) == 0 {
		filter := giving.DonorFilter{Year: view.Year, Kind: view.Kind}
		page, err := r.store.Statements(r.Context(), r.account(), filter, donorPlace(r.URL.Query()), view.add)
		if err != nil {
			return err
		}
		view.tell(r, filter, page)
	}
	return r.showStatements(view, "Giving statements")
}

// tell says whose statements a page has, and where the others are.
func (view *statementsView) tell(r *request, filter giving.DonorFilter, page gifts.StatementPage) {
	view.Erased = page.Erased
	if page.Total > 0 {
		view.Found = plural(page.Total, "donor") + donorWords(filter) + "."
	}
	address := func(at gifts.DonorPlace) string {
		if at == (gifts.DonorPlace{}) {
			return ""
		}
		return withQuery(r.path("/statements"), donorQuery(filter, at))
	}
	view.Pager.Previous, view.Pager.Next = address(page.Prev), address(page.Next)
}

func (r *request) newStatements(path string) (*statementsView, error) {
	r.form.values = r.URL.Query()
	year := int64(r.today().Year()) - 1
	if gave, err := r.store.GaveIn(r.Context(), r.account(), year); err != nil {
		return nil, err
	} else if !gave { // an organization that has just begun
		year++
	}
	view := &statementsView{
		Form: r.form, Action: r.path(path), Year: yearOf(r.form, year, int64(r.today().Year())), Kind: donorKind(r.form), Today: r.today(),
		console: r.Console, ctx: r.Context(), account: r.account(), names: map[int64]gifts.CampaignName{},
	}
	var err error
	view.Settings, err = r.store.AccountSettings(r.Context(), r.account())
	return view, err
}

func (r *request) showStatements(view *statementsView, title string) error {
	if len(view.Form.Faults) == 0 {
		title += " " + strconv.FormatInt(view.Year, 10)
	}
	return r.render("statement", page{Title: title, Section: "contacts", Form: view.Form, Data: view})
}

// add adds the statement of a contact.
func (view *statementsView) add(contact crm.Contact, gifts iter.Seq2[gifts.GiftRecord, error]) error {
	s := &statement{Name: strings.Clone(contactName(contact)), Company: strings.Clone(employer(&contact)), totals: map[string]int64{}, currency: view.Settings.Currency}
	if len(contact.Addresses) > 0 {
		s.Address = contact.Addresses[0].Lines()
	}
	for record, err := range gifts {
		if err == nil {
			err = s.add(view, &record.Gift)
		}
		if err != nil {
			return err
		}
	}
	view.Statements = append(view.Statements, s)
	return nil
}

// add adds the line of a gift. A statement is about what was paid, with the part of a fee that the giver added: that is what left the
// giver's account.
func (s *statement) add(view *statementsView, g *giving.Gift) error {
	campaign, err := view.campaign(g.Campaign)
	if err != nil {
		return err
	}
	line := statementGift{At: g.Local, Method: spoken(g.Method), Campaign: campaign.Title}
	s.Event = s.Event || campaign.Event
	if g.IsMoney() {
		s.totals[g.Currency] += g.Left()
		s.Covered = s.Covered || g.Payment().FeeCovered != 0
		line.Amount = text.MoneyExact(g.Left(), g.Currency)
		if g.Refunded() != 0 {
			s.Refunds = true
			line.Paid, line.Refunded = text.MoneyExact(g.Payment().Amount, g.Currency), text.MoneyExact(g.Refunded(), g.Currency)
		}
	} else {
		s.NotMoney = true
	}
	s.Gifts = append(s.Gifts, line)
	return nil
}

// Total is the sum of what was listed, in each currency; "" where nothing was money.
func (s *statement) Total() string { return moneyTexts(s.totals, s.currency, text.MoneyExact) }

// Explained says in one line what the amounts are, and what is not among them.
func (s *statement) Explained() string {
	text := "Only gifts we received are listed; pledges are not."
	if s.Refunds {
		text += " Refunds are subtracted."
	}
	if s.Covered {
		text += " Fees that you covered are included."
	}
	if len(s.totals) > 1 {
		text += " Each currency has its own total."
	}
	return text
}

// campaign is what is known of a campaign, which is looked up once.
func (view *statementsView) campaign(id int64) (gifts.CampaignName, error) {
	name, known := view.names[id]
	if known || id == 0 {
		return name, nil
	}
	found, err := view.console.store.CampaignNames(view.ctx, view.account, []int64{id})
	view.names[id] = found[id]
	return found[id], err
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
