package giving

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/text"
)

// GiftInput is what a client, a form or a row of a file says about a gift. A nil field was not sent; an empty one was
// sent to clear the field. Amounts are in ten-thousandths, since the currency may not be known yet.
type GiftInput struct {
	Amount, Fee, FeeCovered        *int64
	Currency, Status, Method       *string
	Campaign, Contact              *int64
	CampaignCode                   *string // its slug, where that and no id names the campaign; the store looks it up
	Plan                           *string
	GivenAt                        *string // a date or a time
	Giver                          crm.ContactInput
	Email, Phone                   *string
	Address                        **crm.Address
	Dedication                     **Dedication
	OptIn                          *bool
	ExternalID, Check, DepositedAt *string
	Note                           *string
	Thanks                         *string // how the giver was thanked
	SendReceipt                    bool    // thank the giver by mail, with a receipt
	Benefit                        *string // what the giver got in return
	BenefitValue                   *int64
	Test                           bool   // of a payment provider's test mode
	Seen                           string // the version of the gift that the change is about; "" for whatever is there
	Known                          bool   // the giver, who has no name here, must be a contact already
	Anonymous                      bool   // no one knows who gave; a giver that is named counts before it
	// the contact is that of a plan whose gifts come by themselves, also while it is archived
	OfPlan  bool
	FromRow bool // the external id was made from all that was sent
	// ten characters of its public id, which are random where it is empty; the demo has the ids of the documentation
	Code       string
	Correction bool   // money that differs was entered wrong, and is corrected
	Filed      *Filed // what a file says beyond that; nil where it comes from no file

	SentAs map[string]string // what the columns of a file are called, by the names of the wire
	Sign   string            // of a currency, that a file has beside the amount

	at, deposited time.Time // what Validate worked out
	future        bool      // at is after now, or after today
}

// givenAt is when the gift was made. A day alone is noon of that day in UTC: GiftClock knows it by that.
func givenAt() doc.Field[*Gift, *GiftInput] {
	f := sentTime("transacted_at", "Date", func(g *Gift) *time.Time { return &g.At },
		func(in *GiftInput) **string { return &in.GivenAt })
	f.Fill = func(g *Gift, _ doc.Place, set doc.Setter) { set("transacted_at", DayInput(g.Local)) }
	f.Check = func(c *doc.Checker, at doc.Place, in *GiftInput) {
		if c.HasAt(at, "transacted_at") {
			return
		}
		if in.GivenAt == nil || *in.GivenAt == "" {
			if c.IsNew {
				c.AddAt(at, "transacted_at", doc.Required)
			} else if in.GivenAt != nil {
				c.AddAt(at, "transacted_at", doc.NotEmpty)
			}
			return
		}
		latest, rule := c.Now.Add(ClockSkew), doc.NotInFuture
		// Change knows whether it is a promise
		if status := value(in.Status); status == string(Pending) || !c.IsNew && status == "" {
			latest, rule = c.Now.AddDate(promiseYears, 0, 0), doc.TooFarAhead
		}
		in.at, in.future = CheckTime(c, at, "transacted_at", *in.GivenAt, latest, rule),
			isAfter(*in.GivenAt, c.Now.Add(ClockSkew))
	}
	return f
}

// promiseYears is how far ahead a promise may be due.
const promiseYears = 20

func depositedAt() doc.Field[*Gift, *GiftInput] {
	f := sentTime("check_deposited_at", "Check deposited", func(g *Gift) *time.Time { return &g.Deposited },
		func(in *GiftInput) **string { return &in.DepositedAt })
	f.Check = func(c *doc.Checker, at doc.Place, in *GiftInput) {
		if in.DepositedAt != nil && *in.DepositedAt != "" && !c.HasAt(at, "check_deposited_at") {
			in.deposited = CheckTime(c, at, "check_deposited_at", *in.DepositedAt, c.Now.Add(ClockSkew),
				doc.NotInFuture)
		}
	}
	return f
}

