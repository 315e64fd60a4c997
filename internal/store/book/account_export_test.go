package book

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/crm/picture"
	"donorbook/internal/crm/thanks"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/jobs"
	"donorbook/internal/store/move"
)

// memoryFile becomes a file when it is closed.
type memoryFile struct {
	bytes.Buffer
	name  string
	files fstest.MapFS
}

func (f *memoryFile) Close() error {
	f.files[f.name] = &fstest.MapFile{Data: slices.Clone(f.Bytes())}
	return nil
}

func quiet(string, int64, int64) {}

func exportAccount(t testing.TB, s *Book, account access.Account) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{}
	manifest := must(s.ExportAccount(t.Context(), account, func(name string) (io.WriteCloser, error) {
		return &memoryFile{name: name, files: files}, nil
	}, quiet))(t)
	setManifest(t, files, manifest)
	return files
}

func setManifest(t testing.TB, files fstest.MapFS, manifest move.Manifest) {
	t.Helper()
	text := must(json.Marshal(manifest))(t)
	files[move.ManifestName] = &fstest.MapFile{Data: text}
}

func importAccount(t testing.TB, s *Book, files fstest.MapFS, into string) move.AccountImported {
	t.Helper()
	return must(s.ImportAccount(store.By(t.Context(), history.CommandChannel, "tester"), files,
		move.AccountImport{Into: into, Progress: quiet}))(t)
}

// busyAccount has contacts, campaigns, gifts and plans that were changed in many ways.
func busyAccount(t *testing.T, s *Book) access.Account {
	t.Helper()
	ctx := t.Context()
	m := &giftModel{T: t, nodes: []*Book{s}, random: rand.New(rand.NewPCG(3, 4)), account: newAccount(t, s),
		now: time.Now()}
	for _, title := range []string{"Gala", "Coats"} {
		campaign := must(s.CreateCampaign(ctx, m.account,
			campaign.Input{Title: &title, Raised: ptr(int64(12345)), Donors: ptr(int64(7))}))(t)
		m.campaigns = append(m.campaigns, campaign)
	}
	shown, logo := withCover(draw(t, s, m.account, picture.Cover, 500)), draw(t, s, m.account, picture.Logo, 200)
	must(s.UpdateCampaign(ctx, m.account, m.campaigns[0].ID, shown))(t)
	must(s.UpdateCampaign(ctx, m.account, m.campaigns[0].ID,
		campaign.Input{Slug: ptr("spring-gala"), Status: ptr(campaign.Draft),
			PaymentLink: ptr("https://pay.example.org/x")}))(t)
	for range 150 {
		var faults *doc.Invalid
		if what, err := m.step(); err != nil && !errors.As(err, &faults) && !errors.Is(err, crm.ErrArchived) {
			t.Fatal(what, err)
		}
	}
	tagged := create(t, s, m.account.Number,
		`{"first_name":"Zoë <&>","last_name":"Ünal","dob":"3/9/1984","note":"a\nb","emails":[{"value":"Z@Example.org","type":"work"},{"value":"z2@example.org"}],
		"phones":[{"value":"(617) 555-0100","type":"cell"}],"addresses":[{"address_1":"1 Elm","city":"Boston","state":"MA","zipcode":"02110","country":"USA"}],"tags":["x;y","donor"],
		"prefix":"Dr.","salutation":"Dear Zoë","external_ids":[{"source":"Bloomerang","value":"ext-7"},{"source":"crm","value":"x"}],"do_not_mail":true,"deceased":true}`)
	create(t, s, m.account.Number,
		`{"type":"company","company":"Acme","external_ids":[{"source":"crm","value":"ext-8"}]}`)
	must(s.AddTags(ctx, m.account.Number, tagged.ID, []string{"late"}))(t)
	archived := create(t, s, m.account.Number, `{"first_name":"Old","last_name":"One","tags":["donor"]}`)
	archive(t, s, m.account.Number, archived.ID)
	succeed(t, s.SetAccountSettings(ctx, m.account.Number,
		access.AccountSettingsInput{Address: ptr("1 Main\nBoston"), TaxID: ptr("04-1"), Logo: &logo}))
	customize(t, s, m.account.Number, tagged.ID, m.campaigns[0].ID)
	return m.account
}

