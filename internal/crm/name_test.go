package crm

import "testing"

// Names that two records may have without being about two people, and names that they may not.
func TestNamesContradict(t *testing.T) {
	person := func(first, middle, last string) PersonName {
		return PersonName{First: first, Middle: middle, Last: last}
	}
	company := func(name string) PersonName { return PersonName{Company: name} }
	for _, c := range []struct {
		what string
		a, b PersonName
		want bool
	}{
		{"the same", person("Ana", "", "Lopez"), person("Ana", "", "Lopez"), false},
		{"case and accents", person("JOSÉ", "", "MÜLLER"), person("Jose", "", "Müller"), false},
		{"an apostrophe", person("Pat", "", "O'Brien"), person("Pat", "", "OBrien"), false},
		{"an initial", person("A.", "", "Lopez"), person("Ana", "", "Lopez"), false},
		{"an initial of the last name", person("Ana", "", "L."), person("Ana", "", "Lopez"), false},
		{"a middle name that is missing", person("Ana", "", "Lopez"), person("Ana", "Maria", "Lopez"), false},
		{"a middle name in the first name", person("Ana Maria", "", "Lopez"), person("Ana", "M.", "Lopez"), false},
		{"a name in one word", person("Mary Ann", "", "Lee"), person("Maryann", "", "Lee"), false},
		{"a hyphen", person("Jean-Luc", "", "Picard"), person("Jean Luc", "", "Picard"), false},
		{"no first name", person("", "", "Lopez"), person("Ana", "", "Lopez"), false},
		{"no name", person("", "", ""), person("Ana", "", "Lopez"), false},
		{"the same company", company("Acme Inc"), company("ACME, Inc."), false},

		{"another first name", person("Ana", "", "Lopez"), person("Juan", "", "Lopez"), true},
		{"a first name that begins alike", person("Ana", "", "Lopez"), person("Anabel", "", "Lopez"), true},
		{"a short form", person("Tom", "", "Reed"), person("Thomas", "", "Reed"), true},
		{"another initial", person("J.", "", "Lopez"), person("Ana", "", "Lopez"), true},
		{"another middle name", person("Mary", "Ann", "Lee"), person("Mary", "Beth", "Lee"), true},
		{"another last name", person("Ana", "", "Lopez"), person("Ana", "", "Reed"), true},
		{"half of a double name", person("Ana", "", "Lopez"), person("Ana", "", "Lopez Reed"), true},
		{"father and son", person("John", "", "Reed"), person("John", "", "Reed Jr."), true},
		{"a couple and one of them", person("Ana & Juan", "", "Lopez"), person("Ana", "", "Lopez"), true},
		{"a couple in words", person("Ana and Juan", "", "Lopez"), person("Ana", "", "Lopez"), true},
		{"the same couple", person("Ana & Juan", "", "Lopez"), person("ana and juan", "", "lopez"), false},
		{"a name that is no initial", person("明", "", "王"), person("明华", "", "王"), true},
		{"a company and a person", company("Acme"), person("Ana", "", "Lopez"), true},
		{"a company with a person to write to", PersonName{First: "Ana", Last: "Lopez", Company: "Acme", IsCompany: true}, company("ACME"), false},
		{"a person and the company where they work", PersonName{First: "Ana", Last: "Lopez", Company: "Acme", IsCompany: true}, PersonName{First: "Ana", Last: "Lopez", Company: "Acme"}, true},
		{"another company", company("Acme"), company("Ajax"), true},
	} {
		if got := c.a.Contradicts(c.b); got != c.want {
			t.Errorf("%s: %v and %v: %t", c.what, c.a, c.b, got)
		}
		if c.b.Contradicts(c.a) != c.want {
			t.Errorf("%s: the other way round differs", c.what)
		}
	}
}
