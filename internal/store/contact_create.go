package store

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
)

// CreateContact makes a contact of a valid input, or merges it into the contact that it matches. A mode that leaves the
// decision to a person may answer *crm.Matched.
func (s *Store) CreateContact(ctx context.Context, account int64, in crm.ContactInput,
	mode crm.CreateMode,
) (ContactDocument, error) {
	return s.knowingFields(ctx, account, &in, func() (ContactDocument, error) {
		return s.createContact(ctx, account, in,
			mode)
	})
}

func (s *Store) createContact(ctx context.Context, account int64, in crm.ContactInput,
	mode crm.CreateMode,
) (ContactDocument, error) {
	now := s.Now()
	n, err := PrepareContact(account, in, mode, now) // encoded here, so that the queue only looks up and inserts
	if err != nil {
		return ContactDocument{}, err
	}
	return Answered(ctx, s, account, n.Needs(), func(u Unit) (ContactDocument, error) {
		return CreateContact(u.Tx, account, n, mode, now)
	})
}

// NewContact is a contact that is about to be created, or merged into the one that it matches.
type NewContact struct {
	In        crm.ContactInput
	fresh     crm.Contact
	body      []byte
	rows      *find.Rows // that follow from it
	MatchKeys []string   // that are looked up
	Same      int64      // the contact that a file has had before for the same name and address; 0 is none
}

func PrepareContact(account int64, in crm.ContactInput, mode crm.CreateMode, now time.Time) (*NewContact, error) {
	fresh, err := crm.NewContact(in, now)
	if err != nil {
		return nil, err
	}
	n := &NewContact{In: in, fresh: fresh, body: fresh.AppendBody(make([]byte, 0, UsualBody)),
		rows: find.ContactRows(&fresh, account)}
	if n.MatchKeys = in.MatchKeys(); mode == crm.Force {
		n.MatchKeys = in.IDKeys() // which must be no other contact's
	}
	return n, nil
}

func (n *NewContact) Needs() Needs {
	return Needs{Keys: append(slices.Clip(n.MatchKeys), n.In.UnnamedIDKeys()...), Contact: n.In.ID, Sets: n.rows.Sets}
}

// MatchNew finds the contact that a new one is merged into, nil where there is none.
func MatchNew(t *Tx, account int64, n *NewContact) (*StoredContact, error) {
	found, err := Match(t, account, &n.In, n.MatchKeys)
	if err == nil && found == nil {
		err = CheckIDs(t.Account(account), 0, n.MatchKeys)
	}
	if err == nil {
		err = checkFields(t.Account(account).Account, &n.In)
	}
	return found, err
}

// CreateContact makes the contact, or merges it.
func CreateContact(t *Tx, account int64, n *NewContact, mode crm.CreateMode, now time.Time) (ContactDocument, error) {
	var match *crm.Contact
	found, err := MatchNew(t, account, n)
	if n.In.ID != 0 && mode == crm.MergeSeen && err == nil {
		// the person has decided for it, whatever its email and phone are
		if found, err = Load(t, account, n.In.ID); err == nil && found.Contact.Archived() {
			found = nil
		}
	}
	if err != nil {
		return ContactDocument{}, err
	}
	if found != nil {
		match = &found.Contact
	}
	merge, err := n.In.MergesInto(match, mode)
	if err != nil {
		return ContactDocument{}, err
	}
	switch {
	case merge && mode == crm.MergeSeen:
		merged, err := found.Contact.Add(n.In, now)
		if err != nil {
			return ContactDocument{}, err
		}
		return mergeSent(t, found, n, merged, byPerson, found.Contact.AddChoice())
	case merge:
		merged, err := found.Contact.Merge(n.In, now)
		if err != nil {
			return ContactDocument{}, err
		}
		return mergeSent(t, found, n, merged, byMatch, crm.MergeChoice{Rule: crm.OverwriteRule})
	}
	return insertNew(t, account, n)
}

// decider is who has decided that what was sent is about a contact.
type decider int

const (
	byMatch  decider = iota // an email, a phone or an id agrees
	byFile                  // a file and the rules of its import
	byPerson                // someone who saw the contact
)

const sqlLastMerges = MergeColumns + ` AND survivor = $2 ORDER BY id DESC LIMIT 20`

