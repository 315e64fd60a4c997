// Package console is the HTML door: the pages where people run their account. It turns forms into inputs of crm, calls the
// same functions of the store as the API, and turns results into pages. It holds no rule of its own.
package console

import (
	"net/http"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/store"
	"donorbook/internal/web"
)

// Options are what the console needs to know beside the store.
type Options struct {
	Proxies   *web.Proxies
	Region    string // where a phone number without + is from
	RateLimit int    // requests a minute for each user, and for each stranger's address; 0 is no limit
	Created   func(merged bool)
	SignIn    func(SignInOutcome)
	Trust     string // what curl must be told to trust the server's certificate, with a space behind it; "" for nothing
}

// Console serves everything below /console.
type Console struct {
	store    *store.Store
	options  Options
	mux      *web.Mux
	origin   http.CrossOriginProtection
	rates    rates
	throttle *throttle
	pages    pages
	now      func() time.Time
}

const root = "/console"

// visit is who looks at a page, and where.
type visit struct {
	session    crm.Session
	membership crm.Membership // of the organization in the path; empty on pages that belong to none
}

func (v visit) account() int64 { return v.membership.Account.Number }

// path is the address of a page of the organization.
func (v visit) path(rest string) string { return orgPath(v.membership.Account, rest) }

func orgPath(account crm.Account, rest string) string { return root + "/o/" + account.ID + rest }

// handler answers somebody who has signed in and may do this.
type handler func(*Console, http.ResponseWriter, *http.Request, visit) error

// route is one line of an organization's pages: what is asked, who may, who answers.
type route struct {
	pattern string // below the organization
	role    crm.Role
	handle  handler
}

// strangerRoutes are open to strangers, beside the files that pages are made of.
var strangerRoutes = []struct {
	pattern string
	handle  func(*Console, http.ResponseWriter, *http.Request) error
}{
	{"GET /signin", (*Console).signInPage},
	{"POST /signin", (*Console).signIn},
	{"GET /setup/{token}", (*Console).setupPage},
	{"POST /setup/{token}", (*Console).setup},
	{"GET /invite/{token}", (*Console).invitationPage},
	{"POST /invite/{token}", (*Console).join},
}

// userRoutes are for whoever has signed in, whatever organization they belong to.
var userRoutes = []route{
	{"GET ", 0, (*Console).entrance},
	{"GET /{$}", 0, (*Console).entrance},
	{"POST /signout", 0, (*Console).signOut},
	{"POST /invite/{token}/accept", 0, (*Console).accept},
	{"GET /profile", 0, (*Console).profilePage},
	{"POST /profile/name", 0, (*Console).renameUser},
	{"POST /profile/password", 0, (*Console).changePassword},
	{"POST /profile/sessions/{session}/end", 0, (*Console).endSession},
	{"POST /profile/sessions/end", 0, (*Console).endSessions},
}

// routes are the pages of an organization.
var routes = []route{
	{"GET ", crm.Viewer, (*Console).homePage},

	{"GET /contacts", crm.Viewer, (*Console).contactsPage},
	{"GET /contacts/new", crm.Editor, (*Console).newContactPage},
	{"POST /contacts", crm.Editor, (*Console).createContact},
	{"GET /contacts/{id}", crm.Viewer, (*Console).contactPage},
	{"GET /contacts/{id}/edit", crm.Editor, (*Console).editContactPage},
	{"POST /contacts/{id}", crm.Editor, (*Console).saveContact},
	{"POST /contacts/{id}/archive", crm.Editor, (*Console).archiveContact},
	{"POST /contacts/{id}/restore", crm.Editor, (*Console).restoreContact},
	{"POST /contacts/{id}/tags/add", crm.Editor, (*Console).addTags},
	{"POST /contacts/{id}/tags/remove", crm.Editor, (*Console).removeTag},
	{"GET /tags", crm.Viewer, (*Console).suggestTags},

	{"GET /campaigns", crm.Viewer, (*Console).campaignsPage},
	{"GET /campaigns/new", crm.Editor, (*Console).newCampaignPage},
	{"POST /campaigns", crm.Editor, (*Console).createCampaign},
	{"GET /campaigns/{id}", crm.Viewer, (*Console).campaignPage},
	{"GET /campaigns/{id}/edit", crm.Editor, (*Console).editCampaignPage},
	{"POST /campaigns/{id}", crm.Editor, (*Console).saveCampaign},

	{"GET /chapters", crm.Viewer, (*Console).chaptersPage},
	{"POST /chapters", crm.Owner, (*Console).createChapter},
	{"POST /chapters/{chapter}", crm.Owner, (*Console).renameChapter},

	{"GET /settings", crm.Viewer, (*Console).settingsPage},
	{"POST /settings/name", crm.Owner, (*Console).renameOrganization},
	{"GET /settings/keys", crm.Owner, (*Console).keysPage},
	{"GET /settings/keys/new", crm.Owner, (*Console).newKeyPage},
	{"POST /settings/keys", crm.Owner, (*Console).createKey},
	{"GET /settings/keys/{id}", crm.Owner, (*Console).keyPage},
	{"GET /settings/keys/{id}/revoke", crm.Owner, (*Console).revokeKeyPage},
	{"POST /settings/keys/{id}/revoke", crm.Owner, (*Console).revokeKey},
	{"GET /settings/people", crm.Viewer, (*Console).peoplePage},
	{"POST /settings/people/invite", crm.Owner, (*Console).invite},
	{"GET /settings/people/invited", crm.Owner, (*Console).invitedPage},
	{"POST /settings/people/invitations/{invitation}/revoke", crm.Owner, (*Console).revokeInvitation},
	{"POST /settings/people/{user}/role", crm.Owner, (*Console).setRole},
	{"POST /settings/people/{user}/remove", crm.Viewer, (*Console).removeMember},
}

