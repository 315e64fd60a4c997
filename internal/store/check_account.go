package store

import (
	"errors"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

// checkedAccount is an account with what was counted of it.
type checkedAccount struct {
	crm.Account
	totals   tally
	counted  bool  // it has totals
	last     int64 // sequence number of a contact
	active   int64 // contacts, by what their documents say
	revision int64 // the largest
}

// everyAccount compares the contacts of each account with its totals and its archive, and enters what should be found elsewhere.
func (k *checker) everyAccount() error {
	for _, number := range k.numbers {
		for _, step := range []func(*checkedAccount) error{k.readContacts, k.archive, k.compareTotals} {
			if err := step(k.accounts[number]); err != nil {
				return err
			}
		}
		k.report.Accounts++
	}
	return k.progress()
}

// readContacts looks at each contact by itself.
func (k *checker) readContacts(a *checkedAccount) error {
	if !a.counted {
		if err := k.mend(k.problem(a.Number, 0, "its totals are missing"), a.Number, changeTotals(a.Number, func(*tally) {})); err != nil {
			return err
		}
	}
	return eachStored(k.conn, a.Number, func(c storedContact) error {
		k.report.Contacts++
		a.revision = max(a.revision, c.revision)
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

func (k *checker) readContact(a *checkedAccount, c storedContact) error {
	should := derivedFrom(a.Number, c.contact)
	should.eachSaid(k.conn, a.Number, c.id, func(f fact, n uint64) {
		k.ledger.add(f, n)
		if f.table == wordsTable {
			k.words++
		}
	})
	is := flag(c.contact.Archived())
	a.active += 1 - is
	if joinKeys(should.keys) != c.matchKeys {
		if err := k.mend(k.problem(a.Number, c.id, "its match keys are not those of its emails"), a.Number, renew(a.Number, c.id, 0)); err != nil {
			return err
		}
	}
	if is == c.archived {
		return nil
	}
	err := k.mend(k.problem(a.Number, c.id, "archived is %d, and its document says %d", c.archived, is), a.Number, renew(a.Number, c.id, 0))
	k.told[c.id] = true
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

const (
	sqlWrongNotes = `SELECT id, revision, archived FROM contact_archival AS note WHERE account_id = $1 AND NOT EXISTS (SELECT 1 FROM contact AS c
		WHERE c.account_id = $1 AND c.id = note.id AND c.revision = note.revision AND c.archived = note.archived)`
	sqlUnnoted = `SELECT id, revision FROM contact AS c WHERE account_id = $1 AND id > $2 AND id <= $3 AND archived = 1 AND NOT EXISTS (SELECT 1
		FROM contact_archival AS note WHERE note.account_id = $1 AND note.revision = c.revision AND note.id = c.id)`

	sqlDropNote = `DELETE FROM contact_archival WHERE account_id = $1 AND revision = $2 AND id = $3` // another contact's may be there
	sqlLastNote = `SELECT COALESCE(MAX(revision), 0) FROM contact_archival WHERE account_id = $1`
	sqlLastKey  = `SELECT COALESCE(MAX(id), 0) FROM api_key WHERE account_id = $1`
)

// archive compares the notes of when contacts were archived or restored with the contacts.
func (k *checker) archive(a *checkedAccount) error {
	err := k.conn.Each(func(r db.Row) error {
		return k.mend(k.problem(a.Number, r.Int(0), "it is noted as archived = %d at revision %d, which it is not", r.Int(2), r.Int(1)), a.Number, renew(a.Number, r.Int(0), r.Int(1)))
	}, sqlWrongNotes, a.Number)
	if err != nil {
		return err
	}
	return k.conn.Each(func(r db.Row) error {
		return k.mend(k.problem(a.Number, r.Int(0), "nothing notes that it was archived"), a.Number, renew(a.Number, r.Int(0), r.Int(1)))
	}, sqlUnnoted, a.Number, crm.MakeID(a.Number, 0), crm.MakeID(a.Number, crm.MaxSeq))
}

// compareTotals compares the account's totals with what was counted. A repair never goes back behind what others have counted
// meanwhile, and of the active contacts it adds the difference, as they do.
func (k *checker) compareTotals(a *checkedAccount) error {
	note, err := k.conn.Int(sqlLastNote, a.Number)
	if err != nil {
		return err
	}
	key, err := k.conn.Int(sqlLastKey, a.Number)
	k.tellMissing(a, a.totals.contactSeq) // ids that were given out are never given out again: their contacts were lost
	revision, more := max(a.revision, note), a.active-a.totals.contactActive
	for _, c := range []struct {
		problem Problem
		settle  func(*tally)
	}{
		{k.problem(a.Number, 0, "the sequence of its API keys is %d, and key %d was given out", a.totals.keySeq, key),
			func(row *tally) { row.keySeq = max(row.keySeq, crm.IDSeq(key)) }},
		{k.problem(a.Number, 0, "%d active contacts are counted as %d", a.active, a.totals.contactActive),
			func(row *tally) { row.contactActive += more }},
		{k.problem(a.Number, 0, "its revision is %d, and %d was used", a.totals.revision, revision),
			func(row *tally) { row.revision = max(row.revision, revision) }},
		{k.problem(a.Number, 0, "the sequence of its contacts is %d, and the last contact has %d", a.totals.contactSeq, a.last),
			func(row *tally) { row.contactSeq = max(row.contactSeq, a.last) }},
	} {
		settled := a.totals
		if c.settle(&settled); settled != a.totals && err == nil {
			err = k.mend(c.problem, a.Number, changeTotals(a.Number, c.settle))
		}
	}
	return err
}

// changeTotals changes the account's totals, and makes them where there are none. Its revision moves, so that every node looks at its
// positions again.
func changeTotals(account int64, change func(*tally)) func(*tx) error {
	return func(t *tx) error {
		a, err := t.lock(account)
		if errors.Is(err, crm.ErrNotFound) {
			a, err = t.account(account), nil
			a.exists = true
		}
		if err != nil {
			return err
		}
		a.touch(t)
		change(&a.tally)
		a.revision++
		return nil
	}
}

// renew settles everything that is derived from a contact: its match keys, its words, and its place in the archive. What was found of it
// and may be wrong are the note at a revision, 0 for none, and keys of the index. A contact that is not there keeps nothing.
func renew(account, id, note int64, keys ...string) func(*tx) error {
	return func(t *tx) error {
		a, err := t.lock(account)
		if err != nil {
			return err
		}
		row, err := t.row(a, id)
		var found stored
		if err == nil && row != nil {
			found, err = row.parse(account)
		}
		if err != nil {
			return err
		}
		for _, key := range keys {
			t.dropKey(a, key, id)
		}
		if note != 0 {
			if _, err := t.Exec(sqlDropNote, account, note, id); err != nil {
				return err
			}
		}
		switch {
		case row != nil:
			return t.renewContact(a, *row, found.contact, note != 0)
		case !foreign(account, id): // the words of another account's stay
			t.Delete(wordsTable, account, id)
		}
		return nil
	}
}

// renewContact writes what is derived from a contact's document. Where its place in the archive was wrong, it is noted anew.
func (t *tx) renewContact(a *accountUnit, row contactRow, c crm.Contact, move bool) error {
	should := derivedFrom(a.account, c)
	for _, key := range should.keys { // one that is there is written again
		t.dropKey(a, key, c.ID)
	}
	t.insertKeys(a, c.ID, should.keys)
	t.Save(wordsTable, a.account, c.ID, should.words)
	row.matchKeys = joinKeys(should.keys)
	if is := flag(c.Archived()); move || is != row.archived {
		a.touch(t)
		a.revision++
		if _, err := t.Exec(sqlDropNote, a.account, row.revision, c.ID); err != nil {
			return err
		}
		t.Insert(archivalTable, a.account, a.revision, c.ID, is)
		row.revision, row.archived = a.revision, is
	}
	t.writeContact(t.Save, a, &row)
	return nil
}
