package book

import (
	"bytes"
	"errors"
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
	"donorbook/internal/store/jobs"
	"donorbook/internal/store/move"
	"donorbook/internal/table"
)

// randomContact has any number of everything, with texts that files could spoil.
func randomContact(r *rand.Rand, fields []custom.Field, n int) crm.ContactInput {
	texts := []string{"Ada", "Zoë Ünal", "=1+1", "+5", "-x", "@cmd", "'quoted", "a,b;c|d", `back\slash`, `"in" quotes`,
		"0012", "true", "1e5", "2026-01-31", "名前", "O'Neil", "x\ty", "Smith household", "* star", "a ::: b"}
	pick := func() string { return fmt.Sprint(texts[r.IntN(len(texts))], " ", r.IntN(1000)) }
	maybe := func(text string) *string {
		if r.IntN(3) == 0 {
			return nil
		}
		return &text
	}
	first, last := pick(), pick()
	in := crm.ContactInput{FirstName: &first, LastName: &last, MiddleName: maybe(pick()), Company: maybe(pick()),
		Title: maybe(pick()), Note: maybe(pick() + "\nline\n\n=2+2"),
		TwitterURL: maybe("https://twitter.com/a?b=c"), LinkedinURL: maybe("https://www.linkedin.com/in/x"),
		FacebookURL: maybe("https://facebook.com/x"),
		DOB:         maybe(fmt.Sprintf("%d/%d/%d", 1+r.IntN(12), 1+r.IntN(28), 1000+r.IntN(1020)))}
	var emails, phones []crm.Typed
	for i := range r.IntN(4) {
		emails = append(emails, crm.Email{Type: []string{"", "personal", "work"}[r.IntN(3)],
			Value: fmt.Sprintf("P%d.%d+x@Example.org", n, i)})
		phones = append(phones, crm.Phone{Type: []string{"", "home", "cell", "work"}[r.IntN(4)],
			Value: fmt.Sprintf("(617) 555-%02d%02d", n%100, i)})
	}
	var addresses []crm.Address
	for i := range r.IntN(3) {
		a := crm.Address{Line1: fmt.Sprintf("%d Elm, Apt %d", i, r.IntN(9)), City: "São Paulo",
			Country: []string{"BRA", "DEU"}[r.IntN(2)], Zipcode: "01-234"}
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
	values := map[custom.FieldType][]string{custom.TextField: {"=sum", "a, b"}, custom.LongTextField: {"one\ntwo"},
		custom.NumberField: {"12.50", "-3"}, custom.DateField: {"2026-01-31"}, custom.BooleanField: {"true", "false"},
		custom.SelectField: {"Red; or not", "Blue"}}
	for _, f := range fields {
		if of := values[f.Type]; r.IntN(2) == 0 {
			in.Custom = append(in.Custom, custom.Written(f.ID, of[r.IntN(len(of))]))
		}
	}
	return in
}

// TestWhatIsExportedIsImportedWithoutLoss: contacts with any values in every field are the same after a trip through
// a file.
func TestWhatIsExportedIsImportedWithoutLoss(t *testing.T) {
	ctx := t.Context()
	s := newFolk(t)

	fields := s.defineEach()
	random := rand.New(rand.NewPCG(5, 6))
	var was []crm.Contact
	for n := range 40 {
		was = append(was, s.record(s.mustCreate(randomContact(random, fields, n))))
	}
	for _, format := range move.ExportFormats {
		to := s.another()
		to.defineEach()
		to.importBack(s.export(format, 40), "contacts."+format)
		set := must(s.Selected(ctx, to.Number, jobs.Selection{All: true, Scope: crm.Active}))(t)
		ids := store.IDsOf(to.Number, set.Page(0, set.Count()))
		equal(t, len(ids), len(was))
		for i, id := range ids {
			if diff := cmp.Diff(was[i], to.record(id), cmpopts.IgnoreFields(crm.Contact{}, "ID", "CreatedAt",
				"UpdatedAt"),
				cmpopts.IgnoreFields(crm.Address{}, "CreatedAt", "UpdatedAt"), cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("%s, contact %d: %s", format, i, diff)
			}
		}
	}
}

// export writes all active contacts to a file.
func (s *folk) export(format string, rows int64) []byte {
	s.Helper()
	export := must(s.ExportContacts(s.Context(), s.Number, jobs.Selection{All: true, Scope: crm.Active},
		move.ExportOptions{Format: format}))(s)
	var file bytes.Buffer
	succeed(s, export.Write(s.Context(), &file, func(_, _ int64) {}))
	equal(s, export.Rows, rows)
	return file.Bytes()
}

// defineEach defines a custom field of each kind. One is called as a field of every contact, and one as the columns
// of such fields are called.
func (s *folk) defineEach() (fields []custom.Field) {
	s.Helper()
	for i, kind := range custom.FieldTypes {
		in := custom.FieldInput{Title: []string{"Shoe size", "Custom: Company", "Company", "Since", "Volunteer?",
			"Color"}[i], Type: kind}
		if kind == custom.SelectField {
			in.Options = []string{"Red; or not", "Blue"}
		}
		f := must(s.DefineField(s.Context(), s.Number, in))(s)
		fields = append(fields, f)
	}
	return fields
}

// importBack imports a file of our own, in which every column is known.
func (s *folk) importBack(file []byte, name string) {
	s.Helper()
	im := s.importOwn(file, name, jobs.ForceCreate)
	if im.Progress.Rejected > 0 {
		rejected := new(bytes.Buffer)
		s.Fatalf("%s: %+v, %v\n%s", name, im.Progress, s.WriteRejected(s.Context(), &im, rejected), rejected)
	}
}

func (s *folk) importOwn(file []byte, name string, mode jobs.ImportMode) jobs.Import {
	s.Helper()
	rows := must(jobs.OpenTable(bytes.NewReader(file), int64(len(file)), name, 0, nil))(s)
	mapping := sheet.Contacts.Recognize(rows.Header(), must(s.CustomFields(s.Context(), s.Number))(s), nil)
	equal(s, slices.ContainsFunc(mapping, func(c sheet.Column) bool { return c.Unknown }), false, "%s: %v", name,
		mapping)
	im, _ := must2(s.ImportFile(s.Context(), s.Number, rows, jobs.FileImport{Name: name, SHA256: name, Mode: mode,
		FileIsRight: mode == jobs.MergeExisting, Region: "US", Mapping: mapping}, 0, false,
		func(jobs.ImportProgress) {}))(s)
	return im
}

func (s *folk) mustCreate(in crm.ContactInput) int64 {
	s.Helper()
	succeed(s, in.Validate(nil, true, "US", time.Now()))
	return must(s.CreateContact(s.Context(), s.Number, in, crm.Force))(s).ID
}

func recordOf(t testing.TB, s *Book, account, id int64) crm.Contact {
	t.Helper()
	return must(s.ContactRecord(t.Context(), account, id))(t)
}

// TestAnExportHasWhatTheListHas: JSON Lines has the contacts that a filter finds, each as the API shows it, whatever
// pieces it is read in, and the history tells of it without the name that was searched for.
func TestAnExportHasWhatTheListHas(t *testing.T) {
	ctx := t.Context()
	s := newFolk(t)
	account := s.Number
	for i := range 30 {
		s.create(fmt.Sprintf(`{"first_name":"A%d","last_name":"B","note":%q,"tags":["t%d"]}`, i,
			strings.Repeat("n", 9000*(i%2)), i%3))
	}
	s.archive(4)
	filter := find.Filter{Tags: []string{"t0"}}
	list, _ := must2(s.FilteredContacts(ctx, account, crm.All, filter, crm.PageRequest{Page: 1, PerPage: 100},
		nil, nil))(t)
	export := must(s.ExportContacts(store.By(ctx, history.APIChannel, "someone"), account,
		jobs.Selection{All: true, Scope: crm.All, Filter: filter},
		move.ExportOptions{Format: "jsonl", Filters: []string{"tag"}}))(t)
	var file bytes.Buffer
	done := int64(0)
	succeed(t, export.Write(ctx, &file, func(n, _ int64) { done = n }))
	equal(t, done, 10)
	equal(t, strings.ReplaceAll(strings.TrimSuffix(file.String(), "\n"), "}\n{", "},{"), string(list),
		"the file has and the list %.300s", list)
	files := exportAccount(t, s.Book, access.Account{Number: account, ID: strings.Repeat("x", 16), Name: "x"})
	want := `"kind":"exported","id":0,"undoes":0,"job":0,`
	history := string(files[move.HistoryFile].Data)
	contains(t, history, want, "the history")
	contains(t, history,
		`"actor":"someone","data":{"exported":"contacts","format":"jsonl","rows":10,"filters":["tag"]}}`,
		"the history")
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
	succeed(t, move.InParts(5, &set, func(ids []int64) error {
		if got = append(got, ids...); len(ids) > move.PieceIDs {
			t.Errorf("%d ids at a time", len(ids))
		}
		return nil
	}))
	equal(t, slices.Equal(want, got), true, "%v (%v)", len(got), len(want))
}

// TestAnExportThatIsImportedAgainChangesNothing: also contacts who have no email and no phone, and those who share
// one, are found.
func TestAnExportThatIsImportedAgainChangesNothing(t *testing.T) {
	s := newFolk(t)
	defined := s.defineEach()
	random := rand.New(rand.NewPCG(7, 8))
	for n := range 30 {
		s.mustCreate(randomContact(random, defined, n%20)) // some are merged
	}
	for _, body := range []string{`{"first_name":"Ana","last_name":"Ruiz"}`,
		`{"first_name":"Ana","last_name":"Ruiz","phones":[{"value":"212-555-0100"}]}`,
		`{"first_name":"Juan","last_name":"Ruiz","phones":[{"value":"212-555-0100"}],"tags":["twin"]}`,
		`{"type":"company","company":"Ruiz & Sons","external_ids":[{"source":"LGL","value":"7;8"},{"source":"Stripe","value":"cus_1"}],"do_not_mail":true}`,
		`{"type":"company","company":"Ruiz Ltd","first_name":"Ana","phones":[{"value":"212-555-0100"}]}`,
		`{"first_name":"Eva","last_name":"Ruiz","prefix":"Dr.","suffix":"Jr.","salutation":"Dear Eva","do_not_email":true,"do_not_call":true,"deceased":true}`} {
		s.createAs(body, crm.Force)
	}
	before := peopleOf(t, s.Book, s.Number)
	for _, format := range move.ExportFormats {
		got := s.importOwn(s.export(format, int64(len(before))), "contacts."+format, jobs.MergeExisting).Progress
		expect(t, format+": rows, unchanged, left out", fmt.Sprint(len(before), len(before), 0), got.Rows,
			got.Unchanged,
			got.LeftOut)
		equal(t, peopleOf(t, s.Book, s.Number), before, "%s: before (-), after (+)", format)
	}
}

// TestAnExportHasHeadingsThatPeopleRead: what a contact gave stands beside what they are called.
func TestAnExportHasHeadingsThatPeopleRead(t *testing.T) {
	s := newFolk(t)
	ana := s.create(`{"first_name":"Ana","last_name":"Ruiz","emails":[{"value":"a@example.org"},{"value":"b@example.org","type":"work"}],"addresses":[{"address_1":"1 Road","city":"Rome"},{"address_1":"2 Road","city":"Bonn"}]}`)
	for _, at := range []string{"2024-03-05", "2023-01-31", "2026-02-01"} {
		s.gave(ana.ID, at, "")
	}
	lines := strings.Split(string(s.export("csv", 1)), "\n")
	for i, want := range []string{"Contact ID,First name,Middle name,Last name,",
		"Email,Email type,Email 2,Email 2 type,Street,Address line 2,City,State,ZIP,Country,Street 2,Address 2 line 2,City 2,State 2,ZIP 2,Country 2,", "Total given,Recurring given,First gift,Last gift,Created,Updated,Archived"} {
		contains(t, lines[0], want, "%d: the header", i)
	}
	contains(t, lines[1], ",15,0,2023-01-31,2026-02-01,", "Ana's row")
}

// TestAListThatIsTooLongForAWorkbookIsRefusedAtOnce: a download that broke off after a million rows would tell no one
// why.
func TestAListThatIsTooLongForAWorkbookIsRefusedAtOnce(t *testing.T) {
	s := newFolk(t)
	account := s.Number
	for _, c := range []struct {
		format string
		rows   int64
		fits   bool
	}{{"xlsx", table.MaxLines - 1, true}, {"xlsx", table.MaxLines, false}, {"csv", table.MaxLines, true},
		{"jsonl", table.MaxLines, true}} {
		_, err := s.Prepared(t.Context(), account, "contacts",
			&move.Export{Rows: c.rows, How: move.ExportOptions{Format: c.format}})
		var refused *doc.Invalid
		if errors.As(err, &refused) == c.fits || !c.fits &&
			refused.Error() != "A workbook holds at most 1,048,575 records, and this list has more. Export it as CSV." {
			t.Errorf("%d rows as %s: %v", c.rows, c.format, err)
		}
	}
}
