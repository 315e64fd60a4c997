package book

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/jobs"
)

// ownFile is a person's own file.
func ownFile(t *testing.T, s *Book, account, id int64) string {
	t.Helper()
	data := must(s.ContactData(t.Context(), account, id))(t)
	var file strings.Builder
	succeed(t, data.Write(t.Context(), &file))
	return file.String()
}

// A person's own file has what contacts said that were merged into this person, also by way of others, what merges
// keep, and nothing of a person who is another one again.
func TestAPersonsFileHasMergedContacts(t *testing.T) {
	s, account := newBookOf(t)
	survivor, other := twoOf(t, s, account)
	far := createAs(t, s, account,
		`{"first_name":"Tommy","last_name":"Farkwolf","addresses":[{"city":"Farville"}],"note":"Farnote"}`,
		crm.Force).ID
	parted := createAs(t, s, account, `{"first_name":"Wanda","last_name":"Partkwolf"}`, crm.Force).ID
	sent := createAs(t, s, account,
		`{"first_name":"Tim","last_name":"Reed","emails":["thomas@example.org"],"company":"Sentkwolf"}`, crm.Dedupe)
	equal(t, sent.ID, survivor, "what was sent")
	must(s.UpdateContact(t.Context(), account, survivor, input(t, `{"company":"Newer"}`)))(t)
	mergeOf(t, s, account, other, far)
	mergeOf(t, s, account, survivor, other)
	must(s.UndoMerge(t.Context(), account, mergeOf(t, s, account, survivor, parted), "US"))(t)
	file := ownFile(t, s, account, survivor)
	for _, want := range []string{`"merged_contacts":[{"id":`, `"last_name":"Farkwolf"`, "Farville", "tom@example.org",
		"Sings", "Sentkwolf", fmt.Sprintf(`"merged_into":%d`, other)} {
		contains(t, file, want)
	}
	if strings.Contains(file, fmt.Sprintf(`{"id":%d,`, parted)) {
		t.Errorf("a contact that is another person is in %s", file)
	}
}

// A merge that the history has forgotten comes along with its account: the person can be erased there, and the files
// of the copy say the same.
func TestForgottenMergesComeWithTheirAccount(t *testing.T) {
	ctx := t.Context()
	o := newDatabase(t)
	s := open(t, o)
	clock := stopClock(s)
	from := newAccount(t, s)
	succeed(t, s.SetAccountSettings(ctx, from.Number, access.AccountSettingsInput{HistoryDays: ptr("30")}))
	survivor, other := twoOf(t, s, from.Number)
	mergeOf(t, s, from.Number, survivor, other)
	sent := createAs(t, s, from.Number,
		`{"first_name":"Thomas","last_name":"Reed","emails":["thomas@example.org","kwolf@example.org"]}`, crm.Dedupe)
	must(s.UndoMerge(ctx, from.Number, sent.Merge, "US"))(t)
	clock.move(40 * 24 * time.Hour)
	succeed(t, s.SweepHistory(ctx))
	files := exportAccount(t, s, from)
	equal(t, strings.Count(string(files["merges.jsonl"].Data), "\n"), 2, "merges are in the files")
	made := importAccount(t, s, files, "").Account
	again := exportAccount(t, s, made)
	equal(t, strings.Count(string(again["merges.jsonl"].Data), "\n"), 2, "merges are in the files of the copy")
	erase(t, s, ctx, from.Number, survivor)
	erase(t, s, ctx, made.Number, doc.MakeID(made.Number, 1))
	if found := traces(t, o, []string{"reed books", "tom@example"}); len(found) > 0 {
		t.Errorf("left: %v", found)
	}
	checked(t, s)
}

// Who was merged with another person for a while takes nothing of that person along: filters that were saved for the
// other one stay.
func TestErasingAPersonLeavesFiltersOfAnother(t *testing.T) {
	ctx := t.Context()
	s, account := newBookOf(t)
	survivor, other := twoOf(t, s, account)
	merge := mergeOf(t, s, account, survivor, other)
	// one that the merge had brought
	if _, err := s.UpdateContact(ctx, account, survivor, input(t, `{"phones":[]}`)); err != nil {
		t.Fatal(err)
	}
	must(s.UndoMerge(ctx, account, merge, "US"))(t)
	for name, query := range map[string]string{"Theirs": "email=tom%40example.org", "By phone": "phone=617+555+0100",
		"Erased": "email=thomas%40example.org"} {
		must(s.CreateSegment(ctx, account, segment(t, name, query)))(t)
	}
	erase(t, s, ctx, account, survivor)
	equal(t, len(must(s.Segments(ctx, account))(t)), 2, "the filters")
}

