package book

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/duplicates"
	"donorbook/internal/store/jobs"
	"donorbook/internal/store/merges"
)

// manyGifts records gifts of 1, 2, 3 and so on of a contact.
func manyGifts(t testing.TB, s *Book, account, contact int64, n int) {
	t.Helper()
	in := make([]giving.GiftInput, n)
	for i := range in {
		in[i] = giftInput(t, fmt.Sprintf(`{"contact_id":%d,"amount":%d,"method":"cash","transacted_at":%q}`, contact,
			i+1, time.Date(2020, 1, 1+i, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)), true, time.Now())
	}
	var recording sync.WaitGroup
	for some := range slices.Chunk(in, (n+15)/16) {
		recording.Go(func() {
			for _, one := range some {
				must(s.CreateGift(t.Context(), account, one))(t)
			}
		})
	}
	recording.Wait()
}

// given is how much a contact has given by its own document, by its gifts, and how many gifts these are.
func given(t testing.TB, s *Book, account, contact int64) (stats, sum, gifts int64) {
	t.Helper()
	c := recordOf(t, s, account, contact)
	succeed(t, cmp.Or(one(t, s, &sum,
		`SELECT CAST(COALESCE(SUM(net), 0) AS BIGINT) FROM gift WHERE account_id = $1 AND contact_id = $2`, account,
		contact),
		one(t, s, &gifts, `SELECT COUNT(*) FROM gift WHERE account_id = $1 AND contact_id = $2`, account, contact)))
	return c.Stats.TotalContributions, sum / 100, gifts
}

func one(t testing.TB, s *Book, to *int64, sql string, args ...any) error {
	found, err := store.List(t.Context(), s.Store, store.Number, sql, args...)
	*to = found[0]
	return err
}

// wantGiven checks whose gifts there are, and that what a contact says is what its gifts say.
func wantGiven(t testing.TB, s *Book, account, contact, gifts int64) {
	t.Helper()
	stats, sum, n := given(t, s, account, contact)
	equal(t, stats, sum, "contact %d", contact)
	equal(t, n, gifts, "contact %d", contact)
}

// step lets a worker do some units of work of each job.
func step(t testing.TB, s *Book, rounds int) {
	t.Helper()
	w := jobs.NewJobWorker(s.JobStore)
	for range rounds {
		workRound(t, w)
	}
}

func wantChecked(t *testing.T, s *Book) {
	t.Helper()
	if found, _ := checkAll(t, s, false); len(found) > 0 {
		t.Errorf("a check finds %q", found)
	}
}

// Gifts of a contact that has many follow a merge a few at a time, on any node, and sums are always those of the
// gifts that a contact has.
func TestAMergeOfManyGifts(t *testing.T) {
	ctx := t.Context()
	s, node := twoNodes(t)
	account := newAccount(t, s).Number
	survivor, other := twoOf(t, s, account)
	const many = merges.MovedAtOnce + 450
	manyGifts(t, s, account, survivor, 3)
	manyGifts(t, s, account, other, many)
	before := everything(t, s, account)
	id := mergeOf(t, s, account, survivor, other)
	wantGiven(t, s, account, survivor, merges.MovedAtOnce+3)
	wantGiven(t, s, account, other, many-merges.MovedAtOnce)
	if row := must(s.MergeOf(ctx, account, id))(t); row.Moving == 0 ||
		!strings.Contains(string(merges.Append(nil, &row)), `"moving":true`) {
		t.Errorf("%+v", row)
	}
	step(t, node, 1) // a node that ends after a portion
	_, _, left := given(t, s, account, other)
	wantGiven(t, s, account, other, left)
	wantGiven(t, s, account, survivor, many+3-left)
	if left == 0 || left == many-merges.MovedAtOnce {
		t.Errorf("%d gifts are left after one step", left)
	}
	wantChecked(t, s)
	finishJobs(t, s, node)
	wantGiven(t, s, account, survivor, many+3)
	wantGiven(t, s, account, other, 0)
	equal(t, must(s.MergeOf(ctx, account, id))(t).Moving, 0)
	j := wantJob(t, s, account, 1, jobs.JobDone, many-merges.MovedAtOnce)
	if j.Kind != jobs.MoveJob || j.Undoable() || j.Stoppable() {
		t.Errorf("the job is %+v", j)
	}
	wantChecked(t, s)
	must(s.UndoMerge(ctx, account, id, "US"))(t)
	wantGiven(t, s, account, other, merges.MovedAtOnce)
	wantChecked(t, s)
	finishJobs(t, s, node)
	wantGiven(t, s, account, survivor, 3)
	wantGiven(t, s, account, other, many)
	wantState(t, "the undo", everything(t, s, account), before)
	wantChecked(t, s)
}

