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
		a := k.accounts[number]
		for _, step := range []func(*checkedAccount) error{k.readContacts, k.archive, k.compareTotals} {
			if err := step(a); err != nil {
				return err
			}
		}
		if err := k.flush(); err != nil {
			return err
		}
		k.report.Accounts++
	}
	return k.progress()
}

// readContacts looks at each contact by itself.
func (k *checker) readContacts(a *checkedAccount) error {
	if !a.counted {
		if err := k.mend(a.Number, 0, changeTotals(a.Number, func(*tally) {}), "its totals are missing"); err != nil {
			return err
		}
	}
	return eachStored(k.conn, a.Number, func(c storedContact) error {
		k.report.Contacts++
		a.revision = max(a.revision, c.revision)
		if seq := crm.IDSeq(c.id); seq > a.last+1 {
			k.missing(a, a.last+1, seq-1)
		}
		a.last = crm.IDSeq(c.id)
		if c.damage != nil {
			k.told[c.id], k.told[a.Number] = true, true
			k.tell(k.problem(a.Number, c.id, "its document is damaged: %s", restoreIt))
			a.active += 1 - c.archived
			return nil
		}
		return k.readContact(a, c)
	}, k.progress)
}

func (k *checker) readContact(a *checkedAccount, c storedContact) error {
	is := flag(c.contact.Archived())
	a.active += 1 - is
	if is != c.archived {
		k.told[c.id] = true
		if err := k.mend(a.Number, c.id, renew(a.Number, c.id, 0), "archived is %d, and its document says %d", c.archived, is); err != nil {
			return err
		}
	}
	should := derivedFrom(a.Number, c.contact)
	should.facts(a.Number, c.id, func(f fact, times uint64) {
		k.ledger.add(f, times)
		if f.kind == hasWords {
			k.words++
		}
	})
	if joinKeys(should.keys) == c.matchKeys {
		return nil
	}
	return k.mend(a.Number, c.id, renew(a.Number, c.id, 0), "its match keys are not those of its emails")
}

// missing tells of contacts that are not there.
func (k *checker) missing(a *checkedAccount, from, to int64) {
	if from == to {
		k.tell(k.problem(a.Number, crm.MakeID(a.Number, from), "it is missing: %s", restoreIt))
		return
	}
	k.tell(k.problem(a.Number, 0, "the contacts %d to %d are missing: restore them from a backup", crm.MakeID(a.Number, from), crm.MakeID(a.Number, to)))
}

const (
	sqlWrongNotes = `SELECT id, archived, revision FROM contact_archival AS note WHERE account_id = $1 AND NOT EXISTS (SELECT 1 FROM contact AS c
		WHERE c.account_id = $1 AND c.id = note.id AND c.revision = note.revision AND c.archived = note.archived)`
	sqlUnnoted = `SELECT id FROM contact AS c WHERE account_id = $1 AND id > $2 AND id <= $3 AND archived = 1 AND NOT EXISTS (SELECT 1
		FROM contact_archival AS note WHERE note.account_id = $1 AND note.revision = c.revision AND note.id = c.id)`

	sqlLastNote = `SELECT COALESCE(MAX(revision), 0) FROM contact_archival WHERE account_id = $1`
	sqlLastKey  = `SELECT COALESCE(MAX(id), 0) FROM api_key WHERE account_id = $1`
)

// archive compares the notes of when contacts were archived or restored with the contacts.
func (k *checker) archive(a *checkedAccount) error {
	err := k.conn.Each(func(r db.Row) error {
		id, archived, revision := r.Int(0), r.Int(1), r.Int(2)
		if k.told[id] {
			return nil
		}
		return k.mend(a.Number, id, renew(a.Number, id, revision), "it is noted as archived = %d at revision %d, which it is not", archived, revision)
	}, sqlWrongNotes, a.Number)
	if err != nil {
		return err
	}
	return k.conn.Each(func(r db.Row) error {
		id := r.Int(0)
		if k.told[id] {
			return nil
		}
		return k.mend(a.Number, id, renew(a.Number, id, 0), "nothing notes that it was archived")
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
	if err != nil {
		return err
	}
	revision, more := max(a.revision, note), a.active-a.totals.contactActive
	if a.last < a.totals.contactSeq { // ids that were given out are never given out again: their contacts were lost
		k.missing(a, a.last+1, a.totals.contactSeq)
	}
	for _, c := range []struct {
		wrong   bool
		problem Problem
		change  func(*tally)
	}{
		{crm.IDSeq(key) > a.totals.keySeq, k.problem(a.Number, 0, "the sequence of its API keys is %d, and key %d was given out", a.totals.keySeq, key),
			func(row *tally) { row.keySeq = max(row.keySeq, crm.IDSeq(key)) }},
		{more != 0, k.problem(a.Number, 0, "%d active contacts are counted as %d", a.active, a.totals.contactActive),
			func(row *tally) { row.contactActive += more }},
		{revision > a.totals.revision, k.problem(a.Number, 0, "its revision is %d, and %d was used", a.totals.revision, revision),
			func(row *tally) { row.revision = max(row.revision, revision) }},
		{a.last > a.totals.contactSeq, k.problem(a.Number, 0, "the sequence of its contacts is %d, and the last contact has %d", a.totals.contactSeq, a.last),
			func(row *tally) { row.contactSeq = max(row.contactSeq, a.last) }},
	} {
		if c.wrong {
			if err := k.repair(c.problem, a.Number, changeTotals(a.Number, c.change)); err != nil {
				return err
			}
		}
	}
	return nil
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

const sqlNote = `SELECT archived FROM contact_archival WHERE account_id = $1 AND revision = $2 AND id = $3`

// renew settles everything that is derived from a contact: its match keys, its words, and whether it is archived. What was found of it
// and may be wrong is a note of the archive, 0 for none, and keys of the index. A contact that is not there keeps nothing.
func renew(account, id, note int64, keys ...string) func(*tx) error {
	return func(t *tx) error {
		a, err := t.lock(account)
		if err != nil {
			return err
		}
		row, err := t.row(a, id)
		if err != nil {
			return err
		}
		var found stored
		noted := int64(0)
		if row != nil {
			if found, err = row.parse(account); err == nil {
				noted, err = t.Int(sqlNote, account, row.revision, id)
			}
		}
		if err != nil {
			return err
		}
		for _, key := range keys {
			t.dropKey(a, key, id)
		}
		if note != 0 {
			t.Delete(archivalTable, account, note)
		}
		switch {
		case row != nil:
			t.renewContact(a, *row, found.contact, note != 0 || noted != row.archived)
		case !foreign(account, id): // whose words may be another account's
			t.Delete(wordsTable, account, id)
		}
		return nil
	}
}

// renewContact writes what is derived from a contact's document, and notes it in the archive anew where that is wrong.
func (t *tx) renewContact(a *accountUnit, row contactRow, c crm.Contact, wrong bool) {
	should := derivedFrom(a.account, c)
	for _, key := range should.keys {
		t.dropKey(a, key, c.ID)
	}
	t.insertKeys(a, c.ID, should.keys)
	t.Save(wordsTable, a.account, c.ID, should.words)
	row.matchKeys = joinKeys(should.keys)
	if is := flag(c.Archived()); wrong || is != row.archived {
		a.touch(t)
		a.revision++
		t.Delete(archivalTable, a.account, row.revision)
		row.revision, row.archived = a.revision, is
		t.Insert(archivalTable, a.account, a.revision, c.ID, is)
	}
	t.writeContact(t.Save, a, &row)
}