// New is the console over a store.
func New(s *store.Store, o Options) (*Console, error) {
	pages, err := findPages(o.Region)
	if err != nil {
		return nil, err
	}
	c := &Console{
		store: s, options: o, mux: web.NewMux(), rates: newRates(o.RateLimit), throttle: newThrottle(time.Now),
		pages: pages, now: time.Now,
	}
	c.mux.RenderErrors(c.errorPage)
	c.mux.Handle("GET "+root+"/static/{file}", c.serveFile)
	for _, route := range strangerRoutes {
		c.mux.Handle(below(root, route.pattern), c.open(route.handle))
	}
	for _, route := range userRoutes {
		c.mux.Handle(below(root, route.pattern), c.signedIn(ownForm, route.handle))
	}
	for _, route := range routes {
		c.mux.Handle(below(root+"/o/{org}", route.pattern), c.member(route))
	}
	return c, nil
}

// below puts a path in front of that of a pattern.
func below(path, pattern string) string {
	method, rest, _ := strings.Cut(pattern, " ")
	return method + " " + path + rest
}

// Routes adds the console to the service's mux, and leads people who type the bare address to it.
func (c *Console) Routes(mux *web.Mux) {
	mux.Handle("GET /favicon.ico", func(w http.ResponseWriter, r *http.Request) error { // browsers ask for it wherever they are
		return staticFiles()["icon.svg"].Serve(w, r)
	})
	mux.Handle("GET /{$}", func(w http.ResponseWriter, r *http.Request) error { return redirect(w, r, root) })
	mux.Handle(root, c.Serve)
	mux.Handle(root+"/", c.Serve)
}

// The pages need nothing from any other address but pictures; nothing runs that is not a file of ours.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: https:; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Serve answers a request below /console.
func (c *Console) Serve(w http.ResponseWriter, r *http.Request) error {
	guard(w.Header())
	return c.mux.Serve(w, r)
}

// guard tells browsers what a page of ours never does.
func guard(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
}

// member lets in whoever belongs to the organization in the path and has the role. To everybody else the organization does
// not exist.
func (c *Console) member(route route) web.HandlerFunc {
	limit := int64(ownForm)
	if route.role == crm.Editor { // editors change contacts and campaigns
		limit = recordForm
	}
	return c.signedIn(limit, func(c *Console, w http.ResponseWriter, r *http.Request, v visit) (err error) {
		if v.membership, err = c.store.Membership(r.Context(), v.session.User.ID, r.PathValue("org")); err != nil {
			return err
		}
		web.Note(w, v.account(), 0)
		if v.membership.Role < route.role {
			return forbidden(v.membership, route.role)
		}
		r = r.WithContext(store.Acting(r.Context(), v.session.User.ID, v.account(), route.role))
		return route.handle(c, w, r, v)
	})
}

func forbidden(m crm.Membership, needed crm.Role) error {
	return &web.Error{Status: http.StatusForbidden,
		Message: "Your role at " + m.Account.Name + " is " + m.Role.String() + ", and this needs the role " + needed.String() + ". An owner can change your role."}
}

// entrance leads to the organization that was open last, or to any.
func (c *Console) entrance(w http.ResponseWriter, r *http.Request, v visit) error {
	all, err := c.store.Memberships(r.Context(), v.session.User.ID)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return redirect(w, r, root+"/profile")
	}
	open := all[0].Account
	for _, m := range all {
		if m.Account.Number == v.session.Account {
			open = m.Account
		}
	}
	return redirect(w, r, orgPath(open, ""))
}

// redirect leads the browser on with a GET.
func redirect(w http.ResponseWriter, r *http.Request, to string) error {
	http.Redirect(w, r, to, http.StatusSeeOther)
	return nil
}
