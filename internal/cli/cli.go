// Package cli is the command line. Results alone go to standard output; everything else goes to standard error.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"donorbook/internal/backup"
	"donorbook/internal/config"
	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/history"
	"donorbook/internal/pay"
	"donorbook/internal/store"
	"donorbook/internal/store/book"
	"donorbook/internal/store/move"
	"donorbook/internal/web"
)

// Exit codes. Scripts rely on them.
const (
	exitOK       = 0
	exitFailed   = 1 // something went wrong that is not the caller's fault
	exitUsage    = 2 // wrong flags, arguments or settings
	exitInvalid  = 3 // a value or a file was refused; nothing changed
	exitNotFound = 4 // no such account, key, user or file
)

const description = `Fundraising and donor management: one program, one data directory.

Start here: "donorbook serve --demo" fills an empty database and prints a curl command and a password to try.
For real data: "donorbook serve" prints a link that creates the first user and organization. To work without the
console, use "donorbook account create" and "donorbook key create". Commands about contacts, gifts, plans, tags and
campaigns do what the API does, without a key, and whether the server runs or not.

Settings come from flags, then DONORBOOK_* variables, then the file of --config; "donorbook config" shows them.
Results go to standard output, everything else to standard error.
Exit codes: 0 done, 1 failed, 2 wrong usage, 3 input refused, 4 not found.`

// release is the newest heading of CHANGELOG.md.
const release = "0.11"

