package organization

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"donorbook/internal/console/page"
	"donorbook/internal/crm/access"
)

// keyRow is a key as the list shows it.
type keyRow struct {
	access.Key
	State, Badge string
	Active       bool
	Everything   bool
	Permissions  []string
}

// expiresSoon is how long before its end a key is worth a look.
const expiresSoon = 14 * 24 * time.Hour

func newKeyRow(k access.Key, now time.Time) keyRow {
	row := keyRow{Key: k, State: k.State(now), Active: k.Valid(now), Everything: k.Permissions == access.AllPermissions}
	switch {
	case row.Active && !k.ExpiresAt.IsZero() && k.ExpiresAt.Sub(now) < expiresSoon:
		row.State, row.Badge = "expires soon", "warn"
	case row.Active:
		row.Badge = "good"
	case !k.RevokedAt.IsZero():
		row.Badge = "bad"
	}
	for _, p := range permissions {
		if k.Permissions&p.Permission != 0 {
			row.Permissions = append(row.Permissions, p.Label)
		}
	}
	return row
}

// permissions are what a key may be made for, in words.
var permissions = []struct {
	Permission        access.Permission
	Name, Label, Hint string
}{
	{access.ContactsRead, "contacts:read", "Read contacts", "List and view contacts."},
	{access.ContactsWrite, "contacts:write", "Change contacts", "Create, edit, tag, archive and restore contacts."},
	{access.CampaignsRead, "campaigns:read", "Read campaigns", "List campaigns with their totals and beneficiaries."},
	{access.CampaignsWrite, "campaigns:write", "Change campaigns", "Create, edit and close campaigns, and delete those without gifts."},
	{access.TransactionsRead, "transactions:read", "Read gifts", "List and view gifts, including recurring gifts."},
	{access.TransactionsWrite, "transactions:write", "Change gifts", "Record, edit and refund gifts, and set up and edit recurring gifts."},
}

// KeysPage lists the keys: first the active ones, and the newest of each kind first.
func KeysPage(r *page.Request) error {
	keys, err := r.Store.Keys(r.Context(), r.Account())
	if err != nil {
		return err
	}
	var active, others []keyRow
	for _, k := range slices.Backward(keys) {
		if row := newKeyRow(k, r.Now()); row.Active {
			active = append(active, row)
		} else {
			others = append(others, row)
		}
	}
	keyRows := page.Paged(r, append(active, others...), r.Path("/settings/integrations/api-keys"), page.PageParameter)
	return r.Render("keys", page.View{Title: "API keys", Section: "settings", Data: keyRows})
}

// KeysMoved leads on from where the keys were in earlier releases.
func KeysMoved(r *page.Request) error {
	rest := strings.TrimPrefix(r.URL.Path, r.Path("/settings/keys"))
	if r.URL.RawQuery != "" {
		rest += "?" + r.URL.RawQuery
	}
	return r.Redirect(r.Path("/settings/integrations/api-keys" + rest))
}

// IntegrationsMoved leads on to the part of the settings that the address names.
func IntegrationsMoved(r *page.Request) error { return r.Redirect(r.Path("/settings#integrations")) }

// keyFormView is the form for a new key.
type keyFormView struct {
	Fault       string // of the permissions
	Permissions any
	Expiries    []page.Option
}

// expiries are how long a key may be good for; what each means to access.ParseExpiry stands before the sign.
var expiries = page.NewOptions("never=Never", "30d=In 30 days", "90d=In 90 days", "365d=In one year", "date=On a date you choose")

func NewKeyPage(r *page.Request) error {
	r.Form.SetUnsent("permission", permissions[0].Name) // the least that is of use: more is a decision
	view := keyFormView{Fault: r.Form.Fault("permission", ""), Permissions: permissions, Expiries: expiries}
	return r.Render("key_new", page.View{Title: "New API key", Section: "settings", Form: r.Form, Data: view})
}

func CreateKey(r *page.Request) error {
	in := readKey(r.Site, r.Form)
	if len(r.Form.Faults) > 0 {
		return page.ErrRefused
	}
	ctx := r.Once(r.Always("/settings/integrations/api-keys", "The key was created, but it can’t be shown again. If you didn’t copy it, revoke the key and create a new one."))
	key, secret, err := r.Store.CreateKey(ctx, r.Account(), in)
	if err != nil {
		return err
	}
	path := r.Path("/settings/integrations/api-keys/" + strconv.FormatInt(key.ID, 10))
	page.LeaveSecret(r.W, path, secret)
	return r.Redirect(path)
}

