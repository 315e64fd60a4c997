package book

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"donorbook/internal/crm"
	"donorbook/internal/crm/history"
	"donorbook/internal/rig"
	"donorbook/internal/store"
	"donorbook/internal/store/jobs"
)

// traces is where a text is found in the files of a database or, of a server, in its tables.
func traces(t *testing.T, o store.Options, texts []string) (found []string) {
	t.Helper()
	ctx := t.Context()
	if o.Database == "" {
		succeed(t, filepath.WalkDir(o.Data, func(path string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			content, err := os.ReadFile(path)
			for _, text := range texts {
				if bytes.Contains(bytes.ToLower(content), []byte(text)) {
					found = append(found, text+" in "+filepath.Base(path))
				}
			}
			return err
		}))
		return found
	}
	conn := must(pgx.Connect(ctx, o.Database))(t)
	defer conn.Close(ctx) //nolint:errcheck // the test is over
	for _, table := range append([]string{store.WordsTable.Name}, tableNames()...) {
		rows := must(conn.Query(ctx, "SELECT lower(x::text) FROM "+table+" AS x"))(t)
		for rows.Next() {
			var row string
			succeed(t, rows.Scan(&row))
			for _, after := range strings.Split(row, `\x`)[1:] { // documents
				body, _ := hex.DecodeString(after[:strings.IndexFunc(after+" ",
					func(r rune) bool { return !strings.ContainsRune("0123456789abcdef", r) })])
				row += strings.ToLower(string(body))
			}
			for _, text := range texts {
				if strings.Contains(row, text) {
					found = append(found, text+" in "+table)
				}
			}
		}
		succeed(t, rows.Err())
	}
	return found
}

func wantNoTraces(t *testing.T, o store.Options, texts ...string) {
	t.Helper()
	equal(t, traces(t, o, texts), nil, "left")
}

// erase erases a contact and everything that names the person.
func erase(t *testing.T, s *Book, ctx context.Context, account, id int64) {
	t.Helper()
	job, err := s.EraseContact(ctx, account, id)
	if err == nil && job != 0 {
		_, err = s.FinishJob(ctx, account, job)
	}
	succeed(t, err)
}

func tableNames() (names []string) {
	for _, table := range store.Schema.Tables {
		names = append(names, table.Name)
	}
	return names
}

