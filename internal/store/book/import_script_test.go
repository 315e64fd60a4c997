package book

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/crm/sheet"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/jobs"
	"donorbook/internal/table"
)

var updateScripts = flag.Bool("update", false, "write anew what the scripts of imports expect")

// importScript is one account to which the files of a script are imported, one after the other.
type importScript struct {
	*testing.T
	*Book
	account access.Account
	files   []func() []string // imports a file of the script once more
	jobs    []int64           // of each import
	last    jobs.Import
	noted   map[string]map[string]any
	merge   int64
}

// TestConcurrentImports runs the scripts in testdata/imports. A line that begins with > is a command, the lines below
// it are the file that it imports, and = begins what the command tells; go test -update writes these anew. Each file
// is tried before, and imported by a run that ends after each unit and is begun again, as a server that is killed
// begins again: the dry run must say what the import does.
func TestConcurrentImports(t *testing.T) {
	s := newBook(t)
	s.Now = func() time.Time { return donorsNow }
	names, _ := filepath.Glob("testdata/imports/*.txt")
	for _, name := range names {
		want := string(must(os.ReadFile(name))(t))
		var got strings.Builder
		for i, text := range strings.Split(want, "\n== ") {
			title, _, _ := strings.Cut(text, "\n")
			if i == 0 {
				got.WriteString(text)
				continue
			}
			t.Run(title, func(t *testing.T) {
				x := &importScript{T: t, Book: s, account: newAccount(t, s)}
				ran := x.run(text)
				got.WriteString("\n== " + ran)
				if diff := gocmp.Diff(strings.Split(text, "\n"), strings.Split(ran, "\n")); diff != "" &&
					!*updateScripts {
					t.Errorf("%s: want (-), got (+):\n%s", name, diff)
				}
				checkGiving(t, s, x.account, nil)
			})
		}
		if *updateScripts {
			succeed(t, os.WriteFile(name, []byte(got.String()), 0o600))
		}
	}
	checked(t, s)
}

// run runs a script, and returns it with what it tells now.
func (x *importScript) run(text string) string {
	title, text, _ := strings.Cut(text, "\n")
	ran := title + "\n"
	for i, step := range strings.Split("\n"+text, "\n> ") {
		var file []string
		for _, line := range strings.Split(step, "\n") {
			if !strings.HasPrefix(line, "= ") {
				file = append(file, line)
			}
		}
		said := strings.TrimRight(strings.Join(file, "\n"), "\n")
		if i == 0 {
			ran += strings.TrimLeft(said+"\n", "\n")
			continue
		}
		command, body, _ := strings.Cut(said, "\n")
		ran += "\n> " + said + "\n"
		for _, line := range x.do(strings.Fields(command), body) {
			ran += "= " + x.masked(line) + "\n"
		}
	}
	return strings.TrimRight(ran, "\n") + "\n"
}

var (
	longNumber = regexp.MustCompile(`\b\d{9,}\b`)
	reference  = regexp.MustCompile(`\{(\w+) ?([^}]*)\}`)
)

// masked tells contacts by the numbers that they have in the account.
func (x *importScript) masked(line string) string {
	line = longNumber.ReplaceAllStringFunc(line, func(id string) string {
		if n := must(strconv.ParseInt(id, 10, 64))(x); doc.MakeID(x.account.Number, doc.IDSeq(n)) == n {
			return fmt.Sprint("#", doc.IDSeq(n))
		}
		return id
	})
	return strings.ReplaceAll(someCode.ReplaceAllString(line, "gift CODE"), "\n", `\n`)
}

// filled has ids instead of {contact 3}, {stranger} and {campaign Roof}.
func (x *importScript) filled(text string) string {
	return reference.ReplaceAllStringFunc(text, func(found string) string {
		switch of := reference.FindStringSubmatch(found); of[1] {
		case "contact":
			return fmt.Sprint(x.contact(of[2]))
		case "stranger":
			return fmt.Sprint(create(x, x.Book, newAccount(x, x.Book).Number, `{"first_name":"Eve"}`).ID)
		case "campaign":
			return fmt.Sprint(must(x.CampaignNamed(x.Context(), x.account.Number, of[2]))(x))
		case "plan":
			return x.plans()[0].Code
		}
		return found
	})
}

func (x *importScript) contact(number string) int64 {
	return doc.MakeID(x.account.Number, must(strconv.ParseInt(number, 10, 64))(x))
}

// ledgerInOrder is the ledger in the order in which gifts were recorded.
func (x *importScript) ledgerInOrder() []giving.Gift {
	return slices.SortedFunc(slices.Values(ledgerOf(x, x.Book, x.account.Number)),
		func(a, b giving.Gift) int { return cmp.Compare(a.ID, b.ID) })
}

