package book

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/rig"
	"donorbook/internal/store"
	"donorbook/internal/store/jobs"
	"donorbook/internal/store/merges"
	"donorbook/internal/store/move"
)

// twoOf makes two contacts that are the same person.
func twoOf(t testing.TB, s *Book, account int64) (survivor, other int64) {
	t.Helper()
	survivor = createAs(t, s, account,
		`{"first_name":"Thomas","last_name":"Reed","emails":["thomas@example.org"],"note":"Prefers mail","external_ids":[{"source":"old","value":"1"}]}`, crm.Force).ID
	other = createAs(t, s, account,
		`{"first_name":"Tom","last_name":"Reed","emails":["tom@example.org"],"phones":["(617) 555-0100"],"note":"Sings","company":"Reed Books","tags":["choir"],"do_not_call":true,"external_ids":[{"source":"old","value":"2"}]}`, crm.Force).ID
	return survivor, other
}

func into(other int64) crm.MergeInput { return crm.MergeInput{Contact: other} }

func mergeOf(t testing.TB, s *Book, account, survivor, other int64) int64 {
	t.Helper()
	return must(s.Merge(t.Context(), account, survivor, into(other), "US"))(t).Merge
}

func wantFault(t testing.TB, what string, err error, field string, is doc.Rule, args ...any) {
	t.Helper()
	var v *doc.Invalid
	if !errors.As(err, &v) || v.Faults[0].Field != field || v.Faults[0].Rule != is ||
		fmt.Sprint(v.Faults[0].Args...) != fmt.Sprint(args...) {
		t.Errorf("%s: %v, want %s %s %v", what, err, field, is, args)
	}
}

// A merge keeps what both have: values of the survivor first, lists of both, one note, and marks.
func TestAMergeUnitesTwoContacts(t *testing.T) {
	s, account := newBookOf(t)
	survivor, other := twoOf(t, s, account)
	mergeOf(t, s, account, survivor, other)
	c, err := s.ContactRecord(t.Context(), account, survivor)
	succeed(t, err)
	got := fmt.Sprint(c.FirstName, c.Emails, c.Phones, c.Company, c.Tags, c.ExternalIDs, c.DoNotCall, c.MatchKeys)
	want := "Thomas[{ thomas@example.org} { tom@example.org}] [{ (617) 555-0100}]Reed Books[choir] [{old 1} {old 2}] true [e:thomas@example.org e:tom@example.org p:+16175550100 x:1\told x:2\told]"
	equal(t, got, want, "merged")
	equal(t, c.Note, "Prefers mail\n\nSings", "merged")
	wantError(t, "the other contact", errOf(s.Contact(t.Context(), account, other, nil)), crm.ErrArchived)
	if made := create(t, s, account,
		`{"first_name":"Tom","last_name":"Reed","phones":["617-555-0100"]}`); !made.Merged || made.ID != survivor {
		t.Errorf("the phone of the other contact leads to %d", made.ID)
	}
	if got, _ := kindsOf(t, s, account, survivor, 1, 10, false); got != "created created merged_into merged merged" {
		t.Errorf("the history of both is %q", got)
	}
}

