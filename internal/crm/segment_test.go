package crm

import (
	"strings"
	"testing"
)

func TestSegments(t *testing.T) {
	madeFind, err := NewSegment("  Lapsed donors ", "zip=021&page=3&tag=a&tag=b&utm=x&scope=all&sort=-last_gift", "US")
	if err != nil || madeFind.Name != "Lapsed donors" || madeFind.Query != "scope=all&sort=-last_gift&tag=a&tag=b&zip=021" {
		t.Errorf("%+v, %v", madeFind, err)
	}
	if !madeFind.IsCalled("LAPSED donors") || madeFind.IsCalled("lapsed") {
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
