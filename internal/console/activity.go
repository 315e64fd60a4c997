package console

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/store/contacts"
	"donorbook/internal/store/gifts"
)

const (
	activitiesShown   = 12 // on the page of a contact, a gift or a plan
	activitiesPerPage = 40
	activityValue     = 120 // characters of each value
)

// timeline is a part of a history, newest first, by days.
type timeline struct {
	Days  []timelineDay
	Pager pager
	Total int64
	All   string // address of the whole history, where there is more of it
}

type timelineDay struct {
	Label string
	Rows  []timelineRow
}

// timelineRow is one change in words for people, or what a job or a program did to many things.
type timelineRow struct {
	history.Activity
	Icon     string
	About    link // what was changed; empty on the page of that
	Who, Did string
	Lines    []string // where it is more than one thing
	See, Via link     // the gift or the plan that it mentions, and how it came in
	When     string   // the time of the day
	Day      string   // that a note is about, where it is another one
	Undo     string   // address of a form that takes it back
	Rows     []timelineRow
	Count    int64
	Skip     string // address of what came before a long job
}

// add puts a row under its day. Rows come by revision, and those of one day need not follow one another.
func (t *timeline) add(r *request, row timelineRow) {
	at := row.At.In(r.zone())
	row.When = at.Format("3:04 PM")
	if told := row.OccurredAt(); !told.Equal(row.At) {
		row.Day = shownWhen(told, r.zone())
	}
	label := shownDay(at)
	switch label {
	case shownDay(r.today()):
		label = "Today"
	case shownDay(r.today().AddDate(0, 0, -1)):
		label = "Yesterday"
	}
	place := slices.IndexFunc(t.Days, func(day timelineDay) bool { return day.Label == label })
	if place < 0 { // before the first day that is older: a change that was told later may have happened earlier
		place = slices.IndexFunc(t.Days, func(day timelineDay) bool { return day.Rows[0].At.Before(row.At) })
		if place < 0 {
			place = len(t.Days)
		}
		t.Days = slices.Insert(t.Days, place, timelineDay{Label: label})
	}
	t.Days[place].Rows = append(t.Days[place].Rows, row)
}

// timelineOf reads a part of the history of a contact, a gift or a plan.
func (r *request) timelineOf(noun history.Noun, id int64, part crm.PageRequest) (t timeline, err error) {
	found, result, err := r.store.Timeline(r.Context(), r.account(), noun, id, part)
	if err != nil {
		return t, err
	}
	names, err := r.namesOf(found)
	t.Total = result.Total
	for _, a := range found {
		if isOther := noun == history.ContactNoun && a.ID != id; !isOther {
			t.add(r, names.row(r, a))
		} else if a.Kind != history.DidJoin { // which the change of the survivor tells
			row := names.row(r, a)
			row.About.Label = names.about(r, &a).Label
			t.add(r, row)
		}
	}
	return t, err
}

// contactTimeline reads a part of the history of a contact, with what can be undone.
func (r *request) contactTimeline(contact *crm.Contact, part crm.PageRequest) (t timeline, err error) {
	t, err = r.timelineOf(history.ContactNoun, contact.ID, part)
	path := r.path(contactPath(contact.ID)) + "/history"
	if t.Total > part.PerPage {
		t.All = path
	}
	for _, day := range t.Days {
		for i := range day.Rows {
			row := &day.Rows[i]
			if row.Kind.CanUndo() && row.ID == contact.ID && !row.Undone && (!contact.Archived() || row.Kind == history.DidArchive) && r.membership.Role >= access.Editor {
				row.Undo = path + "/" + strconv.FormatInt(row.Revision, 10) + "/undo"
			}
		}
	}
	return t, err
}

// historyView is a page that shows a history.
type historyView struct {
	timeline
	Contact        link // empty for that of the organization
	Form           *form
	Abouts, People []option
	Filtered       bool
	Beyond         bool // the address names a place where nothing is
}

// timelinePage shows the whole history of a contact.
func (r *request) timelinePage(contact crm.Contact) (err error) {
	if contact.MergedInto != 0 {
		return r.toSurvivor(contact)
	}
	path := r.path(contactPath(contact.ID))
	l := r.list(path+"/history", pageParameter, activitiesPerPage)
	view := historyView{Contact: link{contactName(contact), path}}
	if view.timeline, err = r.contactTimeline(&contact, l.PageRequest); err != nil {
		return err
	}
	view.Pager = l.pager(view.Total)
	return r.render("history", page{Title: "History of " + view.Contact.Label, Section: "contacts", Data: view})
}

