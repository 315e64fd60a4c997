package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestAnAccountImportGoesOnAfterKill: the command is killed in the middle, again and again, given again, and everything is there once.
func TestAnAccountImportGoesOnAfterKill(t *testing.T) { eachEngine(t, killAccountImport) }

func killAccountImport(t *testing.T, e engine) {
	from, to, files := e.data(t), e.data(t), t.TempDir()
	account := result(t, "account", "create", "--data", from, "--name", "Harbor Light")
	var gifts strings.Builder
	gifts.WriteString("date,amount,method,email,first_name,last_name\n")
	for i := range 6000 {
		fmt.Fprintf(&gifts, "2026-01-%02d,%d,check,p%d@example.org,First%d,Last%d\n", i%28+1, i%90+5, i%3000, i%3000, i%3000)
	}
	table := filepath.Join(files, "gifts.csv")
	succeed(t, os.WriteFile(table, []byte(gifts.String()), 0o600))
	result(t, "gift", "import", "--data", from, "--account", account, table)
	exported := filepath.Join(files, "harbor")
	result(t, "account", "export", account, exported, "--data", from)

	kills := 0
	for kills < 3 {
		p := launch(t, to, "donorbook", "account", "import", exported, "--data", to)
		before := unfinished(t, to)
		p.waitFor("a unit of work", func() bool {
			select {
			case <-p.exited:
				return true
			default:
				return unfinished(t, to) != before
			}
		})
		p.kill()
		if left := unfinished(t, to); !strings.Contains(left, account) || strings.Contains(result(t, "account", "list", "--data", to), account) {
			t.Fatalf("after kill number %d, unfinished is %q", kills+1, left)
		}
		kills++
	}
	if code, stdout, _ := runLine(t, "check", "--data", to); code != exitOK {
		t.Errorf("a check of half an account: %s", stdout)
	}
	if made := result(t, "account", "import", exported, "--data", to); made != account {
		t.Errorf("the import printed %q", made)
	}
	result(t, "check", "--data", to)
	again := filepath.Join(files, "again")
	result(t, "account", "export", account, again, "--data", to)
	for _, name := range []string{"contacts.jsonl", "transactions.jsonl", "campaigns.jsonl", "custom_fields.jsonl"} {
		was := must(os.ReadFile(filepath.Join(exported, name)))(t)
		is, err := os.ReadFile(filepath.Join(again, name))
		if err != nil || !bytes.Equal(was, is) {
			t.Errorf("%s is not what it was: %v", name, err)
		}
	}
}

// unfinished is what account list says of imports that are not done.
func unfinished(t *testing.T, data string) string {
	t.Helper()
	_, _, stderr := runLine(t, "account", "list", "--data", data)
	_, line, _ := strings.Cut(stderr, "Unfinished import")
	return line
}

func TestAPipeAmongTheFilesOfAnAccountIsRefused(t *testing.T) {
	t.Parallel()
	data, files := t.TempDir(), filepath.Join(t.TempDir(), "harbor")
	account := result(t, "account", "create", "--data", data, "--name", "Harbor Light")
	result(t, "account", "export", account, files, "--data", data)
	for _, name := range []string{"contacts.jsonl", "manifest.json"} {
		path := filepath.Join(files, name)
		succeed(t, os.Remove(path))
		succeed(t, syscall.Mkfifo(path, 0o600))
		if code, _, stderr := runLine(t, "account", "import", files, "--data", data); code != exitInvalid || !strings.Contains(stderr, name+": is not a regular file") {
			t.Errorf("%s: exit code %d, %s", name, code, stderr)
		}
	}
}
