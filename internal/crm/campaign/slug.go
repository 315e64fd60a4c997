package campaign

import (
	"cmp"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/text"
)

// A slug made from a title is short enough to be typed, and leaves room for a number.
const maxDerivedSlug = 100

// IsSlug accepts lowercase letters and digits, with single hyphens between them.
func IsSlug(slug string) bool {
	if slug == "" || len(slug) > doc.MaxText {
		return false
	}
	afterHyphen := true
	for i := 0; i < len(slug); i++ {
		switch c := slug[i]; {
		case c == '-' && afterHyphen, c != '-' && !isSlugSign(c):
			return false
		default:
			afterHyphen = c == '-'
		}
	}
	return !afterHyphen
}

// reservedSlugs are paths of the service itself, where no campaign can be found.
var reservedSlugs = []string{"v1", "mcp", "docs", "healthz", "readyz", "metrics", "console", "static", "setup",
	"signin", "settings", "pictures"}

func isSlugSign(c byte) bool { return 'a' <= c && c <= 'z' || text.IsDigit(c) }

// Slug makes a slug of a text, mostly a title: "Rosie's Spring Gala 2026!" is rosies-spring-gala-2026.
func Slug(title string) string {
	var slug []byte
	for _, c := range []byte(text.Fold(title)) {
		switch {
		case isSlugSign(c):
			slug = append(slug, c)
		case c == '\'':
		case len(slug) > 0 && slug[len(slug)-1] != '-':
			slug = append(slug, '-')
		}
	}
	text := strings.TrimSuffix(string(slug), "-")
	if len(text) > maxDerivedSlug {
		text = text[:maxDerivedSlug]
		if end := strings.LastIndexByte(text, '-'); end > 0 {
			text = text[:end]
		}
	}
	return cmp.Or(text, "campaign")
}

// SlugCandidates are the slugs that a new campaign may get, best first: the one that was sent and no other, or those
// made from the title, which never end. tried remembers how far the candidates of a title were tried, so that a file
// with many campaigns of one title does not try them all over again for each; it may be nil.
func SlugCandidates(in Input, tried map[string]int) iter.Seq[string] {
	return func(yield func(string) bool) {
		if in.Slug != nil && *in.Slug != "" {
			yield(*in.Slug)
			return
		}
		title := ""
		if in.Title != nil {
			title = *in.Title
		}
		base := Slug(title)
		for n := tried[base] + 1; ; n++ {
			if tried != nil {
				tried[base] = n
			}
			slug := base
			if n > 1 {
				slug += "-" + strconv.Itoa(n)
			}
			if !slices.Contains(reservedSlugs, slug) && !yield(slug) {
				return
			}
		}
	}
}

// listedAt is the place of a new campaign in lists: the microsecond of its creation, which is never negative. One that
// says it is created in the future does not stand behind everything that follows.
func (in *Input) listedAt(now time.Time) int64 {
	if created := valueOf(in.CreatedAt); created.Unix() > 0 && created.Before(now) {
		return created.UnixMicro()
	}
	return now.UnixMicro()
}
