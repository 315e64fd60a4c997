package page

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/store"
)

const (
	ActivitiesShown   = 12 // on the page of a contact, a gift or a plan
	ActivitiesPerPage = 40
	activityValue     = 120 // characters of each value, among other changes
	activityLines     = 12  // that say what a change did, among other changes
)

// Timeline is a part of a history, newest first, by days.
type Timeline struct {
	Days  []timelineDay
	Pager Pager
	Total int64
	All   string // address of the whole history, where there is more of it
}

type timelineDay struct {
	Label string
	Rows  []TimelineRow
}

// TimelineRow is one change in words for people, or what a job or a program did to many things.
type TimelineRow struct {
	history.Activity
	Icon     string
	About    Link // what was changed; empty on the page of that
	Who, Did string
	Lines    []string // where it is more than one thing
	More     string   // address of everything that the change did, where it is not all here
	See, Via Link     // the gift or the plan that it mentions, and how it came in
	When     string   // the time of the day
	Day      string   // that a note is about, where it is another one
	Undo     string   // address of a form that takes it back
	Rows     []TimelineRow
	Count    int64
	Skip     string // address of what came before a long job
}

// Add puts a row under its day. Rows come by revision, and those of one day need not follow one another.
func (t *Timeline) Add(r *Request, row TimelineRow) {
	at := row.At.In(r.Zone())
	row.When = at.Format("3:04 PM")
	if told := row.OccurredAt(); !told.Equal(row.At) {
		row.Day = shownWhen(told, r.Zone())
	}
	label := Day(at)
	switch label {
	case Day(r.Today()):
		label = "Today"
	case Day(r.Today().AddDate(0, 0, -1)):
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

// TimelineOf reads a part of the history of a contact, a gift or a plan.
func (r *Request) TimelineOf(noun history.Noun, id int64, part crm.PageRequest) (t Timeline, err error) {
	found, result, err := r.Store.Timeline(r.Context(), r.Account(), noun, id, part)
	if err != nil {
		return t, err
	}
	names, err := r.NamesOf(found)
	t.Total = result.Total
	for _, a := range found {
		if isOther := noun == history.ContactNoun && a.ID != id; !isOther {
			t.Add(r, names.Row(r, a))
		} else if a.Kind != history.DidJoin { // which the change of the survivor tells
			row := names.Row(r, a)
			row.About.Label = names.About(r, &a).Label
			t.Add(r, row)
		}
	}
	return t, err
}

// WholeChange is one change of a contact with everything that it did.
func (r *Request) WholeChange(contact, revision int64) (t Timeline, err error) {
	change, err := r.Store.WholeChange(r.Context(), r.Account(), contact, revision)
	if err != nil {
		return t, err
	}
	names, err := r.NamesOf([]history.Activity{change})
	names.whole = true
	t.Add(r, names.Row(r, change))
	return t, err
}

// ContactTimeline reads a part of the history of a contact, with what can be undone.
func (r *Request) ContactTimeline(contact *crm.Contact, part crm.PageRequest) (t Timeline, err error) {
	t, err = r.TimelineOf(history.ContactNoun, contact.ID, part)
	path := r.Path(ContactPath(contact.ID)) + "/history"
	if t.Total > part.PerPage {
		t.All = path
	}
	for _, day := range t.Days {
		for i := range day.Rows {
			row := &day.Rows[i]
			if row.Kind.CanUndo() && row.ID == contact.ID && !row.Undone && (!contact.Archived() || row.Kind == history.DidArchive) && r.Membership.Role >= access.Editor {
				row.Undo = path + "/" + strconv.FormatInt(row.Revision, 10) + "/undo"
			}
		}
	}
	return t, err
}

// HistoryView is a page that shows a history.
type HistoryView struct {
	Timeline
	Contact        Link // empty for that of the organization
	Form           *Form
	Abouts, People []Option
	Filtered       bool
	Beyond         bool // the address names a place where nothing is
}

// Names are what changes and their values are called.
type Names struct {
	People    People
	contacts  map[int64]crm.Contact
	campaigns map[int64]store.CampaignName
	gifts     map[int64]store.GiftName
	plans     map[int64]store.GiftName
	fields    *custom.Fields
	zone      *time.Location // of the organization
	whole     bool           // values are said to their ends
}

// NamesOf looks up what some changes mention.
func (r *Request) NamesOf(found []history.Activity) (n Names, err error) {
	n.zone = r.Zone()
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
				ids[noun] = append(ids[noun], ParseID(plainValue(string(d.Before))), ParseID(plainValue(string(d.After))))
			}
			priced[a.ID] = priced[a.ID] || a.Noun == history.PlanNoun && d.Field == "amount"
		}
	}
	ctx, account := r.Context(), r.Account()
	if n.People, err = r.PeopleOf(); err != nil {
		return n, err
	}
	if n.campaigns, err = r.Store.CampaignNames(ctx, account, ids[history.CampaignNoun]); err != nil {
		return n, err
	}
	if n.gifts, err = r.Store.GiftNames(ctx, account, ids[history.GiftNoun]); err != nil {
		return n, err
	}
	if n.plans, err = r.Store.PlanNames(ctx, account, ids[history.PlanNoun]); err != nil {
		return n, err
	}
	for _, gift := range slices.Concat(slices.Collect(maps.Values(n.gifts)), slices.Collect(maps.Values(n.plans))) {
		ids[history.ContactNoun] = append(ids[history.ContactNoun], gift.Contact)
	}
	if n.contacts, err = r.Store.ContactNames(ctx, account, ids[history.ContactNoun]); err != nil {
		return n, err
	}
	for id, name := range n.plans {
		if priced[id] {
			plan, err := r.Store.Plan(ctx, account, name.Code)
			if err != nil {
				return n, err
			}
			n.plans[id] = store.GiftName{Code: plan.Code, Currency: plan.Currency, Contact: plan.Contact}
		}
	}
	if ofFields {
		n.fields, err = r.Store.CustomFields(ctx, account)
	}
	return n, err
}

