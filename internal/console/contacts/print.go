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
	"donorbook/internal/store/gifts"
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
	Mailing  *jobs.MailingProgress
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

// printOf reads which contacts are meant, and what is printed for them.
func printOf(r *page.Request, sent url.Values) (of jobs.Selection, how move.Print, view printView, err error) {
	of = jobs.Selection{All: true}
	query, _ := page.ContactListing.Query(sent)
	view.Back = page.WithQuery(r.Path("/contacts"), query)
	if sent.Get("scope") == page.PickedScope {
		of, query, view.Back = jobs.Selection{IDs: pickedIDs(sent["id"])}, url.Values{"scope": {page.PickedScope}, "id": sent["id"]}, r.Path("/contacts")
	} else if of.Scope, of.Filter, err = r.ContactQuery(query); err != nil {
		return of, how, view, err
	}
	if sent.Get("scope") != page.PickedScope {
		view.query = url.Values{}
		maps.Copy(view.query, query)
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
		var head gifts.Letterhead
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

// countMails says how many statements would go by mail.
func (view *printView) countMails(r *page.Request, of jobs.Selection, how move.Print) error {
	set, err := r.Store.Selected(r.Context(), r.Account(), of)
	if err != nil {
		return err
	}
	at, _, err := r.Store.PreviewMailing(r.Context(), r.Account(), jobs.Mailing{Year: how.Year, Archived: how.Archived}, set)
	view.Mailing, view.Unmailed = &at, page.LeftOut(at.Left, view.listOf(r))
	return err
}

// PrintFile sends the file.
func PrintFile(r *page.Request) error {
	of, how, view, err := printOf(r, r.URL.Query())
	if err != nil {
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

// SendStatements mails statements to those who can be mailed, and notes letters to the others.
func SendStatements(r *page.Request) error {
	sent := r.Form.Fields
	of, how, view, err := printOf(r, sent)
	if err == nil && how.What != move.PrintStatements {
		err = crm.ErrNotFound
	}
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
	j, err := r.Store.BeginMailing(r.Once(r.Always("/jobs", "This was begun before.")), r.Account(), jobs.Mailing{Year: how.Year, Archived: how.Archived}, set)
	return r.Done(err, r.Path(page.JobPath(j.ID)))
}
