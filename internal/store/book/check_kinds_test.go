package book

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/contacts"
)

// movedOn are columns that a repair moves on, so that nodes read again what they remember.
var movedOn = map[string]string{"account_tally": " set_revision campaign_revision "}

// everyRow is everything that a database has, but for the columns that a repair moves on, in no order.
func everyRow(t *testing.T, s *Book) (rows []string) {
	t.Helper()
	succeed(t, s.Db.LongView(t.Context(), func(c db.Conn) error {
		for _, table := range store.Schema.Tables {
			err := c.EachRow(table, func(row []any) error {
				text := table.Name
				for i, column := range table.Columns {
					if !strings.Contains(movedOn[table.Name], " "+column.Name+" ") {
						text += fmt.Sprintf(" %s=%v", column.Name, row[i])
					}
				}
				rows = append(rows, text)
				return nil
			})
			if err != nil {
				return err
			}
		}
		return c.EachWord(store.WordsTable, -1<<62, 1<<62, func(id int64, word string) error {
			rows = append(rows, fmt.Sprintf("word %d %s", id, word))
			return nil
		})
	}))
	slices.Sort(rows)
	return rows
}

// damageKind is something that happens to a database, and what a check tells of it.
type damageKind struct {
	says string // that is told
	sql  string
	args []any

	words string // instead of a statement: the words that the search has of the contact in args, "" for none
	stays string // what a repair cannot bring back, by what the rows begin with
}

