package book

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
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

// A history whose changes are large waits for its turn, shows little of each, and as JSON loses nothing.
func TestConcurrentLongHistoriesTakeTurns(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	const rounds = 12
	account := newAccount(t, s).Number
	id := create(t, s, account, `{"first_name":"Ada","last_name":"Lovelace"}`).ID
	for round := range rounds {
		var emails, tags []string
		for i := range 100 {
			emails = append(emails, fmt.Sprintf(`{"value":"somebody.with.a.long.name.%d.%d@example.org"}`, round, i))
		}
		for i := range 400 {
			tags = append(tags, fmt.Sprintf(`"a tag of round %d with number %d"`, round, i))
		}
		in := input(t, `{"emails":[`+strings.Join(emails, ",")+`],"tags":[`+strings.Join(tags, ",")+`]}`)
		must(s.UpdateContact(ctx, account, id, in))(t)
	}
	all := crm.PageRequest{Page: 1, PerPage: 100}
	for name, read := range map[string]func() error{
		"a page of a contact": func() error {
			changes, result, err := s.Timeline(ctx, account, history.ContactNoun, id, all)
			for _, change := range changes[:min(rounds, len(changes))] {
				if len(change.Data) > 4<<10 || change.Left < 400 || len(change.Changes()) == 0 {
					t.Errorf("%d bytes of a change are read, which lack %d values", len(change.Data), change.Left)
				}
			}
			equal(t, result.Total, rounds+1, "changes")
			return err
		},
		"a page of an organization": func() error {
			part, err := s.History(ctx, account, store.HistoryPlace{}, 40)
			if err == nil && (len(part.Entries) == 0 || len(part.Entries[0].Changes[0].Data) > 4<<10) {
				t.Errorf("%d entries", len(part.Entries))
			}
			return err
		},
		"the list of the API": func() error {
			var text strings.Builder
			rest, _, err := s.Activities(ctx, account, id, all, true, nil,
				func(piece []byte, _ store.ListResult) ([]byte, error) {
					if len(piece) > 2*store.PieceSize {
						t.Errorf("a piece of %d bytes", len(piece))
					}
					text.Write(piece)
					return piece[:0], nil
				})
			text.Write(rest)
			var found []any
			if err == nil {
				err = json.Unmarshal([]byte("["+text.String()+"]"), &found)
			}
			for round := range rounds {
				equal(t, len(found), rounds+1)
				contains(t, text.String(), "number 399")
				contains(t, text.String(), fmt.Sprintf(".name.%d.99@", round))
			}
			return err
		},
	} {
		letGo, done := occupied(t, s.Heavy, account), make(chan error, 1)
		go func() { done <- read() }()
		waitFor(t, s.Heavy, 1)
		letGo()
		if err := <-done; err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The first user and the owner of a chapter are in the histories of what they own.
func TestOwnersOfNewOrganizationsAreInTheirHistories(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	token := must(s.SetupToken(ctx))(t)
	user, account := must2(s.Setup(ctx, token, access.SetupInput{UserInput: access.UserInput{Name: "Ada",
		Email: "ada@x.org", Password: "a long password"}, Organization: "Harbor"}))(t)
	chapter := must(s.CreateChapter(store.By(ctx, history.ConsoleChannel, "ada@x.org"), account, user.ID,
		account.ID, "Pier"))(t)
	for _, number := range []int64{account.Number, chapter.Number} {
		equal(t, told(t, s, number),
			[]string{`user created by ada@x.org {"email":[null,"ada@x.org"],"role":[null,"owner"]}`}, "the history")
	}
}

// Work that goes on in the background is by the person who has asked for it.
func TestChangeOfATagInTheBackgroundIsBySomeone(t *testing.T) {
	ctx := t.Context()
	s, account := newBookOf(t)
	fillTagged(t, s, account, 600, "old")
	if changed := must(s.RenameTag(store.By(ctx, history.APIChannel, "API key X"), account, "old",
		"new"))(t); !changed.Unfinished() {
		t.Fatalf("%+v", changed)
	}
	workRound(t, jobs.NewJobWorker(s.JobStore))
	part, err := s.History(ctx, account, store.HistoryPlace{}, 1)
	if err != nil || len(part.Entries) != 1 || part.Entries[0].Count < 2 {
		t.Fatalf("%+v, %v", part, err)
	}
	if all := part.Entries[0].Changes; all[0].Who != "API key X" || all[0].Channel != history.APIChannel ||
		all[0].Noun != history.ContactNoun {
		t.Errorf("%+v, %v", part, err)
	}
	finishJobs(t, s)
}

// note is a note of a person.
func note(t testing.TB, text, at string) history.NoteInput {
	t.Helper()
	in := history.NoteInput{Note: &text, OccurredAt: &at}
	succeed(t, in.Validate(nil, time.Now()))
	return in
}

// kindsOf are the ids and kinds of a page of a contact's history.
func kindsOf(t testing.TB, s *Book, account, contact, page, perPage int64, newest bool) (kinds string,
	result store.ListResult) {
	t.Helper()
	body, result := must2(s.Activities(t.Context(), account, contact, crm.PageRequest{Page: page, PerPage: perPage},
		newest, nil, nil))(t)
	var found []struct{ Type string }
	succeed(t, json.Unmarshal([]byte("["+string(body)+"]"), &found))
	for _, a := range found {
		kinds += a.Type + " "
	}
	return strings.TrimSpace(kinds), result
}

// The history of a contact has its gifts and notes, page by page in both orders, beside those of others.
func TestTheHistoryOfAContact(t *testing.T) {
	ctx := t.Context()
	s, account := newBookOf(t)
	id := create(t, s, account, `{"first_name":"Ana","emails":[{"value":"a@x.org"}]}`).ID
	other := create(t, s, account, `{"first_name":"Bea"}`).ID
	create(t, s, account, `{"first_name":"Ana","company":"Acme","emails":[{"value":"a@x.org"}]}`)
	made := must(s.AddNote(store.By(ctx, history.APIChannel, "API key X"), account, id,
		note(t, "Called.", "2026-01-31")))(t)
	if made.Who != "API key X" || made.OccurredAt().Format(time.RFC3339) != "2026-01-31T12:00:00Z" {
		t.Errorf("%+v", made)
	}
	gift := must(s.CreateGift(ctx, account, giftInput(t,
		fmt.Sprintf(`{"amount":5,"method":"cash","transacted_at":"2026-01-31","contact_id":%d}`, id), true,
		time.Now())))(t)
	must(s.RefundGift(ctx, account, gift.Code, nil, ""))(t)
	must(s.AddNote(ctx, account, other, note(t, "Other.", "")))(t)
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
		got, result := kindsOf(t, s, account, id, c.page, c.perPage, c.newest)
		if got != c.want || result.Total != 5 || int(result.Count) != len(strings.Fields(c.want)) {
			t.Errorf("page %d of %d, newest %v: %q, %+v", c.page, c.perPage, c.newest, got, result)
		}
	}
	archive(t, s, account, id)
	wantError(t, "archived", errOf2(s.Activities(ctx, account, id, crm.PageRequest{Page: 1, PerPage: 1}, false, nil,
		nil)), crm.ErrArchived)
	wantError(t, "archived", errOf(s.AddNote(ctx, account, id, note(t, "x", ""))), crm.ErrArchived)
	if found, _ := must2(s.Timeline(ctx, account, history.ContactNoun, id,
		crm.PageRequest{Page: 1, PerPage: 1}))(t); len(found) != 1 || found[0].Kind != history.DidArchive {
		t.Errorf("archived: %+v", found)
	}
	wantError(t, "foreign", errOf2(s.Activities(ctx, newAccount(t, s).Number, id, crm.PageRequest{Page: 1, PerPage: 1},
		false,
		nil, nil)), crm.ErrNotFound)
}

// A change is undone by another one, which says so and can be undone itself.
func TestConcurrentChangeOfAContactIsUndone(t *testing.T) {
	s, account := newBookOf(t)
	id := create(t, s, account,
		`{"first_name":"Ana","last_name":"Smith","emails":[{"value":"a@x.org"}],"tags":["a"],"external_ids":[{"source":"crm","value":"1"}],"do_not_mail":true}`).ID
	before := get(t, s, account, id)
	patched := must(s.UpdateContact(t.Context(), account, id,
		input(t, `{"last_name":"Jones","emails":[{"value":"b@x.org"}],"tags":["b"],"type":"company","company":"Acme","external_ids":[{"source":"crm","value":"2"}],"do_not_mail":false,"deceased":true}`)))(t)
	ctx := store.By(t.Context(), history.ConsoleChannel, "ana@x.org")
	undone, left := must2(s.UndoChange(ctx, account, id, patched.Tag.Revision, "US"))(t)
	if len(left) > 0 {
		t.Fatalf("%v", left)
	}
	is := get(t, s, account, id)
	is.Updated = before.Updated
	equal(t, is, before)
	var matched *crm.Matched
	if _, err := s.CreateContact(ctx, account, input(t,
		`{"first_name":"Ana","last_name":"Smith","emails":[{"value":"a@x.org"}]}`), crm.MergeSeen); !errors.As(err,
		&matched) || matched.Contact.ID != id {
		t.Errorf("its email does not lead to it any more: %v", err)
	}
	record, err := s.ContactRecord(t.Context(), account, id)
	if ids := []crm.ExternalID{{Source: "crm", Value: "1"}}; err != nil || record.IsCompany || !record.DoNotMail ||
		record.Deceased || !slices.Equal(record.ExternalIDs, ids) {
		t.Errorf("%v: it is %+v", err, record)
	}
	found, _ := must2(s.Timeline(t.Context(), account, history.ContactNoun, id,
		crm.PageRequest{Page: 1, PerPage: 9}))(t)
	if len(found) != 3 || found[0].Revision != undone.Tag.Revision || found[0].Undoes != patched.Tag.Revision ||
		found[0].Who != "ana@x.org" ||
		!found[1].Undone || found[0].Undone || found[2].Undone {
		t.Errorf("%+v", found)
	}
	if _, _, err := s.UndoChange(ctx, account, id, patched.Tag.Revision, "US"); err == nil ||
		err.Error() != string(doc.NothingToUndo) {
		t.Errorf("undone again: %v", err)
	}
	must2(s.UndoChange(ctx, account, id, undone.Tag.Revision, "US"))(t)
	if found, _ := must2(s.Timeline(t.Context(), account, history.ContactNoun, id,
		crm.PageRequest{Page: 1, PerPage: 9}))(t); found[2].Undone || !found[1].Undone {
		t.Errorf("%+v", found)
	}
	added := must(s.AddNote(ctx, account, id, note(t, "Secret.", "")))(t)
	shown := func() string {
		found, _ := must2(s.Timeline(t.Context(), account, history.ContactNoun, id,
			crm.PageRequest{Page: 1, PerPage: 9}))(t)
		i := slices.IndexFunc(found, func(a history.Activity) bool { return a.Revision == added.Revision })
		return found[i].Note()
	}
	if _, _ = must2(s.UndoChange(ctx, account, id, added.Revision, "US"))(t); shown() != "" {
		t.Errorf("the note is not hidden: %q", shown())
	}
	if _, _, err := s.UndoChange(ctx, account, id, added.Revision, "US"); err == nil {
		t.Error("the note was hidden again")
	}
	if _, _ = must2(s.UndoChange(ctx, account, id, added.Revision+1, "US"))(t); shown() != "Secret." {
		t.Errorf("the note is not shown again: %q", shown())
	}
	other := create(t, s, account, `{"first_name":"Bea"}`)
	wantError(t, "a change of another contact was undone", errOf2(s.UndoChange(ctx, account, id, other.Tag.Revision,
		"US")), crm.ErrNotFound)
	must2(s.UndoChange(ctx, account, other.ID, other.Tag.Revision, "US"))(t)
	wantError(t, "a create was undone, and the contact is not archived",
		s.CheckContact(t.Context(), account, other.ID), crm.ErrArchived)
	archive(t, s, account, id)
	if _, _, err := s.UndoChange(ctx, account, id, patched.Tag.Revision, "US"); err == nil ||
		err.Error() != string(doc.ArchivedFirst) {
		t.Errorf("undone on an archived contact: %v", err)
	}
}

// A setting says for how many days changes are kept. Older ones are forgotten, and what is left is numbered on.
func TestOldChangesAreForgotten(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	clock := stopClock(s)
	account, other := newAccount(t, s).Number, newAccount(t, s).Number
	id := create(t, s, account, `{"first_name":"Ana"}`).ID
	create(t, s, other, `{"first_name":"Kept"}`)
	for i := range store.SweepUnit + 5 {
		must(s.SyncTags(ctx, account, id, []string{fmt.Sprint(i)}))(t)
	}
	days := "30"
	succeed(t, s.SetAccountSettings(ctx, account, access.AccountSettingsInput{HistoryDays: &days}))
	clock.move(31 * 24 * time.Hour)
	must(s.AddTags(ctx, account, id, []string{"new"}))(t)
	succeed(t, s.SweepHistory(ctx))
	if got := told(t, s, account); len(got) != 1 || !strings.HasPrefix(got[0], "contact tagged") {
		t.Errorf("kept is %q", got)
	}
	if got, result := kindsOf(t, s, account, id, 1, 10, false); got != "tagged" || result.Total != 1 {
		t.Errorf("kept of the contact is %q, %+v", got, result)
	}
	equal(t, len(told(t, s, other)), 1, "another account has lost its history")
	must(s.AddTags(ctx, account, id, []string{"newer"}))(t)
	if got, result := kindsOf(t, s, account, id, 1, 1, true); got != "tagged" || result.Total != 2 {
		t.Errorf("kept of the contact is %q, %+v", got, result)
	}
	clock.move(31 * 24 * time.Hour)
	succeed(t, s.SweepHistory(ctx))
	if got, result := kindsOf(t, s, account, id, 1, 10, true); got != "" || result.Total != 0 ||
		len(told(t, s, account)) > 0 {
		t.Errorf("kept is %q, %+v", got, result)
	}
}

// A check finds what is wrong with the history, and a repair makes it one again.
func TestACheckKnowsTheHistory(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	account := newAccount(t, s)
	number := account.Number
	id := create(t, s, number, `{"first_name":"Ana","emails":[{"value":"a@x.org"}]}`).ID // 1
	create(t, s, number, `{"first_name":"Bea"}`)                                         // 2
	mustImport(t, s, account, `[{"title":"Gala","slug":"gala"}]`)                        // 3
	mustImport(t, s, account, `[{"title":"Gala","slug":"gala","goal":5}]`)               // 4
	create(t, s, number, `{"company":"Acme","emails":[{"value":"a@x.org"}]}`)            // 5
	_, err := s.CreateGift(ctx, number, giftInput(t,
		fmt.Sprintf(`{"amount":5,"method":"cash","transacted_at":"2026-01-31","contact_id":%d}`, id), true, time.Now()))
	if err != nil { // 6 and 7
		t.Fatal(err)
	}
	if _, err := s.AddNote(ctx, number, id, note(t, "x", "")); err != nil { // 8
		t.Fatal(err)
	}
	contact := fmt.Sprintf("contact %d: ", id)
	for _, c := range []struct {
		says, sql string
		args      []any
	}{
		{"the changes 4 to 4 are missing", `DELETE FROM change WHERE account_id = $1 AND revision = 4`, nil},
		{"the changes 8 to 8 are missing", `DELETE FROM change WHERE account_id = $1 AND revision = 8`, nil},
		{"revision is 7, and should be 8", `UPDATE account_tally SET revision = 7 WHERE account_id = $1`, nil},
		{"the changes 9 to 10 are missing", `UPDATE account_tally SET revision = 10 WHERE account_id = $1`, nil},
		{"oldest is 3, and should be 1", `UPDATE account_tally SET oldest = 3 WHERE account_id = $1`, nil},
		{contact + "revision is 1, and should be 7",
			`UPDATE contact SET revision = 1 WHERE account_id = $1 AND id = $2`, []any{id}},
		{contact + "revision is 2, and should be 7",
			`UPDATE contact SET revision = 2 WHERE account_id = $1 AND id = $2`, []any{id}},
		{"revision is 0, and should be 3", `UPDATE campaign SET revision = 0 WHERE account_id = $1`, nil},
		{"gift 0000000001: revision is 1, and should be 6", `UPDATE gift SET revision = 1 WHERE account_id = $1`, nil},
		{"revision is 2, and should be 5", `UPDATE change SET id = id + 1 WHERE account_id = $1 AND revision = 5`, nil},
		{"oldest is 1, and should be 2", `DELETE FROM change WHERE account_id = $1 AND revision = 1`, nil},
		{"oldest is 2, and should be 11", `DELETE FROM change WHERE account_id = $1`, nil},
	} {
		damage(t, s, c.sql, append([]any{number}, c.args...)...)
		found, _ := checkAll(t, s, false)
		contains(t, strings.Join(found, "\n"), c.says, "%s: found %q", c.sql, found)
		if found, report := checkAll(t, s, true); len(found) == 0 || report.Repaired != report.Problems {
			t.Errorf("%s: %+v, %q", c.sql, report, found)
		}
		if found, _ := checkAll(t, s, false); len(found) > 0 {
			t.Errorf("%s: after the repair %q", c.sql, found)
		}
	}
	must(s.AddNote(ctx, number, id, note(t, "y", "")))(t)
	if got := told(t, s, number); len(got) != 1 || !strings.HasPrefix(got[0], "contact note") {
		t.Errorf("after all that, the history is %q", got)
	}
	last := func() (n int64) {
		succeed(t, s.Read(ctx, func(c db.Conn) error {
			row, err := store.ReadTally(c, number)
			n = row.Revision
			return err
		}))
		return n
	}
	equal(t, last(), 11, "a number was given out again: the last one")
}

// The history of an organization tells each change of a gift once, whatever it does to contacts and plans.
func TestTheHistoryOfAnOrganizationTellsAChangeOfAGiftOnce(t *testing.T) {
	s, account := newBookOf(t)
	ana, bob := create(t, s, account, `{"first_name":"Ana"}`).ID, create(t, s, account, `{"first_name":"Bob"}`).ID
	plan := newPlan(t, s, account,
		fmt.Sprintf(`{"contact_id":%d,"amount":5,"method":"card","frequency":"monthly","start_at":"2026-01-01"}`, ana))
	ctx, last := store.By(t.Context(), history.APIChannel, "API key X"), everyChange(t, s, account)
	tells := func(want string) {
		t.Helper()
		var got []string
		part := must(s.History(ctx, account, store.HistoryPlace{After: last[len(last)-1].Revision}, 10))(t)
		for _, e := range part.Entries {
			if a := e.Changes[0]; a.Revision > last[len(last)-1].Revision {
				got = append(got, a.Noun.String()+" "+a.Kind.String())
			}
		}
		if last = everyChange(t, s, account); strings.Join(got, ", ") != want {
			t.Errorf("the history tells %q, want %q", got, want)
		}
	}
	record := func(body string) string {
		made := must(s.CreateGift(ctx, account, giftInput(t,
			fmt.Sprintf(`{"contact_id":%d,"amount":5,"method":"cash","transacted_at":"2026-01-02"%s}`, ana, body),
			true, time.Now())))(t)
		return made.Code
	}
	change := func(code, body string) {
		must(s.UpdateGift(ctx, account, code, giftInput(t, body, false, time.Now())))(t)
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
	must(s.RefundGift(ctx, account, gift, nil, ""))(t)
	tells("contact refund")
	promised := record(`,"status":"pending","plan_id":"` + plan.Code + `"`)
	tells("contact gift")
	change(promised, `{"status":"succeeded"}`)
	tells("plan updated, transaction updated")
	if kinds, _ := kindsOf(t, s, account, ana, 1, 20, false); kinds != "created plan gift gift gift gift gift gift" {
		t.Errorf("the history of the contact is %q", kinds)
	}
}

// The history of an organization tells of a job, or of a program that does the same again and again, once, can be
// asked for a part of it, and finds days without reading what lies between.
func TestTheHistoryOfAnOrganizationIsGroupedAndFiltered(t *testing.T) {
	ctx := t.Context()
	s, account := newBookOf(t)
	key := store.By(ctx, history.APIChannel, "API key X")
	var id int64
	for i := range 12 {
		in, faults, err := crm.DecodeContact(doc.NewBody(fmt.Appendf(nil, `{"first_name":"A%d"}`, i)))
		if err == nil {
			err = in.Validate(faults, false, "US", time.Now())
		}
		succeed(t, err)
		made, err := s.CreateContact(key, account, in, crm.Dedupe)
		if id = made.ID; err != nil {
			t.Fatal(err)
		}
	}
	fillTagged(t, s, account, 1100, "old")
	must(s.AddNote(store.By(ctx, history.ConsoleChannel, "ana@example.org"), account, id,
		note(t, "Called", "")))(t)
	must(s.RenameTag(store.By(ctx, history.ConsoleChannel, "bob@example.org"), account, "old", "new"))(t)
	finishJobs(t, s)
	tells := func(place store.HistoryPlace, most int, want ...string) (part store.HistoryPart) {
		t.Helper()
		part, err := s.History(ctx, account, place, most)
		var got []string
		for _, e := range part.Entries {
			got = append(got, fmt.Sprintf("%s %d of %d, shows %d", e.Changes[0].Noun, e.Count, e.Things(),
				len(e.Changes)))
		}
		succeed(t, err)
		equal(t, slices.Equal(got, want), true, "%+v: the history tells", place)
		return part
	}
	added, noted := "contact 12 of 12, shows 5", "contact 1 of 1, shows 1"
	if part := must(s.History(ctx, account, store.HistoryPlace{}, 50))(t); !part.Older ||
		part.Last-part.First >= 1000 {
		t.Errorf("a page looks at changes %d to %d", part.First, part.Last)
	}
	tells(store.HistoryPlace{Who: "API key X"}, 50, added)
	tells(store.HistoryPlace{Who: "ana@example.org"}, 50, noted)
	tells(store.HistoryPlace{Who: "ana@example.org", About: "campaigns"}, 50)
	tells(store.HistoryPlace{From: time.Now().AddDate(0, 0, 1)}, 50)
	tells(store.HistoryPlace{To: time.Now().AddDate(0, 0, -1)}, 50)
	tells(store.HistoryPlace{Who: "ana@example.org", From: time.Now().AddDate(0, 0, -1),
		To: time.Now().AddDate(0, 0, 1)}, 50, noted)
	renamed := tells(store.HistoryPlace{About: "contacts"}, 2, "contact 1100 of 1100, shows 5",
		"tag 1 of 1, shows 1")
	older := tells(store.HistoryPlace{Before: renamed.First, About: "contacts"}, 1, noted)
	if !renamed.Older || renamed.Newer || !older.Newer || !older.Older {
		t.Errorf("%+v, then %+v", renamed, older)
	}
	if back := must(s.History(ctx, account, store.HistoryPlace{After: older.First - 1},
		1))(t); back.First != older.First || back.Last != older.Last || !back.Newer {
		t.Errorf("the way back leads to %d to %d", back.First, back.Last)
	}
}
