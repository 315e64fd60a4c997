package store

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"donorbook/internal/crm"
)

const (
	searchRows     = 250    // of the index that one statement reads
	searchWork     = 20_000 // rows of the index that are read for one page; it ends early where so many have not filled it
	searchDocument = 10     // a contact that is read counts like so many rows, and so does a statement

	// What follows a place in the index, as two plain statements: no planner can take them for anything but a range.
	sqlSameKey  = `SELECT key, id FROM contact_index WHERE account_id = $1 AND key = $2 AND id > $3 ORDER BY id LIMIT $4`
	sqlAnyKey   = `SELECT id FROM contact_index WHERE account_id = $1 AND key >= $2 AND key <= $3 ORDER BY key, id LIMIT 1`
	sqlNextKeys = `SELECT key, id FROM contact_index WHERE account_id = $1 AND key > $2 AND key <= $3 ORDER BY key, id LIMIT $4`
)

// SearchResult is one page of what was found.
type SearchResult struct {
	Contacts []crm.Contact
	Next     string // where the next page begins, "" where there is none
}

// SearchContacts finds contacts, best ones first, at most limit of them. A page may end early where little is found among
// much; it is followed by another as long as it has a Next, which is given as after.
func (s *Store) SearchContacts(ctx context.Context, account int64, scope crm.ContactScope, search crm.Search, after string, limit int) (result SearchResult, err error) {
	ranges := search.Ranges()
	start, err := parseSpot(account, ranges, after)
	if err != nil {
		return result, err
	}
	err = s.view(ctx, func(c conn) error {
		f := finder{conn: c, account: account, scope: scope, search: search, ranges: ranges, limit: limit, at: start}
		err := f.run()
		result = f.result
		return err
	})
	return result, err
}

// spot is a place in the order of a search: everything up to it has been looked at.
type spot struct {
	place int // which of the ranges
	key   string
	id    int64
}

// startOf is the spot before everything in a range. Past the last one there is nothing.
func startOf(ranges []crm.KeyRange, place int) spot {
	if place < len(ranges) {
		return spot{place: place, key: ranges[place].From}
	}
	return spot{place: place}
}

// String is the spot as it stands in an address.
func (s spot) String() string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d %d %s", s.place, s.id, s.key))
}

// parseSpot reads where a page begins. It comes from outside: whatever it says, it must be inside what is searched.
func parseSpot(account int64, ranges []crm.KeyRange, text string) (s spot, err error) {
	if text == "" {
		return startOf(ranges, 0), nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	place, rest, _ := strings.Cut(string(raw), " ")
	id, key, _ := strings.Cut(rest, " ")
	if err == nil {
		s.place, err = strconv.Atoi(place)
	}
	if err == nil {
		s.id, err = strconv.ParseInt(id, 10, 64)
	}
	s.key = key
	sound := err == nil && s.place >= 0 && s.place < len(ranges) && ranges[s.place].Has(key) &&
		utf8.ValidString(key) && !strings.Contains(key, "\x00") && (s.id == 0 || !foreign(account, s.id))
	if !sound {
		v := &crm.Invalid{}
		v.Add("after", "The after field must be what an earlier page of the same search has given.")
		return s, v
	}
	return s, nil
}

// finder makes one page of a search.
type finder struct {
	conn
	account int64
	scope   crm.ContactScope
	search  crm.Search
	ranges  []crm.KeyRange
	limit   int
	at      spot // up to where the index was read
	done    spot // up to where the contacts were looked at
	last    spot // of the last contact that was found
	work    int
	result  SearchResult
}

func (f *finder) run() error {
	for f.done = f.at; f.at.place < len(f.ranges); f.done = f.at {
		if f.tired() {
			return nil
		}
		if inVain, err := f.inVain(); inVain || err != nil {
			return err
		}
		hits, err := f.read()
		if err != nil {
			return err
		}
		for part := range slices.Chunk(hits, min(f.limit+1, scatteredWidth)) {
			if f.tired() {
				return nil
			}
			if full, err := f.add(part); err != nil || full {
				return err
			}
		}
	}
	return nil
}

// tired ends a page that has cost enough.
func (f *finder) tired() bool {
	if f.work < searchWork {
		return false
	}
	f.result.Next = f.done.String()
	return true
}

// inVain tells at the beginning of a range whether nothing can be found from here on.
func (f *finder) inVain() (bool, error) {
	needs, ok := f.search.Needs(f.at.place)
	if !ok || f.at != startOf(f.ranges, f.at.place) {
		return false, nil
	}
	found, err := one(f.conn, func(rows) {}, sqlAnyKey, f.account, needs.From, needs.To)
	return !found, err
}

// read reads some rows of the index after the spot, moves it on, and returns those that are looked for.
func (f *finder) read() (hits []spot, err error) {
	place, to, read := f.at.place, f.ranges[f.at.place].To, 0
	defer func() { f.work += read + searchDocument }()
	note := func(r rows) error {
		read++
		f.at.key, f.at.id = r.text(0), r.int(1)
		if f.search.Finds(place, f.at.key) {
			hits = append(hits, f.at)
		}
		return nil
	}
	if err := each(f.conn, note, sqlSameKey, f.account, f.at.key, f.at.id, int64(searchRows)); err != nil || read == searchRows {
		return hits, err
	}
	same := read
	if f.at.key < to {
		err = each(f.conn, note, sqlNextKeys, f.account, f.at.key, to, int64(searchRows))
	}
	if read-same < searchRows { // that was the end of the range
		f.at = startOf(f.ranges, place+1)
	}
	return hits, err
}

// add shows what was hit. Once the page is full, one more contact only tells that there is another page.
func (f *finder) add(hits []spot) (full bool, err error) {
	ids := make([]int64, 0, len(hits))
	for _, hit := range hits {
		ids = append(ids, hit.id)
	}
	contacts, err := loadContacts(f.conn, f.account, ids)
	if err != nil {
		return false, err
	}
	byID := make(map[int64]crm.Contact, len(contacts))
	for _, contact := range contacts {
		byID[contact.ID] = contact
	}
	for _, hit := range hits {
		contact, ok := byID[hit.id]
		if !ok || !f.shows(hit, contact) {
			continue
		}
		if len(f.result.Contacts) == f.limit {
			f.result.Next = f.last.String()
			return true, nil
		}
		f.result.Contacts = append(f.result.Contacts, contact)
		f.last = hit
	}
	f.work += searchDocument * len(hits)
	f.done = hits[len(hits)-1]
	return false, nil
}

// shows tells whether a contact is shown at this spot: it is of the scope, and was not found before.
func (f *finder) shows(hit spot, c crm.Contact) bool {
	if f.scope == crm.Active && c.Archived() || f.scope == crm.Archived && !c.Archived() {
		return false
	}
	place, key := f.search.First(c)
	return place == hit.place && key == hit.key
}
