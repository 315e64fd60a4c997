// Package console is the HTML side: the pages where people run their account. It turns forms into inputs of crm, calls the
// same functions of the store as the API, and turns results into pages. It holds no rule of its own. Here are the routes, and who may take them; the pages are
// in the folders below.
package console

import (
	"io/fs"
	"net/http"

	"donorbook/internal/console/campaigns"
	"donorbook/internal/console/contacts"
	"donorbook/internal/console/giving"
	"donorbook/internal/console/organization"
	"donorbook/internal/console/page"
	"donorbook/internal/console/public"
	"donorbook/internal/console/users"
	"donorbook/internal/console/work"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/picture"
	"donorbook/internal/store/book"
	"donorbook/internal/web"
)

type (
	// Options are what the console needs to know beside the store.
	Options = page.Options
	// SignInOutcome is what became of an attempt to sign in.
	SignInOutcome = page.SignInOutcome
)

// folders have the templates of the pages.
var folders = []fs.FS{contacts.Templates, giving.Templates, campaigns.Templates, work.Templates, organization.Templates, users.Templates, public.Templates}

// Console serves everything below /console.
type Console struct {
	site  *page.Site
	mux   *web.Mux
	gifts *public.Gifts
	users *web.Limiter[int64] // counts the requests of those who have signed in
}

// route is one line of the console: what is asked, who may ask, who answers. A form that is refused is answered by the page
// that it came from, which gets the form with its faults.
type route struct {
	method, path string
	role         access.Role // with one, the path is below an organization's
	handle, page page.Handler
}

// Who may ask, beside the members of an organization.
const (
	stranger access.Role = iota - 1
	user                 // has signed in
)

var chooseColumns = page.ChooseColumns(page.ContactListing, giving.GiftListing, giving.PlanListing, giving.DonorListing,
	giving.DonationListing, campaigns.Listing)