// TestErasedPersonIsNowhere: nothing that a person was known by can be read anywhere in the database, and the sums
// stay.
func TestErasedPersonIsNowhere(t *testing.T) {
	o := newDatabase(t)
	s := folkOf(t, open(t, o))
	ctx := t.Context()
	texts := strings.Fields(`quetzalina vanderkwolf middlexyz kwolfcorp zookeeperess kwolf@secret kwolftag secretnote
		5550177 elmquartz xanadopolis kwolf.example kwolfprefix kwolfgreeting kwolf-id-1 kwolfsource olderkwolf honoree
		giftnotexyz newgiverxyz jobrowxyz retryxyz`)
	rig.AtOnce(100, func(i int) { // the search has several parts
		s.create(fmt.Sprintf(`{"first_name":"Other%d","last_name":"Person","tags":["many"]}`, i))
	})
	person := s.create(`{"first_name":"Quetzalina","last_name":"Olderkwolf","middle_name":"Middlexyz","company":"Kwolfcorp","title":"Zookeeperess","note":"Secretnote",
			"emails":[{"value":"kwolf@secret.example.org"}],"phones":[{"value":"+1 617 555 0177"}],"twitter_url":"https://kwolf.example.org/t",
			"addresses":[{"address_1":"1 Elmquartz","city":"Xanadopolis","state":"MA","zipcode":"02110","country":"USA"}],"tags":["kwolftag","many"],
			"prefix":"Kwolfprefix","salutation":"Kwolfgreeting","external_ids":[{"source":"Kwolfsource","value":"Kwolf-ID-1"}],"do_not_mail":true}`).ID
	other := s.create(`{"first_name":"Next","last_name":"Channel"}`).ID
	s.update(person, `{"last_name":"Vanderkwolf"}`)
	s.archive(person)
	s.restore(person)
	coats := s.campaignOf("Coats").ID
	kept := s.give(fmt.Sprintf(`{"contact_id":%d,"campaign_id":%d,"amount":50,"method":"check","transacted_at":"2026-01-02","note":"Giftnotexyz","check_number":"retryxyz",
			"dedication":{"type":"in_honor_of","name":"Honoree"}}`, person, coats))
	s.edit(kept.Code, `{"note":"Giftnotexyz again"}`)
	s.edit(s.gave(person, "2026-01-03", "").Code, fmt.Sprintf(`{"contact_id":%d}`, other))
	newPlan(t, s.Book, s.Number, fmt.Sprintf(
		`{"contact_id":%d,"amount":10,"method":"card","frequency":"monthly","start_at":"2026-01-31"}`, person))
	must(s.UpdateContact(attempting(t, "k", "f"), s.Number, person, input(t, `{"title":"Zookeeperess"}`)))(t)
	succeed(t, s.UpdateAccount(ctx, s.Number, func(t *store.Tx) error {
		t.Insert(store.JobRowTable, s.Number, int64(1), int64(1), "merged", person, "Jobrowxyz")
		return nil
	}))
	before := traces(t, o, texts[:16])
	equal(t, len(before) >= 16, true, "before: only %v", before)
	given := func() int64 { return must(s.Campaign(ctx, s.Number, coats))(t).Campaign.Given.Amount }
	equal(t, given(), 5000, "the campaign")

	erase(t, s.Book, store.By(ctx, history.ConsoleChannel, "owner@example.org"), s.Number, person)

	wantNoTraces(t, o, texts...)
	equal(t, given(), 5000, "the campaign")
	record := s.record(person)
	expect(t, "what is left", "true Erased contact 50", record.Erased(), record.FirstName, record.LastName,
		record.Stats.TotalContributions)
	refuses(t, "restore", crm.ErrArchived)(s.RestoreContact(ctx, s.Number, person))
	s.erase(person)
	last := s.timeline(person)[0]
	expect(t, "the last change", fmt.Sprint(history.DidErase, "  owner@example.org"), last.Kind, last.Data, last.Who)
	s.checked()
	refuses(t, "a contact that is not there", crm.ErrNotFound)(s.EraseContact(ctx, s.Number, person+1000))
}

// TestARetryDoesNotBringAnErasedPersonBack: a client that sends an old request again gets neither what it was
// answered then, nor a new contact.
func TestARetryDoesNotBringAnErasedPersonBack(t *testing.T) {
	o := newDatabase(t)
	s := folkOf(t, open(t, o))
	make := func() (store.ContactDocument, error) {
		return s.CreateContact(attempting(t, "create", "create"), s.Number,
			input(t, `{"first_name":"Quetzalina","emails":[{"value":"q@example.org"}]}`), crm.Dedupe)
	}
	person := must(make())(t)
	note := func() error {
		return errOf(s.AddNote(attempting(t, "note", "note"), s.Number, person.ID,
			history.NoteInput{Note: ptr("Secretnote")}))
	}
	succeed(t, note())
	// as an earlier version has left it
	s.damage(`UPDATE request_answer SET document = '?' WHERE account_id = $1 AND key = 'note'`, s.Number)
	s.erase(person.ID)
	wantNoTraces(t, o, "quetzalina", "secretnote")
	refuses(t, "the create again", crm.ErrArchived)(make())
	refuses(t, "the note again", crm.ErrArchived)(note())
	s.wantLists(nil, []int64{1})
}

// TestConcurrentWorkUnderWayLeavesAnErasedContactAlone: an undo that has read the changes of a contact before it was
// erased gives nothing back.
func TestConcurrentWorkUnderWayLeavesAnErasedContactAlone(t *testing.T) {
	ctx := t.Context()
	s := newFolk(t)
	person := s.person(`{"first_name":"Ana","tags":["kwolftag"]}`)
	done := s.bulk(jobs.Selection{IDs: []int64{person}}, crm.BulkUntag, "kwolftag")
	j := s.job(done.Job)
	changes := must(store.List(ctx, s.Store, store.ScanChange, jobs.SQLJobChanges, s.Number, j.Last, j.First,
		int64(jobs.UndoUnit)))(t)
	equal(t, len(changes), 1)
	s.erase(person)
	succeed(t, s.Update(ctx, s.Number, store.MoveNeeds(person), func(t *store.Tx) error {
		unit, err := t.LockAccount(s.Number)
		if err != nil {
			return err
		}
		u := jobs.Undoing{Unit: unit, Job: &j, Of: &j, Region: "US", Now: s.Now()}
		before := unit.Revision
		if err := u.TakeAll(changes); err != nil {
			return err
		}
		if unit.Revision != before {
			return errors.New("the change was taken back")
		}
		return nil
	}))
	equal(t, s.undo(done.Job).Undone, 0, "undone")
	record := s.record(person)
	equal(t, record.Erased(), true, "the contact")
}