// customize gives an account what people add to it: fields of their own with values, one of them ended, a saved
// filter, a note, work on many contacts, a file that was taken out, and a person who was erased.
func customize(t *testing.T, s *Book, account, contact, campaign int64) {
	t.Helper()
	ctx := store.By(t.Context(), history.ConsoleChannel, "ana@example.org")
	shirt := must(s.DefineField(ctx, account, custom.FieldInput{Title: "Shirt", Type: "select",
		Options: []string{"S", "M"}}))(t)
	ended := must(s.DefineField(ctx, account, custom.FieldInput{Title: "Old field", Type: "text"}))(t)
	must(s.UpdateContact(ctx, account, contact, input(t,
		fmt.Sprintf(`{"custom_fields":{"field_%d":"M","field_%d":"was"}}`, shirt.ID, ended.ID))))(t)
	succeed(t, s.EndField(ctx, account, ended.ID))
	segment := must(find.NewSegment("Gala friends", fmt.Sprintf("campaign_id=%d&tag=donor", campaign), "US"))(t)
	must(s.CreateSegment(ctx, account, segment))(t)
	must(s.AddNote(ctx, account, contact, history.NoteInput{Note: ptr("Called")}))(t)
	bulk(t, s, account, jobs.Selection{IDs: []int64{contact}}, crm.BulkTag, "vip")
	must(s.ContactData(ctx, account, contact))(t)
	erase(t, s, ctx, account, create(t, s, account, `{"first_name":"Erika","tags":["donor"]}`).ID)
}

func ptr[T any](value T) *T { return &value }

// TestAnAccountComesBackAsItWas: what was exported and imported is exported again byte by byte, but for the lines
// that tell of both.
func TestAnAccountComesBackAsItWas(t *testing.T) {
	eachWay(t, func(t *testing.T, from, to store.Options) {
		a, b := open(t, from), open(t, to)
		account := busyAccount(t, a)
		files := exportAccount(t, a, account)
		made := importAccount(t, b, files, "")
		expect(t, "the account, and its campaigns", fmt.Sprint(account.ID, " ", account.Number, " false 2"),
			made.Account.ID,
			made.Account.Number, made.Renumbered, made.Campaigns)
		equal(t, made.Contacts >= 10 && made.Gifts >= 30 && made.Plans > 0, true, "%+v", made)
		checked(t, b)
		wantSameFiles(t, files, exportAccount(t, b, made.Account))
		equal(t, create(t, b, made.Account.Number, `{"first_name":"Next","last_name":"One"}`).ID,
			doc.MakeID(account.Number, made.Contacts+1), "the next contact has the id")
	})
}

// wantSameFiles compares an export with one of the same account after it was imported: only the import and the second
// export are new.
func wantSameFiles(t *testing.T, files, again fstest.MapFS) {
	t.Helper()
	for name, file := range files {
		want, got := string(file.Data), string(again[name].Data)
		switch name {
		case move.ManifestName:
			continue
		case move.AccountFile:
			var was, is move.AccountLine
			succeed(t, errors.Join(json.Unmarshal(file.Data, &was), json.Unmarshal(again[name].Data, &is)))
			was.Sequences.Revision += 2 // the import, and the second export
			equal(t, is, was, "%s differs", name)
			continue
		case move.HistoryFile:
			if rest, ok := strings.CutPrefix(got, want); !ok || strings.Count(rest, "\n") != 2 ||
				!strings.Contains(rest, `"imported"`) {
				t.Errorf("%s has grown by %q", name, rest)
			}
			continue
		}
		equal(t, got, want, "%s differs", name)
	}
}

// TestAnAccountIsImportedBesideItself: where its number and the addresses of its campaigns are taken, it gets others,
// and everything still belongs together.
func TestAnAccountIsImportedBesideItself(t *testing.T) {
	s := newBook(t)
	account := busyAccount(t, s)
	files := exportAccount(t, s, account)
	other := newAccount(t, s)
	for _, into := range []string{"", other.ID} {
		made := importAccount(t, s, files, into)
		if !made.Renumbered || made.Account.Number == account.Number || into != "" && made.Account.ID != into ||
			len(made.Slugs) != 2 {
			t.Fatalf("the import into %q made %+v", into, made)
		}
		equal(t, listedGifts(t, s, made.Account, account), listedGifts(t, s, account, account), "the gifts differ")
		wantCustomized(t, s, account.Number, made.Account.Number)
	}
	checked(t, s)
	wantError(t, "an account that is not empty", errOf(s.ImportAccount(t.Context(), files,
		move.AccountImport{Into: other.ID, Progress: quiet})), move.ErrAccountNotEmpty)
}

