package book

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/crm/history"
	"donorbook/internal/store"
	"donorbook/internal/store/jobs"
)

// everywhere is a person who has left traces wherever a person can, beside another one whose traces must stay.
type everywhere struct {
	*folk
	o             store.Options
	person, other int64
	upload        int64
	keys          int // of the requests so far
}

// personWords are what the person is known by, and what was said about them. None of it may be left.
var personWords = strings.Fields(`quetzalina vanderkwolf olderkwolf kwolfcorp kwolf@secret kwolf2@secret 5550177
	elmquartz secretnote removednote giftnotexyz movednotexyz movededit importnotexyz dryrunxyz rejectedxyz kwolftag`)

// otherWords are what the other person is known by.
var otherWords = []string{"ottoline", "bystander", "ottosrow", "otto's own"}

func newEverywhere(t *testing.T) *everywhere {
	o := newDatabase(t)
	e := &everywhere{folk: folkOf(t, open(t, o)), o: o}
	e.contacts()
	e.gifts()
	e.imports()
	e.segments()
	return e
}

// attempting has the answer of each request kept.
func (e *everywhere) attempting() context.Context {
	e.keys++
	key := fmt.Sprint(e.keys)
	return attempting(e.T, key, key)
}

// contacts makes both, changes the person, and merges another create into them.
func (e *everywhere) contacts() {
	e.Helper()
	create := func(body string) int64 {
		return must(e.CreateContact(e.attempting(), e.Number, input(e, body), crm.Dedupe))(e).ID
	}
	e.person = create(`{"first_name":"Quetzalina","last_name":"Olderkwolf","company":"Kwolfcorp","note":"Secretnote","tags":["kwolftag"],
		"emails":[{"value":"kwolf@secret.example.org"}],"phones":[{"value":"+1 617 555 0177"}],"addresses":[{"address_1":"1 Elmquartz","city":"Boston","state":"MA","zipcode":"02110","country":"USA"}]}`)
	e.other = e.create(`{"first_name":"Ottoline","last_name":"Bystander","emails":[{"value":"otto@example.org"}]}`).ID
	must(e.UpdateContact(e.attempting(), e.Number, e.person, input(e, `{"last_name":"Vanderkwolf"}`)))(e)
	equal(e, create(
		`{"first_name":"Quetzalina","last_name":"Vanderkwolf","emails":[{"value":"kwolf@secret.example.org"},{"value":"kwolf2@secret.example.org"}]}`),
		e.person, "the create was merged into")
	note := must(e.AddNote(e.attempting(), e.Number, e.person, history.NoteInput{Note: ptr("Removednote")}))(e)
	must2(e.UndoChange(e.Context(), e.Number, e.person, note.Revision, "US"))(e)
	e.undo(e.bulk(jobs.Selection{IDs: []int64{e.person, e.other}}, crm.BulkTag, "friends").Job)
}

// gifts records one that stays the person's, and some that become the other's.
func (e *everywhere) gifts() {
	e.Helper()
	give := func(contact int64, note string, edits ...string) {
		gift := must(e.CreateGift(e.attempting(), e.Number, giftInput(e, fmt.Sprintf(
			`{"contact_id":%d,"amount":5,"method":"cash","transacted_at":"2026-01-03"%s}`, contact, note), true,
			e.Now())))(e)
		for _, edit := range edits {
			must(e.UpdateGift(e.attempting(), e.Number, gift.Code, giftInput(e, edit, false, e.Now())))(e)
		}
	}
	to := func(contact int64, more string) string { return fmt.Sprintf(`{"contact_id":%d%s}`, contact, more) }
	give(e.person, `,"note":"Giftnotexyz"`, `{"note":"Giftnotexyz again"}`)
	give(e.person, `,"note":"Movednotexyz"`, to(e.other, ""))
	give(e.person, "", `{"note":"Movededit"}`, to(e.other, `,"note":"Otto's own"`))
	give(e.other, `,"note":"Otto's own"`, to(e.person, ""), to(e.other, ""))
}

const contactsIn = "first_name,last_name,email,note\n"

