package find

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"donorbook/internal/crm"
	"donorbook/internal/crm/text"
	"donorbook/internal/rig/rows"
)

// finds tells whether a search text finds a contact.
func finds(s Search, c crm.Contact) bool { return s.Finds(SearchWords(&c)) }

// The work of a search is bounded, whatever its words are.
func TestASearchAsksForFewWords(t *testing.T) {
	var letters, digits []string
	for i := range 150 { // all different: a word that is repeated counts once
		letters = append(letters, fmt.Sprintf("word%c%c", 'a'+i%26, 'a'+i/26))
		digits = append(digits, fmt.Sprint(10_000+i))
	}
	for _, sign := range rows.All(`" "  -  .  /  " #"`) {
		for _, words := range [][]string{letters, digits} {
			s := ParseSearch(strings.Join(words, sign), "US")
			if len(s.Terms) == 0 || len(s.Terms) > maxTerms {
				t.Errorf("%q between %s and others: %d terms", sign, words[0], len(s.Terms))
			}
			for _, term := range s.Terms {
				for _, choice := range term {
					if len(choice) > maxTerms {
						t.Errorf("%q between %s and others: one choice has %d words", sign, words[0], len(choice))
					}
				}
			}
		}
	}
}

func TestTheSameNameIsSortedAlike(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := someContact(t)
		spelled := rapid.SampledFrom([]func(string) string{strings.ToUpper, strings.ToLower, strings.Clone}).Draw(t,
			"spelling")
		first, last := spelled(c.FirstName), spelled(c.LastName)
		in := crm.ContactInput{FirstName: &first, LastName: &last}
		if sorted := SortName(&crm.Contact{FirstName: first, LastName: last}); in.SameName(c) &&
			sorted != SortName(&c) {
			t.Fatalf("%q %q is sorted by %q, and %+v is not", first, last, sorted, c)
		}
	})
}

func TestSearchUnderstandsWhatWasTyped(t *testing.T) {
	maria := made(t, `{"first_name":"Maria","middle_name":"Elena Q.","last_name":"O'Brien-Smith","company":"Acme Zoo",
		"emails":[{"value":"Maria.Smith@Example.org"},{"value":"zoo@x.org"}],"phones":[{"value":"(212) 555-0100"},{"value":"+44 20 7946 0958"}],
		"tags":["Major donor","VIP"],"addresses":[{"city":"Brooklyn","state":"NY","zipcode":"11201"}]}`)
	orwell := made(t,
		`{"first_name":"1984","last_name":"Łukasz","phones":["312-555-0123 x42"],"emails":["jose\u0301@xn--bcher-kva.example"]}`)
	for _, test := range rows.Of[struct {
		Typed         string
		Maria, Orwell bool
	}](`
		maria                       true   false
		MAR                         true   false
		" \x20Mária "               true   false
		aria                        false  false
		maria o'brien               true   false
		maria obr                   true   false
		obrien mar                  true   false
		smith maria                 true   false
		maria smith                 true   false
		smith acme                  true   false
		acme sm                     true   false
		elena zoo mar               true   false
		q maria                     true   false  // a middle initial narrows the results
		smith q                     true   false
		zoo q sm                    true   false
		zoo                         true   false
		zoo acme                    true   false
		ac zo                       true   false
		acme mar                    true   false
		elena acme                  true   false
		q                           true   false  // and finds the contact by itself
		mar sm el                   true   false
		maria lukasz                false  false
		maria arienzo               false  false
		maria maria                 true   false  // a repeated word counts once
		maria mariana               false  false
		Łuk                         false  true
		lukasz 1984                 false  true
		1984                        false  true
		198                         false  true
		maria.smith@example.org     true   false
		MARIA.SMITH@EX              true   false
		maria.smith@                true   false
		maria.sm                    true   false
		zoo@x.org                   true   false
		zo                          true   false
		smith@example.org           false  false
		@example.org                true   false
		@EXAM                       true   false
		example.org                 true   false
		exampl                      true   false
		exa                         false  false  // too short a part of a domain
		212                         false  false  // too few digits of a number
		2125                        true   false
		(212) 555                   true   false
		212.555-01/00               true   false
		1 212 555 0100              true   false
		+1 212                      true   false
		maria +1 212                true   false
		maria +1 212-555-0100 vip   true   false
		+44 20 79                   true   false
		0044 20 79                  true   false
		011 44 20 7946 0958         true   false
		555 0100                    true   false
		555-0100                    true   false
		0100                        true   false
		100                         false  false  // too few digits of a number's end
		7946 0958                   true   false
		5550101                     false  false
		312 555 0123                false  true
		0123                        false  true
		(312) 555-0123 ext. 42      false  true
		312-555-0123 x4             false  true  // the beginning of it
		312-555-0123 x5             false  false
		212 555 0100 x5             false  false
		José@bücher.example         false  true
		josé@BÜCHER               false  true
		josé@xn--bcher-kva.example  false  true
		@bücher.ex                  false  true
		xn--bcher-kva.example       false  true
		brooklyn                    true   false
		maria 11201                 true   false
		112                         true   false
		ny zoo                      true   false
		213                         false  false
		21                          false  false
		#VIP                        true   false
		# VIP                       true   false
		tag:VIP                     true   false
		Tag: Major donor            true   false
		#vip                        true   false
		#VI                         true   false
		#ip                         false  false
		vip                         true   false
		#vip #major                 true   false
		#vip #minor                 false  false
		vip major maria             true   false
		#Major donor                true   false
		tag:vip                     false  false  // exactly
		tag:VI                      false  false
		#!?                         false  false
		???                         false  false
		"a\x00\xffcme"              true   false
	`) {
		s := ParseSearch(test.Typed, "US")
		if s.IsEmpty() || finds(s, maria) != test.Maria || finds(s, orwell) != test.Orwell {
			t.Errorf("%q finds maria: %v, 1984: %v, and is empty: %v", test.Typed, finds(s, maria), finds(s, orwell),
				s.IsEmpty())
		}
	}
}

