package book

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/history"
	"donorbook/internal/crm/sheet"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/contacts"
	"donorbook/internal/store/jobs"
	"donorbook/internal/store/move"
)

// randomContact has any number of everything, with texts that files could spoil.
func randomContact(r *rand.Rand, fields []custom.Field, n int) crm.ContactInput {
	texts := []string{"Ada", "Zoë Ünal", "=1+1", "+5", "-x", "@cmd", "'quoted", "a,b;c|d", `back\slash`, `"in" quotes`, "0012", "true", "1e5", "2026-01-31", "名前", "O'Neil", "x\ty", "Smith household", "* star", "a ::: b"}
	pick := func() string { return fmt.Sprint(texts[r.IntN(len(texts))], " ", r.IntN(1000)) }
	maybe := func(text string) *string {
		if r.IntN(3) == 0 {
			return nil
		}
		return &text
	}
	first, last := pick(), pick()
	in := crm.ContactInput{FirstName: &first, LastName: &last, MiddleName: maybe(pick()), Company: maybe(pick()), Title: maybe(pick()), Note: maybe(pick() + "\nline\n\n=2+2"),
		TwitterURL: maybe("https://twitter.com/a?b=c"), LinkedinURL: maybe("https://www.linkedin.com/in/x"), FacebookURL: maybe("https://facebook.com/x"),
		DOB: maybe(fmt.Sprintf("%d/%d/%d", 1+r.IntN(12), 1+r.IntN(28), 1000+r.IntN(1020)))}
	var emails, phones []crm.Typed
	for i := range r.IntN(4) {
		emails = append(emails, crm.Email{Type: []string{"", "personal", "work"}[r.IntN(3)], Value: fmt.Sprintf("P%d.%d+x@Example.org", n, i)})
		phones = append(phones, crm.Phone{Type: []string{"", "home", "cell", "work"}[r.IntN(4)], Value: fmt.Sprintf("(617) 555-%02d%02d", n%100, i)})
	}
	var addresses []crm.Address
	for i := range r.IntN(3) {
		a := crm.Address{Line1: fmt.Sprintf("%d Elm, Apt %d", i, r.IntN(9)), City: "São Paulo", Country: []string{"BRA", "DEU"}[r.IntN(2)], Zipcode: "01-234"}
		if r.IntN(2) == 0 {
			a = crm.Address{Line2: "c/o =X", City: "Boston", State: "MA", Zipcode: "02110", Country: "USA"}
		}
		addresses = append(addresses, a)
	}
	var tags []string
	for range r.IntN(4) {
		tags = append(tags, pick())
	}
	in.Emails, in.Phones, in.Addresses, in.Tags = &emails, &phones, &addresses, &tags
	values := map[custom.FieldType][]string{custom.TextField: {"=sum", "a, b"}, custom.LongTextField: {"one\ntwo"}, custom.NumberField: {"12.50", "-3"}, custom.DateField: {"2026-01-31"}, custom.BooleanField: {"true", "false"}, custom.SelectField: {"Red; or not", "Blue"}}
	for _, f := range fields {
		if of := values[f.Type]; r.IntN(2) == 0 {
			in.Custom = append(in.Custom, custom.Written(f.ID, of[r.IntN(len(of))]))
		}
	}
	return in
}

// TestWhatIsExportedIsImportedWithoutLoss: contacts with any values in every field are the same after a trip through a file.
func TestWhatIsExportedIsImportedWithoutLoss(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		from := newAccount(t, s).Number
		fields := defineEach(t, s, from)
		random := rand.New(rand.NewPCG(5, 6))
		var was []crm.Contact
		for n := range 40 {
			was = append(was, recordOf(t, s, from, mustCreate(t, s, from, randomContact(random, fields, n))))
		}
		for _, format := range move.ExportFormats {
			to := newAccount(t, s).Number
			defineEach(t, s, to)
			export := must(s.ExportContacts(t.Context(), from, jobs.Selection{All: true, Scope: crm.Active}, move.ExportOptions{Format: format}))(t)
			var file bytes.Buffer
			if err := export.Write(t.Context(), &file, func(_, _ int64) {}); err != nil || export.Rows != 40 {
				t.Fatalf("%d rows, %v", export.Rows, err)
			}
			importBack(t, s, to, file.Bytes(), "contacts."+format)
			set, err := s.Selected(t.Context(), to, jobs.Selection{All: true, Scope: crm.Active})
			ids := contacts.IDsOf(to, set.Page(0, set.Count()))
			if err != nil || len(ids) != len(was) {
				t.Fatalf("%s: %d contacts, %v", format, len(ids), err)
			}
			for i, id := range ids {
				is := recordOf(t, s, to, id)
				if diff := cmp.Diff(was[i], is, cmpopts.IgnoreFields(crm.Contact{}, "ID", "CreatedAt", "UpdatedAt"), cmpopts.IgnoreFields(crm.Address{}, "CreatedAt", "UpdatedAt"), cmpopts.EquateEmpty()); diff != "" {
					t.Fatalf("%s, contact %d: %s", format, i, diff)
				}
			}
		}
	})
}

