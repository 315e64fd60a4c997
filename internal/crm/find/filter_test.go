package find

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"donorbook/internal/crm"
	"donorbook/internal/crm/crmtest"
	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/text"
	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

// filter reads one parameter that is sent with each of the values.
func filter(name string, values ...string) (Filter, error) {
	return ParseFilter(func(yield func(string, string) bool) {
		for _, value := range values {
			if !yield(name, value) {
				return
			}
		}
	}, "US")
}

// What no contact can have is not looked for, however long it is.
func TestAFilterThatNoContactCanPassFindsNone(t *testing.T) {
	for name, value := range map[string]string{
		"tag": strings.Repeat("x", 65), "first_name": strings.Repeat("!", 60_000),
		"last_name": strings.Repeat("é", doc.MaxText+1), "email": "none", "phone": "5",
	} {
		if f, err := filter(name, value); err != nil || !f.None || len(f.Tags) > 0 || len(f.FirstName) > 4*doc.MaxText {
			t.Errorf("%s: %v, finds none: %t, %d bytes", name, err, f.None, len(f.FirstName))
		}
	}
}

func TestTooManyTagsAreOneFault(t *testing.T) {
	tags := make([]string, 5000)
	for i := range tags {
		tags[i] = fmt.Sprint(i)
	}
	f, err := filter("tag", tags...)
	assert.Equal(t, crmtest.Fields(err), []string{"tag"})
	assert.Equal(t, len(f.Tags), maxFilterTags+1)
	assert.Equal(t, len(assert.Must(filter("tag[0]", "a", "b"))(t).Tags), 2)
}

func TestFiltersOfContacts(t *testing.T) {
	at := func(day string) time.Time {
		moment, _, _ := text.ParseMoment(day)
		return moment
	}
	ann := crm.Contact{
		FirstName: "Ann", LastName: "Lee", Tags: []string{"vip", "board"}, Emails: []crm.Email{{Value: "ann@x.org"}},
		CreatedAt: at("2026-03-01"), UpdatedAt: at("2026-03-02"),
		Addresses: []crm.Address{{City: "San José", Zipcode: "95112-0001"}, {City: "Boston", Zipcode: "SW1A 1AA"}},
		Custom: []custom.Value{{Field: 3, Value: `"Café au lait"`}, {Field: 4, Value: "true"},
			{Field: 5, Value: "12.5"}},
	}
	gift := giving.Gift{Status: giving.Succeeded, Campaign: 7, Local: at("2026-05-05"),
		Entries: []giving.Entry{{Amount: 500}}}
	for query, want := range rows.Each[bool](`
		tag=vip&tag=board                             true
		tag=vip&tag=press                             false
		tag_any=press&tag_any=vip                     true
		tag_any=press                                 false
		tagAny=vip                                    true
		tag_none=press                                true
		tag_none=press&tag_none=vip                   false
		tag_none=                                     true
		tag_any[]=vip                                 true
		tag_none[0]=vip                               false
		city=san+jose                                 true
		city=San                                      false
		city=BOSTON                                   true
		city=bos                                      false
		city=%21                                      false
		zip=95112                                     true
		zip=951120001                                 true
		zip=95112-0001                                true
		zip=9511                                      true
		zip=5112                                      false
		zip=sw1a1                                     true
		zipcode=sw1a+1aa                              true
		zip=-                                         false
		field_3=CAFE+au+lait                          true
		field_3=cafe                                  false
		field_3=*                                     true
		field_4=true                                  true
		field_4=Yes                                   true
		field_4=no                                    false
		field_5=12.5                                  true
		field_6=*                                     false
		field_3=*&field_5=12                          false
		field_3=                                      true
		field_03=*                                    true  // which is no custom field
		has=email                                     true
		has=phone                                     false
		lacks=phone                                   true
		lacks=email                                   false
		has=email&lacks=phone                         true
		has=email&lacks=email                         false
		campaign_id=7                                 true
		campaign_id=8                                 false
		campaignId=7&gave_after=2026-05-05            true
		campaign_id=7&gave_after=2026-05-06           false
		gave_after=2026-05-05&gave_before=2026-05-06  true
		gave_before=2026-05-05                        false
		gave_after=2026-05-06                         false
		created_after=2026-03-01                      true
		updated_before=2026-03-02                     false
		city=boston&zip=95112&tag=vip&has=email       true
	`) {
		_, f, err := ParseQuery(query, "US")
		assert.Equal(t, err == nil && f.Matches(&ann, f.Gave.Has(&gift)), want, "%s passes", query)
	}
}

