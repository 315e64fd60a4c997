package public

import (
	"context"
	"errors"
	"html"
	"net/http"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"donorbook/internal/console/page"
	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/picture"
	"donorbook/internal/crm/text"
	"donorbook/internal/web"
)

// publicView is the public page of a campaign. It holds nothing that the page must not tell.
type publicView struct {
	page.ShownCampaign
	Owner    string
	Settings access.AccountSettings // of the owner
	Summary  string                 // for search engines, and for those who get the link
	Asks     []page.Asking          // how it asks for gifts; none where it does not, or only elsewhere
	Donate   string                 // a page elsewhere where people pay, "" for none
	Address  string                 // of the page; "" where it should not be passed on
	Share    []page.ShareLink       // the address, in networks
	Picture  string                 // for those who get the link, with a full address
	Donors   []publicDonor          // who gave lately, where the organization tells
	Left     string                 // how long it still runs, where that is short enough to count days
}

// Fallback shows a campaign at its address, /winter-gala, and the pages of gifts below it, where nothing else was found. Every other answer, and the error
// for a slug that no campaign has, is next's own; but a person who looks at it with a browser is shown a page.
func (g *Gifts) Fallback(next web.HandlerFunc) web.HandlerFunc {
	s := g.Site
	return func(w http.ResponseWriter, r *http.Request) error {
		if !isForPrograms(r.URL.Path) && web.Accepts(r.Header.Get("Accept"), "text/html") {
			web.RenderErrors(w, func(w http.ResponseWriter, _ *http.Request, err error) { publicErrorPage(s, w, err) })
		}
		err := next(w, r)
		if err == nil {
			return nil
		}
		if status, _ := web.StatusOf(err); status != http.StatusNotFound {
			return err
		}
		if answer, pattern := g.find(r); answer != nil {
			r.Pattern = pattern
			return answer(w, r)
		}
		slug, possible := publicSlug(r)
		if !possible {
			return err
		}
		return s.ForStranger(w, r, func(w http.ResponseWriter) error {
			shown, owner, failed := s.Store.CampaignBySlug(r.Context(), slug)
			if failed == nil && shown.Status == campaign.Draft {
				failed = checkMember(s, r, shown.AccountID)
			}
			if errors.Is(failed, crm.ErrNotFound) {
				return err
			}
			r.Pattern = "GET /{campaign}" // for the log, which must not name the path of a request
			switch {
			case failed != nil:
				return failed
			case shown.Slug != slug:
				return moved(s, w, r, shown)
			}
			return publicPage(s, w, r, shown, owner)
		})
	}
}

// checkMember refuses anyone who is not signed in as a member of an account, as if what they look at did not exist.
func checkMember(s *page.Site, r *http.Request, account string) error {
	session, err := s.SessionOf(r)
	if err == nil {
		_, err = s.Store.Membership(r.Context(), session.User.ID, account)
	}
	if errors.Is(err, crm.ErrUnauthenticated) {
		return crm.ErrNotFound
	}
	return err
}

// moved leads from an address that a campaign had to the one that it has.
func moved(s *page.Site, w http.ResponseWriter, r *http.Request, campaign campaign.Campaign) error {
	share(s, w.Header(), campaign)
	to := "/" + campaign.Slug
	if r.URL.RawQuery != "" {
		to += "?" + r.URL.RawQuery
	}
	http.Redirect(w, r, to, http.StatusPermanentRedirect)
	return nil
}

// share lets browsers and proxies keep an answer for a while, unless it is for colleagues only. Without a base URL its links begin with the host that this client named, so that nobody else
// may be shown it.
func share(s *page.Site, h http.Header, c campaign.Campaign) {
	switch {
	case c.Status == campaign.Draft:
	case s.Options.Proxies.BaseHost() == "":
		h.Set("Cache-Control", "private, max-age=60")
	default:
		h.Set("Cache-Control", "public, max-age=60")
	}
	hideRates(h)
}

// hideRates keeps an answer that others get a copy of from telling how many requests this client has left.
func hideRates(h http.Header) {
	h.Del("X-RateLimit-Limit")
	h.Del("X-RateLimit-Remaining")
}

// isForPrograms tells whether errors of a path are JSON whatever the client accepts: those of the API, of its description, of
// assistants and of the probes.
func isForPrograms(path string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return first == "v1" || first == "mcp" || first == "healthz" || first == "readyz" || strings.HasPrefix(first, "openapi")
}

// publicErrorPage shows a failure to a person outside of the console. It is the same page for every address that leads nowhere and
// for every visitor, so that it gives nothing away.
func publicErrorPage(s *page.Site, w http.ResponseWriter, err error) {
	page.Guard(w.Header())
	shown := page.NewProblem(w.Header(), err)
	shown.Public = true
	if shown.Status == http.StatusNotFound {
		shown.Message = "There’s no page at this address. Check the address, or ask the person who sent you the link."
	}
	_ = s.WriteProblem(w, shown) // a client that left cannot be told
}

// publicSlug is the slug in an address that may be a campaign's.
func publicSlug(r *http.Request) (slug string, possible bool) {
	slug, found := strings.CutPrefix(r.URL.Path, "/")
	return slug, found && (r.Method == http.MethodGet || r.Method == http.MethodHead) && campaign.IsSlug(slug)
}

