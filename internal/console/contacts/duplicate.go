package contacts

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"slices"

	"donorbook/internal/console/page"
	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/duplicate"
	"donorbook/internal/store/duplicates"
	"donorbook/internal/store/merges"
)

const (
	groupsPerPage  = 20
	groupsSampled  = 5
	dismissedLevel = "dismissed" // the tab of pairs that are not the same
)

// duplicatesView is the page of contacts that may be the same person.
type duplicatesView struct {
	duplicates.Counts
	Tidy   page.TidyView
	Level  string
	Tabs   []page.Tab
	Groups []duplicateGroup
	Pager  page.Pager
}

// duplicateGroup is a group with the contact first that others would be merged into.
type duplicateGroup struct {
	duplicates.Group
	Others []duplicateOther
}

// First is the contact that stays, by proposal.
func (g *duplicateGroup) First() *crm.Contact { return &g.Members[0].Contact }

// duplicateOther is a contact that may be the first one of its group.
type duplicateOther struct {
	*crm.Contact
	Pair  duplicates.Pair // that says why
	Pairs []int64         // the contacts that it is not the same as, if it is not
}

func newGroup(g duplicates.Group) duplicateGroup {
	slices.SortStableFunc(g.Members, func(a, b duplicates.Member) int {
		if b.Contact.StaysBefore(&a.Contact) {
			return 1
		}
		return -1
	})
	group := duplicateGroup{Group: g}
	for i := range g.Members[1:] {
		other := duplicateOther{Contact: &g.Members[i+1].Contact, Pair: g.Members[i+1].Pair}
		for _, p := range slices.Backward(g.Pairs) { // the likeliest comes last
			if p.A != other.ID && p.B != other.ID {
				continue
			}
			third := p.A + p.B - other.ID
			if other.Pairs = append(other.Pairs, third); third == group.First().ID {
				other.Pair = p
			}
		}
		group.Others = append(group.Others, other)
	}
	return group
}

func DuplicatesPage(r *page.Request) (err error) {
	view := duplicatesView{Level: r.URL.Query().Get("level")}
	if view.Counts, err = r.Store.DuplicateCounts(r.Context(), r.Account()); err != nil {
		return err
	}
	if view.Level == "" { // the first that has any
		switch {
		case view.Sure > 0 || view.Likely+view.Possible == 0:
			view.Level = string(duplicate.Sure)
		case view.Likely > 0:
			view.Level = string(duplicate.Likely)
		default:
			view.Level = string(duplicate.Possible)
		}
	}
	totals := map[string]int64{"sure": view.Sure, "likely": view.Likely, "possible": view.Possible, dismissedLevel: view.Dismissed}
	if _, known := totals[view.Level]; !known {
		return r.Redirect(r.Path("/duplicates"))
	}
	scopes := []page.Scope[string]{{Name: "sure", Label: "Certain"}, {Name: "likely", Label: "Likely"}, {Name: "possible", Label: "Possible"}, {Name: dismissedLevel, Label: "Not duplicates"}}
	view.Tabs = page.TabsOf(scopes, view.Level, totals, func(level string) string { return r.Path("/duplicates?level=" + level) })
	filter := duplicates.Filter{Level: duplicate.Level(view.Level)}
	if view.Level == dismissedLevel {
		filter = duplicates.Filter{Dismissed: true}
	}
	l := r.List(r.Path("/duplicates"), page.PageParameter, groupsPerPage)
	found, err := r.Store.Duplicates(r.Context(), r.Account(), filter, l.PageRequest)
	if err != nil {
		return err
	}
	for _, g := range found {
		view.Groups = append(view.Groups, newGroup(g))
	}
	view.Pager = l.Pager(totals[view.Level])
	_, reviews, err := r.Store.Merges(r.Context(), r.Account(), merges.Filter{Review: true}, crm.PageRequest{Page: 1, PerPage: 1})
	if err != nil {
		return err
	}
	view.Tidy = page.TidyView{Sure: view.Sure, Reviews: reviews.Total}
	return r.Render("duplicates", page.View{Title: "Duplicates", Section: "duplicates", Form: r.Form, Data: &view})
}

// CheckDuplicates looks for duplicates now, and not when contacts have been left alone for a while.
func CheckDuplicates(r *page.Request) error {
	r.Store.CheckNow(r.Account())
	return r.Redirect(r.Path("/duplicates"), page.Notice{Text: "Checking your contacts for duplicates. Refresh this page in a moment."})
}

// others are the contacts that a form or an address names beside that of the path.
func others(r *page.Request) []int64 {
	return pickedIDs(append(r.Form.Values("other"), r.URL.Query()["other"]...))
}

// DismissDuplicate remembers that a contact is not the same person as others.
func DismissDuplicate(r *page.Request, contact crm.Contact) error {
	return decideDuplicate(r, r.Store.Dismiss, contact, func(others url.Values) page.Notice {
		return page.Notice{
			Text: page.ContactName(contact) + " won't be shown as a duplicate again unless their details change.",
			Undo: page.WithQuery(r.Path(page.ContactPath(contact.ID)+"/distinct/undo"), others),
		}
	})
}

