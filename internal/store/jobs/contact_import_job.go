package jobs

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/sheet"
	"donorbook/internal/db"
	"donorbook/internal/guard"
	"donorbook/internal/store"
	"donorbook/internal/table"
)

const (
	sqlImports       = `SELECT ` + JobColumns + ` FROM job WHERE account_id = $1 AND kind = 'import' ORDER BY id DESC`
	sqlImportsBefore = `SELECT ` + JobColumns + ` FROM job WHERE account_id = $1 AND kind = 'import'
		AND state <> 'uploading' AND id < $2 ORDER BY id DESC LIMIT $3`
)

// Import is one import of an account.
func (s *JobStore) Import(ctx context.Context, account, id int64) (im Import, err error) {
	j, err := s.Job(ctx, account, id)
	switch {
	case err != nil:
		return im, err
	case j.Kind != ImportJob:
		return im, crm.ErrNotFound
	}
	return ImportOf(j)
}

// Imports are some imports of an account with a smaller number than another, newest first. more tells whether there are
// others.
func (s *JobStore) Imports(ctx context.Context, account, before int64, n int) (imports []Import, more bool, err error) {
	jobs, err := store.List(ctx, s.Store, ScanJob, sqlImportsBefore, account, before, int64(n+1))
	if err != nil {
		return nil, false, err
	}
	for _, j := range jobs[:min(n, len(jobs))] {
		im, err := ImportOf(j)
		if err != nil {
			return nil, false, err
		}
		imports = append(imports, im)
	}
	return imports, len(jobs) > n, nil
}

// Choices are what a person says about a file that was uploaded. Whether the file is right and fields are for contacts
// alone.
type Choices struct {
	Mapping         sheet.Mapping
	Mode, OtherName ImportMode
	FileIsRight     bool
	MatchNames      bool    // of gifts alone
	Thanks          bool    // the same: new ones wait for thanks
	UsualNames      bool    // names in capitals are written in the usual form
	Fields          []int64 // custom fields that were made for it
	Trial           bool    // it is a dry run
}

// BeginImport begins an import of a file that was uploaded, or a dry run of it.
func (s *JobStore) BeginImport(ctx context.Context, account, id int64, as Choices) (im Import, err error) {
	j, err := s.ChangeJob(ctx, account, id, func(u store.Unit, j *Job) error {
		found, err := ImportOf(*j)
		switch {
		case err != nil:
			return err
		case j.Kind != ImportJob || j.State != JobMapping:
			return crm.ErrChanged
		}
		spec := &found.Spec
		spec.UsualNames = as.UsualNames
		if spec.Mapping, spec.Trial, spec.OtherName = as.Mapping, as.Trial, as.OtherName; spec.Of == ImportContacts {
			spec.Mode, spec.FileIsRight, spec.Fields = as.Mode, as.FileIsRight, as.Fields
		} else if spec.MatchNames, spec.Thanks = as.MatchNames, as.Thanks; as.Mode == LeaveCampaigns || as.Mode == "" {
			spec.Mode = as.Mode
		}
		if err := spec.check(); err != nil {
			return err
		}
		j.State, j.Spec, j.Progress = JobWaiting, JSONOf(spec), JSONOf(found.Progress.begun())
		rememberMapping(u.Tx, account, spec)
		return u.Run(sqlDropRows, account, id)
	})
	if err != nil {
		return im, err
	}
	s.WakeJobs()
	return ImportOf(j)
}

// check refuses an import whose columns or mode say too little. Objects of gifts have the names of the API, whatever
// their columns are taken for.
func (spec *FileImport) check() error {
	if _, known := OtherNameModes[spec.OtherName]; !known {
		return store.Fault("other_name", doc.OneOf, "keep, merge, skip")
	}
	if spec.Of == ImportGifts {
		if spec.JSON {
			return nil
		}
		return sheet.Gifts.Check(spec.Mapping)
	}
	if err := sheet.Contacts.Check(spec.Mapping); err != nil {
		return err
	}
	if _, known := CreateModes[spec.Mode]; !known {
		return store.Fault("mode", doc.OneOf, "merge, skip, force")
	}
	return nil
}

