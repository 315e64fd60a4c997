package client_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"donorbook/client"
	"donorbook/internal/rig/assert"
)

const secret = "dbk_secret"

// sent is a request as a server gets it.
type sent struct {
	method, url, key, body string
	at                     time.Duration // since the first one
	ifMatch                string
}

type reply = func() (*http.Response, error)

// script answers one request after the other, and repeats its last answer.
type script struct {
	answers []reply
	seen    []sent
	start   time.Time
}

func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	if len(s.seen) == 0 {
		s.start = time.Now()
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if r.Header.Get("Authorization") != "Bearer "+secret {
		return nil, errors.New("the request has no key")
	}
	s.seen = append(s.seen, sent{r.Method, r.URL.RequestURI(), r.Header.Get("Idempotency-Key"), string(body),
		time.Since(s.start), r.Header.Get("If-Match")})
	return s.answers[min(len(s.seen), len(s.answers))-1]()
}

// says is an answer with a status, a body and headers.
func says(status int, body string, headers ...string) reply {
	return func() (*http.Response, error) {
		w := httptest.NewRecorder()
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = w.WriteString(body)
		return w.Result(), nil
	}
}

// breaks is a connection that fails.
func breaks(err error) reply {
	return func() (*http.Response, error) { return nil, err }
}

// breaksOff is an answer that ends too early.
func breaksOff() (*http.Response, error) {
	response, _ := says(200, "")()
	response.Body = io.NopCloser(io.MultiReader(strings.NewReader(`{"id":`), iotest.ErrReader(io.ErrUnexpectedEOF)))
	return response, nil
}

func newClient(t *testing.T, s http.RoundTripper, options ...client.Option) *client.Client {
	t.Helper()
	options = append([]client.Option{client.WithHTTPClient(&http.Client{Transport: s})}, options...)
	return assert.Must(client.New("https://donors.example.org/", secret, options...))(t)
}

var (
	get    = func(ctx context.Context, c *client.Client) error { _, err := c.Contacts.Get(ctx, 7); return err }
	create = func(ctx context.Context, c *client.Client) error {
		_, _, err := c.Contacts.Create(ctx, client.ContactInput{FirstName: "Amelia", LastName: "Okafor"})
		return err
	}
	update = func(ctx context.Context, c *client.Client) error {
		_, err := c.Contacts.Update(ctx, 7, client.ContactChange{Company: client.Set("Blue Heron Books")})
		return err
	}
	archive = func(ctx context.Context, c *client.Client) error { return c.Contacts.Archive(ctx, 7) }
)

// TestWhatIsRepeated: a call is sent again where that is safe and may help, the same each time, and no sooner than the
// server asks for.
func TestWhatIsRepeated(t *testing.T) {
	dropped := breaks(errors.New("connection reset"))
	for _, test := range []struct {
		what   string
		call   func(context.Context, *client.Client) error
		first  reply
		again  bool
		atOnce time.Duration // the least wait
	}{
		{"a read that is turned away", get, says(429, "", "Retry-After", "7"), true, 7 * time.Second},
		{"a change that is turned away", create, says(429, "", "Retry-After", "60"), true, time.Minute},
		{"a change that must wait too long", create, says(429, "", "Retry-After", "61"), false, 0},
		{"an archiving that is turned away", archive, says(503, "", "Retry-After", "1"), true, time.Second},
		{"a read of a busy server", get, says(503, ""), true, 100 * time.Millisecond},
		{"a change that is under way", update, says(409, "", "Retry-After", "2"), true, 2 * time.Second},
		{"a conflict", archive, says(409, `{"message":"The campaign has gifts."}`), false, 0},
		{"a read that fails", get, says(500, ""), true, 100 * time.Millisecond},
		{"a creation that fails", create, says(502, "<html>"), true, 100 * time.Millisecond},
		{"a change that fails", update, says(500, ""), true, 100 * time.Millisecond},
		{"an archiving that fails", archive, says(500, ""), false, 0},
		{"a body that was late", create, says(408, ""), true, 100 * time.Millisecond},
		{"a read without an answer", get, dropped, true, 100 * time.Millisecond},
		{"a creation without an answer", create, dropped, true, 100 * time.Millisecond},
		{"an archiving without an answer", archive, dropped, false, 0},
		{"half an answer", create, breaksOff, true, 100 * time.Millisecond},
		{"a stranger's certificate", get,
			breaks(&tls.CertificateVerificationError{Err: errors.New("unknown authority")}), false, 0},
		{"a wrong value", create, says(422, `{"message":"No."}`), false, 0},
		{"a wrong key", get, says(401, `{"message":"Unauthenticated."}`), false, 0},
		{"a redirect", create, says(307, "", "Location", "https://elsewhere.example.org/"), false, 0},
	} {
		t.Run(test.what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{answers: []reply{test.first, says(200, `{"id":7}`)}}
				err := test.call(t.Context(), newClient(t, s))
				if again := len(s.seen) == 2; again != test.again || (err == nil) != test.again {
					t.Fatalf("it was sent %d times, and the error is %v", len(s.seen), err)
				}
				if !test.again {
					return
				}
				wait := s.seen[1].at
				if wait < test.atOnce || wait > test.atOnce+time.Second {
					t.Errorf("it was repeated after %s", wait)
				}
				s.seen[1].at = 0
				assert.Equal(t, s.seen[0], s.seen[1], "it was sent")
				assert.Equal(t, s.seen[0].method == "POST" || s.seen[0].method == "PATCH", (s.seen[0].key != ""),
					"the request has the Idempotency-Key %q", s.seen[0].key)
			})
		})
	}
}

