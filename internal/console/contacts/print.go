package contacts

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"strconv"
	"strings"

	"donorbook/internal/console/page"
	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/mail"
	"donorbook/internal/crm/thanks"
	"donorbook/internal/store"
	"donorbook/internal/store/jobs"
	"donorbook/internal/store/move"
)

// printView asks what is printed for the contacts of a list, and says who is left out before it is.
type printView struct {
	Form     *page.Form
	Kept     []page.Option // of the list
	Kinds    []page.Option
	What     string
	Year     int64
	Selected string // how many contacts there are
	Count    int64  // of those who are in the file
	Left     []page.LeftLine
	Boxed    int64 // of whose name or address the file shows boxes
	Such     []crm.Contact
	Archived bool // some of them are archived, and get nothing unless that is asked
	Says     []mail.Line
	First    string // with whom the file begins
	Whom     string // the filter in words
	Mailing  *jobs.MailingProgress
	Example  *store.ThankYou // a statement as it would be mailed
	Seen     int64           // how many contacts are meant
	Print    string          // the page before
	Unmailed []page.LeftLine // who would get nothing by mail or letter
	Back     string
	query    url.Values // of the list, nil for contacts that were picked
}

// leftFilters find those of a list who get nothing for a reason. A contact is counted for the first reason alone: who is deceased may have no address, too.
var leftFilters = map[crm.Unreached]url.Values{
	crm.IsArchived:  {"scope": {string(crm.Archived)}},
	crm.IsDeceased:  {"deceased": {"true"}},
	crm.NoMailAsked: {"deceased": {"false"}, "do_not_email": {"true"}},
	crm.NoLetters:   {"deceased": {"false"}, "do_not_mail": {"true"}},
	crm.NoEmail:     {"deceased": {"false"}, "do_not_email": {"false"}, "lacks": {string(crm.EmailDetail)}},
	crm.HasBounced:  {"deceased": {"false"}, "do_not_email": {"false"}, crm.BouncedMark: {"true"}},
}

// listOf leads to those of the list who get nothing for a reason, or for two.
func (view *printView) listOf(r *page.Request) func(crm.Unreached) string {
	return func(why crm.Unreached) string {
		query := maps.Clone(view.query)
		if query == nil {
			return ""
		}
		if why == jobs.GaveNothing {
			query["no_gift_after"], query["no_gift_before"] = []string{fmt.Sprintf("%d-01-01", view.Year)}, []string{fmt.Sprintf("%d-01-01", view.Year+1)}
			return page.WithQuery(r.Path("/contacts"), query)
		}
		for one := range strings.SplitSeq(string(why), " and ") {
			filter, known := leftFilters[crm.Unreached(one)]
			if !known {
				return ""
			}
			maps.Copy(query, filter)
		}
		return page.WithQuery(r.Path("/contacts"), query)
	}
}

// printParameters are those of the pages below, beside the filter of the list.
var printParameters = []string{"id", "what", "year", "order", "paper", "archived", "anyway", "attempt", page.SeenField}

// whomOf says in words which contacts a query of the list finds.
func whomOf(r *page.Request, query url.Values) (string, error) {
	fields, err := customFilters(r)
	filters := r.Filters(page.ContactListing, query, fields...)
	if err == nil {
		err = r.OfferCampaigns(&filters, "campaign_id", "")
	}
	scope := map[string]string{"archived": "Archived contacts", "all": "Active and archived contacts"}[query.Get("scope")]
	whom := cmp.Or(scope, "Active contacts")
	if words := filters.Words(); words != "" {
		whom += " · " + words
	}
	return whom, err
}

// printOf reads which contacts are meant, and what is printed for them.
func printOf(r *page.Request, sent url.Values) (of jobs.Selection, how move.Print, view printView, err error) {
	of = jobs.Selection{All: true}
	query, err := page.ContactListing.Whole(sent, printParameters...)
	view.Back = page.WithQuery(r.Path("/contacts"), query)
	if sent.Get("scope") == page.PickedScope {
		of, query, view.Back = jobs.Selection{IDs: pickedIDs(sent["id"])}, url.Values{"scope": {page.PickedScope}, "id": sent["id"]}, r.Path("/contacts")
	} else if err == nil {
		view.query = maps.Clone(query)
		if of.Scope, of.Filter, err = r.ContactQuery(query); err == nil {
			view.Whom, err = whomOf(r, query)
		}
	}
	if err != nil {
		return of, how, view, err
	}
	for name, values := range query {
		for _, value := range values {
			view.Kept = append(view.Kept, page.Option{Label: name, Value: value})
		}
	}
	r.Form.Fields = sent
	view.Form = r.Form
	r.Form.Set("what", cmp.Or(r.Form.Value("what"), move.PrintLetters))
	r.PrintChoices()
	r.Form.Set("year", cmp.Or(r.Form.Value("year"), strconv.Itoa(r.Today().Year()-1)))
	how = move.Print{What: r.Form.Value("what"), ByZip: r.Form.Value("order") == "zip", A4: r.Form.Value("paper") == "a4", Archived: r.Form.Value("archived") != "", Anyway: r.Form.Value("anyway") != "" && len(of.IDs) == 1}
	how.Year, err = strconv.ParseInt(r.Form.Value("year"), 10, 64)
	view.What, view.Year = how.What, how.Year
	if latest := r.Today().Year(); err != nil || how.Year < 1900 || how.Year > int64(latest) {
		return of, how, view, doc.NewInvalid("year", doc.Rule("must be between 1900 and "+strconv.Itoa(latest)))
	}
	if !how.Known() {
		return of, how, view, crm.ErrNotFound
	}
	return of, how, view, nil
}

