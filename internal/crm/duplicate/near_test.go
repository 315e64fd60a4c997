package duplicate

import (
	"math"
	"testing"

	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

func TestNamesDifferByOneLetter(t *testing.T) {
	for _, test := range rows.Of[struct {
		A, B string
		Want bool
	}](`
		smith   smyth   true
		smith   smiht   true
		smith   smit    true
		smith   smithe  true
		smith   msith   true
		smith   smythe  false
		smith   htims   false
		""      a       true
		""      ab      false
		same    same    true
		иванов  иванав  true
		иванов  иваонв  true
		иванов  ивнв    false
		王小明     王晓明     true
		王小明     李小红     false
		aé      aè      true
	`) {
		if got := isOneEdit(test.A, test.B); got != test.Want || isOneEdit(test.B, test.A) != got {
			t.Errorf("%s and %s: one letter apart is %v, want %v", test.A, test.B, got, test.Want)
		}
	}
}

func TestSimilarityIsThatOfJaroAndWinkler(t *testing.T) {
	for _, test := range rows.Of[struct {
		A, B string
		Want float64
	}](`
		martha  marhta    0.961
		dwayne  duane     0.840
		dixon   dicksonx  0.813
		same    same      1
		abc     xyz       0
		""      abc       0
		мартха  мархта    0.961
	`) {
		if got := similarity(test.A, test.B); math.Abs(got-test.Want) > 0.001 || math.Abs(similarity(test.B, test.A)-got) > 0.001 {
			t.Errorf("%s and %s: %.3f, want %.3f", test.A, test.B, got, test.Want)
		}
	}
}

func TestNamesThatSoundAlikeAreLookedAtTogether(t *testing.T) {
	for _, test := range [][2]string{{"meyer", "maier"}, {"schmidt", "schmitt"}, {"philips", "phillips"}, {"catherine", "kathrin"}, {"иванов", "иванов"}} {
		assert.Equal(t, sound(test[0]), sound(test[1]), "%s sounds like (%v)", test[0], test[1])
	}
	if sound("miller") == sound("wagner") {
		t.Error("Miller sounds like Wagner")
	}
}

func TestShortFormsAreKnown(t *testing.T) {
	for _, test := range [][2]string{{"tom", "thomas"}, {"peggy", "margaret"}, {"bob", "robert"}, {"liz", "elisabeth"}, {"kate", "kathryn"}, {"jenn", "jennifer"}} {
		if !isShortFor(test[0], test[1]) {
			t.Errorf("%s is not short for %s", test[0], test[1])
		}
	}
	if isShortFor("tom", "robert") || isShortFor("thomas", "tom") {
		t.Error("a name is short for one that it is not short for")
	}
}