// TestRepeatingEnds: after five attempts, when the context ends, or at once if the context would end before the next
// attempt.
func TestRepeatingEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sends := func(what string, ctx context.Context, times int, took time.Duration, options ...client.Option) error {
			t.Helper()
			s, start := &script{answers: []reply{says(503, "", "Retry-After", "10")}}, time.Now()
			err := create(ctx, newClient(t, s, options...))
			assert.Equal(t, len(s.seen), times, "%s: so often it was sent", what)
			assert.Equal(t, time.Since(start), took, "%s: it took", what)
			assert.Equal(t, statusOf(err), 503, "%s", what)
			return err
		}
		_ = sends("without repeating", t.Context(), 1, 0, client.WithRetries(0))
		ctx, cancel := context.WithTimeout(t.Context(), 9*time.Second)
		_ = sends("with less time than the server asks for", ctx, 1, 0)
		cancel()
		ctx, cancel = context.WithCancel(t.Context())
		time.AfterFunc(5*time.Second, cancel)
		if err := sends("canceled", ctx, 1, 5*time.Second); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		s := &script{answers: []reply{says(503, "")}}
		assert.Equal(t, statusOf(create(t.Context(), newClient(t, s))), 503)
		assert.Equal(t, len(s.seen), 5)
	})
}

func statusOf(err error) int {
	var refused *client.Error
	if errors.As(err, &refused) {
		return refused.Status
	}
	return 0
}

func TestEachChangeHasAKeyOfItsOwn(t *testing.T) {
	s := &script{answers: []reply{says(200, `{"id":7}`)}}
	c := newClient(t, s)
	again := create(client.WithIdempotencyKey(t.Context(), "order-5521"), c)
	assert.Succeed(t, errors.Join(create(t.Context(), c), create(t.Context(), c), again))
	assert.Equal(t, s.seen[0].key, "order-5521")
	if s.seen[1].key == s.seen[2].key || len(s.seen[1].key) < 20 {
		t.Errorf("the keys are %q and %q", s.seen[1].key, s.seen[2].key)
	}
}

// A program changes only what it has read, or hears that someone else was faster.
func TestAChangeCanBeConditional(t *testing.T) {
	s := &script{answers: []reply{says(200, `{"id":7}`, "ETag", `"v1"`), says(412, `{"message":"Changed meanwhile."}`)}}
	c := newClient(t, s)
	var tag string
	if _, err := c.Contacts.Get(client.WithETag(t.Context(), &tag), 7); err != nil || tag != `"v1"` {
		t.Fatalf("%v: the ETag is %q", err, tag)
	}
	_, err := c.Contacts.Update(client.WithIfMatch(t.Context(), tag), 7, client.ContactChange{})
	assert.Equal(t, statusOf(err), 412)
	assert.Equal(t, s.seen[0].ifMatch, "")
	assert.Equal(t, s.seen[1].ifMatch, tag)
}

