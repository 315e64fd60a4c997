package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"donorbook/client"
)

// TestCommandsBesideAServer: a running server sees what the command line changes.
func TestCommandsBesideAServer(t *testing.T) { eachEngine(t, commandsBesideAServer) }

func commandsBesideAServer(t *testing.T, e engine) {
	data := e.data(t)
	p := serve(t, data)
	account, key := newKey(t, data)
	p.call(key, http.StatusOK, "GET", "/v1/contacts", "") // immediately

	type keyLine struct {
		ID       int64   `json:"id"`
		LastUsed *string `json:"last_used_at"`
	}
	listed := func() []keyLine {
		return decode[[]keyLine](t, []byte(result(t, "key", "list", "--data", data, "--account", account, "--json")))
	}
	p.waitFor("the last use of the key", func() bool { return listed()[0].LastUsed != nil })

	limited := result(t, "key", "create", "--data", data, "--account", account, "--name", "Limited", "--permission", "campaigns:read", "--expires", "4s")
	p.call(limited, http.StatusOK, "GET", "/v1/campaigns", "")
	p.call(limited, http.StatusForbidden, "GET", "/v1/contacts", "")

	file := filepath.Join(data, "campaigns.json")
	for _, goal := range []string{"100", "250.5"} {
		content := `[{"title":"Seen at once","slug":"seen","type":"event","goal":` + goal + `,"event":{"start_at":"2027-01-31 18:00:00"}}]`
		succeed(t, os.WriteFile(file, []byte(content), 0o600))
		result(t, "campaign", "import", "--data", data, "--account", account, file)
		fromAPI := decode[struct {
			Data []map[string]any `json:"data"`
		}](t, p.call(key, http.StatusOK, "GET", "/v1/campaigns", "").body).Data
		fromCLI := decode[[]map[string]any](t, []byte(result(t, "campaign", "list", "--data", data, "--account", account, "--json", "--base-url", p.url)))
		if len(fromAPI) != 1 || fmt.Sprint(fromAPI[0]["goal"]) != goal {
			t.Errorf("the server lists %v, want the goal %s", fromAPI, goal)
		}
		if diff := cmp.Diff(fromCLI, fromAPI); diff != "" {
			t.Errorf("campaign list --json and the API differ:\n%s", diff)
		}
	}

	result(t, "key", "revoke", "--data", data, fmt.Sprint(listed()[0].ID))
	revoked := time.Now()
	for {
		sent := time.Now()
		a := must(p.send(key, "GET", "/v1/contacts", ""))(t)
		if a.status == http.StatusUnauthorized {
			break
		}
		if sent.Sub(revoked) > 2*time.Second {
			t.Fatalf("the key works %s after it was revoked", sent.Sub(revoked))
		}
		time.Sleep(20 * time.Millisecond)
	}
	p.waitFor("the other key to expire", func() bool {
		a, err := p.send(limited, "GET", "/v1/campaigns", "")
		return err == nil && a.status == http.StatusUnauthorized
	})
	p.stop()
}

// TestCommandsAndRequestsTogether: with many writers, some of them commands, no write is lost.
func TestCommandsAndRequestsTogether(t *testing.T) {
	eachEngine(t, commandsAndRequestsTogether)
}

func commandsAndRequestsTogether(t *testing.T, e engine) {
	data := e.data(t)
	account, key := newKey(t, data)
	p := serve(t, data, "--rate-limit", "0")
	const writers, requests, lines = 3, 20, 2
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			for i := range requests {
				a, err := p.send(key, "POST", "/v1/contacts", fmt.Sprintf(`{"first_name":"Ada","last_name":"%d %d"}`, w, i))
				if err != nil || a.status != http.StatusCreated {
					t.Errorf("create: %v %v", a, err)
				}
			}
		})
		group.Go(func() {
			for i := range lines {
				name := fmt.Sprintf("%d-%d", w, i)
				file := filepath.Join(data, name+".json")
				if err := os.WriteFile(file, []byte(`[{"title":"`+name+`"}]`), 0o600); err != nil {
					t.Error(err)
				}
				for _, line := range [][]string{
					{"account", "create", "--name", name, "--parent", account},
					{"key", "create", "--name", name, "--account", account},
					{"campaign", "import", "--account", account, file},
				} {
					if code, _, stderr := runLine(t, append(line, "--data", data)...); code != exitOK {
						t.Errorf("%v: exit code %d: %s", line, code, stderr)
					}
				}
			}
		})
	}
	group.Wait()
	if n := len(p.contacts(key, "active")); n != writers*requests {
		t.Errorf("%d contacts are there, %d were acknowledged", n, writers*requests)
	}
	for _, c := range []struct {
		what string
		line []string
		want int
	}{
		{"accounts", []string{"account", "list"}, 1 + writers*lines},
		{"keys", []string{"key", "list", "--account", account}, 1 + writers*lines},
		{"campaigns", []string{"campaign", "list", "--account", account}, writers * lines},
	} {
		list := decode[[]json.RawMessage](t, []byte(result(t, append(c.line, "--data", data, "--json")...)))
		if len(list) != c.want {
			t.Errorf("%d %s are there, want %d", len(list), c.what, c.want)
		}
	}
	p.stop()
	checkIntegrity(t, data)
}

