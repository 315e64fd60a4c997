package assistant_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"donorbook/internal/api"
	"donorbook/internal/assistant"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/rig"
	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
	"donorbook/internal/store"
	"donorbook/internal/store/book"
	"donorbook/internal/web"
)

func TestMain(m *testing.M) { rig.Main(m) }

// organization is an account with a server that assistants can use.
type organization struct {
	store   *book.Book
	account access.Account
	url     string
	client  *http.Client
	log     *rig.Output
}

// eachEngine runs a test with a server on every engine.
func eachEngine(t *testing.T, test func(t *testing.T, o organization)) {
	t.Helper()
	for _, e := range rig.Engines {
		t.Run(e.Name, func(t *testing.T) {
			directory, url := e.New(t)
			test(t, newOrganization(t, store.Options{Data: directory, Database: url}, 6000))
		})
	}
}

func newOrganization(t *testing.T, options store.Options, rateLimit int) organization {
	t.Helper()
	s := must(book.Open(t.Context(), options))(t)
	t.Cleanup(func() { _ = s.Close() })
	o := organization{store: s, log: new(rig.Output), account: must(s.CreateAccount(t.Context(), "River Aid", ""))(t)}
	proxies := must(web.NewProxies(nil, ""))(t)
	endpoint := api.New(s, api.Options{Proxies: proxies, Region: "US", RateLimit: rateLimit})
	plumbing := &web.Plumbing{Log: slog.New(slog.NewTextHandler(o.log, nil)), Proxies: proxies}
	handler := plumbing.Wrap(endpoint.Serve)
	endpoint.HandleKeyed("POST /mcp", assistant.NewEndpoint(api.Document, "test", handler).Serve)
	server := httptest.NewTLSServer(handler)
	t.Cleanup(server.Close)
	o.url, o.client = server.URL, server.Client()
	return o
}

// key makes a key with the named permissions, none for all.
func (o organization) key(t *testing.T, permissions ...string) (secret string) {
	t.Helper()
	rights, err := access.ParsePermissions(permissions)
	if len(permissions) == 0 {
		rights = access.AllPermissions
	}
	if err != nil {
		t.Fatal(err)
	}
	in := access.KeyInput{Name: "Assistant", Permissions: rights}
	_, secret = must2(o.store.CreateKey(t.Context(), o.account.Number, in))(t)
	return secret
}

// withKey sends a key with every request.
type withKey struct {
	secret string
	next   http.RoundTripper
}

func (w withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+w.secret)
	return w.next.RoundTrip(r)
}

// connect is an assistant at the server's own address.
func (o organization) connect(t *testing.T, secret string) session {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	connected, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: o.url + "/mcp", HTTPClient: &http.Client{Transport: withKey{secret, o.client.Transport}},
		MaxRetries: -1,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connected.Close() })
	return session{t, connected}
}

// session is what a test does as an assistant.
type session struct {
	t *testing.T
	*mcp.ClientSession
}

// call calls a tool that must succeed, and returns the record that it answers with.
func (s session) call(name string, arguments string) map[string]any {
	s.t.Helper()
	result := s.result(name, arguments)
	if result.IsError {
		s.t.Fatalf("%s: %s", name, text(result))
	}
	record, _ := result.StructuredContent.(map[string]any)
	return record
}

// refused calls a tool that must fail, and returns what the assistant is told.
func (s session) refused(name string, arguments string) string {
	s.t.Helper()
	result := s.result(name, arguments)
	if !result.IsError {
		s.t.Fatalf("%s succeeded: %s", name, text(result))
	}
	return text(result)
}

func (s session) result(name string, arguments string) *mcp.CallToolResult {
	s.t.Helper()
	params := &mcp.CallToolParams{Name: name}
	if arguments != "" {
		params.Arguments = json.RawMessage(arguments)
	}
	result, err := s.CallTool(s.t.Context(), params)
	if err != nil {
		s.t.Fatalf("%s: %v", name, err)
	}
	return result
}

func text(result *mcp.CallToolResult) string {
	var all []string
	for _, content := range result.Content {
		all = append(all, content.(*mcp.TextContent).Text)
	}
	return strings.Join(all, "\n")
}

