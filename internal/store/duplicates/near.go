package duplicates

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"donorbook/internal/crm"
	"donorbook/internal/crm/duplicate"
	"donorbook/internal/crm/find"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

const (
	aFew    = 100
	crowd   = 50  // contacts that have something in common, which says little where there are more
	maxNear = 200 // contacts that one is compared with
	sqlHave = `SELECT id FROM contact_index WHERE account_id = $1 AND key = $2 LIMIT $3`
)

// cachedModel is what was learned of one account: decoding it takes a while.
type cachedModel struct {
	mu               sync.Mutex
	account, learned int64
	model            *duplicate.Model
}

// model is what was learned up to a change. It fails where that is of another version of the program.
func (s *DuplicateStore) model(ctx context.Context, account, learned int64) (*duplicate.Model, error) {
	m := &s.learned
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.model != nil && m.account == account && m.learned == learned {
		return m.model, nil
	}
	text, err := store.Find(ctx, s.base, crm.ErrNotFound, func(r db.Row) string { return r.Text(0) }, sqlModel, account)
	if err != nil {
		return nil, err
	}
	model, err := duplicate.Decode([]byte(text))
	if err == nil {
		m.account, m.learned, m.model = account, learned, model
	}
	return model, err
}

// near are the active contacts that may be the person of a record: those with one of its match keys, and those that a
// probe finds.
func near(c db.Conn, account, except int64, keys []string, r *duplicate.Record) ([]crm.Contact, error) {
	var ids []int64
	take := func(search func(found *[]int64) error) error {
		var found []int64
		err := search(&found)
		if len(found) <= crowd {
			ids = append(ids, found...)
		}
		return err
	}
	for _, key := range keys {
		if !strings.HasPrefix(key, crm.EmailPrefix) && !strings.HasPrefix(key, crm.PhonePrefix) {
			continue
		}
		if err := take(func(found *[]int64) (err error) {
			*found, err = db.List(c, store.Number, sqlHave, account, key, int64(crowd+1))
			return err
		}); err != nil {
			return nil, err
		}
	}
	for _, probe := range duplicate.Probes(r) {
		if err := take(func(found *[]int64) error {
			return c.Search(store.WordsTable, store.Query(account, find.PersonSearch(&probe)), crowd+1,
				func(id int64) error {
					*found = append(*found, id)
					return nil
				})
		}); err != nil {
			return nil, err
		}
	}
	slices.Sort(ids)
	ids = slices.DeleteFunc(slices.Compact(ids), func(id int64) bool { return id == except })
	return loadActive(c, account, ids[:min(len(ids), maxNear)])
}

// loadActive reads contacts that are active and can be read, the oldest first.
func loadActive(c db.Conn, account int64, ids []int64) (found []crm.Contact, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	err = c.Scan(func(r db.Row) {
		if row := store.ScanContact(r); row.Damage == nil && !row.Contact.Archived() {
			found = append(found, row.Contact)
		}
	}, store.SQLLoadContacts, account, ids)
	store.SortRows(found, func(a, b *crm.Contact) int { return cmp.Compare(a.ID, b.ID) })
	return found, err
}

// lookAt compares one contact with those that it may be, and all of them with the others of their groups.
func (s *DuplicateStore) lookAt(ctx context.Context, account, id int64, model *duplicate.Model) error {
	var drop []key
	var add []row
	err := s.base.View(ctx, func(c db.Conn) error {
		drop, add = nil, nil
		self, err := loadActive(c, account, []int64{id})
		if err != nil || len(self) == 0 {
			return err // its pairs went when it was archived
		}
		record := duplicate.Of(&self[0])
		found, err := near(c, account, id, self[0].MatchKeys, &record)
		if err != nil {
			return err
		}
		ids := []int64{id}
		for i := range found {
			other := duplicate.Of(&found[i])
			if model.Compare(&record, &other).Level != "" {
				ids = append(ids, found[i].ID)
			}
		}
		touched, err := pairsOf(c, account, ids, false)
		if err != nil || len(ids) == 1 && len(touched) == 0 {
			return err
		}
		known, err := groupsOf(c, account, id, touched)
		if err != nil {
			return err
		}
		for _, p := range known {
			drop = append(drop, key{p.A, p.B})
			ids = append(ids, p.A, p.B)
		}
		slices.Sort(ids)
		all, err := loadActive(c, account, slices.Compact(ids))
		add = rowsOf(group(model, all))
		return err
	})
	if err != nil {
		return err
	}
	err = db.First(func() error { return s.checkDismissals(ctx, account, sqlDismissed+` AND a = $2`, account, id) },
		func() error { return s.checkDismissals(ctx, account, sqlDismissed+` AND b = $2`, account, id) })
	if err != nil || len(drop)+len(add) == 0 {
		return err
	}
	return s.base.UpdateAccount(ctx, account, func(t *store.Tx) error { return write(t, account, drop, add) })
}

// groupsOf are the pairs of a contact, and of all groups that some pairs are of.
func groupsOf(c db.Conn, account, contact int64, touched []Pair) ([]Pair, error) {
	own := slices.DeleteFunc(slices.Clone(touched), func(p Pair) bool { return p.A != contact && p.B != contact })
	persons := slices.DeleteFunc(personsOfPairs(touched), func(person int64) bool { return person < 0 })
	if len(persons) == 0 {
		return own, nil
	}
	groups, err := db.List(c, scanPair, sqlGroupPairs, account, store.Flag(false), persons)
	return append(own, groups...), err
}

// group finds the pairs among a few contacts.
func group(model *duplicate.Model, all []crm.Contact) []duplicate.Found {
	var ids []int64
	var records []duplicate.Record
	for i := range all {
		ids, records = append(ids, all[i].ID), append(records, duplicate.Of(&all[i]))
	}
	return model.Group(ids, records)
}

// Similar is a contact that may be whom an input is about.
type Similar struct {
	crm.Contact
	duplicate.Found
}

// Similar are the active contacts that may be the person of a valid input, the likeliest first: those whose name and
// street, or name and birth date agree, and what else the finder would show. except is a contact that is none of them,
// 0 for none. It takes a few milliseconds however many contacts there are.
func (s *DuplicateStore) Similar(ctx context.Context, account, except int64,
	in crm.ContactInput,
) (similar []Similar, err error) {
	about, err := crm.NewContact(in, s.base.Now())
	if err != nil {
		return nil, err
	}
	record := duplicate.Of(&about)
	var at run
	var row store.Tally
	var found []crm.Contact
	err = s.base.View(ctx, func(c db.Conn) (err error) {
		if at, err = readRun(c, account); err == nil {
			row, err = store.ReadTally(c, account)
		}
		if err == nil {
			found, err = near(c, account, except, about.MatchKeys, &record)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	model, err := s.model(ctx, account, at.learned)
	if err != nil || row.ContactActive < aFew {
		// until the first look; and a person is asked where few contacts have taught little
		model = duplicate.Unlearned(int(max(row.ContactActive, aFew)))
	}
	for i := range found {
		other := duplicate.Of(&found[i])
		if compared := model.Compare(&record, &other); compared.Level != "" {
			similar = append(similar, Similar{found[i], compared})
		}
	}
	store.SortRows(similar, func(a, b *Similar) int { return cmp.Compare(b.Probability, a.Probability) })
	return similar, nil
}
