package store

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
)

// A merge is undone by doing again what else has happened to the survivor since (crm/contact_replay.go): other merges,
// with what they brought, and what people have changed. The history says what that was.

const (
	// Where the survivor must be gone back to, so that nothing is part of it that was taken out of it later, and
	// nothing has come later that counts as there.
	sqlEarlier = `SELECT COALESCE(MIN(place), $3) FROM contact_merge WHERE account_id = $1 AND survivor = $2
		AND place < $3 AND (undone > $3 OR undone = 0 AND id > $3)`
	// The same for changes that later ones take back: what these did depends on what those had found.
	sqlTaken = `SELECT COALESCE(MIN(undoes), $4) FROM change WHERE account_id = $1 AND noun = $2 AND id = $3 AND id <> 0
		AND revision >= $4 AND undoes < $4 AND undoes <> 0`
	sqlMergesOf = MergeColumns + ` AND survivor = $2 AND id >= $3 ORDER BY id`
	sqlSince    = ChangeColumns + ` AND noun = $2 AND id = $3 AND id <> 0 AND revision >= $4 ORDER BY revision`
	sqlJoins    = ChangeColumns + ` AND noun = $2 AND id = ANY($3) AND id <> 0 AND revision >= $4 ORDER BY id, revision`
	// The bulk changes that have renamed or deleted a tag of a contact. Its own change does not tell that the new tag
	// was there already.
	sqlRenames = `SELECT id, spec FROM job WHERE account_id = $1 AND id = ANY($2) AND kind = 'bulk'
		AND spec LIKE '{"action":"rename"%'`
	sqlJobsSince = `SELECT job FROM change
		WHERE account_id = $1 AND noun = $2 AND id = $3 AND id <> 0 AND revision >= $4 AND job <> 0`
)

// Rebuilding is a unit of work that makes a contact what it would be by other merges than it has.
type Rebuilding struct {
	Unit
	Region string
	Now    time.Time

	only   func(field string) bool
	from   int64              // the first change that happens again
	events []crm.Event        // all that have happened since, with what they did
	again  []crm.Event        // those that happen again
	known  []string           // match keys of contacts that are part of it
	joins  map[int64][]Change // of contacts that were merged, and what became of their tags
	drop   map[int64]bool     // changes that do not happen again
	merges map[int64]*Merge   // those that stand, by their own change
	others map[int64]*StoredContact
}

// Without is a survivor as it would be without a merge. left are fields that people have changed since, which stay as
// they want them.
func (r Rebuilding) Without(survivor *StoredContact, merge *Merge,
	part *crm.Contact,
) (is crm.Contact, left []string, err error) {
	own, err := FindIn(r.Conn, Fault("", doc.BeyondHistory), ScanChange, SQLChange, r.Number, merge.ID)
	if err != nil {
		return is, nil, err
	}
	d, err := doc.ParseDifferences(own.Data)
	if err != nil {
		return is, nil, err
	}
	choice, err := crm.ReadMergeChoice(merge.Choice, merge.Survivor, part.ID)
	if err != nil {
		return is, nil, err
	}
	r.choose(part.Touched(d), choice)
	return r.rebuild(survivor, merge, nil)
}

// With is a survivor as it would be if a merge that was undone had not been undone, but were made with the other
// contact as it is now.
func (r Rebuilding) With(survivor *StoredContact, merge *Merge, other *crm.Contact,
	choice crm.MergeChoice,
) (is crm.Contact, err error) {
	r.choose(other.Touched(nil), choice)
	r.known = other.MatchKeys
	is, _, err = r.rebuild(survivor, merge, &crm.Event{Revision: merge.Place, Other: other, Choice: choice})
	return is, err
}

// choose does again what a merge may have touched. An empty value may have been chosen.
func (r *Rebuilding) choose(touched func(field string) bool, choice crm.MergeChoice) {
	r.only = func(field string) bool { return touched(field) || choice.Fields[field] != 0 }
}

// Undoing is a contact as it would be if a change were taken back now, where a merge was undone since that had brought
// what the change found.
func (r Rebuilding) Undoing(c *StoredContact, change int64, d doc.Differences) (is crm.Contact, err error) {
	e := crm.Event{Revision: math.MaxInt64, Undoes: change}
	for i := range d {
		e.Edit = append(e.Edit, d[i].Inverse())
	}
	r.only = func(field string) bool {
		return slices.ContainsFunc(d, func(d doc.Difference) bool {
			name, _,
				_ := strings.Cut(d.Field, ".")
			return name == field
		})
	}
	is, _, err = r.rebuild(c, &Merge{Place: change}, &e)
	if err == nil && string(is.AppendBody(nil)) == string(c.Contact.AppendBody(nil)) {
		err = Fault("", doc.NothingToUndo)
	}
	return is, err
}

