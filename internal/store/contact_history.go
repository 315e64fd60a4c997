package store

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"donorbook/internal/crm/history"
	"donorbook/internal/db"
)

const (
	// What tells changes apart, without what they did.
	sqlStretch = `SELECT revision, noun, kind, id, undoes, job, at, channel, actor, '' FROM change WHERE account_id = $1
		AND revision >= $2 AND revision <= $3 AND ` + notTwice

	// The contact's own row tells of a new gift, a refund and a new plan, and says more than that of the gift or the
	// plan. Refunds from before there were such rows came by no known way. Of another change of a gift, its own row
	// says more than those of the contact, or of both contacts of a gift that was moved, which come right after it.
	notTwice = `(channel = 0 OR NOT (noun = ` + GiftNoun + ` AND kind IN (` + DidCreate + `, ` + DidRefund +
		`) OR noun = ` + PlanNoun + ` AND kind = ` + DidCreate + ` OR noun = ` + ContactNoun + ` AND kind = ` +
		DidGive + ` AND COALESCE((SELECT 1 FROM change AS last
		WHERE last.account_id = $1 AND last.revision = change.revision - 1 AND (last.noun = ` + GiftNoun + `
		AND last.kind = ` + DidUpdate + ` OR last.noun = ` + ContactNoun + ` AND last.kind = ` + DidGive +
		`)), 0) = 1))`

	sqlFrom = `SELECT revision, at FROM change WHERE account_id = $1 AND revision >= $2 ORDER BY revision LIMIT 1`
)

// HistoryAbout are the parts of a history that a person may ask for, as conditions.
var HistoryAbout = historyAbout()

func historyAbout() map[string]string {
	const ofGifts = `(noun = ` + ContactNoun + ` AND kind IN (` + AboutGifts + `))`
	all := make(map[string]string)
	for part, nouns := range history.Nouns {
		numbers := Collect(nouns, func(n history.Noun) string { return strconv.FormatInt(int64(n), 10) })
		all[part] = `noun IN (` + strings.Join(numbers, ", ") + `)`
	}
	all["contacts"] += ` AND NOT ` + ofGifts
	all["gifts"] = `(` + all["gifts"] + ` OR ` + ofGifts + `)`
	return all
}

const (
	firstWidth = 200 // changes that are looked at first; if they are too few, four times as many, and so on
	// so a part looks at 1,000 changes at most: a job may have made all of them, and its own record tells how many it
	// made
	usualWidth   = 800
	mostWidth    = 12_800 // and at 17,000 where few may be what was asked for
	entryChanges = 5      // that are shown of an entry
)

// HistoryPlace is where a part of the history is, and what it is about. The zero place is the newest part of
// everything.
type HistoryPlace struct {
	Before, After int64     // a change
	About, Who    string    // a key of HistoryAbout, and a person or a program
	From, To      time.Time // To is exclusive
}

// HistoryPart is a part of the history of an account, newest first.
type HistoryPart struct {
	Entries      []HistoryEntry
	First, Last  int64 // the changes that were looked at
	Newer, Older bool  // there may be more
}

// HistoryEntry is one change, or what a job or a program has done to many things.
type HistoryEntry struct {
	Changes []Change // the newest of them
	Count   int64
	Mixed   bool  // they are of several kinds
	Job     int64 // that they belong to, 0 for none
	things  map[int64]bool
}

// Things is how many documents were changed.
func (e *HistoryEntry) Things() int64 { return int64(len(e.things)) }

// History is the part of the history of an account at a place, at most so many entries long. What would be told twice
// is left out.
func (s *Store) History(ctx context.Context, account int64, place HistoryPlace, most int) (HistoryPart, error) {
	return Admitted(ctx, s, account, func(c db.Conn, w Admit) (part HistoryPart, err error) {
		row, err := ReadTally(c, account)
		if err != nil {
			return part, err
		}
		h := historyReader{c: c, account: account, place: place, most: most, low: row.Oldest, high: row.Revision}
		if !place.From.IsZero() {
			h.low, err = h.since(h.low, place.From)
		}
		if err == nil && !place.To.IsZero() {
			h.high, err = h.since(h.low, place.To)
			h.high--
		}
		if err == nil && place.After > 0 {
			part, err = h.newer(max(h.low, place.After+1))
		}
		if err == nil && !part.Newer { // the newest part, which is whole
			part, err = h.older(place)
		}
		if err == nil {
			err = h.fill(w, part.Entries)
		}
		return part, err
	})
}

// historyReader reads one part of a history.
type historyReader struct {
	c         db.Conn
	account   int64
	place     HistoryPlace
	most      int
	low, high int64 // the first and the last change that may be in it
	entries   []HistoryEntry
}

func (h *historyReader) widest() int64 {
	if h.place.About+h.place.Who == "" {
		return usualWidth
	}
	return mostWidth
}

