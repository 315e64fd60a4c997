package book

import (
	"fmt"
	"strings"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/history"
	"donorbook/internal/store"
)

// told is the history of an account, oldest first, a line for each change.
func told(t testing.TB, s *Book, account int64) (lines []string) {
	t.Helper()
	for _, a := range everyChange(t, s, account) {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s by %s %s", a.Noun, a.Kind, a.Who, a.Data)))
	}
	return lines
}

// everyChange is the whole record of an account, oldest first.
func everyChange(t testing.TB, s *Book, account int64) []store.Change {
	t.Helper()
	return must(store.List(t.Context(), s.Store, store.ScanChange, store.ChangeColumns+` ORDER BY revision`,
		account))(t)
}

// Every change through the store leaves a row that says who has made it and what was before and after. No secret is
// among them.
func TestEveryNounHasAHistory(t *testing.T) {
	s := newBook(t)
	ctx := store.By(t.Context(), history.ConsoleChannel, "ana@x.org")
	account, other := newAccount(t, s), newAccount(t, s)
	number := account.Number
	ada := must(s.CreateUser(ctx, account, access.Owner, access.UserInput{Name: "Ada", Email: "ada@x.org",
		Password: "a long password 1"}))(t)
	bob := must(s.CreateUser(ctx, other, access.Owner, access.UserInput{Name: "Bob", Email: "bob@x.org",
		Password: "a long password 2"}))(t)
	must(s.AddMember(ctx, account, access.Viewer, "bob@x.org"))(t)
	succeed(t, s.SetRole(ctx, number, bob.ID, access.Editor))
	succeed(t, s.SetRole(ctx, number, bob.ID, access.Editor)) // which changes nothing
	succeed(t, s.RenameUser(store.By(t.Context(), history.ConsoleChannel, "bob@x.org"), bob.ID, "Robert"))
	succeed(t, s.ResetPassword(store.By(t.Context(), history.CommandChannel, "command line"), "bob@x.org",
		"a longer password 3"))
	succeed(t, s.RemoveMember(ctx, number, bob.ID))
	invitation, token := must2(s.Invite(ctx, account, ada, access.Viewer, "cy@x.org"))(t)
	succeed(t, s.RevokeInvitation(ctx, number, invitation.ID))
	_, link := must2(s.Invite(ctx, account, ada, access.Viewer, ""))(t)
	must2(s.JoinByInvitation(t.Context(), link, access.UserInput{Name: "Dee", Email: "dee@x.org",
		Password: "a long password 4"}))(t)
	key, secret := must2(s.CreateKey(ctx, number, access.KeyInput{Name: "Website",
		Permissions: access.ContactsRead}))(t)
	succeed(t, s.RevokeKey(ctx, key.ID))
	succeed(t, s.RevokeKey(ctx, key.ID)) // again
	currency, taxID := "EUR", "12-3"
	succeed(t, s.SetAccountSettings(ctx, number, access.AccountSettingsInput{Currency: &currency, TaxID: &taxID}))
	succeed(t, s.SetAccountSettings(ctx, number, access.AccountSettingsInput{Currency: &currency}))
	succeed(t, s.RenameAccount(ctx, account, account.ID, "Harbor"))
	title, goal, link2 := "Gala", int64(500), "https://pay.example"
	c := must(s.CreateCampaign(ctx, account, campaign.Input{Title: &title}))(t)
	benefits := []string{other.ID}
	must(s.UpdateCampaign(ctx, account, c.ID, campaign.Input{Goal: &goal, PaymentLink: &link2}))(t)
	must(s.UpdateCampaign(ctx, account, c.ID, campaign.Input{Beneficiaries: &benefits}))(t)
	must(s.UpdateCampaign(ctx, account, c.ID, campaign.Input{Goal: &goal}))(t)
	succeed(t, s.DeleteCampaign(ctx, account, c.ID, ""))
	must(s.CreateContact(ctx, number, input(t, `{"first_name":"Cy","tags":["a"]}`), crm.Dedupe))(t)
	must(s.RenameTags(ctx, number, "b", "a"))(t)
	must(s.RenameTags(ctx, number, "", "b"))(t)

	name := account.Name
	want := []string{
		`user created by ana@x.org {"email":[null,"ada@x.org"],"role":[null,"owner"]}`,
		`user created by ana@x.org {"email":[null,"bob@x.org"],"role":[null,"viewer"]}`,
		`user updated by ana@x.org {"email":["bob@x.org","bob@x.org"],"role":["viewer","editor"]}`,
		`user updated by bob@x.org {"email":["bob@x.org","bob@x.org"],"name":["Bob","Robert"]}`,
		`user updated by command line {"email":["bob@x.org","bob@x.org"],"password":[null,"changed"]}`,
		`user deleted by ana@x.org {"email":["bob@x.org",null],"role":["editor",null]}`,
		`user created by ana@x.org {"invitation":[null,"cy@x.org"],"role":[null,"viewer"]}`,
		`user deleted by ana@x.org {"invitation":["cy@x.org",null],"role":["viewer",null]}`,
		`user created by ana@x.org {"invitation":[null,"anyone with the link"],"role":[null,"viewer"]}`,
		`user created by dee@x.org {"email":[null,"dee@x.org"],"role":[null,"viewer"]}`,
		`key created by ana@x.org {"name":[null,"Website"],"permissions":[[],["contacts:read"]]}`,
		`key deleted by ana@x.org {"name":["Website",null]}`,
		`setting updated by ana@x.org {"currency":["USD","EUR"],"tax_id":[null,"12-3"]}`,
		`setting updated by ana@x.org {"name":["` + name + `","Harbor"]}`,
		`campaign created by ana@x.org`,
		`campaign updated by ana@x.org {"goal":[0,5],"payment_link":[null,"https://pay.example"]}`,
		`campaign updated by ana@x.org {"beneficiaries":[[],["` + other.ID + `"]]}`,
		`campaign deleted by ana@x.org {"title":["Gala",null]}`,
		`contact created by ana@x.org`,
		`job created by ana@x.org {"kind":"bulk"}`,
		`contact updated by ana@x.org {"tags":{"at":0,"out":["a"],"in":["b"]}}`,
		`job created by ana@x.org {"kind":"bulk"}`,
		`contact untagged by ana@x.org {"tags":{"at":0,"out":["b"]}}`,
	}
	got := told(t, s, number)
	equal(t, got, want)
	all := strings.Join(append(got, told(t, s, other.Number)...), "\n")
	for _, hidden := range []string{"password 1", "password 2", "password 3", "password 4", secret, token, link} {
		if strings.Contains(all, hidden) {
			t.Errorf("%q is in the history", hidden)
		}
	}
	contains(t, all, `user updated by bob@x.org {"email":["bob@x.org","bob@x.org"],"name":["Bob","Robert"]}`+"\n",
		"a user's other organization does not know of the new name")
}