// rebuild does everything again from a merge on, but for the merge itself, or for what happens in its place.
func (r *Rebuilding) rebuild(survivor *StoredContact, merge *Merge,
	instead *crm.Event,
) (is crm.Contact, left []string, err error) {
	if err = r.goBack(survivor.ID, merge.Place); err == nil {
		err = r.read(survivor.ID, merge)
	}
	if err == nil {
		err = r.arrange()
	}
	if err != nil {
		return is, nil, err
	}
	if instead != nil {
		r.happen(*instead, math.MaxInt64)
	}
	slices.SortStableFunc(r.again, func(a, b crm.Event) int { return cmp.Compare(a.Revision, b.Revision) })
	base := survivor.Contact.Back(r.events, r.only, r.Region)
	again, left := base.Replay(r.again, r.only, r.Region, r.Now)
	is, err = survivor.Contact.Rebuilt(&again, r.only, r.known, r.Region, r.Now)
	return is, left, err
}

// goBack finds the first change that must happen again. Further back than a merge are the places of later ones, and
// changes that later ones take back.
func (r *Rebuilding) goBack(survivor, from int64) (err error) {
	for r.from = 0; r.from != from && err == nil; {
		r.from = from
		if from, err = r.Int(sqlEarlier, r.Number, survivor, from); err == nil {
			from, err = r.Int(sqlTaken, r.Number, int64(history.ContactNoun), survivor, from)
		}
	}
	if err == nil && from < r.Oldest {
		err = Fault("", doc.BeyondHistory)
	}
	return err
}

// read reads what has happened since, as far as it is about the fields in question.
func (r *Rebuilding) read(survivor int64, merge *Merge) error {
	r.drop, r.merges = map[int64]bool{merge.ID: true}, make(map[int64]*Merge)
	all, err := db.List(r.Conn, ScanMerge, sqlMergesOf, r.Number, survivor, r.from)
	var forgotten []int64
	for i := range all {
		if all[i].Forgotten() && all[i].Undone == 0 {
			forgotten = append(forgotten, all[i].ID)
		}
	}
	for i := range all {
		m := &all[i]
		next, _ := slices.BinarySearch(forgotten, m.ID+1)
		// what a forgotten merge brings since this one was undone, both changes tell together
		told := m.ID != merge.ID && next < len(forgotten) && forgotten[next] < m.Undone
		if m.Undone != 0 && !told || m.ID == merge.ID {
			r.drop[m.ID], r.drop[m.Undone] = true, true
		} else if m.Undone == 0 {
			r.merges[m.ID] = m
		}
	}
	if err != nil {
		return err
	}
	var names []string
	for i := range crm.ContactTable {
		if name := crm.ContactTable[i].Name; r.only(name) {
			names = append(names, `"`+name)
		}
	}
	renames := make(map[int64]*crm.BulkAction) // by their jobs
	jobs, err := db.List(r.Conn, Number, sqlJobsSince, r.Number, int64(history.ContactNoun), survivor, r.from)
	if err != nil {
		return err
	}
	err = r.Each(func(row db.Row) error {
		action := new(crm.BulkAction)
		renames[row.Int(0)] = action
		return json.Unmarshal([]byte(row.Text(1)), action)
	}, sqlRenames, r.Number, slices.Compact(slices.Sorted(slices.Values(jobs))))
	if err != nil {
		return err
	}
	return r.Each(func(row db.Row) error {
		c := ScanChange(row)
		e := crm.Event{Revision: c.Revision, Undoes: c.Undoes, Rename: renames[c.Job]}
		if slices.ContainsFunc(names, func(name string) bool { return strings.Contains(c.Data, name) }) {
			d, err := doc.ParseDifferences(c.Data)
			if err != nil {
				return err
			}
			for i := range d { // they are of the row, which is gone soon
				if name, _, _ := strings.Cut(d[i].Field, "."); r.only(name) {
					e.Edit = append(e.Edit, d[i])
				}
			}
		}
		if len(e.Edit) > 0 || r.merges[c.Revision] != nil {
			r.events = append(r.events, e)
		}
		return nil
	}, sqlSince, r.Number, int64(history.ContactNoun), survivor, r.from)
}