func TestASearchForNothingIsEmpty(t *testing.T) {
	for _, typed := range rows.All(`
		""  " "  "\t\n"  "\x00"  "\xff"  #  tag:  " tag: "  "# "
	`) {
		if s := ParseSearch(typed, "US"); !s.IsEmpty() || len(s.Terms) != 0 {
			t.Errorf("%q is not empty: %+v", typed, s)
		}
	}
	if !TagSearch("").IsEmpty() {
		t.Error("no tag is a search")
	}
}

// Numbers without + belong to the region, with or without its dialing prefix.
func TestAPhoneIsSearchedForAsItIsDialledInTheRegion(t *testing.T) {
	for _, test := range []struct {
		region, number string
		typed          []string
	}{
		{"US", "+12125550100", rows.All(`2125550100  12125550100  1-212  +1212`)},
		{"DE", "+493012345678", rows.All(`030 123  30 123  030/12345678  +49 30  0049 30`)},
		{"GB", "+442079460958", []string{"020 7946", "20 7946 0958", "442079460958"}},
		{"IT", "+390612345678", []string{"06 123", "+3906"}}, // where the 0 is part of the number
	} {
		c := crm.Contact{MatchKeys: []string{"p:" + test.number}, Phones: []crm.Phone{{Value: test.number}}}
		for _, typed := range test.typed {
			if s := ParseSearch(typed, test.region); !finds(s, c) {
				t.Errorf("%s: %q does not find %s but looks for %v", test.region, typed, test.number, s.Terms)
			}
		}
	}
}

func TestATagsOwnTextFindsTheTagAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := someContact(t)
		for _, tag := range c.Tags {
			s := TagSearch(tag)
			again := ParseSearch(s.Text, "US")
			if !finds(s, c) || !finds(again, c) || again.Text != s.Text {
				t.Fatalf("the tag %q is searched for as %q", tag, s.Text)
			}
		}
	})
}

// Any words of a contact, in any order and possibly unfinished, find it.
func TestAnyWordsInAnyOrderFindTheContact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := someContact(t)
		all := text.Words(c.FirstName, c.MiddleName, c.LastName, c.Company)
		if len(all) == 0 {
			return
		}
		typed := rapid.Permutation(all).Draw(t, "words")[:rapid.IntRange(1, min(len(all), maxTerms)).Draw(t, "n")]
		for i, word := range typed {
			letters := []rune(word)
			typed[i] = string(letters[:rapid.IntRange(1, len(letters)).Draw(t, "letters")])
		}
		value := strings.Join(typed, " ")
		if !slices.Equal(text.Words(value), typed) {
			return // half a word may be no word, or another word of the name
		}
		if s := ParseSearch(value, "US"); !finds(s, c) {
			t.Fatalf("%q is not found among %q", value, SearchWords(&c))
		}
	})
}

func TestWhateverIsTypedLooksForWordsThatCanBeStored(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typed := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) + rapid.String().Draw(t, "text")
		s := ParseSearch(typed, "US")
		if len(s.Terms) > maxTerms+len(s.Text) {
			t.Fatalf("%q has %d terms", typed, len(s.Terms))
		}
		for _, term := range s.Terms {
			for _, choice := range term {
				for _, w := range choice {
					if w.Text == "" || len(w.Text) > maxWord || !utf8.ValidString(w.Text) ||
						strings.ContainsFunc(w.Text, breaksWord) {
						t.Fatalf("%q looks for %q", typed, w.Text)
					}
				}
			}
		}
	})
}
