package api

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"net/http"

	"donorbook/internal/crm"
	"donorbook/internal/store"
	"donorbook/internal/web"
)

// once handles a request that the client may send again: whatever it is answered is kept, and the next one with the same key gets it
// without another effect. The body is read first, because the whole request must be known to be the same.
func (a *API) once(w http.ResponseWriter, r *http.Request, c call, keys []string) error {
	key, err := crm.ParseRetryKey(keys)
	if err != nil {
		return err
	}
	body, err := web.ReadBody(w, r, web.MaxBody)
	if err != nil {
		return err
	}
	ctx := store.Attempting(r.Context(), &store.Attempt{
		Key: key, Fingerprint: fingerprint(r, body), Answer: func(made store.Result) store.Answer { return answerOf(nil, made) },
		BaseURL: a.options.Proxies.BaseURL(r),
	})
	err = a.run(w, web.WithBody(r.WithContext(ctx), body), c)
	if refused, ok := refusedAnswer(err); ok && !c.strict { // without that preference the same request may do
		err = cmp.Or(a.store.KeepAnswer(ctx, c.who.Account, refused), err)
	}
	var first *store.Replayed
	if errors.As(err, &first) {
		w.Header().Set("Idempotent-Replayed", "true")
		return writeAnswer(w, first.Answer)
	}
	return err
}

// fingerprint is the sum of a method, which has no space, a path with its query, which has no line feed, and a body.
func fingerprint(r *http.Request, body []byte) []byte {
	h := sha256.New()
	h.Write([]byte(r.Method + " " + r.URL.RequestURI() + "\n"))
	h.Write(body)
	return h.Sum(nil)
}

// refusedAnswer is the answer of an error that is kept: one that refuses what the fingerprint is made of. Other errors pass, or are about
// something else, such as the type of the body.
func refusedAnswer(err error) (answer store.Answer, ok bool) {
	if err == nil || errors.Is(err, crm.ErrRetryKeyReused) {
		return answer, false
	}
	switch status, _ := web.StatusOf(err); status {
	case http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound, http.StatusUnprocessableEntity:
		return store.Answer{Status: status, Body: web.ErrorBody(err)}, true
	}
	return answer, false
}