func TestAnAssistantKeepsTheRecords(t *testing.T) {
	eachEngine(t, func(t *testing.T, o organization) {
		secret := o.key(t)
		s := o.connect(t, secret)
		created := s.call("create_contact",
			`{"first_name":"Amara","last_name":"Okafor","emails":[{"value":"amara@example.org"}]}`)
		again := s.result("create_contact",
			`{"first_name":"Amara","last_name":"Okafor","emails":[{"value":"AMARA@example.org"}]}`)
		contains(t, text(again), "merged")
		equal(t, again.StructuredContent.(map[string]any)["id"], created["id"], "the same person again")
		id := fmt.Sprintf(`{"id":%.0f`, created["id"])
		ofContact := strings.Replace(id, "id", "contact_id", 1)
		s.call("update_contact", id+`,"company":"Blue Heron Books"}`)
		s.call("add_tags", id+`,"tags":["board","gala"]}`)
		s.call("remove_tags", id+`,"tags":["gala"]}`)
		gift := s.call("record_gift", ofContact+`,"amount":50,"method":"check","transacted_at":"2026-01-31"}`)
		giftID := fmt.Sprintf(`{"id":%q`, gift["id"])
		s.call("refund_gift", giftID+`,"amount":25}`)
		s.call("undo_refund", giftID+`,"amount":5}`)

		contact := s.call("get_contact", id+"}")
		given := contact["stats"].(map[string]any)["total_contributions"]
		equal(t, fmt.Sprint(contact["company"], contact["tags"], given), "Blue Heron Books[board] 30")
		equal(t, total(s.call("find_contacts", `{"per_page":1}`)), 1)
		equal(t, total(s.call("list_gifts", ofContact+`,"status":"succeeded"}`)), 1)
		s.call("archive_contact", id+"}")
		contains(t, s.refused("get_contact", id+"}"), "403", "an archived contact")
		s.call("restore_contact", id+"}")
		s.call("list_campaigns", "")
		s.call("list_plans", "")
		equal(t, strings.Contains(o.log.String(), secret), false, "the log has the key")
	})
}

func total(page map[string]any) float64 { return page["meta"].(map[string]any)["total"].(float64) }

func TestAnAssistantIsToldWhatIsWrong(t *testing.T) {
	eachEngine(t, func(t *testing.T, o organization) {
		s, reader := o.connect(t, o.key(t)), o.connect(t, o.key(t, "contacts:read"))
		foreign := must(o.store.CreateAccount(t.Context(), "Other", ""))(t)
		for _, c := range rows.Of[struct{ Tool, Arguments, Want string }](strings.ReplaceAll(`
			create_contact  {"last_name":"Okafor","emails":[{"value":"amara at example"}]}  "first_name":["The first_name field is required."],"emails.0.value":["The emails.0.value field must be a valid email address."]
			find_contacts   {"per_page":500}  "per_page":
			find_contacts   {"surname":"Okafor"}  There is no argument surname. Use only:
			record_gift     {"amount":-5}  "amount":
			get_contact     ""  The id argument is required.
			get_contact     {"id":"abc"}  Donorbook answered 404
			get_contact     {"id":"../campaigns"}  Donorbook answered 404
			add_tags        {"id":"..","tags":["board"]}  Donorbook answered 404
			get_contact     {"id":{theirs}}  This action is unauthorized.
			update_contact  {"id":{theirs},"company":"X"}  This action is unauthorized.
		`, "{theirs}", fmt.Sprint(doc.MakeID(foreign.Number, 1)))) {
			contains(t, s.refused(c.Tool, c.Arguments), c.Want, "%s %v", c.Tool, c.Arguments)
		}
		for _, words := range []string{"403", "This action is unauthorized."} {
			contains(t, reader.refused("create_contact", `{"first_name":"Amara","last_name":"Okafor"}`), words)
			contains(t, reader.refused("list_campaigns", ""), words)
		}
		equal(t, total(reader.call("find_contacts", "")), 0, "what refused calls have made")
	})
}

// post sends a message of the protocol as any client could.
func (o organization) post(t *testing.T, secret, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	headers = append([]string{"Accept", "application/json, text/event-stream"}, headers...)
	response, answer := must2(rig.Send(o.client, secret, http.MethodPost, o.url+"/mcp", body, headers...))(t)
	return response, string(answer)
}

