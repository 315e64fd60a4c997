package cli

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/duplicate"
	"donorbook/internal/store/book"
	"donorbook/internal/store/duplicates"
)

// certain is what people call the level that is "sure" on the wire.
const certain = "certain"

type contactDuplicates struct {
	Account string  `help:"Account ID." required:"" placeholder:"ID"`
	CSV     bool    `name:"csv" help:"Print a CSV file."`
	Level   *string `help:"Only pairs of this level: certain (sure in the API), likely or possible." enum:"certain,sure,likely,possible" placeholder:"LEVEL"` // a pointer: without it, "" would be a choice
}

func (contactDuplicates) Help() string {
	return `Prints pairs of contacts that may be the same person, most likely first, with reasons. Recent changes are checked first.

	donorbook contact duplicates --account ID
	donorbook contact duplicates --account ID --csv --level certain > certain.csv

A certain match is wrong in fewer than 1 in 1,000 cases; files and the API call it "sure". "donorbook contact merge" merges two contacts, "donorbook duplicate list" prints what was found before.`
}

func (c *contactDuplicates) Run(t *terminal) error {
	return t.withAccount(c.Account, func(s *book.Book, account access.Account) error {
		counts, err := s.Counts(t.ctx, account.Number)
		if err != nil {
			return err
		}
		w := newWatch(t, watch{quiet: true})
		err = s.FindDuplicates(t.ctx, account.Number, func(done float64) {
			w.progress("looking for duplicates", int64(done*float64(counts.Active)), counts.Active)
		})
		w.end()
		if err != nil {
			return err
		}
		return c.print(t, s, account.Number)
	})
}

// print prints all pairs, page by page.
func (c *contactDuplicates) print(t *terminal, s *book.Book, account int64) error {
	out := csv.NewWriter(t.stdout) // for programs: the files of exports begin with a mark that spreadsheets look for
	var err error
	if c.CSV {
		err = out.Write([]string{"contact_id_a", "contact_id_b", "probability", "level", "reasons"})
	}
	var filter duplicates.Filter
	if c.Level != nil {
		filter.Level = duplicate.Level(*c.Level)
		if *c.Level == certain {
			filter.Level = duplicate.Sure
		}
	}
	n := int64(0)
	for page := (crm.PageRequest{Page: 1, PerPage: 1000}); err == nil; page.Page++ {
		pairs, found, failed := s.Pairs(t.ctx, account, filter, page)
		for _, p := range pairs {
			reasons := strings.Join(p.Reasons, "; ")
			if c.CSV {
				err = cmp.Or(err, out.Write([]string{strconv.FormatInt(p.A, 10), strconv.FormatInt(p.B, 10), fmt.Sprintf("%.6f", p.Probability), string(p.Level), reasons}))
			} else {
				level := string(p.Level)
				if p.Level == duplicate.Sure {
					level = certain
				}
				fmt.Fprintf(t.stdout, "%-8s  %d and %d: %s\n", level, p.A, p.B, reasons)
			}
		}
		if n += found.Count; failed != nil || n >= found.Total || found.Count == 0 {
			err = cmp.Or(err, failed)
			break
		}
	}
	if err == nil && !c.CSV {
		fmt.Fprintf(t.stderr, "Possible duplicates: %d pairs.\n", n)
	}
	out.Flush()
	return cmp.Or(err, out.Error())
}
