package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"donorbook/internal/store/book"
	"donorbook/internal/store/check"
)

type checkCommand struct {
	Repair bool `help:"Rebuild derived data that does not match the documents."`
	JSON   bool `help:"Print a JSON object with the problems and how much was checked." name:"json"`
}

func (checkCommand) Help() string {
	return `Reads a snapshot of the whole database. Every document must be readable and match its checksum, and everything that is derived from the documents must match them: match keys, search words, totals, tag counts, the archive, who may list a campaign, the history. With SQLite, the database file itself is checked too. Servers may keep running.

	donorbook check
	donorbook check --repair

Each problem is one line on standard output that names the account and the contact or campaign. --repair derives an account anew in which derived data is wrong. That takes seconds (some 10 for 100,000 contacts, some more where search words are wrong), in which changes of the account wait, with SQLite all changes. A damaged or missing document stays as it is: restore it from a backup.

Exit codes: 0 no problems, or all were repaired; 1 problems are left, or the check failed.`
}

func (c *checkCommand) Run(t *terminal) error {
	var report check.CheckReport
	print := c.printer(t.stdout)
	err := t.withStore(func(s *book.Book) (err error) {
		watch := newWatch(t, watch{})
		defer watch.end()
		report, err = s.Check(t.ctx, check.CheckOptions{Repair: c.Repair, Found: print, Progress: func(what string, done, total int64) {
			watch.progress("checking "+what, done, total)
		}})
		return err
	})
	if err != nil {
		return err
	}
	if err := c.summary(t.stdout, report); err != nil {
		return err
	}
	if n := report.Importing; n > 0 {
		fmt.Fprintf(t.stderr, "Not checked: %d %s being imported.\n", n, plural(n, "account, which is", "accounts, which are"))
	}
	if left := report.Problems - report.Repaired; left > 0 {
		return fmt.Errorf("%d %s left", left, plural(left, "problem is", "problems are"))
	}
	return nil
}

// printer prints problems as they are found: there may be many.
func (c *checkCommand) printer(w io.Writer) func(check.Problem) {
	first := true
	return func(p check.Problem) {
		if !c.JSON {
			state := ""
			if p.Repaired {
				state = " (repaired)"
			}
			fmt.Fprintln(w, oneLine(p.String())+state)
			return
		}
		lead := ",\n    "
		if first {
			lead = "{\n  \"problems\": [\n    "
		}
		first = false
		line, _ := json.Marshal(p) // plain fields
		fmt.Fprintf(w, "%s%s", lead, line)
	}
}

func (c *checkCommand) summary(w io.Writer, r check.CheckReport) error {
	if !c.JSON {
		_, err := fmt.Fprintf(w, "Checked %d accounts, %d contacts, %d match keys, %d search words, %d gifts, %d campaigns, %d changes: %d %s, %d repaired.\n",
			r.Accounts, r.Contacts, r.IndexKeys, r.Words, r.Gifts, r.Campaigns, r.Changes, r.Problems, plural(r.Problems, "problem", "problems"), r.Repaired)
		return err
	}
	lead := "\n  ],"
	if r.Problems == 0 {
		lead = "{\n  \"problems\": [],"
	}
	checked, err := json.MarshalIndent(map[string]int64{
		"accounts": r.Accounts, "contacts": r.Contacts, "match_keys": r.IndexKeys, "search_words": r.Words, "gifts": r.Gifts, "campaigns": r.Campaigns, "changes": r.Changes, "repaired": r.Repaired,
	}, "  ", "  ")
	_, printing := fmt.Fprintf(w, "%s\n  \"checked\": %s\n}\n", lead, checked)
	return errors.Join(err, printing)
}

func plural(n int64, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
