package giving

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/text"
)

// GiftFilter is which gifts a list shows; what is empty filters nothing.
type GiftFilter struct {
	Contact, Campaign int64
	CampaignCode      string // the slug of a campaign, which the store looks up
	Email             string // the match key of an email of the contact
	Plan              string // public id
	Recurring         bool   // of any plan
	Status            GiftStatus
	Method            string
	ExternalID        string
	From, To          time.Time // To is exclusive
	Days              bool      // From and To are days of the organization; otherwise they are times, wherever one is
	// of what is left of a gift, in the smallest unit of the account's currency; 0 is no bound
	Min, Max int64
	Waiting  bool // someone still has to thank for it
	Counted  bool // something is left of it, and it succeeded
	Currency string
	Import   int64 // that has recorded it, by its number; 0 for any
	Sort     Sort
}

// IsEmpty tells whether every gift passes, in whatever order.
func (f GiftFilter) IsEmpty() bool {
	f.Sort = Sort{}
	return f == GiftFilter{}
}

// OnlyMonths tells whether the filter names whole months and nothing else, so that their sums answer it, in whatever
// order.
func (f GiftFilter) OnlyMonths() bool {
	f.Sort = Sort{}
	// the zero time does as well
	begins := func(t time.Time) bool { return t.Day() == 1 && t.Equal(t.Truncate(24*time.Hour)) }
	only := GiftFilter{From: f.From, To: f.To, Days: f.Days, Counted: f.Counted}
	if f.Counted {
		only.Currency = f.Currency
	}
	return f == only && begins(f.From) && begins(f.To) && (f.Days || f.From.IsZero() && f.To.IsZero())
}

// giftFilters are the query parameters of a list of gifts.
var giftFilters = map[string]func(f *GiftFilter, v *doc.Invalid, name, text string){
	"contact_id":    func(f *GiftFilter, v *doc.Invalid, name, text string) { f.Contact = FilterID(v, name, text) },
	"campaign_id":   func(f *GiftFilter, v *doc.Invalid, name, text string) { f.Campaign = FilterID(v, name, text) },
	"campaign_code": func(f *GiftFilter, _ *doc.Invalid, _, text string) { f.CampaignCode = text },
	"email":         func(f *GiftFilter, _ *doc.Invalid, _, text string) { f.Email = emailKey(text) },
	"plan_id": func(f *GiftFilter, v *doc.Invalid, name, text string) {
		if f.Plan = text; !IsCode(text) {
			v.Add(name, doc.CodeForm)
		}
	},
	"status": func(f *GiftFilter, v *doc.Invalid, name, value string) {
		if f.Status = GiftStatus(value); !slices.Contains(GiftStatuses, f.Status) {
			v.Add(name, doc.OneOf, strings.Join(text.Strings(GiftStatuses), ", "))
		}
	},
	"method": func(f *GiftFilter, v *doc.Invalid, name, text string) {
		if f.Method = text; !slices.Contains(Methods, text) {
			v.Add(name, doc.OneOf, strings.Join(Methods, ", "))
		}
	},
	"thanks": func(f *GiftFilter, v *doc.Invalid, name, text string) {
		if f.Waiting = text == ToThank; !f.Waiting {
			v.Add(name, doc.OneOf, ToThank)
		}
	},
	"external_id":       func(f *GiftFilter, _ *doc.Invalid, _, text string) { f.ExternalID = text },
	"transacted_after":  func(f *GiftFilter, v *doc.Invalid, name, text string) { f.From = FilterTime(v, name, text) },
	"transacted_before": func(f *GiftFilter, v *doc.Invalid, name, text string) { f.To = FilterTime(v, name, text) },
}

// GiftParameters are the names of the query parameters by which a list of gifts is filtered.
func GiftParameters() []string {
	return []string{"contact_id", "email", "campaign_id", "campaign_code", "plan_id", "status", "method", "external_id",
		"thanks", "transacted_after", "transacted_before"}
}

// ParseGiftFilter reads the query parameters of a list of gifts: value gives each by its name, "" where it was not
// sent.
func ParseGiftFilter(value func(name string) string) (f GiftFilter, err error) {
	var v doc.Invalid
	f.read(&v, value, GiftParameters())
	f.Sort = parseSort(&v, value, ByTime)
	return f, v.Err()
}

