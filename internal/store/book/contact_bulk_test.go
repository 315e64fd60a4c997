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
func (s *folk) bulkProgress(job int64) (at jobs.BulkProgress) {
	s.Helper()
	j, err := s.Job(s.Context(), s.Number, job)
	if err == nil {
		err = json.Unmarshal(j.Progress, &at)
	}
	succeed(s, err)
	return at
}

// documentsOf are the contacts of an account without the times of their changes.
func (s *folk) documents() map[int64]string {
	s.Helper()
	found := map[int64]string{}
	succeed(s, s.Db.LongView(s.Context(), func(c db.Conn) error {
		return store.EachStored(c, s.Number, func(row *store.StoredContact) error {
			found[row.ID] = fmt.Sprint(row.Contact.FirstName, row.Contact.Tags, row.Contact.Archived())
			return row.Damage
		}, func() error { return nil })
	}))
	return found
}

func (s *folk) wantDocuments(want map[int64]string) {
	s.Helper()
	for id, got := range s.documents() {
		equal(s, got, want[id], "contact %d", id)
	}
}

// Ids of other accounts, and such that no contact has, are ignored, and nothing tells that they are someone's.
func TestConcurrentContactsThatWerePickedAreChangedAtOnce(t *testing.T) {
	s := newFolk(t)
	account := s.Number
	other := s.another()
	s.fillTagged(14, "old") // the first and the eighth are archived
	other.fillTagged(3, "theirs")
	before, theirs := s.documents(), other.documents()
	picked := jobs.Selection{IDs: []int64{doc.MakeID(other.Number, 2), -5, 0, 1 << 62, doc.MakeID(account, 15),
		doc.MakeID(account, doc.MaxSeq)}}
	for seq := range int64(9) {
		picked.IDs = append(picked.IDs, doc.MakeID(account, seq+1), doc.MakeID(account, seq+1))
	}
	equal(t, must(s.SelectionSize(t.Context(), account, picked))(t), 9, "contacts are selected")
	had := s.withTag("new")
	done := s.bulk(picked, crm.BulkTag, "new", "fresh")
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
	if fresh := s.withTag("fresh"); fresh != 9-archived || s.withTag("new") <= had {
		t.Errorf("%d contacts have the tag", fresh)
	}
	s.wantJob(done.Job, jobs.JobDone, 9-archived)
	if again := s.bulk(picked, crm.BulkTag, "fresh"); again.Already != 9-archived || again.Changed != 0 {
		t.Errorf("tagged again: %+v", again)
	} else if _, err := s.UndoJob(t.Context(), account, again.Job, "US", false); !errors.Is(err, crm.ErrChanged) {
		t.Errorf("undoing nothing: %v", err)
	}
	if at := s.undo(done.Job); at.Undone != 9-archived || at.Kept != 0 {
		t.Errorf("undone: %+v", at)
	}
	s.wantDocuments(before)
	other.wantDocuments(theirs)
	if done := other.bulk(jobs.Selection{IDs: picked.IDs[1:]}, crm.BulkArchive); done.Total != 0 ||
		done.Changed != 0 {
		t.Errorf("no contact of its own: %+v", done)
	}
	s.wantDocuments(before)
	other.wantDocuments(theirs)
}

func TestConcurrentContactsAreArchivedRestoredAndUntaggedTogether(t *testing.T) {
	s := newFolk(t)
	s.fillTagged(40, "old")
	before := s.documents()
	new := jobs.Selection{All: true, Scope: crm.All, Filter: find.Filter{Tags: []string{"new"}}}
	archived := s.bulk(new, crm.BulkArchive)
	if archived.Total != 20 || archived.Changed+archived.Already != 20 || archived.Changed == 0 ||
		archived.Already == 0 {
		t.Errorf("archived: %+v", archived)
	}
	equal(t, s.withTag("new"), 0, "active contacts have the tag")
	restored := s.bulk(new, crm.BulkRestore)
	if restored.Changed != 20 || s.withTag("new") != 20 {
		t.Errorf("restored: %+v", restored)
	}
	removed := s.bulk(new, crm.BulkUntag, "new", "old")
	if removed.Changed != 20 || s.withTag("new") != 0 {
		t.Errorf("removed: %+v", removed)
	}
	for _, job := range []int64{removed.Job, restored.Job, archived.Job} { // the last one first
		s.undo(job)
	}
	s.wantDocuments(before)
	checkIntegrity(t, s.Book)
}

// Ten thousand contacts are changed by two nodes in the background. The first node is stopped in the middle. Contacts
// that match only later are left alone, because the selection was frozen.
func TestManyContactsAreChangedInTheBackground(t *testing.T) {
	a, b := twoFolk(t)
	closeAfter(t, a.Book) // the other tests check that everything is consistent, with fewer contacts
	closeAfter(t, b.Book)

	const n = 3_000
	for start := 0; start < n; start += 1000 {
		atOnce(1000, func(i int) {
			a.create(fmt.Sprintf(`{"first_name":"P%d","tags":["old"%s]}`, start+i,
				[]string{"", `,"new"`}[min(1, i%10/9)]))
		})
	}
	all := jobs.Selection{All: true, Scope: crm.Active, Filter: find.Filter{Tags: []string{"old"}}}
	begun := a.bulk(all, crm.BulkTag, "new")
	if !begun.Unfinished() || begun.Total != n || begun.Changed != 0 {
		t.Errorf("begun: %+v", begun)
	}
	late := a.create(`{"first_name":"Late","tags":["old"]}`).ID
	for range 5 {
		if busy := workRound(t, jobs.NewJobWorker(a.JobStore)); !busy {
			t.Fatal(busy)
		}
	}
	if at := a.bulkProgress(begun.Job); at.Changed+at.Already != 5*jobs.BulkUnit || at.Total != n {
		t.Errorf("after five units of work: %+v", at)
	}
	finishJobs(t, b.Book, a.Book)
	if at := b.bulkProgress(begun.Job); at.Changed != n-n/10 || at.Already != n/10 {
		t.Errorf("in the end: %+v", at)
	}
	b.wantJob(begun.Job, jobs.JobDone, n-n/10)
	if got := b.withTag("new"); got != n || slices.Contains(b.get(late).Tags, "new") {
		t.Errorf("%d contacts have the tag, and the late one has %q", got, b.get(late).Tags)
	}
}

