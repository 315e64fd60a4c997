package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"donorbook/internal/config"
	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/store/book"
	"donorbook/internal/store/people"
)

type userCreate struct {
	Email         string `help:"Email address to sign in with." required:"" placeholder:"EMAIL"`
	Name          string `help:"Name of the person." required:"" placeholder:"NAME"`
	Account       string `help:"ID of the account that the person belongs to." required:"" placeholder:"ID"`
	Role          string `help:"owner, editor or viewer. Default: editor." enum:"owner,editor,viewer" default:"editor" placeholder:"ROLE"`
	PasswordStdin bool   `help:"Read the password from standard input (one line) instead of generating one." name:"password-stdin"`
}

func (userCreate) Help() string {
	return `Prints only the password. An existing user keeps their password and joins one more account.

	donorbook user create --email ada@example.org --name "Ada Lovelace" --account ID --role owner`
}

func (c *userCreate) Run(t *terminal) error {
	role, err := access.ParseRole(c.Role)
	if err != nil {
		return err
	}
	password, err := t.password(c.PasswordStdin)
	if err != nil {
		return err
	}
	return t.withAccount(c.Account, func(s *book.Book, account access.Account) error {
		user, err := s.AddMember(t.ctx, account, role, c.Email)
		if err == nil {
			fmt.Fprintf(t.stderr, "%s is already a user, and now has the role %s at %s. Their password has not changed.\n", oneLine(user.Email), role, oneLine(account.Name))
			return nil
		}
		if !errors.Is(err, crm.ErrNotFound) {
			return err
		}
		user, err = s.CreateUser(t.ctx, account, role, access.UserInput{Name: c.Name, Email: c.Email, Password: password})
		if err != nil {
			return err
		}
		if err := t.printPassword(user.Email, password, c.PasswordStdin); err != nil {
			return err
		}
		fmt.Fprintf(t.stderr, "%s has the role %s at %s.\n", oneLine(user.Email), role, oneLine(account.Name))
		return nil
	})
}

// password is read from standard input, or generated.
func (t *terminal) password(piped bool) (string, error) {
	if !piped {
		return access.RandomPassword(), nil
	}
	const tooMuch = 16 << 10
	text, err := io.ReadAll(io.LimitReader(t.stdin, tooMuch))
	if err != nil {
		return "", fmt.Errorf("the password cannot be read: %w", err)
	}
	line, rest, _ := strings.Cut(string(text), "\n")
	if rest != "" {
		return "", usageError{errors.New("--password-stdin takes one line")}
	}
	return strings.TrimSuffix(line, "\r"), nil
}

// printPassword prints a password that was generated.
func (t *terminal) printPassword(email, password string, given bool) error {
	if given {
		return nil
	}
	if _, err := fmt.Fprintln(t.stdout, password); err != nil {
		return fmt.Errorf("the password was set but could not be printed; try %s: %w", t.command("user reset-password "+quoted(email)), err)
	}
	fmt.Fprintln(t.stderr, "Share the password securely: it is shown only once.")
	return nil
}

type userList struct {
	Account *string `help:"Only users of the account with this ID." placeholder:"ID"`
	JSON    bool    `help:"Print a JSON array of objects with email, name, created_at, last_seen_at and accounts (id, name and role)." name:"json"`
}

// userLine is a user as scripts see them.
type userLine struct {
	Email      string       `json:"email" heading:"EMAIL"`
	Name       string       `json:"name" heading:"NAME"`
	CreatedAt  string       `json:"created_at" heading:"CREATED"`
	LastSeenAt *string      `json:"last_seen_at" heading:"LAST SEEN"`
	Accounts   userAccounts `json:"accounts" heading:"ACCOUNTS"`
}

type userAccounts []userAccount

type userAccount struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Role string `json:"role"`
}

func (list userAccounts) String() string {
	roles := make([]string, 0, len(list))
	for _, a := range list {
		roles = append(roles, a.ID+" "+a.Role)
	}
	return strings.Join(roles, ", ")
}

func (c *userList) Run(t *terminal) error {
	if c.Account == nil {
		return t.withStore(func(s *book.Book) error { return c.print(t, s, "") })
	}
	return t.withAccount(*c.Account, func(s *book.Book, account access.Account) error { return c.print(t, s, account.ID) })
}

