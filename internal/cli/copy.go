package cli

import (
	"context"
	"errors"
	"fmt"

	"donorbook/internal/config"
	"donorbook/internal/crm/doc"
	"donorbook/internal/store"
	"donorbook/internal/store/move"
)

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

Put a password into the variable PGPASSWORD or the file ~/.pgpass: other users of the machine can see the URL.

The copy reads a snapshot of the source and does not change it. Its servers may keep running, but what they write after the copy began is not copied. The source must have the schema of this program: if it is older, run any other command, such as account list, to upgrade it.

The target must be empty; missing tables are created. When everything is copied, the target is read again: the rows of every table are counted, and every account gets a checksum (SHA-256 of its rows). Any difference from the source is an error that names the account. Until this is done, donorbook refuses to use the target. After an interrupted copy, run the same command with --restart, which empties the target first, or remove the database.

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
