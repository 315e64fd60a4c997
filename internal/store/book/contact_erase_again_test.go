package book

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
	"donorbook/internal/rig"
	"donorbook/internal/store"
	"donorbook/internal/store/contacts"
	"donorbook/internal/store/gifts"
	"donorbook/internal/store/jobs"
)

// TestARetryDoesNotBringAnErasedPersonBack: a client that sends an old request again gets neither what it was answered then, nor a new contact.
func TestARetryDoesNotBringAnErasedPersonBack(t *testing.T) {
	eachDatabase(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		account := newAccount(t, s).Number
		attempt := func(key string) *store.Attempt {
			return &store.Attempt{Key: key, Fingerprint: []byte(key), Answer: func(m store.Result) store.Answer {
				return store.Answer{Status: 201, Header: "X: Quetzalina", Body: m.Append(nil)}
			}}
		}
		make := func() (contacts.Document, error) {
			return s.CreateContact(store.Attempting(t.Context(), attempt("create")), account, input(t, `{"first_name":"Quetzalina","emails":[{"value":"q@example.org"}]}`), crm.Dedupe)
		}
		person, err := make()
		if err != nil {
			t.Fatal(err)
		}
		note := func() error {
			_, err := s.AddNote(store.Attempting(t.Context(), attempt("note")), account, person.ID, history.NoteInput{Note: ptr("Secretnote")})
			return err
		}
		if err := note(); err != nil {
			t.Fatal(err)
		}
		if err := s.UpdateAccount(t.Context(), account, func(t *store.Tx) error { // as an earlier version has left it
			return t.Run(`UPDATE request_answer SET document = '?' WHERE account_id = $1 AND key = 'note'`, account)
		}); err != nil {
			t.Fatal(err)
		}
		erase(t, s, t.Context(), account, person.ID)
		if found := traces(t, o, []string{"quetzalina", "secretnote"}); len(found) > 0 {
			t.Errorf("left: %v", found)
		}
		_, err = make()
		wantError(t, "the create again", err, crm.ErrArchived)
		wantError(t, "the note again", note(), crm.ErrArchived)
		wantLists(t, s, account, nil, []int64{1})
	})
}

// TestConcurrentWorkUnderWayLeavesAnErasedContactAlone: an undo that has read the changes of a contact before it was erased gives nothing back.
func TestConcurrentWorkUnderWayLeavesAnErasedContactAlone(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		person := create(t, s, account, `{"first_name":"Ana","tags":["kwolftag"]}`)
		done := bulk(t, s, account, jobs.Selection{IDs: []int64{person.ID}}, crm.BulkUntag, "kwolftag")
		j := must(s.Job(t.Context(), account, done.Job))(t)
		changes, err := store.List(t.Context(), s.Base, store.ScanChange, jobs.SQLJobChanges, account, j.Last, j.First, int64(jobs.UndoUnit))
		if err != nil || len(changes) != 1 {
			t.Fatal(changes, err)
		}
		erase(t, s, t.Context(), account, person.ID)
		err = s.Update(t.Context(), account, contacts.MoveNeeds(person.ID), func(t *store.Tx) error {
			a, err := t.LockAccount(account)
			if err != nil {
				return err
			}
			u := jobs.Undoing{T: t, A: a, Job: &j, Of: &j, Region: "US", Now: s.Now()}
			before := a.Revision
			if err := u.TakeAll(changes); err != nil {
				return err
			}
			if a.Revision != before {
				return errors.New("the change was taken back")
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		if at := undo(t, s, account, done.Job); at.Undone != 0 {
			t.Errorf("undone: %+v", at)
		}
		record, err := s.ContactRecord(t.Context(), account, person.ID)
		if err != nil || !record.Erased() {
			t.Errorf("%v: the contact is %+v", err, record)
		}
	})
}

// TestALongHistoryIsErasedAndWrittenInParts: neither has all that the history says in memory at once.
func TestALongHistoryIsErasedAndWrittenInParts(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		person := create(t, s, account, `{"first_name":"Ana"}`)
		const changes = 30
		for i := range changes {
			must(s.UpdateContact(t.Context(), account, person.ID, input(t, fmt.Sprintf(`{"company":"C%d"}`, i))))(t)
		}
		data := must(s.ContactData(t.Context(), account, person.ID))(t)
		if got := len(data.Found["history"]); got != changes+1 {
			t.Errorf("the file will have %d changes", got)
		}
		erase(t, s, t.Context(), account, person.ID)
		left := int64(-1)
		if err := s.Read(t.Context(), func(c db.Conn) (err error) {
			left, err = c.Int(`SELECT count(*) FROM change WHERE account_id = $1 AND noun = 1 AND data <> ''`, account)
			return err
		}); err != nil || left != 0 {
			t.Errorf("%v: %d changes still say something", err, left)
		}
	})
}

