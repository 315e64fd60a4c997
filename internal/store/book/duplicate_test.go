package book

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/duplicate"
	"donorbook/internal/crm/history"
	"donorbook/internal/store"
	"donorbook/internal/store/duplicates"
	"donorbook/internal/store/jobs"
)

// foundPairs are the pairs of an account after a look, as "a-b" of their places in a list of ids.
func foundPairs(t testing.TB, s *Book, account access.Account, ids []int64) (pairs []string) {
	t.Helper()
	succeed(t, s.FindDuplicates(t.Context(), account.Number, nil))
	return shownPairs(t, s, account, ids)
}

// shownPairs are those without a look.
func shownPairs(t testing.TB, s *Book, account access.Account, ids []int64) (pairs []string) {
	t.Helper()
	all, _ := must2(s.Pairs(t.Context(), account.Number, duplicates.Filter{},
		crm.PageRequest{Page: 1, PerPage: 100}))(t)
	for _, p := range all {
		pairs = append(pairs, fmt.Sprintf("%d-%d", slices.Index(ids, p.A), slices.Index(ids, p.B)))
	}
	slices.Sort(pairs)
	return pairs
}

func wantPairs(t testing.TB, what string, got []string, want ...string) {
	t.Helper()
	equal(t, got, want, "%s: found", what)
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
func strangers(t testing.TB, s *Book, account access.Account) (ids []int64) {
	firsts := strings.Fields(
		`Anna Boris Chloe Dmitri Esther Fritz Gwen Hugo Ines Jorge Klara Ludwig Mona Nils Olga Piet Quinn Rosa Stan Tessa`)
	lasts := strings.Fields(
		`Underwood Vasquez Whitfield Xanthos Yamamoto Zeller Bakker Castellano Dubois Eriksen Fujimoto Gallagher Hoffmann Ivanova Jankowski Kowalczyk Lindqvist Moreau Nakagawa Okafor`)
	for i := range firsts {
		ids = append(ids, createAs(t, s, account.Number,
			fmt.Sprintf(`{"first_name":%q,"last_name":%q,"emails":["%s%d@%s.example"]}`, firsts[i], lasts[i],
				firsts[i], i*i*7919, lasts[i]), crm.Force).ID)
	}
	return ids
}

func TestFindDuplicatesOneByOneFindsWhatALookAtAllFinds(t *testing.T) {
	s := newBook(t)
	account, all := newAccount(t, s), newAccount(t, s)
	ids, allIDs := strangers(t, s, account), strangers(t, s, all)
	wantPairs(t, "strangers", foundPairs(t, s, account, ids))
	for _, body := range doubles {
		ids = append(ids, createAs(t, s, account.Number, body, crm.Force).ID)
		allIDs = append(allIDs, createAs(t, s, all.Number, body, crm.Force).ID)
	}
	want := []string{"20-21", "22-23", "24-25"}
	wantPairs(t, "a look at all", foundPairs(t, s, all, allIDs), want...)
	wantPairs(t, "a look at what has changed", foundPairs(t, s, account, ids), want...)
}

// pairOf is an account with strangers and two contacts that are the same person, the last two of its ids.
func pairOf(t testing.TB, s *Book) (account access.Account, ids []int64, pair string) {
	account = newAccount(t, s)
	ids = strangers(t, s, account)
	for _, body := range doubles[:2] {
		ids = append(ids, createAs(t, s, account.Number, body, crm.Force).ID)
	}
	pair = fmt.Sprintf("%d-%d", len(ids)-2, len(ids)-1)
	wantPairs(t, "both", foundPairs(t, s, account, ids), pair)
	return account, ids, pair
}

func TestDismissHoldsUntilSomethingThatIsComparedChanges(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	account, ids, pair := pairOf(t, s)
	a, b := ids[len(ids)-2], ids[len(ids)-1]
	succeed(t, s.Dismiss(ctx, account.Number, b, a))
	wantPairs(t, "after it was dismissed", shownPairs(t, s, account, ids))
	change := func(body string) {
		t.Helper()
		must(s.UpdateContact(ctx, account.Number, b, input(t, body)))(t)
	}
	change(`{"company":"Something else"}`)
	wantPairs(t, "after a change that says nothing about who it is", foundPairs(t, s, account, ids))
	forceLook(t, s, account.Number)
	wantPairs(t, "after a look at all", foundPairs(t, s, account, ids))

	change(`{"dob":"3/14/1961"}`)
	wantPairs(t, "after a change of what is compared", foundPairs(t, s, account, ids), pair)

	succeed(t, s.Dismiss(ctx, account.Number, a, b))
	succeed(t, s.Undismiss(ctx, account.Number, a, b))
	wantPairs(t, "after that was taken back", shownPairs(t, s, account, ids), pair)
	changes, _ := must2(s.Timeline(ctx, account.Number, history.ContactNoun, a,
		crm.PageRequest{Page: 1, PerPage: 2}))(t)
	if len(changes) != 2 || changes[0].Kind != history.DidDismiss || !strings.Contains(changes[1].Data, fmt.Sprint(b)) {
		t.Errorf("the history says %+v", changes)
	}
	for _, other := range []int64{a, newAccountContact(t, s)} {
		if err := s.Dismiss(ctx, account.Number, a, other); err == nil {
			t.Errorf("contact %d was told apart from %d", a, other)
		}
	}
}

// newAccountContact is a contact of another account.
func newAccountContact(t testing.TB, s *Book) int64 {
	return createAs(t, s, newAccount(t, s).Number, doubles[0], crm.Force).ID
}

// forceLook lets the next look compare all contacts.
func forceLook(t testing.TB, s *Book, account int64) {
	t.Helper()
	succeed(t, s.UpdateAccount(t.Context(), account, func(tx *store.Tx) error {
		return tx.Run(`UPDATE duplicate_run SET at = 0 WHERE account_id = $1`, account)
	}))
}

func TestDuplicatesVanishWithAContactAndComeBackWithIt(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	account, ids, pair := pairOf(t, s)
	a, b := ids[len(ids)-2], ids[len(ids)-1]
	succeed(t, s.ArchiveContact(ctx, account.Number, b))
	wantPairs(t, "archived", shownPairs(t, s, account, ids))
	must(s.RestoreContact(ctx, account.Number, b))(t)
	wantPairs(t, "restored", foundPairs(t, s, account, ids), pair)
	merged := must(s.Merge(ctx, account.Number, a, crm.MergeInput{Contact: b}, "US"))(t)
	wantPairs(t, "merged", shownPairs(t, s, account, ids))
	wantPairs(t, "merged, after a look", foundPairs(t, s, account, ids))
	must(s.UndoMerge(ctx, account.Number, merged.Merge, "US"))(t)
	wantPairs(t, "taken apart", foundPairs(t, s, account, ids), pair)
}

func TestDuplicatesAreNeverOfTwoAccounts(t *testing.T) {
	s := newBook(t)
	account, ids, pair := pairOf(t, s)
	other := newAccount(t, s)
	mine := append(strangers(t, s, other), createAs(t, s, other.Number, doubles[0], crm.Force).ID)
	wantPairs(t, "another account", foundPairs(t, s, other, mine))
	similar := must(s.Similar(t.Context(), other.Number, 0, input(t, doubles[1])))(t)
	if len(similar) != 1 || similar[0].ID != mine[len(mine)-1] {
		t.Errorf("similar are %+v", similar)
	}
	wantPairs(t, "the first account", foundPairs(t, s, account, ids), pair)
}

func TestDuplicatesListsGroupsWithTheirReasons(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	account, _, _ := pairOf(t, s)
	third := createAs(t, s, account.Number,
		`{"first_name":"Thomas","last_name":"Abernathy","phones":["+12125550101"],"emails":["tom@example.org"]}`,
		crm.Force).ID
	succeed(t, s.FindDuplicates(ctx, account.Number, nil))
	groups := must(s.Duplicates(ctx, account.Number, duplicates.Filter{Contact: third},
		crm.PageRequest{Page: 1, PerPage: 10}))(t)
	if len(groups) != 1 || len(groups[0].Members) != 3 || len(groups[0].Pairs) != 3 ||
		groups[0].Members[2].ID != third {
		t.Fatalf("%+v", groups)
	}
	if !slices.Contains(groups[0].Members[2].Reasons, "same phone") {
		t.Errorf("the reasons are %q", groups[0].Members[2].Reasons)
	}
	n := must(s.DuplicateCounts(ctx, account.Number))(t)
	if n.Sure+n.Likely+n.Possible != 1 || n.At.IsZero() || n.Running {
		t.Errorf("counts %+v", n)
	}
	level := groups[0].Level
	for _, l := range []duplicate.Level{duplicate.Sure, duplicate.Likely, duplicate.Possible} {
		found := must(s.Duplicates(ctx, account.Number, duplicates.Filter{Level: l},
			crm.PageRequest{Page: 1, PerPage: 10}))(t)
		equal(t, (len(found) == 1), (l == level), "groups of level %s, the group is %s", l, level)
	}
}

// Whatever the pairs are, each group is on one page, where its likeliest pair would be, and there are as many as the
// counts say.
func TestPagesOfGroupsHaveEachGroupOnce(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	account := newAccount(t, s)
	ids := strangers(t, s, account)
	dice := rand.New(rand.NewPCG(8, 8))
	type lead struct{ probability, a, b int64 }
	leads := map[int64]map[int64]lead{0: {}, 1: {}} // by state and person
	succeed(t, s.UpdateAccount(ctx, account.Number, func(tx *store.Tx) error {
		for i, a := range ids {
			for _, b := range ids[i+1:] {
				person, state, probability := ids[dice.IntN(len(ids))], int64(dice.IntN(8)/7),
					int64(500_000+10_000*dice.IntN(50))
				if dice.IntN(3) > 0 {
					continue
				}
				level := int64(3)
				if probability >= 990_000 {
					level = 1
				} else if probability >= 700_000 {
					level = 2
				}
				tx.Save(store.DuplicateTable, account.Number, a, b, person, level, probability, "same phone", "",
					state, int64(0), int64(0))
				if old, known := leads[state][person]; !known || probability > old.probability ||
					probability == old.probability && (a < old.a || a == old.a && b < old.b) {
					leads[state][person] = lead{probability, a, b}
				}
			}
		}
		return nil
	}))
	counts := must(s.DuplicateCounts(ctx, account.Number))(t)
	if sure := must(s.SureGroups(ctx, account.Number))(t); sure != counts.Sure || sure == 0 {
		t.Errorf("%d sure groups, counted %d", sure, counts.Sure)
	}
	for filter, want := range map[duplicates.Filter]int64{
		{Level: duplicate.Sure}: counts.Sure, {Level: duplicate.Likely}: counts.Likely,
		{Level: duplicate.Possible}: counts.Possible, {Dismissed: true}: counts.Dismissed, {}: int64(len(leads[0])),
	} {
		var got []lead
		for page := (crm.PageRequest{Page: 1, PerPage: 3}); ; page.Page++ {
			groups := must(s.Duplicates(ctx, account.Number, filter, page))(t)
			if len(groups) == 0 {
				break
			}
			for _, g := range groups {
				got = append(got, lead{int64(math.Round(g.Probability * 1_000_000)), g.Pairs[0].A, g.Pairs[0].B})
			}
		}
		if int64(len(got)) != want || !slices.IsSortedFunc(got, func(a, b lead) int {
			return cmp.Or(cmp.Compare(b.probability, a.probability), cmp.Compare(a.a, b.a), cmp.Compare(a.b, b.b))
		}) {
			t.Errorf("%+v: %d groups, counted %d: %v", filter, len(got), want, got)
		}
		state := int64(0)
		if filter.Dismissed {
			state = 1
		}
		for _, l := range got {
			if !slices.Contains(slices.Collect(maps.Values(leads[state])), l) {
				t.Errorf("%+v: %v is the likeliest pair of no group", filter, l)
			}
		}
	}
	all, _ := must2(s.Pairs(ctx, account.Number, duplicates.Filter{},
		crm.PageRequest{Page: 1, PerPage: 100}))(t)
	for _, id := range ids {
		want := slices.DeleteFunc(slices.Clone(all), func(p duplicates.Pair) bool { return p.A != id && p.B != id })
		got, result, err := s.Pairs(ctx, account.Number, duplicates.Filter{Contact: id},
			crm.PageRequest{Page: 2, PerPage: 2})
		from, to := min(2, len(want)), min(4, len(want))
		if err != nil || result.Total != int64(len(want)) || !reflect.DeepEqual(got, want[from:to]) {
			t.Errorf("%v: the second page of the pairs of a contact is %+v of %d, want it from %+v", err, got,
				result.Total, want)
		}
	}
}

func TestSimilarAsksAboutNameAndStreetOrBirthDate(t *testing.T) {
	s := newBook(t)
	account := newAccount(t, s)
	strangers(t, s, account)
	street, born := createAs(t, s, account.Number, doubles[2], crm.Force).ID,
		createAs(t, s, account.Number, doubles[4], crm.Force).ID
	for body, want := range map[string]int64{doubles[3]: street, doubles[5]: born,
		`{"first_name":"Maria","last_name":"Okonjo","dob":"3/14/1961"}`: 0} {
		found := must(s.Similar(t.Context(), account.Number, 0, input(t, body)))(t)
		if (len(found) > 0) != (want != 0) || want != 0 && found[0].ID != want {
			t.Errorf("%s: %+v", body, found)
		}
	}
	if found := must(s.Similar(t.Context(), account.Number, street, input(t, doubles[3])))(t); len(found) > 0 {
		t.Errorf("a contact is similar to itself: %+v", found)
	}
}

func TestMergeSureGoesOnWhereItWasAndCanBeUndone(t *testing.T) {
	ctx := t.Context()
	s, other := twoNodes(t)
	account := newAccount(t, s)
	strangers(t, s, account)
	for i, name := range strings.Fields(`Abernathy Brockhurst Carmichael Dunworthy Ellingham`) {
		short := strings.Fields(`Thomas/Tom Margaret/Peggy William/Bill Katherine/Kate Robert/Bob`)[i]
		long, short, _ := strings.Cut(short, "/")
		for _, first := range []string{long, short, long} {
			createAs(t, s, account.Number,
				fmt.Sprintf(`{"first_name":%q,"last_name":%q,"phones":["+1%d125550%d7"],"emails":["x%d@%s.example"],"dob":"%d/14/196%d"}`, first, name, 2+i, 10+i*17, i*i*77, name, i+2, i*2), crm.Force)
		}
	}
	succeed(t, s.FindDuplicates(ctx, account.Number, nil))
	groups, err := s.Duplicates(ctx, account.Number, duplicates.Filter{Level: duplicate.Sure},
		crm.PageRequest{Page: 1, PerPage: 10})
	if err != nil || len(groups) != 5 {
		t.Fatalf("%v: there are %d groups: %+v", err, len(groups), groups)
	}
	apart := groups[4].Members // whom no job may merge
	succeed(t, s.Dismiss(ctx, account.Number, apart[0].ID, apart[1].ID))
	before := everything(t, s, account.Number)
	job := must(s.MergeSure(ctx, account.Number, "US", nil))(t)
	// a node that ends after one group
	workRound(t, jobs.NewJobWorker(s.JobStore))
	finishJobs(t, other)
	done, err := s.Job(ctx, account.Number, job.ID)
	var progress duplicates.SureProgress
	if err := cmp.Or(err, json.Unmarshal(done.Progress, &progress)); err != nil || done.State != jobs.JobDone ||
		progress.Groups < 5 || progress.Merged != 8 || progress.Left < 1 {
		t.Errorf("%v: the job is %s, %+v", err, done.State, progress)
	}
	equal(t, must(s.Counts(ctx, account.Number))(t).Active, 20+15-8, "contacts are left")
	must(s.UndoJob(ctx, account.Number, job.ID, "US", false))(t)
	finishJobs(t, s)
	wantState(t, "after the merges were undone", everything(t, s, account.Number), before)
	succeed(t, s.FindDuplicates(ctx, account.Number, nil))
	// skips pairs whose merge a person has undone
	if _, err := s.MergeSure(ctx, account.Number, "US", nil); err != nil {
		t.Fatal(err)
	}
	finishJobs(t, s)
	for _, group := range groups[:4] {
		if groups := must(s.Duplicates(ctx, account.Number, duplicates.Filter{Contact: group.Members[0].ID},
			crm.PageRequest{Page: 1, PerPage: 10}))(t); len(groups) != 1 || len(groups[0].Members) != 3 {
			t.Errorf("contacts whose merges were undone are merged again without a look, or no longer offered: %+v",
				groups)
		}
	}
}

// Of five groups, the two that a person has chosen are merged; a choice of groups that are gone merges nothing.
func TestMergeSureMergesOnlyWhatWasChosen(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	account := newAccount(t, s)
	strangers(t, s, account)
	for i := range 5 {
		for range 2 {
			createAs(t, s, account.Number,
				fmt.Sprintf(`{"first_name":"Thomas","last_name":"Abernathy%c","phones":["+1212555010%d"],"emails":["tom%d@abernathy.example"],"dob":"3/1%d/1961"}`, 'a'+i, i, i, i), crm.Force)
		}
	}
	succeed(t, s.FindDuplicates(ctx, account.Number, nil))
	groups := must(s.Duplicates(ctx, account.Number, duplicates.Filter{Level: duplicate.Sure},
		crm.PageRequest{Page: 1, PerPage: 10}))(t)
	if len(groups) != 5 {
		t.Fatalf("there are %d groups", len(groups))
	}
	chosen := []int64{groups[3].Members[0].ID, groups[1].Members[1].ID}
	for _, want := range []int64{20 + 10 - 2, 20 + 10 - 2} { // the second time, they are gone
		must(s.MergeSure(ctx, account.Number, "US", chosen))(t)
		finishJobs(t, s)
		equal(t, must(s.Counts(ctx, account.Number))(t).Active, want, "contacts are left")
	}
}

func TestConcurrentLookForDuplicatesAfterAnImport(t *testing.T) {
	o := newDatabase(t)
	now := &clock{now: time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)}
	o.Now = now.time
	s := open(t, o)
	account := newAccount(t, s)
	ids := strangers(t, s, account)
	rows := openTable(t,
		"First name,Last name,Phone,Email\nThomas,Abernathy,+1 212 555 0101,\nTom,Abernathy,,tom.abernathy@example.org\nTom,Abernathy,+1 212 555 0101,tom.abernathy@example.org\n")
	if _, _, err := s.ImportFile(t.Context(), account.Number, rows, importOf(rows, jobs.ForceCreate), 3, false,
		func(jobs.ImportProgress) {}); err != nil {
		t.Fatal(err)
	}
	s.LookOnce(t.Context(), func(err error) { t.Error(err) })
	s.Touching.Wait()
	wantPairs(t, "while changes come in", shownPairs(t, s, account, ids))
	now.move(time.Minute)
	ctx, stop := context.WithCancel(t.Context())
	var working sync.WaitGroup
	working.Go(func() { s.WorkOnJobs(ctx, func(err error) { t.Error(err) }) })
	await(t, "a look beside jobs", func() bool { return len(shownPairs(t, s, account, ids)) > 0 })
	stop()
	working.Wait()
}

