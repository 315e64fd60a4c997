//go:build drill

package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/giving"
	"donorbook/internal/rig/assert"
)

func TestTheMedianAndTheEdges(t *testing.T) {
	assert.Equal(t, spreadOf([]float64{3, 1, 2}), (spread{2, 1, 3}), "three rounds")
	assert.Equal(t, spreadOf([]float64{4, 1, 2, 3}), (spread{2.5, 1, 4}), "four rounds")
	times := make([]time.Duration, 100)
	for i := range times {
		times[i] = time.Duration(i + 1)
	}
	if percentile(times, .5) != 50 || percentile(times, .99) != 99 || percentile(times[:1], .5) != 1 {
		t.Errorf("percentiles: %d, %d", percentile(times, .5), percentile(times, .99))
	}
}

func small(t *testing.T) *bench {
	samples = 100
	return newBench(options{contacts: 20_000, rounds: 2, cache: t.TempDir()})
}

// Speed is the other's time divided by ours, and growth ours by the other's; both are made inside a round.
func TestGoalsAreJudged(t *testing.T) {
	b := small(t)
	b.figures = map[string][]float64{"ours us": {20, 40}, "other us": {10, 10}, "memory MB": {50, 60}, "short us": {20}}
	for want, g := range map[string]goal{
		"0.38x [0.25..0.50], at least 0.30x, met":         {Limit: 0.3, Ours: "ours us", Other: "other us"},
		"0.38x [0.25..0.50], at least 0.40x, **not met**": {Limit: 0.4, Ours: "ours us", Other: "other us"},
		"3.00x [2.00..4.00], at most 3.00x, met": {AtMost: true, Limit: 3, Ours: "ours us",
			Other: "other us"},
		"55.0 MB [50.0..60.0], at most 45.0 MB, **not met**": {AtMost: true, Limit: 45, Ours: "memory MB"},
		"-, at most 3.00x, not measured": {AtMost: true, Limit: 3, Ours: "ours us",
			Other: "short us"},
	} {
		if row := g.row(b); strings.Join(row[2:5], ", ") != want {
			t.Errorf("got %q, want %q", row[2:5], want)
		}
	}
}

// A goal that compares figures which no cell makes would never be measured, and no one would notice.
func TestEveryGoalHasItsFigures(t *testing.T) {
	b := small(t)
	b.peers = true
	for _, c := range slices.Concat(b.requestCells(), b.postgresCells()) {
		b.keep(c.name, result{requests: 1, seconds: 1, p50: time.Millisecond, p99: time.Millisecond, cpu: 1, rss: 1})
	}
	for _, name := range []string{"import MB", "export MB", "import s", "raw import s", "idle MB", "loaded MB",
		"start ms", "stored x"} {
		b.note(name, 1)
	}
	b.derive()
	seen := make(map[string]bool)
	for _, g := range b.goals() {
		if seen[g.Number] = true; len(b.values(g)) == 0 {
			t.Errorf("goal %s, %s, is not measured", g.Number, g.Words)
		}
	}
	assert.Equal(t, len(seen), 12)
	for _, line := range strings.Split(b.workTable(), "\n") {
		if strings.Contains(line, "| - | -") || strings.HasPrefix(line, "| read") && strings.Contains(line, "| - |") {
			t.Errorf("the opening table lacks figures: %s", line)
		}
	}
}

func TestWhatAnswersWronglyOrFailsOnceHasNoFigures(t *testing.T) {
	b, round := small(t), 0
	b.only = readFlags(nil).only
	p := &place{data: made(t)}
	b.places[at("here", b.small)] = p
	cellOf := func(name string, check func(), err func() error) cell {
		return cell{name, "here", b.small, func(*place) task {
			return task{check, func(timing) result { return result{requests: 1, seconds: 1, err: err()} }}
		}}
	}
	fine := func() error { return nil }
	b.repeat([]cell{
		cellOf("right", func() {}, fine),
		cellOf("wrong", func() { fail("another body") }, fine),
		cellOf("broken", func() {}, func() error {
			if round++; round == 2 {
				return errors.New("status 500")
			}
			return nil
		}),
	})
	if len(b.figures["right us"]) != 2 || len(b.figures["wrong us"]) != 0 || len(b.figures["broken us"]) != 0 ||
		len(b.failed) != 2 {
		t.Errorf("figures %v, failed %v", b.figures, b.failed)
	}
}

// A run that could not measure everything says so on its page, ends with a failure, and leaves the README as it is.
func TestARunThatMeasuredNotEverythingFails(t *testing.T) {
	b := small(t)
	for _, work := range []string{"get", "create", "list, any page", "search, a common name"} {
		for _, s := range []size{b.small, b.large} {
			b.keep(at(work, s), result{requests: 1234, seconds: 1, p50: time.Millisecond, p99: time.Millisecond, cpu: 1,
				rss: 1})
		}
	}
	root := t.TempDir()
	b.out = filepath.Join(root, "docs")
	readme := filepath.Join(root, "README.md")
	check(errors.Join(os.Mkdir(b.out, 0o700), os.WriteFile(readme, []byte("<!-- figures -->old<!-- end -->"), 0o600)))
	b.failed["a filter"] = errors.New("another total")
	err := b.write()
	page, text := string(must(os.ReadFile(filepath.Join(b.out, "benchmarks.md")))), string(must(os.ReadFile(readme)))
	if err == nil || !strings.Contains(page, "Not measured: a filter: another total.") ||
		!strings.Contains(text, "old") {
		t.Errorf("%v, and the README says %s", err, text)
	}
	b.failed = nil
	assert.Succeed(t, b.write())
	text = string(must(os.ReadFile(readme)))
	assert.Contains(t, text, "<!-- figures -->with 20,000 contacts, ")
	assert.Contains(t, text, "read a contact 1,234 times")
	assert.Contains(t, text, "1.00x<!-- end -->")
}

