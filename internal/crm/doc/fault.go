package doc

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"donorbook/internal/crm/text"
)

// Fault is one thing that is wrong with one field of an input. It is data, and each caller puts it into words for its
// readers.
type Fault struct {
	Field string // dotted path, as in emails.0.value; "" is the input as a whole
	Rule  Rule
	Args  []any  // what the text of the rule has room for
	Label string // what people call a field that no table has: the title of a custom field
}

// Rule is what an input must keep to. Its text is the wording for programs: the end of a sentence about the field, or a
// whole sentence, which begins with no lowercase letter.
type Rule string

// The rules that a caller may have words of its own for.
const (
	Required     Rule = "is required"
	NotEmpty     Rule = "must not be empty"
	NotAccepted  Rule = "is not accepted here"
	Text         Rule = "must be a string"
	NoNUL        Rule = "must not contain NUL characters"
	UTF8         Rule = "must be valid UTF-8"
	TooLong      Rule = "must not be longer than %v characters"
	TooMany      Rule = "must not have more than %v elements"
	TooManyLines Rule = "must not have more than %v lines"
	Full         Rule = "is refused: the contact would have more than %v %v"
	TooLarge     Rule = "is refused: the contact would be larger than %v KiB"
	OneOf        Rule = "must be one of %v"
	OneLine      Rule = "must not contain line breaks or other control characters"
	NoColon      Rule = "must not contain a colon"
	IDTaken      Rule = "must not have the id %q of %v, which belongs to contact %v"
	Array        Rule = "must be an array"
	Object       Rule = "must be an object"
	ObjectOrText Rule = "must be an object or a string"
	OtherValue   Rule = "must be the same as %v, or be left out"
	Number       Rule = "must be a number"
	Boolean      Rule = "must be true or false"
	SomeTag      Rule = "must have at least one tag name"
	EmailForm    Rule = "must be a valid email address"
	PhoneForm    Rule = "must be a valid phone number, with a + and the country code unless it is a %v number"
	BirthDay     Rule = "must be a date in the format m/d/Y, from 01/01/1000 to today"
	WebURL       Rule = "must be an absolute http or https URL"
	PictureURL   Rule = "must be an absolute https URL. Pages show no other images"
	PaymentURL   Rule = "must be an absolute https URL"
	StateCode    Rule = "must be a two-letter postal code"
	Country      Rule = "must be a three-letter ISO 3166-1 country code"
	Currency     Rule = "must be an ISO 4217 currency code in capital letters"
	Timezone     Rule = "must be the IANA name of a time zone, such as America/New_York"
	TimeForm     Rule = "must be a date such as 2026-01-31, or a time such as 2026-01-31 09:08:07 or 2026-01-31T09:08:07+00:00"
	NotBefore    Rule = "must not be before %v"
	CentRange    Rule = "must be a number from 0 to 9999999999.99 with at most two decimals"
	CountRange   Rule = "must be an integer from 0 to %v"
	SlugForm     Rule = "must be 1 to %v lowercase letters and digits, with single hyphens between them"
	Taken        Rule = "is taken: choose another one"
	HasGifts     Rule = "This campaign has gifts or plans, so it cannot be deleted. Close it instead."
	TagBusy      Rule = "This tag is being renamed, merged or deleted. Try again when that is done."

	NothingToUndo Rule = "There is nothing left to undo in this change."
	CannotUndo    Rule = "This change cannot be undone here."
	ArchivedFirst Rule = "This contact is archived. Restore it before you undo other changes."

	MergedContact Rule = "Contact %v was merged into contact %v. Undo that merge to bring it back."
	MergedID      Rule = "is the id of a contact that was merged into contact %v: use that one"
	ErasedID      Rule = "is the id of a contact that was erased"
	ArchivedID    Rule = "is the id of an archived contact: restore the contact first"
	MergeSelf     Rule = "must be another contact: a contact cannot be merged with itself"
	OtherType     Rule = "must be a contact of the same type: a person and a company cannot be merged"
	NoMergeField  Rule = "cannot be chosen in a merge"
	MergeFieldOf  Rule = "must be the id of one of the two contacts: %v or %v"
	NotesTooLong  Rule = "is refused: both notes together would be longer than %v characters. Choose one of them, or shorten it first"
	UndoneMerge   Rule = "This merge was already undone."
	UndoesMerge   Rule = "This change is a merge. Undo the merge instead."
	MergedSince   Rule = "Contact %v has since been merged into contact %v. Undo merge %v first."
	ErasedMerge   Rule = "A contact of this merge was erased, so it cannot be undone."
	EraseSurvivor Rule = "Contact %v was merged into contact %v. Erase that one: both are erased."
	BeyondHistory Rule = "This cannot be undone: the history does not reach back that far."

	MoneyRange    Rule = "must be a number above 0, at most 999999999.99, with no more decimals than its currency has"
	FeeRange      Rule = "must be a number from 0 to 999999999.99, with no more decimals than its currency has"
	TooFine       Rule = "must not have more than %v decimals in %v"
	NotPaid       Rule = "must be succeeded for a refund: this gift is %v"
	EntriesFull   Rule = "is refused: a gift can have no more than %v entries"
	FeeOverAmount Rule = "must not be more than the amount"
	NothingLeft   Rule = "is refused: the whole gift was already refunded"
	MoreThanLeft  Rule = "must not be more than what is left of the gift: %v"
	MoneyStays    Rule = "cannot be changed: refund the gift and record it again"
	CorrectMoney  Rule = "cannot be changed unless correction is true: the ledger then reverses the payment and records the right one"
	TooFarAhead   Rule = "must not be more than %v years from now"
	StatusStays   Rule = "cannot be changed: only a pending gift can change its status"
	IDForm        Rule = "must be an id, which is a whole number"
	PlansContact  Rule = "must be the contact of the gift's plan, unless you also set plan_id to null"
	CodeForm      Rule = "must be an id, which is 16 letters and digits"
	ProvidersID   Rule = "must stay %q, by which the payment provider is asked about it"
	Reserved      Rule = "must not begin with %q, which is reserved for that payment provider"
	OtherGiver    Rule = "must be a plan of the contact who gave"
	GiftTime      Rule = "must be a date such as 2026-01-31, or a time such as 2026-01-31T09:08:07+00:00"
	DayForm       Rule = "must be a date from 1900 on, such as 2026-01-31"
	NotInFuture   Rule = "must not be in the future"
	NotBefore1900 Rule = "must not be before 1900"
	CurrencyStays Rule = "must stay %v: the %v has gifts, and its sums are in this currency"
	Unknown       Rule = "must be the id of one of the account's %v"

	NothingRefunded   Rule = "is refused: this gift has no refund to undo"
	MoreThanRefunded  Rule = "must not be more than the amount refunded: %v"
	CoveredOverAmount Rule = "must be less than the amount"
	ProvidersMoney    Rule = "cannot be corrected: the gift came from %v"
	RefundedMoney     Rule = "cannot be corrected while part of the gift is refunded: undo the refund first"

	SentTwice     Rule = "must not be sent twice with different values"
	SentAs        Rule = "Send only one of %v and %v."
	SentTooOften  Rule = "must not be sent with more than %v different values"
	AmountForm    Rule = "must be a number such as 5510.50, with at most %v digits before the decimal point and 4 after it"
	GiverRequired Rule = "is required, unless you send the donor's first_name and last_name"
	UnknownField  Rule = "is not one of the account's custom fields"
	ArrayOrObject Rule = "must be an array or an object"
	NumberDigits  Rule = "must be a number with at most 15 digits"
	DateForm      Rule = "must be a date such as 2026-01-31"
	NoOptions     Rule = "Enter at least one option."
	TakenByEnded  Rule = "belongs to an archived custom field: restore that field, or choose another title"

	SortRule Rule = "must be one of %v, with a - in front for descending order"
)

