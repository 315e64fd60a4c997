// Package giving has gifts and plans: what was given, its ledger, what may be said about it, which gifts a list shows,
// and how gifts are summed up. It knows contacts, because a gift keeps what its giver was called, and campaigns by
// their ids alone.
package giving

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/text"
)

// Gift is money, or a thing, that one contact gave on one day, for one campaign or for none. The API calls it a
// transaction. It is appended; its money is never edited, but refunded, or corrected by further entries.
type Gift struct {
	ID       int64  // the account's number and a sequence number
	Code     string // public id
	Campaign int64  // 0 is none
	PlanCode string // public id of its plan; "" is none
	Contact  int64
	Giver    Giver
	Status   GiftStatus
	Method   string
	Currency string
	Entries  []Entry // the payment, then each refund and correction
	At       time.Time
	// At by the organization's clock (GiftClock): its day, month and year are the gift's. It stands beside the document
	Local      time.Time
	CreatedAt  time.Time
	Dedication *Dedication      // nil where there is none
	OptIn      bool             // to hear from the organization
	ExternalID string           // "" is unset here and below
	IDs        []crm.ExternalID // all that a file calls it, where that is more than one: the sources are headings
	Check      string           // number of a check
	Deposited  time.Time        // when the check was
	Note       string
	Test       bool // of a payment provider's test mode: it counts nowhere
	Thanks     Thanks
	Benefit    Benefit
	Receipt    string // number of the receipt that is valid for it
	Void       *Void  // nil unless it was voided
}

// GiftStatus is what became of a gift.
type GiftStatus string

const (
	Succeeded GiftStatus = "succeeded"
	Pending   GiftStatus = "pending" // promised
	Failed    GiftStatus = "failed"
	Cancelled GiftStatus = "cancelled"
)

// GiftStatuses and NumberedMethods are in the order in which the database numbers them; Methods are in the order in
// which people choose.
var (
	GiftStatuses    = []GiftStatus{Succeeded, Pending, Failed, Cancelled, Voided}
	NumberedMethods = []string{"card", "ach", "direct_debit", "bank_transfer", "check", "cash", "paypal", "venmo",
		"stock", "in_kind", "other", "donor_advised_fund"}
	Methods = []string{"card", "ach", "direct_debit", "bank_transfer", "check", "cash", "paypal", "venmo",
		"donor_advised_fund", "stock", "in_kind", "other"}
)

// InKind is the method of things. One whose value no one knows has an amount of 0.
const InKind = "in_kind"

// Giver is a contact as it was when a gift was made.
type Giver struct {
	FirstName, LastName, Company, Email, Phone string
	Address                                    *crm.Address
}

// GiverOf is a contact as it is now.
func GiverOf(c *crm.Contact) Giver {
	g := Giver{FirstName: c.FirstName, LastName: c.LastName, Company: c.Company}
	if len(c.Emails) > 0 {
		g.Email = c.Emails[0].Value
	}
	if len(c.Phones) > 0 {
		g.Phone = c.Phones[0].Value
	}
	if len(c.Addresses) > 0 {
		g.Address = &c.Addresses[0]
	}
	return g
}

// Name is the giver as people call them: a company without a person by its name.
func (g Giver) Name() string {
	return cmp.Or(strings.TrimSpace(g.FirstName+" "+g.LastName), g.Company, g.Email, g.Phone)
}

// Dedication is whom a gift honors.
type Dedication struct {
	Type                                string // in_honor_of or in_memory_of
	Name, RecipientName, RecipientEmail string
}

// Entry is one movement of money. The numbers of a refund, and of what takes a wrong payment back, are negative.
// Amounts are in the smallest unit of the gift's currency.
type Entry struct {
	ID         string
	Amount     int64 // what was paid
	Fee        int64 // what a processor kept
	FeeCovered int64 // the part of the fee that the giver added
	CapturedAt time.Time
	RefundedAt time.Time // of a refund; of a payment: since when all of it is gone
}

