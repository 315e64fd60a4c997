package access

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/text"
)

// User is a person who signs in to the console. One user may belong to several organizations.
type User struct {
	ID        int64
	Email     string // as it was written; signing in compares the normal form
	Name      string
	CreatedAt time.Time
}

// UserInput is what a person says about themselves when they join.
type UserInput struct {
	Name, Email, Password string
}

// Validate trims the input and finds everything that is wrong with it.
func (in *UserInput) Validate() error {
	v := new(doc.Invalid)
	in.validate(v)
	return v.Err()
}

func (in *UserInput) validate(v *doc.Invalid) {
	in.Name = v.RequiredText("name", in.Name)
	in.Email = strings.TrimSpace(in.Email)
	if in.Email == "" {
		v.Add("email", doc.Required)
	} else if !IsEmail(in.Email) {
		v.Add("email", doc.EmailForm)
	}
	ValidatePassword(v, in.Password, in.Email, in.Name)
}

// IsEmail tells whether a text can be an email at all.
func IsEmail(value string) bool {
	_, ok := text.NormalEmail(strings.TrimSpace(value))
	return ok
}

// EmailTaken is the error where a user has this email already.
func EmailTaken() error {
	return doc.NewInvalid("email", "A user with this email already exists. Sign in first.")
}

const maxUserID = 1<<53 - 1 // JavaScript holds it exactly

// NewUser makes a user of an input that was validated; the store tries again with another one where the id is taken.
func NewUser(in UserInput, now time.Time) User {
	return User{ID: 1 + text.RandomBelow(maxUserID), Email: in.Email, Name: in.Name,
		CreatedAt: now.UTC().Truncate(time.Second)}
}

// UserName checks the new name of a user.
func UserName(name string) (string, error) { return AccountName(name) }

// CompareNames orders names as people look for them.
func CompareNames(a, b string) int {
	return cmp.Or(strings.Compare(text.Fold(a), text.Fold(b)), strings.Compare(a, b))
}

// SetupInput is the first user, and what they will own: a new organization, or one that is there already.
type SetupInput struct {
	UserInput
	Organization string // name of a new one
	Account      string // public id of one that exists; "" makes a new one
	Timezone     string // of the browser, which a new one gets; what is none is UTC
	NoReturn     bool   // it gives nothing in return for gifts, and its receipts say so
}

// Validate trims the input and finds everything that is wrong with it. The accounts are those that may be taken.
func (in *SetupInput) Validate(accounts []Account) error {
	v := new(doc.Invalid)
	in.UserInput.validate(v)
	if in.Account == "" {
		in.Organization = v.RequiredText("organization", in.Organization)
	} else if _, ok := in.Taken(accounts); !ok {
		v.Add("organization", notOffered)
	}
	return v.Err()
}

const notOffered = "must be an organization without contacts, or the name of a new one. " +
	"For an organization with contacts, the server's administrator creates the first owner with donorbook user create"

// NotOffered is the error where an account that exists may not be taken over by a link.
func NotOffered() error { return doc.NewInvalid("organization", notOffered) }

// Taken is the account that exists and was chosen.
func (in *SetupInput) Taken(accounts []Account) (Account, bool) {
	i := slices.IndexFunc(accounts, func(account Account) bool { return account.ID == in.Account })
	if i < 0 {
		return Account{}, false
	}
	return accounts[i], true
}

// Membership is an organization that a user belongs to.
type Membership struct {
	Account Account
	Role    Role

	Timezone, Currency string // of the organization where one works in it; "" in lists
}

// Member is a user of an organization, as its other users see them.
type Member struct {
	User   User
	Role   Role
	Since  time.Time
	SeenAt time.Time // in this organization; zero: never
}

// Device is where a user signs in from.
type Device struct {
	Address string // of the network
	Agent   string // what the browser calls itself
	New     bool   // the user has not signed in with the browser before
}

// clean keeps what can be shown on a line.
func (d Device) clean() Device {
	return Device{Address: oneLine(d.Address), Agent: oneLine(d.Agent), New: d.New}
}

func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	if runes := []rune(text); len(runes) > doc.MaxText {
		return string(runes[:doc.MaxText])
	}
	return text
}

const (
	sessionTime    = 30 * 24 * time.Hour // from signing in
	sessionIdle    = 7 * 24 * time.Hour  // from the last use
	invitationTime = 7 * 24 * time.Hour
	setupTime      = 24 * time.Hour

	// ResetTime is how long a link for a new password works.
	ResetTime = 30 * time.Minute

	// ResetPause is how long after one such link another one is sent at the earliest.
	ResetPause = 2 * time.Minute
)

// Session is a browser that a user has signed in with. The value of the cookie is not kept.
type Session struct {
	ID        string // a hash, good for telling sessions apart and for nothing else
	User      User
	Account   int64 // number of the organization that was open last, 0 for none
	Device    Device
	CreatedAt time.Time
	SeenAt    time.Time
	ExpiresAt time.Time
}

// NewSession makes a session and its token.
func NewSession(device Device, now time.Time) (session Session, token string) {
	token, hash := NewToken()
	now = now.UTC().Truncate(time.Second)
	return Session{ID: hash, Device: device.clean(), CreatedAt: now, SeenAt: now, ExpiresAt: now.Add(sessionTime)},
		token
}

// Valid tells whether the session may be used at that time.
func (s *Session) Valid(now time.Time) bool {
	return now.Before(s.ExpiresAt) && s.SeenAt.After(IdleSince(now))
}

// IdleSince is the idle cutoff: a session that was not used since then has ended.
func IdleSince(now time.Time) time.Time { return now.Add(-sessionIdle) }

// Invitation is a link by which a colleague joins. Its token is shown once.
type Invitation struct {
	ID        string // a hash, as of a session
	Account   Account
	Email     string // whom it is meant for, "" where that was not said
	Role      Role
	By        string // name of who invited
	CreatedAt time.Time
	ExpiresAt time.Time
}

// NewInvitation makes an invitation and its token.
func NewInvitation(account Account, by User, role Role, email string,
	now time.Time,
) (invitation Invitation, token string, err error) {
	if err := role.Check(); err != nil {
		return Invitation{}, "", err
	}
	email = strings.TrimSpace(email)
	if email != "" && !IsEmail(email) {
		return Invitation{}, "", doc.NewInvalid("email", doc.EmailForm)
	}
	invitation, token = newLink(now, invitationTime)
	invitation.Account, invitation.Email, invitation.Role, invitation.By = account, email, role, by.Name
	return invitation, token, nil
}

// NewSetup makes the link by which the first user joins.
func NewSetup(now time.Time) (invitation Invitation, token string) { return newLink(now, setupTime) }

func newLink(now time.Time, valid time.Duration) (invitation Invitation, token string) {
	token, hash := NewToken()
	now = now.UTC().Truncate(time.Second)
	return Invitation{ID: hash, CreatedAt: now, ExpiresAt: now.Add(valid)}, token
}

// Valid tells whether the link may be used at that time.
func (i *Invitation) Valid(now time.Time) bool { return now.Before(i.ExpiresAt) }
