package contacts

import (
	"context"
	"slices"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

const sqlSegments = `SELECT id, name, query, actor, created_at FROM segment WHERE account_id = $1 ORDER BY id`

func scanSegment(r db.Row) find.Segment {
	return find.Segment{ID: r.Int(0), Name: r.Text(1), Query: r.Text(2), Actor: r.Text(3), CreatedAt: store.Moment(r.Int(4))}
}

// Segments are the saved filters of an account, oldest first.
func (s *ContactStore) Segments(ctx context.Context, account int64) ([]find.Segment, error) {
	return store.List(ctx, s.Base, scanSegment, sqlSegments, account)
}

// CreateSegment saves a filter that was checked.
func (s *ContactStore) CreateSegment(ctx context.Context, account int64, made find.Segment) (find.Segment, error) {
	made.CreatedAt = s.Now()
	return made, s.changeSegments(ctx, account, func(t *store.Tx, a *store.Account, all []find.Segment) error {
		if err := find.SegmentLimit.Check(int64(len(all)), 1); err != nil {
			return err
		}
		if err := freeSegmentName(all, made.Name, 0); err != nil {
			return err
		}
		a.Touch(t)
		a.SegmentSeq++
		made.ID, made.Actor = doc.MakeID(account, a.SegmentSeq), t.Author.Who
		t.Record(a, history.SegmentNoun, made.ID, history.DidCreate, find.Segment{}.Change(made).Text())
		t.Insert(store.SegmentTable, account, made.ID, made.Name, made.Query, made.Actor, store.Seconds(made.CreatedAt))
		return nil
	})
}

// RenameSegment gives a segment another name, which must be a valid one.
func (s *ContactStore) RenameSegment(ctx context.Context, account, id int64, name string) error {
	return s.changeSegments(ctx, account, func(t *store.Tx, a *store.Account, all []find.Segment) error {
		old, err := segmentOf(all, id)
		if err != nil || old.Name == name {
			return err
		}
		if err := freeSegmentName(all, name, id); err != nil {
			return err
		}
		renamed := old
		renamed.Name = name
		t.Record(a, history.SegmentNoun, id, history.DidUpdate, old.Change(renamed).Text())
		t.Save(store.SegmentTable, account, id, name, old.Query, old.Actor, store.Seconds(old.CreatedAt))
		return nil
	})
}

// DeleteSegment removes a segment, and says which one it was. Contacts stay as they are.
func (s *ContactStore) DeleteSegment(ctx context.Context, account, id int64) (old find.Segment, err error) {
	return old, s.changeSegments(ctx, account, func(t *store.Tx, a *store.Account, all []find.Segment) error {
		if old, err = segmentOf(all, id); err != nil {
			return err
		}
		t.Record(a, history.SegmentNoun, id, history.DidDelete, old.Change(find.Segment{}).Text())
		t.Delete(store.SegmentTable, account, id)
		return nil
	})
}

// changeSegments decides about one segment with a look at all of them: there are few.
func (s *ContactStore) changeSegments(ctx context.Context, account int64, change func(*store.Tx, *store.Account, []find.Segment) error) error {
	return s.UpdateOnce(ctx, account, func(t *store.Tx) error {
		all, err := db.List(t.Conn, scanSegment, sqlSegments, account)
		if err != nil {
			return err
		}
		return change(t, t.Account(account), all)
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
		return store.Fault("name", doc.Taken)
	}
	return nil
}
