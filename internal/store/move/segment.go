package move

import (
	"context"
	"slices"
	"strconv"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/history"
	"donorbook/internal/crm/text"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

const SegmentFile = "segments.jsonl"

// segmentNoun are saved filters. Some name people.
var segmentNoun = &noun{file: SegmentFile, tables: []*db.Table{store.SegmentTable},
	export: exportRows(store.SegmentTable), read: line(readSegment),
	search:   []erasureLook{{"segments", (*eraser).segments}, {"history", (*eraser).segmentChanges}},
	numbered: history.SegmentNoun, seq: func(a *store.Tally) *int64 { return &a.SegmentSeq }}

type segmentLine struct {
	ID        int64  `json:"id"`
	Name      string `json:"name"`
	Query     string `json:"query"`
	Actor     string `json:"actor"`
	CreatedAt int64  `json:"created_at"`
}

func readSegment(r *accountReader, l *segmentLine) (importLine, error) {
	made, err := find.NewSegment(l.Name, l.Query, r.region)
	if err == nil {
		err = find.SegmentLimit.Check(r.row-1, 1)
	}
	if err == nil {
		err = r.own(l.ID)
	}
	if err == nil && (r.repeats(SegmentFile+strconv.FormatInt(l.ID, 10)) ||
		r.repeats(SegmentFile+text.FoldCase(made.Name))) {
		err = problem("has the id or the name of an earlier segment")
	}
	return func(w *accountWriter) error {
		id := w.id(l.ID)
		w.SegmentSeq = max(w.SegmentSeq, doc.IDSeq(id))
		w.Insert(store.SegmentTable, w.Number, id, made.Name, find.RenumberedQuery(made.Query, w.campaigns), l.Actor,
			l.CreatedAt)
		return nil
	}, err
}

// segments deletes saved filters that name a person. Without that word, one would find other people.
func (e *eraser) segments(ctx context.Context, p *erasedPiece) (ended bool, err error) {
	all, err := e.Segments(ctx, e.job.Account)
	for _, s := range slices.DeleteFunc(all, func(s find.Segment) bool {
		return !e.naming(crm.SaidInQuery(s.Query)) && !e.naming(crm.SaidBy(s.Name))
	}) {
		p.decide(func(u store.Unit) (func() error, error) {
			return func() error {
				u.Record(history.SegmentNoun, s.ID, history.DidDelete, "")
				u.Delete(store.SegmentTable, u.Number, s.ID)
				return nil
			}, nil
		})
	}
	return true, err
}

// segmentChanges are changes of saved filters that name a person, also of those that were deleted.
func (e *eraser) segmentChanges(ctx context.Context, p *erasedPiece) (ended bool, err error) {
	return e.changesAfter(ctx, func(c *store.Change) error {
		if e.naming(crm.SaidIn(c.Data)) {
			p.changes = append(p.changes, c.Revision)
		}
		return nil
	}, sqlSegmentChanges, int64(history.SegmentNoun))
}

const sqlSegmentChanges = store.ChangeColumns +
	` AND noun = $5 AND id <> 0 AND (id, revision) > ($2, $3) ORDER BY id, revision LIMIT $4`
