package console

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/store/contacts"
)

const (
	activitiesShown   = 8 // on the page of a contact
	activitiesPerPage = 50
	activityValue     = 120 // characters of each value
)

// timeline is a part of a history, newest first.
type timeline struct {
	rows[activityRow]
	Total int64
	All   string // address of the whole history of a contact
}

// activityRow is one change in words for people.
type activityRow struct {
	About    link // what was changed; empty on the page of that
	Sentence string
	Lines    []string // where it is more than one thing
	Note     string
	See      link   // the gift or the plan that it mentions
	When     string // in words
	At       time.Time
	Channel  string // where it did not come through the console
	Undone   bool
	Undo     string // address of a form that takes it back
}

// historyView is a page that shows a history.
type historyView struct {
	timeline
	Name    string // of the contact; "" for that of the organization
	Address string // of the contact
	Beyond  bool   // the address names a place where nothing is
}

// timelineOf reads a part of a contact's history.
func (r *request) timelineOf(contact *crm.Contact, part crm.PageRequest) (t timeline, err error) {
	found, result, err := r.store.Timeline(r.Context(), r.account(), contact.ID, part)
	if err != nil {
		return t, err
	}
	if err := r.nameFields(found); err != nil {
		return t, err
	}
	people, err := r.peopleOf()
	path := r.path(contactPath(contact.ID))
	t.Total, t.All = result.Total, path+"/history"
	for i := range found {
		a := &found[i]
		row := people.row(a, "this contact")
		row.When, row.See = shownWhen(row.At, r.zone()), r.mentioned(a)
		if a.Kind.CanUndo() && !a.Undone && (!contact.Archived() || a.Kind == history.DidArchive) && r.membership.Role >= access.Editor {
			row.Undo = path + "/history/" + strconv.FormatInt(a.Revision, 10) + "/undo"
		}
		t.Rows = append(t.Rows, row)
	}
	return t, err
}

// timelinePage shows the whole history of a contact.
func (r *request) timelinePage(contact crm.Contact) (err error) {
	path := r.path(contactPath(contact.ID))
	l := r.list(path+"/history", pageParameter, activitiesPerPage)
	view := historyView{Name: contactName(contact), Address: path}
	if view.timeline, err = r.timelineOf(&contact, l.PageRequest); err != nil {
		return err
	}
	view.Pager = l.pager(view.Total)
	return r.render("history", page{Title: "History of " + view.Name, Section: "contacts", Data: view})
}

// historyPage shows the history of the organization.
func (r *request) historyPage() error {
	q := r.URL.Query()
	part, err := r.store.History(r.Context(), r.account(), contacts.HistoryPlace{Before: idOf(q.Get("before")), After: idOf(q.Get("after"))}, activitiesPerPage)
	if err != nil {
		return err
	}
	found := part.Changes
	if err := r.nameFields(found); err != nil {
		return err
	}
	people, err := r.peopleOf()
	if err != nil {
		return err
	}
	about, err := r.subjectsOf(found)
	if err != nil {
		return err
	}
	view := historyView{Beyond: part.Newer}
	for i := range found {
		a := &found[i]
		row := people.row(a, nounWords[a.Noun])
		row.When = shownWhen(row.At, r.zone())
		row.About, row.See = about(a), r.mentioned(a)
		view.Rows = append(view.Rows, row)
	}
	path := r.path("/settings/history")
	if part.Newer && len(found) > 0 {
		view.Pager.Previous = path + "?after=" + strconv.FormatInt(found[0].Revision, 10)
	}
	if part.Older && len(found) > 0 {
		view.Pager.Next = path + "?before=" + strconv.FormatInt(found[len(found)-1].Revision, 10)
	}
	return r.render("history", page{Title: "History", Section: "settings", Data: view})
}

// mentioned leads to the gift or the plan that a change of a contact mentions.
func (r *request) mentioned(a *history.Activity) link {
	switch gift := a.Gift(); {
	case gift.Gift != "":
		return link{"See the gift", r.path(giftPath(gift.Gift))}
	case gift.Plan != "":
		return link{"See the plan", r.path(planPath(gift.Plan))}
	}
	return link{}
}

