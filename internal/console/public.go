package console

import (
	"errors"
	"html"
	"net/http"
	"regexp"
	"strings"

	"donorbook/internal/crm"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/picture"
	"donorbook/internal/web"
)

// publicView is the public page of a campaign. It holds nothing that the page must not tell.
type publicView struct {
	shownCampaign
	Owner   string
	Summary string // for search engines, and for those who get the link
	Image   string // for those who get the link
	Donate  string // where to, "" where the page does not ask for donations
}

// Fallback shows a campaign at its address, /winter-gala, where nothing else was found. Every other answer, and the error
// for a slug that no campaign has, is next's own; but a person who looks at it with a browser is shown a page.
func (c *Console) Fallback(next web.HandlerFunc) web.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		if !isForPrograms(r.URL.Path) && web.Accepts(r.Header.Get("Accept"), "text/html") {
			web.RenderErrors(w, c.publicErrorPage)
		}
		err := next(w, r)
		if err == nil {
			return nil
		}
		slug, possible := publicSlug(r)
		if status, _ := web.StatusOf(err); status != http.StatusNotFound || !possible {
			return err
		}
		shown, owner, failed := c.store.CampaignBySlug(r.Context(), slug)
		if failed == nil && shown.Status == campaign.Draft {
			failed = c.checkMember(r, shown.AccountID)
		}
		if errors.Is(failed, crm.ErrNotFound) {
			return err
		}
		r.Pattern = "GET /{campaign}" // for the log, which must not name the path of a request
		switch {
		case failed != nil:
			return failed
		case shown.Slug != slug:
			return moved(w, r, shown)
		}
		return c.publicPage(w, r, shown, owner)
	}
}

// checkMember refuses anyone who is not signed in as a member of an account, as if what they look at did not exist.
func (c *Console) checkMember(r *http.Request, account string) error {
	session, err := c.sessionOf(r)
	if err == nil {
		_, err = c.store.Membership(r.Context(), session.User.ID, account)
	}
	if errors.Is(err, crm.ErrUnauthenticated) {
		return crm.ErrNotFound
	}
	return err
}

// moved leads from an address that a campaign had to the one that it has.
func moved(w http.ResponseWriter, r *http.Request, campaign campaign.Campaign) error {
	share(w.Header(), campaign)
	to := "/" + campaign.Slug
	if r.URL.RawQuery != "" {
		to += "?" + r.URL.RawQuery
	}
	http.Redirect(w, r, to, http.StatusPermanentRedirect)
	return nil
}

// share lets browsers and proxies keep an answer for a while, unless it is for colleagues only. A copy must not tell how many requests
// another client has left.
func share(h http.Header, c campaign.Campaign) {
	if c.Status != campaign.Draft {
		h.Set("Cache-Control", "public, max-age=60")
	}
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
func (c *Console) publicErrorPage(w http.ResponseWriter, _ *http.Request, err error) {
	guard(w.Header())
	shown := newProblem(w.Header(), err)
	shown.Public = true
	if shown.Status == http.StatusNotFound {
		shown.Message = "There is no page at this address. Check the address, or ask the person who gave it to you for a new link."
	}
	_ = c.writeProblem(w, shown) // a client that left cannot be told
}

// publicSlug is the slug in an address that may be a campaign's.
func publicSlug(r *http.Request) (slug string, possible bool) {
	slug, found := strings.CutPrefix(r.URL.Path, "/")
	return slug, found && (r.Method == http.MethodGet || r.Method == http.MethodHead) && campaign.IsSlug(slug)
}

func (c *Console) publicPage(w http.ResponseWriter, r *http.Request, shown campaign.Campaign, owner string) error {
	account, err := c.store.Account(r.Context(), shown.AccountID)
	if err != nil {
		return err
	}
	zone, err := c.store.Timezone(r.Context(), account.Number)
	if err != nil {
		return err
	}
	guard(w.Header())
	share(w.Header(), shown)
	shown = shown.Public()
	view := publicView{shownCampaign: newShownCampaign(shown, c.now()), Owner: owner, Summary: summary(shown)}
	if view.Image = string(view.Cover); picture.IsAddress(view.Image) {
		view.Image = c.options.Proxies.BaseURL(r) + view.Image
	}
	if view.Logo == "" {
		settings, err := c.store.AccountSettings(r.Context(), account.Number)
		if err != nil {
			return err
		}
		view.Logo = newShownImage(settings.Logo)
	}
	if shown.Status == campaign.Published {
		view.Donate = shown.PaymentLink
	}
	return c.write(w, "public", "public", page{Title: shown.Title, Data: view, org: org{Timezone: zone.String()}})
}

const summaryLength = 200

var anyTag = regexp.MustCompile(`<[^>]*>`)

// summary is one line about a campaign: its subtitle, or how its description begins.
func summary(c campaign.Campaign) string {
	if c.Subtitle != "" {
		return c.Subtitle
	}
	words := strings.Fields(html.UnescapeString(anyTag.ReplaceAllString(c.Description, " ")))
	text := []rune(strings.Join(words, " "))
	if len(text) > summaryLength {
		return strings.TrimSpace(string(text[:summaryLength-1])) + "…"
	}
	return string(text)
}
