package store

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

// oldDatabase makes a database as version 1 of the schema left it, with contacts that have a key for each word of a name.
func oldDatabase(t testing.TB, o Options, account int64, bodies []string) {
	t.Helper()
	old := o.database(time.Now)
	old.Schema = &db.Schema{Steps: steps[:1]}
	d, err := db.Open(t.Context(), old)
	if err != nil {
		t.Fatal(err)
	}
	err = d.Update(t.Context(), account, (*needs)(nil), func(b db.Batch) error {
		return fillOldDatabase(t, b.(*tx), account, bodies)
	})
	if err := errors.Join(err, d.Close()); err != nil {
		t.Fatal(err)
	}
}

func fillOldDatabase(t testing.TB, x *tx, account int64, bodies []string) (err error) {
	run := func(sql string, args ...any) {
		if err == nil {
			_, err = x.Exec(sql, args...)
		}
	}
	run(`INSERT INTO account (account_id, public_id, name, parent, created_at) VALUES ($1, 'old', 'Old', 0, 0)`, account)
	active := int64(0)
	for i, body := range bodies {
		id, revision := crm.MakeID(account, int64(i+1)), int64(i+1)
		contact, err := crm.NewContact(input(t, body), time.Now())
		if err != nil {
			return err
		}
		if strings.Contains(body, "Archived") {
			contact = contact.Archive(time.Now())
		}
		active += 1 - flag(contact.Archived())
		run(`INSERT INTO contact (account_id, id, revision, archived, match_keys, body) VALUES ($1, $2, $3, $4, $5, $6)`,
			account, id, revision, flag(contact.Archived()), joinKeys(contact.MatchKeys), contact.AppendBody(nil))
		run(`INSERT INTO contact_change (account_id, revision, id, archived) VALUES ($1, $2, $3, $4)`, account, revision, id, flag(contact.Archived()))
		for _, key := range append([]string{"n:ana", "t:old"}, contact.MatchKeys...) { // it had keys for names and tags too
			run(`INSERT INTO contact_index (account_id, id, key) VALUES ($1, $2, $3)`, account, id, key)
		}
	}
	n := int64(len(bodies))
	run(`INSERT INTO account_tally (account_id, revision, contact_seq, contact_active, key_seq, campaign_revision) VALUES ($1, $2, $2, $3, 0, 0)`, account, n, active)
	return err
}

// A contact that was archived in a database of the first version still is, and every contact can be archived and restored.
func TestAnOlderDatabaseKeepsItsArchive(t *testing.T) {
	eachDatabase(t, func(t *testing.T, o Options) {
		const account = 1_234_567
		oldDatabase(t, o, account, []string{`{"first_name":"A"}`, `{"first_name":"Archived B"}`, `{"first_name":"C"}`, `{"first_name":"Archived D"}`})
		s := open(t, o) // its end compares the archivals with the contacts
		wantLists(t, s, account, []int64{1, 3}, []int64{2, 4})
		archive(t, s, account, crm.MakeID(account, 1))
		restore(t, s, account, crm.MakeID(account, 2))
		wantLists(t, s, account, []int64{2, 3}, []int64{1, 4})
		restore(t, s, account, crm.MakeID(account, 1))
		archive(t, s, account, crm.MakeID(account, 1))
		create(t, s, account, `{"first_name":"E"}`)
		wantLists(t, s, account, []int64{2, 3, 5}, []int64{1, 4})
	})
}