// Each merge that cannot be is refused by a clear answer, and nothing changes.
func TestWhatCannotBeMergedIsRefused(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	account, foreign := newAccount(t, s).Number, newAccount(t, s).Number
	survivor, other := twoOf(t, s, account)
	company := create(t, s, account, `{"type":"company","company":"Reed Books"}`).ID
	archived := create(t, s, account, `{"first_name":"Arc","last_name":"Hived"}`).ID
	archive(t, s, account, archived)
	erased := create(t, s, account, `{"first_name":"Era","last_name":"Sed"}`).ID
	erase(t, s, ctx, account, erased)
	stranger := create(t, s, foreign, `{"first_name":"Stran","last_name":"Ger"}`).ID
	merged := create(t, s, account, `{"first_name":"Mer","last_name":"Ged"}`).ID
	mergeOf(t, s, account, survivor, merged)
	before := everything(t, s, account)
	try := func(survivor int64, in crm.MergeInput) error {
		_, err := s.Merge(ctx, account, survivor, in, "US")
		_, preview := s.PreviewMerge(ctx, account, survivor, in, "US")
		equal(t, fmt.Sprint(err), fmt.Sprint(preview), "and the preview says %v", preview)
		return err
	}
	wantFault(t, "itself", try(survivor, into(survivor)), "contact_id", doc.MergeSelf)
	wantFault(t, "an archived contact", try(survivor, into(archived)), "contact_id", doc.ArchivedID)
	wantFault(t, "an erased contact", try(survivor, into(erased)), "contact_id", doc.ErasedID)
	wantFault(t, "a foreign contact", try(survivor, into(stranger)), "contact_id", doc.Unknown, "contacts")
	wantFault(t, "no contact", try(survivor, into(survivor+1000)), "contact_id", doc.Unknown, "contacts")
	wantFault(t, "a merged contact", try(other, into(merged)), "contact_id", doc.MergedID, survivor)
	wantError(t, "into a merged contact", try(merged, into(other)), crm.ErrArchived)
	wantFault(t, "a company", try(survivor, into(company)), "contact_id", doc.OtherType)
	wantError(t, "into an archived contact", try(archived, into(other)), crm.ErrArchived)
	wantError(t, "into a foreign contact", try(stranger, into(other)), crm.ErrNotFound)
	choose := func(field string, id int64) crm.MergeInput {
		return crm.MergeInput{Contact: other, MergeChoice: crm.MergeChoice{Fields: map[string]int64{field: id}}}
	}
	wantFault(t, "no field", try(survivor, choose("shoe_size", other)), "fields.shoe_size", doc.NoMergeField)
	wantFault(t, "a field that no one chooses", try(survivor, choose("created_at", other)), "fields.created_at",
		doc.NoMergeField)
	wantFault(t, "a third contact", try(survivor, choose("company", company)), "fields.company", doc.MergeFieldOf,
		survivor, other)
	wantFault(t, "a restore", errOf(s.RestoreContact(ctx, account, merged)), "", doc.MergedContact, merged,
		survivor)
	wantFault(t, "an erasure", errOf(s.EraseContact(ctx, account, merged)), "", doc.EraseSurvivor, merged,
		survivor)
	wantFault(t, "a gift", errOf(s.CreateGift(ctx, account, giftInput(t,
		fmt.Sprintf(`{"contact_id":%d,"amount":5,"method":"cash","transacted_at":"2026-01-31"}`, merged), true,
		time.Now()))), "contact_id", doc.MergedID, survivor)
	wantState(t, "what was refused", everything(t, s, account), before)
	long := strings.Repeat("x", crm.MaxNote-5)
	a := createAs(t, s, account, `{"first_name":"Lo","last_name":"Ng","note":"`+long+`"}`, crm.Force).ID
	b := createAs(t, s, account, `{"first_name":"Lo","last_name":"Ng","note":"another one"}`, crm.Force).ID
	wantFault(t, "two long notes", try(a, into(b)), "note", doc.NotesTooLong, crm.MaxNote)
	must(s.Merge(ctx, account, a, crm.MergeInput{Contact: b,
		MergeChoice: crm.MergeChoice{Fields: map[string]int64{"note": a}}}, "US"))(t)
}