// commands is the whole command line.
type commands struct {
	config.Storage

	Serve   serveCommand `cmd:"" help:"Serve the API and the console."`
	Account struct {
		Create   accountCreate   `cmd:"" help:"Create an account and print its ID."`
		List     accountList     `cmd:"" help:"List all accounts."`
		Export   accountExport   `cmd:"" help:"Export all data of an account to a directory."`
		Import   accountImport   `cmd:"" help:"Import an account that was exported."`
		Discard  accountDiscard  `cmd:"" help:"Discard an unfinished account import."`
		Settings accountSettings `cmd:"" help:"Show or change an account's currency, time zone, address and tax ID."`
	} `cmd:"" help:"Organizations and their chapters."`
	Contact struct {
		kong.Plugins
		Import     contactImport     `cmd:"" help:"Import contacts from a CSV, JSON Lines or XLSX file."`
		Export     contactExport     `cmd:"" help:"Export contacts to a file, or everything about one contact."`
		Print      contactPrint      `cmd:"" help:"Write letters, giving statements or labels as a PDF file."`
		Duplicates contactDuplicates `cmd:"" help:"Find contacts that may be the same person."`
		Erase      contactErase      `cmd:"" help:"Erase a person for good. Their gifts stay in all totals."`
	} `cmd:"" help:"Contacts."`
	Key struct {
		Create keyCreate `cmd:"" help:"Create an API key and print it. It is shown only once."`
		List   keyList   `cmd:"" help:"List an account's keys, without their secrets."`
		Revoke keyRevoke `cmd:"" help:"Revoke a key: it stops working within two seconds."`
	} `cmd:"" help:"API keys, which the console has under Settings, Integrations, API keys."`
	User struct {
		Create        userCreate        `cmd:"" help:"Create a console user and print their password. It is shown only once."`
		List          userList          `cmd:"" help:"List users with their accounts and roles."`
		ResetPassword userResetPassword `cmd:"" help:"Set a new password for a user, print it, and sign them out everywhere."`
	} `cmd:"" help:"People who sign in to the console."`
	Campaign struct {
		kong.Plugins
		Import campaignImport `cmd:"" help:"Create campaigns from a JSON file, or update those with the same slug."`
		Export campaignExport `cmd:"" help:"Export campaigns to a file."`
	} `cmd:"" help:"Campaigns."`
	Gift struct {
		kong.Plugins
		Export giftExport `cmd:"" help:"Export gifts to a file."`
		Import giftImport `cmd:"" help:"Import gifts from a CSV, JSON Lines or XLSX file."`
	} `cmd:"" help:"Gifts."`
	Import struct {
		List importList `cmd:"" help:"List an account's imports, the latest first."`
		Undo importUndo `cmd:"" help:"Undo an import."`
	} `cmd:"" help:"Imports of contacts and gifts."`
	Plan struct {
		kong.Plugins
		Export planExport `cmd:"" help:"Export recurring gifts (plans) to a file."`
	} `cmd:"" help:"Recurring gifts."`
	Receipt     struct{ kong.Plugins } `cmd:"" help:"Receipts for gifts."`
	Template    struct{ kong.Plugins } `cmd:"" help:"Thank-you texts."`
	Tag         struct{ kong.Plugins } `cmd:"" help:"Tags of contacts."`
	CustomField struct{ kong.Plugins } `cmd:"" help:"Custom fields of contacts."`
	Donation    struct {
		kong.Plugins
		DeleteTests donationDeleteTests `cmd:"" help:"Delete what was given in a payment provider's test mode."`
		Reconcile   donationReconcile   `cmd:"" help:"Compare an account's gifts with what its payment provider has, and bring them up to date."`
	} `cmd:"" help:"Gifts that people began to make on donation pages."`
	Duplicate struct{ kong.Plugins } `cmd:"" help:"Contacts that may be the same person."`
	Merge     struct{ kong.Plugins } `cmd:"" help:"Merges of contacts."`
	Donor     struct {
		Export donorExport `cmd:"" help:"Export the donors of a year or a campaign, with what they gave."`
	} `cmd:"" help:"Donors."`
	Mail struct {
		Test mailTest `cmd:"" help:"Send a test mail through the mail relay, and print what the relay says."`
	} `cmd:"" help:"Mail."`
	MCP        mcpCommand     `cmd:"" name:"mcp" help:"Let an assistant work with contacts, gifts and campaigns."`
	Check      checkCommand   `cmd:"" help:"Check the database for damage and inconsistencies; exit 1 if there are any."`
	Copy       copyCommand    `cmd:"" help:"Copy everything to another, empty database, such as from SQLite to PostgreSQL."`
	Distribute distribute     `cmd:"" help:"Print the SQL that spreads the tables over the machines of a distributed PostgreSQL."`
	Backup     backupCommand  `cmd:"" help:"Back up everything to one file while the server runs."`
	Restore    restoreCommand `cmd:"" help:"Restore a backup into an empty data directory."`
	ShowConfig showConfig     `cmd:"" name:"config" help:"Print the effective settings, without secrets."`
	Health     healthCommand  `cmd:"" help:"Ask the server on this machine whether it is ready; exit 1 if not."`
	Version    versionCommand `cmd:"" help:"Print the version."`
}

// terminal is the environment of a command.
type terminal struct {
	ctx     context.Context
	stdin   io.Reader
	stdout  io.Writer
	stderr  io.Writer
	storage config.Storage
	log     *slog.Logger // of the server; nil for other commands
	serving bool         // the command is serve
}

// Main runs a command line and returns its exit code.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	backup.MakeFilesPrivate()
	boundMemory()
	signalled, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	context.AfterFunc(signalled, func() {
		stop() // a second signal ends the process at once, even right after the first
		cancel()
	})
	return run(ctx, args, stdin, stdout, stderr)
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	args = spelled(args)
	help, helpCode := stdout, exitOK
	if len(args) == 0 { // no command
		args, help, helpCode = []string{"--help"}, stderr, exitUsage
	}
	if i := slices.IndexFunc(args, func(arg string) bool { return !utf8.ValidString(arg) }); i >= 0 {
		return report(stderr, usageError{fmt.Errorf("argument %d is not valid UTF-8", i+1)}) // the parser would change it
	}
	file, err := settingsFile(args)
	if err != nil {
		return report(stderr, err)
	}
	var c commands
	data := c.addData(func(noun string) bool {
		return slices.Contains(args, noun) || slices.Contains(args, "--help") || slices.Contains(args, "-h")
	})
	helped := false
	parser, err := kong.New(&c, kong.Resolvers(file), kong.Name("donorbook"), kong.Description(description), kong.Writers(help, stderr),
		kong.Exit(func(int) { helped = true }), kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoAppDescFormat: true, WrapUpperBound: 110}))
	if err != nil {
		return report(stderr, err)
	}
	explain(parser, data)
	parsed, err := parser.Parse(args)
	switch {
	case helped:
		return helpCode
	case err != nil:
		return report(stderr, cmp.Or(whatReplaced(args), error(usageError{err})))
	}
	t := &terminal{ctx: store.By(ctx, history.CommandChannel, commandLine), stdin: stdin, stdout: stdout, stderr: stderr, storage: c.Storage}
	if d := data[commandName(parsed.Selected())]; d != nil {
		return report(stderr, d.run(t))
	}
	return report(stderr, parsed.Run(t))
}

