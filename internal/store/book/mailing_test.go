package book

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	reader "github.com/dslipak/pdf"

	"donorbook/internal/crm"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/crm/mail"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/gifts"
	"donorbook/internal/store/jobs"
	"donorbook/internal/store/move"
)

// sheets are the texts of the pages of a PDF file.
func sheets(t *testing.T, s *Book, e *move.Export, err error) (pages []string) {
	t.Helper()
	var file bytes.Buffer
	if err == nil {
		err = e.Write(t.Context(), &file, func(_, _ int64) {})
	}
	if err != nil {
		t.Fatal(err)
	}
	return pagesOf(t, file.Bytes())
}

func pagesOf(t *testing.T, file []byte) (pages []string) {
	t.Helper()
	r := must(reader.NewReader(bytes.NewReader(file), int64(len(file))))(t)
	for i := range r.NumPage() {
		rows := must(r.Page(i + 1).GetTextByRow())(t)
		var page strings.Builder
		for _, row := range rows {
			for _, word := range row.Content {
				page.WriteString(word.S)
			}
			page.WriteByte(' ')
		}
		pages = append(pages, strings.Join(strings.Fields(page.String()), " "))
	}
	return pages
}

// people of whom each is reached in another way, or not at all, and why.
var reachedBy = []struct {
	body string
	way  crm.Way
	why  crm.Unreached
}{
	{`"first_name":"Ada","last_name":"Zed","prefix":"Ms.","emails":[{"value":"ada@example.org"}],"addresses":[{"address_1":"1 Mill Lane","city":"Riverton","state":"OR","zipcode":"97001"}]`, crm.ByMail, ""},
	{`"first_name":"Bo & Li","last_name":"Young","do_not_email":true,"emails":[{"value":"bo@example.org"}],"addresses":[{"address_1":"2 Mill Lane","city":"Riverton","state":"OR","zipcode":"97002"}]`, crm.ByLetter, ""},
	{`"type":"company","company":"Acme Foundation","addresses":[{"address_1":"Hafenstraße 3","city":"Kiel","zipcode":"24103","country":"DEU"}]`, crm.ByLetter, ""},
	{`"first_name":"محمد","last_name":"Xylo","emails":[{"value":"x@example.org"}],"bounced_email":"x@example.org","addresses":[{"address_1":"4 Mill Lane","city":"Riverton","state":"OR","zipcode":"97000"}]`, crm.ByLetter, ""},
	{`"first_name":"Dee","last_name":"Ceased","deceased":true,"emails":[{"value":"dee@example.org"}]`, crm.NoWay,
		crm.IsDeceased},
	{`"first_name":"No","last_name":"Where"`, crm.NoWay, crm.NoEmail + " and " + crm.NoAddress},
	{`"first_name":"Not","last_name":"Wanted","do_not_mail":true,"do_not_email":true,"emails":[{"value":"n@example.org"}],"addresses":[{"address_1":"5 Mill Lane"}]`, crm.NoWay, crm.NoMailAsked + " and " + crm.NoLetters},
}

func givers(t *testing.T, s *Book, account int64) (ids []int64) {
	t.Helper()
	for i, who := range reachedBy {
		made := create(t, s, account, "{"+who.body+"}")
		in := giftInput(t, fmt.Sprintf(`{"amount":%d,"method":"check","transacted_at":"%s"}`, 10+i,
			s.Now().Format(time.DateOnly)), false, s.Now())
		in.Contact = &made.ID
		must(s.CreateGift(t.Context(), account, in))(t)
		ids = append(ids, made.ID)
	}
	return ids
}

func wantMailing(t *testing.T, at jobs.MailingProgress) {
	t.Helper()
	want := map[crm.Unreached]int64{}
	var mailed, letters int64
	for _, who := range reachedBy {
		switch who.way {
		case crm.ByMail:
			mailed++
		case crm.ByLetter:
			letters++
		default:
			want[who.why]++
		}
	}
	if at.Mailed != mailed || at.Letters != letters || fmt.Sprint(at.Left) != fmt.Sprint(want) {
		t.Errorf("%+v, want %d mails, %d letters, %v", at, mailed, letters, want)
	}
}

