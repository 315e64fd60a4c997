package assistant_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"donorbook/internal/api"
	"donorbook/internal/assistant"
)

// pipes is an assistant that works over pipes with a server.
func pipes(t *testing.T, at assistant.Remote) session {
	t.Helper()
	fromAssistant, toServer := io.Pipe()
	fromServer, toAssistant := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- assistant.Run(t.Context(), api.Document(), "test", at, fromAssistant, toAssistant) }()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	connected := must(client.Connect(t.Context(), &mcp.IOTransport{Reader: fromServer, Writer: toServer}, nil))(t)
	t.Cleanup(func() {
		_ = toServer.Close()
		if err := <-ended; err != nil {
			t.Errorf("its end: %v", err)
		}
		_ = fromServer.Close()
		_ = connected.Close()
	})
	return session{t, connected}
}

// A server that takes a request and loses its connection before the answer must get the same request again, with the
// key by which it knows that it is the same.
func TestACallWhoseConnectionIsLostCountsOnce(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var seen []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		seen = append(seen, r.Method+" "+r.URL.Path+" "+r.Header.Get("Idempotency-Key")+" "+string(body))
		first := len(seen) == 1
		mu.Unlock()
		if first {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"id":1}`)
	}))
	defer server.Close()
	s := pipes(t, assistant.Remote{URL: server.URL, Key: "dbk_key"})
	const arguments = `{"first_name":"Amara","last_name":"Okafor"}`
	s.call("create_contact", arguments)
	s.call("create_contact", arguments)
	if len(seen) != 3 || seen[0] != seen[1] || seen[1] == seen[2] {
		t.Fatalf("the server got %q", seen)
	}
	if !strings.HasPrefix(seen[0], "POST /v1/contacts mcp-") ||
		!strings.HasSuffix(seen[0], ` {"first_name":"Amara","last_name":"Okafor"}`) {
		t.Errorf("the request is %s", seen[0])
	}
}

// A line that is no message is answered, and the assistant keeps its tools. What was asked before the pipe closed is
// answered, too.
func TestABadLineAndTheEndOfThePipeLoseNoAnswer(t *testing.T) {
	t.Parallel()
	closed := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		<-closed
		_, _ = io.WriteString(w, `{"id":7}`)
	}))
	defer server.Close()
	lines := []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`hello?`, ``, `{"id":5`, `{"hello":true}`, `[]`, `[{}]`, `"` + strings.Repeat("x", 5<<20) + `"`,
		`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"a":` + strings.Repeat("[", 20) +
			strings.Repeat("]", 20) + `}}}`,
		// without a line break
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"get_contact","arguments":{"id":7}}}`,
	}
	in := io.MultiReader(strings.NewReader(strings.Join(lines, "\n")), atEnd(func() { close(closed) }))
	var out bytes.Buffer
	succeed(t, assistant.Run(t.Context(), api.Document(), "test", assistant.Remote{URL: server.URL, Key: "dbk_key"},
		in, &out))
	got := out.String()
	for sign, want := range map[string]int{`"code":-32700`: 2, `"code":-32600`: 5, `"id":null`: 7, `"id":1,`: 1,
		`"id":2,`: 1, `"structuredContent":{"id":7}`: 1} {
		equal(t, strings.Count(got, sign), want, "%s stands (%v)", sign, got)
	}
}

// atEnd is an empty reader that tells when it is read.
type atEnd func()

func (f atEnd) Read([]byte) (int, error) {
	f()
	return 0, io.EOF
}

// What stands at the address may be anything: a redirect must not get the key, and a page is no record.
func TestAnAnswerThatIsNotTheAPIs(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter,
		*http.Request) {
		t.Error("the redirect was followed")
	}))
	defer elsewhere.Close()
	for what, answer := range map[string]http.HandlerFunc{
		"a redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL,
				http.StatusFound)
		},
		"a page": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadGateway)
			_, _ = io.WriteString(w, "<h1>Bad Gateway</h1>")
		},
		"a portal": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "<h1>Sign in to the network</h1>")
		},
		"a flood": func(w http.ResponseWriter, _ *http.Request) {
			for range 64 {
				_, _ = io.WriteString(w, strings.Repeat("x", 64<<10))
			}
		},
		"no answer": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		t.Run(what, func(t *testing.T) {
			server := httptest.NewServer(answer)
			defer server.Close()
			told := pipes(t, assistant.Remote{URL: server.URL, Key: "dbk_key"}).refused("find_contacts", "")
			if len(told) > 3000 || strings.Contains(told, "dbk_key") {
				t.Errorf("the assistant is told %.200s", told)
			}
		})
	}
}
