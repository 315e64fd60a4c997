package book

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/jobs"
)

// A person's own file has what contacts said that were merged into this person, also by way of others, what merges
// keep, and nothing of a person who is another one again.
func TestAPersonsFileHasMergedContacts(t *testing.T) {
	s := newFolk(t)
	survivor, other := s.two()
	far := s.person(`{"first_name":"Tommy","last_name":"Farkwolf","addresses":[{"city":"Farville"}],"note":"Farnote"}`)
	parted := s.person(`{"first_name":"Wanda","last_name":"Partkwolf"}`)
	sent := s.create(`{"first_name":"Tim","last_name":"Reed","emails":["thomas@example.org"],"company":"Sentkwolf"}`)
	equal(t, sent.ID, survivor, "what was sent")
	s.update(survivor, `{"company":"Newer"}`)
	s.merge(other, far)
	s.merge(survivor, other)
	s.unmerge(s.merge(survivor, parted))
	file := s.own(survivor)
	for _, want := range []string{`"merged_contacts":[{"id":`, `"last_name":"Farkwolf"`, "Farville", "tom@example.org",
		"Sings", "Sentkwolf", fmt.Sprintf(`"merged_into":%d`, other)} {
		contains(t, file, want)
	}
	equal(t, strings.Contains(file, fmt.Sprintf(`{"id":%d,`, parted)), false, "a contact that is another person")
}

// A merge that the history has forgotten comes along with its account: the person can be erased there, and the files
// of the copy say the same.
func TestForgottenMergesComeWithTheirAccount(t *testing.T) {
	o := newDatabase(t)
	s := folkOf(t, open(t, o))
	survivor, other := s.two()
	s.merge(survivor, other)
	undo := s.unmerge(s.create(
		`{"first_name":"Thomas","last_name":"Reed","emails":["thomas@example.org","kwolf@example.org"]}`).Merge)
	s.forgets(undo.ID() + 1)
	files := exportAccount(t, s.Book, s.Account)
	there := folkIn(t, s.Book, importAccount(t, s.Book, files, "").Account)
	again := exportAccount(t, s.Book, there.Account)
	for _, file := range []string{string(files["merges.jsonl"].Data), string(again["merges.jsonl"].Data)} {
		equal(t, strings.Count(file, "\n"), 2, "merges are in the files")
	}
	s.erase(survivor)
	there.erase(doc.MakeID(there.Number, 1))
	wantNoTraces(t, o, "reed books", "tom@example")
	s.checked()
}

// Who was merged with another person for a while takes nothing of that person along: filters that were saved for the
// other one stay.
func TestErasingAPersonLeavesFiltersOfAnother(t *testing.T) {
	s := newFolk(t)
	survivor, other := s.two()
	merge := s.merge(survivor, other)
	s.update(survivor, `{"phones":[]}`) // one that the merge had brought
	s.unmerge(merge)
	for name, query := range map[string]string{"Theirs": "email=tom%40example.org", "By phone": "phone=617+555+0100",
		"Erased": "email=thomas%40example.org"} {
		s.segment(name, query)
	}
	s.erase(survivor)
	equal(t, len(must(s.Segments(t.Context(), s.Number))(t)), 2, "the filters")
}

// Who was part of a contact while that was part of a third one is in the history of none of them.
func TestErasingAPersonWhoWasPartOfSeveral(t *testing.T) {
	ctx := t.Context()
	o := newDatabase(t)
	s := folkOf(t, open(t, o))
	person := s.person(`{"first_name":"Quetza","last_name":"Kwolfa","emails":["quetza@kwolf.example"],"note":"Kwolfnote"}`)
	second := s.person(`{"first_name":"Ben","last_name":"Bystander","emails":["ben@example.org"],"note":"Bennote"}`)
	third := s.person(`{"first_name":"Cleo","last_name":"Bystander","note":"Cleonote"}`)
	fourth := s.person(`{"first_name":"Dora","last_name":"Bystander"}`)
	merges := []int64{s.merge(second, person)}
	// what it says in its place was the person's
	edited := s.update(second, `{"emails":["ben@example.org"],"note":"Bennote, edited"}`)
	must2(s.UndoChange(ctx, s.Number, second, edited.Tag.Revision, "US"))(t)
	must(s.UpdateContact(attempting(t, "k", "f"), s.Number, second,
		input(t, `{"title":"Benstitle"}`)))(t) // the answer that is kept shows the person
	merges = append(merges, s.merge(third, second), s.merge(fourth, third))
	for i := range merges {
		s.unmerge(merges[len(merges)-1-i])
	}
	s.erase(person)
	wantNoTraces(t, o, "kwolfa", "quetza", "kwolfnote")
	found := strings.Join(traces(t, o, []string{"bennote", "benstitle"}), " ")
	contains(t, found, "bennote", "of another person is left")
	contains(t, found, "benstitle", "of another person is left")
	s.checked()
}

