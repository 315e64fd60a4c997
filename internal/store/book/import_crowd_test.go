package book

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"donorbook/internal/crm/sheet"
	"donorbook/internal/store/jobs"
)

// crowdFile has people of whom each has a name of its own; phone tells the phone of a row.
func crowdFile(people int, phone func(i int) int) string {
	var file strings.Builder
	file.WriteString("First name,Last name,Phone\n")
	for i := range people {
		fmt.Fprintf(&file, "Person %d,Moss,+1 617 555 %04d\n", i, phone(i))
	}
	return file.String()
}

func onePhone(int) int { return 100 }

// TestManyPeopleOnOnePhoneCostWhatOthersDo: the import and the dry run of a file in which all people have one phone send as many statements as with a phone
// for each, and one to note each row, and one in each unit of work.
func TestManyPeopleOnOnePhoneCostWhatOthersDo(t *testing.T) {
	const people = 300
	units := int64(people/jobs.UnitRows + 1)
	eachEngine(t, func(t *testing.T, s *Book) {
		spied := spyOn(t, s)
		var statements atomic.Int64
		count := func(string) { statements.Add(1) }
		spied.read, spied.wrote, spied.asked = count, count, count
		counted := func(file string, work func(account int64, file string) jobs.ImportCounts) int64 {
			account := newAccount(t, s).Number
			before := statements.Load()
			expect(t, "the file gives", "300", work(account, file).Created)
			return statements.Load() - before
		}
		for name, work := range map[string]func(int64, string) jobs.ImportCounts{
			"import": func(account int64, file string) jobs.ImportCounts {
				return importFile(t, s, account, file, jobs.MergeExisting).Progress.ImportCounts
			},
			"dry run": func(account int64, file string) jobs.ImportCounts { return tryFile(t, s, account, file) },
		} {
			own, shared := counted(crowdFile(people, func(i int) int { return i }), work), counted(crowdFile(people, onePhone), work)
			if shared > own+people+units+10 {
				t.Errorf("an %s with one phone takes %d statements, and %d with a phone for each", name, shared, own)
			}
		}
	})
}

func tryFile(t testing.TB, s *Book, account int64, file string) jobs.ImportCounts {
	t.Helper()
	rows := openTable(t, file)
	spec := importOf(rows, jobs.MergeExisting)
	spec.Mapping = sheet.Contacts.Recognize(rows.Header(), nil, lookAt(t, file))
	tried := must(s.TryFile(t.Context(), account, rows, spec, func(jobs.TrialRow) error { return nil }, func(jobs.ImportCounts) {}))(t)
	return tried.ImportCounts
}

// TestEachOfManyOnOnePhoneIsFoundAgain: within the file, by the dry run as by the import, and when the file comes again.
func TestEachOfManyOnOnePhoneIsFoundAgain(t *testing.T) {
	const people = 120
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		once := crowdFile(people, onePhone)
		twice := once + strings.ToUpper(once[strings.IndexByte(once, '\n')+1:])
		tried := tryFile(t, s, account, twice)
		got := importFile(t, s, account, twice, jobs.MergeExisting).Progress.ImportCounts
		expect(t, "imported", "true", got == (jobs.ImportCounts{Rows: 2 * people, Created: people, Unchanged: people, OtherName: people - 1}))
		expect(t, "the dry run has found", "true true", tried.Created == got.Created, tried.OtherName == got.OtherName)
		archive(t, s, account, 1)
		again := importOnce(t, s, account, once)
		expect(t, "after one was archived, the file again gives", "1 119 1", again.Created, again.Unchanged, again.OtherName)
		expect(t, "and a dry run then", "120", tryFile(t, s, account, once).Unchanged)
	})
}

// importOnce imports a file, whether it was imported before or not.
func importOnce(t testing.TB, s *Book, account int64, file string) jobs.ImportCounts {
	t.Helper()
	rows := openTable(t, file)
	spec := importOf(rows, jobs.MergeExisting)
	spec.Mapping = sheet.Contacts.Recognize(rows.Header(), nil, lookAt(t, file))
	im, _ := must2(s.ImportFile(t.Context(), account, rows, spec, 0, true, func(jobs.ImportProgress) {}))(t)
	return im.Progress.ImportCounts
}
