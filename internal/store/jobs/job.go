// Package jobs has the work that goes on in the background, on any node: imports and their dry runs, changes of many
// contacts, and what takes such work back. It knows nothing of account files or erasure, which add kinds of jobs of
// their own.
package jobs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/people"
)

// A job is work on many contacts that goes on in the background: an import, a change of everything that a search found,
// or the undoing of such a job. One small unit of work after the other changes some contacts and notes in the same
// transaction how far the job has come. So others wait for little, a server that was killed goes on where it was, and
// any node may take a turn.

// Job is one job of an account.
type Job struct {
	Account, ID          int64
	Kind                 JobKind
	State                JobState
	Actor                string          // who asked for it
	Channel              history.Channel // and where
	CreatedAt, UpdatedAt time.Time
	Spec                 json.RawMessage // what is to be done
	Progress             json.RawMessage // how far it has come
	First, Last          int64           // the range of its changes; 0 where there are none
	Undo                 int64           // the job that takes it back; 0 where there is none

	held time.Duration // for which its last unit of work has kept others from writing
}

// JobKind is what a job does.
type JobKind string

// The kinds of jobs.
const (
	ImportJob  JobKind = "import"
	BulkJob    JobKind = "bulk"
	UndoingJob JobKind = "undo"
	MoveJob    JobKind = "merge" // of package merges: gifts and plans that a merge or its undo moves
)

// JobState is where a job stands.
type JobState string

// The states of jobs.
const (
	JobUploading JobState = "uploading" // its file is on the way
	JobMapping   JobState = "mapping"   // a person has to say what its file means
	JobWaiting   JobState = "waiting"   // nothing was done yet
	JobRunning   JobState = "running"
	JobDone      JobState = "done"
	JobFailed    JobState = "failed"
	JobCanceled  JobState = "canceled"
)

// Working tells whether a node works on the job, or will.
func (j *Job) Working() bool { return j.State == JobWaiting || j.State == JobRunning }

// Ended tells whether nothing more will be done.
func (j *Job) Ended() bool {
	return j.State == JobDone || j.State == JobFailed || j.State == JobCanceled
}

// Stoppable tells whether a person may stop the job. Who is half erased would still be named, and a merge would stay
// half done.
func (j *Job) Stoppable() bool {
	return j.Working() && j.Kind != EraseJob && j.Kind != MoveJob
}

// Undoable tells whether the job has changed something that can be taken back. What a merge has moved goes back with
// the merge, and mails are gone.
func (j *Job) Undoable() bool {
	return j.Ended() && j.Kind != UndoingJob && j.Kind != EraseJob && j.Kind != MoveJob && j.Kind != MailingJob &&
		j.First != 0 && j.Undo == 0
}

// StoppedUndo tells whether the job is an undo that a person has stopped, or that has failed, and that a person may
// continue.
func (j *Job) StoppedUndo() bool {
	return j.Kind == UndoingJob && (j.State == JobCanceled || j.State == JobFailed)
}

const (
	JobColumns = `account_id, id, kind, state, actor, channel, created_at, updated_at, spec, progress, first, last, undo`
	SQLJob     = `SELECT ` + JobColumns + ` FROM job WHERE account_id = $1 AND id = $2`
	sqlJobs    = `SELECT ` + JobColumns + ` FROM job WHERE account_id = $1 AND id > $2 AND id <= $3 ORDER BY id DESC`
	// Numbers of jobs that were given out before the first one that is there.
	sqlJobsBefore = `SELECT COALESCE((SELECT id FROM job WHERE account_id = $1 ORDER BY id LIMIT 1) - 1, $2)`

	sqlJobRows = `SELECT number, outcome, contact_id, data FROM job_row WHERE account_id = $1 AND job_id = $2
		AND number > $3 ORDER BY number LIMIT $4`
	SQLParts    = `SELECT number FROM job_part WHERE account_id = $1 AND job_id = $2 ORDER BY number LIMIT $3`
	sqlDropPart = `DELETE FROM job_part WHERE account_id = $1 AND job_id = $2 AND number <= $3`
	sqlDropRows = `DELETE FROM job_row WHERE account_id = $1 AND job_id = $2`
)

func ScanJob(r db.Row) Job {
	return Job{r.Int(0), r.Int(1), JobKind(r.Text(2)), JobState(r.Text(3)), r.Text(4), history.Channel(r.Int(5)),
		store.Moment(r.Int(6)), store.Moment(r.Int(7)),
		json.RawMessage(r.Text(8)), json.RawMessage(r.Text(9)), r.Int(10), r.Int(11), r.Int(12), 0}
}

// SaveJob writes the row of a job.
func SaveJob(t *store.Tx, j *Job) {
	t.Save(store.JobTable, j.Account, j.ID, string(j.Kind), string(j.State), j.Actor, int64(j.Channel),
		store.Seconds(j.CreatedAt), store.Seconds(j.UpdatedAt),
		string(j.Spec), string(j.Progress), j.First, j.Last, j.Undo)
}

