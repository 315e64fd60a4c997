package campaign

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/text"
	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

func TestGiftsAreAddedToTheNumbersOfACampaign(t *testing.T) {
	for _, test := range []struct {
		row, currency string
		given         Given
		want          string
	}{
		{`"raised":12.5,"donors":3`, "USD", Given{1005, 2}, `"goal":100,"raised":22.55,"donors":5,"currency":"USD"`},
		{`"raised":0.01`, "USD", Given{99, 1}, `"goal":100,"raised":1,"donors":1,"currency":"USD"`},
		{`"donors":7`, "JPY", Given{1500, 1}, `"goal":100,"raised":1500,"donors":8,"currency":"JPY"`},
		{`"raised":1.5`, "KWD", Given{12_349, 1}, `"goal":100,"raised":13.84,"donors":1,"currency":"KWD"`}, // of 12.349, the part below a cent is truncated
		{`"raised":5,"donors":1`, "USD", Given{}, `"goal":100,"raised":5,"donors":1,"currency":"USD"`},
		{`"raised":9999999999.99`, "EUR", Given{1, 1}, `"goal":100,"raised":10000000000,"donors":1,"currency":"EUR"`},
	} {
		// Its texts imitate the fields.
		row := `{"title":",\"raised\":1,\"donors\":2,\"currency\":\"","description":",\"raised\":7,","goal":100,"currency":"` + test.currency + `",` + test.row + `}`
		c := New(oneCampaign(t, row), rose, 5, "raised", noon)
		body, urlAt := c.AppendBody(nil)
		assert.Contains(t, string(Append(nil, 5, body, urlAt, "https://x.org/,raised", test.given, c.Status)), `"url":"https://x.org/,raised/raised",`+test.want+`,"logo":null`,
			"%v", test.want)
	}
}

// The API shows the same amounts as the pages, to the cent.
func TestTheWireFormAndThePageHaveTheSameTotals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCampaign(t)
		c.Currency = rapid.SampledFrom(rows.All(`EUR  JPY  BHD  USD`)).Draw(t, "currency")
		c.Given = Given{rapid.Int64Range(0, 1e14).Draw(t, "amount"), rapid.Int64Range(0, 1e9).Draw(t, "givers")}
		body, urlAt := c.AppendBody(nil)
		got := Append(nil, c.ID, body, urlAt, "https://x.org", c.Given, c.Status)
		total := c
		total.OpeningRaised, total.OpeningDonors = c.Raised(), c.Donors()
		body, urlAt = total.AppendBody(nil)
		assert.Equal(t, string(got), string(Append(nil, c.ID, body, urlAt, "https://x.org", Given{}, c.Status)),
			"%s", got)
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
	c := New(oneCampaign(t, `{"title":"Gala"}`), rose, 5, "gala", noon)
	if c.Status != Published || c.PaymentLink != "" {
		t.Errorf("a new campaign is %q with the link %q", c.Status, c.PaymentLink)
	}
	next := c.Update(oneCampaign(t, `{"slug":"gala","status":"draft","payment_link":"https://pay.example.org/gala?x=1"}`), noon.Add(time.Hour))
	want := c
	want.Status, want.PaymentLink, want.UpdatedAt = Draft, "https://pay.example.org/gala?x=1", noon.Add(time.Hour)
	assert.Same(t, want, next)
	if text := campaignText(next); !strings.HasSuffix(text, `"event":null,"code":"gala","status":"draft"}`) || strings.Contains(text, "pay.example.org") {
		t.Errorf("the wire form has become %s", text)
	}
	linked := c.Update(oneCampaign(t, `{"slug":"gala","payment_link":"https://pay.example.org/gala"}`), noon.Add(time.Hour))
	if campaignText(linked) != campaignText(c) { // updated_at stays, since what is shown does
		t.Errorf("a link that is not shown: %s", campaignText(linked))
	}
	if next.Version(nil) == c.Version(nil) {
		t.Error("a form that has another payment link counts as new")
	}
	if cleared := next.Update(oneCampaign(t, `{"slug":"gala","status":null,"payment_link":null}`), noon); cleared.Status != Published || cleared.PaymentLink != "" {
		t.Errorf("cleared: %q, %q", cleared.Status, cleared.PaymentLink)
	}
	if same := next.Update(oneCampaign(t, `{"slug":"gala"}`), noon); same.Status != Draft || same.PaymentLink != want.PaymentLink {
		t.Errorf("not sent: %q, %q", same.Status, same.PaymentLink)
	}
	in, err := readForm(filled(next), next)
	if got := next.Update(in, noon); err != nil || got.Status != Draft || got.PaymentLink != want.PaymentLink {
		t.Errorf("through the form: %q, %q, %v", got.Status, got.PaymentLink, err)
	}
}

