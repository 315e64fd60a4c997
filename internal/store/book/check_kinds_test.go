package book

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
	"donorbook/internal/rig/rows"
	"donorbook/internal/store"
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

// damages are kinds of damage to derived data of the first account of a database, which has contacts, a campaign,
// gifts, a plan and a
// history: what a check tells, and a statement. What is in one group cannot happen at once, and what begins with !
// happens alone.
const damages = `
contact 6: {keys} | DELETE FROM contact_index WHERE account_id = 1 AND id = 6
contact 7: {keys} | INSERT INTO contact_index (account_id, key, id) VALUES (1, 'e:more', 7)
contact 900: {keys} | INSERT INTO contact_index (account_id, key, id) VALUES (1, 'e:more', 900)
contact 9000000001: {keys} | INSERT INTO contact_index (account_id, key, id) VALUES (1, 'e:more', 9000000001)
contact 1: {keys} | DELETE FROM contact_index WHERE account_id = 1 AND key = 'x:7	other'
contact 7: {keys} | INSERT INTO contact_index (account_id, key, id) VALUES (1, 'x:7	other', 7)
contact 6: match_keys is "", and should be | UPDATE contact SET match_keys = '' WHERE id = 6

contact 6: archived is 1, and should be 0 | UPDATE contact SET archived = 1 WHERE id = 6
contact 6: custom is 1, and should be 0 | UPDATE contact SET custom = 1 WHERE id = 6
contact 1: custom is 0, and should be 1 | UPDATE contact SET custom = 0 WHERE id = 1
contact 6: created_at is | UPDATE contact SET created_at = created_at + 1 WHERE id = 6
contact 6: updated_at is 0, and should be | UPDATE contact SET updated_at = 0 WHERE id = 6
contact 10: sort_name is "x", and should be | UPDATE contact SET sort_name = 'x' WHERE id = 10
contact 6: given is 5, and should be 0 | UPDATE contact SET given = 5 WHERE id = 6
contact 1: last_gift is 86400, and should be | UPDATE contact SET last_gift = 86400 WHERE id = 1
contact 6: last_gift is 86400, and should be 0 | UPDATE contact SET last_gift = 86400 WHERE id = 6

{set} "archived" is wrong | DELETE FROM contact_set WHERE account_id = 1 AND name = 'archived'
{set} "archived" is wrong | UPDATE contact_set SET bits = {0200}, size = 1 WHERE account_id = 1 AND name = 'archived'
{set} "archived" is wrong | UPDATE contact_set SET bits = {64616d61676564} WHERE account_id = 1 AND name = 'archived'

{set} "tag board" is wrong | UPDATE contact_set SET bits = {0200}, size = 1 WHERE account_id = 1 AND name = 't:board'
{set} "tag board" is wrong | UPDATE contact_set SET bits = {full}, size = 4096 WHERE account_id = 1 AND name = 't:board'
{set} "tag board" is wrong | UPDATE contact_set SET size = size + 1 WHERE account_id = 1 AND name = 't:board'
{set} "tag board" is wrong | UPDATE contact_set SET bits = {64616d61676564} WHERE account_id = 1 AND name = 't:board'
{set} "tag board" is wrong | UPDATE contact_set SET block = 5 WHERE account_id = 1 AND name = 't:board'
{set} "tag none" is wrong | UPDATE contact_set SET name = 't:none' WHERE account_id = 1 AND name = 't:board'
{set} "tag none" is wrong | INSERT INTO contact_set (account_id, name, block, size, bits) VALUES (1, 't:none', 0, 1, {0100})
{set} "tag none" is wrong | INSERT INTO contact_set (account_id, name, block, size, bits) VALUES (1, 't:none', {last}, 1, {0100})
{set} "tag board" is wrong | DELETE FROM contact_set WHERE account_id = 1
{set} "gave for campaign 1" is wrong | DELETE FROM contact_set WHERE account_id = 1 AND name = '{donors}'
{set} "marked as do_not_mail" is wrong | DELETE FROM contact_set WHERE account_id = 1 AND name = '.mdo_not_mail'
{set} "marked as company" is wrong | INSERT INTO contact_set (account_id, name, block, size, bits) VALUES (1, '.mcompany', 0, 1, {0100})
{set} "no phone" is wrong | DELETE FROM contact_set WHERE account_id = 1 AND name = 'l:phone'

{tag} "board" are counted wrong | UPDATE tag SET contacts = contacts + 1 WHERE account_id = 1 AND name = 'board'
{tag} "board" are counted wrong | DELETE FROM tag WHERE account_id = 1 AND name = 'board'
{tag} "nobody's" are | INSERT INTO tag (account_id, fold, name, contacts, size) VALUES (1, 'nobody''s', 'nobody''s', 4, 1)
{tag} "Überraschung" are | UPDATE tag SET fold = 'x' WHERE account_id = 1 AND name = 'Überraschung'
{tag} "board" are | UPDATE tag SET size = 9 WHERE account_id = 1 AND name = 'board'
{tag} "board" are | UPDATE tag SET contacts = -3, size = 2 WHERE account_id = 1

contact_active is 22, and should be 21 | UPDATE account_tally SET contact_active = contact_active + 1 WHERE account_id = 1
contact_seq is 19, and should be 24 | UPDATE account_tally SET contact_seq = contact_seq - 5 WHERE account_id = 1
last_created is 2, and should be | UPDATE account_tally SET last_created = 2 WHERE account_id = 1
campaign_seq is 0, and should be 1 | UPDATE account_tally SET campaign_seq = 0 WHERE account_id = 1
key_seq is 0, and should be 1 | UPDATE account_tally SET key_seq = 0 WHERE account_id = 1
field_seq is 0, and should be 1 | UPDATE account_tally SET field_seq = 0 WHERE account_id = 1
gift_seq is 2, and should be 5 | UPDATE account_tally SET gift_seq = 2 WHERE account_id = 1
plan_seq is 0, and should be 1 | UPDATE account_tally SET plan_seq = 0 WHERE account_id = 1
answer_bytes is 7, and should be 3000 | UPDATE account_tally SET answer_bytes = 7 WHERE account_id = 1
!its totals are missing | DELETE FROM account_tally WHERE account_id = 1

gift 0000000001: net is | UPDATE gift SET net = net + 1 WHERE account_id = 1
gift 0000000002: status is 3, and should be | UPDATE gift SET status = 3 WHERE account_id = 1
gift 0000000003: given_at is | UPDATE gift SET given_at = given_at - 90000 WHERE account_id = 1
gift 0000000003: ahead is | UPDATE gift SET ahead = ahead - 60 WHERE account_id = 1
gift 0000000001: contact_id is | UPDATE gift SET contact_id = 12 WHERE account_id = 1 AND id = 1
plan 0000000001: next_bill is 5, and should be | UPDATE plan SET next_bill = 5 WHERE account_id = 1
the sums {month} | UPDATE giving SET amount = amount + 7 WHERE account_id = 1 AND cell = '{month}'
the sums {month} | DELETE FROM giving WHERE account_id = 1 AND cell = '{month}'
the sums {gala} | UPDATE giving SET donors = 9 WHERE account_id = 1 AND cell = '{gala}'
contact 1: its sums do not match its gifts | UPDATE giving SET gifts = 7 WHERE account_id = 1 AND cell = '{giver}'
contact 1: its sums do not match its gifts | DELETE FROM giving WHERE account_id = 1 AND cell = '{giver}'
contact 12: its sums do not match its gifts | INSERT INTO giving SELECT account_id, '{poor}', 1, 1, 1, 1, 0 FROM account WHERE account_id = 1
gift 0000000001: its external id is indexed wrong | DELETE FROM external_reference WHERE account_id = 1 AND reference = 'g:g1'
plan 0000000001: its external id is indexed wrong | UPDATE external_reference SET id = 5 WHERE account_id = 1 AND reference = 'p:p1'
gift 0000000003: its external id is indexed wrong | INSERT INTO external_reference SELECT account_id, 'g:other', 3 FROM account WHERE account_id = 1

campaign 1: url_at is | UPDATE campaign SET url_at = url_at + 1 WHERE id = 1
campaign 1: slug is "lost", and should be "gala" | UPDATE campaign SET slug = 'lost' WHERE id = 1
campaign 1: cell is "x" | UPDATE campaign SET cell = 'x' WHERE id = 1
campaign 1: whether account {id} may list it: it is missing | DELETE FROM campaign_reader WHERE account_id = 1
campaign 1: whether account {id} may list it: relation is 5 | UPDATE campaign_reader SET relation = 5 WHERE account_id = 1
campaign 1: whether account number 77 may list it | INSERT INTO campaign_reader (account_id, campaign_id, relation) SELECT 77, id, 2 FROM campaign WHERE id = 1

revision is 7, and should be | UPDATE account_tally SET revision = 7 WHERE account_id = 1
oldest is 3, and should be 1 | UPDATE account_tally SET oldest = 3 WHERE account_id = 1
contact 1: revision is 1, and should be | UPDATE contact SET revision = 1 WHERE id = 1
campaign 1: revision is 0, and should be 1 | UPDATE campaign SET revision = 0 WHERE id = 1
gift 0000000001: revision is 1, and should be | UPDATE gift SET revision = 1 WHERE account_id = 1
plan 0000000001: revision is 1, and should be | UPDATE plan SET revision = 1 WHERE account_id = 1`

