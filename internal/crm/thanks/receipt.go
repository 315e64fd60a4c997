package thanks

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/mail"
	"donorbook/internal/crm/text"
)

// Receipt is a receipt for a gift. Its number stays its own for good: one that is void is replaced by the next one for
// its gift, if anything is left of that.
type Receipt struct {
	ID         int64 // year and number
	Gift       int64
	GiftCode   string
	Amount     int64 // in the smallest unit of the currency
	Currency   string
	IssuedAt   time.Time
	VoidedAt   time.Time // zero while it is valid
	ReplacedBy int64     // 0 for none
	Text       ReceiptText
}

// ReceiptText is what a receipt says, as it said it on the day it was issued. It is empty once its giver was erased.
type ReceiptText struct {
	Title string        `json:"title"`
	From  []mail.Line   `json:"from"`
	To    []mail.Line   `json:"to"`
	Facts []ReceiptFact `json:"facts"`
	Says  []mail.Line   `json:"says"`

	Unsaid bool `json:"-"` // it would have to say what was given in return, and no one knows
}

// ReceiptFact is one line of a receipt, with what it is called.
type ReceiptFact struct {
	Label string    `json:"label"`
	Value mail.Line `json:"value"`
}

// ReceiptsAYear is how many numbers a year has.
const ReceiptsAYear = 100_000_000

// FirstReceipt is before the first receipt of a year.
func FirstReceipt(year int) int64 { return int64(year) * ReceiptsAYear }

// ReceiptCode is the number of a receipt as people write it: 2026-00017.
func ReceiptCode(id int64) string {
	if id == 0 {
		return ""
	}
	return fmt.Sprintf("%d-%05d", id/ReceiptsAYear, id%ReceiptsAYear)
}

// ReceiptID reads a number, 0 where it is none.
func ReceiptID(code string) int64 {
	var year, number int64
	if _, err := fmt.Sscanf(code, "%d-%d", &year, &number); err != nil || number <= 0 || number >= ReceiptsAYear ||
		year < 1000 || year > 9999 || ReceiptCode(year*ReceiptsAYear+number) != code {
		return 0
	}
	return year*ReceiptsAYear + number
}

// Mark is a number that a gift and its valid receipt agree on, for checks that add up all of them.
func Mark(gift, receipt, amount int64) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, gift, " ", receipt, " ", amount)
	return h.Sum64()
}

// Code is the receipt's number.
func (r Receipt) Code() string { return ReceiptCode(r.ID) }

// Lines are all that a receipt says, one below the other, for a mail.
func (r Receipt) Lines() (lines []mail.Line) {
	lines = append(lines, mail.NewLine(r.Text.Title))
	for _, fact := range r.Text.Facts {
		lines = append(lines, mail.NewLine(fact.Label+": "+fact.Value.String()))
	}
	return append(lines, r.Text.Says...)
}

// The wordings of receipts.
const (
	UnitedStates = ""
	Canada       = "ca"
	OwnWording   = "own"
)

// Wording is how an organization writes its receipts.
type Wording struct {
	Form   string
	Place  string // where receipts are issued
	Signer string // who signs them
	Text   string // of its own
}

// DefaultText is what a text of one's own begins with.
const DefaultText = "{organization} received {amount} from {name} on {date}.\n\n{benefit}\n\nReceipt {receipt_number}, issued on {issued}."

// Check refuses a wording that could not be filled in, and brings it into the form in which it is kept.
func (w *Wording) Check(v *doc.Invalid) {
	w.Place, w.Signer, w.Text = strings.TrimSpace(w.Place), strings.TrimSpace(w.Signer),
		strings.TrimSpace(strings.ReplaceAll(w.Text, "\r\n", "\n"))
	v.CheckText(doc.Place{}, "receipt_place", w.Place, doc.MaxText)
	v.CheckText(doc.Place{}, "receipt_signer", w.Signer, doc.MaxText)
	if !slices.Contains([]string{UnitedStates, Canada, OwnWording}, w.Form) {
		v.Add("receipt_form", doc.OneOf, "ca, own, or nothing for the United States")
	}
	if w.Text != "" || w.Form == OwnWording {
		checkText(v, "receipt_text", w.Text, maxBody, namesOf(receiptFields))
	}
}

