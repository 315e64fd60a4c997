package sheet

import (
	"strings"

	"donorbook/internal/crm"
	"donorbook/internal/crm/text"
)

// splitAddress finds the parts of an address that is in one cell: parts are separated by two spaces, by line breaks or by commas, and the last ones are
// the country, the postal code, the state and the city. What cannot be told apart is its first line.
func splitAddress(value string) (a crm.Address) {
	parts := cutAddress(value)
	pop := func() (last string) {
		last, parts = parts[len(parts)-1], parts[:len(parts)-1]
		return last
	}
	whole := strings.Join(strings.Fields(value), " ")
	if len(parts) < 3 {
		return crm.Address{Line1: whole}
	}
	if _, ok := text.FindCountry(parts[len(parts)-1]); ok && !isState(parts[len(parts)-1], parts) {
		a.Country = pop()
	}
	if words := strings.Fields(parts[len(parts)-1]); len(words) == 2 && isZip(words[1]) { // IL 62701
		parts = append(parts[:len(parts)-1], words...)
	}
	if len(parts) > 2 && isZip(parts[len(parts)-1]) {
		a.Zipcode = pop()
	}
	if _, ok := text.FindState(parts[len(parts)-1]); ok && len(parts) > 2 {
		a.State = pop()
	}
	if a.Zipcode == "" && a.State == "" || len(parts) < 2 {
		return crm.Address{Line1: whole}
	}
	a.City = pop()
	a.Line1, a.Line2 = parts[0], strings.Join(parts[1:], ", ")
	return a
}

// isState tells the state in "Springfield, CA" from a country.
func isState(last string, parts []string) bool {
	_, state := text.FindState(last)
	return state && len(last) == 2 && !isZip(parts[len(parts)-2])
}

func cutAddress(text string) (parts []string) {
	separator := ","
	if strings.Contains(text, "  ") {
		separator = "  "
	} else if strings.Contains(text, "\n") {
		text, separator = strings.ReplaceAll(text, "\n", ","), ","
	}
	for _, part := range strings.Split(text, separator) {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}

// isZip tells a postal code by its digits.
func isZip(text string) bool {
	return len(text) >= 3 && len(text) <= 10 && strings.ContainsAny(text, "0123456789") && !strings.ContainsAny(text, ",.#")
}
