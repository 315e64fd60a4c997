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

// keptKeys are the keys of all answers that the account has.
func keptKeys(t *testing.T, s *Book, account int64) (keys []string) {
	t.Helper()
	succeed(t, s.View(t.Context(), func(c db.Conn) (err error) {
		keys, err = db.List(c, func(r db.Row) string { return r.Text(0) },
			`SELECT key FROM request_answer WHERE account_id = $1 ORDER BY key`, account)
		return err
	}))
	return keys
}

func TestConcurrentAttemptsOfOneBatchHaveOneEffectForEachKey(t *testing.T) {
	s, account := newBookOf(t)
	ids, errs := make([]int64, 40), make([]error, 40)
	changes := make([]func() error, len(ids))
	for i := range changes {
		key := fmt.Sprintf("key %d", i%4)
		changes[i] = func() error {
			ids[i], errs[i] = attempt(t, s, account, key, "N"+key)
			return nil
		}
	}
	together(t, s, account, changes...)
	var made int
	for i, id := range ids {
		if errs[i] == nil {
			made++
		} else if first := new(store.Replayed); !errors.As(errs[i], &first) {
			t.Errorf("attempt %d: %v", i, errs[i])
		}
		if id != ids[i%4] || id == 0 {
			t.Errorf("attempt %d was told of contact %d, and another one with its key of %d", i, id, ids[i%4])
		}
	}
	if _, total := page(t, s, account, crm.All, 1, 100); made != 4 || total != 4 {
		t.Errorf("%d attempts with 4 keys had an effect, and there are %d contacts", made, total)
	}
}

// A refused change stores nothing, and the answer that the API stores for it does not replace the answer of another
// attempt.
func TestARefusalIsKeptOnlyWhereNothingElseIs(t *testing.T) {
	s, account := newBookOf(t)
	refusal := store.Answer{Status: 403, Body: []byte(`{"message":"no"}`)}
	_, err := s.AddTags(attempting(t, "tags", "tags"), account, doc.MakeID(account, 9), []string{"a"})
	wantError(t, "tags of no contact", err, crm.ErrNotFound)
	equal(t, len(keptKeys(t, s, account)), 0, "kept")
	succeed(t, s.KeepAnswer(attempting(t, "tags", "tags"), account, refusal))
	id := must(attempt(t, s, account, "made", "Ana"))(t)
	for key, want := range map[string]string{"tags": `"no"`, "made": fmt.Sprint(id)} {
		request := map[string]string{"tags": "tags", "made": "Ana"}[key]
		var first *store.Replayed
		err := s.KeepAnswer(attempting(t, key, request), account, store.Answer{Status: 422, Body: []byte(`{}`)})
		if !errors.As(err, &first) || !strings.Contains(string(first.Body), want) {
			t.Errorf("%s: a later refusal gets %v", key, err)
		}
		wantError(t, "another request", s.KeepAnswer(attempting(t, key, "another"), account, refusal),
			crm.ErrRetryKeyReused)
	}
}

