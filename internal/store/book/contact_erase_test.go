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
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"donorbook/internal/crm"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
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
	s := open(t, o)
	account := newAccount(t, s)
	number, ctx := account.Number, t.Context()
	texts := []string{"quetzalina", "vanderkwolf", "middlexyz", "kwolfcorp", "zookeeperess", "kwolf@secret",
		"kwolftag", "secretnote", "5550177", "elmquartz", "xanadopolis", "kwolf.example",
		"kwolfprefix", "kwolfgreeting", "kwolf-id-1", "kwolfsource", "olderkwolf", "honoree", "giftnotexyz",
		"newgiverxyz", "jobrowxyz", "retryxyz"}
	rig.AtOnce(100, func(i int) { // the search has several parts
		create(t, s, number, fmt.Sprintf(`{"first_name":"Other%d","last_name":"Person","tags":["many"]}`, i))
	})
	person := create(t, s, number, `{"first_name":"Quetzalina","last_name":"Olderkwolf","middle_name":"Middlexyz","company":"Kwolfcorp","title":"Zookeeperess","note":"Secretnote",
			"emails":[{"value":"kwolf@secret.example.org"}],"phones":[{"value":"+1 617 555 0177"}],"twitter_url":"https://kwolf.example.org/t",
			"addresses":[{"address_1":"1 Elmquartz","city":"Xanadopolis","state":"MA","zipcode":"02110","country":"USA"}],"tags":["kwolftag","many"],
			"prefix":"Kwolfprefix","salutation":"Kwolfgreeting","external_ids":[{"source":"Kwolfsource","value":"Kwolf-ID-1"}],"do_not_mail":true}`)
	other := create(t, s, number, `{"first_name":"Next","last_name":"Channel"}`)
	must(s.UpdateContact(ctx, number, person.ID, input(t, `{"last_name":"Vanderkwolf"}`)))(t)
	archive(t, s, number, person.ID)
	restore(t, s, number, person.ID)
	campaign := must(s.CreateCampaign(ctx, account, campaign.Input{Title: ptr("Coats")}))(t)
	give := func(body string) store.GiftDocument {
		t.Helper()
		return must(s.CreateGift(ctx, number, giftInput(t, body, true, s.Now())))(t)
	}
	kept := give(fmt.Sprintf(`{"contact_id":%d,"campaign_id":%d,"amount":50,"method":"check","transacted_at":"2026-01-02","note":"Giftnotexyz","check_number":"retryxyz",
			"dedication":{"type":"in_honor_of","name":"Honoree"}}`, person.ID, campaign.ID))
	must(s.UpdateGift(ctx, number, kept.Code, giftInput(t, `{"note":"Giftnotexyz again"}`, false, s.Now())))(t)
	moved := give(fmt.Sprintf(`{"contact_id":%d,"amount":5,"method":"cash","transacted_at":"2026-01-03"}`, person.ID))
	must(s.UpdateGift(ctx, number, moved.Code, giftInput(t, fmt.Sprintf(`{"contact_id":%d}`, other.ID), false,
		s.Now())))(t)
	plan, faults, err := giving.DecodePlan(doc.NewBody(fmt.Appendf(nil,
		`{"contact_id":%d,"amount":10,"method":"card","frequency":"monthly","start_at":"2026-01-31"}`, person.ID)))
	if err == nil {
		err = plan.Validate(faults, true, "US", s.Now())
	}
	if err == nil {
		_, err = s.CreatePlan(ctx, number, plan)
	}
	succeed(t, err)
	attempt := &store.Attempt{Key: "k", Fingerprint: []byte("f"),
		Answer: func(m store.Result) store.Answer { return store.Answer{Status: 200, Body: m.Append(nil)} }}
	must(s.UpdateContact(store.Attempting(ctx, attempt), number, person.ID, input(t, `{"title":"Zookeeperess"}`)))(t)
	succeed(t, s.UpdateAccount(ctx, number, func(t *store.Tx) error {
		t.Insert(store.JobRowTable, number, int64(1), int64(1), "merged", person.ID, "Jobrowxyz")
		return nil
	}))
	if found := traces(t, o, texts[:16]); len(found) < 16 {
		t.Fatalf("before: only %v", found)
	}
	before := must(s.Campaign(ctx, number, campaign.ID))(t)

	erase(t, s, store.By(ctx, history.ConsoleChannel, "owner@example.org"), number, person.ID)

	if found := traces(t, o, texts); len(found) > 0 {
		t.Errorf("after: %v", found)
	}
	after := must(s.Campaign(ctx, number, campaign.ID))(t)
	equal(t, after.Campaign.Given, before.Campaign.Given, "the campaign")
	equal(t, after.Campaign.Given.Amount, 5000, "the campaign")
	record := must(s.ContactRecord(ctx, number, person.ID))(t)
	if !record.Erased() || record.FirstName+" "+record.LastName != "Erased contact" ||
		record.Stats.TotalContributions != 50 {
		t.Errorf("what is left is %+v", record)
	}
	wantError(t, "restore", errOf(s.RestoreContact(ctx, number, person.ID)), crm.ErrArchived)
	erase(t, s, ctx, number, person.ID)
	changes, _ := must2(s.Timeline(ctx, number, history.ContactNoun, person.ID,
		crm.PageRequest{Page: 1, PerPage: 1}))(t)
	if len(changes) != 1 || changes[0].Kind != history.DidErase || changes[0].Data != "" ||
		changes[0].Who != "owner@example.org" {
		t.Errorf("the last change is %+v", changes)
	}
	checked(t, s)
	wantError(t, "a contact that is not there", errOf(s.EraseContact(ctx, number, person.ID+1000)), crm.ErrNotFound)
}

