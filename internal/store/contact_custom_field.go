package store

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
)

// The document of a contact names custom fields by their ids alone. What their definitions say is put in when it is
// read, so that a title changes at once and touches no contact. The account's row counts the changes of the
// definitions: field_seq, from which new fields take their ids, too. Every row of a contact that has custom fields
// comes with that count, and definitions that were read once serve until it moves.

// customAt is a column of a contact's row: 0 where the contact has no custom fields, and else the count of the
// definitions that it is shown with. Only for a contact that has some is the account's row looked at. With the revision
// and the checksum it names what a client is shown.
const customAt = `CASE WHEN custom = 0 THEN 0 ELSE (SELECT field_seq FROM account_tally WHERE account_id = $1) END`

// sqlCustomFields reads the definitions, and before them the count of their changes in the place of a field 0.
const sqlCustomFields = `SELECT 0 AS id, '' AS title, '' AS description, '' AS type, '' AS options, field_seq AS place,
	0 AS created_at, 0 AS ended_at
	FROM account_tally WHERE account_id = $1
	UNION ALL SELECT id, title, description, type, options, place, created_at, ended_at FROM custom_field WHERE account_id = $1`

func ReadCustomFields(c db.Conn, account int64) (*custom.Fields, error) {
	var seq int64
	rows, err := db.List(c, func(r db.Row) custom.Field {
		return custom.Field{
			ID: r.Int(0), Title: r.Text(1), Description: r.Text(2), Type: custom.FieldType(r.Text(3)),
			Options: SplitKeys(r.Text(4)),
			Place:   r.Int(5), CreatedAt: Moment(r.Int(6)), EndedAt: Moment(r.Int(7)),
		}
	}, sqlCustomFields, account)
	all := slices.DeleteFunc(rows, func(f custom.Field) bool {
		if f.ID == 0 {
			seq = f.Place
		}
		return f.ID == 0
	})
	return custom.NewFields(seq, all), err
}

// CustomFields are the definitions of an account's custom fields.
func (s *Store) CustomFields(ctx context.Context, account int64) (*custom.Fields, error) {
	return Lend(ctx, s.Read, func(c db.Conn) (*custom.Fields, error) { return s.Fields.read(c, account) })
}

// fieldCache has the definitions that were read last.
type fieldCache struct {
	Cache[int64, *custom.Fields] // by account
}

// fieldSize is about what the definition of a field takes.
const fieldSize = 1 << 10

// read reads the definitions of an account and keeps them.
func (k *fieldCache) read(c db.Conn, account int64) (*custom.Fields, error) {
	fields, err := ReadCustomFields(c, account)
	if err == nil {
		k.Keep(account, fields, int64(len(fields.All)*fieldSize))
	}
	return fields, err
}

// at are the definitions of an account as they were at a count of their changes, nil where they are not known.
func (k *fieldCache) at(account, seq int64) *custom.Fields {
	if fields, ok := k.Get(account); ok && fields.Seq == seq {
		return fields
	}
	return nil
}

// errUnknownFields: a contact has custom fields whose definitions must be read first.
var errUnknownFields = errors.New("the definitions of custom fields are not known")

// append appends the wire form of a contact whose row says at in its column customAt. known are definitions that the
// caller has read, nil for none: those in the cache may be of another moment.
func (k *fieldCache) append(dst []byte, id int64, body []byte, at int64, known *custom.Fields) ([]byte, error) {
	if at == 0 {
		return crm.AppendContact(dst, id, body), nil
	}
	if known == nil || known.Seq != at {
		known = k.at(doc.IDAccount(id), at)
	}
	if known == nil {
		return dst, errUnknownFields
	}
	return crm.AppendCustomized(dst, id, body, known)
}

// fieldReader knows the definitions of one account's custom fields, for a list of its contacts.
type fieldReader struct {
	cache   *fieldCache
	account int64
	known   *custom.Fields // that it has read itself
}

