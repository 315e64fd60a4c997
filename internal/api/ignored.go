package api

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/text"
)

// anyField stands for the parameters of custom fields: field_3.
const anyField = "field_*"

// isKnown tells whether an operation knows a parameter, in snake or in camel case.
func isKnown(known []string, name string) bool {
	if slices.ContainsFunc(known, func(k string) bool { return text.IsNamed(name, k) }) {
		return true
	}
	_, ofContacts := find.Parameter(name)
	return ofContacts && slices.Contains(known, anyField)
}

// The limits of the headers that name what was ignored.
const (
	maxIgnored      = 20 // keys of a body; a document that is sent back has some
	maxIgnoredQuery = 10
	maxIgnoredBytes = 500
)

// prefer heeds the one preference that the API knows: handling=strict, by which a client asks to be refused rather than misunderstood.
func (c *call) prefer(w http.ResponseWriter, headers []string) {
	for _, header := range headers {
		for preference := range strings.SplitSeq(header, ",") {
			preference, _, _ = strings.Cut(preference, ";")
			name, value, _ := strings.Cut(preference, "=")
			if strings.EqualFold(strings.TrimSpace(name), "handling") && strings.EqualFold(strings.Trim(value, " \t\""), "strict") {
				c.strict = true
				w.Header().Set("Preference-Applied", "handling=strict")
			}
		}
	}
}

// ignore names what is ignored, and refuses a strict client.
func (c *call) ignore(w http.ResponseWriter, header string, names []string) error {
	nameIgnored(w, header, names)
	if !c.strict {
		return nil
	}
	refused := new(doc.Invalid)
	for _, name := range names {
		refused.Add(name, doc.NotAccepted)
	}
	return refused.Err()
}

// nameIgnored names what was ignored in a header, each once, in the order in which it was sent and as far as there is room.
func nameIgnored(w http.ResponseWriter, header string, names []string) {
	var shown []string
	size := 0
	for _, name := range names {
		encoded := token(name)
		if slices.Contains(shown, encoded) || len(shown) == maxIgnored || size+len(encoded) > maxIgnoredBytes {
			continue
		}
		shown = append(shown, encoded)
		size += len(encoded) + len(", ")
	}
	if shown != nil {
		w.Header().Set(header, strings.Join(shown, ", "))
	}
}

// unknownIn are the parameters of a query that an operation does not know.
func unknownIn(raw string, known []string) (names []string) {
	for raw != "" && len(names) < maxIgnoredQuery {
		var part string
		part, raw, _ = strings.Cut(raw, "&")
		name, _, _ := strings.Cut(part, "=")
		if name == "" || isKnown(known, name) {
			continue
		}
		if name, err := url.QueryUnescape(name); err == nil && !isKnown(known, name) && !access.HoldsSecret(name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
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
