package book

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/duplicate"
	"donorbook/internal/crm/history"
	"donorbook/internal/store"
	"donorbook/internal/store/duplicates"
	"donorbook/internal/store/jobs"
)

// twins are people among whom some may be the same person.
type twins struct {
	*folk
	ids  []int64
	a, b int64 // the last two
	pair string
}

// twinsOf are strangers, and then contacts as they are told.
func twinsOf(s *folk, bodies ...string) *twins {
	s.Helper()
	x := &twins{folk: s, ids: s.strangers()}
	for _, body := range bodies {
		x.ids = append(x.ids, s.person(body))
	}
	n := len(x.ids)
	x.a, x.b, x.pair = x.ids[n-2], x.ids[n-1], fmt.Sprintf("%d-%d", n-2, n-1)
	return x
}

// pairOf are strangers and two contacts that are the same person.
func pairOf(t *testing.T) *twins {
	t.Helper()
	x := twinsOf(newFolk(t), doubles[:2]...)
	x.finds("both", x.pair)
	return x
}

// finds looks for pairs and compares them, as "a-b" of their places in the list of ids.
func (x *twins) finds(what string, want ...string) {
	x.Helper()
	x.look()
	x.shows(what, want...)
}

func (s *folk) look() {
	s.Helper()
	succeed(s, s.FindDuplicates(s.Context(), s.Number, nil))
}

// shows compares the pairs that are known without a look.
func (x *twins) shows(what string, want ...string) {
	x.Helper()
	equal(x, x.shown(), want, "%s: found", what)
}

func (x *twins) shown() (pairs []string) {
	x.Helper()
	all, _ := must2(x.Pairs(x.Context(), x.Number, duplicates.Filter{}, crm.PageRequest{Page: 1, PerPage: 100}))(x)
	for _, p := range all {
		pairs = append(pairs, fmt.Sprintf("%d-%d", slices.Index(x.ids, p.A), slices.Index(x.ids, p.B)))
	}
	slices.Sort(pairs)
	return pairs
}

func (s *folk) groups(filter duplicates.Filter) []duplicates.Group {
	s.Helper()
	return must(s.Duplicates(s.Context(), s.Number, filter, crm.PageRequest{Page: 1, PerPage: 10}))(s)
}

// mergeSure merges those of some contacts, or all, who are surely the same person.
func (s *folk) mergeSure(chosen ...int64) jobs.Job {
	s.Helper()
	return must(s.MergeSure(s.Context(), s.Number, "US", chosen))(s)
}

func (s *folk) active() int64 {
	s.Helper()
	return must(s.Counts(s.Context(), s.Number))(s).Active
}

// doubles are contacts, every second of which is the same person as the one before it.
var doubles = []string{
	`{"first_name":"Thomas","last_name":"Abernathy","phones":["+12125550101"]}`,
	`{"first_name":"Tom","last_name":"Abernathy","phones":["+12125550101"],"emails":["tom@example.org"]}`,
	`{"first_name":"Maria","last_name":"Quintero","addresses":[{"address_1":"12 Oak Street","city":"Salem","zipcode":"97301"}]}`,
	`{"first_name":"Maria","last_name":"Quintero","addresses":[{"address_1":"12 Oak St.","city":"Salem","zipcode":"97301"}]}`,
	`{"first_name":"Jonathan","last_name":"Featherstone","dob":"3/14/1961"}`,
	`{"first_name":"Jonathan","last_name":"Fetherstone","dob":"3/14/1961"}`,
}

// strangers are contacts that are no one else.
func (s *folk) strangers() (ids []int64) {
	firsts := strings.Fields(
		`Anna Boris Chloe Dmitri Esther Fritz Gwen Hugo Ines Jorge Klara Ludwig Mona Nils Olga Piet Quinn Rosa Stan Tessa`)
	lasts := strings.Fields(
		`Underwood Vasquez Whitfield Xanthos Yamamoto Zeller Bakker Castellano Dubois Eriksen Fujimoto Gallagher Hoffmann Ivanova Jankowski Kowalczyk Lindqvist Moreau Nakagawa Okafor`)
	for i := range firsts {
		ids = append(ids, s.person(fmt.Sprintf(`{"first_name":%q,"last_name":%q,"emails":["%s%d@%s.example"]}`,
			firsts[i], lasts[i],
			firsts[i], i*i*7919, lasts[i])))
	}
	return ids
}

