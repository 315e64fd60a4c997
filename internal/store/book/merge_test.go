package book

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/rig"
	"donorbook/internal/store"
	"donorbook/internal/store/jobs"
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

// choosing merges a contact, and takes a field from one of both.
func choosing(other int64, field string, from int64) crm.MergeInput {
	return crm.MergeInput{Contact: other, MergeChoice: crm.MergeChoice{Fields: map[string]int64{field: from}}}
}

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

// keeps checks that the undo of a merge is refused.
func (s *folk) keeps(what string, merge int64, is doc.Rule, args ...any) {
	s.Helper()
	wantFault(s, what, errOf(s.UndoMerge(s.Context(), s.Number, merge, "US")), "", is, args...)
}

// play does what the lines of a script say, each with the name of a contact, of a merge or of a tag. A merge has the
// name of the contact that was merged, or that was sent; the phones of what is undone are of France.
func (s *folk) play(script string) {
	s.Helper()
	contacts, merges := map[string]int64{}, map[string]int64{}
	for line := range strings.Lines(strings.TrimSpace(script)) {
		words := append(strings.SplitN(strings.TrimSpace(line), " ", 3), "")
		who, what := words[1], words[2]
		undo := func() int64 {
			undone := must(s.UndoMerge(s.Context(), s.Number, merges[who], "FR"))(s)
			equal(s, len(undone.Left), 0, "%s", line)
			merges[who] = undone.ID()
			return undone.Survivor.Merge
		}
		switch words[0] {
		case "add":
			contacts[who] = s.person(what)
		case "send":
			merges[who] = s.create(what).Merge
		case "edit":
			s.update(contacts[who], what)
		case "merge":
			merges[who] = s.merge(contacts[what], contacts[who])
		case "undo":
			undo()
		case "redo":
			merges[who] = undo()
		case "rename":
			s.rename(who, what)
		case "delete":
			s.deleteTag(who)
		case "is":
			field, want, _ := strings.Cut(what, " ")
			c := s.record(contacts[who])
			equal(s, fmt.Sprint(reflect.ValueOf(c).FieldByName(field)), want, "%s", line)
		default:
			s.Fatal(line)
		}
	}
}

// A merge keeps what both have: values of the survivor first, lists of both, one note, and marks.
func TestAMergeUnitesTwoContacts(t *testing.T) {
	s := newFolk(t)
	survivor, other := s.two()
	s.merge(survivor, other)
	c := s.record(survivor)
	expect(t, "merged",
		"Thomas [{ thomas@example.org} { tom@example.org}] [{ (617) 555-0100}] Reed Books [choir] [{old 1} {old 2}] true [e:thomas@example.org e:tom@example.org p:+16175550100 x:1\told x:2\told] Prefers mail\n\nSings",
		c.FirstName, c.Emails, c.Phones, c.Company, c.Tags, c.ExternalIDs, c.DoNotCall, c.MatchKeys, c.Note)
	refuses(t, "the other contact", crm.ErrArchived)(s.Contact(t.Context(), s.Number, other, nil))
	made := s.create(`{"first_name":"Tom","last_name":"Reed","phones":["617-555-0100"]}`)
	expect(t, "the phone of the other contact leads to", fmt.Sprint(survivor, " true"), made.ID, made.Merged)
	got, _ := s.kinds(survivor, 1, 10, false)
	equal(t, got, "created created merged_into merged merged", "the history of both")
}