// historyPage shows the history of the organization, or the part of it that the filters ask for.
func (r *request) historyPage() error {
	if to, clean := withoutEmpty(r.URL); !clean {
		return r.redirect(to)
	}
	q := r.URL.Query()
	r.form.values = q
	view := historyView{Form: r.form, Abouts: []option{{Label: "Everything"}}}
	for _, about := range slices.Sorted(maps.Keys(contacts.HistoryAbout)) {
		view.Abouts = append(view.Abouts, option{Value: about, Label: capital(about)})
	}
	place := contacts.HistoryPlace{Before: idOf(q.Get("before")), After: idOf(q.Get("after")), About: q.Get("about"), Who: q.Get("who"), From: r.dayOf("from"), To: r.dayOf("to")}
	if !place.To.IsZero() {
		place.To = place.To.AddDate(0, 0, 1)
	}
	view.Filtered = place.About+place.Who+q.Get("from")+q.Get("to") != ""
	part, err := r.store.History(r.Context(), r.account(), place, activitiesPerPage)
	if err != nil {
		return err
	}
	var found []history.Activity
	for _, e := range part.Entries {
		found = append(found, e.Changes...)
	}
	names, err := r.namesOf(found)
	if err != nil {
		return err
	}
	if view.People, err = r.actorOptions(names.people); err != nil {
		return err
	}
	for _, e := range part.Entries {
		view.add(r, names.entry(r, e, part))
	}
	view.Beyond = part.Newer
	if part.Newer {
		view.Pager.Previous = r.historyAddress("after", part.Last)
	}
	if part.Older {
		view.Pager.Next = r.historyAddress("before", part.First)
	}
	return r.render("history", page{Title: "History", Section: "settings", Form: r.form, Data: view})
}

// dayOf is the beginning of a day that a filter names, zero for none.
func (r *request) dayOf(name string) time.Time {
	value := r.form.Value(name)
	day, err := time.ParseInLocation(time.DateOnly, value, r.zone())
	if err != nil && value != "" {
		r.form.fail(name, "must be a date, such as 2026-01-31.")
	}
	return day
}

// historyAddress is another part of the history, with the filters as they are.
func (r *request) historyAddress(name string, revision int64) string {
	q := maps.Clone(r.URL.Query())
	q.Del("before")
	q.Del("after")
	q.Set(name, strconv.FormatInt(revision, 10))
	return withQuery(r.URL.Path, q)
}

// actorOptions are the people and the programs whose changes may be asked for.
func (r *request) actorOptions(people people) ([]option, error) {
	all := []option{{Label: "Everyone"}}
	for _, email := range slices.Sorted(maps.Keys(people)) {
		all = append(all, option{Value: email, Label: people.called(email)})
	}
	keys, err := r.store.Keys(r.Context(), r.account())
	for _, key := range keys {
		all = append(all, option{Value: "API key " + key.Name, Label: "API key " + key.Name})
	}
	if who := r.form.Value("who"); who != "" && !slices.ContainsFunc(all, func(o option) bool { return o.Value == who }) {
		all = append(all, option{Value: who, Label: who})
	}
	return slices.CompactFunc(all, func(a, b option) bool { return a == b }), err
}

// names are what changes and their values are called.
type names struct {
	people    people
	contacts  map[int64]crm.Contact
	campaigns map[int64]gifts.CampaignName
	gifts     map[int64]contacts.GiftName
	plans     map[int64]contacts.GiftName
	fields    *custom.Fields
}

