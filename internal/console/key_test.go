package console_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"donorbook/internal/crm/access"
)

var shownSecret = regexp.MustCompile(`<code id="secret">(dbk_[0-9A-Za-z]+)</code>`)

// makeKey sends the form for a new key and returns the secret on the next page.
func (p *person) makeKey(pairs ...string) string {
	p.site.t.Helper()
	a := p.follow("settings/integrations/api-keys", pairs...)
	found := shownSecret.FindStringSubmatch(a.body)
	if a.status != 200 || found == nil {
		p.site.t.Fatalf("status %d, and no secret: %s", a.status, a.words())
	}
	return found[1]
}

func TestAKeyIsShownOnceAndWorks(t *testing.T) {
	s, p := signedIn(t, access.Owner)
	p.get("settings/integrations/api-keys").sees("No API keys yet", "Create key")
	form := p.get("settings/integrations/api-keys/new")
	form.has(`value="contacts:read" checked`)
	if strings.Count(form.body, " checked") != 1 {
		t.Error("another permission than to read contacts is ticked at first")
	}
	made := p.follow("settings/integrations/api-keys", "name", " Website ", "permission", "contacts:read", "permission", "campaigns:read", "expires", "90d")
	made.sees("Website", "Copy the key now", "Read contacts, Read campaigns", s.http.URL+"/v1/contacts")
	secret := shownSecret.FindStringSubmatch(made.body)[1]
	made.with("Cache-Control", "no-store")
	who, err := s.store.Authenticate(t.Context(), secret)
	if err != nil || who.Account != p.account.Number || who.Permissions != access.ContactsRead|access.CampaignsRead {
		t.Errorf("%+v, %v", who, err)
	}
	keys, err := s.store.Keys(t.Context(), p.account.Number)
	if err != nil || len(keys) != 1 || !keys[0].ExpiresAt.Equal(now.AddDate(0, 0, 90)) {
		t.Errorf("%v: the keys are %+v", err, keys)
	}
	p.get("settings/integrations/api-keys").sees("Website", keys[0].Hint, "Active", "Read contacts").hides(secret)

}

// The page of keys is where the API reference says: under Settings, Integrations, API keys. Older addresses lead there.
func TestKeysAreUnderIntegrations(t *testing.T) {
	_, p := signedIn(t, access.Owner)
	p.get("settings").sees("Integrations API keys")
	p.get("settings/integrations/api-keys").sees("Settings / Integrations / API keys")
	for old, now := range map[string]string{
		"/settings/keys": "/settings/integrations/api-keys", "/settings/keys?page=2": "/settings/integrations/api-keys?page=2",
		"/settings/keys/new": "/settings/integrations/api-keys/new", "/settings/keys/7/revoke": "/settings/integrations/api-keys/7/revoke",
		"/settings/integrations": "/settings#integrations",
	} {
		p.get(p.org(old)).leads(p.org(now))
	}
}

func TestTheExampleOfAKeyIsACallThatItMayMake(t *testing.T) {
	_, p := signedIn(t, access.Owner)
	for permission, call := range map[string]string{
		"contacts:read": "/v1/contacts", "campaigns:read": "/v1/campaigns", "contacts:write": `"first_name":"Ada","last_name":"Lovelace"`,
		"campaigns:write":   `"title":"Spring appeal"`,
		"transactions:read": "/v1/transactions", "transactions:write": `"amount":25,"method":"cash"`,
	} {
		p.follow("settings/integrations/api-keys", "name", "K", "permission", permission, "expires", "never").sees("curl -H 'Authorization: Bearer dbk_", call)
	}
}

func TestAWrongKeyIsToldEverythingAndNotMade(t *testing.T) {
	s, p := signedIn(t, access.Owner)
	for _, test := range []struct {
		form []string
		says []string
	}{
		{[]string{"name", " ", "expires", "date"}, []string{"3 things need your attention", "Name is required", "Choose at least one permission", "Choose the last day"}},
		{[]string{"name", "Kept", "permission", "contacts:delete", "expires", "never"}, []string{`The permission "contacts:delete" does not exist`}},
		{[]string{"name", "Kept", "permission", "contacts:read", "expires", "soon"}, []string{"Choose when the key expires"}},
		{[]string{"name", "Kept", "permission", "contacts:read"}, []string{"Choose when the key expires"}},
		{[]string{"name", "Kept", "permission", "contacts:read", "expires", "date", "expires_on", "2001-01-01"}, []string{"cannot be in the past"}},
		{[]string{"name", "Kept", "permission", "contacts:read", "expires", "date", "expires_on", "90d"}, []string{"Choose the last day"}},
		{[]string{"name", strings.Repeat("x", 256), "permission", "contacts:read", "expires", "never"}, []string{"must not be longer than 255 characters"}},
	} {
		a := p.post("settings/integrations/api-keys", test.form...)
		a.is(422).sees(test.says...)
		if test.form[1] == "Kept" && !strings.Contains(a.body, `value="Kept"`) {
			t.Errorf("%q: what was typed is lost", test.form)
		}
	}
	if keys, err := s.store.Keys(t.Context(), p.account.Number); err != nil || len(keys) != 0 {
		t.Errorf("%v: the keys are %+v", err, keys)
	}
}