// Who was part of a contact while that was part of a third one is in the history of none of them.
func TestErasingAPersonWhoWasPartOfSeveral(t *testing.T) {
	ctx := t.Context()
	o := newDatabase(t)
	s := open(t, o)
	account := newAccount(t, s).Number
	make := func(body string) int64 { return createAs(t, s, account, body, crm.Force).ID }
	person := make(`{"first_name":"Quetza","last_name":"Kwolfa","emails":["quetza@kwolf.example"],"note":"Kwolfnote"}`)
	second := make(`{"first_name":"Ben","last_name":"Bystander","emails":["ben@example.org"],"note":"Bennote"}`)
	third := make(`{"first_name":"Cleo","last_name":"Bystander","note":"Cleonote"}`)
	fourth := make(`{"first_name":"Dora","last_name":"Bystander"}`)
	merges := []int64{mergeOf(t, s, account, second, person)}
	edited, err := s.UpdateContact(ctx, account, second,
		// what it says in its place was the person's
		input(t, `{"emails":["ben@example.org"],"note":"Bennote, edited"}`))
	if err == nil {
		_, _, err = s.UndoChange(ctx, account, second, edited.Tag.Revision, "US")
	}
	if err == nil {
		kept := &store.Attempt{Key: "k", Fingerprint: []byte("f"),
			Answer: func(m store.Result) store.Answer { return store.Answer{Status: 200, Body: m.Append(nil)} }}
		_, err = s.UpdateContact(store.Attempting(ctx, kept), account, second,
			input(t, `{"title":"Benstitle"}`)) // the answer that is kept shows the person
	}
	succeed(t, err)
	merges = append(merges, mergeOf(t, s, account, third, second), mergeOf(t, s, account, fourth, third))
	for i := range merges {
		must(s.UndoMerge(ctx, account, merges[len(merges)-1-i], "US"))(t)
	}
	erase(t, s, ctx, account, person)
	if found := traces(t, o, []string{"kwolfa", "quetza", "kwolfnote"}); len(found) > 0 {
		t.Errorf("left: %v", found)
	}
	found := strings.Join(traces(t, o, []string{"bennote", "benstitle"}), " ")
	contains(t, found, "bennote", "of another person is left")
	contains(t, found, "benstitle", "of another person is left")
	checked(t, s)
}

// What a gift said while it was the person's is forgotten also where it was replaced after it had become another
// contact's.
func TestErasingThePersonOfAGiftThatWasMovedAndEdited(t *testing.T) {
	ctx := t.Context()
	o := newDatabase(t)
	s := open(t, o)
	e := &everywhere{t: t, s: s, account: newAccount(t, s).Number}
	e.person = create(t, s, e.account, `{"first_name":"Quetzalina"}`).ID
	e.other = create(t, s, e.account, `{"first_name":"Ottoline"}`).ID
	gift := e.give("gift",
		fmt.Sprintf(`{"contact_id":%d,"amount":5,"method":"check","check_number":"kwolfcheck","transacted_at":"2026-01-03","note":"Kwolfnote","dedication":{"type":"in_memory_of","name":"Kwolfdear"}}`, e.person))
	e.changeGift("move", gift.Code, fmt.Sprintf(`{"contact_id":%d}`, e.other))
	e.changeGift("edit", gift.Code, `{"note":"Ottosfirst"}`)
	e.changeGift("edit 2", gift.Code, `{"note":"Ottossecond"}`)
	erase(t, s, ctx, e.account, e.person)
	if found := traces(t, o, []string{"quetzalina", "kwolfnote", "kwolfcheck", "kwolfdear"}); len(found) > 0 {
		t.Errorf("left: %v", found)
	}
	changes, _, err := s.Timeline(ctx, e.account, history.GiftNoun, gift.ID,
		crm.PageRequest{Page: 1, PerPage: 10})
	kept := ""
	for _, c := range changes {
		kept += c.Data
	}
	now := must(s.Gift(ctx, e.account, gift.Code, nil))(t)
	contains(t, string(now), "Ottossecond", "the gift")
	contains(t, string(now), "Ottoline", "the gift")
	succeed(t, err)
	contains(t, kept, `"Ottosfirst","Ottossecond"`)
	checked(t, s)
}