// kindsOfDamage is every kind of damage to derived data that a check finds in an account with contacts, a campaign, gifts, a plan and a history.
func kindsOfDamage(t *testing.T, s *Book, account access.Account, campaign int64) []damageKind {
	const tagged, other, archived, active, poor = 6, 7, 10, 9, 12 // contacts
	number := account.Number
	id := func(seq int64) int64 { return doc.MakeID(number, seq) }
	in := "account " + account.ID + ": "
	contact := func(seq int64) string { return fmt.Sprintf("%scontact %d: ", in, id(seq)) }
	record := func(seq int64) crm.Contact {
		c := must(s.ContactRecord(t.Context(), number, id(seq)))(t)
		return c
	}
	words := func(seq int64) string {
		c := record(seq)
		return find.SearchDocument(&c, number)
	}
	space, otherWords, otherKeys := find.WordSpace(number), "the search does not have exactly the words of its document", "the index does not have exactly its match keys"
	if !strings.Contains(words(tagged), space+"board ") || len(record(tagged).MatchKeys) == 0 {
		t.Fatalf("the contact has no tag or no key to lose: %q", words(tagged))
	}
	month := giving.Month(time.Now())
	cell := func(period, contact int64) string { return giving.Cell(0, period, "USD", contact) }
	one := []any{number}
	set := func(name string) string {
		return fmt.Sprintf("%sthe set of contacts for %q is wrong", in, name)
	}
	return []damageKind{
		// Match keys.
		{says: contact(tagged) + otherKeys, sql: `DELETE FROM contact_index WHERE account_id = $1 AND id = $2`, args: []any{number, id(tagged)}},
		{says: contact(other) + otherKeys, sql: `INSERT INTO contact_index (account_id, key, id) VALUES ($1, 'e:more', $2)`, args: []any{number, id(other)}},
		{says: contact(900) + otherKeys, sql: `INSERT INTO contact_index (account_id, key, id) VALUES ($1, 'e:more', $2)`, args: []any{number, id(900)}},
		{says: "contact 9000000001: " + otherKeys, sql: `INSERT INTO contact_index (account_id, key, id) VALUES ($1, 'e:more', 9000000001)`, args: one},
		{says: contact(1) + otherKeys, sql: `DELETE FROM contact_index WHERE account_id = $1 AND key = $2`, args: []any{number, "x:7\tother"}},
		{says: contact(other) + otherKeys, sql: `INSERT INTO contact_index (account_id, key, id) VALUES ($1, $2, $3)`, args: []any{number, "x:7\tother", id(other)}},
		{says: contact(tagged) + "match_keys is \"\", and should be ", sql: `UPDATE contact SET match_keys = '' WHERE id = $1`, args: []any{id(tagged)}},

		// Words.
		{says: contact(tagged) + otherWords, args: []any{id(tagged)}, words: strings.Replace(words(tagged), space+"board ", "", 1)},
		{says: contact(tagged) + otherWords, args: []any{id(tagged)}, words: space + "more " + words(tagged)},
		{says: contact(tagged) + otherWords, args: []any{id(tagged)}, words: strings.ReplaceAll(words(tagged), space, find.WordSpace(number+1))},
		{says: contact(tagged) + otherWords, args: []any{id(tagged)}, words: words(other)},
		{says: contact(other) + otherWords, args: []any{id(other)}},
		{says: contact(900) + otherWords, args: []any{id(900)}, words: space + "more"},

		// Columns of contacts.
		{says: contact(tagged) + "archived is 1, and should be 0", sql: `UPDATE contact SET archived = 1 WHERE id = $1`, args: []any{id(tagged)}},
		{says: contact(tagged) + "custom is 1, and should be 0", sql: `UPDATE contact SET custom = 1 WHERE id = $1`, args: []any{id(tagged)}},
		{says: contact(1) + "custom is 0, and should be 1", sql: `UPDATE contact SET custom = 0 WHERE id = $1`, args: []any{id(1)}},
		{says: contact(tagged) + "created_at is ", sql: `UPDATE contact SET created_at = created_at + 1 WHERE id = $1`, args: []any{id(tagged)}},
		{says: contact(tagged) + "updated_at is 0, and should be ", sql: `UPDATE contact SET updated_at = 0 WHERE id = $1`, args: []any{id(tagged)}},
		{says: contact(archived) + "sort_name is \"x\", and should be ", sql: `UPDATE contact SET sort_name = 'x' WHERE id = $1`, args: []any{id(archived)}},
		{says: contact(tagged) + "given is 5, and should be 0", sql: `UPDATE contact SET given = 5 WHERE id = $1`, args: []any{id(tagged)}},
		{says: contact(1) + "last_gift is 86400, and should be ", sql: `UPDATE contact SET last_gift = 86400 WHERE id = $1`, args: []any{id(1)}},
		{says: contact(tagged) + "last_gift is 86400, and should be 0", sql: `UPDATE contact SET last_gift = 86400 WHERE id = $1`, args: []any{id(tagged)}},

		// The archive.
		{says: set("archived"), sql: `DELETE FROM contact_set WHERE account_id = $1 AND name = 'archived'`, args: one},
		{says: set("archived"), sql: `UPDATE contact_set SET bits = $2, size = 1 WHERE account_id = $1 AND name = 'archived'`, args: []any{number, []byte{2, 0}}},
		{says: set("archived"), sql: `UPDATE contact_set SET bits = $2 WHERE account_id = $1 AND name = 'archived'`, args: []any{number, []byte("damaged")}},

		// Sets.
		{says: set("tag board"), sql: `UPDATE contact_set SET bits = $2, size = 1 WHERE account_id = $1 AND name = 't:board'`, args: []any{number, []byte{2, 0}}},
		{says: set("tag board"), sql: `UPDATE contact_set SET bits = $2, size = 4096 WHERE account_id = $1 AND name = 't:board'`, args: []any{number, bytes.Repeat([]byte{255}, 512)}},
		{says: set("tag board"), sql: `UPDATE contact_set SET size = size + 1 WHERE account_id = $1 AND name = 't:board'`, args: one},
		{says: set("tag board"), sql: `UPDATE contact_set SET bits = $2 WHERE account_id = $1 AND name = 't:board'`, args: []any{number, []byte("damaged")}},
		{says: set("tag board"), sql: `UPDATE contact_set SET block = 5 WHERE account_id = $1 AND name = 't:board'`, args: one},
		{says: set("tag none"), sql: `UPDATE contact_set SET name = 't:none' WHERE account_id = $1 AND name = 't:board'`, args: one},
		{says: set("tag none"), sql: `INSERT INTO contact_set (account_id, name, block, size, bits) VALUES ($1, 't:none', 0, 1, $2)`, args: []any{number, []byte{1, 0}}},
		{says: set("tag none"), sql: `INSERT INTO contact_set (account_id, name, block, size, bits) VALUES ($1, 't:none', 9223372036854775807, 1, $2)`, args: []any{number, []byte{1, 0}}},
		{says: set("tag board"), sql: `DELETE FROM contact_set WHERE account_id = $1`, args: one},
		{says: set(fmt.Sprintf("gave for campaign %d", campaign)), sql: `DELETE FROM contact_set WHERE account_id = $1 AND name = $2`, args: []any{number, find.CampaignDonors(campaign)}},
		{says: set("marked as do_not_mail"), sql: `DELETE FROM contact_set WHERE account_id = $1 AND name = '.mdo_not_mail'`, args: one},
		{says: set("marked as company"), sql: `INSERT INTO contact_set (account_id, name, block, size, bits) VALUES ($1, '.mcompany', 0, 1, $2)`, args: []any{number, []byte{1, 0}}},
		{says: set("no phone"), sql: `DELETE FROM contact_set WHERE account_id = $1 AND name = 'l:phone'`, args: one},

		// How many contacts have a tag.
		{says: in + `the contacts with the tag "board" are counted wrong`, sql: `UPDATE tag SET contacts = contacts + 1 WHERE account_id = $1 AND name = 'board'`, args: one},
		{says: in + `the contacts with the tag "board" are counted wrong`, sql: `DELETE FROM tag WHERE account_id = $1 AND name = 'board'`, args: one},
		{says: in + `the contacts with the tag "nobody's" are`, sql: `INSERT INTO tag (account_id, fold, name, contacts, size) VALUES ($1, 'nobody''s', 'nobody''s', 4, 1)`, args: one},
		{says: in + `the contacts with the tag "Überraschung" are`, sql: `UPDATE tag SET fold = 'x' WHERE account_id = $1 AND name = 'Überraschung'`, args: one},
		{says: in + `the contacts with the tag "board" are`, sql: `UPDATE tag SET size = 9 WHERE account_id = $1 AND name = 'board'`, args: one},
		{says: in + `the contacts with the tag "board" are`, sql: `UPDATE tag SET contacts = -3, size = 2 WHERE account_id = $1`, args: one},

		// The account's row.
		{says: in + "contact_active is 22, and should be 21", sql: `UPDATE account_tally SET contact_active = contact_active + 1 WHERE account_id = $1`, args: one},
		{says: in + "contact_seq is 19, and should be 24", sql: `UPDATE account_tally SET contact_seq = contact_seq - 5 WHERE account_id = $1`, args: one},
		{says: in + "last_created is 2, and should be ", sql: `UPDATE account_tally SET last_created = 2 WHERE account_id = $1`, args: one},
		{says: in + "campaign_seq is 0, and should be 1", sql: `UPDATE account_tally SET campaign_seq = 0 WHERE account_id = $1`, args: one},
		{says: in + "key_seq is 0, and should be 1", sql: `UPDATE account_tally SET key_seq = 0 WHERE account_id = $1`, args: one},
		{says: in + "field_seq is 0, and should be 1", sql: `UPDATE account_tally SET field_seq = 0 WHERE account_id = $1`, args: one},
		{says: in + "gift_seq is 2, and should be 5", sql: `UPDATE account_tally SET gift_seq = 2 WHERE account_id = $1`, args: one},
		{says: in + "plan_seq is 0, and should be 1", sql: `UPDATE account_tally SET plan_seq = 0 WHERE account_id = $1`, args: one},
		{says: in + "answer_bytes is 7, and should be 3000", sql: `UPDATE account_tally SET answer_bytes = 7 WHERE account_id = $1`, args: one},
		{says: in + "its totals are missing", sql: `DELETE FROM account_tally WHERE account_id = $1`, args: one, stays: "account_tally"}, // the number of the history's copy is new

		// Gifts, plans, and what gifts come to.
		{says: in + "gift 0000000001: net is ", sql: `UPDATE gift SET net = net + 1 WHERE account_id = $1`, args: one},
		{says: in + "gift 0000000002: status is 3, and should be ", sql: `UPDATE gift SET status = 3 WHERE account_id = $1`, args: one},
		{says: in + "gift 0000000003: given_at is ", sql: `UPDATE gift SET given_at = given_at - 90000 WHERE account_id = $1`, args: one},
		{says: in + "gift 0000000001: contact_id is ", sql: `UPDATE gift SET contact_id = $2 WHERE account_id = $1 AND id = $3`, args: []any{number, id(poor), id(1)}},
		{says: in + "plan 0000000001: next_bill is 5, and should be ", sql: `UPDATE plan SET next_bill = 5 WHERE account_id = $1`, args: one},
		{says: in + "the sums " + cell(month, 0), sql: `UPDATE giving SET amount = amount + 7 WHERE account_id = $1 AND cell = $2`, args: []any{number, cell(month, 0)}},
		{says: in + "the sums " + cell(month, 0), sql: `DELETE FROM giving WHERE account_id = $1 AND cell = $2`, args: []any{number, cell(month, 0)}},
		{says: in + "the sums " + giving.Cell(campaign, 0, "USD", 0), sql: `UPDATE giving SET donors = 9 WHERE account_id = $1 AND cell = $2`, args: []any{number, giving.Cell(campaign, 0, "USD", 0)}},
		{says: contact(1) + "its sums do not match its gifts", sql: `UPDATE giving SET gifts = 7 WHERE account_id = $1 AND cell = $2`, args: []any{number, cell(0, id(1))}},
		{says: contact(1) + "its sums do not match its gifts", sql: `DELETE FROM giving WHERE account_id = $1 AND cell = $2`, args: []any{number, cell(0, id(1))}},
		{says: contact(poor) + "its sums do not match its gifts", sql: `INSERT INTO giving SELECT account_id, $2, 1, 1, 1, 1, 0 FROM account WHERE account_id = $1`, args: []any{number, cell(1999, id(poor))}},
		{says: in + "gift 0000000001: its external id is indexed wrong", sql: `DELETE FROM external_reference WHERE account_id = $1 AND reference = 'g:g1'`, args: one},
		{says: in + "plan 0000000001: its external id is indexed wrong", sql: `UPDATE external_reference SET id = 5 WHERE account_id = $1 AND reference = 'p:p1'`, args: one},
		{says: in + "gift 0000000003: its external id is indexed wrong", sql: `INSERT INTO external_reference SELECT account_id, 'g:other', $2 FROM account WHERE account_id = $1`, args: []any{number, id(1) + 2}},

		// Campaigns.
		{says: fmt.Sprintf("%scampaign %d: url_at is ", in, campaign), sql: `UPDATE campaign SET url_at = url_at + 1 WHERE id = $1`, args: []any{campaign}},
		{says: fmt.Sprintf("%scampaign %d: slug is \"lost\", and should be \"gala\"", in, campaign), sql: `UPDATE campaign SET slug = 'lost' WHERE id = $1`, args: []any{campaign}},
		{says: fmt.Sprintf("%scampaign %d: cell is \"x\"", in, campaign), sql: `UPDATE campaign SET cell = 'x' WHERE id = $1`, args: []any{campaign}},
		{says: fmt.Sprintf("%scampaign %d: whether account %s may list it: it is missing", in, campaign, account.ID), sql: `DELETE FROM campaign_reader WHERE account_id = $1`, args: one},
		{says: fmt.Sprintf("%scampaign %d: whether account %s may list it: relation is 5", in, campaign, account.ID), sql: `UPDATE campaign_reader SET relation = 5 WHERE account_id = $1`, args: one},
		{says: fmt.Sprintf("%scampaign %d: whether account number 77 may list it", in, campaign), sql: `INSERT INTO campaign_reader (account_id, campaign_id, relation) SELECT 77, id, 2 FROM campaign WHERE id = $1`, args: []any{campaign}},

		// The history. What is lost of it is lost (TestACheckKnowsTheHistory).
		{says: in + "revision is 7, and should be 45", sql: `UPDATE account_tally SET revision = 7 WHERE account_id = $1`, args: one},
		{says: in + "oldest is 3, and should be 1", sql: `UPDATE account_tally SET oldest = 3 WHERE account_id = $1`, args: one},
		{says: contact(1) + "revision is 1, and should be 44", sql: `UPDATE contact SET revision = 1 WHERE id = $1`, args: []any{id(1)}},
		{says: fmt.Sprintf("%scampaign %d: revision is 0, and should be 1", in, campaign), sql: `UPDATE campaign SET revision = 0 WHERE id = $1`, args: []any{campaign}},
		{says: in + "gift 0000000001: revision is 1, and should be ", sql: `UPDATE gift SET revision = 1 WHERE account_id = $1`, args: one},
		{says: in + "plan 0000000001: revision is 1, and should be ", sql: `UPDATE plan SET revision = 1 WHERE account_id = $1`, args: one},
	}
}