// keyView is the page of one key. It shows the secret once, after the key was made.
type keyView struct {
	Key             keyRow
	Secret, Example string // "" where it was shown already
	OwnAuthority    bool   // the command names a file of this machine
}

func KeyPage(r *page.Request, key access.Key) error {
	view, title := keyView{Key: newKeyRow(key, r.Now()), OwnAuthority: r.Options.Trust != ""}, key.Name
	if view.Secret = r.TakeSecret(); view.Secret != "" {
		title, view.Example = "Your new API key", curl(r.Site, r.Options.Proxies.BaseURL(r.Request), view.Secret, key.Permissions)
	}
	return r.Render("key", page.View{Title: title, Section: "settings", Data: view})
}

// readKey understands the form. No permission is none, and never all of them.
func readKey(s *page.Site, f *page.Form) access.KeyInput {
	in := access.KeyInput{Name: f.Value("name")}
	_, err := access.AccountName(in.Name) // all faults at once
	_ = f.Refuse(err)
	names := f.Values("permission")
	if len(names) == 0 {
		f.Fail("permission", "Choose at least one permission.")
	} else if in.Permissions, err = access.ParsePermissions(names); err != nil {
		f.Fail("permission", err.Error())
	}
	in.ExpiresAt = readExpiry(s, f)
	return in
}

func readExpiry(s *page.Site, f *page.Form) (at time.Time) {
	choice, field := f.Value("expires"), "expires"
	known := slices.ContainsFunc(expiries, func(o page.Option) bool { return o.Value == choice })
	switch {
	case choice == "never":
		return time.Time{}
	case !known:
		f.Fail(field, "Choose when the key expires.")
		return time.Time{}
	case choice == "date":
		choice, field = f.Value("expires_on"), "expires_on"
		if _, err := time.Parse(time.DateOnly, choice); err != nil {
			f.Fail(field, "Choose the last day on which the key works.")
			return time.Time{}
		}
	}
	at, err := access.ParseExpiry(choice, s.Now())
	if err != nil {
		f.Fail(field, "The last day cannot be in the past.")
	}
	return at
}

// curl is a call that works with the key.
func curl(s *page.Site, base, secret string, may access.Permission) string {
	call := "curl " + s.Options.Trust + "-H 'Authorization: Bearer " + secret + "' "
	switch {
	case may&access.ContactsRead != 0:
		return call + base + "/v1/contacts"
	case may&access.CampaignsRead != 0:
		return call + base + "/v1/campaigns"
	case may&access.TransactionsRead != 0:
		return call + base + "/v1/transactions"
	}
	path, body := "/v1/transactions", `{"amount":25,"method":"cash","transacted_at":"2026-01-31","first_name":"Ada","last_name":"Lovelace","email":"ada@example.org"}`
	switch {
	case may&access.ContactsWrite != 0:
		path, body = "/v1/contacts", `{"first_name":"Ada","last_name":"Lovelace","emails":[{"value":"ada@example.org"}]}`
	case may&access.CampaignsWrite != 0:
		path, body = "/v1/campaigns", `{"title":"Spring appeal","goal":25000,"status":"draft"}`
	}
	return call + `-H 'Content-Type: application/json' -d '` + body + `' ` + base + path
}

// KeyOf is the key in the path, where it is one of the organization's.
func KeyOf(r *page.Request) (access.Key, error) {
	keys, err := r.Store.Keys(r.Context(), r.Account())
	return page.Pick(keys, err, func(k access.Key) bool { return k.ID == r.ID })
}

func RevokeKeyPage(r *page.Request, key access.Key) error {
	if !key.RevokedAt.IsZero() {
		return r.Redirect(r.Path("/settings/integrations/api-keys"))
	}
	return r.Render("key_revoke", page.View{Title: "Revoke " + key.Name, Section: "settings", Data: newKeyRow(key, r.Now())})
}

func RevokeKey(r *page.Request, key access.Key) error {
	err := r.Store.RevokeKey(r.Context(), key.ID)
	return r.Done(err, r.Path("/settings/integrations/api-keys"), page.Notice{Text: "Key “" + key.Name + "” revoked. It stops working within two seconds."})
}
