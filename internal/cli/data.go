package cli

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/alecthomas/kong"

	"donorbook/internal/api"
	"donorbook/internal/assistant"
	"donorbook/internal/config"
	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/history"
	"donorbook/internal/crm/text"
	"donorbook/internal/store/book"
	"donorbook/internal/web"
)

// The commands about data are the operations of the API: their names, flags and explanations come from the OpenAPI document, which is made from the API's own table.
// "donorbook contact list" is listContacts, "donorbook gift undo-refund" is undoRefund.

// commandLine is who makes changes here, as the history of a gift names them.
const commandLine = "command line"

// phoneRegion is the setting of the server that decides how phone numbers are read.
type phoneRegion struct {
	PhoneRegion string `help:"Country of phone numbers written without +, as a two-letter code. Default: ${default}." default:"US" env:"DONORBOOK_PHONE_REGION" placeholder:"CC" name:"phone-region"`
}

func (r phoneRegion) check() error {
	if !text.IsPhoneRegion(r.PhoneRegion) {
		return &config.Problem{Flag: "phone-region", Reason: fmt.Sprintf("%q is not a two-letter country code, such as US", r.PhoneRegion)}
	}
	return nil
}

// dataFlags are the flags that every command about data has beside those of its operation.
type dataFlags struct {
	Account string `help:"Account ID." required:"" placeholder:"ID"`
	Input   string `help:"A JSON file with an object of values, beside those of flags; - is standard input." placeholder:"FILE"`
	JSON    bool   `help:"Print a list as JSON. A single record always is." name:"json"`
	BaseURL string `help:"Public address of the service, used in links. Default: ${default}." env:"DONORBOOK_BASE_URL" default:"https://localhost:8443" placeholder:"URL" name:"base-url"`
	phoneRegion
}

// dataCommand is a command that calls an operation.
type dataCommand struct {
	operation assistant.Operation
	noun      string
	verb      string
	fields    reflect.Value // of its flags: dataFlags, then one for each argument of the operation
}

// nounsOfPaths are the nouns whose commands are called otherwise than their paths.
var nounsOfPaths = map[string]string{"transactions": "gift"}

var humps = regexp.MustCompile(`([a-z])([A-Z])`)

// newDataCommand names an operation as people say it: list for listContacts, add-tags for addTags.
func newDataCommand(op assistant.Operation) *dataCommand {
	singular := strings.TrimSuffix(op.Noun, "s")
	verb := strings.ToLower(humps.ReplaceAllString(op.Name, "$1-$2"))
	verb = strings.TrimSuffix(strings.TrimSuffix(verb, "-"+op.Noun), "-"+singular)
	return &dataCommand{operation: op, noun: cmp.Or(nounsOfPaths[op.Noun], singular), verb: verb}
}

// plugin is a structure with the command, for the parser.
func (c *dataCommand) plugin() any {
	fields := []reflect.StructField{{Name: "Flags", Type: reflect.TypeFor[dataFlags](), Tag: `embed:""`}}
	for i, argument := range c.operation.Arguments {
		kind, tag := reflect.TypeFor[*string](), fmt.Sprintf("name:%q help:%q", strings.ReplaceAll(argument.Name, "_", "-"), plainWords(argument.Words))
		switch {
		case argument.IsPath:
			tag += ` arg:""`
		case argument.IsList:
			kind, tag = reflect.TypeFor[[]string](), tag+` sep:"none" placeholder:"VALUE"`
		case argument.IsYesNo:
			kind = reflect.TypeFor[*bool]()
		case argument.IsText:
			tag += ` placeholder:"TEXT"`
		default:
			tag += ` placeholder:"VALUE"`
		}
		if argument.IsOtherSpelling {
			tag += ` hidden:""`
		}
		fields = append(fields, reflect.StructField{Name: "Argument" + strconv.Itoa(i), Type: kind, Tag: reflect.StructTag(tag)})
	}
	tag := fmt.Sprintf(`cmd:"" name:%q help:%q`, c.verb, asPeopleSay.Replace(c.operation.Summary)+".")
	whole := reflect.New(reflect.StructOf([]reflect.StructField{{Name: "Command", Type: reflect.StructOf(fields), Tag: reflect.StructTag(tag)}}))
	c.fields = whole.Elem().Field(0)
	return whole.Interface()
}

// operations are those of the API. The document is read once.
var operations = sync.OnceValue(func() []assistant.Operation { return assistant.NewCaller(api.Document(), nil).Operations() })

// addData gives the command line its commands about data, those of one noun or of all, and returns them by their names.
func (c *commands) addData(wanted func(noun string) bool) map[string]*dataCommand {
	places, known := map[string]*kong.Plugins{}, map[string]*dataCommand{}
	groups := reflect.ValueOf(c).Elem()
	for i := range groups.NumField() {
		if group := groups.Field(i); group.Kind() == reflect.Struct && groups.Type().Field(i).Name != "Storage" {
			if place := group.FieldByName("Plugins"); place.IsValid() {
				name := strings.ToLower(humps.ReplaceAllString(groups.Type().Field(i).Name, "$1-$2"))
				if wanted(name) {
					places[name] = place.Addr().Interface().(*kong.Plugins)
				}
			}
		}
	}
	if len(places) == 0 {
		return nil // most commands need not read the document
	}
	for _, op := range operations() {
		if d := newDataCommand(op); places[d.noun] != nil {
			*places[d.noun] = append(*places[d.noun], d.plugin())
			known[d.noun+" "+d.verb] = d
		}
	}
	return known
}

