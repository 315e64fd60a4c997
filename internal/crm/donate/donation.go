package donate

import (
	"slices"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/giving"
)

// Settings are how an organization takes gifts on the pages of its campaigns. Amounts are in the smallest unit of its currency.
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

// Offer is what the form of one campaign offers, from the settings, the connection and the campaign: nothing in it is left to defaults.
type Offer struct {
	Settings
	Currency string
	Ways     []Way  // none: the form is closed
	Provider string // of Online: stripe, or pretend
	Live     bool   // Online takes real money
}

// Has tells whether a giver can pay in a way.
func (o *Offer) Has(way Way) bool { return slices.Contains(o.Ways, way) }

// Wish is what a giver asks for: all that the form tells. What is charged is computed from it, and never sent by a form.
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

// Donation is a gift that someone began to make on a page.
type Donation struct {
	ID        string // public: 16 letters and digits
	Number    int64  // of references
	Account   int64
	Campaign  int64
	State     State
	Doubt     Doubt
	Wish      Wish
	Charged   int64 // what the giver pays, with the covered fee
	Covered   int64
	Currency  string
	Provider  string // "" for a promised gift
	Live      bool
	Session   string // at the provider, and so are the next
	Payment   string
	Gift      string // the gift it became, "" for none yet
	Plan      string
	CreatedAt time.Time
	UpdatedAt time.Time
}
