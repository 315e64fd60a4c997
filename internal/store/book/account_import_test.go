package book

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/history"
	"donorbook/internal/rig/rows"
	"donorbook/internal/store"
	"donorbook/internal/store/move"
)

// manyContacts are the files of an account with so many contacts.
func manyContacts(t *testing.T, s *Book, n int) fstest.MapFS {
	t.Helper()
	account := newAccount(t, s)
	create(t, s, account.Number,
		`{"first_name":"Ada","last_name":"Lovelace","emails":[{"value":"p1@example.org"}],"tags":["donor"]}`)
	files := exportAccount(t, s, account)
	line := string(files[move.ContactFile].Data)
	template := strings.Replace(line, `"revision":1,"last_gift"`, `"revision":0,"last_gift"`, 1)
	var all strings.Builder
	all.WriteString(line)
	for i := 2; i <= n; i++ {
		text := strings.Replace(template, fmt.Sprintf(`{"id":%d,`, doc.MakeID(account.Number, 1)),
			fmt.Sprintf(`{"id":%d,`, doc.MakeID(account.Number, int64(i))), 1)
		all.WriteString(strings.ReplaceAll(text, "p1@example.org", fmt.Sprintf("p%d@example.org", i)))
	}
	return changedFile(t, files, move.ContactFile, line, all.String())
}

// atLine does something once, when an import has come to a record of a kind.
func atLine(what string, n int64, do func()) func(string, int64, int64) {
	done := false
	return func(is string, at, _ int64) {
		if !done && is == what && at >= n {
			done = true
			do()
		}
	}
}

// TestOthersGoOnWhileAnAccountIsImported: in the middle of an import, on another node or in a server beside the
// command, readiness answers and accounts and contacts are created, and the imported account is not there before all
// of it is.
func TestOthersGoOnWhileAnAccountIsImported(t *testing.T) {
	ctx := t.Context()
	s, server := twoNodes(t)
	files := manyContacts(t, s, 4*move.ImportedAtOnce)
	other := newAccount(t, server)
	imported, err := s.ImportAccount(ctx, files, move.AccountImport{Progress: func(what string, n, _ int64) {
		if what != "contacts" || n%move.ImportedAtOnce != 0 {
			return
		}
		createAs(t, server, other.Number, `{"first_name":"B","last_name":"C"}`, crm.Force)
		if err := server.Ready(ctx); err != nil {
			t.Errorf("at contact %d: ready: %v", n, err)
		}
		account, err := server.CreateAccount(ctx, "Another", "")
		if err == nil {
			_, err = server.CreateContact(ctx, account.Number, input(t, `{"first_name":"D","last_name":"E"}`),
				crm.Dedupe)
		}
		if err != nil {
			t.Errorf("at contact %d: another account: %v", n, err)
		}
		unfinished, err := server.UnfinishedAccounts(ctx)
		if err != nil || len(unfinished) != 1 || unfinished[0].Contacts < n-move.ImportedAtOnce ||
			unfinished[0].Contacts == 0 {
			t.Errorf("%v: at contact %d, unfinished are %+v", err, n, unfinished)
			return
		}
		notFound(t)(server.Account(ctx, unfinished[0].ID))
	}})
	succeed(t, err)
	if _ = must(server.Account(ctx, imported.Account.ID))(t); imported.Contacts != 4*move.ImportedAtOnce {
		t.Errorf("the import has made %+v", imported)
	}
	checked(t, server)
}

// TestAnImportOfAnAccountGoesOnWhereItWasStopped: stopped again and again, it still brings everything back once.
func TestAnImportOfAnAccountGoesOnWhereItWasStopped(t *testing.T) {
	eachWay(t, func(t *testing.T, from, to store.Options) {
		a, b := open(t, from), open(t, to)
		account := busyAccount(t, a)
		files := exportAccount(t, a, account)
		stops := 0
		for next := int64(1); ; next += 13 {
			ctx, stop := context.WithCancel(store.By(t.Context(), history.CommandChannel, "tester"))
			seen := int64(0)
			made, err := b.ImportAccount(ctx, files, move.AccountImport{AtOnce: 7,
				Progress: func(string, int64, int64) {
					if seen++; seen == next {
						stop()
					}
				}})
			stop()
			if err == nil {
				if made.Account.ID != account.ID || made.Renumbered || made.Contacts < 10 || made.Gifts < 30 ||
					made.Campaigns != 2 {
					t.Errorf("the import has made %+v", made)
				}
				break
			}
			if stops++; !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			if accounts := must(b.Accounts(t.Context()))(t); len(accounts) != 0 {
				t.Fatalf("half an account is listed: %+v", accounts)
			}
			checked(t, b)
		}
		if left := must(b.UnfinishedAccounts(t.Context()))(t); len(left) != 0 || stops < 10 {
			t.Errorf("after %d stops %+v is unfinished", stops, left)
		}
		checked(t, b)
		wantSameFiles(t, files, exportAccount(t, b, access.Account{Number: account.Number, ID: account.ID,
			Name: account.Name, CreatedAt: account.CreatedAt}))
	})
}