// CheckTime reads a date or a time that lies between 1900 and the latest one. rule is what a later one breaks. A date
// may be that of the latest time where that is: its location says so.
func CheckTime(c *doc.Checker, at doc.Place, name, sent string, latest time.Time, rule doc.Rule) time.Time {
	t, isDay, ok := text.ParseMoment(sent)
	later := isAfter(sent, latest)
	if isDay {
		t = t.Add(dayTime)
	}
	switch {
	case !ok:
		c.AddAt(at, name, doc.GiftTime)
	case later && rule == doc.TooFarAhead:
		c.AddAt(at, name, rule, promiseYears)
	case later:
		c.AddAt(at, name, rule)
	case t.Year() < 1900:
		c.AddAt(at, name, doc.NotBefore1900)
	}
	return t
}

// isAfter tells whether a date or a time is after the latest one. A date is compared with the date there.
func isAfter(value string, latest time.Time) bool {
	t, isDay, _ := text.ParseMoment(value)
	if isDay {
		latest = text.WallClock(latest, latest.Location())
	}
	return t.After(latest)
}

// dayTime is when a gift was made of which only the day is known: at noon in UTC.
const dayTime = 12 * time.Hour

// GiftClock is when a gift was made, by the clock of the organization: the day of it is the day of the gift. A gift of
// which only the day is known stays on that day, whatever the zone is.
func GiftClock(at time.Time, zone *time.Location) time.Time {
	local := text.WallClock(at, zone)
	if IsDay(at) || local.Before(firstDay) {
		return at.UTC()
	}
	return local
}

// IsDay tells whether only the day of a gift is known.
func IsDay(at time.Time) bool { return at.Equal(at.Truncate(24 * time.Hour).Add(dayTime)) }

// AnywhereToday is a time in the zone where days begin first. The API takes a date that is today somewhere: it does not
// ask where its client is.
func AnywhereToday(now time.Time) time.Time { return now.In(firstZone) }

var firstZone = time.FixedZone("", 14*60*60)

// ClockSkew is how far the clock of a client may be ahead.
const ClockSkew = time.Minute

// DecodeNewGift is DecodeGift for a create, where the parts of the donor's address may stand beside the gift, as of a
// contact.
func DecodeNewGift(r *doc.Reader) (in GiftInput, faults *doc.Invalid, err error) {
	var flat crm.Address
	r.Document(func(key string) {
		if key == "address" && r.Next() != '"' || !crm.ReadAddressPart(r, key, &flat) {
			in.read(r, key)
		}
	})
	if err := r.End(); r.Err != nil {
		return GiftInput{}, nil, err
	}
	switch {
	case flat == (crm.Address{}):
	case in.Address == nil:
		in.Address = new(&flat)
	case *in.Address != nil: // both, which may say the same
		for i := range crm.AddressTable {
			part := &crm.AddressTable[i]
			if said := part.Text(&flat); said != "" && said != part.Text(*in.Address) {
				r.Fault.Add(part.Name, doc.OtherValue, "address."+part.Name)
			}
		}
	}
	return in, &r.Fault, nil
}

// DecodeGift reads the body of a change. Keys that are unknown or read-only are ignored.
func DecodeGift(r *doc.Reader) (in GiftInput, faults *doc.Invalid, err error) {
	r.Document(func(key string) { in.read(r, key) })
	if err := r.End(); r.Err != nil {
		return GiftInput{}, nil, err
	}
	return in, &r.Fault, nil
}

func (in *GiftInput) read(r *doc.Reader, key string) {
	switch key {
	case "campaign_id":
		giftCampaign.Read(r, in)
	case "campaign_code":
		in.CampaignCode = r.TextSent()
	case "correction":
		in.Correction = r.Boolean()
	case "anonymous":
		in.Anonymous = r.Boolean()
	case "thanks":
		if in.Thanks = r.TextSent(); *in.Thanks == "" {
			in.Thanks = nil
		}
	case "thanked_at", "thanked_by", "receipt", "voided":
		r.Skip()
	case "send_receipt":
		in.SendReceipt = r.Boolean()
	default:
		GiftTable.Read(r, key, in)
	}
}

// DecodeRefund reads the body of a refund, or of the undoing of one: an amount in ten-thousandths, nil for all.
func DecodeRefund(r *doc.Reader) (amount *int64, err error) {
	r.Document(func(key string) {
		if key == "amount" {
			amount = readMoney(r, doc.MoneyRange)
		} else {
			r.Ignore()
		}
	})
	return amount, r.End()
}