// NewJob gives a job its number. The caller may set what it is to do, and saves it.
func NewJob(u store.Unit, kind JobKind, state JobState, spec any) *Job {
	u.Touch()
	u.JobSeq++
	at := store.Moment(u.Author.At)
	j := &Job{Account: u.Number, ID: u.JobSeq, Kind: kind, State: state, Actor: u.Author.Who, Channel: u.Author.Channel,
		CreatedAt: at, UpdatedAt: at}
	j.Spec, j.Progress = JSONOf(spec), json.RawMessage("{}")
	u.Record(history.JobNoun, j.ID, history.DidCreate, string(JSONOf(struct {
		Kind JobKind `json:"kind"`
	}{kind})))
	return j
}

// JSONOf is a value of ours as JSON.
func JSONOf(value any) json.RawMessage {
	text, _ := json.Marshal(value) // texts, numbers and lists of them
	return text
}

// Job is one job of an account.
func (s *JobStore) Job(ctx context.Context, account, id int64) (Job, error) {
	return store.Find(ctx, s.Store, crm.ErrNotFound, ScanJob, SQLJob, account, id)
}

// Jobs is one page of the jobs of an account, newest first.
func (s *JobStore) Jobs(ctx context.Context, account int64,
	page crm.PageRequest,
) (jobs []Job, result store.ListResult, err error) {
	err = s.View(ctx, func(c db.Conn) error {
		row, err := store.ReadTally(c, account)
		if err != nil {
			return err
		}
		before, err := c.Int(sqlJobsBefore, account, row.JobSeq) // those of an account that was exported stay behind
		if err != nil {
			return err
		}
		to := row.JobSeq - page.Skip() // they are numbered without a gap
		jobs, err = db.List(c, ScanJob, sqlJobs, account, max(0, to-page.PerPage), to)
		result = store.ListResult{Total: row.JobSeq - before, Count: int64(len(jobs))}
		return err
	})
	return jobs, result, err
}

// JobRow is what became of a row of a file, or of a contact, that a person has to know of.
type JobRow struct {
	Number  int64
	Outcome string
	Contact int64 // 0 for none
	Data    json.RawMessage
}

// JobRows are the next rows of a job after a number. They are fewer where rows are long, but at least one where any is
// left.
func (s *JobStore) JobRows(ctx context.Context, account, job, after int64, limit int) ([]JobRow, error) {
	return store.Lend(ctx, s.Read, func(c db.Conn) (rows []JobRow, err error) {
		length := 0
		err = c.UpTo(store.PieceSize).Each(func(r db.Row) error {
			row := JobRow{r.Int(0), r.Text(1), r.Int(2), json.RawMessage(r.Text(3))}
			rows = append(rows, row)
			if length += len(row.Data); length >= store.PieceSize {
				return store.ErrFull
			}
			return nil
		}, sqlJobRows, account, job, after, int64(limit))
		if errors.Is(err, store.ErrFull) {
			err = nil
		}
		return rows, err
	})
}

// NoteRow notes what became of a row.
func NoteRow(t *store.Tx, j *Job, row JobRow) {
	t.Save(store.JobRowTable, j.Account, j.ID, row.Number, row.Outcome, row.Contact, string(row.Data))
}

// CancelJob ends a job. What it has done so far stays.
func (s *JobStore) CancelJob(ctx context.Context, account, id int64) (Job, error) {
	return s.ChangeJob(ctx, account, id, func(u store.Unit, j *Job) error {
		if j.Ended() || j.Working() && !j.Stoppable() {
			return crm.ErrChanged
		}
		if err := j.forgetTrial(); err != nil {
			return err
		}
		return EndJob(u.Tx, j, JobCanceled)
	})
}

// EndJob ends a job. What it has kept in parts is no longer needed, and goes right after it (dropParts). The preview of
// a file goes at once.
func EndJob(t *store.Tx, j *Job, state JobState) error {
	j.State = state
	return t.Run(sqlDropPart, j.Account, j.ID, PreviewPart)
}

// RemoveJob removes a job with all that it has kept.
func RemoveJob(t *store.Tx, j *Job) error {
	t.Delete(store.JobTable, j.Account, j.ID)
	return t.Run(sqlDropPart, j.Account, j.ID, int64(math.MaxInt64))
}

// partsAtOnce is how many parts are removed in one unit of work: 4 MB of a file.
const partsAtOnce = 16

// dropParts removes what a job that has ended has kept, a few parts in each unit of work: to remove a large file takes
// a second, in which no one else could write. What a server that was killed has left is removed by sweepJobs.
func (s *JobStore) dropParts(ctx context.Context, of JobOf) error {
	ctx = context.WithoutCancel(ctx)
	for {
		parts, err := store.List(ctx, s.Store, store.Number, SQLParts, of.Account, of.ID, int64(partsAtOnce))
		if err != nil || len(parts) == 0 {
			return err
		}
		err = s.UpdateAccount(ctx, of.Account, func(t *store.Tx) error {
			return t.Run(sqlDropPart, of.Account, of.ID,
				parts[len(parts)-1])
		})
		if err != nil {
			return err
		}
	}
}

