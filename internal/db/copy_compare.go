package db

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"maps"
	"slices"
	"strings"
)

// copySide is what a copy has read on one side.
type copySide struct {
	rows     map[*Table]int64
	accounts map[int64]*accountSide
	buffer   []byte
}

type accountSide struct {
	sum      hash.Hash
	id, name string // "" where the table of accounts does not have it
}

// add notes a row: it counts, and becomes part of its account's checksum. It returns about how many bytes the row has.
//
// The checksum of an account is the SHA-256 of its rows, table by table, each in the order of its key. A row is the
// table's name and its values: a letter for the kind, then a number in eight bytes, or a length in eight bytes and so
// many bytes.
func (s *copySide) add(t *Table, row []any) int {
	b := append(append(s.buffer[:0], t.Name...), 0)
	for i, value := range row {
		b = append(b, byte(t.Columns[i].Kind))
		switch v := value.(type) {
		case int64:
			b = binary.BigEndian.AppendUint64(b, uint64(v))
		case string:
			b = append(binary.BigEndian.AppendUint64(b, uint64(len(v))), v...)
		case []byte:
			b = append(binary.BigEndian.AppendUint64(b, uint64(len(v))), v...)
		}
	}
	s.buffer = b
	s.rows[t]++
	number := int64(0) // of a table of the whole service
	if i := t.At("account_id"); i >= 0 {
		number = row[i].(int64)
	}
	account := s.accounts[number]
	if account == nil {
		account = &accountSide{sum: sha256.New()}
		s.accounts[number] = account
	}
	account.sum.Write(b)
	if t.NameOf != nil {
		account.id, account.name = t.NameOf(row)
	}
	return len(b)
}

func (a *accountSide) checksum() string {
	if a == nil {
		return "nothing"
	}
	return hex.EncodeToString(a.sum.Sum(nil))
}

// named is an account as its operator knows it, by what either side says of it.
func named(number int64, sides ...*accountSide) string {
	for _, a := range sides {
		if a != nil && a.id != "" {
			return fmt.Sprintf("account %s (%s)", a.id, a.name)
		}
	}
	if number == 0 {
		return "what belongs to no account"
	}
	return fmt.Sprintf("account number %d", number)
}

// differencesShown bounds an error: where much differs, some of it says enough.
const differencesShown = 20

// compare finds every difference between the source and the target, and reports what is on both sides.
func (r *CopyReport) compare(tables []*Table, source, target *copySide) error {
	var found []string
	for _, t := range tables {
		r.Tables = append(r.Tables, TableCount{t.Name, source.rows[t]})
		if source.rows[t] != target.rows[t] {
			found = append(found, fmt.Sprintf("table %s: %d rows in the source, %d in the target", t.Name,
				source.rows[t], target.rows[t]))
		}
	}
	numbers := slices.AppendSeq(slices.Collect(maps.Keys(source.accounts)), maps.Keys(target.accounts))
	slices.Sort(numbers)
	for _, number := range slices.Compact(numbers) {
		a, b := source.accounts[number], target.accounts[number]
		switch sum, other := a.checksum(), b.checksum(); {
		case sum != other:
			found = append(found, fmt.Sprintf("%s: the checksum is %s in the source, %s in the target",
				named(number, a, b), sum, other))
		case a.id != "":
			r.Accounts = append(r.Accounts, AccountSum{a.id, sum})
		}
	}
	if more := len(found) - differencesShown; more > 0 {
		found = append(found[:differencesShown], fmt.Sprintf("and %d more", more))
	}
	if len(found) > 0 {
		return errors.New("the copy is not like the source:\n" + strings.Join(found, "\n"))
	}
	return nil
}