// arrange says what happens again: merges that stand, at their places, and changes.
func (r *Rebuilding) arrange() error {
	if err := r.readOthers(); err != nil {
		return err
	}
	for _, e := range r.events {
		m, told := r.merges[e.Revision], e.Revision
		switch {
		case r.drop[e.Revision]:
			continue
		case m != nil:
			part, err := r.part(m)
			if err != nil {
				return err
			}
			if part == nil {
				break // it is no longer known what was sent, but what that did
			}
			r.known = append(r.known, part.MatchKeys...)
			choice, err := crm.ReadMergeChoice(m.Choice, m.Survivor, part.ID)
			if err != nil {
				return err
			}
			if m.Choice == "" {
				choice = crm.ChoiceOf(e.Edit, part)
			}
			e = crm.Event{Revision: m.Place, Other: part, Choice: choice}
		}
		r.happen(e, told)
	}
	return nil
}

// happen says that an event happens again. What another contact has brought it says as of a change, which comes later
// than the event where a merge was made again. A tag that was renamed or deleted between the two it can only have got
// since, so that comes later, too.
func (r *Rebuilding) happen(e crm.Event, told int64) {
	if e.Other != nil && told > e.Revision {
		part, late := *e.Other, crm.Contact{}
		part.Tags = slices.DeleteFunc(slices.Clone(part.Tags), func(tag string) bool {
			renamed := slices.ContainsFunc(r.events, func(by crm.Event) bool {
				return by.Rename != nil && by.Revision > e.Revision && by.Revision < told &&
					slices.Contains(by.Rename.Tags, tag) && !r.taken(by.Revision)
			})
			if renamed {
				late.Tags = append(late.Tags, tag)
			}
			return renamed
		})
		if e.Other = &part; len(late.Tags) > 0 {
			r.again = append(r.again, crm.Event{Revision: told, Other: &late})
		}
	}
	r.again = append(r.again, e)
}

// taken tells whether a change was taken back.
func (r *Rebuilding) taken(change int64) bool {
	return slices.ContainsFunc(r.events, func(e crm.Event) bool { return e.Undoes == change })
}

// readOthers reads the contacts that were merged, with their external ids, which a merge takes from them, and their
// tags, which are renamed there, too.
func (r *Rebuilding) readOthers() error {
	var ids []int64
	for _, m := range r.merges {
		if m.Other != 0 {
			ids = append(ids, m.Other)
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	r.others, r.joins = make(map[int64]*StoredContact), make(map[int64][]Change)
	var unknown []int64
	for _, id := range ids {
		if row := r.Contacts[id]; row != nil {
			r.others[id] = row
		} else {
			unknown = append(unknown, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	if len(unknown) > 0 {
		if err := r.Scan(func(row db.Row) {
			one := ScanContact(row)
			r.others[one.ID] = one
		}, SQLLoadContacts, r.Number, unknown); err != nil {
			return err
		}
	}
	if !r.only("external_ids") && !r.only("tags") {
		return nil
	}
	return r.Scan(func(row db.Row) {
		if c := ScanChange(row); c.Kind == history.DidJoin || strings.Contains(c.Data, `"tags"`) {
			c.Data = strings.Clone(c.Data)
			r.joins[c.ID] = append(r.joins[c.ID], c)
		}
	}, sqlJoins, r.Number, int64(history.ContactNoun), ids, r.from)
}

// part is what a merge has brought, as it was then, nil where that is not known any more.
func (r *Rebuilding) part(m *Merge) (*crm.Contact, error) {
	if m.Other == 0 {
		if m.Forgotten() {
			return nil, nil
		}
		sent, err := SentContact(m.Sent, m.At)
		sent.ID = crm.SentID
		return &sent, err
	}
	row := r.others[m.Other]
	if row == nil || row.Damage != nil {
		return nil, nil
	}
	var since []Change
	for _, c := range r.joins[m.Other] {
		switch {
		case c.Revision > m.ID:
			since = append(since, c)
		case c.Kind == history.DidJoin:
			since = []Change{c}
		}
	}
	var events []crm.Event
	for _, c := range since {
		d, err := doc.ParseDifferences(c.Data)
		if err != nil {
			return nil, err
		}
		events = append(events, crm.Event{Edit: d})
	}
	part := row.Contact.Back(events, func(field string) bool { return field == "external_ids" || field == "tags" },
		r.Region)
	return &part, nil
}
