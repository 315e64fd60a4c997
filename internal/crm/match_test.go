package crm

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

func TestBestMatch(t *testing.T) {
	const emails = `"emails":[{"value":"a@x.org"},{"value":"b@x.org"}],"phones":[{"value":"212-555-0100"}]}`
	in, ana := valid(t, `{"first_name":"Łucja","last_name":"O'Brien",`+emails), valid(t, `{"first_name":"Ana",`+emails)
	keys := map[string]string{"email": "e:a@x.org", "second": "e:b@x.org", "phone": "p:+12125550100"}
	random := rand.New(rand.NewPCG(1, 2))
	for _, test := range rows.Of[struct {
		What       string
		Candidates []string // each an id, a name and what it shares
		Want       int64
	}](`
		nobody                                       ""                                                       0
		the only one                                 9/X/Y/phone                                              9
		an email beats a phone                       1/X/Y/phone 2/X/Y/email                                  2
		the second email too                         1/X/Y/phone 2/X/Y/second                                 2
		an email beats a phone with the name         1/Łucja/O'Brien/phone 2/X/Y/email                        2
		the same name among emails                   1/X/Y/email 2/Łucja/O'Brien/second                       2
		the same name among phones                   1/X/Y/phone 2/Łucja/O'Brien/phone                        2
		the name in other letters                    1/X/Y/email 2/LUCJA/o’brien/email                        2
		half a name is no name                       1/X/Y/email 2/Łucja/Y/email 3/X/O'Brien/email            1
		the lowest id                                3/X/Y/email 2/X/Y/second 4/X/Y/email/second              2
		the lowest id of the name                    1/X/Y/email 3/Łucja/O'Brien/email 2/Łucja/O'Brien/email  2
		email and phone are no better than an email  1/X/Y/email 2/X/Y/email/phone                            1
		a name that was not sent                     2/Ana//email 1/Bo//email                                 1
	`) {
		var candidates []Contact
		for _, text := range test.Candidates {
			p := strings.Split(text, "/")
			c := Contact{ID: int64(p[0][0] - '0'), FirstName: p[1], LastName: p[2]}
			for _, key := range p[3:] {
				c.MatchKeys = append(c.MatchKeys, keys[key])
			}
			candidates = append(candidates, c)
		}
		is := in
		if test.What == "a name that was not sent" {
			is = ana
		}
		for range 5 { // in any order
			random.Shuffle(len(candidates), func(i, j int) {
				candidates[i], candidates[j] = candidates[j],
					candidates[i]
			})
			best, found := closest(&is, candidates)
			assert.Equal(t, best.ID, test.Want, "%s", test.What)
			assert.Equal(t, found, test.Want != 0, "%s", test.What)
		}
	}
}

func TestMatchKeysAreNormalForms(t *testing.T) {
	in := valid(t, `{"emails":["ÜNA@X.org"],"phones":["(212) 555-0100 ext. 5","+44 20 7946 0958"]}`)
	assert.Same(t, []string{"e:üna@x.org", "p:+12125550100;ext=5", "p:+442079460958"}, in.MatchKeys())
	assert.Equal(t, (&ContactInput{}).MatchKeys(), nil, "an empty input")
}

// The keys of earlier releases had no extension.
func TestDerivedKeysHaveExtensions(t *testing.T) {
	for _, test := range rows.Of[struct {
		Phones     string
		Keys, Want []string
	}](`
		212-555-0100 x5             p:+12125550100                 p:+12125550100;ext=5
		212-555-0100 x5             p:+12125550100;ext=5           p:+12125550100;ext=5
		+1 212-555-0100 x5          p:+12125550100                 p:+12125550100;ext=5
		212-555-0100 x5|2125550100  p:+12125550100                 p:+12125550100 p:+12125550100;ext=5
		020 7946 0958 x6            p:+442079460958                p:+442079460958;ext=6  // from when the region was another one
		212-555-0100 x5             p:+12125550100 p:+13125550100  p:+12125550100;ext=5 p:+13125550100
		020 7946 0958               p:+442079460958                p:+442079460958
		555-0100 x5                 ""                             ""
	`) {
		var phones []Phone
		for value := range strings.SplitSeq(test.Phones, "|") {
			phones = append(phones, Phone{Value: value})
		}
		c := Contact{Phones: phones, MatchKeys: test.Keys}.WithDerivedKeys()
		if !slices.Equal(c.MatchKeys, test.Want) {
			t.Errorf("%s with %q: got %q, want %q", test.Phones, test.Keys, c.MatchKeys, test.Want)
		}
	}
}