// A merge is undone once; what depends on another merge waits for that; what was changed since stays with the survivor.
func TestAMergeIsUndoneOnceAndInOrder(t *testing.T) {
	ctx := t.Context()
	s, account := newBookOf(t)
	undo := func(id int64) (store.Undone, error) { return s.UndoMerge(ctx, account, id, "US") }
	survivor, other := twoOf(t, s, account)
	first := mergeOf(t, s, account, survivor, other)
	last := create(t, s, account, `{"first_name":"Thomas","last_name":"Reed"}`).ID
	second := mergeOf(t, s, account, last, survivor)
	_, err := undo(first)
	wantFault(t, "out of order", err, "", doc.MergedSince, survivor, last, second)
	if _, err = undo(second); err != nil {
		t.Fatal(err)
	}
	must(s.UpdateContact(ctx, account, survivor, input(t,
		`{"note":"Changed since","external_ids":[{"source":"old","value":"1"}]}`)))(t)
	taken := create(t, s, account,
		`{"first_name":"Ta","last_name":"Ker","external_ids":[{"source":"old","value":"2"}]}`).ID
	undone := must(undo(first))(t)
	equal(t, fmt.Sprint(undone.Left), "[note external_ids]", "left %v", undone.Left)
	is, was := recordOf(t, s, account, survivor), recordOf(t, s, account, other)
	equal(t, fmt.Sprint(is.Note, was.Note, len(is.Emails), len(was.Emails)), "Changed sinceSings1 1", "survivor, other")
	wantFault(t, "again", errOf(undo(first)), "", doc.UndoneMerge)
	wantError(t, "no merge", errOf(undo(999)), crm.ErrNotFound)
	_, err = undo(1) // a change that is no merge
	wantError(t, "another change", err, crm.ErrNotFound)
	wantFault(t, "the change alone", errOf2(s.UndoChange(ctx, account, survivor, first, "US")), "",
		doc.UndoesMerge)
	third := mergeOf(t, s, account, taken, other)
	archive(t, s, account, taken)
	wantFault(t, "of an archived survivor", errOf(undo(third)), "", doc.ArchivedFirst)
	erase(t, s, ctx, account, taken)
	wantFault(t, "of an erased survivor", errOf(undo(third)), "", doc.ErasedMerge)
	if c := must(s.ContactRecord(ctx, account, other))(t); !c.Erased() {
		t.Errorf("the contact that was merged into one that was erased is %+v", c)
	}
}

// What two contacts that were merged into a third one both have stays with it while one of them is part of it, and
// the company is the one of the merge that stands.
func TestAnUndoLeavesWhatAnotherMergedContactHas(t *testing.T) {
	ctx := t.Context()
	s, account := newBookOf(t)
	survivor := create(t, s, account, `{"first_name":"Ann","last_name":"Lee"}`).ID
	var others, merges []int64
	for _, company := range []string{"Lee Books", "Lee Bikes"} {
		others = append(others, createAs(t, s, account,
			`{"first_name":"Ann","last_name":"Lee","company":"`+company+`","title":"Chair","emails":["lee@example.org"],"phones":["617-555-0100"],"tags":["board"]}`, crm.Force).ID)
	}
	for _, other := range others {
		merges = append(merges, mergeOf(t, s, account, survivor, other))
	}
	must(s.UndoMerge(ctx, account, merges[0], "US"))(t)
	c, err := s.ContactRecord(ctx, account, survivor)
	if got, want := fmt.Sprint(c.Company, c.Title, c.Emails, c.Phones, c.Tags, c.MatchKeys),
		"Lee BikesChair[{ lee@example.org}] [{ 617-555-0100}] [board] [e:lee@example.org p:+16175550100]"; err != nil || got != want {
		t.Errorf("%v: the survivor has %s, want %s", err, got, want)
	}
	must(s.UndoMerge(ctx, account, merges[1], "US"))(t)
	if c := must(s.ContactRecord(ctx, account,
		survivor))(t); len(c.Emails)+len(c.Phones)+len(c.Tags)+len(c.MatchKeys)+len(c.Title) > 0 {
		t.Errorf("after both were undone the survivor has %+v", c)
	}
}

