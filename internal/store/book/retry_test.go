package book

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/move"
)

// attempting is the context of a request that creates a contact, as the API makes it.
func attempting(t *testing.T, key, request string) context.Context {
	return store.Attempting(t.Context(), &store.Attempt{Key: key, Fingerprint: []byte(request),
		Answer: func(made store.Result) store.Answer {
			return store.Answer{Status: 201, Header: "X-Made: " + fmt.Sprint(made.Outcome().Created),
				Body: made.Append(nil)}
		}})
}

// attempt creates a contact, and returns the contact id that the client is told.
func attempt(t *testing.T, s *Book, account int64, key, name string) (id int64, err error) {
	t.Helper()
	made, err := s.CreateContact(attempting(t, key, name), account, input(t, fmt.Sprintf(`{"first_name":%q}`, name)),
		crm.Dedupe)
	var first *store.Replayed
	if errors.As(err, &first) {
		if first.Status != 201 || first.Header != "X-Made: true" {
			t.Errorf("%s: the first answer was %+v", key, first)
		}
		return parse(t, first.Body).ID, err
	}
	return made.ID, err
}

func (s *folk) attempt(key, name string) (id int64, err error) {
	s.Helper()
	return attempt(s.T, s.Book, s.Number, key, name)
}

// attempts are those with several keys, at once.
func (s *folk) attempts(name string, keys ...string) (ids []int64, errs []error) {
	s.Helper()
	ids = make([]int64, len(keys))
	var changes []func() error
	for i, key := range keys {
		changes = append(changes, func() (err error) {
			ids[i], err = s.attempt(key, name+key)
			return err
		})
	}
	return ids, s.together(changes...)
}

// keptKeys are the keys of all answers that the account has, and keptBytes is how long these are together.
func (s *folk) keptKeys() []string {
	s.Helper()
	return must(store.List(s.Context(), s.Store, func(r db.Row) string { return strings.Clone(r.Text(0)) },
		`SELECT key FROM request_answer WHERE account_id = $1 ORDER BY key`, s.Number))(s)
}

func (s *folk) keptBytes() int64 {
	s.Helper()
	return must(store.List(s.Context(), s.Store, store.Number,
		`SELECT CAST(COALESCE(SUM(length(body)), 0) AS BIGINT) FROM request_answer WHERE account_id = $1`,
		s.Number))(s)[0]
}

// replayed is the body of the first answer, where an error tells of one.
func replayed(t testing.TB, err error) string {
	t.Helper()
	var first *store.Replayed
	if !errors.As(err, &first) {
		t.Errorf("%v is no answer from before", err)
		return ""
	}
	return string(first.Body)
}

func TestConcurrentAttemptsOfOneBatchHaveOneEffectForEachKey(t *testing.T) {
	s := newFolk(t)
	ids, errs := s.attempts("N", slices.Repeat([]string{"key 0", "key 1", "key 2", "key 3"}, 10)...)
	var made int
	for i, id := range ids {
		if errs[i] == nil {
			made++
		} else {
			replayed(t, errs[i])
		}
		equal(t, id, ids[i%4], "attempt %d was told of contact", i)
		equal(t, id != 0, true)
	}
	_, total := s.page(crm.All, 1, 100)
	expect(t, "effects, contacts", "4 4", made, total)
}

// A refused change stores nothing, and the answer that the API stores for it does not replace the answer of another
// attempt.
func TestARefusalIsKeptOnlyWhereNothingElseIs(t *testing.T) {
	s := newFolk(t)
	keep := func(key, request string, status int) error {
		return s.KeepAnswer(attempting(t, key, request), s.Number, store.Answer{Status: status, Body: []byte(`"no"`)})
	}
	refuses(t, "tags of no contact", crm.ErrNotFound)(s.AddTags(attempting(t, "tags", "tags"), s.Number,
		doc.MakeID(s.Number, 9), []string{"a"}))
	equal(t, len(s.keptKeys()), 0, "kept")
	succeed(t, keep("tags", "tags", 403))
	id := must(s.attempt("Ana", "Ana"))(t)
	for key, want := range map[string]string{"tags": `"no"`, "Ana": fmt.Sprint(id)} {
		contains(t, replayed(t, keep(key, key, 422)), want, "%s: a later refusal gets", key)
		refuses(t, "another request", crm.ErrRetryKeyReused)(keep(key, "another", 403))
	}
}

