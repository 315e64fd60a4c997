package store

import (
	"errors"
	"maps"
	"math"
	"slices"
	"strings"

	"donorbook/internal/crm"
)

// The words of the search are compared for all accounts at once: SQLite reads them word by word, so that those of one contact
// cost as much as those of all. First everything is added up; only where a sum differs are contacts compared one by one, many
// with each walk over the words.

// wordsCheck is what the words of all contacts should be.
type wordsCheck struct {
	ledger ledger
	total  int64
}

// wordSuspects is how many contacts are compared with one walk over the words.
const wordSuspects = 100_000

// sumWords adds up the words of a contact, and counts them.
func sumWords(id int64, words string) (sum uint64, n int64) {
	for word := range strings.SplitSeq(words, " ") {
		if word != "" {
			sum += indexKey{word, id}.entry()
			n++
		}
	}
	return sum, n
}

// eachWord reads the words of the contacts from one id to another.
func (k *checker) eachWord(from, to int64, read func(id int64, entry uint64) error) error {
	return each(k.conn, func(r rows) error {
		id := r.int(0)
		return read(id, indexKey{r.text(1), id}.entry())
	}, k.search.words, from, to)
}

// everyWord compares the words of the search with those of the documents.
func (k *checker) everyWord() error {
	err := k.eachWord(math.MinInt64, math.MaxInt64, func(id int64, entry uint64) error {
		k.words.ledger.add(uint64(id), entry, -1)
		if k.report.Words++; k.report.Words%wordSuspects != 0 {
			return nil
		}
		return k.progress()
	})
	if err == nil {
		err = k.progress()
	}
	if err != nil || k.words.ledger.balanced() {
		return err
	}
	return k.compareWords()
}

// compareWords finds the contacts whose words differ.
func (k *checker) compareWords() error {
	suspects, unreadable := make(map[int64]uint64), make(map[int64]bool)
	first, last := int64(math.MinInt64), int64(0)
	settle := func(to int64) error {
		err := k.settleSuspects(first, to, suspects, unreadable)
		clear(suspects)
		clear(unreadable)
		first = to + 1
		return err
	}
	for _, account := range slices.Sorted(maps.Keys(k.accounts)) { // ids ascend with the accounts
		err := eachStored(k.conn, account, func(c storedContact) error {
			last = c.id
			switch {
			case c.damage != nil:
				unreadable[c.id] = true
			case k.words.ledger.differs(uint64(c.id)):
				suspects[c.id], _ = sumWords(c.id, derivedFrom(account, c.contact).words)
			}
			return nil
		}, func() error {
			if len(suspects)+len(unreadable) < wordSuspects {
				return k.ctx.Err()
			}
			return settle(last)
		})
		if err != nil {
			return err
		}
	}
	return settle(math.MaxInt64)
}

// settleSuspects compares contacts from one id to another, and finds words of contacts that are not there.
func (k *checker) settleSuspects(from, to int64, suspects map[int64]uint64, unreadable map[int64]bool) error {
	strangers := make(map[int64]bool)
	err := k.eachWord(from, to, func(id int64, entry uint64) error {
		if _, ok := suspects[id]; ok {
			suspects[id] -= entry
		} else if k.words.ledger.differs(uint64(id)) && !unreadable[id] && len(strangers) < wordSuspects {
			strangers[id] = true
		}
		return nil
	})
	if err != nil {
		return err
	}
	maps.DeleteFunc(suspects, func(_ int64, sum uint64) bool { return sum == 0 })
	for _, id := range slices.Sorted(maps.Keys(suspects)) {
		account := crm.IDAccount(id)
		p := Problem{Account: k.name(account), Contact: id, What: "its words in the search are not those of its document"}
		if err := k.mend(p, account, renewWords(account, id)); err != nil {
			return err
		}
	}
	return errors.Join(k.flush(), k.tellStrangers(slices.Sorted(maps.Keys(strangers))))
}

// tellStrangers tells of words whose contacts are not there. Those of a contact that was lost are left: it is told as such.
func (k *checker) tellStrangers(ids []int64) error {
	account, given := int64(-1), int64(0)
	for _, id := range ids {
		if crm.IDAccount(id) != account {
			var err error
			account = crm.IDAccount(id)
			if given, err = k.lastGiven(account); err != nil {
				return err
			}
		}
		if crm.IDSeq(id) <= given {
			continue
		}
		p := Problem{Account: k.name(account), Contact: id, What: "the search has words of it, and it does not exist"}
		if err := k.mend(p, account, renewWords(account, id)); err != nil {
			return err
		}
	}
	return k.flush()
}

// lastGiven is the last sequence number of a contact that an account may have lost. Of an account that does not exist it is told
// as a whole.
func (k *checker) lastGiven(account int64) (int64, error) {
	if _, ok := k.accounts[account]; !ok {
		k.tell(Problem{Account: k.name(account), What: "the search has words of it, and it does not exist: restore a backup"})
		return crm.MaxSeq, nil
	}
	row, err := readTally(k.conn, account, "")
	if errors.Is(err, crm.ErrNotFound) {
		return crm.MaxSeq, nil
	}
	if err != nil {
		return 0, err
	}
	return row.contactSeq, nil
}

// renewWords writes the words of a contact that its document has.
func renewWords(account, id int64) func(*tx) error {
	return func(t *tx) error {
		if _, err := t.tally(account); err != nil {
			return err
		}
		found, err := loadContact(t.conn, account, id)
		if errors.Is(err, crm.ErrNotFound) {
			return t.post(t.search.remove, account, id)
		}
		if err != nil {
			return err
		}
		return t.post(t.search.replace, account, id, derivedFrom(account, found.contact).words)
	}
}
