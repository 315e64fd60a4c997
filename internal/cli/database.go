package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"donorbook/internal/config"
	"donorbook/internal/crm/doc"
	"donorbook/internal/store"
	"donorbook/internal/store/book"
	"donorbook/internal/store/check"
	"donorbook/internal/store/move"
)

type checkCommand struct {
	Repair bool `help:"Rebuild derived data that does not match the documents."`
	JSON   bool `help:"Print a JSON object with the problems and how much was checked." name:"json"`
}

func (checkCommand) Help() string {
	return `Reads a snapshot of the whole database. Every document must be readable and match its checksum, and everything derived from the documents must match them: match keys, search words, totals, tag counts, the archive, who may list a campaign, and the history. With SQLite, the database file itself is checked too. Servers may keep running.

	donorbook check
	donorbook check --repair

Each problem is one line on standard output that names the account and the contact or campaign. --repair rebuilds the derived data of an account where it is wrong. That takes seconds (about 10 for 100,000 contacts, longer if search words are wrong), during which changes to the account wait; with SQLite, all changes wait. A damaged or missing document stays as it is: restore it from a backup.

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

type copyCommand struct {
	From    string `help:"Database to read: sqlite:DIR or postgres://USER@HOST/NAME." required:"" placeholder:"URL"`
	To      string `help:"Database to fill, which must be empty: postgres://USER@HOST/NAME or sqlite:DIR." required:"" placeholder:"URL"`
	Restart bool   `help:"Empty the target of an interrupted copy and start over. Any other target that is not empty is still refused."`
	JSON    bool   `help:"Print a JSON object with the rows of each table and the checksum of each account." name:"json"`
}

func (copyCommand) Help() string {
	return `Copies all accounts with their contacts, campaigns and keys. Ids, keys, sequence numbers and revisions stay the same, so clients notice nothing. The flags --data and --database are ignored. Certificates are files in the data directory and are not copied.

To move from one machine to PostgreSQL:

	createdb donorbook
	stop the server
	donorbook copy --from sqlite:donorbook-data --to postgres://donorbook@db.example.org/donorbook
	donorbook serve --database postgres://donorbook@db.example.org/donorbook

Put the password into the variable PGPASSWORD or the file ~/.pgpass: other users of the machine can see the URL.

The copy reads a snapshot of the source and does not change it. Its servers may keep running, but what they write after the copy begins is not copied. The source must have the schema of this program: if it is older, run any other command, such as account list, to upgrade it.

The target must be empty; missing tables are created. When everything is copied, the target is read back: the rows of every table are counted, and the rows of every account are compared by checksum (SHA-256). Any difference is an error that names the account. Until this is done, donorbook refuses to use the target. After an interrupted copy, run the same command with --restart, which empties the target first, or remove the database.

Exit codes: 0 copied and compared; 1 failed, interrupted or different; 2 wrong URLs, or the same database twice; 3 source or target refused, nothing changed; 4 source not found.`
}

func (c *copyCommand) Run(t *terminal) error {
	if err := config.CheckDatabase("from", c.From, ""); err != nil {
		return err
	}
	if err := config.CheckDatabase("to", c.To, ""); err != nil {
		return err
	}
	watch := newWatch(t, watch{intro: "What is written to the source from now on is not copied."})
	report, err := move.Copy(t.ctx, store.Options{Database: c.From}, store.Options{Database: c.To}, move.CopyOptions{Restart: c.Restart, Progress: func(p move.CopyProgress) {
		watch.progress(copyStep(p), p.Done, p.Total)
	}})
	watch.end()
	if err != nil {
		return copyFailure(err, report.Begun)
	}
	if c.JSON {
		return t.printJSON(map[string]any{"tables": report.Tables, "accounts": append([]move.AccountSum{}, report.Accounts...)})
	}
	lines := make([]tableLine, 0, len(report.Tables))
	for _, count := range report.Tables {
		lines = append(lines, tableLine(count))
	}
	if err := printTable(t, lines); err != nil {
		return err
	}
	_, err = fmt.Fprintf(t.stdout, "Accounts: %d. Rows and checksums are the same on both sides.\n", len(report.Accounts))
	return err
}

// tableLine is how many rows of a table were copied.
type tableLine struct {
	Table string `heading:"TABLE"`
	Rows  int64  `heading:"ROWS"`
}

func copyStep(p move.CopyProgress) string {
	if p.Checking {
		return "checking " + p.Table
	}
	return "copying " + p.Table
}

// copyFailure gives an error the type that decides the exit code.
func copyFailure(err error, begun bool) error {
	var url *move.URLError
	switch {
	case errors.As(err, &url):
		return &config.Problem{Flag: url.Side, Reason: url.Error()}
	case errors.Is(err, move.ErrSameDatabase):
		return &config.Problem{Flag: "to", Reason: err.Error()}
	case errors.Is(err, context.Canceled):
		err = errors.New("interrupted")
	}
	switch {
	case begun:
		return fmt.Errorf("%w\nThe target is not complete and cannot be used. To start over, run the same command with --restart", err)
	case errors.Is(err, move.ErrNotEmpty), errors.Is(err, move.ErrUnfinished), errors.Is(err, move.ErrSchema):
		return &doc.Malformed{Message: err.Error()}
	}
	return err
}

type distribute struct{}

func (distribute) Help() string {
	return `Prints commands for psql without opening a database. With Citus, run them on the coordinator once the tables exist, and again after each upgrade: tables that are already distributed stay as they are.

	donorbook distribute | psql postgres://donorbook@db.example.org/donorbook

The last command lists tables that are not distributed. There should be none.`
}

func (distribute) Run(t *terminal) error {
	commands, forgotten := store.Distribution()
	for _, sql := range append(commands, forgotten) {
		if _, err := fmt.Fprintln(t.stdout, sql+";"); err != nil {
			return err
		}
	}
	return nil
}