// What a gift said while it was the person's is forgotten also where it was replaced after it had become another
// contact's.
func TestErasingThePersonOfAGiftThatWasMovedAndEdited(t *testing.T) {
	ctx := t.Context()
	o := newDatabase(t)
	s := folkOf(t, open(t, o))
	person, other := s.person(`{"first_name":"Quetzalina"}`), s.person(`{"first_name":"Ottoline"}`)
	gift := s.gave(person, "2026-01-03",
		`,"check_number":"kwolfcheck","note":"Kwolfnote","dedication":{"type":"in_memory_of","name":"Kwolfdear"}`)
	for i, body := range []string{fmt.Sprintf(`{"contact_id":%d}`, other), `{"note":"Ottosfirst"}`,
		`{"note":"Ottossecond"}`} {
		must(s.UpdateGift(attempting(t, fmt.Sprint(i), body), s.Number, gift.Code,
			giftInput(t, body, false, s.Now())))(t)
	}
	s.erase(person)
	wantNoTraces(t, o, "quetzalina", "kwolfnote", "kwolfcheck", "kwolfdear")
	changes, _ := must2(s.Timeline(ctx, s.Number, history.GiftNoun, gift.ID, crm.PageRequest{Page: 1, PerPage: 10}))(t)
	kept := ""
	for _, c := range changes {
		kept += c.Data
	}
	contains(t, kept, `"Ottosfirst","Ottossecond"`)
	now := string(must(s.Gift(ctx, s.Number, gift.Code, nil))(t))
	contains(t, now, "Ottossecond", "the gift")
	contains(t, now, "Ottoline", "the gift")
	s.checked()
}

// A file that is being imported finds the person whose contact was merged meanwhile, by the rows before as well as by
// name and address, also by way of a contact of another name.
func TestAnImportFindsGiversThatWereMergedMeanwhile(t *testing.T) {
	s := newFolk(t)
	file := "Name,Street,ZIP,Amount,Date\nAna Ruiz,1 Main St.,02139,1,2026-01-01\nBen King,,,2,2026-01-02\n"
	choose := func(spec *jobs.FileImport) { spec.MatchNames = true }
	importInPieces(t, s.Book, s.Number, file, choose)
	middle, last := s.person(`{"first_name":"Middle","last_name":"Name"}`),
		s.person(`{"first_name":"Last","last_name":"Other"}`)
	first := doc.MakeID(s.Number, 1)
	s.merge(middle, first)
	s.merge(middle, first+1)
	s.merge(last, middle)
	done := importInPieces(t, s.Book, s.Number,
		file+"Ana Ruiz,1 Main Street,02139,4,2026-01-03\nBen King,,,8,2026-01-04\n", choose)
	expect(t, "the import made", "0 2", done.Contacts, done.Created)
	s.wantGiven(last, 4)
	s.checked()
}

