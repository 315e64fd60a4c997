package store

import (
	"errors"
	"slices"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

// checkedAccount is an account with what was counted of it.
type checkedAccount struct {
	crm.Account
	totals   tally
	counted  bool    // it has totals
	last     int64   // sequence number of a contact
	active   int64   // contacts, by what their documents say
	revision int64   // the largest
	fields   []int64 // ids of its custom fields, in ascending order
	stats    uint64  // what the documents say that contacts gave, as a sum of random numbers
	heads    uint64  // the last changes of documents, in the same way
}

// gaveOut tells whether a contact with an id was made, as far as is known.
func (a *checkedAccount) gaveOut(id int64) bool {
	return !a.counted || crm.IDSeq(id) <= a.totals.contactSeq
}

const (
	sqlLastNote = `SELECT COALESCE(MAX(revision), 0) FROM contact_archival WHERE account_id = $1`
	sqlLastKey  = `SELECT COALESCE(MAX(id), 0) FROM api_key WHERE account_id = $1`

	sqlFieldIDs = `SELECT id FROM custom_field WHERE account_id = $1 ORDER BY id`

	// Older campaigns have ids that no account's number is in.
	sqlLastCampaign = `SELECT COALESCE(MAX(id), 0) FROM campaign WHERE account_id = $1 AND id > $2 AND id <= $3`
)

// everyAccount compares the contacts of each account with its totals, and enters what should be found elsewhere.
func (k *checker) everyAccount() error {
	for _, account := range k.numbers {
		a := k.accounts[account]
		note, err := k.conn.Int(sqlLastNote, account)
		if err != nil {
			return err
		}
		a.revision = note
		if a.fields, err = db.List(k.conn, number, sqlFieldIDs, account); err != nil {
			return err
		}
		if err := k.readContacts(a); err != nil {
			return err
		}
		if err := k.compareTotals(a); err != nil {
			return err
		}
		k.report.Accounts++
	}
	return k.progress()
}

func (k *checker) progress() error {
	k.options.Progress("contacts", k.report.Contacts, k.contacts)
	return k.ctx.Err()
}

// readContacts looks at each contact by itself.
func (k *checker) readContacts(a *checkedAccount) error {
	return eachStored(k.conn, a.Number, func(c *stored) error {
		k.report.Contacts++
		a.revision = max(a.revision, c.listRevision)
		a.heads += a.headHash(crm.ContactNoun, c.id, c.trace.revision)
		k.tellMissing(a, crm.IDSeq(c.id)-1)
		a.last = crm.IDSeq(c.id)
		if c.damage == nil {
			return k.readContact(a, c)
		}
		a.active += 1 - c.archived
		k.tell(k.problem(a.Number, c.id, "its document is damaged: %s", restoreIt))
		k.told[c.id], k.told[a.Number] = true, true
		return nil
	}, k.progress)
}

func (k *checker) readContact(a *checkedAccount, c *stored) error {
	should := derivedFrom(a.Number, c.contact)
	should.eachSaid(k.conn, a.Number, c.id, func(f fact, n uint64) {
		k.ledger.add(f, n)
		k.said += flag(f.table == indexTable || f.table == wordsTable)
	})
	a.stats += statsHash(c.id, c.contact.Stats)
	is := flag(c.contact.Archived())
	a.active += 1 - is
	var err error
	if joinKeys(should.keys) != c.matchKeys {
		err = k.mend(k.problem(a.Number, c.id, "its match keys do not match its emails"), a.Number, renew(a.Number, c.id, 0))
	}
	for _, value := range c.contact.Custom {
		if _, found := slices.BinarySearch(a.fields, value.Field); !found {
			k.tell(k.problem(a.Number, c.id, "it has a value in the custom field %d, which does not exist: restore a backup", value.Field))
		}
	}
	if custom := flag(len(c.contact.Custom) > 0); custom != c.custom && err == nil {
		err = k.mend(k.problem(a.Number, c.id, "custom is %d, and its document says %d", c.custom, custom), a.Number, renew(a.Number, c.id, 0))
	}
	if c.columns != columnsOf(&c.contact) && err == nil {
		err = k.mend(k.problem(a.Number, c.id, "the columns that it is filtered and sorted by do not match its document"), a.Number, renew(a.Number, c.id, 0))
	}
	if is != c.archived && err == nil {
		err = k.mend(k.problem(a.Number, c.id, "its column archived is %d, but its document says %d", c.archived, is), a.Number, renew(a.Number, c.id, 0))
		k.told[c.id] = true
	}
	return err
}

// tellMissing tells of contacts that are not there, after the last one that is.
func (k *checker) tellMissing(a *checkedAccount, to int64) {
	switch first, last := crm.MakeID(a.Number, a.last+1), crm.MakeID(a.Number, to); {
	case first == last:
		k.tell(k.problem(a.Number, first, "it is missing: %s", restoreIt))
	case first < last:
		k.tell(k.problem(a.Number, 0, "the contacts %d to %d are missing: restore them from a backup", first, last))
	}
}

// compareTotals compares the account's totals with what was counted. A repair never goes back behind what others have counted
// meanwhile, and of the active contacts it adds the difference, as they do.
func (k *checker) compareTotals(a *checkedAccount) error {
	key, err := k.conn.Int(sqlLastKey, a.Number)
	if err != nil {
		return err
	}
	campaign, err := k.conn.Int(sqlLastCampaign, a.Number, crm.MakeID(a.Number, 0), crm.MakeID(a.Number, crm.MaxSeq))
	if err != nil {
		return err
	}
	field := int64(0)
	if len(a.fields) > 0 {
		field = a.fields[len(a.fields)-1]
	}
	k.tellMissing(a, a.totals.contactSeq) // ids that were given out are never given out again: their contacts were lost
	last, revision, more := a.last, a.revision, a.active-a.totals.contactActive
	for _, c := range []struct {
		wrong  bool
		says   string
		args   []any
		settle func(*tally)
	}{
		{!a.counted, "its totals are missing", nil, func(*tally) {}},
		{crm.IDSeq(key) > a.totals.keySeq, "the sequence of its API keys is %d, but key %d exists", []any{a.totals.keySeq, key},
			func(row *tally) { row.keySeq = max(row.keySeq, crm.IDSeq(key)) }},
		{crm.IDSeq(campaign) > a.totals.campaignSeq, "the sequence of its campaigns is %d, but campaign %d exists", []any{a.totals.campaignSeq, campaign},
			func(row *tally) { row.campaignSeq = max(row.campaignSeq, crm.IDSeq(campaign)) }},
		{field > a.totals.fieldSeq, "the sequence of its custom fields is %d, and field %d was given out", []any{a.totals.fieldSeq, field},
			func(row *tally) { row.fieldSeq = max(row.fieldSeq, field) }},
		{more != 0, "%d active contacts are counted as %d", []any{a.active, a.totals.contactActive},
			func(row *tally) { row.contactActive += more }},
		{revision > a.totals.listRevision, "its list revision is %d, but %d was used", []any{a.totals.listRevision, revision},
			func(row *tally) { row.listRevision = max(row.listRevision, revision) }},
		{last > a.totals.contactSeq, "the sequence of its contacts is %d, but the last contact has %d", []any{a.totals.contactSeq, last},
			func(row *tally) { row.contactSeq = max(row.contactSeq, last) }},
	} {
		if c.wrong && err == nil {
			err = k.mend(k.problem(a.Number, 0, c.says, c.args...), a.Number, changeTotals(a.Number, c.settle))
		}
	}
	return err
}

// An account whose totals were lost has the currency of most of its gifts.
const sqlMostGiven = `SELECT currency, COUNT(*) FROM gift WHERE account_id = $1 GROUP BY currency ORDER BY COUNT(*) DESC, currency LIMIT 1`

func scanMostGiven(r db.Row) string { return r.Text(0) }

// changeTotals changes the account's totals, and makes them where there are none. Its revision moves, so that every node looks at its
// positions again.
func changeTotals(account int64, change func(*tally)) func(*tx) error {
	return func(t *tx) error {
		a, err := t.lock(account)
		if errors.Is(err, crm.ErrNotFound) {
			a, err = t.account(account), nil
			a.tally, a.exists = *newTally(account), true
			if found, err := db.List(t.Conn, scanMostGiven, sqlMostGiven, account); err == nil && len(found) > 0 {
				a.currency = found[0]
			}
		}
		if err != nil {
			return err
		}
		a.touch(t)
		change(&a.tally)
		a.listRevision++
		return nil
	}
}

const sqlDropNote = `DELETE FROM contact_archival WHERE account_id = $1 AND revision = $2 AND id = $3` // another contact's may be there

// renew settles everything that is derived from a contact: its match keys, its words, and its place in the archive. What was found of it
// and may be wrong are the note at a revision, 0 for none, and keys of the index. A contact that is not there keeps nothing.
func renew(account, id, note int64, keys ...string) func(*tx) error {
	return func(t *tx) error {
		a, err := t.lock(account)
		if err != nil {
			return err
		}
		row, err := t.row(a, id)
		if err == nil && row != nil {
			err = row.damage
		}
		if err == nil && note != 0 {
			_, err = t.Exec(sqlDropNote, account, note, id)
		}
		if err != nil {
			return err
		}
		for _, key := range keys {
			t.dropKey(a, key, id)
		}
		switch {
		case row != nil:
			return t.renewContact(a, row, note != 0)
		case !foreign(account, id): // the words of another account's stay
			t.Delete(wordsTable, account, id)
		}
		return nil
	}
}

// renewContact writes what is derived from a contact's document. Where its place in the archive was wrong, it is noted anew.
func (t *tx) renewContact(a *accountUnit, row *stored, move bool) error {
	c, revision := row.contact.WithEmailKeys(), row.listRevision
	should := derivedFrom(a.account, c)
	for _, key := range should.keys { // one that is there is written again
		t.dropKey(a, key, c.ID)
	}
	t.insertKeys(a, c.ID, should.keys)
	t.Save(wordsTable, a.account, c.ID, should.words)
	if is := flag(c.Archived()); move || is != row.archived {
		a.touch(t)
		a.listRevision++
		if _, err := t.Exec(sqlDropNote, a.account, revision, c.ID); err != nil {
			return err
		}
		revision = a.listRevision
		t.Insert(archivalTable, a.account, revision, c.ID, is)
	}
	t.writeContact(t.Save, a, revision, row.trace, c, row.body)
	return nil
}
