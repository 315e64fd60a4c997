package cli

import (
	"fmt"
	"strconv"
	"time"

	"donorbook/internal/config"
	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/find"
	"donorbook/internal/store/book"
	"donorbook/internal/store/jobs"
	"donorbook/internal/store/move"
)

type contactPrint struct {
	Account  string `help:"Account ID." required:"" placeholder:"ID"`
	What     string `help:"letters, statements, or labels: 5160, l7160 or 3474." enum:"letters,statements,5160,l7160,3474" required:"" placeholder:"WHAT"`
	Year     int64  `help:"Year of statements. Default: last year." placeholder:"YEAR"`
	Query    string `help:"Only contacts that match this filter, written like the part of a list's web address after the question mark." placeholder:"QUERY"`
	Sort     string `help:"name or zip." enum:"name,zip" default:"name" placeholder:"ORDER"`
	Paper    string `help:"letter or a4." enum:"letter,a4" default:"letter" placeholder:"PAPER"`
	Archived bool   `help:"Also archived contacts."`
	Output   string `help:"PDF file to write, or - for standard output. Links are not followed." required:"" placeholder:"FILE"`
	Force    bool   `help:"Replace an existing file."`
	phoneRegion
}

func (contactPrint) Help() string {
	return `Writes a PDF file with letters, giving statements or labels. It says who is left out and why: contacts who are deceased, archived, or do not want mail. Letters and labels need an address.

	donorbook contact print --account ID --what statements --year 2025 --sort zip --output statements.pdf
	donorbook contact print --account ID --what 5160 --query "tag=gala" --output labels.pdf`
}

func (c *contactPrint) Run(t *terminal) error {
	if err := c.check(); err != nil {
		return err
	}
	query, err := parseQuery(c.Query, isContactFilter)
	if err != nil {
		return err
	}
	if c.Archived {
		query.Set("scope", "all")
	}
	of := jobs.Selection{All: true}
	if of.Scope, of.Filter, err = find.ParseQuery(query.Encode(), c.PhoneRegion); err != nil {
		return err
	}
	if c.Year == 0 {
		c.Year = int64(time.Now().Year()) - 1
	}
	if c.Year < 1900 || c.Year > 9998 {
		return &config.Problem{Flag: "year", Reason: "must be 1900 or later"}
	}
	return t.withAccount(c.Account, func(s *book.Book, account access.Account) error {
		made, err := s.PreparePrint(t.ctx, account.Number, of, move.Print{What: c.What, Year: c.Year, ByZip: c.Sort == "zip", A4: c.Paper == "a4", Archived: c.Archived})
		if err != nil {
			return err
		}
		for _, left := range crm.LeftWords(made.Left, func(n int64) string { return strconv.FormatInt(n, 10) }) {
			fmt.Fprintln(t.stderr, "Left out: "+left.Text)
		}
		file, err := s.PrintFile(t.ctx, account.Number, made)
		if err != nil {
			return err
		}
		return exportFile{Output: c.Output, Force: c.Force}.export(t, "people", file)
	})
}
