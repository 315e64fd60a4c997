package crm

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"donorbook/internal/crm/crmtest"
	"donorbook/internal/crm/doc"
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
			b = Address{Line1: strings.ToUpper(a.Line1), Line2: " " + strings.ToLower(a.Line2), City: strings.ReplaceAll(a.City, " ", "")}
		}
		if got := a.normal() == b.normal(); got != sameAddress(a, b) {
			t.Fatalf("%q and %q: the normal forms say %v", a, b, got)
		}
	})
}

func TestTheWorkForAListGrowsWithItsLength(t *testing.T) {
	const length = crmtest.Length
	readTags := func(element string) func(int) {
		bodies := map[int][]byte{length: []byte(`{"tags":` + listed(length, element) + `}`), 4 * length: []byte(`{"tags":` + listed(4*length, element) + `}`)}
		return func(n int) { _, _ = DecodeTags(doc.NewBody(bodies[n])) }
	}
	emails := func(form string) func(int) {
		return func(n int) {
			list := []Email{}
			for i := range n {
				list = append(list, Email{Value: fmt.Sprintf(form, i)})
			}
			_ = (&ContactInput{Emails: &list}).Validate(nil, false, "US", noon)
		}
	}
	phones := func(form string) func(int) {
		return func(n int) {
			list := []Phone{}
			for i := range n {
				list = append(list, Phone{Value: fmt.Sprintf(form, i)})
			}
			_ = (&ContactInput{Phones: &list}).Validate(nil, false, "US", noon)
		}
	}
	addresses := func(state string) func(int) {
		return func(n int) {
			list := []Address{}
			for i := range n {
				list = append(list, Address{Line1: fmt.Sprint(i, " Harbor Street"), City: "Boston", State: state, Country: state})
			}
			_ = (&ContactInput{Addresses: &list}).Validate(nil, false, "US", noon)
		}
	}
	tags := func(n int) (names []string) {
		for i := range n {
			names = append(names, fmt.Sprint("a name of some length ", i))
		}
		return names
	}
	crmtest.CheckGrowth(t, map[string]func(n int){
		"addresses":                      addresses(""),
		"addresses with wrong values":    addresses("x"),
		"emails":                         emails("a%d@example.org"),
		"emails that are none":           emails("%d"),
		"phones":                         phones("+1212555%04d"),
		"phones without their area code": phones("55%05d"),
		"tags":                           readTags(`"tag %d"`),
		"tags that are numbers":          readTags(`%d`),
		"tags that were typed":           func(n int) { _, _ = CheckTags(tags(n)) },
		"tags that are removed": func(n int) {
			_, _ = Contact{Tags: tags(n)}.RemoveTags(tags(n), noon)
		},
	})
}
