package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"donorbook/internal/rig"
	"donorbook/internal/store/jobs"
)

// TestTheCommandLineChoosesWhatAnImportDoes: what a dry run tells, the file of its changes, and what the flags choose.
func TestTheCommandLineChoosesWhatAnImportDoes(t *testing.T) {
	eachEngine(t, func(t *testing.T, e engine) {
		data, changes := e.data(t), filepath.Join(t.TempDir(), "changes.csv")
		account := result(t, "account", "create", "--data", data, "--name", "Import")
		imports := func(file, flags string, wants ...string) {
			t.Helper()
			args := []string{"contact", "import", "--data", data, "--account", account, file}
			stdout, stderr := says(t, exitOK, "", append(args, strings.Fields(flags)...)...)
			for _, want := range wants {
				contains(t, stdout+stderr, want, "%v (%v)", stdout, stderr)
			}
		}
		imports(write(t, "one.csv", "First name,Last name,Email,Company\nAna,Ruiz,ana@example.org,Old Ltd\n"), "")
		file := write(t, "two.csv", "First name,Last name,Email,Phone,Company,Title,Shoe size\n"+
			"ANA,Ruiz,ana@example.org,call me,New Ltd,Head,38\nJuan,Ruiz,ana@example.org,,,,39\n")
		imports(file, "--dry-run --changes "+changes, "Columns not imported: Shoe size (38; 39).",
			"Row 2: would be merged into Ana Ruiz",
			`Left out: Phone "call me" must be`, "Row 3: Juan Ruiz shares ana@example.org with Ana Ruiz",
			"1 row has the email or phone of a contact with a different name: kept separate. 1 value was left out. Nothing was changed.")
		text := string(must(os.ReadFile(changes))(t))
		contains(t, text, ",Ana Ruiz,Title,,Head", "the changes")
		equal(t, strings.Contains(text, "New Ltd"), false, "the changes")
		imports(file, "--dry-run --file-is-right", "Company: New Ltd instead of Old Ltd.")
		imports(file, "--other-name skip --unknown-columns custom", "0 created, 1 merged",
			`Row 2: Left out: Phone "call me"`, "different name: skipped.")
		imports(file, "--other-name merge", "0 created, 0 merged, 2 unchanged")
		imports(file, "--again", "1 created, 0 merged, 1 unchanged")
	})
}

// TestSheetsThatAreNotImportedAreNamed: no one takes the first sheet for the whole workbook.
func TestSheetsThatAreNotImportedAreNamed(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	file := write(t, "people.xlsx", string(rig.Workbook(t, "First Name,Last Name\nAna,Rossi",
		"First Name,Last Name\nJo,Doe", "")))
	account := result(t, "account", "create", "--data", data, "--name", "Import")
	const want = "Only the first sheet with rows is imported. Other sheets: Sheet 2.\n"
	says(t, exitOK, want, "contact", "import", "--data", data, "--account", account, file)
}

// Gifts of a file wait for thanks if the person who imports it says so and they are new, and the undo of the import
// takes them off the list.
func TestAnImportCanAskForThanks(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	account := result(t, "account", "create", "--data", data, "--name", "Import")
	in := func(args ...string) string { return result(t, append(args, "--data", data, "--account", account)...) }
	yesterday := time.Now().AddDate(0, 0, -1).Format(time.DateOnly)
	file := write(t, "gifts.csv", "amount,date,email,external_id\n5,"+yesterday+
		",ada@example.org,a\n7,2001-02-03,ada@example.org,b\n")
	for want, flags := range [][]string{nil, {"--thanks"}} {
		in(append([]string{"gift", "import", file}, flags...)...)
		waiting := func() int {
			return strings.Count(in("gift", "list", "--thanks", "waiting", "--json"),
				`"external_id"`)
		}
		equal(t, waiting(), want, "%v", flags)
		last := decode[[]struct{ ID int64 }](t, []byte(in("import", "list", "--json")))[0].ID
		in("import", "undo", fmt.Sprint(last))
		equal(t, waiting(), 0)
	}
}

// The list of imports says how far an undo has come: one that is not done is not undone.
func TestAnImportThatIsBeingUndoneIsNotUndone(t *testing.T) {
	t.Parallel()
	for state, want := range map[jobs.JobState]importLine{
		jobs.JobRunning:  {Undo: "being undone (changes so far: 7)"},
		jobs.JobCanceled: {Undo: "undo stopped (changes so far: 7)"},
		jobs.JobDone:     {Undone: true, Undo: "undone"},
	} {
		var line importLine
		if line.tellUndo(&jobs.Job{Kind: jobs.UndoingJob, State: state,
			Progress: []byte(`{"undone":7}`)}); line != want {
			t.Errorf("%s: %+v, want %+v", state, line, want)
		}
	}
}

// A pipe or a link among the files of an account is not followed, wherever it leads.
func TestAnAccountImportTakesRegularFilesAlone(t *testing.T) {
	t.Parallel()
	data, files := filepath.Join(t.TempDir(), "data"), t.TempDir()
	account := result(t, "account", "create", "--data", data, "--name", "Harbor Light")
	dir := filepath.Join(files, "harbor")
	moved := func(to string) func(path string) {
		return func(path string) {
			succeed(t, os.Rename(path, filepath.Join(dir, to)))
			succeed(t, os.Symlink(to, path))
		}
	}
	for what, replace := range map[string]func(path string){
		"a pipe":        func(path string) { succeed(t, os.Remove(path)); succeed(t, syscall.Mkfifo(path, 0o600)) },
		"a link inside": moved("inside"),
		"a link out":    moved("../outside"),
	} {
		for _, name := range []string{"manifest.json", "contacts.jsonl"} {
			result(t, "account", "export", account, dir, "--data", data)
			replace(filepath.Join(dir, name))
			code, _, stderr := runLine(t, "account", "import", dir, "--data", filepath.Join(files, "other"))
			if code == exitOK || !strings.Contains(strings.ReplaceAll(stderr, ":", ""), name+" is not a regular file") {
				t.Errorf("%s is %s: exit code %d: %s", name, what, code, stderr)
			}
			succeed(t, os.RemoveAll(dir))
		}
	}
}