// A new answer removes two that have expired, so that the stored answers are bounded by the requests of one day.
func TestConcurrentExpiredAnswersAreRemovedBitByBit(t *testing.T) {
	s := newBook(t)
	account, other, clock := newAccount(t, s).Number, newAccount(t, s).Number, stopClock(s)
	for i := range 9 {
		clock.move(time.Second)
		for _, account := range []int64{account, other} {
			must(attempt(t, s, account, fmt.Sprintf("old %d", i), "Old"))(t)
		}
	}
	clock.move(crm.RetryWindow - 5*time.Second) // the first four have expired
	want := []string{"new 1", "old 2", "old 3", "old 4", "old 5", "old 6", "old 7", "old 8"}
	attempt(t, s, account, "new 1", "New")
	equal(t, keptKeys(t, s, account), want, "after one")
	// One batch: each key is used once more, and no new answer is mistaken for the expired one.
	again := []string{"old 2", "old 3", "old 4", "new 1", "new 2"}
	errs := make([]error, len(again))
	changes := make([]func() error, len(again))
	for i, key := range again {
		changes[i] = func() error {
			_, errs[i] = attempt(t, s, account, key, "Again "+key)
			return nil
		}
	}
	together(t, s, account, changes...)
	for i, want := range []error{nil, nil, crm.ErrRetryKeyReused, crm.ErrRetryKeyReused, nil} {
		if !errors.Is(errs[i], want) {
			t.Errorf("%s: %v, want %v", again[i], errs[i], want)
		}
	}
	got := keptKeys(t, s, account)
	if want := []string{"new 1", "new 2", "old 2", "old 3", "old 4", "old 5", "old 6", "old 7",
		"old 8"}; !slices.Equal(got, want) {
		t.Errorf("after five more: %q", got)
	}
	for _, key := range []string{"old 2", "old 3"} {
		if _, err := attempt(t, s, account, key, "Again "+key); err == nil {
			t.Errorf("%s was made twice", key)
		}
	}
	equal(t, len(keptKeys(t, s, other)), 9, "another account")
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

// TestKeptAnswersAreBoundedByAccount: large answers are kept whole up to a bound for each account. Beyond it, who
// sends a request again gets the first status and the document as it is now, and never a second effect.
func TestKeptAnswersAreBoundedByAccount(t *testing.T) {
	before := store.KeptAnswers
	store.KeptAnswers = 20_000
	t.Cleanup(func() { store.KeptAnswers = before })
	for _, e := range testEngines { // not at once, because they share the bound
		t.Run(e.name, func(t *testing.T) {
			s := open(t, e.options(t))
			account, clock := newAccount(t, s).Number, stopClock(s)
			note := strings.Repeat("x", 5_900)
			made := create(t, s, account, `{"first_name":"Ann","last_name":"Lee"}`)
			patch := func(i int) (store.ContactDocument, error) {
				key := fmt.Sprint("patch ", i)
				return s.UpdateContact(attempting(t, key, key), account, made.ID,
					input(t, fmt.Sprintf(`{"note":"%d %s"}`, i, note)))
			}
			for i := range 10 {
				must(patch(i))(t)
			}
			if kept := keptBytes(t, s, account); kept > 20_000+10*100 {
				t.Errorf("%d bytes are kept", kept)
			}
			for i, want := range []string{`"note":"0 `, `"note":"1 `, `"note":"2 `, `"note":"9 `, `"note":"9 `} {
				var first *store.Replayed
				if _, err := patch(i); !errors.As(err, &first) || first.Status != 201 ||
					!strings.Contains(string(first.Body), want) {
					t.Errorf("patch %d again: %v with %.100s", i, err, first.Body)
				}
			}
			wantError(t, "another request", errOf(s.UpdateContact(attempting(t, "patch 9", "another"), account, made.ID,
				input(t, `{}`))), crm.ErrRetryKeyReused)
			equal(t, recordOf(t, s, account, made.ID).Note[:2], "9 ", "the note begins")
			clock.move(crm.RetryWindow + time.Second)
			for i := range 8 { // others expire as these are kept
				must(patch(i))(t)
			}
			if _, err := patch(2); !strings.Contains(bodyOf(err), `"note":"2 `) {
				t.Errorf("what has expired still counts: %v", err)
			}
			erase(t, s, t.Context(), account, made.ID)
			for i := range 8 {
				wantError(t, fmt.Sprintf("patch %d after the erasure", i), errOf(patch(i)), crm.ErrArchived)
			}
		})
	}
}

// TestAnswersThatExpireAreCountedOnce: also one whose key is used again by a request that is refused with so much
// that the answer is not kept.
func TestAnswersThatExpireAreCountedOnce(t *testing.T) {
	before := store.KeptAnswers
	store.KeptAnswers = 6_000
	t.Cleanup(func() { store.KeptAnswers = before })
	for _, e := range testEngines { // not at once, because they share the bound
		t.Run(e.name, func(t *testing.T) {
			s := open(t, e.options(t))
			account, clock := newAccount(t, s).Number, stopClock(s)
			for i, length := range []int{1, 1, 3_000} { // the first ones are removed first
				clock.move(time.Second)
				in := input(t, fmt.Sprintf(`{"first_name":"Ann","note":%q}`, strings.Repeat("x", length)))
				must(s.CreateContact(attempting(t, fmt.Sprint(i), "create"), account, in, crm.Force))(t)
			}
			clock.move(crm.RetryWindow + time.Second)
			succeed(t, s.KeepAnswer(attempting(t, "2", "refused"), account,
				store.Answer{Status: 422, Body: make([]byte, 7_000)}))
			wantChecked(t, s)
			equal(t, len(keptKeys(t, s, account)), 0, "kept")
		})
	}
}

// TestEveryLargeDocumentIsReadAgain: whatever a large answer has shown, it is shown as it is now.
func TestEveryLargeDocumentIsReadAgain(t *testing.T) {
	before := store.KeptAnswers
	store.KeptAnswers = 0
	t.Cleanup(func() { store.KeptAnswers = before })
	for _, e := range testEngines {
		t.Run(e.name, func(t *testing.T) {
			s := open(t, e.options(t))
			account := newAccount(t, s)
			number, long := account.Number, strings.Repeat("x", 3_000)
			person := create(t, s, number, `{"first_name":"Ann","last_name":"Lee"}`)
			for name, change := range map[string]func(context.Context) (store.Result, error){
				"contact": func(ctx context.Context) (store.Result, error) {
					return s.CreateContact(ctx, number, input(t,
						fmt.Sprintf(`{"first_name":"Bob","last_name":"Ray","note":%q}`, long)), crm.Dedupe)
				},
				"campaign": func(ctx context.Context) (store.Result, error) {
					made, err := s.CreateCampaign(ctx, account,
						campaign.Input{Title: ptr("Gala"), Description: ptr(long)})
					return store.MadeCampaign{Campaign: made}, err
				},
				"gift": func(ctx context.Context) (store.Result, error) {
					return s.CreateGift(ctx, number, giftInput(t,
						fmt.Sprintf(`{"contact_id":%d,"amount":5,"method":"cash","transacted_at":"2026-01-03","note":%q}`, person.ID, long), true, s.Now()))
				},
				"note": func(ctx context.Context) (store.Result, error) {
					return s.AddNote(ctx, number, person.ID, history.NoteInput{Note: &long})
				},
			} {
				made := must(change(attempting(t, name, name)))(t)
				_, err := change(attempting(t, name, name))
				if got, want := bodyOf(err), string(made.Append(nil)); got != want {
					t.Errorf("%s: the second answer is %v %.300s\nwant %.300s", name, err, got, want)
				}
			}
			if kept := keptBytes(t, s, number); kept > 1000 {
				t.Errorf("%d bytes are kept", kept)
			}
		})
	}
}

func bodyOf(err error) string {
	var first *store.Replayed
	if !errors.As(err, &first) {
		return ""
	}
	return string(first.Body)
}

// keptBytes is how long the answers are together that an account has.
func keptBytes(t *testing.T, s *Book, account int64) (n int64) {
	t.Helper()
	succeed(t, s.Read(t.Context(), func(c db.Conn) (err error) {
		n, err = c.Int(
			`SELECT CAST(COALESCE(SUM(length(body)), 0) AS BIGINT) FROM request_answer WHERE account_id = $1`, account)
		return err
	}))
	return n
}