// defineEach defines a custom field of each kind. One is called as a field of every contact, and one as the columns of such fields are called.
func defineEach(t testing.TB, s *Book, account int64) (fields []custom.Field) {
	t.Helper()
	for i, kind := range custom.FieldTypes {
		in := custom.FieldInput{Title: []string{"Shoe size", "Custom: Company", "Company", "Since", "Volunteer?", "Color"}[i], Type: kind}
		if kind == custom.SelectField {
			in.Options = []string{"Red; or not", "Blue"}
		}
		f := must(s.DefineField(t.Context(), account, in))(t)
		fields = append(fields, f)
	}
	return fields
}

// importBack imports a file of our own, in which every column is known.
func importBack(t testing.TB, s *Book, account int64, file []byte, name string) {
	t.Helper()
	rows := must(jobs.OpenTable(bytes.NewReader(file), int64(len(file)), name, 0, nil))(t)
	fields := must(s.CustomFields(t.Context(), account))(t)
	mapping := sheet.Contacts.Recognize(rows.Header(), fields, nil)
	if unknown := slices.DeleteFunc(slices.Clone(mapping), func(c sheet.Column) bool { return !c.Unknown }); len(unknown) > 0 {
		t.Errorf("%s: unknown columns %v", name, unknown)
	}
	im, _, err := s.ImportFile(t.Context(), account, rows, jobs.FileImport{Name: name, SHA256: name, Mode: jobs.ForceCreate, Region: "US", Mapping: mapping}, 0, false, func(jobs.ImportProgress) {})
	if err != nil || im.Progress.Rejected > 0 {
		rejected := new(bytes.Buffer)
		t.Fatalf("%s: %+v, %v, %v\n%s", name, im.Progress, err, s.WriteRejected(t.Context(), &im, rejected), rejected)
	}
}

func mustCreate(t testing.TB, s *Book, account int64, in crm.ContactInput) int64 {
	t.Helper()
	succeed(t, in.Validate(nil, true, "US", time.Now()))
	made := must(s.CreateContact(t.Context(), account, in, crm.Force))(t)
	return made.ID
}

func recordOf(t testing.TB, s *Book, account, id int64) crm.Contact {
	t.Helper()
	c := must(s.ContactRecord(t.Context(), account, id))(t)
	return c
}

// TestAnExportHasWhatTheListHas: JSON Lines has the contacts that a filter finds, each as the API shows it, whatever pieces it is read in, and the history
// tells of it without the name that was searched for.
func TestAnExportHasWhatTheListHas(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		for i := range 30 {
			create(t, s, account, fmt.Sprintf(`{"first_name":"A%d","last_name":"B","note":%q,"tags":["t%d"]}`, i, strings.Repeat("n", 9000*(i%2)), i%3))
		}
		archive(t, s, account, 4)
		filter := find.Filter{Tags: []string{"t0"}}
		list, _ := must2(s.FilteredContacts(t.Context(), account, crm.All, filter, crm.PageRequest{Page: 1, PerPage: 100}, nil, nil))(t)
		export := must(s.ExportContacts(store.By(t.Context(), history.APIChannel, "someone"), account, jobs.Selection{All: true, Scope: crm.All, Filter: filter}, move.ExportOptions{Format: "jsonl", Filters: []string{"tag"}}))(t)
		var file bytes.Buffer
		done := int64(0)
		if err := export.Write(t.Context(), &file, func(n, _ int64) { done = n }); err != nil || done != 10 {
			t.Fatalf("%d are done, %v", done, err)
		}
		if got := strings.ReplaceAll(strings.TrimSuffix(file.String(), "\n"), "}\n{", "},{"); got != string(list) {
			t.Errorf("the file has\n%.300s\nand the list\n%.300s", got, list)
		}
		files := exportAccount(t, s, access.Account{Number: account, ID: strings.Repeat("x", 16), Name: "x"})
		want := `"kind":"exported","id":0,"undoes":0,"job":0,`
		if history := string(files[move.HistoryFile].Data); !strings.Contains(history, want) || !strings.Contains(history, `"actor":"someone","data":{"exported":"contacts","format":"jsonl","rows":10,"filters":["tag"]}}`) {
			t.Errorf("the history is\n%s", history[len(history)-600:])
		}
	})
}

// TestASetIsListedInParts: each id once, in order, and never many at a time.
func TestASetIsListedInParts(t *testing.T) {
	t.Parallel()
	var set db.Set
	var want, got []int64
	for seq := int64(3); len(want) < 2*move.PieceIDs+7; seq += 3 {
		set.Add(seq)
		want = append(want, doc.MakeID(5, seq))
	}
	if err := move.InParts(5, &set, func(ids []int64) error {
		if got = append(got, ids...); len(ids) > move.PieceIDs {
			t.Errorf("%d ids at a time", len(ids))
		}
		return nil
	}); err != nil || !slices.Equal(want, got) {
		t.Errorf("%v: %d ids of %d", err, len(got), len(want))
	}
}
