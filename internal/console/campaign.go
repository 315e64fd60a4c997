package console

import (
	"cmp"
	"errors"
	"html/template"
	"net/url"
	"strconv"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/picture"
	"donorbook/internal/crm/text"
	"donorbook/internal/store/campaigns"
)

const (
	campaignsPerPage = 25
	campaignGifts    = 5 // that a campaign's page shows
)

// campaignsView is the list of campaigns.
type campaignsView struct {
	table
	Scope  campaign.Scope
	Tabs   []tab
	Export *exportForm
}

// campaignRow is a campaign in a list.
type campaignRow struct {
	campaign.Campaign
	Address  string
	Chapter  string // whose it is, where it is not ours
	Progress progress
	Ended    bool
}

func (r *request) campaignRow(campaign campaign.Campaign) campaignRow {
	return campaignRow{Campaign: campaign, Address: r.path(campaignPath(campaign.ID)), Progress: newProgress(campaign), Ended: ended(campaign, r.now())}
}

var campaignColumns = []tableColumn{
	{Name: "title", Label: "Campaign"}, {Name: "progress", Label: "Progress", Class: "bars"}, {Name: "raised", Label: "Raised", Class: "right number amounts", Told: true},
	{Name: "donors", Label: "Donors", Optional: true, Usual: true, Class: "right number", Told: true}, {Name: "type", Label: "Type", Optional: true, Usual: true, Told: true}, {Name: "ends", Label: "Ends", Optional: true, Usual: true, Told: true},
}

var campaignListing = &listing{name: "campaigns", columns: campaignColumns, more: []string{"scope"}}

var campaignScopes = []scope[campaign.Scope]{{campaign.OwnCampaigns, "Ours"}, {campaign.BenefitingCampaigns, "Benefiting us"}, {campaign.ChapterCampaigns, "Chapters’"}, {campaign.AllCampaigns, "All"}}

func (r *request) campaignsPage() error {
	scope, err := campaign.ParseScope(r.URL.Query().Get("scope"))
	if err != nil {
		return r.redirect(r.path("/campaigns"))
	}
	l := r.list(r.path("/campaigns"), pageParameter, campaignsPerPage)
	campaigns, found, err := r.store.CampaignPage(r.Context(), r.account(), scope, l.PageRequest)
	if err != nil {
		return err
	}
	names, err := r.chapterNames()
	if err != nil {
		return err
	}
	totals, err := r.store.CampaignTotals(r.Context(), r.account())
	if err != nil {
		return err
	}
	view := campaignsView{Scope: scope, Export: exportOf(r.URL.Query(), r.path("/campaigns"))}
	view.Tabs = tabsOf(campaignScopes, scope, totals, func(s campaign.Scope) string {
		if s == campaign.OwnCampaigns {
			return r.path("/campaigns")
		}
		return r.path("/campaigns?scope=" + url.QueryEscape(string(s)))
	})
	var rows []*campaignRow
	for _, campaign := range campaigns {
		row := r.campaignRow(campaign)
		row.Chapter = names[campaign.AccountID]
		rows = append(rows, &row)
	}
	view.table = r.newList(campaignListing, "Campaigns, newest first", rows)
	view.Pager = l.pager(found.Total)
	return r.render("campaigns", page{Title: "Campaigns", Section: "campaigns", Data: &view})
}

// chapterNames are the names of the accounts below, by their public ids. The names of other accounts stay secret.
func (r *request) chapterNames() (map[string]string, error) {
	chapters, err := r.store.Chapters(r.Context(), r.membership.Account)
	names := map[string]string{}
	for _, chapter := range chapters {
		names[chapter.ID] = chapter.Name
	}
	return names, err
}

func campaignPath(id int64) string { return "/campaigns/" + strconv.FormatInt(id, 10) }

func ended(campaign campaign.Campaign, now time.Time) bool {
	return !campaign.EndAt.IsZero() && campaign.EndAt.Before(now)
}

