package move

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"slices"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/history"
	"donorbook/internal/crm/text"
	"donorbook/internal/crm/thanks"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/jobs"
	"donorbook/internal/store/merges"
)

// The files of an account are brought back as a job, some lines in each unit of work, so that other accounts go on and
// a command that was killed goes on where it was. All lines are checked before the first one is written. Until the last
// unit nothing else may write to the account, and one that is new has no row in the table of accounts: no one can read
// it, sign in to it or see its campaigns.

// AccountImport says how the files of an account are brought back.
type AccountImport struct {
	Into     string      // the public id of an account that is empty; "" makes a new one
	Region   string      // of phone numbers without + in saved filters
	Progress db.Progress // of each kind of record

	AtOnce int // for a test: lines of one unit of work
}

// AccountImported is what an import has made.
type AccountImported struct {
	Account    access.Account
	Renumbered bool // its ids begin with another number than before
	AccountCounts
	Slugs []string // new addresses of campaigns whose own were taken
}

// AccountCounts is how many records were imported.
type AccountCounts struct {
	Contacts  int64 `json:"contacts"`
	Gifts     int64 `json:"gifts"`
	Plans     int64 `json:"plans"`
	Campaigns int64 `json:"campaigns"`
}

// AccountJob is the kind of the job that brings an account back. Only the command that reads the files works on it.
const AccountJob jobs.JobKind = "account"

// accountSpec is what the job is about.
type accountSpec struct {
	Manifest string         `json:"manifest"` // its SHA-256: only the same files go on
	Into     bool           `json:"into"`     // the account was there before
	Account  access.Account `json:"account"`
	Revision int64          `json:"revision"` // of its last change before the import
	Timezone string         `json:"timezone"` // that it had before
}

// accountProgress is how far the job has come.
type accountProgress struct {
	File  string `json:"file"`
	Lines int64  `json:"lines"` // of that file
	AccountCounts
	Slugs      []string `json:"slugs,omitempty"`
	Discarding bool     `json:"discarding,omitempty"` // what was imported is being removed
}

// UnfinishedAccount is an account whose import has not ended.
type UnfinishedAccount struct {
	ID, Name string
	Into     bool // it was there before
	Job      jobs.Job
	accountProgress
}

var (
	// ErrAccountNotEmpty refuses to mix the data of two accounts.
	ErrAccountNotEmpty = errors.New("the account is not empty: import into a new one, or into one without contacts, campaigns, gifts or plans")

	// ErrOtherFiles refuses files that are not those of the import that has begun.
	ErrOtherFiles = errors.New("the account is being imported from other files: continue with those, or discard that import (account discard)")
)

const (
	sqlAccountJobs = `SELECT ` + jobs.JobColumns + ` FROM job
		WHERE state IN ('uploading', 'mapping', 'waiting', 'running') AND kind = 'account' ORDER BY account_id, id`

	// accountJobID is the number of the job: the account is empty, and has no others. It is not counted, since the
	// numbers of jobs come from the files.
	accountJobID = 1
)

// ImportAccount brings the files of an account back, or goes on where an import of the same files was stopped. Ids stay
// where the number of the account is free, and so does its public id; otherwise their sequence numbers stay.
func (s *MoveStore) ImportAccount(ctx context.Context, files fs.FS,
	how AccountImport,
) (made AccountImported, err error) {
	manifest, fingerprint, err := ReadManifest(files)
	if err != nil {
		return made, err
	}
	now := manifest.latest(s.Now())
	read := func() *accountReader { return newAccountReader(files, &manifest, how.Region, now) }
	checked := read()
	err = checked.each(ctx, func(*noun, int64, int, importLine) error { return nil })
	if err != nil {
		return made, err
	}
	j, err := s.beginAccount(ctx, &checked.line, manifest.Account.Number, how.Into, fingerprint)
	if err != nil {
		return made, err
	}
	run := &accountRun{store: s, job: j, line: &checked.line, was: manifest.Account.Number,
		campaigns: make(map[int64]int64), atOnce: cmp.Or(how.AtOnce, ImportedAtOnce)}
	if err := run.open(ctx); err != nil {
		return made, err
	}
	err = read().each(ctx, func(n *noun, line int64, size int, write importLine) error {
		if err := run.take(ctx, n, line, size, write); err != nil || write == nil {
			return err
		}
		if n.shown != "" && how.Progress != nil {
			how.Progress(n.shown, line, manifest.rows(n.file))
		}
		return nil
	})
	if err == nil {
		err = run.end(ctx)
	}
	if errors.Is(err, jobs.ErrJobMoved) || errors.Is(err, crm.ErrNotFound) {
		err = jobs.ErrImportMoved
	}
	return AccountImported{run.spec.Account, run.renumbered(), run.progress.AccountCounts, run.progress.Slugs}, err
}