// Two people thank for all gifts at once, on two nodes: each gift is thanked for once, by mail or by a letter that
// can be printed.
func TestConcurrentThanksToManyReachEachOnce(t *testing.T) {
	s, other := twoNodes(t)
	office := new(postOffice)
	s.UseRelay(office)
	other.UseRelay(office)
	account := newAccount(t, s).Number
	givers(t, s, account)
	set := must(s.WaitingGifts(t.Context(), account, nil, giving.GiftFilter{}))(t)
	at, first, err := s.PreviewMailing(t.Context(), account, jobs.Mailing{}, set)
	if wantMailing(t, at); err != nil || first == nil ||
		!strings.Contains(fmt.Sprint(first.Says), "Dear Ms. Zed") || waiting(t, s, account) != 7 {
		t.Errorf("%v %+v", err, first)
	}
	var all sync.WaitGroup
	for _, book := range []*Book{s, other} {
		all.Go(func() {
			must(book.BeginMailing(store.By(t.Context(), history.ConsoleChannel, "ada@harbor.example"), account,
				jobs.Mailing{Receipts: true}, set))(t)
		})
	}
	all.Wait()
	finishJobs(t, s, other)
	office.sendAll(t, s)
	expect(t, "mails", "1 3", len(office.taken), waiting(t, s, account))
	var told []jobs.MailingProgress
	var letters []string
	for id := range int64(2) {
		j, err := s.Job(t.Context(), account, id+1)
		var at jobs.MailingProgress
		if err != nil || json.Unmarshal(j.Progress, &at) != nil || j.State != jobs.JobDone || j.Undoable() {
			t.Fatalf("%v %+v", err, j)
		}
		file, err := s.PrintLettersOf(t.Context(), account, j, move.Print{ByZip: true})
		if at.Letters > 0 {
			letters = append(letters, sheets(t, s, file, err)...)
		}
		told = append(told, at)
	}
	a := told[0]
	b := told[1]
	expect(t, "it", "1 3 4 7 7", a.Mailed+b.Mailed, a.Letters+b.Letters, a.Already+b.Already, a.Done(), b.Done())
	text := strings.Join(letters, "|")
	for i := 0; i < len(letters)-1; i += 2 { // each with its receipt behind it
		contains(t, letters[i], "Dear")
		contains(t, letters[i+1], "Receipt number")
	}
	expect(t, "receipts for 4 gifts", "4 1", len(receiptsOf(t, s, account)), len(office.last().Files))
	for _, want := range []string{"Dear Bo and Li,", "Dear Acme Foundation team,", "24103 Kiel", "Xylo", "$11.00",
		"$12.00"} {
		expect(t, "letters lack", "6 true", len(letters), strings.Contains(text, want))
	}
	wantSound(t, s)
}

// Labels by ZIP code are in the order of the codes, whether or not an address names the organization's own country.
// Abroad comes after it, then who has no address.
func TestLabelsAreInTheOrderOfZIPCodes(t *testing.T) {
	s := newBook(t)
	account := newAccount(t, s).Number
	for i, address := range []string{
		`"zipcode":"97001","country":"USA"`, `"zipcode":"10001"`, `"zipcode":"02110-1234","country":"USA"`, `"zipcode":"24103","country":"DEU"`, `"zipcode":"60601"`, `"country":"USA"`, `"zipcode":"02110"`,
	} {
		create(t, s, account, fmt.Sprintf(`{"first_name":"N%d","last_name":"Label","addresses":[{"address_1":"%d Quay","city":"Town",%s}]}`, i, i, address))
	}
	p := must(s.PreparePrint(t.Context(), account, jobs.Selection{All: true, Scope: crm.All},
		move.Print{What: "5160", ByZip: true}))(t)
	file, err := s.PrintFile(t.Context(), account, p)
	page := strings.Join(sheets(t, s, file, err), "")
	var order []string
	for _, found := range regexp.MustCompile(`(\d) Quay`).FindAllStringSubmatch(page, -1) {
		order = append(order, found[1])
	}
	expect(t, "the labels are in the order", "6 2 1 4 0 5 3", strings.Join(order, " "))
}

