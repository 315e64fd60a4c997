package store

import (
	"slices"

	"donorbook/internal/crm"
)

const (
	sqlCheckArchivals = `SELECT revision, id, archived FROM contact_archival WHERE account_id = $1 AND revision > $2 ORDER BY revision LIMIT 100`
	sqlCheckArchived  = `SELECT id, revision FROM contact WHERE account_id = $1 AND id > $2 AND id <= $3 AND archived = 1 ORDER BY id LIMIT 1000`
	sqlCheckArchival  = `SELECT id FROM contact_archival WHERE account_id = $1 AND revision = $2`
	sqlLastContact    = `SELECT id FROM contact WHERE account_id = $1 AND id > $2 AND id <= $3 ORDER BY id DESC LIMIT 1`
	sqlCheckAPIKeys   = `SELECT COALESCE(MAX(id), 0) FROM api_key WHERE account_id = $1`
)

var sqlCheckStates = `SELECT id, revision, archived FROM contact WHERE account_id = $1 AND id IN (` + parameters(2, scatteredWidth) + `) ORDER BY id`

// archival is a row that notes when a contact was archived or restored last.
type archival struct{ revision, id, archived int64 }

// archivals compares the notes of who was archived with the contacts.
func (a *accountCheck) archivals() error {
	noted, last := int64(0), int64(0)
	for n := scatteredWidth; n == scatteredWidth; {
		var part []archival
		err := each(a.conn, func(r rows) error {
			part = append(part, archival{r.int(0), r.int(1), r.int(2)})
			return nil
		}, sqlCheckArchivals, a.row.account, last)
		if err != nil {
			return err
		}
		if n = len(part); n == 0 {
			break
		}
		last = part[n-1].revision
		a.revision = max(a.revision, last)
		right, err := a.compareArchivals(part)
		if err != nil {
			return err
		}
		noted += right
	}
	return a.unnoted(noted)
}

// compareArchivals counts the notes of archived contacts that are right.
func (a *accountCheck) compareArchivals(part []archival) (noted int64, err error) {
	ids := make([]int64, 0, len(part))
	for _, note := range part {
		ids = append(ids, note.id)
	}
	contacts := make(map[archival]bool)
	err = each(a.conn, func(r rows) error {
		contacts[archival{r.int(1), r.int(0), r.int(2)}] = true
		return nil
	}, sqlCheckStates, scatteredArgs(a.row.account, ids)...)
	for _, note := range part {
		switch {
		case err != nil:
			return noted, err
		case contacts[note]:
			noted += note.archived
		default:
			err = a.mend(a.problem(note.id, "it is noted as archived = %d at revision %d, which it is not", note.archived, note.revision),
				a.row.account, forgetArchival(a.row.account, note))
		}
	}
	return noted, err
}

// unnoted finds archived contacts without a note, where fewer have one than there are.
func (a *accountCheck) unnoted(noted int64) error {
	if noted == a.archived {
		return nil
	}
	last := int64(0)
	for n := 1000; n == 1000; {
		var part []archival
		err := each(a.conn, func(r rows) error {
			part = append(part, archival{id: r.int(0), revision: r.int(1)})
			return nil
		}, sqlCheckArchived, a.row.account, last, a.end())
		if n = len(part); err != nil || n == 0 {
			return err
		}
		last = part[n-1].id
		for _, contact := range part {
			note := int64(0)
			if _, err := one(a.conn, func(r rows) { note = r.int(0) }, sqlCheckArchival, a.row.account, contact.revision); err != nil {
				return err
			}
			if note == contact.id || a.unreadable[contact.id] {
				continue
			}
			if err := a.mend(a.problem(contact.id, "nothing notes that it was archived"), a.row.account, resettle(a.row.account, contact.id)); err != nil {
				return err
			}
		}
	}
	return nil
}

// keys compares the account's sequence of API keys with those that were given out.
func (a *accountCheck) keys() error {
	last := int64(0)
	if _, err := one(a.conn, func(r rows) { last = r.int(0) }, sqlCheckAPIKeys, a.row.account); err != nil {
		return err
	}
	short := crm.IDSeq(last) - a.row.keySeq
	if last == 0 || short <= 0 {
		return nil
	}
	return a.mend(a.problem(0, "the sequence of its API keys is %d, and key %d was given out", a.row.keySeq, last), a.row.account,
		changeTally(a.row.account, func(row *tally) { row.keySeq += short }))
}

// compareTotals compares the account's totals with what was counted. A repair adds the difference: what others change meanwhile
// they add as well.
func (a *accountCheck) compareTotals() error {
	if more := a.active - a.row.contactActive; more != 0 {
		err := a.mend(a.problem(0, "%d active contacts are counted as %d", a.active, a.row.contactActive), a.row.account,
			changeTally(a.row.account, func(row *tally) { row.contactActive += more }))
		if err != nil {
			return err
		}
	}
	if more := a.revision - a.row.revision; more > 0 {
		err := a.mend(a.problem(0, "its revision is %d, and %d was used", a.row.revision, a.revision), a.row.account,
			changeTally(a.row.account, func(row *tally) { row.revision += more }))
		if err != nil {
			return err
		}
	}
	switch {
	case a.last < a.row.contactSeq: // ids that were given out are never given out again: their contacts were lost
		a.missing(a.last+1, a.row.contactSeq)
	case a.last > a.row.contactSeq:
		return a.mend(a.problem(0, "the sequence of its contacts is %d, and the last contact has %d", a.row.contactSeq, a.last), a.row.account,
			raiseContactSeq(a.row.account))
	}
	return nil
}