// What a create or an import has merged becomes a contact of its own, once. The names of a spouse are for a person to
// look at.
func TestAMergedCreateIsTakenApart(t *testing.T) {
	ctx := t.Context()
	s, account := newBookOf(t)
	ana := create(t, s, account,
		`{"first_name":"Ana","last_name":"Ruiz","emails":["ruiz@example.org"],"addresses":[{"city":"Boston"}]}`).ID
	before := everything(t, s, account)
	sent := `{"first_name":"Juan","last_name":"Ruiz","emails":["ruiz@example.org"],"phones":["617-555-0100"],"addresses":[{"city":"Lima"}],"external_ids":[{"source":"other","value":"7"}]}`
	juan := create(t, s, account, sent)
	if !juan.Merged || juan.Merge == 0 || !juan.Review {
		t.Fatalf("a create with another name: %+v", juan)
	}
	equal(t, create(t, s, account, sent).Merge, juan.Merge, "the same again is merge")
	review, result := must2(s.Merges(ctx, account, merges.Filter{Review: true},
		crm.PageRequest{Page: 1, PerPage: 10}))(t)
	if result.Total != 1 || review[0].ID != juan.Merge {
		t.Errorf("to look at are %+v", review)
	}
	undone := must(s.UndoMerge(ctx, account, juan.Merge, "US"))(t)
	if len(undone.Left) > 0 {
		t.Fatal(undone.Left)
	}
	made := recordOf(t, s, account, undone.Other.ID)
	if made.FirstName != "Juan" || len(made.Emails) != 1 || len(made.Phones) != 1 || made.Addresses[0].City != "Lima" {
		t.Errorf("what was sent became %+v", made)
	}
	after := everything(t, s, account)
	for _, row := range before {
		if strings.HasPrefix(row, "contact ") && !slices.Contains(after, row) {
			t.Errorf("%s is not what it was", row)
		}
	}
	if _, result := must2(s.Merges(ctx, account, merges.Filter{Review: true},
		crm.PageRequest{Page: 1, PerPage: 10}))(t); result.Total != 0 {
		t.Errorf("%d merges to look at", result.Total)
	}
	wantFault(t, "again", errOf(s.UndoMerge(ctx, account, juan.Merge, "US")), "", doc.UndoneMerge)
	row := must(s.MergeOf(ctx, account, juan.Merge))(t)
	equal(t, row.Other, undone.Other.ID)
	equal(t, must(s.UndoMerge(ctx, account, row.Undone, "US"))(t).Survivor.ID, ana, "the undo of the undo")
	kept := create(t, s, account, `{"first_name":"Zoe","last_name":"Ruiz","emails":["ruiz@example.org"]}`)
	succeed(t, s.KeepMerge(ctx, account, kept.Merge))
	equal(t, kept.Review, true)
	equal(t, must(s.MergeOf(ctx, account, kept.Merge))(t).Review, store.ReviewKept, "kept")
	equal(t, create(t, s, account, `{"first_name":"New","last_name":"Person","emails":["new@example.org"]}`).Merge, 0,
		"a new contact has merge")
}

// Rows that an import has merged can be taken apart one by one, or with the whole import.
func TestMergesOfAnImportAreUndone(t *testing.T) {
	ctx := t.Context()
	s, account := newBookOf(t)
	create(t, s, account, `{"first_name":"Ana","last_name":"Ruiz","emails":["ana@example.org"]}`)
	create(t, s, account, `{"first_name":"Ben","last_name":"King","emails":["ben@example.org"]}`)
	im := importFile(t, s, account,
		"First name,Last name,Email,Company\nAna,Ruiz,ana@example.org,Ruiz Ltd\nBen,King,ben@example.org,King Ltd\nBen,King,ben@example.org,\n", jobs.MergeExisting)
	all := func() []store.Merge {
		t.Helper()
		found, _ := must2(s.Merges(ctx, account, merges.Filter{}, crm.PageRequest{Page: 1, PerPage: 10}))(t)
		return found
	}
	found := all()
	if len(found) != 2 {
		t.Fatalf("the import has made %+v", found) // a row that changes nothing needs no undo
	}
	undone := must(s.UndoMerge(ctx, account, found[0].ID, "US"))(t)
	if recordOf(t, s, account, undone.Other.ID).Company != "Ruiz Ltd" ||
		recordOf(t, s, account, undone.Survivor.ID).Company != "" {
		t.Fatalf("%+v", undone)
	}
	old, survivor := createAs(t, s, account, `{"first_name":"Old","last_name":"Id"}`, crm.Force).ID,
		createAs(t, s, account, `{"first_name":"Old","last_name":"Id"}`, crm.Force).ID
	mergeOf(t, s, account, survivor, old)
	importFile(t, s, account,
		fmt.Sprintf("Contact ID,First name,Last name,Title,Total given,Recurring given,Created,Updated,Archived\n%d,Old,Id,Owner,0,0,2026-01-01T00:00:00Z,2026-01-01T00:00:00Z,\n", old), jobs.MergeExisting) // an export from before the merge
	equal(t, recordOf(t, s, account, survivor).Title, "Owner",
		"a row with the id of a merged contact does not lead to the survivor")
	finishUndo(t, s, account, im.ID)
	if found := all(); found[1].Undone == 0 {
		t.Errorf("a merge of an import that was undone still stands: %+v", found[1])
	}
	wantFault(t, "a merge of an import that was undone", errOf(s.UndoMerge(ctx, account, found[1].ID, "US")),
		"", doc.UndoneMerge)
}

