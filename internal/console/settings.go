package console

import (
	"errors"
	"strconv"

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
	Mails       bool  // mail can be sent
	About       *form // name, logo and time zone of the organization
	LogoField   pictureField
	Zones       []string
	Giving      *form // the settings of its giving
	Public      *form // what public pages say
	History     *form // for how long changes are kept
	ZoneMoving  bool  // gifts are about to get the days of a new time zone
	Settings    access.AccountSettings
}

func (r *request) settingsPage() error {
	view := settingsView{About: r.form.ifSentTo("/organization"), LogoField: logoField, Zones: text.Timezones(), Giving: r.form.ifSentTo("/giving"), Public: r.form.ifSentTo("/public"), History: r.form.ifSentTo("/history")}
	var err error
	if view.Settings, err = r.store.AccountSettings(r.Context(), r.account()); err != nil {
		return err
	}
	if view.ZoneMoving, err = r.store.ZoneMoving(r.Context(), r.account()); err != nil {
		return err
	}
	view.About.setUnsent("name", r.membership.Account.Name)
	view.About.set(logoField.Kept(), view.Settings.Logo)
	view.About.setUnsent("timezone", view.Settings.Timezone)
	view.Giving.setUnsent("currency", view.Settings.Currency)
	view.Giving.setUnsent("address", view.Settings.Address)
	view.Giving.setUnsent("tax_id", view.Settings.TaxID)
	view.Public.setUnsent("email", view.Settings.Email)
	view.Public.setUnsent("website", view.Settings.Website)
	view.Public.setUnsent("public_donors", string(view.Settings.PublicDonors))
	if view.Settings.NoReturn {
		view.Giving.setUnsent("no_return", "yes")
	}
	if days := view.Settings.HistoryDays; days > 0 {
		view.History.setUnsent("history_days", strconv.FormatInt(days, 10))
	}
	members, err := r.store.Members(r.Context(), r.account())
	if err != nil {
		return err
	}
	view.Members, view.Mails = len(members), r.store.Mails()
	if r.membership.Role >= access.Owner {
		if err := r.countForOwners(&view); err != nil {
			return err
		}
	}
	if parent := r.membership.Account.ParentID; parent != "" {
		above, err := r.store.Membership(r.Context(), r.session.User.ID, parent)
		if err != nil && !errors.Is(err, crm.ErrNotFound) { // only members of the account above are told its name
			return err
		}
		view.Parent = above.Account.Name
	}
	return r.render("settings", page{Title: "Settings", Section: "settings", Form: r.form, Data: view})
}

func (r *request) countForOwners(view *settingsView) error {
	keys, err := r.store.Keys(r.Context(), r.account())
	if err != nil {
		return err
	}
	for _, k := range keys {
		if k.Valid(r.now()) {
			view.Keys++
		}
	}
	fields, err := r.store.CustomFields(r.Context(), r.account())
	if err != nil {
		return err
	}
	view.Fields = len(fields.Active())
	invitations, err := r.store.Invitations(r.Context(), r.account())
	view.Invitations = len(invitations)
	return err
}

// saveOrganization saves the name, the logo and the time zone. Without a file the logo stays, unless the person removes it. Gifts whose time is known get
// the days of a new time zone in the background.
func (r *request) saveOrganization() error {
	made, err := r.receivePictures(logoField)
	if err != nil {
		return err
	}
	name, zone := r.form.Value("name"), r.form.Value("timezone")
	in := access.AccountSettingsInput{Name: &name, Timezone: &zone}
	if logo := made[logoField.Name]; logo.Address != "" || r.form.Value(logoField.Remove()) != "" {
		in.Logo = &logo
	}
	if err := r.form.refuse(in.Validate()); err != nil { // together with what is wrong with the file
		return err
	}
	if len(r.form.Faults) > 0 {
		return errRefused
	}
	if err := r.store.SetAccountSettings(r.Context(), r.account(), in); err != nil {
		return err
	}
	return r.redirect(r.path("/settings"), notice{Text: "Organization saved."})
}

// saveGivingSettings saves what statements show. The currency is only asked for while there are no gifts.
func (r *request) saveGivingSettings() error {
	address, taxID := r.form.Value("address"), r.form.Value("tax_id")
	noReturn := r.form.Value("no_return") == "yes"
	in := access.AccountSettingsInput{Address: &address, TaxID: &taxID, NoReturn: &noReturn}
	if r.form.values.Has("currency") {
		currency := r.form.Value("currency")
		in.Currency = &currency
	}
	if err := r.store.SetAccountSettings(r.Context(), r.account(), in); err != nil {
		return err
	}
	return r.redirect(r.path("/settings#giving"), notice{Text: "Giving settings saved."})
}

// savePublicSettings saves what public pages of campaigns say about the organization and its donors.
func (r *request) savePublicSettings() error {
	email, website, donors := r.form.Value("email"), r.form.Value("website"), r.form.Value("public_donors")
	if err := r.store.SetAccountSettings(r.Context(), r.account(), access.AccountSettingsInput{Email: &email, Website: &website, PublicDonors: &donors}); err != nil {
		return err
	}
	return r.redirect(r.path("/settings#public"), notice{Text: "Public page settings saved."})
}

// saveHistorySettings sets for how many days changes are kept.
func (r *request) saveHistorySettings() error {
	days := r.form.Value("history_days")
	if err := r.store.SetAccountSettings(r.Context(), r.account(), access.AccountSettingsInput{HistoryDays: &days}); err != nil {
		return err
	}
	said := "Changes are now kept forever."
	if n := idOf(days); n > 0 {
		said = "Changes are now kept for " + plural(n, "day") + "."
	}
	return r.redirect(r.path("/settings#history"), notice{Text: said})
}
