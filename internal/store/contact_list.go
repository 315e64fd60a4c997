package store

import (
	"cmp"
	"context"
	"slices"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
)

// Every list of contacts is made in the same way, on one snapshot: sets tell which contacts are in it and how many
// there are (filter.go), the order tells which are on the page (sort.go), and then their rows are read, in pieces where
// they are large (store/pieces.go).

const (
	sqlScattered = `SELECT id, body, checksum, ` + customAt +
		` FROM contact WHERE account_id = $1 AND id = ANY($2) ORDER BY id`

	// A page of all contacts that lie together, with what the account's row says, as long as no contact has moved since
	// a revision.
	sqlRange = `SELECT contact.id, contact.body, contact.checksum, CASE WHEN contact.custom = 0 THEN 0
		ELSE account_tally.field_seq END, account_tally.contact_seq, account_tally.contact_active
		FROM account_tally JOIN contact ON contact.account_id = account_tally.account_id
		WHERE contact.account_id = $1 AND account_tally.set_revision = $2 AND contact.id >= $3 AND contact.id <= $4 AND contact.archived <> $5 ORDER BY contact.id`
)

// contactList is one page of a list of contacts.
type contactList struct {
	store   *Store
	account int64
	scope   crm.ContactScope
	page    crm.PageRequest

	*Pieces
	fields *fieldReader
	ids    []int64 // of the page, in its order
	row    Tally   // of the account, as it was read with the page
}

func (s *Store) newContactList(account int64, scope crm.ContactScope, page crm.PageRequest, dst []byte,
	flush Flush,
) *contactList {
	l := &contactList{store: s, account: account, scope: scope, page: page, Pieces: NewPieces(dst, flush)}
	l.fields = &fieldReader{cache: &s.Fields, account: account}
	l.Missing = l.fields
	return l
}

// Contacts appends the wire forms of one page of contacts to dst, separated by commas, oldest first. A large page goes
// through flush piece by piece. To programs a contact that was merged into another is an archived one, which says so;
// people see the other one alone.
func (s *Store) Contacts(ctx context.Context, account int64, scope crm.ContactScope, page crm.PageRequest, dst []byte,
	flush Flush,
) ([]byte, ListResult, error) {
	l := s.newContactList(account, scope, page, dst, flush)
	known, err := l.readKnown(ctx)
	if err == nil && !known {
		err = l.readFirst(ctx, find.Filter{Merged: true})
	}
	return l.finish(ctx, err)
}

// FilteredContacts is Contacts for those that pass a filter, in the order that it asks for.
func (s *Store) FilteredContacts(ctx context.Context, account int64, scope crm.ContactScope, f find.Filter,
	page crm.PageRequest, dst []byte, flush Flush,
) ([]byte, ListResult, error) {
	if f.IsEmpty() {
		return s.Contacts(ctx, account, scope, page, dst, flush)
	}
	l := s.newContactList(account, scope, page, dst, flush)
	f.Merged = true
	return l.finish(ctx, l.readFirst(ctx, f))
}

// readKnown reads a page of all contacts in one statement, by the set of them that this node holds. known is false
// where that set has become another, or cannot tell.
func (l *contactList) readKnown(ctx context.Context) (known bool, err error) {
	held := l.store.Sets.known(l.account, scopeSets[l.scope])
	if held == nil {
		return false, nil
	}
	from, to := OldestFirst(l.page)(held.count)
	if l.ids = IDsOf(l.account, held.Page(from, to)); !compact(l.ids) {
		return false, nil
	}
	l.row = Tally{ContactSeq: -1}
	err = l.store.Read(ctx, func(c db.Conn) error { return l.readRange(c, held.revision) })
	l.Found = ListResult{Total: total(&l.row, l.scope), Count: to - from}
	whole := l.N == len(l.ids) || l.Full()
	ended := to-from < l.page.PerPage // contacts that have come since would be on the page
	return whole && (l.row.ContactSeq == held.seq || l.row.ContactSeq > held.seq && !ended), err
}

// readRange reads the page of all contacts, whose ids lie together. There is nothing where the account's sets are of
// another revision.
func (l *contactList) readRange(c db.Conn, revision int64) error {
	return l.Read(c, func(dst []byte, r db.Row) ([]byte, error) {
		l.row.ContactSeq, l.row.ContactActive = r.Int(4), r.Int(5)
		return l.appendContact(dst, r)
	}, sqlRange, l.account, revision, l.ids[0], l.ids[len(l.ids)-1], excluded(l.scope))
}