// Learn reads the definitions where a statement has failed because it met fields whose definitions were not known.
func (f *fieldReader) Learn(c db.Conn, failed error) (again bool, err error) {
	if !errors.Is(failed, errUnknownFields) {
		return false, failed
	}
	f.known, err = f.cache.read(c, f.account)
	return err == nil, err
}

// customFields are the definitions as they are in the unit of work.
func customFields(u Unit) (*custom.Fields, error) {
	if u.fields == nil {
		fields, err := ReadCustomFields(u.Conn, u.Number)
		if err != nil {
			return nil, err
		}
		u.fields = custom.NewFields(u.FieldSeq, fields.All)
	}
	return u.fields, nil
}

// knowingFields makes a change of an input whose custom fields were checked by the definitions as they are when it is
// made. Where they have changed since, it is checked again.
func (s *Store) knowingFields(ctx context.Context, account int64, in *crm.ContactInput,
	change func() (ContactDocument, error),
) (made ContactDocument, err error) {
	if len(in.Custom) == 0 {
		return change()
	}
	err = Repeat(func() error {
		if in.Fields == nil {
			fields, err := s.CustomFields(ctx, account)
			if err == nil {
				err = in.CheckCustom(fields)
			}
			if err != nil {
				return err
			}
		}
		if made, err = change(); errors.Is(err, ErrAgain) {
			in.Fields = nil
		}
		return err
	})
	return made, err
}

// checkFields is errAgain where the custom fields of an input were checked by other definitions than those of the unit
// of work.
func checkFields(a *Account, in *crm.ContactInput) error {
	if len(in.Custom) > 0 && (in.Fields == nil || in.Fields.Seq != a.FieldSeq) {
		return ErrAgain
	}
	return nil
}

// patchContact changes an active contact by what an input says.
func (s *Store) patchContact(ctx context.Context, account int64, n Needs, in *crm.ContactInput,
	decide decision,
) (ContactDocument, error) {
	return s.knowingFields(ctx, account, in, func() (ContactDocument, error) {
		return s.changeActive(ctx, account, n, func(t *Tx, c crm.Contact, now time.Time) (crm.Contact, error) {
			if err := checkFields(t.Account(account).Account, in); err != nil {
				return c, err
			}
			return decide(t, c, now)
		})
	})
}

// changeFields changes the definitions of an account.
func (s *Store) changeFields(ctx context.Context, account int64, change func(Unit, *custom.Fields) error) error {
	return s.UpdateOnce(ctx, account, func(t *Tx) error {
		u := t.Account(account)
		fields, err := customFields(u)
		if err != nil {
			return err
		}
		return change(u, fields)
	})
}

// DefineField adds a custom field.
func (s *Store) DefineField(ctx context.Context, account int64, in custom.FieldInput) (made custom.Field, err error) {
	err = s.changeFields(ctx, account, func(u Unit, fields *custom.Fields) (err error) {
		if made, err = custom.NewField(in, u.FieldSeq+1, fields, s.Now()); err == nil {
			saveField(u, custom.Field{ID: made.ID}, made, history.DidCreate)
		}
		return err
	})
	return made, err
}

// ReviseField changes the title, the description and the options of a custom field. Values that contacts have stay as
// they are.
func (s *Store) ReviseField(ctx context.Context, account, id int64, in custom.FieldInput) error {
	return s.changeField(ctx, account, id, history.DidUpdate,
		func(f custom.Field, all *custom.Fields) (custom.Field, error) {
			return f.Revise(in, all)
		})
}

// EndField takes a custom field out of use. Contacts keep their values, which no one is shown.
func (s *Store) EndField(ctx context.Context, account, id int64) error {
	now := s.Now()
	return s.changeField(ctx, account, id, history.DidArchive,
		func(f custom.Field, _ *custom.Fields) (custom.Field, error) {
			if f.Ended() {
				return f, nil
			}
			return f.End(now), nil
		})
}