// Each merge that cannot be is refused by a clear answer, and nothing changes.
func TestWhatCannotBeMergedIsRefused(t *testing.T) {
	ctx := t.Context()
	s := newFolk(t)
	survivor, other := s.two()
	company := s.person(`{"type":"company","company":"Reed Books"}`)
	archived, erased := s.person(`{"first_name":"Arc","last_name":"Hived"}`),
		s.person(`{"first_name":"Era","last_name":"Sed"}`)
	s.archive(archived)
	s.erase(erased)
	stranger := s.another().person(`{"first_name":"Stran","last_name":"Ger"}`)
	merged := s.person(`{"first_name":"Mer","last_name":"Ged"}`)
	s.merge(survivor, merged)
	before := s.everything()
	try := func(survivor int64, in crm.MergeInput) error {
		_, err := s.Merge(ctx, s.Number, survivor, in, "US")
		_, preview := s.PreviewMerge(ctx, s.Number, survivor, in, "US")
		equal(t, fmt.Sprint(err), fmt.Sprint(preview), "and the preview says %v", preview)
		return err
	}
	no := func(survivor int64, in crm.MergeInput, field string, is doc.Rule, args ...any) {
		t.Helper()
		wantFault(t, "a merge", try(survivor, in), field, is, args...)
	}
	no(survivor, into(survivor), "contact_id", doc.MergeSelf)
	no(survivor, into(archived), "contact_id", doc.ArchivedID)
	no(survivor, into(erased), "contact_id", doc.ErasedID)
	no(survivor, into(stranger), "contact_id", doc.Unknown, "contacts")
	no(survivor, into(survivor+1000), "contact_id", doc.Unknown, "contacts")
	no(other, into(merged), "contact_id", doc.MergedID, survivor)
	no(survivor, into(company), "contact_id", doc.OtherType)
	refuses(t, "into a merged contact", crm.ErrArchived)(try(merged, into(other)))
	refuses(t, "into an archived contact", crm.ErrArchived)(try(archived, into(other)))
	refuses(t, "into a foreign contact", crm.ErrNotFound)(try(stranger, into(other)))
	no(survivor, choosing(other, "shoe_size", other), "fields.shoe_size", doc.NoMergeField)
	no(survivor, choosing(other, "created_at", other), "fields.created_at", doc.NoMergeField) // which no one chooses
	no(survivor, choosing(other, "company", company), "fields.company", doc.MergeFieldOf, survivor, other)
	wantFault(t, "a restore", errOf(s.RestoreContact(ctx, s.Number, merged)), "", doc.MergedContact, merged, survivor)
	wantFault(t, "an erasure", errOf(s.EraseContact(ctx, s.Number, merged)), "", doc.EraseSurvivor, merged, survivor)
	wantState(t, "what was refused", s.everything(), before)
	a := s.person(`{"first_name":"Lo","last_name":"Ng","note":"` + strings.Repeat("x", crm.MaxNote-5) + `"}`)
	b := s.person(`{"first_name":"Lo","last_name":"Ng","note":"another one"}`)
	no(a, into(b), "note", doc.NotesTooLong, crm.MaxNote)
	must(s.Merge(ctx, s.Number, a, choosing(b, "note", a), "US"))(t)
}

// A merge is undone once; what depends on another merge waits for that; what was changed since stays with the survivor.
func TestAMergeIsUndoneOnceAndInOrder(t *testing.T) {
	s := newFolk(t)
	survivor, other := s.two()
	first := s.merge(survivor, other)
	last := s.create(`{"first_name":"Thomas","last_name":"Reed"}`).ID
	second := s.merge(last, survivor)
	s.keeps("out of order", first, doc.MergedSince, survivor, last, second)
	s.unmerge(second)
	s.update(survivor, `{"note":"Changed since","external_ids":[{"source":"old","value":"1"}]}`)
	taken := s.create(`{"first_name":"Ta","last_name":"Ker","external_ids":[{"source":"old","value":"2"}]}`).ID
	equal(t, fmt.Sprint(s.unmerge(first).Left), "[note external_ids]", "left")
	is, was := s.record(survivor), s.record(other)
	expect(t, "survivor, other", "Changed since Sings 1 1", is.Note, was.Note, len(is.Emails), len(was.Emails))
	s.keeps("again", first, doc.UndoneMerge)
	for _, none := range []int64{999, 1} { // a change that is no merge
		refuses(t, "no merge", crm.ErrNotFound)(s.UndoMerge(t.Context(), s.Number, none, "US"))
	}
	wantFault(t, "the change alone", errOf2(s.UndoChange(t.Context(), s.Number, survivor, first, "US")), "",
		doc.UndoesMerge)
	third := s.merge(taken, other)
	s.archive(taken)
	s.keeps("of an archived survivor", third, doc.ArchivedFirst)
	s.erase(taken)
	s.keeps("of an erased survivor", third, doc.ErasedMerge)
	c := s.record(other)
	equal(t, c.Erased(), true, "the contact that was merged into one that was erased")
}

