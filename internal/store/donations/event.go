package donations

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/donate"
	"donorbook/internal/db"
	"donorbook/internal/guard"
	"donorbook/internal/store"
)

const (
	lease      = 2 * time.Minute     // for which a node has what it works on to itself
	pause      = 10 * time.Second    // between looks for work
	atOnce     = 8                   // looks at a provider at the same time
	mostly     = 200                 // events that are taken notice of at a time
	giveUp     = 3 * 24 * time.Hour  // on an event; what it was about is found by comparing
	eventsKept = 30 * 24 * time.Hour // for which an event that comes again is known
	overlap    = 2 * 24 * time.Hour  // by which what was compared already is compared again
	compare    = 24 * time.Hour
)

const (
	sqlEvent     = `SELECT due_at FROM provider_event WHERE account_id = $1 AND id = $2`
	sqlDueEvents = `SELECT account_id, id, noun, object, tries, received_at FROM provider_event WHERE due_at <> 0
		AND due_at <= $1 ORDER BY due_at, account_id, id LIMIT $2`
	sqlDueEventsOf = `SELECT account_id, id, noun, object, tries, received_at FROM provider_event WHERE account_id = $1
		AND due_at <> 0 AND due_at <= $2 ORDER BY due_at, account_id, id LIMIT $3`
	sqlClaimEvent = `UPDATE provider_event SET due_at = $3, tries = tries + 1 WHERE account_id = $1 AND id = $2
		AND tries = $4 AND due_at <> 0`
	sqlEndEvents   = `UPDATE provider_event SET due_at = 0, error = $3 WHERE account_id = $1 AND id = ANY($2)`
	sqlDelayEvents = `UPDATE provider_event SET due_at = $3, error = $4 WHERE account_id = $1 AND id = ANY($2)
		AND due_at <> 0`

	sqlDueDonations = `SELECT account_id, id FROM donation WHERE due_at <> 0 AND due_at <= $1
		ORDER BY due_at, account_id, id LIMIT $2`
	sqlDueDonationsOf = `SELECT account_id, id FROM donation WHERE account_id = $1 AND due_at <> 0 AND due_at <= $2
		ORDER BY due_at, account_id, id LIMIT $3`
	sqlClaimDonation = `UPDATE donation SET due_at = $3 WHERE account_id = $1 AND id = $2 AND due_at <> 0
		AND due_at <= $4`
	sqlClaimLook = `UPDATE donation SET looked_at = $3 WHERE account_id = $1 AND id = $2 AND looked_at <= $4`

	sqlDueConnections = `SELECT account_id FROM connection WHERE due_at <> 0 AND due_at <= $1
		ORDER BY due_at, account_id LIMIT 100`
	sqlDueConnectionsOf = `SELECT account_id FROM connection WHERE account_id = $1 AND due_at <> 0 AND due_at <= $2
		ORDER BY due_at, account_id LIMIT 100`
	sqlClaimConnection = `UPDATE connection SET due_at = $2 WHERE account_id = $1 AND due_at = $3`
	sqlCompared        = `UPDATE connection SET since = $2 WHERE account_id = $1 AND since < $2`
)