var bytesOfDamage = regexp.MustCompile(`\{([0-9a-f]+)\}`)

// kindsOfDamage are these, and damage to the words of a search: what happens at once, by rounds.
func kindsOfDamage(t *testing.T, s *Book, account access.Account) (rounds [][]damageKind) {
	equal(t, account.Number, 1, "the account has the number")
	in := "account " + account.ID + ": "
	words := func(contact int64) string {
		c := recordOf(t, s, 1, contact)
		return find.SearchDocument(&c, 1)
	}
	space := find.WordSpace(1)
	if !strings.Contains(words(6), space+"board ") || len(recordOf(t, s, 1, 6).MatchKeys) == 0 {
		t.Fatalf("the contact has no tag or no key to lose: %q", words(6))
	}
	for _, w := range []struct {
		contact int64
		words   string
	}{
		{6, strings.Replace(words(6), space+"board ", "", 1)}, {6, space + "more " + words(6)},
		{6, strings.ReplaceAll(words(6), space, find.WordSpace(2))}, {6, words(7)}, {7, ""}, {900, space + "more"},
	} {
		says := fmt.Sprintf("%scontact %d: the search does not have exactly the words of its document", in, w.contact)
		rounds = append(rounds, []damageKind{{says: says, args: []any{w.contact}, words: w.words}})
	}
	var alone damageKind
	month, literal := giving.Month(s.Now()), "X'$1'"
	if _, onSQLite := s.Db.LogSize(); !onSQLite {
		literal = `'\x$1'::bytea`
	}
	text := strings.NewReplacer("{keys}", "the index does not have exactly its match keys", "{set}",
		"the set of contacts for",
		"{tag}", "the contacts with the tag", "{id}", account.ID, "{full}", "{"+strings.Repeat("ff", 512)+"}",
		"{last}", fmt.Sprint(math.MaxInt64), "{donors}", find.CampaignDonors(1), "{month}",
		giving.Cell(0, month, "USD", 0),
		"{gala}", giving.Cell(1, 0, "USD", 0), "{giver}", giving.Cell(0, 0, "USD", 1), "{poor}",
		giving.Cell(0, 1999, "USD", 12),
	).Replace(damages)
	for _, group := range strings.Split(bytesOfDamage.ReplaceAllString(text, literal), "\n\n") {
		for i, line := range strings.Split(strings.TrimSpace(group), "\n") {
			says, sql, _ := strings.Cut(line, " | ")
			if i == len(rounds) {
				rounds = append(rounds, nil)
			}
			if says[0] != '!' {
				rounds[i] = append(rounds[i], damageKind{says: in + says, sql: sql})
			} else {
				// the number of the history's copy is new
				alone = damageKind{says: in + says[1:], sql: sql, stays: "account_tally "}
			}
		}
	}
	return append(rounds, []damageKind{alone})
}

