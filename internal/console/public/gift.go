package public

import (
	"crypto/rand"
	"errors"
	"net/http"
	"strings"
	"time"

	"donorbook/internal/console/page"
	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/donate"
	"donorbook/internal/pay"
	"donorbook/internal/web"
)

// Gifts are the pages on which people give, and the addresses to which payment providers send events.
type Gifts struct {
	*page.Site
	brakes  *web.Brakes
	puzzles *web.Puzzles
	events  web.Networks         // by the sender's address, so that nobody keeps those of the provider out
	cards   *web.Limiter[string] // pages for another card, by donation: each is asked of the provider
}

// eventRate is how many events an address may send in a minute. A provider sends the others again.
const eventRate = 1200

// cardPages is how many pages for another card a monthly gift may have in a quarter of an hour, as long as a link works.
const cardPages = 5

// NewGifts makes the pages of a site. Nodes with the same secret know each other's puzzles.
func NewGifts(s *page.Site, secret []byte) *Gifts {
	if len(secret) == 0 {
		secret = []byte(rand.Text())
	}
	return &Gifts{
		Site: s, brakes: web.NewBrakes(), puzzles: web.NewPuzzles(secret),
		events: web.NewNetworks(eventRate, time.Minute), cards: web.NewLimiterIn[string](cardPages, 15*time.Minute),
	}
}

// giftPages are the pages below the address of a campaign.
var giftPages = map[string]func(*Gifts, *visit) error{
	"GET donate": (*Gifts).formPage, "POST donate": (*Gifts).give, "GET thanks": (*Gifts).thanksPage, "GET qr.svg": (*Gifts).codePage,
}

// find is what answers a request at an address of two or three parts: a page of gifts, nil for none. A campaign may be called give.
func (g *Gifts) find(r *http.Request) (handle web.HandlerFunc, pattern string) {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if len(parts) == 3 && parts[0] == "hooks" && method == http.MethodPost {
		return g.takeEvent, "POST /hooks/{provider}/{account}"
	}
	if len(parts) != 2 {
		return nil, ""
	}
	if answer := giftPages[method+" "+parts[1]]; answer != nil && campaign.IsSlug(parts[0]) {
		return func(w http.ResponseWriter, r *http.Request) error {
			switch {
			case r.Method == http.MethodPost: // readForm counts it
				return g.visit(w, r, parts[0], parts[1], answer)
			case parts[1] == "thanks": // it may ask a payment provider, which is not for a turn
				if err := g.CountStranger(w, r); err != nil {
					return err
				}
				return g.visit(w, r, parts[0], parts[1], answer)
			}
			return g.ForStranger(w, r, func(w http.ResponseWriter) error { return g.visit(w, r, parts[0], parts[1], answer) })
		}, method + " /{campaign}/" + parts[1]
	}
	switch {
	case "/"+parts[0]+"/" == pay.PretendPath && g.Options.Pretended != nil:
		return g.pretend(parts[1]), method + " " + pay.PretendPath + "{session}"
	case parts[0] == "give":
		return g.manage(parts[1]), method + " /give/{token}"
	}
	return nil, ""
}

// visit is a visitor at a page of a campaign.
type visit struct {
	w        http.ResponseWriter
	r        *http.Request
	campaign campaign.Campaign
	account  access.Account
	owner    string
	offer    donate.Offer
	harder   bool // the puzzle of the form is to be solved again
	back     bool // from the provider's page, without paying
}

// visit finds the campaign and what its form offers. Where a page is only for members, it does not exist for others.
func (g *Gifts) visit(w http.ResponseWriter, r *http.Request, slug, below string, answer func(*Gifts, *visit) error) error {
	v := &visit{w: w, r: r}
	var err error
	if v.campaign, v.owner, err = g.Store.CampaignBySlug(r.Context(), slug); err != nil {
		return notFound(err)
	}
	if v.campaign.Status == campaign.Draft {
		if err = checkMember(g.Site, r, v.campaign.AccountID); err != nil {
			return notFound(err)
		}
	}
	if v.account, err = g.Store.Account(r.Context(), v.campaign.AccountID); err != nil {
		return err
	}
	web.Note(w, v.account.Number, 0)
	if v.campaign.Slug != slug && r.Method != http.MethodPost {
		to := "/" + v.campaign.Slug + "/" + below
		if r.URL.RawQuery != "" {
			to += "?" + r.URL.RawQuery
		}
		http.Redirect(w, r, to, http.StatusPermanentRedirect)
		return nil
	}
	if v.offer, err = g.Store.Offer(r.Context(), v.account.Number, &v.campaign); err != nil {
		return err
	}
	page.Guard(w.Header())
	return answer(g, v)
}

func notFound(err error) error {
	if errors.Is(err, crm.ErrNotFound) {
		return web.NotFound()
	}
	return err
}

// address is that of a page of the campaign.
func (v *visit) address(g *Gifts, rest string) string {
	return g.Options.Proxies.BaseURL(v.r) + "/" + v.campaign.Slug + rest
}

// idLength is that of the ids of donations.
const idLength = 16

// token names a donation in an address. The id alone is no secret: it is in the log and at the provider.
func token(d *donate.Donation) string { return d.ID + d.Proof(donate.PageLink) }

// readForm counts a stranger, and reads a form of at most 16 KiB. What another site sends is refused.
func (g *Gifts) readForm(w http.ResponseWriter, r *http.Request) (*page.Form, error) {
	if err := g.CheckOrigin(r); err != nil {
		return nil, err
	}
	if err := g.CountStranger(w, r); err != nil {
		return nil, err
	}
	return page.ReceiveForm(w, r, page.StrangersForm)
}

// giftView is what the pages around a gift share.
type giftView struct {
	Owner    string
	Logo     any
	Title    string // of the campaign
	Campaign string // the address of its page, "" for none
	Data     any
}

func (g *Gifts) show(v *visit, name string, p page.View) error {
	settings, err := g.Store.AccountSettings(v.r.Context(), v.account.Number)
	if err != nil {
		return err
	}
	logo := page.NewShownImage(v.campaign.Logo)
	if logo == "" {
		logo = page.NewShownImage(settings.Logo)
	}
	p.Data = giftView{Owner: v.owner, Logo: logo, Title: v.campaign.Title, Campaign: "/" + v.campaign.Slug, Data: p.Data}
	p.Org = page.Org{Membership: access.Membership{Timezone: settings.Timezone}}
	return g.Show(v.w, name, "gift", p)
}

var errNoPage = &web.Error{Status: http.StatusBadGateway, Message: "The payment provider named no page of its own. Nothing was charged. Please try again later."}

// handOver leads a giver to the page of a payment provider. A redirect would be blocked: what our forms are sent to stays here.
func (g *Gifts) handOver(v *visit, to string, p page.View) error {
	if !isPage(to) {
		return errNoPage
	}
	v.w.Header().Set("Refresh", "0; url="+to)
	return g.show(v, "handover", p)
}
