package console

import (
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/store"
)

const campaignsPerPage = 25

// campaignsView is the list of campaigns.
type campaignsView struct {
	Scope crm.CampaignScope
	Tabs  []tab
	Rows  []campaignRow
	Pager pager
}

type campaignRow struct {
	crm.Campaign
	Address  string
	Chapter  string // whose it is, where it is not ours
	Progress progress
	Ended    bool
}

var campaignTabs = []struct {
	scope crm.CampaignScope
	label string
}{{crm.OwnCampaigns, "Ours"}, {crm.BenefitingCampaigns, "Benefiting us"}, {crm.ChapterCampaigns, "Chapters’"}, {crm.AllCampaigns, "All"}}

func (c *Console) campaignsPage(w http.ResponseWriter, r *http.Request, v visit, _ *form) error {
	scope, err := crm.ParseCampaignScope(r.URL.Query().Get("scope"))
	if err != nil {
		return redirect(w, r, v.path("/campaigns"))
	}
	l := listOf(r, v.path("/campaigns"), pageParameter, campaignsPerPage)
	campaigns, found, err := c.store.CampaignPage(r.Context(), v.account(), scope, l.PageRequest)
	if err != nil {
		return err
	}
	names, err := c.chapterNames(r, v)
	if err != nil {
		return err
	}
	view := campaignsView{Scope: scope, Pager: l.pager(found.Total)}
	if view.Tabs, err = c.campaignTabs(r, v, scope); err != nil {
		return err
	}
	for _, campaign := range campaigns {
		view.Rows = append(view.Rows, campaignRow{
			Campaign: campaign, Address: v.path(campaignPath(campaign.ID)), Chapter: names[campaign.AccountID],
			Progress: newProgress(campaign), Ended: c.ended(campaign),
		})
	}
	return c.render(w, r, v, "campaigns", page{Title: "Campaigns", Section: "campaigns", Data: view})
}

func (c *Console) campaignTabs(r *http.Request, v visit, current crm.CampaignScope) (tabs []tab, err error) {
	totals, err := c.store.CampaignTotals(r.Context(), v.account())
	for _, t := range campaignTabs {
		address := v.path("/campaigns")
		if t.scope != crm.OwnCampaigns {
			address += "?scope=" + url.QueryEscape(string(t.scope))
		}
		tabs = append(tabs, tab{Label: t.label, Address: address, Total: totals[t.scope], Current: t.scope == current})
	}
	return tabs, err
}

// chapterNames are the names of the accounts below, by their public ids. Nobody learns the name of any other account.
func (c *Console) chapterNames(r *http.Request, v visit) (map[string]string, error) {
	chapters, err := c.store.Chapters(r.Context(), v.membership.Account)
	names := map[string]string{}
	for _, chapter := range chapters {
		names[chapter.ID] = chapter.Name
	}
	return names, err
}

func campaignPath(id int64) string { return "/campaigns/" + strconv.FormatInt(id, 10) }

func (c *Console) ended(campaign crm.Campaign) bool {
	return !campaign.EndAt.IsZero() && campaign.EndAt.Before(c.now())
}

// progress is how far a campaign has come, in words and as a bar.
type progress struct {
	Raised, Goal string // Goal is "" where none was set
	Percent      int64
	Width        int64 // of the bar, up to 100
	Reached      bool
}

func newProgress(c crm.Campaign) progress {
	p := progress{Raised: crm.MoneyText(c.Raised, c.Currency)}
	if percent, ok := c.Progress(); ok {
		p.Goal, p.Percent, p.Width, p.Reached = crm.MoneyText(c.Goal, c.Currency), percent, min(percent, 100), percent >= 100
	}
	return p
}

// campaignView is the page of one campaign.
type campaignView struct {
	Campaign      crm.Campaign
	Progress      progress
	Address       string // the public one
	Own, Ended    bool
	Relations     []string
	Owner         string // name of the chapter that owns it
	Beneficiaries []beneficiary
	// These are the only texts that pages show as HTML. crm sanitized them before they were stored.
	Description, Details template.HTML
	Cover                picture
	Logo                 picture
}

// beneficiary is an account that a campaign is for; the name is only known of those that belong to the organization.
type beneficiary struct {
	ID, Name string
	Chosen   bool
}

func (c *Console) campaignPage(w http.ResponseWriter, r *http.Request, v visit, _ *form) error {
	record, err := c.campaignOf(r, v)
	if err != nil {
		return err
	}
	names, err := c.chapterNames(r, v)
	if err != nil {
		return err
	}
	names[v.membership.Account.ID] = v.membership.Account.Name
	campaign := record.Campaign
	view := campaignView{
		Campaign: campaign, Progress: newProgress(campaign), Address: c.options.Proxies.BaseURL(r) + "/" + campaign.Slug,
		Own: record.Relation&crm.Own != 0, Ended: c.ended(campaign), Relations: relationWords(record.Relation),
		Description: template.HTML(crm.Paragraphs(campaign.Description)), Logo: newPicture(campaign.Logo),
	}
	if !view.Own {
		view.Owner = names[campaign.AccountID]
	}
	if campaign.Cover != nil && campaign.Cover.Type == "image" {
		view.Cover = newPicture(campaign.Cover.URL)
	}
	if campaign.Event != nil {
		view.Details = template.HTML(crm.Paragraphs(campaign.Event.Details))
	}
	for _, id := range record.Beneficiaries {
		view.Beneficiaries = append(view.Beneficiaries, beneficiary{ID: id, Name: names[id]})
	}
	return c.render(w, r, v, "campaign", page{Title: campaign.Title, Section: "campaigns", Data: view})
}

func (c *Console) campaignOf(r *http.Request, v visit) (store.CampaignRecord, error) {
	return c.store.Campaign(r.Context(), v.account(), v.id)
}

// relationWords say why somebody sees a campaign that is not their own.
func relationWords(relation crm.Relation) (words []string) {
	if relation&crm.Benefiting != 0 {
		words = append(words, "Benefits you")
	}
	if relation&crm.Chapter != 0 {
		words = append(words, "A chapter’s")
	}
	return words
}

// picture is an image of another site. A page may only load it over https.
type picture string

func newPicture(address string) picture {
	if u, err := url.Parse(address); err != nil || u.Scheme != "https" {
		return ""
	}
	return picture(address)
}

// localTime is a time of an event, as the clocks at its place show it: 24 Apr 2027, 18:00 (America/New_York).
func localTime(t time.Time, zone string) string {
	if zone == "" {
		return shownMoment(t)
	}
	return t.In(crm.Location(zone)).Format("2 Jan 2006, 15:04") + " (" + zone + ")"
}

// spoken makes words of a value of the API: in_person is In person.
func spoken(value string) string {
	if label := campaignWords[value]; label != "" {
		return label
	}
	return value
}

// spokenOptions are choices of such values.
func spokenOptions(values ...string) (all []option) {
	for _, value := range values {
		all = append(all, option{Value: value, Label: spoken(value)})
	}
	return all
}

var campaignWords = map[string]string{
	"general": "General fund", "collect": "Donations", "fundraise": "Fundraisers", "event": "Event",
	"in_person": "In person", "virtual": "Online", "hybrid": "In person and online",
	"upload": "An upload", "youtube": "YouTube", "vimeo": "Vimeo", "twitch": "Twitch", "facebook": "Facebook", "image": "Picture", "video": "Film",
}
