package console_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"testing"

	"donorbook/internal/crm/access"
)

// pending is a form that was only partly sent.
type pending struct {
	conn *tls.Conn
	rest string
}

// begin sends the headers of a form and its first byte.
func (p *person) begin(path, form string) *pending {
	p.site.t.Helper()
	config := p.site.http.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	config.NextProtos = []string{"http/1.1"}
	conn, err := tls.Dial("tcp", p.site.http.Listener.Addr().String(), config)
	if err != nil {
		p.site.t.Fatal(err)
	}
	p.site.t.Cleanup(func() { conn.Close() }) //nolint:errcheck // the test is over
	cookie := p.client.Jar.Cookies(mustURL(p.site.t, p.site.http.URL))[0]
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: example.com\r\nSec-Fetch-Site: same-origin\r\nCookie: %s\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: %d\r\n\r\n%s",
		path, cookie, len(form), form[:1])
	return &pending{conn: conn, rest: form[1:]}
}

// finish sends the rest, and returns the status.
func (q *pending) finish(t *testing.T) int {
	t.Helper()
	must(io.WriteString(q.conn, q.rest))(t)
	response := must(http.ReadResponse(bufio.NewReader(q.conn), nil))(t)
	defer response.Body.Close()
	return response.StatusCode
}

// A user who starts to send a form while it is allowed, and finishes when it no longer is, is refused.
func TestAFormThatIsSentSlowlyCountsWhenItIsComplete(t *testing.T) {
	s := anySite(t)

	account := s.organization("Harbor")
	s.member(account, access.Owner)
	p := s.member(account, access.Owner)
	me := strconv.FormatInt(p.user.ID, 10)
	forms := map[string]*pending{
		"a role":        p.begin(p.org("/settings/people/"+me+"/role"), "role=owner"),
		"an invitation": p.begin(p.org("/settings/people/invite"), "role=owner&email="),
		"a key":         p.begin(p.org("/settings/integrations/api-keys"), "name=k&permission=contacts:read&expires=never"),
	}
	succeed(t, s.store.SetRole(t.Context(), account.Number, p.user.ID, access.Viewer))
	for what, form := range forms {
		if status := form.finish(t); status != 403 {
			t.Errorf("%s: %d", what, status)
		}
	}
	m, err := s.store.Membership(t.Context(), p.user.ID, account.ID)
	if err != nil || m.Role != access.Viewer {
		t.Errorf("the role is %s, %v", m.Role, err)
	}
	late := p.begin("/console/profile/name", "name=Somebody")
	succeed(t, s.store.EndSessions(t.Context(), p.user.ID, ""))
	if status := late.finish(t); status != 401 {
		t.Errorf("a name after the session: %d", status)
	}
	if members, err := s.store.Members(t.Context(), account.Number); err != nil || members[0].User.Name == "Somebody" || members[1].User.Name == "Somebody" {
		t.Errorf("%+v, %v", members, err)
	}

}
