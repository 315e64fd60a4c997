package book

import (
	"fmt"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/history"
	"donorbook/internal/store"
	"donorbook/internal/store/check"
	"donorbook/internal/store/jobs"
)

// folk are the people of an organization, whose clock goes.
type folk struct{ *org }

func folkOf(t *testing.T, s *Book) *folk {
	t.Helper()
	return folkIn(t, s, newAccount(t, s))
}

func folkIn(t *testing.T, s *Book, account access.Account) *folk {
	return &folk{&org{T: t, Book: s, Account: account, office: new(postOffice)}}
}

func newFolk(t *testing.T) *folk {
	t.Helper()
	return folkOf(t, newBook(t))
}

// twoFolk are the same people on two nodes.
func twoFolk(t *testing.T) (a, b *folk) {
	t.Helper()
	one, other := twoNodes(t)
	a = folkOf(t, one)
	return a, folkIn(t, other, a.Account)
}

// another is another organization of the same store.
func (s *folk) another() *folk { return folkOf(s.T, s.Book) }

func (s *folk) create(body string) store.ContactDocument {
	s.Helper()
	return create(s, s.Book, s.Number, body)
}

func (s *folk) update(id int64, body string) store.ContactDocument {
	s.Helper()
	return must(s.UpdateContact(s.Context(), s.Number, id, input(s, body)))(s)
}

func (s *folk) archive(id int64) {
	s.Helper()
	archive(s, s.Book, s.Number, id)
}

func (s *folk) restore(id int64) store.ContactDocument {
	s.Helper()
	return restore(s, s.Book, s.Number, id)
}

func (s *folk) get(id int64) person {
	s.Helper()
	return get(s, s.Book, s.Number, id)
}

func (s *folk) record(id int64) crm.Contact {
	s.Helper()
	return must(s.ContactRecord(s.Context(), s.Number, id))(s)
}

func (s *folk) page(scope crm.ContactScope, number, perPage int64) (ids []int64, total int64) {
	s.Helper()
	return page(s, s.Book, s.Number, scope, number, perPage)
}

func (s *folk) listBytes(scope crm.ContactScope, number, perPage int64) (documents string, total int64) {
	s.Helper()
	return listBytes(s, s.Book, s.Number, scope, number, perPage)
}

func (s *folk) wantLists(active, archived []int64) {
	s.Helper()
	wantLists(s, s.Book, s.Number, active, archived)
}

func (s *folk) filtered(scope crm.ContactScope, f find.Filter, number, perPage int64) (ids []int64, total int64) {
	s.Helper()
	return filtered(s, s.Book, s.Number, scope, f, number, perPage)
}

func (s *folk) search(scope crm.ContactScope, what find.Search, limit int64) []int64 {
	s.Helper()
	return search(s, s.Book, s.Number, scope, what, limit)
}

func (s *folk) addTags(id int64, tags ...string) store.ContactDocument {
	s.Helper()
	return must(s.AddTags(s.Context(), s.Number, id, tags))(s)
}

func (s *folk) rename(tag, to string) jobs.TagChange {
	s.Helper()
	return must(s.RenameTags(s.Context(), s.Number, to, tag))(s)
}

func (s *folk) deleteTag(tag string) jobs.TagChange {
	s.Helper()
	return must(s.RenameTags(s.Context(), s.Number, "", tag))(s)
}

func (s *folk) withTag(tag string) int64 {
	s.Helper()
	return withTag(s, s.Book, s.Number, tag)
}

// wantTags checks the largest tags.
func (s *folk) wantTags(want string) {
	s.Helper()
	equal(s, fmt.Sprint(must(s.LargestTags(s.Context(), s.Number, 100))(s)), "["+want+"]", "the tags")
}

func (s *folk) two() (survivor, other int64) {
	s.Helper()
	return twoOf(s, s.Book, s.Number)
}

func (s *folk) merge(survivor, other int64) int64 {
	s.Helper()
	return mergeOf(s, s.Book, s.Number, survivor, other)
}

func (s *folk) unmerge(merge int64) store.Undone {
	s.Helper()
	return must(s.UndoMerge(s.Context(), s.Number, merge, "US"))(s)
}

func (s *folk) give(body string) store.GiftDocument {
	s.Helper()
	return must(s.CreateGift(s.Context(), s.Number, giftInput(s, body, true, s.Now())))(s)
}

func (s *folk) everything() []string {
	s.Helper()
	return everything(s, s.Book, s.Number)
}

func (s *folk) bulk(of jobs.Selection, kind crm.BulkKind, tags ...string) jobs.BulkResult {
	s.Helper()
	return bulk(s, s.Book, s.Number, of, kind, tags...)
}

func (s *folk) undo(job int64) jobs.UndoProgress {
	s.Helper()
	return undo(s, s.Book, s.Number, job)
}

func (s *folk) job(id int64) jobs.Job {
	s.Helper()
	return must(s.Job(s.Context(), s.Number, id))(s)
}

func (s *folk) wantJob(id int64, state jobs.JobState, changes int64) jobs.Job {
	s.Helper()
	return wantJob(s, s.Book, s.Number, id, state, changes)
}

func (s *folk) finishJobs() {
	s.Helper()
	finishJobs(s, s.Book)
}

func (s *folk) define(title string, kind custom.FieldType, options ...string) custom.Field {
	s.Helper()
	return define(s, s.Book, s.Number, title, kind, options...)
}

func (s *folk) damage(sql string, args ...any) {
	s.Helper()
	damage(s, s.Book, sql, args...)
}

func (s *folk) checkAll(repair bool) (found []string, report check.CheckReport) {
	s.Helper()
	return checkAll(s.T, s.Book, repair)
}

func (s *folk) checked() {
	s.Helper()
	checked(s.T, s.Book)
}

func (s *folk) together(changes ...func() error) []error {
	s.Helper()
	return together(s.T, s.Book, s.Number, changes...)
}

func (s *folk) creating(name string) func() error { return creating(s.T, s.Book, s.Number, name) }

func (s *folk) createAs(body string, mode crm.CreateMode) store.ContactDocument {
	s.Helper()
	return createAs(s, s.Book, s.Number, body, mode)
}

func (s *folk) document(id int64) []byte {
	s.Helper()
	return must(s.Contact(s.Context(), s.Number, id, nil))(s)
}

func (s *folk) syncTags(id int64, tags ...string) store.ContactDocument {
	s.Helper()
	return must(s.SyncTags(s.Context(), s.Number, id, tags))(s)
}

func (s *folk) fillNamed(n int, body func(i int) string) {
	s.Helper()
	fillNamed(s, s.Book, s.Number, n, body)
}

func (s *folk) segment(name, query string) find.Segment {
	s.Helper()
	return must(s.CreateSegment(s.Context(), s.Number, segment(s, name, query)))(s)
}

// timeline is the history of a contact, the newest change first.
func (s *folk) timeline(contact int64) []history.Activity {
	s.Helper()
	found, _ := must2(s.Timeline(s.Context(), s.Number, history.ContactNoun, contact,
		crm.PageRequest{Page: 1, PerPage: 100}))(s)
	return found
}