// explain gives the commands about data the words of their operations.
func explain(parser *kong.Kong, data map[string]*dataCommand) {
	for _, leaf := range parser.Model.Leaves(false) {
		if d := data[commandName(leaf)]; d != nil {
			leaf.Detail = plainWords(d.operation.Words)
		}
	}
}

// commandName is a command without the program's name, its flags and its arguments.
func commandName(node *kong.Node) (name string) {
	for ; node != nil && node.Type == kong.CommandNode; node = node.Parent {
		name = strings.TrimSpace(node.Name + " " + name)
	}
	return name
}

var (
	links       = regexp.MustCompile(`\[([^\]]*)\]\(#[^)]*\)`)
	ofTheAPI    = regexp.MustCompile("(?s)\\s*(Also called|Follow `links|See \\[).*?\\.(\\s|$)") // other names of parameters, how to page
	asPeopleSay = strings.NewReplacer("transactions", "gifts", "transaction", "gift")
)

// plainWords is what the OpenAPI document says, for a terminal.
func plainWords(text string) string {
	return strings.TrimSpace(strings.ReplaceAll(links.ReplaceAllString(ofTheAPI.ReplaceAllString(text, " "), "$1"), "`", ""))
}

// arguments are the values that were given, as the caller of operations takes them.
func (c *dataCommand) arguments() (given []string) {
	for i, argument := range c.operation.Arguments {
		switch value := c.fields.Field(i + 1).Interface().(type) {
		case *string:
			if value != nil {
				given = append(given, argument.Name+"="+*value)
			}
		case *bool:
			if value != nil {
				given = append(given, fmt.Sprintf("%s=%t", argument.Name, *value))
			}
		case []string:
			for _, element := range value {
				given = append(given, argument.Name+"="+element)
			}
		}
	}
	return given
}

func (c *dataCommand) run(t *terminal) error {
	flags := c.fields.Field(0).Interface().(dataFlags)
	if err := cmp.Or(flags.check(), config.CheckBaseURL(flags.BaseURL)); err != nil {
		return err
	}
	input, err := flags.input(t.stdin)
	if err != nil {
		return err
	}
	return t.withAccount(flags.Account, func(s *book.Book, account access.Account) error {
		proxies, err := web.NewProxies(nil, flags.BaseURL)
		if err != nil {
			return err
		}
		rest := api.New(s, api.Options{Proxies: proxies, Region: flags.PhoneRegion})
		plumbing := &web.Plumbing{Log: slog.New(slog.DiscardHandler), Metrics: web.NewMetrics(Version()), Proxies: proxies, Health: &web.Health{Ready: s.Ready}}
		caller := assistant.NewCaller(api.Document(), plumbing.Wrap(rest.Serve))
		began := time.Now().Truncate(time.Second)
		call := func(arguments []string) (assistant.Result, error) {
			answer, err := caller.Call(api.ForAccount(t.ctx, account.Number), c.operation.Name, input, arguments)
			if err != nil {
				return answer, &doc.Malformed{Message: err.Error()}
			}
			return answer, refusedBy(answer)
		}
		if c.operation.Columns != nil {
			return c.printList(t, flags.JSON, call)
		}
		answer, err := call(c.arguments())
		if err != nil {
			return err
		}
		for _, note := range answer.Notes {
			fmt.Fprintln(t.stderr, note)
		}
		if len(answer.Body) > 0 {
			if _, err := fmt.Fprintln(t.stdout, string(assistant.Indented(answer.Body))); err != nil {
				return err
			}
		}
		return t.finishJobs(s, account.Number, began)
	})
}

// input is what the file holds, nil where there is none.
func (c *dataFlags) input(stdin io.Reader) ([]byte, error) {
	switch c.Input {
	case "":
		return nil, nil
	case "-":
		return io.ReadAll(io.LimitReader(stdin, web.MaxBody+1))
	}
	return os.ReadFile(c.Input)
}

// finishJobs does what the command has left to the background, since no server may be running.
func (t *terminal) finishJobs(s *book.Book, account int64, began time.Time) error {
	jobs, _, err := s.Jobs(t.ctx, account, crm.PageRequest{Page: 1, PerPage: 10})
	if err != nil {
		return err
	}
	for _, job := range jobs {
		if job.Ended() || job.Channel != history.CommandChannel || job.CreatedAt.Before(began) {
			continue
		}
		ended, err := s.FinishJob(t.ctx, account, job.ID)
		if err != nil {
			return err
		}
		if !ended {
			fmt.Fprintln(t.stderr, "The change is not complete yet. The server finishes it.")
		}
	}
	return nil
}

// replaced are commands of earlier releases, and what does the same now.
var replaced = map[string]string{
	"gift add": "gift create", "gift correct": "gift update ID --correction", "contact unmerge": "merge undo",
}

// whatReplaced tells what to use in place of a command that is gone, nil for any other.
func whatReplaced(args []string) error {
	for i := range len(args) - 1 {
		name := args[i] + " " + args[i+1]
		if now, gone := replaced[name]; gone {
			return usageError{fmt.Errorf("\"donorbook %s\" is gone: use \"donorbook %s\"", name, now)}
		}
	}
	return nil
}