// sampleAccount is an account with something of everything that is derived.
func sampleAccount(t *testing.T, s *Book) (account access.Account, campaign int64) {
	t.Helper()
	account, _ = withGifts(t, s) // contacts 1 to 3
	number := account.Number
	fillContacts(t, s, number, 21)
	size := define(t, s, number, "Size", custom.SelectField, "S", "M")
	must(s.UpdateContact(t.Context(), number, doc.MakeID(number, 1), input(t, `{"external_ids":[{"source":"other","value":"7"}],"do_not_mail":true,"custom_fields":{"`+size.Key()+`":"M"}}`)))(t)
	if _, _, err := s.CreateKey(t.Context(), number, access.KeyInput{Name: "Key", Permissions: access.ContactsRead}); err != nil {
		t.Fatal(err)
	}
	attempt := store.Attempting(t.Context(), &store.Attempt{Key: "k", Fingerprint: []byte{1}})
	succeed(t, s.KeepAnswer(attempt, number, store.Answer{Status: 422, Body: make([]byte, 3000)}))
	return account, doc.MakeID(number, 1)
}

func TestACheckFindsEveryKindOfDamageAndARepairBringsBackWhatWasThere(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account, campaign := sampleAccount(t, s)
		if found, report := checkAll(t, s, false); len(found) > 0 {
			t.Fatalf("a sound database: %q, %+v", found, report)
		}
		for _, k := range kindsOfDamage(t, s, account, campaign) {
			before := everyRow(t, s)
			k.happen(t, s, account.Number)
			found, _ := checkAll(t, s, false)
			if !strings.Contains(strings.Join(found, "\n"), k.says) {
				t.Errorf("%s: found %q, want %q", k.sql, found, k.says)
			}
			if len(found) > 60 {
				t.Errorf("%s: %d problems", k.sql, len(found))
			}
			if found, report := checkAll(t, s, true); len(found) == 0 || report.Repaired != report.Problems {
				t.Errorf("%s: %+v, %q", k.sql, report, found)
			}
			if found, _ := checkAll(t, s, false); len(found) > 0 {
				t.Errorf("%s: after the repair %q", k.sql, found)
			}
			if diff := cmp.Diff(k.kept(before), k.kept(everyRow(t, s))); diff != "" {
				t.Errorf("%s: after the repair the database is not what it was:\n%s", k.sql, diff)
			}
		}
	}) // its end compares everything in another way
}

