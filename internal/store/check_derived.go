package store

import (
	"cmp"
	"hash/maphash"
	"maps"
	"math"
	"slices"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

// fact is something that documents say and that is kept in another table, too: that a contact has a key, which words a contact has,
// that it is in a set, and how many contacts have a tag.
type fact struct {
	table *db.Table
	owner int64  // the contact; the account of a tag
	text  string // the key, the set, or what the tag is searched as
	name  string // of the tag
}

// times is how often a fact should be there, and is. For the words of a contact it is the sum of random numbers that stand for them.
type times struct{ should, is uint64 }

var checkSeed = maphash.MakeSeed()

// ledger compares two sets of facts that are too large for the memory: what should be there and what is there are added up as random
// numbers, on many small pages.
type ledger [1 << 14]uint64

func (l *ledger) add(f fact, n uint64) {
	hash := maphash.Comparable(checkSeed, f)
	l[hash%uint64(len(l))] += hash * n
}

// differs tells whether there is a difference on the page of a fact.
func (l *ledger) differs(f fact) bool { return l[maphash.Comparable(checkSeed, f)%uint64(len(l))] != 0 }

// eachSaid are the facts that a document says.
func (d derived) eachSaid(c db.Conn, account, id int64, enter func(f fact, n uint64)) {
	for _, key := range d.keys {
		enter(fact{table: indexTable, owner: id, text: key}, 1)
	}
	for _, word := range c.Kept(d.words) {
		enter(fact{table: wordsTable, owner: id}, maphash.String(checkSeed, word))
	}
	for _, name := range d.tags {
		enter(fact{tagTable, account, crm.FoldTag(name), name}, 1)
	}
	for _, name := range d.sets {
		enter(fact{table: setTable, owner: id, text: name}, 1)
	}
}

// eachKept are the facts that are kept of the contacts from one id to another, and after the last contact those of tags. They are read
// for all accounts at once: a database may keep words in an order of their own, so that those of one contact cost as much as all.
func (k *checker) eachKept(from, to int64, enter func(f fact, n uint64) error) error {
	err := k.conn.EachRow(indexTable, func(row []any) error {
		account, id := row[0].(int64), row[2].(int64)
		if id < from || id > to || foreign(account, id) || k.importing[account] {
			return nil
		}
		return enter(fact{table: indexTable, owner: id, text: row[1].(string)}, 1)
	})
	if err != nil {
		return err
	}
	err = k.conn.EachWord(wordsTable, from, to, func(id int64, word string) error {
		if len(k.importing) > 0 && k.importing[crm.IDAccount(id)] {
			return nil
		}
		return enter(fact{table: wordsTable, owner: id}, maphash.String(checkSeed, word))
	})
	if err == nil {
		err = k.eachMember(from, to, enter)
	}
	if err != nil || to < math.MaxInt64 {
		return err
	}
	return k.conn.EachRow(tagTable, func(row []any) error {
		f := fact{tagTable, row[0].(int64), row[1].(string), row[2].(string)}
		if !k.looksAt(f.owner) {
			return nil
		}
		return enter(f, uint64(row[3].(int64)))
	})
}

// everyFact takes what is kept from what the documents say, and looks closer where something is left.
func (k *checker) everyFact() error {
	if err := k.eachGiftSet(math.MinInt64, math.MaxInt64, func(f fact) { k.ledger.add(f, 1) }); err != nil {
		return err
	}
	err := k.eachKept(math.MinInt64, math.MaxInt64, func(f fact, n uint64) error {
		k.ledger.add(f, -n)
		switch f.table {
		case indexTable:
			k.report.IndexKeys++
		case wordsTable:
			k.report.Words++
		}
		done := k.report.IndexKeys + k.report.Words
		if done%10_000 != 0 {
			return nil
		}
		k.options.Progress("match keys and search words", min(done, k.said), k.said)
		return k.ctx.Err()
	})
	if err == nil && k.ledger != (ledger{}) {
		err = k.compare()
	}
	if err != nil {
		return err
	}
	return k.tellSets()
}

// difference is what is looked at one by one, because it is on pages that differ.
type difference struct {
	*checker
	from     int64 // the first contact that was not settled yet
	contacts map[fact]times
	tags     map[fact]times
}

// factsAtOnce is about how many are compared with one walk over the index and the words.
const factsAtOnce = 300_000

// compare finds what is missing and what is too much.
func (k *checker) compare() error {
	d := &difference{k, math.MinInt64, make(map[fact]times), make(map[fact]times)}
	for _, number := range k.numbers {
		last := int64(0)
		err := eachStored(k.conn, number, func(c *stored) error {
			if last = c.id; c.damage == nil {
				derivedFrom(number, c.contact).eachSaid(k.conn, number, c.id, func(f fact, n uint64) { d.enter(f, times{should: n}) })
			}
			return nil
		}, func() error {
			if len(d.contacts) < cmp.Or(k.options.factsAtOnce, factsAtOnce) {
				return k.ctx.Err()
			}
			return d.settle(last)
		})
		if err != nil {
			return err
		}
	}
	if err := d.settle(math.MaxInt64); err != nil {
		return err
	}
	return d.tellFacts(d.tags)
}

func (d *difference) enter(f fact, n times) {
	if d.told[f.owner] || !d.ledger.differs(f) {
		return
	}
	facts := d.contacts
	if f.table == tagTable {
		facts = d.tags
	}
	before := facts[f]
	facts[f] = times{before.should + n.should, before.is + n.is}
}

// settle compares the contacts up to an id.
func (d *difference) settle(to int64) error {
	err := d.eachGiftSet(d.from, to, func(f fact) { d.enter(f, times{should: 1}) })
	if err != nil {
		return err
	}
	err = d.eachKept(d.from, to, func(f fact, n uint64) error {
		d.enter(f, times{is: n})
		return nil
	})
	if err == nil {
		err = d.tellFacts(d.contacts)
	}
	clear(d.contacts)
	d.from = to + 1
	return err
}

// tellFacts tells which facts differ; the keys that a contact has lost are told together.
func (k *checker) tellFacts(facts map[fact]times) error {
	maps.DeleteFunc(facts, func(_ fact, n times) bool { return n.should == n.is })
	lost := make(map[int64][]string)
	for _, f := range slices.SortedFunc(maps.Keys(facts), func(a, b fact) int {
		return cmp.Or(cmp.Compare(a.owner, b.owner), cmp.Compare(a.table.Name, b.table.Name), cmp.Compare(a.text, b.text), cmp.Compare(a.name, b.name))
	}) {
		n := facts[f]
		var err error
		switch {
		case f.table == tagTable: // what others change meanwhile they add as well
			is, counted := int64(n.should), int64(n.is)
			err = k.mend(k.problem(f.owner, 0, "%d active contacts have the tag %q, but %d are counted", is, f.name, counted), f.owner, recount(f, is-counted))
		case f.table == setTable:
			err = k.noteSet(f)
		case f.table == indexTable && n.is == 0:
			lost[f.owner] = append(lost[f.owner], f.text)
		default:
			err = k.tellFact(f)
		}
		if err != nil {
			return err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(lost)) {
		account := crm.IDAccount(id)
		if err := k.mend(k.problem(account, id, "the index lacks its match keys %q", lost[id]), account, renew(account, id)); err != nil {
			return err
		}
	}
	return nil
}

const (
	sqlContactExists = `SELECT 1 FROM contact WHERE account_id = $1 AND id = $2`
	otherKey         = "the index has the match key %q, which this contact does not have"
)

// tellFact tells of a key, or of words, that are not those of a document. What is left of a contact that was lost stays: it is told as such.
func (k *checker) tellFact(f fact) error {
	account, id := crm.IDAccount(f.owner), f.owner
	a := k.accounts[account]
	if a == nil { // keys of an account that does not exist are told by their table
		if f.table == wordsTable && !k.told[account] {
			k.told[account] = true
			k.tell(k.problem(account, 0, "the search has words of this account, but it does not exist: restore a backup"))
		}
		return nil
	}
	exists, err := k.conn.Exists(sqlContactExists, account, id)
	switch {
	case err != nil || !exists && a.gaveOut(id):
		return err
	case f.table == indexTable:
		return k.mend(k.problem(account, id, otherKey, f.text), account, renew(account, id, f.text))
	case exists:
		return k.mend(k.problem(account, id, "its words in the search do not match its document"), account, renew(account, id))
	}
	return k.mend(k.problem(account, id, "the search has words of this contact, but it does not exist"), account, renew(account, id))
}

const sqlTagCount = `SELECT contacts FROM tag WHERE account_id = $1 AND fold = $2 AND name = $3`

// recount adds to how many contacts have a tag, and works out anew how many digits that is.
func recount(f fact, n int64) func(*tx) error {
	return func(t *tx) error {
		if _, err := t.lock(f.owner); err != nil {
			return err
		}
		counted, err := t.Int(sqlTagCount, f.owner, f.text, f.name)
		t.Delete(tagTable, f.owner, f.text, f.name)
		t.Add(tagTable, counted+n, f.owner, f.text, f.name)
		return err
	}
}
