package console

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/url"
	"strconv"
	"strings"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/history"
	"donorbook/internal/crm/text"
	"donorbook/internal/store/duplicates"
	"donorbook/internal/store/jobs"
	"donorbook/internal/store/merges"
	"donorbook/internal/store/move"
)

const (
	jobsPerPage = 25
	keptShown   = 100 // contacts, gifts and plans that were left alone
)

func jobPath(id int64) string { return "/jobs/" + strconv.FormatInt(id, 10) }

// jobAddress is the page of a job. An import has one of its own.
func jobAddress(kind jobs.JobKind, id int64) string {
	if kind == jobs.ImportJob {
		return importPath(id)
	}
	return jobPath(id)
}

// jobWords are what people call jobs.
var jobWords = map[jobs.JobKind]string{jobs.ImportJob: "import", jobs.BulkJob: "bulk change", jobs.UndoingJob: "undo", jobs.EraseJob: "erasure", jobs.ZoneJob: "time zone change", jobs.SureJob: "merge of duplicates", jobs.MoveJob: "move of gifts after a merge"}

// jobKind is the kind of job that a change has begun.
func jobKind(a *history.Activity) jobs.JobKind {
	var begun struct{ Kind jobs.JobKind }
	_ = json.Unmarshal([]byte(a.Data), &begun) // what cannot be read says less
	return begun.Kind
}

// jobView is one job as lists and its page show it.
type jobView struct {
	*jobs.Job
	Import         *jobs.Import // of a job that imports a file
	Title, Address string
	State          mark
	By             string // who has begun it
	Told           string // what it does, or has done
	More           string // what the title does not say already
	Width          string // of the bar, in percent; "" where no one knows
	Trouble        string // why it has failed, or does not get on
	Kept           []link
	Undoing        *jobView // the job that undoes it
	Undoes         link     // the job that it undoes
}

// OfGifts tells whether the job imports gifts.
func (view *jobView) OfGifts() bool {
	return view.Import != nil && view.Import.Spec.Of == jobs.ImportGifts
}

// Moving tells whether a node works on the job, or undoes it.
func (view *jobView) Moving() bool {
	return view.Working() || view.Undoing != nil && view.Undoing.Working()
}

var jobStates = map[jobs.JobState]mark{
	jobs.JobUploading: {"Uploading", "warn"},
	jobs.JobMapping:   {"Waiting for you", "warn"},
	jobs.JobWaiting:   {"In progress", "warn"},
	jobs.JobRunning:   {"In progress", "warn"},
	jobs.JobDone:      {"Done", "good"},
	jobs.JobFailed:    {"Failed", "bad"},
	jobs.JobCanceled:  {"Stopped", ""},
}

// undoState says how far a job was undone.
func undoState(undo *jobs.Job) mark {
	switch {
	case undo.Working():
		return mark{"Being undone", "warn"}
	case undo.StoppedUndo():
		return mark{"Undo stopped", "warn"}
	}
	return mark{"Undone", ""}
}

// jobsPage lists everything that works in the background.
func (r *request) jobsPage() error {
	l := r.list(r.path("/jobs"), pageParameter, jobsPerPage)
	found, result, err := r.store.Jobs(r.Context(), r.account(), l.PageRequest)
	if err != nil {
		return err
	}
	view, err := r.jobTable("Background work, latest first", found)
	if err != nil {
		return err
	}
	view.Pager = l.pager(result.Total)
	return r.render("jobs", page{Title: "Background work", Section: "jobs", Form: r.form, Data: view})
}

var jobColumns = []tableColumn{{Name: "work", Label: "Work"}, {Name: "result", Label: "Result", Class: "muted"}, {Name: "by", Label: "By", Class: "muted"}, {Name: "status", Label: "Status"}}

// jobTable is the table of some jobs.
func (r *request) jobTable(caption string, all []jobs.Job) (table, error) {
	views, err := r.jobViews(all)
	return r.newTable("jobs", caption, jobColumns, pointers(views)), err
}

func (r *request) jobViews(all []jobs.Job) (views []jobView, err error) {
	people, err := r.peopleOf()
	if err != nil {
		return nil, err
	}
	for _, j := range all {
		view, err := r.jobView(people, j)
		if err != nil {
			return nil, err
		}
		views = append(views, view)
	}
	return views, nil
}