// ParseMoney reads an amount that a person typed or a file holds into ten-thousandths: 1500, 1500.50. grouped also
// takes what people write between thousands, and the sign of the currency.
func ParseMoney(v *doc.Invalid, field, value, currency string, grouped bool) *int64 {
	value = strings.TrimSpace(value)
	if value == "" {
		return nil
	}
	digits, ok := value, strings.Trim(value, "0123456789.") == "" && strings.Trim(value, ".") != ""
	if grouped && !ok {
		digits, ok = text.TypedAmount(value, currency)
	}
	n := int64(0)
	if ok {
		n, ok = text.ParseDecimal(digits, text.SentDecimals, text.SentDigits)
	}
	_, fraction, _ := strings.Cut(digits, ".")
	switch decimals := text.Decimals(currency); {
	case !ok:
		v.Add(field, doc.MoneyRange)
	case currency == "" && len(fraction) > decimals && strings.HasSuffix(fraction, "0"): // 1.500 may mean 1500
		v.Add(field, "must not end with a zero after more than %v decimals: write 1500 or 1.5", decimals)
	case currency != "" && len(fraction) > decimals:
		v.Add(field, doc.TooFine, decimals, currency)
	}
	return &n
}

// Validate checks everything about the input that does not depend on what is stored. A new gift needs an amount, a
// method, a time and a giver. faults are those found while reading.
func (in *GiftInput) Validate(faults *doc.Invalid, isNew bool, region string, now time.Time) error {
	c := doc.NewChecker(faults, isNew)
	c.Region, c.Now = region, now
	in.settleCampaign(isNew)
	if isNew {
		in.checkNew(c)
	} else if in.Contact != nil && *in.Contact == 0 {
		c.AddAt(doc.Place{}, "contact_id", doc.NotEmpty)
	}
	GiftTable.Check(c, doc.Place{}, in)
	in.checkMoney(c)
	in.checkFiled(c)
	checkThanks(c, in.Thanks)
	if isNew && in.Contact == nil {
		in.checkGiver(c)
	}
	doc.SortFaults(&c.Invalid, giftFields)
	return c.Err()
}

// settleCampaign lets the id of a campaign count before its code, so that a gift that is sent back with another id
// means that one. For a new gift, null is no id.
func (in *GiftInput) settleCampaign(isNew bool) {
	none := int64(0)
	switch {
	case in.CampaignCode == nil:
	case in.Campaign != nil && (*in.Campaign != 0 || !isNew):
		in.CampaignCode = nil
	case *in.CampaignCode == "":
		in.Campaign, in.CampaignCode = &none, nil
	}
}

// NoCampaign is the fault of a campaign that is none of the account's.
func (in *GiftInput) NoCampaign() error {
	if in.CampaignCode != nil {
		return doc.NewInvalid("campaign_code", "must be the code of one of the account's campaigns")
	}
	return doc.NewInvalid("campaign_id", doc.Unknown, "campaigns")
}

func (in *GiftInput) checkNew(c *doc.Checker) {
	if in.Amount == nil {
		c.AddAt(doc.Place{}, "amount", doc.Required)
	}
	if in.Method == nil || *in.Method == "" {
		c.AddAt(doc.Place{}, "method", doc.Required)
	}
	if in.Contact != nil && *in.Contact == 0 {
		in.Contact = nil // null is the same as not sent
	}
}

// providers are payment providers; references that begin with one and a colon are theirs.
var providers = []string{"stripe", "paypal", "venmo", "square", "braintree", "adyen", "mollie", "gocardless", "pretend"}

func (in *GiftInput) checkMoney(c *doc.Checker) {
	if in.Amount != nil && (*in.Amount < 0 || *in.Amount == 0 && value(in.Method) != InKind ||
		*in.Amount > text.MaxSentMoney) {
		c.AddAt(doc.Place{}, "amount", doc.MoneyRange)
	}
	if in.Amount == nil || c.HasFault("amount") {
		return
	}
	if in.Fee != nil && *in.Fee > *in.Amount {
		c.AddAt(doc.Place{}, "fee", doc.FeeOverAmount)
	}
	if value(in.FeeCovered) > 0 && *in.FeeCovered >= *in.Amount {
		c.AddAt(doc.Place{}, "fee_covered", doc.CoveredOverAmount)
	}
}