// ResumeField brings a custom field back, with the values that contacts have in it.
func (s *Store) ResumeField(ctx context.Context, account, id int64) error {
	return s.changeField(ctx, account, id, history.DidRestore,
		func(f custom.Field, all *custom.Fields) (custom.Field, error) {
			if !f.Ended() {
				return f, nil
			}
			return f.Resume(all)
		})
}

func (s *Store) changeField(ctx context.Context, account, id int64, kind history.Kind,
	decide func(custom.Field, *custom.Fields) (custom.Field, error),
) error {
	return s.changeFields(ctx, account, func(u Unit, fields *custom.Fields) error {
		at := slices.IndexFunc(fields.All, func(f custom.Field) bool { return f.ID == id })
		if at < 0 {
			return crm.ErrNotFound
		}
		made, err := decide(fields.All[at], fields)
		if err == nil {
			saveField(u, fields.All[at], made, kind)
		}
		return err
	})
}

// MoveField moves a custom field before the one in front of it, or after the next. At the end of the list nothing
// changes.
func (s *Store) MoveField(ctx context.Context, account, id int64, by int) error {
	return s.changeFields(ctx, account, func(u Unit, fields *custom.Fields) error {
		field, other := fields.Find(id), fields.Neighbor(id, by)
		switch {
		case field == nil:
			return crm.ErrNotFound
		case other == nil:
			return nil
		}
		moved, passed := *field, *other
		moved.Place, passed.Place = other.Place, field.Place
		saveField(u, *field, moved, history.DidUpdate)
		saveField(u, *other, passed, history.DidUpdate)
		return nil
	})
}

// saveField writes a definition that has changed, and notes it for the changes that come after.
func saveField(u Unit, old, f custom.Field, kind history.Kind) {
	differences := old.Differences(&f)
	if len(differences) == 0 && old.EndedAt.Equal(f.EndedAt) {
		return
	}
	if !differences.Has("title") { // by which the history names the field
		differences = append(differences, f.Named())
	}
	u.Touch()
	u.FieldSeq++
	u.Record(history.FieldNoun, f.ID, kind, differences.Text())
	u.Save(FieldTable, u.Number, f.ID, f.Title, f.Description, string(f.Type), strings.Join(f.Options, "\n"), f.Place,
		Seconds(f.CreatedAt), Seconds(f.EndedAt))
	others := slices.DeleteFunc(slices.Clone(u.fields.All), func(known custom.Field) bool { return known.ID == f.ID })
	u.fields = custom.NewFields(u.FieldSeq, append(others, f))
}

const SQLFieldIDs = `SELECT id FROM custom_field WHERE account_id = $1 ORDER BY id`

const (
	SQLTagCount    = `SELECT contacts FROM tag WHERE account_id = $1 AND fold = $2 AND name = $3`
	sqlSuggestTags = `SELECT name, contacts FROM tag WHERE account_id = $1 AND fold >= $2 AND fold <= $3
		ORDER BY fold, name LIMIT $4`
	sqlTagPage = `SELECT name, contacts FROM tag WHERE account_id = $1 AND fold >= $2 AND fold <= $3
		ORDER BY fold, name LIMIT $4 OFFSET $5`
	sqlTagTotal    = `SELECT COUNT(*) FROM tag WHERE account_id = $1 AND fold >= $2 AND fold <= $3`
	sqlFoldedAlike = `SELECT name, contacts FROM tag WHERE account_id = $1 AND fold IN (SELECT fold FROM tag
		WHERE account_id = $1 GROUP BY fold HAVING COUNT(*) > 1 LIMIT $2) ORDER BY fold, name`
	sqlLargestTags = `SELECT name, contacts FROM tag WHERE account_id = $1 ORDER BY size DESC, fold, name LIMIT $2`
)

// rankedTags is among how many tags the largest are looked for, those with more digits first. So one is missed only
// where a thousand others have a number of as many digits or more, and come before it in the alphabet.
const rankedTags = 1000

// TagCount is a tag and how many active contacts have it.
type TagCount struct {
	Name     string
	Contacts int64
}

