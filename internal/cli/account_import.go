package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"donorbook/internal/crm/history"
	"donorbook/internal/store"
	"donorbook/internal/store/book"
	"donorbook/internal/store/move"
)

type accountImport struct {
	phoneRegion
	Account string `help:"Id of an account to import into, which must be empty. Default: a new account." placeholder:"ID"`
	Dir     string `arg:"" help:"Directory that \"account export\" has written."`
}

func (accountImport) Help() string {
	return `Brings back what "account export" has written, into a new account or an empty one, and prints its id. First the checksums of all files are compared, and every line is checked as if it came through the API: if one is refused, the command names its file and line, and nothing is changed. Then it imports up to 500 records at a time, so that servers go on.

	donorbook account import river-aid

If it is stopped, give the same command again: it goes on where it was. Until it is done, a new account cannot be seen or used by anyone; an account that was there (--account) can be read, and refuses every change. To give an import up, use "donorbook account discard". "account list" tells which imports are not done.

The account keeps its id, and all records keep theirs, where its number is free in this database; otherwise contacts and campaigns get ids that begin with another number, in the same order. The ids of gifts and plans stay. A campaign whose web address is taken gets another one. Members are invited again and keys are made again: members.jsonl and keys.jsonl tell which there were. Past imports cannot be undone any more.`
}

func (c *accountImport) Run(t *terminal) error {
	if err := c.check(); err != nil {
		return err
	}
	return t.withStore(func(s *book.Book) error {
		w := newWatch(t, watch{})
		made, err := s.ImportAccount(store.By(t.ctx, history.CommandChannel, commandLine), os.DirFS(c.Dir), move.AccountImport{Into: c.Account, Region: c.PhoneRegion, Progress: w.progress})
		w.end()
		if err != nil {
			c.tellLeft(t, made)
			return err
		}
		fmt.Fprintf(t.stderr, "%s: %s.\n", oneLine(made.Account.Name), countsText(made.AccountCounts))
		if made.Renumbered {
			fmt.Fprintln(t.stderr, "The number of the account was taken: ids of contacts and campaigns begin with another one.")
		}
		if len(made.Slugs) > 0 {
			fmt.Fprintln(t.stderr, "These campaigns have new web addresses: "+strings.Join(made.Slugs, ", "))
		}
		fmt.Fprintln(t.stderr, "Next: "+t.command("user create --account "+made.Account.ID+" --email EMAIL --name NAME"))
		_, err = fmt.Fprintln(t.stdout, made.Account.ID)
		return err
	})
}

// tellLeft tells what an import that has begun and was stopped has left.
func (c *accountImport) tellLeft(t *terminal, made move.AccountImported) {
	if made.Account.ID == "" {
		return // nothing was written
	}
	fmt.Fprintf(t.stderr, "The import of account %s is not done. So far: %s. To go on, give the same command again. To remove this: %s\n",
		made.Account.ID, countsText(made.AccountCounts), t.command("account discard "+made.Account.ID))
}

func countsText(n move.AccountCounts) string {
	return fmt.Sprintf("contacts: %d, campaigns: %d, gifts: %d, plans: %d", n.Contacts, n.Campaigns, n.Gifts, n.Plans)
}

type accountDiscard struct {
	ID string `arg:"" help:"Id of the account, as \"account list\" tells it."`
}

func (accountDiscard) Help() string {
	return `Removes what an "account import" that is not done has left, up to 500 records at a time, so that servers go on. An account that was there before is empty again. If it is stopped, give the same command again. An account whose import is done is never touched.`
}

func (c *accountDiscard) Run(t *terminal) error {
	return t.withStore(func(s *book.Book) error {
		left, err := s.DiscardAccount(store.By(t.ctx, history.CommandChannel, commandLine), c.ID)
		if errors.Is(err, t.ctx.Err()) && t.ctx.Err() != nil {
			return fmt.Errorf("not everything was removed: give the same command again: %w", err)
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(t.stderr, "Removed what was imported into account %s (%s).\n", left.ID, countsText(left.AccountCounts))
		return nil
	})
}

// tellUnfinished tells which accounts are being imported: those that are new are in no list.
func tellUnfinished(t *terminal, s *book.Book) error {
	unfinished, err := s.UnfinishedAccounts(t.ctx)
	for _, u := range unfinished {
		fmt.Fprintf(t.stderr, "Being imported, or stopped before the end: %s %s (%s), last worked on %s.\n", u.ID, oneLine(u.Name), countsText(u.AccountCounts), stamp(u.Job.UpdatedAt))
	}
	return err
}
