package console

import (
	"net/http"
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
	Current   bool
	Typed     string // a new name that was refused, or the name
	Fault     string
}

// fillSegments fills in the menu of segments.
func (c *Console) fillSegments(r *http.Request, v visit, view *contactsView) error {
	all, err := c.segments(r, v)
	for i := range all {
		if all[i].Current = all[i].Address == withQuery(view.path, view.query); all[i].Current {
			view.Segment = all[i].Name
		}
	}
	view.Segments = all
	return err
}

func (c *Console) segments(r *http.Request, v visit) (links []segmentLink, err error) {
	all, err := c.store.Segments(r.Context(), v.account())
	for _, s := range all {
		links = append(links, segmentLink{ID: s.ID, Name: s.Name, Typed: s.Name, Address: v.listPath(s.Query), Actor: s.Actor, CreatedAt: s.CreatedAt})
	}
	return links, err
}

// segmentsPage lists the segments. A form that was refused is the new name of one.
func (c *Console) segmentsPage(w http.ResponseWriter, r *http.Request, v visit, f *form) error {
	all, err := c.segments(r, v)
	if err != nil {
		return err
	}
	people, err := c.peopleOf(r, v)
	if err != nil {
		return err
	}
	for i := range all {
		all[i].Actor = people.called(all[i].Actor)
		if s := &all[i]; f.sentTo("/segments/" + strconv.FormatInt(s.ID, 10)) {
			s.Typed, s.Fault = f.Value("name"), f.firstFault("name", "Name")
		}
	}
	return c.render(w, r, v, "segments", page{Title: "Segments", Section: "segments", Form: f, Data: paged(all, r, v.path("/segments"), pageParameter)})
}

// createSegment saves the filter of a list. Where it is refused, the list is shown again.
func (c *Console) createSegment(w http.ResponseWriter, r *http.Request, v visit, f *form) error {
	made, err := find.NewSegment(f.Value("name"), f.values.Get("query"), c.options.Region)
	if err == nil {
		made, err = c.store.CreateSegment(r.Context(), v.account(), made)
	}
	if err != nil {
		return err
	}
	return redirect(w, r, v.listPath(made.Query), notice{Text: "The segment “" + made.Name + "” was saved. You find it under Segments."})
}

// refusedSegment is the list whose filter could not be saved.
func (c *Console) refusedSegment(w http.ResponseWriter, r *http.Request, v visit, f *form) error {
	r.URL.RawQuery = f.values.Get("query")
	return c.contactsPage(w, r, v, f)
}

func (c *Console) renameSegment(w http.ResponseWriter, r *http.Request, v visit, f *form) error {
	name, err := find.SegmentName(f.Value("name"))
	if err == nil {
		err = c.store.RenameSegment(r.Context(), v.account(), v.id, name)
	}
	if err != nil {
		return err
	}
	return redirect(w, r, samePage(v.path("/segments"), r), notice{Text: "The segment is now called “" + name + "”."})
}

func (c *Console) deleteSegment(w http.ResponseWriter, r *http.Request, v visit, _ *form) error {
	old, err := c.store.DeleteSegment(r.Context(), v.account(), v.id)
	if err != nil {
		return err
	}
	return redirect(w, r, samePage(v.path("/segments"), r), notice{Text: "The segment “" + old.Name + "” was deleted. Its contacts are as they were."})
}
