package crm

import (
	"fmt"
	"strings"
	"time"

	"pgregory.net/rapid"
)

// The values for random inputs: few enough to occur again, in several spellings.
var (
	someEmails = []string{"a@x.org", "A@x.org", "a@X.ORG", "b@x.org", "c.d+e@y.example", "ü@y.example", "Ü@y.example"}
	somePhones = []string{"212-555-0100", "+1 (212) 555-0100", "2125550101", "+442079460958", "+44 20 7946 0958", "1 212 555 0102", "555-0100", "5550100"}
	someTags   = []string{"a", "A", "b", "major donor", "日本", "t:x"}
	someCities = []string{"", "New York", "NEW YORK", "newyork", "Paris", "Łódź"}
)

// someText is text of any kind, of at most max characters, that trimming does not change.
func someText(max int) *rapid.Generator[string] {
	return rapid.Map(rapid.StringN(0, max, -1), func(s string) string {
		return strings.TrimSpace(strings.ReplaceAll(strings.ToValidUTF8(s, "?"), "\x00", "0"))
	})
}

// someName is a name: never empty, and sometimes one that occurs again.
func someName() *rapid.Generator[string] {
	return rapid.OneOf(rapid.SampledFrom([]string{"Ana", "ANA", "Łucja", "O'Brien"}), rapid.Map(someText(20), func(s string) string {
		if s == "" {
			return "x"
		}
		return s
	}))
}

// someBody is a body that is accepted. If whole is set, it has every field.
func someBody(t *rapid.T, whole bool) string {
	var members []string
	add := func(key string, value func() string) {
		if whole || rapid.Bool().Draw(t, key+" sent") {
			members = append(members, quoted(key)+":"+value())
		}
	}
	text := func(g *rapid.Generator[string]) func() string {
		return func() string { return quoted(g.Draw(t, "text")) }
	}
	list := func(element func() string) func() string {
		return func() string {
			elements := make([]string, rapid.IntRange(0, 4).Draw(t, "elements"))
			for i := range elements {
				elements[i] = element()
			}
			return "[" + strings.Join(elements, ",") + "]"
		}
	}
	typed := func(kinds, values []string) func() string {
		return list(func() string {
			kind, value := quoted(rapid.SampledFrom(kinds).Draw(t, "type")), quoted(rapid.SampledFrom(values).Draw(t, "value"))
			if kind == `""` && rapid.Bool().Draw(t, "text") {
				return value
			}
			return `{"type":` + kind + `,"value":` + value + `}`
		})
	}
	urls := rapid.SampledFrom([]string{"", "https://example.org/ü", "http://x.example/?q=1"})
	add("first_name", text(someName()))
	add("middle_name", text(someText(20)))
	add("last_name", text(someName()))
	add("dob", text(rapid.SampledFrom([]string{"", "1/2/1980", "12/31/1000", "01/31/2026"})))
	add("company", text(someText(20)))
	add("title", text(someText(20)))
	add("twitter_url", text(urls))
	add("linkedin_url", text(urls))
	add("facebook_url", text(urls))
	add("emails", typed([]string{"", "personal", "work"}, someEmails))
	add("phones", typed([]string{"", "work", "home", "cell"}, somePhones))
	add("addresses", list(func() string {
		return fmt.Sprintf(`{"address_1":%s,"city":%s,"state":%s,"country":%s}`, quoted(rapid.SampledFrom(someCities).Draw(t, "street")),
			quoted(rapid.SampledFrom(someCities).Draw(t, "city")), quoted(rapid.SampledFrom([]string{"", "NY", "ny"}).Draw(t, "state")),
			quoted(rapid.SampledFrom([]string{"", "USA"}).Draw(t, "country")))
	}))
	add("tags", list(func() string {
		return quoted(rapid.OneOf(rapid.SampledFrom(someTags), someName()).Draw(t, "tag"))
	}))
	return "{" + strings.Join(members, ",") + "}"
}

func someInput(t *rapid.T, whole bool) ContactInput {
	in, err := read(someBody(t, whole), false)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// someContact is a contact that can result from creating, merging and changing.
func someContact(t *rapid.T) Contact {
	now := noon
	c, err := NewContact(someInput(t, rapid.Bool().Draw(t, "whole")), now)
	for range rapid.IntRange(0, 2).Draw(t, "changes") {
		now = now.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "pause")) * time.Second)
		if in := someInput(t, false); err == nil && rapid.Bool().Draw(t, "merge") {
			c, err = c.Merge(in, now)
		} else if err == nil {
			c, err = c.Patch(in, now)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	c.ID = MakeID(1_000_000, rapid.Int64Range(1, MaxSeq).Draw(t, "seq"))
	c.Note = someText(50).Draw(t, "note")
	c.Stats = Stats{rapid.Int64().Draw(t, "recurring"), rapid.Int64().Draw(t, "total")}
	if rapid.Bool().Draw(t, "archived") {
		c = c.Archive(now)
	}
	return c
}

// bodyOf is the stored body as text, to compare what a client would see.
func bodyOf(c Contact) string { return string(c.AppendBody(nil)) }