// UnfinishedAccounts are the accounts whose imports have not ended.
func (s *MoveStore) UnfinishedAccounts(ctx context.Context) (all []UnfinishedAccount, err error) {
	jobs, err := store.List(ctx, s.Store, jobs.ScanJob, sqlAccountJobs)
	for _, j := range jobs {
		spec, progress, broken := readAccountJob(&j)
		if broken != nil {
			return nil, broken
		}
		all = append(all, UnfinishedAccount{spec.Account.ID, spec.Account.Name, spec.Into, j, progress})
	}
	return all, err
}

func readAccountJob(j *jobs.Job) (spec accountSpec, progress accountProgress, err error) {
	return spec, progress, errors.Join(json.Unmarshal(j.Spec, &spec), json.Unmarshal(j.Progress, &progress))
}

// beginAccount finds the job that imports the same files, or begins one: from then on the account takes no other
// change.
func (s *MoveStore) beginAccount(ctx context.Context, line *AccountLine, was int64, into,
	fingerprint string,
) (j jobs.Job, err error) {
	spec := accountSpec{Manifest: fingerprint, Into: into != ""}
	if spec.Into {
		if spec.Account, err = s.Account(ctx, into); err != nil {
			return j, err
		}
		err = s.Update(ctx, spec.Account.Number, store.Needs{}, func(t *store.Tx) error {
			u, err := t.Hold(spec.Account.Number)
			if err == nil {
				j, err = fillAccount(u, line, spec)
			}
			return err
		})
		return j, err
	}
	err = store.Repeat(func() error {
		return s.UpdateShared(ctx, 0, func(t *store.Tx) error {
			j, err = newAccount(t, line, was, spec)
			return err
		})
	})
	return j, err
}

// fillAccount begins an import into an account that is there, or goes on with it.
func fillAccount(u store.Unit, line *AccountLine, spec accountSpec) (jobs.Job, error) {
	if u.Importing != 0 {
		j, err := store.FindIn(u.Conn, ErrOtherFiles, jobs.ScanJob, jobs.SQLJob, u.Number, u.Importing)
		if known, _, broken := readAccountJob(&j); err == nil && (broken != nil || known.Manifest != spec.Manifest) {
			err = ErrOtherFiles
		}
		return j, err
	}
	fields, err := db.List(u.Conn, store.Number, store.SQLFieldIDs, u.Number)
	if err != nil {
		return jobs.Job{}, err
	}
	if len(fields) > 0 || u.JobSeq > 0 || slices.ContainsFunc(nouns,
		func(n *noun) bool { return n.seq != nil && *n.seq(&u.Tally) > 0 }) {
		return jobs.Job{}, ErrAccountNotEmpty
	}
	if line.Sequences.Oldest > 1 {
		return jobs.Job{}, &FileProblem{File: HistoryFile,
			Reason: "no longer begins with the first change: import into a new account"}
	}
	spec.Timezone, u.Timezone = u.Timezone, cmp.Or(line.Timezone, text.DefaultTimezone)
	return beginImport(u, spec), nil
}

// newAccount begins an import into a new account, or goes on with it. It has the number and the public id that it had,
// where both are free; a number below the last one was given out before.
func newAccount(t *store.Tx, line *AccountLine, was int64, spec accountSpec) (j jobs.Job, err error) {
	if spec.Account, err = access.NewAccount(line.Name, access.Account{}, store.Moment(t.Author.At)); err != nil {
		return j, err
	}
	next, err := store.NextAccount(t) // from here on no other import of a new account begins
	if err != nil {
		return j, err
	}
	jobs, err := db.List(t.Conn, jobs.ScanJob, sqlAccountJobs)
	if err != nil {
		return j, err
	}
	idTaken, err := t.Exists(store.SQLAccountByID, line.ID)
	for _, open := range jobs {
		known, _, broken := readAccountJob(&open)
		switch {
		case broken != nil:
			err = errors.Join(err, broken)
		case known.Manifest == spec.Manifest && !known.Into:
			return open, err
		}
		idTaken = idTaken || known.Account.ID == line.ID
	}
	if err != nil {
		return j, err
	}
	numberTaken, err := t.Exists(store.SQLTally, was)
	if err != nil {
		return j, err
	}
	spec.Account.Number, spec.Account.CreatedAt = next, line.CreatedAt
	if !numberTaken && was >= next {
		spec.Account.Number = was
	}
	if !idTaken && access.IsAccountID(line.ID) {
		spec.Account.ID = line.ID
	}
	a := store.AddTally(t, spec.Account.Number, line.Timezone)
	a.Oldest, a.Revision = line.Sequences.Oldest, line.Sequences.Oldest-1
	return beginImport(t.With(a), spec), nil
}

