package book

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/check"
	"donorbook/internal/store/contacts"
)

// forgetDerived leaves a database as if another version of the program had derived other things.
func forgetDerived(t *testing.T, s *Book) {
	t.Helper()
	for _, sql := range []string{`UPDATE derived SET version = version - 1`, `DELETE FROM contact_index`, `DELETE FROM contact_search`, `UPDATE tag SET contacts = 5`,
		`UPDATE contact_set SET size = 7`, `UPDATE contact SET created_at = 0, updated_at = 0, sort_name = '', given = 0`} {
		damage(t, s, sql)
	}
	succeed(t, s.Close())
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

// Phones had no extension in their match keys, and emails were only case-folded. An upgrade works out both anew, and what users sign in with.
func TestMatchKeysOfEarlierReleasesAreWorkedOutAnew(t *testing.T) {
	eachDatabase(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		org := newAccount(t, s)
		create(t, s, org.Number, `{"first_name":"Ann","phones":["212-555-0100 x5"],"tags":["t"]}`)
		create(t, s, org.Number, `{"first_name":"Jo","emails":["jo@xn--bcher-kva.example"]}`)
		must(s.CreateUser(t.Context(), org, access.Owner, access.UserInput{Name: "Jo", Email: "jo@xn--bcher-kva.example", Password: "a long password 1"}))(t)
		for _, sql := range []string{`UPDATE contact SET match_keys = REPLACE(REPLACE(match_keys, ';ext=5', ''), 'bücher', 'xn--bcher-kva')`,
			`UPDATE app_user SET login = 'jo@xn--bcher-kva.example'`} {
			damage(t, s, sql)
		}
		forgetDerived(t, s)
		s = open(t, o) // its end compares everything
		for _, test := range []struct {
			sent   string
			merged bool
		}{
			{`{"first_name":"Bob","phones":["212-555-0100 x6"]}`, false},
			{`{"first_name":"Desk","phones":["212-555-0100"]}`, false},
			{`{"first_name":"Ann","phones":["+1 212 555 0100 ext. 5"]}`, true},
			{`{"first_name":"Jo","emails":["Jo@bücher.example"]}`, true},
		} {
			if d := create(t, s, org.Number, test.sent); d.Merged != test.merged {
				t.Errorf("%s was merged: %v", test.sent, d.Merged)
			}
		}
		signIn(t, s, "jo@bücher.example", "a long password 1")
		signIn(t, s, "jo@xn--bcher-kva.example", "a long password 1")
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
		for _, want := range []string{fmt.Sprintf("contact %d: created_at is 0", id), fmt.Sprintf("contact %d: the search does not have exactly", id), `the contacts with the tag "all" are`, `the set of contacts for "tag all" is`} {
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