// Donated is what the giver meant to give.
func (e *Entry) Donated() int64 { return e.Amount - e.FeeCovered }

// Payout is what arrives.
func (e *Entry) Payout() int64 { return e.Amount - e.Fee }

// Payment is the entry that says what was paid: the first one, or what the last correction has made of it.
func (g *Gift) Payment() *Entry {
	for i := len(g.Entries) - 1; i > 0; i-- {
		if g.Entries[i-1].IsReversal() {
			return &g.Entries[i]
		}
	}
	return &g.Entries[0]
}

// Left is what is left of the amount after all refunds.
func (g *Gift) Left() (amount int64) {
	for i := range g.Entries {
		amount += g.Entries[i].Amount
	}
	return amount
}

// Refunded is what was given back, less what of that was undone.
func (g *Gift) Refunded() int64 { return g.Payment().Amount - g.Left() }

// Net is what the gift adds to every sum: what was donated less refunds, and nothing while it does not count.
func (g *Gift) Net() (donated int64) {
	if g.Status != Succeeded || g.Test {
		return 0
	}
	for i := range g.Entries {
		donated += g.Entries[i].Donated()
	}
	return donated
}

// Plan is the id of the gift's plan, 0 for none.
func (g *Gift) Plan() int64 { return codeID(doc.IDAccount(g.ID), g.PlanCode) }

// codeID is the id that a public id stands for in an account, 0 for none.
func codeID(account int64, code string) int64 {
	if seq, ok := CodeSeq(code); ok {
		return doc.MakeID(account, seq)
	}
	return 0
}

// GiftTable is a gift, field by field, from plan_id on: what comes before is written when a gift is read. Its tail is
// of fields that most gifts do not have: where a gift has none of them, its stored document ends before them.
var GiftTable = slices.Concat(giftHead, giftTail)

