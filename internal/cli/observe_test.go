package cli

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"donorbook/client"
	"donorbook/internal/rig/rows"
)

// TestSettingsReachTheServer: a client sees what a flag sets.
func TestSettingsReachTheServer(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	_, key := newKey(t, data)
	p := serve(t, data, "--rate-limit", "4", "--base-url", "https://donors.example.org/", "--phone-region", "GB")
	equal(t, p.public, "https://donors.example.org", "the log says that the server")
	p.call(key, 201, "POST", "/v1/contacts",
		`{"first_name":"Ada","last_name":"King","phones":[{"value":"020 7946 0018","type":"home"}]}`)
	a := p.call(key, 201, "POST", "/v1/contacts",
		`{"first_name":"Ada","last_name":"King","phones":[{"value":"+44 20 7946 0018","type":"work"}]}`)
	equal(t, a.header.Get("X-Contact-Merged"), "true",
		"a British number was not taken for one with --phone-region GB")
	a = p.call(key, 200, "GET", "/v1/contacts?per_page=1", "")
	equal(t, decode[contactPage](t, a.body).Links.First, "https://donors.example.org/v1/contacts?per_page=1&page=1",
		"links begin")
	equal(t, a.header.Get("X-RateLimit-Limit"), "4", "the limit")
	for a.status == 200 {
		a = must(p.send(key, "GET", "/v1/contacts", ""))(t)
	}
	if a.status != 429 || a.header.Get("Retry-After") == "" {
		t.Errorf("over the limit: %s %v", a, a.header)
	}
	p.call("", 200, "GET", "/healthz", "") // probes are not counted
}

// secrets are what must never be in a log: personal data and keys.
var secrets = []string{
	"Xanthippe", "Quartermain", "xanthippe@private.example", "xanthippe", "555-0142", "5550142", "14 Hidden Lane",
	"pet-name-tag", "hunter2",
}

// TestLogTellsNoSecrets sends recognizable names and keys in every part of requests, valid and invalid, and reads the
// log.
func TestLogTellsNoSecrets(t *testing.T) { eachEngine(t, logTellsNoSecrets) }

func logTellsNoSecrets(t *testing.T, e engine) {
	for _, format := range []string{"json", "text"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			data := e.data(t)
			_, key := newKey(t, data)
			foreign := "dbk_" + strings.Repeat("A", 57)
			p := serve(t, data, "--log-format", format, "--log-level", "debug", "--metrics-listen", "127.0.0.1:0")
			body := `{"first_name":"Xanthippe","last_name":"Quartermain","emails":[{"value":"xanthippe@private.example","type":"work"}],` +
				`"phones":[{"value":"(617) 555-0142","type":"home"}],"addresses":[{"address_1":"14 Hidden Lane"}],"tags":["pet-name-tag"]}`
			made := p.call(key, 201, "POST", "/v1/contacts", body)
			id := decode[client.Contact](t, made.body).ID
			mail := url.QueryEscape("xanthippe@private.example")
			fill := strings.NewReplacer("BODY", body, "KEY", key, "FOREIGN", foreign, "MAIL", mail, "ID",
				fmt.Sprint(id))
			for _, c := range rows.Of[struct {
				Status                            int
				Method, Path, Body, Header, Value string
			}](fill.Replace(`
				201  POST    /v1/contacts                    BODY                       Accept  ""
				422  POST    /v1/contacts?force_create=MAIL  BODY                       Accept  ""
				422  POST    /v1/contacts                    {"first_name":"Xanthippe","emails":["xanthippe@private@example"]}  Accept  ""
				400  POST    /v1/contacts                    {"first_name":"Xanthippe"  Accept  ""
				415  POST    /v1/contacts                    Xanthippe                  Content-Type  text/xanthippe
				200  PATCH   /v1/contacts/ID                 {"company":"Quartermain"}  Accept  ""
				422  PATCH   /v1/contacts/ID                 {"dob":"Quartermain"}      Accept  ""
				200  POST    /v1/contacts/ID/tags/add        {"tags":["pet-name-tag","hunter2"]}  Accept  ""
				200  GET     /v1/contacts?email=MAIL&key=KEY  ""  Accept         ""
				422  GET     /v1/contacts?scope=MAIL          ""  Accept         ""
				400  GET     /v1/contacts?scope=%zzMAIL       ""  Accept         ""
				404  GET     /v1/contacts/MAIL                ""  Accept         ""
				404  GET     /people/MAIL/Quartermain         ""  Accept         ""
				404  GET     /KEY                             ""  Accept         ""
				405  PUT     /v1/contacts                     BODY  Accept       ""
				401  GET     /v1/contacts                     ""  Authorization  Bearer FOREIGN
				401  GET     /v1/contacts                     ""  Authorization  Basic xanthippe:hunter2
				200  GET     /v1/contacts                     ""  User-Agent     Xanthippe/1
				200  GET     /v1/contacts                     ""  Referer        https://x.example/Quartermain
				200  GET     /v1/contacts                     ""  Cookie         name=hunter2
				200  GET     /v1/contacts                     ""  X-Forwarded-For  xanthippe
				200  GET     /v1/contacts                     ""  X-Request-Id   not valid: hunter2
				200  DELETE  /v1/contacts/ID                  ""  Accept         ""
				403  GET     /v1/contacts/ID                  ""  Accept         ""
			`)) {
				p.call(key, c.Status, c.Method, c.Path, c.Body, c.Header, c.Value)
			}
			sendPlain(t, p.addr(), "GET /xanthippe HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "+key+
				"\r\n\r\n")
			bad := p.dial()
			_, _ = fmt.Fprintf(bad, "GET /xanthippe HTTP/9.9\r\nHost: xanthippe@private.example\r\n\r\n")
			readAnswer(t, bad)
			bad = p.dial()
			_, _ = fmt.Fprintf(bad, "GET /healthz HTTP/1.1\r\nHost: xanthippe@private.example\r\n\r\n")
			readAnswer(t, bad)
			metrics := p.scrape()
			p.stop()

			log := p.stderr.String()
			for _, secret := range append(secrets, key, key[4:20], foreign, mail) {
				for where, text := range map[string]string{"log": log, "metrics": metrics,
					"standard output": p.stdout.String()} {
					if i := strings.Index(strings.ToLower(text), strings.ToLower(secret)); i >= 0 {
						t.Errorf("the %s tells %s: ...%.200s", where, secret, text[max(0, i-100):])
					}
				}
			}
			checkLog(t, format, log, made.header.Get("X-Request-Id"), "201")
		})
	}
}