// String words the fault for programs and for the rows of a file.
func (f Fault) String() string {
	if f.IsSentence() {
		return f.Format(string(f.Rule))
	}
	return "The " + f.Field + " field " + f.Format(string(f.Rule)) + "."
}

// IsSentence tells whether the rule is a whole sentence, which names its field or is about no field.
func (f Fault) IsSentence() bool {
	first, _ := utf8.DecodeRuneInString(string(f.Rule))
	return !unicode.IsLower(first)
}

// Format puts the arguments into a wording of the rule, which need not use them.
func (f Fault) Format(text string) string {
	if len(f.Args) == 0 || !strings.Contains(text, "%") {
		return text
	}
	return fmt.Sprintf(text, f.Args...)
}

// Invalid is an input that was refused: every fault at once, in the order of the fields.
type Invalid struct {
	Faults []Fault

	fields  *text.Set // of the faults that were counted, so that one of many is found at once
	counted int
}

// Add notes one more fault.
func (v *Invalid) Add(field string, rule Rule, args ...any) {
	v.Faults = append(v.Faults, Fault{Field: field, Rule: rule, Args: args})
}

// AllFaults are all faults of an input in one line.
func (v *Invalid) AllFaults() string {
	texts := make([]string, 0, len(v.Faults))
	for _, fault := range v.Faults {
		texts = append(texts, fault.String())
	}
	return strings.Join(texts, " ")
}

