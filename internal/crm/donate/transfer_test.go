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
		for _, statement := range []string{
			reference, Groups(reference), strings.ToLower(reference), "SVWZ+" + reference + " DANKE", "gift " + Groups(reference) + " 2026-11-02", "RF Ann RF00 " + reference,
		} {
			if found, ok := FindReference(statement); !ok || found != number {
				t.Errorf("%q has the donation %d, %v; want %d", statement, found, ok, number)
			}
		}
		wrong := []byte(reference)
		wrong[len(wrong)-1] ^= 1
		if found, ok := FindReference(string(wrong)); ok {
			t.Errorf("%s was mistyped, and found as %d", wrong, found)
		}
	}
	if reference := Reference(539007547034); reference != "RF18539007547034" { // the example of the standard
		t.Errorf("the reference is %s", reference)
	}
	if _, ok := FindReference("rent for November"); ok {
		t.Error("a reference was found where there is none")
	}
}

func TestIBAN(t *testing.T) {
	for iban, want := range rows.Each[bool](`
		DE89 3704 0044 0532 0130 00                   true
		gb82west12345698765432                        true
		NO9386011117947                               true
		DE88 3704 0044 0532 0130 00                   false
		""                                            false
		DE89                                          false
		DE89370400440532013000DE89370400440532013000  false
		1234567890123456                              false
		DE89 3704 0044 0532 0130 0ß                   false
	`) {
		if IsIBAN(iban) != want {
			t.Errorf("IsIBAN(%q) is %v", iban, !want)
		}
	}
	if !IsBIC("COBADEFFXXX") || !IsBIC("cobadeff") || IsBIC("COBA") {
		t.Error("bank codes are not told from other texts")
	}
}

func TestEPC(t *testing.T) {
	bank := Bank{Name: "Clean  Water\nFund", IBAN: "DE89 3704 0044 0532 0130 00", BIC: "COBADEFFXXX"}
	want := "BCD\n002\n1\nSCT\nCOBADEFFXXX\nClean Water Fund\nDE89370400440532013000\nEUR25.05\n\nRF18539007547034"
	assert.Equal(t, bank.EPC(25_05, "EUR", "RF18 5390 0754 7034"), want, "the code")
	if got := bank.EPC(1_00, "EUR", "Gift of Ann"); !strings.HasSuffix(got, "EUR1.00\n\n\nGift of Ann") {
		t.Errorf("a plain reference is %q", got)
	}
	long := Bank{Name: strings.Repeat("ü", 100), IBAN: bank.IBAN}
	if got := long.EPC(999_999_999_99, "EUR", strings.Repeat("ü", 200)); len(got) > 331 || len(got) < 329 || strings.Count(got, "ü") < 100 {
		t.Errorf("the code is too long: %d", len(got))
	}
	if got := (Bank{Name: strings.Repeat("😀", 100), IBAN: bank.IBAN}).EPC(1, "EUR", ""); len(got) > 331 {
		t.Errorf("the code is too long: %d", len(got))
	}
	for _, none := range []string{bank.EPC(25_00, "USD", "x"), bank.EPC(0, "EUR", "x"), Bank{Name: "A", IBAN: "DE00"}.EPC(1, "EUR", ""), Bank{IBAN: bank.IBAN}.EPC(1, "EUR", "")} {
		assert.Equal(t, none, "", "a code was made")
	}
}
