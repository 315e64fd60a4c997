package donate

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/text"
	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

// offered is what a usual form offers.
func offered(currency string) *Offer {
	return &Offer{
		Settings: Settings{Once: DefaultAmounts(currency, Once), Monthly: DefaultAmounts(currency, Monthly), Limits: DefaultLimits(currency), Cover: OfferCover, Rate: Rate{290, 30}, Consent: "Send me news."},
		Currency: currency, Ways: []Way{Online, ByTransfer, ByCheck}, Provider: "stripe",
	}
}

// filled is a form as a browser sends it, with changes: name, value, name, value.
func filled(changes ...string) map[string][]string {
	sent := map[string][]string{"way": {"online"}, "frequency": {"once"}, "once": {"50"}, "monthly": {"25"}, "first_name": {"Ana"}, "last_name": {"Okafor"}, "email": {"ana@example.org"}}
	for i := 0; i < len(changes); i += 2 {
		sent[changes[i]] = []string{changes[i+1]}
	}
	return sent
}

func TestAFormBecomesAWish(t *testing.T) {
	got, err := offered("USD").Read(filled("frequency", "monthly", "monthly", "other", "other_amount", "$1,250.50", "cover", "yes", "company", " Blue  Heron ", "dedication", "in_memory_of",
		"dedicated_to", "Zoë Lee", "anonymous", "yes", "consent", "yes", "email", " ana@example.org "))
	want := Wish{Way: Online, Frequency: Monthly, Amount: 125050, Cover: true, FirstName: "Ana", LastName: "Okafor", Email: "ana@example.org", Company: "Blue Heron",
		Dedication: &giving.Dedication{Type: "in_memory_of", Name: "Zoë Lee"}, Anonymous: true, Consent: true}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v %v", got, err)
	}
}

func TestAmountsAreReadAsThePeopleOfTheCurrencyWriteThem(t *testing.T) {
	for _, test := range rows.Of[struct {
		Currency, Written string
		Want              int64 // 0: refused
	}](`
		USD  50                        5000
		USD  $ 50                      5000
		USD  1,250                     125000
		USD  1 250.5                   125050
		USD  12,50                     1250
		USD  50.00 USD                 5000
		EUR  12,50                     1250
		EUR  12.50                     1250
		EUR  1.250,00 €                125000
		EUR  1.250                     0
		EUR  1,250                     0
		EUR  € 50                      5000
		GBP  £1,250                    125000
		JPY  ¥5,000                    5000
		JPY  5000.5                    0
		KWD  12.345                    12350
		SEK  1 250,50                  125050
		BRL  1.250,00                  125000
		USD  ""                        0
		USD  -50                       0
		USD  (50)                      0
		USD  €50                       0
		USD  fifty                     0
		USD  50.001                    0
		USD  1e9                       0
		USD  4.99                      0
		USD  0                         0
		USD  1000000                   0
		USD  999999999999999999999999  0
		USD  NaN                       0
		USD  LONG                      0
		USD  PADDED                    5000
	`) {
		test.Written = strings.NewReplacer("LONG", strings.Repeat("5", 50), "PADDED", "50"+strings.Repeat(" ", 50)).Replace(test.Written)
		w, err := offered(test.Currency).Read(filled("once", "other", "other_amount", test.Written))
		if test.Want != 0 && (err != nil || w.Amount != test.Want) || test.Want == 0 && !wrong(err, "other_amount") {
			t.Errorf("%s %q: %d %v", test.Currency, test.Written, w.Amount, err)
		}
	}
}

func wrong(err error, fields ...string) bool {
	var invalid *doc.Invalid
	if !errors.As(err, &invalid) || len(invalid.Faults) != len(fields) {
		return false
	}
	for i, fault := range invalid.Faults {
		if fault.Field != fields[i] || !fault.IsSentence() {
			return false
		}
	}
	return true
}

func TestWhatIsWrongWithAFormIsNamedByItsField(t *testing.T) {
	for _, test := range rows.Of[struct{ What, Sent, Also, Wrong string }](`
		an unknown way           way=cash                                       ""                way
		an unknown frequency     frequency=weekly                               ""                frequency
		a monthly transfer       frequency=monthly                              way=transfer      frequency
		no amount                once=                                          ""                once
		too little               once=1                                         ""                once
		other without an amount  once=other                                     ""                other_amount
		an email without a host  email=ana@                                     ""                email
		a mail header            "email=ana@example.org\nBcc: all@example.org"  ""                email
		two emails               email=ana@example.org, b@example.org           ""                email
		a link for a name        first_name=Win at https://evil.example         ""                first_name
		a bare link              last_name=evil.com                             ""                last_name
		a link in capitals       company=EVIL.COM                               ""                company
		an email for a name      company=spam@example                           ""                company
		HTML                     company=<b>x                                   ""                company
		a line break             "dedicated_to=A\nB"                            ""                dedicated_to
		a hidden link            "last_name=evil\u200b.com"                     ""                last_name
		a joined link            "last_name=evil\u200d.com"                     ""                last_name
		turned text              "first_name=A\u202eB"                          ""                first_name
		an unknown dedication    dedication=to                                  dedicated_to=Zoë  dedication
		no one honored           dedication=in_memory_of                        ""                dedicated_to
	`) {
		name, value, _ := strings.Cut(test.Sent, "=")
		also, more, _ := strings.Cut(test.Also, "=")
		if _, err := offered("USD").Read(filled(name, value, also, more)); !wrong(err, test.Wrong) {
			t.Errorf("%s: %v", test.What, err)
		}
	}
	if _, err := offered("USD").Read(filled("last_name", strings.Repeat("é", 101))); !wrong(err, "last_name") {
		t.Errorf("a long name: %v", err)
	}
	if _, err := offered("USD").Read(map[string][]string{}); !wrong(err, "way", "frequency", "first_name", "last_name", "email") {
		t.Errorf("nothing: %v", err)
	}
	for _, name := range rows.All(`
		St.John  Dr. Lee  Mary-Ann O’Neil  J.R. Smith  Ł  王  "علی\u200cرضا"
	`) {
		assert.Equal(t, assert.Must(offered("USD").Read(filled("last_name", name)))(t).LastName, name)
	}
}