func (x *importScript) plans() []giving.Plan {
	plans, _ := must2(x.Plans(x.Context(), x.account.Number, giving.PlanFilter{},
		crm.PageRequest{Page: 1, PerPage: 9}))(x)
	return plans
}

// gift finds a gift by its external id, or by its place among all.
func (x *importScript) gift(id string) string {
	for i, g := range x.ledgerInOrder() {
		if g.ExternalID == id || fmt.Sprint(i+1) == id {
			return g.Code
		}
	}
	x.Fatalf("there is no gift %s", id)
	return ""
}

func (x *importScript) do(words []string, body string) (says []string) {
	ctx, account, isFile := x.Context(), x.account.Number, len(words) > 1 && strings.HasPrefix(words[1], "@")
	if isFile {
		body = string(must(os.ReadFile("testdata/" + words[1][1:] + ".csv"))(x))
	}
	sent, rest := x.filled(body), strings.Join(words[1:], " ")
	half := func() *int64 {
		if len(words) < 3 {
			return nil
		}
		return ptr(must(strconv.ParseInt(words[2], 10, 64))(x) * 1_0000)
	}
	switch words[0] {
	case "contacts", "gifts":
		x.files = append(x.files, func() []string { return x.read(words[0], words[1:], sent) })
		return x.files[len(x.files)-1]()
	case "again":
		return x.files[must(strconv.Atoi(cmp.Or(rest, fmt.Sprint(len(x.files)))))(x)-1]()
	case "undo":
		at, kept := finishUndo(x, x.Book, account, x.jobs[must(strconv.Atoi(rest))(x)-1])
		at.At = 0
		says = []string{inWords(at)}
		for _, row := range kept {
			said := fmt.Sprint(row.Outcome, ": contact ", row.Contact)
			if code := row.Kept().Gift; code != "" {
				said += fmt.Sprint(", gift ", 1+slices.IndexFunc(x.ledgerInOrder(),
					func(g giving.Gift) bool { return g.Code == code }))
			}
			says = append(says, said)
		}
	case "ledger":
		return x.ledger()
	case "people":
		return x.people()
	case "givers":
		return giversOf(x.T, x.Book, account)
	case "raised":
		all, _ := must2(x.CampaignPage(ctx, account, campaign.OwnCampaigns, crm.PageRequest{Page: 1, PerPage: 20}))(x)
		for _, c := range slices.Backward(all) {
			says = append(says, fmt.Sprintf("%s: %.2f %s, %s", c.Title, float64(c.Raised())/100, c.Currency, c.Status))
		}
	case "note":
		x.noted = recordsOf(x.T, x.Book, x.account)
	case "compare":
		return x.compare()
	case "contact":
		createAs(x, x.Book, account, sent, crm.Force)
	case "edit":
		must(x.UpdateContact(ctx, account, x.contact(words[1]), input(x, sent)))(x)
	case "archive":
		archive(x, x.Book, account, x.contact(rest))
	case "merge":
		x.merge = mergeOf(x, x.Book, account, x.contact(words[1]), x.contact(words[2]))
	case "unmerge":
		must(x.UndoMerge(ctx, account, x.merge, "US"))(x)
	case "field":
		must(x.DefineField(ctx, account, custom.FieldInput{Title: words[1], Type: custom.FieldType(words[2])}))(x)
	case "campaign":
		must(x.CreateCampaign(ctx, x.account, campaign.Input{Title: &rest}))(x)
	case "currency":
		succeed(x, x.SetCurrency(ctx, account, rest))
	case "plan":
		newPlan(x, x.Book, account, sent)
	case "plans":
		for _, p := range x.plans() {
			says = append(says, fmt.Sprintf("%d %s %s, due %s", p.Amount/100, p.Frequency, p.Status,
				p.NextBill.Format(time.DateOnly)))
		}
	case "history":
		for _, g := range x.ledgerInOrder() {
			changes, _ := must2(x.Timeline(ctx, account, history.GiftNoun, g.ID,
				crm.PageRequest{Page: 1, PerPage: 9}))(x)
			says = append(says, fmt.Sprintf("%s: %d changes, the last by %q", g.ExternalID, len(changes),
				changes[0].Who))
		}
	case "gift":
		must(x.CreateGift(ctx, account, giftInput(x, sent, true, x.Now())))(x)
	case "change":
		must(x.UpdateGift(ctx, account, x.gift(words[1]), giftInput(x, sent, false, x.Now())))(x)
	case "refund":
		must(x.RefundGift(ctx, account, x.gift(words[1]), half(), ""))(x)
	case "unrefund":
		must(x.UndoRefund(ctx, account, x.gift(words[1]), half(), ""))(x)
	default:
		x.Fatalf("unknown command %q", words)
	}
	return says
}