// halfway imports files until it has come to a gift.
func halfway(t *testing.T, s *Book, files fstest.MapFS, into string) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	wantError(t, "an import that was stopped", errOf(s.ImportAccount(ctx, files, move.AccountImport{Into: into,
		AtOnce: 5, Progress: atLine("gifts", 12, stop)})), context.Canceled)
}

// TestAnAccountThatIsImportedTakesNoOtherChange: it can be read, and says what goes on; other files are refused until
// what the first ones have left is removed.
func TestAnAccountThatIsImportedTakesNoOtherChange(t *testing.T) {
	s := newBook(t)
	files := exportAccount(t, s, busyAccount(t, s))
	empty := newAccount(t, s)
	succeed(t, s.SetAccountSettings(t.Context(), empty.Number,
		access.AccountSettingsInput{Timezone: ptr("America/New_York")}))
	halfway(t, s, files, empty.ID)
	equal(t, contactsOf(t, s, empty) > 0, true, "what is there so far")
	now, busy, contact := t.Context(), refuses(t, "a change", crm.ErrImporting), doc.MakeID(empty.Number, 1)
	for mode, body := range map[crm.CreateMode]string{crm.Force: `{"first_name":"A","last_name":"B"}`,
		crm.Dedupe: `{"first_name":"A","emails":[{"value":"p1@example.org"}]}`} {
		busy(s.CreateContact(now, empty.Number, input(t, body), mode))
	}
	busy(s.AddTags(now, empty.Number, contact, []string{"x"}))
	busy(s.CreateKey(now, empty.Number, access.KeyInput{Name: "k", Permissions: access.ContactsRead}))
	busy(s.EraseContact(now, empty.Number, contact))
	busy(s.CreateCampaign(now, empty, campaign.Input{Title: ptr("New")}))
	busy(s.SetCurrency(now, empty.Number, "EUR"))
	wantError(t, "other files", errOf(s.ImportAccount(t.Context(), changedFile(t, files, move.AccountFile,
		`"tax_id":"04-1"`, `"tax_id":"04-2"`), move.AccountImport{Into: empty.ID})), move.ErrOtherFiles)
	checked(t, s)

	ctx, stop := context.WithCancel(t.Context())
	stop()
	// as far as one unit goes
	refuses(t, "a removal that was stopped", context.Canceled)(s.DiscardAccount(ctx, empty.ID))
	must(s.DiscardAccount(t.Context(), empty.ID))(t)
	checked(t, s)
	equal(t, contactsOf(t, s, empty), 0, "after the removal")
	equal(t, must(s.AccountSettings(t.Context(), empty.Number))(t).Timezone, "America/New_York",
		"after the removal its time zone")
	importAccount(t, s, files, empty.ID)
	notFound(t)(s.DiscardAccount(t.Context(), empty.ID))
	checked(t, s)
}

// contactsOf is how many active contacts an account has.
func contactsOf(t *testing.T, s *Book, account access.Account) int64 {
	t.Helper()
	_, total := listBytes(t, s, account.Number, crm.Active, 1, 5)
	return total
}

func TestWhatAnImportHasLeftCanBeRemoved(t *testing.T) {
	s := newBook(t)
	account := busyAccount(t, s)
	files := exportAccount(t, s, account)
	before := rowCounts(t, s)
	halfway(t, s, files, "")
	left := must(s.UnfinishedAccounts(t.Context()))(t)
	if len(left) != 1 || left[0].Contacts == 0 || left[0].Gifts != 10 {
		t.Fatalf("unfinished is %+v", left)
	}
	notFound(t)(publicCampaign(t, s, "spring-gala-2"))
	must(s.DiscardAccount(t.Context(), left[0].ID))(t)
	equal(t, rowCounts(t, s), before, "rows are left")
	checked(t, s)
	importAccount(t, s, files, "")
}

func publicCampaign(t *testing.T, s *Book, slug string) error {
	t.Helper()
	return errOf2(s.CampaignBySlug(t.Context(), slug))
}

// rowCounts is how many rows each table has.
func rowCounts(t *testing.T, s *Book) map[string]int64 {
	t.Helper()
	counts := map[string]int64{}
	for _, table := range append(store.Schema.Tables, store.WordsTable) {
		counts[table.Name] = count(t, s, "SELECT COUNT(*) FROM "+table.Name)
	}
	return counts
}