// A look has seen changes that say nothing about who a contact is: they are no reason to look again and again.
func TestLookingForDuplicatesEndsAfterAGift(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	account, ids, _ := pairOf(t, s)
	must(s.CreateGift(ctx, account.Number, giftInput(t,
		fmt.Sprintf(`{"contact_id":%d,"amount":5,"method":"cash","transacted_at":"2026-01-31"}`, ids[0]), true,
		time.Now())))(t)
	succeed(t, s.FindDuplicates(ctx, account.Number, nil))
	waiting := must(store.List(ctx, s.Store, store.Number,
		`SELECT t.account_id FROM account_tally AS t, duplicate_run AS r WHERE t.account_id = $1 AND r.account_id = $1 AND r.revision < t.revision`, account.Number))(t)
	if len(waiting) > 0 {
		t.Errorf("the account waits for another look")
	}
}

// A job that merges sure duplicates leaves a group alone where one of its contacts is no longer one of them, and
// pairs whose groups are rather two people.
func TestMergeSureLeavesAloneWhoHasBecomeAnotherPerson(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	for what, prepare := range map[string]func(account int64, ids []int64){
		"a contact became another person": func(account int64, ids []int64) {
			must(s.UpdateContact(ctx, account, ids[3],
				input(t, `{"first_name":"Ulrike","last_name":"Zimmermann","phones":["+13125550188"],"emails":["u@zimmermann.example"],"dob":"5/6/1990"}`)))(t)
		},
		"the pairs are in no group": func(account int64, ids []int64) {
			damage(t, s, `UPDATE duplicate SET person = -a WHERE account_id = $1`, account)
		},
	} {
		account := newAccount(t, s)
		strangers(t, s, account)
		var ids []int64
		for range 4 {
			ids = append(ids, createAs(t, s, account.Number,
				`{"first_name":"Thomas","last_name":"Abernathy","phones":["+12125550101"],"emails":["tom@abernathy.example"],"dob":"3/14/1961"}`, crm.Force).ID)
		}
		succeed(t, s.FindDuplicates(ctx, account.Number, nil))
		prepare(account.Number, ids)
		must(s.MergeSure(ctx, account.Number, "US", nil))(t)
		finishJobs(t, s)
		equal(t, must(s.Counts(ctx, account.Number))(t).Active, 24, "%s:, contacts are left", what)
	}
}
