package merges

import (
	"context"
	"strconv"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

// Filter says which merges are listed. The zero filter finds all, oldest first.
type Filter struct {
	Contact int64 // of either side; 0 for any
	Review  bool  // those that a person should look at
	Undone  *bool
	Newest  bool // first
}

// Parameters are the query parameters of a list of merges.
var Parameters = []string{"contact_id", "review", "undone"}

// ParseFilter reads the query parameters.
func ParseFilter(value func(name string) string) (f Filter, err error) {
	var v doc.Invalid
	_, f.Newest = crm.ParseSort(&v, value, "id")
	if sent := value("contact_id"); sent != "" {
		if f.Contact, err = strconv.ParseInt(sent, 10, 64); err != nil || f.Contact <= 0 {
			v.Add("contact_id", doc.IDForm)
		}
	}
	switch value("review") {
	case "", "false":
	case "true":
		f.Review = true
	default:
		v.Add("review", doc.Boolean)
	}
	switch sent := value("undone"); sent {
	case "":
	case "true", "false":
		undone := sent == "true"
		f.Undone = &undone
	default:
		v.Add("undone", doc.Boolean)
	}
	return f, v.Err()
}

func (f *Filter) where(account int64) (condition string, args []any) {
	condition, args = ` WHERE m.account_id = $1`, []any{account}
	if f.Contact != 0 {
		condition, args = condition+` AND (m.survivor = $2 OR m.other = $2 AND m.other <> 0)`, append(args, f.Contact)
	}
	if f.Review {
		condition += ` AND m.review = 1 AND m.undone = 0`
	}
	if f.Undone != nil {
		condition += map[bool]string{true: ` AND m.undone <> 0`, false: ` AND m.undone = 0`}[*f.Undone]
	}
	return condition, args
}

const mergeRows = `SELECT m.id, m.survivor, m.other, m.last, m.sent, m.review, m.undone, m.at, m.moving, m.choice,
	m.place, COALESCE(c.actor, ''), COALESCE(c.channel, 0), COALESCE(u.at, 0) FROM contact_merge AS m
	LEFT JOIN change AS c ON c.account_id = m.account_id AND c.revision = m.id LEFT JOIN change AS u ON u.account_id = m.account_id AND u.revision = m.undone`

func scanListed(r db.Row) store.Merge {
	m := store.ScanMerge(r)
	m.Who, m.Channel, m.UndoneAt = r.Text(11), history.Channel(r.Int(12)), store.Moment(r.Int(13))
	return m
}

// Merges is one page of the merges that a filter finds.
func (s *MergeStore) Merges(ctx context.Context, account int64, f Filter,
	page crm.PageRequest,
) (found []store.Merge, result store.ListResult, err error) {
	condition, args := f.where(account)
	order := ` ORDER BY m.id`
	if f.Newest {
		order += ` DESC`
	}
	found, err = store.Admitted(ctx, s.base, account, func(c db.Conn, w store.Admit) (found []store.Merge, err error) {
		if result.Total, err = c.Int(`SELECT COUNT(*) FROM contact_merge AS m`+condition, args...); err == nil {
			err = w(result.Total)
		}
		if err == nil && page.Skip() < result.Total {
			limit := ` LIMIT $` + strconv.Itoa(len(args)+1) + ` OFFSET $` + strconv.Itoa(len(args)+2)
			found, err = db.List(c, scanListed, mergeRows+condition+order+limit,
				append(args, page.PerPage, page.Skip())...)
		}
		return found, err
	})
	result.Count = int64(len(found))
	return found, result, err
}

// MergeOf is one merge.
func (s *MergeStore) MergeOf(ctx context.Context, account, id int64) (store.Merge, error) {
	return store.Find(ctx, s.base, crm.ErrNotFound, scanListed, mergeRows+` WHERE m.account_id = $1 AND m.id = $2`,
		account, id)
}

// KeepMerge notes that a person has looked at a merge whose names contradict each other, and keeps it.
func (s *MergeStore) KeepMerge(ctx context.Context, account, id int64) error {
	return s.base.UpdateAccount(ctx, account, func(t *store.Tx) error {
		m, err := store.FindIn(t.Conn, crm.ErrNotFound, store.ScanMerge, store.SQLMerge, account, id)
		if err == nil && m.Review == store.ReviewPending {
			m.Review = store.ReviewKept
			t.Save(store.MergeTable, m.Values(account)...)
		}
		return err
	})
}

// Append appends the wire form of a merge.
func Append(dst []byte, m *store.Merge) []byte {
	kind := "contact"
	switch {
	case m.Sent != "" && m.Channel == history.ImportChannel:
		kind = "import"
	case m.Sent != "":
		kind = "create"
	}
	number := func(name string, n int64) {
		if dst = append(append(append(dst, `,"`...), name...), `":`...); n == 0 {
			dst = append(dst, "null"...)
		} else {
			dst = strconv.AppendInt(dst, n, 10)
		}
	}
	dst = strconv.AppendInt(append(dst, `{"id":`...), m.ID, 10)
	dst = doc.AppendText(append(dst, `,"type":`...), kind)
	number("survivor_id", m.Survivor)
	number("other_id", m.Other)
	dst = doc.AppendText(append(dst, `,"review":`...), [...]string{"", "pending", "kept"}[m.Review])
	dst = doc.AppendText(append(dst, `,"created_by":`...), m.Who)
	dst = crm.ContactTime.Append(append(dst, `,"merged_at":`...), m.At)
	number("undo_id", m.Undone)
	dst = crm.ContactTime.Append(append(dst, `,"undone_at":`...), m.UndoneAt)
	dst = strconv.AppendBool(append(dst, `,"moving":`...), m.Moving != 0)
	return append(dst, '}')
}
