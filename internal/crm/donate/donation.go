package donate

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/text"
)

// Settings are how an organization takes gifts on the pages of its campaigns. Amounts are in the smallest unit of its
// currency.
type Settings struct {
	Once, Monthly []int64 // the amounts that are offered; none are DefaultAmounts
	Limits        Limits
	NoMonthly     bool
	Cover         Cover
	Rate          Rate
	NoDedication  bool
	AskAddress    bool   // of all givers
	Consent       string // what a giver agrees to who wants news; "" does not ask
	Notice        string // the email address of staff who hear of each gift
	Bank          Bank   // takes transfers; the zero value takes none
	Check         string // who checks are made out to, and where they are sent, in several lines; "" takes none
}

// Cover is whether givers are asked to cover the fee.
type Cover string

const (
	NoCover     Cover = ""
	OfferCover  Cover = "offered"
	TickedCover Cover = "ticked"
)

// Way is how a giver pays.
type Way string

const (
	Online     Way = "online" // on the page of a payment provider
	ByTransfer Way = "transfer"
	ByCheck    Way = "check"
)

// Offer is what the form of one campaign offers, from the settings, the connection and the campaign: nothing in it is
// left to defaults.
type Offer struct {
	Settings
	Currency string
	Ways     []Way  // none: the form is closed
	Provider string // of Online: stripe, or pretend
	Live     bool   // Online takes real money
}

// Has tells whether a giver can pay in a way.
func (o *Offer) Has(way Way) bool { return slices.Contains(o.Ways, way) }

// Wish is what a giver asks for: all that the form tells. What is charged is computed from it, and never sent by a
// form.
type Wish struct {
	Way        Way
	Frequency  string // Once, or one of giving.Frequencies
	Amount     int64  // the gift, without the covered fee
	Cover      bool
	FirstName  string
	LastName   string
	Email      string
	Phone      string
	Company    string // that gives; "" for a person
	Address    *crm.Address
	Dedication *giving.Dedication
	Anonymous  bool // the page does not name the giver
	Consent    bool // to news, in the words of the settings
}

// NewID is the id of a donation. A form gets it when it is shown, so that a form that is sent twice is one donation.
func NewID() string { return text.Random62(idLength) }

const idLength = 16

// IsID tells whether a text can be the id of a donation.
func IsID(id string) bool { return len(id) == idLength && strings.Trim(id, text.Base62) == "" }

// Donation is a gift that someone began to make on a page, or that was made at the provider by itself.
type Donation struct {
	ID        string // public: 16 letters and digits
	Number    int64  // of references
	Account   int64
	Campaign  int64 // 0 for none
	State     State
	Doubt     Doubt  // why a person must look; "" where no one must
	Fault     string // why it was not paid, as the provider says
	Wish      Wish
	Charged   int64 // what the giver pays, with the covered fee
	Covered   int64
	Currency  string
	Provider  string // "" for a promised gift
	Live      bool
	Attempt   string // the key of the order at the provider: a secret
	Session   string // at the provider, and so are the next
	Payment   string
	Plan      string
	Gift      string // the code of the gift it became, "" for none yet
	GiftPlan  string // and of the plan
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Pretend is the provider of the demo, where no money moves and gifts count.
const Pretend = "pretend"

// IsTest tells whether a donation is one of a provider's test mode, which counts nowhere.
func (d *Donation) IsTest() bool { return d.Provider != "" && d.Provider != Pretend && !d.Live }

// Reference is what a giver writes on a promised gift.
func (d *Donation) Reference() string { return Reference(d.Number) }

// IsPromise tells whether the giver is to send a transfer or a check.
func (d *Donation) IsPromise() bool {
	return d.Provider == "" && (d.State == Started || d.State == Processing)
}

// IsConfirmed tells whether whoever has the email address knows of the promise: it was typed on a page, by anyone.
func (d *Donation) IsConfirmed() bool { return d.State != Started }

// ConfirmTime is how long a promise that no one has confirmed stays on the list of the organization. It is found by its
// reference for as long as others are.
const ConfirmTime = 24 * time.Hour

// LinkKind is what a link to a donation is for.
type LinkKind string

const (
	PageLink    LinkKind = "page of a donation "
	PromiseLink LinkKind = "promise of a donation "
	EndLink     LinkKind = "end of a donation "
)

// Proof is the secret part of a link, which follows from the key of the order. It is "" for a donation without one.
func (d *Donation) Proof(kind LinkKind) string {
	if d.Attempt == "" {
		return ""
	}
	proof := sha256.Sum256([]byte(string(kind) + d.Attempt))
	return base64.RawURLEncoding.EncodeToString(proof[:16])
}

// Proves tells whether the secret of a link is the one of its kind.
func (d *Donation) Proves(kind LinkKind, secret string) bool {
	proof := d.Proof(kind)
	return proof != "" && hmac.Equal([]byte(proof), []byte(secret))
}

// IsOver tells whether the donation changes by itself no more.
func (d *Donation) IsOver() bool { return d.State == Paid || d.State.IsNone() }

// rank is how far a donation is: one that is as far as that does not go back.
var rank = map[State]int{Started: 0, Open: 1, Review: 1, Processing: 2, Expired: 3, Failed: 3, Paid: 4}

// Becomes is the state after a look that has found another one. Looks may come late.
func (s State) Becomes(found State) State {
	if found == "" || found == Review || rank[found] < rank[s] {
		return s
	}
	return found
}

// IsState tells whether there is such a state.
func (s State) IsState() bool { _, is := rank[s]; return is }

// IsNone tells whether nothing came of a donation, so that its form may be sent as another one.
func (s State) IsNone() bool { return s == Failed || s == Expired }

// Name is what the giver is called.
func (w *Wish) Name() string { return cmp.Or(strings.TrimSpace(w.FirstName+" "+w.LastName), w.Company) }

// Kept is how long what a giver typed is kept where nothing was paid: a promise waits for as long as checks take.
func (d *Donation) Kept() time.Duration {
	if d.Provider == "" {
		return 90 * 24 * time.Hour
	}
	return 30 * 24 * time.Hour
}

// How many donations may begin in a minute on one page, and on all pages of an organization, before each needs a proof.
// Those that were paid in the last week raise both, so that thieves cannot: twenty of them let one more begin.
const (
	startsOfPage    = 120
	startsOfAccount = 300
	paidPerStart    = 20
)

// ErrCrowd is that more begin in a minute than people do, so that each needs a proof.
var ErrCrowd = errors.New("too many donations begin at once")

// IsCrowd tells whether so many began in the last minute on a page, and on all of them, that each needs a proof.
func IsCrowd(page, all, paid int64) bool {
	more := paid / paidPerStart
	return page >= startsOfPage+more || all >= startsOfAccount+more
}

// ManagePath is where givers find the pages of their own gifts. The rest of the path is a link: the organization, the
// donation, and a secret, which old mails do not have.
const ManagePath = "/give/"

// ManageLink is the end of a link to a monthly gift.
func ManageLink(account, id, secret string) string {
	return strings.TrimSuffix(account+"."+id+"."+secret, ".")
}

// ParseManageLink takes a link apart; ok is false for what is none.
func ParseManageLink(link string) (account, id, secret string, ok bool) {
	account, rest, _ := strings.Cut(link, ".")
	id, secret, _ = strings.Cut(rest, ".")
	return account, id, secret, IsID(id)
}
