package donations

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/donate"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/mail"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

const (
	manageTime  = 15 * time.Minute // for which a link works
	manageAgain = time.Minute      // between two links for one gift
	mostLinks   = 10               // for one gift that work at the same time
)

var errNoLink = fmt.Errorf("the link: %w", crm.ErrNotFound)

// AskByLink has a fresh link sent to the giver of a monthly gift that an old link is for. Nobody learns whether there
// is such a gift.
func (s *DonationStore) AskByLink(ctx context.Context, link string) error {
	id, donation, _, ok := donate.ParseManageLink(link)
	if !ok || !access.IsAccountID(id) {
		return nil
	}
	account, err := s.store.Account(ctx, id)
	if err == nil {
		err = s.AskToManage(ctx, account.Number, donation)
	}
	return unless(crm.ErrNotFound, err)
}

// AskToManage queues a mail with a fresh link to the giver of a monthly gift, valid for 15 minutes and for one change,
// to the address on file.
func (s *DonationStore) AskToManage(ctx context.Context, account int64, id string) error {
	_, err := s.changeRow(ctx, account, id, store.Needs{}, func(u store.Unit, d *row) error {
		now := s.store.Now()
		if d.GiftPlan == "" || d.ManageUntil.After(now.Add(manageTime-manageAgain)) {
			return nil
		}
		d.ManageUntil = now.Add(manageTime) // of the link, which is made when the mail is sent: it is kept nowhere else
		p, err := s.planIn(u.Conn, account, d)
		if err != nil || p.Status == giving.Ended {
			return err
		}
		to := d.Wish.Email
		found, err := store.LoadContacts(u.Conn, account, []int64{p.Contact})
		if err == nil && len(found) > 0 && len(found[0].Emails) > 0 {
			to = found[0].Emails[0].Value
		}
		if err != nil {
			return err
		}
		public, err := s.idOf(u.Conn, account)
		if err != nil {
			return err
		}
		return s.store.Queue(u.Tx, account, mail.Manage, donate.ManageLink(public, id, ""), to, nil)
	})
	return err
}

// planIn is the plan of a donation.
func (s *DonationStore) planIn(c db.Conn, account int64, d *row) (giving.Plan, error) {
	p, err := s.store.PlanIn(c, account, d.GiftPlan)
	if err == nil && p == nil {
		err = errNoLink
	}
	if err != nil {
		return giving.Plan{}, err
	}
	return *p, nil
}

// writeManage makes the link of a mail, nil where there is no such gift any more.
func (s *DonationStore) writeManage(ctx context.Context, _ int64, m mail.Mail, _ mail.Message) (*mail.Message, error) {
	id, donation, _, _ := donate.ParseManageLink(m.About)
	account, err := s.store.Account(ctx, id)
	if err != nil {
		return nil, unless(crm.ErrNotFound, err)
	}
	token, hash := access.NewToken()
	_, err = s.changeRow(ctx, account.Number, donation, store.Needs{}, func(_ store.Unit, d *row) error {
		d.addLink(hash, s.store.Now())
		return nil
	})
	if err != nil {
		return nil, unless(crm.ErrNotFound, err)
	}
	return &mail.Message{
		Subject: mail.Say("Your monthly gift to {}", account.Name),
		Says: []mail.Line{mail.Say("With this link you can see, change or stop your monthly gift to {}.",
			account.Name)},
		Action: mail.Say("See my monthly gift"), Path: donate.ManagePath + donate.ManageLink(account.ID, donation,
			token),
		After: []mail.Line{mail.Say("The link works for 15 minutes and for one change. If you didn’t ask for it, you can ignore this mail.")},
	}, nil
}

// addLink lets a further link open the monthly gift. Those that were mailed before work until they expire: a giver who
// has asked twice opens either mail.
func (d *row) addLink(hash string, now time.Time) {
	links := slices.DeleteFunc(strings.Fields(d.Manage), func(l string) bool { return !expiry(l).After(now) })
	links = append(links, hash+"@"+strconv.FormatInt(now.Add(manageTime).Unix(), 10))
	d.Manage = strings.Join(links[max(0, len(links)-mostLinks):], " ")
}

// opens tells whether a link with this hash opens the monthly gift.
func (d *row) opens(hash string, now time.Time) bool {
	return slices.ContainsFunc(strings.Fields(d.Manage),
		func(l string) bool { return strings.HasPrefix(l, hash+"@") && expiry(l).After(now) })
}

// expiry is when a link ends: it is kept as hash@seconds.
func expiry(link string) time.Time {
	_, until, _ := strings.Cut(link, "@")
	seconds, _ := strconv.ParseInt(until, 10, 64)
	return time.Unix(seconds, 0)
}

// Managed is what a giver sees of a monthly gift.
type Managed struct {
	Account  access.Account
	Donation donate.Donation
	Plan     giving.Plan
	Offer    donate.Offer // for the limits of another amount
	OnlyEnds bool         // the link came with a thank-you: it lasts, and ends the gift

	key string // of what is asked of the provider by this link
}

// managed finds what a link is for, as long as it works.
func (s *DonationStore) managed(ctx context.Context, link string) (m Managed, d *row, err error) {
	id, donation, secret, ok := donate.ParseManageLink(link)
	if !ok || secret == "" || !access.IsAccountID(id) {
		return m, nil, errNoLink
	}
	if m.Account, err = s.store.Account(ctx, id); err != nil {
		return m, nil, errors.Join(errNoLink, err)
	}
	if d, err = s.row(ctx, m.Account.Number, donation); err != nil {
		return m, nil, err
	}
	hash := access.HashToken(secret)
	m.OnlyEnds = d.GiftPlan != "" && d.Proves(donate.EndLink, secret)
	if !m.OnlyEnds && !d.opens(hash, s.store.Now()) {
		return m, nil, errNoLink
	}
	m.key = hash[:16]
	return m, d, s.describe(ctx, &m, d)
}