// TestARetryDoesNotBringAnErasedPersonBack: a client that sends an old request again gets neither what it was
// answered then, nor a new contact.
func TestARetryDoesNotBringAnErasedPersonBack(t *testing.T) {
	ctx := t.Context()
	o := newDatabase(t)
	s := open(t, o)
	account := newAccount(t, s).Number
	attempt := func(key string) *store.Attempt {
		return &store.Attempt{Key: key, Fingerprint: []byte(key), Answer: func(m store.Result) store.Answer {
			return store.Answer{Status: 201, Header: "X: Quetzalina", Body: m.Append(nil)}
		}}
	}
	make := func() (store.ContactDocument, error) {
		return s.CreateContact(store.Attempting(ctx, attempt("create")), account,
			input(t, `{"first_name":"Quetzalina","emails":[{"value":"q@example.org"}]}`), crm.Dedupe)
	}
	person, err := make()
	succeed(t, err)
	note := func() error {
		return errOf(s.AddNote(store.Attempting(ctx, attempt("note")), account, person.ID,
			history.NoteInput{Note: ptr("Secretnote")}))
	}
	succeed(t, note())
	if err := s.UpdateAccount(ctx, account, func(t *store.Tx) error { // as an earlier version has left it
		return t.Run(`UPDATE request_answer SET document = '?' WHERE account_id = $1 AND key = 'note'`, account)
	}); err != nil {
		t.Fatal(err)
	}
	erase(t, s, ctx, account, person.ID)
	if found := traces(t, o, []string{"quetzalina", "secretnote"}); len(found) > 0 {
		t.Errorf("left: %v", found)
	}
	wantError(t, "the create again", errOf(make()), crm.ErrArchived)
	wantError(t, "the note again", note(), crm.ErrArchived)
	wantLists(t, s, account, nil, []int64{1})
}

// TestConcurrentWorkUnderWayLeavesAnErasedContactAlone: an undo that has read the changes of a contact before it was
// erased gives nothing back.
func TestConcurrentWorkUnderWayLeavesAnErasedContactAlone(t *testing.T) {
	ctx := t.Context()
	s, account := newBookOf(t)
	person := create(t, s, account, `{"first_name":"Ana","tags":["kwolftag"]}`)
	done := bulk(t, s, account, jobs.Selection{IDs: []int64{person.ID}}, crm.BulkUntag, "kwolftag")
	j := must(s.Job(ctx, account, done.Job))(t)
	changes, err := store.List(ctx, s.Store, store.ScanChange, jobs.SQLJobChanges, account, j.Last, j.First,
		int64(jobs.UndoUnit))
	if err != nil || len(changes) != 1 {
		t.Fatal(changes, err)
	}
	erase(t, s, ctx, account, person.ID)
	err = s.Update(ctx, account, store.MoveNeeds(person.ID), func(t *store.Tx) error {
		unit, err := t.LockAccount(account)
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
	})
	succeed(t, err)
	equal(t, undo(t, s, account, done.Job).Undone, 0, "undone")
	record := must(s.ContactRecord(ctx, account, person.ID))(t)
	if !record.Erased() {
		t.Errorf("the contact is %+v", record)
	}
}

// TestALongHistoryIsErasedAndWrittenInParts: neither has all that the history says in memory at once.
func TestALongHistoryIsErasedAndWrittenInParts(t *testing.T) {
	ctx := t.Context()
	s, account := newBookOf(t)
	person := create(t, s, account, `{"first_name":"Ana"}`)
	const changes = 30
	for i := range changes {
		must(s.UpdateContact(ctx, account, person.ID, input(t, fmt.Sprintf(`{"company":"C%d"}`, i))))(t)
	}
	equal(t, len(must(s.ContactData(ctx, account, person.ID))(t).Found["history"]), changes+1,
		"the file will have changes")
	erase(t, s, ctx, account, person.ID)
	left := int64(-1)
	succeed(t, s.Read(ctx, func(c db.Conn) (err error) {
		left, err = c.Int(`SELECT count(*) FROM change WHERE account_id = $1 AND noun = 1 AND data <> ''`, account)
		return err
	}))
	equal(t, left, 0)
}

