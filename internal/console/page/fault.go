package page

import (
	"cmp"
	"slices"
	"strings"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
)

// wording says to people what some rules say to programs. Every other rule reads well behind a label as it is.
var wording = map[doc.Rule]string{
	doc.Text:       "must be text",
	doc.UTF8:       "must be plain text",
	doc.TooMany:    "are limited to %v",
	doc.Full:       "are limited to %[1]v per contact",
	doc.TooLarge:   "can’t be saved: this contact has too much data. Shorten or remove something",
	doc.SomeTag:    "need at least one name",
	doc.PhoneForm:  "must be a valid phone number. If it isn’t a %v number, start with + and the country code",
	doc.BirthDay:   "must be a date between the year 1000 and today",
	doc.WebURL:     "must be a full link that starts with https:// or http://",
	doc.PictureURL: "must be a full link that starts with https://",
	doc.PaymentURL: "must be a full link that starts with https://",
	doc.StateCode:  "isn’t a state or province that we know. Enter its name or its two-letter code, such as NY",
	doc.Country:    "isn’t a country that we know. Enter its name or its three-letter code, such as USA",
	doc.Currency:   "must be a three-letter code, such as USD or EUR",
	doc.Timezone:   "must be a time zone, such as America/New_York",
	doc.NotBefore:  "can’t be before the start",
	doc.CentRange:  "must be 0 or more and less than 10 billion, such as 1,500 or 1500.50",
	doc.CountRange: "must be a whole number between 0 and %v",
	doc.SlugForm:   "must be 1 to %v lowercase letters, digits and single hyphens",

	doc.MoneyRange:   "must be more than 0 and less than 1 billion, such as 50 or 1,500.50",
	doc.TooFine:      "can’t have more than %v decimals in %v",
	doc.NotPaid:      "must be “Received” for a refund",
	doc.MoneyStays:   "can’t be changed. Refund the gift and record it again",
	doc.CorrectMoney: "can’t be changed here",
	doc.StatusStays:  "can’t be changed: only a pledge can change its status",
	doc.GiftTime:     "must be a date, such as 2026-01-31",
	doc.CodeForm:     "must be an ID of 16 letters and digits",
	doc.PlansContact: "must be the donor of the recurring gift. To move this gift, choose “Not recurring” as well",
	doc.IDForm:       "must be an ID",
	doc.Unknown:      "must be one of your %v",
	doc.UnknownField: "have changed: an owner archived one. Check the form, then save again",
	doc.DateForm:     "must be a date",
	doc.Boolean:      "must be yes or no",

	doc.NoNUL:           "must be plain text",
	doc.FeeRange:        "must be 0 or more and less than 1 billion, such as 1.75",
	doc.NothingLeft:     "can’t be refunded: the whole gift was already refunded",
	doc.NothingRefunded: "can’t be undone: this gift has no refund",
	doc.EntriesFull:     "can’t be recorded: a gift can have at most %v payments and refunds",
	doc.MergeSelf:       "can’t be merged with itself. Choose another contact",
	doc.MergedID:        "was merged into contact %v. Choose that one instead",
	doc.ErasedID:        "was erased and can’t be used",
	doc.ArchivedID:      "is archived. Restore it first",
	doc.OtherType:       "must be of the same type: a person and a company can’t be merged",
	doc.IDTaken:         "can’t include %q from %v: contact %v already has it",
	doc.CurrencyStays:   "must stay %[1]v, because there are already gifts",

	giving.ArchivedAnonymous: "can’t be used while the contact for anonymous gifts is archived. Restore it first",
}

// FaultText says to people what is wrong. label is what they call the field.
func FaultText(fault doc.Fault, label string) string {
	fault.Args = slices.Clone(fault.Args)
	for i, arg := range fault.Args {
		if n, ok := arg.(int); ok {
			fault.Args[i] = Count(n)
		}
	}
	text, known := wording[fault.Rule]
	if !known {
		text = string(fault.Rule)
	}
	if fault.IsSentence() {
		return fault.Format(text)
	}
	return label + " " + fault.Format(text) + "."
}

// LabeledFault is what is wrong, with the label of the field that its path tells.
func LabeledFault(fault doc.Fault) string {
	return FaultText(fault, cmp.Or(fault.Label, FieldLabel(fault.Field)))
}

// Fault is the first thing that is wrong with a field, in words that call it by its label.
func (f *Form) Fault(name, label string) string {
	if f.first == nil {
		f.first = make(map[string]doc.Fault, len(f.Faults))
		for _, fault := range slices.Backward(f.Faults) {
			f.first[fault.Field] = fault
		}
	}
	fault, found := f.first[name]
	if !found {
		return ""
	}
	return FaultText(fault, label)
}

// FirstFault is what is wrong with the only field of a form, or with the form as a whole.
func (f *Form) FirstFault(name, label string) string {
	return cmp.Or(f.Fault(name, label), f.Fault("", ""))
}

// Complaint is one line of the list at the head of a refused form. It leads to the field.
type Complaint struct {
	Text, Target string
}

// Summary is what is wrong, up to as much as a person reads at once.
func (f *Form) Summary() []Complaint {
	var all []Complaint
	for _, fault := range f.Faults[:min(len(f.Faults), maxComplaints)] {
		c := Complaint{Text: LabeledFault(fault)}
		if fault.Field != "" {
			c.Target = Field{Name: fault.Field}.ID()
		}
		all = append(all, c)
	}
	return all
}

// More is how many complaints the summary leaves out.
func (f *Form) More() int { return max(0, len(f.Faults)-maxComplaints) }

// FieldLabel is what people call a field: emails.1.value is Email 2.
func FieldLabel(path string) string {
	if label, ok := history.Label(path); ok {
		return label
	}
	return Capital(strings.NewReplacer("_", " ", ".", " ").Replace(path))
}
