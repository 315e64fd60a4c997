package store

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/db"
)

// Attempt is a request that the client may send again. Its effect and its answer are one transaction, so that the
// second one finds both or neither.
type Attempt struct {
	Key         string
	Fingerprint []byte              // of all that was sent, to tell the request from another one with the same key
	Answer      func(Result) Answer // how the caller answers what the change has made; it may be called again
	BaseURL     string              // of the server as the request names it, for what is made and has an address
}

// Result is what a change has made, for the caller to answer with.
type Result interface {
	Append(dst []byte) []byte // the wire form
	Outcome() Outcome
}

// Outcome is what has become of a change, beside its document.
type Outcome struct {
	Created    bool     // it is new
	Merged     bool     // a create was merged into what was there
	Merge      int64    // by which a merge can be undone, 0 for none
	Review     bool     // a person should look at the merge
	Unfinished bool     // it goes on in the background
	Tag        doc.ETag // the state that the document is in; zero where it has none
}

// Answer is what a client was told, as the caller writes it.
type Answer struct {
	Status int
	Header string // what only this answer has: lines of a name, a colon, a space and a value
	Body   []byte

	document string // that the body shows, for readAgain and erasures; "" where it shows none
}

// Answers are kept whole, as long as the large ones of an account do not come to more than this. Then a large one is
// kept as the document that it shows: who sends the request again is shown that document as it is by then. Otherwise
// the answers of a day could fill any disk.
const LargeAnswer = 2 << 10

var KeptAnswers = int64(64 << 20) // tests have less

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

// AttemptKey is the key that a client has given its request, "" for none.
func AttemptKey(ctx context.Context) string {
	if a := attemptOf(ctx); a != nil {
		return a.Key
	}
	return ""
}

func BaseURLOf(ctx context.Context) string {
	if a := attemptOf(ctx); a != nil {
		return a.BaseURL
	}
	return ""
}

// Answered is update for a change that the API offers: in the context of an attempt it commits the answer together with
// the change, and an attempt that was answered before is *Replayed. A function that a POST, PATCH or PUT calls makes
// its one change through it. The account is locked.
func Answered[T Result](ctx context.Context, s *Store, account int64, n Needs,
	change func(Unit) (T, error),
) (made T, err error) {
	attempt := attemptOf(ctx)
	if attempt == nil {
		err = s.Update(ctx, account, n, func(t *Tx) error {
			u, err := t.LockAccount(account)
			if err == nil {
				made, err = change(u)
			}
			return err
		})
		return made, err
	}
	err = s.once(ctx, account, n, attempt, func(u Unit) (answer Answer, err error) {
		if made, err = change(u); err == nil {
			answer = attempt.Answer(made)
			if made, ok := any(made).(interface{ Resource() Resource }); ok {
				answer.document = made.Resource().String()
			}
		}
		return answer, err
	})
	return made, err
}

// KeepAnswer keeps the answer to an attempt that was refused and changed nothing. Where another attempt was faster, it
// is *Replayed.
func (s *Store) KeepAnswer(ctx context.Context, account int64, answer Answer) error {
	return s.once(ctx, account, Needs{}, attemptOf(ctx), func(Unit) (Answer, error) { return answer, nil })
}

// AnswerBefore is the answer that is kept for the key of an attempt, nil for none.
func (s *Store) AnswerBefore(ctx context.Context, account int64, key string) (first *Replayed, err error) {
	return first, s.Read(ctx, func(c db.Conn) error {
		first = nil
		return c.Scan(func(r db.Row) {
			if answer := readAnswer(r); answer.createdAt > Seconds(s.Now().Add(-crm.RetryWindow)) &&
				answer.Status != ErasedAnswer {
				first = &Replayed{answer.Answer}
			}
		}, sqlAnswers, account, []string{key})
	})
}

// UpdateOnce is UpdateAccount for a change whose answer shows nothing of it, which is made once in the context of an
// attempt.
func (s *Store) UpdateOnce(ctx context.Context, account int64, fn func(*Tx) error) error {
	_, err := Answered(ctx, s, account, Needs{}, func(u Unit) (unshown, error) { return unshown{}, fn(u.Tx) })
	return err
}