func TestAnErrorTellsWhatIsWrong(t *testing.T) {
	s := &script{answers: []reply{
		says(422,
			`{"message":"The first_name field is required. (and 1 more error)","errors":{"first_name":["The first_name field is required."],"emails.0.value":["No."]}}`, "X-Request-Id", "r1"),
		says(404, "<html>not ours</html>"),
	}}
	c := newClient(t, s)
	err := create(t.Context(), c)
	var refused *client.Error
	if !errors.As(err, &refused) {
		t.Fatal(err)
	}
	assert.Equal(t, refused.Fields,
		map[string][]string{"first_name": {"The first_name field is required."}, "emails.0.value": {"No."}})
	assert.Equal(t, err.Error(),
		"POST /v1/contacts: 422 The first_name field is required. (and 1 more error) (request r1)",
		"the error")
	if err := get(t.Context(), c); err.Error() != "GET /v1/contacts/7: 404 Not Found" {
		t.Errorf("an answer of something else is told as %q", err)
	}
}

// TestNothingPrivateIsTold: neither the key nor what was searched for is in what a program may log.
func TestNothingPrivateIsTold(t *testing.T) {
	c := newClient(t, &script{answers: []reply{breaks(errors.New("connection reset"))}}, client.WithRetries(0))
	_, err := c.Contacts.Page(t.Context(), client.ContactFilter{Email: new("amelia@example.org")}, 1)
	told := fmt.Sprintf("%v %+v %#v %v %+v", c, c, *c, err, err)
	if err == nil || strings.Contains(told, "amelia") || strings.Contains(told, secret) {
		t.Error(told)
	}
}

func TestAnAnswerHasALimit(t *testing.T) {
	t.Cleanup(client.LimitAnswers(1000))
	s := &script{answers: []reply{says(200, `{"note":"`+strings.Repeat("x", 1000)+`"}`)}}
	if err := get(t.Context(), newClient(t, s)); err == nil || !strings.Contains(err.Error(), "too large") ||
		len(s.seen) != 1 {
		t.Errorf("sent %d times: %v", len(s.seen), err)
	}
}

func TestWrongSettingsAreRefused(t *testing.T) {
	for _, base := range []string{"", "donors.example.org", "ftp://donors.example.org", "https://", "https://x.org?a=b",
		"https://u:p@x.org"} {
		if _, err := client.New(base, secret); err == nil {
			t.Errorf("%q was accepted", base)
		}
	}
	if _, err := client.New("https://donors.example.org", ""); err == nil {
		t.Error("an empty key was accepted")
	}
	empty := filepath.Join(t.TempDir(), "ca.pem")
	assert.Succeed(t, os.WriteFile(empty, []byte("no certificate"), 0o600))
	for _, path := range []string{empty, empty + ".not"} {
		if _, err := client.New("https://donors.example.org", secret, client.WithCAFile(path)); err == nil ||
			!strings.Contains(err.Error(), path) {
			t.Errorf("the authority in %s: %v", path, err)
		}
	}
}

// TestAChangeSendsWhatWasSet: absent, null and a value are three things, and so are nil and an empty list.
func TestAChangeSendsWhatWasSet(t *testing.T) {
	s := &script{answers: []reply{says(200, `{}`)}}
	c := newClient(t, s)
	at := client.CampaignTime{Time: time.Date(2027, 5, 31, 23, 59, 59, 0, time.UTC)}
	_, err1 := c.Contacts.Update(t.Context(), 7, client.ContactChange{Company: client.Set("Blue Heron Books"),
		DOB: client.Clear[string](), Tags: []string{}})
	_, err2 := c.Transactions.Update(t.Context(), "g1",
		client.TransactionChange{CampaignID: client.Clear[int64](), Fee: client.Set[client.Money]("1.75")})
	_, err3 := c.Campaigns.Update(t.Context(), 8, client.CampaignChange{EndAt: client.Set(at),
		Event: client.Clear[client.Event]()})
	_, err4 := c.Plans.Update(t.Context(), "p1", client.PlanChange{})
	assert.Succeed(t, errors.Join(err1, err2, err3, err4))
	var bodies []string
	for _, r := range s.seen {
		bodies = append(bodies, r.url+" "+r.body)
	}
	want := []string{
		`/v1/contacts/7 {"dob":null,"company":"Blue Heron Books","tags":[]}`,
		`/v1/transactions/g1 {"campaign_id":null,"fee":1.75}`,
		`/v1/campaigns/8 {"end_at":"2027-05-31 23:59:59","event":null}`,
		`/v1/plans/p1 {}`,
	}
	assert.Equal(t, bodies, want, "sent otherwise than wanted (-want +sent)")
}