// TakeEvent keeps an event of a provider that is genuine, and wakes the worker. It tells whether the event is a card
// that was declined. An error that errors.Is donate.ErrForged is one of the sender; crm.ErrNotFound is that there is no
// such connection.
func (s *DonationStore) TakeEvent(ctx context.Context, provider string, account access.Account,
	header func(name string) string, body []byte,
) (declined bool, err error) {
	p, c, err := s.provider(ctx, account)
	if err != nil {
		return false, err
	}
	if c.Provider != provider {
		return false, crm.ErrNotFound
	}
	hint, err := p.Verify(header, body, s.store.Now())
	if err != nil {
		if s.refused.Add(1); !hint.At.IsZero() {
			s.clockOff.Store(int64(s.store.Now().Sub(hint.At)))
		}
		return false, err
	}
	s.clockOff.Store(0)
	isNew := false
	err = s.store.UpdateAccount(ctx, account.Number, func(t *store.Tx) error {
		known, err := db.List(t.Conn, store.Number, sqlEvent, account.Number, hint.Event)
		if isNew = len(known) == 0; err != nil || !isNew {
			return err
		}
		due := int64(0)
		if hint.Ref.ID != "" {
			due = store.Seconds(s.store.Now())
		}
		keep(t, account.Number, hint.Event, hint.Kind, hint.Ref, s.store.Now(), due)
		return nil
	})
	if err == nil && isNew {
		s.WakeDonations()
	}
	if declined = hint.Declined && isNew; declined {
		s.declines.Add(1)
	}
	return declined, err
}

func keep(t *store.Tx, account int64, id, kind string, ref donate.Ref, now time.Time, due int64) {
	t.Save(store.EventTable, account, id, kind, string(ref.Kind), ref.ID, "", int64(0), store.Seconds(now), due)
}

// WakeDonations lets the worker know that there is an event.
func (s *DonationStore) WakeDonations() {
	select {
	case s.woken <- struct{}{}:
	default: // it is awake
	}
}

// event is one that this node works on.
type event struct {
	account  int64
	id       string
	ref      donate.Ref
	tries    int64
	received time.Time
}

func scanEvent(r db.Row) event {
	return event{r.Int(0), r.Text(1), donate.Ref{Kind: donate.RefKind(r.Text(2)), ID: r.Text(3)}, r.Int(4),
		store.Moment(r.Int(5))}
}

// work is an object to look at, with the events that name it.
type work struct {
	account int64
	ref     donate.Ref
	events  []event
}

// WorkOnDonations looks at what events name, at donations that no event has told of, and once a day at everything that
// the provider has, until the context ends. Any node may.
func (s *DonationStore) WorkOnDonations(ctx context.Context, report func(error)) {
	swept := time.Time{}
	for s.desk != nil && ctx.Err() == nil {
		more, err := s.WorkOnce(ctx, report)
		if now := s.store.Now(); err == nil && now.Sub(swept) > store.SweepLook {
			err, swept = s.SweepDonations(ctx), now
		}
		if err != nil && ctx.Err() == nil {
			report(err)
		}
		if more && err == nil {
			continue
		}
		select {
		case <-ctx.Done():
		case <-s.woken:
		case <-time.After(pause):
		}
	}
}

// WorkOnce does what is due, and reports whether there may be more.
func (s *DonationStore) WorkOnce(ctx context.Context, report func(error)) (more bool, err error) {
	if err := s.compareDue(ctx, report); err != nil {
		return false, err
	}
	now := store.Seconds(s.store.Now())
	due, err := store.ListAll(ctx, s.store, scanEvent, sqlDueEvents, sqlDueEventsOf, now, int64(mostly))
	if err != nil {
		return false, err
	}
	all, err := s.claim(ctx, due)
	if err != nil {
		return false, err
	}
	open, err := store.ListAll(ctx, s.store, func(r db.Row) work {
		return work{account: r.Int(0),
			ref: donate.Ref{ID: r.Text(1)}}
	}, sqlDueDonations, sqlDueDonationsOf, now, int64(mostly))
	if err != nil {
		return false, err
	}
	places := make(chan struct{}, atOnce)
	var working sync.WaitGroup
	do := func(one func() error) {
		places <- struct{}{}
		working.Go(func() {
			defer func() { <-places }()
			if err := guard.Do(one); err != nil && ctx.Err() == nil {
				report(err)
			}
		})
	}
	for _, w := range all {
		do(func() error { return s.lookFor(ctx, w) })
	}
	for _, w := range open {
		do(func() error { return s.lookAgain(ctx, w.account, w.ref.ID) })
	}
	working.Wait()
	return len(due) == mostly || len(open) == mostly, nil
}

