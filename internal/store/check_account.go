package store

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strconv"

	"donorbook/internal/crm"
)

// accountCheck compares the contacts of one account with everything that is derived from them. What it remembers does not grow
// with the account: the keys of the index and the tags are added up in ledgers, and only where two sums differ is it looked at
// one by one.
type accountCheck struct {
	*checker
	row  *tally
	name string

	last, active, archived int64 // the last sequence number; contacts by what their documents say
	revision               int64 // the largest
	unreadable             map[int64]bool
	index, tags            ledger
}

// ledger compares two sets that are too large for the memory: what should be there and what is there are added up as random
// numbers, in many small accounts.
type ledger struct{ balance [ledgerPages]uint64 }

const ledgerPages = 1 << 14

var ledgerSeed = maphash.MakeSeed()

func (l *ledger) add(page, entry uint64, n int64) { l.balance[page%ledgerPages] += uint64(n) * entry }

// differs tells whether there is a difference among the entries of a page.
func (l *ledger) differs(page uint64) bool { return l.balance[page%ledgerPages] != 0 }

func (l *ledger) balanced() bool { return l.balance == [ledgerPages]uint64{} }

func (k indexKey) entry() uint64 { return maphash.Comparable(ledgerSeed, k) }

// tagKey is the key of a tag in its table.
type tagKey struct{ fold, name string }

func (k tagKey) page() uint64  { return maphash.String(ledgerSeed, k.name) }
func (k tagKey) entry() uint64 { return maphash.Comparable(ledgerSeed, k) }

func keyOfTag(name string) tagKey { return tagKey{crm.FoldTag(name), name} }

func (a *accountCheck) problem(contact int64, format string, args ...any) Problem {
	return Problem{Account: a.name, Contact: contact, What: fmt.Sprintf(format, args...)}
}

const (
	sqlCheckIndex = `SELECT key, id FROM contact_index WHERE account_id = $1 AND (key, id) > ($2, $3) ORDER BY key, id LIMIT 5000`
	sqlCheckTags  = `SELECT fold, name, contacts, size FROM tag WHERE account_id = $1 AND (fold, name) > ($2, $3) ORDER BY fold, name LIMIT 1000`
)

var sqlCheckKeys = `SELECT key FROM contact_index WHERE account_id = $1 AND id = $2 AND key IN (` + parameters(3, scatteredWidth) + `)`

// end is the largest id that a contact of the account may have.
func (a *accountCheck) end() int64 { return crm.MakeID(a.row.account, crm.MaxSeq) }

// eachContact reads all contacts of the account.
func (a *accountCheck) eachContact(read func(storedContact) error, after func() error) error {
	return eachStored(a.conn, a.row.account, read, after)
}

// readContacts looks at each contact by itself, and enters what should be found elsewhere.
func (a *accountCheck) readContacts() error {
	return a.eachContact(func(c storedContact) error {
		a.report.Contacts++
		a.revision = max(a.revision, c.revision)
		if seq := crm.IDSeq(c.id); seq > a.last+1 {
			a.missing(a.last+1, seq-1)
		}
		a.last = crm.IDSeq(c.id)
		if c.damage != nil {
			a.unreadable[c.id] = true
			a.tell(a.problem(c.id, "its document is damaged: %s", restoreIt))
			a.active, a.archived = a.active+1-c.archived, a.archived+c.archived
			return nil
		}
		return a.readContact(c)
	}, a.progress)
}

func (a *accountCheck) readContact(c storedContact) error {
	is := flag(c.contact.Archived())
	a.active, a.archived = a.active+1-is, a.archived+is
	if is != c.archived {
		err := a.mend(a.problem(c.id, "archived is %d, and its document says %d", c.archived, is), a.row.account, resettle(a.row.account, c.id))
		if err != nil {
			return err
		}
	}
	should := derivedFrom(a.row.account, c.contact)
	if joinKeys(should.keys) != c.matchKeys {
		if err := a.mend(a.problem(c.id, "its match keys are not those of its emails"), a.row.account, renewMatchKeys(a.row.account, c.id)); err != nil {
			return err
		}
	}
	for _, key := range should.keys {
		a.index.add(uint64(c.id), indexKey{key, c.id}.entry(), 1)
	}
	for _, name := range should.tags {
		k := keyOfTag(name)
		a.tags.add(k.page(), k.entry(), 1)
	}
	sum, n := sumWords(c.id, should.words)
	a.words.ledger.add(uint64(c.id), sum, 1)
	a.words.total += n
	return nil
}

// missing tells of contacts that are not there.
func (a *accountCheck) missing(from, to int64) {
	if from == to {
		a.tell(a.problem(crm.MakeID(a.row.account, from), "it is missing: %s", restoreIt))
		return
	}
	a.tell(a.problem(0, "the contacts %d to %d are missing: restore them from a backup", crm.MakeID(a.row.account, from), crm.MakeID(a.row.account, to)))
}