func TestAFilterWithoutAValueCountsAsAbsent(t *testing.T) {
	for query, empty := range rows.Each[bool](`
		city=                         true
		email=%20&phone=&tag=&q=      true
		field_3=                      true
		tag_any=                      true
		sortByDesc=                   true
		scope=&has=&company=          true
		city=&city=Rome               false
	`) {
		scope, f := assert.Must2(ParseQuery(query, "US"))(t)
		assert.Equal(t, scope, crm.Active, "%s", query)
		assert.Equal(t, f.IsEmpty(), empty, "%s: %+v", query, f)
	}
}

func TestWrongFiltersAreNamed(t *testing.T) {
	for query, says := range rows.Pairs(`
		field_3=a&field_3=b  The field_3 field must not be sent twice with different values.
		has=fax              The has field must be one of email, phone.
		lacks=Email          The lacks field must be one of email, phone.
		gave_after=soon      The gave_after field must be a date such as 2026-01-31, or a time such as 2026-01-31T09:08:07+00:00.
		plan_status=gone     The plan_status field must be one of active, paused, past_due, ended.
		campaign_id=gala     The campaign_id field must be an id, which is a whole number.
		city=a&city=b        The city field must not be sent twice with different values.
		sort=city            The sort field must be one of id, created_at, updated_at, last_name, total_contributions, last_gift, with a - in front for descending order.
		scope=gone           The scope field must be one of active, archived, all.
		q=%zz                The query field must be the query part of a link.
	`) {
		_, _, err := ParseQuery(query, "US")
		assert.Says(t, err, says, "%s", query)
	}
}

func TestContactsAreSortedByWhatTheyGave(t *testing.T) {
	day := time.Date(1950, 1, 1, 0, 0, 0, 0, time.UTC)
	all := []crm.Contact{{ID: 1, Given: 50, LastGift: day}, {ID: 3}, {ID: 2, Given: 5, LastGift: day.AddDate(1, 0, 0)}}
	for sort, want := range rows.Pairs(`
		total_contributions  [3 2 1]
		-totalContributions  [1 2 3]
		last_gift            [3 1 2]
		-lastGift            [2 1 3]
	`) {
		by, people, ids := assert.Must(filter("sort", sort))(t).Sort, slices.Clone(all), []int64(nil)
		slices.SortFunc(people, func(a, b crm.Contact) int { return by.Compare(&a, &b) })
		for _, c := range people {
			ids = append(ids, c.ID)
		}
		assert.Equal(t, fmt.Sprint(ids), want, "%s", sort)
	}
}

// What words answer is one search, so that the database hands out only the contacts that meet all of it.
func TestWordsOfAFilterAreOneSearch(t *testing.T) {
	for query, want := range rows.Each[int](`
		tag=vip                                              0
		city=Boston&zip=021&field_3=blue                     0
		zip=0210                                             1
		q=ana+ruiz&city=Boston&zip=02101&field_3=2026-01-31  4
	`) {
		_, f := assert.Must2(ParseQuery(query, "US"))(t)
		if s := f.WordSearch(); len(s.Terms) != want || s.IsEmpty() != (want == 0) {
			t.Errorf("%s: %d terms, want %d", query, len(s.Terms), want)
		}
	}
}

// A value or a name that is longer than a word is found as well, whatever is in it.
func TestLongValuesAreFound(t *testing.T) {
	long := strings.TrimSpace(strings.Repeat("a b ", 100))
	name := strings.Repeat("Ana ", 60) + "B"
	c := crm.Contact{FirstName: name, LastName: "Lee", Custom: []custom.Value{{Field: 1, Value: `"` + long + `"`}}}
	words := SearchWords(&c)
	for _, f := range []Filter{{Custom: []FieldFilter{filterField(1, long)}}, {FirstName: name}} {
		if !f.Matches(&c, false) || !f.WordSearch().Finds(words) {
			t.Errorf("%+v does not find the contact", f)
		}
	}
	other := Filter{FirstName: name + "B"}
	if other.Matches(&c, false) || !other.LongFirstName() {
		t.Error("another long name needs a look at the documents")
	}
}