// claim gives events to this node for the time of a lease. Those about the same object are one look.
func (s *DonationStore) claim(ctx context.Context, due []event) (all []*work, err error) {
	type object struct {
		account int64
		ref     donate.Ref
	}
	found, until := map[object]*work{}, store.Seconds(s.store.Now().Add(lease))
	byAccount := map[int64][]event{}
	for _, e := range due {
		byAccount[e.account] = append(byAccount[e.account], e)
	}
	for account, events := range byAccount {
		var mine []event
		err := s.store.UpdateShared(ctx, account, func(t *store.Tx) error {
			mine = nil
			for _, e := range events {
				taken, err := t.Exec(sqlClaimEvent, account, e.id, until, e.tries)
				if err != nil {
					return err
				}
				if taken == 1 {
					mine = append(mine, e)
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		for _, e := range mine {
			at := object{account, e.ref}
			if found[at] == nil {
				found[at] = &work{account: account, ref: e.ref}
				all = append(all, found[at])
			}
			found[at].events = append(found[at].events, e)
		}
	}
	return all, nil
}

// lookFor settles what events name, and notes in the same unit of work that this was done.
func (s *DonationStore) lookFor(ctx context.Context, w *work) error {
	account, err := s.store.AccountByNumber(ctx, w.account)
	if err != nil {
		return err
	}
	ids := store.Collect(w.events, func(e event) string { return e.id })
	end := func(why string) func(*store.Tx) error {
		return func(t *store.Tx) error { return t.Run(sqlEndEvents, w.account, ids, why) }
	}
	err = guard.Do(func() error {
		_, err := s.settle(ctx, account, w.ref, end(""))
		return err
	})
	if err == nil {
		return nil
	}
	ctx, now, first := context.WithoutCancel(ctx), s.store.Now(), w.events[0]
	if errors.Is(err, donate.ErrGone) || errors.Is(err, errNotConnected) || now.Sub(first.received) > giveUp {
		return errors.Join(s.store.UpdateShared(ctx, w.account, end(reason(err))), unless(donate.ErrGone, err))
	}
	wait := min(time.Second<<min(first.tries+1, 12), lookEvery)
	return errors.Join(err, s.trouble(ctx, account, err), s.store.UpdateShared(ctx, w.account, func(t *store.Tx) error {
		return t.Run(sqlDelayEvents, w.account, ids, store.Seconds(now.Add(wait)), reason(err))
	}))
}

// reason is an error in a few words, without anything of a person.
func reason(err error) string {
	var refused *donate.Refused
	if errors.As(err, &refused) {
		return string(refused.Reason)
	}
	return "error"
}

// trouble notes that the provider refuses the key.
func (s *DonationStore) trouble(ctx context.Context, account access.Account, err error) error {
	var refused *donate.Refused
	if !errors.As(err, &refused) || refused.Reason != donate.NoKey {
		return nil
	}
	return s.noteTrouble(ctx, account, cmp.Or(refused.Text, "The key was revoked."))
}

// claimOne gives one row to this node, by an update that another node's would make vain.
func (s *DonationStore) claimOne(ctx context.Context, account int64, sql string, args ...any) (mine bool, err error) {
	err = s.store.UpdateShared(ctx, account, func(t *store.Tx) error {
		taken, err := t.Exec(sql, args...)
		mine = taken == 1
		return err
	})
	return mine && err == nil, err
}

// lookAgain looks at a donation that no event has told the end of. One whose page was never made is over.
func (s *DonationStore) lookAgain(ctx context.Context, number int64, id string) error {
	now := s.store.Now()
	if mine, err := s.claimOne(ctx, number, sqlClaimDonation, number, id, store.Seconds(now.Add(lookEvery)),
		store.Seconds(now)); !mine {
		return err
	}
	d, err := s.row(ctx, number, id)
	if err != nil || d.IsOver() {
		return err
	}
	ref := donate.Ref{Kind: donate.SessionRef, ID: d.Session}
	if d.Session == "" {
		ref = donate.Ref{Kind: donate.PaymentRef, ID: d.Payment}
	}
	if ref.ID == "" && now.Sub(d.CreatedAt) < lookEvery {
		return nil
	}
	account, err := s.store.AccountByNumber(ctx, number)
	if err == nil && ref.ID != "" {
		_, err = s.settle(ctx, account, ref, nil)
	}
	if ref.ID == "" && err == nil || errors.Is(err, donate.ErrGone) {
		return s.note(ctx, d, func(d *row) { d.State, d.DueAt = d.State.Becomes(donate.Expired), time.Time{} })
	}
	return errors.Join(unless(errNotConnected, err), s.trouble(ctx, account, err))
}

// compareDue compares the payments of providers with the books, once a day for each connection.
func (s *DonationStore) compareDue(ctx context.Context, report func(error)) error {
	now := s.store.Now()
	due, err := store.ListAll(ctx, s.store, store.Number, sqlDueConnections, sqlDueConnectionsOf, store.Seconds(now))
	for _, number := range due {
		if err := guard.Do(func() error { return s.compare(ctx, number, now) }); err != nil && ctx.Err() == nil {
			report(err)
		}
	}
	return err
}

// compare has everything looked at that happened at a provider since it was compared the last time, by this node alone.
func (s *DonationStore) compare(ctx context.Context, number int64, now time.Time) error {
	account, err := s.store.AccountByNumber(ctx, number)
	if err != nil {
		return err
	}
	p, c, err := s.provider(ctx, account)
	if c == nil {
		return err
	}
	mine, claimed := s.claimOne(ctx, number, sqlClaimConnection, number, store.Seconds(now.Add(compare)),
		store.Seconds(c.dueAt))
	if !mine || err != nil {
		return errors.Join(err, claimed)
	}
	var some []donate.Ref
	write := func() error {
		refs := some
		some = nil
		return s.store.UpdateAccount(ctx, number, func(t *store.Tx) error {
			for _, ref := range refs {
				keep(t, number, "since "+string(ref.Kind)+" "+ref.ID, "since", ref, now, store.Seconds(now))
			}
			return nil
		})
	}
	err = p.Since(ctx, c.since.Add(-overlap), func(ref donate.Ref) error {
		if some = append(some, ref); len(some) < mostly {
			return nil
		}
		return write()
	})
	if err == nil {
		err = write()
	}
	if err == nil {
		err = s.store.UpdateShared(ctx, number, func(t *store.Tx) error {
			return t.Run(sqlCompared, number,
				store.Seconds(now))
		})
	}
	s.WakeDonations()
	return errors.Join(err, s.trouble(ctx, account, err))
}

const (
	sqlLookAtAll = `UPDATE connection SET due_at = $2 WHERE account_id = $1`
	sqlOpenNow   = `UPDATE donation SET due_at = $2 WHERE account_id = $1 AND due_at > $2`
)

// Reconcile has everything of an account looked at now, and waits for it.
func (s *DonationStore) Reconcile(ctx context.Context, account access.Account, report func(error)) error {
	if _, err := s.stored(ctx, account.Number); err != nil {
		return err
	}
	now := store.Seconds(s.store.Now())
	err := s.store.UpdateShared(ctx, account.Number, func(t *store.Tx) error {
		return errors.Join(t.Run(sqlLookAtAll, account.Number, now), t.Run(sqlOpenNow, account.Number, now))
	})
	for more := true; more && err == nil; {
		more, err = s.WorkOnce(ctx, report)
		if waiting, failed := store.List(ctx, s.store, scanEvent, sqlDueEventsOf, account.Number,
			store.Seconds(s.store.Now()), int64(1)); failed == nil && len(waiting) > 0 {
			more = true
		}
	}
	return err
}