// TestAnAccountMovesToAMachineWhoseClockIsBehind: what was right where the files were written is right here, and
// nothing later is.
func TestAnAccountMovesToAMachineWhoseClockIsBehind(t *testing.T) {
	s := newBook(t)
	clock := stopClock(s)
	written, behind := clock.time(), clock.time().AddDate(-1, 0, 0)
	account := newAccount(t, s)
	create(t, s, account.Number,
		`{"first_name":"Ada","last_name":"Byron","dob":"1/30/2026","emails":[{"value":"ada@x.org"}]}`)
	giveNow(t, s, account.Number,
		`,"check_deposited_at":"2026-01-31","first_name":"Ada","last_name":"Byron","email":"ada@x.org"`)
	files := exportAccount(t, s, account)
	clock.move(behind.Sub(written))
	importAccount(t, s, files, "")
	importAccount(t, s, changedFile(t, files, move.GiftFile, `,"ahead":0`, ""), "") // as files up to release 0.10
	checked(t, s)
	later := changedFile(t, files, move.GiftFile, `"transacted_at":"2026-01-31`, `"transacted_at":"2026-02-03`)
	if _, err := s.ImportAccount(t.Context(), later, move.AccountImport{}); err == nil ||
		!strings.Contains(err.Error(), "future") {
		t.Errorf("a gift after the export: %v", err)
	}
}

// TestConcurrentReadinessWaitsForNoLock: what a change of all nodes or of one account holds does not make a node seem
// broken.
func TestConcurrentReadinessWaitsForNoLock(t *testing.T) {
	t.Parallel()
	o := emptied(t)
	s, other := open(t, o), open(t, o)
	account := newAccount(t, s)
	held, free, ended := make(chan bool), make(chan bool), make(chan error, 2)
	go func() {
		ended <- other.UpdateAccount(context.Background(), account.Number, func(x *store.Tx) error {
			err := x.LockAll()
			close(held)
			<-free
			return err
		})
	}()
	<-held
	go func() { ended <- s.SetCurrency(context.Background(), account.Number, "EUR") }()
	await(t, "a change that waits", func() bool { return s.Waiting() > 0 })
	succeed(t, s.Ready(t.Context()))
	close(free)
	succeed(t, errors.Join(<-ended, <-ended))
}