func TestOnlyWhatIsAskedIsRead(t *testing.T) {
	o := offered("EUR")
	o.Cover, o.Consent, o.NoDedication, o.Ways = NoCover, "", true, []Way{ByTransfer}
	sent := filled("cover", "yes", "consent", "yes", "dedication", "in_honor_of", "dedicated_to", "Zoë", "address_1", "12 Wharf Street", "charged", "1", "amount", "1")
	delete(sent, "way")
	delete(sent, "frequency")
	w, err := o.Read(sent)
	if want := (Wish{Way: ByTransfer, Frequency: Once, Amount: 5000, FirstName: "Ana", LastName: "Okafor", Email: "ana@example.org"}); err != nil || !reflect.DeepEqual(w, want) {
		t.Errorf("%+v %v", w, err)
	}
	o.AskAddress = true
	if _, err := o.Read(filled("way", "transfer", "state", "Lost", "country", "Nowhere")); !wrong(err, "address_1", "city", "zipcode", "state", "country") {
		t.Error(err)
	}
	w, err = o.Read(filled("way", "transfer", "address_1", "12 Wharf St.", "city", "Boston", "state", "Massachusetts", "zipcode", "02110", "country", "United States"))
	if want := (crm.Address{Line1: "12 Wharf St.", City: "Boston", State: "MA", Zipcode: "02110", Country: "USA"}); err != nil || *w.Address != want {
		t.Errorf("%+v %v", w.Address, err)
	}
}

func TestALinkFillsAForm(t *testing.T) {
	for _, test := range rows.Of[struct{ Amount, Frequency, WantFrequency, WantOnce, WantMonthly, WantOther string }](`
		""        ""       once     50     25     ""
		100       monthly  monthly  50     100    ""
		75        ""       once     other  25     75
		12.50     monthly  monthly  50     other  12.5
		1         yearly   once     50     25     ""
		<script>  '        once     50     25     ""
	`) {
		got := offered("USD").Fill(test.Amount, test.Frequency)
		if got["frequency"] != test.WantFrequency || got["once"] != test.WantOnce || got["monthly"] != test.WantMonthly || got["other_amount"] != test.WantOther {
			t.Errorf("%+v: %v", test, got)
		}
	}
	o := offered("USD")
	o.NoMonthly = true
	if got := o.Fill("75", "monthly"); got["frequency"] != "once" || got["once"] != "other" || got["monthly"] != "" {
		t.Error(got)
	}
}

// The least that the charity receives is the gift.
func TestWhatIsChargedFollowsFromTheWish(t *testing.T) {
	o := offered("USD")
	for _, test := range []struct {
		w                Wish
		charged, covered int64
	}{
		{Wish{Way: Online, Amount: 5000, Cover: true}, 5181, 181},
		{Wish{Way: Online, Amount: 5000}, 5000, 0},
		{Wish{Way: ByCheck, Amount: 5000, Cover: true}, 5000, 0},
	} {
		if charged, covered := o.Price(&test.w); charged != test.charged || covered != test.covered {
			t.Errorf("%+v: %d %d", test.w, charged, covered)
		}
	}
	if _, err := o.Read(filled("once", "other", "other_amount", "999,000", "cover", "yes")); !wrong(err, "other_amount") {
		t.Error("more than providers take is charged:", err)
	}
}

func FuzzForm(f *testing.F) {
	f.Add("50", "12,50", "Ana", "ana@example.org", "once")
	f.Fuzz(func(t *testing.T, preset, other, name, email, frequency string) {
		for _, currency := range rows.All(`USD  EUR  JPY  KWD`) {
			o := offered(currency)
			w, err := o.Read(filled("once", preset, "monthly", preset, "other_amount", other, "first_name", name, "email", email, "frequency", frequency, "cover", "yes"))
			charged, covered := o.Price(&w)
			if err == nil && (!o.Limits.Has(w.Amount) || charged > MaxPayment || charged-covered != w.Amount || strings.ContainsAny(w.FirstName+w.Email, "\n<>")) {
				t.Errorf("%+v is charged %s", w, text.Money(charged, currency))
			}
		}
	})
}
