package work

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/url"
	"strconv"
	"strings"

	"donorbook/internal/console/page"
	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
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

// jobView is one job as lists and its page show it.
type jobView struct {
	*jobs.Job
	Import         *jobs.Import // of a job that imports a file
	Title, Address string
	State          page.Mark
	By             string          // who has begun it
	Told           string          // what it does, or has done
	More           string          // what the title does not say already
	Width          string          // of the bar, in percent; "" where no one knows
	Letters        int64           // that a mailing has to print
	Mails          int64           // that it has written
	Thanks         bool            // it thanks for gifts
	Left           []page.LeftLine // who gets nothing, and why
	Trouble        string          // why it has failed, or does not get on
	Kept           []page.Link
	Undoing        *jobView  // the job that undoes it
	Undoes         page.Link // the job that it undoes
}

// AllRows is the page with all rows.
func (v jobView) AllRows() string { return page.WithQuery(v.Address, url.Values{"all": {"1"}}) }

// OfGifts tells whether the job imports gifts.
func (view *jobView) OfGifts() bool {
	return view.Import != nil && view.Import.Spec.Of == jobs.ImportGifts
}

// Moving tells whether a node works on the job, or undoes it.
func (view *jobView) Moving() bool {
	return view.Working() || view.Undoing != nil && view.Undoing.Working()
}

var jobStates = map[jobs.JobState]page.Mark{
	jobs.JobUploading: {Label: "Uploading", Color: "warn"},
	jobs.JobMapping:   {Label: "Waiting for you", Color: "warn"},
	jobs.JobWaiting:   {Label: "In progress", Color: "warn"},
	jobs.JobRunning:   {Label: "In progress", Color: "warn"},
	jobs.JobDone:      {Label: "Done", Color: "good"},
	jobs.JobFailed:    {Label: "Failed", Color: "bad"},
	jobs.JobCanceled:  {Label: "Stopped", Color: ""},
}

// undoState says how far a job was undone.
func undoState(undo *jobs.Job) page.Mark {
	mark := page.Mark{Label: undo.UndoState()}
	if undo.Working() || undo.StoppedUndo() {
		mark.Color = "warn"
	}
	return mark
}

// JobsPage lists everything that works in the background.
func JobsPage(r *page.Request) error {
	l := r.List(r.Path("/jobs"), page.PageParameter, jobsPerPage)
	found, result, err := r.Store.Jobs(r.Context(), r.Account(), l.PageRequest)
	if err != nil {
		return err
	}
	view, err := jobTable(r, "Background work, latest first", found)
	if err != nil {
		return err
	}
	view.Pager = l.Pager(result.Total)
	return r.Render("jobs", page.View{Title: "Background work", Section: "jobs", Form: r.Form, Data: view})
}

var jobColumns = []page.Column{{Name: "work", Label: "Work"}, {Name: "result", Label: "Result", Class: "muted"}, {Name: "by", Label: "By", Class: "muted"}, {Name: "status", Label: "Status"}}

// jobTable is the table of some jobs.
func jobTable(r *page.Request, caption string, all []jobs.Job) (page.Table, error) {
	views, err := jobViews(r, all)
	return r.NewTable("jobs", caption, jobColumns, page.Pointers(views)), err
}

func jobViews(r *page.Request, all []jobs.Job) (views []jobView, err error) {
	people, err := r.PeopleOf()
	if err != nil {
		return nil, err
	}
	for _, j := range all {
		view, err := newJobView(r, people, j)
		if err != nil {
			return nil, err
		}
		views = append(views, view)
	}
	return views, nil
}

// JobPage shows a job and how far it has come. A script asks for it again and again until it is done.
func JobPage(r *page.Request, j jobs.Job) (err error) {
	views, err := jobViews(r, []jobs.Job{j})
	if err != nil {
		return err
	}
	view := jobPageView{jobView: views[0]}
	if undo := cmp.Or(j.Undo, j.ID); j.Undo != 0 || j.Kind == jobs.UndoingJob {
		view.Kept, err = keptLinks(r, undo)
	}
	if view.Letters > 0 {
		r.PrintChoices()
	}
	p := page.View{Title: view.Title, Section: "jobs", Form: r.Form, Data: &view}
	if j.Kind == jobs.ImportJob {
		p.Section = "imports"
		err = errors.Join(err, fillImport(r, &view))
	}
	switch {
	case err != nil:
		return err
	case !r.IsPart():
		return r.Render("job", p)
	case (view.Import != nil || view.Letters > 0) && !view.Moving():
		r.W.Header().Set("HX-Refresh", "true") // there is more to show than a bar
	}
	return r.RenderPart("job", "job-state", p)
}