// beginImport marks an account as one that is being imported.
func beginImport(u store.Unit, spec accountSpec) jobs.Job {
	u.Touch()
	u.Importing, spec.Revision = accountJobID, u.Revision
	at := store.Moment(u.Author.At)
	j := jobs.Job{Account: u.Number, ID: u.Importing, Kind: AccountJob, State: jobs.JobRunning, Actor: u.Author.Who,
		Channel: u.Author.Channel, CreatedAt: at, UpdatedAt: at,
		Spec: jobs.JSONOf(spec), Progress: jobs.JSONOf(accountProgress{})}
	jobs.SaveJob(u.Tx, &j)
	return j
}

// accountRun is an import of an account that this process works on.
type accountRun struct {
	store     *MoveStore
	job       jobs.Job
	spec      accountSpec
	progress  accountProgress
	line      *AccountLine
	was       int64           // the number that the account had
	above     []int64         // accounts that list its campaigns, too
	campaigns map[int64]int64 // ids, as they were and as they are

	atOnce int // lines of one unit of work

	at   int // the place among nouns of the one that was worked on last
	unit []importLine
	size int // bytes of the lines in the unit
}

const (
	// ImportedAtOnce is how many lines one unit of work has at most.
	ImportedAtOnce = 500

	sqlJobParts = `SELECT data FROM job_part WHERE account_id = $1 AND job_id = $2 ORDER BY number`
)

// open reads how far the import has come.
func (r *accountRun) open(ctx context.Context) (err error) {
	if r.spec, r.progress, err = readAccountJob(&r.job); err != nil {
		return err
	}
	if r.progress.Discarding {
		return fmt.Errorf("the unfinished import into account %s is being discarded: run account discard to its end first", r.spec.Account.ID)
	}
	r.at = placeOf(r.progress.File)
	return r.store.View(ctx, func(c db.Conn) (err error) {
		if r.above, err = store.AccountsAbove(c, r.spec.Account); err != nil {
			return err
		}
		return c.Each(func(row db.Row) error { return json.Unmarshal(row.Bytes(0), &r.campaigns) }, sqlJobParts,
			r.job.Account, r.job.ID)
	})
}

func (r *accountRun) renumbered() bool { return r.spec.Account.Number != r.was }

// take adds a line to the unit of work, unless it is done, and does the unit when it is full or the file ends. No write
// is the end of a file.
func (r *accountRun) take(ctx context.Context, of *noun, line int64, size int, write importLine) error {
	at := placeOf(of.file)
	if at < r.at || at == r.at && line <= r.progress.Lines {
		return nil
	}
	if write != nil {
		r.unit, r.size = append(r.unit, write), r.size+size
	}
	if write != nil && len(r.unit) < r.atOnce && r.size < jobs.UnitBytes || len(r.unit) == 0 {
		return nil
	}
	moved, n := make(map[int64]int64), store.Needs{}
	if of.file == CampaignFile {
		n.Also = r.above
	}
	err := r.store.Advance(ctx, &r.job, n, func(u store.Unit, next *jobs.Job) error {
		clear(moved)
		u.Touch()
		w := &accountWriter{Unit: u, accountRun: r, moved: moved, done: r.progress, givers: make(map[int64]bool)}
		w.done.File, w.done.Lines = of.file, line
		for _, write := range r.unit {
			if err := write(w); err != nil {
				return err
			}
		}
		if err := w.place(); err != nil {
			return err
		}
		if len(moved) > 0 {
			u.Save(store.JobPartTable, u.Number, next.ID, line, []byte(jobs.JSONOf(moved)))
		}
		next.Progress = jobs.JSONOf(w.done)
		return nil
	})
	if err != nil {
		return err
	}
	for was, is := range moved {
		r.campaigns[was] = is
	}
	r.unit, r.size, r.at = r.unit[:0], 0, at
	return json.Unmarshal(r.job.Progress, &r.progress)
}