type unshown struct{}

func (unshown) Append(dst []byte) []byte { return dst }
func (unshown) Outcome() Outcome         { return Outcome{Created: true} }

// once makes a change and keeps its answer, unless the key has one. A replay commits as well: it must not tell of a
// change that only one of the database's servers has.
func (s *Store) once(ctx context.Context, account int64, n Needs, attempt *Attempt,
	change func(Unit) (Answer, error),
) error {
	now := s.Now()
	n.retry = retryNeeds{attempt.Key, Seconds(now.Add(-crm.RetryWindow))}
	var first *keptAnswer
	var again Answer
	var refused error
	err := s.Update(ctx, account, n, func(t *Tx) error {
		u, err := t.LockAccount(account)
		if err != nil {
			return err
		}
		if first = u.Answers[attempt.Key]; first != nil && first.createdAt > n.retry.expired {
			if again, refused = u.replay(first, attempt); errors.Is(refused, db.ErrUnavailable) {
				return refused
			}
			return nil
		}
		first = nil
		answer, err := change(u)
		if err == nil {
			u.keepAnswer(attempt.Key, &keptAnswer{attempt.Fingerprint, answer, Seconds(now)})
		}
		return err
	})
	switch {
	case err != nil || first == nil:
		return err
	case refused != nil:
		return refused
	}
	return &Replayed{again}
}

// replay is what an attempt is answered that was made before. It writes nothing.
func (u Unit) replay(first *keptAnswer, attempt *Attempt) (Answer, error) {
	switch {
	case !bytes.Equal(first.fingerprint, attempt.Fingerprint):
		return Answer{}, crm.ErrRetryKeyReused
	case first.Status == ErasedAnswer:
		return Answer{}, crm.ErrArchived // the person that it was about was erased since
	case first.Status >= 0:
		return first.Answer, nil
	}
	made, err := u.readAgain(string(first.Body), attempt.BaseURL)
	if err != nil {
		return Answer{}, err
	}
	now := attempt.Answer(made)
	// of two lines with one name, the last counts
	return Answer{Status: -first.Status, Header: first.Header + "\n" + now.Header, Body: now.Body}, nil
}

// keptAnswer is an answer as it is stored.
type keptAnswer struct {
	fingerprint []byte
	Answer
	createdAt int64
}

func readAnswer(r db.Row) *keptAnswer {
	return &keptAnswer{slices.Clone(r.Bytes(1)), Answer{Status: int(r.Int(2)), Header: r.Text(3),
		Body: slices.Clone(r.Bytes(4))}, r.Int(5)}
}

// attemptUnit is what a batch knows of the attempts of an account.
type attemptUnit struct {
	Answers map[string]*keptAnswer // by the keys of attempts
	expired map[string]int         // how long answers are that have expired, by their keys
}

// retryNeeds is what an attempt looks up: its key, and answers of this time or before, which have expired.
type retryNeeds struct {
	key     string
	expired int64
}

const (
	sqlAnswers = `SELECT key, fingerprint, status, header, body, created_at FROM request_answer
		WHERE account_id = $1 AND key = ANY($2)`
	sqlExpiredAnswers = `SELECT key, length(body) FROM request_answer WHERE account_id = $1 AND created_at <= $2
		ORDER BY created_at LIMIT $3`
)

// lookUpAnswers looks up what is kept for the keys of attempts, and answers that have expired: two for each that may be
// added, so that they are removed faster than they are added.
func (u Unit) lookUpAnswers(all []*Needs) error {
	var attempts []retryNeeds
	for _, n := range all {
		if n.retry.key != "" {
			attempts = append(attempts, n.retry)
		}
	}
	if len(attempts) == 0 {
		return nil
	}
	keys := Collect(attempts, func(n retryNeeds) string { return n.key })
	slices.Sort(keys)
	u.Answers, u.expired = make(map[string]*keptAnswer), make(map[string]int)
	err := u.Prefetch(func(r db.Row) error {
		u.Answers[r.Text(0)] = readAnswer(r)
		return nil
	}, sqlAnswers, u.Number, slices.Compact(keys))
	if err != nil {
		return err
	}
	return u.Prefetch(func(r db.Row) error {
		u.expired[r.Text(0)] = int(r.Int(1))
		return nil
	}, sqlExpiredAnswers, u.Number, attempts[0].expired, int64(2*len(attempts)))
}

