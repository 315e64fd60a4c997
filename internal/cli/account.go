package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"donorbook/internal/config"
	"donorbook/internal/crm/access"
	"donorbook/internal/store/book"
	"donorbook/internal/store/move"
)

type accountCreate struct {
	Name   string  `help:"Name of the organization or chapter." required:"" placeholder:"NAME"`
	Parent *string `help:"ID of the parent account; the new account becomes its chapter." placeholder:"ID"`
}

func (accountCreate) Help() string {
	return `An account owns contacts, campaigns and keys. Other commands take its ID as --account or --parent.

	donorbook account create --name "Harbor Light"
	donorbook account create --name "Harbor Light Portland" --parent ID`
}

func (c *accountCreate) Run(t *terminal) error {
	parent := ""
	if c.Parent != nil {
		if parent = *c.Parent; parent == "" {
			return &config.Problem{Flag: "parent", Reason: "is empty; omit it to create an organization"}
		}
	}
	return t.withStore(func(s *book.Book) error {
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
	ID        string  `json:"id" heading:"ID"`
	Name      string  `json:"name" heading:"NAME"`
	ParentID  *string `json:"parent_id" heading:"PARENT"`
	CreatedAt string  `json:"created_at" heading:"CREATED"`
}

func (c *accountList) Run(t *terminal) error {
	return t.withStore(func(s *book.Book) error {
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
		if err := tellUnfinished(t, s); err != nil {
			return err
		}
		return printRows(t, c.JSON, lines, "No accounts yet. Next: "+t.command("account create --name NAME"))
	})
}

type accountSettings struct {
	ID       string  `arg:"" help:"Account ID."`
	Currency *string `help:"Currency of totals, as an ISO 4217 code such as USD. Can't be changed after the first gift." placeholder:"CODE"`
	Timezone *string `help:"Time zone that decides which day a gift belongs to, such as America/New_York. Gifts that are recorded keep their days." placeholder:"NAME"`
	Address  *string `help:"Postal address on giving statements, with line breaks; empty to remove." placeholder:"TEXT"`
	TaxID    *string `help:"Tax ID on giving statements; empty to remove." name:"tax-id" placeholder:"TEXT"`
	Email    *string `help:"Email for donors, on public campaign pages; empty to remove." placeholder:"EMAIL"`
	Website  *string `help:"Website on public campaign pages; empty to remove." placeholder:"URL"`
	Donors   *string `help:"What public campaign pages show about recent donors: names, names with amounts (amounts), or nothing (empty)." name:"public-donors" placeholder:"names|amounts"`
	NoReturn *bool   `help:"Statements say that no goods or services were provided in exchange for gifts; --nothing-in-return=false turns it off." name:"nothing-in-return"`
	JSON     bool    `help:"Print a JSON object with currency, timezone, address, tax_id, email, website, public_donors and nothing_in_return." name:"json"`
}

func (accountSettings) Help() string {
	return `Without flags, it only prints the settings.

	donorbook account settings ID --currency EUR --tax-id 04-1234567`
}

// settingsLine are the settings of an account as scripts see them.
type settingsLine struct {
	Currency string  `json:"currency" heading:"CURRENCY"`
	Timezone string  `json:"timezone" heading:"TIME ZONE"`
	Address  *string `json:"address" heading:"ADDRESS"`
	TaxID    *string `json:"tax_id" heading:"TAX ID"`
	Email    *string `json:"email" heading:"EMAIL"`
	Website  *string `json:"website" heading:"WEBSITE"`
	Donors   *string `json:"public_donors" heading:"PUBLIC DONORS"`
	NoReturn bool    `json:"nothing_in_return" heading:"NOTHING IN RETURN"`
}

func (c *accountSettings) Run(t *terminal) error {
	return t.withStore(func(s *book.Book) error {
		account, err := s.Account(t.ctx, c.ID)
		if err != nil {
			return err
		}
		in := access.AccountSettingsInput{Currency: c.Currency, Timezone: c.Timezone, NoReturn: c.NoReturn,
			Address: c.Address, TaxID: c.TaxID, Email: c.Email, Website: c.Website, PublicDonors: c.Donors}
		if in != (access.AccountSettingsInput{}) {
			if err := s.SetAccountSettings(t.ctx, account.Number, in); err != nil {
				return err
			}
		}
		settings, err := s.AccountSettings(t.ctx, account.Number)
		if err != nil {
			return err
		}
		line := settingsLine{Currency: settings.Currency, Timezone: settings.Timezone, Address: optional(settings.Address), TaxID: optional(settings.TaxID), Email: optional(settings.Email),
			Website: optional(settings.Website), Donors: optional(string(settings.PublicDonors)), NoReturn: settings.NoReturn}
		if c.JSON {
			return t.printJSON(line)
		}
		return printTable(t, []settingsLine{line})
	})
}

type accountExport struct {
	ID  string `arg:"" help:"Account ID."`
	Dir string `arg:"" help:"Directory to write. It must be new or empty."`
}

func (accountExport) Help() string {
	return `Exports everything an account has, as of one moment, while servers keep running: contacts (also archived ones), campaigns, gifts with their refunds, recurring gifts (plans), custom fields, segments, settings, history, and the names of members and keys. Each file is JSON Lines, in the form of the API; manifest.json has the number of records and the SHA-256 of every file. Passwords and key secrets are not included.

	donorbook account export ID river-aid
	donorbook account import river-aid --data another-directory

The directory gets its name only when it is complete. Only you can read it, because it holds personal data.`
}

var errDirectoryTaken = errors.New("choose another directory; nothing was written")

// checkDirectory refuses everything that an export would remove, but for an empty directory.
func (c *accountExport) checkDirectory() error {
	info, err := os.Lstat(c.Dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory: %w", c.Dir, errDirectoryTaken)
	}
	entries, err := os.ReadDir(c.Dir)
	if err == nil && len(entries) > 0 {
		err = fmt.Errorf("%s: the directory is not empty: %w", c.Dir, errDirectoryTaken)
	}
	return err
}

func (c *accountExport) Run(t *terminal) error {
	if err := c.checkDirectory(); err != nil {
		return err
	}
	return t.withAccount(c.ID, func(s *book.Book, account access.Account) error {
		part, err := os.MkdirTemp(filepath.Dir(filepath.Clean(c.Dir)), "."+filepath.Base(c.Dir)+".*.part") // mode 0700
		if err != nil {
			return err
		}
		defer os.RemoveAll(part) //nolint:errcheck // it is not there any more, unless the export failed
		w := newWatch(t, watch{})
		manifest, err := s.ExportAccount(t.ctx, account, func(name string) (io.WriteCloser, error) { return createSynced(filepath.Join(part, name)) }, w.progress)
		w.end()
		if err != nil {
			return err
		}
		if err := writeManifest(filepath.Join(part, move.ManifestName), manifest); err != nil {
			return err
		}
		if err := c.checkDirectory(); err != nil { // the export has taken its time
			return err
		}
		if err := os.Remove(c.Dir); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		if err := os.Rename(part, c.Dir); err != nil {
			return err
		}
		for _, file := range manifest.Files {
			fmt.Fprintf(t.stderr, "%-20s %8d\n", file.Name, file.Rows)
		}
		return nil
	})
}

// syncedFile is on disk when it is closed.
type syncedFile struct{ *os.File }

func createSynced(path string) (io.WriteCloser, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	return syncedFile{file}, err
}

func (f syncedFile) Close() error { return errors.Join(f.Sync(), f.File.Close()) }

func writeManifest(path string, manifest move.Manifest) error {
	file, err := createSynced(path)
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(file)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return errors.Join(encoder.Encode(manifest), file.Close())
}

type accountImport struct {
	phoneRegion
	Account string `help:"ID of an empty account to import into. Default: a new account." placeholder:"ID"`
	Dir     string `arg:"" help:"Directory written by \"account export\"."`
}

func (accountImport) Help() string {
	return `Imports what "account export" wrote into a new or empty account, and prints its ID. First, it compares the checksums of all files and checks every line as if it came through the API: if one is refused, the command names its file and line, and nothing is changed. Then it imports up to 500 records at a time, while servers keep running.

	donorbook account import river-aid

If it is stopped, run it again to resume. Until it is done, no one can see or use a new account; an existing one (--account) can be read, but not changed. To discard an unfinished import, use "donorbook account discard". "account list" shows unfinished imports.

The account and its records keep their IDs if the account's number is free in this database. Otherwise contacts and campaigns get IDs that begin with another number, in the same order; the IDs of gifts and plans stay. A campaign whose web address is taken gets another one. Members must be invited again and keys created again: members.jsonl and keys.jsonl list them. Past imports can no longer be undone.`
}

func (c *accountImport) Run(t *terminal) error {
	if err := c.check(); err != nil {
		return err
	}
	files, err := os.OpenRoot(c.Dir) // nothing outside is read, whatever a name in it says
	if err != nil {
		return err
	}
	defer files.Close() //nolint:errcheck // it was only read
	return t.withStore(func(s *book.Book) error {
		w := newWatch(t, watch{})
		made, err := s.ImportAccount(t.ctx, files.FS(), move.AccountImport{Into: c.Account, Region: c.PhoneRegion, Progress: w.progress})
		w.end()
		if err != nil {
			c.tellLeft(t, made)
			return err
		}
		fmt.Fprintf(t.stderr, "%s: %s.\n", oneLine(made.Account.Name), countsText(made.AccountCounts))
		if made.Renumbered {
			fmt.Fprintln(t.stderr, "The account's number was taken: IDs of contacts and campaigns begin with another one.")
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
	fmt.Fprintf(t.stderr, "The import of account %s is unfinished. So far: %s. To resume, run the same command again. To discard it: %s\n",
		made.Account.ID, countsText(made.AccountCounts), t.command("account discard "+made.Account.ID))
}

func countsText(n move.AccountCounts) string {
	return fmt.Sprintf("contacts: %d, campaigns: %d, gifts: %d, plans: %d", n.Contacts, n.Campaigns, n.Gifts, n.Plans)
}

type accountDiscard struct {
	ID string `arg:"" help:"Account ID, from \"account list\"."`
}

func (accountDiscard) Help() string {
	return `Discards an unfinished "account import", up to 500 records at a time, while servers keep running. An account that existed before is empty again. If it is stopped, run it again to resume. A finished import is never touched.`
}

func (c *accountDiscard) Run(t *terminal) error {
	return t.withStore(func(s *book.Book) error {
		left, err := s.DiscardAccount(t.ctx, c.ID)
		if errors.Is(err, t.ctx.Err()) && t.ctx.Err() != nil {
			return fmt.Errorf("not everything was removed; run it again to resume: %w", err)
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
		fmt.Fprintf(t.stderr, "Unfinished import: %s %s (%s), last updated %s.\n", u.ID, oneLine(u.Name), countsText(u.AccountCounts), stamp(u.Job.UpdatedAt))
	}
	return err
}