// made is a small dataset, on which nothing runs.
func made(t *testing.T) *dataset {
	d := &dataset{dir: filepath.Join(t.TempDir(), "data"), Contacts: 100}
	d.addAccounts(size{1, 100})
	return d
}

func TestAListIsComparedWithTheTables(t *testing.T) {
	d := made(t)
	opened := d.open("")
	defer opened.Close()
	a := d.Accounts[0]
	check(opened.ArchiveContact(t.Context(), a.Number, a.id(3)))
	page := func(data string, total string) []byte {
		return []byte(`{"data":[` + data + `],"meta":{"total":` + total + `}}`)
	}
	// page 1
	list := string(must(listOne(opened, &dataset{Accounts: d.Accounts, Contacts: 22}, rand.New(rand.NewPCG(1, 1)))))
	for answer, right := range map[string]bool{
		string(page(list, "99")):                                      true,
		string(page(list, "100")):                                     false, // another total
		string(page(strings.Replace(list, "p0@", "p9@", 1), "99")):    false, // another document
		string(page("", "99")):                                        false,
		string(page(list[:strings.LastIndex(list, `,{"id":`)], "99")): false, // one is missing
	} {
		if d.isPage([]byte(answer), a, contactList, 1) != right {
			t.Errorf("right: %t, %.200s", !right, answer)
		}
	}
}

// The cells of filters ask the API as it is: what they ask for is there, and is what the tables say.
func TestFiltersFindWhatTheTablesSay(t *testing.T) {
	b, d := small(t), &dataset{dir: filepath.Join(t.TempDir(), "data"), Contacts: 4000}
	defer b.close()
	d.addAccounts(size{1, d.Contacts})
	opened := d.open("")
	defer opened.Close()
	a := d.Accounts[0]
	var gifts []*giving.GiftInput
	for i := range 800 { // from 5 to 999 dollars
		in, faults, err := giving.DecodeGift(doc.NewBody(fmt.Appendf(nil,
			`{"contact_id":%d,"amount":%d,"method":"cash","transacted_at":"2026-01-15"}`, a.id(i*5), 5+i*7%995)))
		check(errors.Join(err, in.Validate(faults, true, "US", lastGift.AddDate(0, 1, 0))))
		gifts = append(gifts, &in)
	}
	must(opened.CreateGifts(t.Context(), a.Number, gifts))
	for _, l := range filters {
		asked, ok := strings.CutPrefix(l.path, "/v1/contacts?")
		scope, f, err := find.ParseQuery(asked, "US")
		if !ok || err != nil {
			t.Errorf("%s: %v", l.path, err)
			continue
		}
		list, found, err := opened.FilteredContacts(t.Context(), a.Number, scope, f,
			crm.PageRequest{Page: 1, PerPage: 20}, nil, nil)
		answer := fmt.Appendf(nil, `{"data":[%s],"meta":{"total":%d}}`, list, found.Total)
		if err != nil || found.Total == 0 || !d.isPage(answer, a, l, 1) {
			t.Errorf("%s: %v, %d found, of %d in the tables", l.path, err, found.Total, d.total(a, l))
		}
	}
}

// Raw is a fair limit only as long as it does what the program does.
func TestRawDoesWhatTheProgramDoes(t *testing.T) {
	b, d := small(t), made(t)
	defer b.close()
	reading, writing := &place{data: d, raw: b.openRaw(d, d, "", "")}, &place{data: b.copy(d, "replayed")}
	writing.raw = b.openRaw(d, writing.data, "", "")
	for _, task := range []task{replayReads(1, getOne)(reading), replayReads(20, listOne)(reading),
		replayCreates(writing)} {
		if err := try(task.check); err != nil {
			t.Error(err)
		}
		if r := task.run(timing{time.Millisecond, 50 * time.Millisecond}); r.err != nil || r.requests == 0 {
			t.Errorf("%+v", r)
		}
	}
	if got, want := writing.data.imported(), d.imported(); got != want || !strings.HasPrefix(got, "368 ") {
		t.Errorf("the program has written %s, and raw %s", want, got)
	}
}

// A page is asked for as of the state that the program knew, and is empty after a change.
func TestReadsThatFindNothingAreNoFigures(t *testing.T) {
	b, d := small(t), made(t)
	defer b.close()
	p := &place{data: d, raw: b.openRaw(d, d, "", "")}
	task := replayReads(20, listOne)(p)
	check(try(task.check))
	check(p.raw.recording.ArchiveContact(t.Context(), d.Accounts[0].Number, d.Accounts[0].id(1)))
	if r := task.run(timing{0, time.Millisecond}); r.err == nil {
		t.Error("pages without documents were timed")
	}
}

func TestNoTwoPeopleShareAnEmailAPhoneOrARareName(t *testing.T) {
	seen := make(map[string]bool)
	for _, mark := range []string{"", newcomer} {
		for n := range 3000 {
			in := input(personBody(n, mark))
			for _, key := range in.MatchKeys() {
				if seen[key] {
					t.Fatalf("%s belongs to two", key)
				}
				seen[key] = true
			}
		}
	}
	for n := 3; n < 1_000_000; n += 10 {
		if name := rareName(n); seen[name] {
			t.Fatalf("%s is the name of two", name)
		} else {
			seen[name] = true
		}
	}
}