// keepAnswer writes an answer, and notes it for the changes that come after. The first one of a batch removes those
// that have expired, before any of their keys is used again.
func (u Unit) keepAnswer(key string, k *keptAnswer) {
	for old, length := range u.expired {
		u.Delete(answerTable, u.Number, old)
		u.CountAnswer(length, -1)
		delete(u.Answers, old)
	}
	clear(u.expired)
	if old := u.Answers[key]; old != nil { // it has expired, and may get no successor
		u.Delete(answerTable, u.Number, key)
		u.CountAnswer(len(old.Body), -1)
		delete(u.Answers, key)
	}
	if len(k.Body) > LargeAnswer && u.AnswerBytes+int64(len(k.Body)) > KeptAnswers {
		if k.document == "" {
			return // it was refused: it may be decided about again
		}
		k.Status, k.Body = -k.Status, []byte(k.document)
	}
	u.CountAnswer(len(k.Body), 1)
	u.Answers[key] = k
	u.Save(answerTable, u.Number, key, k.fingerprint, int64(k.Status), k.Header, k.Body, k.createdAt, k.document)
}

// unnamedDocument is in the place of the document of answers of an earlier version, which did not note it.
const unnamedDocument = "?"

const (
	sqlShownIn = `SELECT key, length(body) FROM request_answer WHERE account_id = $1 AND document = ANY($2)
		AND document <> ''`
	sqlEmptyAnswers = `UPDATE request_answer SET status = $2, header = '', body = $3, document = ''
		WHERE account_id = $1 AND key = ANY($4)`
)

// EmptyAnswers takes out what answers say that show some documents. Their keys stay: a client that sends such a request
// again must not bring a person back who was erased.
func (u Unit) EmptyAnswers(documents []string) error {
	if len(documents) == 0 {
		return nil
	}
	var keys []string
	err := u.Scan(func(r db.Row) {
		key := r.Text(0)
		if kept := u.Answers[key]; kept != nil {
			kept.Answer = Answer{Status: ErasedAnswer}
		}
		if _, isExpired := u.expired[key]; isExpired {
			u.expired[key] = 0
		}
		u.CountAnswer(int(r.Int(1)), -1)
		keys = append(keys, key)
	}, sqlShownIn, u.Number, append(documents, unnamedDocument))
	if err != nil || len(keys) == 0 {
		return err
	}
	return u.Run(sqlEmptyAnswers, u.Number, int64(ErasedAnswer), []byte{}, keys)
}

// CountAnswer counts the bytes of large answers: one more that is kept, or one less.
func (u Unit) CountAnswer(length int, sign int64) {
	if length > LargeAnswer {
		u.Touch()
		u.AnswerBytes = max(0, u.AnswerBytes+sign*int64(length))
	}
}

// Resource is a document that an answer shows, by which an erasure finds the answer, and as it is named in place of a
// large one.
type Resource struct {
	Kind string
	ID   int64
}

func (s Resource) String() string { return s.Kind + " " + strconv.FormatInt(s.ID, 10) }

// readAgain reads a document that an answer has shown.
func (u Unit) readAgain(name, baseURL string) (Result, error) {
	kind, number, _ := strings.Cut(name, " ")
	id, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return nil, err
	}
	switch kind {
	case ContactResource:
		return rereadContact(u, id, baseURL)
	case NoteResource:
		return rereadNote(u, id, baseURL)
	case campaignResource:
		return rereadCampaign(u, id, baseURL)
	case GiftResource:
		return rereadGift(u, id, baseURL)
	case PlanResource:
		return rereadPlan(u, id, baseURL)
	case UndoneResource:
		return rereadUndone(u, id, baseURL)
	}
	return nil, crm.ErrNotFound
}

func Missing(missing bool) error {
	if missing {
		return crm.ErrNotFound
	}
	return nil
}

// ErasedAnswer is the status of an answer that was taken out. A form of the console has none, which is 0.
const ErasedAnswer = -1
