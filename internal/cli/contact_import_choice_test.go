package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheCommandLineChoosesWhatAnImportDoes: what a dry run tells, the file of its changes, and what the flags choose.
func TestTheCommandLineChoosesWhatAnImportDoes(t *testing.T) {
	eachEngine(t, func(t *testing.T, e engine) {
		data, file, changes := e.data(t), filepath.Join(t.TempDir(), "people.csv"), filepath.Join(t.TempDir(), "changes.csv")
		account := result(t, "account", "create", "--data", data, "--name", "Import")
		run := func(text string, flags ...string) string {
			t.Helper()
			succeed(t, os.WriteFile(file, []byte(text), 0o600))
			code, stdout, stderr := runLine(t, append([]string{"contact", "import", "--data", data, "--account", account, file}, flags...)...)
			if code != 0 {
				t.Fatalf("exit code %d\n%s", code, stderr)
			}
			return stdout + stderr
		}
		sees := func(got string, wants ...string) {
			t.Helper()
			for _, want := range wants {
				if !strings.Contains(got, want) {
					t.Errorf("%q is not in %s", want, got)
				}
			}
		}
		run("First name,Last name,Email,Company\nAna,Ruiz,ana@example.org,Old Ltd\n")
		const file2 = "First name,Last name,Email,Phone,Company,Title,Shoe size\nANA,Ruiz,ana@example.org,call me,New Ltd,Head,38\nJuan,Ruiz,ana@example.org,,,,39\n"
		sees(run(file2, "--dry-run", "--changes", changes), "Columns not imported: Shoe size (38; 39).", "Row 2: would be merged into Ana Ruiz", `Left out: Phone "call me" must be`,
			"Row 3: Juan Ruiz shares ana@example.org with Ana Ruiz", "1 row has the email or phone of a contact with a different name: kept separate. 1 value was left out. Nothing was changed.")
		if text, err := os.ReadFile(changes); err != nil || !strings.Contains(string(text), ",Ana Ruiz,Title,,Head") || strings.Contains(string(text), "New Ltd") {
			t.Errorf("%v: the changes are %s", err, text)
		}
		sees(run(file2, "--dry-run", "--file-is-right"), "Company: New Ltd instead of Old Ltd.")
		sees(run(file2, "--other-name", "skip", "--unknown-columns", "custom"), "0 created, 1 merged", `Row 2: Left out: Phone "call me"`, "different name: skipped.")
		sees(run(file2, "--other-name", "merge"), "0 created, 0 merged, 2 unchanged")
		sees(run(file2, "--again"), "1 created, 0 merged, 1 unchanged")
	})
}