// nameFields finds the names of custom fields that were changed.
func (r *request) nameFields(found []history.Activity) error {
	if !slices.ContainsFunc(found, func(a history.Activity) bool { return a.OfCustomFields() }) {
		return nil
	}
	fields, err := r.store.CustomFields(r.Context(), r.account())
	for i := range found {
		found[i].Fields = fields
	}
	return err
}

// nounWords say what a change was about.
var nounWords = map[history.Noun]string{
	history.ContactNoun: "this contact", history.CampaignNoun: "this campaign", history.GiftNoun: "this gift", history.PlanNoun: "this plan", history.TagNoun: "the tag",
	history.KeyNoun: "the API key", history.SettingNoun: "the settings", history.FieldNoun: "the custom field", history.SegmentNoun: "the segment", history.JobNoun: "the job",
}

// subjectsOf finds the names and addresses of what changes are about.
func (r *request) subjectsOf(found []history.Activity) (func(*history.Activity) link, error) {
	ids := map[history.Noun][]int64{}
	for _, a := range found {
		ids[a.Noun] = append(ids[a.Noun], a.ID)
	}
	contacts, err := r.store.ContactNames(r.Context(), r.account(), ids[history.ContactNoun])
	if err != nil {
		return nil, err
	}
	campaigns, err := r.store.CampaignNames(r.Context(), r.account(), ids[history.CampaignNoun])
	if err != nil {
		return nil, err
	}
	gifts, err := r.store.GiftCodes(r.Context(), r.account(), ids[history.GiftNoun])
	if err != nil {
		return nil, err
	}
	plans, err := r.store.PlanCodes(r.Context(), r.account(), ids[history.PlanNoun])
	return func(a *history.Activity) link {
		switch a.Noun {
		case history.ContactNoun:
			if contact, ok := contacts[a.ID]; ok {
				return link{contactName(contact), r.path(contactPath(a.ID))}
			}
			return link{Label: "Contact " + strconv.FormatInt(a.ID, 10)}
		case history.CampaignNoun:
			if campaign, ok := campaigns[a.ID]; ok {
				return link{campaign.Title, r.path("/campaigns/" + strconv.FormatInt(a.ID, 10))}
			}
			return link{Label: a.Subject()}
		case history.GiftNoun:
			return link{"Gift " + giving.GiftNumber(a.ID), r.path("/gifts/" + gifts[a.ID])}
		case history.PlanNoun:
			return link{"Recurring plan", r.path("/plans/" + plans[a.ID])}
		case history.JobNoun:
			kind := jobKind(a)
			return link{capital(jobWords[kind]), r.path(jobAddress(kind, a.ID))}
		case history.FieldNoun:
			return link{a.Subject(), r.path(fieldPath(a.ID))}
		}
		return link{}
	}, err
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
		_, err = r.store.AddNote(r.Context(), r.account(), r.id, in)
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
	return r.redirect(r.path(contactPath(r.id))+"#history", notice{Text: "The note was added."})
}

// undoChange takes one change of a contact back.
func (r *request) undoChange() error {
	path := r.path(contactPath(r.id)) + "#history"
	_, left, err := r.store.UndoChange(r.Context(), r.account(), r.id, idOf(r.PathValue("change")), r.options.Region)
	var invalid *doc.Invalid
	switch {
	case errors.As(err, &invalid):
		return r.redirect(path, notice{Text: labeled(invalid.Faults[0])})
	case err != nil:
		return err
	}
	said := notice{Text: "The change was undone."}
	if len(left) > 0 {
		fields, err := r.store.CustomFields(r.Context(), r.account())
		if err != nil {
			return err
		}
		labels := make([]string, len(left))
		for i, field := range left {
			label, ok := history.FieldLabel(fields, field)
			if !ok {
				label = labelOf(field)
			}
			labels[i] = lowered(label)
		}
		said.Text = "The change was undone in part."
		said.Warning = "Someone has changed " + strings.Join(labels, ", ") + " since, so that was left alone."
	}
	return r.redirect(path, said)
}