// says is how many changes say something of a contact, or of what it gave.
func (s *folk) says(contact int64) (n int) {
	s.Helper()
	for _, c := range everyChange(s, s.Book, s.Number) {
		if (c.Noun == history.ContactNoun || c.Noun == history.GiftNoun) && c.ID == contact && c.Data != "" {
			n++
		}
	}
	return n
}

// TestALongHistoryIsErasedAndWrittenInParts: neither has all that the history says in memory at once.
func TestALongHistoryIsErasedAndWrittenInParts(t *testing.T) {
	s := newFolk(t)
	person := s.person(`{"first_name":"Ana"}`)
	const changes = 30
	for i := range changes {
		s.update(person, fmt.Sprintf(`{"company":"C%d"}`, i))
	}
	equal(t, len(must(s.ContactData(t.Context(), s.Number, person))(t).Found["history"]), changes+1,
		"the file will have changes")
	s.erase(person)
	equal(t, s.says(person), 0)
}

// TestAGiftThatWasMovedLongAgoForgetsItsGiver: a database of an earlier version did not tell a contact of gifts that
// became those of another one.
func TestAGiftThatWasMovedLongAgoForgetsItsGiver(t *testing.T) {
	o := newDatabase(t)
	s := folkOf(t, open(t, o))
	person, other := s.person(`{"first_name":"Ana"}`), s.person(`{"first_name":"Ben"}`)
	gift := s.gave(other, "2026-01-03", "")
	succeed(t, s.Update(t.Context(), s.Number, store.Needs{}, func(t *store.Tx) error {
		u, err := t.LockAccount(s.Number)
		if err != nil {
			return err
		}
		found, err := u.Gifts.Get(t, s.Number, gift.ID)
		if err != nil {
			return err
		}
		u.Author.Channel = history.OtherChannel
		data := fmt.Sprintf(`{"contact_id":[%d,%d],"first_name":["Quetzalina","Ben"]}`, person, other)
		return store.PutGift(u, &found.Gift, u.Record(history.GiftNoun, gift.ID, history.DidUpdate, data))
	}))
	s.erase(person)
	wantNoTraces(t, o, "quetzalina")
	s.checked()
}

// TestErasureHoldsTheDatabaseBriefly: each unit of work writes little, and looks for nothing while others wait.
func TestErasureHoldsTheDatabaseBriefly(t *testing.T) {
	ctx := t.Context()
	s := newFolk(t)
	person := s.person(`{"first_name":"Quetzalina","last_name":"Rossi"}`)
	rig.AtOnce(450, func(i int) {
		s.gave(person, "2026-01-03", fmt.Sprintf(`,"note":"Quetzalina's %d"`, i))
		s.create(fmt.Sprintf(`{"first_name":"Other","last_name":"Person %d"}`, i))
	})
	most, units := s.portions()
	s.erase(person)
	equal(t, most.Load() <= 600, true, "a unit of work has %d statements", most.Load())
	equal(t, units() >= 8, true, "all was done in %d units of work", units())
	equal(t, s.says(person), 0)
	equal(t, len(must(s.ContactData(ctx, s.Number, person))(t).Found["transactions"]), 450)
	equal(t, strings.Contains(s.own(person), "Quetzalina"), false)
	s.checked()
}

// TestAContactIsNotErasedByItsName: an archived contact that is called as erased ones are comes back, and an erased
// one does not.
func TestAContactIsNotErasedByItsName(t *testing.T) {
	s := newFolk(t)
	named := s.person(`{"first_name":"Erased","last_name":"contact"}`)
	s.archive(named)
	s.restore(named)
	s.wantLists([]int64{1}, nil)
	s.erase(named)
	refuses(t, "an erased contact", crm.ErrArchived)(s.RestoreContact(t.Context(), s.Number, named))
	s.wantLists(nil, []int64{1})
}
