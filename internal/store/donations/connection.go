package donations

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/donate"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

// Connection is the payment provider of an organization, as a person sees it.
type Connection struct {
	Provider  string // stripe, or pretend
	Live      bool   // takes real money
	Hint      string // the end of the key
	Host      string // of the provider's page, where the organization has a domain of its own for it
	Fault     string // what is wrong, in words; "" while it works
	CreatedAt time.Time
}

// stored is a connection with what only the server knows.
type stored struct {
	Connection
	secret []byte
	since  time.Time
	dueAt  time.Time
}

const sqlConnection = `SELECT provider, live, hint, host, secret, fault, since, due_at, created_at FROM connection
	WHERE account_id = $1`

func scanConnection(r db.Row) *stored {
	return &stored{Connection{Provider: r.Text(0), Live: r.Int(1) != 0, Hint: r.Text(2), Host: r.Text(3),
		Fault: r.Text(5), CreatedAt: store.Moment(r.Int(8))},
		slices.Clone(r.Bytes(4)), store.Moment(r.Int(6)), store.Moment(r.Int(7))}
}

func (c *stored) save(t *store.Tx, account int64) {
	live := int64(0)
	if c.Live {
		live = 1
	}
	t.Save(store.ConnectionTable, account, c.Provider, live, c.Hint, c.Host, c.secret, c.Fault, store.Seconds(c.since),
		store.Seconds(c.dueAt), store.Seconds(c.CreatedAt))
}

// errNotConnected is that an organization has no payment provider.
var errNotConnected = fmt.Errorf("the connection to a payment provider: %w", crm.ErrNotFound)

func (s *DonationStore) stored(ctx context.Context, account int64) (*stored, error) {
	return store.Find(ctx, s.store, errNotConnected, scanConnection, sqlConnection, account)
}

// Connection is the payment provider of an organization; crm.ErrNotFound where it has none.
func (s *DonationStore) Connection(ctx context.Context, account int64) (Connection, error) {
	c, err := s.stored(ctx, account)
	if err != nil {
		return Connection{}, err
	}
	return c.Connection, nil
}

// provider opens the connection of an organization.
func (s *DonationStore) provider(ctx context.Context, account access.Account) (donate.Provider, *stored, error) {
	c, err := s.stored(ctx, account.Number)
	if err != nil {
		return nil, nil, err
	}
	if s.desk == nil {
		return nil, nil, errNotConnected
	}
	secret, err := s.keys.open(account.Number, c.secret)
	if err != nil {
		return nil, nil, err
	}
	p, err := s.desk.Open(donate.Connection{Provider: c.Provider, Live: c.Live, Account: account.ID, Key: secret.Key,
		Hooks: secret.Hooks, Host: c.Host})
	return p, c, err
}

// ask has a provider do something within the time that people wait for, and notes where it refuses the key.
func (s *DonationStore) ask(ctx context.Context, account access.Account,
	do func(context.Context, donate.Provider) error,
) error {
	p, _, err := s.provider(ctx, account)
	if err == nil {
		asking, cancel := context.WithTimeout(ctx, startTime)
		defer cancel()
		if err = do(asking, p); err != nil && asking.Err() != nil {
			err = errors.Join(donate.ErrTemporary, err)
		}
	}
	return errors.Join(err, s.trouble(ctx, account, err))
}

// refusal is an error of a provider as a fault of who asked, in the words of the provider; one that may pass stays as
// it is.
func refusal(err error, rule doc.Rule) error {
	var refused *donate.Refused
	if errors.As(err, &refused) && refused.Reason != donate.Temporary {
		return doc.NewInvalid("", rule, refused.Text)
	}
	return err
}

// unless is an error, nil where it is of a kind.
func unless(kind, err error) error {
	if errors.Is(err, kind) {
		return nil
	}
	return err
}

// Connecting is what an owner says about a payment provider.
type Connecting struct {
	Provider string // stripe, or pretend
	Key      string
	Hook     string // the secret that signs events; "" has the provider asked for one
	Host     string // see Connection
}

const hookStart = "whsec_"

