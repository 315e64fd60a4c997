package donate

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bank is an account that takes transfers.
type Bank struct {
	Name string // of the organization, as its bank has it
	IBAN string
	BIC  string // "" within Europe
}

// IsIBAN tells whether a text is the number of a bank account: of the right form, with the right check digits. Spaces
// do not matter.
func IsIBAN(value string) bool {
	iban := bare(value)
	return len(iban) >= 15 && len(iban) <= 34 && ibanForm.MatchString(iban) && remainder(iban) == 1
}

var (
	ibanForm = regexp.MustCompile(`^[A-Z]{2}[0-9]{2}[A-Z0-9]+$`)
	bicForm  = regexp.MustCompile(`^[A-Z]{4}[A-Z]{2}[A-Z0-9]{2}([A-Z0-9]{3})?$`)
)

// IsBIC tells whether a text has the form of a bank's code.
func IsBIC(value string) bool { return bicForm.MatchString(bare(value)) }

func bare(value string) string {
	return strings.ToUpper(strings.Map(func(r rune) rune {
		if r == ' ' || r == '-' || r == '.' || r == '\u00a0' || r == '\u202f' {
			return -1
		}
		return r
	}, value))
}

// remainder is what is left of a number with check digits: the first four signs come last, letters count from 10, and
// 97 goes out.
func remainder(value string) (rest int) {
	if len(value) <= 4 {
		return -1
	}
	for _, r := range value[4:] + value[:4] {
		digit, err := strconv.ParseInt(string(r), 36, 0)
		if err != nil {
			return -1
		}
		if rest *= 10; digit >= 10 {
			rest *= 10
		}
		rest = (rest + int(digit)) % 97
	}
	return rest
}

// Groups writes an IBAN or a reference as people read it: four signs at a time.
func Groups(value string) string {
	var b strings.Builder
	for i, r := range bare(value) {
		if i > 0 && i%4 == 0 {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// referenceDigits is how long the number in a reference is at least, so that a short one is not found by chance.
const referenceDigits = 6

// Reference is what a giver writes on a transfer or a check, made from the number of the donation: a creditor reference
// of ISO 11649, which banks check while it is typed. It has digits alone, because those are typed and read best.
func Reference(number int64) string {
	digits := fmt.Sprintf("%0*d", referenceDigits, number)
	return fmt.Sprintf("RF%02d%s", 98-remainder("RF00"+digits), digits)
}

var referenceForm = regexp.MustCompile(`RF[0-9]{2}(?:[ .\-]*[0-9]){6,19}`)

// FindReference finds the number of a donation in what a bank statement says; ok is false where no part of the text is
// a reference.
func FindReference(statement string) (number int64, ok bool) {
	for _, digits := range referenceForm.FindAllString(strings.ToUpper(statement), -1) {
		// Digits of something else may follow, as of a date: the longest part with the right check digits counts.
		for found := bare(digits); len(found) >= 4+referenceDigits; found = found[:len(found)-1] {
			if number, err := strconv.ParseInt(found[4:], 10, 64); err == nil && Reference(number) == found {
				return number, true
			}
		}
	}
	return 0, false
}

// EPC is the text of the code that banking apps of Europe read: a transfer of so many cents with a reference. It is ""
// in a currency that such transfers do not have, and where something is missing.
func (b Bank) EPC(amount int64, currency, reference string) string {
	name := cut(b.Name, 70, 140)
	if currency != "EUR" || name == "" || !IsIBAN(b.IBAN) || amount < 1 || amount > 999_999_999_99 {
		return ""
	}
	euros := fmt.Sprintf("EUR%d.%02d", amount/100, amount%100)
	creditor, plain := "", reference
	if ref := bare(reference); strings.HasPrefix(ref, "RF") && len(ref) <= 25 && remainder(ref) == 1 {
		creditor, plain = ref, ""
	}
	lines := strings.Join([]string{"BCD", "002", "1", "SCT", bare(b.BIC), name, bare(b.IBAN), euros, "", creditor, ""},
		"\n")
	return strings.TrimRight(lines+cut(plain, 140, maxEPC-len(lines)), "\n")
}

// maxEPC is how many bytes the code may have.
const maxEPC = 331

// cut is a line of at most so many signs and bytes.
func cut(value string, signs, bytes int) string {
	value = strings.Join(strings.Fields(value), " ")
	for value != "" && (utf8.RuneCountInString(value) > signs || len(value) > bytes) {
		_, size := utf8.DecodeLastRuneInString(value)
		value = value[:len(value)-size]
	}
	return value
}