// PrintPage asks what is printed, and shows how it begins.
func PrintPage(r *page.Request) error {
	of, how, view, err := printOf(r, r.URL.Query())
	var refused *doc.Invalid
	if errors.As(err, &refused) && view.Form == nil {
		return r.Redirect(view.Back, page.Notice{Text: "That list can’t be printed. Nothing was done."})
	}
	if err != nil && refused == nil {
		return err
	}
	view.Kinds = append(view.Kinds, page.Option{Value: move.PrintLetters, Label: "Letters"}, page.Option{Value: move.PrintStatements, Label: "Giving statements"})
	for _, sheet := range move.Sheets {
		view.Kinds = append(view.Kinds, page.Option{Value: sheet.Name, Label: "Labels: " + sheet.Label})
	}
	if refused != nil { // the year
		r.Form.Faults = refused.Faults
		return r.Render("print", page.View{Title: "Print", Section: "contacts", Form: r.Form, Data: view})
	}
	made, err := r.Store.PreparePrint(r.Context(), r.Account(), of, how)
	if errors.As(err, &refused) {
		r.Form.Fail("", refused.Error())
		return r.Render("print", page.View{Title: "Print", Section: "contacts", Form: r.Form, Data: view})
	}
	if err != nil {
		return err
	}
	view.Count, view.Left, view.Archived = made.Count(), page.LeftOut(made.Left, view.listOf(r)), made.Left[crm.IsArchived] > 0 || how.Archived
	view.Boxed, view.Such = made.Boxed, made.Such
	n := made.Count()
	for _, left := range made.Left {
		n += left
	}
	if view.Selected = page.Plural(n, "contact"); made.Count() > 0 {
		view.First = page.ContactName(made.First)
	}
	switch {
	case made.Count() > 0 && how.What == move.PrintLetters:
		var head store.Letterhead
		head, err = r.Store.Letterhead(r.Context(), r.Account())
		text := head.Text(thanks.Letter)
		view.Says = text.Write(&thanks.Facts{Contact: &made.First, Organization: head.Organization, Day: r.Today()}).Says
	case how.What == move.PrintStatements && r.Store.Mails():
		err = view.countMails(r, of, how)
	}
	if err != nil {
		return err
	}
	return r.Render("print", page.View{Title: "Print", Section: "contacts", Form: r.Form, Data: view})
}

// countMails says how many statements would go by mail, and shows the first.
func (view *printView) countMails(r *page.Request, of jobs.Selection, how move.Print) error {
	set, err := r.Store.Selected(r.Context(), r.Account(), of)
	if err != nil {
		return err
	}
	view.Seen = set.Count()
	at, first, err := r.Store.PreviewMailing(r.Context(), r.Account(), jobs.Mailing{Year: how.Year, Archived: how.Archived}, set)
	view.Mailing, view.Example, view.Unmailed = &at, first, page.LeftOut(at.Left, view.listOf(r))
	return err
}

// asked is what the pages below are asked for.
func (view *printView) asked() url.Values {
	q := url.Values{}
	for _, kept := range view.Kept {
		q.Add(kept.Label, kept.Value)
	}
	for _, name := range []string{"what", "year", "order", "paper", "archived"} {
		if value := view.Form.Value(name); value != "" {
			q.Set(name, value)
		}
	}
	return q
}

// PrintFile sends the file.
func PrintFile(r *page.Request) error {
	of, how, view, err := printOf(r, r.URL.Query())
	if err != nil {
		return err
	}
	if err := r.HoldDownload(); err != nil {
		return err
	}
	made, err := r.Store.PreparePrint(r.Context(), r.Account(), of, how)
	if err != nil {
		return err
	}
	if made.Count() == 0 {
		return r.Redirect(view.Back, page.Notice{Text: "No one is left to print for, so there is no file."})
	}
	what := how.What
	if how.What != move.PrintLetters && how.What != move.PrintStatements {
		what = "labels"
	}
	file, err := r.Store.PrintFile(r.Context(), r.Account(), made)
	return r.Download(what, file, err)
}

// statementsOf reads who is meant to get statements.
func statementsOf(r *page.Request, sent url.Values) (of jobs.Selection, how move.Print, view printView, err error) {
	sent.Set("what", move.PrintStatements)
	return printOf(r, sent)
}

// SendPage asks before statements are mailed: how many, to whom, and what one of them says.
func SendPage(r *page.Request) error {
	of, how, view, err := statementsOf(r, r.URL.Query())
	if err == nil {
		err = view.countMails(r, of, how)
	}
	if err != nil {
		return err
	}
	view.Print = page.WithQuery(r.Path("/contacts/print"), view.asked())
	title := fmt.Sprintf("Send giving statements for %d?", how.Year)
	return r.Render("print_send", page.View{Title: title, Section: "contacts", Form: r.Form, Data: view})
}

// SendStatements mails statements to those who can be mailed, and notes letters to the others: to one contact, or to as many
// as the page before has shown.
func SendStatements(r *page.Request) error {
	of, how, view, err := statementsOf(r, r.Form.Fields)
	if err != nil {
		return err
	}
	set, err := r.Store.Selected(r.Context(), r.Account(), of)
	if err != nil {
		return err
	}
	if set.Count() == 0 {
		return r.Redirect(view.Back, page.Notice{Text: "No contacts are selected, so nothing was sent."})
	}
	if of.All || set.Count() > 1 {
		ask := page.WithQuery(r.Path("/contacts/print/send"), view.asked())
		if answered, err := r.Unconfirmed(set.Count(), "contact", ask); answered {
			return err
		}
	}
	j, err := r.Store.BeginMailing(r.Once(r.Always("/jobs", "This was begun before.")), r.Account(), jobs.Mailing{Year: how.Year, Archived: how.Archived}, set)
	return r.Done(err, r.Path(page.JobPath(j.ID)))
}
