package book

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/check"
	"donorbook/internal/store/contacts"
	"donorbook/internal/store/steps"
)

// oldDatabase makes a database as version 1 of the schema left it, with contacts that have a key for each word of a name.
func oldDatabase(t testing.TB, o store.Options, account int64, bodies []string) {
	t.Helper()
	old := o.ForDB(time.Now)
	old.Schema = &db.Schema{Steps: steps.All[:1]}
	d, err := db.Open(t.Context(), old)
	if err != nil {
		t.Fatal(err)
	}
	err = d.Update(t.Context(), account, (*store.Needs)(nil), func(b db.Batch) error {
		return fillOldDatabase(t, b.(*store.Tx), account, bodies)
	})
	if err := errors.Join(err, d.Close()); err != nil {
		t.Fatal(err)
	}
}

func fillOldDatabase(t testing.TB, x *store.Tx, account int64, bodies []string) (err error) {
	run := func(sql string, args ...any) {
		if err == nil {
			_, err = x.Exec(sql, args...)
		}
	}
	run(`INSERT INTO account (account_id, public_id, name, parent, created_at) VALUES ($1, 'old', 'Old', 0, 0)`, account)
	active := int64(0)
	for i, body := range bodies {
		id, revision := doc.MakeID(account, int64(i+1)), int64(i+1)
		contact, err := crm.NewContact(input(t, body), time.Now())
		if err != nil {
			return err
		}
		if strings.Contains(body, "Archived") {
			contact = contact.Archive(time.Now())
		}
		active += 1 - contacts.Flag(contact.Archived())
		run(`INSERT INTO contact (account_id, id, revision, archived, match_keys, body) VALUES ($1, $2, $3, $4, $5, $6)`,
			account, id, revision, contacts.Flag(contact.Archived()), store.JoinKeys(contact.MatchKeys), contact.AppendBody(nil))
		run(`INSERT INTO contact_change (account_id, revision, id, archived) VALUES ($1, $2, $3, $4)`, account, revision, id, contacts.Flag(contact.Archived()))
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
	eachDatabase(t, func(t *testing.T, o store.Options) {
		const account = 1_234_567
		oldDatabase(t, o, account, []string{`{"first_name":"A"}`, `{"first_name":"Archived B"}`, `{"first_name":"C"}`, `{"first_name":"Archived D"}`})
		s := open(t, o) // its end compares the archivals with the contacts
		wantLists(t, s, account, []int64{1, 3}, []int64{2, 4})
		archive(t, s, account, doc.MakeID(account, 1))
		restore(t, s, account, doc.MakeID(account, 2))
		wantLists(t, s, account, []int64{2, 3}, []int64{1, 4})
		restore(t, s, account, doc.MakeID(account, 1))
		archive(t, s, account, doc.MakeID(account, 1))
		create(t, s, account, `{"first_name":"E"}`)
		wantLists(t, s, account, []int64{2, 3, 5}, []int64{1, 4})
	})
}

func TestAnOlderDatabaseCanBeSearched(t *testing.T) {
	eachDatabase(t, func(t *testing.T, o store.Options) {
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
		wantTags(t, s, account, contacts.TagCount{Name: "many", Contacts: 1_500}, contacts.TagCount{Name: "board", Contacts: 1}, contacts.TagCount{Name: "VIP", Contacts: 1})

		for body, want := range map[string]int64{
			`{"first_name":"Maria","last_name":"Smith","emails":[{"value":"MARIA@x.org"}],"tags":["new"]}`:    1,
			`{"first_name":"p777","last_name":"EK","phones":[{"value":"+1 212 555 0100"}],"tags":["new"]}`:    780,
			`{"first_name":"Nobody","last_name":"Ek","phones":[{"value":"(212) 555-0100"}],"tags":["newer"]}`: 3,
		} {
			if d := create(t, s, account, body); !d.Merged || doc.IDSeq(d.ID) != want {
				t.Errorf("%s was merged into %d: %v, want %d", body, doc.IDSeq(d.ID), d.Merged, want)
			}
		}
		wantTags(t, s, account, contacts.TagCount{Name: "many", Contacts: 1_500}, contacts.TagCount{Name: "new", Contacts: 2}, contacts.TagCount{Name: "board", Contacts: 1}, contacts.TagCount{Name: "newer", Contacts: 1}, contacts.TagCount{Name: "VIP", Contacts: 1})
	})
}

// forgetDerived leaves a database as if another version of the program had derived other things.
func forgetDerived(t *testing.T, s *Book) {
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
	eachDatabase(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		account := newAccount(t, s).Number
		for i := range 450 { // more than one statement reads
			create(t, s, account, fmt.Sprintf(`{"first_name":"P%d","emails":[{"value":"p%d@x.org"}],"tags":["t%d"]}`, i, i, i%3))
		}
		archive(t, s, account, doc.MakeID(account, 1))
		forgetDerived(t, s)
		s = open(t, o) // its end compares everything
		if got := search(t, s, account, crm.Active, typed("p44"), 25); !slices.Equal(got, []int64{450, 449, 448, 447, 446, 445, 444, 443, 442, 441, 45}) {
			t.Errorf("got %v", got)
		}
		if d := create(t, s, account, `{"first_name":"Q","emails":[{"value":"P7@x.org"}]}`); !d.Merged || doc.IDSeq(d.ID) != 8 {
			t.Errorf("merged into %d: %v", d.ID, d.Merged)
		}
		wantTags(t, s, account, contacts.TagCount{Name: "t1", Contacts: 150}, contacts.TagCount{Name: "t2", Contacts: 150}, contacts.TagCount{Name: "t0", Contacts: 149})
	})
}