// A new answer removes two that have expired, so that the stored answers are bounded by the requests of one day.
func TestConcurrentExpiredAnswersAreRemovedBitByBit(t *testing.T) {
	s := newFolk(t)
	other, clock := s.another(), stopClock(s.Book)
	for i := range 9 {
		clock.move(time.Second)
		must(s.attempt(fmt.Sprint("old ", i), "Old"))(t)
		must(other.attempt(fmt.Sprint("old ", i), "Old"))(t)
	}
	clock.move(crm.RetryWindow - 5*time.Second) // the first four have expired
	must(s.attempt("new 1", "New"))(t)
	equal(t, s.keptKeys(), []string{"new 1", "old 2", "old 3", "old 4", "old 5", "old 6", "old 7", "old 8"},
		"after one")
	// One batch: each key is used once more, and no new answer is mistaken for the expired one.
	again := []string{"old 2", "old 3", "old 4", "new 1", "new 2"}
	_, errs := s.attempts("Again ", again...)
	for i, want := range []error{nil, nil, crm.ErrRetryKeyReused, crm.ErrRetryKeyReused, nil} {
		wantError(t, again[i], errs[i], want)
	}
	equal(t, s.keptKeys(), []string{"new 1", "new 2", "old 2", "old 3", "old 4", "old 5", "old 6", "old 7", "old 8"},
		"after five more")
	for _, key := range again[:2] {
		replayed(t, errOf(s.attempt(key, "Again "+key)))
	}
	equal(t, len(other.keptKeys()), 9, "another account")
}

// A client that repeats its request after the move to another database must not make the same change twice.
func TestACopyKeepsTheAnswers(t *testing.T) {
	eachWay(t, func(t *testing.T, from, to store.Options) {
		a := open(t, from)
		account := newAccount(t, a).Number
		id := must(attempt(t, a, account, "moved", "Ana"))(t)
		mustCopy(t, from, to, move.CopyOptions{})
		again, err := attempt(t, open(t, to), account, "moved", "Ana")
		if first := new(store.Replayed); !errors.As(err, &first) || again != id {
			t.Errorf("contact %d was made before the copy, and after it %d, %v", id, again, err)
		}
	})
}

// bounded runs a test with another bound of what is kept for an account, which all tests share.
func bounded(t *testing.T, kept int64, test func(t *testing.T, s *folk)) {
	before := store.KeptAnswers
	store.KeptAnswers = kept
	t.Cleanup(func() { store.KeptAnswers = before })
	for _, e := range testEngines { // not at once
		t.Run(e.name, func(t *testing.T) { test(t, folkOf(t, open(t, e.options(t)))) })
	}
}

