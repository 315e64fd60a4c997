package book

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/jobs"
)

// everywhere is a person who has left traces wherever a person can, beside another one whose traces must stay.
type everywhere struct {
	t             *testing.T
	s             *Book
	account       int64
	person, other int64
	uploads       []int64
}

// personWords are what the person is known by, and what was said about them. None of it may be left.
var personWords = []string{"quetzalina", "vanderkwolf", "olderkwolf", "kwolfcorp", "kwolf@secret", "kwolf2@secret",
	"5550177", "elmquartz", "secretnote", "removednote", "giftnotexyz", "movednotexyz", "movededit", "importnotexyz",
	"dryrunxyz", "rejectedxyz", "kwolftag"}

// otherWords are what the other person is known by.
var otherWords = []string{"ottoline", "bystander", "ottosrow", "otto's own"}

func (e *everywhere) ctx(key string) context.Context {
	e.t.Helper()
	return store.Attempting(store.By(e.t.Context(), history.ConsoleChannel, "owner@example.org"),
		&store.Attempt{Key: key, Fingerprint: []byte(key),
			Answer: func(m store.Result) store.Answer { return store.Answer{Status: 201, Body: m.Append(nil)} }})
}

func (e *everywhere) must(err error) {
	e.t.Helper()
	if err != nil {
		e.t.Fatal(err)
	}
}

func (e *everywhere) give(key, body string) store.GiftDocument {
	e.t.Helper()
	made, err := e.s.CreateGift(e.ctx(key), e.account, giftInput(e.t, body, true, e.s.Now()))
	e.must(err)
	return made
}

func (e *everywhere) changeGift(key, code, body string) {
	e.t.Helper()
	_, err := e.s.UpdateGift(e.ctx(key), e.account, code, giftInput(e.t, body, false, e.s.Now()))
	e.must(err)
}

// contacts makes both, changes the person, and merges another create into them.
func (e *everywhere) contacts() {
	e.t.Helper()
	made, err := e.s.CreateContact(e.ctx("create"), e.account, input(e.t, `{"first_name":"Quetzalina","last_name":"Olderkwolf","company":"Kwolfcorp","note":"Secretnote","tags":["kwolftag"],
		"emails":[{"value":"kwolf@secret.example.org"}],"phones":[{"value":"+1 617 555 0177"}],"addresses":[{"address_1":"1 Elmquartz","city":"Boston","state":"MA","zipcode":"02110","country":"USA"}]}`), crm.Dedupe)
	e.must(err)
	e.person = made.ID
	e.other = create(e.t, e.s, e.account,
		`{"first_name":"Ottoline","last_name":"Bystander","emails":[{"value":"otto@example.org"}]}`).ID
	_, err = e.s.UpdateContact(e.ctx("patch"), e.account, e.person, input(e.t, `{"last_name":"Vanderkwolf"}`))
	e.must(err)
	merged, err := e.s.CreateContact(e.ctx("merge"), e.account,
		input(e.t, `{"first_name":"Quetzalina","last_name":"Vanderkwolf","emails":[{"value":"kwolf@secret.example.org"},{"value":"kwolf2@secret.example.org"}]}`), crm.Dedupe)
	if e.must(err); merged.ID != e.person || !merged.Merged {
		e.t.Fatalf("the create made %d", merged.ID)
	}
	note, err := e.s.AddNote(e.ctx("note"), e.account, e.person, history.NoteInput{Note: ptr("Removednote")})
	e.must(err)
	_, _, err = e.s.UndoChange(e.t.Context(), e.account, e.person, note.Revision, "US")
	e.must(err)
	done := bulk(e.t, e.s, e.account, jobs.Selection{IDs: []int64{e.person, e.other}}, crm.BulkTag, "friends")
	undo(e.t, e.s, e.account, done.Job)
}

