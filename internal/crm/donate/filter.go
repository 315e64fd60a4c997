package donate

import (
	"strings"
	"time"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/text"
)

// Filter is which donations a list shows; what is empty filters nothing.
type Filter struct {
	State    State
	Campaign int64
	Review   bool      // only those that a person must look at
	Promised bool      // only those that wait for a transfer or a check
	Find     string    // a reference as the giver wrote it, or an email
	NotHere  bool      // payments that did not begin on a page of ours, and that no one has taken over
	From, To time.Time // when they were begun; To is exclusive
}

// FilterParameters are the names of the query parameters by which a list of donations is filtered.
var FilterParameters = []string{"state", "review", "campaign_id", "created_after", "created_before"}

// States are all states of donations, in the order in which they follow each other.
var States = []State{Started, Open, Processing, Paid, Failed, Expired, Review}

// ParseFilter reads the query parameters of a list of donations: value gives each by its name, "" where it was not
// sent.
func ParseFilter(value func(name string) string) (f Filter, err error) {
	var v doc.Invalid
	if f.State = State(value("state")); f.State != "" && !f.State.IsState() {
		v.Add("state", doc.OneOf, strings.Join(text.Strings(States), ", "))
	}
	if review := value("review"); review != "" {
		if f.Review = review == "true"; !f.Review {
			v.Add("review", "must be true, or be left out")
		}
	}
	if id := value("campaign_id"); id != "" {
		f.Campaign = giving.FilterID(&v, "campaign_id", id)
	}
	if sent := value("created_after"); sent != "" {
		f.From = giving.FilterTime(&v, "created_after", sent)
	}
	if sent := value("created_before"); sent != "" {
		f.To = giving.FilterTime(&v, "created_before", sent)
	}
	return f, v.Err()
}

// Listed is how many donations the pages of a list lead to, the newest first: no one looks further back by pages, and a
// list of a million costs what one of ten thousand does. Older ones are found by their time.
const Listed = 10_000

// BeyondList is broken by a page behind those.
const BeyondList doc.Rule = "is too far back: a list goes back 10,000 donations. Use created_before to list older ones"