func TestFindDuplicatesOneByOneFindsWhatALookAtAllFinds(t *testing.T) {
	s := newFolk(t)
	x, all := twinsOf(s), twinsOf(s.another(), doubles...)
	x.finds("strangers")
	for _, body := range doubles {
		x.ids = append(x.ids, x.person(body))
	}
	all.finds("a look at all", "20-21", "22-23", "24-25")
	x.finds("a look at what has changed", "20-21", "22-23", "24-25")
}

func TestDismissHoldsUntilSomethingThatIsComparedChanges(t *testing.T) {
	s := pairOf(t)
	ctx, account := t.Context(), s.Number
	succeed(t, s.Dismiss(ctx, account, s.b, s.a))
	s.shows("after it was dismissed")
	s.update(s.b, `{"company":"Something else"}`)
	s.finds("after a change that says nothing about who it is")
	succeed(t, s.UpdateAccount(ctx, account, func(tx *store.Tx) error { // the next look is at all
		return tx.Run(`UPDATE duplicate_run SET at = 0 WHERE account_id = $1`, account)
	}))
	s.finds("after a look at all")
	s.update(s.b, `{"dob":"3/14/1961"}`)
	s.finds("after a change of what is compared", s.pair)
	succeed(t, s.Dismiss(ctx, account, s.a, s.b))
	succeed(t, s.Undismiss(ctx, account, s.a, s.b))
	s.shows("after that was taken back", s.pair)
	changes := s.timeline(s.a)
	equal(t, changes[0].Kind, history.DidDismiss)
	contains(t, changes[1].Data, fmt.Sprint(s.b), "the history")
	for _, other := range []int64{s.a, s.another().person(doubles[0])} {
		says(t, "who is told apart", "")(s.Dismiss(ctx, account, s.a, other))
	}
}

func TestDuplicatesVanishWithAContactAndComeBackWithIt(t *testing.T) {
	s := pairOf(t)
	s.archive(s.b)
	s.shows("archived")
	s.restore(s.b)
	s.finds("restored", s.pair)
	merge := s.merge(s.a, s.b)
	s.shows("merged")
	s.finds("merged, after a look")
	s.unmerge(merge)
	s.finds("taken apart", s.pair)
}

func TestDuplicatesAreNeverOfTwoAccounts(t *testing.T) {
	s := pairOf(t)
	other := twinsOf(s.another(), doubles[0])
	other.finds("another account")
	similar := must(s.Similar(t.Context(), other.Number, 0, input(t, doubles[1])))(t)
	expect(t, "who is similar", fmt.Sprint("1 ", other.b), len(similar), similar[0].ID)
	s.finds("the first account", s.pair)
}

func TestDuplicatesListsGroupsWithTheirReasons(t *testing.T) {
	s := pairOf(t)
	third := s.person(
		`{"first_name":"Thomas","last_name":"Abernathy","phones":["+12125550101"],"emails":["tom@example.org"]}`)
	s.look()
	groups := s.groups(duplicates.Filter{Contact: third})
	expect(t, "groups, members, pairs", "1 3 3", len(groups), len(groups[0].Members), len(groups[0].Pairs))
	last := groups[0].Members[2]
	equal(t, last.ID, third)
	contains(t, strings.Join(last.Reasons, ", "), "same phone", "the reasons")
	n := must(s.DuplicateCounts(t.Context(), s.Number))(t)
	expect(t, "counts", "1 false false", n.Sure+n.Likely+n.Possible, n.At.IsZero(), n.Running)
	for _, l := range []duplicate.Level{duplicate.Sure, duplicate.Likely, duplicate.Possible} {
		equal(t, len(s.groups(duplicates.Filter{Level: l})) == 1, l == groups[0].Level, "groups of level %s", l)
	}
}