func (c *userList) print(t *terminal, s *book.Book, account string) error {
	users, err := s.Users(t.ctx)
	if err != nil {
		return err
	}
	lines := make([]userLine, 0, len(users))
	for _, u := range users {
		line := newUserLine(u)
		if account == "" || slices.ContainsFunc(line.Accounts, func(a userAccount) bool { return a.ID == account }) {
			lines = append(lines, line)
		}
	}
	return printRows(t, c.JSON, lines, "No users yet. Next: "+t.command("user create --email EMAIL --name NAME --account ID --role owner"))
}

func newUserLine(u people.UserRecord) userLine {
	line := userLine{
		Email: u.User.Email, Name: u.User.Name, CreatedAt: stamp(u.User.CreatedAt), LastSeenAt: optionalStamp(u.SeenAt), Accounts: userAccounts{},
	}
	for _, m := range u.Memberships {
		line.Accounts = append(line.Accounts, userAccount{ID: m.Account.ID, Name: m.Account.Name, Role: m.Role.String()})
	}
	return line
}

type userResetPassword struct {
	Email         string `arg:"" name:"email" help:"Email address to sign in with."`
	PasswordStdin bool   `help:"Read the password from standard input (one line) instead of generating one." name:"password-stdin"`
}

func (userResetPassword) Help() string {
	return `Prints only the new password. The person is signed out everywhere.

	donorbook user reset-password ada@example.org`
}

func (c *userResetPassword) Run(t *terminal) error {
	password, err := t.password(c.PasswordStdin)
	if err != nil {
		return err
	}
	return t.withStore(func(s *book.Book) error {
		err := s.ResetPassword(t.ctx, c.Email, password)
		if errors.Is(err, crm.ErrNotFound) {
			return fmt.Errorf("user %q: %w; %s lists all users", c.Email, crm.ErrNotFound, t.command("user list"))
		}
		if err != nil {
			return err
		}
		if err := t.printPassword(c.Email, password, c.PasswordStdin); err != nil {
			return err
		}
		fmt.Fprintf(t.stderr, "%s has a new password and is signed out everywhere.\n", oneLine(c.Email))
		return nil
	})
}

type keyCreate struct {
	Account    string   `help:"Account ID." required:"" placeholder:"ID"`
	Name       string   `help:"What the key is for." required:"" placeholder:"NAME"`
	Permission []string `help:"contacts:read, contacts:write, campaigns:read, campaigns:write, transactions:read, transactions:write, or all; may be repeated. Default: ${default}. Give each program only what it needs." default:"all" placeholder:"P" sep:"none"`
	Expires    *string  `help:"When it expires: at the end of a day (2027-12-31, UTC), at a time (2027-12-31T18:00:00Z) or after a while (90d, 12h). Default: never." placeholder:"WHEN"`
}

func (keyCreate) Help() string {
	return `Send the key with every request, in the header "Authorization: Bearer KEY".

	donorbook key create --account ID --name "Sign-up form" --permission contacts:write
	donorbook key create --account ID --name Report --permission contacts:read --permission campaigns:read --expires 90d
	donorbook key create --account ID --name Website --permission all`
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
		fmt.Fprintf(t.stderr, "Key %d for %s, with %s. Keep it safe: it is shown only once.\n", key.ID, oneLine(account.Name), granted(key.Permissions))
		return nil
	})
}

// granted says what a key can do: without --permission, that is everything.
func granted(p access.Permission) string {
	if p == access.AllPermissions {
		return "all permissions"
	}
	return strings.Join(p.Names(), ", ")
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
		return in, &config.Problem{Flag: "expires", Reason: "is empty; omit it for a key that never expires"}
	}
	in.ExpiresAt, err = access.ParseExpiry(*c.Expires, now)
	return in, err
}

type keyList struct {
	Account string `help:"Account ID." required:"" placeholder:"ID"`
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
	ID string `arg:"" name:"key-id" help:"Key ID; see \"donorbook key list\"."`
}

func (keyRevoke) Help() string {
	return `Servers do not need a restart. A revoked key stays in the list and cannot be restored.

	donorbook key revoke 3`
}

func (c *keyRevoke) Run(t *terminal) error {
	id, err := strconv.ParseInt(c.ID, 10, 64)
	if err != nil { // it may be the secret itself, so it is not repeated
		return usageError{errors.New("a key ID is a number; see \"donorbook key list\"")}
	}
	return t.withStore(func(s *book.Book) error {
		if err := s.RevokeKey(t.ctx, id); err != nil {
			return err
		}
		fmt.Fprintf(t.stderr, "Key %d is revoked.\n", id)
		return nil
	})
}
