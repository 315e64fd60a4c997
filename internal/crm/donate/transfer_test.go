package donate_test

import (
	"strings"
	"testing"

	. "donorbook/internal/crm/donate"
	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

func TestReferencesAreFoundInStatements(t *testing.T) {
	for _, number := range []int64{1, 42, 123_456, 9_999_999, 1 << 40} {
		reference := Reference(number)
		finds := func(statement string) bool {
			found, ok := FindReference(statement)
			return ok && found == number
		}
		last := len(reference) - 1
		assert.Tells(t, finds, []string{
			reference, Groups(reference), strings.ToLower(reference), "SVWZ+" + reference + " DANKE",
			"gift " + Groups(reference) + " 2026-11-02",
			"RF Ann RF00 " + reference,
		}, []string{reference[:last] + string(reference[last]^1), "rent for November"})
		_, ok := FindReference(reference[:last] + string(reference[last]^1))
		assert.Equal(t, ok, false, "%s was mistyped, and found", reference)
	}
	assert.Equal(t, Reference(539007547034), "RF18539007547034") // the example of the standard
}

func TestIBAN(t *testing.T) {
	assert.Tells(t, IsIBAN, rows.All(`DE89 3704 0044 0532 0130 00  gb82west12345698765432  NO9386011117947`), rows.All(`
		DE88 3704 0044 0532 0130 00  ""  DE89  DE89370400440532013000DE89370400440532013000  1234567890123456
		DE89 3704 0044 0532 0130 0ß
	`))
	assert.Tells(t, IsBIC, []string{"COBADEFFXXX", "cobadeff"}, []string{"COBA"})
}

func TestEPC(t *testing.T) {
	bank := Bank{Name: "Clean  Water\nFund", IBAN: "DE89 3704 0044 0532 0130 00", BIC: "COBADEFFXXX"}
	const head = "BCD\n002\n1\nSCT\nCOBADEFFXXX\nClean Water Fund\nDE89370400440532013000\nEUR"
	assert.Equal(t, bank.EPC(25_05, "EUR", "RF18 5390 0754 7034"), head+"25.05\n\nRF18539007547034", "the code")
	assert.Equal(t, bank.EPC(1_00, "EUR", "Gift of Ann"), head+"1.00\n\n\nGift of Ann", "a plain reference")
	long := Bank{Name: strings.Repeat("ü", 100), IBAN: bank.IBAN}.EPC(999_999_999_99, "EUR", strings.Repeat("ü", 200))
	assert.Equal(t, len(long) <= 331 && len(long) >= 329 && strings.Count(long, "ü") >= 100, true, "%d bytes",
		len(long))
	wide := Bank{Name: strings.Repeat("😀", 100), IBAN: bank.IBAN}.EPC(1, "EUR", "")
	assert.Equal(t, len(wide) <= 331, true, "%d bytes", len(wide))
	assert.Equal(t, bank.EPC(25_00, "USD", "x")+bank.EPC(0, "EUR", "x")+Bank{Name: "A", IBAN: "DE00"}.EPC(1, "EUR", "")+
		Bank{IBAN: bank.IBAN}.EPC(1, "EUR", ""), "", "a code was made")
}