// What two contacts that were merged into a third one both have stays with it while one of them is part of it, and
// the company is the one of the merge that stands.
func TestAnUndoLeavesWhatAnotherMergedContactHas(t *testing.T) {
	newFolk(t).play(`
		add ann {"first_name":"Ann","last_name":"Lee"}
		add books {"first_name":"Ann","last_name":"Lee","company":"Lee Books","title":"Chair","emails":["lee@example.org"],"phones":["617-555-0100"],"tags":["board"]}
		add bikes {"first_name":"Ann","last_name":"Lee","company":"Lee Bikes","title":"Chair","emails":["lee@example.org"],"phones":["617-555-0100"],"tags":["board"]}
		merge books ann
		merge bikes ann
		undo books
		is ann Company Lee Bikes
		is ann Title Chair
		is ann Emails [{ lee@example.org}]
		is ann Phones [{ 617-555-0100}]
		is ann Tags [board]
		is ann MatchKeys [e:lee@example.org p:+16175550100]
		undo bikes
		is ann Title
		is ann Emails []
		is ann Phones []
		is ann Tags []
		is ann MatchKeys []
	`)
}

// What a create or an import has merged becomes a contact of its own, once. The names of a spouse are for a person to
// look at.
func TestAMergedCreateIsTakenApart(t *testing.T) {
	s := newFolk(t)
	ana := s.create(
		`{"first_name":"Ana","last_name":"Ruiz","emails":["ruiz@example.org"],"addresses":[{"city":"Boston"}]}`).ID
	before := s.everything()
	sent := `{"first_name":"Juan","last_name":"Ruiz","emails":["ruiz@example.org"],"phones":["617-555-0100"],"addresses":[{"city":"Lima"}],"external_ids":[{"source":"other","value":"7"}]}`
	juan := s.create(sent)
	expect(t, "a create with another name", "true true", juan.Merged, juan.Review)
	equal(t, s.create(sent).Merge, juan.Merge, "the same again is merge")
	review := s.merges(true)
	expect(t, "to look at", fmt.Sprint("1 ", juan.Merge), len(review), review[0].ID)
	undone := s.unmerge(juan.Merge)
	equal(t, len(undone.Left), 0)
	made := s.record(undone.Other.ID)
	expect(t, "what was sent became", "Juan 1 1 Lima", made.FirstName, len(made.Emails), len(made.Phones),
		made.Addresses[0].City)
	after := s.everything()
	for _, row := range before {
		equal(t, strings.HasPrefix(row, "contact ") && !slices.Contains(after, row), false, "%s is not what it was",
			row)
	}
	equal(t, len(s.merges(true)), 0, "merges to look at")
	s.keeps("again", juan.Merge, doc.UndoneMerge)
	row := s.merges(false)[0]
	equal(t, row.Other, undone.Other.ID)
	equal(t, s.unmerge(row.Undone).Survivor.ID, ana, "the undo of the undo")
	kept := s.create(`{"first_name":"Zoe","last_name":"Ruiz","emails":["ruiz@example.org"]}`)
	equal(t, kept.Review, true)
	succeed(t, s.KeepMerge(t.Context(), s.Number, kept.Merge))
	equal(t, must(s.MergeOf(t.Context(), s.Number, kept.Merge))(t).Review, store.ReviewKept, "kept")
	equal(t, s.create(`{"first_name":"New","last_name":"Person","emails":["new@example.org"]}`).Merge, 0,
		"a new contact has merge")
}

