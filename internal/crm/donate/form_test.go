package donate

import (
	"errors"
	"strings"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/crm/crmtest"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/text"
	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

// offered is what a usual form offers.
func offered(currency string) *Offer {
	return &Offer{
		Settings: Settings{Once: DefaultAmounts(currency, Once), Monthly: DefaultAmounts(currency, Monthly),
			Limits: DefaultLimits(currency), Cover: OfferCover, Rate: Rate{290, 30}, Consent: "Send me news."},
		Currency: currency, Ways: []Way{Online, ByTransfer, ByCheck}, Provider: "stripe",
	}
}

// filled is a form as a browser sends it, with changes: name, value, name, value.
func filled(changes ...string) map[string][]string {
	sent := map[string][]string{}
	changes = append(rows.All(`
		way  online  frequency  once  once  50  monthly  25  first_name  Ana  last_name  Okafor  email  ana@example.org
	`), changes...)
	for i := 0; i < len(changes); i += 2 {
		sent[changes[i]] = []string{changes[i+1]}
	}
	return sent
}

func TestAFormBecomesAWish(t *testing.T) {
	got := reads(t, offered("USD"), "frequency", "monthly", "monthly", "other", "other_amount", "$1,250.50", "cover",
		"yes",
		"company", " Blue  Heron ", "dedication", "in_memory_of", "dedicated_to", "Zoë Lee", "anonymous", "yes",
		"consent", "yes",
		"email", " ana@example.org ")
	assert.Equal(t, got, Wish{
		Way: Online, Frequency: Monthly, Amount: 125050, Cover: true, FirstName: "Ana", LastName: "Okafor",
		Email:   "ana@example.org",
		Company: "Blue Heron", Dedication: &giving.Dedication{Type: "in_memory_of", Name: "Zoë Lee"}, Anonymous: true,
		Consent: true,
	})
	o := offered("USD")
	for _, test := range rows.Of[struct {
		Way     Way
		Cover   bool
		Charged int64 // the least that the charity receives is the gift
	}](`
		online  true   5181
		online  false  5000
		check   true   5000
	`) {
		charged, covered := o.Price(&Wish{Way: test.Way, Amount: 5000, Cover: test.Cover})
		assert.Equal(t, []int64{charged, covered}, []int64{test.Charged, test.Charged - 5000})
	}
	refuses(t, o, filled("once", "other", "other_amount", "999,000", "cover", "yes"),
		"other_amount") // more than providers take
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
		test.Written = strings.NewReplacer("LONG", strings.Repeat("5", 50), "PADDED",
			"50"+strings.Repeat(" ", 50)).Replace(test.Written)
		form := filled("once", "other", "other_amount", test.Written)
		if test.Want == 0 {
			refuses(t, offered(test.Currency), form, "other_amount")
			continue
		}
		assert.Equal(t, assert.Must(offered(test.Currency).Read(form))(t).Amount, test.Want, "%+v", test)
	}
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
		refuses(t, offered("USD"), filled(name, value, also, more), test.Wrong)
	}
	refuses(t, offered("USD"), filled("last_name", strings.Repeat("é", 101)), "last_name")
	refuses(t, offered("USD"), map[string][]string{}, "way frequency first_name last_name email")
	for _, name := range rows.All(`St.John  Dr. Lee  Mary-Ann O’Neil  J.R. Smith  Ł  王  "علی\u200cرضا"`) {
		assert.Equal(t, reads(t, offered("USD"), "last_name", name).LastName, name)
	}
}

func TestOnlyWhatIsAskedIsRead(t *testing.T) {
	o := offered("EUR")
	o.Cover, o.Consent, o.NoDedication, o.Ways = NoCover, "", true, []Way{ByTransfer}
	sent := filled("cover", "yes", "consent", "yes", "dedication", "in_honor_of", "dedicated_to", "Zoë", "address_1",
		"12 Wharf Street",
		"charged", "1", "amount", "1")
	delete(sent, "way")
	delete(sent, "frequency")
	assert.Equal(t, assert.Must(o.Read(sent))(t), Wish{
		Way: ByTransfer, Frequency: Once, Amount: 5000, FirstName: "Ana", LastName: "Okafor", Email: "ana@example.org",
	})
	o.AskAddress = true
	refuses(t, o, filled("way", "transfer", "state", "Lost", "country", "Nowhere"),
		"address_1 city zipcode state country")
	w := reads(t, o, "way", "transfer", "address_1", "12 Wharf St.", "city", "Boston", "state", "Massachusetts",
		"zipcode", "02110",
		"country", "United States")
	assert.Equal(t, *w.Address, crm.Address{Line1: "12 Wharf St.", City: "Boston", State: "MA", Zipcode: "02110",
		Country: "USA"})
}

func TestALinkFillsAForm(t *testing.T) {
	for _, test := range rows.Of[struct {
		Amount, Frequency string
		NoMonthly         bool
		Want              string
	}](`
		""        ""       false  once 50 25
		100       monthly  false  monthly 50 100
		75        ""       false  once other 25 75
		12.50     monthly  false  monthly 50 other 12.5
		1         yearly   false  once 50 25
		<script>  '        false  once 50 25
		75        monthly  true   "once other \x2075"
	`) {
		o := offered("USD")
		o.NoMonthly = test.NoMonthly
		got := o.Fill(test.Amount, test.Frequency)
		said := strings.Join([]string{got["frequency"], got["once"], got["monthly"], got["other_amount"]}, " ")
		assert.Equal(t, strings.TrimSpace(said), test.Want, "%+v", test)
	}
}

func FuzzForm(f *testing.F) {
	f.Add("50", "12,50", "Ana", "ana@example.org", "once")
	f.Fuzz(func(t *testing.T, preset, other, name, email, frequency string) {
		for _, currency := range rows.All(`USD  EUR  JPY  KWD`) {
			o := offered(currency)
			w, err := o.Read(filled("once", preset, "monthly", preset, "other_amount", other, "first_name", name,
				"email", email, "frequency", frequency, "cover", "yes"))
			charged, covered := o.Price(&w)
			if err == nil && (!o.Limits.Has(w.Amount) || charged > MaxPayment || charged-covered != w.Amount ||
				strings.ContainsAny(w.FirstName+w.Email, "\n<>")) {
				t.Errorf("%+v is charged %s", w, text.Money(charged, currency))
			}
		}
	})
}

// reads is what a usual form in dollars becomes.
func reads(t *testing.T, o *Offer, changes ...string) Wish {
	t.Helper()
	return assert.Must(o.Read(filled(changes...)))(t)
}

// refuses checks which fields of a form are at fault.
func refuses(t *testing.T, o *Offer, form map[string][]string, fields string) {
	t.Helper()
	_, err := o.Read(form)
	assert.Equal(t, strings.Join(crmtest.Fields(err), " "), fields, "%v", form)
	var invalid *doc.Invalid
	if errors.As(err, &invalid) {
		for _, fault := range invalid.Faults {
			assert.Equal(t, fault.IsSentence(), true, "%v", fault)
		}
	}
}