// A file that is being imported finds the person whose contact was merged meanwhile, by the rows before as well as by
// name and address, also by way of a contact of another name.
func TestAnImportFindsGiversThatWereMergedMeanwhile(t *testing.T) {
	s, account := newBookOf(t)
	file := "Name,Street,ZIP,Amount,Date\nAna Ruiz,1 Main St.,02139,1,2026-01-01\nBen King,,,2,2026-01-02\n"
	choose := func(spec *jobs.FileImport) { spec.MatchNames = true }
	importInPieces(t, s, account, file, choose)
	middle := createAs(t, s, account, `{"first_name":"Middle","last_name":"Name"}`, crm.Force).ID
	last := createAs(t, s, account, `{"first_name":"Last","last_name":"Other"}`, crm.Force).ID
	first := doc.MakeID(account, 1)
	mergeOf(t, s, account, middle, first)
	mergeOf(t, s, account, middle, first+1)
	mergeOf(t, s, account, last, middle)
	done := importInPieces(t, s, account, file+"Ana Ruiz,1 Main Street,02139,4,2026-01-03\nBen King,,,8,2026-01-04\n",
		choose)
	if done.Contacts != 0 || done.Created != 2 {
		t.Errorf("the import made %+v", done.ImportCounts)
	}
	wantGiven(t, s, account, last, 4)
	checked(t, s)
}

