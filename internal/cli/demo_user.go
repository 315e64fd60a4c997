package cli

import (
	"context"
	"errors"

	"donorbook/internal/crm"
	"donorbook/internal/store"
)

// demoEmail is whom a newcomer signs in as.
const demoEmail = "demo@example.org"

// demoRoles are the roles of that user in the chapters, so that each can be tried.
var demoRoles = []crm.Role{crm.Editor, crm.Viewer}

// demoColleagues are people whose passwords nobody knows.
var demoColleagues = []struct {
	name, email string
	role        crm.Role
}{
	{"Ruth Bennett", "ruth.bennett@example.org", crm.Owner},
	{"Kwame Silva", "kwame.silva@example.org", crm.Editor},
	{"Ingrid Novak", "ingrid.novak@example.org", crm.Viewer},
}

// demoPassword gives the user of the demo a new password: that of an earlier start is known to nobody. Where there is no
// such user yet, it makes one, with colleagues.
func demoPassword(ctx context.Context, s *store.Store, root crm.Account) (password string, err error) {
	password = crm.RandomPassword()
	if err := s.ResetPassword(ctx, demoEmail, password); !errors.Is(err, crm.ErrNotFound) {
		return password, err
	}
	user, err := s.CreateUser(ctx, root, crm.Owner, crm.UserInput{Name: "Dana Harper", Email: demoEmail, Password: password})
	if err != nil {
		return "", err
	}
	if err := s.OpenAccount(ctx, crm.Session{User: user}, root.Number); err != nil { // the first sign-in leads there
		return "", err
	}
	for _, c := range demoColleagues {
		if _, err := s.CreateUser(ctx, root, c.role, crm.UserInput{Name: c.name, Email: c.email, Password: crm.RandomPassword()}); err != nil {
			return "", err
		}
	}
	return password, joinChapters(ctx, s, root)
}

func joinChapters(ctx context.Context, s *store.Store, root crm.Account) error {
	accounts, err := s.Accounts(ctx)
	if err != nil {
		return err
	}
	roles := demoRoles
	for _, account := range accounts {
		if account.Parent != root.Number || len(roles) == 0 {
			continue
		}
		if _, err := s.AddMember(ctx, account, roles[0], demoEmail); err != nil {
			return err
		}
		roles = roles[1:]
	}
	return nil
}