// newJobView says what a job is and does. An undo is called by what it undoes.
func newJobView(r *page.Request, people page.People, j jobs.Job) (view jobView, err error) {
	if view, err = newView(people, r, j); err != nil {
		return view, err
	}
	if j.Undo != 0 {
		undo, err := r.Store.Job(r.Context(), r.Account(), j.Undo)
		if err != nil {
			return view, err
		}
		view.State = undoState(&undo)
		view.Undoing = &jobView{Job: &undo, Address: r.Path(page.JobPath(undo.ID))}
		view.Undoing.Told, err = undoTold(&undo, &view)
		return view, err
	}
	if j.Kind != jobs.UndoingJob {
		return view, nil
	}
	undone, err := r.Store.Job(r.Context(), r.Account(), j.Undoes())
	if err != nil {
		return view, err
	}
	of, err := newView(people, r, undone)
	if err != nil {
		return view, err
	}
	view.Title, view.Undoes = "Undo: "+of.Title, page.Link{Label: of.Title, Address: of.Address}
	view.Told, err = undoTold(&j, &of)
	view.More = view.Told
	return view, err
}

// JobOf is the job in the path.
func JobOf(r *page.Request) (jobs.Job, error) {
	return r.Store.Job(r.Context(), r.Account(), page.ParseID(cmp.Or(r.PathValue("job"), r.PathValue("import"))))
}

// CancelJob stops a job. What it has done so far stays, and can be undone.
func CancelJob(r *page.Request, j jobs.Job) (err error) {
	said := "Stopped. Changes so far are kept."
	switch {
	case j.Kind == jobs.MailingJob:
		said = "Stopped. What was sent so far stays sent, and the rest is not."
	case j.Kind != jobs.ImportJob:
	case j.First == 0:
		said = "Import canceled. Nothing was imported."
	default:
		said = "Import stopped. Rows imported so far are kept, and you can undo them."
	}
	if _, err = r.Store.CancelJob(r.Context(), r.Account(), j.ID); errors.Is(err, crm.ErrChanged) {
		said, err = "This has already finished.", nil
	}
	return r.Done(err, r.Path(page.JobAddress(j.Kind, j.ID)), page.Notice{Text: said})
}

// UndoJob undoes a job, or continues an undo that was stopped. Where that is done at once, the person goes back to the list that the job was begun on.
func UndoJob(r *page.Request, j jobs.Job) (err error) {
	erase := r.Form.Value("erase") != ""
	if im, err := jobs.ImportOf(j); erase && (err != nil || im.Spec.Of != jobs.ImportContacts || r.Membership.Role < access.Owner) {
		return page.Forbidden(r.Membership, access.Owner)
	}
	id, address := cmp.Or(j.Undo, j.ID), r.Path(page.JobAddress(j.Kind, j.ID))
	var undo jobs.Job
	if j.Kind == jobs.ImportJob {
		undo, err = r.Store.UndoJob(r.Context(), r.Account(), id, r.Options.Region, erase)
	} else {
		undo, err = r.Store.UndoSoon(r.Context(), r.Account(), id, r.Options.Region)
	}
	if errors.Is(err, crm.ErrChanged) {
		return r.Redirect(address, page.Notice{Text: "This was already undone, or hasn’t finished yet. Nothing was changed."})
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
		return r.Redirect(address)
	case undo.Ended() && at.Kept == 0 && page.MayReturn(back):
		return r.Redirect(r.Path(back), page.Notice{Text: "Undone. " + page.Capital(page.Plural(at.Undone, "contact")) + " restored to how " + page.Choose(at.Undone, "it was", "they were") + "."})
	}
	return r.Redirect(r.Path(page.JobPath(undo.ID)))
}

