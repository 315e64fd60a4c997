package console

import (
	"maps"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/text"
	"donorbook/internal/store/gifts"
)

const giftsPerContact = 10 // on each page of a contact's list

// contactGiving is what a contact's page tells first: what the contact has given.
type contactGiving struct {
	table              // of gifts
	Plans              []*planRow
	Any                bool // there are gifts, of whatever state
	Sums               gifts.ContactGiving
	Total, Largest     string
	ThisYear, LastYear string
	Against            string // this year beside the last one, in words
	Year               int64
	Others             string // sums in other currencies
	Record             *giftFormView
}

// givingOf reads the giving of a contact. A contact that may get gifts has the form for another one.
func (r *request) givingOf(contact *crm.Contact) (view contactGiving, err error) {
	if view.Sums, err = r.store.ContactGiving(r.Context(), r.account(), contact.ID); err != nil {
		return view, err
	}
	l := r.list(r.path(contactPath(contact.ID)), pageParameter, giftsPerContact)
	gifts, totals, err := r.store.GiftPage(r.Context(), r.account(), giving.GiftFilter{Contact: contact.ID}, l.PageRequest)
	if err != nil {
		return view, err
	}
	l.query.Del("plan") // it filled in the form, and says nothing about the list
	if view.table, err = r.giftTable("gifts-list", "Gifts, the latest first", gifts, "who", "marks"); err != nil {
		return view, err
	}
	view.Any, view.Pager = totals.Total > 0, l.pager(totals.Total)
	view.tellSums(totals.Sums, int64(r.today().Year()))
	plans, err := r.store.ContactPlans(r.Context(), r.account(), contact.ID, contactPlans)
	if err != nil {
		return view, err
	}
	if view.Plans, err = r.planRows(plans); err != nil || contact.Archived() || r.membership.Role < access.Editor {
		return view, err
	}
	last := ""
	if len(gifts) > 0 {
		last = gifts[0].Method
	}
	form, err := r.newGiftForm(r.form, last, view.Sums.Currency, plans)
	view.Record = &form
	return view, err
}

func (view *contactGiving) tellSums(sums map[string]int64, year int64) {
	s := view.Sums
	now, before := s.ThisYear, s.LastYear
	view.Year = year
	view.Total, view.Largest = text.Money(s.Total.Amount, s.Currency), text.Money(s.Largest, s.Currency)
	view.ThisYear, view.LastYear = text.Money(now, s.Currency), text.Money(before, s.Currency)
	switch {
	case now > before:
		view.Against = text.Money(now-before, s.Currency) + " more than last year"
	case now < before:
		view.Against = text.Money(before-now, s.Currency) + " less than last year so far"
	case now > 0:
		view.Against = "the same as last year"
	}
	others := maps.Clone(sums)
	if delete(others, s.Currency); len(others) > 0 {
		view.Others = shownSums(others)
	}
}
