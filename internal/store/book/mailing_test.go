package book

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"

	reader "github.com/dslipak/pdf"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/jobs"
	"donorbook/internal/store/move"
)

// sheets are the texts of the pages of a PDF file.
func sheets(s *org, e *move.Export, err error) []string {
	s.Helper()
	succeed(s, err)
	var file bytes.Buffer
	succeed(s, e.Write(s.Context(), &file, func(_, _ int64) {}))
	return pagesOf(s.T, file.Bytes())
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
	{`"first_name":"Ada","last_name":"Zed","prefix":"Ms.","emails":[{"value":"ada@example.org"}],
		"addresses":[{"address_1":"1 Mill Lane","city":"Riverton","state":"OR","zipcode":"97001"}]`, crm.ByMail, ""},
	{`"first_name":"Bo & Li","last_name":"Young","do_not_email":true,"emails":[{"value":"bo@example.org"}],
		"addresses":[{"address_1":"2 Mill Lane","city":"Riverton","state":"OR","zipcode":"97002"}]`, crm.ByLetter, ""},
	{`"type":"company","company":"Acme Foundation","addresses":[{"address_1":"Hafenstraße 3","city":"Kiel",
		"zipcode":"24103","country":"DEU"}]`, crm.ByLetter, ""},
	{`"first_name":"محمد","last_name":"Xylo","emails":[{"value":"x@example.org"}],"bounced_email":"x@example.org",
		"addresses":[{"address_1":"4 Mill Lane","city":"Riverton","state":"OR","zipcode":"97000"}]`, crm.ByLetter, ""},
	{`"first_name":"Dee","last_name":"Ceased","deceased":true,"emails":[{"value":"dee@example.org"}]`, crm.NoWay,
		crm.IsDeceased},
	{`"first_name":"No","last_name":"Where"`, crm.NoWay, crm.NoEmail + " and " + crm.NoAddress},
	{`"first_name":"Not","last_name":"Wanted","do_not_mail":true,"do_not_email":true,
		"emails":[{"value":"n@example.org"}],"addresses":[{"address_1":"5 Mill Lane"}]`, crm.NoWay,
		crm.NoMailAsked + " and " + crm.NoLetters},
}

func givers(s *org) (ids []int64) {
	s.Helper()
	for i, who := range reachedBy {
		ids = append(ids, s.person("{"+who.body+"}"))
		must(s.CreateGift(s.Context(), s.Number, giftInput(s, fmt.Sprintf(
			`{"amount":%d,"method":"check","transacted_at":"2026-11-16","contact_id":%d}`, 10+i, ids[i]), true,
			s.Now())))(s)
	}
	return ids
}

// mailing writes to a set, and returns the job and what it has done.
func (s *org) mailing(m jobs.Mailing, set db.Set) (jobs.Job, jobs.MailingProgress) {
	s.Helper()
	made := must(s.BeginMailing(s.Context(), s.Number, m, set))(s)
	finishJobs(s, s.Book)
	s.sent()
	return s.mailed(made.ID)
}

func (s *org) mailed(id int64) (j jobs.Job, at jobs.MailingProgress) {
	s.Helper()
	j = must(s.Job(s.Context(), s.Number, id))(s)
	succeed(s, json.Unmarshal(j.Progress, &at))
	return j, at
}

func wantMailing(t *testing.T, at jobs.MailingProgress) {
	t.Helper()
	reached, left := map[crm.Way]int64{}, map[crm.Unreached]int64{}
	for _, who := range reachedBy {
		if reached[who.way]++; who.way == crm.NoWay {
			left[who.why]++
		}
	}
	expect(t, "mails, letters and those left out", fmt.Sprint(reached[crm.ByMail], reached[crm.ByLetter], left),
		at.Mailed, at.Letters, at.Left)
}

