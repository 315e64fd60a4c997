package api_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"donorbook/internal/crm/custom"
	"donorbook/internal/rig/rows"
	"donorbook/internal/store"
	"donorbook/internal/store/book"
)

// FuzzHTTP sends anything that net/http would let through: the server never fails, errors are always JSON, and every
// status is listed in openapi.yaml.
func FuzzHTTP(f *testing.F) {
	s := newServer(f, openStore(f), settings{rateLimit: 1_000_000_000})
	account := newAccount(f, s.store, "main", "")
	key := newKey(f, s.store, account)
	defineField(f, s, account, "Text", custom.TextField)
	defineField(f, s, account, "Number", custom.NumberField)
	id := idOf(f, s.ask(f, "POST", "/v1/contacts", key,
		`{"first_name":"Ann","last_name":"Lee","emails":[{"value":"a@lee.example"}]}`).body)
	gift := idOf(f, s.ask(f, "POST", "/v1/transactions", key,
		`{"amount":50,"method":"check","transacted_at":"2026-01-31","contact_id":`+id+`}`).body)
	plan := idOf(f, s.ask(f, "POST", "/v1/plans", key,
		`{"amount":25,"frequency":"monthly","method":"card","contact_id":`+id+`}`).body)
	campaign := idOf(f, s.ask(f, "POST", "/v1/campaigns", key, `{"title":"Gala"}`).body)
	document := must(loadContract())(f)
	for _, seed := range rows.Of[struct{ Method, Target, Header, Body string }](`
		GET  /v1/contacts?scope=all&page=2&per_page=100&x=%zz  Accept: text/html  ""
		GET  /v1/contacts?email=%27%20OR%201=1--@x.org&phone=%2B1%00&tag=%25_%5C&tag[]=t:a&tag[20]=%F0%9F&q=%22(*%20NEAR%20-%20:%20%5E%00  ""  ""
		GET  /v1/contacts?createdAfter=9999-12-31T23:59:59-23:59&updated_before=0000-01-01&created_before=2026-01-31T24:00:00Z&sortByDesc=--id&sort=-  ""  ""
		GET  /v1/contacts?totalContributionsMin=-999999999999999&total_contributions_max=%2B0x1p9&first_name=%CC%81&lastName=%E2%80%AE&primary_email=@&per_page=100  ""  ""
		GET  /v1/contacts?q=q%20a%20a%20a%20a&sort=-last_name&sortBy=updated_at&scope=archived&scope=all&page=1&page=2&page[]=3  ""  ""
		POST  /v1/contacts?force_create=1  Content-Type: application/json; charset=utf-8  {"first_name":"A","last_name":"B","phones":[{"value":"+1 415 555 0132","type":"cell"}]}
		POST  /v1/contacts  ""  {"first_name":"A","last_name":"B","emails":[{"value":"a@lee.example"}],"addresses":[{"state":"CA","country":"USA"}],"dob":"1/2/1984","twitter_url":"https://x.example"}
		PATCH  /v1/contacts/ID  ""  {"emails":[{"value":"ü@ü.example","type":"work"}],"tags":["a","\u0000","\ud800"],"middle_name":null}
		PATCH  /v1/contacts/ID/restore  ""  ""
		POST  /v1/contacts/ID/restore  ""  []
		PUT  /v1/contacts/ID  ""  {"primary_email":"b@lee.example","phone":"415 555 0132","city":null,"state":"ca","note":"\u2028","emails":null}
		PATCH  /v1/contacts/ID  ""  " [ ] "
		POST  /v1/contacts?force_create=  ""  {"first_name":"A","last_name":"B","email":"a@lee.example","emails":["a@lee.example",{}],"force_create":"TRUE"}
		DELETE  /v1/contacts/99999999999999999999  ""  ""
		POST  /v1/contacts/ID/tags/sync  Content-Type: text/plain  {"tags":[]}
		HEAD  /v1/contacts/ID  Range: bytes=0-1  ""
		BREW  //v1/../contacts/%2f?page=9007199254740992  X-Forwarded-For: ::ffff:1.2.3.4%25x, , 9  [[[[[[
		GET  /v1/campaigns?scope=all&page=-1&%00=%ff  X-Forwarded-Proto: https,http  {
		GET  /v1/contacts/ID/activities?sort=-id&page=2&per_page=1  If-None-Match: *  ""
		POST  /v1/contacts/ID/activities  Idempotency-Key: n  {"note":"\u2028","occurred_at":"2026-01-31"}
		PATCH  /v1/contacts/ID  If-Match: "1-0", W/"2-ff", *  {"company":"x"}
		GET  /v1/contacts/ID  If-None-Match: "  ""
		GET  /v1/tags?q=%F0%9F&page=2&per_page=1  ""  ""
		GET  /v1/custom-fields?page=2&per_page=1  ""  ""
		PATCH  /v1/contacts/ID  ""  {"custom_fields":[{"field_id":1,"value":"\u2028],\"archived_at\":"},{"field_id":1e99,"value":[[]]},null]}
		POST  /v1/contacts  ""  {"first_name":"A","last_name":"B","custom_fields":{"field_1":"x","field_2":-1e-7,"":{},"field_01":null}}
		PATCH  /v1/tags/a%2Fb%00%ff  Idempotency-Key: k  {"name":"\ud83d"}
		PUT  /v1/tags/a  ""  {"name":"a/b"}
		DELETE  /v1/tags/..  ""  ""
		GET  /v1/campaigns/CAMPAIGN  Accept: */*  ""
		POST  /v1/campaigns  Idempotency-Key: c  {"title":"\u202e","slug":"v1","goal":1e99,"cover":{"url":"https://x.org"},"event":{"livestream":{}},"beneficiaries":["ID"],"status":null}
		PATCH  /v1/campaigns/CAMPAIGN  ""  {"event":{"start_at":"2026-01-31 09:08:07","timezone":"Local"},"end_at":"","payment_link":"https://x"}
		PUT  /v1/campaigns/CAMPAIGN  ""  [ ]
		DELETE  /v1/campaigns/CAMPAIGN  ""  {
		GET  /v1/transactions?contact_id=ID&campaign_id=1&plan_id=PLAN&status=pending&method=ach&external_id=%ff&transacted_after=2026-01-31T00:00:00+00:00&scope=all  ""  ""
		POST  /v1/transactions  ""  {"amount":1e-2,"fee":0.01,"method":"in_kind","transacted_at":"2026-01-31 09:08:07","first_name":"A","last_name":"B","email":"a@lee.example","address":{"state":"CA"},"dedication":{"type":"in_honor_of"},"external_id":"x","livemode":false}
		PATCH  /v1/transactions/GIFT  ""  {"plan_id":"PLAN","transacted_at":"1900-01-01","fee":0.5,"status":"failed","check_deposited_at":"2026-01-31T24:00:00Z"}
		PUT  /v1/transactions/GIFT  ""  {"contact_id":ID,"campaign_id":1e3,"dedication":null}
		POST  /v1/transactions/GIFT/refund  ""  {"amount":0.01}
		POST  /v1/plans  ""  {"amount":99999999999,"frequency":"weekly","method":"card","contact_id":ID,"start_at":"2199-12-31","next_bill_date":"1900-01-01"}
		PUT  /v1/plans/PLAN  ""  {"status":"ended","frequency":"yearly","start_at":"1900-02-28","currency":"JPY"}
	`) {
		f.Add(seed.Method, seed.Target, seed.Header, []byte(seed.Body))
	}
	names := strings.NewReplacer("ID", id, "GIFT", gift, "PLAN", plan, "CAMPAIGN", campaign)
	f.Fuzz(func(t *testing.T, method, target, header string, body []byte) {
		oneLine := strings.NewReplacer("\r", "", "\n", "").Replace
		raw := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: donors.example\r\nAuthorization: Bearer %s\r\n%s\r\n\r\n",
			oneLine(method),
			oneLine(names.Replace(target)), key, oneLine(header))
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(raw)))
		if err != nil || r.Host != "donors.example" {
			return
		}
		body = []byte(names.Replace(string(body)))
		r.Body, r.ContentLength, r.RemoteAddr = io.NopCloser(bytes.NewReader(body)), int64(len(body)), "127.0.0.1:1"
		if len(body)%2 == 1 {
			r.ContentLength = -1 // as if it came in chunks
		}
		recorder := httptest.NewRecorder()
		s.handler.ServeHTTP(recorder, r)
		got := answer{recorder.Code, recorder.Header(), recorder.Body.String()}
		if !strings.HasPrefix(r.URL.Path, "/v1") && got.status == 200 {
			return // the documents
		}
		if r.Method == "HEAD" {
			got.body = "" // the recorder keeps what a server does not send
		}
		for _, broken := range brokenPromises(r, got, s.rateLimit) {
			if !strings.Contains(broken, "secret") { // what was sent may come back
				t.Errorf("%q %d %s: %s", raw, got.status, clip(got.body), broken)
			}
		}
		if route := document.route(r); route != nil && route.Operation.Responses.Status(got.status) == nil {
			t.Errorf("%q: openapi.yaml does not list the status %d of %s", raw, got.status, route.Operation.OperationID)
		}
	})
}

