package book

import (
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
func (s *folk) manyGifts(contact int64, n int) {
	s.Helper()
	in := make([]giving.GiftInput, n)
	for i := range in {
		in[i] = giftInput(s, fmt.Sprintf(`{"contact_id":%d,"amount":%d,"method":"cash","transacted_at":%q}`, contact,
			i+1, time.Date(2020, 1, 1+i, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)), true, time.Now())
	}
	var recording sync.WaitGroup
	for some := range slices.Chunk(in, (n+15)/16) {
		recording.Go(func() {
			for _, one := range some {
				must(s.CreateGift(s.Context(), s.Number, one))(s)
			}
		})
	}
	recording.Wait()
}

// gifts are how many gifts a contact has. What its document says is what they say.
func (s *folk) gifts(contact int64) (n int64) {
	s.Helper()
	row := must(store.List(s.Context(), s.Store, func(r db.Row) [2]int64 { return [2]int64{r.Int(0), r.Int(1)} },
		`SELECT COUNT(*), CAST(COALESCE(SUM(net), 0) AS BIGINT) FROM gift WHERE account_id = $1 AND contact_id = $2`,
		s.Number, contact))(s)[0]
	equal(s, s.record(contact).Stats.TotalContributions, row[1]/100, "contact %d has given", contact)
	return row[0]
}

func (s *folk) wantGiven(contact, gifts int64) {
	s.Helper()
	equal(s, s.gifts(contact), gifts, "gifts of contact %d", contact)
}

// codes are those of all gifts of a contact.
func (s *folk) codes(contact int64) []string {
	s.Helper()
	return must(store.List(s.Context(), s.Store, func(r db.Row) string { return strings.Clone(r.Text(0)) },
		`SELECT code FROM gift WHERE account_id = $1 AND contact_id = $2 ORDER BY id`, s.Number, contact))(s)
}

// step lets a worker do some units of work of each job.
func step(t testing.TB, s *Book, rounds int) {
	t.Helper()
	w := jobs.NewJobWorker(s.JobStore)
	for range rounds {
		workRound(t, w)
	}
}

func (s *folk) step() {
	s.Helper()
	step(s, s.Book, 1)
}

// moving are a survivor and another one with many gifts, of whom one unit of work has moved those that it could.
type moving struct {
	*folk
	survivor, other, merge int64
	before                 []string
}

// moves merges a contact with so many gifts more than one unit of work moves.
func moves(s *folk, more int) *moving {
	s.Helper()
	x := &moving{folk: s}
	x.survivor, x.other = s.two()
	s.manyGifts(x.other, merges.MovedAtOnce+more)
	x.before = s.everything()
	x.merge = s.merge(x.survivor, x.other)
	return x
}

// want checks how many gifts both have.
func (x *moving) want(survivor, other int64) {
	x.Helper()
	x.wantGiven(x.survivor, survivor)
	x.wantGiven(x.other, other)
	x.checked()
}

// Gifts of a contact that has many follow a merge a few at a time, on any node, and sums are always those of the
// gifts that a contact has.
func TestAMergeOfManyGifts(t *testing.T) {
	s, node := twoFolk(t)
	const many, once = merges.MovedAtOnce + 450, merges.MovedAtOnce
	x := moves(s, 450)
	x.want(once, 450)
	row := must(s.MergeOf(t.Context(), s.Number, x.merge))(t)
	contains(t, string(merges.Append(nil, &row)), `"moving":true`)
	node.step() // a node that ends after a portion
	left := s.gifts(x.other)
	x.want(many-left, left)
	equal(t, left > 0 && left < 450, true, "%d gifts are left after one step", left)
	finishJobs(t, s.Book, node.Book)
	x.want(many, 0)
	equal(t, must(s.MergeOf(t.Context(), s.Number, x.merge))(t).Moving, 0)
	j := s.wantJob(1, jobs.JobDone, 450)
	expect(t, "the job", fmt.Sprint(jobs.MoveJob, " false false"), j.Kind, j.Undoable(), j.Stoppable())
	s.unmerge(x.merge)
	x.want(450, once)
	finishJobs(t, s.Book, node.Book)
	x.want(0, many)
	wantState(t, "the undo", s.everything(), x.before)
}

// A merge that is undone while its gifts still move turns around, and one that is merged again turns around once more.
func TestAMergeOfManyGiftsIsUndoneMeanwhile(t *testing.T) {
	s := moves(newFolk(t), 200)
	s.step()
	undone := s.unmerge(s.merge)
	s.checked()
	s.finishJobs()
	s.wantGiven(s.survivor, 0)
	wantState(t, "the undo", s.everything(), s.before)
	again := s.unmerge(undone.ID())
	s.step()
	undone = s.unmerge(again.Survivor.Merge)
	s.unmerge(undone.ID()) // while gifts are on their way back
	s.checked()
	s.finishJobs()
	s.want(merges.MovedAtOnce+200, 0)
}

// A contact that gifts still move to is merged itself: they come to the last survivor, and each undo leads them back
// one contact.
func TestAMergeMeetsGiftsThatStillMove(t *testing.T) {
	s := moves(newFolk(t), 200)
	last := s.person(`{"first_name":"Thomas","last_name":"Reed","emails":["last@example.org"]}`)
	const many = merges.MovedAtOnce + 200
	s.manyGifts(s.survivor, 5)
	s.step()
	outer := s.folk.merge(last, s.survivor)
	wantFault(t, "undo of the inner merge", errOf(s.UndoMerge(t.Context(), s.Number, s.merge, "US")), "",
		doc.MergedSince, s.survivor, last, outer)
	s.finishJobs()
	s.wantGiven(last, many+5)
	s.checked()
	s.unmerge(outer)
	s.unmerge(s.merge) // while gifts of the outer one are on their way back
	s.finishJobs()
	s.wantGiven(last, 0)
	s.want(5, many)
}

// A person is erased while gifts still move: none of the gifts keeps a trace of them.
func TestErasingAPersonWhoseGiftsStillMove(t *testing.T) {
	o := newDatabase(t)
	s := folkOf(t, open(t, o))
	survivor, other := s.two()
	const many = merges.MovedAtOnce + 200
	s.manyGifts(other, many)
	codes := s.codes(other)
	for _, i := range []int{0, many / 2, many - 1} {
		s.edit(codes[i], `{"note":"For Tomkwolf"}`)
	}
	s.merge(survivor, other)
	s.step()
	s.erase(survivor)
	s.finishJobs()
	s.wantGiven(survivor, many)
	s.checked()
	succeed(t, s.Close())
	wantNoTraces(t, o, "tomkwolf", "thomas@example", "tom@example")
}

// What is recorded while gifts still move goes to the survivor: a gift that a file names the merged contact for by
// its plan or the rows before it, and one that names the survivor. The API refuses the id of
// the merged contact and names the other one, as it always does.
func TestGiftsRecordedWhileOthersMove(t *testing.T) {
	ctx := t.Context()
	s := moves(newFolk(t), 100)
	wantFault(t, "a gift of the merged contact", errOf(s.CreateGift(ctx, s.Number, giftInput(t,
		fmt.Sprintf(`{"contact_id":%d,"amount":5,"method":"cash","transacted_at":"2026-01-31"}`, s.other), true,
		time.Now()))), "contact_id", doc.MergedID, s.survivor)
	rows := openTable(t,
		"amount,date,method,email,first_name,last_name\n7,2026-02-01,cash,tom@example.org,Thomas,Reed\n")
	must2(s.ImportFile(ctx, s.Number, rows, giftImportOf(rows), 1, true, func(jobs.ImportProgress) {}))(t)
	s.wantGiven(s.survivor, merges.MovedAtOnce+1)
	s.refund(s.codes(s.other)[0]) // one that has not moved yet
	s.want(merges.MovedAtOnce+1, 100)
	s.finishJobs()
	s.want(merges.MovedAtOnce+101, 0)
}

// An account that is written to files while gifts still move goes on with them where it comes back.
func TestAnAccountMovesWhileGiftsStillMove(t *testing.T) {
	s := moves(newFolk(t), 100)
	made := importAccount(t, s.Book, exportAccount(t, s.Book, s.Account), "").Account
	s.checked()
	s.finishJobs()
	s.want(merges.MovedAtOnce+100, 0)
	there := folkIn(t, s.Book, made)
	there.wantGiven(doc.MakeID(made.Number, doc.IDSeq(s.survivor)), merges.MovedAtOnce+100)
	there.wantGiven(doc.MakeID(made.Number, doc.IDSeq(s.other)), 0)
}

// A gift that cannot be read stays where it is, and the others move.
func TestAMergeLeavesDamagedGifts(t *testing.T) {
	s := newFolk(t)
	closeAfter(t, s.Book)
	survivor, other := s.two()
	s.manyGifts(other, merges.MovedAtOnce+100)
	s.damage(`UPDATE gift SET checksum = checksum + 1 WHERE account_id = $1 AND net = 200`, s.Number)
	s.merge(survivor, other)
	s.finishJobs()
	equal(t, len(s.codes(survivor)), merges.MovedAtOnce+99, "gifts have moved")
	contains(t, string(s.wantJob(1, jobs.JobDone, 99).Progress), `"left":1`, "the job")
}

// A group of sure duplicates with more gifts than one unit of work moves is merged like any other, and so are those
// after one with a damaged contact. The undo of all merges brings everything back.
func TestMergeSureEndsWithManyGiftsAndDamage(t *testing.T) {
	s := newFolk(t)
	closeAfter(t, s.Book)
	s.strangers()
	const many = merges.MovedAtOnce + 100
	var all [6]int64
	for i := range all {
		all[i] = s.person(surely(i/2, strings.Fields("Thomas Margaret William")[i/2],
			strings.Fields("Abernathy Brockhurst Carmichael")[i/2]))
	}
	s.manyGifts(all[2], many)
	s.manyGifts(all[3], many+1)
	s.look()
	s.damage(`UPDATE contact SET checksum = checksum + 1 WHERE account_id = $1 AND id = $2`, s.Number, all[1])
	job := s.mergeSure()
	s.finishJobs()
	s.wantGiven(all[3], 2*many+1) // which has most
	s.wantGiven(all[2], 0)
	var at duplicates.SureProgress
	succeed(t, json.Unmarshal(doneJob(t, s.Book, s.Number, job.ID).Progress, &at))
	expect(t, "merged, left", "2 1", at.Merged, at.Left)
	must(s.UndoJob(t.Context(), s.Number, job.ID, "US", false))(t)
	s.finishJobs()
	s.wantGiven(all[3], many+1)
	s.wantGiven(all[2], many)
}

// An import is undone with erasure although someone has merged one of its contacts since, who stays.
func TestAnUndoWithErasureEnds(t *testing.T) {
	s := newFolk(t)
	known := s.create(`{"first_name":"Known","last_name":"Person","emails":["known@example.org"]}`).ID
	im := upload(t, s.Book, s.Number,
		"first_name,last_name,email\nAda,One,ada@example.org\nBea,Two,bea@example.org\nCleo,Three,cleo@example.org\n")
	begin(t, s.Book, im, false)
	s.finishJobs()
	s.merge(known, known+2)
	undo := must(s.UndoJob(t.Context(), s.Number, im.ID, "US", true))(t)
	s.finishJobs()
	var at jobs.UndoProgress
	succeed(t, json.Unmarshal(doneJob(t, s.Book, s.Number, undo.ID).Progress, &at))
	expect(t, "erased, kept, undone", "2 1 2", at.Erased, at.Kept, at.Undone)
	for i, erased := range []bool{false, true, false, true} {
		c := s.record(known + int64(i))
		equal(t, c.Erased(), erased, "contact %d", i)
	}
	s.checked()
}

// A merge of what was sent needs no review once it cannot be undone, because the person was erased or the history has
// forgotten it.
func TestMergesThatCannotBeUndoneNeedNoReview(t *testing.T) {
	s := newFolk(t)
	person := s.create(`{"first_name":"Ana","last_name":"Silva","emails":["one@example.org"]}`).ID
	s.create(`{"first_name":"Bob","last_name":"Jones","emails":["one@example.org"]}`)
	s.create(`{"first_name":"Ina","last_name":"Other","emails":["two@example.org"]}`)
	s.create(`{"first_name":"Max","last_name":"Brown","emails":["two@example.org"]}`)
	equal(t, len(s.merges(true)), 2)
	s.erase(person)
	equal(t, len(s.merges(true)), 1, "merges need a review after the person was erased")
}

// merges are all merges of an organization, or those to look at.
func (s *folk) merges(review bool) []store.Merge {
	s.Helper()
	found, result := must2(s.Merges(s.Context(), s.Number, merges.Filter{Review: review},
		crm.PageRequest{Page: 1, PerPage: 10}))(s)
	equal(s, result.Total, int64(len(found)))
	return found
}

// An erasure looks through merges that keep what was sent in portions: of another contact that was sent the person's
// name, and of many others.
func TestAnErasureLooksThroughKeptMergesInPortions(t *testing.T) {
	s := newFolk(t)
	person := s.create(`{"first_name":"Ana","last_name":"Silva","emails":["ana@example.org"]}`).ID
	s.create(`{"first_name":"Jo","last_name":"Jones","emails":["jo@example.org"]}`)
	const many = 450
	atOnce(15, func(worker int) {
		for i := range many / 15 {
			s.create(fmt.Sprintf(`{"first_name":"Jo","last_name":"Jones","emails":["jo@example.org"],"tags":["t%d"]}`,
				worker*many+i))
		}
	})
	s.create(`{"first_name":"Ana","last_name":"Silva","emails":["jo@example.org"],"note":"Hello"}`)
	var portions atomic.Int64
	spyOn(t, s.Book).read = func(sql string) {
		portions.Add(store.Flag(strings.HasPrefix(sql, store.MergeColumns) && strings.Contains(sql, "id >")))
	}
	s.erase(person)
	equal(t, portions.Load() >= 3, true, "%d merges were read by %d statements", many, portions.Load())
	kept := s.keptMerges()
	equal(t, len(kept) >= many, true, "%d merges", len(kept))
	for i, m := range kept {
		equal(t, i == len(kept)-1, m.SentDocument() == "", "merge %d of %d keeps %q", i, len(kept), m.SentDocument())
	}
}

// keptMerges are those of what was sent.
func (s *folk) keptMerges() []store.Merge {
	s.Helper()
	return must(store.List(s.Context(), s.Store, store.ScanMerge, store.MergeColumns+` AND sent <> '' ORDER BY id`,
		s.Number))(s)
}

// A job whose steps keep failing fails, says why, and goes on when a person lets it.
func TestAJobThatKeepsFailingFails(t *testing.T) {
	s := moves(newFolk(t), 20)
	s.damage(`UPDATE job SET spec = '[' WHERE account_id = $1`, s.Number)
	reported := 0
	for range jobs.JobTries {
		w := jobs.NewJobWorker(s.JobStore) // a look, once a minute
		must(w.Round(t.Context(), func(error) { reported++ }))(t)
	}
	j := s.job(1)
	expect(t, "the job", fmt.Sprint(jobs.JobFailed, " true ", jobs.JobTries, " true"), j.State, j.Trouble().Error != "",
		reported, j.Retryable())
	s.damage(`UPDATE job SET spec = $2 WHERE account_id = $1`, s.Number,
		fmt.Sprintf(`{"merge":%d}`, s.merges(false)[0].ID))
	must(s.RetryJob(t.Context(), s.Number, 1))(t)
	s.finishJobs()
	s.wantJob(1, jobs.JobDone, 20)
	s.want(merges.MovedAtOnce+20, 0)
}

// doneJob is a job that is done.
func doneJob(t testing.TB, s *Book, account, id int64) jobs.Job {
	t.Helper()
	j := must(s.Job(t.Context(), account, id))(t)
	equal(t, j.State, jobs.JobDone, "the job is %+v", j)
	return j
}