// TestKeptAnswersAreBoundedByAccount: large answers are kept whole up to a bound for each account. Beyond it, who
// sends a request again gets the first status and the document as it is now, and never a second effect.
func TestKeptAnswersAreBoundedByAccount(t *testing.T) {
	bounded(t, 20_000, func(t *testing.T, s *folk) {
		clock, note := stopClock(s.Book), strings.Repeat("x", 5_900)
		id := s.person(`{"first_name":"Ann","last_name":"Lee"}`)
		patch := func(i int) error {
			key := fmt.Sprint("patch ", i)
			return errOf(s.UpdateContact(attempting(t, key, key), s.Number, id,
				input(t, fmt.Sprintf(`{"note":"%d %s"}`, i, note))))
		}
		for i := range 10 {
			succeed(t, patch(i))
		}
		equal(t, s.keptBytes() <= 20_000+10*100, true, "%d bytes are kept", s.keptBytes())
		for i, want := range []string{`"note":"0 `, `"note":"1 `, `"note":"2 `, `"note":"9 `, `"note":"9 `} {
			err := patch(i)
			contains(t, replayed(t, err), want, "patch %d again", i)
			equal(t, err.(*store.Replayed).Status, 201)
		}
		refuses(t, "another request", crm.ErrRetryKeyReused)(s.UpdateContact(attempting(t, "patch 9", "another"),
			s.Number, id, input(t, `{}`)))
		equal(t, s.record(id).Note[:2], "9 ", "the note begins")
		clock.move(crm.RetryWindow + time.Second)
		for i := range 8 { // others expire as these are kept
			succeed(t, patch(i))
		}
		contains(t, replayed(t, patch(2)), `"note":"2 `, "where what has expired does not count")
		s.erase(id)
		for i := range 8 {
			refuses(t, "after the erasure", crm.ErrArchived)(patch(i))
		}
	})
}

// TestAnswersThatExpireAreCountedOnce: also one whose key is used again by a request that is refused with so much
// that the answer is not kept.
func TestAnswersThatExpireAreCountedOnce(t *testing.T) {
	bounded(t, 6_000, func(t *testing.T, s *folk) {
		clock := stopClock(s.Book)
		for i, length := range []int{1, 1, 3_000} { // the first ones are removed first
			clock.move(time.Second)
			in := input(t, fmt.Sprintf(`{"first_name":"Ann","note":%q}`, strings.Repeat("x", length)))
			must(s.CreateContact(attempting(t, fmt.Sprint(i), "create"), s.Number, in, crm.Force))(t)
		}
		clock.move(crm.RetryWindow + time.Second)
		succeed(t, s.KeepAnswer(attempting(t, "2", "refused"), s.Number,
			store.Answer{Status: 422, Body: make([]byte, 7_000)}))
		s.checked()
		equal(t, len(s.keptKeys()), 0, "kept")
	})
}

// TestEveryLargeDocumentIsReadAgain: whatever a large answer has shown, it is shown as it is now.
func TestEveryLargeDocumentIsReadAgain(t *testing.T) {
	bounded(t, 0, func(t *testing.T, s *folk) {
		long := strings.Repeat("x", 3_000)
		person := s.person(`{"first_name":"Ann","last_name":"Lee"}`)
		for name, change := range map[string]func(context.Context) (store.Result, error){
			"contact": func(ctx context.Context) (store.Result, error) {
				return s.CreateContact(ctx, s.Number, input(t,
					fmt.Sprintf(`{"first_name":"Bob","last_name":"Ray","note":%q}`, long)), crm.Dedupe)
			},
			"campaign": func(ctx context.Context) (store.Result, error) {
				made, err := s.CreateCampaign(ctx, s.Account,
					campaign.Input{Title: ptr("Gala"), Description: ptr(long)})
				return store.MadeCampaign{Campaign: made}, err
			},
			"gift": func(ctx context.Context) (store.Result, error) {
				return s.CreateGift(ctx, s.Number, giftInput(t,
					fmt.Sprintf(`{"contact_id":%d,"amount":5,"method":"cash","transacted_at":"2026-01-03","note":%q}`,
						person, long), true, s.Now()))
			},
			"note": func(ctx context.Context) (store.Result, error) {
				return s.AddNote(ctx, s.Number, person, history.NoteInput{Note: &long})
			},
		} {
			made := must(change(attempting(t, name, name)))(t)
			equal(t, replayed(t, errOf(change(attempting(t, name, name)))), string(made.Append(nil)), "%s again", name)
		}
		equal(t, s.keptBytes() <= 1000, true, "%d bytes are kept", s.keptBytes())
	})
}
