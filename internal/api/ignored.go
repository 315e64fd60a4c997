package api

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/text"
	"donorbook/internal/store/duplicates"
	"donorbook/internal/store/merges"
)

// parameters are the query parameters that each route knows; a route that is not named here knows none. What a client sends beside
// them is ignored, and named in a header, so that no client takes the whole list for a filtered one.
var parameters = map[string][]string{
	"GET /v1/contacts":                 append(find.Parameters(), anyField, "page", "per_page", "scope"),
	"POST /v1/contacts":                {"force_create"},
	"GET /v1/campaigns":                {"page", "per_page", "scope"},
	"GET /v1/transactions":             append(sorted(giving.GiftParameters()), "page", "per_page", "scope"),
	"GET /v1/plans":                    append(sorted(giving.PlanParameters()), "page", "per_page"),
	"GET /v1/contacts/{id}/activities": sorted([]string{"page", "per_page"}),
	"GET /v1/custom-fields":            {"page", "per_page"},
	"GET /v1/duplicates":               append(slices.Clone(duplicates.Parameters), "page", "per_page"),
	"GET /v1/merges":                   append(sorted(merges.Parameters), "page", "per_page"),
	"GET /v1/tags":                     {"page", "per_page", "q"},
}

// sorted are the parameters of a list that can be sorted.
func sorted(names []string) []string { return append(names, crm.SortParameters...) }

// anyField stands for the parameters of custom fields: field_3.
const anyField = "field_*"

// isKnown tells whether a route knows a parameter, in snake or in camel case.
func isKnown(known []string, name string) bool {
	if slices.ContainsFunc(known, func(k string) bool { return text.IsNamed(name, k) }) {
		return true
	}
	_, ofContacts := find.Parameter(name)
	return ofContacts && slices.Contains(known, anyField)
}

// The limits of the header that names what was ignored.
const (
	maxIgnored      = 10
	maxIgnoredBytes = 500
)

// nameIgnored names the parameters that a route does not know, each once and in the order in which they were sent.
func nameIgnored(w http.ResponseWriter, raw string, known []string) {
	var names []string
	size := 0
	for raw != "" && len(names) < maxIgnored {
		var part string
		part, raw, _ = strings.Cut(raw, "&")
		name, _, _ := strings.Cut(part, "=")
		if name == "" || isKnown(known, name) {
			continue
		}
		name, err := url.QueryUnescape(name)
		if err != nil || isKnown(known, name) || access.HoldsSecret(name) {
			continue
		}
		encoded := token(name)
		if slices.Contains(names, encoded) || size+len(encoded) > maxIgnoredBytes {
			continue
		}
		names = append(names, encoded)
		size += len(encoded) + len(", ")
	}
	if names != nil {
		w.Header().Set("X-Ignored-Query", strings.Join(names, ", "))
	}
}

// token is a text as it can stand in a header by itself: what no token holds is percent-encoded, and so is the percent sign.
func token(text string) string {
	const hex, signs = "0123456789ABCDEF", "!#$&'*+-.^_`|~"
	var b strings.Builder
	for _, c := range []byte(text) {
		if c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || strings.IndexByte(signs, c) >= 0 {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return b.String()
}
