package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strings"
)

// Tag is a name by which contacts are grouped.
type Tag struct {
	Name     string `json:"name"`
	Contacts int64  `json:"contacts"` // how many active contacts have it
}

// TagFilter says which tags to list.
type TagFilter struct {
	Prefix *string // how the name begins
}

func (f TagFilter) query() (q query) {
	filter(&q, "q", f.Prefix)
	return q
}

// Tags are the calls about tags.
type Tags struct{ c *Client }

const tagsPath = "/v1/tags"

// tagPath is the path of a tag. A path of dots alone would mean another directory.
func tagPath(name string) string {
	if name == "." || name == ".." {
		return tagsPath + "/" + strings.ReplaceAll(name, ".", "%2E")
	}
	return tagsPath + "/" + url.PathEscape(name)
}

// List walks through all tags that a filter finds, in the order of the alphabet.
func (s Tags) List(ctx context.Context, f TagFilter) iter.Seq2[Tag, error] {
	return all[Tag](ctx, s.c, tagsPath, f.query())
}

// Page reads one page of the tags that a filter finds, with their total.
func (s Tags) Page(ctx context.Context, f TagFilter, number int) (Page[Tag], error) {
	return page[Tag](ctx, s.c, tagsPath, f.query(), number)
}

// Rename gives a tag another name on all contacts. If there is a tag of that name, the two become one. With many contacts the server goes
// on in the background: done is then false, and tag is the old one with the contacts that still have it. Once it is no longer listed, all is
// done.
func (s Tags) Rename(ctx context.Context, name, newName string) (tag Tag, done bool, err error) {
	a, err := s.c.send(ctx, http.MethodPatch, tagPath(name), nil, map[string]string{"name": newName}, &tag)
	return tag, a.status == http.StatusOK, err
}

// Delete removes a tag from all contacts. With many contacts the server continues in the background, as for a rename; done is then false.
func (s Tags) Delete(ctx context.Context, name string) (done bool, err error) {
	a, err := s.c.send(ctx, http.MethodDelete, tagPath(name), nil, nil, nil)
	return err == nil && a.status != http.StatusAccepted, err
}
