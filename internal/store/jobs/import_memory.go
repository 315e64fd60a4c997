package jobs

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"os"
	"slices"
	"strings"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

// seen is what the rows of a file have had so far, by keys. A key is known by 64 bits, and takes about 40 bytes. In one
// of ten million files of a million rows, two keys are taken for the same.
type seen struct {
	seed    maphash.Seed
	last    map[uint64]uint32 // the place in holders of the one who got a key last
	holders []holder          // the first one is no one
	// the keys that the unit has given which is decided about; their holders are the last ones
	unit []uint64
}

// holder is who or what has a key.
type holder struct {
	id     int64
	before uint32 // the place of the one who got the key before; 0 for none
}

// maxHolders is how many contacts with one key are known, whatever their names are. Others are known by the key and
// their name together.
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
	under = key + "\x00" + store.SortName(name)
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

// trial is what a dry run knows: what has become of rows, and the contacts, gifts and plans that its units of work
// would have left.
type trial struct {
	*seen
	rows   scratch
	at     map[record]span // where the last state of a record is
	placed map[record]bool // what the unit knows of them
	lost   map[string]bool // keys and the contacts that no longer have them, which is rare

	before int64          // how many contacts there were when it began
	counts ImportCounts   // what would become of the rows so far
	listed map[string]int // rows that a person was told of, by what they are about
	told   ImportProgress // what else it has found out
}

// record is a contact, a gift or a plan: its sequence number, and its noun in the last bits.
type record int64

func recordOf(noun history.Noun, id int64) record { return record(doc.IDSeq(id)<<4 | int64(noun)) }

func newTrial() *trial {
	return &trial{seen: newSeen(), at: make(map[record]span), lost: make(map[string]bool), listed: make(map[string]int)}
}

func (tr *trial) beginUnit(a *store.Account) {
	tr.seen.beginUnit()
	tr.placed = make(map[record]bool)
	a.Place = func(id int64) error { return tr.place(a, history.ContactNoun, id) }
	a.Given = func(contact int64, ids []int64) ([]int64, error) {
		ids = append(ids, tr.holding(givenKey(contact))...)
		for _, id := range ids {
			if err := tr.place(a, history.GiftNoun, id); err != nil {
				return nil, err
			}
		}
		return ids, nil
	}
}

// givenKey is what the gifts of a contact are found by that are new.
func givenKey(contact int64) string { return fmt.Sprint("given by ", contact) }

// keptTables are where the records are that rows are decided by.
var keptTables = map[history.Noun]*db.Table{history.ContactNoun: store.ContactTable, history.GiftNoun: store.GiftTable,
	history.PlanNoun: store.PlanTable}

// keepUnit keeps what a unit of work would have written.
func (tr *trial) keepUnit(u store.Unit) (err error) {
	for noun, table := range keptTables {
		for row := range u.Pending(table) {
			if tr.at[recordOf(noun, row[1].(int64))], err = tr.rows.keep(table.Append(nil, row)); err != nil {
				return err
			}
			if key := givenKey(row[2].(int64)); noun == history.GiftNoun &&
				int64(len(tr.holding(key))) < store.MostTakenBack {
				tr.give(row[1].(int64), crm.PersonName{}, key)
			}
		}
	}
	for row, isRemoved := range u.Pending(store.IndexTable) {
		key, id := row[1].(string), row[2].(int64)
		if delete(tr.lost, lostKey(key, id)); isRemoved {
			tr.lost[lostKey(key, id)] = true
		} else {
			tr.give(id, u.Contacts[id].Contact.PersonName(), key)
		}
	}
	for row, isRemoved := range u.Pending(store.ReferenceTable) {
		if !isRemoved {
			tr.give(row[2].(int64), crm.PersonName{}, row[1].(string))
		}
	}
	tr.endUnit()
	return nil
}

func lostKey(key string, id int64) string { return fmt.Sprint(key, "\x00", id) }

// meet makes the unit of work know what a row may be about, as the units before would have left it: by whom its keys
// are held, and its records.
func (tr *trial) meet(a *store.Account, row *ImportRow) error {
	if row == nil {
		return nil
	}
	n := &row.needs
	for _, key := range n.Keys {
		all, _ := tr.holdingAs(row.personName(), key)
		if err := tr.meetKey(a, key, all); err != nil {
			return err
		}
	}
	tr.stale(a, n.Contact)
	if err := tr.place(a, history.PlanNoun, n.Plan); err != nil {
		return err
	}
	for _, id := range n.Gifts {
		if err := tr.place(a, history.GiftNoun, id); err != nil {
			return err
		}
	}
	for _, reference := range n.References {
		noun, known := history.GiftNoun, a.References.Rows
		if strings.HasPrefix(reference, find.PlanReference) {
			noun = history.PlanNoun
		}
		if known[reference] == 0 {
			known[reference] = tr.first(reference)
		}
		if err := tr.place(a, noun, known[reference]); err != nil {
			return err
		}
	}
	return tr.meet(a, row.match)
}

