package console

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
	doc.TooLarge:   "cannot be saved: there is too much data in this contact. Shorten or remove something",
	doc.SomeTag:    "need at least one name",
	doc.PhoneForm:  "must be a valid phone number. Begin with + and the country code if it is not a %v number",
	doc.BirthDay:   "must be a date between the year 1000 and today",
	doc.WebURL:     "must be a full web address that begins with https:// or http://",
	doc.PictureURL: "must be a full web address that begins with https://. Pages show no other images",
	doc.PaymentURL: "must be a full web address that begins with https://",
	doc.StateCode:  "must be a two-letter code, such as NY",
	doc.Country:    "must be a three-letter code, such as USA or DEU",
	doc.Currency:   "must be a three-letter code, such as USD or EUR",
	doc.Timezone:   "must be the name of a time zone, such as America/New_York",
	doc.NotBefore:  "must not be before the start",
	doc.CentRange:  "must be an amount from 0 to 9,999,999,999.99",
	doc.CountRange: "must be a whole number from 0 to %v",
	doc.SlugForm:   "must be 1 to %v lowercase letters, digits and single hyphens",

	doc.MoneyRange:   "must be above 0 and at most 999,999,999.99, such as 50 or 1,500.50",
	doc.TooFine:      "must not have more than %v decimals: it is in %v",
	doc.NotPaid:      "must be “Received” for a refund",
	doc.MoneyStays:   "cannot be changed. Refund the gift and record it again",
	doc.CorrectMoney: "cannot be changed here",
	doc.StatusStays:  "cannot be changed: only a pledged gift can change its status",
	doc.GiftTime:     "must be a date, such as 2026-01-31",
	doc.CodeForm:     "must be an ID, which is 16 letters and digits",
	doc.PlansContact: "must be the donor of the recurring gift. To move this gift, choose “Not recurring” as well",
	doc.IDForm:       "must be an ID",
	doc.Unknown:      "must be one of your %v",
	doc.UnknownField: "have changed: an owner archived one of them. Check the form, then save again",
	doc.DateForm:     "must be a date",
	doc.Boolean:      "must be yes or no",

	doc.NoNUL:                "must be plain text",
	doc.FeeRange:             "must be an amount from 0 to 999,999,999.99",
	doc.NothingLeft:          "cannot be refunded: the whole gift was already refunded",
	doc.NothingRefunded:      "cannot be undone: this gift has no refund to undo",
	doc.EntriesFull:          "cannot be recorded: a gift can have no more than %v payments and refunds",
	doc.MergeSelf:            "cannot be merged with itself. Choose another one",
	doc.MergedID:             "was merged into contact %v. Choose that one instead",
	doc.ErasedID:             "was erased, so it cannot be used",
	doc.ArchivedID:           "is archived. Restore it first",
	doc.OtherType:            "must be of the same type: a person and a company cannot be merged",
	doc.IDTaken:              "cannot include %q from %v: contact %v already has it",
	giving.ArchivedAnonymous: "cannot be used while the contact for anonymous gifts is archived. Restore it first",

	doc.CurrencyStays: "must stay %[1]v, because there are gifts in this currency",
}

// words says to people what is wrong. label is what they call the field.
func words(fault doc.Fault, label string) string {
	fault.Args = slices.Clone(fault.Args)
	for i, arg := range fault.Args {
		if n, ok := arg.(int); ok {
			fault.Args[i] = shownCount(n)
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

// labeled is what is wrong, with the label of the field that its path tells.
func labeled(fault doc.Fault) string { return words(fault, cmp.Or(fault.Label, labelOf(fault.Field))) }

// fault is the first thing that is wrong with a field, in words that call it by its label.
func (f *form) fault(name, label string) string {
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
	return words(fault, label)
}

// firstFault is what is wrong with the only field of a form, or with the form as a whole.
func (f *form) firstFault(name, label string) string {
	return cmp.Or(f.fault(name, label), f.fault("", ""))
}

// Complaint is one line of the list at the head of a refused form. It leads to the field.
type Complaint struct {
	Text, Target string
}

// Summary is what is wrong, up to as much as a person reads at once.
func (f *form) Summary() []Complaint {
	var all []Complaint
	for _, fault := range f.Faults[:min(len(f.Faults), maxComplaints)] {
		c := Complaint{Text: labeled(fault)}
		if fault.Field != "" {
			c.Target = field{Name: fault.Field}.ID()
		}
		all = append(all, c)
	}
	return all
}

// More is how many complaints the summary leaves out.
func (f *form) More() int { return max(0, len(f.Faults)-maxComplaints) }

// labelOf is what people call a field: emails.1.value is Email 2.
func labelOf(path string) string {
	if label, ok := history.Label(path); ok {
		return label
	}
	return capital(strings.NewReplacer("_", " ", ".", " ").Replace(path))
}
