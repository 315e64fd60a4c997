package contacts

import (
	"strconv"
	"time"

	"donorbook/internal/console/page"
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
func fillSegments(r *page.Request, view *contactsView) error {
	all, err := segments(r)
	for i := range all {
		if all[i].Current = all[i].Address == page.WithQuery(view.Base, view.Asked); all[i].Current {
			view.Segment = all[i].Name
		}
	}
	view.Segments = all
	this := int64(r.Today().Year())
	for _, year := range []int64{this, this - 1} {
		for _, known := range page.ReportsOf(year, this) {
			if known.Query == view.Asked.Encode() {
				view.Report = known.Name
			}
		}
	}
	return err
}

func segments(r *page.Request) (links []segmentLink, err error) {
	all, err := r.Store.Segments(r.Context(), r.Account())
	for _, s := range all {
		links = append(links, segmentLink{ID: s.ID, Name: s.Name, Typed: s.Name, Query: s.Query, Address: r.ListPath(page.ContactListing, s.Query), Actor: s.Actor, CreatedAt: s.CreatedAt})
	}
	return links, err
}

// segmentColumns are those of the list of segments. Only those who may change segments see the last one.
var segmentColumns = []page.Column{
	{Name: "name", Label: "Name"}, {Name: "contacts", Label: "Contacts", Class: "right number", Told: true}, {Name: "by", Label: "Saved by", Told: true}, {Name: "saved", Label: "Saved", Told: true},
	{Name: "act", Label: "Actions", Class: "right"},
}

// SegmentsPage lists the segments. A form that was refused is the new name of one.
func SegmentsPage(r *page.Request) error {
	all, err := segments(r)
	if err != nil {
		return err
	}
	people, err := r.PeopleOf()
	if err != nil {
		return err
	}
	for i := range all {
		all[i].Actor = people.Called(all[i].Actor)
		if s := &all[i]; r.Form.SentTo("/segments/" + strconv.FormatInt(s.ID, 10)) {
			s.Typed, s.Fault = r.Form.Value("name"), r.Form.FirstFault("name", "Name")
		}
	}
	shown := page.Paged(r, all, r.Path("/segments"), page.PageParameter)
	err = r.CountContacts(len(shown.Rows), func(i int) (string, **int64) { return shown.Rows[i].Query, &shown.Rows[i].Contacts })
	if err != nil {
		return err
	}
	view := r.NewTable("segments", "Segments", segmentColumns, page.Pointers(shown.Rows))
	if view.Pager = shown.Pager; !view.MayEdit() {
		view.Columns = page.Without(view.Columns, "act")
	}
	return r.Render("segments", page.View{Title: "Segments", Section: "segments", Form: r.Form, Data: view})
}

// CreateSegment saves the filter of a list. Where it is refused, the list is shown again.
func CreateSegment(r *page.Request) error {
	made, err := find.NewSegment(r.Form.Value("name"), r.Form.Fields.Get("query"), r.Options.Region)
	if err == nil {
		made, err = r.Store.CreateSegment(r.Once(r.Always("/segments", "The segment was saved.")), r.Account(), made)
	}
	return r.Done(err, r.ListPath(page.ContactListing, made.Query), page.Notice{Text: "Segment “" + made.Name + "” saved. You can find it under Segments."})
}

// RefusedSegment is the list whose filter could not be saved.
func RefusedSegment(r *page.Request) error {
	r.URL.RawQuery = r.Form.Fields.Get("query")
	return ListPage(r)
}

func RenameSegment(r *page.Request) error {
	name, err := find.SegmentName(r.Form.Value("name"))
	if err == nil {
		err = r.Store.RenameSegment(r.Context(), r.Account(), r.ID, name)
	}
	return r.Done(err, r.SamePage(r.Path("/segments")), page.Notice{Text: "Segment renamed to “" + name + "”."})
}

func DeleteSegment(r *page.Request) error {
	old, err := r.Store.DeleteSegment(r.Context(), r.Account(), r.ID)
	return r.Done(err, r.SamePage(r.Path("/segments")), page.Notice{Text: "Segment “" + old.Name + "” deleted. Its contacts weren’t affected."})
}