// ChangeJob is the one way in which a job changes: load, decide, save.
func (s *JobStore) ChangeJob(ctx context.Context, account, id int64,
	decide func(u store.Unit, j *Job) error,
) (changed Job, err error) {
	now := s.Now()
	err = s.UpdateAccount(ctx, account, func(t *store.Tx) error {
		j, err := store.FindIn(t.Conn, crm.ErrNotFound, ScanJob, SQLJob, account, id)
		if err != nil {
			return err
		}
		if err := decide(t.Account(account), &j); err != nil {
			return err
		}
		j.UpdatedAt = now
		SaveJob(t, &j)
		changed = j
		return nil
	})
	if err == nil && changed.Ended() {
		err = s.dropParts(ctx, changed.Of())
	}
	return changed, err
}

// errJobMoved: a job is not where it was, because another node has worked on it or a person has ended it.
var ErrJobMoved = errors.New("the job has moved on")

// Advance does one unit of work of a job, and notes how far it has come. Nothing is done where the job is no longer
// where the caller has seen it. step may run again; it gets a copy of the job, whose progress and state it changes.
func (s *JobStore) Advance(ctx context.Context, j *Job, n store.Needs, step func(u store.Unit, next *Job) error) error {
	now, made := s.Now(), *j
	var begun time.Time
	err := s.Update(j.By(ctx), j.Account, n, func(t *store.Tx) error {
		u, err := t.LockAccount(j.Account)
		if err != nil {
			return err
		}
		next, err := store.FindIn(t.Conn, crm.ErrNotFound, ScanJob, SQLJob, j.Account, j.ID)
		if err != nil {
			return err
		}
		if next.State != j.State || !bytes.Equal(next.Progress, j.Progress) {
			return ErrJobMoved
		}
		before := u.Revision
		begun, next.State = time.Now(), JobRunning
		if err := step(u, &next); err != nil {
			return err
		}
		if u.Revision > before {
			if next.First == 0 {
				next.First = before + 1
			}
			next.Last = u.Revision
		}
		next.UpdatedAt = now
		SaveJob(t, &next)
		made = next
		return nil
	})
	if err != nil {
		return err
	}
	*j = made
	if j.held = time.Since(begun); j.Ended() {
		return s.dropParts(ctx, j.Of())
	}
	return nil
}

var channelsOfJobs = map[JobKind]history.Channel{ImportJob: history.ImportChannel}

// By is a context in which the job makes changes.
func (j *Job) By(ctx context.Context) context.Context {
	channel, special := channelsOfJobs[j.Kind]
	if !special {
		channel = j.Channel
	}
	return store.InJob(store.By(ctx, channel, j.Actor), j.ID)
}

// EraseJob removes what still names people who were erased.
const EraseJob JobKind = "erase"

// SureJob merges the contacts that surely are the same person.
const SureJob JobKind = "duplicates"

// JobStore has the work in the background: imports, changes of many contacts, and what takes them back.
type JobStore struct {
	*store.Store
	*people.PeopleStore
	jobsBegun chan struct{} // there is a new job
	Files     *openedFiles  // of imports

	kinds map[JobKind]Kind
	idle  func(ctx context.Context, report func(error))
	erase Eraser
}

// Kind is a kind of jobs: Step does one unit of work, by Advance, and ends the job when nothing is left to do. Undo
// takes a change of such a job back, where its changes belong together.
type Kind struct {
	Step func(ctx context.Context, w *JobWorker, j *Job) error
	Undo func(u *Undoing, c store.Change) (undone bool, err error)
}

// Eraser removes people for good, in a unit of work, but for those who cannot be erased.
type Eraser = func(u store.Unit, found []*store.StoredContact, now time.Time) (refused []int64, err error)

func New(s *store.Store, p *people.PeopleStore) *JobStore {
	return &JobStore{Store: s, PeopleStore: p, jobsBegun: make(chan struct{}, 1), Files: newOpenedFiles(),
		kinds: map[JobKind]Kind{
			ImportJob: {Step: importStep}, BulkJob: {Step: bulkStep}, UndoingJob: {Step: undoStep},
			MailingJob: {Step: mailingStep},
		}}
}

// Use says what packages above this one do in the background: jobs that move gifts, that remove what names erased
// people, and that merge what is surely the same; how people are erased; and what begins when no job waits.
func (s *JobStore) Use(move, erase, sure Kind, eraser Eraser, idle func(ctx context.Context, report func(error))) {
	s.kinds[MoveJob], s.kinds[EraseJob], s.kinds[SureJob] = move, erase, sure
	s.erase, s.idle = eraser, idle
}
