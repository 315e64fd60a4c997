package duplicate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"donorbook/internal/crm/crmtest"
	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

// account is a finder with made-up contacts, and who they are.
func account(seed uint64, people int) (f *Finder, who []string, truePairs int) {
	f = new(Finder)
	times := make(map[string]int)
	for row := range crmtest.Households(seed, people) {
		r := rowOf(row)
		f.Add(int64(len(who)), &r)
		truePairs += times[row[1]]
		times[row[1]]++
		who = append(who, row[1])
	}
	return f, who, truePairs
}

func TestFinderFindsMostDuplicatesAndHardlyAnythingElse(t *testing.T) {
	f, who, truePairs := account(1, 4000)
	var right, all, rightSure, allSure float64
	last := 1.0
	run(t, f, func(x Found) {
		if x.A == x.B || x.Probability > last || len(x.Reasons) == 0 || x.Level != levelOf(x.Probability) {
			t.Errorf("found %+v after a probability of %f", x, last)
		}
		one := map[bool]float64{true: 1}[who[x.A] == who[x.B]]
		right, all, last = right+one, all+1, x.Probability
		if x.Level == Sure {
			rightSure, allSure = rightSure+one, allSure+1
		}
	})
	precision, recall, sure, recallSure := right/all, right/float64(truePairs), rightSure/allSure,
		rightSure/float64(truePairs)
	t.Logf("%d contacts: precision %.4f, recall %.4f; sure: precision %.4f, recall %.4f", len(who), precision, recall,
		sure, recallSure)
	if precision < 0.985 || recall < 0.85 || sure < 0.998 || recallSure < 0.3 {
		t.Error("want a precision of 0.985, a recall of 0.85, and a precision of 0.998 where it is sure")
	}
}

// What several contacts of one person have in common only in part is put together; an initial that fits two people
// joins them to one of them at most.
func TestFinderGroupsTheContactsOfAPerson(t *testing.T) {
	f, who, _ := account(5, 1000)
	n := add(t, f, len(who), strings.Split(`Ilse|Habermann||ilse.h@x.example||1 Dock St, Salem, 97301
Ilse|Habermann||ilse.h@x.example|212 555 7201
Ilsa|Habermann|||212 555 7201|77 Quay Rd, Austin, 78701
Johannes|Tverberg|||212 555 7202|2 Dock St, Salem, 97301
J.|Tverberg|||212 555 7202|2 Dock St, Salem, 97301
Jorunn|Tverberg|||212 555 7202|2 Dock St, Salem, 97301`, "\n")...)
	groups := make(map[[2]int64]Found)
	run(t, f, func(x Found) {
		pair := [2]int64{min(x.A, x.B) - n, max(x.A, x.B) - n}
		assert.Equal(t, groups[pair], Found{}, "%v came twice", pair)
		groups[pair] = x
	})
	for _, pair := range [][2]int64{{0, 1}, {1, 2}, {0, 2}} {
		assert.Equal(t, groups[pair].Level != "" && groups[pair].Group == n, true, "%v of one person: %+v", pair,
			groups[pair])
	}
	ends := groups[[2]int64{0, 2}]
	assert.Equal(t, slices.Contains(ends.Reasons, "both are like another contact") && ends.Level != Sure, true, "%+v",
		ends)
	assert.Equal(t, groups[[2]int64{3, 5}], Found{}, "spouses are one person by an initial")
}

func TestFinderStopsWhenItIsToldTo(t *testing.T) {
	f, _, _ := account(2, 500)
	ctx, cancel := context.WithCancel(t.Context())
	begun := 0
	_, err := f.Run(ctx, func(done float64) {
		if begun++; done > 0.3 {
			cancel()
		}
	}, func(Found) error { t.Error("found something after the end"); return nil })
	assert.Equal(t, errors.Is(err, context.Canceled), true, "it ended with %v", err)
	assert.Equal(t, begun > 0 && begun < len(passes), true, "%d passes", begun)

	f, _, _ = account(2, 500)
	full := errors.New("full")
	_, err = f.Run(t.Context(), func(float64) {}, func(Found) error { return full })
	assert.Equal(t, errors.Is(err, full), true, "it ended with %v, want the error of its caller", err)
}

func TestFinderNeedsNoContacts(t *testing.T) {
	for _, people := range []int{0, 1} {
		f, _, _ := account(3, people)
		assert.Must(Decode(assert.Must(run(t, f, func(Found) {}).Encode())(t)))(t)
	}
}

// In an office, or in a town of made-up numbers, phones differ by a digit and all have one ZIP code: that makes no two
// people one.
func TestFinderLearnsWhatIsCommonAmongStrangers(t *testing.T) {
	var f Finder
	firsts, lasts := rows.All(`Anna  Ben  Chloe  Dan  Eva`),
		rows.All(`Abbott  Brooks  Castillo  Dawson  Ellery  Fontaine  Grant  Hale`)
	for i := range 160 {
		last := lasts[i/len(firsts)%len(lasts)] + strings.Repeat("n", i/40)
		add(t, &f, i, fmt.Sprintf("%s|%s|||(617) 555-01%02d|%d Main St, Boston, 02110", firsts[i%len(firsts)], last,
			i%100, i))
	}
	run(t, &f, func(x Found) { t.Errorf("%v", x) })
}

// A kept model compares two contacts as the one that was learned, so that a new contact needs no full run.
func TestModelIsKept(t *testing.T) {
	f, _, _ := account(4, 1000)
	var all []Found
	model := run(t, f, func(x Found) { all = append(all, x) })
	kept := assert.Must(model.Encode())(t)
	again := assert.Must(Decode(kept))(t)
	for _, x := range all {
		var a, b Record
		f.read(&a, int(x.A))
		f.read(&b, int(x.B))
		assert.Equal(t, again.Compare(&a, &b), model.Compare(&a, &b), "the kept model (-learned +kept)")
	}
	assert.Tells(t, func(kept string) bool {
		_, err := Decode([]byte(kept))
		return err == nil
	}, []string{string(kept)}, []string{
		"", "{}", string(kept[:len(kept)-1]), strings.Replace(string(kept), `"Version":3`, `"Version":2`, 1),
	})
}

func TestProbesFindWhomAContactMayBe(t *testing.T) {
	r := contactOf(t, "Tom|Smith-Jones||tom.sj@x.example||1 Main St, Salem, 97301")
	probes := fmt.Sprintf("%+v", Probes(&r))
	for _, want := range []Probe{
		{Names: []string{"thomas", "smith", "jones"}}, {Names: []string{"smith"}, Zip: "97301"},
		{Names: []string{"tom"}, Zip: "97301"},
		{Email: "tom.sj@"},
	} {
		assert.Contains(t, probes, fmt.Sprintf("%+v", want))
	}
	r = contactOf(t, "Unknown|Unknown")
	assert.Equal(t, len(Probes(&r)), 0, "without a name")
}

// run lets a finder find, and returns its model.
func run(t *testing.T, f *Finder, found func(Found)) *Model {
	t.Helper()
	return assert.Must(f.Run(t.Context(), func(float64) {}, func(x Found) error {
		found(x)
		return nil
	}))(t)
}

// add adds contacts to a finder, and returns the number of the first.
func add(t *testing.T, f *Finder, n int, lines ...string) int64 {
	t.Helper()
	for i, line := range lines {
		r := contactOf(t, line)
		f.Add(int64(n+i), &r)
	}
	return int64(n)
}
