package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	jitter "math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// maxAnswer is the most that is read of an answer. The largest page of campaigns has about 80 MB.
var maxAnswer int64 = 128 << 20

const (
	firstPause  = 250 * time.Millisecond
	longestWait = time.Minute
)

var errTooLarge = errors.New("the answer is too large")

// request is one call of the API. It is the same each time it is sent.
type request struct {
	method, path string
	query        url.Values
	header       http.Header
	body         []byte
}

// answer is a success.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// isDone tells whether the server has done all that was asked for, and does not go on in the background.
func (a answer) isDone() bool { return a.status != 0 && a.status != http.StatusAccepted }

// at is a path with the id of what it is about.
func at(path string, id any) string {
	text := url.PathEscape(fmt.Sprint(id))
	if text == "." || text == ".." { // which would mean another directory
		text = strings.ReplaceAll(text, ".", "%2E")
	}
	begin, rest, _ := strings.Cut(path, "{")
	_, end, _ := strings.Cut(rest, "}")
	return begin + text + end
}

type idempotencyKey struct{}

// WithIdempotencyKey gives the one change that is made with the context an Idempotency-Key of the caller's own, instead of a random one. A
// program that remembers the key can repeat the change safely within 24 hours, even after a restart.
func WithIdempotencyKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, idempotencyKey{}, key)
}

type (
	ifMatch struct{}
	etag    struct{}
)

// WithIfMatch makes changes with the context conditional: they are made only to what still has this ETag, and else refused with
// status 412, so that no one overwrites what another program has changed meanwhile.
func WithIfMatch(ctx context.Context, etag string) context.Context {
	return context.WithValue(ctx, ifMatch{}, etag)
}

// WithETag keeps the ETag of each answer to a call with the context in a variable, for WithIfMatch.
func WithETag(ctx context.Context, tag *string) context.Context {
	return context.WithValue(ctx, etag{}, tag)
}

// send makes a call, repeats it where that is safe, and decodes the answer into result, unless that is nil.
func (c *Client) send(ctx context.Context, method, path string, query url.Values, body, result any) (answer, error) {
	r := request{method: method, path: path, query: query, header: http.Header{"User-Agent": {"donorbook-go"}}}
	c.authorize(r.header)
	if method != http.MethodGet && method != http.MethodDelete {
		key, _ := ctx.Value(idempotencyKey{}).(string)
		if key == "" {
			key = rand.Text()
		}
		r.header.Set("Idempotency-Key", key)
	}
	if tag, _ := ctx.Value(ifMatch{}).(string); tag != "" && method != http.MethodGet {
		r.header.Set("If-Match", tag)
	}
	var a answer
	var err error
	if body != nil {
		r.header.Set("Content-Type", "application/json")
		r.body, err = json.Marshal(body)
	}
	if err == nil {
		a, err = c.persist(ctx, r)
	}
	if tag, _ := ctx.Value(etag{}).(*string); tag != nil && err == nil {
		*tag = a.header.Get("ETag")
	}
	if err == nil && result != nil {
		err = json.Unmarshal(a.body, result)
	}
	if err != nil {
		return answer{}, fmt.Errorf("%s %s: %w", method, path, err)
	}
	return a, nil
}

// call is send for a call whose answer says nothing beside its body.
func call[T any](ctx context.Context, c *Client, method, path string, body any) (result T, err error) {
	_, err = c.send(ctx, method, path, nil, body, &result)
	return result, err
}

// persist tries until the server answers, or trying again is of no use.
func (c *Client) persist(ctx context.Context, r request) (answer, error) {
	for attempt := 0; ; attempt++ {
		a, err := c.try(ctx, r)
		if err == nil || attempt >= c.retries || ctx.Err() != nil || !r.worthRepeating(err) {
			return a, err
		}
		wait := pause(attempt, err)
		if deadline, limited := ctx.Deadline(); limited && time.Until(deadline) < wait {
			return a, err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return a, fmt.Errorf("%w; the last attempt: %w", ctx.Err(), err)
		}
	}
}

// worthRepeating tells whether the same request may succeed later, and does no harm if it was carried out already. Archiving or deleting
// has no Idempotency-Key: it is repeated only if the server turned it away.
func (r request) worthRepeating(err error) bool {
	var refused *Error
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &refused) && refused.RetryAfter > longestWait:
		return false
	case refused != nil:
		switch status := refused.Status; status {
		case http.StatusTooManyRequests, http.StatusServiceUnavailable:
			return true
		case http.StatusConflict: // with Retry-After: the first request with this key is under way
			return refused.RetryAfter > 0
		default:
			return r.method != http.MethodDelete && (status == http.StatusRequestTimeout || status >= 500)
		}
	case errors.Is(err, errTooLarge), errors.As(err, &certificate):
		return false
	}
	return r.method != http.MethodDelete
}

// pause is how long to wait before the next attempt: no less than the server asks for, and not the same for all clients.
func pause(attempt int, err error) time.Duration {
	own := firstPause << min(attempt, 4)
	wait := own/2 + jitter.N(own/2)
	var refused *Error
	if errors.As(err, &refused) && refused.RetryAfter > 0 {
		wait += refused.RetryAfter
	}
	return wait
}

// try sends the request once. Its errors do not show the query, which may be about a person.
func (c *Client) try(ctx context.Context, r request) (answer, error) {
	address := c.base + r.path
	if len(r.query) > 0 {
		address += "?" + r.query.Encode()
	}
	sent, err := http.NewRequestWithContext(ctx, r.method, address, bytes.NewReader(r.body))
	if err != nil {
		return answer{}, err
	}
	sent.Header = r.header.Clone()
	response, err := c.http.Do(sent)
	if err != nil {
		var failed *url.Error
		if errors.As(err, &failed) {
			err = failed.Err
		}
		return answer{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return answer{}, err
	case int64(len(body)) > maxAnswer:
		return answer{}, errTooLarge
	case response.StatusCode < 200 || response.StatusCode > 299:
		return answer{}, newError(response, body)
	}
	return answer{response.StatusCode, response.Header, body}, nil
}
