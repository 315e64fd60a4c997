package giving

import (
	"slices"
	"strings"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/text"
)

// PlanFilter is which plans a list shows; what is empty filters nothing.
type PlanFilter struct {
	Contact, Campaign  int64
	CampaignCode       string // the slug of a campaign, which the store looks up
	Email              string // the match key of an email of the contact
	Status             PlanStatus
	Method, ExternalID string
	Frequency          string
	Sort               Sort
}

// sharedFilters are the query parameters that a list of plans has in common with one of gifts.
var sharedFilters = []string{"contact_id", "email", "campaign_id", "campaign_code", "method", "external_id"}

// PlanParameters are the names of the query parameters by which a list of plans is filtered.
func PlanParameters() []string { return append(slices.Clone(sharedFilters), "status", "frequency") }

// ParsePlanFilter reads the query parameters of a list of plans: value gives each by its name, "" where it was not
// sent.
func ParsePlanFilter(value func(name string) string) (PlanFilter, error) {
	var v doc.Invalid
	var shared GiftFilter
	shared.read(&v, value, sharedFilters)
	f := PlanFilter{
		Contact: shared.Contact, Campaign: shared.Campaign, CampaignCode: shared.CampaignCode, Email: shared.Email,
		Method: shared.Method, ExternalID: shared.ExternalID,
		Status: PlanStatus(value("status")), Frequency: value("frequency"),
	}
	if f.Status != "" && !slices.Contains(PlanStatuses, f.Status) {
		v.Add("status", doc.OneOf, strings.Join(text.Strings(PlanStatuses), ", "))
	}
	if f.Frequency != "" && !slices.Contains(Frequencies, f.Frequency) {
		v.Add("frequency", doc.OneOf, strings.Join(Frequencies, ", "))
	}
	f.Sort = parseSort(&v, value, ByTime, "start_at", ByNextBill)
	return f, v.Err()
}

// IsEmpty tells whether every plan passes, in whatever order.
func (f PlanFilter) IsEmpty() bool {
	f.Sort = Sort{}
	return f == PlanFilter{}
}

// Matches tells whether a plan passes. The store has looked up the campaign and the email.
func (f PlanFilter) Matches(p *Plan) bool {
	return (f.Contact == 0 || f.Contact == p.Contact) && (f.Campaign == 0 || f.Campaign == p.Campaign) &&
		(f.Status == "" || f.Status == p.Status) &&
		(f.Method == "" || f.Method == p.Method) && (f.Frequency == "" || f.Frequency == p.Frequency) &&
		(f.ExternalID == "" || f.ExternalID == p.ExternalID)
}
