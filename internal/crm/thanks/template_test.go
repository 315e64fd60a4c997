package thanks

import (
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/giving"
	"donorbook/internal/rig/assert"
)

func facts(c crm.Contact, g giving.Gift) *Facts {
	g.Method, g.Currency, g.Status, g.Local = "check", "USD", giving.Succeeded,
		time.Date(2026, 3, 9, 0, 0, 0, 0, time.UTC)
	g.Entries = []giving.Entry{{Amount: 150_050}}
	return &Facts{Gift: &g, Contact: &c, Organization: "Harbor Light", Campaign: "Winter Coats"}
}

func said(n Note) string {
	var all []string
	for _, line := range n.Says {
		all = append(all, line.String())
	}
	return strings.Join(all, "\n")
}

func TestATextIsFilledInAndNothingTypedIsALink(t *testing.T) {
	f := facts(crm.Contact{FirstName: "Ada\r\nBcc: x@example.org", LastName: "https://evil.example/{amount}"},
		giving.Gift{})
	template := Template{Occasion: First, Subject: "Thanks, {first_name}",
		Body: "Dear {name},\r\n\r\n{amount} on {date} for {campaign}.\nhttps://harbor.example"}
	assert.Succeed(t, template.Check())
	n := template.Write(f)
	text := said(n)
	if strings.ContainsAny(n.Subject.String(), "\r\n") || strings.Contains(text, "evil.example") ||
		strings.Contains(n.Subject.String(), "@example") {
		t.Errorf("%q\n%s", n.Subject, text)
	}
	assert.Contains(t, text, "$1,500.50 on March 9, 2026 for Winter Coats.\nhttps://harbor.example")
	assert.Contains(t, text, "{amount}")
	for _, o := range Occasions {
		d := Default(o)
		if err := d.Check(); err != nil {
			t.Error(o, err)
		}
		if text := said(d.Write(f)); strings.Contains(text, "{a") && o != First {
			t.Error(text)
		}
	}
}

func TestATextWithAnUnknownFieldIsRefused(t *testing.T) {
	for body, want := range map[string]string{"": "required", "Dear {fist_name}": "unknown field {fist_name}",
		"Dear {first_name": "brace", "Dear }": "brace", "{}": "unknown field {}", strings.Repeat("x", 5001): "5000"} {
		template := Template{Occasion: Repeat, Subject: "Hello", Body: body}
		if err := template.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v", body, err)
		}
	}
}

func TestTheOccasionOfAGift(t *testing.T) {
	gift := func(change func(*giving.Gift)) *giving.Gift {
		g := facts(crm.Contact{}, giving.Gift{}).Gift
		change(g)
		return g
	}
	plain := gift(func(*giving.Gift) {})
	for i, test := range []struct {
		gift  *giving.Gift
		first bool
		large int64
		want  Occasion
	}{
		{plain, true, 0, First}, {plain, false, 0, Repeat}, {plain, true, 150_050, Large},
		{plain, true, 150_051, First},
		{gift(func(g *giving.Gift) { g.PlanCode = "x" }), true, 0, Recurring},
		{gift(func(g *giving.Gift) { g.Currency = "EUR" }), false, 1, Repeat},
		{gift(func(g *giving.Gift) { g.Dedication = &giving.Dedication{Name: "Ann"} }), true, 1, Honor},
	} {
		assert.Equal(t, OccasionOf(test.gift, test.first, test.large, "USD"), test.want, "%d", i)
	}
}
