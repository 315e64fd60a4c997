package giving

import (
	"strconv"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
)

// Form is a form that a person has sent. A field that it does not have is not sent.
type Form interface {
	doc.Form
	Sends(field string) bool
}

// ReadGiftForm makes an input of a form, and validates it. Amounts are in a currency that was found before. old is the
// gift that the form was filled from, nil for a new one: money that differs from it is a correction.
func ReadGiftForm(form Form, currency string, old *Gift, region string, today time.Time) (in GiftInput, err error) {
	f := &sentForm{Form: form, currency: currency}
	if old != nil {
		in.Correction, f.was = true, filledBy(old.FillForm)
	}
	takeSent(giftForm, f, &in)
	in.Anonymous = old == nil && form.Value("anonymous") != ""
	return in, in.Validate(&f.faults, old == nil, region, today)
}

// ReadPlanForm makes an input of a form, as ReadGiftForm does.
func ReadPlanForm(form Form, currency string, old *Plan, region string, today time.Time) (in PlanInput, err error) {
	f := &sentForm{Form: form, currency: currency}
	if old != nil {
		f.was = filledBy(old.FillForm)
	}
	takeSent(PlanTable, f, &in)
	return in, in.Validate(&f.faults, old == nil, region, today)
}

var giftForm = append(doc.Table[*Gift, *GiftInput]{giftCampaign}, GiftTable...)

// FillForm writes a gift into a form, so that ReadGiftForm changes nothing of it.
func (g *Gift) FillForm(set doc.Setter) { giftForm.Fill(g, doc.Place{}, set) }

func (p *Plan) FillForm(set doc.Setter) { PlanTable.Fill(p, doc.Place{}, set) }

func takeSent[D, I any](t doc.Table[D, I], form *sentForm, in I) {
	for i := range t {
		if f := &t[i]; f.Take != nil && form.Sends(f.Name) {
			f.Take(form, doc.Place{}, in)
		}
	}
}

// sentForm is a form that is being read.
type sentForm struct {
	Form
	currency string
	was      map[string]string // what it was filled with; nil for that of something new
	faults   doc.Invalid
}

func sentFormOf(form doc.Form) *sentForm { return doc.FormOf(form).(*sentForm) }

func filledBy(fill func(doc.Setter)) map[string]string {
	values := map[string]string{}
	fill(func(name, value string) { values[name] = value })
	return values
}

// money is an amount that a person typed. A fee that was cleared is none.
func (f *sentForm) money(name string, rule doc.Rule) *int64 {
	sent := ParseMoney(&f.faults, name, f.Value(name), f.currency, true)
	switch {
	case sent != nil || f.was == nil:
		return sent
	case rule == doc.MoneyRange:
		f.faults.Add(name, doc.Required)
		return nil
	}
	return new(int64)
}

func (f *sentForm) id(name string) int64 {
	id, err := strconv.ParseInt(f.Value(name), 10, 64)
	if f.Value(name) != "" && (err != nil || id <= 0) {
		f.faults.Add(name, doc.IDForm)
	}
	return id
}

// sentTime is a date or a time that is sent as a text. A form has its day; while it still says the day that it was
// filled with, the time of that day stays.
func sentTime[D, I any](name, label string, in func(D) *time.Time, of func(I) **string) doc.Field[D, I] {
	f := doc.Kept[D, I](name, crm.ContactTime, in)
	f.Label = label
	f.Read = func(r *doc.Reader, to I) { *of(to) = r.TextSent() }
	f.Fill = func(is D, _ doc.Place, set doc.Setter) { set(name, DayInput(*in(is))) }
	f.Take = func(form doc.Form, _ doc.Place, to I) {
		if sent := form.Value(name); sent != sentFormOf(form).was[name] {
			*of(to) = &sent
		}
	}
	return f
}

// DayInput is a day as a form holds it, "" for none.
func DayInput(t time.Time) string {
	return doc.EmptyWhere(t.IsZero(), t.UTC().Format(time.DateOnly))
}