const callFind = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find_contacts","arguments":{}}}`

func TestTheEndpointIsClosedToStrangersAndPages(t *testing.T) {
	o := newOrganization(t, store.Options{Data: t.TempDir()}, 6000)
	secret := o.key(t)
	for _, c := range []struct {
		what, secret, body string
		headers            []string
		status             int
		want               string
	}{
		{"no key", "", callFind, nil, http.StatusUnauthorized, `{"message":"Unauthenticated."}`},
		{"a wrong key", "dbk_wrong", callFind, nil, http.StatusUnauthorized, `{"message":"Unauthenticated."}`},
		{"a stranger's large body", "", strings.Repeat(" ", 10<<20), nil, http.StatusUnauthorized,
			`{"message":"Unauthenticated."}`},
		{"a large body", secret, strings.Repeat(" ", 10<<20), nil, http.StatusRequestEntityTooLarge, "1 MiB"},
		{"a web page", secret, callFind, []string{"Origin", "https://evil.example"}, http.StatusForbidden,
			"Web pages cannot use this address."},
		{"a form", secret, callFind, []string{"Content-Type", "text/plain"}, http.StatusUnsupportedMediaType, "JSON"},
		{"a batch", secret, " [" + callFind + "," + callFind + "]", nil, http.StatusBadRequest,
			"one message at a time"},
		{"a megabyte of brackets", secret, strings.Replace(callFind, `"params":{`,
			`"params":{"_meta":`+brackets(500)+`,`, 1), nil,
			http.StatusBadRequest, "more than 16 levels"},
		{"brackets in a text", secret, strings.Replace(callFind, `"params":{`,
			`"params":{"_meta":{"a":"\"`+strings.Repeat("[", 500)+`"},`, 1), nil,
			http.StatusOK, `"structuredContent":{"data":[]`},
		{"no message", secret, "{}", nil, http.StatusBadRequest, ""},
		{"no JSON", secret, "{", nil, http.StatusBadRequest, ""},
		{"nothing", secret, "", []string{"Content-Type", "application/json"}, http.StatusBadRequest, ""},
		{"no arguments", secret, `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, nil, http.StatusBadRequest, ""},
		{"an unknown tool", secret, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"drop_tables"}}`,
			nil, http.StatusOK, "unknown tool"},
		{"arguments that are no object", secret,
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find_contacts","arguments":[1]}}`, nil,
			http.StatusOK, "must be one JSON object"},
		{"an argument twice", secret,
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find_contacts","arguments":{"page":1,"page":2}}}`, nil,
			http.StatusOK, "must be one JSON object"},
		{"a call", secret, callFind, nil, http.StatusOK, `"structuredContent":{"data":[]`},
	} {
		response, answer := o.post(t, c.secret, c.body, c.headers...)
		equal(t, response.StatusCode, c.status, "%s", c.what)
		contains(t, answer, c.want, "%s", c.what)
		if strings.Contains(answer, secret) {
			t.Errorf("%s: the key came back: %s", c.what, answer)
		}
	}
	response, answer, err := rig.Send(o.client, secret, http.MethodGet, o.url+"/mcp", "")
	if err != nil || response.StatusCode != http.StatusMethodNotAllowed || response.Header.Get("Allow") != "POST" {
		t.Errorf("GET: %v %s", err, answer)
	}
	if log := o.log.String(); strings.Contains(log, secret) || strings.Contains(log, "level=ERROR") {
		t.Errorf("the log:\n%s", log)
	}
}

// brackets is most of a megabyte of lists that lie in each other.
func brackets(deep int) string {
	list := strings.Repeat("[", deep) + strings.Repeat("]", deep)
	return `{"a":[` + strings.TrimSuffix(strings.Repeat(list+",", 999_000/(2*deep+1)), ",") + "]}"
}

