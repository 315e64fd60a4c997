package console

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/store"
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
	Gift     string // its address
	At       time.Time
	Door     string // where it did not come through the console
	Undone   bool
	Undo     string // address of a form that takes it back
}

// historyView is a page that shows a history.
type historyView struct {
	timeline
	Name    string // of the contact; "" for that of the organization
	Address string // of the contact
}

// timelineOf reads a part of a contact's history.
func (c *Console) timelineOf(r *http.Request, v visit, contact *crm.Contact, part crm.PageRequest) (t timeline, err error) {
	found, result, err := c.store.Timeline(r.Context(), v.account(), contact.ID, part)
	if err != nil {
		return t, err
	}
	if err := c.nameFields(r, v, found); err != nil {
		return t, err
	}
	people, err := c.peopleOf(r, v)
	path := v.path(contactPath(contact.ID))
	t.Total, t.All = result.Total, path+"/history"
	for i := range found {
		a := &found[i]
		row := people.row(a, "this contact")
		if gift := a.Gift(); gift.Gift != "" {
			row.Gift = v.path("/gifts/" + gift.Gift)
		}
		if a.Kind.CanUndo() && !a.Undone && (!contact.Archived() || a.Kind == crm.DidArchive) && v.membership.Role >= crm.Editor {
			row.Undo = path + "/history/" + strconv.FormatInt(a.Revision, 10) + "/undo"
		}
		t.Rows = append(t.Rows, row)
	}
	return t, err
}

// timelinePage shows the whole history of a contact.
func (c *Console) timelinePage(w http.ResponseWriter, r *http.Request, v visit, _ *form) error {
	contact, err := c.contactOf(r, v)
	if err != nil {
		return err
	}
	path := v.path(contactPath(contact.ID))
	l := listOf(r, path+"/history", pageParameter, activitiesPerPage)
	view := historyView{Name: contactName(contact), Address: path}
	if view.timeline, err = c.timelineOf(r, v, &contact, l.PageRequest); err != nil {
		return err
	}
	view.Pager = l.pager(view.Total)
	return c.render(w, r, v, "history", page{Title: "History of " + view.Name, Section: "contacts", Data: view})
}

// historyPage shows the history of the organization.
func (c *Console) historyPage(w http.ResponseWriter, r *http.Request, v visit, _ *form) error {
	l := listOf(r, v.path("/settings/history"), pageParameter, activitiesPerPage)
	found, result, err := c.store.History(r.Context(), v.account(), l.PageRequest)
	if err != nil {
		return err
	}
	if err := c.nameFields(r, v, found); err != nil {
		return err
	}
	people, err := c.peopleOf(r, v)
	if err != nil {
		return err
	}
	about, err := c.subjectsOf(r, v, found)
	if err != nil {
		return err
	}
	view := historyView{timeline: timeline{Total: result.Total}}
	for i := range found {
		a := &found[i]
		row := people.row(a, nounWords[a.Noun])
		row.About = about(a)
		if gift := a.Gift(); gift.Gift != "" {
			row.Gift = v.path("/gifts/" + gift.Gift)
		}
		view.Rows = append(view.Rows, row)
	}
	view.Pager = l.pager(result.Total)
	return c.render(w, r, v, "history", page{Title: "History", Section: "settings", Data: view})
}

// nameFields finds the names of custom fields that were changed.
func (c *Console) nameFields(r *http.Request, v visit, found []crm.Activity) error {
	if !slices.ContainsFunc(found, func(a crm.Activity) bool { return a.OfCustomFields() }) {
		return nil
	}
	fields, err := c.store.CustomFields(r.Context(), v.account())
	for i := range found {
		found[i].Fields = fields
	}
	return err
}

// nounWords say what a change was about.
var nounWords = map[crm.Noun]string{
	crm.ContactNoun: "this contact", crm.CampaignNoun: "this campaign", crm.GiftNoun: "this gift", crm.PlanNoun: "this plan", crm.TagNoun: "the tag",
	crm.KeyNoun: "the API key", crm.SettingNoun: "the settings", crm.FieldNoun: "the custom field", crm.SegmentNoun: "the segment", crm.JobNoun: "the job",
}

// subjectsOf finds the names and addresses of what changes are about.
func (c *Console) subjectsOf(r *http.Request, v visit, found []crm.Activity) (func(*crm.Activity) link, error) {
	ids := map[crm.Noun][]int64{}
	for _, a := range found {
		ids[a.Noun] = append(ids[a.Noun], a.ID)
	}
	contacts, err := c.store.ContactNames(r.Context(), v.account(), ids[crm.ContactNoun])
	if err != nil {
		return nil, err
	}
	campaigns, err := c.store.CampaignNames(r.Context(), v.account(), ids[crm.CampaignNoun])
	return func(a *crm.Activity) link {
		switch a.Noun {
		case crm.ContactNoun:
			if contact, ok := contacts[a.ID]; ok {
				return link{contactName(contact), v.path(contactPath(a.ID))}
			}
			return link{Label: "Contact " + strconv.FormatInt(a.ID, 10)}
		case crm.CampaignNoun:
			if campaign, ok := campaigns[a.ID]; ok {
				return link{campaign.Title, v.path("/campaigns/" + strconv.FormatInt(a.ID, 10))}
			}
			return link{Label: a.Subject()}
		case crm.GiftNoun:
			return link{Label: "Gift " + crm.GiftNumber(a.ID)}
		case crm.PlanNoun:
			return link{Label: "Plan " + crm.GiftNumber(a.ID)}
		case crm.FieldNoun:
			return link{a.Subject(), v.path(fieldPath(a.ID))}
		}
		return link{}
	}, err
}

