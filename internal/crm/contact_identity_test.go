package crm

import (
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm/doc"
	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

var erasing = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// What names a person is found in rows of files and in filters, and what names another one is not.
func TestAnIdentityIsFoundInTexts(t *testing.T) {
	i := Identity{First: []string{"Anne Marie"}, Last: []string{"O'Brien", "Lee"}, Emails: []string{"ann@lee.org"},
		Phones: []string{"16175550177"}}
	among := PeopleOf([]Identity{{First: []string{"Zoe"}, Last: []string{"Quist"}}, i, {Emails: []string{"z@q.org"}}})
	for _, test := range rows.Of[struct {
		Texts string
		Want  bool
	}](`
		x|Ann@LEE.org      true
		Ann <ann@lee.org>  true
		joann@lee.org      false
		(617) 555-0177     true
		+1 617 555 0177    true
		617 555 0178       false
		0177               false
		ANNE-MARIE|OBrien  true
		Lee, Anne Marie    true
		Anne|Lee           false
		Anne Marie|Leeds   false
		""                 false
	`) {
		by := SaidBy(strings.Split(test.Texts, "|")...)
		assert.Equal(t, i.IsNamed(by), test.Want, "%q", test.Texts)
		assert.Equal(t, among.Any(by, func(one *Identity) bool { return one.IsNamed(by) }), test.Want,
			"%q among others", test.Texts)
	}
	if data := `{"reason":"no","cells":["a"],"object":"{\"email\":\"ann@lee.org\"}"}`; !i.IsNamed(SaidIn(data)) {
		t.Error("the object in a text is not looked at")
	}
	if !i.IsNamed(SaidInQuery("q=anne+marie+lee&scope=active")) || i.IsNamed(SaidInQuery("q=lee")) {
		t.Error("a query is read wrongly")
	}
	var none Identity
	if none.IsNamed(SaidBy("", "Ann")) {
		t.Error("no one is found")
	}
	d, err := doc.ParseDifferences(`{"last_name":["Older","Lee"],"emails":{"at":0,"out":[{"type":null,"value":"Old@lee.org"}]}}`)
	if i.Learn(d); err != nil || !i.IsNamed(SaidBy("anne marie older")) || !i.IsNamed(SaidBy("old@lee.org")) {
		t.Errorf("%v: what was learned is not found: %+v", err, i)
	}
}

// What one shares with an erased person is about oneself, too.
func TestAnIdentityIsNamedBeyondWhatIsShared(t *testing.T) {
	i := Identity{First: []string{"Ann"}, Last: []string{"Lee", "Old"}, Emails: []string{"ann@lee.org", "we@lee.org"},
		Phones: []string{"16175550177"}}
	for _, test := range rows.Of[struct {
		Others, By string
		Want       bool
	}](`
		{"first_name":"Bob","last_name":"Lee","emails":[{"value":"We@lee.org"}]}  {"first_name":"Bob","last_name":"Lee","emails":[{"value":"we@lee.org"}]}  false
		{"first_name":"Bob","last_name":"Lee"}  {"first_name":"Bob","last_name":"Lee","emails":[{"value":"we@lee.org"}]}  true
		{"first_name":"Bob","last_name":"Lee","emails":[{"value":"we@lee.org"}]}  {"first_name":"Ann","last_name":"Lee","emails":[{"value":"we@lee.org"}]}  true
		{"first_name":"Ann","last_name":"Lee"}  {"first_name":"Ann","last_name":"Lee"}  false
		{"first_name":"Ann","last_name":"Lee"}  {"first_name":"Ann","last_name":"Old"}  true
		{"emails":[{"value":"we@lee.org"}],"phones":["617 555 0177"]}  ["we@lee.org","+1 617 555 0177"]        false
		{"emails":[{"value":"we@lee.org"}]}     ["we@lee.org","+1 617 555 0177"]        true
		{}                                      {"last_name":"Lee"}                     false
	`) {
		others, by := SaidIn(test.Others), SaidIn(test.By)
		assert.Equal(t, i.IsNamedBeyond(others, by), test.Want, "%s beyond %s", test.By, test.Others)
	}
}

// Anyone may be called "Erased contact".
func TestANameDoesNotMakeAContactErased(t *testing.T) {
	c := Contact{ID: 1, FirstName: "Erased", LastName: "contact", CreatedAt: erasing, UpdatedAt: erasing}
	archived := c.Archive(erasing)
	for _, test := range []struct {
		c    Contact
		want bool
	}{{c, false}, {archived, false}, {c.Erase(erasing), true}} {
		read, err := ParseContact(1, test.c.AppendBody(nil), nil)
		if err != nil || read.Erased() != test.want || test.c.Erased() != test.want {
			t.Errorf("%v: erased is %v, want %v: %s", err, read.Erased(), test.want, test.c.AppendBody(nil))
		}
	}
}
