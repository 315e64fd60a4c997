package duplicate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
	var right, all, rightSure, allSure, last float64
	last = 1
	assert.Must(f.Run(context.Background(), func(float64) {}, func(x Found) error {
		if x.A == x.B || x.Probability > last || len(x.Reasons) == 0 || x.Level != levelOf(x.Probability) {
			t.Errorf("found %+v after a probability of %f", x, last)
		}
		one := 0.0
		if who[x.A] == who[x.B] {
			one = 1
		}
		right, all, last = right+one, all+1, x.Probability
		if x.Level == Sure {
			rightSure, allSure = rightSure+one, allSure+1
		}
		return nil
	}))(t)
	precision, recall, sure := right/all, right/float64(truePairs), rightSure/allSure
	t.Logf("%d contacts: precision %.4f, recall %.4f; sure: precision %.4f, recall %.4f", len(who), precision, recall, sure, rightSure/float64(truePairs))
	if precision < 0.985 || recall < 0.85 || sure < 0.998 || rightSure < 0.3*float64(truePairs) {
		t.Error("want a precision of 0.985, a recall of 0.85, and a precision of 0.998 where it is sure")
	}
}

// What several contacts of one person have in common only in part is put together; an initial that fits two people joins them to one of them at most.
func TestFinderGroupsTheContactsOfAPerson(t *testing.T) {
	f, who, _ := account(5, 1000)
	n := int64(len(who))
	for i, line := range rows.All(`
		Ilse|Habermann||ilse.h@x.example||1 Dock St, Salem, 97301  Ilse|Habermann||ilse.h@x.example|212 555 7201
		Ilsa|Habermann|||212 555 7201|77 Quay Rd, Austin, 78701
		Johannes|Tverberg|||212 555 7202|2 Dock St, Salem, 97301
		J.|Tverberg|||212 555 7202|2 Dock St, Salem, 97301
		Jorunn|Tverberg|||212 555 7202|2 Dock St, Salem, 97301
	`) {
		r := contactOf(t, line)
		f.Add(n+int64(i), &r)
	}
	groups := make(map[[2]int64]Found)
	if _, err := f.Run(context.Background(), func(float64) {}, func(x Found) error {
		pair := [2]int64{min(x.A, x.B) - n, max(x.A, x.B) - n}
		if _, again := groups[pair]; again {
			t.Errorf("%v came twice", pair)
		}
		groups[pair] = x
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, pair := range [][2]int64{{0, 1}, {1, 2}, {0, 2}} {
		if got := groups[pair]; got.Level == "" || got.Group != n {
			t.Errorf("%v of one person: %+v", pair, got)
		}
	}
	if got := groups[[2]int64{0, 2}]; !slices.Contains(got.Reasons, "both are like another contact") || got.Level == Sure {
		t.Errorf("the first and the third: %+v", got)
	}
	if _, joined := groups[[2]int64{3, 5}]; joined {
		t.Errorf("spouses are one person by an initial: %+v", groups[[2]int64{3, 5}])
	}
}

func TestFinderStopsWhenItIsToldTo(t *testing.T) {
	f, _, _ := account(2, 500)
	ctx, cancel := context.WithCancel(context.Background())
	begun := 0
	_, err := f.Run(ctx, func(done float64) {
		if begun++; done > 0.3 {
			cancel()
		}
	}, func(Found) error { t.Error("found something after the end"); return nil })
	if !errors.Is(err, context.Canceled) || begun == 0 || begun == len(passes) {
		t.Errorf("it ended with %v after %d passes", err, begun)
	}

	f, _, _ = account(2, 500)
	full := errors.New("full")
	if _, err := f.Run(context.Background(), func(float64) {}, func(Found) error { return full }); !errors.Is(err, full) {
		t.Errorf("it ended with %v, want the error of its caller", err)
	}
}

func TestFinderNeedsNoContacts(t *testing.T) {
	for _, people := range []int{0, 1} {
		f, _, _ := account(3, people)
		model := assert.Must(f.Run(context.Background(), func(float64) {}, func(Found) error { return nil }))(t)
		if kept, err := model.Encode(); err != nil {
			t.Errorf("the model of %d people cannot be kept: %v", people, err)
		} else if _, err := Decode(kept); err != nil {
			t.Errorf("the model of %d people cannot be read: %v", people, err)
		}
	}
}

// In an office, or in a town of made-up numbers, phones differ by a digit and all have one ZIP code: that makes no two people one.
func TestFinderLearnsWhatIsCommonAmongStrangers(t *testing.T) {
	var f Finder
	firsts, lasts := rows.All(`Anna  Ben  Chloe  Dan  Eva`), rows.All(`
		Abbott  Brooks  Castillo  Dawson  Ellery  Fontaine  Grant  Hale
	`)
	for i := range 160 {
		r := contactOf(t, fmt.Sprintf("%s|%s|||(617) 555-01%02d|%d Main St, Boston, 02110", firsts[i%len(firsts)], lasts[i/len(firsts)%len(lasts)]+strings.Repeat("n", i/40), i%100, i))
		f.Add(int64(i), &r)
	}
	if _, err := f.Run(t.Context(), func(float64) {}, func(x Found) error {
		t.Errorf("%v", x)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// A kept model compares two contacts as the one that was learned, so that a new contact needs no full run.
func TestModelIsKept(t *testing.T) {
	f, _, _ := account(4, 1000)
	var all []Found
	model := assert.Must(f.Run(context.Background(), func(float64) {}, func(x Found) error { all = append(all, x); return nil }))(t)
	kept := assert.Must(model.Encode())(t)
	again := assert.Must(Decode(kept))(t)
	for _, x := range all {
		var a, b Record
		f.read(&a, int(x.A))
		f.read(&b, int(x.B))
		assert.Equal(t, again.Compare(&a, &b), model.Compare(&a, &b), "the kept model (-learned +kept)")
	}
	for _, other := range []string{"", "{}", string(kept[:len(kept)-1]), strings.Replace(string(kept), `"Version":3`, `"Version":2`, 1)} {
		if _, err := Decode([]byte(other)); err == nil {
			t.Errorf("%.20q is taken for a model", other)
		}
	}
}

func TestProbesFindWhomAContactMayBe(t *testing.T) {
	r := contactOf(t, "Tom|Smith-Jones||tom.sj@x.example||1 Main St, Salem, 97301")
	probes := Probes(&r)
	for _, want := range []Probe{{Names: []string{"thomas", "smith", "jones"}}, {Names: []string{"smith"}, Zip: "97301"}, {Names: []string{"tom"}, Zip: "97301"}, {Email: "tom.sj@"}} {
		if !slices.ContainsFunc(probes, func(p Probe) bool { return cmp.Equal(p, want) }) {
			t.Errorf("%+v is not looked for: %+v", want, probes)
		}
	}
	r = contactOf(t, "Unknown|Unknown")
	if probes := Probes(&r); len(probes) > 0 {
		t.Errorf("without a name, %+v is looked for", probes)
	}
}
