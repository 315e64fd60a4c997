package contacts

import (
	"cmp"
	"context"
	"slices"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

// Every list of contacts is made in the same way, on one snapshot: sets tell which contacts are in it and how many there are (filter.go), the order
// tells which are on the page (sort.go), and then their rows are read, in pieces where they are large (store/pieces.go).

const (
	sqlScattered = `SELECT id, body, checksum, ` + customAt + ` FROM contact WHERE account_id = $1 AND id = ANY($2) ORDER BY id`

	// A page of all contacts that lie together, with what the account's row says, as long as no contact has moved since a revision.
	sqlRange = `SELECT contact.id, contact.body, contact.checksum, CASE WHEN contact.custom = 0 THEN 0 ELSE account_tally.field_seq END, account_tally.contact_seq, account_tally.contact_active
		FROM account_tally JOIN contact ON contact.account_id = account_tally.account_id
		WHERE contact.account_id = $1 AND account_tally.set_revision = $2 AND contact.id >= $3 AND contact.id <= $4 AND contact.archived <> $5 ORDER BY contact.id`
)

// contactList is one page of a list of contacts.
type contactList struct {
	store   *ContactStore
	account int64
	scope   crm.ContactScope
	page    crm.PageRequest

	*store.Pieces
	fields *fieldReader
	ids    []int64     // of the page, in its order
	row    store.Tally // of the account, as it was read with the page
}

func (s *ContactStore) newContactList(account int64, scope crm.ContactScope, page crm.PageRequest, dst []byte, flush store.Flush) *contactList {
	l := &contactList{store: s, account: account, scope: scope, page: page, Pieces: store.NewPieces(dst, flush)}
	l.fields = &fieldReader{cache: &s.Fields, account: account}
	l.Missing = l.fields
	return l
}

// Contacts appends the wire forms of one page of contacts to dst, separated by commas, oldest first. A large page goes through
// flush piece by piece. To programs a contact that was merged into another is an archived one, which says so; people see the other one alone.
func (s *ContactStore) Contacts(ctx context.Context, account int64, scope crm.ContactScope, page crm.PageRequest, dst []byte, flush store.Flush) ([]byte, store.ListResult, error) {
	l := s.newContactList(account, scope, page, dst, flush)
	known, err := l.readKnown(ctx)
	if err == nil && !known {
		err = l.readFirst(ctx, find.Filter{Merged: true})
	}
	return l.finish(ctx, err)
}

// FilteredContacts is Contacts for those that pass a filter, in the order that it asks for.
func (s *ContactStore) FilteredContacts(ctx context.Context, account int64, scope crm.ContactScope, f find.Filter, page crm.PageRequest, dst []byte, flush store.Flush) ([]byte, store.ListResult, error) {
	if f.IsEmpty() {
		return s.Contacts(ctx, account, scope, page, dst, flush)
	}
	l := s.newContactList(account, scope, page, dst, flush)
	f.Merged = true
	return l.finish(ctx, l.readFirst(ctx, f))
}

// readKnown reads a page of all contacts in one statement, by the set of them that this node holds. known is false where that set has become
// another, or cannot tell.
func (l *contactList) readKnown(ctx context.Context) (known bool, err error) {
	held := l.store.Sets.known(l.account, scopeSets[l.scope])
	if held == nil {
		return false, nil
	}
	from, to := store.OldestFirst(l.page)(held.count)
	if l.ids = IDsOf(l.account, held.Page(from, to)); !compact(l.ids) {
		return false, nil
	}
	l.row = store.Tally{ContactSeq: -1}
	err = l.store.Read(ctx, func(c db.Conn) error { return l.readRange(c, held.revision) })
	l.Found = store.ListResult{Total: total(&l.row, l.scope), Count: to - from}
	whole := l.N == len(l.ids) || l.Full()
	ended := to-from < l.page.PerPage // contacts that have come since would be on the page
	return whole && (l.row.ContactSeq == held.seq || l.row.ContactSeq > held.seq && !ended), err
}

// readRange reads the page of all contacts, whose ids lie together. There is nothing where the account's sets are of another revision.
func (l *contactList) readRange(c db.Conn, revision int64) error {
	return l.Read(c, func(dst []byte, r db.Row) ([]byte, error) {
		l.row.ContactSeq, l.row.ContactActive = r.Int(4), r.Int(5)
		return l.appendContact(dst, r)
	}, sqlRange, l.account, revision, l.ids[0], l.ids[len(l.ids)-1], excluded(l.scope))
}

// total is how many contacts of a scope there are.
func total(row *store.Tally, scope crm.ContactScope) int64 {
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
		l.ids, l.Found = IDsOf(l.account, seqs), store.ListResult{Total: w.left, Count: int64(len(seqs))}
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
func (l *contactList) finish(ctx context.Context, err error) ([]byte, store.ListResult, error) {
	if err == nil && l.More {
		err = l.Rest(ctx, l.store.Base, l.account, l.ids, l.readContacts)
	}
	return l.Dst, l.Found, err
}

// appendContact appends a contact whose row has its id, its body, its checksum and customAt.
func (l *contactList) appendContact(dst []byte, r db.Row) ([]byte, error) {
	id := r.Int(0)
	body, err := store.ContactBody(r, 1, id)
	if err != nil {
		return dst, err
	}
	return l.fields.cache.append(dst, id, body, r.Int(3), l.fields.known)
}

// MatchingContacts is one page of the contacts that pass a filter, in the order that it asks for.
func (s *ContactStore) MatchingContacts(ctx context.Context, account int64, scope crm.ContactScope, f find.Filter, page crm.PageRequest) (contacts []crm.Contact, result store.ListResult, err error) {
	err = s.Filtered(ctx, account, scope, f, func(c db.Conn, w *Filtering) error {
		seqs, err := w.page(page)
		if err != nil {
			return err
		}
		found, err := LoadContacts(c, account, IDsOf(account, seqs))
		byID := store.Keyed(found, func(c crm.Contact) int64 { return c.ID })
		contacts, result = nil, store.ListResult{Total: w.left, Count: int64(len(seqs))}
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
	sqlNamesFrom = `SELECT id FROM contact WHERE account_id = $1 AND sort_name <> '' AND sort_name >= $2 AND sort_name <= $3 ORDER BY sort_name, id LIMIT $4`

	// suggestable is how many contacts each index may offer: what a suggestion costs must not grow with the account.
	suggestable = 60
)

// SuggestContacts are active contacts that a search finds, for a person who is still typing: those first whose name was typed, and of them those who gave the most. It
// looks at the first contacts of each index alone, so that the search itself may find others.
func (s *ContactStore) SuggestContacts(ctx context.Context, account int64, search find.Search, limit int) (found []crm.Contact, err error) {
	names, words := search.AsTyped()
	err = s.View(ctx, func(c db.Conn) error {
		var ids []int64
		add := func(id int64) error {
			ids = append(ids, id)
			return nil
		}
		err := c.Search(store.WordsTable, Query(account, words), suggestable, add)
		for _, name := range names {
			if err == nil {
				err = c.Each(func(r db.Row) error { return add(r.Int(0)) }, sqlNamesFrom, account, name.From, name.To, int64(suggestable))
			}
		}
		if err != nil {
			return err
		}
		slices.Sort(ids)
		found, err = LoadContacts(c, account, slices.Compact(ids))
		return err
	})
	found = slices.DeleteFunc(found, func(c crm.Contact) bool { return c.Archived() || !search.Finds(find.SearchWords(&c)) })
	slices.SortFunc(found, func(a, b crm.Contact) int {
		return cmp.Or(search.Named(&b)-search.Named(&a), cmp.Compare(b.Stats.TotalContributions, a.Stats.TotalContributions), cmp.Compare(a.ID, b.ID))
	})
	return found[:min(limit, len(found))], err
}