func TestAnOlderDatabaseCanBeSearched(t *testing.T) {
	eachDatabase(t, func(t *testing.T, o Options) {
		const account = 1_234_567
		bodies := []string{
			`{"first_name":"Maria","last_name":"Smith","company":"Acme","emails":[{"value":"maria@x.org"}],"tags":["VIP","board"]}`,
			`{"first_name":"Archived","last_name":"Smith","tags":["VIP"]}`,
		}
		for i := range 1_500 { // more than one statement reads; contacts that share a phone are told apart by name
			bodies = append(bodies, fmt.Sprintf(`{"first_name":"P%d","last_name":"Ek","phones":[{"value":"212-555-0100"}],"tags":["many"]}`, i))
		}
		oldDatabase(t, o, account, bodies)
		s := open(t, o) // its end compares the index and the counts with the documents
		for text, want := range map[string][]int64{"smith mar": {1}, "maria": {1}, "acme smith": {1}, "p1499": {1_502}, "ek p7 ": {10, 73}} {
			got := search(t, s, account, crm.Active, typed(text), 25)
			if slices.Sort(got); len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
				t.Errorf("%q: got %v, want %v", text, got, want)
			}
		}
		if got := search(t, s, account, crm.Archived, typed("smith"), 25); !slices.Equal(got, []int64{2}) {
			t.Errorf("the archived one: got %v", got)
		}
		wantTags(t, s, account, TagCount{"many", 1_500}, TagCount{"board", 1}, TagCount{"VIP", 1})

		for body, want := range map[string]int64{
			`{"first_name":"Maria","last_name":"Smith","emails":[{"value":"MARIA@x.org"}],"tags":["new"]}`:    1,
			`{"first_name":"p777","last_name":"EK","phones":[{"value":"+1 212 555 0100"}],"tags":["new"]}`:    780,
			`{"first_name":"Nobody","last_name":"Ek","phones":[{"value":"(212) 555-0100"}],"tags":["newer"]}`: 3,
		} {
			if d := create(t, s, account, body); !d.Merged || crm.IDSeq(d.ID) != want {
				t.Errorf("%s was merged into %d: %v, want %d", body, crm.IDSeq(d.ID), d.Merged, want)
			}
		}
		wantTags(t, s, account, TagCount{"many", 1_500}, TagCount{"new", 2}, TagCount{"board", 1}, TagCount{"newer", 1}, TagCount{"VIP", 1})
	})
}