// mentions are the fields of gifts and plans that name something else.
var mentions = map[string]history.Noun{"campaign_id": history.CampaignNoun, "contact_id": history.ContactNoun}

// About is the name and the address of what a change is about.
func (n Names) About(r *Request, a *history.Activity) Link {
	switch a.Noun {
	case history.ContactNoun:
		if contact, ok := n.contacts[a.ID]; ok {
			return Link{ContactName(contact), r.Path(ContactPath(a.ID))}
		}
		return Link{Label: "Contact " + strconv.FormatInt(a.ID, 10)}
	case history.CampaignNoun:
		if campaign, ok := n.campaigns[a.ID]; ok {
			return Link{campaign.Title, r.Path(CampaignPath(a.ID))}
		}
		return Link{Label: a.Subject()}
	case history.GiftNoun:
		return Link{"Gift " + giving.GiftNumber(a.ID) + n.from(" from ", n.gifts[a.ID]), r.Path(GiftPath(n.gifts[a.ID].Code))}
	case history.PlanNoun:
		return Link{"Recurring gift" + n.from(" from ", n.plans[a.ID]), r.Path(PlanPath(n.plans[a.ID].Code))}
	case history.JobNoun:
		kind := jobKind(a)
		return Link{Capital(JobWords[kind]), r.Path(JobAddress(kind, a.ID))}
	case history.FieldNoun:
		return Link{a.Subject(), r.Path(FieldPath(a.ID))}
	}
	return Link{}
}

// from is whose gift or plan it is, "" where that is not known.
func (n Names) from(word string, gift store.GiftName) string {
	if name := ContactName(n.contacts[gift.Contact]); name != "" {
		return word + name
	}
	return ""
}

// mentioned leads to the gift or the plan that a change of a contact mentions.
func (r *Request) mentioned(a *history.Activity) Link {
	switch gift := a.Gift(); {
	case gift.Gift != "":
		return Link{"View gift", r.Path(GiftPath(gift.Gift))}
	case gift.Plan != "":
		return Link{"View recurring gift", r.Path(PlanPath(gift.Plan))}
	}
	return Link{}
}

// via is how a change came in, where that was not through the console by a person.
func (r *Request) via(a *history.Activity) Link {
	via := Link{Label: channelWords[a.Channel]}
	switch {
	case a.Job == 0:
	case a.Channel == history.ImportChannel:
		via.Address = r.Path(ImportPath(a.Job))
	default:
		via = Link{"Bulk change", r.Path(JobPath(a.Job))}
	}
	return via
}

// People are the names of members, by their emails.
type People map[string]string

func (r *Request) PeopleOf() (People, error) {
	members, err := r.Store.Members(r.Context(), r.Account())
	names := People{}
	for _, m := range members {
		names[m.User.Email] = m.User.Name
	}
	return names, err
}

// Called is the name of a member with this email. Programs are called as they are.
func (p People) Called(who string) string {
	if name := p[who]; name != "" {
		return name
	}
	return who
}

// name is who has made a change.
func (p People) name(a *history.Activity) string {
	switch name := p[a.Who]; {
	case name != "":
		return name
	case a.Who == "" && a.Channel == history.PageChannel:
		return "The donation page"
	case a.Who == "":
		return "Someone"
	case a.Channel == history.APIChannel || a.Channel == history.CommandChannel:
		return "The " + a.Who
	}
	return a.Who
}
