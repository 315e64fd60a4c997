package page

import (
	"errors"
	"net/http"
	"time"

	"donorbook/internal/crm/access"
	"donorbook/internal/crm/text"
	"donorbook/internal/pay"
	"donorbook/internal/store"
	"donorbook/internal/store/book"
	"donorbook/internal/web"
)

// How large a form may be depends on who sends it: a stranger's must cost next to nothing.
const (
	StrangersForm = 16 << 10 // a name, an email address, a password
	OwnForm       = 64 << 10 // most forms of people who have signed in
	RecordForm    = 1 << 20  // a contact or a campaign, with all that the rules take
	KeptForm      = 64 << 10 // a form that the sign-in page keeps
	SignInForm    = 96 << 10 // signing in with such a form, whose fields have longer names there
)

// CountRequest counts a request of a caller, and refuses it where the caller has used up their share.
func CountRequest[C any](w http.ResponseWriter, rates rates[C], caller C, now time.Time) error {
	remaining, wait, ok := rates.Take(caller, now)
	rates.SetHeaders(w, remaining)
	if ok {
		return nil
	}
	return tooManyRequests(wait, "Too many requests at once. Nothing was changed. Wait a moment, then try again.")
}

// rates are how much callers may send.
type rates[C any] interface {
	limiter[C]
	SetHeaders(w http.ResponseWriter, remaining int)
}

// CountStranger counts the request of someone who has not signed in, by their address.
func (s *Site) CountStranger(w http.ResponseWriter, r *http.Request) error {
	return CountRequest(w, s.strangers, s.Options.Proxies.Client(r), s.Now())
}

// tooManyRequests says in words of the console what to wait for.
func tooManyRequests(wait time.Duration, message string) error {
	err := web.TooManyRequests(wait)
	var own *web.Error
	if errors.As(err, &own) {
		own.Message = message
	}
	return err
}

func Forbidden(m access.Membership, needed access.Role) error {
	return &web.Error{Status: http.StatusForbidden,
		Message: "Your role at " + m.Account.Name + " is " + m.Role.String() + ", but this needs the role " + needed.String() + ". Ask an owner to change your role."}
}

// Options are what the console needs to know beside the store.
type Options struct {
	Proxies   *web.Proxies
	Region    string // where a phone number without + is from
	RateLimit int    // requests a minute for each user, and for each stranger's address; 0 is no limit
	Created   func(merged bool)
	SignIn    func(SignInOutcome)
	Now       func() time.Time // the clock; nil is the machine's
	Pretended *pay.Pretended   // payments without money, for the demo; may be nil
	Secret    []byte           // of all nodes, for what pages sign; each process makes its own where there is none
	Trust     string           // what curl must be told to trust the server's certificate, with a space behind it; "" for nothing
}

// Site is what all pages share.
type Site struct {
	Store     *book.Book
	Options   Options
	Now       func() time.Time
	Templates Templates
	origin    http.CrossOriginProtection
	strangers web.Networks // counts the requests of those who have not signed in
	Forgotten web.Networks // and the forms of people who forgot their password
	turns     *store.Gate  // of strangers
	Throttle  *Throttle
	Uploads   Uploads
	Kept      *web.Mux // the pages of forms that were kept while a person signed in
}

const forgottenRate = 5 // a minute

func NewSite(s *book.Book, o Options, found Templates) *Site {
	made := &Site{Store: s, Options: o, Now: o.Now, Templates: found, strangers: web.NewNetworks(o.RateLimit, time.Minute), Forgotten: web.NewNetworks(forgottenRate, time.Minute), turns: newTurns(), Throttle: newThrottle(time.Now), Kept: web.NewMux()}
	if made.Now == nil {
		made.Now = time.Now
	}
	return made
}

const Root = "/console"

// Request is one request of a person: who asks, for what, what they sent, and where the answer goes.
type Request struct {
	*Site
	*http.Request
	W          http.ResponseWriter
	Session    access.Session    // empty for a stranger
	Membership access.Membership // of the organization in the path; empty on pages that belong to none
	ID         int64             // of the contact, campaign, key or user in the path
	Form       *Form             // the one that was sent, or an empty one
	attempt    string            // the name of a form that creates something; "" for any other
}

func (r *Request) Account() int64 { return r.Membership.Account.Number }

// Currency is that of the organization.
func (r *Request) Currency() string { return r.Membership.Currency }

// Zone is the time zone of the organization, UTC on pages that belong to none.
func (r *Request) Zone() *time.Location { return text.Location(r.Membership.Timezone) }

// Today is the time now, in the organization's zone: the date of it is today's.
func (r *Request) Today() time.Time { return r.Now().In(r.Zone()) }

// Path is the address of a page of the organization.
func (r *Request) Path(rest string) string { return OrgPath(r.Membership.Account, rest) }

func OrgPath(account access.Account, rest string) string { return Root + "/o/" + account.ID + rest }

// Redirect leads the browser on with a GET, to a page that says what was done, where there is something to say.
func (r *Request) Redirect(to string, said ...Notice) error {
	for _, n := range said {
		LeaveNotice(r.W, n)
	}
	return Redirect(r.W, r.Request, to)
}

// Done leads the browser on after a change, unless that was refused.
func (r *Request) Done(err error, to string, said ...Notice) error {
	if err != nil {
		return err
	}
	return r.Redirect(to, said...)
}

// Handler answers a person who may do this.
type Handler func(*Request) error

// Of has a handler answer about the thing that the path names, which is loaded first.
func Of[T any](load func(*Request) (T, error), handle func(*Request, T) error) Handler {
	return func(r *Request) error {
		thing, err := load(r)
		if err != nil {
			return err
		}
		return handle(r, thing)
	}
}

// The pages need nothing from any other address but images; nothing runs that is not a file of ours.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data: https:; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Guard tells browsers what a page of ours never does.
func Guard(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
}

func Redirect(w http.ResponseWriter, r *http.Request, to string) error {
	http.Redirect(w, r, to, http.StatusSeeOther)
	return nil
}