// gifts records one that stays the person's, and some that become the other's.
func (e *everywhere) gifts() {
	e.t.Helper()
	kept := e.give("gift",
		fmt.Sprintf(`{"contact_id":%d,"amount":50,"method":"check","transacted_at":"2026-01-02","note":"Giftnotexyz"}`,
			e.person))
	e.changeGift("edit", kept.Code, `{"note":"Giftnotexyz again"}`)
	moved := e.give("moved",
		fmt.Sprintf(`{"contact_id":%d,"amount":5,"method":"cash","transacted_at":"2026-01-03","note":"Movednotexyz"}`,
			e.person))
	e.changeGift("move", moved.Code, fmt.Sprintf(`{"contact_id":%d}`, e.other))
	edited := e.give("moved 2",
		fmt.Sprintf(`{"contact_id":%d,"amount":5,"method":"cash","transacted_at":"2026-01-03"}`, e.person))
	e.changeGift("edit 2", edited.Code, `{"note":"Movededit"}`)
	e.changeGift("move 2", edited.Code, fmt.Sprintf(`{"contact_id":%d,"note":"Otto's own"}`, e.other))
	there := e.give("there and back",
		fmt.Sprintf(`{"contact_id":%d,"amount":5,"method":"cash","transacted_at":"2026-01-03","note":"Otto's own"}`,
			e.other))
	e.changeGift("there", there.Code, fmt.Sprintf(`{"contact_id":%d}`, e.person))
	e.changeGift("back", there.Code, fmt.Sprintf(`{"contact_id":%d}`, e.other))
}

const (
	otherRow   = "Ottoline,Bystander,,Ottosrow\n"
	contactsIn = "first_name,last_name,email,note\n"
)

// imports uploads files: one that is imported and has rows that are rejected, one that was tried, and both kinds that
// are canceled.
func (e *everywhere) imports() {
	e.t.Helper()
	im := upload(e.t, e.s, e.account,
		contactsIn+"Quetzalina,Vanderkwolf,kwolf@secret.example.org,Importnotexyz\nQuetzalina,Vanderkwolf,no email,Rejectedxyz,one cell too many\nOttoline,Bystander,no email,Ottosrow,one cell too many\n")
	_, err := e.s.BeginImport(e.t.Context(), e.account, im.ID,
		jobs.Choices{Mapping: im.Spec.Mapping, Mode: jobs.MergeExisting, FileIsRight: true})
	e.must(err)
	finishJobs(e.t, e.s)
	tried := upload(e.t, e.s, e.account,
		contactsIn+"Quetzalina,Vanderkwolf,kwolf@secret.example.org,Dryrunxyz\nX,,kwolf2@secret.example.org,Dryrunxyz,one cell too many\n")
	begin(e.t, e.s, tried, true)
	finishJobs(e.t, e.s)
	canceled := upload(e.t, e.s, e.account, contactsIn+"Quetzalina,Olderkwolf,,\n"+otherRow)
	gifts, err := e.s.UploadImport(e.t.Context(), e.account, jobs.ImportGifts, "gifts.csv", "US",
		strings.NewReader(
			"First name,Last name,Amount,Date,Note\nQuetzalina,Vanderkwolf,none,2026-01-02,Rejectedxyz\n"))
	e.must(err)
	_, err = e.s.BeginImport(e.t.Context(), e.account, gifts.ID, jobs.Choices{Mapping: gifts.Spec.Mapping})
	e.must(err)
	finishJobs(e.t, e.s)
	for _, one := range []jobs.Import{tried, canceled} {
		_, err := e.s.CancelJob(e.t.Context(), e.account, one.ID)
		e.must(err)
	}
	e.uploads = []int64{im.ID, gifts.ID}
}

// segments saves filters that name the person, one of which was renamed and one deleted, and one that does not.
func (e *everywhere) segments() {
	e.t.Helper()
	for name, query := range map[string]string{"By email": "email=kwolf%40secret.example.org",
		"Gone": "q=quetzalina+vanderkwolf", "Of Otto": "q=bystander"} {
		made, err := e.s.CreateSegment(e.t.Context(), e.account, segment(e.t, name, query))
		e.must(err)
		e.must(e.s.RenameSegment(e.t.Context(), e.account, made.ID, name+"!"))
		if name == "Gone" {
			_, err = e.s.DeleteSegment(e.t.Context(), e.account, made.ID)
			e.must(err)
		}
	}
}