// namesOf looks up what some changes mention.
func (r *request) namesOf(found []history.Activity) (n names, err error) {
	ids := map[history.Noun][]int64{}
	ofFields := false
	priced := map[int64]bool{} // plans whose amount has changed
	for _, a := range found {
		ids[a.Noun] = append(ids[a.Noun], a.ID)
		ofFields = ofFields || a.OfCustomFields()
		ids[history.ContactNoun] = append(ids[history.ContactNoun], mergedIn(&a))
		if a.Noun != history.GiftNoun && a.Noun != history.PlanNoun {
			continue
		}
		all := doc.KnownDifferences(a.Data)
		for _, d := range all {
			if noun, ok := mentions[d.Field]; ok {
				ids[noun] = append(ids[noun], idOf(plainValue(string(d.Before))), idOf(plainValue(string(d.After))))
			}
			priced[a.ID] = priced[a.ID] || a.Noun == history.PlanNoun && d.Field == "amount"
		}
	}
	ctx, account := r.Context(), r.account()
	if n.people, err = r.peopleOf(); err != nil {
		return n, err
	}
	if n.campaigns, err = r.store.CampaignNames(ctx, account, ids[history.CampaignNoun]); err != nil {
		return n, err
	}
	if n.gifts, err = r.store.GiftNames(ctx, account, ids[history.GiftNoun]); err != nil {
		return n, err
	}
	if n.plans, err = r.store.PlanNames(ctx, account, ids[history.PlanNoun]); err != nil {
		return n, err
	}
	for _, gift := range slices.Concat(slices.Collect(maps.Values(n.gifts)), slices.Collect(maps.Values(n.plans))) {
		ids[history.ContactNoun] = append(ids[history.ContactNoun], gift.Contact)
	}
	if n.contacts, err = r.store.ContactNames(ctx, account, ids[history.ContactNoun]); err != nil {
		return n, err
	}
	for id, name := range n.plans {
		if priced[id] {
			plan, err := r.store.Plan(ctx, account, name.Code)
			if err != nil {
				return n, err
			}
			n.plans[id] = contacts.GiftName{Code: plan.Code, Currency: plan.Currency, Contact: plan.Contact}
		}
	}
	if ofFields {
		n.fields, err = r.store.CustomFields(ctx, account)
	}
	return n, err
}

// mentions are the fields of gifts and plans that name something else.
var mentions = map[string]history.Noun{"campaign_id": history.CampaignNoun, "contact_id": history.ContactNoun}

// entry is one entry of the organization's history.
func (n names) entry(r *request, e contacts.HistoryEntry, part contacts.HistoryPart) timelineRow {
	var rows []timelineRow
	for _, a := range e.Changes {
		row := n.row(r, a)
		row.About = n.about(r, &a)
		rows = append(rows, row)
	}
	row := rows[0]
	if e.Count == 1 {
		return row
	}
	for i := range rows {
		rows[i].Via = link{} // the entry says it
	}
	group := timelineRow{Activity: history.Activity{Kind: row.Kind, Noun: row.Noun, At: row.At}, Icon: row.Icon, Who: row.Who, Did: groupWords(&e), Via: row.Via, Rows: rows, Count: e.Count}
	if e.Things() == 1 {
		group.About = row.About
	}
	if e.Job == 0 {
		return group
	}
	group.Icon, group.Via = "many", link{}
	j, err := r.store.Job(r.Context(), r.account(), e.Job)
	if err != nil {
		return group // a job that is no longer kept has no page
	}
	view, err := r.jobView(n.people, j)
	if err == nil {
		group.About = link{view.Title, view.Address}
	}
	if j.First < part.First || j.Last > part.Last { // only the job knows all that it did
		group.Did, group.Count = "started this "+jobWords[j.Kind]+".", int64(len(rows))
		if view.More != "" {
			group.Lines = []string{sentence(strings.TrimSuffix(view.More, "."))}
		}
	}
	if part.Older && j.First > 0 && j.First < part.First {
		group.Skip = r.historyAddress("before", j.First)
	}
	return group
}

// about is the name and the address of what a change is about.
func (n names) about(r *request, a *history.Activity) link {
	switch a.Noun {
	case history.ContactNoun:
		if contact, ok := n.contacts[a.ID]; ok {
			return link{contactName(contact), r.path(contactPath(a.ID))}
		}
		return link{Label: "Contact " + strconv.FormatInt(a.ID, 10)}
	case history.CampaignNoun:
		if campaign, ok := n.campaigns[a.ID]; ok {
			return link{campaign.Title, r.path(campaignPath(a.ID))}
		}
		return link{Label: a.Subject()}
	case history.GiftNoun:
		return link{"Gift " + giving.GiftNumber(a.ID) + n.from(" from ", n.gifts[a.ID]), r.path(giftPath(n.gifts[a.ID].Code))}
	case history.PlanNoun:
		return link{"Recurring gift" + n.from(" from ", n.plans[a.ID]), r.path(planPath(n.plans[a.ID].Code))}
	case history.JobNoun:
		kind := jobKind(a)
		return link{capital(jobWords[kind]), r.path(jobAddress(kind, a.ID))}
	case history.FieldNoun:
		return link{a.Subject(), r.path(fieldPath(a.ID))}
	}
	return link{}
}

