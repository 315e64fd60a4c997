package cli

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/rig"
	"donorbook/internal/store"
	"donorbook/internal/store/book"
)

// TestKillWhileATagIsRenamed: the server that is started after kill -9 goes on by itself.
func TestKillWhileATagIsRenamed(t *testing.T) { eachEngine(t, killWhileATagIsRenamed) }

func killWhileATagIsRenamed(t *testing.T, e engine) {
	const contacts = 2000
	data := e.data(t)
	id, key := newKey(t, data)
	fillTag(t, store.Options{Data: data, Database: databaseOf(data)}, id, contacts)
	p := serve(t, data)
	a := p.call(key, http.StatusAccepted, "PATCH", "/v1/tags/old", `{"name":"new"}`)
	if want := fmt.Sprintf(`{"name":"old","contacts":%d}`, contacts); string(a.body) != want {
		t.Errorf("%s, want %s", a, want)
	}
	p.waitFor("the first contacts", func() bool { return tagCount(p, key, "new") > 0 })
	p.kill()

	p = serve(t, data)
	t.Logf("%d of %d contacts were left", tagCount(p, key, "old"), contacts)
	p.waitFor("the last contacts", func() bool { return tagCount(p, key, "old") == 0 })
	if n := tagCount(p, key, "new"); n != contacts {
		t.Errorf("%d contacts have the new tag", n)
	}
	p.waitFor("the end", func() bool {
		a, err := p.send(key, "PATCH", "/v1/tags/old", `{"name":"new"}`)
		return err == nil && a.status == http.StatusNotFound
	})
	p.stop()
	if strings.Contains(p.stderr.String(), "ERROR") {
		t.Errorf("the log says\n%s", &p.stderr)
	}
}

func fillTag(t *testing.T, o store.Options, id string, contacts int) {
	t.Helper()
	s := must(book.Open(t.Context(), o))(t)
	account := must(s.Account(t.Context(), id))(t)
	rig.AtOnce(contacts, func(i int) {
		rig.Create(t, s, account.Number, fmt.Sprintf(`{"first_name":"P%d","tags":["old"]}`, i), crm.Force)
	})
	succeed(t, s.Close())
}

// tagCount is how many contacts have a tag.
func tagCount(p *process, key, name string) int {
	p.t.Helper()
	a := p.call(key, http.StatusOK, "GET", "/v1/tags?q="+name, "")
	for _, tag := range decode[struct {
		Data []struct {
			Name     string
			Contacts int
		}
	}](p.t, a.body).Data {
		if tag.Name == name {
			return tag.Contacts
		}
	}
	return 0
}