// progress is how far a campaign has come, in words and as a bar.
type progress struct {
	Raised, Goal string // Goal is "" where none was set
	Percent      int64
	Width        string // of the bar
	Reached      bool
}

func newProgress(c campaign.Campaign) progress {
	p := progress{Raised: text.MoneyText(c.Raised(), c.Currency)}
	reached, ok := c.Progress()
	if ok {
		p.Goal, p.Percent, p.Reached = text.MoneyText(c.Goal, c.Currency), reached, reached >= 100
	}
	p.Width = percent(float64(min(reached, 100)))
	return p
}

// shownCampaign is what the pages of a campaign show of it.
type shownCampaign struct {
	Campaign campaign.Campaign
	Progress progress
	Ended    bool
	// These are the only texts that pages show as HTML. crm sanitized them before they were stored.
	Description, Details template.HTML
	Cover, Logo          shownImage
	Video                string
}

func newShownCampaign(c campaign.Campaign, now time.Time) shownCampaign {
	shown := shownCampaign{
		Campaign: c, Progress: newProgress(c), Ended: ended(c, now),
		Description: template.HTML(campaign.Paragraphs(c.Description)), Logo: newShownImage(c.Logo),
	}
	if c.Event != nil {
		shown.Details = template.HTML(campaign.Paragraphs(c.Event.Details))
	}
	switch {
	case c.Cover == nil:
	case c.Cover.Type == "image":
		shown.Cover = newShownImage(c.Cover.URL)
	default:
		shown.Video = c.Cover.URL
	}
	return shown
}

// campaignView is the page of one campaign.
type campaignView struct {
	shownCampaign
	Address       string // the public one
	Own           bool
	Relations     []string
	Owner         string // name of the chapter that owns it
	Beneficiaries []beneficiary
	Gifts         *table   // the latest ones, nil for none
	AllGifts      string   // the list of all of them
	Opening       string   // what was raised before Donorbook, "" for nothing
	Uncounted     []string // currencies of gifts that do not count
}

// beneficiary is an account that a campaign is for; the name is only known of those that belong to the organization.
type beneficiary struct {
	ID, Name string
	Chosen   bool
}

func (r *request) campaignPage(record campaigns.CampaignRecord) (err error) {
	names, err := r.chapterNames()
	if err != nil {
		return err
	}
	names[r.membership.Account.ID] = r.membership.Account.Name
	shown := record.Campaign
	view := campaignView{
		shownCampaign: newShownCampaign(shown, r.now()), Address: r.options.Proxies.BaseURL(r.Request) + "/" + shown.Slug,
		Own: record.Relation&campaign.Own != 0, Relations: relationWords(record.Relation), Uncounted: record.Uncounted,
	}
	if shown.OpeningRaised != 0 && shown.Given.Donors != 0 {
		view.Opening = text.MoneyText(shown.OpeningRaised, shown.Currency)
	}
	if !view.Own {
		view.Owner = names[shown.AccountID]
	}
	for _, id := range record.Beneficiaries {
		view.Beneficiaries = append(view.Beneficiaries, beneficiary{ID: id, Name: names[id]})
	}
	if view.Own {
		gifts, err := r.store.LatestGifts(r.Context(), r.account(), giving.GiftFilter{Campaign: shown.ID}, campaignGifts)
		if err != nil {
			return err
		}
		if view.Gifts, err = r.giftTable("Latest gifts to this campaign", gifts, "what"); err != nil {
			return err
		}
		view.AllGifts = r.path("/gifts?campaign=" + idText(shown.ID))
	}
	return r.render("campaign", page{Title: shown.Title, Section: "campaigns", Data: view})
}

func (r *request) campaignOf() (campaigns.CampaignRecord, error) {
	return r.store.Campaign(r.Context(), r.account(), r.id)
}