var giftHead = doc.Table[*Gift, *GiftInput]{
	giftText("plan_id", "Plan", doc.String(doc.MaxText), func(g *Gift) *string { return &g.PlanCode },
		func(in *GiftInput) **string { return &in.Plan }),
	unset[*Gift, *GiftInput]("team_id"), unset[*Gift, *GiftInput]("member_id"), unset[*Gift, *GiftInput]("fund_id"),
	unset[*Gift, *GiftInput]("fund_code"), unset[*Gift, *GiftInput]("giving_space"),
	numberField("contact_id", "Contact", func(g *Gift) *int64 { return &g.Contact },
		func(in *GiftInput) **int64 { return &in.Contact }),
	giverText("first_name", "First name", func(g *Gift) *string { return &g.Giver.FirstName },
		func(in *GiftInput) **string { return &in.Giver.FirstName }),
	giverText("last_name", "Last name", func(g *Gift) *string { return &g.Giver.LastName },
		func(in *GiftInput) **string { return &in.Giver.LastName }),
	giverText("company", "Company", func(g *Gift) *string { return &g.Giver.Company },
		func(in *GiftInput) **string { return &in.Giver.Company }),
	giverText("email", "Email", func(g *Gift) *string { return &g.Giver.Email },
		func(in *GiftInput) **string { return &in.Email }),
	giverText("phone", "Phone", func(g *Gift) *string { return &g.Giver.Phone },
		func(in *GiftInput) **string { return &in.Phone }),
	giverAddress(),
	giftText("status", "Status", doc.Among(text.Strings(SentStatuses)...),
		func(g *Gift) *string { return (*string)(&g.Status) }, func(in *GiftInput) **string { return &in.Status }),
	giftText("method", "Method", doc.Among(Methods...), func(g *Gift) *string { return &g.Method },
		func(in *GiftInput) **string { return &in.Method }),
	paymentMethod(),
	giftMoney("amount", "Amount", doc.MoneyRange, (*Gift).amount, func(in *GiftInput) **int64 { return &in.Amount }),
	giftMoney("fee", "Fee", doc.FeeRange, (*Gift).fee, func(in *GiftInput) **int64 { return &in.Fee }),
	giftMoney("fee_covered", "Fee covered by the donor", doc.FeeRange, (*Gift).feeCovered,
		func(in *GiftInput) **int64 { return &in.FeeCovered }),
	giftMoney("donated", "", "", (*Gift).Donated, nil),
	giftMoney("payout", "", "", (*Gift).payout, nil),
	giftText("currency", "Currency", doc.Matching(text.IsCurrency, doc.Currency),
		func(g *Gift) *string { return &g.Currency }, func(in *GiftInput) **string { return &in.Currency }),
	givenAt(),
	doc.Kept[*Gift, *GiftInput]("created_at", crm.ContactTime, func(g *Gift) *time.Time { return &g.CreatedAt }),
	doc.Sent("dedication", "Dedication", dedicationKind(), func(g *Gift) **Dedication { return &g.Dedication },
		func(in *GiftInput) ***Dedication { return &in.Dedication }),
	entriesField(),
	doc.Derived[*Gift, *GiftInput]("line_items", func(dst []byte, g *Gift) []byte {
		return g.Payment().appendItems(dst,
			g.Currency)
	}),
	doc.Derived[*Gift, *GiftInput]("custom_fields", func(dst []byte, _ *Gift) []byte { return append(dst, `[]`...) }),
	unset[*Gift, *GiftInput]("utm_parameters"), unset[*Gift, *GiftInput]("attribution_data"),
	unset[*Gift, *GiftInput]("session_id"),
	doc.Sent("communication_opt_in", "Wants to hear from us", doc.YesNo, func(g *Gift) *bool { return &g.OptIn },
		func(in *GiftInput) **bool { return &in.OptIn }),
	giftText("external_id", "External ID", referenceKind(), func(g *Gift) *string { return &g.ExternalID },
		func(in *GiftInput) **string { return &in.ExternalID }),
	giftText("check_number", "Check number", doc.String(doc.MaxText), func(g *Gift) *string { return &g.Check },
		func(in *GiftInput) **string { return &in.Check }),
	depositedAt(),
	giftText("note", "Note", doc.String(crm.MaxNote), func(g *Gift) *string { return &g.Note },
		func(in *GiftInput) **string { return &in.Note }),
	livemode(),
}

// giftCampaign comes before the fields of the table.
var giftCampaign = numberField("campaign_id", "Campaign", func(g *Gift) *int64 { return &g.Campaign },
	func(in *GiftInput) **int64 { return &in.Campaign })

var giftFields = append([]string{"campaign_id", "campaign_code"}, GiftTable.Paths()...)

// dedicationKind is a document, or the text that a person would write: In memory of Ann Lee.
func dedicationKind() doc.Kind[*Dedication] {
	k := doc.Nested(dedicationTable)
	object := k.Read
	k.Read = func(r *doc.Reader) *Dedication {
		if r.Next() != '"' {
			return object(r)
		}
		kind, name := DedicatedTo(r.Text())
		switch {
		case name == "":
			return nil
		case doc.IsLonger(name, doc.MaxText):
			r.Wrong(doc.TooLong, doc.MaxText)
			return nil
		}
		return &Dedication{Type: cmp.Or(kind, inHonor), Name: name}
	}
	return k
}

// The kinds of dedications.
const (
	inHonor  = "in_honor_of"
	inMemory = "in_memory_of"
)

// DedicationTypes are the kinds of dedications.
var DedicationTypes = []string{inHonor, inMemory}

// DedicatedTo reads a dedication in words: its kind, "" where none is named, and to whom it is.
func DedicatedTo(words string) (kind, name string) {
	for _, known := range [...]struct{ words, kind string }{
		{"in honor of ", inHonor}, {"in honour of ", inHonor}, {"in celebration of ", inHonor},
		{"in memory of ", inMemory}, {"in loving memory of ", inMemory}, {"in memoriam ", inMemory},
	} {
		if len(words) > len(known.words) && strings.EqualFold(words[:len(known.words)], known.words) {
			return known.kind, strings.TrimSpace(words[len(known.words):])
		}
	}
	return "", words
}

