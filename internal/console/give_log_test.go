package console_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	form "donorbook/internal/crm/donate"
	"donorbook/internal/rig"
	"donorbook/internal/web"
)

// Whatever is logged of a gift names no one: no address of a page with its token, no email, no amount.
func TestTheLogOfAGiftNamesNoOne(t *testing.T) {
	s := takesGifts(t, rig.Engines[0], form.Settings{}).connect()
	log := new(bytes.Buffer)
	plumbing := web.Plumbing{Log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	s.http.Config.Handler = plumbing.Wrap(s.pages.Fallback(web.NewMux().Serve))
	p := s.visitor()
	typed := append(p.opens("/coats/donate?amount=75&frequency=monthly"), ana...)
	session := p.gives(typed...)
	to := p.post(session, "do", "pay").location()
	p.get(to).sees("Thank you!")
	p.get("/give/" + form.ManageLink(s.owner.account.ID, mustURL(t, to).Query().Get("d")[:16], "secret-of-a-link"))
	s.event("/hooks/pretend/"+s.owner.account.ID, "bad", `{"email":"ana@example.org"}`).is(400)
	if n := strings.Count(log.String(), "msg=request"); n < 6 {
		t.Fatalf("%d requests are logged: %s", n, log)
	}
	for _, secret := range []string{"Ana", "Okafor", "ana@", "example.org", "amount=", mustURL(t, to).Query().Get("d"), strings.TrimPrefix(session, "/test-payment/"), "secret-of-a-link"} {
		for line := range strings.Lines(log.String()) {
			if _, told, _ := strings.Cut(line, "msg="); strings.Contains(told, secret) {
				t.Errorf("the log has %q: %s", secret, line)
			}
		}
	}
}

// An address that sends more events in a minute than a provider does has to wait, before anything is read of them.
func TestEventsOfAnAddressAreBounded(t *testing.T) {
	s := takesGifts(t, rig.Engines[0], form.Settings{}).connect()
	plumbing := web.Plumbing{Log: slog.New(slog.DiscardHandler)}
	handler := plumbing.Wrap(s.pages.Fallback(web.NewMux().Serve))
	send := func(from string) int {
		r := httptest.NewRequest(http.MethodPost, "/hooks/pretend/"+s.owner.account.ID, strings.NewReader("{}"))
		r.RemoteAddr = from
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w.Code
	}
	for i := range 1200 {
		if status := send("192.0.2.1:80"); status != 400 {
			t.Fatalf("event %d: %d", i, status)
		}
	}
	if one, other := send("192.0.2.1:80"), send("192.0.2.2:80"); one != 429 || other != 400 {
		t.Errorf("after 1,200 in a minute, another one gets %d, and that of someone else %d", one, other)
	}
}