func TestAPaymentLinkIsAnHTTPSAddress(t *testing.T) {
	for _, link := range rows.All(`
		http://pay.example.org  pay.example.org  javascript:alert(1)  https://  https://user:pw@pay.example.org
		//pay.example.org  https://pay.example.org/a b  https:\\pay.example.org
	`) {
		_, err := DecodeAll([]byte(`[{"title":"Gala","payment_link":` + string(doc.AppendText(nil, link)) + `}]`))
		if err == nil || err.Error() != "row 1: payment_link: The payment_link field must be an absolute https URL." {
			t.Errorf("%s: %v", link, err)
		}
	}
	long := "https://pay.example.org/" + strings.Repeat("a", 2025)
	if _, err := DecodeAll([]byte(`[{"title":"Gala","payment_link":"` + long + `"}]`)); err == nil || !strings.Contains(err.Error(), "payment_link field must not be longer than 2048 characters") {
		t.Errorf("%v", err)
	}
	if _, err := DecodeAll([]byte(`[{"title":"Gala","payment_link":"` + long[:2048] + `"}]`)); err != nil {
		t.Error(err)
	}
	if _, err := DecodeAll([]byte(`[{"title":"Gala","status":"open"}]`)); err == nil || err.Error() != "row 1: status: The status field must be one of draft, published, closed." {
		t.Errorf("%v", err)
	}
}

// The public form of a private event hides the payment link, which may reveal where tickets are sold, but not the status.
func TestAPrivateEventKeepsItsPaymentLink(t *testing.T) {
	c := New(oneCampaign(t, `{"title":"Gala","type":"event","status":"closed","payment_link":"https://pay.example.org","event":{"private":true}}`), rose, 5, "gala", noon)
	if got := c.Public(); got.PaymentLink != "" || got.Status != Closed {
		t.Errorf("%+v", got)
	}
}

// A client that reads a campaign, changes one field and sends all of it back has changed that field, whatever was given meanwhile.
func TestACampaignThatIsSentBackChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := New(oneCampaign(t, `{"title":"Gala","subtitle":"Dinner & dance","description":"<p>Fish</p> or <b>none</b>","logo":"https://i.example.org/l.png",
			"cover":{"type":"video","url":"http://v.example.org","source":"vimeo"},"event":{"private":true,"livestream":{"url":"http://v.example.org/l"}},"status":"draft","payment_link":"https://pay.example.org"}`), rose, 5, "gala", noon)
		c.Goal, c.OpeningRaised = rapid.Int64Range(0, text.MaxCents).Draw(t, "goal"), rapid.Int64Range(0, text.MaxCents).Draw(t, "raised")
		c.OpeningDonors, c.EndAt, c.Event.StartAt = rapid.Int64Range(0, text.MaxDonors).Draw(t, "donors"), drawTime(t, "end"), drawTime(t, "start")
		c.Currency = rapid.SampledFrom(rows.All(`EUR  JPY  BHD  USD`)).Draw(t, "currency")
		c.Given = Given{rapid.Int64Range(0, 1e14).Draw(t, "amount"), rapid.Int64Range(0, 1e9).Draw(t, "givers")}
		body, urlAt := c.AppendBody(nil)
		in, faults, err := Decode(doc.NewBody(Append(nil, c.ID, body, urlAt, "https://x.org", c.Given, c.Status)))
		if err == nil {
			err = in.Validate(faults, false)
		}
		if diff := cmp.Diff(c, c.Update(in, noon.Add(time.Hour))); err != nil || diff != "" {
			t.Fatal(err, diff)
		}
		title := "Ball"
		in.Title = &title
		want := c
		want.Title, want.UpdatedAt = "Ball", noon.Add(time.Hour)
		assert.Same(t, want, c.Update(in, noon.Add(time.Hour)))
	})
}

func TestProgressIsNotRoundedUp(t *testing.T) {
	for _, test := range []struct {
		raised, goal, percent int64
		ok                    bool
	}{
		{0, 0, 0, false}, {500, 0, 0, false}, {0, 100, 0, true}, {50, 100, 50, true}, {9_999, 10_000, 99, true}, {100, 100, 100, true},
		{250, 100, 250, true}, {text.MaxCents, text.MaxCents, 100, true}, {text.MaxCents, 1, text.MaxCents * 100, true},
	} {
		c := Campaign{OpeningRaised: test.raised, Goal: test.goal}
		if percent, ok := c.Progress(); percent != test.percent || ok != test.ok {
			t.Errorf("%d of %d is %d %%, %v", test.raised, test.goal, percent, ok)
		}
	}
}
