package console

import (
	"slices"
	"strconv"
	"time"

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

// keysPage lists the keys: first the active ones, and the newest of each kind first.
func (r *request) keysPage() error {
	keys, err := r.store.Keys(r.Context(), r.account())
	if err != nil {
		return err
	}
	var active, others []keyRow
	for _, k := range slices.Backward(keys) {
		if row := newKeyRow(k, r.now()); row.Active {
			active = append(active, row)
		} else {
			others = append(others, row)
		}
	}
	keyRows := paged(r, append(active, others...), r.path("/settings/keys"), pageParameter)
	return r.render("keys", page{Title: "API keys", Section: "settings", Data: keyRows})
}

// keyFormView is the form for a new key.
type keyFormView struct {
	Fault       string // of the permissions
	Permissions any
	Expiries    []option
}

// expiries are how long a key may be good for; what each means to access.ParseExpiry stands before the sign.
var expiries = newOptions("never=Never", "30d=In 30 days", "90d=In 90 days", "365d=In one year", "date=On a date you choose")

func (r *request) newKeyPage() error {
	r.form.setUnsent("permission", permissions[0].Name) // the least that is of use: more is a decision
	view := keyFormView{Fault: r.form.fault("permission", ""), Permissions: permissions, Expiries: expiries}
	return r.render("key_new", page{Title: "New API key", Section: "settings", Form: r.form, Data: view})
}

func (r *request) createKey() error {
	in := r.readKey(r.form)
	if len(r.form.Faults) > 0 {
		return errRefused
	}
	ctx := r.once(r.always("/settings/keys", "The key was created, but it can’t be shown again. If you didn’t copy it, revoke the key and create a new one."))
	key, secret, err := r.store.CreateKey(ctx, r.account(), in)
	if err != nil {
		return err
	}
	path := r.path("/settings/keys/" + strconv.FormatInt(key.ID, 10))
	leaveSecret(r.w, path, secret)
	return r.redirect(path)
}

// keyView is the page of one key. It shows the secret once, after the key was made.
type keyView struct {
	Key             keyRow
	Secret, Example string // "" where it was shown already
	OwnAuthority    bool   // the command names a file of this machine
}

func (r *request) keyPage(key access.Key) error {
	view, title := keyView{Key: newKeyRow(key, r.now()), OwnAuthority: r.options.Trust != ""}, key.Name
	if view.Secret = r.takeSecret(); view.Secret != "" {
		title, view.Example = "Your new API key", r.curl(r.options.Proxies.BaseURL(r.Request), view.Secret, key.Permissions)
	}
	return r.render("key", page{Title: title, Section: "settings", Data: view})
}

// readKey understands the form. No permission is none, and never all of them.
func (s *site) readKey(f *form) access.KeyInput {
	in := access.KeyInput{Name: f.Value("name")}
	_, err := access.AccountName(in.Name) // all faults at once
	_ = f.refuse(err)
	names := f.Values("permission")
	if len(names) == 0 {
		f.fail("permission", "Choose at least one permission.")
	} else if in.Permissions, err = access.ParsePermissions(names); err != nil {
		f.fail("permission", err.Error())
	}
	in.ExpiresAt = s.readExpiry(f)
	return in
}

func (s *site) readExpiry(f *form) (at time.Time) {
	choice, field := f.Value("expires"), "expires"
	known := slices.ContainsFunc(expiries, func(o option) bool { return o.Value == choice })
	switch {
	case choice == "never":
		return time.Time{}
	case !known:
		f.fail(field, "Choose when the key expires.")
		return time.Time{}
	case choice == "date":
		choice, field = f.Value("expires_on"), "expires_on"
		if _, err := time.Parse(time.DateOnly, choice); err != nil {
			f.fail(field, "Choose the last day on which the key works.")
			return time.Time{}
		}
	}
	at, err := access.ParseExpiry(choice, s.now())
	if err != nil {
		f.fail(field, "The last day cannot be in the past.")
	}
	return at
}

// curl is a call that works with the key.
func (s *site) curl(base, secret string, may access.Permission) string {
	call := "curl " + s.options.Trust + "-H 'Authorization: Bearer " + secret + "' "
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

// keyOf is the key in the path, where it is one of the organization's.
func (r *request) keyOf() (access.Key, error) {
	keys, err := r.store.Keys(r.Context(), r.account())
	return pick(keys, err, func(k access.Key) bool { return k.ID == r.id })
}

func (r *request) revokeKeyPage(key access.Key) error {
	if !key.RevokedAt.IsZero() {
		return r.redirect(r.path("/settings/keys"))
	}
	return r.render("key_revoke", page{Title: "Revoke " + key.Name, Section: "settings", Data: newKeyRow(key, r.now())})
}

func (r *request) revokeKey(key access.Key) error {
	if err := r.store.RevokeKey(r.Context(), key.ID); err != nil {
		return err
	}
	return r.redirect(r.path("/settings/keys"), notice{Text: "Key “" + key.Name + "” revoked. It stops working within two seconds."})
}