// Whatever the pairs are, each group is on one page, where its likeliest pair would be, and there are as many as the
// counts say.
func TestPagesOfGroupsHaveEachGroupOnce(t *testing.T) {
	ctx := t.Context()
	s := newFolk(t)
	ids := s.strangers()
	dice := rand.New(rand.NewPCG(8, 8))
	type lead struct{ probability, a, b int64 }
	order := func(x, y lead) int {
		return cmp.Or(cmp.Compare(y.probability, x.probability), cmp.Compare(x.a, y.a), cmp.Compare(x.b, y.b))
	}
	leads := map[bool]map[int64]lead{false: {}, true: {}} // by whether they are dismissed, and person
	succeed(t, s.UpdateAccount(ctx, s.Number, func(tx *store.Tx) error {
		for i, a := range ids {
			for _, b := range ids[i+1:] {
				person, state, probability := ids[dice.IntN(len(ids))], int64(dice.IntN(8)/7),
					int64(500_000+10_000*dice.IntN(50))
				if dice.IntN(3) > 0 {
					continue
				}
				level := 3 - store.Flag(probability >= 700_000) - store.Flag(probability >= 990_000)
				tx.Save(store.DuplicateTable, s.Number, a, b, person, level, probability, "same phone", "",
					state, int64(0), int64(0))
				of, is := leads[state == 1], lead{probability, a, b}
				if old, known := of[person]; !known || order(is, old) < 0 {
					of[person] = is
				}
			}
		}
		return nil
	}))
	counts := must(s.DuplicateCounts(ctx, s.Number))(t)
	equal(t, must(s.SureGroups(ctx, s.Number))(t), counts.Sure, "sure groups")
	equal(t, counts.Sure > 0, true)
	for filter, counted := range map[duplicates.Filter]int64{
		{Level: duplicate.Sure}: counts.Sure, {Level: duplicate.Likely}: counts.Likely,
		{Level: duplicate.Possible}: counts.Possible, {Dismissed: true}: counts.Dismissed, {}: int64(len(leads[false])),
	} {
		var got []lead
		for page := (crm.PageRequest{Page: 1, PerPage: 3}); ; page.Page++ {
			groups := must(s.Duplicates(ctx, s.Number, filter, page))(t)
			if len(groups) == 0 {
				break
			}
			for _, g := range groups {
				got = append(got, lead{int64(math.Round(g.Probability * 1_000_000)), g.Pairs[0].A, g.Pairs[0].B})
			}
		}
		equal(t, int64(len(got)), counted, "%+v: groups", filter)
		equal(t, slices.IsSortedFunc(got, order), true, "%+v: %v", filter, got)
		for _, l := range got {
			equal(t, slices.Contains(slices.Collect(maps.Values(leads[filter.Dismissed])), l), true,
				"%+v: %v leads its group", filter, l)
		}
	}
	all, _ := must2(s.Pairs(ctx, s.Number, duplicates.Filter{}, crm.PageRequest{Page: 1, PerPage: 100}))(t)
	for _, id := range ids {
		want := slices.DeleteFunc(slices.Clone(all), func(p duplicates.Pair) bool { return p.A != id && p.B != id })
		got, result := must2(s.Pairs(ctx, s.Number, duplicates.Filter{Contact: id},
			crm.PageRequest{Page: 2, PerPage: 2}))(t)
		equal(t, result.Total, int64(len(want)))
		equal(t, got, cut(want, 2, 2), "the second page of the pairs of %d", id)
	}
}

func TestSimilarAsksAboutNameAndStreetOrBirthDate(t *testing.T) {
	s := newFolk(t)
	s.strangers()
	street, born := s.person(doubles[2]), s.person(doubles[4])
	similar := func(self int64, body string) (ids []int64) {
		for _, c := range must(s.Similar(t.Context(), s.Number, self, input(t, body)))(t) {
			ids = append(ids, c.ID)
		}
		return ids
	}
	equal(t, similar(0, doubles[3])[0], street)
	equal(t, similar(0, doubles[5])[0], born)
	expect(t, "similar by its birth date alone", "[]",
		similar(0, `{"first_name":"Maria","last_name":"Okonjo","dob":"3/14/1961"}`))
	expect(t, "similar to itself", "[]", similar(street, doubles[3]))
}

// surely is a contact who has everything in common with those of the same number.
func surely(i int, first, last string) string {
	return fmt.Sprintf(`{"first_name":%q,"last_name":%q,"phones":["+1%d125550%d7"],"emails":["x%d@%s.example"],"dob":"%d/14/196%d"}`,
		first, last, 2+i, 10+i*17, i*i*77, last, i+2, i*2)
}