// compare tells what has changed since it was noted. What is new and counts nowhere is nothing.
func (x *importScript) compare() []string {
	now := recordsOf(x.T, x.Book, x.account)
	maps.DeleteFunc(now, func(id string, r map[string]any) bool {
		return x.noted[id] == nil && (r["archived_at"] != nil || r["status"] == "cancelled" || r["status"] == "ended")
	})
	if diff := gocmp.Diff(x.noted, now); diff != "" {
		return strings.Split(diff, "\n")
	}
	return []string{"as it was noted"}
}

// inWords names the fields of a struct of numbers that are not zero.
func inWords(counts any) (says string) {
	for v, i := reflect.ValueOf(counts), 0; i < v.NumField(); i++ {
		if n := v.Field(i).Int(); n != 0 {
			says += fmt.Sprintf(", %s %d", v.Type().Field(i).Name, n)
		}
	}
	return strings.TrimPrefix(says, ", ")
}

// read tries a file and imports it.
func (x *importScript) read(of string, options []string, text string) (says []string) {
	kind := map[string]string{"contacts": jobs.ImportContacts, "gifts": jobs.ImportGifts}[of]
	fresh := func() *table.Reader {
		return must(table.OpenWith(strings.NewReader(text), int64(len(text)), "file.csv",
			table.Options{Header: sheet.FindHeader}))(x)
	}
	survey := must(jobs.SurveyRows(x.Context(), fresh()))(x)
	open := func() (*table.Reader, jobs.FileImport) {
		rows := fresh()
		spec := jobs.FileImport{Of: kind, Name: "file.csv", SHA256: fmt.Sprintf("%x", sha256.Sum256([]byte(text))),
			Region: "US", Days: survey.Days}
		if of == "contacts" {
			spec.Mode = jobs.MergeExisting
		}
		spec.Mapping = must(x.ColumnMapping(x.Context(), x.account.Number, kind, rows.Header(), nil))(x)
		for _, option := range options {
			switch name, value, _ := strings.Cut(option, "="); name {
			case "from":
				spec.Mapping = spec.Mapping.From(value)
			case "region":
				spec.Region = value
			case "mode":
				spec.Mode = jobs.ImportMode(value)
			case "other":
				spec.OtherName = jobs.ImportMode(value)
			case "look": // what the cells of its columns have counts, too
				spec.Mapping = jobs.SheetOf(kind).Recognize(rows.Header(),
					must(x.CustomFields(x.Context(), x.account.Number))(x), survey.Look)
			case "right":
				spec.FileIsRight = true
			case "names":
				spec.MatchNames = true
			case "fields": // unknown columns become custom fields
				fields := must(x.CustomFields(x.Context(), x.account.Number))(x)
				made := jobs.SheetOf(kind).WithUnknown(spec.Mapping, fields,
					func(int) []string { return []string{"some"} })
				spec.Mapping, spec.Fields = must2(x.MakeFields(x.Context(), x.account.Number, made))(x)
			}
		}
		return rows, spec
	}
	var unknown, told, noted []string
	rows, spec := open()
	for _, c := range spec.Mapping {
		if c.Unknown {
			unknown = append(unknown, c.Name)
		}
	}
	tells := func(row jobs.TrialRow) string {
		if len(row.LeftOut) == 0 && !row.OtherName && row.Outcome != jobs.RowRejected &&
			row.Outcome != jobs.RowSkipped {
			return ""
		}
		return fmt.Sprint(row.Line, row.Outcome, row.OtherName, row.LeftOut)
	}
	tried := must(x.TryFile(x.Context(), x.account.Number, rows, spec, func(row jobs.TrialRow) error {
		if told = append(told, tells(row)); row.Told() && (row.Outcome != jobs.RowUnchanged || tells(row) != "") {
			says = append(says, fmt.Sprintf("%d: %s", row.Line, row.InWords()))
		}
		return nil
	}, func(jobs.ImportCounts) {}))(x)
	var im jobs.Import
	for im.State != jobs.JobDone {
		rows, spec := open()
		ctx, stop := context.WithCancel(x.Context())
		var err error
		im, _, err = x.ImportFile(ctx, x.account.Number, rows, spec, 0, true, func(jobs.ImportProgress) {
			if !slices.Contains(options, "whole") {
				stop()
			}
		})
		if stop(); err != nil && !errors.Is(err, context.Canceled) {
			x.Fatal(err)
		}
	}
	succeed(x, x.NotedRows(x.Context(), &im, func(row jobs.TrialRow) error {
		noted = append(noted, tells(row))
		return nil
	}))
	told, noted = slices.DeleteFunc(told, func(s string) bool { return s == "" }), slices.DeleteFunc(noted,
		func(s string) bool { return s == "" })
	slices.Sort(told)
	if slices.Sort(noted); !slices.Equal(told, noted) {
		x.Errorf("the dry run tells %q, and the import has noted %q", told, noted)
	}
	if tried.ImportCounts != im.Progress.ImportCounts || !maps.Equal(tried.Counted, im.Progress.Counted) {
		x.Errorf("the dry run says %+v %v, the import %+v %v", tried.ImportCounts, tried.Counted,
			im.Progress.ImportCounts, im.Progress.Counted)
	}
	x.jobs, x.last = append(x.jobs, im.ID), im
	counted := inWords(im.Progress.ImportCounts)
	for _, currency := range slices.Sorted(maps.Keys(im.Progress.Counted)) {
		counted += fmt.Sprintf(", %.2f %s", float64(im.Progress.Counted[currency])/100, currency)
	}
	for _, value := range tried.Unknown {
		says = append(says, fmt.Sprintf("asks about the %s %q", value.Target, value.Value))
	}
	if len(unknown) > 0 {
		says = append(says, "unknown columns: "+strings.Join(unknown, ", "))
	}
	return append([]string{counted}, says...)
}

