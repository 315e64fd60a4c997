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
		if got := similarity(test.A, test.B); math.Abs(got-test.Want) > 0.001 ||
			math.Abs(similarity(test.B, test.A)-got) > 0.001 {
			t.Errorf("%s and %s: %.3f, want %.3f", test.A, test.B, got, test.Want)
		}
	}
}

func TestNamesThatSoundAlikeAreLookedAtTogether(t *testing.T) {
	for a, b := range rows.Pairs(`
		meyer      maier
		schmidt    schmitt
		philips    phillips
		catherine  kathrin
		иванов     иванов
	`) {
		assert.Equal(t, sound(a), sound(b), "%s sounds like (%v)", a, b)
	}
	assert.Equal(t, sound("miller") == sound("wagner"), false, "Miller sounds like Wagner")
}

func TestShortFormsAreKnown(t *testing.T) {
	for _, test := range rows.Of[struct {
		Short, Long string
		Want        bool
	}](`
		tom     thomas     true
		peggy   margaret   true
		bob     robert     true
		liz     elisabeth  true
		kate    kathryn    true
		jenn    jennifer   true
		tom     robert     false
		thomas  tom        false
	`) {
		assert.Equal(t, isShortFor(test.Short, test.Long), test.Want, "%+v", test)
	}
}
