package store

import (
	"cmp"
	"hash/maphash"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"donorbook/internal/crm"
)

// fact is something that the documents say and that is kept in another table, too.
type fact struct {
	kind  factKind
	owner int64  // the contact; the account of a tag
	text  string // a key; what a tag is searched as and its name, with a zero byte between them; nothing for words
}

type factKind byte

const (
	hasKey    factKind = iota
	hasWords           // all of a contact's; how often is the sum of random numbers that stand for them
	countsTag          // how often is the number of contacts
)

func tagFact(account int64, fold, name string) fact {
	return fact{countsTag, account, fold + "\x00" + name}
}

func (f fact) tag() (fold, name string) {
	fold, name, _ = strings.Cut(f.text, "\x00")
	return fold, name
}

var checkSeed = maphash.MakeSeed()

// ledger compares two sets of facts that are too large for the memory: what should be there and what is there are added up as random
// numbers, on many small pages.
type ledger [1 << 14]uint64

func (l *ledger) add(f fact, times uint64) {
	hash := maphash.Comparable(checkSeed, f)
	l[hash%uint64(len(l))] += hash * times
}

// differs tells whether there is a difference on the page of a fact.
func (l *ledger) differs(f fact) bool { return l[maphash.Comparable(checkSeed, f)%uint64(len(l))] != 0 }

// facts are those that the document of a contact says.
func (d derived) facts(account, id int64, enter func(f fact, times uint64)) {
	for _, key := range d.keys {
		enter(fact{hasKey, id, key}, 1)
	}
	for _, word := range strings.Fields(d.words) {
		enter(fact{hasWords, id, ""}, maphash.String(checkSeed, word))
	}
	for _, name := range d.tags {
		enter(tagFact(account, crm.FoldTag(name), name), 1)
	}
}

// eachFound reads the keys and the words of the contacts from one id to another. They are read for all accounts at once: a database may
// keep words in an order of their own, so that those of one contact cost as much as those of all.
func (k *checker) eachFound(from, to int64, enter func(f fact, times uint64) error) error {
	err := k.conn.EachRow(indexTable, func(row []any) error {
		account, id := row[0].(int64), row[2].(int64)
		if id < from || id > to || foreign(account, id) {
			return nil
		}
		return enter(fact{hasKey, id, row[1].(string)}, 1)
	})
	if err != nil {
		return err
	}
	return k.conn.EachWord(wordsTable, from, to, func(id int64, word string) error {
		return enter(fact{hasWords, id, ""}, maphash.String(checkSeed, word))
	})
}

// eachTag reads the tags of the accounts that exist.
func (k *checker) eachTag(enter func(f fact, contacts, size int64) error) error {
	return k.conn.EachRow(tagTable, func(row []any) error {
		account := row[0].(int64)
		if k.accounts[account] == nil {
			return nil
		}
		return enter(tagFact(account, row[1].(string), row[2].(string)), row[3].(int64), row[4].(int64))
	})
}

// everyFact takes what is there from what should be there.
func (k *checker) everyFact() error {
	err := k.eachFound(math.MinInt64, math.MaxInt64, func(f fact, times uint64) error {
		k.ledger.add(f, -times)
		if f.kind == hasKey {
			k.report.IndexKeys++
		} else {
			k.report.Words++
		}
		if (k.report.IndexKeys+k.report.Words)%10_000 != 0 {
			return nil
		}
		return k.progress()
	})
	if err == nil {
		err = k.progress()
	}
	if err != nil {
		return err
	}
	return k.eachTag(func(f fact, contacts, size int64) error {
		k.ledger.add(f, -uint64(contacts))
		if contacts > 0 && size == int64(len(strconv.FormatInt(contacts, 10))) {
			return nil
		}
		_, name := f.tag()
		return k.mend(f.owner, 0, recount(f, 0), "the tag %q of %d contacts has the size %d", name, contacts, size)
	})
}

// difference is what is looked at one by one, because it is on pages that differ.
type difference struct {
	*checker
	from     int64 // the first contact that was not settled yet
	contacts map[fact]times
	tags     map[fact]times
}

