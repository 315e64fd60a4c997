package jobs

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"os"
	"slices"
	"strings"

	"donorbook/internal/crm"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/contacts"
	"donorbook/internal/store/derived"
	"donorbook/internal/store/gifts"
)

// seen is what the rows of a file have had so far, by keys. A key is known by 64 bits, and takes about 40 bytes. In one of ten million files of a million rows, two keys are taken for
// the same.
type seen struct {
	seed    maphash.Seed
	last    map[uint64]uint32 // the place in holders of the one who got a key last
	holders []holder          // the first one is no one
	unit    []uint64          // the keys that the unit has given which is decided about; their holders are the last ones
}

// holder is who or what has a key.
type holder struct {
	id     int64
	before uint32 // the place of the one who got the key before; 0 for none
}

// maxHolders is how many contacts with one key are known, whatever their names are. Others are known by the key and their name together.
const maxHolders = 50

func newSeen() *seen {
	return &seen{seed: maphash.MakeSeed(), last: make(map[uint64]uint32), holders: make([]holder, 1)}
}

// beginUnit forgets what the unit that is decided about has given: it may begin again.
func (s *seen) beginUnit() {
	for _, hash := range slices.Backward(s.unit) {
		end := len(s.holders) - 1
		s.last[hash], s.holders = s.holders[end].before, s.holders[:end]
	}
	s.unit = s.unit[:0]
}

// endUnit keeps what the unit has given.
func (s *seen) endUnit() { s.unit = s.unit[:0] }

// holding are those who have a key, the last one first.
func (s *seen) holding(key string) (all []int64) {
	for at := s.last[maphash.String(s.seed, key)]; at != 0; at = s.holders[at].before {
		all = append(all, s.holders[at].id)
	}
	return all
}

// holdingAs is holding with those of a name where many have the key. under is what one more is noted under.
func (s *seen) holdingAs(name crm.PersonName, key string) (all []int64, under string) {
	if all = s.holding(key); len(all) < maxHolders {
		return all, key
	}
	under = key + "\x00" + contacts.SortName(name)
	return append(all, s.holding(under)...), under
}

// give notes who has keys, and under which name.
func (s *seen) give(id int64, name crm.PersonName, keys ...string) {
	if id == 0 {
		return
	}
	for _, key := range keys {
		all, under := s.holdingAs(name, key)
		if slices.Contains(all, id) {
			continue
		}
		hash := maphash.String(s.seed, under)
		s.holders = append(s.holders, holder{id, s.last[hash]})
		s.last[hash] = uint32(len(s.holders) - 1) //nolint:gosec // a file has not as many rows
		s.unit = append(s.unit, hash)
	}
}

// first is the one who got one of the keys last, as the first of them tells that is known; 0 is none.
func (s *seen) first(keys ...string) int64 {
	for _, key := range keys {
		if at := s.last[maphash.String(s.seed, key)]; at != 0 {
			return s.holders[at].id
		}
	}
	return 0
}

// trial is what a dry run knows: what has become of rows, and the contacts, gifts and plans that its units of work would have left.
type trial struct {
	*seen
	rows   scratch
	at     map[record]span // where the last state of a record is
	placed map[record]bool // what the unit knows of them

	before int64          // how many contacts there were when it began
	counts ImportCounts   // what would become of the rows so far
	listed map[string]int // rows that a person was told of, by what they are about
	told   ImportProgress // what else it has found out
}

// record is a contact, a gift or a plan.
type record struct {
	noun history.Noun
	id   int64
}

func newTrial() *trial {
	return &trial{seen: newSeen(), at: make(map[record]span), listed: make(map[string]int)}
}

func (tr *trial) beginUnit() {
	tr.seen.beginUnit()
	tr.placed = make(map[record]bool)
}

// keptTables are where the records are that rows are decided by, with the ways to find them.
var keptTables = map[history.Noun]*db.Table{history.ContactNoun: store.ContactTable, history.GiftNoun: store.GiftTable, history.PlanNoun: store.PlanTable}

// keepUnit keeps what a unit of work would have written.
func (tr *trial) keepUnit(t *store.Tx, a *store.Account) error {
	for noun, table := range keptTables {
		for row := range t.Pending(table) {
			at, err := tr.rows.keep(table.Append(nil, row))
			if err != nil {
				return err
			}
			tr.at[record{noun, row[1].(int64)}] = at
		}
	}
	for row, isRemoved := range t.Pending(store.IndexTable) {
		if id := row[2].(int64); !isRemoved {
			tr.give(id, contacts.Of(a).Contacts[id].Contact.PersonName(), row[1].(string))
		}
	}
	for row, isRemoved := range t.Pending(store.ReferenceTable) {
		if !isRemoved {
			tr.give(row[2].(int64), crm.PersonName{}, row[1].(string))
		}
	}
	tr.endUnit()
	return nil
}

