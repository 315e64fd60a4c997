package cli

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"

	"donorbook/internal/config"
	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/duplicate"
	"donorbook/internal/crm/history"
	"donorbook/internal/store"
	"donorbook/internal/store/book"
	"donorbook/internal/store/duplicates"
)

type contactMerge struct {
	Account  string            `help:"Account ID." required:"" placeholder:"ID"`
	Prefer   string            `help:"Whose values win where both contacts have one: ${enum}." enum:"survivor,other" default:"survivor" placeholder:"WHICH"`
	Field    map[string]string `help:"Whose value to use for one field, such as company=other; may be repeated." placeholder:"NAME=WHICH"`
	Yes      bool              `help:"Merge. Without it, the command only shows a preview."`
	Survivor string            `arg:"" help:"ID, email or phone of the record to keep."`
	Other    string            `arg:"" help:"ID, email or phone of the contact to merge into it."`
	phoneRegion
}

func (contactMerge) Help() string {
	return `Merges two contacts that are the same person into one. The survivor keeps its values and gets what it lacks: emails, phones, addresses, tags and external IDs are combined, and two notes become one. The other contact's gifts, recurring gifts and history move to the survivor. The ID of the merge is printed.

	donorbook contact merge --account ID 1000000007 1000000012
	donorbook contact merge --account ID 1000000007 1000000012 --field company=other --yes
	donorbook contact unmerge --account ID 4711

Nothing is lost: "donorbook contact unmerge" restores both contacts.`
}

func (c *contactMerge) Run(t *terminal) error {
	if err := c.check(); err != nil {
		return err
	}
	return t.withAccount(c.Account, func(s *book.Book, account access.Account) error {
		survivor, err := anyContact(t, s, account.Number, c.Survivor, c.PhoneRegion)
		if err != nil {
			return err
		}
		in := crm.MergeInput{MergeChoice: crm.MergeChoice{PreferOther: c.Prefer == "other", Fields: make(map[string]int64)}}
		if in.Contact, err = anyContact(t, s, account.Number, c.Other, c.PhoneRegion); err != nil {
			return err
		}
		for name, which := range c.Field {
			id, known := map[string]int64{"survivor": survivor, "other": in.Contact}[which]
			if !known {
				return &config.Problem{Flag: "field", Reason: fmt.Sprintf("must end with =survivor or =other: %s=%s", name, which)}
			}
			in.Fields[name] = id
		}
		preview, err := s.PreviewMerge(t.ctx, account.Number, survivor, in, c.PhoneRegion)
		if err != nil {
			return err
		}
		fmt.Fprintf(t.stderr, "Contact %d (%s) and contact %d (%s) become one: %s. Gifts to move: %d. Recurring gifts to move: %d.\n", survivor, oneLine(preview.Survivor.Name()), in.Contact, oneLine(preview.Other.Name()), oneLine(preview.Merged.Name()), preview.Gifts, preview.Plans)
		for _, lost := range preview.Lost {
			fmt.Fprintf(t.stderr, "%s: %q from contact %d is not kept; the value is %q.\n", lost.Field, lost.Value, lost.Contact, lost.Kept)
		}
		if !c.Yes {
			return &config.Problem{Flag: "yes", Reason: "is missing, so nothing was changed"}
		}
		made, err := s.Merge(store.By(t.ctx, history.CommandChannel, commandLine), account.Number, survivor, in, c.PhoneRegion)
		if err != nil {
			return err
		}
		fmt.Fprintln(t.stdout, made.Merge)
		return t.finishMove(s, account.Number, made.Merge)
	})
}

// finishMove moves the gifts of a merge, or of its undo, that are still to be moved. A server goes on with what this process leaves.
func (t *terminal) finishMove(s *book.Book, account, merge int64) error {
	m, err := s.MergeOf(t.ctx, account, merge)
	if err != nil || m.Moving == 0 {
		return err
	}
	ended, err := s.FinishJob(t.ctx, account, m.Moving)
	if err == nil && !ended {
		fmt.Fprintln(t.stderr, "Gifts are still being moved. The server finishes that.")
	}
	return err
}

type contactUnmerge struct {
	Account string `help:"Account ID." required:"" placeholder:"ID"`
	Merge   int64  `arg:"" help:"ID of the merge, from \"donorbook contact merge\" or the API."`
	phoneRegion
}

func (contactUnmerge) Help() string {
	return `Undoes a merge: both contacts are as they were, and the gifts that had moved go back. Later changes stay with the survivor. Details that an API create or an import had merged into a contact become a separate contact.

	donorbook contact unmerge --account ID 4711

The ID of the undo is printed: "donorbook contact unmerge" with that ID merges the two again.`
}

func (c *contactUnmerge) Run(t *terminal) error {
	if err := c.check(); err != nil {
		return err
	}
	return t.withAccount(c.Account, func(s *book.Book, account access.Account) error {
		undone, err := s.UndoMerge(store.By(t.ctx, history.CommandChannel, commandLine), account.Number, c.Merge, c.PhoneRegion)
		if err != nil {
			return err
		}
		if again, _ := undone.Merging(); again != 0 {
			fmt.Fprintf(t.stderr, "Contact %d is merged again.\n", undone.Survivor.ID)
			fmt.Fprintln(t.stdout, again)
			return t.finishMove(s, account.Number, again)
		}
		fmt.Fprintf(t.stderr, "Contact %d and contact %d are separate contacts again.\n", undone.Survivor.ID, undone.Other.ID)
		if len(undone.Left) > 0 {
			fmt.Fprintf(t.stderr, "These fields have changed since the merge and were left as they are: %s.\n", strings.Join(undone.Left, ", "))
		}
		fmt.Fprintln(t.stdout, undone.ID())
		return t.finishMove(s, account.Number, c.Merge)
	})
}

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

A certain match is wrong in fewer than 1 in 1,000 cases; files and the API call it "sure". "donorbook contact merge" merges two contacts.`
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
