package cli

import (
	"fmt"
	"text/tabwriter"
	"time"

	"donorbook/internal/store"
)

type accountCreate struct {
	Name   string `help:"Name of the organisation or chapter." required:"" placeholder:"NAME"`
	Parent string `help:"Id of the account above: makes the new one a chapter." placeholder:"ID"`
}

func (c *accountCreate) Run(t *terminal) error {
	return t.withStore(func(s *store.Store) error {
		account, err := s.CreateAccount(t.ctx, c.Name, c.Parent)
		if err != nil {
			return err
		}
		fmt.Fprintf(t.stderr, "Next: donorbook key create --account %s --name \"My first key\"\n", account.ID)
		_, err = fmt.Fprintln(t.stdout, account.ID)
		return err
	})
}

type accountList struct {
	JSON bool `help:"Print JSON." name:"json"`
}

// accountLine is an account as scripts see it.
type accountLine struct {
	ID        string  `json:"id"`
	Name      string  `json:"name"`
	ParentID  *string `json:"parent_id"`
	CreatedAt string  `json:"created_at"`
}

func (c *accountList) Run(t *terminal) error {
	return t.withStore(func(s *store.Store) error {
		accounts, err := s.Accounts(t.ctx)
		if err != nil {
			return err
		}
		lines := make([]accountLine, 0, len(accounts))
		for _, a := range accounts {
			line := accountLine{ID: a.ID, Name: a.Name, CreatedAt: stamp(a.CreatedAt)}
			if a.ParentID != "" {
				line.ParentID = &a.ParentID
			}
			lines = append(lines, line)
		}
		if c.JSON {
			return t.printJSON(lines)
		}
		table := t.table("ID", "NAME", "PARENT", "CREATED")
		for _, l := range lines {
			table.row(l.ID, l.Name, shown(l.ParentID), l.CreatedAt)
		}
		return table.flush()
	})
}

// stamp is a time as scripts see it.
func stamp(at time.Time) string { return at.UTC().Format(time.RFC3339) }

// optionalStamp is nil for a time that never was.
func optionalStamp(at time.Time) *string {
	if at.IsZero() {
		return nil
	}
	text := stamp(at)
	return &text
}

func shown(text *string) string {
	if text == nil {
		return "-"
	}
	return *text
}

// table prints aligned columns for people.
type table struct{ w *tabwriter.Writer }

func (t *terminal) table(head ...string) table {
	out := table{tabwriter.NewWriter(t.stdout, 0, 4, 2, ' ', 0)}
	out.row(head...)
	return out
}

func (t table) row(cells ...string) {
	for i, cell := range cells {
		if i > 0 {
			fmt.Fprint(t.w, "\t")
		}
		fmt.Fprint(t.w, cell)
	}
	fmt.Fprintln(t.w)
}

func (t table) flush() error { return t.w.Flush() }