// UndismissDuplicate shows contacts as possible duplicates again.
func UndismissDuplicate(r *page.Request, contact crm.Contact) error {
	return decideDuplicate(r, r.Store.Undismiss, contact, func(url.Values) page.Notice {
		return page.Notice{Text: page.ContactName(contact) + " is shown as a possible duplicate again."}
	})
}

func decideDuplicate(r *page.Request, decide func(ctx context.Context, account, a, b int64) error, contact crm.Contact, said func(url.Values) page.Notice) error {
	decided := url.Values{}
	for _, other := range others(r) {
		err := decide(r.Context(), r.Account(), contact.ID, other)
		var refused *doc.Invalid
		switch {
		case errors.Is(err, crm.ErrArchived), errors.As(err, &refused):
			return r.Redirect(r.Path("/duplicates"), page.Notice{Text: "Nothing was changed: one of these contacts has since been merged or archived."})
		case err != nil:
			return err
		}
		decided.Add("other", page.IDText(other))
	}
	to := r.Path("/duplicates")
	if level := r.Form.Value("level"); level != "" {
		to = page.WithQuery(to, url.Values{"level": {level}})
	}
	return r.Redirect(to, said(decided))
}

// sureView asks whether to merge groups that are surely the same person.
type sureView struct {
	Form   *page.Form
	Total  int64
	Picked []string // a contact of each group that was selected; none for all
	Sample []duplicateGroup
}

// MergeSurePage shows how many groups would be merged, and some of them.
func MergeSurePage(r *page.Request) (err error) {
	view := sureView{Form: r.Form}
	sent := r.URL.Query()
	if r.Form.Path != "" {
		sent = r.Form.Fields
	}
	if sent.Get("all") == "" {
		for _, id := range pickedIDs(sent["id"]) {
			view.Picked = append(view.Picked, page.IDText(id))
		}
		if len(view.Picked) == 0 {
			return r.Redirect(r.Path("/duplicates"), page.Notice{Text: "Nothing was merged. Select at least one match first."})
		}
	}
	sample := func(contact int64) error {
		found, err := r.Store.Duplicates(r.Context(), r.Account(), duplicates.Filter{Level: duplicate.Sure, Contact: contact}, crm.PageRequest{Page: 1, PerPage: groupsSampled})
		for _, g := range found[:min(len(found), groupsSampled-len(view.Sample))] {
			view.Sample = append(view.Sample, newGroup(g))
		}
		return err
	}
	if view.Picked == nil {
		if view.Total, err = r.Store.SureGroups(r.Context(), r.Account()); err == nil {
			err = sample(0)
		}
	} else {
		view.Total = int64(len(view.Picked))
		for _, id := range view.Picked[:min(len(view.Picked), groupsSampled)] {
			err = cmp.Or(err, sample(page.ParseID(id)))
		}
	}
	if err != nil {
		return err
	}
	if len(view.Sample) == 0 {
		return r.Redirect(r.Path("/duplicates"), page.Notice{Text: "There are no certain matches left to merge."})
	}
	return r.Render("duplicates_merge", page.View{Title: "Merge certain matches", Section: "duplicates", Form: r.Form, Data: &view})
}

// MergeSure merges the groups in the background.
func MergeSure(r *page.Request) error {
	only := pickedIDs(r.Form.Values("id"))
	if r.Form.Value("confirmed") == "" || len(only) == 0 && r.Form.Value("all") == "" {
		return MergeSurePage(r)
	}
	job, err := r.Store.MergeSure(r.Context(), r.Account(), r.Options.Region, only)
	return r.Done(err, r.Path(page.JobPath(job.ID)))
}

// similarTo is the contact that the person in a form may be, by name and street, or name and birth date; nil for none. old is the contact that is being edited, if any. Those
// with the same email or phone are asked about in any case, and what a person has decided already is not asked again.
func similarTo(r *page.Request, in crm.ContactInput, old crm.Contact) (*duplicates.Similar, error) {
	known := map[int64]bool{}
	if old.ID != 0 {
		edited, err := old.Patch(in, r.Now())
		was, is := duplicate.Of(&old), duplicate.Of(&edited)
		if err != nil || was.Digest() == is.Digest() { // or the edit will be refused
			return nil, nil //nolint:nilerr // as it says
		}
		for _, dismissed := range []bool{false, true} {
			pairs, _, err := r.Store.Pairs(r.Context(), r.Account(), duplicates.Filter{Contact: old.ID, Dismissed: dismissed}, crm.PageRequest{Page: 1, PerPage: 100})
			if err != nil {
				return nil, err
			}
			for _, p := range pairs { // which the page of duplicates shows
				known[p.A+p.B-old.ID] = true
			}
		}
	}
	found, err := r.Store.Similar(r.Context(), r.Account(), old.ID, in)
	if refused := new(doc.Invalid); errors.As(err, &refused) { // which saving it will tell
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for i := range found {
		emails, phones := in.Shared(found[i].Contact)
		if len(emails)+len(phones) == 0 && !known[found[i].ID] && !r.Form.Has(page.ApartField, found[i].Snapshot()) {
			return &found[i], nil
		}
	}
	return nil, nil
}
