package text

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

func TestFold(t *testing.T) {
	for _, test := range rows.Of[struct{ Value, Want string }](`
		""                         ""
		Ann Lee                    ann lee
		JOSÉ                       jose
		José                      jose
		Straße                     strasse
		STRAẞE                     strasse
		Łukasz Żółć                lukasz zolc
		Bjørn Ødegård              bjorn odegard
		Đorđe                      dorde
		Þórður Guðmundsson         thordur gudmundsson
		Æsop Œuvre                 aesop oeuvre
		İstanbul Işık              istanbul isik
		Nguyễn                     nguyen
		ﬁ ＦＵＬＬ                     fi full
		"O’Brien O'Brien Oʼ\x60´"  o'brien o'brien o'''
		ΣΊΣΥΦΟΣ σίσυφος            σισυφοσ σισυφοσ
		"zero\u200bwidth"          zerowidth
		李小龍                        李小龍
	`) {
		assert.Equal(t, Fold(test.Value), test.Want, "fold(%q)", test.Value)
	}
}

func TestWords(t *testing.T) {
	for texts, want := range rows.Pairs(`
		""                      []
		"| |-'-"                []
		Ann|Lee                 [ann lee]
		Ann Ann|ANN lee         [ann lee]
		Mary-Kate O’Brien, Jr.  [mary kate obrien jr]
		Route 66/A_b            [route 66 a b]
		李小龍                  [李小龍]
	`) {
		assert.Equal(t, fmt.Sprint(Words(strings.Split(texts, "|")...)), want, "words(%q)", texts)
	}
	hindi := Words("नरेन्द्र मोदी")
	assert.Equal(t, hindi, Words("नरेन्द्र", "मोदी"))
	assert.Equal(t, len(hindi), 2, "two Hindi words were taken for")
	assert.Equal(t, testing.AllocsPerRun(100, func() { Fold("ann lee") }), 0, "for plain text")
}

func TestFoldTreatsAllCasesOfALetterAlike(t *testing.T) {
	for r := range unicode.MaxRune {
		other := unicode.SimpleFold(r)
		if other == r || unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Mn, other) {
			continue
		}
		folded := Fold(string(r))
		assert.Equal(t, folded, Fold(string(other)), "%c folds (%v)", r, other)
		assert.Equal(t, Fold(folded), folded, "%c folds", r)
		folded = FoldCase(string(r))
		assert.Equal(t, FoldCase(folded), folded, "the case of %c folds", r)
	}
}

func FuzzFold(f *testing.F) {
	for _, value := range rows.All(`
		José O’Brien  Łódź  ẞ İı  ﬁ½  Ά̓ᾳ  한국  ͅ  ﷺ  "\xff"
	`) {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		folded := Fold(value)
		assert.Equal(t, Fold(folded), folded, "fold(%q)", value)
		if other := Fold(strings.ToLower(value)); utf8.ValidString(value) && other != folded {
			t.Fatalf("%q folds to %q, its lower case to %q", value, folded, other)
		}
		if strings.ContainsFunc(folded, func(r rune) bool { return unicode.Is(unicode.Mn, r) }) {
			t.Fatalf("fold(%q) = %q keeps an accent", value, folded)
		}
		found := Words(value)
		if again := Words(strings.Join(found, " ")); !slices.Equal(again, found) {
			t.Fatalf("words %q, and again %q", found, again)
		}
		for i, word := range found {
			if word == "" || strings.ContainsAny(word, " '-") || slices.Contains(found[:i], word) {
				t.Fatalf("words(%q) = %q", value, found)
			}
		}
	})
}