// Statements go to those who gave in a year, by mail or as letters, and none to the others.
func TestStatementsToMany(t *testing.T) {
	s := newBook(t)
	office := new(postOffice)
	s.UseRelay(office)
	account := newAccount(t, s).Number
	ids := givers(t, s, account)
	create(t, s, account, `{"first_name":"Never","last_name":"Gave","emails":[{"value":"never@example.org"}]}`)
	gone := create(t, s, account, `{"first_name":"Arch","last_name":"Ived","emails":[{"value":"a@example.org"}]}`)
	in := giftInput(t, `{"amount":5,"method":"cash","transacted_at":"`+s.Now().Format(time.DateOnly)+`"}`, false,
		s.Now())
	in.Contact = &gone.ID
	must(s.CreateGift(t.Context(), account, in))(t)
	succeed(t, s.ArchiveContact(t.Context(), account, gone.ID))
	year := int64(s.Now().Year())
	everyone := jobs.Selection{All: true, Scope: crm.All}
	how := move.Print{What: move.PrintStatements, Year: year, ByZip: true}
	p, err := s.PreparePrint(t.Context(), account, everyone, how)
	if err != nil || p.Count() != 5 || p.Left[jobs.GaveNothing] != 1 || p.Left[crm.IsArchived] != 1 ||
		p.Left[crm.IsDeceased] != 1 || p.Left[crm.NoLetters] != 1 {
		t.Fatalf("%v %d %v", err, p.Count(), p.Left)
	}
	file, err := s.PrintFile(t.Context(), account, p)
	pages := sheets(t, s, file, err)
	// by ZIP code, abroad and unknown last
	for i, want := range []string{"4 Mill Lane", "1 Mill Lane", "2 Mill Lane", "24103 Kiel", "No Where"} {
		if len(pages) != 5 || !strings.Contains(pages[i], want) ||
			!strings.Contains(pages[i], "Giving statement for") {
			t.Errorf("page %d of %d lacks %q: %s", i, len(pages), want, pages)
			break
		}
	}
	contains(t, pages[1], "you gave $10.00 to")
	s.Costs.Few = 0 // by sets alone, as with many contacts
	for range 2 {   // what lists are made of stays as it is
		if p, err = s.PreparePrint(t.Context(), account, jobs.Selection{All: true, Scope: crm.Active},
			how); err != nil || p.Count() != 5 || p.Left[jobs.GaveNothing] != 1 {
			t.Errorf("%v %d %v", err, p.Count(), p.Left)
		}
	}
	how.Archived = true
	if p, err = s.PreparePrint(t.Context(), account, everyone, how); err != nil || p.Count() != 6 {
		t.Errorf("%v %d", err, p.Count())
	}
	sheet := move.Print{What: "5160"}
	if p, err = s.PreparePrint(t.Context(), account, everyone, sheet); err != nil || p.Count() != 4 {
		t.Errorf("%v %d %v", err, p.Count(), p.Left)
	}
	file, err = s.PrintFile(t.Context(), account, p)
	if pages := sheets(t, s, file, err); len(pages) != 1 ||
		!strings.HasPrefix(pages[0], "Acme FoundationHafenstraße 324103 KielGERMANY") ||
		!strings.Contains(pages[0], "Ms. Ada Zed1 Mill LaneRiverton, OR 97001") {
		t.Error(pages)
	}
	set := must(s.Selected(t.Context(), account, jobs.Selection{IDs: ids}))(t)
	active := must(s.Selected(t.Context(), account, jobs.Selection{All: true, Scope: crm.Active}))(t)
	if all, _, err := s.PreviewMailing(t.Context(), account, jobs.Mailing{Year: year}, active); err != nil ||
		all.Left[jobs.GaveNothing] != 1 || all.Done() != active.Count() {
		t.Errorf("%v: a preview for %d says %+v", err, active.Count(), all)
	}
	preview, _ := must2(s.PreviewMailing(t.Context(), account, jobs.Mailing{Year: year}, set))(t)
	made := must(s.BeginMailing(t.Context(), account, jobs.Mailing{Year: year}, set))(t)
	finishJobs(t, s)
	office.sendAll(t, s)
	j, err := s.Job(t.Context(), account, made.ID)
	var at jobs.MailingProgress
	if err != nil || json.Unmarshal(j.Progress, &at) != nil {
		t.Fatal(err)
	}
	if wantMailing(t, at); len(office.taken) != 1 ||
		!strings.Contains(office.last().Text(), "$10.00, General, Check") ||
		!strings.Contains(office.last().Text(), "you gave $10.00 to") {
		t.Errorf("%d mails: %s", len(office.taken), office.last().Text())
	}
	if preview.Mailed != at.Mailed || preview.Letters != at.Letters || !maps.Equal(preview.Left, at.Left) {
		t.Errorf("the preview was %+v", preview)
	}
	// Sending the same ones once more, at the same time, mails no one twice.
	must(s.BeginMailing(t.Context(), account, jobs.Mailing{Year: year}, set))(t)
	finishJobs(t, s)
	if office.sendAll(t, s); len(office.taken) != 1 {
		t.Errorf("%d mails", len(office.taken))
	}
	file, err = s.PrintLettersOf(t.Context(), account, j, move.Print{A4: true})
	if pages := sheets(t, s, file, err); len(pages) != 3 || !strings.Contains(pages[0], "Acme") {
		t.Error(pages)
	}
	if told, err := s.MailAbout(t.Context(), account, jobs.AboutStatement(ids[0], year)); err != nil ||
		told == nil {
		t.Errorf("%v %v", err, told)
	}
	data, err := s.ContactData(t.Context(), account, ids[0])
	var own strings.Builder
	if err == nil {
		err = data.Write(t.Context(), &own)
	}
	succeed(t, err)
	contains(t, own.String(), `"mails":[{"kind":"statement","to":"ada@example.org"`)
	erase(t, s, t.Context(), account, ids[0])
	erase(t, s, t.Context(), account, ids[2])
	if told, err := s.MailAbout(t.Context(), account, jobs.AboutStatement(ids[0], year)); err != nil ||
		told != nil {
		t.Errorf("an erased person is in a mail: %v %v", err, told)
	}
	file, err = s.PrintLettersOf(t.Context(), account, j, move.Print{})
	equal(t, len(sheets(t, s, file, err)), 2)
	wantSound(t, s)
}