func TestCommonWords(t *testing.T) {
	c := crm.Contact{
		Addresses: []crm.Address{{City: "New York", Zipcode: "10001-2345"}, {City: "  new YORK", Zipcode: "1"},
			{Line1: "Nowhere"}},
		Custom: []custom.Value{{Field: 1, Value: `"Größe L"`}, {Field: 2, Value: "true"}, {Field: 3, Value: "2019"},
			{Field: 4, Value: "20191"}, {Field: 5, Value: `"2019-01-31"`},
			{Field: 6, Value: `"` + strings.Repeat("long ", 9) + `"`}, {Field: 7, Value: `"Box 12"`}},
	}
	want := rows.All(`
		".cnew\uf820york"  .f1  ".f1=grosse\uf820l"  .f2  .f2=yes  .f3  .f3=2019  .f4  .f5  .f6  .f7  .z1  .z100
	`)
	assert.Same(t, want, CommonWords(&c))
	words := strings.Join(SearchWords(&c), " ")
	for _, other := range rows.All(`.f4=20191  .f5=2019-01-31  ".f7=box\uf82012"  .z100012345`) {
		assert.Contains(t, words, other, "the search words")
	}
	for word, want := range rows.Pairs(`
		".cnew\uf820york"  city new york
		.z100              ZIP code 100
		.f2=yes            custom field 2=yes
		t:.f               ""
	`) {
		assert.Equal(t, TellCommonWord(word), want, "%q", word)
	}
}

// Every contact that a filter of a city, a ZIP code or a custom field lets through has the words that it is found by,
// and no other has.
func TestFiltersAndWordsAgree(t *testing.T) {
	text := rapid.SampledFrom([]string{"", "1", "12", "123", "1234", "12345", "123-45", "é1", "éé", "ééé", "Yes", "No",
		"a b", "a", "Ä", "true", "north east", "2019-01-31", strings.Repeat("ab ", 20)})
	rapid.Check(t, func(t *rapid.T) {
		c, query := crm.Contact{}, url.Values{}
		for range rapid.IntRange(0, 2).Draw(t, "addresses") {
			c.Addresses = append(c.Addresses, crm.Address{City: text.Draw(t, "city"), Zipcode: text.Draw(t, "zip")})
		}
		if value := text.Draw(t, "value"); value != "" {
			c.Custom = []custom.Value{{Field: 1, Value: string(doc.AppendText(nil, value))}}
		}
		key := rapid.SampledFrom([]string{"city", "zip", "field_1"}).Draw(t, "key")
		query.Set(key, text.Draw(t, "asked"))
		_, f, err := ParseQuery(query.Encode(), "US")
		if err != nil || f.None || f.IsEmpty() {
			return
		}
		found, common := true, CommonWords(&c)
		for _, any := range f.CommonWords() {
			found = found && slices.ContainsFunc(any, func(word string) bool { return slices.Contains(common, word) })
		}
		if area, ok := f.ZipArea(); ok {
			found = found && slices.ContainsFunc(common, func(word string) bool {
				return strings.HasPrefix(word,
					area)
			})
		}
		if search := f.WordSearch(); !search.IsEmpty() {
			found = found && search.Finds(SearchWords(&c))
		}
		assert.Equal(t, found, f.Matches(&c, false), "%+v with %q and %q: found", f, common, SearchWords(&c))
	})
}

// Bounds that people name as days are days of the organization.
func TestWindowsOfDays(t *testing.T) {
	newYork := text.Location("America/New_York")
	days := window(t, "2026-11-16T00:00:00Z", "2026-11-17T00:00:00Z")
	for _, test := range []struct{ is, want Window }{
		{days.OfDays(newYork), window(t, "2026-11-16T05:00:00Z", "2026-11-17T05:00:00Z")},
		{days.ByClock(newYork), days},
		{window(t, "2026-11-17T04:37:00Z", "").ByClock(newYork), window(t, "2026-11-16T23:37:00Z", "")},
		{Window{}.OfDays(newYork), Window{}},
	} {
		assert.Equal(t, test.is.From.Equal(test.want.From) && test.is.To.Equal(test.want.To), true, "%+v", test)
	}
}

// window is one from a time to another, "" for none.
func window(t *testing.T, from, to string) Window {
	t.Helper()
	at := func(text string) (moment time.Time) {
		if text != "" {
			moment = assert.Must(time.Parse(time.RFC3339, text))(t)
		}
		return moment
	}
	return Window{From: at(from), To: at(to)}
}