// TestAGiftThatWasMovedLongAgoForgetsItsGiver: a database of an earlier version did not tell a contact of gifts that became those of another one.
func TestAGiftThatWasMovedLongAgoForgetsItsGiver(t *testing.T) {
	eachDatabase(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		account := newAccount(t, s).Number
		person, other := create(t, s, account, `{"first_name":"Ana"}`), create(t, s, account, `{"first_name":"Ben"}`)
		gift := must(s.CreateGift(t.Context(), account, giftInput(t, fmt.Sprintf(`{"contact_id":%d,"amount":5,"method":"cash","transacted_at":"2026-01-03"}`, other.ID), true, s.Now())))(t)
		succeed(t, s.Update(t.Context(), account, store.Needs{}, func(t *store.Tx) error {
			a, err := t.LockAccount(account)
			if err != nil {
				return err
			}
			found, err := gifts.Of(a).Gifts.Get(t, account, gift.ID)
			if err != nil {
				return err
			}
			t.Author.Channel = history.OtherChannel
			data := fmt.Sprintf(`{"contact_id":[%d,%d],"first_name":["Quetzalina","Ben"]}`, person.ID, other.ID)
			return gifts.PutGift(t, a, &found.Gift, t.Record(a, history.GiftNoun, gift.ID, history.DidUpdate, data))
		}))
		erase(t, s, t.Context(), account, person.ID)
		if found := traces(t, o, []string{"quetzalina"}); len(found) > 0 {
			t.Errorf("left: %v", found)
		}
		checked(t, s)
	})
}

// TestErasureHoldsTheDatabaseBriefly: each unit of work writes little, and looks for nothing while others wait.
func TestErasureHoldsTheDatabaseBriefly(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		person := create(t, s, account, `{"first_name":"Quetzalina","last_name":"Rossi"}`)
		rig.AtOnce(450, func(i int) {
			if _, err := s.CreateGift(t.Context(), account, giftInput(t, fmt.Sprintf(`{"contact_id":%d,"amount":5,"method":"cash","transacted_at":"2026-01-03","note":"Quetzalina's %d"}`, person.ID, i), true, s.Now())); err != nil {
				t.Error(err)
			}
			create(t, s, account, fmt.Sprintf(`{"first_name":"Other","last_name":"Person %d"}`, i))
		})
		spy := spyOn(t, s)
		var written, most atomic.Int64
		spy.wrote = func(string) { written.Add(1) }
		spy.committing = func() error {
			most.Store(max(most.Load(), written.Swap(0)))
			return nil
		}
		erase(t, s, t.Context(), account, person.ID)
		if got := most.Load(); got > 600 {
			t.Errorf("a unit of work has %d statements", got)
		}
		if got := spy.commits.Load(); got < 8 {
			t.Errorf("all was done in %d units of work", got)
		}
		left := int64(-1)
		if err := s.Read(t.Context(), func(c db.Conn) (err error) {
			left, err = c.Int(`SELECT COUNT(*) FROM change WHERE account_id = $1 AND noun IN (1, 3) AND id = $2 AND data <> ''`, account, person.ID)
			return err
		}); err != nil || left != 0 {
			t.Errorf("%v: %d changes still say something", err, left)
		}
		gifts, err := s.ContactData(t.Context(), account, person.ID)
		if err != nil || len(gifts.Found["transactions"]) != 450 {
			t.Fatal(err, len(gifts.Found["transactions"]))
		}
		var file strings.Builder
		if err := gifts.Write(t.Context(), &file); err != nil || strings.Contains(file.String(), "Quetzalina") {
			t.Errorf("%v: a gift still names the person", err)
		}
		checked(t, s)
	})
}

// TestAContactIsNotErasedByItsName: an archived contact that is called as erased ones are comes back, and an erased one does not.
func TestAContactIsNotErasedByItsName(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		named := create(t, s, account, `{"first_name":"Erased","last_name":"contact"}`)
		archive(t, s, account, named.ID)
		restore(t, s, account, named.ID)
		wantLists(t, s, account, []int64{1}, nil)
		erase(t, s, t.Context(), account, named.ID)
		if _, err := s.RestoreContact(t.Context(), account, named.ID); !errors.Is(err, crm.ErrArchived) {
			t.Errorf("an erased contact was restored: %v", err)
		}
		wantLists(t, s, account, nil, []int64{1})
	})
}
