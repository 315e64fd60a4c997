package crm

import (
	"strconv"
	"strings"
	"testing"

	"donorbook/internal/crm/crmtest"
	"donorbook/internal/crm/doc"
	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

func TestParsePage(t *testing.T) {
	text := func(s string) *string { return &s }
	for _, test := range []struct {
		page, perPage *string
		want          PageRequest
	}{
		{nil, nil, PageRequest{1, 20}},
		{text("1"), text("1"), PageRequest{1, 1}},
		{text("7"), text("100"), PageRequest{7, 100}},
		{text("9007199254740991"), nil, PageRequest{9007199254740991, 20}},
	} {
		v := &doc.Invalid{}
		if got := ParsePage(test.page, test.perPage, v); got != test.want || v.Err() != nil {
			t.Errorf("got %v, %v, want %v", got, v.Err(), test.want)
		}
	}
	bad := rows.All(`
		""  0  -1  01  +1  1.0  1e1  " 1"  "1 "  x  null  0x1  ١  1_0  9007199254740992  9223372036854775808
		99999999999999999999  -9223372036854775808
	`)
	for _, value := range bad {
		v := &doc.Invalid{}
		ParsePage(&value, nil, v)
		want := "The page field must be an integer of at least 1."
		if len(value) > 15 && value[0] == '9' {
			want = "The page field must be an integer from 1 to 9007199254740991."
		}
		crmtest.WantFaults(t, value, v.Err(), want)
	}
	for _, value := range append(bad, "101", "1000") {
		v := &doc.Invalid{}
		ParsePage(nil, &value, v)
		crmtest.WantFaults(t, value, v.Err(), "The per_page field must be an integer from 1 to 100.")
	}
	v := &doc.Invalid{}
	ParsePage(text("0"), text("101"), v)
	assert.Equal(t, v.Error(), "The page field must be an integer of at least 1. (and 1 more error)", "got %v", v)
}

func TestSkipAndLastPage(t *testing.T) {
	for _, test := range rows.Of[struct{ Page, PerPage, Total, Skip, Last int64 }](`
		1                 20   0          0                   1
		1                 20   1          0                   1
		1                 20   20         0                   1
		2                 20   21         20                  2
		3                 7    14         14                  2
		3                 7    15         14                  3
		5                 1    10         4                   10
		1                 100  999999999  0                   10000000
		9007199254740991  100  5          900719925474099000  1
	`) {
		p := PageRequest{test.Page, test.PerPage}
		if p.Skip() != test.Skip || p.LastPage(test.Total) != test.Last {
			t.Errorf("%v of %d: skip %d, last page %d", p, test.Total, p.Skip(), p.LastPage(test.Total))
		}
	}
}

// shown writes page numbers as a person would see them.
func shown(numbers []int64) string {
	var words []string
	for _, n := range numbers {
		if n == 0 {
			words = append(words, "...")
		} else {
			words = append(words, strconv.FormatInt(n, 10))
		}
	}
	return strings.Join(words, " ")
}

func TestPageNumbers(t *testing.T) {
	for _, test := range rows.Of[struct {
		Page, Last int64
		Want       string
	}](`
		1     1    1
		5     1    1  // past the end
		1     2    1 2
		13    13   1 2 3 4 5 6 7 8 9 10 11 12 13
		1     14   1 2 3 4 5 6 7 8 9 10 ... 13 14
		7     14   1 2 3 4 5 6 7 8 9 10 ... 13 14
		8     14   1 2 ... 5 6 7 8 9 10 11 12 13 14
		14    14   1 2 ... 5 6 7 8 9 10 11 12 13 14
		8     15   1 2 ... 5 6 7 8 9 10 11 ... 14 15
		9     15   1 2 ... 6 7 8 9 10 11 12 13 14 15
		50    100  1 2 ... 47 48 49 50 51 52 53 ... 99 100
		93    100  1 2 ... 90 91 92 93 94 95 96 ... 99 100
		94    100  1 2 ... 91 92 93 94 95 96 97 98 99 100
		1000  100  1 2 ... 91 92 93 94 95 96 97 98 99 100  // past the end
	`) {
		assert.Equal(t, shown(PageNumbers(test.Page, test.Last)), test.Want, "page %d of %d", test.Page, test.Last)
	}
}

func TestParseContactScope(t *testing.T) {
	for value, want := range map[string]ContactScope{"": Active, "null": Active, "active": Active, "archived": Archived, "all": All} {
		if got, err := ParseContactScope(value); got != want || err != nil {
			t.Errorf("%q: got %v, %v", value, got, err)
		}
	}
	for _, value := range rows.All(`Active  NULL  deleted  active,archived  " "`) {
		_, err := ParseContactScope(value)
		crmtest.WantFaults(t, value, err, "The scope field must be one of active, archived, all.")
	}
}
