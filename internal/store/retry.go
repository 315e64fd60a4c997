package store

import (
	"bytes"
	"context"
	"slices"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

// Attempt is a request that the client may send again. Its effect and its answer are one transaction, so that the second one
// finds both or neither.
type Attempt struct {
	Key         string
	Fingerprint []byte            // of all that was sent, to tell the request from another one with the same key
	Answer      func(Made) Answer // how the door answers what the change has made; it may be called again
	BaseURL     string            // of the server as the request names it, for what is made and has an address
}

// Made is what a change has made, for the door to answer with.
type Made interface {
	Append(dst []byte) []byte     // the wire form
	Fate() (created, merged bool) // it is new, or a create was merged into what was there
}

// Answer is what a client was told, as the door writes it.
type Answer struct {
	Status int
	Header string // what only this answer has: lines of a name, a colon, a space and a value
	Body   []byte
}

// Replayed is the answer that an attempt got when it was first made. Nothing was changed this time.
type Replayed struct{ Answer }

func (*Replayed) Error() string { return "the request was answered before" }

type attemptKey struct{}

// Attempting is a context in which one change is made at most once, however often it is attempted.
func Attempting(ctx context.Context, a *Attempt) context.Context {
	return context.WithValue(ctx, attemptKey{}, a)
}

func attemptOf(ctx context.Context) *Attempt {
	a, _ := ctx.Value(attemptKey{}).(*Attempt)
	return a
}

func baseURLOf(ctx context.Context) string {
	if a := attemptOf(ctx); a != nil {
		return a.BaseURL
	}
	return ""
}

// answered is update for a change that the API offers: in the context of an attempt it commits the answer together with the change, and
// an attempt that was answered before is *Replayed. A function that a POST, PATCH or PUT calls makes its one change through it.
func answered[T Made](ctx context.Context, s *Store, account int64, n needs, change func(*tx) (T, error)) (made T, err error) {
	attempt := attemptOf(ctx)
	if attempt == nil {
		err = s.update(ctx, account, n, func(t *tx) (err error) {
			made, err = change(t)
			return err
		})
		return made, err
	}
	err = s.once(ctx, account, n, attempt, func(t *tx) (answer Answer, err error) {
		if made, err = change(t); err == nil {
			answer = attempt.Answer(made)
		}
		return answer, err
	})
	return made, err
}

// KeepAnswer keeps the answer to an attempt that was refused and changed nothing. Where another attempt was faster, it is *Replayed.
func (s *Store) KeepAnswer(ctx context.Context, account int64, answer Answer) error {
	return s.once(ctx, account, needs{}, attemptOf(ctx), func(*tx) (Answer, error) { return answer, nil })
}

// once makes a change and keeps its answer, unless the key has one. A replay commits as well: it must not tell of a change that
// only one of the database's servers has.
func (s *Store) once(ctx context.Context, account int64, n needs, attempt *Attempt, change func(*tx) (Answer, error)) error {
	now := s.now()
	n.retry = retryNeeds{attempt.Key, seconds(now.Add(-crm.RetryWindow))}
	var first *keptAnswer
	err := s.update(ctx, account, n, func(t *tx) error {
		a, err := t.lock(account)
		if err != nil {
			return err
		}
		if first = a.answers[attempt.Key]; first != nil && first.createdAt > n.retry.expired {
			return nil
		}
		first = nil
		answer, err := change(t)
		if err == nil {
			t.keepAnswer(a, attempt.Key, &keptAnswer{attempt.Fingerprint, answer, seconds(now)})
		}
		return err
	})
	switch {
	case err != nil || first == nil:
		return err
	case !bytes.Equal(first.fingerprint, attempt.Fingerprint):
		return crm.ErrRetryKeyReused
	case first.Status == erasedAnswer:
		return crm.ErrArchived // the person that it was about was erased since
	}
	return &Replayed{first.Answer}
}

// keptAnswer is an answer as it is stored.
type keptAnswer struct {
	fingerprint []byte
	Answer
	createdAt int64
}

// retryNeeds is what an attempt looks up: its key, and answers of this time or before, which have expired.
type retryNeeds struct {
	key     string
	expired int64
}

const (
	sqlAnswers        = `SELECT key, fingerprint, status, header, body, created_at FROM request_answer WHERE account_id = $1 AND key = ANY($2)`
	sqlExpiredAnswers = `SELECT key FROM request_answer WHERE account_id = $1 AND created_at <= $2 ORDER BY created_at LIMIT $3`
)

// lookUpAnswers looks up what is kept for the keys of attempts, and answers that have expired: two for each that may be added, so that
// they are removed faster than they are added.
func (a *accountUnit) lookUpAnswers(t *tx, attempts []retryNeeds) error {
	if len(attempts) == 0 {
		return nil
	}
	keys := collect(attempts, func(n retryNeeds) string { return n.key })
	slices.Sort(keys)
	a.answers = make(map[string]*keptAnswer)
	err := t.Tx.Prefetch(func(r db.Row) error {
		a.answers[r.Text(0)] = &keptAnswer{slices.Clone(r.Bytes(1)), Answer{int(r.Int(2)), r.Text(3), slices.Clone(r.Bytes(4))}, r.Int(5)}
		return nil
	}, sqlAnswers, a.account, slices.Compact(keys))
	if err != nil {
		return err
	}
	return t.Tx.Prefetch(func(r db.Row) error {
		a.expired = append(a.expired, r.Text(0))
		return nil
	}, sqlExpiredAnswers, a.account, attempts[0].expired, int64(2*len(attempts)))
}

// keepAnswer writes an answer, and notes it for the changes that come after. The first one of a batch removes those that have expired,
// before any of their keys is used again.
func (t *tx) keepAnswer(a *accountUnit, key string, k *keptAnswer) {
	for _, old := range a.expired {
		t.Delete(answerTable, a.account, old)
	}
	a.expired = nil
	a.answers[key] = k
	t.Save(answerTable, a.account, key, k.fingerprint, int64(k.Status), k.Header, k.Body, k.createdAt)
}