// Append appends the wire form.
func (t TagCount) Append(dst []byte) []byte { return crm.AppendTag(dst, t.Name, t.Contacts) }

// Tags is one page of the tags that begin with what was typed, without regard to case and marks, in the order of the
// alphabet. Where nothing was typed they are all tags of active contacts.
func (s *Store) Tags(ctx context.Context, account int64, prefix string,
	page crm.PageRequest,
) (tags []TagCount, result ListResult, err error) {
	names := crm.TagRange(prefix)
	err = s.View(ctx, func(c db.Conn) error {
		if result.Total, err = c.Int(sqlTagTotal, account, names.From, names.To); err != nil ||
			page.Skip() >= result.Total {
			tags = nil
			return err
		}
		tags, err = db.List(c, scanTag, sqlTagPage, account, names.From, names.To, page.PerPage, page.Skip())
		return err
	})
	result.Count = int64(len(tags))
	return tags, result, err
}

// SuggestTags are tags that begin with what was typed, without regard to case and marks, in the order of the alphabet.
// Where nothing was typed they are the largest ones.
func (s *Store) SuggestTags(ctx context.Context, account int64, prefix string, limit int) ([]TagCount, error) {
	names := crm.TagRange(prefix)
	if names.From == "" {
		return s.LargestTags(ctx, account, limit)
	}
	return List(ctx, s, scanTag, sqlSuggestTags, account, names.From, names.To, int64(limit))
}

// LargestTags are the tags that the most contacts have, the largest first.
func (s *Store) LargestTags(ctx context.Context, account int64, limit int) ([]TagCount, error) {
	counts, err := List(ctx, s, scanTag, sqlLargestTags, account, int64(max(limit, rankedTags)))
	slices.SortStableFunc(counts, func(a, b TagCount) int { return cmp.Compare(b.Contacts, a.Contacts) })
	return counts[:min(limit, len(counts))], err
}

// AlikeTags are groups of tags that differ in letter case alone, the largest tag of each first. The limit is that of
// groups that are looked at: of those that differ in marks, too, some may fall apart.
func (s *Store) AlikeTags(ctx context.Context, account int64, limit int) (groups [][]TagCount, err error) {
	alike, err := List(ctx, s, scanTag, sqlFoldedAlike, account, int64(limit))
	at := map[string]int{}
	for _, tag := range alike {
		name := crm.TagCase(tag.Name)
		if _, known := at[name]; !known {
			at[name] = len(groups)
			groups = append(groups, nil)
		}
		groups[at[name]] = append(groups[at[name]], tag)
	}
	groups = slices.DeleteFunc(groups, func(group []TagCount) bool { return len(group) < 2 })
	for _, group := range groups {
		slices.SortStableFunc(group, func(a, b TagCount) int { return cmp.Compare(b.Contacts, a.Contacts) })
	}
	return groups, err
}

func scanTag(r db.Row) TagCount { return TagCount{r.Text(0), r.Int(1)} }

// ArchivedWithTags is how many archived contacts have each of some tags. A tag that none has is missing.
func (s *Store) ArchivedWithTags(ctx context.Context, account int64, names []string) (map[string]int64, error) {
	return Snapshot(ctx, s, func(c db.Conn) (map[string]int64, error) {
		sizes := make(map[string]int64)
		row, err := ReadTally(c, account)
		if err != nil || row.ContactSeq == row.ContactActive {
			return sizes, err
		}
		archive, err := s.Sets.of(c, &row, find.ArchiveSet)
		if err != nil {
			return nil, err
		}
		merged, err := s.Sets.of(c, &row, find.MergedSet)
		for _, name := range names {
			if err != nil {
				return nil, err
			}
			var tagged *heldSet
			if tagged, err = s.Sets.of(c, &row, find.TagSet+name); err == nil {
				both := archive.Clone()
				both.AndNot(&merged.Set)
				if both.And(&tagged.Set); both.Count() > 0 {
					sizes[name] = both.Count()
				}
			}
		}
		return sizes, err
	})
}