// imports uploads files: one that is imported and has rows that are rejected, one that was tried, and both kinds that
// are canceled.
func (e *everywhere) imports() {
	e.Helper()
	ctx := e.Context()
	im := upload(e, e.Book, e.Number,
		contactsIn+
			"Quetzalina,Vanderkwolf,kwolf@secret.example.org,Importnotexyz\nQuetzalina,Vanderkwolf,no email,Rejectedxyz,one cell too many\nOttoline,Bystander,no email,Ottosrow,one cell too many\n")
	must(e.BeginImport(ctx, e.Number, im.ID,
		jobs.Choices{Mapping: im.Spec.Mapping, Mode: jobs.MergeExisting, FileIsRight: true}))(e)
	e.finishJobs()
	tried := upload(e, e.Book, e.Number,
		contactsIn+
			"Quetzalina,Vanderkwolf,kwolf@secret.example.org,Dryrunxyz\nX,,kwolf2@secret.example.org,Dryrunxyz,one cell too many\n")
	begin(e, e.Book, tried, true)
	e.finishJobs()
	canceled := upload(e, e.Book, e.Number,
		contactsIn+"Quetzalina,Olderkwolf,,\nOttoline,Bystander,,Ottosrow\n")
	gifts := must(e.UploadImport(ctx, e.Number, jobs.ImportGifts, "gifts.csv", "US", strings.NewReader(
		"First name,Last name,Amount,Date,Note\nQuetzalina,Vanderkwolf,none,2026-01-02,Rejectedxyz\n")))(e)
	must(e.BeginImport(ctx, e.Number, gifts.ID, jobs.Choices{Mapping: gifts.Spec.Mapping}))(e)
	e.finishJobs()
	for _, one := range []jobs.Import{tried, canceled} {
		must(e.CancelJob(ctx, e.Number, one.ID))(e)
	}
	e.upload = im.ID
}

// segments saves filters that name the person, one of which was renamed and one deleted, and one that does not.
func (e *everywhere) segments() {
	e.Helper()
	for name, query := range map[string]string{"By email": "email=kwolf%40secret.example.org",
		"Gone": "q=quetzalina+vanderkwolf", "Of Otto": "q=bystander"} {
		made := e.segment(name, query)
		succeed(e, e.RenameSegment(e.Context(), e.Number, made.ID, name+"!"))
		if name == "Gone" {
			must(e.DeleteSegment(e.Context(), e.Number, made.ID))(e)
		}
	}
}

// TestAPersonWhoWasEverywhereIsErased: no table of the database has anything that the person was known by, and what
// names another one stays.
func TestAPersonWhoWasEverywhereIsErased(t *testing.T) {
	e := newEverywhere(t)
	// a file may have been compressed by the engine
	if found := strings.Join(traces(t, e.o, personWords), "\n"); e.o.Database != "" {
		for _, word := range personWords {
			contains(t, found, word)
		}
	}
	e.erase(e.person)
	wantNoTraces(t, e.o, personWords...)
	left := strings.Join(traces(t, e.o, otherWords), "\n")
	for _, word := range otherWords {
		contains(t, left, word)
	}
	segments := must(e.Segments(t.Context(), e.Number))(t)
	expect(t, "the segments", "1 Of Otto!", len(segments), segments[0].Name)
	rows := must(e.JobRows(t.Context(), e.Number, e.upload, 0, 10))(t)
	equal(t, len(rows), 1, "the rejected rows")
	contains(t, string(rows[0].Data), "Ottosrow", "the rejected rows")
	e.checked()
}

// TestAnErasureGoesOnAfterAKill: whatever unit of work was the last one, the next process removes the rest.
func TestAnErasureGoesOnAfterAKill(t *testing.T) {
	e := newEverywhere(t)
	steps := e.eraseInSteps(e.person)
	equal(t, steps >= 5, true, "%d steps", steps)
	wantNoTraces(t, e.o, personWords...)
	e.checked()
}

// TestPeopleWhoAreErasedTogetherShareTheWork: everything is looked through once for all of them, and all are gone.
func TestPeopleWhoAreErasedTogetherShareTheWork(t *testing.T) {
	o := newDatabase(t)
	s := folkOf(t, open(t, o))
	other := s.another()
	var texts []string
	jobs := make(map[int64]bool)
	begin := func(s *folk, body string) int64 {
		return must(s.EraseContact(t.Context(), s.Number, s.create(body).ID))(t)
	}
	for i := range 20 {
		texts = append(texts, fmt.Sprintf("quetzal%c", 'a'+i))
		jobs[begin(s, fmt.Sprintf(
			`{"first_name":"Quetzal%c","last_name":"Kwolf","emails":[{"value":"q%d@kwolf.example.org"}]}`, 'a'+
				i, i))] = true
	}
	begin(other, `{"first_name":"Mine","last_name":"Own"}`)
	equal(t, len(jobs), 1, "jobs erase 20 people")
	s.finishJobs()
	wantNoTraces(t, o, texts...)
	equal(t, count(t, s.Book, `SELECT COUNT(*) FROM job WHERE state <> 'done'`), 0)
}