// wantCustomized checks that what people have added to an account belongs to the other one, under its own ids.
func wantCustomized(t *testing.T, s *Book, was, is int64) {
	t.Helper()
	ctx := t.Context()
	segments := must(s.Segments(ctx, is))(t)
	if len(segments) != 1 || doc.IDAccount(segments[0].ID) != is {
		t.Fatalf("the segments are %+v", segments)
	}
	own := must(s.Segments(ctx, was))(t)
	count := func(account int64, query string) int64 {
		t.Helper()
		scope, filter := must2(find.ParseQuery(query, "US"))(t)
		return must(s.SelectionSize(ctx, account, jobs.Selection{All: true, Scope: scope, Filter: filter}))(t)
	}
	gala, _, _ := strings.Cut(own[0].Query, "&")
	ours, _, _ := strings.Cut(segments[0].Query, "&")
	if want, got := count(was, gala), count(is, ours); want == 0 || want != got {
		t.Errorf("%q found %d contacts, and %q finds %d", gala, want, ours, got)
	}
	for _, c := range everyChange(t, s, is) {
		var exported move.Exported
		if json.Unmarshal([]byte(c.Data), &exported) == nil && exported.Contact != 0 &&
			doc.IDAccount(exported.Contact) != is || c.Noun == history.SegmentNoun && doc.IDAccount(c.ID) != is {
			t.Errorf("the history has the id of another account: %+v", c)
		}
	}
	jobs, found := must2(s.Jobs(ctx, is, crm.PageRequest{Page: 1, PerPage: 10}))(t)
	if len(jobs) != 0 || found.Total != 0 {
		t.Errorf("there are %d jobs, %+v", len(jobs), found)
	}
}

// listedGifts are the gifts of an account as the API shows them, with ids as if they were those of another one.
func listedGifts(t testing.TB, s *Book, account, as access.Account) []string {
	t.Helper()
	list, _ := must2(s.Gifts(t.Context(), account.Number, campaign.OwnCampaigns, giving.GiftFilter{},
		crm.PageRequest{Page: 1, PerPage: 1000}, nil, nil))(t)
	var gifts []map[string]any
	succeed(t, json.Unmarshal(fmt.Appendf(nil, "[%s]", list), &gifts))
	var lines []string
	for _, g := range gifts {
		for _, name := range []string{"contact_id", "campaign_id"} {
			if id, ok := g[name].(float64); ok {
				g[name] = doc.MakeID(as.Number, doc.IDSeq(int64(id)))
			}
		}
		delete(g, "campaign_code")
		lines = append(lines, fmt.Sprint(g))
	}
	return lines
}

// Whatever file it is, a line that is there twice, lacks its end or says more than an export writes is refused before
// anything is written.
func TestLinesOfAccountFilesAreThoseOfAnExport(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	account := busyAccount(t, s)
	survivor, other := twoOf(t, s, account.Number)
	mergeOf(t, s, account.Number, survivor, other)
	a, b := createAs(t, s, account.Number, `{"first_name":"Al","last_name":"Twin"}`, crm.Force).ID,
		createAs(t, s, account.Number, `{"first_name":"Al","last_name":"Twin"}`, crm.Force).ID
	succeed(t, s.Dismiss(ctx, account.Number, a, b))
	must(s.ChangeTemplate(ctx, account.Number, thanks.Large,
		thanks.TemplateInput{Amount: ptr(int64(1000_0000))}))(t)
	issue(t, s, account.Number, giveNow(t, s, account.Number, ofAda).Code)
	whole := exportAccount(t, s, account)
	before := rowCounts(t, s)
	tried := 0
	for name, file := range whole {
		line, _, _ := strings.Cut(string(file.Data), "\n")
		if name == move.ManifestName || name == "members.jsonl" || name == "keys.jsonl" {
			continue
		}
		if line == "" {
			t.Errorf("%s is empty", name)
			continue
		}
		for what, changed := range map[string]string{
			"doubled": line + "\n" + line, "cut off": line[:len(line)/2],
			"with more before it": `{"zzz":1,` + line[1:], "with more behind it": line[:len(line)-1] + `,"zzz":1}`,
			"with spaces": "{ " + line[1:], "followed by another value": line + "{}", "empty": "",
		} {
			tried++
			_, err := s.ImportAccount(ctx, changedFile(t, whole, name, line, changed), move.AccountImport{})
			if problem := new(move.FileProblem); !errors.As(err, &problem) || problem.File != name {
				t.Errorf("%s: a line %s: %v", name, what, err)
			}
		}
	}
	if tried < 70 {
		t.Errorf("%d lines were tried", tried)
	}
	equal(t, rowCounts(t, s), before, "something is left")
}