// total is how many contacts of a scope there are.
func total(row *Tally, scope crm.ContactScope) int64 {
	switch scope {
	case crm.Active:
		return row.ContactActive
	case crm.Archived:
		return row.ContactSeq - row.ContactActive
	}
	return row.ContactSeq
}

// compact tells whether contacts are best read as one range: few others lie between them.
func compact(ids []int64) bool {
	return len(ids) > 0 && ids[len(ids)-1]-ids[0] < sparse*int64(len(ids))
}

// sparse: a page that lies scattered over more than so many times its length is fetched id by id.
const sparse = 4

// excluded is the state of contacts that a scope leaves out, as the database writes it.
func excluded(scope crm.ContactScope) int64 {
	switch scope {
	case crm.Active:
		return 1
	case crm.Archived:
		return 0
	}
	return -1
}

// readFirst finds the page and reads its first piece, on the same snapshot.
func (l *contactList) readFirst(ctx context.Context, f find.Filter) error {
	return l.store.Filtered(ctx, l.account, l.scope, f, func(c db.Conn, w *Filtering) error {
		seqs, err := w.page(l.page)
		if err != nil {
			return err
		}
		l.ids, l.Found = IDsOf(l.account, seqs), ListResult{Total: w.left, Count: int64(len(seqs))}
		if f.IsEmpty() && compact(l.ids) {
			return l.readRange(c, w.row.SetRevision)
		}
		l.Again()
		return l.readContacts(c, l.ids)
	})
}

// readContacts reads contacts in the order of their ids, as far as the piece goes.
func (l *contactList) readContacts(c db.Conn, ids []int64) error {
	switch {
	case len(ids) == 0:
		return nil
	case slices.IsSorted(ids):
		return l.Read(c, l.appendContact, sqlScattered, l.account, ids)
	}
	return l.ReadInOrder(c, l.appendContact, ids, sqlScattered, l.account)
}

// finish reads what the first piece has left.
func (l *contactList) finish(ctx context.Context, err error) ([]byte, ListResult, error) {
	if err == nil && l.More {
		err = l.Rest(ctx, l.store, l.account, l.ids, l.readContacts)
	}
	return l.Dst, l.Found, err
}

// appendContact appends a contact whose row has its id, its body, its checksum and customAt.
func (l *contactList) appendContact(dst []byte, r db.Row) ([]byte, error) {
	id := r.Int(0)
	body, err := ContactBody(r, 1, id)
	if err != nil {
		return dst, err
	}
	return l.fields.cache.append(dst, id, body, r.Int(3), l.fields.known)
}

// MatchingContacts is one page of the contacts that pass a filter, in the order that it asks for.
func (s *Store) MatchingContacts(ctx context.Context, account int64, scope crm.ContactScope, f find.Filter,
	page crm.PageRequest,
) (contacts []crm.Contact, result ListResult, err error) {
	err = s.Filtered(ctx, account, scope, f, func(c db.Conn, w *Filtering) error {
		seqs, err := w.page(page)
		if err != nil {
			return err
		}
		found, err := LoadContacts(c, account, IDsOf(account, seqs))
		byID := Keyed(found, func(c crm.Contact) int64 { return c.ID })
		contacts, result = nil, ListResult{Total: w.left, Count: int64(len(seqs))}
		for _, id := range IDsOf(account, seqs) {
			if contact, ok := byID[id]; ok {
				contacts = append(contacts, contact)
			}
		}
		return err
	})
	return contacts, result, err
}

func IDsOf(account int64, seqs []int64) []int64 {
	ids := make([]int64, 0, len(seqs))
	for _, seq := range seqs {
		ids = append(ids, doc.MakeID(account, seq))
	}
	return ids
}

// Query is a search among the contacts of an account, whatever their state.
func Query(account int64, search find.Search) db.Query {
	q := db.Query{Account: account, Space: find.WordSpace(account)}
	for _, term := range search.Terms {
		var choices [][]db.Word
		for _, choice := range term {
			var words []db.Word
			for _, w := range choice {
				words = append(words, db.Word(w))
			}
			choices = append(choices, words)
		}
		q.Terms = append(q.Terms, choices)
	}
	return q
}

