package store

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

// A tag that many contacts have is renamed or deleted in the background. A row of tag_work says what is to be done; one small unit of work
// after the other takes some of the contacts that still have the tag, and the last one takes the row. So others wait for little, a server
// that was killed goes on where it was, and any node may take a turn: each finds what is left while it holds the lock of the account.

const (
	tagsAtOnce     = 500         // contacts that are changed while the client waits
	tagBytesAtOnce = 4 << 20     // that their documents may have together, since all of them are in memory
	tagUnit        = 50          // contacts of one unit of work in the background
	tagWorkLook    = time.Minute // how often a node looks for work that another one has left
)

const (
	sqlTagWork     = `SELECT name, becomes, actor, door FROM tag_work WHERE account_id = $1 AND name = $2`
	sqlTagWorks    = `SELECT name, becomes FROM tag_work WHERE account_id = $1`
	sqlAllTagWorks = `SELECT account_id, name FROM tag_work ORDER BY account_id, name`
	sqlBodyBytes   = `SELECT length(body) FROM contact WHERE account_id = $1 AND id = ANY($2)`
)

// tagWork is what is to be done to a tag; one that becomes "" is deleted.
type tagWork struct{ name, becomes string }

func scanTagWork(r db.Row) tagWork { return tagWork{r.Text(0), r.Text(1)} }

// TagChange is what has become of a tag that was renamed or deleted.
type TagChange struct {
	TagCount        // under its new name, or under the old one while contacts still have it
	unfinished bool // it goes on in the background
}

// Unfinished tells whether the change goes on in the background.
func (c TagChange) Unfinished() bool { return c.unfinished }

// Fate tells that nothing is new.
func (TagChange) Fate() (created, merged bool) { return false, false }

// RenameTag gives a tag another name on every contact that has it, also on archived ones. A contact that has both names keeps the one that
// comes first.
func (s *Store) RenameTag(ctx context.Context, account int64, name, becomes string) (TagChange, error) {
	return s.changeTag(ctx, account, tagWork{name, becomes})
}

// DeleteTag takes a tag from every contact that has it, also from archived ones.
func (s *Store) DeleteTag(ctx context.Context, account int64, name string) (TagChange, error) {
	return s.changeTag(ctx, account, tagWork{name: name})
}

// CheckTag tells whether any contact has the tag, also an archived one.
func (s *Store) CheckTag(ctx context.Context, account int64, name string) error {
	return s.view(ctx, func(c db.Conn) error {
		ids, err := tagged(c, account, name, 1)
		if err == nil && len(ids) == 0 {
			err = crm.ErrNotFound
		}
		return err
	})
}

// changeTag changes a tag at once where few contacts have it, and notes what is to be done where they are many.
func (s *Store) changeTag(ctx context.Context, account int64, w tagWork) (TagChange, error) {
	now := s.now()
	made, err := answered(ctx, s, account, needs{}, func(t *tx) (made TagChange, err error) {
		if made.unfinished, err = t.changeTag(account, w, now); err != nil {
			return made, err
		}
		shown := w.becomes
		if made.unfinished {
			shown = w.name
		}
		contacts, err := t.Int(sqlTagCount, account, crm.FoldTag(shown), shown)
		made.TagCount = TagCount{shown, contacts}
		return made, err
	})
	if made.unfinished {
		select {
		case s.tagsBegun <- struct{}{}:
		default: // it is awake
		}
	}
	return made, err
}

func (t *tx) changeTag(account int64, w tagWork, now time.Time) (unfinished bool, err error) {
	a, err := t.lock(account)
	if err != nil {
		return false, err
	}
	ids, err := t.tagged(a, w.name, tagsAtOnce+1)
	if err != nil || w.becomes == w.name && len(ids) > 0 { // it has the name already
		return false, err
	}
	if underWay, err := t.tagUnderWay(account, w); underWay || err != nil {
		return underWay, err
	}
	if len(ids) == 0 {
		return false, crm.ErrNotFound
	}
	many := len(ids) > tagsAtOnce
	if !many {
		if many, err = t.areLarge(account, ids); err != nil {
			return false, err
		}
	}
	if many {
		t.noteTag(a, w)
		t.Insert(tagWorkTable, account, w.name, w.becomes, t.author.who, seconds(now), int64(t.author.door))
		return true, nil
	}
	rows, damage, err := t.loadTagged(a, ids, w.name)
	if err != nil || damage != nil {
		return false, cmp.Or(err, damage)
	}
	t.noteTag(a, w)
	return false, t.retag(rows, w, now)
}

// noteTag notes what becomes of a tag. Each contact that has it has a row of its own.
func (t *tx) noteTag(a *accountUnit, w tagWork) {
	kind := crm.DidUpdate
	if w.becomes == "" {
		kind = crm.DidDelete
	}
	t.record(a, crm.TagNoun, 0, kind, 0, crm.Differences{crm.TextDifference("name", w.name, w.becomes)}.Text())
}

// areLarge tells whether the documents of contacts are too large to be in memory together.
func (t *tx) areLarge(account int64, ids []int64) (bool, error) {
	bytes := int64(0)
	err := t.Each(func(r db.Row) error {
		bytes += r.Int(0)
		return nil
	}, sqlBodyBytes, account, ids)
	return bytes > tagBytesAtOnce, err
}

