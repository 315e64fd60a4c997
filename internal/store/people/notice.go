package people

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/mail"
	"donorbook/internal/store"
)

const (
	sqlReset       = `SELECT user_id FROM password_reset WHERE hash = $1 AND expires_at > $2`
	sqlAskedLately = `UPDATE mail SET about = about WHERE account_id = $1 AND about = $2 AND created_at > $3`
	sqlEndResets   = `DELETE FROM password_reset WHERE user_id = $1`
	sqlSweepResets = `DELETE FROM password_reset WHERE expires_at <= $1`
)

var errNoReset = fmt.Errorf("the link: %w", crm.ErrNotFound)

// roleRights are the words of a mail for what a role may do.
var roleRights = map[access.Role]string{
	access.Viewer: "As a viewer, you can see contacts, gifts and campaigns.",
	access.Editor: "As an editor, you can see and change contacts, gifts and campaigns.",
	access.Owner:  "As an owner, you can change everything, and invite others.",
}

// invitationMessage is the mail to who is invited. Its day is by the clock of the organization.
func invitationMessage(i access.Invitation, token string, zone *time.Location) *mail.Message {
	return &mail.Message{
		Subject: mail.Say("{} invited you to {}", i.By, i.Account.Name),
		Says: []mail.Line{mail.Say("{} invited you to join {} on Donorbook. "+roleRights[i.Role], i.By,
			i.Account.Name)},
		Action: mail.Say("Accept the invitation"), Path: "/console/invite/" + token,
		After: []mail.Line{mail.Say("The link works once and until " + i.ExpiresAt.In(zone).Format("January 2, 2006") +
			". If you don’t know who this is, you can ignore this mail.")},
	}
}

// aboutUser is what a mail to a user about themselves is for.
func aboutUser(user int64) string { return "user " + strconv.FormatInt(user, 10) }

// AskForReset queues the mail with a link for a new password, or has the one that waits leave anew. A user gets one in
// access.ResetPause at most: a link works for much longer, so that strangers who ask for a user only see to it that the
// user has one.
//
// The person who asks must not learn whether anyone has the address, neither from the answer nor from the time it
// takes. So all addresses that nobody has share one mail, which the sender drops, and each request reads the user and
// writes one row.
func (s *PeopleStore) AskForReset(ctx context.Context, email string) error {
	if _, ok := mail.ParseAddress(email); !ok {
		return doc.NewInvalid("email", doc.EmailForm)
	}
	user, err := s.userByEmail(ctx, email)
	if err != nil && !errors.Is(err, crm.ErrNotFound) {
		return err
	}
	about := "reset " + strconv.FormatInt(user.ID, 10)
	return s.UpdateShared(ctx, 0, func(t *store.Tx) error {
		lately, err := t.Exec(sqlAskedLately, int64(0), about, store.Seconds(s.Now().Add(-access.ResetPause)))
		if err != nil || lately > 0 {
			return err
		}
		return errors.Join(s.Withdraw(t, 0, about), s.Queue(t, 0, mail.Reset, about, email, nil))
	})
}

// writeReset makes the link of a mail for somebody who forgot a password, nil where nobody has the address. The link is
// made when the mail is sent, so that it is kept nowhere but in the mail.
func (s *PeopleStore) writeReset(ctx context.Context, _ int64, m mail.Mail, _ mail.Message) (*mail.Message, error) {
	user, err := s.userByEmail(ctx, m.To)
	if errors.Is(err, crm.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	token, hash := access.NewToken()
	err = s.updateUser(ctx, user.ID, func(t *store.Tx, _ userRow) error {
		t.Insert(store.ResetTable, hash, user.ID, store.Seconds(s.Now().Add(access.ResetTime)))
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &mail.Message{
		Subject: mail.Say("Set a new password"),
		Says: []mail.Line{mail.Say("Hello {},", user.Name),
			mail.Say("Someone, probably you, asked for a new password for your user on Donorbook.")},
		Action: mail.Say("Set a new password"), Path: "/console/reset/" + token,
		After: []mail.Line{mail.Say("The link works once and for 30 minutes. If you didn’t ask for it, you can ignore this mail: your password stays as it is.")},
	}, nil
}

// ResetUser is the user whose password a link sets.
func (s *PeopleStore) ResetUser(ctx context.Context, token string) (access.User, error) {
	user, err := s.resetUser(ctx, token)
	return user.User, err
}

func (s *PeopleStore) resetUser(ctx context.Context, token string) (userRow, error) {
	id, err := store.Find(ctx, s.Store, errNoReset, store.Number, sqlReset, access.HashToken(token),
		store.Seconds(s.Now()))
	if err != nil {
		return userRow{}, err
	}
	return store.Find(ctx, s.Store, errNoReset, scanUser, sqlUserByID, id)
}

// ResetByLink sets the password of a user who forgot it and got a link. All their sessions end, and all their links.
func (s *PeopleStore) ResetByLink(ctx context.Context, token, password string) (access.User, error) {
	user, err := s.resetUser(ctx, token)
	if err != nil {
		return access.User{}, err
	}
	return user.User, s.setPassword(store.ByOneself(ctx, user.Email), user, new(doc.Invalid), password, "",
		func(t *store.Tx, _ userRow) error {
			_, err := store.FindIn(t.Conn, errNoReset, store.Number, sqlReset, access.HashToken(token),
				store.Seconds(s.Now()))
			return err
		})
}

// SweepResets forgets links that have expired.
func (s *PeopleStore) SweepResets(ctx context.Context) error {
	return s.UpdateShared(ctx, 0, func(t *store.Tx) error { return t.Run(sqlSweepResets, store.Seconds(s.Now())) })
}

// tellPassword tells a user that their password was changed, in case it was somebody else.
func (s *PeopleStore) tellPassword(t *store.Tx, user access.User) error {
	return s.Queue(t, 0, mail.Password, aboutUser(user.ID), user.Email, &mail.Message{
		Subject: mail.Say("Your password was changed"),
		Says: []mail.Line{mail.Say("Hello {},", user.Name),
			mail.Say("The password of your user on Donorbook was changed on " +
				s.Now().UTC().Format("January 2, 2006 at 15:04 UTC") + ". You were signed out in other browsers."),
			mail.Say("If that was you, there is nothing to do. If not, choose “Forgot your password?” on the sign-in page at once, and tell an owner of your organization.")},
		Action: mail.Say("Sign in"), Path: "/console/signin",
	})
}

// tellSignIn tells a user that somebody signed in as them with a browser that they have not used before.
func (s *PeopleStore) tellSignIn(t *store.Tx, user access.User, session access.Session) error {
	return s.Queue(t, 0, mail.SignIn, aboutUser(user.ID), user.Email, &mail.Message{
		Subject: mail.Say("New sign-in to Donorbook"),
		Says: []mail.Line{mail.Say("Hello {},", user.Name),
			mail.Say("Your user was signed in with a browser that you haven’t used before: {}, from the address {}, on "+session.CreatedAt.Format("January 2, 2006 at 15:04 UTC")+".", session.Device.Browser(), session.Device.Address),
			mail.Say("If that was you, there is nothing to do. If not, change your password: this signs out every other browser.")},
		Action: mail.Say("See where you are signed in"), Path: "/console/profile",
	})
}

// MailToUser is the last mail to a user about themselves, nil for none.
func (s *PeopleStore) MailToUser(ctx context.Context, user int64) (*mail.Mail, error) {
	return s.MailAbout(ctx, 0, aboutUser(user))
}