// A merge that is undone while its gifts still move turns around, and one that is merged again turns around once more.
func TestAMergeOfManyGiftsIsUndoneMeanwhile(t *testing.T) {
	ctx := t.Context()
	s, account := newBookOf(t)
	survivor, other := twoOf(t, s, account)
	const many = merges.MovedAtOnce + 200
	manyGifts(t, s, account, other, many)
	before := everything(t, s, account)
	id := mergeOf(t, s, account, survivor, other)
	step(t, s, 1)
	undone, err := s.UndoMerge(ctx, account, id, "US")
	succeed(t, err)
	wantChecked(t, s)
	finishJobs(t, s)
	wantGiven(t, s, account, survivor, 0)
	wantState(t, "the undo", everything(t, s, account), before)
	again, err := s.UndoMerge(ctx, account, undone.ID(), "US")
	succeed(t, err)
	step(t, s, 1)
	if undone, err = s.UndoMerge(ctx, account, again.Survivor.Merge, "US"); err != nil {
		t.Fatal(err)
	}
	if _, err = s.UndoMerge(ctx, account, undone.ID(), "US"); err != nil { // while gifts are on their way back
		t.Fatal(err)
	}
	wantChecked(t, s)
	finishJobs(t, s)
	wantGiven(t, s, account, survivor, many)
	wantGiven(t, s, account, other, 0)
	wantChecked(t, s)
}

// A contact that gifts still move to is merged itself: they come to the last survivor, and each undo leads them back
// one contact.
func TestAMergeMeetsGiftsThatStillMove(t *testing.T) {
	ctx := t.Context()
	s, account := newBookOf(t)
	survivor, other := twoOf(t, s, account)
	last := createAs(t, s, account, `{"first_name":"Thomas","last_name":"Reed","emails":["last@example.org"]}`,
		crm.Force).ID
	const many = merges.MovedAtOnce + 200
	manyGifts(t, s, account, other, many)
	manyGifts(t, s, account, survivor, 5)
	inner := mergeOf(t, s, account, survivor, other)
	step(t, s, 1)
	outer := mergeOf(t, s, account, last, survivor)
	wantFault(t, "undo of the inner merge", errOf(s.UndoMerge(ctx, account, inner, "US")), "",
		doc.MergedSince, survivor, last, outer)
	finishJobs(t, s)
	wantGiven(t, s, account, last, many+5)
	wantChecked(t, s)
	must(s.UndoMerge(ctx, account, outer, "US"))(t)
	// while gifts of the outer one are on their way back
	if _, err := s.UndoMerge(ctx, account, inner, "US"); err != nil {
		t.Fatal(err)
	}
	finishJobs(t, s)
	wantGiven(t, s, account, last, 0)
	wantChecked(t, s)
	_, _, own := given(t, s, account, survivor)
	_, _, back := given(t, s, account, other)
	equal(t, own, 5, "the survivor")
	equal(t, back, many, "the survivor")
}

// A person is erased while gifts still move: none of the gifts keeps a trace of them.
func TestErasingAPersonWhoseGiftsStillMove(t *testing.T) {
	ctx := t.Context()
	o := newDatabase(t)
	s := open(t, o)
	account := newAccount(t, s).Number
	survivor, other := twoOf(t, s, account)
	const many = merges.MovedAtOnce + 200
	manyGifts(t, s, account, other, many)
	noted := must(store.List(ctx, s.Store, func(r db.Row) string { return strings.Clone(r.Text(0)) },
		`SELECT code FROM gift WHERE account_id = $1 ORDER BY id`, account))(t)
	for _, code := range []string{noted[0], noted[many/2], noted[many-1]} {
		must(s.UpdateGift(ctx, account, code, giftInput(t, `{"note":"For Tomkwolf"}`, false, time.Now())))(t)
	}
	mergeOf(t, s, account, survivor, other)
	step(t, s, 1)
	erase(t, s, ctx, account, survivor)
	finishJobs(t, s)
	wantGiven(t, s, account, survivor, many)
	wantChecked(t, s)
	succeed(t, s.Close())
	if found := traces(t, o, []string{"tomkwolf", "thomas@example", "tom@example"}); len(found) > 0 {
		t.Errorf("found %q", found)
	}
}

