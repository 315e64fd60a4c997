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

// A person's own file has what contacts said that were merged into this person, also by way of others, what merges keep, and nothing of a person who is another one again.
func TestAPersonsFileHasMergedContacts(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		survivor, other := twoOf(t, s, account)
		far := createAs(t, s, account, `{"first_name":"Tommy","last_name":"Farkwolf","addresses":[{"city":"Farville"}],"note":"Farnote"}`, crm.Force).ID
		parted := createAs(t, s, account, `{"first_name":"Wanda","last_name":"Partkwolf"}`, crm.Force).ID
		sent := createAs(t, s, account, `{"first_name":"Tim","last_name":"Reed","emails":["thomas@example.org"],"company":"Sentkwolf"}`, crm.Dedupe)
		if sent.ID != survivor {
			t.Fatalf("what was sent is %d", sent.ID)
		}
		must(s.UpdateContact(t.Context(), account, survivor, input(t, `{"company":"Newer"}`)))(t)
		mergeOf(t, s, account, other, far)
		mergeOf(t, s, account, survivor, other)
		must(s.UndoMerge(t.Context(), account, mergeOf(t, s, account, survivor, parted), "US"))(t)
		file := ownFile(t, s, account, survivor)
		for _, want := range []string{`"merged_contacts":[{"id":`, `"last_name":"Farkwolf"`, "Farville", "tom@example.org", "Sings", "Sentkwolf", fmt.Sprintf(`"merged_into":%d`, other)} {
			if !strings.Contains(file, want) {
				t.Errorf("%s is missing in %s", want, file)
			}
		}
		if strings.Contains(file, fmt.Sprintf(`{"id":%d,`, parted)) {
			t.Errorf("a contact that is another person is in %s", file)
		}
	})
}

// A merge that the history has forgotten comes along with its account: the person can be erased there, and the files of the copy say the same.
func TestForgottenMergesComeWithTheirAccount(t *testing.T) {
	eachDatabase(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		clock := stopClock(s)
		from := newAccount(t, s)
		succeed(t, s.SetAccountSettings(t.Context(), from.Number, access.AccountSettingsInput{HistoryDays: ptr("30")}))
		survivor, other := twoOf(t, s, from.Number)
		mergeOf(t, s, from.Number, survivor, other)
		sent := createAs(t, s, from.Number, `{"first_name":"Thomas","last_name":"Reed","emails":["thomas@example.org","kwolf@example.org"]}`, crm.Dedupe)
		must(s.UndoMerge(t.Context(), from.Number, sent.Merge, "US"))(t)
		clock.move(40 * 24 * time.Hour)
		succeed(t, s.SweepHistory(t.Context()))
		files := exportAccount(t, s, from)
		if got := strings.Count(string(files["merges.jsonl"].Data), "\n"); got != 2 {
			t.Errorf("%d merges are in the files", got)
		}
		made := importAccount(t, s, files, "").Account
		again := exportAccount(t, s, made)
		if got := strings.Count(string(again["merges.jsonl"].Data), "\n"); got != 2 {
			t.Errorf("%d merges are in the files of the copy", got)
		}
		erase(t, s, t.Context(), from.Number, survivor)
		erase(t, s, t.Context(), made.Number, doc.MakeID(made.Number, 1))
		if found := traces(t, o, []string{"reed books", "tom@example"}); len(found) > 0 {
			t.Errorf("left: %v", found)
		}
		checked(t, s)
	})
}

// Who was merged with another person for a while takes nothing of that person along: filters that were saved for the other one stay.
func TestErasingAPersonLeavesFiltersOfAnother(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		survivor, other := twoOf(t, s, account)
		merge := mergeOf(t, s, account, survivor, other)
		if _, err := s.UpdateContact(t.Context(), account, survivor, input(t, `{"phones":[]}`)); err != nil { // one that the merge had brought
			t.Fatal(err)
		}
		must(s.UndoMerge(t.Context(), account, merge, "US"))(t)
		for name, query := range map[string]string{"Theirs": "email=tom%40example.org", "By phone": "phone=617+555+0100", "Erased": "email=thomas%40example.org"} {
			must(s.CreateSegment(t.Context(), account, segment(t, name, query)))(t)
		}
		erase(t, s, t.Context(), account, survivor)
		left, err := s.Segments(t.Context(), account)
		if err != nil || len(left) != 2 {
			t.Errorf("the filters are %+v, %v", left, err)
		}
	})
}

// Who was part of a contact while that was part of a third one is in the history of none of them.
func TestErasingAPersonWhoWasPartOfSeveral(t *testing.T) {
	eachDatabase(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		account := newAccount(t, s).Number
		make := func(body string) int64 { return createAs(t, s, account, body, crm.Force).ID }
		person := make(`{"first_name":"Quetza","last_name":"Kwolfa","emails":["quetza@kwolf.example"],"note":"Kwolfnote"}`)
		second := make(`{"first_name":"Ben","last_name":"Bystander","emails":["ben@example.org"],"note":"Bennote"}`)
		third := make(`{"first_name":"Cleo","last_name":"Bystander","note":"Cleonote"}`)
		fourth := make(`{"first_name":"Dora","last_name":"Bystander"}`)
		merges := []int64{mergeOf(t, s, account, second, person)}
		edited, err := s.UpdateContact(t.Context(), account, second, input(t, `{"emails":["ben@example.org"],"note":"Bennote, edited"}`)) // what it says in its place was the person's
		if err == nil {
			_, _, err = s.UndoChange(t.Context(), account, second, edited.Tag.Revision, "US")
		}
		if err == nil {
			kept := &store.Attempt{Key: "k", Fingerprint: []byte("f"), Answer: func(m store.Result) store.Answer { return store.Answer{Status: 200, Body: m.Append(nil)} }}
			_, err = s.UpdateContact(store.Attempting(t.Context(), kept), account, second, input(t, `{"title":"Benstitle"}`)) // the answer that is kept shows the person
		}
		if err != nil {
			t.Fatal(err)
		}
		merges = append(merges, mergeOf(t, s, account, third, second), mergeOf(t, s, account, fourth, third))
		for i := range merges {
			must(s.UndoMerge(t.Context(), account, merges[len(merges)-1-i], "US"))(t)
		}
		erase(t, s, t.Context(), account, person)
		if found := traces(t, o, []string{"kwolfa", "quetza", "kwolfnote"}); len(found) > 0 {
			t.Errorf("left: %v", found)
		}
		if found := strings.Join(traces(t, o, []string{"bennote", "benstitle"}), " "); !strings.Contains(found, "bennote") || !strings.Contains(found, "benstitle") {
			t.Errorf("of another person is left: %v", found)
		}
		checked(t, s)
	})
}