// An external id that two documents have cannot be repaired: a person has to say whose it is.
func TestACheckTellsOfAnExternalIDThatTwoContactsHave(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s)
		for range 2 {
			n := input(t, `{"first_name":"Ann","last_name":"Lee","external_ids":[{"source":"other","value":"7"}]}`)
			contact := must(crm.NewContact(n, time.Now()))(t)
			succeed(t, s.Update(t.Context(), account.Number, store.Needs{}, func(x *store.Tx) error {
				a, err := x.LockAccount(account.Number)
				if err != nil {
					return err
				}
				contact.ID = doc.MakeID(account.Number, a.ContactSeq+1)
				at := contacts.Trace{Revision: x.Record(a, history.ContactNoun, contact.ID, history.DidCreate, "")}
				return contacts.PlaceContact(x, a, at, contact, find.ContactRows(&contact, account.Number))
			}))
		}
		want := fmt.Sprintf("account %s: contact %d: contact %d has the same external id, \"7\\tother\": remove it from one of them", account.ID, doc.MakeID(account.Number, 1), doc.MakeID(account.Number, 2))
		if found, _ := checkAll(t, s, false); len(found) != 1 || found[0] != want {
			t.Errorf("found %q, want %q", found, want)
		}
		if _, err := s.UpdateContact(t.Context(), account.Number, doc.MakeID(account.Number, 2), input(t, `{"external_ids":[]}`)); err != nil {
			t.Error(err)
		}
	})
}