// giverFaults are the names of a contact's fields, where a gift has them by another name.
var giverFaults = strings.NewReplacer("external_ids", GiverID, "external_id", GiverID, "emails.0.value", "email",
	"phones.0.value", "phone", "addresses.0", "address", "emails", "email", "phones", "phone", "addresses", "address")

// GiverID is what a file calls the id that another system gives to the contact.
const GiverID = "contact_external_id"

// AnonymousID is what tells the contact of an account that has all gifts of people whom no one knows. People may call
// it whatever they like.
var AnonymousID = crm.ExternalID{Source: "donorbook", Value: "anonymous"}

// ArchivedAnonymous is broken by an anonymous gift while that contact is archived.
const ArchivedAnonymous doc.Rule = "cannot be true while the contact for anonymous gifts is archived: restore it first"

func anonymousGiver() crm.ContactInput {
	return crm.ContactInput{FirstName: new("Anonymous"), LastName: new("Donor"),
		AddedIDs: []crm.ExternalID{AnonymousID}}
}

// Words of names that a file has because no one knows who gave: Anonymous, Unknown Donor, Loose Offering, Kollekte.
// Those that may be the name of a person say it together with another one.
var (
	anonymousWords = strings.Fields("anonymous anon anonym anonyme anonymer anonimo anonima unknown unbekannt inconnu desconocido private privat kollekte klingelbeutel")
	crowdWords     = strings.Fields("loose plate offering offerings offertory collection cash open basket")
	giverWords     = strings.Fields("donor donors giver gift gifts spender spenderin donateur donante supporter contributor general change coins checks sunday")
)

// saysAnonymous tells whether a file has such a name because no one knows who gave.
func saysAnonymous(name string) bool {
	words := text.Words(name)
	count := func(known []string) (n int) {
		for _, word := range words {
			n += map[bool]int{true: 1}[slices.Contains(known, word)]
		}
		return n
	}
	anonymous, crowd := count(anonymousWords), count(crowdWords)
	return (anonymous > 0 || crowd > 1) && anonymous+crowd+count(giverWords) == len(words)
}

// checkGiver checks the giver as a contact that may be new.
func (in *GiftInput) checkGiver(c *doc.Checker) {
	if in.Email != nil && *in.Email != "" {
		in.Giver.Emails = &[]crm.Email{{Value: *in.Email}}
	}
	if in.Phone != nil && *in.Phone != "" {
		in.Giver.Phones = &[]crm.Phone{{Value: *in.Phone}}
	}
	if in.Address != nil && *in.Address != nil {
		in.Giver.Addresses = &[]crm.Address{**in.Address}
	}
	hasKey := in.Giver.Emails != nil || in.Giver.Phones != nil || in.Giver.AddedIDs != nil
	name := strings.TrimSpace(value(in.Giver.FirstName) + " " + value(in.Giver.LastName))
	name = cmp.Or(name, value(in.Giver.Company)) // of a person, it is the employer
	switch isNamed := hasKey || strings.TrimSpace(name) != ""; {
	case in.Anonymous && !isNamed, in.Filed != nil && !hasKey &&
		(!isNamed || in.Giver.Addresses == nil && saysAnonymous(name)):
		in.Anonymous, in.Giver = true, anonymousGiver()
	case !isNamed:
		c.AddAt(doc.Place{}, "contact_id", doc.GiverRequired)
		return
	default:
		in.Anonymous = false
	}
	if in.Giver.FromRow = in.Filed != nil; in.Filed != nil && value(in.Giver.Company) == "" {
		in.Giver.IsCompany = nil
	}
	if in.Filed == nil && value(in.Giver.FirstName)+value(in.Giver.LastName) == "" && hasKey &&
		(!value(in.Giver.IsCompany) || value(in.Giver.Company) == "") {
		in.Known, in.Giver.FirstName, in.Giver.LastName, in.Giver.IsCompany = true, nil, nil, nil
	}
	var faults *doc.Invalid
	if errors.As(GiverFaults(in.Giver.Validate(nil, !in.Known && in.Filed == nil, c.Region, c.Now)), &faults) {
		for _, fault := range faults.Faults {
			c.AddAt(doc.Place{}, fault.Field, fault.Rule, fault.Args...)
		}
	}
}

