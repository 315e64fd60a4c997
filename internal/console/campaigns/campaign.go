package campaigns

import (
	"context"
	"errors"
	"net/url"

	"donorbook/internal/console/page"
	"donorbook/internal/crm"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/text"
	"donorbook/internal/store"
	"donorbook/internal/store/move"
)

const (
	campaignsPerPage = 25
	campaignGifts    = 5 // that a campaign's page shows
)

// campaignsView is the list of campaigns.
type campaignsView struct {
	page.Table
	Scope  campaign.Scope
	Tabs   []page.Tab
	Export *page.ExportForm
}

var campaignColumns = []page.Column{
	{Name: "title", Label: "Campaign"}, {Name: "progress", Label: "Progress", Class: "bars"}, {Name: "raised", Label: "Raised", Class: "right number amounts", Told: true},
	{Name: "donors", Label: "Donors", Optional: true, Usual: true, Class: "right number", Told: true}, {Name: "type", Label: "Type", Optional: true, Usual: true, Told: true}, {Name: "ends", Label: "Ends", Optional: true, Usual: true, Told: true},
}

var Listing = &page.Listing{Name: "campaigns", Columns: campaignColumns, More: []string{"scope"}}

var campaignScopes = []page.Scope[campaign.Scope]{{Name: campaign.OwnCampaigns, Label: "Ours"}, {Name: campaign.BenefitingCampaigns, Label: "Benefiting us"}, {Name: campaign.ChapterCampaigns, Label: "Chapters’"}, {Name: campaign.AllCampaigns, Label: "All"}}

func ListPage(r *page.Request) error {
	scope, err := campaign.ParseScope(r.URL.Query().Get("scope"))
	if err != nil {
		return r.Redirect(r.Path("/campaigns"))
	}
	l := r.List(r.Path("/campaigns"), page.PageParameter, campaignsPerPage)
	campaigns, found, err := r.Store.CampaignPage(r.Context(), r.Account(), scope, l.PageRequest)
	if err != nil {
		return err
	}
	names, err := chapterNames(r)
	if err != nil {
		return err
	}
	totals, err := r.Store.CampaignTotals(r.Context(), r.Account())
	if err != nil {
		return err
	}
	view := campaignsView{Scope: scope, Export: page.ExportOf(r.URL.Query(), r.Path("/campaigns"))}
	view.Tabs = page.TabsOf(campaignScopes, scope, totals, func(s campaign.Scope) string {
		if s == campaign.OwnCampaigns {
			return r.Path("/campaigns")
		}
		return r.Path("/campaigns?scope=" + url.QueryEscape(string(s)))
	})
	var rows []*page.CampaignRow
	for _, campaign := range campaigns {
		row := r.CampaignRow(campaign)
		row.Chapter = names[campaign.AccountID]
		rows = append(rows, &row)
	}
	view.Table = r.NewList(Listing, "Campaigns, newest first", rows)
	view.Pager = l.Pager(found.Total)
	return r.Render("campaigns", page.View{Title: "Campaigns", Section: "campaigns", Data: &view})
}

// chapterNames are the names of the accounts below, by their public ids. The names of other accounts stay secret.
func chapterNames(r *page.Request) (map[string]string, error) {
	chapters, err := r.Store.Chapters(r.Context(), r.Membership.Account)
	names := map[string]string{}
	for _, chapter := range chapters {
		names[chapter.ID] = chapter.Name
	}
	return names, err
}

// campaignView is the page of one campaign.
type campaignView struct {
	page.ShownCampaign
	Address       string // the public one
	Own           bool
	Relations     []string
	Owner         string // name of the chapter that owns it
	Beneficiaries []beneficiary
	Gifts         *page.Table // the latest ones, nil for none
	AllGifts      string      // the list of all of them
	Opening       string      // what was raised before Donorbook, "" for nothing
	Uncounted     []string    // currencies of gifts that do not count
	Share         *shareView  // nil where nothing is to be passed on
	NoWay         bool        // visitors cannot give
}

// beneficiary is an account that a campaign is for; the name is only known of those that belong to the organization.
type beneficiary struct {
	ID, Name string
	Chosen   bool
}