// since is the first change from a number on that was made at a time or later, found by halving: numbers are given out
// as time goes by.
func (h *historyReader) since(from int64, at time.Time) (int64, error) {
	low, high := from, h.high+1
	for low < high {
		middle := low + (high-low)/2
		revision, was := high, int64(0)
		if _, err := h.c.One(func(r db.Row) { revision, was = r.Int(0), r.Int(1) }, sqlFrom, h.account,
			middle); err != nil {
			return 0, err
		}
		switch {
		case revision >= high || was >= Seconds(at):
			high = middle
		default:
			low = revision + 1
		}
	}
	return low, nil
}

func (h *historyReader) older(place HistoryPlace) (part HistoryPart, err error) {
	part.Last = h.high
	if place.Before > 0 && place.After <= 0 {
		part.Last = min(h.high, place.Before-1)
	}
	edge := part.Last + 1
	for width := int64(firstWidth); width <= h.widest() && edge > h.low && err == nil; width *= 4 {
		first := max(h.low, edge-width)
		var full int64
		if full, err = h.read(first, edge-1, " ORDER BY revision DESC"); full != 0 {
			return HistoryPart{Entries: h.entries, First: full + 1, Last: part.Last, Newer: part.Last < h.high,
				Older: true}, err
		}
		edge = first
	}
	part.Entries, part.First, part.Older, part.Newer = h.entries, edge, edge > h.low, part.Last < h.high
	return part, err
}

func (h *historyReader) newer(first int64) (part HistoryPart, err error) {
	part.First, part.Older = first, first > h.low
	edge := first
	for width := int64(firstWidth); width <= h.widest() && edge <= h.high && err == nil; width *= 4 {
		last := min(h.high, edge+width-1)
		var full int64
		if full, err = h.read(edge, last, " ORDER BY revision"); full != 0 {
			last, part.Newer = full-1, true
		}
		if edge = last + 1; part.Newer {
			break
		}
	}
	part.Last, part.Newer = edge-1, part.Newer || edge <= h.high
	if slices.Reverse(h.entries); part.Newer {
		part.Entries = h.entries
	}
	h.entries = nil
	return part, err
}

// read adds the changes of a stretch to the entries. full is the change that would have begun an entry too many, 0 for
// none.
func (h *historyReader) read(first, last int64, order string) (full int64, err error) {
	sql, args := sqlStretch, []any{h.account, first, last}
	if about := HistoryAbout[h.place.About]; about != "" {
		sql += " AND " + about
	}
	if h.place.Who != "" {
		args = append(args, h.place.Who)
		sql += " AND actor = $" + strconv.Itoa(len(args))
	}
	err = h.c.Scan(func(r db.Row) {
		if full == 0 && !h.add(ScanChange(r)) {
			full = r.Int(0)
		}
	}, sql+order, args...)
	return full, err
}

// add adds a change to the entry that it belongs to: that of its job, or of the program that does the same to one thing
// after another.
func (h *historyReader) add(change Change) bool {
	job := change.Job
	if change.Noun == history.JobNoun {
		job = change.ID
	}
	at := -1
	if job != 0 {
		at = slices.IndexFunc(h.entries, func(e HistoryEntry) bool { return e.Job == job })
	} else if n := len(h.entries); n > 0 && change.Channel != history.ConsoleChannel {
		if last := &h.entries[n-1]; last.Job == 0 && alike(&last.Changes[0], &change) {
			at = n - 1
		}
	}
	if at < 0 && len(h.entries) == h.most {
		return false
	}
	if at < 0 {
		at, h.entries = len(h.entries), append(h.entries, HistoryEntry{Job: job, things: map[int64]bool{}})
	}
	e := &h.entries[at]
	switch {
	case e.Count == 0 || e.Changes[0].Noun == history.JobNoun: // which says less than what the job did
		e.Changes, e.Count = []Change{change}, 1
	case change.Noun == history.JobNoun:
		return true
	default:
		e.Mixed = e.Mixed || e.Changes[0].Noun != change.Noun || e.Changes[0].Kind != change.Kind
		if e.Count++; e.Count <= entryChanges {
			e.Changes = append(e.Changes, change)
		}
	}
	if change.Noun != history.JobNoun {
		e.things[change.ID] = true
	}
	return true
}

func alike(a, b *Change) bool {
	return a.Channel == b.Channel && a.Who == b.Who && a.Noun == b.Noun && a.Kind == b.Kind && a.Who != ""
}

// fill reads what the changes that are shown did.
func (h *historyReader) fill(w Admit, entries []HistoryEntry) error {
	var revisions []int64
	for _, e := range entries {
		for _, change := range e.Changes {
			revisions = append(revisions, change.Revision)
		}
	}
	if len(revisions) == 0 {
		return nil
	}
	all, err := shortChanges(h.c, w, h.account, revisions)
	whole := Keyed(all, func(change Change) int64 { return change.Revision })
	for _, e := range entries {
		for i := range e.Changes {
			e.Changes[i] = whole[e.Changes[i].Revision]
		}
		slices.SortFunc(e.Changes, func(a, b Change) int { return int(b.Revision - a.Revision) })
	}
	return err
}
