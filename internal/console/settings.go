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
	Name        *form // the name of the organization
	Logo        *form // its logo
	LogoField   pictureField
	Giving      *form // the settings of its giving
	Public      *form // what public pages say
	History     *form // for how long changes are kept
	Zone        *form // the time zone
	Zones       []string
	ZoneMoving  bool // gifts are about to get the days of a new time zone
	Settings    access.AccountSettings
}

func (r *request) settingsPage() error {
	view := settingsView{Name: r.form.ifSentTo("/name"), Logo: r.form.ifSentTo("/logo"), LogoField: logoField, Giving: r.form.ifSentTo("/giving"), Public: r.form.ifSentTo("/public"), History: r.form.ifSentTo("/history"), Zone: r.form.ifSentTo("/timezone"), Zones: text.Timezones()}
	var err error
	if view.Settings, err = r.store.AccountSettings(r.Context(), r.account()); err != nil {
		return err
	}
	if view.ZoneMoving, err = r.store.ZoneMoving(r.Context(), r.account()); err != nil {
		return err
	}
	view.Zone.setUnsent("timezone", view.Settings.Timezone)
	view.Logo.set(logoField.Kept(), view.Settings.Logo)
	view.Name.setUnsent("name", r.membership.Account.Name)
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
	view.Members = len(members)
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

func (r *request) renameOrganization() error {
	account := r.membership.Account
	if err := r.store.RenameAccount(r.Context(), account, account.ID, r.form.Value("name")); err != nil {
		return err
	}
	return r.redirect(r.path("/settings"), notice{Text: "The name is now " + r.form.Value("name") + "."})
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
	return r.redirect(r.path("/settings#giving"), notice{Text: "The giving settings were saved."})
}

// savePublicSettings saves what public pages of campaigns say about the organization and its donors.
func (r *request) savePublicSettings() error {
	email, website, donors := r.form.Value("email"), r.form.Value("website"), r.form.Value("public_donors")
	if err := r.store.SetAccountSettings(r.Context(), r.account(), access.AccountSettingsInput{Email: &email, Website: &website, PublicDonors: &donors}); err != nil {
		return err
	}
	return r.redirect(r.path("/settings#public"), notice{Text: "The settings of your public pages were saved."})
}

// saveTimezone sets the time zone. Gifts whose time is known get the days of the new one in the background.
func (r *request) saveTimezone() error {
	zone := r.form.Value("timezone")
	if err := r.store.SetAccountSettings(r.Context(), r.account(), access.AccountSettingsInput{Timezone: &zone}); err != nil {
		return err
	}
	return r.redirect(r.path("/settings#timezone"), notice{Text: "The time zone is now " + zone + "."})
}

// saveHistorySettings sets for how many days changes are kept.
func (r *request) saveHistorySettings() error {
	days := r.form.Value("history_days")
	if err := r.store.SetAccountSettings(r.Context(), r.account(), access.AccountSettingsInput{HistoryDays: &days}); err != nil {
		return err
	}
	said := "The history is kept forever."
	if n := idOf(days); n > 0 {
		said = "The history is kept for " + shownCount(n) + " days."
	}
	return r.redirect(r.path("/settings#history"), notice{Text: said})
}
