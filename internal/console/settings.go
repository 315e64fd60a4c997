package console

import (
	"errors"
	"net/http"
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
	Giving      *form // the settings of its giving
	History     *form // for how long changes are kept
	Zone        *form // the time zone
	Zones       []string
	ZoneMoving  bool // gifts are about to get the days of a new time zone
	Settings    access.AccountSettings
}

func (c *Console) settingsPage(w http.ResponseWriter, r *http.Request, v visit, f *form) error {
	view := settingsView{Name: f.ifSentTo("/name"), Giving: f.ifSentTo("/giving"), History: f.ifSentTo("/history"), Zone: f.ifSentTo("/timezone"), Zones: text.Timezones()}
	var err error
	if view.Settings, err = c.store.AccountSettings(r.Context(), v.account()); err != nil {
		return err
	}
	if view.ZoneMoving, err = c.store.ZoneMoving(r.Context(), v.account()); err != nil {
		return err
	}
	view.Zone.setUnsent("timezone", view.Settings.Timezone)
	view.Name.setUnsent("name", v.membership.Account.Name)
	view.Giving.setUnsent("currency", view.Settings.Currency)
	view.Giving.setUnsent("address", view.Settings.Address)
	view.Giving.setUnsent("tax_id", view.Settings.TaxID)
	if view.Settings.NoReturn {
		view.Giving.setUnsent("no_return", "yes")
	}
	if days := view.Settings.HistoryDays; days > 0 {
		view.History.setUnsent("history_days", strconv.FormatInt(days, 10))
	}
	members, err := c.store.Members(r.Context(), v.account())
	if err != nil {
		return err
	}
	view.Members = len(members)
	if v.membership.Role >= access.Owner {
		if err := c.countForOwners(r, v, &view); err != nil {
			return err
		}
	}
	if parent := v.membership.Account.ParentID; parent != "" {
		above, err := c.store.Membership(r.Context(), v.session.User.ID, parent)
		if err != nil && !errors.Is(err, crm.ErrNotFound) { // only members of the account above are told its name
			return err
		}
		view.Parent = above.Account.Name
	}
	return c.render(w, r, v, "settings", page{Title: "Settings", Section: "settings", Form: f, Data: view})
}

func (c *Console) countForOwners(r *http.Request, v visit, view *settingsView) error {
	keys, err := c.store.Keys(r.Context(), v.account())
	if err != nil {
		return err
	}
	for _, k := range keys {
		if k.Valid(c.now()) {
			view.Keys++
		}
	}
	fields, err := c.store.CustomFields(r.Context(), v.account())
	if err != nil {
		return err
	}
	view.Fields = len(fields.Active())
	invitations, err := c.store.Invitations(r.Context(), v.account())
	view.Invitations = len(invitations)
	return err
}

func (c *Console) renameOrganization(w http.ResponseWriter, r *http.Request, v visit, f *form) error {
	account := v.membership.Account
	if err := c.store.RenameAccount(r.Context(), account, account.ID, f.Value("name")); err != nil {
		return err
	}
	return redirect(w, r, v.path("/settings"), notice{Text: "The name is now " + f.Value("name") + "."})
}

// saveGivingSettings saves what statements show. The currency is only asked for while there are no gifts.
func (c *Console) saveGivingSettings(w http.ResponseWriter, r *http.Request, v visit, f *form) error {
	address, taxID := f.Value("address"), f.Value("tax_id")
	noReturn := f.Value("no_return") == "yes"
	in := access.AccountSettingsInput{Address: &address, TaxID: &taxID, NoReturn: &noReturn}
	if f.values.Has("currency") {
		currency := f.Value("currency")
		in.Currency = &currency
	}
	if err := c.store.SetAccountSettings(r.Context(), v.account(), in); err != nil {
		return err
	}
	return redirect(w, r, v.path("/settings#giving"), notice{Text: "The giving settings were saved."})
}

// saveTimezone sets the time zone. Gifts whose time is known get the days of the new one in the background.
func (c *Console) saveTimezone(w http.ResponseWriter, r *http.Request, v visit, f *form) error {
	zone := f.Value("timezone")
	if err := c.store.SetAccountSettings(r.Context(), v.account(), access.AccountSettingsInput{Timezone: &zone}); err != nil {
		return err
	}
	return redirect(w, r, v.path("/settings#timezone"), notice{Text: "The time zone is now " + zone + "."})
}

// saveHistorySettings sets for how many days changes are kept.
func (c *Console) saveHistorySettings(w http.ResponseWriter, r *http.Request, v visit, f *form) error {
	days := f.Value("history_days")
	if err := c.store.SetAccountSettings(r.Context(), v.account(), access.AccountSettingsInput{HistoryDays: &days}); err != nil {
		return err
	}
	said := "The history is kept for good."
	if n := idOf(days); n > 0 {
		said = "The history is kept for " + shownCount(n) + " days."
	}
	return redirect(w, r, v.path("/settings#history"), notice{Text: said})
}