// Named is an error whose faults call the fields as the columns of the file are called that the input was read from.
func (in *GiftInput) Named(err error) error {
	var faults *doc.Invalid
	if in.SentAs == nil || !errors.As(err, &faults) {
		return err
	}
	named := &doc.Invalid{Faults: slices.Clone(faults.Faults)} // other rows may have the same error
	for i := range named.Faults {
		f := &named.Faults[i]
		if f.Rule == doc.GiverRequired { // the table may have no column for the id
			*f = doc.Fault{Rule: "The row does not say who gave. Add an email, a phone, a contact ID, a first and last name, or a company."}
		} else if column, found := in.SentAs[f.Field]; found {
			f.Field = column
		}
	}
	return named
}

// NewGift is the gift that a valid input describes. The store gives it its id.
func NewGift(in *GiftInput, contact *crm.Contact, currency, plan string, now time.Time) (Gift, error) {
	g := Gift{
		Code: in.Code, Contact: contact.ID, Giver: in.giver(GiverOf(contact)), Test: in.Test, Status: Succeeded,
		Method: *in.Method, Currency: currency,
		PlanCode: plan, At: in.at, CreatedAt: now.UTC().Truncate(time.Second), Deposited: in.deposited,
	}
	if in.Campaign != nil {
		g.Campaign = *in.Campaign
	}
	g.IDs = in.Filed.ids(value(in.ExternalID))
	payment := Entry{ID: text.Random62(codeLength)}
	var v doc.Invalid
	if !text.SignFits(in.Sign, currency) {
		v.Add("amount",
			"has the sign %v, but the gift would be in %v: add a column with the currency, such as USD or EUR", in.Sign,
			currency)
	}
	for _, m := range moneyOf(in, &payment) {
		if m.sent != nil {
			*m.to = m.minor(currency, &v)
		}
	}
	GiftTable.Patch(&g, in, now)
	g.Contact, g.PlanCode, g.Currency = contact.ID, plan, currency
	if g.Status == "" {
		g.Status = Succeeded
	}
	if g.Status == Succeeded {
		payment.CapturedAt = g.At
	}
	g.Entries = []Entry{payment}
	if g.ask(in, now); in.Thanks != nil {
		g = g.Thanked(*in.Thanks, "", now)
	}
	if err := v.Err(); err != nil {
		return g, err
	}
	return g.takeBack(in)
}

// giver is what was sent about the giver, and for the rest what is known.
func (in *GiftInput) giver(g Giver) Giver {
	if in.Contact != nil {
		return g
	}
	for _, f := range []struct {
		sent *string
		to   *string
	}{{in.Giver.FirstName, &g.FirstName}, {in.Giver.LastName, &g.LastName}, {in.Giver.Company, &g.Company},
		{in.Email, &g.Email}, {in.Phone, &g.Phone}} {
		if f.sent != nil && *f.sent != "" {
			*f.to = *f.sent
		}
	}
	if in.Giver.Addresses != nil && len(*in.Giver.Addresses) > 0 { // one that says anything
		g.Address = &(*in.Giver.Addresses)[0]
	}
	return g
}

// Differs is the rule that an external id breaks whose gift is not what the input describes, with the gift as its
// argument; "" where it is.
func (in *GiftInput) Differs(g *Gift) doc.Rule {
	switch {
	case in.FromRow: // the gift may have been changed since
		return ""
	case in.Filed != nil:
		return in.otherPayment(g)
	case !in.agrees(g):
		return "belongs to %v, which differs from what was sent"
	}
	return ""
}

// value is what was sent, or nothing.
func value[T any](sent *T) (v T) {
	if sent != nil {
		v = *sent
	}
	return v
}

// Time is when a valid gift was given.
func (in *GiftInput) Time() time.Time { return in.at }