func TestAChangeMovesTheKeysThatDiffer(t *testing.T) {
	lists := rapid.Map(rapid.SliceOfN(rapid.SampledFrom(rows.All(`""  a  b  c  d  e  ü`)), 0, 8),
		func(keys []string) []string {
			slices.Sort(keys)
			return slices.Compact(keys)
		})
	rapid.Check(t, func(t *rapid.T) {
		old, new := lists.Draw(t, "old"), lists.Draw(t, "new")
		gone, added := KeyChange(&Contact{MatchKeys: old}, &Contact{MatchKeys: new})
		left := slices.DeleteFunc(slices.Clone(old), func(key string) bool { return slices.Contains(gone, key) })
		if len(left) != len(old)-len(gone) || slices.ContainsFunc(added,
			func(key string) bool { return slices.Contains(old, key) }) {
			t.Fatalf("from %q to %q: gone %q, added %q", old, new, gone, added)
		}
		if left = append(left, added...); !slices.Equal(slices.Sorted(slices.Values(left)), new) {
			t.Fatalf("from %q to %q, and %q is left", old, new, left)
		}
	})
}

// closest is the candidate that the input matches best.
func closest(in *ContactInput, candidates []Contact) (best Contact, found bool) {
	for _, c := range candidates {
		if !found || in.Closer(c, best) {
			best, found = c, true
		}
	}
	return best, found
}

func TestAMatchIsMergedOrKeptAsWasDecided(t *testing.T) {
	match := &Contact{ID: 7, FirstName: "Marta", MatchKeys: []string{"e:m@x.org"}}
	twin := &Contact{ID: 8, FirstName: "Marta", MatchKeys: []string{"e:m@x.org"}}
	changed := &Contact{ID: 7, FirstName: "Martha", MatchKeys: []string{"e:m@x.org"}}
	modes := map[string]CreateMode{"dedupe": Dedupe, "force": Force, "merge seen": MergeSeen, "keep seen": KeepSeen}
	found := map[string]*Contact{"match": match, "twin": twin, "changed": changed}
	for _, test := range rows.Of[struct{ What, Mode, Match, Want string }](`
		a program merges                     dedupe      twin     merge
		a program forces                     force       twin     keep
		a program finds nobody               dedupe      nobody   keep
		merge into what was seen             merge seen  match    merge
		keep beside what was seen            keep seen   match    keep
		nobody is left to keep beside        keep seen   nobody   keep
		nobody is left to merge into         merge seen  nobody   refuse
		never merge into another             merge seen  twin     ask
		never merge into what it has become  merge seen  changed  ask
		another one to keep beside           keep seen   twin     ask
	`) {
		in := valid(t, `{"first_name":"Ana","emails":[{"value":"m@x.org"}]}`)
		in.SeenMatch = match.Snapshot()
		merge, err := in.MergesInto(found[test.Match], modes[test.Mode])
		got := map[bool]string{true: "merge", false: "keep"}[merge]
		if matched := new(Matched); errors.As(err, &matched) && matched.Contact.ID == found[test.Match].ID {
			got = "ask"
		} else if err != nil {
			got = map[bool]string{true: "refuse"}[err == ErrChanged]
		}
		assert.Equal(t, got, test.Want, "%s", test.What)
	}
}

func TestWhatIsSharedIsSaidAsItWasTyped(t *testing.T) {
	in := valid(t, `{"emails":["new@x.org","M@X.org"],"phones":["(212) 555-0100","212-555-0199"]}`)
	c := Contact{MatchKeys: []string{"e:m@x.org", "p:+12125550100"}}
	emails, phones := in.Shared(c)
	assert.Equal(t, emails, []string{"M@X.org"})
	assert.Equal(t, phones, []string{"(212) 555-0100"})
	assert.Equal(t, in.AddedKeys(c), []string{"e:new@x.org", "p:+12125550199"})
}

