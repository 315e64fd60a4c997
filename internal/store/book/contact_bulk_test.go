package book

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/jobs"
)

// bulk does something to contacts, as a person does.
func bulk(t testing.TB, s *Book, account int64, of jobs.Selection, kind crm.BulkKind, tags ...string) jobs.BulkResult {
	t.Helper()
	if of.All && of.Seen == 0 {
		of.Seen, _ = s.SelectionSize(t.Context(), account, of)
	}
	done := must(s.BulkChange(store.By(t.Context(), history.ConsoleChannel, "ana@example.org"), account, of,
		crm.BulkAction{Kind: kind, Tags: tags}))(t)
	return done
}

// undo undoes a job, and waits for its end.
func undo(t testing.TB, s *Book, account, job int64) jobs.UndoProgress {
	t.Helper()
	undone, err := s.UndoJob(store.By(t.Context(), history.ConsoleChannel, "bob@example.org"), account, job, "US",
		false)
	succeed(t, err)
	finishJobs(t, s)
	if undone, err = s.Job(t.Context(), account, undone.ID); err != nil || undone.State != jobs.JobDone {
		t.Fatalf("%v: the undo is %+v", err, undone)
	}
	var at jobs.UndoProgress
	succeed(t, json.Unmarshal(undone.Progress, &at))
	return at
}

// bulkProgress is how far a job has come.
func bulkProgress(t testing.TB, s *Book, account, job int64) (at jobs.BulkProgress) {
	t.Helper()
	j, err := s.Job(t.Context(), account, job)
	if err == nil {
		err = json.Unmarshal(j.Progress, &at)
	}
	succeed(t, err)
	return at
}

// documentsOf are the contacts of an account without the times of their changes.
func documentsOf(t testing.TB, s *Book, account int64) map[int64]string {
	t.Helper()
	found := map[int64]string{}
	succeed(t, s.Db.LongView(t.Context(), func(c db.Conn) error {
		return store.EachStored(c, account, func(row *store.StoredContact) error {
			found[row.ID] = fmt.Sprint(row.Contact.FirstName, row.Contact.Tags, row.Contact.Archived())
			return row.Damage
		}, func() error { return nil })
	}))
	return found
}

func wantDocuments(t testing.TB, s *Book, account int64, want map[int64]string) {
	t.Helper()
	for id, got := range documentsOf(t, s, account) {
		equal(t, got, want[id], "contact %d", id)
	}
}

// Ids of other accounts, and such that no contact has, are ignored, and nothing tells that they are someone's.
func TestConcurrentContactsThatWerePickedAreChangedAtOnce(t *testing.T) {
	s := newBook(t)
	account, other := newAccount(t, s).Number, newAccount(t, s).Number
	fillTagged(t, s, account, 14, "old") // the first and the eighth are archived
	fillTagged(t, s, other, 3, "theirs")
	before, theirs := documentsOf(t, s, account), documentsOf(t, s, other)
	picked := jobs.Selection{IDs: []int64{doc.MakeID(other, 2), -5, 0, 1 << 62, doc.MakeID(account, 15),
		doc.MakeID(account, doc.MaxSeq)}}
	for seq := range int64(9) {
		picked.IDs = append(picked.IDs, doc.MakeID(account, seq+1), doc.MakeID(account, seq+1))
	}
	equal(t, must(s.SelectionSize(t.Context(), account, picked))(t), 9, "contacts are selected")
	had := withTag(t, s, account, "new")
	done := bulk(t, s, account, picked, crm.BulkTag, "new", "fresh")
	archived := int64(0)
	for id, document := range before {
		if doc.IDSeq(id) <= 9 && document[len(document)-4:] == "true" {
			archived++
		}
	}
	if done.Unfinished() || done.Total != 9 || done.Archived != archived || done.Changed != 9-archived ||
		done.Already != 0 {
		t.Errorf("tagged: %+v", done)
	}
	if fresh := withTag(t, s, account, "fresh"); fresh != 9-archived || withTag(t, s, account, "new") <= had {
		t.Errorf("%d contacts have the tag", fresh)
	}
	wantJob(t, s, account, done.Job, jobs.JobDone, 9-archived)
	if again := bulk(t, s, account, picked, crm.BulkTag, "fresh"); again.Already != 9-archived || again.Changed != 0 {
		t.Errorf("tagged again: %+v", again)
	} else if _, err := s.UndoJob(t.Context(), account, again.Job, "US", false); !errors.Is(err, crm.ErrChanged) {
		t.Errorf("undoing nothing: %v", err)
	}
	if at := undo(t, s, account, done.Job); at.Undone != 9-archived || at.Kept != 0 {
		t.Errorf("undone: %+v", at)
	}
	wantDocuments(t, s, account, before)
	wantDocuments(t, s, other, theirs)
	if done := bulk(t, s, other, jobs.Selection{IDs: picked.IDs[1:]}, crm.BulkArchive); done.Total != 0 ||
		done.Changed != 0 {
		t.Errorf("no contact of its own: %+v", done)
	}
	wantDocuments(t, s, account, before)
	wantDocuments(t, s, other, theirs)
}

