package crmtest

import (
	"encoding/json"
	"fmt"
	"strings"

	"pgregory.net/rapid"

	_ "donorbook/internal/rig/drill" // who draws by chance draws the same each time
)

// The values for random inputs: few enough to occur again, in several spellings.
var (
	Emails = []string{"a@x.org", "A@x.org", "a@X.ORG", "b@x.org", "c.d+e@y.example", "ü@y.example", "Ü@y.example"}
	Phones = []string{"212-555-0100", "+1 (212) 555-0100", "2125550101", "+442079460958", "+44 20 7946 0958",
		"1 212 555 0102", "555-0100", "5550100"}
	Tags   = []string{"a", "A", "b", "major donor", "日本", "t:x"}
	Cities = []string{"", "New York", "NEW YORK", "newyork", "Paris", "Łódź"}
)

// SomeText is text of any kind, of at most max characters, that trimming does not change.
func SomeText(max int) *rapid.Generator[string] {
	return rapid.Map(rapid.StringN(0, max, -1), func(s string) string {
		return strings.TrimSpace(strings.ReplaceAll(strings.ToValidUTF8(s, "?"), "\x00", "0"))
	})
}

// SomeName is a name: never empty, and sometimes one that occurs again.
func SomeName() *rapid.Generator[string] {
	return rapid.OneOf(rapid.SampledFrom([]string{"Ana", "ANA", "Łucja", "O'Brien"}),
		rapid.Map(SomeText(20), func(s string) string {
			if s == "" {
				return "x"
			}
			return s
		}))
}

// SomeBody is a body that is accepted. If whole is set, it has every field.
func SomeBody(t *rapid.T, whole bool) string {
	var members []string
	add := func(key string, value func() string) {
		if whole || rapid.Bool().Draw(t, key+" sent") {
			members = append(members, Quoted(key)+":"+value())
		}
	}
	text := func(g *rapid.Generator[string]) func() string {
		return func() string { return Quoted(g.Draw(t, "text")) }
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
			kind, value := Quoted(rapid.SampledFrom(kinds).Draw(t, "type")),
				Quoted(rapid.SampledFrom(values).Draw(t, "value"))
			if kind == `""` && rapid.Bool().Draw(t, "text") {
				return value
			}
			return `{"type":` + kind + `,"value":` + value + `}`
		})
	}
	urls := rapid.SampledFrom([]string{"", "https://example.org/ü", "http://x.example/?q=1"})
	add("first_name", text(SomeName()))
	add("middle_name", text(SomeText(20)))
	add("last_name", text(SomeName()))
	add("dob", text(rapid.SampledFrom([]string{"", "1/2/1980", "12/31/1000", "01/31/2026"})))
	add("company", text(SomeText(20)))
	add("title", text(SomeText(20)))
	add("twitter_url", text(urls))
	add("linkedin_url", text(urls))
	add("facebook_url", text(urls))
	add("emails", typed([]string{"", "personal", "work"}, Emails))
	add("phones", typed([]string{"", "work", "home", "cell"}, Phones))
	add("addresses", list(func() string {
		return fmt.Sprintf(`{"address_1":%s,"city":%s,"state":%s,"country":%s}`,
			Quoted(rapid.SampledFrom(Cities).Draw(t, "street")),
			Quoted(rapid.SampledFrom(Cities).Draw(t, "city")),
			Quoted(rapid.SampledFrom([]string{"", "NY", "ny"}).Draw(t, "state")),
			Quoted(rapid.SampledFrom([]string{"", "USA"}).Draw(t, "country")))
	}))
	add("tags", list(func() string {
		return Quoted(rapid.OneOf(rapid.SampledFrom(Tags), SomeName()).Draw(t, "tag"))
	}))
	add("prefix", text(SomeText(20)))
	add("external_ids", list(func() string {
		return fmt.Sprintf(`{"source":%s,"value":%s}`, Quoted(rapid.SampledFrom([]string{"", "Bloomerang", "bloomerang",
			"crm"}).Draw(t, "source")),
			Quoted(rapid.SampledFrom([]string{"7", "A-7", "a-7"}).Draw(t, "value")))
	}))
	add("do_not_mail", func() string { return rapid.SampledFrom([]string{"true", "false", "null"}).Draw(t, "mark") })
	return "{" + strings.Join(members, ",") + "}"
}

// Quoted is a text as a JSON string.
func Quoted(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(b)
}
