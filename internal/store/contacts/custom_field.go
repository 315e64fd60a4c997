package contacts

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

// The document of a contact names custom fields by their ids alone. What their definitions say is put in when it is read, so that a title
// changes at once and touches no contact. The account's row counts the changes of the definitions: field_seq, from which new fields take their
// ids, too. Every row of a contact that has custom fields comes with that count, and definitions that were read once serve until it moves.

// customAt is a column of a contact's row: 0 where the contact has no custom fields, and else the count of the definitions that it is shown
// with. Only for a contact that has some is the account's row looked at. With the revision and the checksum it names what a client is shown.
const customAt = `CASE WHEN custom = 0 THEN 0 ELSE (SELECT field_seq FROM account_tally WHERE account_id = $1) END`

// sqlCustomFields reads the definitions, and before them the count of their changes in the place of a field 0.
const sqlCustomFields = `SELECT 0 AS id, '' AS title, '' AS description, '' AS type, '' AS options, field_seq AS place, 0 AS created_at, 0 AS ended_at
	FROM account_tally WHERE account_id = $1
	UNION ALL SELECT id, title, description, type, options, place, created_at, ended_at FROM custom_field WHERE account_id = $1`

func ReadCustomFields(c db.Conn, account int64) (*custom.Fields, error) {
	var seq int64
	rows, err := db.List(c, func(r db.Row) custom.Field {
		return custom.Field{
			ID: r.Int(0), Title: r.Text(1), Description: r.Text(2), Type: custom.FieldType(r.Text(3)), Options: store.SplitKeys(r.Text(4)),
			Place: r.Int(5), CreatedAt: store.Moment(r.Int(6)), EndedAt: store.Moment(r.Int(7)),
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
func (s *ContactStore) CustomFields(ctx context.Context, account int64) (*custom.Fields, error) {
	return store.Lend(ctx, s.Read, func(c db.Conn) (*custom.Fields, error) { return s.Fields.read(c, account) })
}

// fieldCache has the definitions that were read last.
type fieldCache struct {
	store.Cache[int64, *custom.Fields] // by account
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

// append appends the wire form of a contact whose row says at in its column customAt. known are definitions that the caller has read, nil for
// none: those in the cache may be of another moment.
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
func customFields(t *store.Tx, a *store.Account) (*custom.Fields, error) {
	if Of(a).fields == nil {
		fields, err := ReadCustomFields(t.Conn, a.Account)
		if err != nil {
			return nil, err
		}
		Of(a).fields = custom.NewFields(a.FieldSeq, fields.All)
	}
	return Of(a).fields, nil
}

// knowingFields makes a change of an input whose custom fields were checked by the definitions as they are when it is made. Where they have
// changed since, it is checked again.
func (s *ContactStore) knowingFields(ctx context.Context, account int64, in *crm.ContactInput, change func() (Document, error)) (made Document, err error) {
	if len(in.Custom) == 0 {
		return change()
	}
	err = store.Repeat(func() error {
		if in.Fields == nil {
			fields, err := s.CustomFields(ctx, account)
			if err == nil {
				err = in.CheckCustom(fields)
			}
			if err != nil {
				return err
			}
		}
		if made, err = change(); errors.Is(err, store.ErrAgain) {
			in.Fields = nil
		}
		return err
	})
	return made, err
}

// checkFields is errAgain where the custom fields of an input were checked by other definitions than those of the unit of work.
func checkFields(a *store.Account, in *crm.ContactInput) error {
	if len(in.Custom) > 0 && (in.Fields == nil || in.Fields.Seq != a.FieldSeq) {
		return store.ErrAgain
	}
	return nil
}

// patchContact changes an active contact by what an input says.
func (s *ContactStore) patchContact(ctx context.Context, account int64, n store.Needs, in *crm.ContactInput, decide decision) (Document, error) {
	return s.knowingFields(ctx, account, in, func() (Document, error) {
		return s.changeActive(ctx, account, n, func(t *store.Tx, c crm.Contact, now time.Time) (crm.Contact, error) {
			if err := checkFields(t.Account(account), in); err != nil {
				return c, err
			}
			return decide(t, c, now)
		})
	})
}

// changeFields changes the definitions of an account.
func (s *ContactStore) changeFields(ctx context.Context, account int64, change func(*store.Tx, *store.Account, *custom.Fields) error) error {
	return s.UpdateOnce(ctx, account, func(t *store.Tx) error {
		a := t.Account(account)
		fields, err := customFields(t, a)
		if err != nil {
			return err
		}
		return change(t, a, fields)
	})
}

// DefineField adds a custom field.
func (s *ContactStore) DefineField(ctx context.Context, account int64, in custom.FieldInput) (made custom.Field, err error) {
	err = s.changeFields(ctx, account, func(t *store.Tx, a *store.Account, fields *custom.Fields) (err error) {
		if made, err = custom.NewField(in, a.FieldSeq+1, fields, s.Now()); err == nil {
			saveField(t, a, custom.Field{ID: made.ID}, made, history.DidCreate)
		}
		return err
	})
	return made, err
}

// ReviseField changes the title, the description and the options of a custom field. Values that contacts have stay as they are.
func (s *ContactStore) ReviseField(ctx context.Context, account, id int64, in custom.FieldInput) error {
	return s.changeField(ctx, account, id, history.DidUpdate, func(f custom.Field, all *custom.Fields) (custom.Field, error) {
		return f.Revise(in, all)
	})
}

// EndField takes a custom field out of use. Contacts keep their values, which no one is shown.
func (s *ContactStore) EndField(ctx context.Context, account, id int64) error {
	now := s.Now()
	return s.changeField(ctx, account, id, history.DidArchive, func(f custom.Field, _ *custom.Fields) (custom.Field, error) {
		if f.Ended() {
			return f, nil
		}
		return f.End(now), nil
	})
}

// ResumeField brings a custom field back, with the values that contacts have in it.
func (s *ContactStore) ResumeField(ctx context.Context, account, id int64) error {
	return s.changeField(ctx, account, id, history.DidRestore, func(f custom.Field, all *custom.Fields) (custom.Field, error) {
		if !f.Ended() {
			return f, nil
		}
		return f.Resume(all)
	})
}

func (s *ContactStore) changeField(ctx context.Context, account, id int64, kind history.Kind, decide func(custom.Field, *custom.Fields) (custom.Field, error)) error {
	return s.changeFields(ctx, account, func(t *store.Tx, a *store.Account, fields *custom.Fields) error {
		at := slices.IndexFunc(fields.All, func(f custom.Field) bool { return f.ID == id })
		if at < 0 {
			return crm.ErrNotFound
		}
		made, err := decide(fields.All[at], fields)
		if err == nil {
			saveField(t, a, fields.All[at], made, kind)
		}
		return err
	})
}

// MoveField moves a custom field before the one in front of it, or after the next. At the end of the list nothing changes.
func (s *ContactStore) MoveField(ctx context.Context, account, id int64, by int) error {
	return s.changeFields(ctx, account, func(t *store.Tx, a *store.Account, fields *custom.Fields) error {
		field, other := fields.Find(id), fields.Neighbor(id, by)
		switch {
		case field == nil:
			return crm.ErrNotFound
		case other == nil:
			return nil
		}
		moved, passed := *field, *other
		moved.Place, passed.Place = other.Place, field.Place
		saveField(t, a, *field, moved, history.DidUpdate)
		saveField(t, a, *other, passed, history.DidUpdate)
		return nil
	})
}

// saveField writes a definition that has changed, and notes it for the changes that come after.
func saveField(t *store.Tx, a *store.Account, old, f custom.Field, kind history.Kind) {
	differences := old.Differences(&f)
	if len(differences) == 0 && old.EndedAt.Equal(f.EndedAt) {
		return
	}
	if !differences.Has("title") { // by which the history names the field
		differences = append(differences, f.Named())
	}
	a.Touch(t)
	a.FieldSeq++
	t.Record(a, history.FieldNoun, f.ID, kind, differences.Text())
	t.Save(store.FieldTable, a.Account, f.ID, f.Title, f.Description, string(f.Type), strings.Join(f.Options, "\n"), f.Place, store.Seconds(f.CreatedAt), store.Seconds(f.EndedAt))
	others := slices.DeleteFunc(slices.Clone(Of(a).fields.All), func(known custom.Field) bool { return known.ID == f.ID })
	Of(a).fields = custom.NewFields(a.FieldSeq, append(others, f))
}

const SQLFieldIDs = `SELECT id FROM custom_field WHERE account_id = $1 ORDER BY id`