// ReceiptFacts is what a receipt says beyond what a thank-you says.
type ReceiptFacts struct {
	Wording
	Number, Replaces string // Replaces is a receipt that is void now
	Issued           time.Time
	TaxID            string
	Address          []string // of the organization
	Home             string   // its country
	Benefit          giving.Benefit
}

var receiptFields = append(slices.Clone(fields),
	field{"receipt_number", false, true, func(f *Facts) string { return f.Receipt.Number }},
	field{"issued", false, true, func(f *Facts) string { return f.Receipt.Issued.Format(dayForm) }},
	field{"tax_id", true, true, func(f *Facts) string { return f.Receipt.TaxID }},
	field{"benefit", false, true, func(f *Facts) string { return benefit(f) }},
)

// ReceiptFields are the names of the fields that a receipt may have.
func ReceiptFields() []string { return namesOf(receiptFields) }

const dayForm = "January 2, 2006"

// benefit is the sentence about what the giver got in return, "" where no one has said it.
func benefit(f *Facts) string {
	b, currency := f.Receipt.Benefit, f.Gift.Currency
	switch worth := text.MoneyExact(b.Worth(currency), currency); {
	case b == giving.Benefit{}:
		return ""
	case b.IsNone():
		return "No goods or services were provided in exchange for this gift."
	case b.Value == 0:
		return "In exchange for this gift, we provided: " + b.What + "."
	case b.What == "":
		return "In exchange for this gift, we provided goods or services with an estimated value of " + worth + "."
	default:
		return "In exchange for this gift, we provided: " + b.What + ", with an estimated value of " + worth + "."
	}
}

// cannotReceipt is why there can be no receipt.
const cannotReceipt doc.Rule = "No receipt can be made for this gift. %v"

// WriteReceipt is what a receipt says. What the law of a country asks for and no one has entered is told.
func WriteReceipt(f *Facts) (t ReceiptText, err error) {
	if !f.Gift.HasArrived() {
		return t, doc.NewInvalid("receipt", cannotReceipt, "The gift has not arrived, or was refunded.")
	}
	c := f.Contact
	t.Title = "Receipt for your gift"
	t.From = linesOf(append([]string{f.Organization}, f.Receipt.Address...))
	t.To = linesOf([]string{c.Name()})
	if c.Company != "" && c.Company != c.Name() {
		t.To = append(t.To, linesOf([]string{c.Company})...)
	}
	if len(c.Addresses) > 0 {
		t.To = append(t.To, linesOf(c.Addresses[0].Lines(f.Receipt.Home))...)
	}
	fact := func(label, value string) {
		if value != "" {
			t.Facts = append(t.Facts, ReceiptFact{label, mail.NewLine(value)})
		}
	}
	fact("Receipt number", f.Receipt.Number)
	if f.Receipt.Form == Canada {
		if err := canadian(&t, f, fact); err != nil {
			return t, err
		}
	} else {
		fact("Tax ID", f.Receipt.TaxID)
		fact("Issued on", f.Receipt.Issued.Format(dayForm))
		fact("Donor", mail.Typed(c.Name()).String())
		fact("Amount", capital(Amount(f.Gift)))
		if covered := f.Gift.LeftCovered(); covered > 0 && f.Gift.IsMoney() {
			fact("Of this, to cover fees", text.MoneyExact(covered, f.Gift.Currency))
		}
		fact("Received on", f.Gift.Local.Format(dayForm))
		fact("For", f.Campaign)
	}
	switch f.Receipt.Form {
	case OwnWording:
		t.Says = fillAll(f.Receipt.Text, f, receiptFields)
	case UnitedStates:
		if says := benefit(f); says != "" {
			t.Says = append(t.Says, mail.NewLine(says))
		} else {
			t.Unsaid = true
		}
		if b := f.Receipt.Benefit; !b.IsNone() && b.Value > 0 && f.Gift.IsMoney() {
			t.Says = append(t.Says,
				mail.NewLine("For federal income tax purposes, your deduction is limited to the amount of your gift that is more than this value: "+
					text.MoneyExact(max(0, f.Gift.Left()-b.Worth(f.Gift.Currency)), f.Gift.Currency)+"."))
		}
		if !f.Gift.IsMoney() {
			t.Says = append(t.Says,
				mail.NewLine("Determining the value of gifts of stock and in-kind gifts is up to the donor."))
		}
		t.Says = append(t.Says, mail.NewLine("Please keep this receipt for your tax records."))
	}
	if f.Receipt.Replaces != "" {
		t.Says = append(t.Says, mail.NewLine("This receipt cancels and replaces receipt "+f.Receipt.Replaces+"."))
	}
	return t, nil
}