// TestAPersonWhoWasEverywhereIsErased: no table of the database has anything that the person was known by, and what
// names another one stays.
func TestAPersonWhoWasEverywhereIsErased(t *testing.T) {
	ctx := t.Context()
	o := newDatabase(t)
	s := open(t, o)
	e := &everywhere{t: t, s: s, account: newAccount(t, s).Number}
	e.contacts()
	e.gifts()
	e.imports()
	e.segments()
	// a file may have been compressed by the engine
	if found := strings.Join(traces(t, o, personWords), "\n"); o.Database != "" {
		for _, word := range personWords {
			contains(t, found, word)
		}
	}

	erase(t, s, store.By(ctx, history.ConsoleChannel, "owner@example.org"), e.account, e.person)

	if found := traces(t, o, personWords); len(found) > 0 {
		t.Errorf("left: %v", found)
	}
	left := strings.Join(traces(t, o, otherWords), "\n")
	for _, word := range otherWords {
		contains(t, left, word)
	}
	segments := must(s.Segments(ctx, e.account))(t)
	if len(segments) != 1 || segments[0].Name != "Of Otto!" {
		t.Errorf("the segments are %+v", segments)
	}
	rows := must(s.JobRows(ctx, e.account, e.uploads[0], 0, 10))(t)
	if len(rows) != 1 || !strings.Contains(string(rows[0].Data), "Ottosrow") {
		t.Errorf("the rejected rows are %+v", rows)
	}
	checked(t, s)
}

// TestAnErasureGoesOnAfterAKill: whatever unit of work was the last one, the next process removes the rest.
func TestAnErasureGoesOnAfterAKill(t *testing.T) {
	ctx := t.Context()
	o := newDatabase(t)
	s := open(t, o)
	e := &everywhere{t: t, s: s, account: newAccount(t, s).Number}
	e.contacts()
	e.gifts()
	e.imports()
	e.segments()
	job := must(s.EraseContact(ctx, e.account, e.person))(t)
	if job == 0 {
		t.Fatal(job)
	}
	equal(t, must(s.EraseContact(ctx, e.account, e.person))(t), job, "erasing again is job")
	wantError(t, "an erasure was stopped", errOf(s.CancelJob(ctx, e.account, job)), crm.ErrChanged)
	for steps := 0; ; steps++ {
		j := must(s.Job(ctx, e.account, job))(t)
		if j.Ended() {
			if j.Undoable() || steps < 5 {
				t.Errorf("after %d steps it can be undone: %v", steps, j.Undoable())
			}
			break
		}
		fresh := jobs.NewJobWorker(s.JobStore) // knows nothing of the steps before, as another process would
		must(fresh.Step(ctx, &j))(t)
	}
	if found := traces(t, o, personWords); len(found) > 0 {
		t.Errorf("left: %v", found)
	}
	checked(t, s)
}

// TestPeopleWhoAreErasedTogetherShareTheWork: everything is looked through once for all of them, and all are gone.
func TestPeopleWhoAreErasedTogetherShareTheWork(t *testing.T) {
	ctx := t.Context()
	o := newDatabase(t)
	s := open(t, o)
	account, other := newAccount(t, s).Number, newAccount(t, s).Number
	var texts []string
	jobs := make(map[int64]bool)
	for i := range 20 {
		person := create(t, s, account,
			fmt.Sprintf(`{"first_name":"Quetzal%c","last_name":"Kwolf","emails":[{"value":"q%d@kwolf.example.org"}]}`,
				'a'+i, i))
		texts = append(texts, fmt.Sprintf("quetzal%c", 'a'+i))
		job := must(s.EraseContact(ctx, account, person.ID))(t)
		jobs[job] = true
	}
	mine := create(t, s, other, `{"first_name":"Mine","last_name":"Own"}`)
	must(s.EraseContact(ctx, other, mine.ID))(t)
	equal(t, len(jobs), 1, "jobs erase 20 people")
	finishJobs(t, s)
	if found := traces(t, o, texts); len(found) > 0 {
		t.Errorf("left: %v", found)
	}
	wantOpen := int64(0)
	succeed(t, s.Read(ctx, func(c db.Conn) (err error) {
		wantOpen, err = c.Int(`SELECT COUNT(*) FROM job WHERE state <> 'done'`)
		return err
	}))
	equal(t, wantOpen, 0)
}