// spelled accepts other common ways to ask for the version and for help.
func spelled(args []string) []string {
	switch {
	case slices.Equal(args, []string{"--version"}):
		return []string{"version"}
	case len(args) > 0 && args[0] == "help":
		return append(slices.Clone(args[1:]), "--help")
	}
	return args
}

// settingsFile reads the file that --config or its variable names.
func settingsFile(args []string) (fileResolver, error) {
	path := config.FilePath(args, os.LookupEnv)
	if path == "" {
		return nil, nil
	}
	known := config.Dump(config.Storage{}, config.Server{})
	known = slices.DeleteFunc(known, func(s config.Setting) bool { return s.Name == "config" })
	return config.ReadFile(path, known)
}

// usageError is a wrong command line.
type usageError struct{ error }

func (u usageError) Unwrap() error { return u.error }

// help is the command that explains the right usage.
func (u usageError) help() string {
	var parse *kong.ParseError
	if errors.As(u.error, &parse) && parse.Context != nil && parse.Context.Selected() != nil {
		return parse.Context.Selected().FullPath() + " --help"
	}
	return "donorbook --help"
}

// report prints an error and returns its exit code.
func report(stderr io.Writer, err error) int {
	if err == nil {
		return exitOK
	}
	if errors.Is(err, crm.ErrUnavailable) {
		err = fmt.Errorf("the database cannot be used: %w", unwrapped(err))
	}
	fmt.Fprintln(stderr, "donorbook: "+strings.TrimSpace(err.Error()))
	var usage usageError
	var setting *config.Problem
	var invalid *doc.Invalid
	var malformed *doc.Malformed
	var rows *campaign.RowsInvalid
	var files *move.FileProblem
	switch {
	case errors.As(err, &usage):
		fmt.Fprintln(stderr, "Try: "+usage.help())
		return exitUsage
	case errors.As(err, &setting):
		return exitUsage
	case errors.As(err, &invalid), errors.As(err, &malformed), errors.As(err, &rows), errors.As(err, &files), errors.Is(err, move.ErrAccountNotEmpty), errors.Is(err, move.ErrOtherFiles), errors.Is(err, crm.ErrImporting), errors.Is(err, errDirectoryTaken):
		return exitInvalid
	case errors.Is(err, crm.ErrNotFound), errors.Is(err, os.ErrNotExist):
		return exitNotFound
	}
	return exitFailed
}

// unwrapped is the cause of an unavailable database, for the operator who has to fix it.
func unwrapped(err error) error {
	for errors.Is(err, crm.ErrUnavailable) || errors.Is(err, store.ErrUnavailable) {
		causes := []error{errors.Unwrap(err)}
		if several, ok := err.(interface{ Unwrap() []error }); ok {
			causes = several.Unwrap()
		}
		last := causes[len(causes)-1]
		if last == nil {
			break
		}
		err = last
	}
	return err
}

// withStore opens the database for one command.
func (t *terminal) withStore(do func(*book.Book) error) error { return t.withStoreAt(nil, do) }

