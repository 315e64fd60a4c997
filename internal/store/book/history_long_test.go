package book

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/history"
	"donorbook/internal/rig/rows"
	"donorbook/internal/store"
)

// A history whose changes are large waits for its turn, shows little of each, and as JSON loses nothing.
func TestConcurrentLongHistoriesTakeTurns(t *testing.T) {
	ctx := t.Context()
	s := newFolk(t)
	const rounds = 12
	id := s.create(`{"first_name":"Ada","last_name":"Lovelace"}`).ID
	for round := range rounds {
		var emails, tags []string
		for i := range 400 {
			tags = append(tags, fmt.Sprintf(`"a tag of round %d with number %d"`, round, i))
			emails = append(emails, fmt.Sprintf(`"somebody.with.a.long.name.%d.%d@example.org"`, round, i))
		}
		s.update(id, `{"emails":[`+strings.Join(emails[:100], ",")+`],"tags":[`+strings.Join(tags, ",")+`]}`)
	}
	all := crm.PageRequest{Page: 1, PerPage: 100}
	for name, read := range map[string]func(){
		"a page of a contact": func() {
			changes := s.timeline(id)
			equal(t, len(changes), rounds+1, "changes")
			for _, change := range changes[:rounds] {
				expect(t, "a change is short, lacks values, shows some", "true true true", len(change.Data) <= 4<<10,
					change.Left >= 400, len(change.Changes()) > 0)
			}
		},
		"a page of an organization": func() {
			entries := s.history(store.HistoryPlace{}, 40).Entries
			equal(t, len(entries[0].Changes[0].Data) <= 4<<10, true, "%d entries", len(entries))
		},
		"the list of the API": func() {
			text := ""
			rest, _ := must2(s.Activities(ctx, s.Number, id, all, true, nil,
				func(piece []byte, _ store.ListResult) ([]byte, error) {
					equal(t, len(piece) <= 2*store.PieceSize, true, "a piece of %d bytes", len(piece))
					text += string(piece)
					return piece[:0], nil
				}))(t)
			text += string(rest)
			var found []any
			succeed(t, json.Unmarshal([]byte("["+text+"]"), &found))
			equal(t, len(found), rounds+1)
			contains(t, text, "number 399")
			for round := range rounds {
				contains(t, text, fmt.Sprintf(".name.%d.99@", round))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			letGo, done := occupied(t, s.Heavy, s.Number), make(chan bool)
			go func() {
				defer close(done)
				read()
			}()
			waitFor(t, s.Heavy, 1)
			letGo()
			<-done
		})
	}
}

// history is a part of the history of an organization.
func (s *folk) history(place store.HistoryPlace, most int) store.HistoryPart {
	s.Helper()
	return must(s.History(s.Context(), s.Number, place, most))(s)
}

// The first user and the owner of a chapter are in the histories of what they own.
func TestOwnersOfNewOrganizationsAreInTheirHistories(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	user, account := must2(s.Setup(ctx, must(s.SetupToken(ctx))(t), access.SetupInput{UserInput: access.UserInput{
		Name: "Ada", Email: "ada@x.org", Password: "a long password"}, Organization: "Harbor"}))(t)
	chapter := must(s.CreateChapter(store.By(ctx, history.ConsoleChannel, "ada@x.org"), account, user.ID,
		account.ID, "Pier"))(t)
	for _, number := range []int64{account.Number, chapter.Number} {
		equal(t, told(t, s, number),
			[]string{`user created by ada@x.org {"email":[null,"ada@x.org"],"role":[null,"owner"]}`}, "the history")
	}
}

// Work that goes on in the background is by the person who has asked for it.
func TestChangeOfATagInTheBackgroundIsBySomeone(t *testing.T) {
	s := newFolk(t)
	s.fillTagged(600, "old")
	changed := must(s.RenameTags(store.By(t.Context(), history.APIChannel, "API key X"), s.Number, "new", "old"))(t)
	equal(t, changed.Unfinished(), true)
	s.step()
	entry := s.history(store.HistoryPlace{}, 1).Entries[0]
	change := entry.Changes[0]
	equal(t, entry.Count > 1, true)
	expect(t, "the last changes", fmt.Sprint("API key X ", history.APIChannel, " ", history.ContactNoun), change.Who,
		change.Channel, change.Noun)
	s.finishJobs()
}

// note is a note of a person.
func note(t testing.TB, text, at string) history.NoteInput {
	t.Helper()
	in := history.NoteInput{Note: &text, OccurredAt: &at}
	succeed(t, in.Validate(nil, time.Now()))
	return in
}