// people are the names of members, by their emails.
type people map[string]string

func (c *Console) peopleOf(r *http.Request, v visit) (people, error) {
	members, err := c.store.Members(r.Context(), v.account())
	names := people{}
	for _, m := range members {
		names[m.User.Email] = m.User.Name
	}
	return names, err
}

// name is who has made a change.
func (p people) name(a *crm.Activity) string {
	switch name := p[a.Who]; {
	case name != "":
		return name
	case a.Who == "":
		return "Someone"
	case a.Door == crm.APIDoor || a.Door == crm.CommandDoor:
		return "The " + a.Who
	}
	return a.Who
}

// row is a change in words; what says what was changed.
func (p people) row(a *crm.Activity, what string) activityRow {
	row := activityRow{At: a.OccurredAt(), Note: a.Note(), Undone: a.Undone}
	if a.Door != crm.ConsoleDoor && a.Door != crm.OtherDoor && a.Door != crm.CommandDoor { // of the last one the name tells
		row.Door = doorWords[a.Door]
	}
	var lines []string
	for _, change := range a.Changes() {
		lines = append(lines, changeWords(change))
	}
	did := didWords(a, what)
	switch {
	case did == "" && len(lines) == 0:
		did = "changed " + what
	case did == "" && len(lines) == 1:
		did, lines = lines[0], nil
	case did == "":
		did = "made " + shownCount(len(lines)) + " changes"
	}
	if a.Undoes != 0 && a.Kind != crm.DidNote {
		did = "undid an earlier change: " + did
	}
	row.Sentence = p.name(a) + " " + did + "."
	if a.Kind == crm.DidLose {
		row.Sentence = "This part of the history was lost."
	}
	for _, line := range lines {
		row.Lines = append(row.Lines, capital(line)+".")
	}
	return row
}

var doorWords = map[crm.Door]string{crm.APIDoor: "API", crm.ImportDoor: "Import", crm.BulkDoor: "Many at once"}

// didWords say what was done, "" where the fields that have changed say it.
func didWords(a *crm.Activity, what string) string {
	switch a.Noun {
	case crm.UserNoun:
		return userWords(a)
	case crm.FieldNoun:
		switch a.Kind {
		case crm.DidArchive:
			return "ended " + what
		case crm.DidRestore:
			return "brought back " + what
		}
	case crm.TagNoun:
		if a.Kind == crm.DidUpdate {
			changes := a.Changes()
			if len(changes) > 0 {
				return "renamed the tag " + quoted(changes[0].Before, "") + " to " + quoted(changes[0].After, "")
			}
		}
	}
	subject := ""
	if a.Noun != crm.ContactNoun && a.Noun != crm.CampaignNoun {
		subject = strings.TrimRight(" "+quoted(a.Subject(), ""), " ")
	}
	switch a.Kind {
	case crm.DidCreate:
		return verbs[a.Noun].create + " " + what + subject
	case crm.DidDelete:
		return verbs[a.Noun].end + " " + what + subject
	case crm.DidArchive:
		return "archived " + what
	case crm.DidRestore:
		return "restored " + what
	case crm.DidMerge:
		return "sent " + what + " again, and the data was merged in"
	case crm.DidErase:
		return "erased a person at their request"
	case crm.DidExport:
		return exportWords(a)
	case crm.DidImport:
		return "brought all data back from an export"
	case crm.DidNote:
		return noteWords(a)
	case crm.DidGive, crm.DidRefund:
		return mentionWords(a)
	}
	return ""
}

// verbs say how things begin and end.
var verbs = func() map[crm.Noun]struct{ create, end string } {
	all := map[crm.Noun]struct{ create, end string }{}
	for noun := range nounWords {
		all[noun] = struct{ create, end string }{"created", "deleted"}
	}
	all[crm.ContactNoun] = struct{ create, end string }{"added", "deleted"}
	all[crm.GiftNoun] = struct{ create, end string }{"recorded", "deleted"}
	all[crm.KeyNoun] = struct{ create, end string }{"created", "revoked"}
	return all
}()

func exportWords(a *crm.Activity) string {
	var e store.Exported
	_ = json.Unmarshal([]byte(a.Data), &e) // what cannot be read says less
	switch e.What {
	case "account":
		return "exported all data"
	case "contact":
		return "downloaded the data of one contact"
	}
	return "exported " + plural(e.Rows, strings.TrimSuffix(strings.ReplaceAll(e.What, "transactions", "gifts"), "s"))
}

