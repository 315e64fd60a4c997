package cli

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"donorbook/internal/config"
	"donorbook/internal/store"
)

type accountCreate struct {
	Name   string  `help:"Name of the organization or chapter." required:"" placeholder:"NAME"`
	Parent *string `help:"Id of the account above: makes the new one a chapter." placeholder:"ID"`
}

func (accountCreate) Help() string {
	return `An account owns contacts, campaigns and keys. Its id is what --account and --parent take.

	donorbook account create --name "Harbor Light"
	donorbook account create --name "Harbor Light Portland" --parent ID`
}

func (c *accountCreate) Run(t *terminal) error {
	parent := ""
	if c.Parent != nil {
		if parent = *c.Parent; parent == "" {
			return &config.Problem{Flag: "parent", Reason: "is empty; leave it out for an account of its own"}
		}
	}
	return t.withStore(func(s *store.Store) error {
		account, err := s.CreateAccount(t.ctx, c.Name, parent)
		if err != nil {
			return err
		}
		fmt.Fprintln(t.stderr, "Next: "+t.command("key create --account "+account.ID+` --name "My first key"`))
		_, err = fmt.Fprintln(t.stdout, account.ID)
		return err
	})
}

type accountList struct {
	JSON bool `help:"Print a JSON array of objects with id, name, parent_id and created_at." name:"json"`
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
		if len(lines) == 0 {
			fmt.Fprintln(t.stderr, "No account yet. Next: "+t.command("account create --name NAME"))
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
		fmt.Fprint(t.w, oneLine(cell))
	}
	fmt.Fprintln(t.w)
}

// oneLine keeps a name from breaking a line, or from talking to the terminal.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
}

func (t table) flush() error { return t.w.Flush() }