// HasFault tells whether the field is wrong already: one fault for each place is enough.
func (v *Invalid) HasFault(field string) bool {
	if len(v.Faults) == 0 {
		return false
	}
	if v.fields == nil {
		v.fields = new(text.Set)
	}
	for ; v.counted < len(v.Faults); v.counted++ {
		v.fields.Add(v.Faults[v.counted].Field)
	}
	return v.fields.Contains(field)
}

// Err is the error to return: nil where nothing is wrong.
func (v *Invalid) Err() error {
	if len(v.Faults) == 0 {
		return nil
	}
	return v
}

// Error is the first fault, and how many more there are.
func (v *Invalid) Error() string {
	switch n := len(v.Faults); n {
	case 0:
		return "The input is invalid."
	case 1:
		return v.Faults[0].String()
	case 2:
		return v.Faults[0].String() + " (and 1 more error)"
	default:
		return fmt.Sprintf("%s (and %d more errors)", v.Faults[0], n-1)
	}
}

// NewInvalid is the error for a single fault.
func NewInvalid(field string, rule Rule, args ...any) error {
	v := new(Invalid)
	v.Add(field, rule, args...)
	return v
}

// Place is where a document stands: nowhere else, or inside another one (event), or in a list (emails.0). Names are put
// together only where something is wrong there.
type Place struct {
	Name    string
	element int // of a list, from 1
}

func ElementOf(list string, i int) Place { return Place{list, i + 1} }

// Field is the name of a part, or of the place itself where the part is "".
func (p Place) Field(part string) string {
	name := p.Name
	if p.element > 0 {
		name += "." + strconv.Itoa(p.element-1)
	}
	if name != "" && part != "" {
		name += "."
	}
	return name + part
}

// Checker finds what is wrong with an input.
type Checker struct {
	Invalid
	IsNew  bool
	Region string
	Now    time.Time
}

// NewChecker goes on from the faults that were found while reading, if any.
func NewChecker(faults *Invalid, isNew bool) *Checker {
	c := &Checker{IsNew: isNew}
	if faults != nil {
		c.Faults = faults.Faults
	}
	return c
}

func (v *Invalid) HasAt(at Place, part string) bool {
	return len(v.Faults) > 0 && v.HasFault(at.Field(part))
}

// AddAt notes what is wrong with a part, unless something is already.
func (v *Invalid) AddAt(at Place, part string, rule Rule, args ...any) {
	if field := at.Field(part); !v.HasFault(field) {
		v.Add(field, rule, args...)
	}
}

// CheckText finds a text that is too long or no text.
func (v *Invalid) CheckText(at Place, part, value string, limit int) {
	if broken := TextRule(value); broken != "" {
		v.AddAt(at, part, broken)
	} else if IsLonger(value, limit) {
		v.AddAt(at, part, TooLong, limit)
	}
}

// SortFaults brings the faults into the order of the fields and of the elements of a list, whatever order the client
// wrote them in.
func SortFaults(v *Invalid, fields []string) {
	if len(v.Faults) < 2 {
		return
	}
	type placed struct {
		rank, element int
		fault         Fault
	}
	sorted := make([]placed, 0, len(v.Faults))
	for _, fault := range v.Faults {
		rank, element := rankOf(fault.Field, fields)
		sorted = append(sorted, placed{rank, element, fault})
	}
	slices.SortStableFunc(sorted, func(a, b placed) int { return cmp.Or(a.rank-b.rank, a.element-b.element) })
	for i := range sorted {
		v.Faults[i] = sorted[i].fault
	}
}

// rankOf is the place of a field among the others, and which element of a list it is about. A fault of the whole list
// comes before those of its elements.
func rankOf(name string, fields []string) (rank, element int) {
	if rank = slices.Index(fields, name); rank >= 0 {
		return rank, -1
	}
	field, rest, _ := strings.Cut(name, ".")
	number, _, _ := strings.Cut(rest, ".")
	element, err := strconv.Atoi(number)
	if err != nil {
		element = -1
	}
	return slices.Index(fields, field), element
}

const MaxText = 255

// RequiredText is a trimmed text of one line that must be there.
func (v *Invalid) RequiredText(field, text string) string {
	if text = strings.TrimSpace(text); text == "" {
		v.Add(field, Required)
	}
	v.CheckText(Place{}, field, text, MaxText)
	return text
}

// TooMany finds a list that is too long. What was repeated has been counted once.
func (v *Invalid) TooMany(field string, n, limit int) {
	if n > limit {
		v.AddAt(Place{}, field, TooMany, limit)
	}
}

// AddLabeled is add for a field that people call by a name that no table has.
func (v *Invalid) AddLabeled(field, label string, rule Rule, args ...any) {
	if !v.HasFault(field) {
		v.Faults = append(v.Faults, Fault{field, rule, args, label})
	}
}
