package book

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"runtime/debug"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"donorbook/internal/crm/access"
	"donorbook/internal/crm/crmtest"
	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/history"
	"donorbook/internal/crm/mail"
	"donorbook/internal/crm/sheet"
	"donorbook/internal/rig/drill"
	"donorbook/internal/store"
	"donorbook/internal/store/jobs"
	"donorbook/internal/store/merges"
	"donorbook/internal/store/move"
)

// A part of a job that panics does not end the process. The job is tried some times and fails, and is not taken up
// again; the log says where it happened and nothing of the people whom it was about. The jobs of others go on.
func TestAJobThatPanicsEndsAlone(t *testing.T) {
	const file = "First,Last\nSecretname,Ruiz\n"
	for what, begun := range map[string]func(t *testing.T, s *Book, account int64) (job int64){
		"its step": func(t *testing.T, s *Book, account int64) (job int64) {
			explode := func(context.Context, *jobs.JobWorker, *jobs.Job) error { panic(errors.New("Secretname Ruiz")) }
			s.Use(merges.MoveKind, move.EraseKind, jobs.Kind{Step: explode}, move.EraseAll, s.LookOnce)
			succeed(t, s.UpdateAccount(t.Context(), account, func(tx *store.Tx) error {
				made := jobs.NewJob(tx.Account(account), jobs.SureJob, jobs.JobWaiting, struct{}{})
				jobs.SaveJob(tx, made)
				job = made.ID
				return nil
			}))
			return job
		},
		"the reading of its file": func(t *testing.T, s *Book, account int64) (job int64) {
			im := upload(t, s, account, file)
			begin(t, s, im, false)
			explodeIn(s, ".Prepare(")
			return im.ID
		},
		"the reading of its file in a preview": func(t *testing.T, s *Book, account int64) (job int64) {
			im := upload(t, s, account, file)
			begin(t, s, im, true)
			explodeIn(s, ".Prepare(")
			return im.ID
		},
	} {
		t.Run(what, func(t *testing.T) {
			eachEngine(t, func(t *testing.T, s *Book) {
				account, other := newAccount(t, s).Number, newAccount(t, s).Number
				job := begun(t, s, account)
				var told []string
				for range jobs.JobTries {
					w := jobs.NewJobWorker(s.JobStore) // a look, once a minute
					for before := len(told); len(told) == before; {
						busy := must(w.Round(t.Context(), func(err error) { told = append(told, err.Error()) }))(t)
						if !busy && len(told) == before {
							<-w.Ready // something was read
						}
					}
					w.Forget(nil)
				}
				for _, said := range told {
					contains(t, said, "panic: ", "the log says")
					contains(t, said, "panic_test.go", "the log says")
					equal(t, strings.Contains(said, "Secretname"), false, "the log says")
				}
				j := must(s.Job(t.Context(), account, job))(t)
				expect(t, "the job is", "failed false", j.State, j.Trouble().Error == "")
				s.Now = time.Now
				im := upload(t, s, other, file)
				begin(t, s, im, false)
				finishJobs(t, s) // which hears of no error
				wantJob(t, s, other, im.ID, jobs.JobDone, 1)
			})
		})
	}
}

// explodeIn makes a part of the program panic that looks at the clock.
func explodeIn(s *Book, part string) {
	s.Now = func() time.Time {
		if strings.Contains(string(debug.Stack()), part) {
			panic("Secretname Ruiz")
		}
		return time.Now()
	}
}

// A mail over which the sender panics holds up no other, and is given up in the end.
func TestAMailThatPanicsHoldsUpNoOther(t *testing.T) {
	s := newBook(t)
	clock := stopClock(s)
	office := new(postOffice)
	s.UseRelay(relayFunc(func(ctx context.Context, l *mail.Letter) error {
		if strings.HasPrefix(l.To.String(), "bad") {
			panic(l.To.String())
		}
		return office.Send(ctx, l)
	}))
	account := newAccount(t, s)
	ada := newUser(t, s, account, access.Owner, "Ada")
	for _, to := range []string{"bad@example.org", "good@example.org"} {
		must2(s.Invite(t.Context(), account, ada, access.Viewer, to))(t)
	}
	told := 0
	for range 3 {
		succeed(t, s.SendDue(t.Context(), "https://donors.example", func(err error) {
			if told++; strings.Contains(err.Error(), "bad@") || !strings.Contains(err.Error(), "panic: ") {
				t.Errorf("the log says %v", err)
			}
		}))
		clock.move(mail.Lease + 48*time.Hour)
	}
	expect(t, "mails have left", "1 1", told, len(office.taken))
}