// kept are the rows that a repair must bring back.
func (k damageKind) kept(rows []string) []string {
	return slices.DeleteFunc(rows, func(row string) bool { return k.stays != "" && strings.HasPrefix(row, k.stays+" ") })
}

func (k damageKind) happen(t *testing.T, s *Book, account int64) {
	t.Helper()
	if k.sql != "" {
		damage(t, s, k.sql, k.args...)
		return
	}
	succeed(t, s.Update(t.Context(), account, store.Needs{}, func(x *store.Tx) error {
		if k.words == "" {
			x.Delete(store.WordsTable, account, k.args[0])
		} else {
			x.Save(store.WordsTable, account, k.args[0], k.words)
		}
		return nil
	}))
}

// What cannot be derived is told, and a repair changes nothing because of it.
func TestACheckTellsEveryKindOfLoss(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		closeAfter(t, s)
		account, campaign := sampleAccount(t, s)
		number, in := account.Number, "account "+account.ID+": "
		for _, c := range []struct {
			says, table string
			id          int64
		}{
			{fmt.Sprintf("%scontact %d: its document is damaged: restore it from a backup", in, doc.MakeID(number, 6)), "contact", doc.MakeID(number, 6)},
			{fmt.Sprintf("%scampaign %d: its document is damaged: restore it from a backup", in, campaign), "campaign", campaign},
			{in + "gift 0000000001: its document is damaged: restore it from a backup", "gift", doc.MakeID(number, 1)},
			{in + "plan 0000000001: its document is damaged: restore it from a backup", "plan", doc.MakeID(number, 1)},
		} {
			damage(t, s, `UPDATE `+c.table+` SET checksum = checksum + 1 WHERE id = $1`, c.id)
			before := everyRow(t, s)
			if found, report := checkAll(t, s, true); len(found) != 1 || found[0] != c.says || report.Repaired > 0 {
				t.Errorf("found %q, want %q", found, c.says)
			}
			if diff := cmp.Diff(before, everyRow(t, s)); diff != "" {
				t.Errorf("a repair has changed something, though a %s cannot be read:\n%s", c.table, diff)
			}
			damage(t, s, `UPDATE `+c.table+` SET checksum = checksum - 1 WHERE id = $1`, c.id)
		}
		damage(t, s, `DELETE FROM custom_field WHERE account_id = $1`, number)
		damage(t, s, `DELETE FROM gift WHERE id = $1`, doc.MakeID(number, 2))
		damage(t, s, `UPDATE gift SET contact_id = $2 WHERE id = $1`, doc.MakeID(number, 5), doc.MakeID(number, 900))
		found, _ := checkAll(t, s, false)
		for _, want := range []string{
			fmt.Sprintf("%scontact %d: it has a value in the custom field 1, which does not exist: restore a backup", in, doc.MakeID(number, 1)),
			in + "1 gifts of 5 are missing: restore a backup",
			fmt.Sprintf("%scontact %d: 1 gifts name this contact, but it does not exist: restore it from a backup", in, doc.MakeID(number, 900)),
		} {
			if !slices.Contains(found, want) {
				t.Errorf("%q is not told: %q", want, found)
			}
		}
	})
}