func publicPage(s *page.Site, w http.ResponseWriter, r *http.Request, shown campaign.Campaign, owner string) error {
	account, err := s.Store.Account(r.Context(), shown.AccountID)
	if err != nil {
		return err
	}
	settings, err := s.Store.AccountSettings(r.Context(), account.Number)
	if err != nil {
		return err
	}
	page.Guard(w.Header())
	share(s, w.Header(), shown)
	base := s.Options.Proxies.BaseURL(r)
	shown = shown.Public()
	view := publicView{ShownCampaign: page.NewShownCampaign(shown, s.Now()), Owner: owner, Settings: settings, Summary: summary(shown), Left: daysLeft(shown.EndAt, s.Now().In(text.Location(settings.Timezone)))}
	if shown.Slug != "" && shown.Status != campaign.Draft {
		view.Address = base + "/" + shown.Slug
		view.Share = page.ShareLinks(shown.Title, view.Address)
	}
	if view.Picture = string(view.Cover); picture.IsAddress(view.Picture) {
		view.Picture = base + view.Picture
	}
	if view.Logo == "" {
		view.Logo = page.NewShownImage(settings.Logo)
	}
	if shown.Status == campaign.Published {
		offer, err := s.Store.Offer(r.Context(), account.Number, &shown)
		if err != nil {
			return err
		}
		if view.Asks = page.Askings(r.URL.Path, &offer); len(view.Asks) == 0 {
			view.Donate = shown.PaymentLink
		}
	}
	if shown.Slug != "" {
		if view.Donors, err = publicDonors(s, r.Context(), account.Number, shown.ID, settings.PublicDonors); err != nil {
			return err
		}
	}
	return s.Show(w, "public", "public", page.View{Title: shown.Title, Data: &view, Org: page.Org{Membership: access.Membership{Timezone: settings.Timezone}}})
}

// publicDonor is someone who gave lately, as the public is told.
type publicDonor struct {
	Name, Amount string // Amount is "" where it is not told
	At           time.Time
}

const (
	publicGifts = 10
	anonymous   = "Anonymous"
)

// publicDonors are those who gave to a campaign lately. Archived and erased contacts are left out.
func publicDonors(s *page.Site, ctx context.Context, account, id int64, told access.PublicDonors) (donors []publicDonor, err error) {
	if told == access.NoDonors {
		return nil, nil
	}
	gifts, err := s.Store.LatestGifts(ctx, account, giving.GiftFilter{Campaign: id, Counted: true}, publicGifts)
	if err != nil {
		return nil, err
	}
	var ids []int64
	var codes, plans []string
	for _, g := range gifts {
		ids, codes = append(ids, g.Contact), append(codes, g.Code)
		if g.PlanCode != "" {
			plans = append(plans, g.PlanCode)
		}
	}
	unnamed, err := s.Store.Unnamed(ctx, account, codes, plans)
	if err != nil {
		return nil, err
	}
	contacts, err := s.Store.ContactNames(ctx, account, ids)
	for _, g := range gifts {
		contact, known := contacts[g.Contact]
		if !known || contact.Archived() || g.Test { // an erased contact is archived as well
			continue
		}
		donor := publicDonor{Name: publicName(&contact), At: g.Local}
		if unnamed[g.Code] || unnamed[g.PlanCode] {
			donor.Name = anonymous
		}
		if told == access.DonorAmounts && g.IsMoney() {
			donor.Amount = text.Money(page.LeftOf(&g.Gift), g.Currency)
		}
		donors = append(donors, donor)
	}
	return donors, err
}

// publicName is a first name and an initial, or the name of a company. A person without a first name is anonymous.
func publicName(c *crm.Contact) string {
	if c.IsCompany {
		return strings.Clone(c.Company)
	}
	if c.FirstName == "" || strings.HasPrefix(strings.ToLower(c.FirstName+c.LastName), "anonym") {
		return anonymous
	}
	initial, size := utf8.DecodeRuneInString(c.LastName)
	if size == 0 {
		return strings.Clone(c.FirstName)
	}
	return c.FirstName + " " + string(unicode.ToUpper(initial)) + "."
}

const mostDaysLeft = 100

// daysLeft counts the days to an end, as the calendar of the organization does; "" where there is none, it is over, or it is far away.
func daysLeft(end, now time.Time) string {
	if end.IsZero() || !end.After(now) {
		return ""
	}
	day := func(t time.Time) time.Time { return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC) }
	switch days := int64(day(end.In(now.Location())).Sub(day(now)) / (24 * time.Hour)); {
	case days == 0:
		return "Last day"
	case days <= mostDaysLeft:
		return page.Plural(days, "day") + " left"
	}
	return ""
}

// shortStory is how many letters a story has that leaves a part of a large window empty.
const shortStory = 500

// Brief tells whether there is so little to tell that the title and the story stand on one surface, in the middle of the window.
func (v *publicView) Brief() bool {
	return v.Cover == "" && v.Campaign.Event == nil && len(v.Donors) == 0 && len(v.Description) < shortStory
}

const summaryLength = 200

// summary is one line about a campaign: its subtitle, or how its description begins. Of a long one, only the beginning is read.
func summary(c campaign.Campaign) string {
	if c.Subtitle != "" {
		return c.Subtitle
	}
	var words strings.Builder
	for rest := c.Description; rest != "" && words.Len() < 16*summaryLength; {
		said, tag, _ := strings.Cut(rest, "<")
		words.WriteString(said + " ")
		_, rest, _ = strings.Cut(tag, ">")
	}
	line := []rune(strings.Join(strings.Fields(html.UnescapeString(words.String())), " "))
	if len(line) > summaryLength {
		return strings.TrimSpace(string(line[:summaryLength-1])) + "…"
	}
	return string(line)
}