func Page(r *page.Request, record store.CampaignRecord) (err error) {
	names, err := chapterNames(r)
	if err != nil {
		return err
	}
	names[r.Membership.Account.ID] = r.Membership.Account.Name
	shown := record.Campaign
	view := campaignView{
		ShownCampaign: page.NewShownCampaign(shown, r.Now()), Address: r.Options.Proxies.BaseURL(r.Request) + "/" + shown.Slug,
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
		gifts, err := r.Store.LatestGifts(r.Context(), r.Account(), giving.GiftFilter{Campaign: shown.ID}, campaignGifts)
		if err != nil {
			return err
		}
		if view.Gifts, err = r.GiftTable("Latest gifts to this campaign", gifts, "what"); err != nil {
			return err
		}
		view.AllGifts = r.Path("/gifts?campaign=" + page.IDText(shown.ID))
		offer, err := r.Store.Offer(r.Context(), r.Account(), &shown)
		if err != nil {
			return err
		}
		view.Share = shareOf(&shown, view.Address, &offer)
		if view.NoWay, err = noWay(r, &shown); err != nil {
			return err
		}
	}
	return r.Render("campaign", page.View{Title: shown.Title, Section: "campaigns", Data: view})
}

func Of(r *page.Request) (store.CampaignRecord, error) {
	return r.Store.Campaign(r.Context(), r.Account(), r.ID)
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

// stateNotice says what state a campaign is in now.
func stateNotice(c campaign.Campaign) page.Notice {
	text := map[string]string{
		campaign.Draft:     "” is a draft. Only members of your organization can see its page.",
		campaign.Published: "” is live.",
		campaign.Closed:    "” is closed. Its page no longer asks for donations.",
	}[c.Status]
	return page.Notice{Text: "“" + c.Title + text, View: "/" + c.Slug}
}

// SetStatus publishes, closes or reopens a campaign, or makes it a draft again. The next page offers to undo it.
func SetStatus(r *page.Request, record store.CampaignRecord) (err error) {
	status := r.PathValue("status")
	in := campaign.Input{Status: &status}
	if in.Validate(&doc.Invalid{}, false) != nil {
		return crm.ErrNotFound // no page of ours leads there
	}
	saved, err := r.Store.UpdateCampaign(r.Context(), r.Membership.Account, r.ID, in)
	if err != nil {
		return err
	}
	said, path := stateNotice(saved), r.Path(page.CampaignPath(r.ID))
	if before := record.Campaign.Status; before != saved.Status {
		said.Undo = path + "/status/" + before
	}
	return r.Redirect(path, said)
}

// deletionView asks whether to delete a campaign, or says why that cannot be done.
type deletionView struct {
	store.CampaignRecord
	Blocked bool
}

func DeletePage(r *page.Request) error {
	view := deletionView{}
	var err error
	if view.CampaignRecord, err = Own(r); err != nil {
		return err
	}
	var blocked *doc.Invalid
	if err := r.Store.CheckDeletable(r.Context(), r.Account(), r.ID); errors.As(err, &blocked) {
		view.Blocked = true
	} else if err != nil {
		return err
	}
	return r.Render("campaign_delete", page.View{Title: "Delete " + view.Campaign.Title, Section: "campaigns", Form: r.Form, Data: view})
}

func Delete(r *page.Request, record store.CampaignRecord) error {
	err := r.Store.DeleteCampaign(r.Context(), r.Membership.Account, r.ID, r.Form.Value(page.SeenField))
	return r.Done(err, r.Path("/campaigns"), page.Notice{Text: "“" + record.Campaign.Title + "” deleted."})
}

func Export(r *page.Request) error {
	scope, err := campaign.ParseScope(r.URL.Query().Get("scope"))
	return page.Export(r, "campaigns", scope, err, func(ctx context.Context, account int64, scope campaign.Scope, how move.ExportOptions) (*move.Export, error) {
		return r.Store.ExportCampaigns(ctx, account, scope, r.Options.Proxies.BaseURL(r.Request), how)
	})
}