// importStep imports some more rows of a file that was uploaded, or tries them.
func importStep(ctx context.Context, w *JobWorker, j *Job) error {
	im, err := ImportOf(*j)
	if err != nil {
		return err
	}
	if im.Spec.Unread {
		return w.readStep(ctx, j, im)
	}
	run, err := w.runOf(ctx, j, im)
	if err != nil {
		return err
	}
	if im.Spec.Trial {
		err = run.tryJob(ctx, j, &im)
	} else {
		err = run.step(ctx, j)
	}
	if err != nil && !errors.Is(err, errReading) {
		w.drop(j.Of())
	}
	var broken *table.FileError
	if errors.As(err, &broken) {
		w.LookAgain() // others may have waited for the file to be closed
		return w.failImport(ctx, j, broken.Message)
	}
	return err
}

// runOf is the run of an import on this node: the one that is under way, or a new one where this node may go on with
// the import.
func (w *JobWorker) runOf(ctx context.Context, j *Job, im Import) (*ImportRun, error) {
	run, _ := w.Runs[j.Of()].(*ImportRun)
	switch {
	case run != nil && run.Beside.overtaken(j):
		w.drop(j.Of())
		return nil, ErrJobMoved
	case run != nil && run.isAt(&im):
		return run, nil
	case im.Spec.Local, im.triedElsewhere(w.Now()), !w.mayOpen(j.Of()):
		return nil, ErrNotOurs
	}
	w.drop(j.Of())
	run = w.OpenRun(ctx, j, im)
	w.Runs[j.Of()] = run
	return run, nil
}

// isAt tells whether the run is where the import is: its file is being opened, or its next rows are those that the
// import goes on with.
func (r *ImportRun) isAt(im *Import) bool {
	return !r.Beside.taken || r.read == im.Progress.Rows && (r.trial != nil) == im.Spec.Trial
}

// uploadRun is a file that was uploaded and whose first rows are read beside the worker.
type uploadRun struct {
	done chan error
	stop context.CancelFunc
}

func (r *uploadRun) Close() {
	r.stop()
	<-r.done
}

// readStep reads the first rows of a file for which no one has waited any longer.
func (w *JobWorker) readStep(ctx context.Context, j *Job, im Import) error {
	run, _ := w.Runs[j.Of()].(*uploadRun)
	if run == nil {
		if !w.mayRead() {
			return ErrNotOurs
		}
		reading, stop := context.WithCancel(ctx)
		run = &uploadRun{make(chan error, 2), stop}
		w.Runs[j.Of()] = run
		go func() {
			run.done <- guard.Do(func() error {
				_, err := w.readUpload(reading, im, false)
				return err
			})
			w.tell()
		}()
	}
	select {
	case err := <-run.done:
		run.done <- nil // for close
		w.drop(j.Of())
		clear(w.left) // others may have waited for that
		var broken *table.FileError
		switch {
		case errors.As(err, &broken):
			return w.failImport(ctx, j, broken.Message)
		case errors.Is(err, crm.ErrChanged):
			return ErrJobMoved
		}
		return err
	default:
		return errReading
	}
}

// OpenRun begins to read the file of an import. A dry run begins with its first row.
func (w *JobWorker) OpenRun(ctx context.Context, j *Job, im Import) *ImportRun {
	ctx, stop := context.WithCancel(ctx)
	run := w.newRun(j.Account, im.Spec, im.Progress.Rows)
	if im.Spec.Trial {
		run = w.newTry(j.Account, im.Spec)
	}
	run.Beside = &reading{ctx: ctx, files: w.Files, tell: w.tell, stop: stop, found: *j}
	run.ReadOn(func() *importUnit {
		if err := run.openUpload(ctx, &im); err != nil {
			return &importUnit{Err: err}
		}
		return run.Prepare()
	})
	return run
}

// openUpload opens the file of an import. Before the first row is decided about, all of it was read once.
func (r *ImportRun) openUpload(ctx context.Context, im *Import) error {
	start := time.Now()
	rows, err := r.store.openUpload(im, r.Beside)
	if err == nil && im.Progress.Total == 0 {
		if r.Survey, err = SurveyRows(ctx, rows); err == nil {
			rows, err = r.store.openUpload(im, r.Beside)
		}
	}
	if r.spec.Days = cmp.Or(im.Progress.Days, r.Survey.Days); err == nil {
		err = r.open(ctx, rows)
	}
	r.again, r.Opening = func() (*table.Reader, error) { return r.store.openUpload(im, r.Beside) }, time.Since(start)
	return err
}