// sampleAccount is an account with something of everything that is derived.
func sampleAccount(t *testing.T, s *Book) (account access.Account, campaign int64) {
	t.Helper()
	ctx := t.Context()
	stopClock(s)
	account, _ = withGifts(t, s) // contacts 1 to 3
	number := account.Number
	fillContacts(t, s, number, 21)
	size := define(t, s, number, "Size", custom.SelectField, "S", "M")
	must(s.UpdateContact(ctx, number, doc.MakeID(number, 1),
		input(t, `{"external_ids":[{"source":"other","value":"7"}],"do_not_mail":true,"custom_fields":{"`+size.Key()+
			`":"M"}}`)))(t)
	if _, _, err := s.CreateKey(ctx, number, access.KeyInput{Name: "Key",
		Permissions: access.ContactsRead}); err != nil {
		t.Fatal(err)
	}
	attempt := store.Attempting(ctx, &store.Attempt{Key: "k", Fingerprint: []byte{1}})
	succeed(t, s.KeepAnswer(attempt, number, store.Answer{Status: 422, Body: make([]byte, 3000)}))
	return account, doc.MakeID(number, 1)
}

// Much is damaged at once, one of each group, and checked and repaired together.
func TestACheckFindsEveryKindOfDamageAndARepairBringsBackWhatWasThere(t *testing.T) {
	s := newBook(t)
	account, _ := sampleAccount(t, s)
	if found, report := checkAll(t, s, false); len(found) > 0 {
		t.Fatalf("a sound database: %q, %+v", found, report)
	}
	before := everyRow(t, s)
	for i, now := range kindsOfDamage(t, s, account) {
		stays := func(row string) bool {
			return slices.ContainsFunc(now, func(k damageKind) bool {
				return k.stays != "" &&
					strings.HasPrefix(row, k.stays)
			})
		}
		for _, k := range now {
			k.happen(t, s, account.Number)
		}
		found, _ := checkAll(t, s, false)
		for _, k := range now {
			if !slices.ContainsFunc(found, k.told) {
				t.Errorf("%s: found %q, want %q", k.sql, found, k.says)
			}
		}
		if len(found) > 60*len(now) {
			t.Errorf("%d problems of %d kinds", len(found), len(now))
		}
		if found, report := checkAll(t, s, true); len(found) == 0 || report.Repaired != report.Problems {
			t.Errorf("%+v, %q", report, found)
		}
		if found, _ := checkAll(t, s, false); len(found) > 0 {
			t.Errorf("after the repair %q", found)
		}
		after := everyRow(t, s)
		equal(t, slices.DeleteFunc(slices.Clone(after), stays), slices.DeleteFunc(slices.Clone(before), stays),
			"after the repair of damage %d", i)
		before = after
	}
	// its end compares everything in another way
}