// forgetDerived leaves a database as if another version of the program had derived other things.
func forgetDerived(t *testing.T, s *Store) {
	t.Helper()
	for _, sql := range []string{`UPDATE derived SET version = version - 1`, `DELETE FROM contact_index`, `DELETE FROM contact_search`, `UPDATE tag SET contacts = 5`,
		`UPDATE contact_set SET size = 7`, `UPDATE contact SET created_at = 0, updated_at = 0, sort_name = '', given = 0`} {
		damage(t, s, sql)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestWhatAnotherVersionHasDerivedIsDerivedAnew(t *testing.T) {
	eachDatabase(t, func(t *testing.T, o Options) {
		s := open(t, o)
		account := newAccount(t, s).Number
		for i := range 450 { // more than one statement reads
			create(t, s, account, fmt.Sprintf(`{"first_name":"P%d","emails":[{"value":"p%d@x.org"}],"tags":["t%d"]}`, i, i, i%3))
		}
		archive(t, s, account, crm.MakeID(account, 1))
		forgetDerived(t, s)
		s = open(t, o) // its end compares everything
		if got := search(t, s, account, crm.Active, typed("p44"), 25); !slices.Equal(got, []int64{450, 449, 448, 447, 446, 445, 444, 443, 442, 441, 45}) {
			t.Errorf("got %v", got)
		}
		if d := create(t, s, account, `{"first_name":"Q","emails":[{"value":"P7@x.org"}]}`); !d.Merged || crm.IDSeq(d.ID) != 8 {
			t.Errorf("merged into %d: %v", d.ID, d.Merged)
		}
		wantTags(t, s, account, TagCount{"t1", 150}, TagCount{"t2", 150}, TagCount{"t0", 149})
	})
}

// A document that cannot be read does not prevent an upgrade. It is reported whenever it is read, as before.
func TestADamagedContactKeepsNobodyFromAnUpgrade(t *testing.T) {
	eachDatabase(t, func(t *testing.T, o Options) {
		s := open(t, o)
		account := newAccount(t, s).Number
		for i := range 3 {
			create(t, s, account, fmt.Sprintf(`{"first_name":"P%d","emails":[{"value":"p%d@x.org"}],"tags":["all"]}`, i, i))
		}
		id := crm.MakeID(account, 2)
		damage(t, s, `UPDATE contact SET checksum = checksum + 1 WHERE id = $1`, id)
		forgetDerived(t, s)
		s = open(t, o)
		closeAfter(t, s)
		if got := search(t, s, account, crm.Active, typed("p"), 25); !slices.Equal(got, []int64{3, 1}) {
			t.Errorf("got %v", got)
		}
		_, err := s.CreateContact(t.Context(), account, input(t, `{"first_name":"Q","emails":[{"value":"p1@x.org"}]}`), crm.Dedupe)
		wantDamage(t, "a create that matches it", err, fmt.Sprintf("contact %d", id))
		if found, _ := check(t, s, true); len(found) != 1 || !strings.Contains(found[0], fmt.Sprintf("contact %d: its document is damaged", id)) {
			t.Errorf("found %q", found)
		}
		damage(t, s, `UPDATE contact SET checksum = checksum - 1 WHERE id = $1`, id)
		if found, report := check(t, s, true); len(found) != 4 || report.Repaired != 4 { // its columns, its words, how many contacts have its tag, and which
			t.Errorf("once it can be read: %q", found)
		}
		if got := search(t, s, account, crm.Active, typed("p1"), 25); !slices.Equal(got, []int64{2}) {
			t.Errorf("got %v", got)
		}
	})
}

// TestSetsOfGiftsAreDerivedBlockByBlock: however many gifts an account has, what was worked out is written before more is read.
func TestSetsOfGiftsAreDerivedBlockByBlock(t *testing.T) {
	const blocks, months = 100, 100
	for _, e := range testEngines { // not at once, because the memory is measured
		t.Run(e.name, func(t *testing.T) {
			s := open(t, e.options(t))
			account := newAccount(t, s).Number
			if err := s.updateAccount(t.Context(), account, func(t *tx) error {
				for i := range int64(blocks * months) {
					contact := crm.MakeID(account, (i/months)*db.BlockSize+7)
					t.Insert(giftTable, account, crm.MakeID(account, i+1), contact, int64(0), int64(0), int64(1), int64(1), "USD", int64(100), (i%months)*32*secondsADay, "x", []byte{}, int64(0), int64(0), int64(0))
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			spy := spyOn(t, s)
			var most, before uint64
			inUse := func() uint64 {
				runtime.GC()
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				return m.HeapAlloc
			}
			written := 0
			spy.wrote = func(sql string) {
				if strings.Contains(sql, "contact_set") {
					if written%5000 == 0 {
						most = max(most, inUse())
					}
					written++
				}
			}
			if err := s.updateAccount(t.Context(), account, func(t *tx) error {
				before = inUse()
				return deriveGiftSets(t.Tx, account, (blocks-1)*db.BlockSize+7)
			}); err != nil {
				t.Fatal(err)
			}
			if grown := int64(most) - int64(before); written < blocks || grown > 1<<20 {
				t.Errorf("%d statements: %d bytes are in use when the first sets are written", written, grown)
			}
			sets := int64(0)
			if err := s.read(t.Context(), func(c db.Conn) (err error) {
				sets, err = c.Int(`SELECT COUNT(*) FROM contact_set WHERE account_id = $1 AND size = 1`, account)
				return err
			}); err != nil || sets != blocks*months {
				t.Errorf("%v: there are %d sets of blocks", err, sets)
			}
			if err := s.updateAccount(t.Context(), account, func(t *tx) error { return t.exec(`DELETE FROM gift WHERE account_id = $1`, account) }); err != nil {
				t.Fatal(err)
			}
			if err := s.updateAccount(t.Context(), account, func(t *tx) error { return t.exec(`DELETE FROM contact_set WHERE account_id = $1`, account) }); err != nil {
				t.Fatal(err)
			}
		})
	}
}