func noteWords(a *crm.Activity) string {
	switch {
	case a.Undoes != 0:
		return "removed a note, or put it back"
	case a.Undone:
		return "wrote a note, which was removed"
	}
	return "wrote a note"
}

func mentionWords(a *crm.Activity) string {
	gift := a.Gift()
	amount := crm.MoneyOf(gift.Amount.String(), gift.Currency)
	switch {
	case gift.Gift == "": // its data was erased
		return "recorded a gift"
	case a.Noun == crm.GiftNoun:
		return ""
	case a.Kind == crm.DidRefund:
		return "recorded a refund of " + amount
	case gift.Status != string(crm.Succeeded):
		return "recorded a gift of " + amount + " (" + strings.ToLower(spoken(gift.Status)) + ")"
	}
	return "recorded a gift of " + amount
}

// userWords tell of members and invitations.
func userWords(a *crm.Activity) string {
	values := map[string]crm.Change{}
	for _, change := range a.Changes() {
		values[change.Field] = change
	}
	invited, isInvitation := values["Invitation"]
	role := values["Role"]
	switch who := a.Subject(); {
	case isInvitation && a.Kind == crm.DidCreate:
		return "invited " + invited.After + " as " + role.After
	case isInvitation:
		return "canceled the invitation of " + invited.Before
	case a.Kind == crm.DidCreate && who == a.Who:
		return "joined as " + role.After
	case a.Kind == crm.DidCreate:
		return "added " + who + " as " + role.After
	case a.Kind == crm.DidDelete && who == a.Who:
		return "left the organization"
	case a.Kind == crm.DidDelete:
		return "removed " + who
	case role.After != "":
		return "changed the role of " + who + " from " + role.Before + " to " + role.After
	case values["Password"].After != "":
		return "changed the password of " + who
	}
	return ""
}

// changeWords is what happened to a field, as the end of a sentence.
func changeWords(c crm.Change) string {
	before, after := shortened(c.Before, activityValue, 0), shortened(c.After, activityValue, 0)
	if label, ok := strings.CutSuffix(c.Field, " added"); ok {
		return "added " + lowered(label) + " " + quoted(after, "")
	}
	if label, ok := strings.CutSuffix(c.Field, " removed"); ok {
		return "removed " + lowered(label) + " " + quoted(before, "")
	}
	label := lowered(c.Field)
	switch {
	case before == "" && after == "":
		return "changed " + label
	case before == "":
		return "set " + label + " to " + quoted(after, "")
	case after == "":
		return "removed " + label + " " + quoted(before, "")
	}
	return "changed " + label + " from " + quoted(before, "") + " to " + quoted(after, "")
}

// lowered is a label inside a sentence. Names keep their capital letters.
func lowered(label string) string {
	switch label {
	case "Twitter", "LinkedIn", "Facebook":
		return label
	}
	if len(label) > 1 && label[1] >= 'a' && label[1] <= 'z' {
		return strings.ToLower(label[:1]) + label[1:]
	}
	return label
}

// addNote adds a note to the history of a contact.
func (c *Console) addNote(w http.ResponseWriter, r *http.Request, v visit, f *form) error {
	if _, ok, err := c.activeContact(w, r, v); err != nil || !ok {
		return err
	}
	text, at := f.Value("note_text"), f.Value("note_date")
	if at == c.now().UTC().Format(time.DateOnly) {
		at = "" // now, so that it stands behind what has happened today
	}
	in := crm.NoteInput{Note: &text, OccurredAt: &at}
	err := in.Validate(nil, c.now())
	if err == nil {
		_, err = c.store.AddNote(r.Context(), v.account(), v.id, in)
	}
	var invalid *crm.Invalid
	if errors.As(err, &invalid) {
		for i, fault := range invalid.Faults { // as the form calls its fields: that of a gift has a note, too
			invalid.Faults[i].Field = map[string]string{"note": "note_text", "occurred_at": "note_date"}[fault.Field]
		}
	}
	if err != nil {
		return err
	}
	return redirect(w, r, v.path(contactPath(v.id))+"#history", notice{Text: "The note was added."})
}

// undoChange takes one change of a contact back.
func (c *Console) undoChange(w http.ResponseWriter, r *http.Request, v visit, _ *form) error {
	path := v.path(contactPath(v.id)) + "#history"
	_, left, err := c.store.UndoChange(r.Context(), v.account(), v.id, idOf(r.PathValue("change")), c.options.Region)
	var invalid *crm.Invalid
	switch {
	case errors.As(err, &invalid):
		return redirect(w, r, path, notice{Text: labeled(invalid.Faults[0])})
	case err != nil:
		return err
	}
	said := notice{Text: "The change was undone."}
	if len(left) > 0 {
		labels := make([]string, len(left))
		for i, field := range left {
			labels[i] = lowered(labelOf(field))
		}
		said.Text = "The change was undone in part."
		said.Warning = "Someone has changed " + strings.Join(labels, ", ") + " since, so that was left alone."
	}
	return redirect(w, r, path, said)
}