// kindsOf are the ids and kinds of a page of a contact's history.
func (s *folk) kinds(contact, page, perPage int64, newest bool) (kinds string,
	result store.ListResult) {
	s.Helper()
	body, result := must2(s.Activities(s.Context(), s.Number, contact, crm.PageRequest{Page: page, PerPage: perPage},
		newest, nil, nil))(s)
	var found []struct{ Type string }
	succeed(s, json.Unmarshal([]byte("["+string(body)+"]"), &found))
	for _, a := range found {
		kinds += a.Type + " "
	}
	return strings.TrimSpace(kinds), result
}

func (s *folk) addNote(ctx context.Context, contact int64, text, at string) store.NoteDocument {
	s.Helper()
	return must(s.AddNote(ctx, s.Number, contact, note(s, text, at)))(s)
}

// The history of a contact has its gifts and notes, page by page in both orders, beside those of others.
func TestTheHistoryOfAContact(t *testing.T) {
	ctx := t.Context()
	s := newFolk(t)
	id := s.create(`{"first_name":"Ana","emails":[{"value":"a@x.org"}]}`).ID
	other := s.create(`{"first_name":"Bea"}`).ID
	s.create(`{"first_name":"Ana","company":"Acme","emails":[{"value":"a@x.org"}]}`)
	made := s.addNote(store.By(ctx, history.APIChannel, "API key X"), id, "Called.", "2026-01-31")
	expect(t, "the note", "API key X 2026-01-31T12:00:00Z", made.Who, made.OccurredAt().Format(time.RFC3339))
	s.refund(s.gave(id, "2026-01-31", "").Code)
	s.addNote(ctx, other, "Other.", "")
	for _, c := range []struct {
		page, perPage int64
		newest        bool
		want          string
	}{
		{1, 10, false, "created merged note gift refund"},
		{1, 2, false, "created merged"},
		{3, 2, false, "refund"},
		{4, 2, false, ""},
		{1, 2, true, "refund gift"},
		{3, 2, true, "created"},
		{9, 9, true, ""},
	} {
		got, result := s.kinds(id, c.page, c.perPage, c.newest)
		equal(t, got, c.want, "page %d of %d, newest %v", c.page, c.perPage, c.newest)
		expect(t, "in all, on the page", fmt.Sprint(5, len(strings.Fields(c.want))), result.Total, result.Count)
	}
	one := crm.PageRequest{Page: 1, PerPage: 1}
	s.archive(id)
	refuses(t, "archived", crm.ErrArchived)(s.Activities(ctx, s.Number, id, one, false, nil, nil))
	refuses(t, "archived", crm.ErrArchived)(s.AddNote(ctx, s.Number, id, note(t, "x", "")))
	equal(t, s.timeline(id)[0].Kind, history.DidArchive)
	refuses(t, "foreign", crm.ErrNotFound)(s.Activities(ctx, s.another().Number, id, one, false, nil, nil))
}

// A change is undone by another one, which says so and can be undone itself.
func TestConcurrentChangeOfAContactIsUndone(t *testing.T) {
	s := newFolk(t)
	id := s.create(
		`{"first_name":"Ana","last_name":"Smith","emails":[{"value":"a@x.org"}],"tags":["a"],"external_ids":[{"source":"crm","value":"1"}],"do_not_mail":true}`).ID
	before := s.get(id)
	patched := s.update(id,
		`{"last_name":"Jones","emails":[{"value":"b@x.org"}],"tags":["b"],"type":"company","company":"Acme","external_ids":[{"source":"crm","value":"2"}],"do_not_mail":false,"deceased":true}`).Tag.Revision
	ctx := store.By(t.Context(), history.ConsoleChannel, "ana@x.org")
	undo := func(revision int64) int64 {
		t.Helper()
		undone, left := must2(s.UndoChange(ctx, s.Number, id, revision, "US"))(t)
		equal(t, len(left), 0)
		return undone.Tag.Revision
	}
	no := func(what, words string, revision int64) {
		t.Helper()
		says(t, what, words)(s.UndoChange(ctx, s.Number, id, revision, "US"))
	}
	undone := undo(patched)
	is := s.get(id)
	is.Updated = before.Updated
	equal(t, is, before)
	_, err := s.CreateContact(ctx, s.Number, input(t,
		`{"first_name":"Ana","last_name":"Smith","emails":[{"value":"a@x.org"}]}`), crm.MergeSeen)
	wantMatched(t, "its email", err, id)
	record := s.record(id)
	expect(t, "the contact", "false true false [{crm 1}]", record.IsCompany, record.DoNotMail, record.Deceased,
		record.ExternalIDs)
	found := s.timeline(id)
	expect(t, "the history", fmt.Sprint("3 ", undone, patched, " ana@x.org false true false"), len(found),
		found[0].Revision, found[0].Undoes, found[0].Who, found[0].Undone, found[1].Undone, found[2].Undone)
	no("undone again", string(doc.NothingToUndo), patched)
	undo(undone)
	found = s.timeline(id)
	expect(t, "undone", "true false", found[1].Undone, found[2].Undone)
	added := s.addNote(ctx, id, "Secret.", "").Revision
	shown := func() string {
		found := s.timeline(id)
		return found[slices.IndexFunc(found, func(a history.Activity) bool { return a.Revision == added })].Note()
	}
	undo(added)
	equal(t, shown(), "", "the note is hidden")
	no("the note was hidden again", "", added)
	undo(added + 1)
	equal(t, shown(), "Secret.", "the note is shown again")
	other := s.create(`{"first_name":"Bea"}`)
	refuses(t, "a change of another contact", crm.ErrNotFound)(s.UndoChange(ctx, s.Number, id, other.Tag.Revision,
		"US"))
	must2(s.UndoChange(ctx, s.Number, other.ID, other.Tag.Revision, "US"))(t)
	refuses(t, "a contact whose create was undone", crm.ErrArchived)(s.CheckContact(ctx, s.Number, other.ID))
	s.archive(id)
	no("undone on an archived contact", string(doc.ArchivedFirst), patched)
}