// inTables is where texts are found in the tables of an account.
func (s *folk) inTables(texts ...string) (found []string) {
	s.Helper()
	succeed(s, s.View(s.Context(), func(c db.Conn) error {
		for _, table := range store.Schema.Tables {
			if table.Columns[0].Name != "account_id" || table.Key == 1 {
				continue
			}
			err := c.EachOf(table, s.Number, func(row []any) error {
				said := strings.ToLower(fmt.Sprintf("%s", row))
				for _, text := range texts {
					if strings.Contains(said, text) {
						found = append(found, text+" in "+table.Name)
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	}))
	return found
}

// A person whom hundreds of contacts were merged into is erased in portions, by processes that are killed after each
// of them.
func TestAPersonOfManyContactsIsErasedInPortions(t *testing.T) {
	s := newFolk(t)
	const many = 450
	ids := make([]int64, many)
	for i := range ids {
		ids[i] = s.person(fmt.Sprintf(`{"first_name":"Quetza","last_name":"Kwolf","company":"Kwolf %d"}`, i))
	}
	s.merge(ids[many-2], ids[many-1]) // and so into the first by way of another
	for _, id := range ids[1 : many-1] {
		s.merge(ids[0], id)
	}
	other := s.create(`{"first_name":"Ottoline","last_name":"Bystander"}`).ID
	most, _ := s.portions()
	s.eraseInSteps(ids[0])
	equal(t, most.Load() <= 3000, true, "a unit of work has %d statements", most.Load())
	// the file itself may have copies in free space, where an index was balanced
	equal(t, s.inTables("quetza", "kwolf"), nil, "left")
	c := s.record(other)
	equal(t, c.Erased(), false, "another person")
	s.checked()
}

// portions counts the most statements of a unit of work, and all units.
func (s *folk) portions() (most *atomic.Int64, units func() int64) {
	spy := spyOn(s, s.Book)
	var written atomic.Int64
	most = new(atomic.Int64)
	spy.wrote = func(string) { written.Add(1) }
	spy.committing = func() error {
		most.Store(max(most.Load(), written.Swap(0)))
		return nil
	}
	return most, spy.commits.Load
}

// eraseInSteps erases a person by processes that are killed after each unit of work.
func (s *folk) eraseInSteps(person int64) (steps int) {
	s.Helper()
	job := must(s.EraseContact(s.Context(), s.Number, person))(s)
	for ; ; steps++ {
		j := s.job(job)
		if j.Ended() {
			equal(s, j.Undoable(), false)
			return steps
		}
		equal(s, must(s.EraseContact(s.Context(), s.Number, person))(s), job, "erasing again is job")
		refuses(s, "an erasure is stopped", crm.ErrChanged)(s.CancelJob(s.Context(), s.Number, job))
		must(jobs.NewJobWorker(s.JobStore).Step(s.Context(), &j))(s)
	}
}

// A merge that is undone has not happened: of many merges and edits, everything stays that others brought, however
// many they are, and the undo of the undo is as if it had never been undone.
func TestAnUndoOfManyMergesTakesOneOut(t *testing.T) {
	s := newFolk(t)
	const n = 90 // of 99 contacts, the last nine have the tags of the first
	survivor := s.create(`{"first_name":"Ann","last_name":"Lee"}`).ID
	var merges []int64
	for i := range 99 {
		merges = append(merges, s.merge(survivor, s.person(fmt.Sprintf(
			`{"first_name":"Ann","last_name":"Lee","title":"T%d","tags":["tag%d"],"external_ids":["id%d"]}`, i, i%n,
			i%n*100+i/n))))
	}
	s.update(survivor, `{"company":"Typed"}`)
	before := s.record(survivor)
	undone := s.unmerge(merges[0])
	c := s.record(survivor)
	expect(t, "left, title, company, tags, ids, another first key", "[] T1 Typed 90 98 true", undone.Left, c.Title,
		c.Company, len(c.Tags), len(c.ExternalIDs), c.MatchKeys[0] != before.MatchKeys[0])
	s.unmerge(undone.ID())
	after := s.record(survivor)
	before.UpdatedAt, after.UpdatedAt = time.Time{}, time.Time{}
	equal(t, string(after.AppendBody(nil)), string(before.AppendBody(nil)), "after the undo of the undo")
	equal(t, after.MatchKeys, before.MatchKeys)
}

// What a person has typed stays, wherever it stood before, and a value that was moved and removed does not come back.
func TestAnUndoLeavesWhatAPersonTyped(t *testing.T) {
	s := newFolk(t)
	s.play(`
		add ann {"first_name":"Ann","last_name":"Lee"}
		add other {"first_name":"Ann","last_name":"Lee","emails":["a@example.org","b@example.org"],"note":"Theirs"}
		merge other ann
		edit ann {"emails":["b@example.org"]}
		edit ann {"emails":["b@example.org","a@example.org"]}
		undo other
		is ann Emails [{ a@example.org}]
		is ann MatchKeys [e:a@example.org]
		is ann Note
	`)
	moved := s.create(`{"first_name":"Mo","last_name":"Ve","emails":["c@example.org","d@example.org"]}`).ID
	change := s.update(moved, `{"emails":["d@example.org","c@example.org"]}`)
	s.update(moved, `{"emails":["c@example.org"]}`)
	says(t, "an undo of what was changed again since", string(doc.NothingToUndo))(s.UndoChange(t.Context(), s.Number,
		moved, change.Tag.Revision, "US"))
	equal(t, len(s.record(moved).Emails), 1, "after the move is undone, there")
}

// A number without its country is that of the country in which it was typed, whatever the organization says today.
func TestAnUndoKeepsTheKeysOfPhones(t *testing.T) {
	s := newFolk(t)
	survivor := s.person(`{"first_name":"Ann","last_name":"Lee","phones":["617-555-0100"]}`)
	other := s.person(`{"first_name":"Ann","last_name":"Lee","phones":["617-555-0123"],"company":"Lee"}`)
	merge := s.merge(survivor, other)
	s.merge(survivor, s.person(`{"first_name":"Ann","last_name":"Lee","phones":["617-555-0145"]}`))
	change := s.update(survivor, `{"title":"Dr","phones":["617-555-0145","617-555-0100","617-555-0123"]}`)
	must2(s.UndoChange(t.Context(), s.Number, survivor, change.Tag.Revision, "FR"))(t)
	must(s.UndoMerge(t.Context(), s.Number, merge, "FR"))(t)
	equal(t, s.record(survivor).MatchKeys, []string{"p:+16175550100", "p:+16175550145"})
	equal(t, s.record(other).MatchKeys, []string{"p:+16175550123"})
}

// A tag that was renamed after a merge goes back under its new name when the merge is undone.
func TestATagThatWasRenamedGoesWithItsMerge(t *testing.T) {
	newFolk(t).play(`
		add ann {"first_name":"Ann","last_name":"Lee","tags":["mine"]}
		add other {"first_name":"Ann","last_name":"Lee","tags":["theirs","kept"]}
		merge other ann
		rename theirs one
		rename mine one
		rename kept two
		undo other
		is ann Tags [one]
		is other Tags [one two]
	`)
}

// A tag that was renamed or deleted since, the other contact has got later: merged again, it brings that along.
func TestAMergeMadeAgainBringsATagThatWasDeleted(t *testing.T) {
	s := newFolk(t)
	for _, own := range []string{``, `"choir"`} {
		s.another().play(`
			add ann {"first_name":"Ann","last_name":"Lee","tags":[` + own + `]}
			add bob {"first_name":"Bob","last_name":"Li","tags":["choir"]}
			add other {"first_name":"Ann","last_name":"Lee"}
			add third {"first_name":"Ann","last_name":"Lee","tags":["third"]}
			merge other ann
			undo other
			delete choir
			edit other {"tags":["choir"]}
			redo other
			is ann Tags [choir]
			merge third ann
			undo third
			is ann Tags [choir]
		`)
	}
}

// Tags are renamed on merged contacts, too. The undo of another merge does not rename them twice, and brings none back
// that was taken away under its old name.
func TestAnUndoRenamesTagsOfMergedContactsOnce(t *testing.T) {
	s := newFolk(t)
	for edit, want := range map[string]string{`{}`: "[two one]", `{"tags":["one","third"]}`: "[two]"} {
		s.another().play(`
			add ann {"first_name":"Ann","last_name":"Lee","tags":["one"]}
			add third {"first_name":"Ann","last_name":"Lee","tags":["third"]}
			add other {"first_name":"Ann","last_name":"Lee","tags":["theirs"]}
			merge third ann
			merge other ann
			edit ann ` + edit + `
			rename one two
			rename theirs one
			undo third
			is ann Tags ` + want)
	}
}

// What is known of an email is not forgotten because a tag was deleted before that email came.
func TestAnUndoKeepsWhichEmailBounced(t *testing.T) {
	newFolk(t).play(`
		add ann {"first_name":"Ann","last_name":"Lee","emails":["a@example.org"],"tags":["old"]}
		send more {"first_name":"Ann","last_name":"Lee","emails":["a@example.org","b@example.org"],"tags":["new"]}
		delete old
		add other {"first_name":"Ann","last_name":"Lee","emails":["c@example.org"],"bounced_email":"c@example.org"}
		merge other ann
		undo more
		is ann BouncedEmail c@example.org
	`)
}

// Merges from before it was kept how they were made are undone as well as their differences tell.
func TestAMergeWithoutItsChoiceIsUndone(t *testing.T) {
	s := newFolk(t)
	survivor := s.person(`{"first_name":"Ann","last_name":"Lee","company":"Mine","note":"N"}`)
	first := s.person(`{"first_name":"Ann","last_name":"Lee","title":"First"}`)
	second := s.person(`{"first_name":"Ann","last_name":"Lee","company":"Theirs","title":"Second","note":"M"}`)
	merge := s.merge(survivor, first)
	must(s.Merge(t.Context(), s.Number, survivor, choosing(second, "company", second), "US"))(t)
	s.damage(`UPDATE contact_merge SET choice = '' WHERE account_id = $1`, s.Number)
	s.unmerge(merge)
	c := s.record(survivor)
	expect(t, "the survivor", "Theirs Second N\n\nM", c.Company, c.Title, c.Note)
}

// What was sent about a person who was erased since cannot be made a contact again.
func TestAMergedCreateOfAnErasedPersonStays(t *testing.T) {
	s := newFolk(t)
	s.create(`{"first_name":"Aside","last_name":"Person","phones":["617-555-0199"]}`)
	person := s.create(`{"first_name":"Tom","last_name":"Reed","emails":["tom@example.org"]}`).ID
	sent := s.create(`{"first_name":"Tom","last_name":"Reed","phones":["617-555-0199"]}`)
	s.erase(person)
	s.keeps("what was sent", sent.Merge, doc.ErasedMerge)
}

func unmerge(t testing.TB, s *Book, account, merge int64, region string) (left string, undo int64) {
	t.Helper()
	undone := must(s.UndoMerge(t.Context(), account, merge, region))(t)
	return fmt.Sprint(undone.Left), undone.ID()
}