// mergeSent writes what a new contact has made of the one that it matches, with a record by which that can be undone.
// Where nothing changed, what was sent before has its record already, and there is none where the contact is nothing
// but what was sent, or for a row of a file. What a person has decided is not asked again.
func mergeSent(t *Tx, found *StoredContact, n *NewContact, merged crm.Contact, by decider,
	choice crm.MergeChoice,
) (made ContactDocument, err error) {
	account := doc.IDAccount(found.ID)
	m := Merge{Survivor: found.ID, Sent: n.sent(), At: Moment(t.Author.At), Choice: choice.Text(found.ID)}
	if by != byPerson && !n.fits(&found.Contact) {
		m.Review = ReviewPending
	}
	isSame := string(merged.AppendBody(nil)) == string(found.Body)
	needless := isSame && m.Review == NoReview && (by == byFile || found.Contact.SameDocument(&n.fresh))
	known := m
	if isSame && !needless {
		known, err = sentBefore(t, account, m)
	}
	switch {
	case err != nil:
		return made, err
	case needless || known.ID != 0:
		m = known
		made, err = ChangeContact(t, found, 0, func(crm.Contact) (crm.Contact, error) { return merged, nil })
	default:
		made, err = Record(t, found, history.DidMerge, nil,
			func(crm.Contact) (crm.Contact, error) { return merged, nil })
		m.ID, m.Last, m.Place = made.Tag.Revision, made.Tag.Revision, made.Tag.Revision
		t.Insert(MergeTable, m.Values(account)...)
	}
	made.Merged, made.Before, made.Merge, made.Review = true, found.Body, m.ID, m.Review == ReviewPending
	return made, err
}

// sentBefore is the merge by which the same was sent before, with the id 0 where there is none.
func sentBefore(t *Tx, account int64, m Merge) (Merge, error) {
	last, err := db.List(t.Conn, ScanMerge, sqlLastMerges, account, m.Survivor)
	for _, before := range last {
		if before.Sent == m.Sent && before.Undone == 0 {
			return before, err
		}
	}
	return m, err
}

// sent is what was sent as a merge keeps it: the match keys, and the document without its times.
func (n *NewContact) sent() string {
	undated := n.fresh.Undated()
	return JoinKeys(append(slices.Clip(undated.MatchKeys), string(undated.AppendBody(nil))))
}

// SentContact is the contact that a merge keeps of what was sent, as it would have been made now.
func SentContact(sent string, now time.Time) (crm.Contact, error) {
	lines := SplitKeys(sent)
	if len(lines) == 0 {
		return crm.Contact{}, crm.ErrNotFound
	}
	last := len(lines) - 1
	c, err := crm.ParseContact(0, []byte(lines[last]), slices.Clone(lines[:last]))
	return c.Dated(now.UTC().Truncate(time.Second)), err
}

// insertNew makes the contact.
func insertNew(t *Tx, account int64, n *NewContact) (ContactDocument, error) {
	id, err := insert(t, account, n.fresh, n.body, n.rows)
	if err != nil {
		return ContactDocument{}, err
	}
	made := t.Account(account).Contacts[id]
	d, err := document(t, &made.Contact, made.Body)
	d.Created = true
	return d, err
}

// Plan is what an import would do with a row: merge it into a contact, leave one as it is, or make a new one.
type Plan struct {
	Row      *NewContact      // as it is imported: without external ids of a contact with another name
	Into     *StoredContact   // nil for a new contact
	Leave    bool             // Into stays as it is
	OtherOf  *StoredContact   // a contact with the same email, phone or external id and another name; nil for none
	Taken    []crm.ExternalID // ids that the row is imported without
	HasTaken *StoredContact   // the contact that has them
}