// Rows that an import has merged can be taken apart one by one, or with the whole import.
func TestMergesOfAnImportAreUndone(t *testing.T) {
	s := newFolk(t)
	s.create(`{"first_name":"Ana","last_name":"Ruiz","emails":["ana@example.org"]}`)
	s.create(`{"first_name":"Ben","last_name":"King","emails":["ben@example.org"]}`)
	im := importFile(t, s.Book, s.Number,
		"First name,Last name,Email,Company\nAna,Ruiz,ana@example.org,Ruiz Ltd\nBen,King,ben@example.org,King Ltd\nBen,King,ben@example.org,\n", jobs.MergeExisting)
	found := s.merges(false)
	equal(t, len(found), 2) // a row that changes nothing needs no undo
	undone := s.unmerge(found[0].ID)
	equal(t, s.record(undone.Other.ID).Company, "Ruiz Ltd")
	equal(t, s.record(undone.Survivor.ID).Company, "")
	old, survivor := s.person(`{"first_name":"Old","last_name":"Id"}`),
		s.person(`{"first_name":"Old","last_name":"Id"}`)
	s.merge(survivor, old)
	importFile(t, s.Book, s.Number, // an export from before the merge
		fmt.Sprintf("Contact ID,First name,Last name,Title,Total given,Recurring given,Created,Updated,Archived\n%d,Old,Id,Owner,0,0,2026-01-01T00:00:00Z,2026-01-01T00:00:00Z,\n", old), jobs.MergeExisting)
	equal(t, s.record(survivor).Title, "Owner", "a row with the id of a merged contact leads to the survivor")
	finishUndo(t, s.Book, s.Number, im.ID)
	s.keeps("a merge of an import that was undone", found[1].ID, doc.UndoneMerge)
}

