package book

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/store"
)

// update changes a contact.
func update(t testing.TB, s *Book, account, id int64, body string) {
	t.Helper()
	must(s.UpdateContact(t.Context(), account, id, input(t, body)))(t)
}

func unmerge(t testing.TB, s *Book, account, merge int64, region string) (left string, undo int64) {
	t.Helper()
	undone := must(s.UndoMerge(t.Context(), account, merge, region))(t)
	return fmt.Sprint(undone.Left), undone.ID()
}

// A merge that is undone has not happened: of many merges and edits, everything stays that others brought, however many they are, and the undo of the undo is as if it had never been undone.
func TestAnUndoOfManyMergesTakesOneOut(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		const n = 90 // of 99 contacts, the last nine have the tags of the first
		account := newAccount(t, s).Number
		survivor := create(t, s, account, `{"first_name":"Ann","last_name":"Lee"}`).ID
		var merges []int64
		for i := range 99 {
			other := createAs(t, s, account, fmt.Sprintf(`{"first_name":"Ann","last_name":"Lee","title":"T%d","tags":["tag%d"],"external_ids":["id%d"]}`, i, i%n, i%n*100+i/n), crm.Force).ID
			merges = append(merges, mergeOf(t, s, account, survivor, other))
		}
		update(t, s, account, survivor, `{"company":"Typed"}`)
		before := recordOf(t, s, account, survivor)
		left, undo := unmerge(t, s, account, merges[0], "US")
		c := recordOf(t, s, account, survivor)
		if left != "[]" || c.Title != "T1" || c.Company != "Typed" || len(c.Tags) != n || len(c.ExternalIDs) != len(merges)-1 || c.MatchKeys[0] == before.MatchKeys[0] {
			t.Errorf("left %s: title %s, company %s, %d tags, %d ids", left, c.Title, c.Company, len(c.Tags), len(c.ExternalIDs))
		}
		must(s.UndoMerge(t.Context(), account, undo, "US"))(t)
		after := recordOf(t, s, account, survivor)
		before.UpdatedAt, after.UpdatedAt = time.Time{}, time.Time{}
		if got, want := string(after.AppendBody(nil)), string(before.AppendBody(nil)); got != want || fmt.Sprint(after.MatchKeys) != fmt.Sprint(before.MatchKeys) {
			t.Errorf("after the undo of the undo it is\n%s\nwant\n%s", got, want)
		}
	})
}

// What a person has typed stays, wherever it stood before, and a value that was moved and removed does not come back.
func TestAnUndoLeavesWhatAPersonTyped(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		survivor := create(t, s, account, `{"first_name":"Ann","last_name":"Lee"}`).ID
		other := createAs(t, s, account, `{"first_name":"Ann","last_name":"Lee","emails":["a@example.org","b@example.org"],"note":"Theirs"}`, crm.Force).ID
		merge := mergeOf(t, s, account, survivor, other)
		update(t, s, account, survivor, `{"emails":["b@example.org"]}`)
		update(t, s, account, survivor, `{"emails":["b@example.org","a@example.org"]}`)
		if left, _ := unmerge(t, s, account, merge, "US"); left != "[]" {
			t.Errorf("left are %s", left)
		}
		if c := recordOf(t, s, account, survivor); fmt.Sprint(c.Emails, c.MatchKeys, c.Note) != "[{ a@example.org}] [e:a@example.org]" {
			t.Errorf("the survivor has %v %v %s", c.Emails, c.MatchKeys, c.Note)
		}
		moved := create(t, s, account, `{"first_name":"Mo","last_name":"Ve","emails":["c@example.org","d@example.org"]}`).ID
		change, err := s.UpdateContact(t.Context(), account, moved, input(t, `{"emails":["d@example.org","c@example.org"]}`))
		if err != nil {
			t.Fatal(err)
		}
		update(t, s, account, moved, `{"emails":["c@example.org"]}`)
		_, _, err = s.UndoChange(t.Context(), account, moved, change.Tag.Revision, "US")
		if c := recordOf(t, s, account, moved); len(c.Emails) != 1 {
			t.Errorf("%v: after the move is undone, there are %v", err, c.Emails)
		}
	})
}

