package access

import (
	"strings"
	"testing"

	"donorbook/internal/rig/assert"
)

func TestSettingsOfAnAccountAreChecked(t *testing.T) {
	for _, c := range []struct {
		currency, address, taxID string
		want                     string // the settings, or what is wrong
	}{
		{"eur ", " 12 Harbor Street \r\nBoston, MA 02110\n\n", " 04-1234567 ", "EUR|12 Harbor Street\nBoston, MA 02110|04-1234567"},
		{"USD", "", "", "USD||"},
		{"", "", "", "The currency field is required."},
		{"XYZ", "", "", "The currency field must be an ISO 4217 currency code in capital letters."},
		{"USD", strings.Repeat("a\n", 8) + "a", "", "The address field must not have more than 8 lines."},
		{"USD", "a\n" + strings.Repeat("ä", 256), "", "The address field must not be longer than 255 characters."},
		{"USD", "", strings.Repeat("1", 65), "The tax_id field must not be longer than 64 characters."},
		{"USD", "a\x00b", "", "The address field must not contain NUL characters."},
	} {
		in := AccountSettingsInput{Currency: &c.currency, Address: &c.address, TaxID: &c.taxID}
		err := in.Validate()
		got := *in.Currency + "|" + *in.Address + "|" + *in.TaxID
		if err != nil {
			got = err.Error()
		}
		assert.Equal(t, got, c.want, "%q, %q, %q", c.currency, c.address, c.taxID)
	}
	for sent, want := range map[[3]string]string{
		{" give@example.org ", " https://example.org", "names"}: "",
		{"", "", ""}:                    "",
		{"give", "", ""}:                "The email field must be a valid email address.",
		{"", "javascript:alert(1)", ""}: "The website field must be an absolute http or https URL.",
		{"", "", "everything"}:          "The public_donors field must be names, amounts or nothing.",
	} {
		in := AccountSettingsInput{Email: &sent[0], Website: &sent[1], PublicDonors: &sent[2]}
		if err := in.Validate(); (err == nil) != (want == "") || err != nil && err.Error() != want || err == nil && *in.Email != strings.TrimSpace(sent[0]) {
			t.Errorf("%q: %v, want %q", sent, err, want)
		}
	}
	if err := new(AccountSettingsInput).Validate(); err != nil {
		t.Errorf("a change of nothing: %v", err)
	}
}