// What is recorded while gifts still move goes to the survivor: a gift that a file names the merged contact for by
// its plan or the rows before it, and one that names the survivor. The API refuses the id of
// the merged contact and names the other one, as it always does.
func TestGiftsRecordedWhileOthersMove(t *testing.T) {
	ctx := t.Context()
	s, account := newBookOf(t)
	survivor, other := twoOf(t, s, account)
	const many = merges.MovedAtOnce + 100
	manyGifts(t, s, account, other, many)
	mergeOf(t, s, account, survivor, other)
	wantFault(t, "a gift of the merged contact", errOf(s.CreateGift(ctx, account, giftInput(t,
		fmt.Sprintf(`{"contact_id":%d,"amount":5,"method":"cash","transacted_at":"2026-01-31"}`, other), true,
		time.Now()))), "contact_id", doc.MergedID, survivor)
	rows := openTable(t,
		"amount,date,method,email,first_name,last_name\n7,2026-02-01,cash,tom@example.org,Thomas,Reed\n")
	spec := giftImportOf(rows)
	spec.SHA256 = "meanwhile"
	if _, _, err := s.ImportFile(ctx, account, rows, spec, 1, true, func(jobs.ImportProgress) {}); err != nil {
		t.Fatal(err)
	}
	wantGiven(t, s, account, survivor, merges.MovedAtOnce+1)
	still := must(store.List(ctx, s.Store, func(r db.Row) string { return strings.Clone(r.Text(0)) },
		`SELECT code FROM gift WHERE account_id = $1 AND contact_id = $2 ORDER BY id`, account, other))(t)
	if len(still) == 0 {
		t.Fatal(still)
	}
	if _, err := s.RefundGift(ctx, account, still[0], nil, ""); err != nil { // one that has not moved yet
		t.Fatal(err)
	}
	wantGiven(t, s, account, other, 100)
	wantChecked(t, s)
	finishJobs(t, s)
	wantGiven(t, s, account, survivor, many+1)
	wantChecked(t, s)
}

// An account that is written to files while gifts still move goes on with them where it comes back.
func TestAnAccountMovesWhileGiftsStillMove(t *testing.T) {
	s := newBook(t)
	from := newAccount(t, s)
	survivor, other := twoOf(t, s, from.Number)
	const many = merges.MovedAtOnce + 100
	manyGifts(t, s, from.Number, other, many)
	mergeOf(t, s, from.Number, survivor, other)
	imported := importAccount(t, s, exportAccount(t, s, from), "").Account.Number
	wantChecked(t, s)
	finishJobs(t, s)
	for _, account := range []int64{from.Number, imported} {
		wantGiven(t, s, account, doc.MakeID(account, doc.IDSeq(survivor)), many)
		wantGiven(t, s, account, doc.MakeID(account, doc.IDSeq(other)), 0)
	}
	wantChecked(t, s)
}

// A gift that cannot be read stays where it is, and the others move.
func TestAMergeLeavesDamagedGifts(t *testing.T) {
	s := newBook(t)
	closeAfter(t, s)
	account := newAccount(t, s).Number
	survivor, other := twoOf(t, s, account)
	const many = merges.MovedAtOnce + 100
	manyGifts(t, s, account, other, many)
	damage(t, s, `UPDATE gift SET checksum = checksum + 1 WHERE account_id = $1 AND net = 200`, account)
	mergeOf(t, s, account, survivor, other)
	finishJobs(t, s)
	if _, _, moved := given(t, s, account, survivor); moved != many-1 {
		t.Errorf("%d gifts have moved, want %d", moved, many-1)
	}
	j := wantJob(t, s, account, 1, jobs.JobDone, many-1-merges.MovedAtOnce)
	contains(t, string(j.Progress), `"left":1`, "the job says %s", j.Progress)
}

