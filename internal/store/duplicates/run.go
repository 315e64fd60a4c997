package duplicates

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/duplicate"
	"donorbook/internal/db"
	"donorbook/internal/guard"
	"donorbook/internal/store"
)

// A look at an account reads beside all other work, and writes what it has found in small units. It notes up to which
// change it has seen everything: what changes meanwhile is for the next look. One that was cut off is begun again.

const (
	claimed  = 30 * time.Second // a node says for so long that it is at an account
	renewed  = claimed / 3      // and says so again
	quiet    = 10 * time.Second // after a change, before a look
	patience = 10 * time.Minute // a look comes at last where changes do not end

	fewChanges = 20 // that are looked at one by one, however few contacts there are
	// one of so many contacts may have changed before all are compared again, because what was learned is old
	shareOf = 33
	// a look at one contact costs as much as that share of a look at all of them: 4 ms against 0.1 ms for each of
	// 250,000, 20 against 0.27 of a million
	singleLook = 80
	pairUnit   = 200     // pairs of one unit of work
	maxPairs   = 500_000 // that are kept
)

// run is how far an account was looked through.
type run struct{ revision, at, busy, learned, contacts, changed int64 }

const (
	sqlRun   = `SELECT revision, at, busy, learned, contacts, changed FROM duplicate_run WHERE account_id = $1`
	sqlModel = `SELECT model FROM duplicate_run WHERE account_id = $1`
	sqlBusy  = `UPDATE duplicate_run SET busy = $2 WHERE account_id = $1`
	sqlSeen  = `UPDATE duplicate_run SET revision = $2, at = $3, changed = changed + $4 WHERE account_id = $1`

	pendingAccount = `SELECT t.account_id FROM account_tally AS t
		LEFT JOIN duplicate_run AS r ON r.account_id = t.account_id LEFT JOIN change AS c ON c.account_id = t.account_id AND c.revision = t.revision
		WHERE t.contact_active > 1 AND t.importing = 0 AND (r.account_id IS NULL OR r.revision < t.revision) AND `
	sqlPending       = pendingAccount + `(c.at IS NULL OR c.at <= $1 OR r.at <= $2) ORDER BY t.account_id`
	sqlPendingOf     = pendingAccount + `t.account_id = $1 AND (c.at IS NULL OR c.at <= $2 OR r.at <= $3)`
	sqlActiveBetween = `SELECT id, match_keys, body, checksum FROM contact WHERE account_id = $1 AND id > $2
		AND id <= $3 AND archived = 0 ORDER BY id LIMIT 500`

	sqlFound = `SELECT a, b, person, level, probability, reasons, against FROM duplicate WHERE account_id = $1
		AND state = 0`
	sqlDrop      = `DELETE FROM duplicate WHERE account_id = $1 AND a = $2 AND b = $3 AND state = 0`
	sqlDismissed = `SELECT a, b, digest_a, digest_b FROM duplicate WHERE account_id = $1 AND state = 1`
)

// sqlChanged finds the contacts with a change of something that may be compared: not of tags, notes, gifts, refunds and
// plans, and not what people said about duplicates.
const sqlChanged = `SELECT DISTINCT id FROM change WHERE account_id = $1 AND revision > $2 AND revision <= $3
	AND noun = ` + store.ContactNoun + `
	AND kind NOT IN (` + store.DidTag + `, ` + store.DidUntag + `, ` + store.DidNote + `, ` + store.AboutGifts + `, ` +
	store.DidDismiss + `) LIMIT $4`

func readRun(c db.Conn, account int64) (r run, err error) {
	_, err = c.One(func(row db.Row) { r = run{row.Int(0), row.Int(1), row.Int(2), row.Int(3), row.Int(4), row.Int(5)} },
		sqlRun, account)
	return r, err
}

// LookOnce looks at the accounts that have changed, beside what its caller does, unless that is being done.
func (s *DuplicateStore) LookOnce(ctx context.Context, report func(error)) {
	select {
	case s.turn <- struct{}{}:
	default:
		return
	}
	s.base.Touching.Go(func() {
		defer func() { <-s.turn }()
		if err := guard.Do(func() error { s.lookAtPending(ctx, report); return nil }); err != nil {
			report(err)
		}
	})
}