func TestMergeSureGoesOnWhereItWasAndCanBeUndone(t *testing.T) {
	ctx := t.Context()
	s, other := twoFolk(t)
	s.strangers()
	for i, name := range strings.Fields(`Thomas/Tom/Abernathy Margaret/Peggy/Brockhurst William/Bill/Carmichael
		Katherine/Kate/Dunworthy Robert/Bob/Ellingham`) {
		names := strings.Split(name, "/")
		for _, first := range []int{0, 1, 0} {
			s.person(surely(i, names[first], names[2]))
		}
	}
	s.look()
	groups := s.groups(duplicates.Filter{Level: duplicate.Sure})
	equal(t, len(groups), 5)
	apart := groups[4].Members // whom no job may merge
	succeed(t, s.Dismiss(ctx, s.Number, apart[0].ID, apart[1].ID))
	before := s.everything()
	job := s.mergeSure()
	step(t, s.Book, 1) // a node that ends after one group
	other.finishJobs()
	done := s.job(job.ID)
	var progress duplicates.SureProgress
	succeed(t, json.Unmarshal(done.Progress, &progress))
	expect(t, "the job", fmt.Sprint(jobs.JobDone, " 8 true true"), done.State, progress.Merged, progress.Groups >= 5,
		progress.Left > 0)
	equal(t, s.active(), 20+15-8, "contacts are left")
	must(s.UndoJob(ctx, s.Number, job.ID, "US", false))(t)
	s.finishJobs()
	wantState(t, "after the merges were undone", s.everything(), before)
	s.look()
	s.mergeSure() // skips pairs whose merge a person has undone
	s.finishJobs()
	for _, group := range groups[:4] { // they are offered, and no more
		offered := s.groups(duplicates.Filter{Contact: group.Members[0].ID})
		expect(t, "groups, members", "1 3", len(offered), len(offered[0].Members))
	}
}

// Of five groups, the two that a person has chosen are merged; a choice of groups that are gone merges nothing.
func TestMergeSureMergesOnlyWhatWasChosen(t *testing.T) {
	s := newFolk(t)
	s.strangers()
	for i := range 10 {
		s.person(surely(i/2, "Thomas", fmt.Sprintf("Abernathy%c", 'a'+i/2)))
	}
	s.look()
	groups := s.groups(duplicates.Filter{Level: duplicate.Sure})
	equal(t, len(groups), 5)
	for range 2 { // the second time, they are gone
		s.mergeSure(groups[3].Members[0].ID, groups[1].Members[1].ID)
		s.finishJobs()
		equal(t, s.active(), 20+10-2, "contacts are left")
	}
}

func TestConcurrentLookForDuplicatesAfterAnImport(t *testing.T) {
	s := twinsOf(folkOf(t, open(t, newDatabase(t))))
	now := stopClock(s.Book)
	rows := openTable(t,
		"First name,Last name,Phone,Email\nThomas,Abernathy,+1 212 555 0101,\nTom,Abernathy,,tom.abernathy@example.org\nTom,Abernathy,+1 212 555 0101,tom.abernathy@example.org\n")
	must2(s.ImportFile(t.Context(), s.Number, rows, importOf(rows, jobs.ForceCreate), 3, false,
		func(jobs.ImportProgress) {}))(t)
	s.LookOnce(t.Context(), func(err error) { t.Error(err) })
	s.Touching.Wait()
	s.shows("while changes come in")
	now.move(time.Minute)
	ctx, stop := context.WithCancel(t.Context())
	var working sync.WaitGroup
	working.Go(func() { s.WorkOnJobs(ctx, func(err error) { t.Error(err) }) })
	await(t, "a look beside jobs", func() bool { return len(s.shown()) > 0 })
	stop()
	working.Wait()
}

// A look has seen changes that say nothing about who a contact is: they are no reason to look again and again.
func TestLookingForDuplicatesEndsAfterAGift(t *testing.T) {
	s := pairOf(t)
	s.gave(s.a, "2026-01-31", "")
	s.look()
	equal(t, len(must(store.List(t.Context(), s.Store, store.Number,
		`SELECT t.account_id FROM account_tally AS t, duplicate_run AS r WHERE t.account_id = $1 AND r.account_id = $1
			AND r.revision < t.revision`, s.Number))(t)), 0, "accounts that wait for another look")
}

// A job that merges sure duplicates leaves a group alone where one of its contacts is no longer one of them, and
// pairs whose groups are rather two people.
func TestMergeSureLeavesAloneWhoHasBecomeAnotherPerson(t *testing.T) {
	store := newFolk(t)
	for what, prepare := range map[string]func(*twins){
		"a contact became another person": func(s *twins) {
			s.update(s.b,
				`{"first_name":"Ulrike","last_name":"Zimmermann","phones":["+13125550188"],"emails":["u@zimmermann.example"],"dob":"5/6/1990"}`)
		},
		"the pairs are in no group": func(s *twins) {
			s.damage(`UPDATE duplicate SET person = -a WHERE account_id = $1`, s.Number)
		},
	} {
		s := twinsOf(store.another(), slices.Repeat([]string{surely(0, "Thomas", "Abernathy")}, 4)...)
		s.look()
		prepare(s)
		s.mergeSure()
		s.finishJobs()
		equal(t, s.active(), 24, "%s:, contacts are left", what)
	}
}