// A message counts against the limit of its key as any request does, and so does what its tool asks the API.
func TestAssistantsHaveTheLimitOfTheirKey(t *testing.T) {
	o := newOrganization(t, store.Options{Data: t.TempDir()}, 5)
	secret := o.key(t)
	send := func(secret string, status int, words string) http.Header {
		t.Helper()
		response, answer := o.post(t, secret, callFind)
		equal(t, response.StatusCode, status, "%s", answer)
		contains(t, answer, words)
		return response.Header
	}
	for range 2 {
		send(secret, http.StatusOK, `"structuredContent":{"data":[]`)
	}
	send(secret, http.StatusOK, "Too many requests.")
	equal(t, send(secret, http.StatusTooManyRequests, "Too many")["Retry-After"] == nil, false)
	for range 5 {
		o.post(t, "dbk_wrong", callFind)
	}
	send("dbk_wrong", http.StatusTooManyRequests, "")
}

// One server answers all assistants at once, each with its own key.
func TestAssistantsOfTwoOrganizationsSeeTheirOwn(t *testing.T) {
	eachEngine(t, func(t *testing.T, o organization) {
		other := must(o.store.CreateAccount(t.Context(), "Harbor Light", ""))(t)
		secrets := map[string]string{"Amara": o.key(t), "Jonas": organization{store: o.store, account: other}.key(t)}
		var group sync.WaitGroup
		for name, secret := range secrets {
			o.post(t, secret,
				`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"create_contact","arguments":{"first_name":"`+name+`","last_name":"Okafor"}}}`)
			for range 20 {
				group.Go(func() {
					headers := []string{"Accept", "application/json, text/event-stream"}
					_, answer, err := rig.Send(o.client, secret, http.MethodPost, o.url+"/mcp", callFind, headers...)
					for one := range secrets {
						if err != nil || strings.Contains(string(answer), `\"first_name\":\"`+one) != (one == name) {
							t.Errorf("the assistant of %s got %v %.300s", name, err, answer)
						}
					}
				})
			}
		}
		group.Wait()
	})
}

// One contact is as long as contacts can be; a page of them would be longer than an assistant reads, or the server has
// memory for.
func TestALongAnswerIsNotSent(t *testing.T) {
	o := newOrganization(t, store.Options{Data: t.TempDir()}, 6000)
	s := o.connect(t, o.key(t))
	var addresses []string
	for i := range 100 {
		addresses = append(addresses, fmt.Sprintf(`{"address_1":"%d %0200d","address_2":"%0250d"}`, i, 0, 0))
	}
	for range 20 {
		s.call("create_contact", `{"first_name":"Long","last_name":"List","addresses":[`+strings.Join(addresses, ",")+
			`]}`)
	}
	contains(t, s.refused("find_contacts", ""), "per_page", "a page of 20")
	s.call("find_contacts", `{"per_page":2}`)
}

// The API answers in pieces, and may fail between two of them: then the connection would be cut. Here there is none to
// cut.
func TestAPanicOfTheAPIEndsNothing(t *testing.T) {
	broken := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"data":[`)
		panic(http.ErrAbortHandler)
	})
	endpoint := assistant.NewEndpoint(api.Document, "test", broken)
	r := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/mcp", strings.NewReader(callFind))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	w := httptest.NewRecorder()
	succeed(t, endpoint.Serve(w, r))
	var message struct {
		Result struct {
			IsError bool `json:"isError"`
			Content []struct{ Text string }
		}
	}
	if err := json.NewDecoder(bytes.NewReader(w.Body.Bytes())).Decode(&message); err != nil ||
		!message.Result.IsError ||
		message.Result.Content[0].Text != "Something went wrong on our side. Please try again later." {
		t.Errorf("%v %s", err, w.Body)
	}
}

// must, must2 and succeed are for calls that must succeed.

func must[T any](v T, err error) func(assert.Failer) T { return assert.Must(v, err) }

func must2[T, U any](v T, u U, err error) func(assert.Failer) (T, U) { return assert.Must2(v, u, err) }

func succeed(t assert.Failer, err error) {
	t.Helper()
	assert.Succeed(t, err)
}

func equal[T any](t assert.Failer, got, want T, what ...any) {
	t.Helper()
	assert.Equal(t, got, want, what...)
}

func contains(t assert.Failer, text, part string, what ...any) {
	t.Helper()
	assert.Contains(t, text, part, what...)
}