func TestAKeyIsRevokedAfterAConfirmation(t *testing.T) {
	s, p := signedIn(t, access.Owner)
	p.makeKey("name", "Old", "permission", "contacts:read", "expires", "30d")
	secret := p.makeKey("name", "Website", "permission", "contacts:read", "expires", "never")
	who := must(s.store.Authenticate(t.Context(), secret))(t)
	revoke := p.org("/settings/integrations/api-keys/" + strconv.FormatInt(who.Key, 10) + "/revoke")
	p.get(revoke).sees("Revoke “Website”?", "This can’t be undone", "Last used")
	p.follow(revoke).sees("Key “Website” revoked", "Revoked")
	if _, err := s.store.Authenticate(t.Context(), secret); err == nil {
		t.Error("the key still works")
	}
	list := p.get("settings/integrations/api-keys").words()
	if strings.Index(list, "Old") > strings.Index(list, "Website") {
		t.Error("a revoked key stands before one active")
	}
	p.get(revoke).leads(p.org("/settings/integrations/api-keys"))
	for _, wrong := range []string{"0", "x", "-1", strconv.FormatInt(who.Key+7, 10), "0" + strconv.FormatInt(who.Key, 10)} {
		p.post("settings/integrations/api-keys/" + wrong + "/revoke").is(404)
	}

}

func TestAKeyThatEndsSoonSaysSo(t *testing.T) {
	s, p := signedIn(t, access.Owner)
	in := access.KeyInput{Name: "Short", Permissions: access.AllPermissions, ExpiresAt: now.AddDate(0, 0, 5)}
	if _, _, err := s.store.CreateKey(t.Context(), p.account.Number, in); err != nil {
		t.Fatal(err)
	}
	p.get("settings/integrations/api-keys").sees("Short", "All", "Expires soon")
}

// The page after the form shows the secret, and after a reload it says that the secret was shown. The secret is never in an
// address.
func TestAReloadNeitherMakesNorShowsAKeyAgain(t *testing.T) {
	s, p := signedIn(t, access.Owner)
	other := p.makeKey("name", "Other", "permission", "contacts:read", "expires", "never")
	sent := p.post("settings/integrations/api-keys", "name", "Website", "permission", "contacts:read", "expires", "never")
	sent.is(303)
	cookie := sent.header.Get("Set-Cookie")
	if strings.Contains(sent.location(), "dbk_") || !strings.Contains(cookie, "; HttpOnly; Secure") || !strings.Contains(cookie, "Max-Age=60") {
		t.Errorf("the secret goes to %s with %s", sent.location(), cookie)
	}
	who := must(s.store.Authenticate(t.Context(), other))(t)
	if a := p.get("settings/integrations/api-keys/" + strconv.FormatInt(who.Key, 10)); shownSecret.MatchString(a.body) {
		t.Error("the page of another key shows a secret")
	}
	first, again := p.get(sent.location()), p.get(sent.location())
	again.hides("dbk_")
	if !shownSecret.MatchString(first.body) || shownSecret.MatchString(again.body) {
		t.Error("the secret is not shown once")
	}
	again.sees("Website", "The key was shown once", "revoke it", "create a new one", "Read contacts", "Active")
	if keys, err := s.store.Keys(t.Context(), p.account.Number); err != nil || len(keys) != 2 {
		t.Errorf("%v: %d keys", err, len(keys))
	}
	s.member(p.account, access.Editor).get(sent.location()).is(403)
	stranger := s.member(s.organization("Elsewhere"), access.Owner)
	stranger.get("settings/integrations/api-keys/" + strconv.FormatInt(who.Key, 10)).is(404)

}