// TestASecondServerIsRefused: only one server can use a SQLite data directory, alongside any number of commands. After kill -9
// the next one starts immediately.
func TestASecondServerIsRefused(t *testing.T) {
	t.Parallel()
	data := onlySQLite(t)
	first := serve(t, data)
	_, key := newKey(t, data)
	for _, args := range [][]string{{}, {"--demo"}} {
		second := launch(t, data, append([]string{"donorbook", "serve", "--data", data, "--listen", "127.0.0.1:0"}, args...)...)
		second.ended(exitFailed)
		if want := fmt.Sprintf("donorbook: another server (process %d) is using the data directory %s", first.cmd.Process.Pid, data); !strings.Contains(second.stderr.String(), want) {
			t.Errorf("serve %v says %s, want %s", args, &second.stderr, want)
		}
	}
	first.call(key, http.StatusOK, "GET", "/v1/contacts", "")
	first.kill()
	next := serve(t, data)
	next.call(key, http.StatusOK, "GET", "/v1/contacts", "")
	next.stop()
	checkIntegrity(t, data)
}

// TestTwoServersOnOneDatabase: both work, and a person who is posted to both at once becomes one contact.
func TestTwoServersOnOneDatabase(t *testing.T) {
	t.Parallel()
	data := postgres.data(t)
	_, key := newKey(t, data)
	nodes := []*process{serve(t, data, "--rate-limit", "0"), serve(t, data, "--rate-limit", "0")}
	const people, posts = 4, 16
	var group sync.WaitGroup
	for i := range people * posts {
		group.Go(func() {
			a, err := nodes[i%2].send(key, "POST", "/v1/contacts", fmt.Sprintf(
				`{"first_name":"Ada","last_name":"Lovelace","emails":[{"value":"ada.%d@example.org","type":"work"}],"tags":["tag %d"]}`, i%people, i/people))
			if err != nil || a.status != http.StatusCreated {
				t.Errorf("create: %v %v", a, err)
			}
		})
	}
	group.Wait()
	for _, node := range nodes {
		all := node.contacts(key, "all")
		if len(all) != people {
			t.Errorf("%d contacts are there, want %d", len(all), people)
		}
		for _, c := range all {
			slices.Sort(c.Tags)
			if len(slices.Compact(c.Tags)) != posts {
				t.Errorf("contact %d has %d of %d tags", c.ID, len(c.Tags), posts)
			}
		}
	}
	// A contact that one server archives is archived for the other; a key that one revokes is refused by the other.
	first := nodes[0].contacts(key, "active")[0]
	if err := nodes[0].api(key).Contacts.Archive(t.Context(), first.ID); err != nil {
		t.Error(err)
	}
	var refused *client.Error
	if _, err := nodes[1].api(key).Contacts.Get(t.Context(), first.ID); !errors.As(err, &refused) || refused.Status != http.StatusForbidden {
		t.Errorf("the other server answers %v for the archived contact", err)
	}
	if n := len(nodes[1].contacts(key, "archived")); n != 1 {
		t.Errorf("the other server lists %d archived contacts, want 1", n)
	}
	nodes[0].stop()
	if restored, err := nodes[1].api(key).Contacts.Restore(t.Context(), first.ID); err != nil || !restored.ArchivedAt.IsZero() {
		t.Errorf("restored: %+v, %v", restored, err)
	}
	nodes[1].stop()
	if strings.Contains(nodes[1].stderr.String(), "level=ERROR") {
		t.Error("the second server logged an error")
	}
	checkIntegrity(t, data)
}