// A group of sure duplicates with more gifts than one unit of work moves is merged like any other, and so are those
// after one with a damaged contact. The undo of all merges brings everything back.
func TestMergeSureEndsWithManyGiftsAndDamage(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	closeAfter(t, s)
	account := newAccount(t, s)
	strangers(t, s, account)
	const many = merges.MovedAtOnce + 100
	var all [3][2]int64
	for i := range all {
		first, last := strings.Fields("Thomas Margaret William")[i],
			strings.Fields("Abernathy Brockhurst Carmichael")[i]
		for k := range all[i] {
			all[i][k] = createAs(t, s, account.Number,
				fmt.Sprintf(`{"first_name":%q,"last_name":%q,"phones":["+1%d125550%d7"],"emails":["x%d@%s.example"],"dob":"%d/14/196%d"}`, first, last, 2+i, 10+i*17, i*i*77, last, i+2, i*2), crm.Force).ID
		}
	}
	manyGifts(t, s, account.Number, all[1][0], many)
	manyGifts(t, s, account.Number, all[1][1], many+1)
	succeed(t, s.FindDuplicates(ctx, account.Number, nil))
	damage(t, s, `UPDATE contact SET checksum = checksum + 1 WHERE account_id = $1 AND id = $2`, account.Number,
		all[0][1])
	job := must(s.MergeSure(ctx, account.Number, "US", nil))(t)
	finishJobs(t, s)
	wantGiven(t, s, account.Number, all[1][1], 2*many+1) // which has most
	wantGiven(t, s, account.Number, all[1][0], 0)
	done := doneJob(t, s, account.Number, job.ID)
	var at duplicates.SureProgress
	if err := json.Unmarshal(done.Progress, &at); err != nil || at.Merged != 2 || at.Left != 1 {
		t.Errorf("%v: the job says %s", err, done.Progress)
	}
	must(s.UndoJob(ctx, account.Number, job.ID, "US", false))(t)
	finishJobs(t, s)
	wantGiven(t, s, account.Number, all[1][1], many+1)
	wantGiven(t, s, account.Number, all[1][0], many)
}

// An import is undone with erasure although someone has merged one of its contacts since, who stays.
func TestAnUndoWithErasureEnds(t *testing.T) {
	s, account := newBookOf(t)
	known := create(t, s, account, `{"first_name":"Known","last_name":"Person","emails":["known@example.org"]}`).ID
	im := upload(t, s, account,
		"first_name,last_name,email\nAda,One,ada@example.org\nBea,Two,bea@example.org\nCleo,Three,cleo@example.org\n")
	begin(t, s, im, false)
	finishJobs(t, s)
	mergeOf(t, s, account, known, known+2)
	undo := must(s.UndoJob(t.Context(), account, im.ID, "US", true))(t)
	finishJobs(t, s)
	j := doneJob(t, s, account, undo.ID)
	var at jobs.UndoProgress
	if err := json.Unmarshal(j.Progress, &at); err != nil || at.Erased != 2 || at.Kept != 1 || at.Undone != 2 {
		t.Errorf("%v: the undo says %s", err, j.Progress)
	}
	for id, erased := range map[int64]bool{known: false, known + 1: true, known + 2: false, known + 3: true} {
		c := recordOf(t, s, account, id)
		equal(t, c.Erased(), erased, "contact %d", id)
	}
	wantChecked(t, s)
}

// A merge of what was sent needs no review once it cannot be undone, because the person was erased or the history has
// forgotten it.
func TestMergesThatCannotBeUndoneNeedNoReview(t *testing.T) {
	s, account := newBookOf(t)
	person := create(t, s, account, `{"first_name":"Ana","last_name":"Silva","emails":["one@example.org"]}`).ID
	create(t, s, account, `{"first_name":"Bob","last_name":"Jones","emails":["one@example.org"]}`)
	create(t, s, account, `{"first_name":"Ina","last_name":"Other","emails":["two@example.org"]}`)
	create(t, s, account, `{"first_name":"Max","last_name":"Brown","emails":["two@example.org"]}`)
	pending := func() int64 {
		_, found := must2(s.Merges(t.Context(), account, merges.Filter{Review: true},
			crm.PageRequest{Page: 1, PerPage: 10}))(t)
		return found.Total
	}
	equal(t, pending(), 2)
	erase(t, s, t.Context(), account, person)
	equal(t, pending(), 1, "merges need a review after the person was erased, want 1")
}