// Of merges of the same contacts at the same moment on two nodes, one is made, and the others get a clear answer.
func TestConcurrentMergesOnTwoNodes(t *testing.T) {
	a, b := twoNodes(t)
	account := newAccount(t, a).Number
	for round := range 5 {
		survivor, other := int64(0), int64(0)
		if survivor, other = createAs(t, a, account, `{"first_name":"A","last_name":"A"}`, crm.Force).ID,
			createAs(t, a, account, `{"first_name":"B","last_name":"B"}`, crm.Force).ID; round%2 == 0 {
			must(a.CreateGift(t.Context(), account, giftInput(t,
				fmt.Sprintf(`{"contact_id":%d,"amount":5,"method":"cash","transacted_at":"2026-01-31"}`, other), true,
				time.Now())))(t)
		}
		errs := make([]error, 6)
		rig.AtOnce(len(errs), func(i int) {
			node, x, y := []*Book{a, b}[i%2], survivor, other
			if i%3 == 0 {
				x, y = other, survivor
			}
			_, errs[i] = node.Merge(t.Context(), account, x, into(y), "US")
		})
		merged := 0
		for _, err := range errs {
			var v *doc.Invalid
			switch {
			case err == nil:
				merged++
			case errors.Is(err, crm.ErrArchived):
			case !errors.As(err, &v) || v.Faults[0].Rule != doc.MergedID:
				t.Errorf("refused by %v", err)
			}
		}
		equal(t, merged, 1, "merges were made of one pair")
	}
}

// Erasing a person erases all contacts that were merged into theirs, and what was sent.
func TestErasingAPersonErasesMergedContacts(t *testing.T) {
	ctx := t.Context()
	o := newDatabase(t)
	s := open(t, o)
	account := newAccount(t, s).Number
	survivor, other := twoOf(t, s, account)
	inner := createAs(t, s, account,
		`{"first_name":"Tommy","last_name":"Innerkwolf","emails":["inner@kwolf.example"],"note":"Innerkwolf secret"}`,
		crm.Force).ID
	mergeOf(t, s, account, other, inner)
	mergeOf(t, s, account, survivor, other)
	create(t, s, account,
		`{"first_name":"Thomas","last_name":"Reed","emails":["thomas@example.org"],"note":"Sentkwolf"}`)
	aside := create(t, s, account, `{"first_name":"Aside","last_name":"Person","phones":["617-555-0199"]}`).ID
	create(t, s, account,
		// merged into another person
		`{"first_name":"Tom","last_name":"Reed","emails":["tom2@kwolf.example"],"phones":["617-555-0199"]}`)
	damage(t, s, `INSERT INTO duplicate (account_id, a, b, person, level, probability, reasons, against, state, digest_a, digest_b) VALUES ($1, $2, $3, $2, 1, 990000, 'Reed', '', 0, 1, 2)`, account, survivor, aside)
	erase(t, s, ctx, account, survivor)
	for _, id := range []int64{survivor, other, inner} {
		if c := must(s.ContactRecord(ctx, account, id))(t); !c.Erased() {
			t.Errorf("contact %d is %+v", id, c)
		}
	}
	pairs := must(store.List(ctx, s.Store, store.Number, `SELECT a FROM duplicate WHERE account_id = $1`,
		account))(t)
	if len(pairs) > 0 {
		t.Errorf("pairs %v", pairs)
	}
	sent, err := store.List(ctx, s.Store, store.ScanMerge, store.MergeColumns+` AND sent <> '' ORDER BY id`,
		account)
	for i := range sent {
		equal(t, sent[i].SentDocument(), "", "what was sent about the person is kept")
	}
	succeed(t, err)
	equal(t, len(sent), 2, "%+v", sent)
	succeed(t, s.Close())
	if found := traces(t, o, []string{"innerkwolf", "sentkwolf", "inner@kwolf"}); len(found) > 0 {
		t.Errorf("found %q", found)
	}
}

