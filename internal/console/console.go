// Package console is the HTML side: the pages where people run their account. It turns forms into inputs of crm, calls the
// same functions of the store as the API, and turns results into pages. It holds no rule of its own.
package console

import (
	"net/http"
	"time"

	"donorbook/internal/crm/access"
	"donorbook/internal/crm/text"
	"donorbook/internal/store/book"
	"donorbook/internal/web"
)

// Options are what the console needs to know beside the store.
type Options struct {
	Proxies   *web.Proxies
	Region    string // where a phone number without + is from
	RateLimit int    // requests a minute for each user, and for each stranger's address; 0 is no limit
	Created   func(merged bool)
	SignIn    func(SignInOutcome)
	Now       func() time.Time // the clock; nil is the machine's
	Trust     string           // what curl must be told to trust the server's certificate, with a space behind it; "" for nothing
}

// Console serves everything below /console.
type Console struct {
	store    *book.Book
	options  Options
	mux      *web.Mux
	origin   http.CrossOriginProtection
	rates    rates
	throttle *throttle
	uploads  uploads
	pages    pages
	now      func() time.Time
}

const root = "/console"

// visit is who looks at a page, and where.
type visit struct {
	session    access.Session    // empty for a stranger
	membership access.Membership // of the organization in the path; empty on pages that belong to none
	id         int64             // of the contact, campaign, key or user in the path
}

func (v visit) account() int64 { return v.membership.Account.Number }

// zone is the time zone of the organization, UTC on pages that belong to none.
func (v visit) zone() *time.Location { return text.Location(v.membership.Timezone) }

// today is the time now, in the organization's zone: the date of it is today's.
func (c *Console) today(v visit) time.Time { return c.now().In(v.zone()) }

// path is the address of a page of the organization.
func (v visit) path(rest string) string { return orgPath(v.membership.Account, rest) }

func orgPath(account access.Account, rest string) string { return root + "/o/" + account.ID + rest }

// handler answers a person who may do this. The form is the one that was sent, or an empty one.
type handler func(*Console, http.ResponseWriter, *http.Request, visit, *form) error

// route is one line of the console: what is asked, who may ask, who answers. A form that is refused is answered by the page
// that it came from, which gets the form with its faults.
type route struct {
	method, path string
	role         access.Role // with one, the path is below an organization's
	handle, page handler
}

// Who may ask, beside the members of an organization.
const (
	stranger access.Role = iota - 1
	user                 // has signed in
)