func TestConcurrentContactsAreArchivedRestoredAndUntaggedTogether(t *testing.T) {
	s, account := newBookOf(t)
	fillTagged(t, s, account, 40, "old")
	before := documentsOf(t, s, account)
	new := jobs.Selection{All: true, Scope: crm.All, Filter: find.Filter{Tags: []string{"new"}}}
	archived := bulk(t, s, account, new, crm.BulkArchive)
	if archived.Total != 20 || archived.Changed+archived.Already != 20 || archived.Changed == 0 ||
		archived.Already == 0 {
		t.Errorf("archived: %+v", archived)
	}
	equal(t, withTag(t, s, account, "new"), 0, "active contacts have the tag")
	restored := bulk(t, s, account, new, crm.BulkRestore)
	if restored.Changed != 20 || withTag(t, s, account, "new") != 20 {
		t.Errorf("restored: %+v", restored)
	}
	removed := bulk(t, s, account, new, crm.BulkUntag, "new", "old")
	if removed.Changed != 20 || withTag(t, s, account, "new") != 0 {
		t.Errorf("removed: %+v", removed)
	}
	for _, job := range []int64{removed.Job, restored.Job, archived.Job} { // the last one first
		undo(t, s, account, job)
	}
	wantDocuments(t, s, account, before)
	checkIntegrity(t, s)
}

// Ten thousand contacts are changed by two nodes in the background. The first node is stopped in the middle. Contacts
// that match only later are left alone, because the selection was frozen.
func TestManyContactsAreChangedInTheBackground(t *testing.T) {
	a, b := twoNodes(t)
	closeAfter(t, a) // the other tests check that everything is consistent, with fewer contacts
	closeAfter(t, b)
	account := newAccount(t, a).Number
	const n = 3_000
	for start := 0; start < n; start += 1000 {
		atOnce(1000, func(i int) {
			create(t, a, account, fmt.Sprintf(`{"first_name":"P%d","tags":["old"%s]}`, start+i,
				[]string{"", `,"new"`}[min(1, i%10/9)]))
		})
	}
	all := jobs.Selection{All: true, Scope: crm.Active, Filter: find.Filter{Tags: []string{"old"}}}
	begun := bulk(t, a, account, all, crm.BulkTag, "new")
	if !begun.Unfinished() || begun.Total != n || begun.Changed != 0 {
		t.Errorf("begun: %+v", begun)
	}
	late := create(t, a, account, `{"first_name":"Late","tags":["old"]}`).ID
	for range 5 {
		if busy := workRound(t, jobs.NewJobWorker(a.JobStore)); !busy {
			t.Fatal(busy)
		}
	}
	if at := bulkProgress(t, a, account, begun.Job); at.Changed+at.Already != 5*jobs.BulkUnit || at.Total != n {
		t.Errorf("after five units of work: %+v", at)
	}
	finishJobs(t, b, a)
	if at := bulkProgress(t, b, account, begun.Job); at.Changed != n-n/10 || at.Already != n/10 {
		t.Errorf("in the end: %+v", at)
	}
	wantJob(t, b, account, begun.Job, jobs.JobDone, n-n/10)
	if got := withTag(t, b, account, "new"); got != n || slices.Contains(get(t, b, account, late).Tags, "new") {
		t.Errorf("%d contacts have the tag, and the late one has %q", got, get(t, b, account, late).Tags)
	}
}

// A person has seen how many contacts a search finds. Another number is told, and nothing is done.
func TestConcurrentAnotherNumberThanWasSeenIsTold(t *testing.T) {
	ctx := t.Context()
	s, account := newBookOf(t)
	fillTagged(t, s, account, 8, "old")
	before := documentsOf(t, s, account)
	found := jobs.Selection{All: true, Scope: crm.Active, Filter: find.Filter{Tags: []string{"old"}}, Seen: 7}
	_, err := s.BulkChange(ctx, account, found, crm.BulkAction{Kind: crm.BulkArchive})
	var changed *crm.SelectionChanged
	if !errors.As(err, &changed) || changed.Contacts != 6 {
		t.Errorf("%v: %+v", err, changed)
	}
	wantDocuments(t, s, account, before)
	if jobs, _ := must2(s.Jobs(ctx, account, crm.PageRequest{Page: 1, PerPage: 10}))(t); len(jobs) != 0 {
		t.Errorf("%d jobs", len(jobs))
	}
	none := jobs.Selection{All: true, Scope: crm.Active, Filter: find.Filter{None: true}}
	if n, err := s.SelectionSize(ctx, account, none); n != 0 || err != nil {
		t.Errorf("a search that finds nothing: %d, %v", n, err)
	}
}