// TestAGiftThatWasMovedLongAgoForgetsItsGiver: a database of an earlier version did not tell a contact of gifts that
// became those of another one.
func TestAGiftThatWasMovedLongAgoForgetsItsGiver(t *testing.T) {
	ctx := t.Context()
	o := newDatabase(t)
	s := open(t, o)
	account := newAccount(t, s).Number
	person, other := create(t, s, account, `{"first_name":"Ana"}`), create(t, s, account, `{"first_name":"Ben"}`)
	gift := must(s.CreateGift(ctx, account, giftInput(t,
		fmt.Sprintf(`{"contact_id":%d,"amount":5,"method":"cash","transacted_at":"2026-01-03"}`, other.ID), true,
		s.Now())))(t)
	succeed(t, s.Update(ctx, account, store.Needs{}, func(t *store.Tx) error {
		u, err := t.LockAccount(account)
		if err != nil {
			return err
		}
		found, err := u.Gifts.Get(t, account, gift.ID)
		if err != nil {
			return err
		}
		t.Author.Channel = history.OtherChannel
		data := fmt.Sprintf(`{"contact_id":[%d,%d],"first_name":["Quetzalina","Ben"]}`, person.ID, other.ID)
		return store.PutGift(u, &found.Gift, u.Record(history.GiftNoun, gift.ID, history.DidUpdate, data))
	}))
	erase(t, s, ctx, account, person.ID)
	if found := traces(t, o, []string{"quetzalina"}); len(found) > 0 {
		t.Errorf("left: %v", found)
	}
	checked(t, s)
}

// TestErasureHoldsTheDatabaseBriefly: each unit of work writes little, and looks for nothing while others wait.
func TestErasureHoldsTheDatabaseBriefly(t *testing.T) {
	ctx := t.Context()
	s, account := newBookOf(t)
	person := create(t, s, account, `{"first_name":"Quetzalina","last_name":"Rossi"}`)
	rig.AtOnce(450, func(i int) {
		must(s.CreateGift(ctx, account, giftInput(t,
			fmt.Sprintf(`{"contact_id":%d,"amount":5,"method":"cash","transacted_at":"2026-01-03","note":"Quetzalina's %d"}`, person.ID, i), true, s.Now())))(t)
		create(t, s, account, fmt.Sprintf(`{"first_name":"Other","last_name":"Person %d"}`, i))
	})
	spy := spyOn(t, s)
	var written, most atomic.Int64
	spy.wrote = func(string) { written.Add(1) }
	spy.committing = func() error {
		most.Store(max(most.Load(), written.Swap(0)))
		return nil
	}
	erase(t, s, ctx, account, person.ID)
	if got := most.Load(); got > 600 {
		t.Errorf("a unit of work has %d statements", got)
	}
	if got := spy.commits.Load(); got < 8 {
		t.Errorf("all was done in %d units of work", got)
	}
	left := int64(-1)
	succeed(t, s.Read(ctx, func(c db.Conn) (err error) {
		left, err = c.Int(
			`SELECT COUNT(*) FROM change WHERE account_id = $1 AND noun IN (1, 3) AND id = $2 AND data <> ''`, account,
			person.ID)
		return err
	}))
	equal(t, left, 0)
	gifts := must(s.ContactData(ctx, account, person.ID))(t)
	if len(gifts.Found["transactions"]) != 450 {
		t.Fatal(len(gifts.Found["transactions"]))
	}
	var file strings.Builder
	succeed(t, gifts.Write(ctx, &file))
	equal(t, strings.Contains(file.String(), "Quetzalina"), false)
	checked(t, s)
}

// TestAContactIsNotErasedByItsName: an archived contact that is called as erased ones are comes back, and an erased
// one does not.
func TestAContactIsNotErasedByItsName(t *testing.T) {
	s, account := newBookOf(t)
	named := create(t, s, account, `{"first_name":"Erased","last_name":"contact"}`)
	archive(t, s, account, named.ID)
	restore(t, s, account, named.ID)
	wantLists(t, s, account, []int64{1}, nil)
	erase(t, s, t.Context(), account, named.ID)
	wantError(t, "an erased contact was restored", errOf(s.RestoreContact(t.Context(), account, named.ID)),
		crm.ErrArchived)
	wantLists(t, s, account, nil, []int64{1})
}