// What is wrong with files is told with its place and before anything is written: damage, and what the API would
// refuse. HTML is cleaned.
func TestFilesOfAnAccountAreCheckedLikeInput(t *testing.T) {
	s := newBook(t)
	whole := exportAccount(t, s, busyAccount(t, s))
	whole = changedFile(t, whole, move.CampaignFile, `"description":null`,
		`"description":"<p>Hi</p><meta http-equiv=refresh content='0;url=https://evil.example'><script>alert(1)</script>"`)
	before := rowCounts(t, s)
	gifts := string(whole[move.GiftFile].Data)
	amount := regexp.MustCompile(`("plan_id".*?"transactions":\[\{"id".*?:)[^:,]*,"fee"`).FindStringSubmatch(gifts)
	ids := regexp.MustCompile(`"external_id":"[^"]*",`).FindAllString(gifts, 2)
	lineOf := func(file, text string) int {
		before, _, _ := strings.Cut(string(whole[file].Data), text)
		return strings.Count(before, "\n") + 1
	}
	var unknown strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&unknown,
			`{"id":%d,"title":"F%[1]d","description":"","type":"magic","options":"","place":%[1]d,"created_at":1,"ended_at":0}`+"\n", i+10)
	}
	lots := strings.Repeat("x", 2_900_000)
	fill := strings.NewReplacer("{2.9 MB}", lots, "{9 MB}", strings.Repeat(lots, 3), "{magic}", unknown.String(),
		"{texts}",
		strings.ReplaceAll(unknown.String(), "magic", "text"), "{line}", "\n", "{8}",
		fmt.Sprint(lineOf(move.ContactFile, "ext-8")),
		"{amount}", amount[0], "{owed}", amount[1]+`-50,"fee"`, "{first}", ids[0], "{second}", ids[1], "{2}",
		fmt.Sprint(lineOf(move.GiftFile, ids[1]))).Replace
	refused := func(says string, files fstest.MapFS) {
		t.Helper()
		_, err := s.ImportAccount(t.Context(), files, move.AccountImport{AtOnce: 9})
		if problem := new(move.FileProblem); !errors.As(err, &problem) || !strings.HasPrefix(err.Error(), says) {
			t.Errorf("want %q, got %.300v", says, err)
		}
	}
	for _, c := range rows.Of[struct{ File, Old, Changed, Says string }](`
		contacts  "value":"ext-8"  "value":"x"  contacts.jsonl, line {8}: is refused: The match_keys field must be the normal
		contacts  {"id":  {"id":"  contacts.jsonl, line 1:
		contacts  "note":null  "note":"{2.9 MB}"  contacts.jsonl, line 1: is refused: The note field
		contacts  "note":null  "note":"{9 MB}"  contacts.jsonl, line 1: is longer than
		contacts  "twitter_url":null  "twitter_url":"javascript:"  contacts.jsonl, line 1: is refused: The twitter_url
		contacts  "emails":[  "emails":[{"type":"","value":"nobody"},  contacts.jsonl, line
		contacts  "custom_fields":[]  "custom_fields":[{"field_id":77,"value":"x"}]  contacts.jsonl, line 1: is refused: The custom_fields field
		transactions  "campaign_id":  "campaign_id":9  transactions.jsonl, line 1: names a campaign that
		transactions  "contact_id":  "contact_id":9  transactions.jsonl, line 1: names a contact that
		transactions  "ahead":  "ahead":98765  transactions.jsonl, line 1: is by a clock that no place has
		transactions  {amount}  {owed}  transactions.jsonl, line 1: is refused: The amount field
		transactions  "transactions":[{"id":"  "transactions":[{"id":"\",\"x\":\"  transactions.jsonl, line 1: is refused: The transactions field
		transactions  "method":"  "method":"gold X  transactions.jsonl, line 1: is refused: The method field
		transactions  {second}  {first}  transactions.jsonl, line {2}: has the external id of an earlier record
		account  {line}  {line}{}{line}  account.jsonl: must have one line
		account  "revision":  "revision":1  history.jsonl: does not end with the last change
		account  "currency":"USD"  "currency":"GOLD"  account.jsonl, line 1: is refused: The currency field
		history  {"revision":1,  {"revision":2,  history.jsonl, line 1: is not the next change
		history  "noun":"contact"  "noun":"person"  history.jsonl, line 5: "person" is unknown: a
		history  "undoes":0  "undoes":99  history.jsonl, line 1: names a change that does not come before it
		custom_fields  {"id":1,  {magic}{"id":1,  custom_fields.jsonl, line 1: is refused: The type field
		custom_fields  {"id":1,  {texts}{"id":1,  custom_fields.jsonl, line 101: is refused: This organization has 100 custom fields
		plans  "amount":  "amount":0,"x":  plans.jsonl, line 1: is refused: The amount field
		segments  "query":"  "query":"color=red","x":"  segments.jsonl, line 1: is refused: The query field
		campaigns  "payment_link":"https:  "payment_link":"javascript:  campaigns.jsonl, line 1: is refused: The payment_link
		campaigns  "status":"draft","payment_link"  "status":"secret","payment_link"  campaigns.jsonl, line 1: is refused: The status field
	`) {
		refused(fill(c.Says), changedFile(t, whole, c.File+".jsonl", fill(c.Old), fill(c.Changed)))
	}
	refused(fill("contacts.jsonl, line {8}: has the external id of an earlier record"),
		changedFile(t, changedFile(t, whole, move.ContactFile, `"value":"ext-8"`, `"value":"x"`), move.ContactFile,
			`x:ext-8`, `x:x`))
	with := func(name string, file fstest.MapFile) fstest.MapFS {
		files := maps.Clone(whole)
		files[name] = &file
		return files
	}
	refused("transactions.jsonl: is not a regular file", with(move.GiftFile, fstest.MapFile{Mode: fs.ModeNamedPipe}))
	refused("contacts.jsonl: is not what the manifest says: its checksum differs", with(move.ContactFile,
		fstest.MapFile{Data: bytes.Replace(whole[move.ContactFile].Data, []byte("example"), []byte("exbmple"), 1)}))
	refused("manifest.json: does not name contacts.jsonl", unlisted(t, whole, move.ContactFile))
	for _, name := range []string{"letters.jsonl", move.ContactFile} {
		refused("manifest.json: names "+name+", which this version does not know", relisted(t, whole,
			func(files []move.ManifestFile) []move.ManifestFile {
				return append(files, move.ManifestFile{Name: name})
			}))
	}
	equal(t, rowCounts(t, s), before, "something is left")
	found := string(exportAccount(t, s, importAccount(t, s, whole, "").Account)[move.CampaignFile].Data)
	contains(t, found, "<p>Hi</p>")
	equal(t, strings.Contains(found, "meta") || strings.Contains(found, "<script"), false, "%v", found)
}