// Connect tries the key of an organization, and keeps it. base is the address of this server, where the provider sends
// its events. A key that replaces one of the same mode keeps the earlier secret of events beside its own, so that no
// event is refused meanwhile. A fault of the field key says what to mend.
func (s *DonationStore) Connect(ctx context.Context, account access.Account, in Connecting,
	base string,
) (Connection, error) {
	in.Key, in.Hook, in.Host = strings.TrimSpace(in.Key), strings.TrimSpace(in.Hook),
		strings.ToLower(strings.TrimSpace(in.Host))
	if s.desk == nil {
		return Connection{}, errNotConnected
	}
	if in.Hook != "" && !strings.HasPrefix(in.Hook, hookStart) {
		return Connection{}, doc.NewInvalid("hook", "must begin with whsec_")
	}
	to := donate.Connection{Provider: in.Provider, Live: strings.Contains(in.Key, "_live_"), Account: account.ID,
		Key: in.Key, Host: in.Host}
	p, err := s.desk.Open(to)
	if err == nil {
		err = s.check(ctx, account, p)
	}
	if err == nil && in.Hook == "" {
		in.Hook, err = p.Register(ctx, strings.TrimRight(base, "/")+"/hooks/"+in.Provider+"/"+account.ID)
	}
	if err != nil {
		return Connection{}, keyFault(err)
	}
	made := &stored{Connection: Connection{Provider: in.Provider, Live: to.Live, Hint: hint(in.Key), Host: in.Host}}
	return made.Connection, s.store.UpdateOnce(ctx, account.Number, func(t *store.Tx) error {
		now := s.store.Now()
		old, err := db.List(t.Conn, scanConnection, sqlConnection, account.Number)
		if err != nil {
			return err
		}
		hooks := []string{in.Hook}
		made.since, made.dueAt, made.CreatedAt = now, now.Add(lookEvery), now
		if len(old) > 0 && old[0].Provider == made.Provider && old[0].Live == made.Live {
			made.since, made.CreatedAt = old[0].since, old[0].CreatedAt
			if was, err := s.keys.open(account.Number, old[0].secret); err == nil && len(was.Hooks) > 0 &&
				was.Hooks[0] != in.Hook {
				hooks = append(hooks, was.Hooks[0])
			}
		}
		if made.secret, err = s.keys.seal(account.Number, secrets{in.Key, hooks}); err != nil {
			return err
		}
		made.save(t, account.Number)
		record(t.Account(account.Number), "payment_provider", shown(old), shown([]*stored{made}))
		return nil
	})
}

func shown(c []*stored) string {
	if len(c) == 0 {
		return ""
	}
	mode := "test"
	if c[0].Live {
		mode = "live"
	}
	return c[0].Provider + " " + mode + " " + c[0].Hint
}

// keyFault is what an owner must mend about a key, as a fault of its field.
func keyFault(err error) error {
	var refused *donate.Refused
	if errors.As(err, &refused) && refused.Text != "" && refused.Reason != donate.Temporary {
		return doc.NewInvalid("key", doc.Rule(refused.Text))
	}
	return err
}

// check tries what the key of an organization must be allowed to do.
func (s *DonationStore) check(ctx context.Context, account access.Account, p donate.Provider) error {
	currency, err := s.store.Currency(ctx, account.Number)
	if err != nil {
		return err
	}
	return p.Check(ctx, currency)
}

// TestConnection tries the key again, and notes what is wrong or that it works again.
func (s *DonationStore) TestConnection(ctx context.Context, account access.Account) (Connection, error) {
	p, c, err := s.provider(ctx, account)
	if c == nil {
		return Connection{}, err
	}
	if err == nil {
		err = s.check(ctx, account, p)
	}
	if errors.Is(err, donate.ErrTemporary) {
		return c.Connection, err
	}
	c.Fault = ""
	var refused *donate.Refused
	if errors.As(err, &refused) {
		c.Fault = refused.Text
	} else if err != nil {
		return c.Connection, err
	}
	return c.Connection, s.noteFault(ctx, account.Number, c.Fault)
}

const sqlNoteFault = `UPDATE connection SET fault = $2 WHERE account_id = $1`

func (s *DonationStore) noteFault(ctx context.Context, account int64, fault string) error {
	return s.store.UpdateAccount(ctx, account, func(t *store.Tx) error { return t.Run(sqlNoteFault, account, fault) })
}

// moneyUnderWay is broken by ending what brings money in while some is under way.
const moneyUnderWay doc.Rule = "Money is on its way: %v donations are not finished at the payment provider. Try again when they are, within an hour for most, and within days for bank debits."

const sqlUnderWay = `SELECT COUNT(*) FROM donation WHERE account_id = $1 AND state IN ('open', 'processing')
	AND provider <> '' AND live = 1`

// Disconnect forgets the key of an organization. Money that is on its way needs it.
func (s *DonationStore) Disconnect(ctx context.Context, account int64) error {
	return s.store.UpdateOnce(ctx, account, func(t *store.Tx) error {
		if n, err := t.Int(sqlUnderWay, account); err != nil || n > 0 {
			return cmp.Or(err, doc.NewInvalid("", moneyUnderWay, n))
		}
		old, err := db.List(t.Conn, scanConnection, sqlConnection, account)
		if err != nil || len(old) == 0 {
			return err
		}
		t.Delete(store.ConnectionTable, account)
		record(t.Account(account), "payment_provider", shown(old), "")
		return nil
	})
}