// What a gift said while it was the person's is forgotten also where it was replaced after it had become another contact's.
func TestErasingThePersonOfAGiftThatWasMovedAndEdited(t *testing.T) {
	eachDatabase(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		e := &everywhere{t: t, s: s, account: newAccount(t, s).Number}
		e.person = create(t, s, e.account, `{"first_name":"Quetzalina"}`).ID
		e.other = create(t, s, e.account, `{"first_name":"Ottoline"}`).ID
		gift := e.give("gift", fmt.Sprintf(`{"contact_id":%d,"amount":5,"method":"check","check_number":"kwolfcheck","transacted_at":"2026-01-03","note":"Kwolfnote","dedication":{"type":"in_memory_of","name":"Kwolfdear"}}`, e.person))
		e.changeGift("move", gift.Code, fmt.Sprintf(`{"contact_id":%d}`, e.other))
		e.changeGift("edit", gift.Code, `{"note":"Ottosfirst"}`)
		e.changeGift("edit 2", gift.Code, `{"note":"Ottossecond"}`)
		erase(t, s, t.Context(), e.account, e.person)
		if found := traces(t, o, []string{"quetzalina", "kwolfnote", "kwolfcheck", "kwolfdear"}); len(found) > 0 {
			t.Errorf("left: %v", found)
		}
		changes, _, err := s.Timeline(t.Context(), e.account, history.GiftNoun, gift.ID, crm.PageRequest{Page: 1, PerPage: 10})
		kept := ""
		for _, c := range changes {
			kept += c.Data
		}
		if now, err := s.Gift(t.Context(), e.account, gift.Code, nil); err != nil || !strings.Contains(string(now), "Ottossecond") || !strings.Contains(string(now), "Ottoline") {
			t.Errorf("%v: the gift is %s", err, now)
		}
		if err != nil || !strings.Contains(kept, `"Ottosfirst","Ottossecond"`) {
			t.Errorf("%v: what was edited since is gone: %s", err, kept)
		}
		checked(t, s)
	})
}

// A file that is being imported finds the person whose contact was merged meanwhile, by the rows before as well as by name and address, also by way of a contact of another name.
func TestAnImportFindsGiversThatWereMergedMeanwhile(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		file := "Name,Street,ZIP,Amount,Date\nAna Ruiz,1 Main St.,02139,1,2026-01-01\nBen King,,,2,2026-01-02\n"
		choose := func(spec *jobs.FileImport) { spec.MatchNames = true }
		importInPieces(t, s, account, file, choose)
		middle := createAs(t, s, account, `{"first_name":"Middle","last_name":"Name"}`, crm.Force).ID
		last := createAs(t, s, account, `{"first_name":"Last","last_name":"Other"}`, crm.Force).ID
		first := doc.MakeID(account, 1)
		mergeOf(t, s, account, middle, first)
		mergeOf(t, s, account, middle, first+1)
		mergeOf(t, s, account, last, middle)
		done := importInPieces(t, s, account, file+"Ana Ruiz,1 Main Street,02139,4,2026-01-03\nBen King,,,8,2026-01-04\n", choose)
		if done.Contacts != 0 || done.Created != 2 {
			t.Errorf("the import made %+v", done.ImportCounts)
		}
		wantGiven(t, s, account, last, 4)
		checked(t, s)
	})
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

// A person whom hundreds of contacts were merged into is erased in portions, by processes that are killed after each of them.
func TestAPersonOfManyContactsIsErasedInPortions(t *testing.T) {
	eachDatabase(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		account := newAccount(t, s).Number
		const many = 450
		var survivor int64
		var deep int64
		for i := range many {
			id := createAs(t, s, account, fmt.Sprintf(`{"first_name":"Quetza","last_name":"Kwolf","company":"Kwolf %d"}`, i), crm.Force).ID
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
		job := must(s.EraseContact(t.Context(), account, survivor))(t)
		for {
			j := must(s.Job(t.Context(), account, job))(t)
			if j.Ended() {
				break
			}
			if again, err := s.EraseContact(t.Context(), account, survivor); err != nil || again != job {
				t.Fatalf("erasing again is job %d, %v, want %d", again, err, job)
			}
			must(jobs.NewJobWorker(s.JobStore).Step(t.Context(), &j))(t)
		}
		if got := most.Load(); got > 3000 {
			t.Errorf("a unit of work has %d statements", got)
		}
		if found := inTables(t, s, account, "quetza", "kwolf"); len(found) > 0 { // the file itself may have copies in free space, where an index was balanced
			t.Errorf("left: %.300s", found)
		}
		if c, err := s.ContactRecord(t.Context(), account, other); err != nil || c.Erased() {
			t.Errorf("another person: %+v, %v", c, err)
		}
		checked(t, s)
	})
}
