package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/store/book"
	"donorbook/internal/store/jobs"
)

type importList struct {
	Account string `help:"Account ID." required:"" placeholder:"ID"`
	JSON    bool   `help:"Print a JSON array of objects with id, contents, file, state, rows, created, merged, unchanged, skipped, rejected, undone (true when all was undone), undo (how far an undo has come) and created_at." name:"json"`
}

// importLine is an import as scripts see it.
type importLine struct {
	ID        int64  `json:"id" heading:"ID"`
	Contents  string `json:"contents" heading:"CONTENTS"`
	File      string `json:"file" heading:"FILE"`
	State     string `json:"state" heading:"STATE"`
	Rows      int64  `json:"rows" heading:"ROWS"`
	Created   int64  `json:"created" heading:"CREATED"`
	Merged    int64  `json:"merged" heading:"MERGED"`
	Unchanged int64  `json:"unchanged" heading:"UNCHANGED"`
	Skipped   int64  `json:"skipped"`
	Rejected  int64  `json:"rejected" heading:"REJECTED"`
	Undone    bool   `json:"undone"`
	Undo      string `json:"undo" heading:"UNDO"`
	CreatedAt string `json:"created_at" heading:"BEGUN"`
}

// maxImports is how many imports are listed.
const maxImports = 1000

func (c *importList) Run(t *terminal) error {
	return t.withAccount(c.Account, func(s *book.Book, account access.Account) error {
		imports, _, err := s.Imports(t.ctx, account.Number, math.MaxInt64, maxImports)
		if err != nil {
			return err
		}
		lines := make([]importLine, 0, len(imports))
		for _, im := range imports {
			line := importLine{ID: im.ID, Contents: "contacts", File: im.Spec.Name, State: string(im.State), Rows: im.Progress.Rows, Created: im.Progress.Created, Merged: im.Progress.Merged,
				Unchanged: im.Progress.Unchanged, Skipped: im.Progress.Skipped, Rejected: im.Progress.Rejected, CreatedAt: stamp(im.CreatedAt)}
			if im.Spec.Of == jobs.ImportGifts {
				line.Contents = jobs.ImportGifts
			}
			if im.Undo != 0 {
				undo, err := s.Job(t.ctx, account.Number, im.Undo)
				if err != nil {
					return err
				}
				line.tellUndo(&undo)
			}
			lines = append(lines, line)
		}
		return printRows(t, c.JSON, lines, "")
	})
}

// tellUndo says how far an import was undone.
func (line *importLine) tellUndo(undo *jobs.Job) {
	var at jobs.UndoProgress
	_ = json.Unmarshal(undo.Progress, &at) // what cannot be read says less
	line.Undone, line.Undo = undo.State == jobs.JobDone, strings.ToLower(undo.UndoState())
	if !line.Undone {
		line.Undo += fmt.Sprintf(" (changes so far: %d)", at.Undone)
	}
}

type importUndo struct {
	Account string `help:"Account ID." required:"" placeholder:"ID"`
	ID      int64  `arg:"" name:"import-id" help:"Import ID; see \"donorbook import list\"."`
	phoneRegion
}

func (importUndo) Help() string {
	return `Undoing an import archives the contacts that it created and reverses its changes to others; its gifts are canceled and no longer count, its changes to earlier gifts are reversed, and the campaigns that it created are removed unless other gifts are for them. What someone has changed since then stays as it is. Undo several imports in turn, the latest first. An undo that was interrupted goes on when you repeat the command, and a running server goes on with it by itself.`
}

func (c *importUndo) Run(t *terminal) error {
	if err := c.check(); err != nil {
		return err
	}
	return t.withAccount(c.Account, func(s *book.Book, account access.Account) error {
		if _, err := s.Import(t.ctx, account.Number, c.ID); err != nil {
			return err
		}
		w := newWatch(t, watch{quiet: true})
		undo, err := s.UndoWhole(t.ctx, account.Number, c.ID, c.PhoneRegion, func(done, total int64) { w.progress("undoing changes", done, total) })
		w.end()
		if errors.Is(err, crm.ErrChanged) {
			return &doc.Malformed{Message: fmt.Sprintf("Import %d cannot be undone: it has not ended, has changed nothing, or was undone before.", c.ID)}
		}
		if err != nil {
			return err
		}
		var at jobs.UndoProgress
		if err := json.Unmarshal(undo.Progress, &at); err != nil {
			return err
		}
		_, err = fmt.Fprintf(t.stdout, "Import %d was undone. Changes: %d. Left as they are, because they were changed since: %d.\n", c.ID, at.Undone, at.Kept)
		return err
	})
}
