package giving

import (
	"iter"
	"strconv"
	"strings"
	"time"

	"donorbook/internal/console/page"
	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/text"
	"donorbook/internal/store/gifts"
)

// statementsView is the giving statements of a year: of one contact, or a page of those of a list of donors.
type statementsView struct {
	Form       *page.Form // the year
	Action     string
	Year       int64
	Kind       giving.DonorKind
	Settings   access.AccountSettings
	Contact    *crm.Contact // whose statement it is; nil for a list
	Found      string       // whose statements they are
	Erased     int          // people on this page who have none
	Today      time.Time
	Statements []*statement
	Pager      page.Pager
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
	add := view.adding(lookUpCampaigns(r))
	if len(r.Form.Faults) == 0 {
		err = r.Store.Statement(r.Context(), r.Account(), contact.ID, view.Year, func(gifts iter.Seq2[gifts.GiftRecord, error]) error { return add(contact, gifts) })
	}
	if err != nil {
		return err
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
		found, err := r.Store.Statements(r.Context(), r.Account(), filter, donorPlace(r.URL.Query()), view.adding(lookUpCampaigns(r)))
		if err != nil {
			return err
		}
		view.tell(r, filter, found)
	}
	return showStatements(r, view, "Giving statements")
}

// tell says whose statements a page has, and where the others are.
func (view *statementsView) tell(r *page.Request, filter giving.DonorFilter, found gifts.StatementPage) {
	view.Erased = found.Erased
	if found.Total > 0 {
		view.Found = page.Plural(found.Total, "donor") + donorWords(filter) + "."
	}
	address := func(at gifts.DonorPlace) string {
		if at == (gifts.DonorPlace{}) {
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
		Form: r.Form, Action: r.Path(path), Year: yearOf(r.Form, year, int64(r.Today().Year())), Kind: donorKind(r.Form), Today: r.Today(),
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

// adding adds the statement of a contact, whose gifts are for campaigns that are looked up.
func (view *statementsView) adding(lookup campaignLookup) func(crm.Contact, iter.Seq2[gifts.GiftRecord, error]) error {
	return func(contact crm.Contact, gifts iter.Seq2[gifts.GiftRecord, error]) error {
		s := &statement{Name: strings.Clone(page.ContactName(contact)), Company: strings.Clone(page.Employer(&contact)), totals: map[string]int64{}, currency: view.Settings.Currency}
		if len(contact.Addresses) > 0 {
			s.Address = contact.Addresses[0].Lines()
		}
		for record, err := range gifts {
			if err != nil {
				return err
			}
			campaign, err := lookup(record.Campaign)
			if err != nil {
				return err
			}
			s.add(campaign, &record.Gift)
		}
		view.Statements = append(view.Statements, s)
		return nil
	}
}

// add adds the line of a gift. A statement is about what was paid, with the part of a fee that the giver added: that is what left the
// giver's account.
func (s *statement) add(campaign gifts.CampaignName, g *giving.Gift) {
	line := statementGift{At: g.Local, Method: page.Spoken(g.Method), Campaign: campaign.Title}
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
}

// Total is the sum of what was listed, in each currency; "" where nothing was money.
func (s *statement) Total() string { return page.MoneyTexts(s.totals, s.currency, text.MoneyExact) }

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

// campaignLookup is what is known of a campaign.
type campaignLookup func(id int64) (gifts.CampaignName, error)

// campaignLookup asks for each campaign once.
func lookUpCampaigns(r *page.Request) campaignLookup {
	names := map[int64]gifts.CampaignName{}
	return func(id int64) (gifts.CampaignName, error) {
		name, known := names[id]
		if known || id == 0 {
			return name, nil
		}
		found, err := r.Store.CampaignNames(r.Context(), r.Account(), []int64{id})
		names[id] = found[id]
		return found[id], err
	}
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