// place makes the unit of work know the records that a row may be about, as the units before would have left them.
func (tr *trial) place(a *store.Account, row *ImportRow) error {
	n := &row.needs
	for _, key := range n.Keys {
		all, _ := tr.holdingAs(row.personName(), key)
		if held := derived.Of(a).Keys[key]; len(held) <= derived.FewCandidates {
			all = append(all, held...)
		}
		for _, id := range all {
			if err := tr.placeRecord(a, record{history.ContactNoun, id}); err != nil {
				return err
			}
			c, held := contacts.Of(a).Contacts[id], derived.Of(a).Keys[key]
			if c != nil && crm.ContainsSorted(c.Contact.MatchKeys, key) && !slices.Contains(held, id) {
				derived.Of(a).Keys[key] = append(held, id)
			}
		}
	}
	records := []record{{history.ContactNoun, n.Contact}, {history.PlanNoun, n.Plan}}
	for _, id := range n.Gifts {
		records = append(records, record{history.GiftNoun, id})
	}
	for _, reference := range n.References {
		noun, known := history.GiftNoun, derived.Of(a).References.Rows
		if strings.HasPrefix(reference, find.PlanReference) {
			noun = history.PlanNoun
		}
		if known[reference] == 0 {
			known[reference] = tr.first(reference)
		}
		records = append(records, record{noun, known[reference]})
	}
	for _, what := range records {
		if err := tr.placeRecord(a, what); err != nil {
			return err
		}
	}
	return nil
}

// placeRecord makes the unit of work know a record that a unit before would have left, instead of what is there.
func (tr *trial) placeRecord(a *store.Account, what record) error {
	at, isKept := tr.at[what]
	if !isKept || tr.placed[what] {
		return nil
	}
	tr.placed[what] = true
	kept, err := tr.rows.read(at)
	if err != nil {
		return err
	}
	switch what.noun {
	case history.GiftNoun:
		_, gifts.Of(a).Gifts.Rows[what.id] = gifts.ScanGift(store.GiftTable.Decode(kept, gifts.GiftColumns))
	case history.PlanNoun:
		_, plan := gifts.ScanPlan(store.PlanTable.Decode(kept, gifts.PlanColumns))
		gifts.Of(a).Plans.Rows[what.id] = plan
		return tr.placeRecord(a, record{history.ContactNoun, plan.Contact})
	default:
		was, is := contacts.Of(a).Contacts[what.id], contacts.ScanContact(store.ContactTable.Decode(kept, contacts.ContactColumns))
		contacts.Of(a).Contacts[what.id] = is
		if was == nil {
			return nil
		}
		gone, _ := crm.KeyChange(&was.Contact, &is.Contact)
		for _, key := range gone {
			if held := derived.Of(a).Keys[key]; len(held) <= derived.FewCandidates {
				derived.Of(a).Keys[key] = slices.DeleteFunc(slices.Clone(held), func(id int64) bool { return id == what.id })
			}
		}
	}
	return nil
}

// scratch keeps the last bytes in memory, and all others in a temporary file, which is gone when the program ends.
type scratch struct {
	latest  bytes.Buffer
	file    *os.File
	written int64 // bytes of the file
}

// scratchRoom is how many bytes are kept in memory, about. Files of some ten thousand rows need no more.
const scratchRoom = 8 << 20

// span is where something is.
type span struct {
	at   int64
	size int32
}

func (s *scratch) keep(data []byte) (at span, err error) {
	if at = (span{s.written + int64(s.latest.Len()), int32(len(data))}); s.latest.Len()+len(data) < scratchRoom { //nolint:gosec // documents are bounded
		s.latest.Write(data)
		return at, nil
	}
	if s.file == nil {
		if s.file, err = os.CreateTemp("", "donorbook-preview-*"); err != nil { // mode 0600
			return at, fmt.Errorf("a preview of a file as large as this one needs a temporary file: %w", err)
		}
		_ = os.Remove(s.file.Name()) // where a file that is open can be
	}
	n, err := s.file.WriteAt(s.latest.Bytes(), s.written)
	s.written += int64(n)
	s.latest.Reset()
	s.latest.Write(data)
	return at, err
}

func (s *scratch) read(from span) ([]byte, error) {
	if from.at >= s.written {
		data := s.latest.Bytes()[from.at-s.written:]
		return data[:from.size], nil
	}
	data := make([]byte, from.size)
	_, err := s.file.ReadAt(data, from.at)
	return data, err
}

func (s *scratch) close() {
	if s.file != nil {
		_ = s.file.Close()
		_ = os.Remove(s.file.Name()) // where it could not be before
	}
}