// A document that cannot be read does not prevent an upgrade. It is reported whenever it is read, as before.
func TestADamagedContactKeepsNobodyFromAnUpgrade(t *testing.T) {
	eachDatabase(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		account := newAccount(t, s).Number
		for i := range 3 {
			create(t, s, account, fmt.Sprintf(`{"first_name":"P%d","emails":[{"value":"p%d@x.org"}],"tags":["all"]}`, i, i))
		}
		id := doc.MakeID(account, 2)
		damage(t, s, `UPDATE contact SET checksum = checksum + 1 WHERE id = $1`, id)
		forgetDerived(t, s)
		s = open(t, o)
		closeAfter(t, s)
		if got := search(t, s, account, crm.Active, typed("p"), 25); !slices.Equal(got, []int64{3, 1}) {
			t.Errorf("got %v", got)
		}
		_, err := s.CreateContact(t.Context(), account, input(t, `{"first_name":"Q","emails":[{"value":"p1@x.org"}]}`), crm.Dedupe)
		wantDamage(t, "a create that matches it", err, fmt.Sprintf("contact %d", id))
		if found, _ := checkAll(t, s, true); len(found) != 1 || !strings.Contains(found[0], fmt.Sprintf("contact %d: its document is damaged", id)) {
			t.Errorf("found %q", found)
		}
		damage(t, s, `UPDATE contact SET checksum = checksum - 1 WHERE id = $1`, id)
		found, report := checkAll(t, s, true)
		for _, want := range []string{fmt.Sprintf("contact %d: created_at is 0", id), fmt.Sprintf("contact %d: the search does not have exactly", id), `the contacts with the tag "all" are`, `the contacts found by "tag all" are`} {
			if !strings.Contains(strings.Join(found, "\n"), want) || report.Repaired != report.Problems {
				t.Errorf("once it can be read: %q", found)
			}
		}
		if got := search(t, s, account, crm.Active, typed("p1"), 25); !slices.Equal(got, []int64{2}) {
			t.Errorf("got %v", got)
		}
	})
}

// TestAnAccountIsDerivedBlockByBlock: however many contacts an account has, what was worked out is written before more is read.
func TestAnAccountIsDerivedBlockByBlock(t *testing.T) {
	const blocks, each, tags = 100, 40, 5
	for _, e := range testEngines { // not at once, because the memory is measured
		t.Run(e.name, func(t *testing.T) {
			s := open(t, e.options(t))
			closeAfter(t, s)
			account := newAccount(t, s).Number
			err := s.UpdateAccount(t.Context(), account, func(x *store.Tx) error {
				for i := range int64(blocks * each) {
					contact := crm.Contact{ID: doc.MakeID(account, i/each*db.BlockSize+i%each+1), FirstName: "A", CreatedAt: time.Now(), UpdatedAt: time.Now()}
					for n := range int64(tags) {
						contact.Tags = append(contact.Tags, fmt.Sprintf("t%d", i%each*tags+n))
					}
					body := contact.AppendBody(nil)
					row := contacts.Stored{ID: contact.ID, CreatedAt: i + 1, Body: body, Checksum: store.Checksum(body), Contact: contact}
					x.Insert(store.ContactTable, row.Values(account)...)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			inUse := func() uint64 {
				runtime.GC()
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				return m.HeapAlloc
			}
			var most, before uint64
			written := 0
			spyOn(t, s).wrote = func(sql string) {
				if strings.Contains(sql, "contact_set") {
					if written++; written <= 50 || written%1000 == 0 {
						most = max(most, inUse())
					}
				}
			}
			err = s.UpdateAccount(t.Context(), account, func(x *store.Tx) error {
				before = inUse()
				return check.Rebuild(x.Tx, account, true)
			})
			if err != nil {
				t.Fatal(err)
			}
			if grown := int64(most) - int64(before); written < 10 || grown > 2<<20 {
				t.Errorf("%d statements: %d bytes are in use while sets are written", written, grown)
			}
			err = s.Read(t.Context(), func(c db.Conn) error {
				n, err := c.Int(`SELECT COUNT(*) FROM contact_set WHERE account_id = $1 AND name = 't:t7'`, account)
				if n != blocks {
					t.Errorf("a tag has %d blocks", n)
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}
