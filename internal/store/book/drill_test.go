//go:build drill

package book

import (
	"bytes"
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"donorbook/internal/crm"
	"donorbook/internal/crm/crmtest"
	"donorbook/internal/crm/doc"
	"donorbook/internal/db"
	"donorbook/internal/rig"
	"donorbook/internal/store"
	"donorbook/internal/store/check"
	"donorbook/internal/store/jobs"
	"donorbook/internal/store/move"
)

func TestALookAtAllTakesLittleMemory(t *testing.T) {
	const contacts = 8_000
	s := openTest(t)
	account := newAccount(t, s)
	text := strings.Builder{}
	text.WriteString("First name,Middle name,Last name,Email,Phone,Address 1,City,Zip\n")
	n := 0
	for row := range crmtest.Households(7, contacts) {
		if n++; n > contacts {
			break
		}
		fmt.Fprintln(&text, strings.Join([]string{cmp.Or(row[2], "Unknown"), row[3], cmp.Or(row[4], "Unknown"), row[5],
			row[6], strings.ReplaceAll(row[7], ",", " "), row[8], row[10]}, ","))
	}
	rows := openTable(t, text.String())
	if _, _, err := s.ImportFile(t.Context(), account.Number, rows, importOf(rows, jobs.ForceCreate), contacts, false,
		func(jobs.ImportProgress) {}); err != nil {
		t.Fatal(err)
	}
	text.Reset()
	defer debug.SetGCPercent(debug.SetGCPercent(20))
	used := func() (m runtime.MemStats) {
		runtime.ReadMemStats(&m)
		return m
	}
	runtime.GC()
	before, most := used().HeapAlloc, uint64(0)
	succeed(t, s.FindDuplicates(t.Context(), account.Number, func(float64) { most = max(most, used().HeapAlloc) }))
	perContact := (int64(most) - int64(before)) / contacts
	t.Logf("%d bytes a contact", perContact)
	if perContact > 1000 {
		t.Errorf("a look took %d bytes a contact, want at most 1,000", perContact)
	}
}

// TestAnAccountIsDerivedBlockByBlock: however many contacts an account has, what was worked out is written before
// more is read.
func TestAnAccountIsDerivedBlockByBlock(t *testing.T) {
	const blocks, each, tags = 100, 40, 5
	for _, e := range testEngines { // not at once, because the memory is measured
		t.Run(e.name, func(t *testing.T) {
			s := open(t, e.options(t))
			closeAfter(t, s)
			account := newAccount(t, s).Number
			err := s.UpdateAccount(t.Context(), account, func(x *store.Tx) error {
				for i := range int64(blocks * each) {
					contact := crm.Contact{ID: doc.MakeID(account, i/each*db.BlockSize+i%each+1), FirstName: "A",
						CreatedAt: time.Now(), UpdatedAt: time.Now()}
					for n := range int64(tags) {
						contact.Tags = append(contact.Tags, fmt.Sprintf("t%d", i%each*tags+n))
					}
					body := contact.AppendBody(nil)
					row := store.StoredContact{ID: contact.ID, CreatedAt: i + 1, Body: body,
						Checksum: store.Checksum(body), Contact: contact}
					x.Insert(store.ContactTable, row.Values(account)...)
				}
				return nil
			})
			succeed(t, err)
			inUse := func() uint64 {
				runtime.GC()
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				return m.HeapAlloc
			}
			var most, before uint64
			written := 0
			spyOn(t, s).wrote = func(sql string) {
				if strings.Contains(sql, "contact_set") {
					if written++; written <= 50 || written%1000 == 0 {
						most = max(most, inUse())
					}
				}
			}
			err = s.UpdateAccount(t.Context(), account, func(x *store.Tx) error {
				before = inUse()
				return check.Rebuild(x.Tx, account, true)
			})
			succeed(t, err)
			if grown := int64(most) - int64(before); written < 10 || grown > 2<<20 {
				t.Errorf("%d statements: %d bytes are in use while sets are written", written, grown)
			}
			err = s.Read(t.Context(), func(c db.Conn) error {
				n, err := c.Int(`SELECT COUNT(*) FROM contact_set WHERE account_id = $1 AND name = 't:t7'`, account)
				equal(t, n, blocks, "a tag has blocks")
				return err
			})
			succeed(t, err)
		})
	}
}