// end counts on from where the account has been, notes where it came from, and makes it one that people can find and
// change.
func (r *accountRun) end(ctx context.Context) error {
	account := &r.spec.Account
	return r.store.Update(r.job.By(ctx), account.Number, store.Needs{}, func(t *store.Tx) error {
		u, err := t.LockAccount(account.Number)
		if err != nil {
			return err
		}
		j, err := store.FindIn(t.Conn, crm.ErrNotFound, jobs.ScanJob, jobs.SQLJob, r.job.Account, r.job.ID)
		if err == nil && string(j.Progress) != string(r.job.Progress) {
			err = jobs.ErrJobMoved
		}
		if err != nil {
			return err
		}
		if !r.spec.Into {
			t.Insert(store.AccountTable, account.Number, account.ID, account.Name, account.Parent,
				account.CreatedAt.UnixMicro())
		}
		for _, c := range r.line.Sequences.counters(&u.Tally) {
			*c.counted = max(*c.counted, *c.kept)
		}
		u.Currency, u.Importing, t.Author.Job = r.line.Currency, 0, 0
		store.SaveSettings(t, u.Number, access.AccountSettings{Address: r.line.Address, TaxID: r.line.TaxID,
			NoReturn: r.line.NoReturn, Logo: r.line.Logo,
			Email: r.line.Email, Website: r.line.Website, PublicDonors: access.PublicDonors(r.line.Donors),
			Receipts: thanks.Wording(r.line.Receipts), Donations: r.line.Donations})
		u.Record(history.SettingNoun, 0, history.DidImport, "")
		if err := merges.Resume(u); err != nil {
			return err
		}
		return jobs.RemoveJob(t, &j)
	})
}

// importLine writes a line that was checked.
type importLine func(*accountWriter) error

// accountReader reads the files of an account and checks each line as if a client had sent it, and by those before it.
// It needs no database.
type accountReader struct {
	nouns    []*noun
	files    fs.FS
	manifest *Manifest
	region   string
	now      time.Time

	row       int64 // of the file that is read
	line      AccountLine
	fields    *custom.Fields
	occasion  string // of the last template
	campaigns map[int64]bool
	pictures  map[string]int64 // campaigns, by the names of the files that they lack
	contacts  int64            // sequence number of the last one
	plans     int64
	gifts     int64
	receipt   int64           // the last one
	receipts  uint64          // those that gifts name, less those that are there
	revision  int64           // of the last change
	merges    int64           // the last one
	merged    map[int64]int64 // the contacts that others were merged into
	dismissed [2]int64        // the last ones that are different people

	seed       maphash.Seed
	references map[uint64]bool // external ids, and names of other records, by their hashes
}

func newAccountReader(files fs.FS, manifest *Manifest, region string, now time.Time) *accountReader {
	return &accountReader{nouns: nouns, files: files, manifest: manifest, region: cmp.Or(region, "US"), now: now,
		fields: custom.NewFields(0, nil), campaigns: make(map[int64]bool), pictures: make(map[string]int64),
		merged: make(map[int64]int64), seed: maphash.MakeSeed(), references: make(map[uint64]bool)}
}

// each reads all lines, and gives each of them to take with what writes it. At the end of a file it gives nil.
func (r *accountReader) each(ctx context.Context,
	take func(n *noun, line int64, size int, write importLine) error,
) error {
	for _, n := range r.nouns {
		r.row = 0
		if n.read == nil || n.lacks != nil && !r.manifest.lists(n.file) && n.lacks(r) {
			continue
		}
		err := r.manifest.eachLine(r.files, n.file, func(line []byte) error {
			r.row++
			size := len(line)
			write, err := n.read(r, line)
			if err != nil {
				return asProblem(err)
			}
			return errors.Join(take(n, r.row, size, write), ctx.Err())
		})
		if err == nil && n.end != nil {
			if reason := n.end(r); reason != "" {
				err = &FileProblem{File: n.file, Reason: reason}
			}
		}
		if err == nil {
			err = take(n, r.row, 0, nil)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// own refuses an id that the account has not given out.
func (r *accountReader) own(id int64) error {
	if store.Foreign(r.manifest.Account.Number, id) {
		return problem("has the id of another account")
	}
	return nil
}

// known refuses a change of a document that the history cannot have.
func (r *accountReader) known(revision int64) error {
	if revision < 0 || revision > r.line.Sequences.Revision {
		return problem("names a change that " + HistoryFile + " does not have")
	}
	return nil
}

// refers refuses a document of a contact or a campaign that the files do not have; 0 is no campaign.
func (r *accountReader) refers(contact, campaign int64) error {
	switch {
	case store.Foreign(r.manifest.Account.Number, contact) || doc.IDSeq(contact) > r.contacts:
		return problem("names a contact that " + ContactFile + " does not have")
	case campaign != 0 && !r.campaigns[campaign]:
		return problem("names a campaign that " + CampaignFile + " does not have")
	}
	return nil
}

// isNew refuses an external id that a record before it has.
func (r *accountReader) isNew(kind, external string) error {
	if external != "" && r.repeats(kind+external) {
		return problem("has the external id of an earlier record")
	}
	return nil
}

// repeats tells whether something that only one record has was there before. It is known by 64 bits of a hash that is
// another one each time: a file that is refused for no reason, once in ten million times where it has a million of
// them, is accepted when it is read again.
func (r *accountReader) repeats(what string) bool {
	hash := maphash.String(r.seed, what)
	known := r.references[hash]
	r.references[hash] = true
	return known
}
