// Package console is the HTML side: the pages where people run their account. It turns forms into inputs of crm, calls the
// same functions of the store as the API, and turns results into pages. It holds no rule of its own.
package console

import (
	"net/http"
	"time"

	"donorbook/internal/crm/access"
	"donorbook/internal/crm/picture"
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
	kept     *web.Mux // the pages of forms that were kept while a person signed in
	origin   http.CrossOriginProtection
	rates    rates
	throttle *throttle
	uploads  uploads
	pages    pages
	now      func() time.Time
}

const root = "/console"

// request is one request of a person: who asks, for what, what they sent, and where the answer goes.
type request struct {
	*Console
	*http.Request
	w          http.ResponseWriter
	session    access.Session    // empty for a stranger
	membership access.Membership // of the organization in the path; empty on pages that belong to none
	id         int64             // of the contact, campaign, key or user in the path
	form       *form             // the one that was sent, or an empty one
	attempt    string            // the name of a form that creates something; "" for any other
}

func (r *request) account() int64 { return r.membership.Account.Number }

// zone is the time zone of the organization, UTC on pages that belong to none.
func (r *request) zone() *time.Location { return text.Location(r.membership.Timezone) }

// today is the time now, in the organization's zone: the date of it is today's.
func (r *request) today() time.Time { return r.now().In(r.zone()) }

// path is the address of a page of the organization.
func (r *request) path(rest string) string { return orgPath(r.membership.Account, rest) }

func orgPath(account access.Account, rest string) string { return root + "/o/" + account.ID + rest }

// redirect leads the browser on with a GET, to a page that says what was done, where there is something to say.
func (r *request) redirect(to string, said ...notice) error {
	for _, n := range said {
		leaveNotice(r.w, n)
	}
	return redirect(r.w, r.Request, to)
}

// handler answers a person who may do this.
type handler func(*request) error

