package console

import (
	"net/http"

	"donorbook/internal/console/page"
	"donorbook/internal/web"
)

// keptPage shows a form of the route that a person had typed when the session ended, on its page.
func (c *Console) keptPage(route route) web.HandlerFunc {
	show := route.page
	route.page, route.handle = nil, func(r *page.Request) error {
		r.Form.Fail("", "You were signed out before this was saved. Check the form, then submit it again.")
		return show(r)
	}
	return func(w http.ResponseWriter, sent *http.Request) (err error) {
		r := &page.Request{Site: c.site, Request: sent, W: w, Form: page.SentForm(sent.URL.Path, sent.PostForm)}
		if r.Session, err = c.site.SessionOf(sent); err != nil {
			return err
		}
		return enter(r, route)
	}
}