// An external id that two documents have cannot be repaired: a person has to say whose it is.
func TestACheckTellsOfAnExternalIDThatTwoContactsHave(t *testing.T) {
	s := newBook(t)
	account := newAccount(t, s)
	for range 2 {
		n := input(t, `{"first_name":"Ann","last_name":"Lee","external_ids":[{"source":"other","value":"7"}]}`)
		contact := must(crm.NewContact(n, time.Now()))(t)
		succeed(t, s.Update(t.Context(), account.Number, store.Needs{}, func(x *store.Tx) error {
			u, err := x.LockAccount(account.Number)
			if err != nil {
				return err
			}
			contact.ID = doc.MakeID(account.Number, u.ContactSeq+1)
			at := store.Trace{Revision: u.Record(history.ContactNoun, contact.ID, history.DidCreate, "")}
			return store.PlaceContact(u, at, contact, find.ContactRows(&contact, account.Number))
		}))
	}
	want := fmt.Sprintf(
		"account %s: contact %d: contact %d has the same external id, \"7\\tother\": remove it from one of them",
		account.ID, doc.MakeID(account.Number, 1), doc.MakeID(account.Number, 2))
	if found, _ := checkAll(t, s, false); len(found) != 1 || found[0] != want {
		t.Errorf("found %q, want %q", found, want)
	}
	must(s.UpdateContact(t.Context(), account.Number, doc.MakeID(account.Number, 2),
		input(t, `{"external_ids":[]}`)))(t)
}