// jobPage shows a job and how far it has come. A script asks for it again and again until it is done.
func (r *request) jobPage(j jobs.Job) (err error) {
	views, err := r.jobViews([]jobs.Job{j})
	if err != nil {
		return err
	}
	view := jobPageView{jobView: views[0]}
	if undo := cmp.Or(j.Undo, j.ID); j.Undo != 0 || j.Kind == jobs.UndoingJob {
		view.Kept, err = r.keptLinks(undo)
	}
	p := page{Title: view.Title, Section: "jobs", Form: r.form, Data: &view}
	if j.Kind == jobs.ImportJob {
		p.Section = "imports"
		err = errors.Join(err, r.fillImport(&view))
	}
	switch {
	case err != nil:
		return err
	case !r.isPart():
		return r.render("job", p)
	case view.Import != nil && !view.Moving():
		r.w.Header().Set("HX-Refresh", "true") // there is more to show than a bar
	}
	return r.renderPart("job", "job-state", p)
}

// jobView says what a job is and does. An undo is called by what it undoes.
func (r *request) jobView(people people, j jobs.Job) (view jobView, err error) {
	if view, err = people.job(r, j); err != nil {
		return view, err
	}
	if j.Undo != 0 {
		undo, err := r.store.Job(r.Context(), r.account(), j.Undo)
		if err != nil {
			return view, err
		}
		view.State = undoState(&undo)
		view.Undoing = &jobView{Job: &undo, Address: r.path(jobPath(undo.ID))}
		view.Undoing.Told, err = undoTold(&undo, &view)
		return view, err
	}
	if j.Kind != jobs.UndoingJob {
		return view, nil
	}
	undone, err := r.store.Job(r.Context(), r.account(), j.Undoes())
	if err != nil {
		return view, err
	}
	of, err := people.job(r, undone)
	if err != nil {
		return view, err
	}
	view.Title, view.Undoes = "Undo: "+of.Title, link{of.Title, of.Address}
	view.Told, err = undoTold(&j, &of)
	view.More = view.Told
	return view, err
}

// jobOf is the job in the path.
func (r *request) jobOf() (jobs.Job, error) {
	id, err := strconv.ParseInt(cmp.Or(r.PathValue("job"), r.PathValue("import")), 10, 64)
	if err != nil {
		return jobs.Job{}, crm.ErrNotFound
	}
	return r.store.Job(r.Context(), r.account(), id)
}

// cancelJob stops a job. What it has done so far stays, and can be undone.
func (r *request) cancelJob(j jobs.Job) (err error) {
	said := "Stopped. Changes so far are kept."
	switch {
	case j.Kind != jobs.ImportJob:
	case j.First == 0:
		said = "Import canceled. Nothing was imported."
	default:
		said = "Import stopped. Rows imported so far are kept, and you can undo them."
	}
	if _, err = r.store.CancelJob(r.Context(), r.account(), j.ID); errors.Is(err, crm.ErrChanged) {
		said, err = "This has already finished.", nil
	}
	if err != nil {
		return err
	}
	return r.redirect(r.path(jobAddress(j.Kind, j.ID)), notice{Text: said})
}

// undoJob undoes a job, or continues an undo that was stopped. Where that is done at once, the person goes back to the list that the job was begun on.
func (r *request) undoJob(j jobs.Job) (err error) {
	erase := r.form.Value("erase") != ""
	if im, err := jobs.ImportOf(j); erase && (err != nil || im.Spec.Of != jobs.ImportContacts || r.membership.Role < access.Owner) {
		return forbidden(r.membership, access.Owner)
	}
	id, address := cmp.Or(j.Undo, j.ID), r.path(jobAddress(j.Kind, j.ID))
	var undo jobs.Job
	if j.Kind == jobs.ImportJob {
		undo, err = r.store.UndoJob(r.Context(), r.account(), id, r.options.Region, erase)
	} else {
		undo, err = r.store.UndoSoon(r.Context(), r.account(), id, r.options.Region)
	}
	if errors.Is(err, crm.ErrChanged) {
		return r.redirect(address, notice{Text: "This was already undone, or hasn’t finished yet. Nothing was changed."})
	}
	if err != nil {
		return err
	}
	var at jobs.UndoProgress
	if err := json.Unmarshal(undo.Progress, &at); err != nil {
		return err
	}
	switch back := r.URL.Query().Get("to"); {
	case j.Kind == jobs.ImportJob:
		return r.redirect(address)
	case undo.Ended() && at.Kept == 0 && mayReturn(back):
		return r.redirect(r.path(back), notice{Text: "Undone. " + capital(plural(at.Undone, "contact")) + " restored to how " + choose(at.Undone, "it was", "they were") + "."})
	}
	return r.redirect(r.path(jobPath(undo.ID)))
}