var routes = []route{
	{"GET", "/signin", stranger, users.SignInPage, nil},
	{"POST", "/signin", stranger, users.SignIn, users.SignInPage},
	{"GET", "/forgot", stranger, users.ForgotPage, nil},
	{"POST", "/forgot", stranger, users.Forgot, users.ForgotPage},
	{"GET", "/reset/{token}", stranger, users.ResetPage, nil},
	{"POST", "/reset/{token}", stranger, users.Reset, users.ResetPage},
	{"GET", "/mails", stranger, users.ShelfPage, nil},
	{"GET", "/setup/{token}", stranger, users.SetupPage, nil},
	{"POST", "/setup/{token}", stranger, users.Setup, users.SetupPage},
	{"GET", "/invite/{token}", stranger, users.InvitationPage, nil},
	{"POST", "/invite/{token}", stranger, users.Join, users.InvitationPage},

	{"GET", "", user, users.Entrance, nil},
	{"GET", "/{$}", user, users.Entrance, nil},
	{"POST", "/signout", stranger, users.SignOut, nil},
	{"POST", "/invite/{token}/accept", user, users.Accept, nil},
	{"GET", "/profile", user, users.ProfilePage, nil},
	{"POST", "/profile/name", user, users.RenameUser, users.ProfilePage},
	{"POST", "/profile/password", user, users.ChangePassword, users.ProfilePage},
	{"POST", "/profile/sessions/{session}/end", user, users.EndSession, nil},
	{"POST", "/profile/sessions/end", user, users.EndSessions, nil},

	{"GET", "", access.Viewer, organization.HomePage, nil},
	{"POST", "/first-steps/hide", access.Editor, organization.HideSteps, nil},
	{"GET", "/search", access.Viewer, contacts.SearchPage, nil},
	{"GET", "/search/suggestions", access.Viewer, contacts.Suggestions, nil},

	{"GET", "/contacts", access.Viewer, contacts.ListPage, nil},
	{"GET", "/columns/{list}", access.Viewer, page.FromHere(chooseColumns), nil},
	{"GET", "/reports", access.Viewer, giving.ReportsPage, nil},
	{"GET", "/reports/export", access.Viewer, page.FromHere(giving.ExportReport), nil},
	{"GET", "/segments", access.Viewer, contacts.SegmentsPage, nil},
	{"POST", "/segments", access.Editor, contacts.CreateSegment, contacts.RefusedSegment},
	{"POST", "/segments/{id}", access.Editor, contacts.RenameSegment, contacts.SegmentsPage},
	{"POST", "/segments/{id}/delete", access.Editor, contacts.DeleteSegment, nil},
	{"GET", "/contacts/export", access.Viewer, page.FromHere(contacts.Export), nil},
	{"GET", "/contacts/new", access.Editor, contacts.NewPage, nil},
	{"POST", "/contacts", access.Editor, contacts.Create, contacts.NewPage},
	{"GET", "/contacts/print", access.Viewer, contacts.PrintPage, nil},
	{"GET", "/contacts/print/file", access.Viewer, page.FromHere(contacts.PrintFile), nil},
	{"GET", "/contacts/print/send", access.Editor, contacts.SendPage, nil},
	{"POST", "/contacts/print/send", access.Editor, contacts.SendStatements, nil},
	{"POST", "/contacts/bulk", access.Editor, contacts.Bulk, contacts.BulkPage},
	{"GET", "/contacts/import", access.Viewer, work.ImportsPage, nil},
	{"POST", "/contacts/import", access.Editor, work.UploadImport, work.ImportsPage},
	{"GET", "/imports/{import}", access.Viewer, page.Of(work.ImportOf, work.ImportPage), nil},
	{"POST", "/imports/{import}", access.Editor, page.Of(work.ImportOf, work.BeginImport), page.Of(work.ImportOf, work.ImportPage)},
	{"POST", "/imports/{import}/cancel", access.Editor, page.Of(work.JobOf, work.CancelJob), nil},
	{"POST", "/imports/{import}/undo", access.Editor, page.Of(work.JobOf, work.UndoJob), page.Of(work.JobOf, work.JobPage)},
	{"GET", "/imports/{import}/rejected", access.Viewer, page.FromHere(page.Of(work.ImportOf, work.RejectedRows)), nil},
	{"GET", "/contacts/{id}", access.Viewer, page.OfContact(contacts.Page), nil},
	{"GET", "/contacts/{id}/edit", access.Editor, page.OfActive(contacts.EditPage), nil},
	{"POST", "/contacts/{id}", access.Editor, page.OfActive(contacts.Save), page.OfActive(contacts.EditPage)},
	{"POST", "/contacts/{id}/archive", access.Editor, page.OfActive(contacts.Archive), nil},
	{"POST", "/contacts/{id}/bounced", access.Editor, contacts.MarkBounced, nil},
	{"POST", "/contacts/{id}/restore", access.Editor, page.OfContact(contacts.Restore), nil},
	{"GET", "/contacts/{id}/data", access.Viewer, page.FromHere(contacts.Data), nil},
	{"GET", "/contacts/{id}/erase", access.Owner, page.OfContact(contacts.ErasePage), nil},
	{"POST", "/contacts/{id}/erase", access.Owner, page.Of((*page.Request).ContactOf, contacts.Erase), page.OfContact(contacts.ErasePage)},
	{"POST", "/contacts/{id}/tags/add", access.Editor, page.OfActive(contacts.AddTags), page.OfContact(contacts.Page)},
	{"POST", "/contacts/{id}/tags/remove", access.Editor, page.OfActive(contacts.RemoveTag), page.OfContact(contacts.Page)},
	{"GET", "/contacts/{id}/merge", access.Viewer, page.Of((*page.Request).ContactOf, contacts.MergePage), nil},
	{"POST", "/contacts/{id}/merge", access.Editor, page.Of((*page.Request).ContactOf, contacts.Merge), page.Of((*page.Request).ContactOf, contacts.MergePage)},
	{"POST", "/contacts/{id}/distinct", access.Editor, page.Of((*page.Request).ContactOf, contacts.DismissDuplicate), nil},
	{"POST", "/contacts/{id}/distinct/undo", access.Editor, page.Of((*page.Request).ContactOf, contacts.UndismissDuplicate), nil},
	{"GET", "/duplicates", access.Viewer, contacts.DuplicatesPage, nil},
	{"POST", "/duplicates/check", access.Editor, contacts.CheckDuplicates, nil},
	{"GET", "/duplicates/merge", access.Editor, contacts.MergeSurePage, nil},
	{"POST", "/duplicates/merge", access.Editor, contacts.MergeSure, nil},
	{"GET", "/merges", access.Viewer, contacts.MergesPage, nil},
	{"POST", "/merges/{merge}/undo", access.Editor, page.Of(contacts.MergeOf, contacts.UndoMerge), nil},
	{"POST", "/merges/{merge}/keep", access.Editor, page.Of(contacts.MergeOf, contacts.KeepMerge), nil},
	{"GET", "/tags", access.Viewer, contacts.TagsPage, nil},
	{"GET", "/tags/rename", access.Editor, contacts.RenameTagPage, nil},
	{"POST", "/tags/rename", access.Editor, contacts.RenameTag, contacts.RenameTagPage},
	{"GET", "/tags/delete", access.Editor, contacts.DeleteTagPage, nil},
	{"POST", "/tags/delete", access.Editor, contacts.DeleteTag, contacts.DeleteTagPage},
	{"POST", "/tags/merge", access.Editor, contacts.MergeTags, contacts.TagsPage},
	{"GET", "/jobs", access.Viewer, work.JobsPage, nil},
	{"GET", "/jobs/{job}", access.Viewer, page.Of(work.JobOf, work.JobPage), nil},
	{"GET", "/jobs/{job}/letters", access.Viewer, page.FromHere(page.Of(work.JobOf, work.Letters)), nil},
	{"POST", "/jobs/{job}/cancel", access.Editor, page.Of(work.JobOf, work.CancelJob), nil},
	{"POST", "/jobs/{job}/retry", access.Editor, page.Of(work.JobOf, work.RetryJob), nil},
	{"POST", "/jobs/{job}/undo", access.Editor, page.Of(work.JobOf, work.UndoJob), page.Of(work.JobOf, work.JobPage)},
	{"GET", "/contacts/{id}/history", access.Viewer, page.OfContact(contacts.HistoryPage), nil},
	{"GET", "/contacts/{id}/history/{change}", access.Viewer, page.OfContact(contacts.ChangePage), nil},
	{"POST", "/contacts/{id}/history/{change}/undo", access.Editor, contacts.UndoChange, nil},
	{"POST", "/contacts/{id}/notes", access.Editor, page.OfActive(contacts.AddNote), page.OfContact(contacts.Page)},
	{"GET", "/contacts/{id}/statement", access.Viewer, giving.StatementPage, nil},

	{"GET", "/donors", access.Viewer, giving.DonorsPage, nil},
	{"GET", "/donors/export", access.Viewer, page.FromHere(giving.ExportDonors), nil},
	{"GET", "/statements", access.Viewer, giving.StatementsPage, nil},

	{"GET", "/gifts", access.Viewer, giving.GiftsPage, nil},
	{"GET", "/gifts/export", access.Viewer, page.FromHere(giving.ExportGifts), nil},
	{"GET", "/gifts/new", access.Editor, giving.NewGiftPage, nil},
	{"POST", "/gifts", access.Editor, giving.RecordGiftOf, giving.NewGiftPage},
	{"POST", "/contacts/{id}/gifts", access.Editor, page.OfActive(giving.RecordGift), page.OfContact(contacts.Page)},
	{"GET", "/gifts/{gift}", access.Viewer, page.Of(giving.GiftOf, giving.GiftPage), nil},
	{"GET", "/gifts/{gift}/edit", access.Editor, page.Of(giving.GiftOf, giving.EditGiftPage), nil},
	{"POST", "/gifts/{gift}", access.Editor, page.Of(giving.GiftOf, giving.SaveGift), page.Of(giving.GiftOf, giving.EditGiftPage)},
	{"POST", "/gifts/{gift}/refund", access.Editor, page.Of(giving.GiftOf, giving.RefundGift), page.Of(giving.GiftOf, giving.GiftPage)},
	{"POST", "/gifts/{gift}/refund/undo", access.Editor, page.Of(giving.GiftOf, giving.UndoRefund), page.Of(giving.GiftOf, giving.GiftPage)},
	{"GET", "/gifts/{gift}/void", access.Editor, page.Of(giving.GiftOf, giving.VoidPage), nil},
	{"POST", "/gifts/{gift}/void", access.Editor, page.Of(giving.GiftOf, giving.VoidGift), page.Of(giving.GiftOf, giving.VoidPage)},
	{"POST", "/gifts/{gift}/void/undo", access.Editor, page.Of(giving.GiftOf, giving.UndoVoid), page.Of(giving.GiftOf, giving.GiftPage)},
	{"GET", "/gifts/thank", access.Editor, giving.ThankManyPage, nil},
	{"POST", "/gifts/thank", access.Editor, giving.ThankMany, nil},
	{"GET", "/gifts/{gift}/thank", access.Editor, page.Of(giving.GiftOf, giving.ThankPage), nil},
	{"POST", "/gifts/{gift}/thank", access.Editor, page.Of(giving.GiftOf, giving.ThankFor), page.Of(giving.GiftOf, giving.ThankPage)},
	{"GET", "/gifts/{gift}/letter", access.Viewer, page.Of(giving.GiftOf, giving.LetterPage), nil},
	{"POST", "/gifts/{gift}/receipt", access.Editor, page.Of(giving.GiftOf, giving.MakeReceipt), page.Of(giving.GiftOf, giving.GiftPage)},
	{"GET", "/receipts", access.Viewer, giving.ReceiptsPage, nil},
	{"GET", "/receipts/{receipt}", access.Viewer, page.Of(giving.ReceiptOf, giving.ReceiptPage), nil},
	{"GET", "/receipts/{receipt}/pdf", access.Viewer, page.FromHere(page.Of(giving.ReceiptOf, giving.ReceiptPDF)), nil},
	{"POST", "/gifts/{gift}/receive", access.Editor, page.Of(giving.GiftOf, giving.ReceiveGift), page.Of(giving.GiftOf, giving.GiftPage)},
	{"GET", "/donations", access.Viewer, giving.DonationsPage, nil},
	{"GET", "/donations/{donation}", access.Viewer, page.Of(giving.DonationOf, giving.DonationPage), nil},
	{"POST", "/donations/{donation}/reviewed", access.Editor, page.Of(giving.DonationOf, giving.ResolveReview), nil},
	{"POST", "/donations/{donation}/take-over", access.Editor, page.Of(giving.DonationOf, giving.TakeOver), nil},
	{"POST", "/donations/{donation}/receive", access.Editor, page.Of(giving.DonationOf, giving.ReceiveDonation), page.Of(giving.DonationOf, giving.DonationPage)},
	{"POST", "/donations/{donation}/receive/undo", access.Editor, page.Of(giving.DonationOf, giving.UnreceiveDonation), nil},
	{"GET", "/plans", access.Viewer, giving.PlansPage, nil},
	{"GET", "/plans/export", access.Viewer, page.FromHere(giving.ExportPlans), nil},
	{"GET", "/contacts/{id}/plans/new", access.Editor, page.OfActive(giving.NewPlanPage), nil},
	{"POST", "/contacts/{id}/plans", access.Editor, page.OfActive(giving.CreatePlan), page.OfActive(giving.NewPlanPage)},
	{"GET", "/plans/{plan}", access.Viewer, page.Of(giving.PlanOf, giving.PlanPage), nil},
	{"GET", "/plans/{plan}/edit", access.Editor, page.Of(giving.PlanOf, giving.EditPlanPage), nil},
	{"POST", "/plans/{plan}", access.Editor, page.Of(giving.PlanOf, giving.SavePlan), page.Of(giving.PlanOf, giving.EditPlanPage)},
	{"POST", "/plans/{plan}/pause", access.Editor, page.Of(giving.PlanOf, giving.PausePlan), nil},
	{"POST", "/plans/{plan}/resume", access.Editor, page.Of(giving.PlanOf, giving.ResumePlan), nil},
	{"POST", "/plans/{plan}/end", access.Editor, page.Of(giving.PlanOf, giving.EndPlan), nil},

	{"GET", "/campaigns", access.Viewer, campaigns.ListPage, nil},
	{"GET", "/campaigns/export", access.Viewer, page.FromHere(campaigns.Export), nil},
	{"GET", "/campaigns/new", access.Editor, campaigns.NewPage, nil},
	{"POST", "/campaigns", access.Editor, campaigns.Create, campaigns.NewPage},
	{"GET", "/campaigns/{id}", access.Viewer, page.Of(campaigns.Of, campaigns.Page), nil},
	{"GET", "/campaigns/{id}/edit", access.Editor, page.Of(campaigns.Own, campaigns.EditPage), nil},
	{"POST", "/campaigns/{id}", access.Editor, page.Of(campaigns.Own, campaigns.Save), page.Of(campaigns.Own, campaigns.EditPage)},
	{"POST", "/campaigns/{id}/status/{status}", access.Editor, page.Of(campaigns.Own, campaigns.SetStatus), nil},
	{"GET", "/campaigns/{id}/delete", access.Editor, campaigns.DeletePage, nil},
	{"POST", "/campaigns/{id}/delete", access.Editor, page.Of(campaigns.Own, campaigns.Delete), campaigns.DeletePage},

	{"GET", "/chapters", access.Viewer, organization.ChaptersPage, nil},
	{"POST", "/chapters", access.Owner, organization.CreateChapter, organization.ChaptersPage},
	{"POST", "/chapters/{chapter}", access.Owner, organization.RenameChapter, organization.ChaptersPage},

	{"GET", "/settings", access.Viewer, organization.SettingsPage, nil},
	{"POST", "/settings/organization", access.Owner, organization.Save, organization.SettingsPage},
	{"GET", "/settings/history", access.Owner, work.HistoryPage, nil},
	{"POST", "/settings/giving", access.Owner, organization.SaveGivingSettings, organization.SettingsPage},
	{"POST", "/settings/public", access.Owner, organization.SavePublicSettings, organization.SettingsPage},
	{"GET", "/settings/donations", access.Owner, organization.DonationsPage, nil},
	{"POST", "/settings/donations", access.Owner, organization.SaveDonationSettings, organization.DonationsPage},
	{"POST", "/settings/donations/connect", access.Owner, organization.ConnectProvider, organization.DonationsPage},
	{"POST", "/settings/donations/test", access.Owner, organization.TestConnection, nil},
	{"POST", "/settings/donations/disconnect", access.Owner, organization.Disconnect, nil},
	{"POST", "/settings/donations/delete-tests", access.Owner, organization.DeleteTests, nil},
	{"GET", "/settings/fields", access.Owner, organization.FieldsPage, nil},
	{"GET", "/settings/fields/new", access.Owner, organization.NewFieldPage, nil},
	{"POST", "/settings/fields", access.Owner, organization.CreateField, organization.NewFieldPage},
	{"GET", "/settings/fields/{id}", access.Owner, page.Of(organization.FieldOf, organization.EditFieldPage), nil},
	{"POST", "/settings/fields/{id}", access.Owner, organization.SaveField, page.Of(organization.FieldOf, organization.EditFieldPage)},
	{"POST", "/settings/fields/{id}/up", access.Owner, organization.RaiseField, nil},
	{"POST", "/settings/fields/{id}/down", access.Owner, organization.LowerField, nil},
	{"POST", "/settings/fields/{id}/end", access.Owner, page.Of(organization.FieldOf, organization.EndField), nil},
	{"POST", "/settings/fields/{id}/resume", access.Owner, page.Of(organization.FieldOf, organization.ResumeField), organization.FieldsPage},
	{"GET", "/settings/integrations/api-keys", access.Owner, organization.KeysPage, nil},
	{"GET", "/settings/integrations/api-keys/new", access.Owner, organization.NewKeyPage, nil},
	{"POST", "/settings/integrations/api-keys", access.Owner, organization.CreateKey, organization.NewKeyPage},
	{"GET", "/settings/integrations/api-keys/{id}", access.Owner, page.Of(organization.KeyOf, organization.KeyPage), nil},
	{"GET", "/settings/integrations/api-keys/{id}/revoke", access.Owner, page.Of(organization.KeyOf, organization.RevokeKeyPage), nil},
	{"POST", "/settings/integrations/api-keys/{id}/revoke", access.Owner, page.Of(organization.KeyOf, organization.RevokeKey), nil},
	{"GET", "/settings/integrations", access.Viewer, organization.IntegrationsMoved, nil},
	{"GET", "/settings/keys", access.Owner, organization.KeysMoved, nil},
	{"GET", "/settings/keys/{rest...}", access.Owner, organization.KeysMoved, nil},
	{"GET", "/settings/thanks", access.Editor, giving.TextsPage, nil},
	{"GET", "/settings/thanks/{occasion}", access.Editor, page.Of(giving.TextOf, giving.TextPage), nil},
	{"POST", "/settings/thanks/{occasion}", access.Editor, page.Of(giving.TextOf, giving.SaveText), page.Of(giving.TextOf, giving.TextPage)},
	{"POST", "/settings/thanks/{occasion}/reset", access.Editor, page.Of(giving.TextOf, giving.ResetText), nil},
	{"GET", "/settings/receipts", access.Owner, giving.WordingPage, nil},
	{"POST", "/settings/receipts", access.Owner, giving.SaveWording, giving.WordingPage},
	{"GET", "/settings/mail", access.Owner, organization.MailPage, nil},
	{"POST", "/settings/mail/test", access.Owner, organization.TestMail, nil},
	{"GET", "/settings/people", access.Viewer, organization.PeoplePage, nil},
	{"POST", "/settings/people/invite", access.Owner, organization.Invite, organization.PeoplePage},
	{"GET", "/settings/people/invited", access.Owner, organization.InvitedPage, nil},
	{"POST", "/settings/people/invitations/{invitation}/revoke", access.Owner, organization.RevokeInvitation, nil},
	{"POST", "/settings/people/{id}/role", access.Owner, page.Of(organization.MemberOf, organization.SetRole), organization.PeoplePage},
	{"POST", "/settings/people/{id}/remove", access.Viewer, organization.RemoveMember, organization.PeoplePage},
}

