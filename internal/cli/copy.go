package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"donorbook/internal/config"
	"donorbook/internal/crm"
	"donorbook/internal/store"
)

type copyCommand struct {
	From    string `help:"Database to read: sqlite:DIR or postgres://USER@HOST/NAME." required:"" placeholder:"URL"`
	To      string `help:"Database to fill, which must be empty: postgres://USER@HOST/NAME or sqlite:DIR." required:"" placeholder:"URL"`
	Restart bool   `help:"Empty a target that an interrupted copy has left, and begin again. Any other target that is not empty is refused all the same."`
	JSON    bool   `help:"Print a JSON object: tables with their rows, accounts with their checksums." name:"json"`
}

func (copyCommand) Help() string {
	return `Copies all accounts with their contacts, campaigns and keys. Ids, keys, sequence numbers and revisions stay: clients notice nothing. The flags --data and --database do not count here; certificates in the data directory are files, and are not copied.

To grow from one machine to PostgreSQL:

	createdb donorbook
	stop the server
	donorbook copy --from sqlite:donorbook-data --to postgres://donorbook@db.example.org/donorbook
	donorbook serve --database postgres://donorbook@db.example.org/donorbook

A password is better kept in the variable PGPASSWORD or the file ~/.pgpass than in the URL, which other users of the machine can see.

The source is only read, as it was at one moment, and its servers may go on; but what they write after the copy began is not copied. It must have the schema of this program: where it is older, any other command of this program, such as account list, brings it up to date.

The target must be empty; its tables are made where there are none. When everything is there, it is read again: the rows of every table are counted and every account has a checksum (SHA-256 of its rows), and any difference from the source is an error that names the account. Until then every donorbook refuses the target, also after a copy that was interrupted: run the same command with --restart, which empties it first, or remove the database.

Exit codes: 0 copied and compared; 1 failed, interrupted or different; 2 wrong URLs, or the same database twice; 3 a source or target that was refused, and nothing was changed; 4 there is no source.`
}

func (c *copyCommand) Run(t *terminal) error {
	from, err := copyPlace("from", c.From)
	if err != nil {
		return err
	}
	to, err := copyPlace("to", c.To)
	if err != nil {
		return err
	}
	watch := newWatch(t, watch{intro: "What is written to the source from now on is not copied."})
	report, err := store.Copy(t.ctx, from, to, store.CopyOptions{Restart: c.Restart, Progress: func(p store.CopyProgress) {
		watch.progress(copyStep(p), p.Done, p.Total)
	}})
	watch.end()
	if err != nil {
		return copyFailure(err, report.Begun)
	}
	if c.JSON {
		return t.printJSON(map[string]any{"tables": report.Tables, "accounts": append([]store.AccountSum{}, report.Accounts...)})
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

func copyStep(p store.CopyProgress) string {
	if p.Checking {
		return "checking " + p.Table
	}
	return "copying " + p.Table
}

// copyPlace finds a URL that cannot be one, before anything is opened. It is not repeated: it may hold a password.
func copyPlace(flag, url string) (store.Options, error) {
	scheme, rest, _ := strings.Cut(url, ":")
	switch scheme {
	case "sqlite":
		if strings.TrimPrefix(rest, "//") == "" {
			return store.Options{}, &config.Problem{Flag: flag, Reason: "the URL names no directory; write sqlite:DIR"}
		}
	case "postgres", "postgresql":
	default:
		return store.Options{}, &config.Problem{Flag: flag, Reason: "the URL must begin with postgres: or sqlite:"}
	}
	return store.Options{Database: url}, nil
}

// copyFailure is the error as a script sees it.
func copyFailure(err error, begun bool) error {
	var url *store.URLError
	switch {
	case errors.As(err, &url):
		return &config.Problem{Flag: url.Side, Reason: url.Error()}
	case errors.Is(err, store.ErrSameDatabase):
		return &config.Problem{Flag: "to", Reason: err.Error()}
	case errors.Is(err, context.Canceled):
		err = errors.New("interrupted")
	}
	switch {
	case begun:
		return fmt.Errorf("%w\nThe target is not complete, and refused from now on. To begin again: the same command with --restart", err)
	case errors.Is(err, store.ErrNotEmpty), errors.Is(err, store.ErrUnfinished), errors.Is(err, store.ErrSchema):
		return &crm.Malformed{Message: err.Error()}
	}
	return err
}
