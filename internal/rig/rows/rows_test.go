package rows

import (
	"reflect"
	"testing"
)

func TestCellsAreReadAsTheyAreMeant(t *testing.T) {
	type row struct {
		Text  string
		N     int64
		Yes   bool
		Words []string
	}
	got := Of[row](`
		a b   -7  true   x y  // a remark

		"\n"  0   false  ""
	`)
	if want := []row{{"a b", -7, true, []string{"x", "y"}}, {"\n", 0, false, []string{}}}; !reflect.DeepEqual(got,
		want) {
		t.Errorf("got %+v", got)
	}
}