// An erasure looks through merges that keep what was sent in portions: of another contact that was sent the person's
// name, and of many others.
func TestAnErasureLooksThroughKeptMergesInPortions(t *testing.T) {
	s, account := newBookOf(t)
	person := create(t, s, account, `{"first_name":"Ana","last_name":"Silva","emails":["ana@example.org"]}`).ID
	create(t, s, account, `{"first_name":"Jo","last_name":"Jones","emails":["jo@example.org"]}`)
	const many = 450
	var creating sync.WaitGroup
	for worker := range 15 {
		creating.Go(func() {
			for i := range many / 15 {
				create(t, s, account,
					fmt.Sprintf(`{"first_name":"Jo","last_name":"Jones","emails":["jo@example.org"],"tags":["t%d"]}`,
						worker*many+i))
			}
		})
	}
	creating.Wait()
	create(t, s, account, `{"first_name":"Ana","last_name":"Silva","emails":["jo@example.org"],"note":"Hello"}`)
	var portions atomic.Int64
	spyOn(t, s).read = func(sql string) {
		portions.Add(store.Flag(strings.HasPrefix(sql, store.MergeColumns) && strings.Contains(sql, "id >")))
	}
	erase(t, s, t.Context(), account, person)
	if n := portions.Load(); n < 3 {
		t.Errorf("%d merges were read by %d statements", many, n)
	}
	kept := must(store.List(t.Context(), s.Store, store.ScanMerge, store.MergeColumns+` AND sent <> '' ORDER BY id`,
		account))(t)
	if len(kept) < many {
		t.Fatalf("%d merges", len(kept))
	}
	for i, m := range kept {
		equal(t, i == len(kept)-1, (m.SentDocument() == ""), "merge %d of %d keeps %q", i, len(kept), m.SentDocument())
	}
}

// A job whose steps keep failing fails, says why, and goes on when a person lets it.
func TestAJobThatKeepsFailingFails(t *testing.T) {
	ctx := t.Context()
	s, account := newBookOf(t)
	survivor, other := twoOf(t, s, account)
	const many = merges.MovedAtOnce + 20
	manyGifts(t, s, account, other, many)
	mergeOf(t, s, account, survivor, other)
	damaged := func(sql string) {
		succeed(t, s.UpdateAccount(ctx, account, func(x *store.Tx) error { return x.Run(sql, account) }))
	}
	damaged(`UPDATE job SET spec = '[' WHERE account_id = $1`)
	reported := 0
	for range jobs.JobTries {
		w := jobs.NewJobWorker(s.JobStore) // a look, once a minute
		must(w.Round(ctx, func(error) { reported++ }))(t)
	}
	j := must(s.Job(ctx, account, 1))(t)
	if j.State != jobs.JobFailed || j.Trouble().Error == "" || reported != jobs.JobTries || !j.Retryable() {
		t.Errorf("after %d failures the job is %+v", reported, j)
	}
	damaged(fmt.Sprintf(`UPDATE job SET spec = '{"merge":%d}' WHERE account_id = $1`, mergeNumber(t, s, account)))
	must(s.RetryJob(ctx, account, 1))(t)
	finishJobs(t, s)
	wantJob(t, s, account, 1, jobs.JobDone, 20)
	wantGiven(t, s, account, survivor, many)
}

func mergeNumber(t testing.TB, s *Book, account int64) (id int64) {
	t.Helper()
	succeed(t, one(t, s, &id, `SELECT id FROM contact_merge WHERE account_id = $1`, account))
	return id
}

func doneJob(t testing.TB, s *Book, account, id int64) jobs.Job {
	t.Helper()
	j := must(s.Job(t.Context(), account, id))(t)
	equal(t, j.State, jobs.JobDone, "the job is %+v", j)
	return j
}
