package cli

import (
	"fmt"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/store"
)

type keyCreate struct {
	Account    string   `help:"Id of the account." required:"" placeholder:"ID"`
	Name       string   `help:"What the key is for." required:"" placeholder:"NAME"`
	Permission []string `help:"contacts:read, contacts:write or campaigns:read; may be repeated. Left out: all." placeholder:"P"`
	Expires    string   `help:"When it ends: a date (2027-12-31), a time (2027-12-31T18:00:00Z) or a time from now (90d, 12h). Left out: never." placeholder:"WHEN"`
}

func (c *keyCreate) Run(t *terminal) error {
	permissions, err := crm.ParsePermissions(c.Permission)
	if err != nil {
		return err
	}
	expires, err := crm.ParseExpiry(c.Expires, time.Now())
	if err != nil {
		return err
	}
	return t.withStore(func(s *store.Store) error {
		account, err := s.Account(t.ctx, c.Account)
		if err != nil {
			return err
		}
		key, secret, err := s.CreateKey(t.ctx, account.Number, crm.KeyInput{Name: c.Name, Permissions: permissions, ExpiresAt: expires})
		if err != nil {
			return err
		}
		fmt.Fprintf(t.stderr, "Key %d for %s. Keep it safe: it is shown this once only.\n", key.ID, account.Name)
		_, err = fmt.Fprintln(t.stdout, secret)
		return err
	})
}

type keyList struct {
	Account string `help:"Id of the account." required:"" placeholder:"ID"`
	JSON    bool   `help:"Print JSON." name:"json"`
}

// keyLine is a key as scripts see it, never its value.
type keyLine struct {
	ID          int64    `json:"id"`
	Name        string   `json:"name"`
	Hint        string   `json:"hint"`
	Permissions []string `json:"permissions"`
	State       string   `json:"state"`
	CreatedAt   string   `json:"created_at"`
	LastUsedAt  *string  `json:"last_used_at"`
	ExpiresAt   *string  `json:"expires_at"`
	RevokedAt   *string  `json:"revoked_at"`
}

func (c *keyList) Run(t *terminal) error {
	return t.withStore(func(s *store.Store) error {
		account, err := s.Account(t.ctx, c.Account)
		if err != nil {
			return err
		}
		keys, err := s.Keys(t.ctx, account.Number)
		if err != nil {
			return err
		}
		lines := make([]keyLine, 0, len(keys))
		for _, k := range keys {
			lines = append(lines, keyLine{
				ID: k.ID, Name: k.Name, Hint: k.Hint, Permissions: k.Permissions.Names(), State: k.State(time.Now()),
				CreatedAt: stamp(k.CreatedAt), LastUsedAt: optionalStamp(k.LastUsedAt),
				ExpiresAt: optionalStamp(k.ExpiresAt), RevokedAt: optionalStamp(k.RevokedAt),
			})
		}
		if c.JSON {
			return t.printJSON(lines)
		}
		table := t.table("ID", "NAME", "KEY", "STATE", "PERMISSIONS", "CREATED", "LAST USED", "EXPIRES")
		for _, l := range lines {
			table.row(fmt.Sprint(l.ID), l.Name, l.Hint, l.State, strings.Join(l.Permissions, ","), l.CreatedAt, shown(l.LastUsedAt), shown(l.ExpiresAt))
		}
		return table.flush()
	})
}

type keyRevoke struct {
	ID int64 `arg:"" name:"key-id" help:"Id of the key, as key list shows it."`
}

func (c *keyRevoke) Run(t *terminal) error {
	return t.withStore(func(s *store.Store) error {
		if err := s.RevokeKey(t.ctx, c.ID); err != nil {
			return err
		}
		fmt.Fprintf(t.stderr, "Key %d is revoked.\n", c.ID)
		return nil
	})
}