func TestNumbersWithoutAnAreaCodeAreKeptAndMatchNobody(t *testing.T) {
	in := valid(t, `{"first_name":"A","last_name":"B","phones":["555-0123","555-0123","(312) 555-0123"]}`)
	c := assert.Must(NewContact(in, noon))(t)
	again := assert.Must(c.Merge(in, noon))(t)
	for _, is := range []Contact{c, again} {
		assert.Equal(t, is.Phones, []Phone{{"", "555-0123"}, {"", "(312) 555-0123"}})
		assert.Equal(t, is.MatchKeys, []string{"p:+13125550123"})
	}
}

// What a person adds to a contact that they have seen never renames it, and loses no note.
func TestAddKeepsTheNameAndTheNote(t *testing.T) {
	typed := valid(t,
		`{"first_name":"Pete","middle_name":"J","last_name":"Karter","title":"Chair","note":"Met at the gala."}`)
	for had, has := range rows.Pairs(`
		{"first_name":"Peter","last_name":"Carter","title":"Member","note":"Prefers letters."}  {"first_name":"Peter","middle_name":"J","last_name":"Carter","title":"Chair","note":"Prefers letters.\n\nMet at the gala."}
		{"first_name":"Peter"}             {"first_name":"Peter","middle_name":"J","last_name":"Karter","title":"Chair","note":"Met at the gala."}
		{"first_name":"pete@example.org"}  {"first_name":"Pete","middle_name":"J","last_name":"Karter","title":"Chair","note":"Met at the gala."}
		{"type":"company","company":"Acme","note":"Met at the gala."}  {"type":"company","first_name":"Pete","middle_name":"J","last_name":"Karter","company":"Acme","title":"Chair","note":"Met at the gala."}
	`) {
		assert.Equal(t, bodyOf(assert.Must(made(t, had).Add(typed, noon))(t)), bodyOf(made(t, has)), "%s", had)
	}
}

// Keys are those of the emails and phones, whatever keys there were. The keys of earlier releases had no extension.
func TestDerivedKeys(t *testing.T) {
	const emails = "Ana@X.org|ana@x.ORG|b@x.org"
	for _, test := range rows.Of[struct {
		Values     string
		Keys, Want []string
	}](`
		EMAILS                      e:ana@x.org e:b@x.org p:+12125550100  e:ana@x.org e:b@x.org p:+12125550100
		EMAILS                      p:+12125550100                 e:ana@x.org e:b@x.org p:+12125550100
		EMAILS                      e:ana@x.org e:c@x.org p:+12125550100  e:ana@x.org e:b@x.org p:+12125550100
		no@address                  e:kept                         e:kept  // an email of other rules
		212-555-0100 x5             p:+12125550100                 p:+12125550100;ext=5
		212-555-0100 x5             p:+12125550100;ext=5           p:+12125550100;ext=5
		+1 212-555-0100 x5          p:+12125550100                 p:+12125550100;ext=5
		212-555-0100 x5|2125550100  p:+12125550100                 p:+12125550100 p:+12125550100;ext=5
		020 7946 0958 x6            p:+442079460958                p:+442079460958;ext=6  // from when the region was another one
		212-555-0100 x5             p:+12125550100 p:+13125550100  p:+12125550100;ext=5 p:+13125550100
		020 7946 0958               p:+442079460958                p:+442079460958
		555-0100 x5                 ""                             ""
	`) {
		c := Contact{MatchKeys: test.Keys}
		for value := range strings.SplitSeq(strings.Replace(test.Values, "EMAILS", emails, 1), "|") {
			if strings.Contains(value, "@") {
				c.Emails = append(c.Emails, Email{Value: value})
			} else {
				c.Phones = append(c.Phones, Phone{Value: value})
			}
		}
		assert.Equal(t, c.WithDerivedKeys().MatchKeys, test.Want, "%s with %q", test.Values, test.Keys)
	}
}