// of has a handler answer about the thing that the path names, which is loaded first.
func of[T any](load func(*request) (T, error), handle func(*request, T) error) handler {
	return func(r *request) error {
		thing, err := load(r)
		if err != nil {
			return err
		}
		return handle(r, thing)
	}
}

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
	{"GET", "/signin", stranger, (*request).signInPage, nil},
	{"POST", "/signin", stranger, (*request).signIn, (*request).signInPage},
	{"GET", "/forgot", stranger, (*request).forgotPage, nil},
	{"POST", "/forgot", stranger, (*request).forgot, (*request).forgotPage},
	{"GET", "/reset/{token}", stranger, (*request).resetPage, nil},
	{"POST", "/reset/{token}", stranger, (*request).reset, (*request).resetPage},
	{"GET", "/mails", stranger, (*request).shelfPage, nil},
	{"GET", "/setup/{token}", stranger, (*request).setupPage, nil},
	{"POST", "/setup/{token}", stranger, (*request).setup, (*request).setupPage},
	{"GET", "/invite/{token}", stranger, (*request).invitationPage, nil},
	{"POST", "/invite/{token}", stranger, (*request).join, (*request).invitationPage},

	{"GET", "", user, (*request).entrance, nil},
	{"GET", "/{$}", user, (*request).entrance, nil},
	{"POST", "/signout", stranger, (*request).signOut, nil},
	{"POST", "/invite/{token}/accept", user, (*request).accept, nil},
	{"GET", "/profile", user, (*request).profilePage, nil},
	{"GET", "/design", user, (*request).designPage, nil},
	{"POST", "/profile/name", user, (*request).renameUser, (*request).profilePage},
	{"POST", "/profile/password", user, (*request).changePassword, (*request).profilePage},
	{"POST", "/profile/sessions/{session}/end", user, (*request).endSession, nil},
	{"POST", "/profile/sessions/end", user, (*request).endSessions, nil},

	{"GET", "", access.Viewer, (*request).homePage, nil},
	{"POST", "/first-steps/hide", access.Editor, (*request).hideSteps, nil},
	{"GET", "/search", access.Viewer, (*request).searchPage, nil},
	{"GET", "/search/suggestions", access.Viewer, (*request).suggestions, nil},

	{"GET", "/contacts", access.Viewer, (*request).contactsPage, nil},
	{"GET", "/contacts/columns", access.Viewer, (*request).chooseColumns, nil},
	{"GET", "/columns/{list}", access.Viewer, (*request).chooseColumns, nil},
	{"GET", "/reports", access.Viewer, (*request).reportsPage, nil},
	{"GET", "/reports/export", access.Viewer, (*request).exportReport, nil},
	{"GET", "/segments", access.Viewer, (*request).segmentsPage, nil},
	{"POST", "/segments", access.Editor, (*request).createSegment, (*request).refusedSegment},
	{"POST", "/segments/{id}", access.Editor, (*request).renameSegment, (*request).segmentsPage},
	{"POST", "/segments/{id}/delete", access.Editor, (*request).deleteSegment, nil},
	{"GET", "/contacts/export", access.Viewer, (*request).exportContacts, nil},
	{"GET", "/contacts/new", access.Editor, (*request).newContactPage, nil},
	{"POST", "/contacts", access.Editor, (*request).createContact, (*request).newContactPage},
	{"POST", "/contacts/bulk", access.Editor, (*request).bulkContacts, (*request).bulkPage},
	{"GET", "/contacts/import", access.Viewer, (*request).importsPage, nil},
	{"POST", "/contacts/import", access.Editor, (*request).uploadImport, (*request).importsPage},
	{"GET", "/imports/{import}", access.Viewer, of((*request).importOf, (*request).importPage), nil},
	{"POST", "/imports/{import}", access.Editor, of((*request).importOf, (*request).beginImport), of((*request).importOf, (*request).importPage)},
	{"POST", "/imports/{import}/cancel", access.Editor, of((*request).jobOf, (*request).cancelJob), nil},
	{"POST", "/imports/{import}/undo", access.Editor, of((*request).jobOf, (*request).undoJob), of((*request).jobOf, (*request).jobPage)},
	{"GET", "/imports/{import}/rejected", access.Viewer, of((*request).importOf, (*request).rejectedRows), nil},
	{"GET", "/contacts/{id}", access.Viewer, of((*request).contactOf, (*request).contactPage), nil},
	{"GET", "/contacts/{id}/edit", access.Editor, (*request).editContactPage, nil},
	{"POST", "/contacts/{id}", access.Editor, (*request).saveContact, (*request).editContactPage},
	{"POST", "/contacts/{id}/archive", access.Editor, (*request).archiveContact, nil},
	{"POST", "/contacts/{id}/restore", access.Editor, of((*request).contactOf, (*request).restoreContact), nil},
	{"GET", "/contacts/{id}/data", access.Viewer, (*request).contactData, nil},
	{"GET", "/contacts/{id}/erase", access.Owner, of((*request).contactOf, (*request).eraseContactPage), nil},
	{"POST", "/contacts/{id}/erase", access.Owner, of((*request).contactOf, (*request).eraseContact), of((*request).contactOf, (*request).eraseContactPage)},
	{"POST", "/contacts/{id}/tags/add", access.Editor, (*request).addTags, of((*request).contactOf, (*request).contactPage)},
	{"POST", "/contacts/{id}/tags/remove", access.Editor, (*request).removeTag, of((*request).contactOf, (*request).contactPage)},
	{"GET", "/contacts/{id}/merge", access.Viewer, of((*request).contactOf, (*request).mergePage), nil},
	{"POST", "/contacts/{id}/merge", access.Editor, of((*request).contactOf, (*request).mergeContacts), of((*request).contactOf, (*request).mergePage)},
	{"POST", "/contacts/{id}/distinct", access.Editor, of((*request).contactOf, (*request).dismissDuplicate), nil},
	{"POST", "/contacts/{id}/distinct/undo", access.Editor, of((*request).contactOf, (*request).undismissDuplicate), nil},
	{"GET", "/duplicates", access.Viewer, (*request).duplicatesPage, nil},
	{"POST", "/duplicates/check", access.Editor, (*request).checkDuplicates, nil},
	{"GET", "/duplicates/merge", access.Editor, (*request).mergeSurePage, nil},
	{"POST", "/duplicates/merge", access.Editor, (*request).mergeSure, nil},
	{"GET", "/merges", access.Viewer, (*request).mergesPage, nil},
	{"POST", "/merges/{merge}/undo", access.Editor, of((*request).mergeOf, (*request).undoMerge), nil},
	{"POST", "/merges/{merge}/keep", access.Editor, of((*request).mergeOf, (*request).keepMerge), nil},
	{"GET", "/tags", access.Viewer, (*request).tagsPage, nil},
	{"GET", "/tags/rename", access.Editor, (*request).renameTagPage, nil},
	{"POST", "/tags/rename", access.Editor, (*request).renameTag, (*request).renameTagPage},
	{"GET", "/tags/delete", access.Editor, (*request).deleteTagPage, nil},
	{"POST", "/tags/delete", access.Editor, (*request).deleteTag, (*request).deleteTagPage},
	{"POST", "/tags/merge", access.Editor, (*request).mergeTags, (*request).tagsPage},
	{"GET", "/jobs", access.Viewer, (*request).jobsPage, nil},
	{"GET", "/jobs/{job}", access.Viewer, of((*request).jobOf, (*request).jobPage), nil},
	{"POST", "/jobs/{job}/cancel", access.Editor, of((*request).jobOf, (*request).cancelJob), nil},
	{"POST", "/jobs/{job}/retry", access.Editor, of((*request).jobOf, (*request).retryJob), nil},
	{"POST", "/jobs/{job}/undo", access.Editor, of((*request).jobOf, (*request).undoJob), of((*request).jobOf, (*request).jobPage)},
	{"GET", "/contacts/{id}/history", access.Viewer, of((*request).contactOf, (*request).timelinePage), nil},
	{"POST", "/contacts/{id}/history/{change}/undo", access.Editor, (*request).undoChange, nil},
	{"POST", "/contacts/{id}/notes", access.Editor, (*request).addNote, of((*request).contactOf, (*request).contactPage)},
	{"GET", "/contacts/{id}/statement", access.Viewer, (*request).statementPage, nil},

	{"GET", "/donors", access.Viewer, (*request).donorsPage, nil},
	{"GET", "/donors/export", access.Viewer, (*request).exportDonors, nil},
	{"GET", "/statements", access.Viewer, (*request).statementsPage, nil},

	{"GET", "/gifts", access.Viewer, (*request).giftsPage, nil},
	{"GET", "/gifts/export", access.Viewer, (*request).exportGifts, nil},
	{"GET", "/gifts/new", access.Editor, (*request).newGiftPage, nil},
	{"POST", "/gifts", access.Editor, (*request).recordGiftOf, (*request).newGiftPage},
	{"POST", "/contacts/{id}/gifts", access.Editor, (*request).recordGift, of((*request).contactOf, (*request).contactPage)},
	{"GET", "/gifts/{gift}", access.Viewer, of((*request).giftOf, (*request).giftPage), nil},
	{"GET", "/gifts/{gift}/edit", access.Editor, of((*request).giftOf, (*request).editGiftPage), nil},
	{"POST", "/gifts/{gift}", access.Editor, of((*request).giftOf, (*request).saveGift), of((*request).giftOf, (*request).editGiftPage)},
	{"POST", "/gifts/{gift}/refund", access.Editor, of((*request).giftOf, (*request).refundGift), of((*request).giftOf, (*request).giftPage)},
	{"POST", "/gifts/{gift}/refund/undo", access.Editor, of((*request).giftOf, (*request).undoRefund), of((*request).giftOf, (*request).giftPage)},
	{"GET", "/gifts/{gift}/thank", access.Editor, of((*request).giftOf, (*request).thankPage), nil},
	{"POST", "/gifts/{gift}/thank", access.Editor, of((*request).giftOf, (*request).thankFor), of((*request).giftOf, (*request).thankPage)},
	{"GET", "/gifts/{gift}/letter", access.Viewer, of((*request).giftOf, (*request).letterPage), nil},
	{"POST", "/gifts/{gift}/receive", access.Editor, of((*request).giftOf, (*request).receiveGift), of((*request).giftOf, (*request).giftPage)},
	{"GET", "/plans", access.Viewer, (*request).plansPage, nil},
	{"GET", "/plans/export", access.Viewer, (*request).exportPlans, nil},
	{"GET", "/contacts/{id}/plans/new", access.Editor, (*request).newPlanPage, nil},
	{"POST", "/contacts/{id}/plans", access.Editor, (*request).createPlan, (*request).newPlanPage},
	{"GET", "/plans/{plan}", access.Viewer, of((*request).planOf, (*request).planPage), nil},
	{"GET", "/plans/{plan}/edit", access.Editor, of((*request).planOf, (*request).editPlanPage), nil},
	{"POST", "/plans/{plan}", access.Editor, of((*request).planOf, (*request).savePlan), of((*request).planOf, (*request).editPlanPage)},
	{"POST", "/plans/{plan}/pause", access.Editor, of((*request).planOf, (*request).pausePlan), nil},
	{"POST", "/plans/{plan}/resume", access.Editor, of((*request).planOf, (*request).resumePlan), nil},
	{"POST", "/plans/{plan}/end", access.Editor, of((*request).planOf, (*request).endPlan), nil},

	{"GET", "/campaigns", access.Viewer, (*request).campaignsPage, nil},
	{"GET", "/campaigns/export", access.Viewer, (*request).exportCampaigns, nil},
	{"GET", "/campaigns/new", access.Editor, (*request).newCampaignPage, nil},
	{"POST", "/campaigns", access.Editor, (*request).createCampaign, (*request).newCampaignPage},
	{"GET", "/campaigns/{id}", access.Viewer, of((*request).campaignOf, (*request).campaignPage), nil},
	{"GET", "/campaigns/{id}/edit", access.Editor, of((*request).ownCampaign, (*request).editCampaignPage), nil},
	{"POST", "/campaigns/{id}", access.Editor, of((*request).ownCampaign, (*request).saveCampaign), of((*request).ownCampaign, (*request).editCampaignPage)},
	{"POST", "/campaigns/{id}/status/{status}", access.Editor, of((*request).ownCampaign, (*request).setCampaignStatus), nil},
	{"GET", "/campaigns/{id}/delete", access.Editor, (*request).deleteCampaignPage, nil},
	{"POST", "/campaigns/{id}/delete", access.Editor, of((*request).ownCampaign, (*request).deleteCampaign), (*request).deleteCampaignPage},

	{"GET", "/chapters", access.Viewer, (*request).chaptersPage, nil},
	{"POST", "/chapters", access.Owner, (*request).createChapter, (*request).chaptersPage},
	{"POST", "/chapters/{chapter}", access.Owner, (*request).renameChapter, (*request).chaptersPage},

	{"GET", "/settings", access.Viewer, (*request).settingsPage, nil},
	{"POST", "/settings/organization", access.Owner, (*request).saveOrganization, (*request).settingsPage},
	{"GET", "/settings/history", access.Owner, (*request).historyPage, nil},
	{"POST", "/settings/history", access.Owner, (*request).saveHistorySettings, (*request).settingsPage},
	{"POST", "/settings/giving", access.Owner, (*request).saveGivingSettings, (*request).settingsPage},
	{"POST", "/settings/public", access.Owner, (*request).savePublicSettings, (*request).settingsPage},
	{"GET", "/settings/fields", access.Owner, (*request).fieldsPage, nil},
	{"GET", "/settings/fields/new", access.Owner, (*request).newFieldPage, nil},
	{"POST", "/settings/fields", access.Owner, (*request).createField, (*request).newFieldPage},
	{"GET", "/settings/fields/{id}", access.Owner, of((*request).fieldOf, (*request).editFieldPage), nil},
	{"POST", "/settings/fields/{id}", access.Owner, (*request).saveField, of((*request).fieldOf, (*request).editFieldPage)},
	{"POST", "/settings/fields/{id}/up", access.Owner, (*request).raiseField, nil},
	{"POST", "/settings/fields/{id}/down", access.Owner, (*request).lowerField, nil},
	{"POST", "/settings/fields/{id}/end", access.Owner, of((*request).fieldOf, (*request).endField), nil},
	{"POST", "/settings/fields/{id}/resume", access.Owner, of((*request).fieldOf, (*request).resumeField), (*request).fieldsPage},
	{"GET", "/settings/keys", access.Owner, (*request).keysPage, nil},
	{"GET", "/settings/keys/new", access.Owner, (*request).newKeyPage, nil},
	{"POST", "/settings/keys", access.Owner, (*request).createKey, (*request).newKeyPage},
	{"GET", "/settings/keys/{id}", access.Owner, of((*request).keyOf, (*request).keyPage), nil},
	{"GET", "/settings/keys/{id}/revoke", access.Owner, of((*request).keyOf, (*request).revokeKeyPage), nil},
	{"POST", "/settings/keys/{id}/revoke", access.Owner, of((*request).keyOf, (*request).revokeKey), nil},
	{"GET", "/settings/thanks", access.Editor, (*request).textsPage, nil},
	{"GET", "/settings/thanks/{occasion}", access.Editor, of((*request).textOf, (*request).textPage), nil},
	{"POST", "/settings/thanks/{occasion}", access.Editor, of((*request).textOf, (*request).saveText), of((*request).textOf, (*request).textPage)},
	{"POST", "/settings/thanks/{occasion}/reset", access.Editor, of((*request).textOf, (*request).resetText), nil},
	{"GET", "/settings/mail", access.Owner, (*request).mailPage, nil},
	{"POST", "/settings/mail/test", access.Owner, (*request).testMail, nil},
	{"GET", "/settings/people", access.Viewer, (*request).peoplePage, nil},
	{"POST", "/settings/people/invite", access.Owner, (*request).invite, (*request).peoplePage},
	{"GET", "/settings/people/invited", access.Owner, (*request).invitedPage, nil},
	{"POST", "/settings/people/invitations/{invitation}/revoke", access.Owner, (*request).revokeInvitation, nil},
	{"POST", "/settings/people/{user}/role", access.Owner, of((*request).memberOf, (*request).setRole), (*request).peoplePage},
	{"POST", "/settings/people/{user}/remove", access.Viewer, (*request).removeMember, (*request).peoplePage},
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
		store: s, options: o, mux: web.NewMux(), kept: web.NewMux(), rates: newRates(o.RateLimit), throttle: newThrottle(time.Now),
		pages: pages, now: time.Now,
	}
	if o.Now != nil {
		c.now = o.Now
	}
	c.mux.RenderErrors(c.errorPage)
	c.mux.Handle("GET "+root+"/static/{file}", c.serveFile)
	for _, route := range routes {
		c.mux.Handle(route.pattern(), c.authorize(route))
		if route.page != nil && route.role != stranger {
			c.kept.Handle(route.pattern(), c.keptPage(route))
		}
	}
	return c, nil
}

// Routes adds the console to the service's mux, and leads people who type the bare address to it.
func (c *Console) Routes(mux *web.Mux) {
	mux.Handle("GET /favicon.ico", func(w http.ResponseWriter, r *http.Request) error { // browsers ask for it wherever they are
		return staticFiles()["icon.svg"].Serve(w, r)
	})
	mux.Handle("GET "+picture.Root+"{name}", c.servePicture)
	mux.Handle("GET /{$}", func(w http.ResponseWriter, r *http.Request) error { return redirect(w, r, root) })
	mux.Handle(root, c.Serve)
	mux.Handle(root+"/", c.Serve)
}

// The pages need nothing from any other address but images; nothing runs that is not a file of ours.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data: https:; connect-src 'self'; " +
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
func (r *request) entrance() error {
	all, err := r.store.Memberships(r.Context(), r.session.User.ID)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return r.redirect(root + "/profile")
	}
	open := all[0].Account
	for _, m := range all {
		if m.Account.Number == r.session.Account {
			open = m.Account
		}
	}
	return r.redirect(orgPath(open, ""))
}

func redirect(w http.ResponseWriter, r *http.Request, to string) error {
	http.Redirect(w, r, to, http.StatusSeeOther)
	return nil
}