// Two people thank for all gifts at once, on two nodes: each gift is thanked for once, by mail or by a letter that
// can be printed.
func TestConcurrentThanksToManyReachEachOnce(t *testing.T) {
	s, other := twoOffices(t)
	givers(s)
	set := must(s.WaitingGifts(t.Context(), s.Number, nil, giving.GiftFilter{}))(t)
	at, first := must2(s.PreviewMailing(t.Context(), s.Number, jobs.Mailing{}, set))(t)
	wantMailing(t, at)
	contains(t, fmt.Sprint(first.Says), "Dear Ms. Zed")
	expect(t, "a preview leaves waiting", "7", s.waiting())
	var all sync.WaitGroup
	for _, book := range []*Book{s.Book, other} {
		all.Go(func() {
			must(book.BeginMailing(store.By(t.Context(), history.ConsoleChannel, "ada@harbor.example"), s.Number,
				jobs.Mailing{Receipts: true}, set))(t)
		})
	}
	all.Wait()
	finishJobs(t, s.Book, other)
	expect(t, "mails", "1 3", s.sent(), s.waiting())
	var told [2]jobs.MailingProgress
	var letters []string
	for id := range int64(2) {
		j, at := s.mailed(id + 1)
		expect(t, "a job is", "done false", j.State, j.Undoable())
		if told[id] = at; at.Letters > 0 {
			file, err := s.PrintLettersOf(t.Context(), s.Number, j, move.Print{ByZip: true})
			letters = append(letters, sheets(s, file, err)...)
		}
	}
	a, b := told[0], told[1]
	expect(t, "it", "1 3 4 7 7", a.Mailed+b.Mailed, a.Letters+b.Letters, a.Already+b.Already, a.Done(), b.Done())
	equal(t, len(letters), 6)
	for i := 0; i < len(letters)-1; i += 2 { // each with its receipt behind it
		contains(t, letters[i], "Dear")
		contains(t, letters[i+1], "Receipt number")
	}
	expect(t, "receipts for 4 gifts", "4 1", len(s.receipts()), len(s.office.last().Files))
	for _, want := range []string{"Dear Bo and Li,", "Dear Acme Foundation team,", "24103 Kiel", "Xylo", "$11.00",
		"$12.00"} {
		contains(t, strings.Join(letters, "|"), want, "a letter")
	}
	wantSound(t, s.Book)
}

// Labels by ZIP code are in the order of the codes, whether or not an address names the organization's own country.
// Abroad comes after it, then who has no address.
func TestLabelsAreInTheOrderOfZIPCodes(t *testing.T) {
	s := newOrg(t, newBook(t))
	for i, address := range []string{
		`"zipcode":"97001","country":"USA"`, `"zipcode":"10001"`, `"zipcode":"02110-1234","country":"USA"`,
		`"zipcode":"24103","country":"DEU"`, `"zipcode":"60601"`, `"country":"USA"`, `"zipcode":"02110"`,
	} {
		s.person(fmt.Sprintf(
			`{"first_name":"N%d","last_name":"Label","addresses":[{"address_1":"%d Quay","city":"Town",%s}]}`, i, i,
			address))
	}
	p := must(s.PreparePrint(t.Context(), s.Number, jobs.Selection{All: true, Scope: crm.All},
		move.Print{What: "5160", ByZip: true}))(t)
	file, err := s.PrintFile(t.Context(), s.Number, p)
	found := regexp.MustCompile(`\d Quay`).FindAllString(strings.Join(sheets(s, file, err), ""), -1)
	expect(t, "the labels are in the order", "6 2 1 4 0 5 3", strings.ReplaceAll(strings.Join(found, " "), " Quay", ""))
}