func (f *GiftFilter) read(v *doc.Invalid, value func(name string) string, names []string) {
	for _, name := range names {
		if text := value(name); text != "" {
			giftFilters[name](f, v, name, text)
		}
	}
}

// CountedGifts is what people choose beside a status: the gifts that the sums count, in the account's currency.
const CountedGifts = "counted"

// ParseGiftSearch reads what people filter a list of gifts by: days, of which to is the last one, amounts in the
// account's currency, status=counted, and plan=any for the gifts of all plans. Nothing that is wrong is ignored.
func ParseGiftSearch(value func(name string) string, currency string) (f GiftFilter, err error) {
	var v doc.Invalid
	f.Counted = value("status") == CountedGifts
	for _, p := range [][2]string{{"contact", "contact_id"}, {"campaign", "campaign_id"}, {"method", "method"},
		{"status", "status"}, {"thanks", "thanks"}} {
		if text := value(p[0]); text != "" && (p[0] != "status" || !f.Counted) {
			giftFilters[p[1]](&f, &v, p[0], text)
		}
	}
	if text := value(ImportParameter); text != "" {
		f.Import = FilterID(&v, ImportParameter, text)
	}
	switch plan := value("plan"); plan {
	case "":
	case "any":
		f.Recurring = true
	default:
		giftFilters["plan_id"](&f, &v, "plan", plan)
	}
	f.From, f.To = filterDay(&v, "from", value("from")), filterDay(&v, "to", value("to"))
	if !f.From.IsZero() && !f.To.IsZero() && f.To.Before(f.From) {
		v.Add("to", doc.NotBefore, "from")
	}
	if !f.To.IsZero() {
		f.To = f.To.AddDate(0, 0, 1)
	}
	f.Days = !f.From.IsZero() || !f.To.IsZero()
	f.Min, f.Max = filterMoney(&v, "min", value("min"), currency), filterMoney(&v, "max", value("max"), currency)
	if f.Max != 0 && f.Max < f.Min {
		v.Add("max", "must not be less than the smallest amount")
	}
	if f.Counted || f.Min != 0 || f.Max != 0 {
		f.Currency = currency
	}
	f.Sort = parseSort(&v, value, ByTime)
	return f, v.Err()
}

// filterDay reads a day that the sums of days can have.
func filterDay(v *doc.Invalid, name, text string) (t time.Time) {
	if text == "" {
		return t
	}
	t, err := time.Parse(time.DateOnly, text)
	if err != nil || t.Year() < 1900 {
		v.Add(name, doc.DayForm)
		return time.Time{}
	}
	return t
}

func filterMoney(v *doc.Invalid, name, value, currency string) (units int64) {
	if sent := ParseMoney(v, name, value, currency, true); sent != nil {
		var ok bool
		if units, ok = text.MinorUnits(*sent, currency); !ok {
			v.AddAt(doc.Place{}, name, doc.TooFine, text.Decimals(currency), currency)
		}
	}
	return units
}

// FilterID reads an id. One that no account can have finds nothing, and is no fault.
func FilterID(v *doc.Invalid, name, value string) int64 {
	if strings.Trim(value, "0123456789") != "" {
		v.Add(name, doc.IDForm)
	}
	id, ok := text.ParseDecimal(value, 0, 18)
	if !ok || id == 0 {
		id = -1
	}
	return id
}

// emailKey is the match key of an email. That of a text that is none belongs to no contact.
func emailKey(sent string) string {
	sent = strings.ReplaceAll(sent, " ", "+") // a + that was not escaped
	normal, _ := text.NormalEmail(sent)
	return crm.EmailPrefix + cmp.Or(normal, sent)
}

// FilterTime reads a day or a time that a list is filtered by.
func FilterTime(v *doc.Invalid, name, sent string) time.Time {
	t, _, ok := text.ParseMoment(strings.ReplaceAll(sent, " ", "+")) // a + that was not escaped
	if !ok {
		if t, _, ok = text.ParseMoment(sent); !ok {
			v.Add(name, doc.GiftTime)
		}
	}
	if t.Before(firstDay) { // no gift is older, and the zero time would filter nothing
		t = firstDay
	}
	return t
}

var firstDay = time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC)

// ImportParameter is what links call the import that has created contacts or gifts. The API has no imports, and does
// not know it.
const ImportParameter = "import"