// from is whose gift or plan it is, "" where that is not known.
func (n names) from(word string, gift contacts.GiftName) string {
	if name := contactName(n.contacts[gift.Contact]); name != "" {
		return word + name
	}
	return ""
}

// mentioned leads to the gift or the plan that a change of a contact mentions.
func (r *request) mentioned(a *history.Activity) link {
	switch gift := a.Gift(); {
	case gift.Gift != "":
		return link{"View gift", r.path(giftPath(gift.Gift))}
	case gift.Plan != "":
		return link{"View recurring gift", r.path(planPath(gift.Plan))}
	}
	return link{}
}

// via is how a change came in, where that was not through the console by a person.
func (r *request) via(a *history.Activity) link {
	via := link{Label: channelWords[a.Channel]}
	switch {
	case a.Job == 0:
	case a.Channel == history.ImportChannel:
		via.Address = r.path(importPath(a.Job))
	default:
		via = link{"Bulk change", r.path(jobPath(a.Job))}
	}
	return via
}

// people are the names of members, by their emails.
type people map[string]string

func (r *request) peopleOf() (people, error) {
	members, err := r.store.Members(r.Context(), r.account())
	names := people{}
	for _, m := range members {
		names[m.User.Email] = m.User.Name
	}
	return names, err
}

// called is the name of a member with this email. Programs are called as they are.
func (p people) called(who string) string {
	if name := p[who]; name != "" {
		return name
	}
	return who
}

// name is who has made a change.
func (p people) name(a *history.Activity) string {
	switch name := p[a.Who]; {
	case name != "":
		return name
	case a.Who == "":
		return "Someone"
	case a.Channel == history.APIChannel || a.Channel == history.CommandChannel:
		return "The " + a.Who
	}
	return a.Who
}

// addNote adds a note to the history of a contact.
func (r *request) addNote() error {
	if _, ok, err := r.activeContact(); err != nil || !ok {
		return err
	}
	text, at := r.form.Value("note_text"), r.form.Value("note_date")
	if at == r.today().Format(time.DateOnly) {
		at = "" // now, so that it stands behind what has happened today
	}
	in := history.NoteInput{Note: &text, OccurredAt: &at}
	err := in.Validate(nil, r.today())
	if err == nil {
		_, err = r.store.AddNote(r.once(r.always(contactPath(r.id)+"#history", "The note was added.")), r.account(), r.id, in)
	}
	var invalid *doc.Invalid
	if errors.As(err, &invalid) {
		for i, fault := range invalid.Faults { // as the form calls its fields: that of a gift has a note, too
			invalid.Faults[i].Field = map[string]string{"note": "note_text", "occurred_at": "note_date"}[fault.Field]
		}
	}
	if err != nil {
		return err
	}
	return r.redirect(r.path(contactPath(r.id))+"#history", notice{Text: "Note added."})
}

// undoChange takes one change of a contact back, or a whole merge.
func (r *request) undoChange() error {
	path, change := r.path(contactPath(r.id))+"#history", idOf(r.PathValue("change"))
	merge, err := r.store.MergeOf(r.Context(), r.account(), change)
	switch {
	case err == nil && merge.Survivor == r.id:
		return r.undoMerge(change)
	case err != nil && !errors.Is(err, crm.ErrNotFound):
		return err
	}
	_, left, err := r.store.UndoChange(r.Context(), r.account(), r.id, change, r.options.Region)
	var invalid *doc.Invalid
	switch {
	case errors.As(err, &invalid):
		return r.redirect(path, notice{Text: labeled(invalid.Faults[0])})
	case err != nil:
		return err
	}
	said := notice{Text: "Change undone."}
	if len(left) > 0 {
		labels, err := r.fieldLabels(left)
		if err != nil {
			return err
		}
		said.Text = "Change partly undone."
		said.Warning = "Someone has changed " + labels + " since then, so that was left as is."
	}
	return r.redirect(path, said)
}

// fieldLabels are what people call some fields of contacts.
func (r *request) fieldLabels(names []string) (string, error) {
	fields, err := r.store.CustomFields(r.Context(), r.account())
	labels := make([]string, len(names))
	for i, field := range names {
		label, ok := history.FieldLabel(fields, field)
		if !ok {
			label = labelOf(field)
		}
		labels[i] = lowered(label)
	}
	return strings.Join(labels, ", "), err
}