// told tells whether a line of a check is about the damage. What is wrong with one row is told in one line.
func (k damageKind) told(line string) bool {
	at := strings.LastIndex(k.says, ": ")
	return strings.HasPrefix(line, k.says[:at]) && strings.Contains(line, k.says[at+2:])
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

// What cannot be derived is told, also by the next check, and a repair changes no document because of it.
func TestACheckTellsEveryKindOfLoss(t *testing.T) {
	s := newBook(t)
	closeAfter(t, s)
	account, _ := sampleAccount(t, s)
	other := newAccount(t, s)
	newUser(t, s, account, access.Viewer, "ada")
	for range 2 {
		create(t, s, other.Number, `{"first_name":"Ana"}`)
	}
	for _, of := range []string{"contact 6", "campaign 1", "gift 0000000001", "plan 0000000001"} {
		table, id, _ := strings.Cut(of, " ")
		damage(t, s, `UPDATE `+table+` SET checksum = checksum + 1 WHERE id = `+id)
		before := everyRow(t, s)
		found, report := checkAll(t, s, true)
		want := "account " + account.ID + ": " + of + ": its document is damaged: restore it from a backup"
		equal(t, found, []string{want})
		equal(t, report.Repaired, 0)
		equal(t, everyRow(t, s), before, "a repair has changed something, though a %s cannot be read", table)
		damage(t, s, `UPDATE `+table+` SET checksum = checksum - 1 WHERE id = `+id)
	}
	said := strings.NewReplacer("{1}", "account "+account.ID, "{2}", other.ID, "{restore}", "restore it from a backup")
	lose := func(repair bool, table string) {
		told := rows.Pairs(said.Replace(table))
		for _, sql := range told {
			if sql != "" {
				damage(t, s, sql)
			}
		}
		var before []string
		for range 2 {
			found, _ := checkAll(t, s, repair)
			for says := range told {
				contains(t, strings.Join(found, "\n"), says)
			}
			documents := must(store.List(t.Context(), s.Store, func(r db.Row) string { return string(r.Bytes(0)) },
				`SELECT body FROM contact ORDER BY id`))(t)
			if before != nil {
				equal(t, documents, before, "documents")
			}
			before = documents
		}
	}
	lose(false, `
		{1}: contact 1: it has a value in the custom field 1, which does not exist  DELETE FROM custom_field WHERE id = 1
		{1}: 1 gifts of 5 are missing: restore a backup  DELETE FROM gift WHERE id = 2
		{1}: contact 900: 1 gifts name this contact, but it does not  UPDATE gift SET contact_id = 900 WHERE id = 5
	`)
	lose(true, `
		{1}: contact 6: its document is damaged: {restore}  UPDATE contact SET checksum = 7 WHERE id = 6
		{1}: contact 7: its document is damaged: {restore}  UPDATE contact SET checksum = 7 WHERE id = 7  // archived
		{1}: contact 9: it is missing: {restore}  DELETE FROM contact WHERE id = 9
		{1}: the contacts 23 to 24 are missing: restore them  DELETE FROM contact WHERE id = 23 OR id = 24
		have the user_id 77, and the table app_user has no such row  UPDATE member SET user_id = 77
		have the account_id 78, and the table account has no such row  UPDATE api_key SET account_id = 78
		rows of the table campaign: 1 have the account_id 0  UPDATE campaign SET account_id = 0
		have the parent 80, and the table account has no such row  UPDATE account SET parent = 80 WHERE account_id = 2
		{1}: contact 1000000001: its row is in this account, but its id belongs to account {2}: {restore}  `+
		`UPDATE contact SET account_id = 1 WHERE id = 1000000001
		rows of the table contact: 1 have the account_id 77  UPDATE contact SET account_id = 77 WHERE id = 1000000002
		account number 77: contact 1000000002: its row is in this account, but its id belongs to account {2}: {restore}  ""
	`)
}