var dedicationTable = doc.Table[*Dedication, *Dedication]{
	doc.Part("type", "type", doc.Among(DedicationTypes...).Needed(), func(d *Dedication) *string { return &d.Type }),
	doc.Part("name", "name", doc.String(doc.MaxText), func(d *Dedication) *string { return &d.Name }),
	doc.Part("recipient_name", "recipient", doc.String(doc.MaxText),
		func(d *Dedication) *string { return &d.RecipientName }),
	doc.Part("recipient_email", "recipient's email", doc.Choice(doc.MaxText, doc.EmailForm, isEmail),
		func(d *Dedication) *string { return &d.RecipientEmail }),
}

func isEmail(value string) bool {
	_, ok := text.NormalEmail(value)
	return ok
}

func (g *Gift) amount() int64     { return g.Payment().Amount }
func (g *Gift) fee() int64        { return g.Payment().Fee }
func (g *Gift) feeCovered() int64 { return g.Payment().FeeCovered }
func (g *Gift) payout() int64     { return g.Payment().Payout() }

// Donated is what the giver meant to give, before any refund.
func (g *Gift) Donated() int64 { return g.Payment().Donated() }

// giftText is a text of a gift that is sent and stored; rules about its change are in Gift.Change.
//
//go:noinline
func giftText(name, label string, k doc.Kind[string], in func(*Gift) *string,
	of func(*GiftInput) **string,
) doc.Field[*Gift, *GiftInput] {
	return doc.Sent(name, label, k, in, of)
}

// unset is a key that is kept for clients and never used.
func unset[D, I any](name string) doc.Field[D, I] {
	return doc.Derived[D, I](name, func(dst []byte, _ D) []byte { return append(dst, `null`...) })
}

// giverText is what a gift says about its giver. It is checked as that of a contact, and never patched.
func giverText(name, label string, in func(*Gift) *string, of func(*GiftInput) **string) doc.Field[*Gift, *GiftInput] {
	f := doc.Sent(name, label, doc.String(doc.MaxText), in, of)
	f.Check, f.Merge, f.Patch = nil, nil, nil
	return f
}

func giverAddress() doc.Field[*Gift, *GiftInput] {
	k := doc.Nested(crm.AddressTable)
	f := doc.Sent("address", "Address", k, func(g *Gift) **crm.Address { return &g.Giver.Address },
		func(in *GiftInput) ***crm.Address { return &in.Address })
	f.Check, f.Merge, f.Patch = nil, nil, nil
	f.Same = func(a, b *Gift) bool {
		return string(k.Append(nil, a.Giver.Address)) == string(k.Append(nil, b.Giver.Address))
	}
	return f
}

// paymentMethod repeats the method, and may be sent instead of it.
func paymentMethod() doc.Field[*Gift, *GiftInput] {
	f := doc.Derived[*Gift, *GiftInput]("payment_method",
		func(dst []byte, g *Gift) []byte { return doc.AppendText(dst, g.Method) })
	f.Read = func(r *doc.Reader, in *GiftInput) {
		if value := r.Text(); in.Method == nil || *in.Method == "" {
			in.Method = &value
		}
	}
	return f
}

// numberField is the id of something else; null is none.
func numberField(name, label string, in func(*Gift) *int64, of func(*GiftInput) **int64) doc.Field[*Gift, *GiftInput] {
	return doc.Sent(name, label, idKind, in, of)
}

// idKind is the id of a contact or a campaign; null is 0.
var idKind = doc.Kind[int64]{
	Read: (*doc.Reader).ID,
	Append: func(dst []byte, id int64) []byte {
		if id == 0 {
			return append(dst, `null`...)
		}
		return strconv.AppendInt(dst, id, 10)
	},
	Text: func(id int64) string { return doc.EmptyWhere(id == 0, strconv.FormatInt(id, 10)) },
	Take: func(form doc.Form, name string) int64 { return sentFormOf(form).id(name) },
}

