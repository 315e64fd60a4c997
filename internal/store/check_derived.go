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
// and how many contacts have a tag.
type fact struct {
	table *db.Table
	owner int64  // the contact; the account of a tag
	text  string // the key, or what the tag is searched as
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
}

// eachKept are the facts that are kept of the contacts from one id to another, and after the last contact those of tags. They are read
// for all accounts at once: a database may keep words in an order of their own, so that those of one contact cost as much as all.
func (k *checker) eachKept(from, to int64, enter func(f fact, n uint64) error) error {
	err := k.conn.EachRow(indexTable, func(row []any) error {
		account, id := row[0].(int64), row[2].(int64)
		if id < from || id > to || foreign(account, id) {
			return nil
		}
		return enter(fact{table: indexTable, owner: id, text: row[1].(string)}, 1)
	})
	if err != nil {
		return err
	}
	err = k.conn.EachWord(wordsTable, from, to, func(id int64, word string) error {
		return enter(fact{table: wordsTable, owner: id}, maphash.String(checkSeed, word))
	})
	if err != nil || to < math.MaxInt64 {
		return err
	}
	return k.conn.EachRow(tagTable, func(row []any) error {
		f := fact{tagTable, row[0].(int64), row[1].(string), row[2].(string)}
		if k.accounts[f.owner] == nil {
			return nil
		}
		return enter(f, uint64(row[3].(int64)))
	})
}

// everyFact takes what is kept from what the documents say.
func (k *checker) everyFact() error {
	err := k.eachKept(math.MinInt64, math.MaxInt64, func(f fact, n uint64) error {
		k.ledger.add(f, -n)
		switch f.table {
		case indexTable:
			k.report.IndexKeys++
		case wordsTable:
			k.report.Words++
		}
		if (k.report.IndexKeys+k.report.Words)%10_000 != 0 {
			return nil
		}
		return k.progress()
	})
	if err != nil {
		return err
	}
	return k.progress()
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
	if k.ledger == (ledger{}) {
		return nil
	}
	d := &difference{k, math.MinInt64, make(map[fact]times), make(map[fact]times)}
	for _, number := range k.numbers {
		last := int64(0)
		err := eachStored(k.conn, number, func(c storedContact) error {
			if last = c.id; c.damage == nil {
				derivedFrom(number, c.contact).eachSaid(k.conn, number, c.id, func(f fact, n uint64) { d.enter(f, times{should: n}) })
			}
			return nil
		}, func() error {
			if len(d.contacts) < factsAtOnce {
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
	err := d.eachKept(d.from, to, func(f fact, n uint64) error {
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
	sorted := slices.SortedFunc(maps.Keys(facts), func(a, b fact) int {
		return cmp.Or(cmp.Compare(a.owner, b.owner), cmp.Compare(a.table.Name, b.table.Name), cmp.Compare(facts[a].is, facts[b].is), cmp.Compare(a.text, b.text), cmp.Compare(a.name, b.name))
	})
	var lost []string
	for i, f := range sorted {
		if f.table == indexTable && facts[f].is == 0 {
			lost = append(lost, f.text)
			if next := i + 1; next < len(sorted) && sorted[next].table == indexTable && sorted[next].owner == f.owner && facts[sorted[next]].is == 0 {
				continue
			}
		}
		if err := k.tellFact(f, facts[f], lost); err != nil {
			return err
		}
		lost = nil
	}
	return nil
}

const sqlContactExists = `SELECT 1 FROM contact WHERE account_id = $1 AND id = $2`

// tellFact tells a fact that differs. What is left of a contact that was lost stays: it is told as such.
func (k *checker) tellFact(f fact, n times, lost []string) error {
	if f.table == tagTable { // what others change meanwhile they add as well
		is, counted := int64(n.should), int64(n.is)
		return k.mend(k.problem(f.owner, 0, "%d active contacts have the tag %q, and %d are counted", is, f.name, counted), f.owner, recount(f, is-counted))
	}
	account, id := crm.IDAccount(f.owner), f.owner
	a := k.accounts[account]
	if a == nil { // keys of an account that does not exist are told by their table
		if f.table == wordsTable && !k.told[account] {
			k.told[account] = true
			k.tell(k.problem(account, 0, "the search has words of it, and it does not exist: restore a backup"))
		}
		return nil
	}
	exists, err := k.conn.Exists(sqlContactExists, account, id)
	switch {
	case err != nil || !exists && (!a.counted || crm.IDSeq(id) <= a.totals.contactSeq):
		return err
	case len(lost) > 0:
		return k.mend(k.problem(account, id, "the index lacks its keys %q", lost), account, renew(account, id, 0))
	case f.table == indexTable:
		return k.mendKey(account, id, f.text)
	case exists:
		return k.mend(k.problem(account, id, "its words in the search are not those of its document"), account, renew(account, id, 0))
	}
	return k.mend(k.problem(account, id, "the search has words of it, and it does not exist"), account, renew(account, id, 0))
}

func (k *checker) mendKey(account, id int64, key string) error {
	return k.mend(k.problem(account, id, "the index has the key %q, which it does not have", key), account, renew(account, id, 0, key))
}

const sqlWrongSizes = `SELECT account_id, fold, name, contacts, size FROM tag WHERE contacts <= 0 OR size <> length(CAST(contacts AS TEXT)) ORDER BY account_id, fold, name`

// sizes finds tags that count no contacts, or the digits wrongly.
func (k *checker) sizes() error {
	return k.conn.Each(func(r db.Row) error {
		f := fact{tagTable, r.Int(0), r.Text(1), r.Text(2)}
		if k.accounts[f.owner] == nil {
			return nil
		}
		return k.mend(k.problem(f.owner, 0, "the tag %q of %d contacts has the size %d", f.name, r.Int(3), r.Int(4)), f.owner, recount(f, 0))
	}, sqlWrongSizes)
}

const (
	sqlResizeTag = `UPDATE tag SET size = length(CAST(contacts AS TEXT)) WHERE account_id = $1 AND fold = $2 AND name = $3`
	sqlDropTag   = `DELETE FROM tag WHERE account_id = $1 AND fold = $2 AND name = $3 AND contacts <= 0`
)

// recount adds to how many contacts have a tag, and works out anew how many digits that is.
func recount(f fact, n int64) func(*tx) error {
	return func(t *tx) error {
		if _, err := t.lock(f.owner); err != nil {
			return err
		}
		t.Add(tagTable, n, f.owner, f.text, f.name)
		if _, err := t.Exec(sqlResizeTag, f.owner, f.text, f.name); err != nil {
			return err
		}
		_, err := t.Exec(sqlDropTag, f.owner, f.text, f.name)
		return err
	}
}