// undoAddress is the form that undoes a job and leads back to a page of the organization.
func (r *request) undoAddress(job int64, back string) string {
	back = strings.TrimPrefix(back, r.path(""))
	if !mayReturn(back) {
		back = "/contacts"
	}
	return withQuery(r.path(jobPath(job)+"/undo"), url.Values{"to": {back}})
}

const backLimit = 800 // bytes of an address to go back to

// mayReturn tells whether an address below the organization's is that of a list.
func mayReturn(back string) bool {
	path, _, _ := strings.Cut(back, "?")
	return len(back) <= backLimit && (path == "/contacts" || path == "/tags")
}

// job says what a job is and does.
func (p people) job(r *request, j jobs.Job) (view jobView, err error) {
	view = jobView{Job: &j, State: jobStates[j.State], Address: r.path(jobAddress(j.Kind, j.ID)), By: p.called(j.Actor)}
	switch j.Kind {
	case jobs.BulkJob:
		var action crm.BulkAction
		var at jobs.BulkProgress
		err = errors.Join(json.Unmarshal(j.Spec, &action), json.Unmarshal(j.Progress, &at))
		view.Title, view.Told = bulkWordsFor(action, at.Total, plural(at.Total, "contact")).title, bulkTold(action, at.BulkCounts)
		if done := at.Changed + at.Already + at.Archived + at.Refused + at.Unreadable; j.Working() && at.Total > 0 {
			view.soFar(done, at.Total, "contact")
		}
		if j.Working() || at.Changed != at.Total || action.Kind == crm.BulkRename {
			view.More = view.Told
		}
	case jobs.ImportJob:
		var im jobs.Import
		im, err = jobs.ImportOf(j)
		view.tellImport(&im)
	case jobs.ZoneJob:
		var at jobs.ZoneProgress
		err = json.Unmarshal(j.Progress, &at)
		view.Title, view.Told = "Update gift dates for the new time zone", plural(at.Moved, "gift")+" moved."
		if j.Working() && at.Total > 0 {
			view.soFar(at.At, at.Total, "gift")
		}
		view.More = view.Told
	case jobs.SureJob:
		var at duplicates.SureProgress
		err = json.Unmarshal(j.Progress, &at)
		view.Title, view.Told = "Merge certain matches", plural(at.Merged, "contact")+" merged into others."
		if at.Left > 0 {
			view.Told += " " + plural(at.Left, "group") + " changed since then and " + choose(at.Left, "was", "were") + " left alone."
		}
		view.More = view.Told
		if j.Working() && at.Total > 0 {
			view.soFar(at.Groups, at.Total, "group")
		}
	case jobs.MoveJob:
		err = r.tellMove(&view)
	case jobs.EraseJob:
		var spec move.Erasure
		err = json.Unmarshal(j.Spec, &spec)
		view.Title = "Erase " + plural(int64(len(spec.Contacts)), "contact")
		if view.Told = "Their details were removed from gifts, history and imports."; j.Working() {
			view.Told = "Their details are being removed from gifts, history and imports."
		}
		view.More = view.Told
	default:
		view.Title = capital(string(j.Kind))
	}
	if why := j.Trouble(); j.Kind != jobs.ImportJob && why.Tries > 0 {
		view.Trouble = "This failed " + times(int64(why.Tries)) + " and will be tried again. " + why.Error
		if j.Ended() {
			view.Trouble = "This failed " + times(int64(why.Tries)) + ". " + why.Error
		}
	}
	return view, err
}

func times(n int64) string {
	if n == 1 {
		return "once"
	}
	return shownCount(n) + " times"
}

// retryJob lets a job that has failed go on.
func (r *request) retryJob(j jobs.Job) error {
	_, err := r.store.RetryJob(r.Context(), r.account(), j.ID)
	if errors.Is(err, crm.ErrChanged) {
		return r.redirect(r.path(jobPath(j.ID)), notice{Text: "This has not failed, so nothing was changed."})
	}
	if err != nil {
		return err
	}
	return r.redirect(r.path(jobPath(j.ID)))
}