func (s *DuplicateStore) lookAtPending(ctx context.Context, report func(error)) {
	now := s.base.Now()
	accounts, err := store.ListAll(ctx, s.base, store.Number, sqlPending, sqlPendingOf, store.Seconds(now.Add(-quiet)),
		store.Seconds(now.Add(-patience)))
	for account := range s.asked.Range {
		s.asked.Delete(account)
		accounts = append(accounts, account.(int64))
	}
	for _, account := range accounts {
		if err == nil {
			_, err = s.look(ctx, account, func(float64) {})
		}
		if err != nil && ctx.Err() == nil && !errors.Is(err, crm.ErrImporting) && !errors.Is(err, crm.ErrNotFound) {
			report(err)
		}
		err = ctx.Err()
	}
}

// CheckNow looks at an account in the background as soon as this node can.
func (s *DuplicateStore) CheckNow(account int64) {
	s.asked.Store(account, true)
	s.jobs.WakeJobs()
}

// FindDuplicates brings the duplicates of an account up to date: what was changed since the last look is compared, or
// all contacts with each other where much was changed. It waits for a look that is under way. progress is told how much
// is done, from 0 to 1; it may be nil.
func (s *DuplicateStore) FindDuplicates(ctx context.Context, account int64, progress func(done float64)) error {
	if progress == nil {
		progress = func(float64) {}
	}
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.turn }()
	for {
		ours, err := s.look(ctx, account, progress)
		if ours || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

// look brings an account up to date, unless another node is at it.
func (s *DuplicateStore) look(ctx context.Context, account int64, progress func(done float64)) (ours bool, err error) {
	if ours, err = s.claim(ctx, account); !ours || err != nil {
		return ours, err
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = guard.Do(func() error { s.stayBusy(ctx, account); return nil }) // another node may begin
	}()
	err = guard.Do(func() error { return s.bringUp(ctx, account, progress) })
	cancel()
	<-done
	return true, cmp.Or(err, s.sayBusy(context.WithoutCancel(ctx), account, time.Time{}))
}

// stayBusy says again and again that this node is at an account.
func (s *DuplicateStore) stayBusy(ctx context.Context, account int64) {
	for {
		select {
		case <-time.After(renewed):
			_ = s.sayBusy(ctx, account, s.base.Now().Add(claimed)) // the next one may come through
		case <-ctx.Done():
			return
		}
	}
}

// claim says that this node is at an account.
func (s *DuplicateStore) claim(ctx context.Context, account int64) (ours bool, err error) {
	now := s.base.Now()
	err = s.base.UpdateAccount(ctx, account, func(t *store.Tx) error {
		r, err := readRun(t.Conn, account)
		if ours = err == nil && r.busy <= store.Seconds(now); !ours {
			return err
		}
		if known, err := t.Exists(sqlRun, account); err != nil || !known {
			t.Save(store.DuplicateRunTable, account, int64(0), int64(0), store.Seconds(now.Add(claimed)), int64(0),
				int64(0), int64(0), "")
			return err
		}
		return t.Run(sqlBusy, account, store.Seconds(now.Add(claimed)))
	})
	return ours, err
}

func (s *DuplicateStore) sayBusy(ctx context.Context, account int64, until time.Time) error {
	return s.base.UpdateAccount(ctx, account, func(t *store.Tx) error {
		return t.Run(sqlBusy, account,
			store.Seconds(until))
	})
}

// bringUp looks at the contacts that were changed since the last look, or at all of them.
func (s *DuplicateStore) bringUp(ctx context.Context, account int64, progress func(done float64)) error {
	var at run
	var row store.Tally
	var ids []int64
	most := int64(0)
	err := s.base.View(ctx, func(c db.Conn) (err error) {
		if at, err = readRun(c, account); err == nil {
			row, err = store.ReadTally(c, account)
		}
		most = min(max(fewChanges, row.ContactActive/singleLook), max(fewChanges, row.ContactActive/shareOf)-at.changed)
		if err != nil || at.at == 0 || most < 0 {
			return err
		}
		ids, err = db.List(c, store.Number, sqlChanged, account, at.revision, row.Revision, most+1)
		return err
	})
	if err != nil {
		return err
	}
	if at.at != 0 && at.revision == row.Revision { // nothing was changed
		return s.seen(ctx, account, row.Revision, 0)
	}
	model, err := s.model(ctx, account, at.learned)
	if err != nil || at.at == 0 || int64(len(ids)) > most {
		return s.lookAtAll(ctx, account, row.Revision, progress)
	}
	slices.Sort(ids)
	for i, id := range ids {
		if err := s.lookAt(ctx, account, id, model); err != nil {
			return err
		}
		progress(float64(i+1) / float64(len(ids)))
	}
	return s.seen(ctx, account, row.Revision, int64(len(ids)))
}

// seen notes that an account was looked through up to a change.
func (s *DuplicateStore) seen(ctx context.Context, account, revision, changed int64) error {
	return s.base.UpdateAccount(ctx, account, func(t *store.Tx) error {
		return t.Run(sqlSeen, account, revision, store.Seconds(s.base.Now()), changed)
	})
}

// collected is how many contacts are read, or pairs found, before their garbage is collected; so is that of each pass.
// All contacts are in memory during a look, and the usual pace of the collector would let garbage take several times as
// much. That pace is for requests, and stays.
const collected = 1 << 13

// What parts of a look take.
const (
	reading   = 0.3
	comparing = 0.6
)

// lookAtAll compares all contacts of an account with each other.
func (s *DuplicateStore) lookAtAll(ctx context.Context, account, revision int64, progress func(done float64)) error {
	f := new(duplicate.Finder)
	n, err := s.readAll(ctx, account, f, progress)
	if err != nil {
		return err
	}
	var pairs []row
	texts := make(map[string]string) // many pairs have the same reasons
	one := func(text string) string {
		if _, known := texts[text]; !known {
			texts[text] = text
		}
		return texts[text]
	}
	model, err := f.Run(ctx, func(done float64) {
		if n > collected/16 { // what fewer people take is less than a collection costs
			runtime.GC()
		}
		progress(reading + comparing*done)
	}, func(found duplicate.Found) error {
		if r := rowOf(&found); len(pairs) < maxPairs {
			r.reasons, r.against = one(r.reasons), one(r.against)
			if pairs = append(pairs, r); len(pairs)%collected == 0 {
				runtime.GC()
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	f = nil // its memory is for what follows
	text, err := model.Encode()
	if err == nil {
		err = s.forgetDismissals(ctx, account)
	}
	if err == nil {
		err = s.replace(ctx, account, pairs, func(done float64) {
			progress(reading + comparing +
				(1-reading-comparing)*done)
		})
	}
	if err != nil {
		return err
	}
	now := store.Seconds(s.base.Now())
	return s.base.UpdateAccount(ctx, account, func(t *store.Tx) error {
		t.Save(store.DuplicateRunTable, account, revision, now, now+int64(claimed.Seconds()), revision, n, int64(0),
			string(text))
		return nil
	})
}

// readAll reads the active contacts of an account.
func (s *DuplicateStore) readAll(ctx context.Context, account int64, f *duplicate.Finder,
	progress func(done float64),
) (n int64, err error) {
	tally, err := store.Snapshot(ctx, s.base, func(c db.Conn) (store.Tally, error) {
		return store.ReadTally(c,
			account)
	})
	at, end := doc.MakeID(account, 0), doc.MakeID(account, tally.ContactSeq)
	for last := int64(-1); err == nil && last != at; {
		last = at
		err = s.base.Read(ctx, func(c db.Conn) error {
			return c.Each(func(r db.Row) error {
				at = r.Int(0)
				body, err := store.ContactBody(r, 2, at)
				if err != nil {
					return nil // a check tells of what cannot be read
				}
				contact, err := crm.ParseContact(at, body, store.SplitKeys(r.Text(1)))
				if err != nil {
					return nil
				}
				record := duplicate.Of(&contact)
				f.Add(at, &record)
				if n++; n%collected == 0 {
					runtime.GC()
				}
				return nil
			}, sqlActiveBetween, account, last, end)
		})
		progress(reading * float64(doc.IDSeq(at)) / float64(max(1, tally.ContactSeq)))
	}
	return n, err
}

// key is what a pair is found by.
type key struct{ a, b int64 }

// row is a pair as it is kept.
type row struct {
	key
	person, level, probability int64
	reasons, against           string // lines
}

// rowOf is what is kept of a pair that was found. The person of a pair that is in no group stands apart from the groups
// of both.
func rowOf(f *duplicate.Found) row {
	k := key{min(f.A, f.B), max(f.A, f.B)}
	return row{k, cmp.Or(f.Group, -k.a), int64(slices.Index(levels, f.Level)), int64(f.Probability * millionths),
		strings.Join(f.Reasons, "\n"), strings.Join(f.Against, "\n")}
}

func rowsOf(found []duplicate.Found) (rows []row) {
	for i := range found {
		rows = append(rows, rowOf(&found[i]))
	}
	return rows
}

func scanRow(r db.Row) row {
	return row{key{r.Int(0), r.Int(1)}, r.Int(2), r.Int(3), r.Int(4), r.Text(5), r.Text(6)}
}

// values are the columns of a pair, with what was compared when it was dismissed.
func (r *row) values(account, state, digestA, digestB int64) []any {
	return []any{account, r.a, r.b, r.person, r.level, r.probability, r.reasons, r.against, state, digestA, digestB}
}

// replace writes the pairs of an account in the place of those that it has.
func (s *DuplicateStore) replace(ctx context.Context, account int64, pairs []row, progress func(done float64)) error {
	at := make(map[key]int, len(pairs))
	for i := range pairs {
		at[pairs[i].key] = i
	}
	var gone []key
	var same map[int]bool
	err := s.base.Read(ctx, func(c db.Conn) error {
		gone, same = nil, make(map[int]bool)
		return c.Scan(func(r db.Row) {
			old := scanRow(r)
			if i, known := at[old.key]; !known {
				gone = append(gone, old.key)
			} else if pairs[i] == old {
				same[i] = true
			}
		}, sqlFound, account)
	})
	n := 0
	for i := range pairs {
		if !same[i] {
			pairs[n] = pairs[i]
			n++
		}
	}
	pairs = pairs[:n]
	for total := len(gone) + n; err == nil && len(gone)+
		len(pairs) > 0; progress(1 - float64(len(gone)+len(pairs))/float64(total)) {
		drop, add := gone[:min(pairUnit, len(gone))], pairs[:min(pairUnit, len(pairs))]
		gone, pairs = gone[len(drop):], pairs[len(add):]
		err = s.base.UpdateAccount(ctx, account, func(t *store.Tx) error { return write(t, account, drop, add) })
	}
	return err
}

// write writes some pairs, but for those of contacts that are no longer active, and those that a person has dismissed.
func write(t *store.Tx, account int64, drop []key, add []row) error {
	var ids []int64
	for _, r := range add {
		ids = append(ids, r.a, r.b)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	active, dismissed := make(map[int64]bool), make(map[key]bool)
	err := cmp.Or(
		t.Each(func(r db.Row) error { active[r.Int(0)] = true; return nil }, store.SQLActive, account, ids),
		t.Each(func(r db.Row) error { dismissed[key{r.Int(0), r.Int(1)}] = true; return nil },
			sqlDismissed+` AND a = ANY($2)`, account, ids))
	if err != nil {
		return err
	}
	for _, k := range drop {
		if err := t.Run(sqlDrop, account, k.a, k.b); err != nil {
			return err
		}
	}
	undone, err := readParted(t.Conn, account, ids)
	if err != nil {
		return err
	}
	for _, r := range add {
		if r.level < afterUndo && undone.have(r.a, r.b) {
			r.level = afterUndo
		}
		if active[r.a] && active[r.b] && !dismissed[r.key] {
			t.Save(store.DuplicateTable, r.values(account, 0, 0, 0)...)
		}
	}
	return nil
}

// afterUndo is the surest level of contacts whose merge was undone: a person has a look before they are merged again.
var afterUndo = int64(slices.Index(levels, duplicate.Likely))

const sqlParted = `SELECT other, survivor FROM contact_merge WHERE account_id = $1 AND other = ANY($2) AND other <> 0
	AND undone <> 0`

// parted are contacts that were merged into others and taken out again, with these others.
type parted map[key]bool

func readParted(c db.Conn, account int64, ids []int64) (p parted, err error) {
	p = make(parted)
	if len(ids) == 0 {
		return p, nil
	}
	return p, c.Scan(func(r db.Row) { p[key{r.Int(0), r.Int(1)}] = true }, sqlParted, account, ids)
}

// have tells whether the merge of two contacts was undone, or that of both into a third one.
func (p parted) have(a, b int64) bool {
	if p[key{a, b}] || p[key{b, a}] {
		return true
	}
	for k := range p {
		if k.a == a && p[key{b, k.b}] {
			return true
		}
	}
	return false
}