// meetKey adds those to the holders of a key who have got it by rows before. What they are is read when someone asks
// for it, but where many have the key: of those, who is not known is looked for among what is there.
func (tr *trial) meetKey(a *store.Account, key string, got []int64) error {
	keys := a.Keys
	if len(tr.lost) > 0 && len(keys[key]) <= store.FewCandidates {
		keys[key] = slices.DeleteFunc(slices.Clone(keys[key]), func(id int64) bool { return tr.lost[lostKey(key, id)] })
	}
	for _, id := range got {
		if !slices.Contains(keys[key], id) && !tr.lost[lostKey(key, id)] {
			keys[key] = append(keys[key], id)
		}
	}
	if len(keys[key]) <= store.FewCandidates {
		for _, id := range keys[key] {
			tr.stale(a, id)
		}
		return nil
	}
	for _, id := range got {
		if err := tr.place(a, history.ContactNoun, id); err != nil {
			return err
		}
	}
	return nil
}

// stale makes the unit of work forget a contact that a unit before would have left in another state.
func (tr *trial) stale(a *store.Account, id int64) {
	if what := recordOf(history.ContactNoun, id); !tr.placed[what] && tr.at[what] != 0 {
		delete(a.Contacts, id)
	}
}

// place makes the unit of work know a record that a unit before would have left, instead of what is there.
func (tr *trial) place(a *store.Account, noun history.Noun, id int64) error {
	what := recordOf(noun, id)
	at := tr.at[what]
	if at == 0 || tr.placed[what] {
		return nil
	}
	tr.placed[what] = true
	kept, err := tr.rows.read(at)
	if err != nil {
		return err
	}
	switch noun {
	case history.GiftNoun:
		_, a.Gifts.Rows[id] = store.ScanGift(store.GiftTable.Decode(kept, store.GiftColumns))
	case history.PlanNoun:
		_, a.Plans.Rows[id] = store.ScanPlan(store.PlanTable.Decode(kept, store.PlanColumns))
	default:
		a.Contacts[id] = store.ScanContact(store.ContactTable.Decode(kept, store.ContactColumns))
	}
	return nil
}

// scratch keeps the last bytes in memory, and all others in a temporary file, which is gone when the program ends.
type scratch struct {
	latest  bytes.Buffer
	file    *os.File
	written int64 // bytes of the file
}

// scratchRoom is how many bytes are kept in memory, about.
const scratchRoom = 1 << 20

// span is where something is, and how long it is in the last bits; 0 is nowhere.
type span int64

const sizeBits = 24 // documents are shorter than that

func (s *scratch) keep(data []byte) (span, error) {
	if s.latest.Len() > 0 && s.latest.Len()+len(data) > scratchRoom {
		if err := s.write(); err != nil {
			return 0, err
		}
	}
	at := span((s.written+int64(s.latest.Len()))<<sizeBits | int64(len(data)))
	s.latest.Write(data)
	return at, nil
}

func (s *scratch) write() (err error) {
	if s.file == nil {
		if s.file, err = os.CreateTemp("", "donorbook-preview-*"); err != nil { // mode 0600
			return fmt.Errorf("the preview of a file as large as this one needs a temporary file: %w", err)
		}
		_ = os.Remove(s.file.Name()) // where a file that is open can be
	}
	n, err := s.file.WriteAt(s.latest.Bytes(), s.written)
	s.written += int64(n)
	s.latest.Reset()
	return err
}

func (s *scratch) read(from span) ([]byte, error) {
	at, size := int64(from)>>sizeBits-s.written, int64(from)&(1<<sizeBits-1)
	if at >= 0 {
		return s.latest.Bytes()[at : at+size], nil
	}
	data := make([]byte, size)
	_, err := s.file.ReadAt(data, at+s.written)
	return data, err
}

func (s *scratch) close() {
	if s.file != nil {
		_ = s.file.Close()
		_ = os.Remove(s.file.Name()) // where it could not be before
	}
}