// inTables is where texts are found in the tables of an account.
func inTables(t *testing.T, s *Book, account int64, texts ...string) (found []string) {
	t.Helper()
	succeed(t, s.View(t.Context(), func(c db.Conn) error {
		for _, table := range store.Schema.Tables {
			if table.Columns[0].Name != "account_id" || table.Key == 1 {
				continue
			}
			err := c.EachOf(table, account, func(row []any) error {
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
	ctx := t.Context()
	o := newDatabase(t)
	s := open(t, o)
	account := newAccount(t, s).Number
	const many = 450
	var survivor int64
	var deep int64
	for i := range many {
		id := createAs(t, s, account, fmt.Sprintf(`{"first_name":"Quetza","last_name":"Kwolf","company":"Kwolf %d"}`,
			i), crm.Force).ID
		switch {
		case i == 0:
			survivor = id
		case i == many-2:
			deep = id
		case i == many-1:
			mergeOf(t, s, account, deep, id)
			mergeOf(t, s, account, survivor, deep)
		default:
			mergeOf(t, s, account, survivor, id)
		}
	}
	other := create(t, s, account, `{"first_name":"Ottoline","last_name":"Bystander"}`).ID
	spy := spyOn(t, s)
	var written, most atomic.Int64
	spy.wrote = func(string) { written.Add(1) }
	spy.committing = func() error {
		most.Store(max(most.Load(), written.Swap(0)))
		return nil
	}
	job := must(s.EraseContact(ctx, account, survivor))(t)
	for {
		j := must(s.Job(ctx, account, job))(t)
		if j.Ended() {
			break
		}
		equal(t, must(s.EraseContact(ctx, account, survivor))(t), job, "erasing again is job")
		must(jobs.NewJobWorker(s.JobStore).Step(ctx, &j))(t)
	}
	if got := most.Load(); got > 3000 {
		t.Errorf("a unit of work has %d statements", got)
	}
	// the file itself may have copies in free space, where an index was balanced
	if found := inTables(t, s, account, "quetza", "kwolf"); len(found) > 0 {
		t.Errorf("left: %.300s", found)
	}
	if c := must(s.ContactRecord(ctx, account, other))(t); c.Erased() {
		t.Errorf("another person: %+v", c)
	}
	checked(t, s)
}

// update changes a contact.
func update(t testing.TB, s *Book, account, id int64, body string) {
	t.Helper()
	must(s.UpdateContact(t.Context(), account, id, input(t, body)))(t)
}

func unmerge(t testing.TB, s *Book, account, merge int64, region string) (left string, undo int64) {
	t.Helper()
	undone := must(s.UndoMerge(t.Context(), account, merge, region))(t)
	return fmt.Sprint(undone.Left), undone.ID()
}

// A merge that is undone has not happened: of many merges and edits, everything stays that others brought, however
// many they are, and the undo of the undo is as if it had never been undone.
func TestAnUndoOfManyMergesTakesOneOut(t *testing.T) {
	s := newBook(t)
	const n = 90 // of 99 contacts, the last nine have the tags of the first
	account := newAccount(t, s).Number
	survivor := create(t, s, account, `{"first_name":"Ann","last_name":"Lee"}`).ID
	var merges []int64
	for i := range 99 {
		other := createAs(t, s, account,
			fmt.Sprintf(`{"first_name":"Ann","last_name":"Lee","title":"T%d","tags":["tag%d"],"external_ids":["id%d"]}`, i, i%n, i%n*100+i/n), crm.Force).ID
		merges = append(merges, mergeOf(t, s, account, survivor, other))
	}
	update(t, s, account, survivor, `{"company":"Typed"}`)
	before := recordOf(t, s, account, survivor)
	left, undo := unmerge(t, s, account, merges[0], "US")
	c := recordOf(t, s, account, survivor)
	if left != "[]" || c.Title != "T1" || c.Company != "Typed" || len(c.Tags) != n ||
		len(c.ExternalIDs) != len(merges)-1 || c.MatchKeys[0] == before.MatchKeys[0] {
		t.Errorf("left %s: title %s, company %s, %d tags, %d ids", left, c.Title, c.Company, len(c.Tags),
			len(c.ExternalIDs))
	}
	must(s.UndoMerge(t.Context(), account, undo, "US"))(t)
	after := recordOf(t, s, account, survivor)
	before.UpdatedAt, after.UpdatedAt = time.Time{}, time.Time{}
	if got, want := string(after.AppendBody(nil)), string(before.AppendBody(nil)); got != want ||
		fmt.Sprint(after.MatchKeys) != fmt.Sprint(before.MatchKeys) {
		t.Errorf("after the undo of the undo it is\n%s\nwant\n%s", got, want)
	}
}

// What a person has typed stays, wherever it stood before, and a value that was moved and removed does not come back.
func TestAnUndoLeavesWhatAPersonTyped(t *testing.T) {
	s, account := newBookOf(t)
	survivor := create(t, s, account, `{"first_name":"Ann","last_name":"Lee"}`).ID
	other := createAs(t, s, account,
		`{"first_name":"Ann","last_name":"Lee","emails":["a@example.org","b@example.org"],"note":"Theirs"}`,
		crm.Force).ID
	merge := mergeOf(t, s, account, survivor, other)
	update(t, s, account, survivor, `{"emails":["b@example.org"]}`)
	update(t, s, account, survivor, `{"emails":["b@example.org","a@example.org"]}`)
	if left, _ := unmerge(t, s, account, merge, "US"); left != "[]" {
		t.Errorf("left are %s", left)
	}
	c := recordOf(t, s, account, survivor)
	equal(t, fmt.Sprint(c.Emails, c.MatchKeys,
		c.Note), "[{ a@example.org}] [e:a@example.org]", "the survivor")
	moved := create(t, s, account, `{"first_name":"Mo","last_name":"Ve","emails":["c@example.org","d@example.org"]}`).ID
	change, err := s.UpdateContact(t.Context(), account, moved,
		input(t, `{"emails":["d@example.org","c@example.org"]}`))
	succeed(t, err)
	update(t, s, account, moved, `{"emails":["c@example.org"]}`)
	err = errOf2(s.UndoChange(t.Context(), account, moved, change.Tag.Revision, "US"))
	equal(t, err.Error(), string(doc.NothingToUndo), "an undo of what was changed again since")
	equal(t, len(recordOf(t, s, account, moved).Emails), 1, "after the move is undone, there")
}

// A number without its country is that of the country in which it was typed, whatever the organization says today.
func TestAnUndoKeepsTheKeysOfPhones(t *testing.T) {
	s, account := newBookOf(t)
	survivor := create(t, s, account, `{"first_name":"Ann","last_name":"Lee","phones":["617-555-0100"]}`).ID
	other := createAs(t, s, account,
		`{"first_name":"Ann","last_name":"Lee","phones":["617-555-0123"],"company":"Lee"}`, crm.Force).ID
	third := createAs(t, s, account, `{"first_name":"Ann","last_name":"Lee","phones":["617-555-0145"]}`, crm.Force).ID
	merge := mergeOf(t, s, account, survivor, other)
	mergeOf(t, s, account, survivor, third)
	change := must(s.UpdateContact(t.Context(), account, survivor,
		input(t, `{"title":"Dr","phones":["617-555-0145","617-555-0100","617-555-0123"]}`)))(t)
	if _, _, err := s.UndoChange(t.Context(), account, survivor, change.Tag.Revision, "FR"); err != nil {
		t.Fatal(err)
	}
	unmerge(t, s, account, merge, "FR")
	for id, want := range map[int64]string{survivor: "[p:+16175550100 p:+16175550145]", other: "[p:+16175550123]"} {
		equal(t, fmt.Sprint(recordOf(t, s, account, id).MatchKeys), want, "contact %d", id)
	}
}

// A tag that was renamed after a merge goes back under its new name when the merge is undone.
func TestATagThatWasRenamedGoesWithItsMerge(t *testing.T) {
	s, account := newBookOf(t)
	survivor := create(t, s, account, `{"first_name":"Ann","last_name":"Lee","tags":["mine"]}`).ID
	other := createAs(t, s, account, `{"first_name":"Ann","last_name":"Lee","tags":["theirs","kept"]}`, crm.Force).ID
	merge := mergeOf(t, s, account, survivor, other)
	for _, name := range []string{"theirs", "mine"} { // both become one
		must(s.RenameTag(t.Context(), account, name, "one"))(t)
	}
	must(s.RenameTag(t.Context(), account, "kept", "two"))(t)
	unmerge(t, s, account, merge, "US")
	if a, b := recordOf(t, s, account, survivor), recordOf(t, s, account, other); fmt.Sprint(a.Tags,
		b.Tags) != "[one] [one two]" {
		t.Errorf("the survivor has %v, the other one %v", a.Tags, b.Tags)
	}
}

// A tag that was renamed or deleted since, the other contact has got later: merged again, it brings that along.
func TestAMergeMadeAgainBringsATagThatWasDeleted(t *testing.T) {
	s := newBook(t)
	for _, own := range []string{``, `"choir"`} {
		account := newAccount(t, s).Number
		survivor := createAs(t, s, account, `{"first_name":"Ann","last_name":"Lee","tags":[`+own+`]}`, crm.Force).ID
		createAs(t, s, account, `{"first_name":"Bob","last_name":"Li","tags":["choir"]}`, crm.Force)
		other := createAs(t, s, account, `{"first_name":"Ann","last_name":"Lee"}`, crm.Force).ID
		third := createAs(t, s, account, `{"first_name":"Ann","last_name":"Lee","tags":["third"]}`, crm.Force).ID
		_, undo := unmerge(t, s, account, mergeOf(t, s, account, survivor, other), "US")
		must(s.DeleteTag(t.Context(), account, "choir"))(t)
		update(t, s, account, other, `{"tags":["choir"]}`)
		must(s.UndoMerge(t.Context(), account, undo, "US"))(t)
		equal(t, fmt.Sprint(recordOf(t, s, account, survivor).Tags), "[choir]", "merged again, with "+own)
		unmerge(t, s, account, mergeOf(t, s, account, survivor, third), "US")
		equal(t, fmt.Sprint(recordOf(t, s, account, survivor).Tags), "[choir]", "without the third, with "+own)
	}
}

// Tags are renamed on merged contacts, too. The undo of another merge does not rename them twice, and brings none back
// that was taken away under its old name.
func TestAnUndoRenamesTagsOfMergedContactsOnce(t *testing.T) {
	s := newBook(t)
	for _, c := range []struct{ edit, want string }{
		{`{}`, "[two one]"},
		{`{"tags":["one","third"]}`, "[two]"},
	} {
		account := newAccount(t, s).Number
		survivor := createAs(t, s, account, `{"first_name":"Ann","last_name":"Lee","tags":["one"]}`, crm.Force).ID
		third := createAs(t, s, account, `{"first_name":"Ann","last_name":"Lee","tags":["third"]}`, crm.Force).ID
		other := createAs(t, s, account, `{"first_name":"Ann","last_name":"Lee","tags":["theirs"]}`, crm.Force).ID
		merge := mergeOf(t, s, account, survivor, third)
		mergeOf(t, s, account, survivor, other)
		update(t, s, account, survivor, c.edit)
		must(s.RenameTag(t.Context(), account, "one", "two"))(t)
		must(s.RenameTag(t.Context(), account, "theirs", "one"))(t)
		unmerge(t, s, account, merge, "US")
		equal(t, fmt.Sprint(recordOf(t, s, account, survivor).Tags), c.want, "after %s", c.edit)
	}
}

// What is known of an email is not forgotten because a tag was deleted before that email came.
func TestAnUndoKeepsWhichEmailBounced(t *testing.T) {
	s, account := newBookOf(t)
	survivor := create(t, s, account, `{"first_name":"Ann","last_name":"Lee","emails":["a@example.org"],"tags":["old"]}`).ID
	sent := create(t, s, account,
		`{"first_name":"Ann","last_name":"Lee","emails":["a@example.org","b@example.org"],"tags":["new"]}`)
	must(s.DeleteTag(t.Context(), account, "old"))(t)
	other := createAs(t, s, account,
		`{"first_name":"Ann","last_name":"Lee","emails":["c@example.org"],"bounced_email":"c@example.org"}`, crm.Force).ID
	mergeOf(t, s, account, survivor, other)
	unmerge(t, s, account, sent.Merge, "US")
	equal(t, recordOf(t, s, account, survivor).BouncedEmail, "c@example.org", "bounced")
}

// Merges from before it was kept how they were made are undone as well as their differences tell.
func TestAMergeWithoutItsChoiceIsUndone(t *testing.T) {
	s, account := newBookOf(t)
	survivor := create(t, s, account, `{"first_name":"Ann","last_name":"Lee","company":"Mine","note":"N"}`).ID
	first := createAs(t, s, account, `{"first_name":"Ann","last_name":"Lee","title":"First"}`, crm.Force).ID
	second := createAs(t, s, account,
		`{"first_name":"Ann","last_name":"Lee","company":"Theirs","title":"Second","note":"M"}`, crm.Force).ID
	merge := mergeOf(t, s, account, survivor, first)
	must(s.Merge(t.Context(), account, survivor, crm.MergeInput{Contact: second,
		MergeChoice: crm.MergeChoice{Fields: map[string]int64{"company": second}}}, "US"))(t)
	succeed(t, s.UpdateAccount(t.Context(), account, func(tx *store.Tx) error {
		return tx.Run(`UPDATE contact_merge SET choice = '' WHERE account_id = $1`, account)
	}))
	unmerge(t, s, account, merge, "US")
	c := recordOf(t, s, account, survivor)
	equal(t, c.Company, "Theirs", "the survivor")
	equal(t, c.Title, "Second", "the survivor")
	equal(t, strings.ReplaceAll(c.Note, "\n", ""), "NM", "the survivor")
}

// What was sent about a person who was erased since cannot be made a contact again.
func TestAMergedCreateOfAnErasedPersonStays(t *testing.T) {
	s, account := newBookOf(t)
	create(t, s, account, `{"first_name":"Aside","last_name":"Person","phones":["617-555-0199"]}`)
	person := create(t, s, account, `{"first_name":"Tom","last_name":"Reed","emails":["tom@example.org"]}`).ID
	sent := create(t, s, account, `{"first_name":"Tom","last_name":"Reed","phones":["617-555-0199"]}`)
	erase(t, s, t.Context(), account, person)
	wantFault(t, "what was sent", errOf(s.UndoMerge(t.Context(), account, sent.Merge, "US")), "", doc.ErasedMerge)
}