// giftMoney is an amount of a gift, shown from its ledger.
func giftMoney(name, label string, rule doc.Rule, of func(*Gift) int64,
	from func(*GiftInput) **int64,
) doc.Field[*Gift, *GiftInput] {
	return money(name, label, rule, func(g *Gift) (int64, string) { return of(g), g.Currency }, from)
}

// money is an amount. What is sent is in ten-thousandths; a form has it as people write it, and 0 as nothing.
func money[D, I any](name, label string, rule doc.Rule, of func(D) (units int64, currency string),
	from func(I) **int64,
) doc.Field[D, I] {
	f := doc.Derived[D, I](name, func(dst []byte, doc D) []byte {
		units, currency := of(doc)
		return text.AppendMinor(dst, units, currency)
	})
	f.Label = label
	if from != nil {
		f.Read = func(r *doc.Reader, in I) { *from(in) = readMoney(r, rule) }
		f.Take = func(form doc.Form, _ doc.Place, in I) { *from(in) = sentFormOf(form).money(name, rule) }
		f.Fill = func(is D, _ doc.Place, set doc.Setter) {
			units, currency := of(is)
			set(name, doc.EmptyWhere(units == 0 && rule != doc.MoneyRange, text.MoneyInput(units, currency)))
		}
	}
	return f
}

// readMoney reads an amount in ten-thousandths; nil is null.
func readMoney(r *doc.Reader, rule doc.Rule) *int64 {
	if r.Next() == 'n' {
		r.Skip()
		return nil
	}
	n := doc.ReadDecimal(r, text.SentDecimals, text.SentDigits, rule)
	return &n
}

// livemode is told when a gift is recorded, and stays.
func livemode() doc.Field[*Gift, *GiftInput] {
	f := doc.Derived[*Gift, *GiftInput]("livemode", func(dst []byte, g *Gift) []byte {
		return strconv.AppendBool(dst,
			!g.Test)
	})
	f.Load = func(r *doc.Reader, g *Gift) { g.Test = !r.Boolean() }
	f.Read = func(r *doc.Reader, in *GiftInput) {
		isNull := r.Next() == 'n'
		in.Test = !r.Boolean() && !isNull
	}
	f.Merge = func(g *Gift, in *GiftInput, _ time.Time) { g.Test = g.Test || in.Test }
	return f
}

// AppendGift appends the wire form of a gift whose stored body is given. The slug of its campaign may change, so it is
// put in here, and so is what follows from the body.
func AppendGift(dst []byte, id int64, code string, campaign int64, slug string, body []byte) []byte {
	dst = append(append(append(dst, `{"id":"`...), code...), `","number":"`...)
	dst = append(append(dst, GiftNumber(id)...), `","campaign_id":`...)
	dst = append(idKind.Append(dst, campaign), `,"campaign_code":`...)
	dst = append(append(doc.AppendText(dst, slug), body[:len(body)-1]...), `,"is_recurring":`...)
	dst = strconv.AppendBool(dst, !bytes.HasPrefix(body, []byte(`,"plan_id":null`)))
	return append(crm.ContactTime.Append(append(dst, `,"refunded_at":`...), refundedIn(id, body)), '}')
}

// refundedIn is since when nothing is left of a gift. Most have one entry, which is no refund: their documents need not
// be read.
func refundedIn(id int64, body []byte) (at time.Time) {
	if isRefund := []byte(`"refunded":true`); bytes.Contains(body, isRefund) {
		if g, err := ParseGift(id, "", 0, body); err == nil {
			at = g.Payment().RefundedAt
		}
	}
	return at
}

