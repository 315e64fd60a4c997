package giving

import (
	"slices"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
)

// Void is that a gift was entered by mistake: who has said so, when and why. It counts nowhere and no list has it,
// unless someone asks for those that were voided. What was taken back together with the gift comes again when the void
// is undone.
type Void struct {
	At       time.Time
	By       string // who, as the history names them
	Reason   string
	Was      GiftStatus
	Receipt  string    // number of the receipt that was valid for the gift
	Promise  string    // id of the promise on a page that it kept
	NextBill time.Time // when the next gift of its plan was due, where that is earlier now
}

// Voided is the status of a gift that was entered by mistake.
const Voided GiftStatus = "voided"

// SentStatuses are those that a client or a file can say; who voids a gift says why.
var SentStatuses = GiftStatuses[:slices.Index(GiftStatuses, Voided)]

// The rules of voiding.
const (
	voidedBefore   doc.Rule = "This gift was voided on %v."
	notVoided      doc.Rule = "This gift is not voided."
	providersMoney doc.Rule = "This gift was paid through %v, so it cannot be voided. Refund it instead."
	staysVoided    doc.Rule = "This gift was voided on %v, so it cannot be changed. Undo the void first."
)

// voidTable is what the wire shows of a void. It is read as it is stored: nobody sends it.
var voidTable = doc.Table[*Void, *Void]{
	doc.Kept[*Void, *Void]("at", crm.ContactTime, func(v *Void) *time.Time { return &v.At }),
	voidText("by", func(v *Void) *string { return &v.By }),
	voidText("reason", func(v *Void) *string { return &v.Reason }),
	voidText("status", func(v *Void) *string { return (*string)(&v.Was) }),
	voidText("receipt", func(v *Void) *string { return &v.Receipt }),
	voidText("donation_id", func(v *Void) *string { return &v.Promise }),
	doc.Kept[*Void, *Void]("next_bill_date", crm.ContactTime, func(v *Void) *time.Time { return &v.NextBill }),
}

func voidText(name string, in func(*Void) *string) doc.Field[*Void, *Void] {
	return doc.Kept[*Void, *Void](name, doc.String(doc.MaxText), in)
}

// appendVoid appends what is known of a void, and nothing for most gifts.
func (g *Gift) appendVoid(dst []byte) []byte {
	if g.Void == nil {
		return dst
	}
	return voidTable.AppendObject(append(dst, `,"voided":`...), g.Void)
}

// quotedReason is the reason as the history keeps it, "" for no void.
func (v *Void) quotedReason() string {
	if v == nil {
		return ""
	}
	return quoted(v.Reason)
}

func (g *Gift) loadVoid(r *doc.Reader) {
	g.Void = new(Void)
	r.Element(func(key string) { voidTable.Load(r, key, g.Void) })
}

// DecodeVoid reads why a gift is voided.
func DecodeVoid(r *doc.Reader) (reason string, err error) {
	r.Document(func(key string) {
		if key == "reason" {
			reason = r.Text()
		} else {
			r.Ignore()
		}
	})
	if err := r.End(); r.Err != nil {
		return "", err
	}
	return CheckReason(&r.Fault, reason)
}

// CheckReason is the reason of a void as it is kept. faults are those found while reading.
func CheckReason(faults *doc.Invalid, sent string) (reason string, err error) {
	c := doc.NewChecker(faults, true)
	if reason = strings.TrimSpace(sent); reason == "" && !c.HasFault("reason") {
		c.Add("reason", doc.Required)
	}
	c.CheckText(doc.Place{}, "reason", reason, doc.MaxText)
	return reason, c.Err()
}

// VoidedBy is the gift after someone has said that it was entered by mistake. provider is the payment provider that has
// its money, "" for none.
func (g Gift) VoidedBy(v Void, provider string) (Gift, error) {
	if theirs, is := providerOf(g.ExternalID); is {
		provider = theirs
	}
	switch {
	case g.Void != nil:
		return g, g.voidFault(voidedBefore)
	case provider != "":
		return g, doc.NewInvalid("status", providersMoney, strings.ToUpper(provider[:1])+provider[1:])
	}
	v.At = v.At.UTC().Truncate(time.Second)
	v.Was, v.Receipt = g.Status, g.Receipt
	g.Status, g.Void = Voided, &v
	return g, nil
}

// Says tells whoever sends the gift again that it is known, and stays voided.
func (v *Void) Says() string {
	return "This gift was voided on " + v.At.Format("January 2, 2006") + ", and stays voided: " + v.Reason
}

// Unvoided is the gift as it was before it was voided.
func (g Gift) Unvoided() (Gift, error) {
	if g.Void == nil {
		return g, doc.NewInvalid("status", notVoided)
	}
	g.Status, g.Receipt, g.Void = g.Void.Was, g.Void.Receipt, nil
	return g, nil
}

// CheckVoided refuses a change of a gift that was voided.
func (g *Gift) CheckVoided() error {
	if g.Void == nil {
		return nil
	}
	return g.voidFault(staysVoided)
}

func (g *Gift) voidFault(rule doc.Rule) error {
	return doc.NewInvalid("status", rule, g.Void.At.Format("January 2, 2006"))
}

// Unpaid is the plan after a gift of it was voided: where that gift has paid for the last due day, and no other one
// has, the day is due again. others is when the last other gift of the plan was given, zero for none.
func (p Plan) Unpaid(at, others time.Time) Plan {
	if p.Status == Ended || p.NextBill.IsZero() {
		return p
	}
	n := 0
	for p.due(n + 1).Before(p.NextBill) {
		n++
	}
	pays := func(at time.Time) bool {
		return !at.IsZero() && !at.AddDate(0, 0, (periodDays[p.Frequency]+1)/2).Before(p.due(n))
	}
	if p.due(n+1).Equal(p.NextBill) && pays(at) && !pays(others) {
		p.NextBill = p.due(n)
	}
	return p
}