// PlanImport decides about a row. The contact that has an external id of the row is the one, unless it has another
// name, and neither an email nor a phone of the row: two systems may give one number to two people. Of others, one
// whose name contradicts the row is another person, no matter who answers the phone.
func PlanImport(t *Tx, account int64, n *NewContact, rule crm.ImportRule) (p Plan, err error) {
	p.Row = n
	var other *StoredContact
	kinds := crm.KindsOfKeys(n.MatchKeys)
	if rule.Existing != crm.Force {
		p.Into, p.HasTaken, err = matchImported(t, account, n)
	}
	if p.Into == nil && err == nil {
		p.Into, other, err = MatchFitting(t, account, &n.In, slices.Concat(kinds[1:]...), n.sharing)
	}
	if p.Into == nil && n.Same != 0 && err == nil {
		p.Into, err = Row(t.Account(account), n.Same)
	}
	if p.Into == nil {
		p.OtherOf = cmp.Or(p.HasTaken, other)
	}
	if err == nil {
		err = checkFields(t.Account(account).Account, &n.In)
	}
	mode := rule.Existing
	if p.OtherOf != nil {
		if mode = rule.OtherName; mode == crm.Skip || mode == crm.Dedupe && !n.In.OtherKind(&p.OtherOf.Contact) {
			p.Into = p.OtherOf
		}
	}
	if p.Leave = mode == crm.Skip && p.Into != nil; !p.Leave && err == nil {
		err = p.checkIDs(t, account, rule.Existing)
	}
	return p, err
}

// matchImported finds the contact that has an external id of a row, or that a row of our own export was. other has the
// id and is someone else.
func matchImported(t *Tx, account int64, n *NewContact) (found, other *StoredContact, err error) {
	found, other, err = MatchFitting(t, account, &n.In, n.In.IDKeys(),
		func(c *crm.Contact) bool { return n.fits(c) || n.In.SharesReach(*c) })
	if found == nil && other == nil && err == nil {
		found, _, err = MatchFitting(t, account, &n.In, n.In.UnnamedIDKeys(), n.fits)
	}
	if found == nil && err == nil {
		found, err = exported(t, account, n.In.ID, n.fits)
	}
	return found, other, err
}

// fits tells whether the row may be about a contact, as far as the names tell.
func (n *NewContact) fits(c *crm.Contact) bool { return !n.In.PersonName().Contradicts(c.PersonName()) }

// sharing is fits for a contact that shares an email or a phone.
func (n *NewContact) sharing(c *crm.Contact) bool {
	return n.fits(c) && (n.In.SharesEmail(*c) || !n.In.PersonName().OnlyByInitial(c.PersonName()))
}

// checkIDs takes external ids from the row that a contact with another name has, and refuses a row with one of any
// other contact.
func (p *Plan) checkIDs(t *Tx, account int64, mode crm.CreateMode) (err error) {
	id := int64(0)
	if p.Into != nil {
		id = p.Into.ID
	}
	if p.HasTaken != nil && p.HasTaken.ID != id {
		var in crm.ContactInput
		in, p.Taken = p.Row.In.WithoutIDs(&p.HasTaken.Contact)
		if p.Row, err = PrepareContact(account, in, mode, p.Row.fresh.CreatedAt); err != nil {
			return err
		}
	}
	return CheckIDs(t.Account(account), id, p.Row.In.IDKeys())
}

// exported is the active contact that a row of our own export was, nil for none. Another server may have given the same
// id to someone else.
func exported(t *Tx, account, id int64, fits func(*crm.Contact) bool) (*StoredContact, error) {
	if id == 0 || Foreign(account, id) {
		return nil, nil
	}
	u, err := t.LockAccount(account)
	if err != nil {
		return nil, err
	}
	found, err := Survivor(u, id)
	if err != nil || found == nil || found.Damage != nil || found.Contact.Archived() || !fits(&found.Contact) {
		return nil, err
	}
	return found, nil
}

// ImportContact does with a row what was planned.
func ImportContact(t *Tx, account int64, n *NewContact, p Plan, rule crm.ImportRule,
	now time.Time,
) (made ContactDocument, err error) {
	switch {
	case p.Into == nil:
		return insertNew(t, account, n)
	case p.Leave:
		return ContactDocument{ID: p.Into.ID, Body: p.Into.Body, Merged: true, Before: p.Into.Body}, nil
	}
	merged, err := rule.Merge(p.Into.Contact, n.In, now)
	if err != nil {
		return made, err
	}
	return mergeSent(t, p.Into, n, merged, byFile, rule.Choice(&p.Into.Contact, &n.In))
}

const sqlContact = `SELECT body, checksum, archived, ` + customAt +
	`, revision FROM contact WHERE account_id = $1 AND id = $2`

// Document is a contact as it is stored and answered.
type ContactDocument struct {
	ID      int64
	Body    []byte
	Created bool   // it is new
	Merged  bool   // a create was merged into a contact that was there
	Before  []byte // the body of that contact as it was
	Merge   int64  // by which that can be undone, 0 for none
	Review  bool   // a person should look at the merge
	Tag     doc.ETag

	fields *custom.Fields // that it is shown with; nil where it has none
}