// A check finds what is wrong with the history, and a repair makes it one again.
func TestACheckKnowsTheHistory(t *testing.T) {
	ctx := t.Context()
	s := newFolk(t)
	id := s.create(`{"first_name":"Ana","emails":[{"value":"a@x.org"}]}`).ID      // 1
	s.create(`{"first_name":"Bea"}`)                                              // 2
	mustImport(t, s.Book, s.Account, `[{"title":"Gala","slug":"gala"}]`)          // 3
	mustImport(t, s.Book, s.Account, `[{"title":"Gala","slug":"gala","goal":5}]`) // 4
	s.create(`{"company":"Acme","emails":[{"value":"a@x.org"}]}`)                 // 5
	s.gave(id, "2026-01-31", "")                                                  // 6 and 7
	s.addNote(ctx, id, "x", "")                                                   // 8
	for _, c := range rows.Of[struct{ Says, SQL string }](strings.ReplaceAll(`
		the changes 4 to 4 are missing                   DELETE FROM change WHERE account_id = $1 AND revision = 4
		the changes 8 to 8 are missing                   DELETE FROM change WHERE account_id = $1 AND revision = 8
		revision is 7, and should be 8                   UPDATE account_tally SET revision = 7 WHERE account_id = $1
		the changes 9 to 10 are missing                  UPDATE account_tally SET revision = 10 WHERE account_id = $1
		oldest is 3, and should be 1                     UPDATE account_tally SET oldest = 3 WHERE account_id = $1
		contact ID: revision is 1, and should be 7       UPDATE contact SET revision = 1 WHERE account_id = $1 AND id = ID
		contact ID: revision is 2, and should be 7       UPDATE contact SET revision = 2 WHERE account_id = $1 AND id = ID
		revision is 0, and should be 3                   UPDATE campaign SET revision = 0 WHERE account_id = $1
		gift 0000000001: revision is 1, and should be 6  UPDATE gift SET revision = 1 WHERE account_id = $1
		revision is 2, and should be 5                   UPDATE change SET id = id + 1 WHERE account_id = $1 AND revision = 5
		oldest is 1, and should be 2                     DELETE FROM change WHERE account_id = $1 AND revision = 1
		oldest is 2, and should be 11                    DELETE FROM change WHERE account_id = $1
	`, "ID", fmt.Sprint(id))) {
		s.damage(c.SQL, s.Number)
		found, _ := s.checkAll(false)
		contains(t, strings.Join(found, "\n"), c.Says, "%s: found", c.SQL)
		found, report := s.checkAll(true)
		equal(t, len(found) > 0, true, c.SQL)
		equal(t, report.Repaired, report.Problems, c.SQL)
		s.checked()
	}
	s.addNote(ctx, id, "y", "")
	got := told(t, s.Book, s.Number)
	equal(t, len(got), 1, "the history after all that")
	contains(t, got[0], "contact note")
	equal(t, s.timeline(id)[0].Revision, 11, "no number was given out again: the last one")
}

