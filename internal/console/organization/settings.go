package organization

import (
	"errors"

	"donorbook/internal/console/page"
	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/text"
)

// settingsView is where everything that is set once is found.
type settingsView struct {
	Parent      string // name of the account above, where the user belongs to it
	Keys        int    // active ones
	Fields      int    // custom fields in use
	Members     int
	Invitations int
	Mails       bool       // mail can be sent
	Ways        int        // to give on the pages of campaigns
	About       *page.Form // name, logo and time zone of the organization
	LogoField   page.PictureField
	Zones       []string
	Giving      *page.Form // the settings of its giving
	Public      *page.Form // what public pages say
	Settings    access.AccountSettings
}

func SettingsPage(r *page.Request) error {
	view := settingsView{About: r.Form.IfSentTo("/organization"), LogoField: page.LogoField, Zones: text.Timezones(),
		Giving: r.Form.IfSentTo("/giving"), Public: r.Form.IfSentTo("/public")}
	var err error
	if view.Settings, err = r.Store.AccountSettings(r.Context(), r.Account()); err != nil {
		return err
	}
	view.About.SetUnsent("name", r.Membership.Account.Name)
	view.About.Set(page.LogoField.Kept(), view.Settings.Logo)
	view.About.SetUnsent("timezone", view.Settings.Timezone)
	view.Giving.SetUnsent("currency", view.Settings.Currency)
	view.Giving.SetUnsent("address", view.Settings.Address)
	view.Giving.SetUnsent("tax_id", view.Settings.TaxID)
	view.Public.SetUnsent("email", view.Settings.Email)
	view.Public.SetUnsent("website", view.Settings.Website)
	view.Public.SetUnsent("public_donors", string(view.Settings.PublicDonors))
	if view.Settings.NoReturn {
		view.Giving.SetUnsent("no_return", "yes")
	}
	members, err := r.Store.Members(r.Context(), r.Account())
	if err != nil {
		return err
	}
	view.Members, view.Mails = len(members), r.Store.Mails()
	if r.Membership.Role >= access.Owner {
		if err := countForOwners(r, &view); err != nil {
			return err
		}
	}
	if parent := r.Membership.Account.ParentID; parent != "" {
		above, err := r.Store.Membership(r.Context(), r.Session.User.ID, parent)
		if err != nil && !errors.Is(err, crm.ErrNotFound) { // only members of the account above are told its name
			return err
		}
		view.Parent = above.Account.Name
	}
	return r.Render("settings", page.View{Title: "Settings", Section: "settings", Form: r.Form, Data: view})
}

func countForOwners(r *page.Request, view *settingsView) error {
	keys, err := r.Store.Keys(r.Context(), r.Account())
	if err != nil {
		return err
	}
	for _, k := range keys {
		if k.Valid(r.Now()) {
			view.Keys++
		}
	}
	fields, err := r.Store.CustomFields(r.Context(), r.Account())
	if err != nil {
		return err
	}
	view.Fields = len(fields.Active())
	invitations, err := r.Store.Invitations(r.Context(), r.Account())
	if err != nil {
		return err
	}
	offer, err := r.Offer(view.Settings.Currency)
	view.Invitations, view.Ways = len(invitations), len(offer.Ways)
	return err
}

// Save saves the name, the logo and the time zone. Without a file the logo stays, unless the person removes it.
func Save(r *page.Request) error {
	made, err := r.ReceivePictures(page.LogoField)
	if err != nil {
		return err
	}
	name, zone := r.Form.Value("name"), r.Form.Value("timezone")
	in := access.AccountSettingsInput{Name: &name, Timezone: &zone}
	if logo := made[page.LogoField.Name]; logo.Address != "" || r.Form.Value(page.LogoField.Remove()) != "" {
		in.Logo = &logo
	}
	if err := r.Form.Refuse(in.Validate()); err != nil { // together with what is wrong with the file
		return err
	}
	if len(r.Form.Faults) > 0 {
		return page.ErrRefused
	}
	err = r.Store.SetAccountSettings(r.Context(), r.Account(), in)
	return r.Done(err, r.Path("/settings"), page.Notice{Text: "Organization saved."})
}

// SaveGivingSettings saves what statements show. The currency is only asked for while there are no gifts.
func SaveGivingSettings(r *page.Request) error {
	address, taxID := r.Form.Value("address"), r.Form.Value("tax_id")
	noReturn := r.Form.Value("no_return") == "yes"
	in := access.AccountSettingsInput{Address: &address, TaxID: &taxID, NoReturn: &noReturn}
	if r.Form.Fields.Has("currency") {
		currency := r.Form.Value("currency")
		in.Currency = &currency
	}
	err := r.Store.SetAccountSettings(r.Context(), r.Account(), in)
	return r.Done(err, r.Path("/settings#giving"), page.Notice{Text: "Giving settings saved."})
}

// SavePublicSettings saves what public pages of campaigns say about the organization and its donors.
func SavePublicSettings(r *page.Request) error {
	email, website, donors := r.Form.Value("email"), r.Form.Value("website"), r.Form.Value("public_donors")
	err := r.Store.SetAccountSettings(r.Context(), r.Account(), access.AccountSettingsInput{Email: &email, Website: &website, PublicDonors: &donors})
	return r.Done(err, r.Path("/settings#public"), page.Notice{Text: "Public page settings saved."})
}