// Outcome tells what has become of a create.
func (d ContactDocument) Outcome() Outcome {
	return Outcome{Created: d.Created, Merged: d.Merged, Merge: d.Merge, Review: d.Review, Tag: d.Tag}
}

// Append appends the wire form.
func (d ContactDocument) Append(dst []byte) []byte {
	if d.fields != nil {
		if shown, err := crm.AppendCustomized(dst, d.ID, d.Body, d.fields); err == nil { // we have just written it
			return shown
		}
	}
	return crm.AppendContact(dst, d.ID, d.Body)
}

// document is a contact that was changed, for its answer.
func document(t *Tx, c *crm.Contact, body []byte) (d ContactDocument, err error) {
	d = ContactDocument{ID: c.ID, Body: body}
	u, err := t.LockAccount(doc.IDAccount(c.ID))
	if err != nil {
		return d, err
	}
	if row := u.Contacts[c.ID]; row != nil {
		d.Tag = row.etag(u.Account)
	}
	if len(c.Custom) > 0 {
		if d.fields, err = customFields(u); err != nil {
			return d, err
		}
	}
	return d, nil
}

// Contact appends the wire form of an active contact to dst.
func (s *Store) Contact(ctx context.Context, account, id int64, dst []byte) ([]byte, error) {
	dst, _, err := s.TaggedContact(ctx, account, id, dst)
	return dst, err
}

// TaggedContact is Contact with the tag of the state that it is in.
func (s *Store) TaggedContact(ctx context.Context, account, id int64, dst []byte) ([]byte, doc.ETag, error) {
	return s.customContact(ctx, account, id, dst, nil)
}

// customContact is TaggedContact for a caller that knows definitions of custom fields, or nil.
func (s *Store) customContact(ctx context.Context, account, id int64, dst []byte,
	fields *custom.Fields,
) (_ []byte, tag doc.ETag, err error) {
	if Foreign(account, id) {
		return dst, tag, crm.ErrNotFound
	}
	start := len(dst)
	err = s.Read(ctx, func(c db.Conn) error {
		dst = dst[:start]
		found := false
		err := c.Each(func(r db.Row) error {
			found = true
			if r.Int(2) != 0 {
				return crm.ErrArchived
			}
			body, err := ContactBody(r, 0, id)
			if err == nil {
				dst, err = s.Fields.append(dst, id, body, r.Int(3), fields)
				tag = doc.ETag{Revision: r.Int(4), Checksum: r.Int(1), Fields: r.Int(3)}
			}
			return err
		}, sqlContact, account, id)
		if err == nil && !found {
			err = crm.ErrNotFound
		}
		return err
	})
	if errors.Is(err, errUnknownFields) {
		known, err := s.CustomFields(ctx, account)
		if err != nil {
			return dst, tag, err
		}
		return s.customContact(ctx, account, id, dst[:start], known)
	}
	return dst, tag, err
}

// CheckContact tells whether the id is one of the account's active contacts.
func (s *Store) CheckContact(ctx context.Context, account, id int64) error {
	_, err := s.Contact(ctx, account, id, nil)
	return err
}

const ContactResource = "contact"

// Resource names the contact for an answer that shows it.
func (d ContactDocument) Resource() Resource { return Resource{Kind: ContactResource, ID: d.ID} }

func rereadContact(u Unit, id int64, _ string) (Result, error) {
	return Current(u, id)
}

// Current is a contact as it is in the unit of work.
func Current(u Unit, id int64) (d ContactDocument, err error) {
	row, err := Load(u.Tx, u.Number, id)
	switch {
	case err != nil:
		return d, err
	case row.Contact.Erased():
		return d, crm.ErrArchived
	}
	return document(u.Tx, &row.Contact, row.Body)
}

// Matches refuses a change of a contact that is not in the state that the change needs.
func (s *StoredContact) Matches(ctx context.Context, a *Account) error {
	return Matches(ctx, func() doc.ETag { return s.etag(a) })
}

func (s *StoredContact) etag(a *Account) doc.ETag {
	tag := doc.ETag{Revision: s.Revision, Checksum: s.Checksum}
	if s.Custom != 0 {
		tag.Fields = a.FieldSeq
	}
	return tag
}
