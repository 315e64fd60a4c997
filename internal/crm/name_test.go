package crm

import (
	"strings"
	"testing"

	"donorbook/internal/rig/rows"
)

// Names that two records may have without being about two people, and names that they may not: that of a company, or
// the first, middle and last one of a person, the company where they work, and whether it is the contact.
func TestNamesContradict(t *testing.T) {
	name := func(text string) PersonName {
		p := strings.Split(text+"//", "/")
		if !strings.Contains(text, "/") {
			return PersonName{Company: text}
		}
		return PersonName{First: p[0], Middle: p[1], Last: p[2], Company: p[3], IsCompany: p[4] != ""}
	}
	for _, c := range rows.Of[struct {
		What, A, B string
		Want       bool
	}](`
		the same                                  Ana//Lopez               Ana//Lopez           false
		case and accents                          JOSÉ//MÜLLER             Jose//Müller         false
		an apostrophe                             Pat//O'Brien             Pat//OBrien          false
		an initial                                A.//Lopez                Ana//Lopez           false
		an initial of the last name               Ana//L.                  Ana//Lopez           false
		a middle name that is missing             Ana//Lopez               Ana/Maria/Lopez      false
		a middle name in the first name           Ana Maria//Lopez         Ana/M./Lopez         false
		a name in one word                        Mary Ann//Lee            Maryann//Lee         false
		a hyphen                                  Jean-Luc//Picard         Jean Luc//Picard     false
		no first name                             //Lopez                  Ana//Lopez           false
		no name                                   "//"                       Ana//Lopez           false
		the same company                          Acme Inc                 ACME, Inc.           false
		another first name                        Ana//Lopez               Juan//Lopez          true
		a first name that begins alike            Ana//Lopez               Anabel//Lopez        true
		a short form                              Tom//Reed                Thomas//Reed         true
		another initial                           J.//Lopez                Ana//Lopez           true
		another middle name                       Mary/Ann/Lee             Mary/Beth/Lee        true
		another last name                         Ana//Lopez               Ana//Reed            true
		half of a double name                     Ana//Lopez               Ana//Lopez Reed      true
		father and son                            John//Reed               John//Reed Jr.       true
		a couple and one of them                  Ana & Juan//Lopez        Ana//Lopez           true
		a couple in words                         Ana and Juan//Lopez      Ana//Lopez           true
		the same couple                           Ana & Juan//Lopez        ana and juan//lopez  false
		a name that is no initial                 明//王                     明华//王                true
		a company and a person                    Acme                     Ana//Lopez           true
		a company with a person to write to       Ana//Lopez/Acme/company  ACME                 false
		a person and the company where they work  Ana//Lopez/Acme/company  Ana//Lopez/Acme      true
		another company                           Acme                     Ajax                 true
	`) {
		if name(c.A).Contradicts(name(c.B)) != c.Want || name(c.B).Contradicts(name(c.A)) != c.Want {
			t.Errorf("%s: %s and %s are not told to be %v", c.What, c.A, c.B, c.Want)
		}
	}
}