// HTTP/1.0 needs no Host header: links then begin with the address that was called.
func TestARequestWithoutAHostIsAnswered(t *testing.T) {
	s := anyServer(t)
	key := s.anyKey(t)
	address := strings.TrimPrefix(s.url, "http://")
	connection := must(net.Dial("tcp", address))(t)
	defer connection.Close()
	fmt.Fprintf(connection, "GET /v1/contacts HTTP/1.0\r\nAuthorization: Bearer %s\r\n\r\n", key)
	response := must(http.ReadResponse(bufio.NewReader(connection), nil))(t)
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	if want := `"links":{"first":"http://` + address + `/v1/contacts?page=1"`; response.StatusCode != 200 ||
		!strings.Contains(string(body), want) {
		t.Errorf("%d %s", response.StatusCode, clip(string(body)))
	}
}

// If the database is gone, every request fails, and no answer says more than that.
func TestAFailureSaysNothingAboutTheInside(t *testing.T) {
	data := must(book.Open(context.Background(), store.Options{Data: t.TempDir()}))(t)
	s := newServer(t, data, usual)
	key := newKey(t, data, newAccount(t, data, "main", ""))
	fill := s.repeatableThings(t, key)
	succeed(t, data.Close())
	messages := map[int]string{
		500: `{"message":"Something went wrong on our side. Please try again later."}`,
		503: `{"message":"The service is temporarily unavailable. Please try again."}`,
	}
	for path, item := range must(loadContract())(t).document.Paths.Map() {
		for method, operation := range item.Operations() {
			request, known := repeatable[operation.OperationID]
			if !known {
				request.Target = ownIDs.Replace(path)
			}
			r := s.request(t, method, fill.Replace(request.Target), key, fill.Replace(request.Body))
			response := must(s.client.Do(r))(t)
			body, _ := io.ReadAll(response.Body)
			response.Body.Close()
			got := answer{response.StatusCode, response.Header, string(body)}
			if want, fails := messages[got.status]; !fails || got.body != want ||
				(got.status == 503) != (got.header.Get("Retry-After") != "") {
				t.Errorf("%s %s: %d %v %s", method, path, got.status, got.header, clip(got.body))
			}
			checkContract(t, r, got)
		}
	}
}