// fileOfEveryCell has a column for each field of a noun, and each value in each of them: a few columns have one in a
// row, those that are needed one by one.
func fileOfEveryCell(of *sheet.Sheet, needed map[string]string) (mapping sheet.Mapping, file string, rows int64) {
	targets := of.Targets()
	for _, target := range targets {
		mapping = append(mapping, sheet.Column{Name: target, Target: target})
	}
	var text strings.Builder
	w := csv.NewWriter(&text)
	write := func(cell func(at int) string) {
		row := make([]string, 0, len(targets))
		for at := range targets {
			row = append(row, cell(at))
		}
		_ = w.Write(row)
		rows++
	}
	write(func(at int) string { return targets[at] })
	const beside = 12 // columns between two that have a value
	var plain, strange []string
	for _, cell := range crmtest.Cells() {
		switch {
		// a file that begins with such bytes is no table
		case strings.ContainsAny(cell, "\x00\x01") || !utf8.ValidString(cell):
			strange = append(strange, cell)
		case len(cell) < 20_000:
			plain = append(plain, cell)
		}
	}
	for _, cells := range [][]string{plain, strange} {
		for i := range cells {
			if !drill.On && i%4 > 0 {
				continue
			}
			for from := range beside {
				write(func(at int) string {
					if needed[targets[at]] == "" && at%beside == from {
						return cells[(i+at)%len(cells)]
					}
					return needed[targets[at]]
				})
			}
			for alone := range needed {
				write(func(at int) string {
					if targets[at] == alone {
						return cells[i]
					}
					return needed[targets[at]]
				})
			}
		}
	}
	w.Flush()
	return mapping, text.String(), rows - 1
}

// Whatever stands in whatever column of a file, its preview and its import come to their end and agree, and what was
// recorded is sound.
func TestEveryCellOfEveryColumnIsImported(t *testing.T) {
	for of, noun := range map[string]*sheet.Sheet{jobs.ImportContacts: sheet.Contacts, jobs.ImportGifts: sheet.Gifts} {
		t.Run(cmp.Or(of, "contacts"), func(t *testing.T) {
			needed := map[string]string{"first_name": "Ana", "last_name": "Ruiz", "amount": "5",
				"transacted_at": "2026-01-31"}
			mapping, file, rows := fileOfEveryCell(noun, needed)
			eachEngine(t, func(t *testing.T, s *Book) {
				newAccount(t, s) // whose contacts and campaigns have the small numbers that cells hold
				account := newAccount(t, s).Number
				for _, kind := range custom.FieldTypes {
					in := custom.FieldInput{Title: string(kind), Type: kind}
					if kind == custom.SelectField {
						in.Options = []string{"small", "large"}
					}
					must(s.DefineField(t.Context(), account, in))(t)
				}
				im := must(s.UploadImport(store.By(t.Context(), history.ConsoleChannel, "ana@example.org"), account,
					of, "file.csv", "US", strings.NewReader(file)))(t)
				im.Spec.Mapping = mapping
				begin(t, s, im, true)
				finishJobs(t, s)
				tried, err := s.Import(t.Context(), account, im.ID)
				if err != nil || tried.State != jobs.JobMapping || tried.Progress.Tried == nil {
					t.Fatalf("%v: the preview ended as %s: %+v", err, tried.State, tried.Progress)
				}
				begin(t, s, im, false)
				finishJobs(t, s)
				done, err := s.Import(t.Context(), account, im.ID)
				if err != nil || done.State != jobs.JobDone || done.Progress.Rows != rows {
					t.Fatalf("%v: the import of %d rows ended as %s: %+v", err, rows, done.State, done.Progress)
				}
				expect(t, "the preview has told", "true", *tried.Progress.Tried == done.Progress.ImportCounts)
				if c := done.Progress.ImportCounts; c.Created < rows/2 {
					t.Errorf("most rows say too little: %+v", c)
				}
				checked(t, s)
			})
		})
	}
}