// relationWords say why an organization sees a campaign that is not its own.
func relationWords(relation campaign.Relation) (words []string) {
	if relation&campaign.Benefiting != 0 {
		words = append(words, "Benefits you")
	}
	if relation&campaign.Chapter != 0 {
		words = append(words, "Chapter campaign")
	}
	return words
}

// shownImage is the address of an image that was uploaded, or of one of another site. A page may only load that over https.
type shownImage string

func newShownImage(address string) shownImage {
	if u, err := url.Parse(address); !picture.IsAddress(address) && (err != nil || u.Scheme != "https") {
		return ""
	}
	return shownImage(address)
}

// Small tells whether an image that was uploaded would be blurred across a whole page.
func (i shownImage) Small() bool {
	for _, widest := range picture.Sizes(string(i)) {
		return widest < 800
	}
	return false
}

// spoken makes words of a value of the API: in_person is In person.
func spoken(value string) string {
	return cmp.Or(campaignWords[value], giftWords[value], value)
}

// spokenOptions are choices of such values.
func spokenOptions(values ...string) (all []option) {
	for _, value := range values {
		all = append(all, option{Value: value, Label: spoken(value)})
	}
	return all
}

var campaignWords = map[string]string{
	campaign.Draft: "Draft", campaign.Published: "Published", campaign.Closed: "Closed",
	"general": "General fund", "collect": "Donations", "fundraise": "Fundraisers", "event": "Event",
	"in_person": "In person", "virtual": "Online", "hybrid": "In person and online",
	"upload": "Upload", "youtube": "YouTube", "vimeo": "Vimeo", "twitch": "Twitch", "facebook": "Facebook", "image": "Image", "video": "Video",
}

// stateNotice says what state a campaign is in now.
func stateNotice(c campaign.Campaign) notice {
	text := map[string]string{
		campaign.Draft:     "” is a draft. Only members of your organization can see its page.",
		campaign.Published: "” is live.",
		campaign.Closed:    "” is closed. Its page no longer asks for donations.",
	}[c.Status]
	return notice{Text: "“" + c.Title + text, View: "/" + c.Slug}
}

// setCampaignStatus publishes, closes or reopens a campaign, or makes it a draft again. The next page offers to undo it.
func (r *request) setCampaignStatus(record campaigns.CampaignRecord) (err error) {
	status := r.PathValue("status")
	in := campaign.Input{Status: &status}
	if in.Validate(&doc.Invalid{}, false) != nil {
		return crm.ErrNotFound // no page of ours leads there
	}
	saved, err := r.store.UpdateCampaign(r.Context(), r.membership.Account, r.id, in)
	if err != nil {
		return err
	}
	said, path := stateNotice(saved), r.path(campaignPath(r.id))
	if before := record.Campaign.Status; before != saved.Status {
		said.Undo = path + "/status/" + before
	}
	return r.redirect(path, said)
}

// deletionView asks whether to delete a campaign, or says why that cannot be done.
type deletionView struct {
	campaigns.CampaignRecord
	Blocked bool
}

func (r *request) deleteCampaignPage() error {
	view := deletionView{}
	var err error
	if view.CampaignRecord, err = r.ownCampaign(); err != nil {
		return err
	}
	var blocked *doc.Invalid
	if err := r.store.CheckDeletable(r.Context(), r.account(), r.id); errors.As(err, &blocked) {
		view.Blocked = true
	} else if err != nil {
		return err
	}
	return r.render("campaign_delete", page{Title: "Delete " + view.Campaign.Title, Section: "campaigns", Form: r.form, Data: view})
}

func (r *request) deleteCampaign(record campaigns.CampaignRecord) error {
	if err := r.store.DeleteCampaign(r.Context(), r.membership.Account, r.id, r.form.Value(seenField)); err != nil {
		return err
	}
	return r.redirect(r.path("/campaigns"), notice{Text: "“" + record.Campaign.Title + "” deleted."})
}