var routes = []route{
	{"GET", "/signin", stranger, (*Console).signInPage, nil},
	{"POST", "/signin", stranger, (*Console).signIn, (*Console).signInPage},
	{"GET", "/setup/{token}", stranger, (*Console).setupPage, nil},
	{"POST", "/setup/{token}", stranger, (*Console).setup, (*Console).setupPage},
	{"GET", "/invite/{token}", stranger, (*Console).invitationPage, nil},
	{"POST", "/invite/{token}", stranger, (*Console).join, (*Console).invitationPage},

	{"GET", "", user, (*Console).entrance, nil},
	{"GET", "/{$}", user, (*Console).entrance, nil},
	{"POST", "/signout", stranger, (*Console).signOut, nil},
	{"POST", "/invite/{token}/accept", user, (*Console).accept, nil},
	{"GET", "/profile", user, (*Console).profilePage, nil},
	{"POST", "/profile/name", user, (*Console).renameUser, (*Console).profilePage},
	{"POST", "/profile/password", user, (*Console).changePassword, (*Console).profilePage},
	{"POST", "/profile/sessions/{session}/end", user, (*Console).endSession, nil},
	{"POST", "/profile/sessions/end", user, (*Console).endSessions, nil},

	{"GET", "", access.Viewer, (*Console).homePage, nil},

	{"GET", "/contacts", access.Viewer, (*Console).contactsPage, nil},
	{"GET", "/contacts/columns", access.Viewer, (*Console).chooseColumns, nil},
	{"GET", "/segments", access.Viewer, (*Console).segmentsPage, nil},
	{"POST", "/segments", access.Editor, (*Console).createSegment, (*Console).refusedSegment},
	{"POST", "/segments/{id}", access.Editor, (*Console).renameSegment, (*Console).segmentsPage},
	{"POST", "/segments/{id}/delete", access.Editor, (*Console).deleteSegment, nil},
	{"GET", "/contacts/export", access.Viewer, (*Console).exportContacts, nil},
	{"GET", "/contacts/new", access.Editor, (*Console).newContactPage, nil},
	{"POST", "/contacts", access.Editor, (*Console).createContact, (*Console).newContactPage},
	{"POST", "/contacts/bulk", access.Editor, (*Console).bulkContacts, (*Console).bulkContacts},
	{"GET", "/contacts/import", access.Viewer, (*Console).importsPage, nil},
	{"POST", "/contacts/import", access.Editor, (*Console).uploadImport, (*Console).importsPage},
	{"GET", "/imports/{import}", access.Viewer, (*Console).importPage, nil},
	{"POST", "/imports/{import}", access.Editor, (*Console).beginImport, (*Console).importPage},
	{"POST", "/imports/{import}/cancel", access.Editor, (*Console).cancelImport, nil},
	{"POST", "/imports/{import}/undo", access.Editor, (*Console).undoImport, (*Console).importPage},
	{"GET", "/imports/{import}/rejected", access.Viewer, (*Console).rejectedRows, nil},
	{"GET", "/contacts/{id}", access.Viewer, (*Console).contactPage, nil},
	{"GET", "/contacts/{id}/edit", access.Editor, (*Console).editContactPage, nil},
	{"POST", "/contacts/{id}", access.Editor, (*Console).saveContact, (*Console).editContactPage},
	{"POST", "/contacts/{id}/archive", access.Editor, (*Console).archiveContact, nil},
	{"POST", "/contacts/{id}/restore", access.Editor, (*Console).restoreContact, nil},
	{"GET", "/contacts/{id}/data", access.Viewer, (*Console).contactData, nil},
	{"GET", "/contacts/{id}/erase", access.Owner, (*Console).eraseContactPage, nil},
	{"POST", "/contacts/{id}/erase", access.Owner, (*Console).eraseContact, (*Console).eraseContactPage},
	{"POST", "/contacts/{id}/tags/add", access.Editor, (*Console).addTags, (*Console).contactPage},
	{"POST", "/contacts/{id}/tags/remove", access.Editor, (*Console).removeTag, (*Console).contactPage},
	{"GET", "/tags", access.Viewer, (*Console).tagsPage, nil},
	{"GET", "/tags/rename", access.Editor, (*Console).renameTagPage, nil},
	{"POST", "/tags/rename", access.Editor, (*Console).renameTag, (*Console).renameTagPage},
	{"GET", "/tags/delete", access.Editor, (*Console).deleteTagPage, nil},
	{"POST", "/tags/delete", access.Editor, (*Console).deleteTag, (*Console).deleteTagPage},
	{"POST", "/tags/merge", access.Editor, (*Console).mergeTags, (*Console).tagsPage},
	{"GET", "/jobs", access.Viewer, (*Console).jobsPage, nil},
	{"GET", "/jobs/{job}", access.Viewer, (*Console).jobPage, nil},
	{"POST", "/jobs/{job}/cancel", access.Editor, (*Console).cancelJob, nil},
	{"POST", "/jobs/{job}/undo", access.Editor, (*Console).undoJob, nil},
	{"GET", "/contacts/{id}/history", access.Viewer, (*Console).timelinePage, nil},
	{"POST", "/contacts/{id}/history/{change}/undo", access.Editor, (*Console).undoChange, nil},
	{"POST", "/contacts/{id}/notes", access.Editor, (*Console).addNote, (*Console).contactPage},
	{"GET", "/contacts/{id}/statement", access.Viewer, (*Console).statementPage, nil},

	{"GET", "/donors", access.Viewer, (*Console).donorsPage, nil},
	{"GET", "/statements", access.Viewer, (*Console).statementsPage, nil},

	{"GET", "/gifts", access.Viewer, (*Console).giftsPage, nil},
	{"GET", "/gifts/export", access.Viewer, (*Console).exportGifts, nil},
	{"POST", "/contacts/{id}/gifts", access.Editor, (*Console).recordGift, (*Console).contactPage},
	{"GET", "/gifts/{gift}", access.Viewer, (*Console).giftPage, nil},
	{"GET", "/gifts/{gift}/edit", access.Editor, (*Console).editGiftPage, nil},
	{"POST", "/gifts/{gift}", access.Editor, (*Console).saveGift, (*Console).editGiftPage},
	{"POST", "/gifts/{gift}/refund", access.Editor, (*Console).refundGift, (*Console).giftPage},
	{"POST", "/gifts/{gift}/refund/undo", access.Editor, (*Console).undoRefund, (*Console).giftPage},
	{"POST", "/gifts/{gift}/receive", access.Editor, (*Console).receiveGift, (*Console).giftPage},
	{"GET", "/plans", access.Viewer, (*Console).plansPage, nil},
	{"GET", "/contacts/{id}/plans/new", access.Editor, (*Console).newPlanPage, nil},
	{"POST", "/contacts/{id}/plans", access.Editor, (*Console).createPlan, (*Console).newPlanPage},
	{"GET", "/plans/{plan}", access.Viewer, (*Console).planPage, nil},
	{"GET", "/plans/{plan}/edit", access.Editor, (*Console).editPlanPage, nil},
	{"POST", "/plans/{plan}", access.Editor, (*Console).savePlan, (*Console).editPlanPage},
	{"POST", "/plans/{plan}/pause", access.Editor, (*Console).pausePlan, nil},
	{"POST", "/plans/{plan}/resume", access.Editor, (*Console).resumePlan, nil},
	{"POST", "/plans/{plan}/end", access.Editor, (*Console).endPlan, nil},

	{"GET", "/campaigns", access.Viewer, (*Console).campaignsPage, nil},
	{"GET", "/campaigns/export", access.Viewer, (*Console).exportCampaigns, nil},
	{"GET", "/campaigns/new", access.Editor, (*Console).newCampaignPage, nil},
	{"POST", "/campaigns", access.Editor, (*Console).createCampaign, (*Console).newCampaignPage},
	{"GET", "/campaigns/{id}", access.Viewer, (*Console).campaignPage, nil},
	{"GET", "/campaigns/{id}/edit", access.Editor, (*Console).editCampaignPage, nil},
	{"POST", "/campaigns/{id}", access.Editor, (*Console).saveCampaign, (*Console).editCampaignPage},
	{"POST", "/campaigns/{id}/status/{status}", access.Editor, (*Console).setCampaignStatus, nil},
	{"GET", "/campaigns/{id}/delete", access.Editor, (*Console).deleteCampaignPage, nil},
	{"POST", "/campaigns/{id}/delete", access.Editor, (*Console).deleteCampaign, (*Console).deleteCampaignPage},

	{"GET", "/chapters", access.Viewer, (*Console).chaptersPage, nil},
	{"POST", "/chapters", access.Owner, (*Console).createChapter, (*Console).chaptersPage},
	{"POST", "/chapters/{chapter}", access.Owner, (*Console).renameChapter, (*Console).chaptersPage},

	{"GET", "/settings", access.Viewer, (*Console).settingsPage, nil},
	{"POST", "/settings/name", access.Owner, (*Console).renameOrganization, (*Console).settingsPage},
	{"GET", "/settings/history", access.Owner, (*Console).historyPage, nil},
	{"POST", "/settings/history", access.Owner, (*Console).saveHistorySettings, (*Console).settingsPage},
	{"POST", "/settings/timezone", access.Owner, (*Console).saveTimezone, (*Console).settingsPage},
	{"POST", "/settings/giving", access.Owner, (*Console).saveGivingSettings, (*Console).settingsPage},
	{"GET", "/settings/fields", access.Owner, (*Console).fieldsPage, nil},
	{"GET", "/settings/fields/new", access.Owner, (*Console).newFieldPage, nil},
	{"POST", "/settings/fields", access.Owner, (*Console).createField, (*Console).newFieldPage},
	{"GET", "/settings/fields/{id}", access.Owner, (*Console).editFieldPage, nil},
	{"POST", "/settings/fields/{id}", access.Owner, (*Console).saveField, (*Console).editFieldPage},
	{"POST", "/settings/fields/{id}/up", access.Owner, (*Console).raiseField, nil},
	{"POST", "/settings/fields/{id}/down", access.Owner, (*Console).lowerField, nil},
	{"POST", "/settings/fields/{id}/end", access.Owner, (*Console).endField, nil},
	{"POST", "/settings/fields/{id}/resume", access.Owner, (*Console).resumeField, (*Console).fieldsPage},
	{"GET", "/settings/keys", access.Owner, (*Console).keysPage, nil},
	{"GET", "/settings/keys/new", access.Owner, (*Console).newKeyPage, nil},
	{"POST", "/settings/keys", access.Owner, (*Console).createKey, (*Console).newKeyPage},
	{"GET", "/settings/keys/{id}", access.Owner, (*Console).keyPage, nil},
	{"GET", "/settings/keys/{id}/revoke", access.Owner, (*Console).revokeKeyPage, nil},
	{"POST", "/settings/keys/{id}/revoke", access.Owner, (*Console).revokeKey, nil},
	{"GET", "/settings/people", access.Viewer, (*Console).peoplePage, nil},
	{"POST", "/settings/people/invite", access.Owner, (*Console).invite, (*Console).peoplePage},
	{"GET", "/settings/people/invited", access.Owner, (*Console).invitedPage, nil},
	{"POST", "/settings/people/invitations/{invitation}/revoke", access.Owner, (*Console).revokeInvitation, nil},
	{"POST", "/settings/people/{user}/role", access.Owner, (*Console).setRole, (*Console).peoplePage},
	{"POST", "/settings/people/{user}/remove", access.Viewer, (*Console).removeMember, (*Console).peoplePage},
}

