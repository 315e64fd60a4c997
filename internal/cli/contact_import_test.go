package cli

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/rig"
	"donorbook/internal/store"
	"donorbook/internal/store/book"
)

// TestAContactImportThatIsKilledGoesOn: whenever the process is killed, starting it again gives the same result as an import without interruption.
func TestAContactImportThatIsKilledGoesOn(t *testing.T) { eachEngine(t, contactImportKilled) }

func contactImportKilled(t *testing.T, e engine) {
	const rows, kills = 6000, 20
	file, rejected := filepath.Join(t.TempDir(), "people.csv"), filepath.Join(t.TempDir(), "rejected.csv")
	var text strings.Builder
	text.WriteString("First Name,Last Name,Email,Tags\n")
	for i := range rows {
		email, first, name := fmt.Sprintf("p%d@example.org", i), "Ann", fmt.Sprintf("P%d", i)
		switch {
		case i%7 == 0: // no one can tell whether it was imported before
			email = ""
		case i%11 == 0: // the contact of a row further up
			email, name = fmt.Sprintf("p%d@example.org", i-i%5), fmt.Sprintf("P%d", i-i%5)
		case i%100 == 1: // rejected
			email, first, name = "", "", ""
		}
		fmt.Fprintf(&text, "%s,%s,%s,\"t%d, all\"\n", first, name, email, i%10)
	}
	succeed(t, os.WriteFile(file, []byte(text.String()), 0o600))
	data := e.data(t)
	whole := importWhole(t, data, file)
	for killed := 0; killed < kills; {
		account := result(t, "account", "create", "--data", data, "--name", "Import")
		for killed < kills {
			p := launch(t, data, "donorbook", "contact", "import", "--data", data, "--account", account, "--rejected", rejected, "--force", file)
			select {
			case <-p.exited: // it was faster
			case <-time.After(time.Duration(rand.IntN(400)) * time.Millisecond):
				p.kill()
				killed++
				continue
			}
			break
		}
		code, _, stderr := runLine(t, "contact", "import", "--data", data, "--account", account, "--rejected", rejected, "--force", file)
		if code != exitFailed || !strings.Contains(stderr, "rows were rejected, see ") {
			t.Fatalf("started again: exit code %d\n%s", code, stderr)
		}
		if got := imported(t, data, account, rejected); got != whole {
			t.Fatalf("the contacts differ from those of an import that was not interrupted:\n%.300s\n%.300s", got, whole)
		}
	}
	result(t, "check", "--data", data)
}

// importWhole imports a file without interruption.
func importWhole(t *testing.T, data, file string) string {
	t.Helper()
	account, rejected := result(t, "account", "create", "--data", data, "--name", "Whole"), filepath.Join(t.TempDir(), "rejected.csv")
	if code, _, stderr := runLine(t, "contact", "import", "--data", data, "--account", account, "--rejected", rejected, "--force", file); code != exitFailed {
		t.Fatalf("without interruption: exit code %d\n%s", code, stderr)
	}
	return imported(t, data, account, rejected)
}

// imported is everything about contacts that a file determines, and the rows that were rejected.
func imported(t *testing.T, data, id, rejected string) string {
	t.Helper()
	s := must(book.Open(t.Context(), store.Options{Data: data, Database: databaseOf(data)}))(t)
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	account := must(s.Account(t.Context(), id))(t)
	var b strings.Builder
	for page := int64(1); ; page++ {
		contacts, _ := must2(s.ContactPage(t.Context(), account.Number, crm.All, crm.PageRequest{Page: page, PerPage: 100}))(t)
		for _, c := range contacts {
			fmt.Fprintln(&b, doc.IDSeq(c.ID), c.FirstName, c.LastName, c.Emails, c.Tags)
		}
		if len(contacts) == 0 {
			break
		}
	}
	text := must(os.ReadFile(rejected))(t)
	b.Write(text)
	return b.String()
}

// TestSheetsThatAreNotImportedAreNamed: no one takes the first sheet for the whole workbook.
func TestSheetsThatAreNotImportedAreNamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "people.xlsx")
	succeed(t, os.WriteFile(file, rig.Workbook(t, "First Name,Last Name\nAna,Rossi", "First Name,Last Name\nJo,Doe", ""), 0o600))
	data := t.TempDir()
	account := result(t, "account", "create", "--data", data, "--name", "Import")
	code, _, stderr := runLine(t, "contact", "import", "--data", data, "--account", account, file)
	if code != 0 || !strings.Contains(stderr, "Only the first sheet with rows is imported. Other sheets: Sheet 2.\n") {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
}