// withStoreAt opens the database with its own clock.
func (t *terminal) withStoreAt(now func() time.Time, do func(*book.Book) error) (err error) {
	if err := t.storage.Check(); err != nil {
		return err
	}
	t.tighten()
	options := t.storage.Options()
	upgrade := newWatch(t, watch{task: "upgrading the database"})
	options.Now, options.Serving, options.Progress = now, t.serving, upgrade.progress
	s, err := book.Open(t.ctx, options)
	upgrade.end()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	opened(s)
	s.UseDesk(&pay.Desk{Stripe: t.storage.StripeAddress}, t.storage.PaymentKeys(), "US")
	return do(s)
}

// opened is told of each database that a command opens, so that tests can choose the moment at which a process ends.
var opened = func(*book.Book) {}

// withAccount opens the database for a command about one account.
func (t *terminal) withAccount(id string, do func(*book.Book, access.Account) error) error {
	return t.withStore(func(s *book.Book) error {
		account, err := s.Account(t.ctx, id)
		if errors.Is(err, crm.ErrNotFound) {
			return fmt.Errorf("%w; %s lists all accounts", err, t.command("account list"))
		}
		if err != nil {
			return err
		}
		return do(s, account)
	})
}

// command is a command line for the same database, to paste.
func (t *terminal) command(line string) string {
	if t.storage.Data != config.DefaultData {
		line += " --data " + quoted(t.storage.Data)
	}
	if t.storage.Database != "" {
		line += " --database URL" // it may hold a password
	}
	return "donorbook " + line
}

// quoted is a text that a shell reads as one word.
func quoted(text string) string {
	if text != "" && strings.IndexFunc(text, func(r rune) bool { return !strings.ContainsRune(plain, r) }) < 0 {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-:"

type versionCommand struct{}

func (versionCommand) Run(t *terminal) error {
	_, err := fmt.Fprintln(t.stdout, "donorbook "+Version())
	return err
}

// Version is the release and, where the program was built from a repository, the commit.
func Version() string {
	version := release
	info, _ := debug.ReadBuildInfo()
	if info == nil {
		return version
	}
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			version += "+" + s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			version += ".modified"
		}
	}
	return version
}

type healthCommand struct{ config.Server }

func (healthCommand) Help() string {
	return `Finds the server by the settings of serve. Use it as the health check of a container; elsewhere, request /readyz.

	donorbook health --listen :443 --tls acme --acme-host donors.example.org`
}

func (c *healthCommand) Run(t *terminal) error {
	if err := c.Check(); err != nil {
		return err
	}
	name := "localhost"
	if len(c.ACMEHost) > 0 {
		name = c.ACMEHost[0]
	}
	if err := web.AskReady(t.ctx, c.Listen, name, c.TLS != "off"); err != nil {
		return err
	}
	_, err := fmt.Fprintln(t.stdout, "ready")
	return err
}

type showConfig struct {
	config.Server
	JSON bool `help:"Print JSON." name:"json"`
}

func (showConfig) Help() string {
	return `Takes the flags of serve and prints the settings that serve would use: from flags, variables and the file.

	donorbook config --config donorbook.toml`
}

func (c *showConfig) Run(t *terminal) error {
	if err := c.Check(); err != nil {
		return err
	}
	settings := config.Dump(t.storage, c.Server)
	if c.JSON {
		values := map[string]any{}
		for _, s := range settings {
			values[s.Name] = s.Value
		}
		return t.printJSON(values)
	}
	var text strings.Builder
	for _, s := range settings {
		text.WriteString(strings.TrimSpace(fmt.Sprintf("%-16s %s", s.Name, s.Text())) + "\n")
	}
	_, err := io.WriteString(t.stdout, text.String())
	return err
}

// fileResolver gives a flag the value from the settings file, unless the environment sets it.
type fileResolver map[string]any

func (fileResolver) Validate(*kong.Application) error { return nil }

func (values fileResolver) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	for _, name := range flag.Envs {
		if _, set := os.LookupEnv(name); set {
			return nil, nil
		}
	}
	switch value := values[flag.Name].(type) {
	case nil, string, bool, []any:
		return value, nil
	default:
		return fmt.Sprint(value), nil
	}
}