// A job that was stopped writes to no one more.
func TestAMailingCanBeStopped(t *testing.T) {
	s := newBook(t)
	office := new(postOffice)
	s.UseRelay(office)
	account := newAccount(t, s).Number
	var set db.Set
	for i := range 70 {
		g := giveNow(t, s, account, fmt.Sprintf(`,"first_name":"P%d","last_name":"Q","email":"p%d@example.org"`,
			i, i))
		set.Add(gifts.CodeID(account, g.Code) % 1_000_000_000)
	}
	j := must(s.BeginMailing(t.Context(), account, jobs.Mailing{}, set))(t)
	must(jobs.NewJobWorker(s.JobStore).Round(t.Context(), func(err error) { t.Error(err) }))(t)
	must(s.CancelJob(t.Context(), account, j.ID))(t)
	finishJobs(t, s)
	expect(t, "wait", "20", waiting(t, s, account))
}

// The statement of one year says nothing about that of another: both can be mailed within the hour, each once.
func TestStatementsOfTwoYearsAreTwoMails(t *testing.T) {
	s := newBook(t)
	office := new(postOffice)
	s.UseRelay(office)
	account := newAccount(t, s).Number
	ada := create(t, s, account, `{"first_name":"Ada","last_name":"Lovelace","emails":[{"value":"ada@example.org"}]}`)
	eve := create(t, s, account, `{"first_name":"Eve","last_name":"Later","emails":[{"value":"later@example.org"}]}`)
	var set db.Set
	for _, id := range []int64{ada.ID, eve.ID} {
		set.Add(id % 1_000_000_000)
		for _, day := range []string{"2024-05-05", "2025-05-05"} {
			in := giftInput(t, `{"amount":5,"method":"cash","transacted_at":"`+day+`"}`, false, s.Now())
			in.Contact = &id
			must(s.CreateGift(t.Context(), account, in))(t)
		}
	}
	mailed := func(year int64) (at jobs.MailingProgress) {
		t.Helper()
		j := must(s.BeginMailing(t.Context(), account, jobs.Mailing{Year: year}, set))(t)
		finishJobs(t, s)
		office.sendAll(t, s)
		done, err := s.Job(t.Context(), account, j.ID)
		if err != nil || json.Unmarshal(done.Progress, &at) != nil {
			t.Fatal(err)
		}
		return at
	}
	expect(t, "of 2024", "2", mailed(2024).Mailed)
	if told, err := s.MailAbout(t.Context(), account, jobs.AboutStatement(ada.ID, 2025)); err != nil ||
		told != nil {
		t.Errorf("the statement of 2025 was mailed, says %+v: %v", told, err)
	}
	expect(t, "of 2025", "2", mailed(2025).Mailed)
	for year, subject := range map[int64]string{2024: "Your giving statement for 2024",
		2025: "Your giving statement for 2025"} {
		told, err := s.MailAbout(t.Context(), account, jobs.AboutStatement(ada.ID, year))
		if err != nil || told == nil || !slices.ContainsFunc(office.taken,
			func(l *mail.Letter) bool { return strings.HasPrefix(l.Subject.String(), subject) }) {
			t.Errorf("of %d, it tells %+v: %v", year, told, err)
		}
		// the mail to Eve, whose mailbox is full, still waits
		if at := mailed(year); at.Mailed != 0 || at.Already != 2 {
			t.Errorf("of %d again: %+v", year, at)
		}
	}
	data, err := s.ContactData(t.Context(), account, ada.ID)
	var own strings.Builder
	if err == nil {
		err = data.Write(t.Context(), &own)
	}
	succeed(t, err)
	equal(t, strings.Count(own.String(), `"kind":"statement"`), 2, "%v", own.String())
	wantSound(t, s)
}
