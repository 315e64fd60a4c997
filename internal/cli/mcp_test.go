package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// assist starts donorbook mcp as an assistant does, with the key in the variable that it reads.
func assist(t *testing.T, key string, args ...string) (*mcp.ClientSession, *output) {
	t.Helper()
	stderr := new(output)
	cmd := exec.Command("donorbook", append([]string{"mcp"}, args...)...)
	cmd.Env = append(os.Environ(), "DONORBOOK_KEY="+key)
	cmd.Stderr = stderr
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
		&mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session, stderr
}

func callTool(t *testing.T, session *mcp.ClientSession, name string,
	arguments map[string]any,
) (record map[string]any, told string, ok bool) {
	t.Helper()
	result := must(session.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments}))(t)
	record, _ = result.StructuredContent.(map[string]any)
	return record, result.Content[0].(*mcp.TextContent).Text, !result.IsError
}

func TestAnAssistantWorksOverItsPipes(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	p := serve(t, data)
	_, key := newKey(t, data)
	session, stderr := assist(t, key, "--url", p.url, "--ca", filepath.Join(data, "tls", "ca.pem"))
	tools, err := session.ListTools(t.Context(), nil)
	if err != nil || len(tools.Tools) < 14 {
		t.Fatalf("%v: %d tools", err, len(tools.Tools))
	}
	contact, told, ok := callTool(t, session, "create_contact",
		map[string]any{"first_name": "Amara", "last_name": "Okafor"})
	if !ok {
		t.Fatal(told)
	}
	for _, step := range []struct {
		tool      string
		arguments map[string]any
	}{
		{"update_contact", map[string]any{"id": contact["id"], "company": "Blue Heron Books"}},
		{"add_tags", map[string]any{"id": contact["id"], "tags": []any{"board"}}},
		{"record_gift", map[string]any{"contact_id": contact["id"], "amount": 50, "method": "check",
			"transacted_at": "2026-01-31"}},
	} {
		if record, told, ok := callTool(t, session, step.tool, step.arguments); !ok {
			t.Fatalf("%s: %s", step.tool, told)
		} else if step.tool == "record_gift" {
			if _, told, ok := callTool(t, session, "refund_gift", map[string]any{"id": record["id"]}); !ok {
				t.Fatal(told)
			}
		}
	}
	if all := p.contacts(key, ""); len(all) != 1 || all[0].Company != "Blue Heron Books" {
		t.Errorf("the contacts are %v", all)
	}
	if _, told, ok := callTool(t, session, "create_contact", map[string]any{"first_name": "Amara"}); ok ||
		!strings.Contains(told, `"last_name":["The last_name field is required."]`) {
		t.Errorf("wrong input: %s", told)
	}
	if err := session.Close(); err != nil {
		t.Errorf("it does not end with its pipes: %v", err)
	}
	if stderr.String() != "" || strings.Contains(p.stderr.String(), key) {
		t.Errorf("it printed %q, and the log has the key: %v", stderr, strings.Contains(p.stderr.String(), key))
	}
}

// The authority of the data directory is trusted for a server on this machine, and the key may be in a file.
func TestAnAssistantFindsTheServerOfThisMachine(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	p := serve(t, data)
	_, key := newKey(t, data)
	file := filepath.Join(t.TempDir(), "key")
	succeed(t, os.WriteFile(file, []byte(key+"\n"), 0o600))
	session, _ := assist(t, "", "--url", p.url, "--data", data, "--key-file", file)
	if _, told, ok := callTool(t, session, "find_contacts", nil); !ok {
		t.Error(told)
	}
	for _, c := range []struct{ key, url, data, want string }{
		{"dbk_wrong", p.url, data,
			"--key-file: the server does not accept the API key: it is incorrect, expired or revoked; \"donorbook key create\""},
		{key, p.url, t.TempDir(),
			"does not trust its certificate. If the server made the certificate itself, copy tls/ca.pem"},
	} {
		cmd := exec.Command("donorbook", "mcp", "--url", c.url, "--data", c.data)
		cmd.Env = append(os.Environ(), "DONORBOOK_KEY="+c.key)
		said, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != exitUsage || !strings.Contains(string(said), c.want) ||
			strings.Contains(string(said), c.key) {
			t.Errorf("%s: %v: %s", c.want, err, said)
		}
	}
}

// An assistant may start before its server.
func TestAnAssistantStartsWithoutItsServer(t *testing.T) {
	t.Parallel()
	session, _ := assist(t, "dbk_any", "--url", "http://127.0.0.1:1")
	if _, told, ok := callTool(t, session, "find_contacts", nil); ok || !strings.Contains(told, "cannot be reached") {
		t.Errorf("it says %s", told)
	}
}

func TestTheServerAnswersAssistantsUnlessItIsToldNotTo(t *testing.T) {
	t.Parallel()
	const message = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	for mode, status := range map[string]int{"on": 200, "off": 404} {
		data := t.TempDir()
		p := serve(t, data, "--mcp", mode)
		_, key := newKey(t, data)
		answer := p.call(key, status, "POST", "/mcp", message, "Accept", "application/json, text/event-stream")
		equal(t, strings.Contains(string(answer.body), "find_contacts"), (mode == "on"),
			"%s: %.200s", mode, answer.body)
	}
}