// times is how often a fact should be there, and is.
type times struct{ should, is uint64 }

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
				derivedFrom(number, c.contact).facts(number, c.id, func(f fact, n uint64) { d.enter(f, n, 0) })
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
	return d.settleTags()
}

func (d *difference) enter(f fact, should, is uint64) {
	if d.told[f.owner] || !d.ledger.differs(f) {
		return
	}
	facts := d.contacts
	if f.kind == countsTag {
		facts = d.tags
	}
	n := facts[f]
	facts[f] = times{n.should + should, n.is + is}
}

// wrong is what differs of a contact.
type wrong struct {
	lost, extra []string // keys of the index
	words       times
}

// settle compares the contacts up to an id.
func (d *difference) settle(to int64) error {
	err := d.eachFound(d.from, to, func(f fact, n uint64) error {
		d.enter(f, 0, n)
		return nil
	})
	if err != nil {
		return err
	}
	contacts := make(map[int64]wrong)
	for f, n := range d.contacts {
		if n.should == n.is {
			continue
		}
		w := contacts[f.owner]
		switch {
		case f.kind == hasWords:
			w.words = n
		case n.is == 0:
			w.lost = append(w.lost, f.text)
		default:
			w.extra = append(w.extra, f.text)
		}
		contacts[f.owner] = w
	}
	clear(d.contacts)
	d.from = to + 1
	for _, id := range slices.Sorted(maps.Keys(contacts)) {
		if err := d.tellWrong(id, contacts[id]); err != nil {
			return err
		}
	}
	return nil
}

const sqlContactExists = `SELECT 1 FROM contact WHERE account_id = $1 AND id = $2`

// tellWrong tells what differs of a contact. What is left of one that was lost stays: it is told as such.
func (k *checker) tellWrong(id int64, w wrong) error {
	account := crm.IDAccount(id)
	a := k.accounts[account]
	if a == nil {
		if w.words.is != 0 && !k.told[account] {
			k.told[account] = true
			k.tell(Problem{Account: k.name(account), What: "the search has words of it, and it does not exist: restore a backup"})
		}
		return nil
	}
	exists, err := k.conn.Exists(sqlContactExists, account, id)
	if err != nil || !exists && (!a.counted || crm.IDSeq(id) <= a.totals.contactSeq) {
		return err
	}
	if len(w.lost) > 0 {
		slices.Sort(w.lost)
		err = k.mend(account, id, renew(account, id, 0), "the index lacks its keys %q", w.lost)
	}
	for _, key := range w.extra {
		if err == nil {
			err = k.extraKey(account, id, key)
		}
	}
	if err != nil || w.words.should == w.words.is {
		return err
	}
	if exists {
		return k.mend(account, id, renew(account, id, 0), "its words in the search are not those of its document")
	}
	return k.mend(account, id, renew(account, id, 0), "the search has words of it, and it does not exist")
}

func (k *checker) extraKey(account, id int64, key string) error {
	return k.mend(account, id, renew(account, id, 0, key), "the index has the key %q, which it does not have", key)
}

// settleTags compares the tags. A repair adds the difference: what others change meanwhile they add as well.
func (d *difference) settleTags() error {
	err := d.eachTag(func(f fact, contacts, _ int64) error {
		d.enter(f, 0, uint64(contacts))
		return nil
	})
	maps.DeleteFunc(d.tags, func(_ fact, n times) bool { return n.should == n.is })
	for _, f := range slices.SortedFunc(maps.Keys(d.tags), func(a, b fact) int { return cmp.Or(cmp.Compare(a.owner, b.owner), cmp.Compare(a.text, b.text)) }) {
		if err == nil {
			n := d.tags[f]
			_, name := f.tag()
			err = d.mend(f.owner, 0, recount(f, int64(n.should-n.is)), "%d active contacts have the tag %q, and %d are counted", n.should, name, int64(n.is))
		}
	}
	return err
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
		fold, name := f.tag()
		t.Add(tagTable, n, f.owner, fold, name)
		for _, sql := range []string{sqlResizeTag, sqlDropTag} {
			if _, err := t.Exec(sql, f.owner, fold, name); err != nil {
				return err
			}
		}
		return nil
	}
}