// Statements go to those who gave in a year, by mail or as letters, and none to the others.
func TestStatementsToMany(t *testing.T) {
	s := newOrg(t, newBook(t))
	s.UseRelay(s.office)
	ids := givers(s)
	s.person(`{"first_name":"Never","last_name":"Gave","emails":[{"value":"never@example.org"}]}`)
	gone := s.person(`{"first_name":"Arch","last_name":"Ived","emails":[{"value":"a@example.org"}]}`)
	s.gave(gone, "2026-11-16", "")
	archive(t, s.Book, s.Number, gone)
	everyone, active := jobs.Selection{All: true, Scope: crm.All}, jobs.Selection{All: true, Scope: crm.Active}
	how := move.Print{What: move.PrintStatements, Year: 2026, ByZip: true}
	prints := func(of jobs.Selection, how move.Print, want int64) *move.Printing {
		t.Helper()
		p := must(s.PreparePrint(t.Context(), s.Number, of, how))(t)
		equal(t, p.Count(), want, "%+v of %+v, without %v", how, of, p.Left)
		return p
	}
	printed := func(p *move.Printing, want ...string) {
		t.Helper()
		file, err := s.PrintFile(t.Context(), s.Number, p)
		pages := sheets(s, file, err)
		equal(t, len(pages), len(want))
		for i, page := range pages {
			contains(t, page, want[i], "page %d", i)
		}
	}
	p := prints(everyone, how, 5)
	equal(t, p.Left, map[crm.Unreached]int64{jobs.GaveNothing: 1, crm.IsArchived: 1, crm.IsDeceased: 1,
		crm.NoLetters: 1})
	// by ZIP code, abroad and unknown last
	printed(p, "4 Mill Lane", "1 Mill Lane", "2 Mill Lane", "24103 Kiel", "No Where")
	printed(p, "statement for", "you gave $10.00 to", "statement for", "statement for", "statement for")
	s.Costs.Few = 0 // by sets alone, as with many contacts
	for range 2 {   // what lists are made of stays as it is
		equal(t, prints(active, how, 5).Left[jobs.GaveNothing], 1)
	}
	how.Archived = true
	prints(everyone, how, 6)
	labels := prints(everyone, move.Print{What: "5160"}, 4)
	printed(labels, "Acme FoundationHafenstraße 324103 KielGERMANY")
	printed(labels, "Ms. Ada Zed1 Mill LaneRiverton, OR 97001")
	year := jobs.Mailing{Year: 2026}
	all := must(s.Selected(t.Context(), s.Number, active))(t)
	preview, _ := must2(s.PreviewMailing(t.Context(), s.Number, year, all))(t)
	expect(t, "a preview leaves out", fmt.Sprint("1 ", all.Count()), preview.Left[jobs.GaveNothing], preview.Done())
	set := must(s.Selected(t.Context(), s.Number, jobs.Selection{IDs: ids}))(t)
	preview, _ = must2(s.PreviewMailing(t.Context(), s.Number, year, set))(t)
	wantMailing(t, preview)
	j, at := s.mailing(year, set)
	wantMailing(t, at)
	contains(t, s.office.last().Text(), "$10.00, General, Check")
	contains(t, s.office.last().Text(), "you gave $10.00 to")
	s.mailing(year, set)
	expect(t, "mails, also where the same ones are sent at the same time", "1", s.sent())
	letters := func(how move.Print) []string {
		file, err := s.PrintLettersOf(t.Context(), s.Number, j, how)
		return sheets(s, file, err)
	}
	equal(t, len(letters(move.Print{A4: true})), 3)
	contains(t, letters(move.Print{A4: true})[0], "Acme")
	about := jobs.AboutStatement(ids[0], 2026)
	equal(t, s.mailAbout(about) != nil, true, "a mail about the statement")
	contains(t, s.own(ids[0]), `"mails":[{"kind":"statement","to":"ada@example.org"`)
	s.erase(ids[0])
	s.erase(ids[2])
	equal(t, s.mailAbout(about), nil, "a mail about an erased person")
	equal(t, len(letters(move.Print{})), 2)
	wantSound(t, s.Book)
}

// A job that was stopped writes to no one more.
func TestAMailingCanBeStopped(t *testing.T) {
	s := newOrg(t, newBook(t))
	s.UseRelay(s.office)
	var set db.Set
	for i := range 70 {
		g := s.given(fmt.Sprintf(`,"first_name":"P%d","last_name":"Q","email":"p%d@example.org"`, i, i))
		set.Add(doc.IDSeq(store.CodeID(s.Number, g.Code)))
	}
	j := must(s.BeginMailing(t.Context(), s.Number, jobs.Mailing{}, set))(t)
	must(jobs.NewJobWorker(s.JobStore).Round(t.Context(), func(err error) { t.Error(err) }))(t)
	must(s.CancelJob(t.Context(), s.Number, j.ID))(t)
	finishJobs(t, s.Book)
	expect(t, "wait", "20", s.waiting())
}

// The statement of one year says nothing about that of another: both can be mailed within the hour, each once.
func TestStatementsOfTwoYearsAreTwoMails(t *testing.T) {
	s := newOrg(t, newBook(t))
	s.UseRelay(s.office)
	ada := s.person(`{"first_name":"Ada","last_name":"Lovelace","emails":[{"value":"ada@example.org"}]}`)
	eve := s.person(`{"first_name":"Eve","last_name":"Later","emails":[{"value":"later@example.org"}]}`)
	var set db.Set
	for _, id := range []int64{ada, eve} {
		set.Add(doc.IDSeq(id))
		s.gave(id, "2024-05-05", "")
		s.gave(id, "2025-05-05", "")
	}
	mailed := func(year int64) string {
		t.Helper()
		_, at := s.mailing(jobs.Mailing{Year: year}, set)
		told := s.mailAbout(jobs.AboutStatement(ada, 2025)) != nil
		return fmt.Sprint(at.Mailed, at.Already, s.sent(), s.office.last().Subject, told)
	}
	expect(t, "of 2024", "2 0 1 Your giving statement for 2024 from Test false", mailed(2024))
	expect(t, "of 2025", "2 0 2 Your giving statement for 2025 from Test true", mailed(2025))
	for _, year := range []int64{2024, 2025} { // the mail to Eve, whose mailbox is full, still waits
		expect(t, "again", "0 2 2 Your giving statement for 2025 from Test true", mailed(year))
		equal(t, s.mailAbout(jobs.AboutStatement(ada, year)) != nil, true, "a mail about %d", year)
	}
	equal(t, strings.Count(s.own(ada), `"kind":"statement"`), 2)
	wantSound(t, s.Book)
}
