package console

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

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

// tidyView is what is to be done about contacts that may be there twice.
type tidyView struct {
	Sure    int64 // groups that are surely one person
	Reviews int64 // merges to look at
}

// toTidy counts what the pages of contacts and the home page mention.
func (r *request) toTidy() (view tidyView, err error) {
	if view.Sure, err = r.store.SureGroups(r.Context(), r.account()); err != nil {
		return view, err
	}
	_, reviews, err := r.store.Merges(r.Context(), r.account(), merges.Filter{Review: true}, crm.PageRequest{Page: 1, PerPage: 1})
	view.Reviews = reviews.Total
	return view, err
}

// duplicatesView is the page of contacts that may be the same person.
type duplicatesView struct {
	duplicates.Counts
	Tidy     tidyView
	Level    string
	Tabs     []tab
	Groups   []duplicateGroup
	Pager    pager
	Currency string
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

// reasonsText is what speaks for a pair, as a sentence.
func reasonsText(reasons []string) string { return capital(strings.Join(reasons, "; ")) }

func (r *request) duplicatesPage() (err error) {
	view := duplicatesView{Level: r.URL.Query().Get("level")}
	if view.Counts, err = r.store.DuplicateCounts(r.Context(), r.account()); err != nil {
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
		return r.redirect(r.path("/duplicates"))
	}
	scopes := []scope[string]{{"sure", "Certain"}, {"likely", "Likely"}, {"possible", "Possible"}, {dismissedLevel, "Not duplicates"}}
	view.Tabs = tabsOf(scopes, view.Level, totals, func(level string) string { return r.path("/duplicates?level=" + level) })
	filter := duplicates.Filter{Level: duplicate.Level(view.Level)}
	if view.Level == dismissedLevel {
		filter = duplicates.Filter{Dismissed: true}
	}
	l := r.list(r.path("/duplicates"), pageParameter, groupsPerPage)
	found, err := r.store.Duplicates(r.Context(), r.account(), filter, l.PageRequest)
	if err != nil {
		return err
	}
	for _, g := range found {
		view.Groups = append(view.Groups, newGroup(g))
	}
	view.Pager = l.pager(totals[view.Level])
	if view.Currency, err = r.store.Currency(r.Context(), r.account()); err != nil {
		return err
	}
	_, reviews, err := r.store.Merges(r.Context(), r.account(), merges.Filter{Review: true}, crm.PageRequest{Page: 1, PerPage: 1})
	if err != nil {
		return err
	}
	view.Tidy = tidyView{view.Sure, reviews.Total}
	return r.render("duplicates", page{Title: "Duplicates", Section: "duplicates", Form: r.form, Data: &view})
}

// checkDuplicates looks for duplicates now, and not when contacts have been left alone for a while.
func (r *request) checkDuplicates() error {
	r.store.CheckNow(r.account())
	return r.redirect(r.path("/duplicates"), notice{Text: "Checking your contacts for duplicates. Refresh this page in a moment."})
}

// others are the contacts that a form or an address names beside that of the path.
func (r *request) others() []int64 {
	return pickedIDs(append(r.form.Values("other"), r.URL.Query()["other"]...))
}

// dismissDuplicate remembers that a contact is not the same person as others.
func (r *request) dismissDuplicate(contact crm.Contact) error {
	return r.decideDuplicate(r.store.Dismiss, contact, func(others url.Values) notice {
		return notice{
			Text: contactName(contact) + " won't be shown as a duplicate again unless their details change.",
			Undo: withQuery(r.path(contactPath(contact.ID)+"/distinct/undo"), others),
		}
	})
}

// undismissDuplicate shows contacts as possible duplicates again.
func (r *request) undismissDuplicate(contact crm.Contact) error {
	return r.decideDuplicate(r.store.Undismiss, contact, func(url.Values) notice {
		return notice{Text: contactName(contact) + " is shown as a possible duplicate again."}
	})
}

func (r *request) decideDuplicate(decide func(ctx context.Context, account, a, b int64) error, contact crm.Contact, said func(url.Values) notice) error {
	decided := url.Values{}
	for _, other := range r.others() {
		err := decide(r.Context(), r.account(), contact.ID, other)
		var refused *doc.Invalid
		switch {
		case errors.Is(err, crm.ErrArchived), errors.As(err, &refused):
			return r.redirect(r.path("/duplicates"), notice{Text: "Nothing was changed: one of these contacts has since been merged or archived."})
		case err != nil:
			return err
		}
		decided.Add("other", idText(other))
	}
	to := r.path("/duplicates")
	if level := r.form.Value("level"); level != "" {
		to = withQuery(to, url.Values{"level": {level}})
	}
	return r.redirect(to, said(decided))
}

// sureView asks whether to merge groups that are surely the same person.
type sureView struct {
	Form     *form
	Total    int64
	Picked   []string // a contact of each group that was selected; none for all
	Sample   []duplicateGroup
	Currency string
}

// mergeSurePage shows how many groups would be merged, and some of them.
func (r *request) mergeSurePage() (err error) {
	view := sureView{Form: r.form}
	sent := r.URL.Query()
	if r.form.path != "" {
		sent = r.form.values
	}
	if sent.Get("all") == "" {
		for _, id := range pickedIDs(sent["id"]) {
			view.Picked = append(view.Picked, idText(id))
		}
		if len(view.Picked) == 0 {
			return r.redirect(r.path("/duplicates"), notice{Text: "Nothing was merged. Select at least one match first."})
		}
	}
	sample := func(contact int64) error {
		found, err := r.store.Duplicates(r.Context(), r.account(), duplicates.Filter{Level: duplicate.Sure, Contact: contact}, crm.PageRequest{Page: 1, PerPage: groupsSampled})
		for _, g := range found[:min(len(found), groupsSampled-len(view.Sample))] {
			view.Sample = append(view.Sample, newGroup(g))
		}
		return err
	}
	if view.Picked == nil {
		if view.Total, err = r.store.SureGroups(r.Context(), r.account()); err == nil {
			err = sample(0)
		}
	} else {
		view.Total = int64(len(view.Picked))
		for _, id := range view.Picked[:min(len(view.Picked), groupsSampled)] {
			err = cmp.Or(err, sample(idOf(id)))
		}
	}
	if err != nil {
		return err
	}
	if len(view.Sample) == 0 {
		return r.redirect(r.path("/duplicates"), notice{Text: "There are no certain matches left to merge."})
	}
	if view.Currency, err = r.store.Currency(r.Context(), r.account()); err != nil {
		return err
	}
	return r.render("duplicates_merge", page{Title: "Merge certain matches", Section: "duplicates", Form: r.form, Data: &view})
}

// mergeSure merges the groups in the background.
func (r *request) mergeSure() error {
	only := pickedIDs(r.form.Values("id"))
	if r.form.Value("confirmed") == "" || len(only) == 0 && r.form.Value("all") == "" {
		return r.mergeSurePage()
	}
	job, err := r.store.MergeSure(r.Context(), r.account(), r.options.Region, only)
	if err != nil {
		return err
	}
	return r.redirect(r.path(jobPath(job.ID)))
}

// similarTo is the contact that the person in a form may be, by name and street, or name and birth date; nil for none. old is the contact that is being edited, if any. Those
// with the same email or phone are asked about in any case, and what a person has decided already is not asked again.
func (r *request) similarTo(in crm.ContactInput, old crm.Contact) (*duplicates.Similar, error) {
	known := map[int64]bool{}
	if old.ID != 0 {
		edited, err := old.Patch(in, r.now())
		was, is := duplicate.Of(&old), duplicate.Of(&edited)
		if err != nil || was.Digest() == is.Digest() { // or the edit will be refused
			return nil, nil //nolint:nilerr // as it says
		}
		for _, dismissed := range []bool{false, true} {
			pairs, _, err := r.store.Pairs(r.Context(), r.account(), duplicates.Filter{Contact: old.ID, Dismissed: dismissed}, crm.PageRequest{Page: 1, PerPage: 100})
			if err != nil {
				return nil, err
			}
			for _, p := range pairs { // which the page of duplicates shows
				known[p.A+p.B-old.ID] = true
			}
		}
	}
	found, err := r.store.Similar(r.Context(), r.account(), old.ID, in)
	if refused := new(doc.Invalid); errors.As(err, &refused) { // which saving it will tell
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for i := range found {
		emails, phones := in.Shared(found[i].Contact)
		if len(emails)+len(phones) == 0 && !known[found[i].ID] && !r.form.Has(apartField, found[i].Snapshot()) {
			return &found[i], nil
		}
	}
	return nil, nil
}