// canadian writes an official receipt for income tax purposes.
func canadian(t *ReceiptText, f *Facts, fact func(label, value string)) error {
	r, c := f.Receipt, f.Contact
	var missing []string
	for _, needed := range []struct {
		lacks bool
		what  string
	}{
		{len(r.Address) == 0, "the postal address of your organization, under Settings"},
		{r.TaxID == "", "your registration number as the tax ID, under Settings"},
		{r.Place == "", "the place where receipts are issued, under Settings, Receipts"},
		{r.Signer == "", "who signs receipts, under Settings, Receipts"},
		{len(c.Addresses) == 0, "the postal address of the donor"},
		{!f.Gift.IsMoney() && f.Gift.Left() <= 0, "the fair market value of the gift, as its amount"},
	} {
		if needed.lacks {
			missing = append(missing, needed.what)
		}
	}
	if len(missing) > 0 {
		return doc.NewInvalid("receipt", cannotReceipt, "An official Canadian receipt needs "+strings.Join(missing,
			"; ")+".")
	}
	t.Title = "Official receipt for income tax purposes"
	left := f.Gift.Left()
	worth := r.Benefit.Worth(f.Gift.Currency)
	fact("Charity registration number", r.TaxID)
	fact("Donor", mail.Typed(c.Name()).String())
	fact("Address", mail.Typed(strings.Join(c.Addresses[0].Lines(f.Receipt.Home), ", ")).String())
	fact("Date gift received", f.Gift.Local.Format(dayForm))
	if !f.Gift.IsMoney() {
		fact("Gift", capital(Amount(f.Gift)))
		fact("Fair market value", text.MoneyExact(left, f.Gift.Currency))
	} else {
		fact("Total amount received", text.MoneyExact(left, f.Gift.Currency))
	}
	if r.Benefit.IsNone() || worth == 0 {
		worth = 0
		fact("Value of advantage", text.MoneyExact(0, f.Gift.Currency))
	} else {
		fact("Value of advantage", text.MoneyExact(worth, f.Gift.Currency)+" "+r.Benefit.What)
	}
	fact("Eligible amount of gift for tax purposes", text.MoneyExact(max(0, left-worth), f.Gift.Currency))
	fact("Date receipt issued", r.Issued.Format(dayForm))
	fact("Location issued", r.Place)
	fact("Authorized signature", r.Signer)
	t.Says = append(t.Says,
		mail.NewLine("For information on all registered charities in Canada under the Income Tax Act, see the Canada Revenue Agency: canada.ca/charities-giving"))
	return nil
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func linesOf(texts []string) (lines []mail.Line) {
	for _, one := range texts {
		lines = append(lines, mail.Typed(one))
	}
	return lines
}