// giveWay closes a large workbook that has been open for long while others wait, and opens it again when it is its
// turn.
func (r *ImportRun) giveWay() error {
	if !r.Beside.wanted() || time.Since(r.Beside.Opened) < 2*r.Opening {
		return nil
	}
	r.rows = nil
	r.Beside.Close()
	if err := r.Beside.begin(); err != nil {
		return err
	}
	rows, err := r.again()
	if err != nil {
		return err
	}
	return r.skip(rows, r.passed, func(*ImportRow) error { return nil })
}

// forgetTrial takes what a dry run has counted so far out of an import that is canceled: nothing of it was done.
func (j *Job) forgetTrial() error {
	if j.Kind != ImportJob {
		return nil
	}
	im, err := ImportOf(*j)
	if err == nil && im.Spec.Trial {
		j.Progress = JSONOf(im.Progress.begun())
	}
	return err
}

// failImport ends an import whose file cannot be read.
func (s *JobStore) failImport(ctx context.Context, j *Job, message string) error {
	return s.Advance(ctx, j, store.Needs{}, func(u store.Unit, next *Job) error {
		im, err := ImportOf(*next)
		if err != nil {
			return err
		}
		im.Progress.Error = message
		next.Progress = JSONOf(im.Progress)
		return EndJob(u.Tx, next, JobFailed)
	})
}

// ImportFile imports a file that this process reads. An import of the same file with the same options goes on where it
// was; one that has ended is known, and nothing is done, unless it was undone or is to be done again.
func (s *JobStore) ImportFile(ctx context.Context, account int64, rows *table.Reader, spec FileImport, total int64,
	again bool, progress func(ImportProgress),
) (im Import, known bool, err error) {
	spec.Local, spec.Header, spec.JSON = true, rows.Header(), rows.Format == JSONLines
	err = s.UpdateAccount(ctx, account, func(t *store.Tx) error {
		im, known = Import{}, false
		jobs, err := db.List(t.Conn, ScanJob, sqlImports, account)
		if err != nil {
			return err
		}
		for _, j := range jobs {
			if same, ok := spec.sameAs(j); ok && (j.Working() || j.State == JobDone && j.Undo == 0 && !again) {
				im, known = same, j.State == JobDone
				return nil
			}
		}
		j := NewJob(t.Account(account), ImportJob, JobWaiting, spec)
		j.Progress = JSONOf(ImportProgress{Total: total, Days: spec.Days})
		SaveJob(t, j)
		rememberMapping(t, account, &spec)
		im, err = ImportOf(*j)
		return err
	})
	if err != nil || known {
		return im, known, err
	}
	run := s.newRun(account, spec, im.Progress.Rows)
	if err := run.begin(ctx, rows); err != nil {
		return im, false, err
	}
	defer run.Close()
	for im.Working() {
		if err := run.step(ctx, &im.Job); err != nil {
			return im, false, s.importFailure(ctx, &im.Job, err)
		}
		if im, err = ImportOf(im.Job); err != nil {
			return im, false, err
		}
		progress(im.Progress)
	}
	return im, false, nil
}

// ErrImportMoved: another process works on the import, or a person has ended it.
var ErrImportMoved = errors.New("another process imports this file, or the import was canceled")

func (s *JobStore) importFailure(ctx context.Context, j *Job, err error) error {
	var broken *table.FileError
	switch {
	case errors.Is(err, ErrJobMoved):
		return ErrImportMoved
	case errors.As(err, &broken):
		return errors.Join(err, s.failImport(ctx, j, broken.Message))
	}
	return err
}

// sameAs tells whether a job imports the same file in the same way.
func (spec *FileImport) sameAs(j Job) (im Import, ok bool) {
	im, err := ImportOf(j)
	return im, err == nil && im.Spec.Local && im.Spec.Of == spec.Of && im.Spec.SHA256 == spec.SHA256 &&
		im.Spec.Mode == spec.Mode && im.Spec.Region == spec.Region &&
		im.Spec.rule() == spec.rule() && im.Spec.MatchNames == spec.MatchNames &&
		im.Spec.UsualNames == spec.UsualNames && im.Spec.Thanks == spec.Thanks &&
		slices.Equal(JSONOf(im.Spec.Mapping), JSONOf(spec.Mapping))
}