const (
	sqlSetArchived  = `UPDATE contact SET revision = $3, archived = $4 WHERE account_id = $1 AND id = $2`
	sqlDropArchival = `DELETE FROM contact_archival WHERE account_id = $1 AND revision = $2 AND id = $3`
	sqlKeepKey      = `INSERT INTO contact_index (account_id, id, key) VALUES ($1, $2, $3) ON CONFLICT (account_id, key, id) DO NOTHING`
	sqlResizeTag    = `UPDATE tag SET size = length(CAST(contacts AS TEXT)) WHERE account_id = $1 AND fold = $2 AND name = $3`
)

// changeTally changes the account's row. Its revision moves, so that every node looks at its positions again.
func changeTally(account int64, change func(*tally)) func(*tx) error {
	return func(t *tx) error {
		row, err := t.tally(account)
		if err != nil {
			return err
		}
		t.wrote, t.changed = true, true
		change(row)
		row.revision++
		row.dirty = true
		return nil
	}
}

// raiseContactSeq moves the account's sequence of contacts on to the last one that there is now.
func raiseContactSeq(account int64) func(*tx) error {
	return func(t *tx) error {
		row, err := t.tally(account)
		if err != nil {
			return err
		}
		last := row.contactSeq
		_, err = one(t.conn, func(r rows) { last = max(last, crm.IDSeq(r.int(0))) }, sqlLastContact, account, crm.MakeID(account, 0), crm.MakeID(account, crm.MaxSeq))
		if err != nil || last == row.contactSeq {
			return err
		}
		return changeTally(account, func(row *tally) { row.contactSeq = last })(t)
	}
}

// resettle notes anew whether a contact is archived, as its document says.
func resettle(account, id int64) func(*tx) error {
	return func(t *tx) error {
		row, err := t.tally(account)
		if err != nil {
			return err
		}
		found, err := loadContact(t.conn, account, id)
		if err != nil {
			return err
		}
		row.revision++
		row.dirty = true
		archived := flag(found.contact.Archived())
		if _, err := t.exec(sqlDropArchival, account, found.revision, id); err != nil {
			return err
		}
		if _, err := t.exec(sqlSetArchived, account, id, row.revision, archived); err != nil {
			return err
		}
		_, err = t.exec(sqlInsertArchival, account, row.revision, id, archived)
		return err
	}
}

// forgetArchival removes a note that is wrong, and notes the contact anew where there is one that can be read.
func forgetArchival(account int64, note archival) func(*tx) error {
	return func(t *tx) error {
		if _, err := t.tally(account); err != nil {
			return err
		}
		found, err := loadContact(t.conn, account, note.id)
		if err == nil && found.revision == note.revision && flag(found.contact.Archived()) == note.archived {
			return nil // it has become right
		}
		if _, gone := t.exec(sqlDropArchival, account, note.revision, note.id); gone != nil || err != nil {
			return gone
		}
		return resettle(account, note.id)(t)
	}
}

// renewMatchKeys writes the match keys of a contact that its document has.
func renewMatchKeys(account, id int64) func(*tx) error {
	return func(t *tx) error {
		if _, err := t.tally(account); err != nil {
			return err
		}
		found, err := loadContact(t.conn, account, id)
		if err != nil {
			return err
		}
		_, err = t.exec(sqlSetMatchKeys, account, id, joinKeys(derivedFrom(account, found.contact).keys))
		return err
	}
}

// settleKeys writes keys of the index, or removes them, as the contact has them.
func settleKeys(account, id int64, keys []string) func(*tx) error {
	return func(t *tx) error {
		if _, err := t.tally(account); err != nil {
			return err
		}
		contacts, err := loadContacts(t.conn, account, []int64{id})
		if err != nil {
			return err
		}
		var has []string
		if len(contacts) > 0 {
			has = derivedFrom(account, contacts[0]).keys
		}
		for _, key := range keys {
			if slices.Contains(has, key) {
				err = t.post(sqlKeepKey, account, id, key)
			} else {
				err = t.post(sqlDeleteKey, account, key, id)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
}

// recountTag adds to how many contacts have a tag.
func recountTag(account int64, k tagKey, n int64) func(*tx) error {
	return func(t *tx) error {
		if _, err := t.tally(account); err != nil {
			return err
		}
		if _, err := t.exec(sqlCountTag, account, k.fold, k.name, n); err != nil {
			return err
		}
		_, err := t.exec(sqlDropTag, account, k.fold, k.name)
		return err
	}
}

// resizeTag corrects the number of digits; a tag that no contact has goes.
func resizeTag(account int64, k tagKey) func(*tx) error {
	return func(t *tx) error {
		if _, err := t.tally(account); err != nil {
			return err
		}
		if _, err := t.exec(sqlResizeTag, account, k.fold, k.name); err != nil {
			return err
		}
		_, err := t.exec(sqlDropTag, account, k.fold, k.name)
		return err
	}
}
