package work

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"donorbook/internal/console/page"
	"donorbook/internal/crm/history"
	"donorbook/internal/store"
)

// HistoryPage shows the history of the organization, or the part of it that the filters ask for.
func HistoryPage(r *page.Request) error {
	if to, clean := page.WithoutEmpty(r.URL); !clean {
		return r.Redirect(to)
	}
	q := r.URL.Query()
	r.Form.Fields = q
	view := page.HistoryView{Form: r.Form, Abouts: []page.Option{{Label: "Everything"}}}
	for _, about := range slices.Sorted(maps.Keys(store.HistoryAbout)) {
		view.Abouts = append(view.Abouts, page.Option{Value: about, Label: page.Capital(about)})
	}
	place := store.HistoryPlace{Before: page.ParseID(q.Get("before")), After: page.ParseID(q.Get("after")), About: q.Get("about"), Who: q.Get("who"), From: dayOf(r, "from"), To: dayOf(r, "to")}
	if !place.To.IsZero() {
		place.To = place.To.AddDate(0, 0, 1)
	}
	view.Filtered = place.About+place.Who+q.Get("from")+q.Get("to") != ""
	part, err := r.Store.History(r.Context(), r.Account(), place, page.ActivitiesPerPage)
	if err != nil {
		return err
	}
	var found []history.Activity
	for _, e := range part.Entries {
		found = append(found, e.Changes...)
	}
	names, err := r.NamesOf(found)
	if err != nil {
		return err
	}
	if view.People, err = actorOptions(r, names.People); err != nil {
		return err
	}
	for _, e := range part.Entries {
		view.Add(r, entry(names, r, e, part))
	}
	view.Beyond = part.Newer
	if part.Newer {
		view.Pager.Previous = historyAddress(r, "after", part.Last)
	}
	if part.Older {
		view.Pager.Next = historyAddress(r, "before", part.First)
	}
	return r.Render("history", page.View{Title: "History", Section: "settings", Form: r.Form, Data: view})
}

// dayOf is the beginning of a day that a filter names, zero for none.
func dayOf(r *page.Request, name string) time.Time {
	value := r.Form.Value(name)
	day, err := time.ParseInLocation(time.DateOnly, value, r.Zone())
	if err != nil && value != "" {
		r.Form.Fail(name, "must be a date, such as 2026-01-31.")
	}
	return day
}

// historyAddress is another part of the history, with the filters as they are.
func historyAddress(r *page.Request, name string, revision int64) string {
	q := maps.Clone(r.URL.Query())
	q.Del("before")
	q.Del("after")
	q.Set(name, strconv.FormatInt(revision, 10))
	return page.WithQuery(r.URL.Path, q)
}

// actorOptions are the people and the programs whose changes may be asked for.
func actorOptions(r *page.Request, people page.People) ([]page.Option, error) {
	all := []page.Option{{Label: "Everyone"}}
	for _, email := range slices.Sorted(maps.Keys(people)) {
		all = append(all, page.Option{Value: email, Label: people.Called(email)})
	}
	keys, err := r.Store.Keys(r.Context(), r.Account())
	for _, key := range keys {
		all = append(all, page.Option{Value: "API key " + key.Name, Label: "API key " + key.Name})
	}
	if who := r.Form.Value("who"); who != "" && !slices.ContainsFunc(all, func(o page.Option) bool { return o.Value == who }) {
		all = append(all, page.Option{Value: who, Label: who})
	}
	return slices.CompactFunc(all, func(a, b page.Option) bool { return a == b }), err
}

// entry is one entry of the organization's history.
func entry(n page.Names, r *page.Request, e store.HistoryEntry, part store.HistoryPart) page.TimelineRow {
	var rows []page.TimelineRow
	for _, a := range e.Changes {
		row := n.Row(r, a)
		row.About = n.About(r, &a)
		rows = append(rows, row)
	}
	row := rows[0]
	if e.Count == 1 {
		return row
	}
	for i := range rows {
		rows[i].Via = page.Link{} // the entry says it
	}
	group := page.TimelineRow{Activity: history.Activity{Kind: row.Kind, Noun: row.Noun, At: row.At}, Icon: row.Icon, Who: row.Who, Did: groupWords(&e), Via: row.Via, Rows: rows, Count: e.Count}
	if e.Things() == 1 {
		group.About = row.About
	}
	if e.Job == 0 {
		return group
	}
	group.Icon, group.Via = "many", page.Link{}
	j, err := r.Store.Job(r.Context(), r.Account(), e.Job)
	if err != nil {
		return group // a job that is no longer kept has no page
	}
	view, err := newJobView(r, n.People, j)
	if err == nil {
		group.About = page.Link{Label: view.Title, Address: view.Address}
	}
	if j.First < part.First || j.Last > part.Last { // only the job knows all that it did
		group.Did, group.Count = "started this "+page.JobWords[j.Kind]+".", int64(len(rows))
		if view.More != "" {
			group.Lines = []string{page.Sentence(strings.TrimSuffix(view.More, "."))}
		}
	}
	if part.Older && j.First > 0 && j.First < part.First {
		group.Skip = historyAddress(r, "before", j.First)
	}
	return group
}

// groupWords say what was done to many things.
func groupWords(e *store.HistoryEntry) string {
	a, many := &e.Changes[0], e.Things() > 1 && !e.Mixed
	things := func(thing string) string { return page.Count(e.Things()) + " " + thing + "s." }
	switch {
	case many && a.Noun == history.ContactNoun && groupVerbs[a.Kind] != "":
		return groupVerbs[a.Kind] + " " + things("contact")
	case !e.Mixed && a.Noun == history.ContactNoun && a.Kind == history.DidGive:
		return "recorded " + page.Count(e.Count) + " gifts."
	case many && a.Noun == history.GiftNoun:
		return "changed " + things("gift")
	case many && a.Noun == history.CampaignNoun:
		return cmp.Or(groupVerbs[a.Kind], "changed") + " " + things("campaign")
	}
	return "made " + page.Count(e.Count) + " changes."
}

var groupVerbs = map[history.Kind]string{
	history.DidCreate: "added", history.DidUpdate: "changed", history.DidTag: "tagged", history.DidUntag: "removed tags from", history.DidArchive: "archived",
	history.DidRestore: "restored", history.DidMerge: "merged data into", history.DidErase: "erased",
}