// An account with merges leaves and comes back with them, and they can be undone there.
func TestMergesLeaveAndComeBackWithTheirAccount(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	account := newAccount(t, s)
	survivor, other := twoOf(t, s, account.Number)
	must(s.CreateGift(ctx, account.Number, giftInput(t,
		fmt.Sprintf(`{"contact_id":%d,"amount":5,"method":"cash","transacted_at":"2026-01-31"}`, other), true,
		time.Now())))(t)
	id := mergeOf(t, s, account.Number, survivor, other)
	sent := create(t, s, account.Number, `{"first_name":"Ann","last_name":"Lee","emails":["tom@example.org"]}`)
	files := exportAccount(t, s, account)
	for _, wrong := range [][3]string{{move.ContactFile, fmt.Sprintf(`"merged_into":%d`, survivor),
		fmt.Sprintf(`"merged_into":%d`, other)}, {move.MergeFile, fmt.Sprintf(`"other_id":%d`, other),
		fmt.Sprintf(`"other_id":%d`, survivor)}} {
		if _, err := s.ImportAccount(ctx, changedFile(t, files, wrong[0], wrong[1], wrong[2]),
			move.AccountImport{Progress: quiet}); err == nil || !strings.Contains(err.Error(), "merged into") {
			t.Errorf("%s with a contact that was merged into itself: %v", wrong[0], err)
		}
	}
	made := importAccount(t, s, files, "")
	number := made.Account.Number
	for _, merge := range []int64{sent.Merge, id} { // which have the same numbers in an account that is new
		undone := must(s.UndoMerge(ctx, number, merge, "US"))(t)
		if doc.IDAccount(undone.Survivor.ID) != number || doc.IDAccount(undone.Other.ID) != number {
			t.Fatalf("merge %d of the account that came back: %+v", merge, undone)
		}
	}
	back := doc.MakeID(number, doc.IDSeq(other))
	if c := must(s.ContactRecord(ctx, number, back))(t); c.FirstName != "Tom" ||
		c.Stats.TotalContributions != 5 || c.Archived() {
		t.Errorf("%+v", c)
	}
}

// A merge whose changes are no longer kept cannot be undone, and what was sent is forgotten with them.
func TestAMergeThatTheHistoryHasForgotten(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	clock := stopClock(s)
	account := newAccount(t, s).Number
	survivor, other := twoOf(t, s, account)
	id := mergeOf(t, s, account, survivor, other)
	sent := create(t, s, account, `{"first_name":"Ann","last_name":"Lee","emails":["tom@example.org"]}`)
	days := "30"
	succeed(t, s.SetAccountSettings(ctx, account, access.AccountSettingsInput{HistoryDays: &days}))
	clock.move(31 * 24 * time.Hour)
	succeed(t, s.SweepHistory(ctx))
	for _, merge := range []int64{id, sent.Merge} {
		wantFault(t, "a merge of long ago", errOf(s.UndoMerge(ctx, account, merge, "US")), "",
			doc.MergeTooOld)
	}
	kept := must(s.MergeOf(ctx, account, sent.Merge))(t)
	equal(t, kept.SentDocument(), "", "what was sent is kept")
}

// A check tells of half merges.
func TestACheckTellsOfHalfMerges(t *testing.T) {
	for what, sql := range map[string]string{
		"and the record of merges says contact 0": `DELETE FROM contact_merge WHERE other = $1`,
		"gifts and plans are still its own":       `UPDATE gift SET contact_id = $1`,
		"names a contact that does not exist":     `UPDATE contact_merge SET survivor = $1 + 1000`,
		"merged into contact 0, and the record":   `UPDATE contact_merge SET undone = 0 WHERE undone <> 0 AND other <> $1`,
	} {
		t.Run(what, func(t *testing.T) {
			eachEngine(t, func(t *testing.T, s *Book) {
				closeAfter(t, s)
				account := newAccount(t, s).Number
				survivor, other := twoOf(t, s, account)
				must(s.CreateGift(t.Context(), account, giftInput(t,
					fmt.Sprintf(`{"contact_id":%d,"amount":5,"method":"cash","transacted_at":"2026-01-31"}`, other),
					true, time.Now())))(t)
				third := createAs(t, s, account, `{"first_name":"Th","last_name":"Ird"}`, crm.Force).ID
				must(s.UndoMerge(t.Context(), account, mergeOf(t, s, account, survivor, third), "US"))(t)
				mergeOf(t, s, account, survivor, other)
				damage(t, s, sql, other)
				if found, _ := checkAll(t, s, false); !strings.Contains(strings.Join(found, "\n"), what) {
					t.Errorf("found %q, want %q", found, what)
				}
			})
		})
	}
}
