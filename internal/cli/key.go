package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"donorbook/internal/config"
	"donorbook/internal/crm/access"
	"donorbook/internal/store/book"
)

type keyCreate struct {
	Account    string   `help:"Id of the account." required:"" placeholder:"ID"`
	Name       string   `help:"What the key is for." required:"" placeholder:"NAME"`
	Permission []string `help:"contacts:read, contacts:write, campaigns:read, campaigns:write, transactions:read or transactions:write; may be repeated. Default: all of them." placeholder:"P" sep:"none"`
	Expires    *string  `help:"When it expires: at the end of a day (2027-12-31, UTC), at a time (2027-12-31T18:00:00Z) or after a while (90d, 12h). Default: never." placeholder:"WHEN"`
}

func (keyCreate) Help() string {
	return `The key goes into the header "Authorization: Bearer KEY" of every request.

	donorbook key create --account ID --name Website
	donorbook key create --account ID --name Report --permission contacts:read --permission campaigns:read --expires 90d`
}

func (c *keyCreate) Run(t *terminal) error {
	in, err := c.input(time.Now())
	if err != nil {
		return err
	}
	return t.withAccount(c.Account, func(s *book.Book, account access.Account) error {
		key, secret, err := s.CreateKey(t.ctx, account.Number, in)
		if err != nil {
			return err
		}
		if _, err = fmt.Fprintln(t.stdout, secret); err != nil {
			return fmt.Errorf("key %d was created but could not be printed; revoke it and create another: %w", key.ID, err)
		}
		fmt.Fprintf(t.stderr, "Key %d for %s. Keep it safe: it is shown only once.\n", key.ID, oneLine(account.Name))
		return nil
	})
}

// input refuses empty values: a script with an unset variable must not get more permissions than it meant.
func (c *keyCreate) input(now time.Time) (in access.KeyInput, err error) {
	var names []string
	for _, list := range c.Permission {
		names = append(names, strings.Split(list, ",")...)
	}
	in.Name = c.Name
	if in.Permissions, err = access.ParsePermissions(names); err != nil || c.Expires == nil {
		return in, err
	}
	if *c.Expires == "" {
		return in, &config.Problem{Flag: "expires", Reason: "is empty; leave it out for a key that never expires"}
	}
	in.ExpiresAt, err = access.ParseExpiry(*c.Expires, now)
	return in, err
}

type keyList struct {
	Account string `help:"Id of the account." required:"" placeholder:"ID"`
	JSON    bool   `help:"Print a JSON array of objects with id, name, hint, state, permissions, created_at, last_used_at, expires_at and revoked_at." name:"json"`
}

// keyLine is a key as scripts see it, without its secret.
type keyLine struct {
	ID          int64    `json:"id" heading:"ID"`
	Name        string   `json:"name" heading:"NAME"`
	Hint        string   `json:"hint" heading:"KEY"`
	State       string   `json:"state" heading:"STATE"`
	Permissions []string `json:"permissions" heading:"PERMISSIONS"`
	CreatedAt   string   `json:"created_at" heading:"CREATED"`
	LastUsedAt  *string  `json:"last_used_at" heading:"LAST USED"`
	ExpiresAt   *string  `json:"expires_at" heading:"EXPIRES"`
	RevokedAt   *string  `json:"revoked_at"`
}

func (c *keyList) Run(t *terminal) error {
	return t.withAccount(c.Account, func(s *book.Book, account access.Account) error {
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
		return printRows(t, c.JSON, lines, "")
	})
}

type keyRevoke struct {
	ID string `arg:"" name:"key-id" help:"Id of the key; key list shows it."`
}

func (keyRevoke) Help() string {
	return `Servers need no restart. A revoked key stays in the list and cannot be restored.

	donorbook key revoke 3`
}

func (c *keyRevoke) Run(t *terminal) error {
	id, err := strconv.ParseInt(c.ID, 10, 64)
	if err != nil { // it may be the secret itself, so it is not repeated
		return usageError{errors.New("the id of a key is a number; key list shows it")}
	}
	return t.withStore(func(s *book.Book) error {
		if err := s.RevokeKey(t.ctx, id); err != nil {
			return err
		}
		fmt.Fprintf(t.stderr, "Key %d is revoked.\n", id)
		return nil
	})
}
