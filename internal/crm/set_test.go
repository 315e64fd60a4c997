package crm

import (
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"donorbook/internal/crm/text"
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
	part := rapid.OneOf(rapid.SampledFrom(someCities), letters, someText(5))
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

func TestASetKnowsWhatWasAdded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var set text.Set
		known := map[string]bool{}
		for _, n := range rapid.SliceOfN(rapid.IntRange(0, 30), 0, 60).Draw(t, "numbers") {
			text := fmt.Sprint(n)
			if isNew := set.Add(text); isNew == known[text] || !set.Contains(text) {
				t.Fatalf("%s after %v: new is %v", text, known, isNew)
			}
			known[text] = true
			if set.Contains("x") {
				t.Fatal("it has what was never added")
			}
		}
	})
}

// processorTime is the CPU time of this process.
func processorTime() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// A list that is four times as long may cost four times as much; if its elements were compared with each other, it would cost
// sixteen times as much. Other work on the machine can only make a measurement larger, so one good measurement of several is
// enough.
func TestTheWorkForAListGrowsWithItsLength(t *testing.T) {
	const length, tooMuch, attempts = 1250, 10, 30
	readTags := func(element string) func(int) {
		bodies := map[int][]byte{length: []byte(`{"tags":` + listed(length, element) + `}`), 4 * length: []byte(`{"tags":` + listed(4*length, element) + `}`)}
		return func(n int) { _, _ = DecodeTags(bodies[n]) }
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
	for what, work := range map[string]func(n int){
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
		"campaigns of one title": func(n int) {
			title, tried := "Gala", map[string]int{}
			for range n {
				for range SlugCandidates(CampaignInput{Title: &title}, tried) {
					break
				}
			}
		},
	} {
		cost := func(n int) time.Duration {
			runtime.GC()
			begun := processorTime()
			for range 4 {
				work(n)
			}
			return processorTime() - begun
		}
		ratio := 0.0
		for range attempts {
			if ratio = float64(cost(4*length)) / float64(max(cost(length), time.Microsecond)); ratio < tooMuch {
				break
			}
		}
		if ratio >= tooMuch {
			t.Errorf("%s: four times as many cost %.0f times as much", what, ratio)
		}
	}
}
