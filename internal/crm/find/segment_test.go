package find

import (
	"strings"
	"testing"
)

func TestSegments(t *testing.T) {
	made, err := NewSegment("  Lapsed donors ", "zip=021&page=3&tag=a&tag=b&utm=x&scope=all&sort=-last_gift", "US")
	if err != nil || made.Name != "Lapsed donors" || made.Query != "scope=all&sort=-last_gift&tag=a&tag=b&zip=021" {
		t.Errorf("%+v, %v", made, err)
	}
	if !made.IsCalled("LAPSED donors") || made.IsCalled("lapsed") {
		t.Error("names differ in more than letter case")
	}
	for _, test := range [][3]string{
		{"", "tag=a", "The name field is required."}, {strings.Repeat("é", 101), "tag=a", "The name field must not be longer than 100 characters."}, {"A", "page=2", "The query field must have a filter."},
		{"A", "has=fax", "The has field must be one of email, phone."}, {"A", "q=" + strings.Repeat("a", 4000), "The query field must not be longer than 4000 characters."},
	} {
		if _, err := NewSegment(test[0], test[1], "US"); err == nil || err.Error() != test[2] {
			t.Errorf("%q: %v", test[0], err)
		}
	}
}
