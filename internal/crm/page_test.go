package crm

import (
	"fmt"
	"strings"
	"testing"

	"donorbook/internal/crm/crmtest"
	"donorbook/internal/crm/doc"
	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

func TestParsePage(t *testing.T) {
	const page, most, size = "The page field must be an integer of at least 1.",
		"The page field must be an integer from 1 to 9007199254740991.",
		"The per_page field must be an integer from 1 to 100."
	for _, test := range rows.Of[struct{ Page, PerPage, Want string }](`
		-                 -     {1 20}
		1                 1     {1 1}
		7                 100   {7 100}
		9007199254740991  -     {9007199254740991 20}
		-                 101   size
		-                 1000  size
		0                 -     page
		0                 101   page size
		9007199254740992  -     most
		9223372036854775808   -  most
		99999999999999999999  -  most
	`) {
		checkPage(t, test.Page, test.PerPage,
			strings.NewReplacer("page", page, "most", most, "size", size).Replace(test.Want))
	}
	for _, value := range rows.All(`
		""  0  -1  01  +1  1.0  1e1  " 1"  "1 "  x  null  0x1  ١  1_0  -9223372036854775808
	`) {
		checkPage(t, value, "-", page)
		checkPage(t, "-", value, size)
	}
	v := &doc.Invalid{}
	ParsePage(new("0"), new("101"), v)
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
		assert.Equal(t, []int64{p.Skip(), p.LastPage(test.Total)}, []int64{test.Skip, test.Last}, "%+v", test)
	}
}

func TestPageNumbers(t *testing.T) {
	for _, test := range rows.Of[struct {
		Page, Last int64
		Want       string // 0 where some are left out
	}](`
		1     1    [1]
		5     1    [1]  // past the end
		1     2    [1 2]
		13    13   [1 2 3 4 5 6 7 8 9 10 11 12 13]
		1     14   [1 2 3 4 5 6 7 8 9 10 0 13 14]
		7     14   [1 2 3 4 5 6 7 8 9 10 0 13 14]
		8     14   [1 2 0 5 6 7 8 9 10 11 12 13 14]
		14    14   [1 2 0 5 6 7 8 9 10 11 12 13 14]
		8     15   [1 2 0 5 6 7 8 9 10 11 0 14 15]
		9     15   [1 2 0 6 7 8 9 10 11 12 13 14 15]
		50    100  [1 2 0 47 48 49 50 51 52 53 0 99 100]
		93    100  [1 2 0 90 91 92 93 94 95 96 0 99 100]
		94    100  [1 2 0 91 92 93 94 95 96 97 98 99 100]
		1000  100  [1 2 0 91 92 93 94 95 96 97 98 99 100]  // past the end
	`) {
		assert.Equal(t, fmt.Sprint(PageNumbers(test.Page, test.Last)), test.Want, "page %d of %d", test.Page, test.Last)
	}
}

func TestParseContactScope(t *testing.T) {
	for value, want := range map[string]ContactScope{"": Active, "null": Active, "active": Active, "archived": Archived,
		"all": All} {
		assert.Equal(t, assert.Must(ParseContactScope(value))(t), want, "%q", value)
	}
	for _, value := range rows.All(`Active  NULL  deleted  active,archived  " "`) {
		_, err := ParseContactScope(value)
		crmtest.WantFaults(t, value, err, "The scope field must be one of active, archived, all.")
	}
}

// checkPage checks what becomes of a page and its size, "-" for none.
func checkPage(t *testing.T, page, perPage, want string) {
	t.Helper()
	sent := func(text string) *string {
		if text == "-" {
			return nil
		}
		return &text
	}
	v := &doc.Invalid{}
	got := ParsePage(sent(page), sent(perPage), v)
	if v.Err() == nil {
		assert.Equal(t, fmt.Sprint(got), want, "%s, %s", page, perPage)
		return
	}
	crmtest.WantFaults(t, page+", "+perPage, v.Err(), want)
}