// tagUnderWay tells whether the same work is under way already. Other work on the tag, or such that makes contacts have it, must end first.
func (t *tx) tagUnderWay(account int64, w tagWork) (bool, error) {
	works, err := db.List(t.Conn, scanTagWork, sqlTagWorks, account)
	for _, other := range works {
		switch {
		case other == w:
			return true, err
		case other.name == w.name, other.becomes == w.name, other.name == w.becomes:
			faults := &crm.Invalid{}
			faults.Add("", crm.TagBusy)
			return false, faults
		}
	}
	return false, err
}

// tagged is tagged for a unit of work, which sees what its batch has done before.
func (t *tx) tagged(a *accountUnit, name string, limit int) ([]int64, error) {
	t.writeSets(a)
	return tagged(t.Conn, a.account, name, limit)
}

// tagged are some contacts that have a tag, as many as are asked for where there are as many.
func tagged(c db.Conn, account int64, name string, limit int) ([]int64, error) {
	if !crm.IsTagName(name) {
		return nil, nil
	}
	ids, err := firstOfSet(c, account, activeSet+name, limit)
	if err != nil || len(ids) == limit {
		return ids, err
	}
	archived, err := firstOfSet(c, account, archivedSet+name, limit-len(ids))
	return append(ids, archived...), err
}

// loadTagged loads contacts that are to have a tag, and leaves out those that do not. Of damaged ones it tells the first.
func (t *tx) loadTagged(a *accountUnit, ids []int64, name string) (rows []*stored, damage, err error) {
	unknown := slices.DeleteFunc(slices.Clone(ids), func(id int64) bool { return a.contacts[id] != nil })
	err = t.Each(func(r db.Row) error {
		row := scanContact(r)
		a.contacts[row.id] = row
		return nil
	}, sqlLoadContacts, a.account, unknown)
	for _, id := range ids {
		switch row := a.contacts[id]; {
		case row == nil:
		case row.damage != nil:
			damage = cmp.Or(damage, row.damage)
		case slices.Contains(row.contact.Tags, name):
			rows = append(rows, row)
		}
	}
	return rows, damage, err
}

// retag does the work on some contacts.
func (t *tx) retag(rows []*stored, w tagWork, now time.Time) error {
	for _, row := range rows {
		_, err := t.change(row, 0, func(c crm.Contact) (crm.Contact, error) { return c.RenameTag(w.name, w.becomes, now), nil })
		if err != nil {
			return err
		}
	}
	return nil
}

// WorkOnTags goes on with what is to be done to tags until the context ends. Between two rounds it rests for as long as the last one took,
// so that others have at least half of the time. report hears what went wrong; that is tried again at the next look.
func (s *Store) WorkOnTags(ctx context.Context, report func(error)) {
	for failed := map[tagOf]bool{}; ctx.Err() == nil; {
		start := time.Now()
		busy, err := s.tagRound(ctx, failed, report)
		if err != nil && ctx.Err() == nil {
			report(err)
		}
		rest, woken := time.Since(start), (chan struct{})(nil)
		if !busy {
			rest, woken = tagWorkLook, s.tagsBegun
			clear(failed)
		}
		select {
		case <-ctx.Done():
		case <-woken:
		case <-time.After(rest):
		}
	}
}

// tagOf is a tag of an account.
type tagOf struct {
	account int64
	name    string
}

// tagRound takes one step of everything that is to be done, but for what has failed. It reports whether anything may be left.
func (s *Store) tagRound(ctx context.Context, failed map[tagOf]bool, report func(error)) (busy bool, err error) {
	works, err := list(ctx, s, func(r db.Row) tagOf { return tagOf{r.Int(0), r.Text(1)} }, sqlAllTagWorks)
	for _, w := range works {
		if failed[w] || ctx.Err() != nil {
			continue
		}
		if err := s.tagStep(ctx, w); err == nil {
			busy = true
		} else if failed[w] = true; ctx.Err() == nil {
			report(err)
		}
	}
	return busy, err
}

// tagStep does the work on a few contacts more. Those that are damaged stay, and so does the work.
func (s *Store) tagStep(ctx context.Context, of tagOf) error {
	now := s.now()
	return s.update(ctx, of.account, needs{}, func(t *tx) error {
		a, err := t.lock(of.account)
		if err != nil {
			return err
		}
		w, err := findIn(t.Conn, crm.ErrNotFound, func(r db.Row) tagWork {
			t.author.who, t.author.door = r.Text(2), crm.Door(r.Int(3)) // who has asked for it
			return scanTagWork(r)
		}, sqlTagWork, of.account, of.name)
		if errors.Is(err, crm.ErrNotFound) {
			return nil // another node has ended it
		}
		if err != nil {
			return err
		}
		ids, err := t.tagged(a, of.name, tagUnit)
		if err != nil {
			return err
		}
		rows, damage, err := t.loadTagged(a, ids, of.name)
		switch {
		case err != nil:
			return err
		case len(rows) == 0 && damage != nil:
			return damage
		case (len(ids) < tagUnit || len(rows) == 0) && damage == nil:
			t.Delete(tagWorkTable, of.account, of.name)
		}
		return t.retag(rows, w, now)
	})
}
