package book

import (
	"testing"
	"time"

	"donorbook/internal/crm/access"
	"donorbook/internal/store/contacts"
)

func TestSettingsOfAnAccountAreKept(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account, other := newAccount(t, s), newAccount(t, s)
		set := func(in access.AccountSettingsInput) {
			t.Helper()
			succeed(t, s.SetAccountSettings(t.Context(), account.Number, in))
		}
		wantSettings(t, s, account, access.AccountSettings{Timezone: "UTC", Currency: "USD"})
		euro, address, id, none := "eur", "1 Quay\nPorto", "PT 123", ""
		set(access.AccountSettingsInput{Currency: &euro, Address: &address})
		set(access.AccountSettingsInput{TaxID: &id})
		wantSettings(t, s, account, access.AccountSettings{Timezone: "UTC", Currency: "EUR", Address: address, TaxID: id})
		set(access.AccountSettingsInput{Address: &none})
		wantSettings(t, s, account, access.AccountSettings{Timezone: "UTC", Currency: "EUR", TaxID: id})
		wantSettings(t, s, other, access.AccountSettings{Timezone: "UTC", Currency: "USD"})

		// Once there are gifts, the currency stays, and a refused change changes nothing else.
		contact := create(t, s, account.Number, `{"first_name":"A","last_name":"B"}`).ID
		in := giftInput(t, `{"amount":5,"method":"cash","transacted_at":"2026-01-31","first_name":"A","last_name":"B"}`, true, time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC))
		in.Contact = &contact
		must(s.CreateGift(t.Context(), account.Number, in))(t)
		dollar := "USD"
		err := s.SetAccountSettings(t.Context(), account.Number, access.AccountSettingsInput{Currency: &dollar, Address: &address})
		if err == nil || err.Error() != "The currency field must stay EUR: the organization has gifts, and its sums are in this currency." {
			t.Errorf("the currency of gifts changes: %v", err)
		}
		wantSettings(t, s, account, access.AccountSettings{Timezone: "UTC", Currency: "EUR", HasGifts: true, TaxID: id})
		set(access.AccountSettingsInput{Currency: &euro, Address: &address}) // the same one
		wantSettings(t, s, account, access.AccountSettings{Timezone: "UTC", Currency: "EUR", HasGifts: true, Address: address, TaxID: id})
	})
}

// If two people change different settings at once, both changes are saved.
func TestSettingsThatChangeAtOnceAreBothKept(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s)
		address, id := "1 Quay", "04-1"
		x := &script{t: t, s: s}
		for _, in := range []access.AccountSettingsInput{{Address: &address}, {TaxID: &id}} {
			x.add(func() (contacts.Document, error) {
				return contacts.Document{}, s.SetAccountSettings(t.Context(), account.Number, in)
			})
		}
		x.mustRun(account.Number)
		wantSettings(t, s, account, access.AccountSettings{Timezone: "UTC", Currency: "USD", Address: address, TaxID: id})
	})
}

func wantSettings(t *testing.T, s *Book, account access.Account, want access.AccountSettings) {
	t.Helper()
	if got, err := s.AccountSettings(t.Context(), account.Number); err != nil || got != want {
		t.Errorf("%v: %+v, want %+v", err, got, want)
	}
}
