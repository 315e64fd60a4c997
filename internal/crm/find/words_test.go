package find

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"donorbook/internal/crm"
	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/doc"
	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

// All clients' bodies are read at the same time, before they are queued for writing: the garbage that they leave costs
// CPU time for every request.
func TestReadingABodyLeavesLittleBehind(t *testing.T) {
	body := []byte(`{"first_name":"Ada","middle_name":"A.","last_name":"King","dob":"12/10/1915","company":"Analytical Engines","title":"Dr",
		"linkedin_url":"https://linkedin.com/in/ada","emails":[{"type":"personal","value":"ada@example.org"},{"type":"work","value":"ada@work.example"}],
		"phones":[{"type":"cell","value":"(212) 555-0100"}],"tags":["vip","board","gala"],
		"addresses":[{"address_1":"1 Main","address_2":"Apt 2","city":"New York","state":"NY","zipcode":"10001","country":"USA"}]}`)
	document := make([]byte, 0, 4096)
	got := testing.AllocsPerRun(1000, func() {
		in, faults, err := crm.DecodeContact(doc.NewBody(body))
		if err = errors.Join(err, in.Validate(faults, true, "US", noon)); err != nil {
			t.Fatal(err)
		}
		c := assert.Must(crm.NewContact(in, noon))(t)
		c.AppendBody(document)
		SearchWords(&c)
	})
	assert.Equal(t, got <= 88, true, "%v allocations to make a contact of a body, want at most 88", got)
}

func TestTextsOfCustomFieldsAreFound(t *testing.T) {
	c := crm.Contact{FirstName: "A", LastName: "B", Custom: []custom.Value{
		{Field: 1, Value: `"Blue \"Heron\""`}, {Field: 3, Value: "1234"}, {Field: 5, Value: "true"},
	}}
	assert.Equal(t, strings.Join(SearchWords(&c), " "), ".na a b blue heron") // the one with a dot is for filters alone
}

func TestSearchWords(t *testing.T) {
	c := made(t,
		`{"first_name":"Łucja","middle_name":"Maria maria","last_name":"O'Brien-Smith","company":"Ana & Co.","title":"Dr",
		"emails":[{"value":"B@x.org"}],"phones":[{"value":"212-555-0100"}],"tags":["Vip list"],
		"addresses":[{"address_1":"12 Harbor Street","city":"New York","state":"NY","zipcode":"10001-2345"}]}`)
	want := rows.All(`
		"#vip\uf820list"  +12125550100  -b@x.org  .h12-10001  .nlucja  .z100012345  10001  2345
		"=\uf856ip\uf820list"  @x.org  ana  co  list  lucja  maria  new  ny  obrien  smith  vip  york  ~00105552121
	`)
	assert.Same(t, want, SearchWords(&c))
}

func TestSearchWordsDependOnTheContactAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := someContact(t)
		have := SearchWords(&c)
		if !slices.IsSorted(have) || len(slices.Compact(slices.Clone(have))) != len(have) {
			t.Fatalf("not sorted, or not distinct: %q", have)
		}
		for _, word := range have {
			if word == "" || len(word) > maxWord || !utf8.ValidString(word) || strings.ContainsFunc(word, breaksWord) {
				t.Fatalf("%q is no word", word)
			}
		}
		read := assert.Must(crm.ParseContact(c.ID, c.AppendBody(nil), c.MatchKeys))(t)
		assert.Equal(t, SearchWords(&read), have, "after it was stored and read")
	})
}

// A contact that was changed in everything has the words of a new one.
func TestWordsForgetWhatAContactWasBefore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, in := someContact(t), someInput(t, true)
		patched := assert.Must(c.Patch(in, noon))(t)
		fresh := assert.Must(crm.NewContact(in, noon))(t)
		assert.Equal(t, SearchWords(&patched), SearchWords(&fresh),
			"the same contact has other words when it was something else before")
	})
}
