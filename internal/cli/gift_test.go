package cli

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
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
	}](t, []byte(result(t, "gift", "list", "--data", data, "--account", account, "--json")))
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

// numbered is the slug of a campaign whose title another account has used before.
var numbered = regexp.MustCompile(`coats-\d+`)

// TestAnImportThatIsKilledGoesOn: whenever the process ends, starting it again gives the same result as an import without
// interruption.
func TestAnImportThatIsKilledGoesOn(t *testing.T) { eachEngine(t, importKilled) }

func importKilled(t *testing.T, e engine) {
	const rows, kills = 2000, 10
	file := filepath.Join(t.TempDir(), "gifts.csv")
	var text strings.Builder
	text.WriteString("amount,date,method,first_name,last_name,email,campaign,external_id\n")
	for i := range rows {
		id, amount := "", fmt.Sprint(5+i%7)
		if i%3 == 0 {
			id = fmt.Sprintf("row-%d", i)
		}
		if i%100 == 7 {
			amount = "much" // rejected
		}
		fmt.Fprintf(&text, "%s,2026-%02d-%02d,card,Ann,P%[4]d,p%[4]d@example.org,%s,%s\n", amount, 1+i%9, 1+i%28, i%350, []string{"", "coats"}[i%2], id)
	}
	succeed(t, os.WriteFile(file, []byte(text.String()), 0o600))
	campaigns := filepath.Join(t.TempDir(), "campaigns.json")
	succeed(t, os.WriteFile(campaigns, []byte(`[{"title":"Coats"}]`), 0o600))
	data := e.data(t)
	prepare := func() (account string) {
		account = result(t, "account", "create", "--data", data, "--name", "Import")
		result(t, "campaign", "import", "--data", data, "--account", account, campaigns)
		return account
	}
	const recorded = "Rows: 2000. 1980 recorded, 0 known before, 20 rejected; 350 new contacts. Given: $15,837.00."
	const known = "Rows: 2000. 0 recorded, 1980 known before, 20 rejected; 0 new contacts."
	again := func(account string, want ...string) {
		t.Helper()
		if code, stdout, stderr := runLine(t, "gift", "import", "--data", data, "--account", account, file); code != exitFailed || !slices.Contains(want, strings.TrimSpace(stdout)) {
			t.Fatalf("exit code %d, %s%s", code, stdout, stderr)
		}
	}
	whole := prepare()
	again(whole, recorded)
	for killed := 0; killed < kills; {
		account, ended := prepare(), false
		for killed < kills && !ended {
			p := launch(t, data, "donorbook", "gift", "import", "--data", data, "--account", account, file)
			select {
			case <-p.exited: // it was faster
				ended = true
			case <-time.After(time.Duration(rand.IntN(400)) * time.Millisecond):
				p.kill()
				killed++
			}
		}
		if !ended { // what was counted before it was killed is counted, unless it was killed when all was done
			again(account, recorded, known)
		}
		again(account, known)
		if got, want := numbered.ReplaceAllString(ledger(t, data, account), "coats"), ledger(t, data, whole); got != want {
			t.Fatalf("the gifts differ from those of an import that was not interrupted: %d and %d bytes", len(got), len(want))
		}
	}
	result(t, "check", "--data", data)
}
