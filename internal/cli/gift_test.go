package cli

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// ledger is everything about the gifts of an account that a file determines, in a fixed order.
func ledger(t *testing.T, data, account string) string {
	t.Helper()
	list := decode[[]struct {
		Amount                                    float64
		Method, Currency, Status, Email, LastName string
		Transacted                                string  `json:"transacted_at"`
		Campaign                                  *string `json:"campaign_code"`
		ExternalID                                string  `json:"external_id"`
	}](t, []byte(result(t, "gift", "list", "--data", data, "--account", account, "--all", "--json")))
	lines := make([]string, 0, len(list))
	for _, g := range list {
		campaign := ""
		if g.Campaign != nil {
			campaign = *g.Campaign
		}
		g.Campaign = nil
		lines = append(lines, fmt.Sprintf("%s %+v %s", g.ExternalID, g, campaign))
	}
	slices.SortFunc(lines, cmp.Compare[string])
	return strings.Join(lines, "\n")
}

// TestAnImportThatIsKilledGoesOn: whenever the process ends, starting it again gives the same result as an import without
// interruption.
func TestAnImportThatIsKilledGoesOn(t *testing.T) { eachEngine(t, importKilled) }

func importKilled(t *testing.T, e engine) {
	const rows = 1000
	file := filepath.Join(t.TempDir(), "gifts.csv")
	var text strings.Builder
	text.WriteString("amount,date,method,first_name,last_name,email,campaign,external_id\n")
	for i := range rows {
		id, method := "", "card"
		if i%3 == 0 {
			id = fmt.Sprintf("row-%d", i)
		}
		if i%100 == 7 {
			method = "coin" // rejected
		}
		fmt.Fprintf(&text, "%d,2026-%02d-%02d,%s,Ann,P%[5]d,p%[5]d@example.org,%s,%s\n", 5+i%7, 1+i%9, 1+i%28, method, i%350, []string{"", "coats"}[i%2], id)
	}
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	campaigns := filepath.Join(t.TempDir(), "campaigns.json")
	if err := os.WriteFile(campaigns, []byte(`[{"title":"Coats"}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	prepare := func() (data, account string) {
		data = e.data(t)
		account = result(t, "account", "create", "--data", data, "--name", "Import")
		result(t, "campaign", "import", "--data", data, "--account", account, campaigns)
		return data, account
	}
	data, account := prepare()
	rejected := filepath.Join(t.TempDir(), "rejected.csv")
	for _, portions := range []int{1, 3, 5, 7} {
		_ = os.Remove(rejected) // from the previous round
		p := launch(t, data, "donorbook", "gift", "import", "--data", data, "--account", account, "--rejected", rejected, file)
		p.waitFor("some rows", func() bool { // each batch of rows has one that is rejected
			text, _ := os.ReadFile(rejected)
			return strings.Count(string(text), "\n") > portions
		})
		p.kill()
	}
	whole, reference := prepare()
	code, first, stderr := runLine(t, "gift", "import", "--data", whole, "--account", reference, file)
	if want := "Rows: 1000. 990 recorded, 0 known before, 10 rejected; 350 new contacts."; code != exitFailed || strings.TrimSpace(first) != want {
		t.Errorf("without interruption: exit code %d, %s%s", code, first, stderr)
	}
	for range 2 { // the second one changes nothing
		if code, stdout, stderr := runLine(t, "gift", "import", "--data", data, "--account", account, file); code != exitFailed || !strings.Contains(stdout, "10 rejected") {
			t.Errorf("started again: exit code %d, %s%s", code, stdout, stderr)
		}
		if got, want := ledger(t, data, account), ledger(t, whole, reference); got != want {
			t.Fatalf("the gifts differ from those of an import that was not interrupted: %d and %d bytes", len(got), len(want))
		}
	}
	if a, b := result(t, "check", "--data", data), result(t, "check", "--data", whole); a != b {
		t.Errorf("the checks say\n%s\nand\n%s", a, b)
	}
}
