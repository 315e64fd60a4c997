package crm

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"donorbook/internal/crm/crmtest"
	"donorbook/internal/crm/doc"
	"donorbook/internal/rig/assert"
)

// sameAddress is what the rules say about two addresses: all parts agree without regard to case and spaces.
func sameAddress(a, b Address) bool {
	alike := func(a, b string) bool {
		return strings.EqualFold(strings.Join(strings.Fields(a), ""), strings.Join(strings.Fields(b), ""))
	}
	return alike(a.Line1, b.Line1) && alike(a.Line2, b.Line2) && alike(a.City, b.City) &&
		alike(a.State, b.State) && alike(a.Zipcode, b.Zipcode) && alike(a.Country, b.Country)
}

func TestAddressesAreTheSameWhereTheirNormalFormsAre(t *testing.T) {
	letters := rapid.StringOf(rapid.SampledFrom([]rune("aAkK\u212asSſσςΣǅǆ ßẞi\u0130ı \u00a0\u3000日")))
	part := rapid.OneOf(rapid.SampledFrom(crmtest.Cities), letters, crmtest.SomeText(5))
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) Address {
			return Address{Line1: part.Draw(t, name), Line2: part.Draw(t, name), City: part.Draw(t, name)}
		}
		a, b := draw("a"), draw("b")
		if rapid.Bool().Draw(t, "nearly the same") {
			b = Address{Line1: strings.ToUpper(a.Line1), Line2: " " + strings.ToLower(a.Line2),
				City: strings.ReplaceAll(a.City, " ", "")}
		}
		assert.Equal(t, a.normal() == b.normal(), sameAddress(a, b), "%q and %q: the normal forms say", a, b)
	})
}

func TestTheWorkForAListGrowsWithItsLength(t *testing.T) {
	const length = crmtest.Length
	texts := func(n int, form string) (all []string) {
		for i := range n {
			all = append(all, fmt.Sprintf(form, i))
		}
		return all
	}
	typed := func(form string, in func(*[]Typed) ContactInput) func(int) {
		return func(n int) {
			var list []Typed
			for _, text := range texts(n, form) {
				list = append(list, Typed{Value: text})
			}
			read := in(&list)
			_ = read.Validate(nil, false, "US", noon)
		}
	}
	emails := func(list *[]Typed) ContactInput { return ContactInput{Emails: list} }
	phones := func(list *[]Typed) ContactInput { return ContactInput{Phones: list} }
	addresses := func(state string) func(int) {
		return func(n int) {
			var list []Address
			for _, text := range texts(n, "%d Harbor Street") {
				list = append(list, Address{Line1: text, City: "Boston", State: state, Country: state})
			}
			_ = (&ContactInput{Addresses: &list}).Validate(nil, false, "US", noon)
		}
	}
	tags := func(element string) func(int) {
		few, many := `{"tags":`+listed(length, element)+`}`, `{"tags":`+listed(4*length, element)+`}`
		return func(n int) {
			_, _ = DecodeTags(doc.NewBody([]byte(map[bool]string{true: few, false: many}[n == length])))
		}
	}
	crmtest.CheckGrowth(t, map[string]func(n int){
		"addresses":                      addresses(""),
		"addresses with wrong values":    addresses("x"),
		"emails":                         typed("a%d@example.org", emails),
		"emails that are none":           typed("%d", emails),
		"phones":                         typed("+1212555%04d", phones),
		"phones without their area code": typed("55%05d", phones),
		"tags":                           tags(`"tag %d"`),
		"tags that are numbers":          tags(`%d`),
		"tags that were typed":           func(n int) { _, _ = CheckTags(texts(n, "a name of some length %d")) },
		"tags that are removed": func(n int) {
			all := texts(n, "a name of some length %d")
			_, _ = Contact{Tags: all}.RemoveTags(all, noon)
		},
	})
}