// The history of an organization tells each change of a gift once, whatever it does to contacts and plans.
func TestTheHistoryOfAnOrganizationTellsAChangeOfAGiftOnce(t *testing.T) {
	s := newFolk(t)
	ana, bob := s.create(`{"first_name":"Ana"}`).ID, s.create(`{"first_name":"Bob"}`).ID
	plan := newPlan(t, s.Book, s.Number, fmt.Sprintf(
		`{"contact_id":%d,"amount":5,"method":"card","frequency":"monthly","start_at":"2026-01-01"}`, ana))
	ctx := store.By(t.Context(), history.APIChannel, "API key X")
	last := func() int64 {
		all := everyChange(t, s.Book, s.Number)
		return all[len(all)-1].Revision
	}
	before := last()
	tells := func(want string) {
		t.Helper()
		var got []string
		for _, e := range s.history(store.HistoryPlace{After: before}, 10).Entries {
			if a := e.Changes[0]; a.Revision > before {
				got = append(got, a.Noun.String()+" "+a.Kind.String())
			}
		}
		before = last()
		equal(t, strings.Join(got, ", "), want, "the history tells")
	}
	record := func(more string) string {
		body := fmt.Sprintf(`{"contact_id":%d,"amount":5,"method":"cash","transacted_at":"2026-01-02"%s}`, ana, more)
		return must(s.CreateGift(ctx, s.Number, giftInput(t, body, true, time.Now())))(t).Code
	}
	change := func(code, body string) {
		must(s.UpdateGift(ctx, s.Number, code, giftInput(t, body, false, time.Now())))(t)
	}
	gift := record("")
	tells("contact gift")
	change(gift, `{"correction":true,"amount":6,"method":"check"}`)
	tells("transaction updated")
	change(gift, `{"note":"by mail"}`)
	record("")
	tells("contact gift, transaction updated")
	change(gift, fmt.Sprintf(`{"contact_id":%d}`, bob))
	tells("transaction updated")
	must(s.RefundGift(ctx, s.Number, gift, nil, ""))(t)
	tells("contact refund")
	promised := record(`,"status":"pending","plan_id":"` + plan.Code + `"`)
	tells("contact gift")
	change(promised, `{"status":"succeeded"}`)
	tells("plan updated, transaction updated")
	kinds, _ := s.kinds(ana, 1, 20, false)
	equal(t, kinds, "created plan gift gift gift gift gift gift", "the history of the contact")
}

// The history of an organization tells of a job, or of a program that does the same again and again, once, can be
// asked for a part of it, and finds days without reading what lies between.
func TestTheHistoryOfAnOrganizationIsGroupedAndFiltered(t *testing.T) {
	ctx := t.Context()
	s := newFolk(t)
	var id int64
	for i := range 12 {
		in := input(t, fmt.Sprintf(`{"first_name":"A%d"}`, i))
		id = must(s.CreateContact(store.By(ctx, history.APIChannel, "API key X"), s.Number, in, crm.Dedupe))(t).ID
	}
	s.fillTagged(1100, "old")
	s.addNote(store.By(ctx, history.ConsoleChannel, "ana@example.org"), id, "Called", "")
	must(s.RenameTags(store.By(ctx, history.ConsoleChannel, "bob@example.org"), s.Number, "new", "old"))(t)
	s.finishJobs()
	tells := func(place store.HistoryPlace, most int, want ...string) store.HistoryPart {
		t.Helper()
		part := s.history(place, most)
		var got []string
		for _, e := range part.Entries {
			got = append(got, fmt.Sprintf("%s %d of %d, shows %d", e.Changes[0].Noun, e.Count, e.Things(),
				len(e.Changes)))
		}
		equal(t, got, want, "%+v: the history tells", place)
		return part
	}
	noted := "contact 1 of 1, shows 1"
	part := s.history(store.HistoryPlace{}, 50)
	expect(t, "a page looks at so many changes, and there are more", "true true", part.Last-part.First < 1000,
		part.Older)
	yesterday, tomorrow := time.Now().AddDate(0, 0, -1), time.Now().AddDate(0, 0, 1)
	tells(store.HistoryPlace{Who: "API key X"}, 50, "contact 12 of 12, shows 5")
	tells(store.HistoryPlace{Who: "ana@example.org"}, 50, noted)
	tells(store.HistoryPlace{Who: "ana@example.org", About: "campaigns"}, 50)
	tells(store.HistoryPlace{From: tomorrow}, 50)
	tells(store.HistoryPlace{To: yesterday}, 50)
	tells(store.HistoryPlace{Who: "ana@example.org", From: yesterday, To: tomorrow}, 50, noted)
	renamed := tells(store.HistoryPlace{About: "contacts"}, 2, "contact 1100 of 1100, shows 5", noted)
	older := tells(store.HistoryPlace{Before: renamed.First, About: "contacts"}, 1, noted)
	expect(t, "older and newer ones", "true false true true", renamed.Older, renamed.Newer, older.Older, older.Newer)
	back := s.history(store.HistoryPlace{After: older.First - 1}, 1)
	expect(t, "the way back", fmt.Sprint(older.First, older.Last, true), back.First, back.Last, back.Newer)
}