// A person has seen how many contacts a search finds. Another number is told, and nothing is done.
func TestConcurrentAnotherNumberThanWasSeenIsTold(t *testing.T) {
	ctx := t.Context()
	s := newFolk(t)
	account := s.Number
	s.fillTagged(8, "old")
	before := s.documents()
	found := jobs.Selection{All: true, Scope: crm.Active, Filter: find.Filter{Tags: []string{"old"}}, Seen: 7}
	_, err := s.BulkChange(ctx, account, found, crm.BulkAction{Kind: crm.BulkArchive})
	var changed *crm.SelectionChanged
	if !errors.As(err, &changed) || changed.Contacts != 6 {
		t.Errorf("%v: %+v", err, changed)
	}
	s.wantDocuments(before)
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
	s := newFolk(t)
	account := s.Number
	closeAfter(t, s.Book)

	atOnce(jobs.BulkAtOnce+2, func(i int) { s.create(fmt.Sprintf(`{"first_name":"P%d"}`, i)) })
	id := doc.MakeID(account, 3)
	s.damage(`UPDATE contact SET checksum = checksum + 1 WHERE id = $1`, id)
	few := s.bulk(jobs.Selection{IDs: []int64{id - 1, id, id + 1}}, crm.BulkTag, "few")
	if few.Changed != 2 || few.Unreadable != 1 {
		t.Errorf("a few: %+v", few)
	}
	many := s.bulk(jobs.Selection{All: true, Scope: crm.Active}, crm.BulkTag, "many")
	s.finishJobs()
	if at := s.bulkProgress(many.Job); at.Changed != jobs.BulkAtOnce+1 || at.Unreadable != 1 {
		t.Errorf("many: %+v", at)
	}
	equal(t, s.undo(many.Job).Undone, jobs.BulkAtOnce+1, "undone")
	equal(t, s.withTag("many"), 0, "undone")
	s.damage(`UPDATE contact SET checksum = checksum - 1 WHERE id = $1`, id)
}

// What was done to a tag is undone, also where several became one.
func TestConcurrentWorkOnTagsIsUndone(t *testing.T) {
	ctx := t.Context()
	s := newFolk(t)
	account := s.Number
	s.fillTagged(20, "Donor")
	s.fillTagged(8, "donor")
	s.fillTagged(4, "DONOR")
	s.create(`{"first_name":"Both","tags":["donor","x","Donor"]}`)
	before := s.documents()
	groups := must(s.AlikeTags(ctx, account, 10))(t)
	if len(groups) != 1 || len(groups[0]) != 3 || groups[0][0].Name != "Donor" {
		t.Fatalf("alike are %v", groups)
	}
	merged := must(s.RenameTags(ctx, account, "Donor", "donor", "DONOR"))(t)
	if merged.Unfinished() || merged.Changed != 13 {
		t.Errorf("merged: %+v", merged)
	}
	size := must(s.TagSize(ctx, account, "Donor"))(t)
	equal(t, size.Active+size.Archived, 33, "it")
	wantError(t, "the tag that was merged", errOf(s.TagSize(ctx, account, "donor")), crm.ErrNotFound)
	deleted := s.deleteTag("Donor")
	equal(t, deleted.Changed, 33, "deleted")
	s.undo(deleted.Job)
	if at := s.undo(merged.Job); at.Undone != 13 || at.Kept != 0 {
		t.Errorf("undone: %+v", at)
	}
	s.wantDocuments(before)
	checkIntegrity(t, s.Book)
}

// What waits for the worker is shown.
func TestTagsUnderWayAreTold(t *testing.T) {
	ctx := t.Context()
	s := newFolk(t)
	account := s.Number
	s.fillTagged(jobs.BulkAtOnce+1, "old")
	begun := s.rename("old", "new")
	if !begun.Unfinished() || begun.Job == 0 {
		t.Fatalf("%+v", begun)
	}
	s.bulk(jobs.Selection{All: true, Scope: crm.Active}, crm.BulkTag, "other")
	works := must(s.TagsUnderWay(ctx, account))(t)
	if len(works) != 1 || works[0].Job != begun.Job || works[0].Tags[0] != "old" || works[0].Becomes != "new" {
		t.Errorf("under way: %+v", works)
	}
	s.finishJobs()
	equal(t, len(must(s.TagsUnderWay(ctx, account))(t)), 0, "under way in the end")
	if at := s.bulkProgress(begun.Job); at.Changed != jobs.BulkAtOnce+1 || at.Total != jobs.BulkAtOnce+1 {
		t.Errorf("in the end: %+v", at)
	}
}
