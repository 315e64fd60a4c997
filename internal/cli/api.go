package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"donorbook/internal/api"
	"donorbook/internal/assistant"
	"donorbook/internal/config"
	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/store/book"
	"donorbook/internal/web"
)

// apiCommand reaches every operation of the API: names, arguments and their explanations come from the OpenAPI document, which is made from the API's own table.
type apiCommand struct {
	Account   string   `help:"Account ID." placeholder:"ID"`
	Input     string   `help:"A JSON file with an object of arguments; - is standard input." placeholder:"FILE"`
	All       bool     `help:"Print the elements of all pages of a list."`
	Explain   bool     `help:"Explain the operation and its arguments."`
	BaseURL   string   `help:"Public address of the service, used in links. Default: ${default}." env:"DONORBOOK_BASE_URL" default:"https://localhost:8443" placeholder:"URL" name:"base-url"`
	Operation string   `arg:"" optional:"" help:"Name of the operation. Without one, all are listed."`
	Arguments []string `arg:"" optional:"" help:"Arguments, such as tag=gala. Repeat one for a list; anything but a text may be written as JSON."`
	phoneRegion
}

func (apiCommand) Help() string {
	return `Calls any operation of the API for an account, with or without a running server and without a key, and prints the answer as JSON. What the operation does not know is refused.

	donorbook api
	donorbook api createTransaction --explain
	donorbook api listContacts --account ID tag=gala sort=-id --all
	donorbook api createTransaction --account ID contact_id=41 amount=50 method=check transacted_at=2026-11-01
	donorbook api updateContact --account ID id=41 'emails=[{"value": "ada@example.org"}]'`
}

func (c *apiCommand) Run(t *terminal) error {
	if err := cmp.Or(c.check(), config.CheckBaseURL(c.BaseURL)); err != nil {
		return err
	}
	known := assistant.NewCaller(api.Document(), nil)
	if c.Operation == "" {
		return printPairs(t.stdout, known.Operations())
	}
	words, arguments, ok := known.Explain(c.Operation)
	switch {
	case !ok:
		return usageError{fmt.Errorf("there is no operation %q; \"donorbook api\" lists all", c.Operation)}
	case c.Explain:
		_, err := fmt.Fprintln(t.stdout, strings.TrimSpace(words)+"\n")
		return errors.Join(err, printPairs(t.stdout, arguments))
	case c.Account == "":
		return &config.Problem{Flag: "account", Reason: "is missing"}
	}
	input, err := c.input(t.stdin)
	if err != nil {
		return err
	}
	return t.withAccount(c.Account, func(s *book.Book, account access.Account) error {
		proxies, err := web.NewProxies(nil, c.BaseURL)
		if err != nil {
			return err
		}
		rest := api.New(s, api.Options{Proxies: proxies, Region: c.PhoneRegion})
		plumbing := &web.Plumbing{Log: slog.New(slog.DiscardHandler), Metrics: web.NewMetrics(Version()), Proxies: proxies, Health: &web.Health{Ready: s.Ready}}
		caller := assistant.NewCaller(api.Document(), plumbing.Wrap(rest.Serve))
		call := func(arguments []string) ([]byte, error) {
			status, body, err := caller.Call(api.ForAccount(t.ctx, account.Number), c.Operation, input, arguments)
			if err != nil {
				return nil, &doc.Malformed{Message: err.Error()}
			}
			return body, refusedBy(status, body)
		}
		if c.All {
			return c.printAll(t.stdout, call)
		}
		body, err := call(c.Arguments)
		if err != nil || len(body) == 0 {
			return err
		}
		_, err = fmt.Fprintln(t.stdout, string(assistant.Indented(body)))
		return err
	})
}

// input is what the file holds, nil where there is none.
func (c *apiCommand) input(stdin io.Reader) ([]byte, error) {
	switch c.Input {
	case "":
		return nil, nil
	case "-":
		return io.ReadAll(io.LimitReader(stdin, web.MaxBody+1))
	}
	return os.ReadFile(c.Input)
}

// printAll prints the elements of all pages as one array, as they are read.
func (c *apiCommand) printAll(w io.Writer, call func(arguments []string) ([]byte, error)) error {
	lead := "[\n  "
	for arguments := c.Arguments; arguments != nil; {
		body, err := call(arguments)
		if err != nil {
			return err
		}
		var page struct {
			Data  []json.RawMessage
			Links struct{ Next *string }
		}
		if err := json.Unmarshal(body, &page); err != nil || page.Data == nil {
			return &config.Problem{Flag: "all", Reason: c.Operation + " is no list"}
		}
		for _, element := range page.Data {
			if _, err := fmt.Fprintf(w, "%s%s", lead, bytes.ReplaceAll(assistant.Indented(element), []byte("\n"), []byte("\n  "))); err != nil {
				return err
			}
			lead = ",\n  "
		}
		arguments = c.next(page.Links.Next)
	}
	if lead == "[\n  " {
		_, err := fmt.Fprintln(w, "[]")
		return err
	}
	_, err := fmt.Fprintln(w, "\n]")
	return err
}

// next are the arguments of the next page, nil where there is none.
func (c *apiCommand) next(link *string) []string {
	if link == nil {
		return nil
	}
	at, err := url.Parse(*link)
	if err != nil {
		return nil
	}
	same := slices.DeleteFunc(slices.Clone(c.Arguments), func(argument string) bool { return strings.HasPrefix(argument, "page=") })
	return append(same, "page="+at.Query().Get("page"))
}

// refusedBy is what the API has refused, nil where it has done what was asked for.
func refusedBy(status int, body []byte) error {
	var told struct {
		Message string
		Errors  map[string][]string
	}
	if status < 300 {
		return nil
	}
	if err := json.Unmarshal(body, &told); err != nil {
		return fmt.Errorf("the answer was %d", status)
	}
	var lines []string
	for _, field := range slices.Sorted(maps.Keys(told.Errors)) {
		lines = append(lines, told.Errors[field]...)
	}
	message := told.Message
	if lines != nil {
		message = strings.Join(lines, "\n")
	}
	switch {
	case status == 403:
		return fmt.Errorf("%w: the account has no active record of this id", crm.ErrNotFound)
	case status == 404:
		return fmt.Errorf("%w: %s", crm.ErrNotFound, message)
	case status < 500 && status != 429:
		return &doc.Malformed{Message: message}
	}
	return errors.New(message)
}

// printPairs prints names with what they mean.
func printPairs(w io.Writer, pairs [][2]string) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, pair := range pairs {
		fmt.Fprintf(table, "%s\t%s\n", pair[0], pair[1])
	}
	return table.Flush()
}
