package crm

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// finds tells whether what was typed finds a contact.
func finds(s Search, c Contact) bool {
	place, _ := s.First(c)
	return place >= 0
}

func TestSearchUnderstandsWhatWasTyped(t *testing.T) {
	maria := made(t, `{"first_name":"Maria","middle_name":"Elena Q.","last_name":"O'Brien-Smith","company":"Acme Zoo",
		"emails":[{"value":"Maria.Smith@Example.org"},{"value":"zoo@x.org"}],"phones":[{"value":"(212) 555-0100"},{"value":"+44 20 7946 0958"}],
		"tags":["Major donor","VIP"]}`)
	orwell := made(t, `{"first_name":"1984","last_name":"Łukasz"}`)
	for _, test := range []struct {
		typed         string
		maria, orwell bool
	}{
		{"maria", true, false},
		{"MAR", true, false},
		{"  Mária ", true, false},
		{"aria", false, false},
		{"maria o'brien", true, false},
		{"maria obr", true, false},
		{"obrien mar", true, false},
		{"smith maria", true, false},
		{"maria smith", true, false},
		{"smith acme", true, false},
		{"acme sm", true, false},
		{"elena zoo mar", true, false},
		{"q maria", true, false}, // a middle initial narrows down,
		{"smith q", true, false},
		{"zoo q sm", true, false},
		{"zoo", true, false},
		{"zoo acme", true, false},
		{"ac zo", true, false},
		{"acme mar", true, false},
		{"elena acme", true, false},
		{"q", false, false}, // and finds nobody by itself
		{"mar sm el", true, false},
		{"maria lukasz", false, false},
		{"maria arienzo", false, false},
		{"maria maria", true, false}, // a word twice is the word
		{"maria mariana", false, false},
		{"Łuk", false, true},
		{"lukasz 1984", false, true},
		{"1984", false, true},
		{"198", false, true},
		{"maria.smith@example.org", true, false},
		{"MARIA.SMITH@EX", true, false},
		{"maria.smith@", true, false},
		{"maria.sm", true, false},
		{"zoo@x.org", true, false},
		{"zo", true, false},
		{"smith@example.org", false, false},
		{"@example.org", false, false},
		{"212", true, false},
		{"(212) 555", true, false},
		{"212.555-01/00", true, false},
		{"1 212 555 0100", true, false},
		{"+1 212", true, false},
		{"+44 20 79", true, false},
		{"0044 20 79", true, false},
		{"011 44 20 7946 0958", true, false},
		{"555 0100", false, false},
		{"213", false, false},
		{"21", false, false},
		{"#VIP", true, false},
		{"# VIP", true, false},
		{"tag:VIP", true, false},
		{"Tag: Major donor", true, false},
		{"#vip", false, false}, // a tag is exactly its name
		{"#VI", false, false},
		{"vip", false, false},
		{"#!?", false, false},
		{"???", false, false},
		{"a\x00\xffcme", true, false},
	} {
		s := ParseSearch(test.typed, "US")
		if s.IsEmpty() || finds(s, maria) != test.maria || finds(s, orwell) != test.orwell {
			t.Errorf("%q finds maria: %v, 1984: %v, and is empty: %v", test.typed, finds(s, maria), finds(s, orwell), s.IsEmpty())
		}
	}
}

func TestASearchForNothingIsEmpty(t *testing.T) {
	for _, typed := range []string{"", " ", "\t\n", "\x00", "\xff", "#", "tag:", " tag: ", "# "} {
		if s := ParseSearch(typed, "US"); !s.IsEmpty() || len(s.Ranges()) != 0 {
			t.Errorf("%q is not empty: %+v", typed, s)
		}
	}
	if !TagSearch("").IsEmpty() {
		t.Error("no tag is a search")
	}
}

// Numbers without + are those of the region, with what people dial there before them or without.
func TestAPhoneIsSearchedForAsItIsDialledInTheRegion(t *testing.T) {
	for _, test := range []struct {
		region, number string
		typed          []string
	}{
		{"US", "+12125550100", []string{"2125550100", "12125550100", "1-212", "+1212"}},
		{"DE", "+493012345678", []string{"030 123", "30 123", "030/12345678", "+49 30", "0049 30"}},
		{"GB", "+442079460958", []string{"020 7946", "20 7946 0958", "442079460958"}},
		{"IT", "+390612345678", []string{"06 123", "+3906"}}, // where the 0 is a part of the number
	} {
		c := Contact{MatchKeys: []string{"p:" + test.number}}
		for _, typed := range test.typed {
			if s := ParseSearch(typed, test.region); !finds(s, c) {
				t.Errorf("%s: %q does not find %s but looks in %q", test.region, typed, test.number, s.Ranges())
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

// Whichever words of a name somebody types, in whichever order, the last one perhaps unfinished: the contact is found.
func TestAnyWordsOfANameInAnyOrderFindTheContact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := someContact(t)
		all := words(c.FirstName, c.MiddleName, c.LastName, c.Company)
		if len(all) == 0 || slices.ContainsFunc(c.NameKeys(), func(key string) bool { return len(key) >= maxNameKey }) {
			return
		}
		typed := rapid.Permutation(all).Draw(t, "words")[:rapid.IntRange(1, len(all)).Draw(t, "n")]
		named := func(word string) bool { return slices.Contains(words(c.FirstName, c.LastName, c.MiddleName), word) }
		initial := func(word string) bool { return slices.Contains(initials(c), word) }
		if slices.ContainsFunc(typed, initial) && !slices.ContainsFunc(typed, func(word string) bool { return named(word) && !initial(word) }) {
			return // a middle initial only narrows down
		}
		last := []rune(typed[len(typed)-1])
		typed[len(typed)-1] = string(last[:rapid.IntRange(1, len(last)).Draw(t, "letters")])
		text := strings.Join(typed, " ")
		if !slices.Equal(words(text), typed) {
			return // half a word may be none, or be another word of the name
		}
		s := ParseSearch(text, "US")
		place, _ := s.First(c)
		if place < 0 {
			t.Fatalf("%q is not found among %q", text, c.NameKeys())
		}
		for earlier := range place + 1 {
			if needs, ok := s.Needs(earlier); ok && !slices.ContainsFunc(c.NameKeys(), needs.Has) {
				t.Fatalf("%q would be given up for want of %q among %q", text, needs, c.NameKeys())
			}
		}
	})
}

func TestWhateverIsTypedLooksForTextThatCanBeStored(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typed := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) + rapid.String().Draw(t, "text")
		for _, r := range ParseSearch(typed, "US").Ranges() {
			if !utf8.ValidString(r.From) || strings.Contains(r.From, "\x00") || r.From > r.To || len(r.From) > 5000 {
				t.Fatalf("%q looks in %q", typed, r)
			}
		}
	})
}

func TestFoldTagForgetsCaseAndMarksAndIsBounded(t *testing.T) {
	if FoldTag("Große Spénder") != "grosse spender" || len(FoldTag(strings.Repeat("\ufdfa", 64))) > 200 {
		t.Errorf("%q, %d bytes", FoldTag("Große Spénder"), len(FoldTag(strings.Repeat("\ufdfa", 64))))
	}
	if r := TagRange(" GROSSE sp"); !r.Has(FoldTag("Große Spénder")) || r.Has("grosse s") {
		t.Errorf("%q", r)
	}
}