// pattern is the route as the mux takes it.
func (r route) pattern() string {
	if r.role > user {
		return r.method + " " + page.Root + "/o/{org}" + r.path
	}
	return r.method + " " + page.Root + r.path
}

// New is the console over a store.
func New(s *book.Book, o Options) (*Console, error) {
	found, err := page.FindTemplates(o.Region, folders...)
	if err != nil {
		return nil, err
	}
	site := page.NewSite(s, o, found)
	c := &Console{site: site, mux: web.NewMux(), gifts: public.NewGifts(site, o.Secret), users: web.NewLimiter[int64](o.RateLimit)}
	c.mux.RenderErrors(c.site.ErrorPage)
	c.mux.Handle("GET "+page.Root+"/static/{file}", c.site.ServeFile)
	for _, route := range routes {
		c.mux.Handle(route.pattern(), c.authorize(route))
		if route.page != nil && route.role != stranger {
			c.site.Kept.Handle(route.pattern(), c.keptPage(route))
		}
	}
	return c, nil
}

// Routes adds the console to the service's mux, and leads people who type the bare address to it.
func (c *Console) Routes(mux *web.Mux) {
	mux.Handle("GET /favicon.ico", func(w http.ResponseWriter, r *http.Request) error { // browsers ask for it wherever they are
		return page.StaticFiles()["icon.svg"].Serve(w, r)
	})
	mux.Handle("GET "+picture.Root+"{name}", func(w http.ResponseWriter, r *http.Request) error { return public.ServePicture(c.site, w, r) })
	mux.Handle("GET /{$}", func(w http.ResponseWriter, r *http.Request) error { return page.Redirect(w, r, page.Root) })
	mux.Handle(page.Root, c.Serve)
	mux.Handle(page.Root+"/", c.Serve)
}

// Fallback shows a campaign at its address, /winter-gala, and the pages of gifts below it, where nothing else was found.
func (c *Console) Fallback(next web.HandlerFunc) web.HandlerFunc {
	return c.gifts.Fallback(next)
}

// Serve answers a request below /console.
func (c *Console) Serve(w http.ResponseWriter, r *http.Request) error {
	page.Guard(w.Header())
	return c.mux.Serve(w, r)
}