// relisted changes what the manifest lists.
func relisted(t *testing.T, whole fstest.MapFS, change func([]move.ManifestFile) []move.ManifestFile) fstest.MapFS {
	t.Helper()
	var manifest move.Manifest
	succeed(t, json.Unmarshal(whole[move.ManifestName].Data, &manifest))
	manifest.Files = change(manifest.Files)
	files := maps.Clone(whole)
	setManifest(t, files, manifest)
	return files
}

// unlisted leaves a file out of the manifest.
func unlisted(t *testing.T, whole fstest.MapFS, name string) fstest.MapFS {
	t.Helper()
	return relisted(t, whole, func(files []move.ManifestFile) []move.ManifestFile {
		return slices.DeleteFunc(files, func(f move.ManifestFile) bool { return f.Name == name })
	})
}

// changedFile changes a file, with a manifest that agrees, so that the line itself is read.
func changedFile(t *testing.T, whole fstest.MapFS, name, old, changed string) fstest.MapFS {
	t.Helper()
	files, manifest := fstest.MapFS{}, move.Manifest{}
	succeed(t, json.Unmarshal(whole[move.ManifestName].Data, &manifest))
	for i, file := range manifest.Files {
		text := string(whole[file.Name].Data)
		if file.Name == name {
			contains(t, text, old, "%s does", name)
			text = strings.Replace(text, old, changed, 1)
		}
		var err error
		manifest.Files[i], err = move.WriteFile(func(string) (io.WriteCloser, error) {
			return &memoryFile{name: file.Name, files: files}, nil
		}, file.Name,
			func(w *move.LineWriter) error {
				w.Rows = int64(strings.Count(text, "\n"))
				return errOf(w.Out.WriteString(text))
			})
		succeed(t, err)
	}
	setManifest(t, files, manifest)
	return files
}

// changedTimes are when documents were changed, which a merge and its undo do.
var changedTimes = regexp.MustCompile(`,"updated_at":"[^"]*Z?"(,"merged_into"|,"erased_at"|,"type"|}$)`)

// everything are all rows of an account that people can tell apart: documents, keys, sums, sets and words, without
// when and by which change they became so.
func everything(t testing.TB, s *Book, account int64) (rows []string) {
	t.Helper()
	skipped := " revision updated_at checksum "
	succeed(t, s.View(t.Context(), func(c db.Conn) error {
		for _, table := range []*db.Table{store.ContactTable, store.IndexTable, store.SetTable, store.TagTable,
			store.GiftTable, store.PlanTable, store.ReferenceTable, store.GivingTable} {
			err := c.EachOf(table, account, func(row []any) error {
				text := table.Name
				for i, column := range table.Columns {
					if body, isBody := row[i].([]byte); isBody && table == store.ContactTable {
						text += " " + changedTimes.ReplaceAllString(string(body), "$1")
					} else if !strings.Contains(skipped, " "+column.Name+" ") {
						text += fmt.Sprintf(" %s=%s", column.Name, fmt.Sprint(row[i]))
					}
				}
				rows = append(rows, text)
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	}))
	return rows
}

func wantState(t testing.TB, what string, got, want []string) {
	t.Helper()
	equal(t, got, want, "%s", what)
}

// totals are the sums of the account as a whole, which no merge may change.
func totals(t testing.TB, s *Book, account int64) (sums []string) {
	for _, row := range everything(t, s, account) {
		if cell, isSum := strings.CutPrefix(row, "giving "); isSum &&
			giving.CellContact(strings.Fields(strings.ReplaceAll(cell, "cell=", ""))[1]) == 0 {
			sums = append(sums, regexp.MustCompile(` donors=\d+`).ReplaceAllString(row, "")) // two donors become one
		}
	}
	return sums
}