// checkLog looks for the line of one request, and with JSON checks the format of all lines.
func checkLog(t *testing.T, format, log, id, status string) {
	t.Helper()
	found := false
	for line := range strings.Lines(log) {
		if strings.Contains(line, id) {
			found = true
			for _, want := range []string{"method", "route", "/v1/contacts", "status", status, "duration"} {
				contains(t, line, want, "the line of a request lacks")
			}
		}
		if format != "json" {
			continue
		}
		var fields struct{ Time, Level, Msg string }
		if err := json.Unmarshal([]byte(line), &fields); err != nil || fields.Time == "" || fields.Level == "" ||
			fields.Msg == "" {
			t.Errorf("not a line of JSON with time, level and msg: %v: %s", err, line)
		}
	}
	if id == "" || !found {
		t.Errorf("no line of the log has the request id %q", id)
	}
}

func TestProbesAndMetrics(t *testing.T) { eachEngine(t, probesAndMetrics) }

func probesAndMetrics(t *testing.T, e engine) {
	data := e.data(t)
	_, key := newKey(t, data)
	p := serve(t, data, "--metrics-listen", "127.0.0.1:0")
	for path, want := range map[string]string{"/healthz": `{"status":"ok"}`, "/readyz": `{"status":"ready"}`} {
		equal(t, string(p.call("", 200, "GET", path, "").body), want, "%s", path)
	}
	p.call(key, 404, "GET", "/metrics", "")
	p.call(key, 200, "GET", "/v1/contacts", "")
	body := `{"first_name":"Ada","last_name":"King","emails":[{"value":"ada@example.org","type":"work"}]}`
	p.call(key, 201, "POST", "/v1/contacts", body)
	p.call(key, 201, "POST", "/v1/contacts", body)
	p.call(key, 201, "POST", "/v1/transactions",
		`{"amount":5,"method":"cash","transacted_at":"2026-01-31","first_name":"Bo","last_name":"Lee","email":"bo@example.org"}`)
	p.call(key, 201, "POST", "/v1/transactions",
		`{"amount":5,"method":"cash","transacted_at":"2026-01-31","contact_id":1}`)
	p.call(key, 201, "POST", "/v1/plans",
		`{"amount":5,"method":"card","frequency":"monthly","first_name":"Bo","last_name":"Lee","email":"bo@example.org"}`)
	for _, status := range append(slices.Repeat([]int{422}, 10), 429) {
		p.call("", status, "POST", "/console/signin", "email=ada%40example.org&password=wrong", "Content-Type",
			"application/x-www-form-urlencoded")
	}
	metrics := p.scrape()
	for _, want := range []string{
		`donorbook_http_requests_total{method="GET",route="/v1/contacts",status="200"} 1`,
		`donorbook_http_requests_total{method="POST",route="/v1/contacts",status="201"} 2`,
		`donorbook_http_requests_total{method="GET",route="none",status="404"} 1`,
		`donorbook_contacts_created_total{outcome="new"} 2`,
		`donorbook_contacts_created_total{outcome="merged"} 2`,
		`donorbook_signins_total{outcome="ok"} 0`,
		`donorbook_signins_total{outcome="wrong"} 10`,
		`donorbook_signins_total{outcome="throttled"} 1`,
		`donorbook_http_requests_in_flight 0`,
		`donorbook_build_info{version="` + Version() + `"} 1`,
		`go_goroutines`,
	} {
		contains(t, metrics, want, "the metrics lack")
	}
	patterns := []string{
		`\ndonorbook_database_size_bytes [1-9]`,
		`\ndonorbook_database_changes_waiting 0\n`,
		`\ndonorbook_database_connections_in_use\{pool="read"\} [0-9]+\n`,
		`\ndonorbook_database_connections_in_use\{pool="write"\} 0\n`,
		`\ndonorbook_database_connections_max\{pool="read"\} [1-9]`,
		`\ndonorbook_database_connections_max\{pool="write"\} [1-9]`,
		`\ndonorbook_certificate_end_timestamp_seconds\{certificate="authority"\} [1-9]`,
		`\ndonorbook_certificate_end_timestamp_seconds\{certificate="server"\} [1-9]`,
	}
	if e == sqlite {
		patterns = append(patterns, `\ndonorbook_database_log_size_bytes [1-9]`)
	}
	for _, want := range patterns {
		if !regexp.MustCompile(want).MatchString(metrics) {
			t.Errorf("the metrics lack %s", want)
		}
	}
	if strings.Contains(p.stderr.String(), "healthz") {
		t.Error("probes fill the log")
	}
	p.stop()
}