// AppendBody appends everything of the wire form that follows the campaign. This is what the store keeps.
func (g *Gift) AppendBody(dst []byte) []byte {
	if dst = giftHead.Append(dst, g); g.Benefit != (Benefit{}) {
		dst = giftTail.Append(dst, g)
	}
	for i := range g.IDs { // most gifts have none
		if i == 0 {
			dst = append(dst, `,"external_ids":[`...)
		} else {
			dst = append(dst, ',')
		}
		dst = append(doc.AppendText(append(dst, `{"source":`...), g.IDs[i].Source), `,"value":`...)
		if dst = append(doc.AppendText(dst, g.IDs[i].Value), '}'); i == len(g.IDs)-1 {
			dst = append(dst, ']')
		}
	}
	if dst = g.appendThanks(dst); g.Receipt != "" {
		dst = doc.AppendText(append(dst, `,"receipt":`...), g.Receipt)
	}
	return append(g.appendVoid(dst), '}')
}

// loadIDs reads the ids of a stored gift.
func (g *Gift) loadIDs(r *doc.Reader) {
	r.Token()
	for r.Err == nil && r.Dec.PeekKind() != ']' {
		var id crm.ExternalID
		r.Object(func(key string) {
			switch _, value := r.Scalar(); key {
			case "source":
				id.Source = value
			case "value":
				id.Value = value
			}
		})
		g.IDs = append(g.IDs, id)
	}
	r.Token()
}

// maxIDs is how many ids a gift may have beside its external id.
const maxIDs = 10

// ParseGift reads a stored body back.
func ParseGift(id int64, code string, campaign int64, body []byte) (Gift, error) {
	g := Gift{ID: id, Code: code, Campaign: campaign}
	if err := doc.ReadStored(body, func(r *doc.Reader, key string) {
		if key == "external_ids" {
			g.loadIDs(r)
		} else if !g.loadThanks(r, key) {
			GiftTable.Load(r, key, &g)
		}
	}); err != nil {
		return Gift{}, fmt.Errorf("gift %d: %w", id, err)
	}
	if len(g.Entries) == 0 {
		return Gift{}, fmt.Errorf("gift %d: the stored document is damaged: it has no payment", id)
	}
	return g, nil
}

// GiftChange is what differs between two states of a gift, in words for its history.
type GiftChange struct {
	Field, Before, After string
}

// GiftChanges lists what differs between two states of a gift, by the names of the wire.
func GiftChanges(before, after *Gift) (changes []GiftChange) {
	if before.Campaign != after.Campaign {
		changes = append(changes, GiftChange{"campaign_id", idKind.Text(before.Campaign), idKind.Text(after.Campaign)})
	}
	for i := range GiftTable {
		f := &GiftTable[i]
		switch f.Name {
		case "transactions", "line_items", "donated", "payout", "payment_method": // these follow from others
			continue
		}
		was, is := string(f.Append(nil, before)), string(f.Append(nil, after))
		if was != is {
			changes = append(changes, GiftChange{f.Name, was, is})
		}
	}
	if before.Thanks.How != after.Thanks.How {
		changes = append(changes, GiftChange{"thanks", before.Thanks.How, after.Thanks.How})
	}
	if was, is := before.Void.quotedReason(), after.Void.quotedReason(); was != is {
		changes = append(changes, GiftChange{"void_reason", was, is})
	}
	if before.Receipt != after.Receipt {
		changes = append(changes, GiftChange{"receipt", quoted(before.Receipt), quoted(after.Receipt)})
	}
	return changes
}

// Clip is a text of at most so many characters; a longer one ends with three dots.
func Clip(text string, limit int) string {
	if !doc.IsLonger(text, limit) {
		return text
	}
	return string([]rune(text)[:limit]) + "..."
}

// StatusNumber and MethodNumber are how the database keeps them.
func (g *Gift) StatusNumber() int64 { return int64(slices.Index(GiftStatuses, g.Status)) }
func (g *Gift) MethodNumber() int64 { return int64(slices.Index(NumberedMethods, g.Method)) }

// Version names the state that a gift is in.
func (g *Gift) Version() string { return doc.VersionOf(g.AppendBody(idKind.Append(nil, g.Campaign))) }

// GiftTexts are the text fields of a gift, in the order of the wire. Columns of files come from here.
var GiftTexts = GiftTable.Texts()