const (
	sqlNamesFrom = `SELECT id FROM contact WHERE account_id = $1 AND sort_name <> '' AND sort_name >= $2
		AND sort_name <= $3 ORDER BY sort_name, id LIMIT $4`

	// suggestable is how many contacts each index may offer: what a suggestion costs must not grow with the account.
	suggestable = 60
)

// SuggestContacts are active contacts that a search finds, for a person who is still typing: those first whose name was
// typed, and of them those who gave the most. It looks at the first contacts of each index alone, so that the search
// itself may find others.
func (s *Store) SuggestContacts(ctx context.Context, account int64, search find.Search,
	limit int,
) (found []crm.Contact, err error) {
	names, words := search.AsTyped()
	err = s.View(ctx, func(c db.Conn) error {
		var ids []int64
		add := func(id int64) error {
			ids = append(ids, id)
			return nil
		}
		err := c.Search(WordsTable, Query(account, words), suggestable, add)
		for _, name := range names {
			if err == nil {
				err = c.Each(func(r db.Row) error { return add(r.Int(0)) }, sqlNamesFrom, account, name.From, name.To,
					int64(suggestable))
			}
		}
		if err != nil {
			return err
		}
		slices.Sort(ids)
		found, err = LoadContacts(c, account, slices.Compact(ids))
		return err
	})
	found = slices.DeleteFunc(found, func(c crm.Contact) bool {
		return c.Archived() ||
			!search.Finds(find.SearchWords(&c))
	})
	slices.SortFunc(found, func(a, b crm.Contact) int {
		return cmp.Or(search.Named(&b)-search.Named(&a), cmp.Compare(b.Stats.TotalContributions,
			a.Stats.TotalContributions), cmp.Compare(a.ID, b.ID))
	})
	return found[:min(limit, len(found))], err
}

const (
	sqlSet = `SELECT block, size, bits FROM contact_set WHERE account_id = $1 AND name = $2 AND block >= $3
		ORDER BY block`
)

// AddBlocks adds what is stored of a set, from a block on.
func AddBlocks(c db.Conn, account int64, name string, from int64, set *db.Set) error {
	return c.Each(func(r db.Row) error {
		return DamagedSet(account, name, r.Int(0), set.AddBlock(r.Int(0), r.Int(1), r.Bytes(2)))
	}, sqlSet, account, name, from)
}

// addNamedBlock adds a block of any set, which its row names.
func addNamedBlock(account int64, set *db.Set) func(db.Row) error {
	return func(r db.Row) error {
		return DamagedSet(account, r.Text(0), r.Int(1), set.AddBlock(r.Int(1), r.Int(2), r.Bytes(3)))
	}
}

// SetCache holds sets of contacts that lists were made of, so that most pages are found in memory. Each set carries the
// revision that it was read at, and is read again when the account's row shows another one. New contacts leave that
// revision alone, because all that they can change is the end of a set.
type SetCache struct {
	Cache[heldKey, *heldSet]
}

type heldKey struct {
	account int64
	name    string
}

// heldSet is a set as it was at a revision, when so many contacts had been made.
type heldSet struct {
	db.Set               // which no caller changes
	count, revision, seq int64
}

// known is a set as it was read last, nil where it was not.
func (cache *SetCache) known(account int64, name string) *heldSet {
	held, _ := cache.Get(heldKey{account, name})
	return held
}

// of is a set on the snapshot that the account's row was read on.
func (cache *SetCache) of(c db.Conn, row *Tally, name string) (*heldSet, error) {
	held := cache.known(row.Number, name)
	if held.standsFor(row) {
		return held, nil
	}
	var set db.Set
	from := int64(0)
	if held != nil && held.revision == row.SetRevision && held.seq < row.ContactSeq {
		set = held.Clone()
		from, _ = db.BlockOf(held.seq + 1) // the blocks before have no new contacts
	}
	if err := AddBlocks(c, row.Number, name, from, &set); err != nil {
		return nil, err
	}
	return cache.keep(row, name, set), nil
}

// standsFor tells whether the set is what it was when the account's row was read.
func (held *heldSet) standsFor(row *Tally) bool {
	return held != nil && held.revision == row.SetRevision && held.seq == row.ContactSeq
}

func (cache *SetCache) keep(row *Tally, name string, set db.Set) *heldSet {
	held := &heldSet{set, set.Count(), row.SetRevision, row.ContactSeq}
	cache.Keep(heldKey{row.Number, name}, held, set.Size())
	return held
}