// tellMove says which gifts a merge or its undo moves.
func (r *request) tellMove(view *jobView) error {
	var at merges.MoveProgress
	id, err := merges.MoveOf(view.Job)
	if err = errors.Join(err, json.Unmarshal(view.Progress, &at)); err != nil {
		return err
	}
	m, err := r.store.MergeOf(r.Context(), r.account(), id)
	if err != nil && !errors.Is(err, crm.ErrNotFound) {
		return err
	}
	named, err := r.store.ContactNames(r.Context(), r.account(), []int64{m.Survivor, m.Other})
	from, to := named[m.Other], named[m.Survivor]
	if at.Undo {
		from, to = to, from
	}
	view.Title, view.Told = "Move gifts from "+contactName(from)+" to "+contactName(to), plural(at.Moved, "gift")+" moved."
	if at.Left > 0 {
		view.Told += " " + plural(at.Left, "gift") + " could not be read and stayed. Run donorbook check to see why."
	}
	if view.Working() && at.Total > 0 {
		view.soFar(at.Moved, at.Total, "gift")
	}
	view.More = view.Told
	return err
}

// soFar tells how much of the work is done.
func (view *jobView) soFar(done, total int64, noun string) {
	view.Told, view.Width = shownCount(done)+" of "+plural(total, noun), shareOf(min(done, total), total)
}

// undoTold is what an undo has done to a job, in words.
func undoTold(undo *jobs.Job, of *jobView) (told string, err error) {
	var at jobs.UndoProgress
	err = json.Unmarshal(undo.Progress, &at)
	archived := ", and the contacts it created were archived."
	switch {
	case undo.Working():
		return plural(at.Undone, "change") + " undone so far.", err
	case undo.StoppedUndo():
		return "Undo stopped after " + plural(at.Undone, "change") + ". The rest wasn’t undone.", err
	case at.Undone == 0:
		told = "Nothing was undone."
	case of.OfGifts() && at.Restored > 0:
		told = "Import undone: " + plural(at.Withdrawn, "gift") + " " + choose(at.Withdrawn, "was", "were") + " canceled, " + plural(at.Restored, "change") + " to earlier gifts " + choose(at.Restored, "was", "were") + " reversed" + archived
	case of.OfGifts():
		told = "Import undone: " + plural(at.Withdrawn, "gift") + " " + choose(at.Withdrawn, "was canceled and no longer counts", "were canceled and no longer count") + archived
	case at.Erased > 0:
		told = "Import undone: " + plural(at.Erased, "contact") + " that it created " + choose(at.Erased, "was", "were") + " erased, and its updates to other contacts were reversed."
	case of.Import != nil:
		told = "Import undone: the contacts it created were archived, and its updates to other contacts were reversed."
	default:
		told = plural(at.Undone, "contact") + " restored to how " + choose(at.Undone, "it was", "they were") + "."
	}
	if at.Kept > 0 {
		told += " " + keptTold(at.Kept, of.OfGifts())
	}
	return told, err
}

// keptTold says that an undo has left something alone. A gift that stays keeps its contact from the archive.
func keptTold(kept int64, gifts bool) string {
	what := plural(kept, "contact")
	if gifts {
		what = shownCount(kept) + " " + choose(kept, "gift or contact", "gifts and contacts")
	}
	return what + " " + choose(kept, "was changed since then and was left as is.", "were changed since then and were left as they are.")
}

// keptLinks lead to what an undo has left alone: contacts, gifts and plans.
func (r *request) keptLinks(job int64) (links []link, err error) {
	rows, err := r.store.JobRows(r.Context(), r.account(), job, 0, keptShown)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		to, err := r.keptLink(&rows[i])
		if errors.Is(err, crm.ErrNotFound) { // of a person who was erased
			continue
		}
		if err != nil {
			return nil, err
		}
		links = append(links, to)
	}
	return links, nil
}

func (r *request) keptLink(row *jobs.JobRow) (link, error) {
	kept := row.Kept()
	if kept.Gift != "" {
		g, err := r.store.GiftRecord(r.Context(), r.account(), kept.Gift)
		if err != nil {
			return link{}, err
		}
		return link{text.Money(leftOf(&g.Gift), g.Currency) + " from " + giverName(g.Giver), r.path(giftPath(g.Code))}, nil
	}
	contact, err := r.store.ContactRecord(r.Context(), r.account(), row.Contact)
	if err != nil {
		return link{}, err
	}
	if kept.Plan != "" {
		return link{"Recurring gift of " + contactName(contact), r.path(planPath(kept.Plan))}, nil
	}
	return link{contactName(contact), r.path(contactPath(row.Contact))}, nil
}
