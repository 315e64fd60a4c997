package donations

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/donate"
	"donorbook/internal/crm/text"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

// Pages are what is known of the pages of a giver: the addresses to come back to, and whether the form came with a
// proof, such as a solved puzzle.
type Pages struct {
	Success, Cancel func(d *donate.Donation) string
	Proven          bool
}

const (
	startTime   = 10 * time.Second // that the provider has to make its page
	firstLook   = 10 * time.Minute // after which a donation is looked at that no event has told of
	lookEvery   = time.Hour
	closed      = doc.Rule("This campaign takes no gifts here at the moment.")
	cannotStart = doc.Rule("The payment could not be started, and nothing was charged. %v")
)

// openLimit bounds what strangers can begin at once without a proof.
var openLimit = doc.Limit{Max: 10_000, Reached: "Too many people are giving at once. Try again in a few minutes."}

const (
	sqlBegun = `SELECT COUNT(*) FROM (SELECT 1 FROM donation WHERE account_id = $1 AND state IN ('started', 'open')
		AND provider <> '' LIMIT 10001) AS begun`

	sqlStarts = `SELECT (SELECT COUNT(*) FROM (SELECT 1 FROM donation WHERE account_id = $1 AND campaign_id = $2
		AND created_at > $3 LIMIT 5000) AS page),
		(SELECT COUNT(*) FROM (SELECT 1 FROM donation WHERE account_id = $1 AND created_at > $3 LIMIT 5000) AS everywhere)`
	sqlPaidLately = `SELECT COUNT(*) FROM (SELECT 1 FROM donation WHERE account_id = $1 AND state = 'paid'
		AND created_at > $2 LIMIT 50000) AS paid`
)

// checkCrowd refuses to begin more in a minute than people do, as when someone tries cards from many addresses, for
// those who came without a proof. All nodes count the same rows, one after the other.
func checkCrowd(t *store.Tx, account, campaign int64, now time.Time) error {
	var page, all int64
	_, err := t.Conn.One(func(r db.Row) { page, all = r.Int(0), r.Int(1) }, sqlStarts, account, campaign,
		store.Seconds(now.Add(-time.Minute)))
	if err != nil || !donate.IsCrowd(page, all, 0) {
		return err
	}
	paid, err := t.Int(sqlPaidLately, account, store.Seconds(now.Add(-7*24*time.Hour)))
	if err == nil && donate.IsCrowd(page, all, paid) {
		err = donate.ErrCrowd
	}
	return err
}

// Give begins a donation by a form, and has the provider make the page on which the giver pays. The same form may be
// sent again: it is the same donation, and the same page. One that was changed since is another one, so that the
// donation may have another id than the form. The address of a promised gift is "": nothing is to be done at a
// provider. Where the provider does not answer (donate.ErrTemporary), nothing was charged, and the same form may be
// sent again. donate.ErrCrowd is that so many begin that a proof is needed, such as a solved puzzle.
func (s *DonationStore) Give(ctx context.Context, account access.Account, c *campaign.Campaign, id string,
	w donate.Wish, to Pages,
) (d donate.Donation, h donate.Handover, err error) {
	made, err := s.begin(ctx, account, c, id, w, to.Proven)
	if err != nil || made.Provider == "" || made.IsOver() || made.State == donate.Processing {
		if made != nil {
			d = made.Donation
		}
		return d, h, err
	}
	order := made.order(account)
	order.For = "Donation to " + c.Title
	order.Success, order.Cancel = to.Success(&made.Donation), to.Cancel(&made.Donation)
	err = s.ask(ctx, account, func(ctx context.Context, p donate.Provider) (err error) {
		h,
			err = p.Start(ctx, &order)
		return err
	})
	var refused *donate.Refused
	switch errors.As(err, &refused); {
	case err == nil:
		err = s.note(ctx, made, func(d *row) { d.State, d.Session = d.State.Becomes(donate.Open), h.Session.ID })
	case errors.Is(err, donate.ErrDefinite):
		err = errors.Join(doc.NewInvalid("", cannotStart, refused.Text),
			s.note(ctx, made, func(d *row) {
				d.State, d.Fault, d.DueAt = d.State.Becomes(donate.Failed), refused.Text,
					time.Time{}
			}))
	}
	return made.Donation, h, err
}

// begin writes the donation, before the provider is asked for the first time.
func (s *DonationStore) begin(ctx context.Context, account access.Account, c *campaign.Campaign, id string,
	w donate.Wish, proven bool,
) (made *row, err error) {
	if !donate.IsID(id) {
		id = donate.NewID()
	}
	number := int64(account.Number)
	err = store.Repeat(func() error {
		return s.store.UpdateAccount(ctx, number, func(t *store.Tx) error {
			o, err := s.offer(t.Conn, number, c)
			if err != nil {
				return err
			}
			if len(o.Ways) == 0 {
				return doc.NewInvalid("", closed)
			}
			now := s.store.Now()
			if err := o.CheckWish(&w, s.region, now); err != nil {
				return err
			}
			same, err := find(t.Conn, number, [2]string{sqlDonation, id})
			switch {
			case err != nil:
				return err
			case same != nil && same.Campaign == c.ID && reflect.DeepEqual(same.Wish, w) && !same.State.IsNone():
				made = same
				return nil
			case same != nil:
				id = donate.NewID()
			}
			if !proven {
				if err := t.CheckLimit(openLimit, 1, sqlBegun, number); err != nil {
					return errors.Join(donate.ErrCrowd, err)
				}
				if err := checkCrowd(t, number, c.ID, now); err != nil {
					return err
				}
			}
			made = &row{Donation: donate.Donation{ID: id, Account: number, Campaign: c.ID, State: donate.Started,
				Wish: w, Currency: o.Currency, Attempt: text.Random62(32), CreatedAt: now, UpdatedAt: now}}
			made.Charged, made.Covered = o.Price(&w)
			if w.Way != donate.Online {
				return s.promise(t, made)
			}
			made.Provider, made.Live, made.DueAt = o.Provider, o.Live, now.Add(firstLook)
			return s.insert(t, made)
		})
	})
	return made, err
}

// insert gives a donation its number, and writes it. Numbers of references are not guessed from each other, and none is
// used twice while someone may still write it on a transfer.
func (s *DonationStore) insert(t *store.Tx, d *row) error {
	for range 20 {
		d.Number = 100_000 + rand.Int64N(99_900_000) //nolint:gosec // no secret
		taken, err := db.List(t.Conn, scanDonation, sqlByNumber, d.Account, d.Number)
		if err != nil {
			return err
		}
		if len(taken) == 0 {
			return d.save(t)
		}
	}
	return crm.ErrTaken
}

// order is what a donation asks of the provider.
func (d *row) order(account access.Account) donate.Order {
	return donate.Order{Donation: d.ID, At: d.CreatedAt, Account: account.ID, Key: d.Attempt, Amount: d.Charged,
		Covered: d.Covered, Currency: d.Currency, Frequency: d.Wish.Frequency,
		Email: d.Wish.Email, Name: d.Wish.Name(), Live: d.Live}
}

// note changes a donation by what became of it.
func (s *DonationStore) note(ctx context.Context, d *row, change func(*row)) error {
	return s.store.UpdateAccount(context.WithoutCancel(ctx), d.Account, func(t *store.Tx) error {
		now, err := find(t.Conn, d.Account, [2]string{sqlDonation, d.ID})
		if err != nil || now == nil {
			return cmp.Or(err, errNoDonation)
		}
		change(now)
		now.UpdatedAt = s.store.Now()
		*d = *now
		return now.save(t)
	})
}