// A contact that cannot be read is counted, and does not keep the others from being changed.
func TestDamagedContactDoesNotStopABulkChange(t *testing.T) {
	s := newBook(t)
	closeAfter(t, s)
	account := newAccount(t, s).Number
	atOnce(jobs.BulkAtOnce+2, func(i int) { create(t, s, account, fmt.Sprintf(`{"first_name":"P%d"}`, i)) })
	id := doc.MakeID(account, 3)
	damage(t, s, `UPDATE contact SET checksum = checksum + 1 WHERE id = $1`, id)
	few := bulk(t, s, account, jobs.Selection{IDs: []int64{id - 1, id, id + 1}}, crm.BulkTag, "few")
	if few.Changed != 2 || few.Unreadable != 1 {
		t.Errorf("a few: %+v", few)
	}
	many := bulk(t, s, account, jobs.Selection{All: true, Scope: crm.Active}, crm.BulkTag, "many")
	finishJobs(t, s)
	if at := bulkProgress(t, s, account, many.Job); at.Changed != jobs.BulkAtOnce+1 || at.Unreadable != 1 {
		t.Errorf("many: %+v", at)
	}
	equal(t, undo(t, s, account, many.Job).Undone, jobs.BulkAtOnce+1, "undone")
	equal(t, withTag(t, s, account, "many"), 0, "undone")
	damage(t, s, `UPDATE contact SET checksum = checksum - 1 WHERE id = $1`, id)
}

// What was done to a tag is undone, also where several became one.
func TestConcurrentWorkOnTagsIsUndone(t *testing.T) {
	ctx := t.Context()
	s, account := newBookOf(t)
	fillTagged(t, s, account, 20, "Donor")
	fillTagged(t, s, account, 8, "donor")
	fillTagged(t, s, account, 4, "DONOR")
	create(t, s, account, `{"first_name":"Both","tags":["donor","x","Donor"]}`)
	before := documentsOf(t, s, account)
	groups := must(s.AlikeTags(ctx, account, 10))(t)
	if len(groups) != 1 || len(groups[0]) != 3 || groups[0][0].Name != "Donor" {
		t.Fatalf("alike are %v", groups)
	}
	merged := must(s.MergeTags(ctx, account, []string{"donor", "DONOR"}, "Donor"))(t)
	if merged.Unfinished() || merged.Changed != 13 {
		t.Errorf("merged: %+v", merged)
	}
	size := must(s.TagSize(ctx, account, "Donor"))(t)
	equal(t, size.Active+size.Archived, 33, "it")
	wantError(t, "the tag that was merged", errOf(s.TagSize(ctx, account, "donor")), crm.ErrNotFound)
	deleted := must(s.DeleteTag(ctx, account, "Donor"))(t)
	equal(t, deleted.Changed, 33, "deleted")
	undo(t, s, account, deleted.Job)
	if at := undo(t, s, account, merged.Job); at.Undone != 13 || at.Kept != 0 {
		t.Errorf("undone: %+v", at)
	}
	wantDocuments(t, s, account, before)
	checkIntegrity(t, s)
}

// What waits for the worker is shown.
func TestTagsUnderWayAreTold(t *testing.T) {
	ctx := t.Context()
	s, account := newBookOf(t)
	fillTagged(t, s, account, jobs.BulkAtOnce+1, "old")
	begun := must(s.RenameTag(ctx, account, "old", "new"))(t)
	if !begun.Unfinished() || begun.Job == 0 {
		t.Fatalf("%+v", begun)
	}
	bulk(t, s, account, jobs.Selection{All: true, Scope: crm.Active}, crm.BulkTag, "other")
	works := must(s.TagsUnderWay(ctx, account))(t)
	if len(works) != 1 || works[0].Job != begun.Job || works[0].Names[0] != "old" || works[0].Becomes != "new" {
		t.Errorf("under way: %+v", works)
	}
	finishJobs(t, s)
	equal(t, len(must(s.TagsUnderWay(ctx, account))(t)), 0, "under way in the end")
	if at := bulkProgress(t, s, account, begun.Job); at.Changed != jobs.BulkAtOnce+1 || at.Total != jobs.BulkAtOnce+1 {
		t.Errorf("in the end: %+v", at)
	}
}