// ledger is every gift in one line, but for what it does not say.
func (x *importScript) ledger() (says []string) {
	for _, g := range x.ledgerInOrder() {
		p, id := g.Payment(), g.ExternalID
		if strings.HasPrefix(id, "import:") {
			id = "-"
		}
		said := fmt.Sprintf("%s %s %s", id, g.Local.Format(time.DateOnly), g.Status)
		if g.Status != giving.Cancelled { // what such a gift would be is of no account
			said += fmt.Sprintf(" %.2f", float64(p.Amount)/100)
		}
		if left := g.Left(); left != p.Amount {
			said += fmt.Sprintf(", left %.2f", float64(left)/100)
		}
		if g.Currency != "USD" {
			said += " " + g.Currency
		}
		said += " " + cmp.Or(g.Giver.Name(), g.Giver.Email)
		if p.Fee != 0 {
			said += fmt.Sprintf(", fee %.2f", float64(p.Fee)/100)
		}
		if g.Campaign != 0 {
			said += ", for " + must(x.Campaign(x.Context(), x.account.Number, g.Campaign))(x).Campaign.Title
		}
		if g.PlanCode != "" {
			said += ", of plan " + must(x.Plan(x.Context(), x.account.Number, g.PlanCode))(x).ExternalID
		}
		if g.Waits() {
			said += ", waits"
		}
		says = append(says, said)
	}
	return says
}

// people is each contact in one line: what it is called, how it is reached and how not, and its old ids.
func (x *importScript) people() (all []string) {
	succeed(x, x.Db.LongView(x.Context(), func(conn db.Conn) error {
		return store.EachStored(conn, x.account.Number, func(row *store.StoredContact) error {
			c := &row.Contact
			name := strings.Join([]string{c.Prefix, c.FirstName, c.MiddleName, c.LastName, c.Suffix}, " ")
			told := []string{strings.Join(strings.Fields(name), " "), c.Title, c.Company, c.Salutation}
			if c.IsCompany {
				told[2] += " (company)"
			}
			if !c.DOB.IsZero() {
				told = append(told, c.DOB.Format(time.DateOnly))
			}
			for _, one := range slices.Concat(c.Emails, c.Phones) {
				told = append(told, one.Value)
			}
			for _, a := range c.Addresses {
				told = append(told, strings.Join([]string{a.Line1, a.Line2, a.City, a.State, a.Country}, " "))
			}
			for _, id := range c.ExternalIDs {
				told = append(told, id.Written())
			}
			told = append(append(told, c.Tags...), c.Note)
			for _, v := range c.Custom {
				told = append(told, fmt.Sprintf("field %d: %s", v.Field, v.Text()))
			}
			told = append(told, slices.DeleteFunc(c.Marked(), func(mark string) bool { return mark == crm.Company })...)
			if c.Archived() {
				told = append(told, "archived")
			}
			told = slices.DeleteFunc(told, func(said string) bool { return said == "" })
			all = append(all, strings.Join(told, " | "))
			return row.Damage
		}, func() error { return nil })
	}))
	return all
}