// newView says what a job is and does.
func newView(p page.People, r *page.Request, j jobs.Job) (view jobView, err error) {
	view = jobView{Job: &j, State: jobStates[j.State], Address: r.Path(page.JobAddress(j.Kind, j.ID)), By: p.Called(j.Actor)}
	switch j.Kind {
	case jobs.BulkJob:
		var action crm.BulkAction
		var at jobs.BulkProgress
		err = errors.Join(json.Unmarshal(j.Spec, &action), json.Unmarshal(j.Progress, &at))
		view.Title, view.Told = page.BulkWordsFor(action, at.Total, page.Plural(at.Total, "contact")).Title, page.BulkTold(action, at.BulkCounts)
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
	case jobs.SureJob:
		var at duplicates.SureProgress
		err = json.Unmarshal(j.Progress, &at)
		view.Title, view.Told = "Merge certain matches", page.Plural(at.Merged, "contact")+" merged into others."
		if at.Left > 0 {
			view.Told += " " + page.Plural(at.Left, "group") + " changed since then and " + page.Choose(at.Left, "was", "were") + " left alone."
		}
		view.More = view.Told
		if j.Working() && at.Total > 0 {
			view.soFar(at.Groups, at.Total, "group")
		}
	case jobs.MailingJob:
		err = tellMailing(&view)
	case jobs.MoveJob:
		err = tellMove(r, &view)
	case jobs.EraseJob:
		var spec move.Erasure
		err = json.Unmarshal(j.Spec, &spec)
		view.Title = "Erase " + page.Plural(int64(len(spec.Contacts)), "contact")
		if view.Told = "Their details were removed from gifts, history and imports."; j.Working() {
			view.Told = "Their details are being removed from gifts, history and imports."
		}
		view.More = view.Told
	default:
		view.Title = page.Capital(page.JobWords[j.Kind])
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
	return page.Count(n) + " times"
}

// RetryJob lets a job that has failed go on.
func RetryJob(r *page.Request, j jobs.Job) error {
	_, err := r.Store.RetryJob(r.Context(), r.Account(), j.ID)
	if errors.Is(err, crm.ErrChanged) {
		return r.Redirect(r.Path(page.JobPath(j.ID)), page.Notice{Text: "This has not failed, so nothing was changed."})
	}
	return r.Done(err, r.Path(page.JobPath(j.ID)))
}

// tellMove says which gifts a merge or its undo moves.
func tellMove(r *page.Request, view *jobView) error {
	var at merges.MoveProgress
	id, err := merges.MoveOf(view.Job)
	if err = errors.Join(err, json.Unmarshal(view.Progress, &at)); err != nil {
		return err
	}
	m, err := r.Store.MergeOf(r.Context(), r.Account(), id)
	if err != nil && !errors.Is(err, crm.ErrNotFound) {
		return err
	}
	named, err := r.Store.ContactNames(r.Context(), r.Account(), []int64{m.Survivor, m.Other})
	from, to := named[m.Other], named[m.Survivor]
	if at.Undo {
		from, to = to, from
	}
	view.Title, view.Told = "Move gifts from "+page.ContactName(from)+" to "+page.ContactName(to), page.Plural(at.Moved, "gift")+" moved."
	if at.Left > 0 {
		view.Told += " " + page.Plural(at.Left, "gift") + " could not be read and stayed. Run donorbook check to see why."
	}
	if view.Working() && at.Total > 0 {
		view.soFar(at.Moved, at.Total, "gift")
	}
	view.More = view.Told
	return err
}

// tellMailing says whom a job writes to.
func tellMailing(view *jobView) error {
	var m jobs.Mailing
	var at jobs.MailingProgress
	if err := errors.Join(json.Unmarshal(view.Spec, &m), json.Unmarshal(view.Progress, &at)); err != nil {
		return err
	}
	noun := "gift"
	view.Title = "Thank for " + page.Plural(at.Total, noun)
	if m.Year != 0 {
		noun = "contact"
		view.Title = "Giving statements " + strconv.FormatInt(m.Year, 10) + " for " + page.Plural(at.Total, noun)
	}
	view.Letters, view.Mails, view.Thanks, view.Left = at.Letters, at.Mailed, m.Year == 0, page.LeftOut(at.Left, page.Unlisted)
	view.Told = page.Plural(at.Mailed, "mail") + " written."
	if at.Letters > 0 {
		view.Told = page.Plural(at.Mailed, "mail") + " written, " + page.Plural(at.Letters, "letter") + " to print."
	}
	if m.Receipts {
		view.Told = strings.TrimSuffix(view.Told, ".") + ", with receipts where one can be made."
	}
	if at.Already > 0 && m.Year != 0 {
		view.Told += " " + page.Plural(at.Already, "contact") + " got a statement by mail within the last hour."
	} else if at.Already > 0 {
		view.Told += " " + page.Plural(at.Already, "gift") + " " + page.Choose(at.Already, "was", "were") + " thanked for already."
	}
	if view.More = view.Told; view.Working() && at.Total > 0 {
		view.soFar(at.Done(), at.Total, noun)
	}
	return nil
}

// Letters sends the letters of a mailing.
func Letters(r *page.Request, j jobs.Job) error {
	if j.Kind != jobs.MailingJob {
		return r.Redirect(r.Path(page.JobAddress(j.Kind, j.ID)), page.Notice{Text: "This work has no letters."})
	}
	r.Form.Fields = r.URL.Query()
	r.PrintChoices()
	if err := r.HoldDownload(); err != nil {
		return err
	}
	file, err := r.Store.PrintLettersOf(r.Context(), r.Account(), j, move.Print{ByZip: r.Form.Value("order") == "zip", A4: r.Form.Value("paper") == "a4"})
	if err == nil && file.Rows == 0 {
		return r.Redirect(r.Path(page.JobPath(j.ID)), page.Notice{Text: "These letters are no longer kept, or the people were erased."})
	}
	return r.Download("letters", file, err)
}

// soFar tells how much of the work is done.
func (view *jobView) soFar(done, total int64, noun string) {
	view.Told, view.Width = page.Count(done)+" of "+page.Plural(total, noun), page.ShareOf(min(done, total), total)
}

// undoTold is what an undo has done to a job, in words.
func undoTold(undo *jobs.Job, of *jobView) (told string, err error) {
	var at jobs.UndoProgress
	err = json.Unmarshal(undo.Progress, &at)
	archived := ", and the contacts it created were archived."
	switch {
	case undo.Working():
		return page.Plural(at.Undone, "change") + " undone so far.", err
	case undo.StoppedUndo():
		return "Undo stopped after " + page.Plural(at.Undone, "change") + ". The rest wasn’t undone.", err
	case at.Undone == 0:
		told = "Nothing was undone."
	case of.OfGifts() && at.Restored > 0:
		told = "Import undone: " + page.Plural(at.Withdrawn, "gift") + " " + page.Choose(at.Withdrawn, "was", "were") + " canceled, " + page.Plural(at.Restored, "change") + " to earlier gifts " + page.Choose(at.Restored, "was", "were") + " reversed" + archived
	case of.OfGifts():
		told = "Import undone: " + page.Plural(at.Withdrawn, "gift") + " " + page.Choose(at.Withdrawn, "was canceled and no longer counts", "were canceled and no longer count") + archived
	case at.Erased > 0:
		told = "Import undone: " + page.Plural(at.Erased, "contact") + " that it created " + page.Choose(at.Erased, "was", "were") + " erased, and its updates to other contacts were reversed."
	case of.Import != nil:
		told = "Import undone: the contacts it created were archived, and its updates to other contacts were reversed."
	default:
		told = page.Plural(at.Undone, "contact") + " restored to how " + page.Choose(at.Undone, "it was", "they were") + "."
	}
	if at.Campaigns > 0 {
		told += " " + page.Plural(at.Campaigns, "campaign") + " that it created " + page.Choose(at.Campaigns, "was", "were") + " removed."
	}
	if at.Kept > 0 {
		told += " " + keptTold(at.Kept, of.OfGifts())
	}
	return told, err
}

// keptTold says that an undo has left something alone. A gift that stays keeps its contact from the archive.
func keptTold(kept int64, gifts bool) string {
	what := page.Plural(kept, "contact")
	if gifts {
		what = page.Count(kept) + " " + page.Choose(kept, "gift, contact or campaign", "gifts, contacts and campaigns")
	}
	return what + " " + page.Choose(kept, "was changed since then and was left as is.", "were changed since then and were left as they are.")
}

// keptLinks lead to what an undo has left alone: contacts, gifts, plans and campaigns.
func keptLinks(r *page.Request, job int64) (links []page.Link, err error) {
	rows, err := r.Store.JobRows(r.Context(), r.Account(), job, 0, keptShown)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		to, err := keptLink(r, &rows[i])
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

func keptLink(r *page.Request, row *jobs.JobRow) (page.Link, error) {
	kept := row.Kept()
	if kept.Gift != "" {
		g, err := r.Store.GiftRecord(r.Context(), r.Account(), kept.Gift)
		if err != nil {
			return page.Link{}, err
		}
		return page.Link{Label: text.Money(page.LeftOf(&g.Gift), g.Currency) + " from " + page.GiverName(g.Giver), Address: r.Path(page.GiftPath(g.Code))}, nil
	}
	if kept.Campaign != 0 {
		c, err := r.Store.Campaign(r.Context(), r.Account(), kept.Campaign)
		return page.Link{Label: "Campaign " + c.Campaign.Title, Address: r.Path(page.CampaignPath(kept.Campaign))}, err
	}
	contact, err := r.Store.ContactRecord(r.Context(), r.Account(), row.Contact)
	if err != nil {
		return page.Link{}, err
	}
	if kept.Plan != "" {
		return page.Link{Label: "Recurring gift of " + page.ContactName(contact), Address: r.Path(page.PlanPath(kept.Plan))}, nil
	}
	return page.Link{Label: page.ContactName(contact), Address: r.Path(page.ContactPath(row.Contact))}, nil
}
