package campaign

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"donorbook/internal/crm/doc"
	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

func TestGiftsAreAddedToTheNumbersOfACampaign(t *testing.T) {
	for _, test := range rows.Of[struct {
		Row, Currency  string
		Amount, Givers int64
		Want           string
	}](`
		"\"raised\":12.5,\"donors\":3"  USD  1005   2  "\"raised\":22.55,\"donors\":5"
		"\"raised\":0.01"               USD  99     1  "\"raised\":1,\"donors\":1"
		"\"donors\":7"                  JPY  1500   1  "\"raised\":1500,\"donors\":8"
		"\"raised\":1.5"                KWD  12349  1  "\"raised\":13.84,\"donors\":1"  // of 12.349, the part below a cent is truncated
		"\"raised\":5,\"donors\":1"     USD  0      0  "\"raised\":5,\"donors\":1"
		"\"raised\":9999999999.99"      EUR  1      1  "\"raised\":10000000000,\"donors\":1"
	`) {
		// Its texts imitate the fields.
		c := gala(t,
			`"subtitle":",\"raised\":1,\"donors\":2,\"currency\":\"","description":",\"raised\":7,","goal":100,"currency":"`+
				test.Currency+`",`+test.Row)
		assert.Contains(t, wire(c, "https://x.org/,raised", Given{test.Amount, test.Givers}),
			`"url":"https://x.org/,raised/gala","goal":100,`+test.Want+`,"currency":"`+test.Currency+`","logo":null`)
	}
}

// The API shows the same amounts as the pages, to the cent.
func TestTheWireFormAndThePageHaveTheSameTotals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCampaign(t)
		drawGiven(t, &c)
		total := c
		total.OpeningRaised, total.OpeningDonors = c.Raised(), c.Donors()
		assert.Equal(t, wire(c, "https://x.org", c.Given), wire(total, "https://x.org", Given{}))
	})
}

// A file may come from a list. Its totals must not become the opening balance, which would count gifts twice.
func TestTotalsThatWereShownAreNoOpeningBalance(t *testing.T) {
	c := New(oneCampaign(t, `{"title":"Gala","raised":10,"donors":1}`), rose, 5, "gala", noon)
	c.Given = Given{2000, 3}
	for _, test := range rows.Of[struct {
		Row            string
		Raised, Donors int64
	}](`
		{"slug":"gala","raised":30,"donors":4}  1000  1
		{"slug":"gala","raised":31,"donors":5}  3100  5
		{"slug":"gala","raised":30,"donors":0}  1000  0
		{"slug":"gala"}                         1000  1
	`) {
		in := oneCampaign(t, test.Row)
		in.DropTotals(c)
		if got := c.Update(in, noon); got.OpeningRaised != test.Raised || got.OpeningDonors != test.Donors {
			t.Errorf("%s: %d from %d", test.Row, got.OpeningRaised, got.OpeningDonors)
		}
	}
}

func TestTheStateOfACampaignIsKeptBesideItsDocument(t *testing.T) {
	const link = "https://pay.example.org/gala?x=1"
	kept := func(c Campaign, want string) {
		t.Helper()
		assert.Equal(t, string(c.Status)+" "+c.PaymentLink, want)
	}
	c, later := gala(t, ""), noon.Add(time.Hour)
	kept(c, "published ")
	update := func(c Campaign, row string) Campaign {
		return c.Update(oneCampaign(t, `{"slug":"gala"`+row+`}`), later)
	}
	next := update(c, `,"status":"draft","payment_link":"`+link+`"`)
	want := c
	want.Status, want.PaymentLink, want.UpdatedAt = Draft, link, later
	assert.Same(t, want, next)
	text := campaignText(next)
	assert.Equal(t, text, strings.NewReplacer("published", "draft", `updated_at":"2026-01-31 12`,
		`updated_at":"2026-01-31 13`).
		Replace(campaignText(c)))
	linked := update(c, `,"payment_link":"https://pay.example.org/gala"`)
	assert.Equal(t, campaignText(linked), campaignText(c),
		"a link that is not shown") // updated_at stays, since what is shown does
	assert.Equal(t, next.Version(nil) == c.Version(nil), false, "a form that has another payment link counts as new")
	kept(update(next, `,"status":null,"payment_link":null`), "published ")
	kept(update(next, ""), "draft "+link)
	kept(next.Update(assert.Must(readForm(filled(next), next))(t), noon), "draft "+link)
}

func TestAPaymentLinkIsAnHTTPSAddress(t *testing.T) {
	refuses := func(row, want string) {
		t.Helper()
		_, err := DecodeAll([]byte(`[{"title":"Gala",` + row + `}]`))
		assert.Says(t, err, want, "%.80s", row)
	}
	for _, link := range rows.All(`
		http://pay.example.org  pay.example.org  javascript:alert(1)  https://  https://user:pw@pay.example.org
		//pay.example.org  https://pay.example.org/a b  https:\\pay.example.org
	`) {
		refuses(`"payment_link":`+string(doc.AppendText(nil, link)),
			"row 1: payment_link: The payment_link field must be an absolute https URL.")
	}
	long := "https://pay.example.org/" + strings.Repeat("a", 2025)
	refuses(`"payment_link":"`+long+`"`,
		"row 1: payment_link: The payment_link field must not be longer than 2048 characters.")
	refuses(`"payment_link":"`+long[:2048]+`"`, "")
	refuses(`"status":"open"`, "row 1: status: The status field must be one of draft, published, closed.")
}

// A client that reads a campaign, changes one field and sends all of it back has changed that field, whatever was given
// meanwhile.
func TestACampaignThatIsSentBackChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := gala(t,
			`"subtitle":"Dinner & dance","description":"<p>Fish</p> or <b>none</b>","logo":"https://i.example.org/l.png",
			"cover":{"type":"video","url":"http://v.example.org","source":"vimeo"},"status":"draft","payment_link":"https://pay.example.org",
			"event":{"private":true,"livestream":{"url":"http://v.example.org/l"}}`)
		drawTotals(t, &c)
		drawGiven(t, &c)
		c.Event.StartAt = drawTime(t, "start")
		in, faults := assert.Must2(Decode(doc.NewBody([]byte(wire(c, "https://x.org", c.Given)))))(t)
		assert.Succeed(t, in.Validate(faults, false))
		assert.Same(t, c, c.Update(in, noon.Add(time.Hour)))
		in.Title = new("Ball")
		want := c
		want.Title, want.UpdatedAt = "Ball", noon.Add(time.Hour)
		assert.Same(t, want, c.Update(in, noon.Add(time.Hour)))
	})
}

func TestProgressIsNotRoundedUp(t *testing.T) {
	for _, test := range rows.Of[struct {
		Raised, Goal int64
		Want         string
	}](`
		0             0             0 false
		500           0             0 false
		0             100           0 true
		50            100           50 true
		9999          10000         99 true
		100           100           100 true
		250           100           250 true
		999999999999  999999999999  100 true
		999999999999  1             99999999999900 true
	`) {
		c := Campaign{OpeningRaised: test.Raised, Goal: test.Goal}
		assert.Equal(t, fmt.Sprint(c.Progress()), test.Want, "%+v", test)
	}
}
