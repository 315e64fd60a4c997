package console

import (
	"strconv"
	"time"

	"donorbook/internal/crm/find"
)

// segmentLink is a segment in the menu of the list and on its own page.
type segmentLink struct {
	ID        int64
	Name      string
	Address   string
	Actor     string
	CreatedAt time.Time
	Query     string
	Contacts  *int64 // nil where counting took too long
	Current   bool
	Typed     string // a new name that was refused, or the name
	Fault     string
}

// fillSegments fills in the menu of segments.
func (r *request) fillSegments(view *contactsView) error {
	all, err := r.segments()
	for i := range all {
		if all[i].Current = all[i].Address == withQuery(view.path, view.query); all[i].Current {
			view.Segment = all[i].Name
		}
	}
	view.Segments = all
	this := int64(r.today().Year())
	for _, year := range []int64{this, this - 1} {
		for _, known := range reportsOf(year, this) {
			if known.Query == view.query.Encode() {
				view.Report = known.Name
			}
		}
	}
	return err
}

func (r *request) segments() (links []segmentLink, err error) {
	all, err := r.store.Segments(r.Context(), r.account())
	for _, s := range all {
		links = append(links, segmentLink{ID: s.ID, Name: s.Name, Typed: s.Name, Query: s.Query, Address: r.listPath(contactListing, s.Query), Actor: s.Actor, CreatedAt: s.CreatedAt})
	}
	return links, err
}

// segmentColumns are those of the list of segments. Only those who may change segments see the last one.
var segmentColumns = []tableColumn{
	{Name: "name", Label: "Name"}, {Name: "contacts", Label: "Contacts", Class: "right number", Told: true}, {Name: "by", Label: "Saved by", Told: true}, {Name: "saved", Label: "Saved", Told: true},
	{Name: "act", Label: "Actions", Class: "right"},
}

// segmentsPage lists the segments. A form that was refused is the new name of one.
func (r *request) segmentsPage() error {
	all, err := r.segments()
	if err != nil {
		return err
	}
	people, err := r.peopleOf()
	if err != nil {
		return err
	}
	for i := range all {
		all[i].Actor = people.called(all[i].Actor)
		if s := &all[i]; r.form.sentTo("/segments/" + strconv.FormatInt(s.ID, 10)) {
			s.Typed, s.Fault = r.form.Value("name"), r.form.firstFault("name", "Name")
		}
	}
	shown := paged(r, all, r.path("/segments"), pageParameter)
	err = r.countContacts(len(shown.Rows), func(i int) (string, **int64) { return shown.Rows[i].Query, &shown.Rows[i].Contacts })
	if err != nil {
		return err
	}
	view := r.newTable("segments", "Segments", segmentColumns, pointers(shown.Rows))
	if view.Pager = shown.Pager; !view.MayEdit() {
		view.Columns = without(view.Columns, "act")
	}
	return r.render("segments", page{Title: "Segments", Section: "segments", Form: r.form, Data: view})
}

// createSegment saves the filter of a list. Where it is refused, the list is shown again.
func (r *request) createSegment() error {
	made, err := find.NewSegment(r.form.Value("name"), r.form.values.Get("query"), r.options.Region)
	if err == nil {
		made, err = r.store.CreateSegment(r.once(r.always("/segments", "The segment was saved.")), r.account(), made)
	}
	if err != nil {
		return err
	}
	return r.redirect(r.listPath(contactListing, made.Query), notice{Text: "Segment “" + made.Name + "” saved. You can find it under Segments."})
}

// refusedSegment is the list whose filter could not be saved.
func (r *request) refusedSegment() error {
	r.URL.RawQuery = r.form.values.Get("query")
	return r.contactsPage()
}

func (r *request) renameSegment() error {
	name, err := find.SegmentName(r.form.Value("name"))
	if err == nil {
		err = r.store.RenameSegment(r.Context(), r.account(), r.id, name)
	}
	if err != nil {
		return err
	}
	return r.redirect(r.samePage(r.path("/segments")), notice{Text: "Segment renamed to “" + name + "”."})
}

func (r *request) deleteSegment() error {
	old, err := r.store.DeleteSegment(r.Context(), r.account(), r.id)
	if err != nil {
		return err
	}
	return r.redirect(r.samePage(r.path("/segments")), notice{Text: "Segment “" + old.Name + "” deleted. Its contacts weren’t affected."})
}