// Of merges of the same contacts at the same moment on two nodes, one is made, and the others get a clear answer.
func TestConcurrentMergesOnTwoNodes(t *testing.T) {
	a, b := twoFolk(t)
	for round := range 5 {
		survivor, other := a.person(`{"first_name":"A","last_name":"A"}`),
			a.person(`{"first_name":"B","last_name":"B"}`)
		if round%2 == 0 {
			a.gave(other, "2026-01-31", "")
		}
		errs := make([]error, 6)
		rig.AtOnce(len(errs), func(i int) {
			node, x, y := []*folk{a, b}[i%2], survivor, other
			if i%3 == 0 {
				x, y = other, survivor
			}
			_, errs[i] = node.Merge(t.Context(), a.Number, x, into(y), "US")
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
	o := newDatabase(t)
	s := folkOf(t, open(t, o))
	survivor, other := s.two()
	inner := s.person(
		`{"first_name":"Tommy","last_name":"Innerkwolf","emails":["inner@kwolf.example"],"note":"Innerkwolf secret"}`)
	s.merge(other, inner)
	s.merge(survivor, other)
	s.create(`{"first_name":"Thomas","last_name":"Reed","emails":["thomas@example.org"],"note":"Sentkwolf"}`)
	aside := s.create(`{"first_name":"Aside","last_name":"Person","phones":["617-555-0199"]}`).ID
	s.create( // merged into another person
		`{"first_name":"Tom","last_name":"Reed","emails":["tom2@kwolf.example"],"phones":["617-555-0199"]}`)
	s.damage(`INSERT INTO duplicate (account_id, a, b, person, level, probability, reasons, against, state, digest_a,
		digest_b) VALUES ($1, $2, $3, $2, 1, 990000, 'Reed', '', 0, 1, 2)`, s.Number, survivor, aside)
	s.erase(survivor)
	for _, id := range []int64{survivor, other, inner} {
		c := s.record(id)
		equal(t, c.Erased(), true, "contact %d", id)
	}
	equal(t, count(t, s.Book, `SELECT COUNT(*) FROM duplicate`), 0, "pairs")
	sent := s.keptMerges()
	equal(t, len(sent), 2, "%+v", sent)
	for _, m := range sent {
		equal(t, m.SentDocument(), "", "what was sent about the person is kept")
	}
	succeed(t, s.Close())
	wantNoTraces(t, o, "innerkwolf", "sentkwolf", "inner@kwolf")
}

// An account with merges leaves and comes back with them, and they can be undone there.
func TestMergesLeaveAndComeBackWithTheirAccount(t *testing.T) {
	s := newFolk(t)
	survivor, other := s.two()
	s.gave(other, "2026-01-31", "")
	id := s.merge(survivor, other)
	sent := s.create(`{"first_name":"Ann","last_name":"Lee","emails":["tom@example.org"]}`)
	files := exportAccount(t, s.Book, s.Account)
	for _, wrong := range [][3]any{{move.ContactFile, `"merged_into":%d`, survivor},
		{move.MergeFile, `"other_id":%d`, other}} {
		field := wrong[1].(string)
		says(t, fmt.Sprint(wrong[0], " with a contact that was merged into itself"), "merged into")(s.ImportAccount(
			t.Context(), changedFile(t, files, wrong[0].(string), fmt.Sprintf(field, wrong[2]),
				fmt.Sprintf(field, survivor+other-wrong[2].(int64))), move.AccountImport{Progress: quiet}))
	}
	there := folkIn(t, s.Book, importAccount(t, s.Book, files, "").Account)
	for _, merge := range []int64{sent.Merge, id} { // which have the same numbers in an account that is new
		undone := there.unmerge(merge)
		equal(t, doc.IDAccount(undone.Survivor.ID), there.Number)
		equal(t, doc.IDAccount(undone.Other.ID), there.Number)
	}
	c := there.record(doc.MakeID(there.Number, doc.IDSeq(other)))
	expect(t, "who came back", "Tom 5 false", c.FirstName, c.Stats.TotalContributions, c.Archived())
}

// A history can lack its first changes, because old ones were removed once. What they did stays, and a check finds
// nothing wrong.
func TestAHistoryThatLacksItsFirstChanges(t *testing.T) {
	s := newFolk(t)
	im := importFile(t, s.Book, s.Number, "First,Last\nBo,Reed\n", jobs.MergeExisting)
	survivor, other := s.two()
	id := s.merge(survivor, other)
	parted := s.merge(survivor, s.person(`{"first_name":"Cy","last_name":"Poe"}`))
	sent := s.create(`{"first_name":"Ann","last_name":"Lee","emails":["tom@example.org"]}`)
	undo := s.unmerge(parted)
	s.forgets(undo.ID())
	for what, merge := range map[string]int64{"a merge": id, "what was sent": sent.Merge, "an undo": undo.ID()} {
		s.keeps(what, merge, doc.BeyondHistory)
	}
	_, err := s.UndoJob(t.Context(), s.Number, im.ID, "US", false)
	wantFault(t, "an import", err, "", doc.BeyondHistory)
	s.checked()
}

// forgets takes the changes before one of them out of the history, as an older release could.
func (s *folk) forgets(first int64) {
	s.Helper()
	s.damage(`DELETE FROM change WHERE account_id = $1 AND revision < $2`, s.Number, first)
	s.damage(`UPDATE contact_merge SET sent = '-' WHERE account_id = $1 AND id < $2 AND sent <> ''`, s.Number, first)
	s.damage(`UPDATE account_tally SET oldest = $2 WHERE account_id = $1`, s.Number, first)
}

// A check tells of half merges.
func TestACheckTellsOfHalfMerges(t *testing.T) {
	for what, sql := range map[string]string{
		"and the record of merges says contact 0": `DELETE FROM contact_merge WHERE other = $1`,
		"gifts and plans are still its own":       `UPDATE gift SET contact_id = $1`,
		"names a contact that does not exist":     `UPDATE contact_merge SET survivor = $1 + 1000`,
		"merged into contact 0, and the record": `UPDATE contact_merge SET undone = 0 WHERE undone <> 0
			AND other <> $1`,
	} {
		t.Run(what, func(t *testing.T) {
			s := newFolk(t)
			closeAfter(t, s.Book)
			survivor, other := s.two()
			s.gave(other, "2026-01-31", "")
			s.unmerge(s.merge(survivor, s.person(`{"first_name":"Th","last_name":"Ird"}`)))
			s.merge(survivor, other)
			s.damage(sql, other)
			found, _ := s.checkAll(false)
			contains(t, strings.Join(found, "\n"), what)
		})
	}
}