// TestMoneyKeepsItsDigits: a float64 would lose the last ones.
func TestMoneyKeepsItsDigits(t *testing.T) {
	s := &script{answers: []reply{says(201, `{"amount":98765432109876543.21}`)}}
	gift, err := newClient(t, s).Transactions.Create(t.Context(),
		client.TransactionInput{Amount: "12345678901234567.89", Method: "check", TransactedAt: "2026-01-31",
			ContactID: 7})
	assert.Succeed(t, err)
	assert.Equal(t, gift.Amount, "98765432109876543.21", "received")
	assert.Equal(t, s.seen[0].body,
		`{"amount":12345678901234567.89,"method":"check","transacted_at":"2026-01-31","contact_id":7}`,
		"sent")
	if _, err := newClient(t, s).Transactions.Create(t.Context(),
		client.TransactionInput{Amount: "1,500"}); err == nil || len(s.seen) != 1 {
		t.Errorf("an amount that is no number was sent: %v", err)
	}
}

// TestCampaignTimesAreRead: campaigns have a form of their own, and an unset time is zero.
func TestCampaignTimesAreRead(t *testing.T) {
	s := &script{answers: []reply{says(200,
		`{"id":8,"goal":250.5,"end_at":null,"created_at":"2026-11-15 06:08:07","event":{"start_at":"2027-06-20 18:00:00"}}`)}}
	campaign := assert.Must(newClient(t, s).Campaigns.Get(t.Context(), 8))(t)
	assert.Equal(t, campaign.EndAt.IsZero(), true)
	assert.Equal(t, campaign.Goal, "250.5")
	assert.Equal(t, campaign.CreatedAt.String(), "2026-11-15 06:08:07 +0000 UTC")
	assert.Equal(t, campaign.Event.StartAt.Hour(), 18)
}

// TestTagsHaveAnyName: a name goes into the path as it is, and a change of many contacts is told as not done.
func TestTagsHaveAnyName(t *testing.T) {
	s := &script{answers: []reply{says(202, `{"name":"b","contacts":900}`), says(200, `{"name":"b","contacts":3}`),
		says(202, ""), says(200, "")}}
	c := newClient(t, s)
	for _, wantDone := range []bool{false, true} {
		if tag, done, err := c.Tags.Rename(t.Context(), "a/ä?", "b"); err != nil || done != wantDone ||
			tag.Name != "b" {
			t.Errorf("renamed %+v, done %v, %v", tag, done, err)
		}
	}
	for _, wantDone := range []bool{false, true} {
		assert.Equal(t, assert.Must(c.Tags.Delete(t.Context(), "100%"))(t), wantDone, "deleted, done")
	}
	if s.seen[0].url != "/v1/tags/a%2F%C3%A4%3F" || s.seen[0].body != `{"name":"b"}` ||
		s.seen[2].url != "/v1/tags/100%25" {
		t.Errorf("sent %+v", s.seen)
	}
}

// pages is a list of three pages with two tags each; the second page fails as often as told.
func pages(failing int) *script {
	s := &script{}
	for number := 1; number <= 3; number++ {
		for ; number == 2 && failing > 0; failing-- {
			s.answers = append(s.answers, says(500, `{"message":"Server error."}`))
		}
		s.answers = append(s.answers,
			says(200, fmt.Sprintf(`{"data":[{"name":"%d a"},{"name":"%d b"}],"meta":{"last_page":3,"total":6}}`, number,
				number)))
	}
	return s
}

func TestAListGoesThroughAllPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, test := range []struct {
			failing, stopAfter, requests int
			want                         []string
		}{
			{0, 0, 3, []string{"1 a", "1 b", "2 a", "2 b", "3 a", "3 b"}},
			{1, 0, 4, []string{"1 a", "1 b", "2 a", "2 b", "3 a", "3 b"}},
			{9, 0, 6, []string{"1 a", "1 b", "500"}},
			{0, 3, 2, []string{"1 a", "1 b", "2 a"}},
		} {
			s := pages(test.failing)
			var got []string
			for tag, err := range newClient(t, s).Tags.List(t.Context(), client.TagFilter{Prefix: new("vol & co")}) {
				if err != nil {
					tag.Name = fmt.Sprint(statusOf(err))
				}
				if got = append(got, tag.Name); len(got) == test.stopAfter {
					break
				}
			}
			if !slices.Equal(got, test.want) || len(s.seen) != test.requests {
				t.Errorf("with %d failures: %v in %d requests", test.failing, got, len(s.seen))
			}
			if last := s.seen[len(s.seen)-1].url; test.failing < 2 && test.stopAfter == 0 &&
				last != "/v1/tags?page=3&per_page=100&q=vol+%26+co" {
				t.Errorf("the last page is %s", last)
			}
		}
	})
}

// TestAFilterIsNeverLost: an empty filter is not sent, since it would list everything, and one that the server does not
// know is an error.
func TestAFilterIsNeverLost(t *testing.T) {
	s := &script{answers: []reply{says(200, `{"data":[{"id":1}],"meta":{"last_page":1,"total":1}}`, "X-Ignored-Query",
		"email")}}
	c := newClient(t, s)
	for _, f := range []client.ContactFilter{{Email: new("")}, {Tags: []string{"a", ""}}} {
		if _, err := c.Contacts.Page(t.Context(), f, 1); err == nil || len(s.seen) != 0 {
			t.Errorf("an empty filter: %v, %+v", err, s.seen)
		}
	}
	for found, err := range c.Contacts.List(t.Context(), client.ContactFilter{Email: new("amelia@example.org")}) {
		if err == nil || !strings.Contains(err.Error(), "email") {
			t.Errorf("a server that ignores the filter: contact %d, %v", found.ID, err)
		}
	}
}

// A filter of each kind, and those whose names differ from the parameters'.
func TestFiltersAreSentAsTheirParameters(t *testing.T) {
	s := &script{answers: []reply{says(200, `{"data":[],"meta":{"last_page":1}}`)}}
	c := newClient(t, s)
	at := time.Date(2026, 1, 31, 9, 8, 7, 0, time.FixedZone("", 3600))
	_, err1 := c.Contacts.Page(t.Context(), client.ContactFilter{
		Scope: "all", Phone: new("+1 415"), Tags: []string{"a", "b"}, AnyTag: []string{"c"}, NoTag: []string{"e"},
		Search: new("okafor"), CreatedAfter: &at, TotalContributionsMin: new(client.Money("0")),
		TotalContributionsMax: new(client.Money("9.50")), CampaignID: new(int64(8)), DoNotMail: new(true),
		DoNotEmail: new(false),
		Type:       "company", Sort: "-last_name",
	}, 4)
	_, err2 := c.Transactions.Page(t.Context(), client.TransactionFilter{Scope: "chapters", PlanID: new("p1"),
		Sort: "-amount"}, 1)
	assert.Succeed(t, errors.Join(err1, err2))
	want := []string{
		"/v1/contacts?campaign_id=8&created_after=2026-01-31T08%3A08%3A07Z&do_not_email=false&do_not_mail=true&page=4&per_page=100" +
			"&phone=%2B1+415&q=okafor&scope=all&sort=-last_name&tag=a&tag=b&tag_any=c&tag_none=e" +
			"&total_contributions_max=9.50&total_contributions_min=0&type=company",
		"/v1/transactions?page=1&per_page=100&plan_id=p1&scope=chapters&sort=-amount",
	}
	assert.Equal(t, []string{s.seen[0].url, s.seen[1].url}, want, "(-want +sent)")
}