// pattern is the route as the mux takes it.
func (r route) pattern() string {
	if r.role > user {
		return r.method + " " + root + "/o/{org}" + r.path
	}
	return r.method + " " + root + r.path
}

// New is the console over a store.
func New(s *book.Book, o Options) (*Console, error) {
	pages, err := findPages(o.Region)
	if err != nil {
		return nil, err
	}
	c := &Console{
		store: s, options: o, mux: web.NewMux(), rates: newRates(o.RateLimit), throttle: newThrottle(time.Now),
		pages: pages, now: time.Now,
	}
	if o.Now != nil {
		c.now = o.Now
	}
	c.mux.RenderErrors(c.errorPage)
	c.mux.Handle("GET "+root+"/static/{file}", c.serveFile)
	for _, route := range routes {
		c.mux.Handle(route.pattern(), c.authorize(route))
	}
	return c, nil
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

// The pages need nothing from any other address but images; nothing runs that is not a file of ours.
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

// entrance leads to the organization that was open last, or to any.
func (c *Console) entrance(w http.ResponseWriter, r *http.Request, v visit, _ *form) error {
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

// redirect leads the browser on with a GET, to a page that says what was done, where there is something to say.
func redirect(w http.ResponseWriter, r *http.Request, to string, said ...notice) error {
	for _, n := range said {
		leaveNotice(w, n)
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
	return nil
}