// A number without its country is that of the country in which it was typed, whatever the organization says today.
func TestAnUndoKeepsTheKeysOfPhones(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		survivor := create(t, s, account, `{"first_name":"Ann","last_name":"Lee","phones":["617-555-0100"]}`).ID
		other := createAs(t, s, account, `{"first_name":"Ann","last_name":"Lee","phones":["617-555-0123"],"company":"Lee"}`, crm.Force).ID
		third := createAs(t, s, account, `{"first_name":"Ann","last_name":"Lee","phones":["617-555-0145"]}`, crm.Force).ID
		merge := mergeOf(t, s, account, survivor, other)
		mergeOf(t, s, account, survivor, third)
		change := must(s.UpdateContact(t.Context(), account, survivor, input(t, `{"title":"Dr","phones":["617-555-0145","617-555-0100","617-555-0123"]}`)))(t)
		if _, _, err := s.UndoChange(t.Context(), account, survivor, change.Tag.Revision, "FR"); err != nil {
			t.Fatal(err)
		}
		unmerge(t, s, account, merge, "FR")
		for id, want := range map[int64]string{survivor: "[p:+16175550100 p:+16175550145]", other: "[p:+16175550123]"} {
			if c := recordOf(t, s, account, id); fmt.Sprint(c.MatchKeys) != want {
				t.Errorf("contact %d has %v, want %s", id, c.MatchKeys, want)
			}
		}
	})
}

// A tag that was renamed after a merge goes back under its new name when the merge is undone.
func TestATagThatWasRenamedGoesWithItsMerge(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		survivor := create(t, s, account, `{"first_name":"Ann","last_name":"Lee","tags":["mine"]}`).ID
		other := createAs(t, s, account, `{"first_name":"Ann","last_name":"Lee","tags":["theirs","kept"]}`, crm.Force).ID
		merge := mergeOf(t, s, account, survivor, other)
		for _, name := range []string{"theirs", "mine"} { // both become one
			must(s.RenameTag(t.Context(), account, name, "one"))(t)
		}
		must(s.RenameTag(t.Context(), account, "kept", "two"))(t)
		unmerge(t, s, account, merge, "US")
		if a, b := recordOf(t, s, account, survivor), recordOf(t, s, account, other); fmt.Sprint(a.Tags, b.Tags) != "[one] [one two]" {
			t.Errorf("the survivor has %v, the other one %v", a.Tags, b.Tags)
		}
	})
}

// Merges from before it was kept how they were made are undone as well as their differences tell.
func TestAMergeWithoutItsChoiceIsUndone(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		survivor := create(t, s, account, `{"first_name":"Ann","last_name":"Lee","company":"Mine","note":"N"}`).ID
		first := createAs(t, s, account, `{"first_name":"Ann","last_name":"Lee","title":"First"}`, crm.Force).ID
		second := createAs(t, s, account, `{"first_name":"Ann","last_name":"Lee","company":"Theirs","title":"Second","note":"M"}`, crm.Force).ID
		merge := mergeOf(t, s, account, survivor, first)
		must(s.Merge(t.Context(), account, survivor, crm.MergeInput{Contact: second, MergeChoice: crm.MergeChoice{Fields: map[string]int64{"company": second}}}, "US"))(t)
		succeed(t, s.UpdateAccount(t.Context(), account, func(tx *store.Tx) error {
			return tx.Run(`UPDATE contact_merge SET choice = '' WHERE account_id = $1`, account)
		}))
		unmerge(t, s, account, merge, "US")
		if c := recordOf(t, s, account, survivor); c.Company != "Theirs" || c.Title != "Second" || strings.ReplaceAll(c.Note, "\n", "") != "NM" {
			t.Errorf("the survivor is %q, %q, %q", c.Company, c.Title, c.Note)
		}
	})
}