// scopeSets are what the contacts of each scope are called. Only the archive is stored, the others follow from it.
var scopeSets = map[crm.ContactScope]string{crm.Active: "active", crm.Archived: find.ArchiveSet, crm.All: "all"}

// inScope are the contacts of a scope.
func (cache *SetCache) inScope(c db.Conn, row *Tally, scope crm.ContactScope) (*heldSet, error) {
	if held := cache.known(row.Number, scopeSets[scope]); held.standsFor(row) {
		return held, nil
	}
	set := db.Range(1, row.ContactSeq)
	if scope != crm.All {
		archive, err := cache.of(c, row, find.ArchiveSet)
		if err != nil || scope == crm.Archived {
			return archive, err
		}
		set.AndNot(&archive.Set)
	}
	return cache.keep(row, scopeSets[scope], set), nil
}

const sqlSegments = `SELECT id, name, query, actor, created_at FROM segment WHERE account_id = $1 ORDER BY id`

func scanSegment(r db.Row) find.Segment {
	return find.Segment{ID: r.Int(0), Name: r.Text(1), Query: r.Text(2), Actor: r.Text(3), CreatedAt: Moment(r.Int(4))}
}

// Segments are the saved filters of an account, oldest first.
func (s *Store) Segments(ctx context.Context, account int64) ([]find.Segment, error) {
	return List(ctx, s, scanSegment, sqlSegments, account)
}

// CreateSegment saves a filter that was checked.
func (s *Store) CreateSegment(ctx context.Context, account int64, made find.Segment) (find.Segment, error) {
	made.CreatedAt = s.Now()
	return made, s.changeSegments(ctx, account, func(u Unit, all []find.Segment) error {
		if err := find.SegmentLimit.Check(int64(len(all)), 1); err != nil {
			return err
		}
		if err := freeSegmentName(all, made.Name, 0); err != nil {
			return err
		}
		u.Touch()
		u.SegmentSeq++
		made.ID, made.Actor = doc.MakeID(account, u.SegmentSeq), u.Author.Who
		u.Record(history.SegmentNoun, made.ID, history.DidCreate, find.Segment{}.Change(made).Text())
		u.Insert(SegmentTable, account, made.ID, made.Name, made.Query, made.Actor, Seconds(made.CreatedAt))
		return nil
	})
}

// RenameSegment gives a segment another name, which must be a valid one.
func (s *Store) RenameSegment(ctx context.Context, account, id int64, name string) error {
	return s.changeSegments(ctx, account, func(u Unit, all []find.Segment) error {
		old, err := segmentOf(all, id)
		if err != nil || old.Name == name {
			return err
		}
		if err := freeSegmentName(all, name, id); err != nil {
			return err
		}
		renamed := old
		renamed.Name = name
		u.Record(history.SegmentNoun, id, history.DidUpdate, old.Change(renamed).Text())
		u.Save(SegmentTable, account, id, name, old.Query, old.Actor, Seconds(old.CreatedAt))
		return nil
	})
}

// DeleteSegment removes a segment, and says which one it was. Contacts stay as they are.
func (s *Store) DeleteSegment(ctx context.Context, account, id int64) (old find.Segment, err error) {
	return old, s.changeSegments(ctx, account, func(u Unit, all []find.Segment) error {
		if old, err = segmentOf(all, id); err != nil {
			return err
		}
		u.Record(history.SegmentNoun, id, history.DidDelete, old.Change(find.Segment{}).Text())
		u.Delete(SegmentTable, account, id)
		return nil
	})
}

// changeSegments decides about one segment with a look at all of them: there are few.
func (s *Store) changeSegments(ctx context.Context, account int64, change func(Unit, []find.Segment) error) error {
	return s.UpdateOnce(ctx, account, func(t *Tx) error {
		all, err := db.List(t.Conn, scanSegment, sqlSegments, account)
		if err != nil {
			return err
		}
		return change(t.Account(account), all)
	})
}

func segmentOf(all []find.Segment, id int64) (find.Segment, error) {
	i := slices.IndexFunc(all, func(s find.Segment) bool { return s.ID == id })
	if i < 0 {
		return find.Segment{}, crm.ErrNotFound
	}
	return all[i], nil
}

// freeSegmentName refuses a name that another segment has.
func freeSegmentName(all []find.Segment, name string, id int64) error {
	if slices.ContainsFunc(all, func(s find.Segment) bool { return s.ID != id && s.IsCalled(name) }) {
		return Fault("name", doc.Taken)
	}
	return nil
}
