package access

import (
	"fmt"
	"strings"
	"testing"

	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

func TestSettingsOfAnAccountAreChecked(t *testing.T) {
	long := strings.NewReplacer("LINES", strings.Repeat("a\n", 8)+"a", "LONG", "a\n"+strings.Repeat("ä", 256), "ID",
		strings.Repeat("1", 65))
	for _, c := range rows.Of[struct{ Currency, Address, TaxID, Want string }](`
		"eur "  " 12 Harbor Street \r\nBoston, MA 02110\n\n"  " 04-1234567 "  "EUR|12 Harbor Street\nBoston, MA 02110|04-1234567"
		USD     ""        ""  USD||
		""      ""        ""  The currency field is required.
		XYZ     ""        ""  The currency field must be an ISO 4217 currency code in capital letters.
		USD     LINES     ""  The address field must not have more than 8 lines.
		USD     LONG      ""  The address field must not be longer than 255 characters.
		USD     ""        ID  The tax_id field must not be longer than 64 characters.
		USD     "a\x00b"  ""  The address field must not contain NUL characters.
	`) {
		c.Address, c.TaxID = long.Replace(c.Address), long.Replace(c.TaxID)
		in := AccountSettingsInput{Currency: &c.Currency, Address: &c.Address, TaxID: &c.TaxID}
		got := fmt.Sprint(in.Validate())
		if got == "<nil>" {
			got = *in.Currency + "|" + *in.Address + "|" + *in.TaxID
		}
		assert.Equal(t, got, c.Want, "%.80q", c)
	}
	for _, sent := range rows.Of[struct{ Email, Website, PublicDonors, Want string }](`
		" give@example.org "  " https://example.org"  names       ""
		""                    ""                      ""          ""
		give                  ""                      ""          The email field must be a valid email address.
		""                    javascript:alert(1)     ""          The website field must be an absolute http or https URL.
		""                    ""                      everything  The public_donors field must be names, amounts or nothing.
	`) {
		email := sent.Email
		in := AccountSettingsInput{Email: &email, Website: &sent.Website, PublicDonors: &sent.PublicDonors}
		assert.Says(t, in.Validate(), sent.Want, "%+v", sent)
		assert.Equal(t, *in.Email, strings.TrimSpace(sent.Email))
	}
	assert.Succeed(t, new(AccountSettingsInput).Validate())
}