// describe fills in what a giver sees of a monthly gift.
func (s *DonationStore) describe(ctx context.Context, m *Managed, d *row) error {
	return s.store.View(ctx, func(c db.Conn) (err error) {
		if m.Plan, err = s.planIn(c, d.Account, d); err != nil {
			return err
		}
		settings, err := store.AccountSettings(c, d.Account)
		m.Donation = d.Donation
		m.Offer = parseSettings(settings.Donations).Offer(settings.Currency, d.Currency,
			&donate.Connection{Provider: d.Provider, Live: d.Live})
		return err
	})
}

// ManagedPlan is the monthly gift that a link is for; crm.ErrNotFound where the link was used or has expired. It is as
// the provider has it now, which finishes a change of the card when the giver comes back from the provider's page. The
// link of a thank-you lasts, so that the provider is asked once in LookPause at most, and not about what has ended.
func (s *DonationStore) ManagedPlan(ctx context.Context, link string) (Managed, error) {
	m, d, err := s.managed(ctx, link)
	if err != nil {
		return m, err
	}
	now := s.store.Now()
	latest := now.Add(-LookPause)
	if m.Plan.Status == giving.Ended || d.LookedAt.After(latest) {
		return m, nil
	}
	mine, err := s.claimOne(ctx, d.Account, sqlClaimLook, d.Account, d.ID, store.Seconds(now), store.Seconds(latest))
	if !mine {
		return m, err
	}
	looking, cancel := context.WithTimeout(ctx, thanksTime)
	defer cancel()
	ref := donate.Ref{Kind: donate.PlanRef, ID: d.Plan}
	if d.CardSession != "" {
		ref = donate.Ref{Kind: donate.SessionRef, ID: d.CardSession}
	}
	if _, err := s.settleSince(looking, m.Account, ref, d.Version, nil); err != nil {
		return m, nil // as it is known
	}
	return m, s.describe(ctx, &m, d)
}

// noPlanChange is broken by a change that the state of a plan has no use for.
const noPlanChange doc.Rule = "Your monthly gift has changed meanwhile. Load the page again to see how it is."

// allowed are the states of a plan in which a change makes sense.
var allowed = map[donate.ChangeKind][]giving.PlanStatus{
	donate.CancelPlan: {giving.ActivePlan, giving.Paused, giving.PastDue},
	donate.PausePlan:  {giving.ActivePlan, giving.PastDue}, donate.ResumePlan: {giving.Paused},
	donate.NewAmount: {giving.ActivePlan, giving.Paused, giving.PastDue},
}

// ChangePlan makes one change, by donate.CancelPlan, PausePlan, ResumePlan or NewAmount (the gift, without the covered
// fee), and uses the link up, and those that were mailed beside it.
func (s *DonationStore) ChangePlan(ctx context.Context, link string, kind donate.ChangeKind,
	amount int64,
) (Managed, error) {
	m, d, err := s.managed(ctx, link)
	if err != nil {
		return m, err
	}
	if m.OnlyEnds && kind != donate.CancelPlan {
		return m, errNoLink
	}
	change := donate.Change{Kind: kind, Key: "plan " + d.ID + " " + string(kind) + " " + m.key}
	if !slices.Contains(allowed[kind], m.Plan.Status) {
		return m, doc.NewInvalid("", noPlanChange)
	}
	if kind == donate.NewAmount {
		w := d.Wish
		w.Amount = amount
		if !m.Offer.Limits.Has(amount) || donate.Chargeable(amount, d.Currency) != amount {
			return m, m.Offer.OutOfLimits()
		}
		change.Amount, change.Covered = m.Offer.Price(&w)
	}
	if err := s.ask(ctx, m.Account, func(ctx context.Context, p donate.Provider) error {
		return p.Plan(ctx, d.Plan,
			change)
	}); err != nil {
		return m, err
	}
	ctx = context.WithoutCancel(ctx)
	if err := s.note(ctx, d, func(d *row) { d.Manage, d.ManageUntil = "", time.Time{} }); err != nil {
		return m, err
	}
	if _, err = s.settle(ctx, m.Account, donate.Ref{Kind: donate.PlanRef, ID: d.Plan}, nil); unless(donate.ErrTemporary,
		err) != nil { // an event will tell
		return m, err
	}
	return m, s.describe(ctx, &m, d)
}

// NewCard is the provider's page for another card. back is the address of the page with the link.
func (s *DonationStore) NewCard(ctx context.Context, link, back string) (donate.Handover, error) {
	m, d, err := s.managed(ctx, link)
	if err == nil && m.OnlyEnds {
		err = errNoLink
	}
	if err != nil {
		return donate.Handover{}, err
	}
	h := donate.Handover{}
	err = s.ask(ctx, m.Account, func(ctx context.Context, p donate.Provider) (err error) {
		h, err = p.NewCard(ctx, d.Plan, back, "card "+d.ID+" "+m.key)
		return err
	})
	if err != nil {
		return h, err
	}
	return h, s.note(context.WithoutCancel(ctx), d, func(d *row) { d.CardSession = h.Session.ID })
}
