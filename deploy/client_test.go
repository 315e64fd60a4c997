//go:build drill

package deploy_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"donorbook/internal/rig"
	"donorbook/internal/rig/assert"
)

// public is the address that the example files give to the service.
const public = "https://donors.example.org"

// client is somebody with a key.
type client struct {
	http *http.Client
	base string
	key  string
}

// client talks to one node, past the proxy.
func (n *node) client(t *testing.T, key string) *client {
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(transport.CloseIdleConnections)
	return &client{http: &http.Client{Timeout: patience, Transport: transport}, base: "http://" + n.address, key: key}
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   []byte
	proto  int
}

func (a answer) String() string { return fmt.Sprintf("%d %s", a.status, a.body) }

// isRefusal wants an answer in JSON that can be found in the logs.
func (a answer) isRefusal(t *testing.T, body string) {
	t.Helper()
	isJSON := a.header.Get("Content-Type") == "application/json"
	if string(a.body) != body || !isJSON || a.header.Get("X-Request-Id") == "" {
		t.Errorf("%s %v, want %s", a, a.header, body)
	}
}

// send makes a request. The error is one of the connection.
func (c *client) send(method, path, body string, headers ...string) (answer, error) {
	response, content, err := rig.Send(c.http, c.key, method, c.base+path, body, headers...)
	if response == nil {
		return answer{}, err
	}
	return answer{response.StatusCode, response.Header, content, response.ProtoMajor}, err
}

// call makes a request that must be answered with a status.
func (c *client) call(t *testing.T, status int, method, path, body string, headers ...string) answer {
	t.Helper()
	a, err := c.send(method, path, body, headers...)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	assert.Equal(t, a.status, status, "%s %s: %s", method, path, a)
	return a
}

// contact is what the tests look at.
type contact struct {
	ID int64 `json:"id"`
}

type page struct {
	Data  []json.RawMessage `json:"data"`
	Links struct {
		First string  `json:"first"`
		Last  string  `json:"last"`
		Next  *string `json:"next"`
	} `json:"links"`
	Meta struct {
		Path  string `json:"path"`
		Total int    `json:"total"`
	} `json:"meta"`
}

func decode[T any](t *testing.T, body []byte) (value T) {
	t.Helper()
	if err := json.Unmarshal(body, &value); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return value
}

// walk reads a list by links.next, and wants every page to tell the same total, which is what it saw.
func (c *client) walk(t *testing.T, scope string, perPage int) (documents []string) {
	t.Helper()
	for path := fmt.Sprintf("/v1/contacts?scope=%s&per_page=%d", scope, perPage); path != ""; {
		p := decode[page](t, c.call(t, 200, "GET", path, "").body)
		for _, document := range p.Data {
			documents = append(documents, string(document))
		}
		path = ""
		if p.Links.Next != nil {
			var ours bool
			if path, ours = strings.CutPrefix(*p.Links.Next, public); !ours {
				t.Fatalf("a link leads to %s", *p.Links.Next)
			}
		} else if p.Meta.Total != len(documents) {
			t.Errorf("the total of scope %s is %d, and the pages have %d contacts", scope, p.Meta.Total, len(documents))
		}
	}
	return documents
}