func (a *accountCheck) eachKey(read func(indexKey) error, after func() error) error {
	var at indexKey
	for n := 5000; n == 5000; {
		n = 0
		err := each(a.conn, func(r rows) error {
			n++
			at = indexKey{r.text(0), r.int(1)}
			return read(at)
		}, sqlCheckIndex, a.row.account, at.key, at.id)
		if err == nil {
			err = after()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *accountCheck) readIndex() error {
	return a.eachKey(func(k indexKey) error {
		a.report.IndexKeys++
		a.index.add(uint64(k.id), k.entry(), -1)
		return nil
	}, a.progress)
}

// compareIndex finds the keys that are missing, and those that are too many.
func (a *accountCheck) compareIndex() error {
	if a.index.balanced() {
		return nil
	}
	wanted := make(map[int64][]string)
	err := a.eachContact(func(c storedContact) error {
		if c.damage == nil && a.index.differs(uint64(c.id)) {
			wanted[c.id] = derivedFrom(a.row.account, c.contact).keys
		}
		return nil
	}, func() error {
		for _, id := range slices.Sorted(maps.Keys(wanted)) {
			if err := a.findKeys(id, wanted[id]); err != nil {
				return err
			}
		}
		clear(wanted)
		return nil
	})
	if err != nil {
		return err
	}
	var suspects []indexKey
	return a.eachKey(func(k indexKey) error {
		if a.index.differs(uint64(k.id)) && !a.unreadable[k.id] {
			suspects = append(suspects, k)
		}
		return nil
	}, func() error {
		for part := range slices.Chunk(suspects, scatteredWidth) {
			if err := a.compareKeys(part); err != nil {
				return err
			}
		}
		suspects = suspects[:0]
		return nil
	})
}

// findKeys finds keys of a contact that the index does not have.
func (a *accountCheck) findKeys(id int64, keys []string) error {
	missing := make(map[string]bool)
	for part := range slices.Chunk(keys, scatteredWidth) {
		args := []any{a.row.account, id}
		for i := range scatteredWidth {
			args = append(args, part[min(i, len(part)-1)])
			missing[part[min(i, len(part)-1)]] = true
		}
		err := each(a.conn, func(r rows) error {
			delete(missing, r.text(0))
			return nil
		}, sqlCheckKeys, args...)
		if err != nil {
			return err
		}
	}
	if len(missing) == 0 {
		return nil
	}
	lost := slices.Sorted(maps.Keys(missing))
	return a.mend(a.problem(id, "the index lacks its keys %q", lost), a.row.account, settleKeys(a.row.account, id, lost))
}

// compareKeys finds keys of the index that their contacts do not have.
func (a *accountCheck) compareKeys(found []indexKey) error {
	ids := make([]int64, 0, len(found))
	for _, k := range found {
		ids = append(ids, k.id)
	}
	contacts, err := loadContacts(a.conn, a.row.account, ids)
	if err != nil {
		return err
	}
	has := make(map[indexKey]bool)
	exists := make(map[int64]bool)
	for _, contact := range contacts {
		exists[contact.ID] = true
		for _, key := range derivedFrom(a.row.account, contact).keys {
			has[indexKey{key, contact.ID}] = true
		}
	}
	for _, k := range found {
		lost := !exists[k.id] && !foreign(a.row.account, k.id) && crm.IDSeq(k.id) <= a.row.contactSeq
		if has[k] || lost { // a contact that was lost is told as such, and its keys are left
			continue
		}
		if err := a.mend(a.problem(k.id, "the index has the key %q, which it does not have", k.key), a.row.account, settleKeys(a.row.account, k.id, []string{k.key})); err != nil {
			return err
		}
	}
	return nil
}

func (a *accountCheck) eachTag(read func(k tagKey, contacts, size int64) error) error {
	var at tagKey
	for n := 1000; n == 1000; {
		n = 0
		err := each(a.conn, func(r rows) error {
			n++
			at = tagKey{r.text(0), r.text(1)}
			return read(at, r.int(2), r.int(3))
		}, sqlCheckTags, a.row.account, at.fold, at.name)
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *accountCheck) readTags() error {
	return a.eachTag(func(k tagKey, contacts, size int64) error {
		a.tags.add(k.page(), k.entry(), -contacts)
		if contacts > 0 && size == int64(len(strconv.FormatInt(contacts, 10))) {
			return nil
		}
		return a.mend(a.problem(0, "the tag %q of %d contacts has the size %d", k.name, contacts, size), a.row.account, resizeTag(a.row.account, k))
	})
}

// compareTags counts the tags whose sums differ. Where a document cannot be read, nobody knows its tags.
func (a *accountCheck) compareTags() error {
	if a.tags.balanced() || len(a.unreadable) > 0 {
		return nil
	}
	type count struct{ is, counted int64 }
	counts := make(map[tagKey]count)
	err := a.eachContact(func(c storedContact) error {
		for _, name := range derivedFrom(a.row.account, c.contact).tags {
			if k := keyOfTag(name); a.tags.differs(k.page()) {
				n := counts[k]
				counts[k] = count{n.is + 1, n.counted}
			}
		}
		return nil
	}, a.ctx.Err)
	if err == nil {
		err = a.eachTag(func(k tagKey, contacts, _ int64) error {
			if a.tags.differs(k.page()) {
				counts[k] = count{counts[k].is, contacts}
			}
			return nil
		})
	}
	for _, k := range slices.SortedFunc(maps.Keys(counts), func(a, b tagKey) int { return cmp.Compare(a.name, b.name) }) {
		if n := counts[k]; n.is != n.counted && err == nil {
			err = a.mend(a.problem(0, "%d active contacts have the tag %q, and %d are counted", n.is, k.name, n.counted), a.row.account,
				recountTag(a.row.account, k, n.is-n.counted))
		}
	}
	return err
}