// TestASmallImportDoesNotWaitForALargeFile: the file of another account, which was begun before, is still being
// counted when it is done. The large one can be canceled meanwhile, and the server stopped.
func TestASmallImportDoesNotWaitForALargeFile(t *testing.T) {
	ctx := t.Context()
	file := rig.Workbook(t, "first_name,last_name\n"+ // it takes seconds to be counted
		strings.Repeat("Ana,Rossi\n", jobs.PreviewRows)+strings.Repeat(",\n", 1_000_000)+"Jo,Doe")
	s := newBook(t)
	account, other := newAccount(t, s).Number, newAccount(t, s).Number
	large := must(s.UploadImport(ctx, account, jobs.ImportContacts, "people.xlsx", "US",
		bytes.NewReader(file)))(t)
	small := upload(t, s, other, "first_name,last_name\nEva,Meyer\n")
	begin(t, s, large, false)
	begin(t, s, small, true)
	w := jobs.NewJobWorker(s.JobStore)
	workUntil(t, w, func() bool { return stateOf(t, s, small) == jobs.JobMapping })
	begin(t, s, small, false)
	workUntil(t, w, func() bool { return stateOf(t, s, small) == jobs.JobDone })
	equal(t, stateOf(t, s, large), jobs.JobWaiting, "the large import is when the small one is done")
	must(s.CancelJob(ctx, account, large.ID))(t)
	run := w.Runs[large.Of()].(*jobs.ImportRun)
	if _ = workRound(t, w); len(w.Runs) != 0 {
		t.Errorf("%d files are open after the import was canceled", len(w.Runs))
	}
	if run.Total > jobs.PreviewRows {
		t.Error("the file was read to its end after the import was canceled")
	}
}

// A copy goes by pieces of 5,000 rows: this one takes two whole ones of contacts, a part of one, and many of other
// tables.
func TestACopyOfManyContactsThereAndBack(t *testing.T) {
	t.Parallel()
	const contacts = 11_000
	there, back := bothEngines[1].options(t), store.Options{Data: t.TempDir()}
	from := store.Options{Data: t.TempDir()}
	began := time.Now()
	lap := func(what string) {
		t.Logf("%s: %.1f s", what, time.Since(began).Seconds())
		began = time.Now()
	}
	a := openLarge(t, from)
	fillContacts(t, a, newAccount(t, a).Number, contacts)
	lap("fill")
	first := mustCopy(t, from, there, move.CopyOptions{})
	lap("there")
	second := mustCopy(t, there, back, move.CopyOptions{})
	lap("back")
	if diff := gocmp.Diff(first, second); diff != "" || first.Tables[0].Rows != contacts {
		t.Errorf("the reports differ:\n%s", diff)
	}
	b, c := openLarge(t, there), openLarge(t, back)
	sameAnswers(t, a, b)
	lap("compare with PostgreSQL")
	sameAnswers(t, a, c)
	lap("compare with SQLite")
}

// openLarge opens a store that is too large to be checked completely when the test ends.
func openLarge(t *testing.T, o store.Options) *Book {
	t.Helper()
	s := must(Open(t.Context(), o))(t)
	t.Cleanup(func() {
		succeed(t, s.Close())
	})
	return s
}

// A machine that has one of the accounts is away, so that a question about all accounts fails. The jobs of the others
// go on.
func TestJobsOfOtherAccountsGoOnWhileAMachineIsAway(t *testing.T) {
	ctx := t.Context()
	s := must(Open(ctx, bothEngines[1].options(t)))(t)
	defer s.Close() //nolint:errcheck // its tables are no longer ours
	away, healthy := newAccount(t, s).Number, newAccount(t, s).Number
	succeed(t, s.DB().Rebuild(ctx, func(tx *db.Tx) error {
		for _, account := range []int64{away, healthy} {
			tx.Insert(store.JobTable, account, int64(1), "import", "mapping", "", int64(0), int64(0), int64(0), "{}",
				"{}", int64(0), int64(0), int64(0))
		}
		if err := tx.Flush(); err != nil {
			return err
		}
		for _, sql := range []string{
			`CREATE FUNCTION reachable(account BIGINT, missing BIGINT) RETURNS BOOLEAN LANGUAGE plpgsql AS
				'BEGIN IF account = missing THEN RAISE EXCEPTION ''connection to the remote node failed'' USING ERRCODE = ''08006''; END IF; RETURN true; END'`,
			`ALTER TABLE job RENAME TO stored_job`,
		} {
			if _, err := tx.Exec(sql); err != nil {
				return err
			}
		}
		return errOf(tx.Exec(
			`CREATE VIEW job AS SELECT * FROM stored_job WHERE reachable(account_id, ` + strconv.FormatInt(away,
				10) + `)`))
	}))
	found := must(store.ListAll(ctx, s.Store, jobs.ScanOpenJob, jobs.SQLOpenJobs, jobs.SQLOpenJobsOf))(t)
	if len(found) != 1 || found[0].Account != healthy {
		t.Errorf("%+v", found)
	}
}
