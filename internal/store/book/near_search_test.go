package book

import (
	"slices"
	"testing"

	"donorbook/internal/crm"
)

// A typing error finds nothing. What was probably meant comes back, in the spelling that the contacts have, and finds someone.
func TestNearSearchesAreWhatWasMeant(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account, other := newAccount(t, s), newAccount(t, s)
		for _, document := range []string{
			`{"first_name":"Mary","last_name":"Fitzgerald","addresses":[{"city":"Boston"}]}`,
			`{"first_name":"Patrick","last_name":"O'Brien-Fitzgerald"}`,
			`{"first_name":"Thomas","last_name":"Kowalczyk"}`,
			`{"first_name":"Jürgen","last_name":"Müller"}`,
			`{"first_name":"Мария","last_name":"Иванова"}`,
			`{"first_name":"Leo","last_name":"Tran"}`,
			`{"type":"company","company":"Harbor Light Foundation"}`,
			`{"first_name":"Zoe","last_name":"Smith","tags":["Volunteers"]}`,
			`{"first_name":"Ann","last_name":"Smith"}`,
			`{"first_name":"Uwe","last_name":"Smits"}`,
		} {
			createAs(t, s, account.Number, document, crm.Force)
		}
		gone := createAs(t, s, account.Number, `{"first_name":"Nora","last_name":"Vandenberg"}`, crm.Force)
		succeed(t, s.ArchiveContact(t.Context(), account.Number, gone.ID))
		createAs(t, s, other.Number, `{"first_name":"Otto","last_name":"Quackenbush"}`, crm.Force)
		for typed, want := range map[string][]string{
			"Fitzgereld":          {"Fitzgerald"},       // another letter
			"fitgerald":           {"Fitzgerald"},       // a letter less
			"Ftizgerald":          {"Fitzgerald"},       // exchanged
			"Gitzgerald":          {"Fitzgerald"},       // the first letter
			"Mary Fitzgereld":     {"Mary Fitzgerald"},  // one of two words
			"Mray Fitzgereld":     {"Mary Fitzgerald"},  // both
			"Mary, Fitzgereld":    {"Mary, Fitzgerald"}, // what stands between words stays
			"Kowalzcik":           {"Kowalczyk"},        // two errors
			"Tomas Kowalzcik":     {"Thomas Kowalczyk"}, // three
			"Tom Kowalczyk":       {"Thomas Kowalczyk"}, // a short form
			"Muler":               {"Müller"},           // marks do not count
			"Иваноав":             {"Иванова"},          // other scripts
			"Harbour Light":       {"Harbor Light"},     // companies
			"Bostno":              {"Boston"},           // cities
			"Voluntears":          {"Volunteers"},       // tags
			"Smitt":               {"Smith", "Smits"},   // the more common one first
			"Obrein":              {"O'Brien"},          // apostrophes
			"Vandenburg":          nil,                  // archived
			"Quackenbusch":        nil,                  // of another account
			"Tron":                {"Tran"},             // short, but long enough
			"Lee":                 nil,                  // too short to tell
			"":                    nil,                  // nothing
			"#volunters":          nil,                  // a tag is chosen from a list
			"mary@exmaple.org":    nil,                  // an email is taken as it is
			"212 555 0100":        nil,                  // a number is, too
			"Fitzgereld @x.org":   nil,                  // and must be met
			"tag:Voluntears":      nil,                  // as is
			"xqzvw kkqqq":         nil,                  // no word at all
			"a b c d Fitzgereld":  nil,                  // too many words to guess
			"Fitzgerald Smithson": nil,                  // each is near something, but no one has both
		} {
			got, err := s.NearSearches(t.Context(), account.Number, typed, "US")
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%q: %q, %v, want %q", typed, got, err, want)
			}
		}
	})
}
