package crm

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

func TestBestMatch(t *testing.T) {
	in := valid(t, `{"first_name":"Łucja","last_name":"O'Brien","emails":[{"value":"a@x.org"},{"value":"b@x.org"}],"phones":[{"value":"212-555-0100"}]}`)
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
		for range 5 { // in any order
			random.Shuffle(len(candidates), func(i, j int) { candidates[i], candidates[j] = candidates[j], candidates[i] })
			if best, found := closest(&in, candidates); best.ID != test.Want || found != (test.Want != 0) {
				t.Errorf("%s: got %d, %v, want %d", test.What, best.ID, found, test.Want)
			}
		}
	}
}

func TestANameThatWasNotSentMatchesNobody(t *testing.T) {
	in := valid(t, `{"first_name":"Ana","emails":[{"value":"a@x.org"}]}`)
	best, _ := closest(&in, []Contact{{ID: 2, FirstName: "Ana", MatchKeys: in.MatchKeys()}, {ID: 1, FirstName: "Bo", MatchKeys: in.MatchKeys()}})
	assert.Equal(t, best.ID, 1)
}

func TestMatchKeysAreNormalForms(t *testing.T) {
	in := valid(t, `{"emails":[{"value":"ÜNA@X.org"}],"phones":[{"value":"(212) 555-0100 ext. 5"},{"value":"+44 20 7946 0958"}]}`)
	want := []string{"e:üna@x.org", "p:+12125550100;ext=5", "p:+442079460958"}
	assert.Same(t, want, in.MatchKeys())
	assert.Equal(t, len((&ContactInput{}).MatchKeys()), 0, "an empty input has the keys")
}

func TestWithDerivedKeys(t *testing.T) {
	emails := []Email{{Value: "Ana@X.org"}, {Value: "ana@x.ORG"}, {Value: "b@x.org"}}
	for _, test := range rows.Of[struct {
		Name string
		Keys []string
	}](`
		right               e:ana@x.org e:b@x.org p:+12125550100
		none of the emails  p:+12125550100
		somebody else's     e:ana@x.org e:c@x.org p:+12125550100
	`) {
		c := Contact{Emails: emails, MatchKeys: test.Keys}.WithDerivedKeys()
		if want := []string{"e:ana@x.org", "e:b@x.org", "p:+12125550100"}; !slices.Equal(c.MatchKeys, want) {
			t.Errorf("%s: got %q, want %q", test.Name, c.MatchKeys, want)
		}
	}
	if c := (Contact{Emails: []Email{{Value: "no address"}}, MatchKeys: []string{"e:kept"}}).WithDerivedKeys(); !slices.Equal(c.MatchKeys, []string{"e:kept"}) {
		t.Errorf("an email of other rules: got %q", c.MatchKeys)
	}
}

// Two colleagues behind one switchboard are two people, and so is whoever has its number alone.
func TestAnExtensionTellsPeopleApart(t *testing.T) {
	with := func(phone string) []string {
		in := valid(t, `{"phones":[{"value":"`+phone+`"}]}`)
		return in.MatchKeys()
	}
	five := with("212-555-0100 x5")
	for _, other := range []string{"212-555-0100 x6", "212-555-0100", "212-555-0100 x55"} {
		if slices.Equal(with(other), five) {
			t.Errorf("%s has the key of extension 5: %q", other, five)
		}
	}
	for _, same := range []string{"(212) 555-0100 ext. 5", "+1 212 555 0100 #5", "1.212.555.0100 extension 5"} {
		if got := with(same); !slices.Equal(got, five) {
			t.Errorf("%s has the key %q, want %q", same, got, five)
		}
	}
	in := valid(t, `{"phones":["212-555-0100 x5","212-555-0100 x6","212 555 0100 ext 5","212-555-0100"]}`)
	assert.Equal(t, len(*in.Phones), 3, "of four phones, of which two are one (%v)", *in.Phones)
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
	lists := rapid.Map(rapid.SliceOfN(rapid.SampledFrom(rows.All(`""  a  b  c  d  e  ü`)), 0, 8), func(keys []string) []string {
		slices.Sort(keys)
		return slices.Compact(keys)
	})
	rapid.Check(t, func(t *rapid.T) {
		old, new := lists.Draw(t, "old"), lists.Draw(t, "new")
		gone, added := KeyChange(&Contact{MatchKeys: old}, &Contact{MatchKeys: new})
		left := slices.DeleteFunc(slices.Clone(old), func(key string) bool { return slices.Contains(gone, key) })
		if len(left) != len(old)-len(gone) || slices.ContainsFunc(added, func(key string) bool { return slices.Contains(old, key) }) {
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
	in := valid(t, `{"emails":[{"value":"new@x.org"},{"value":"M@X.org"}],"phones":[{"value":"(212) 555-0100"},{"value":"212-555-0199"}]}`)
	c := Contact{MatchKeys: []string{"e:m@x.org", "p:+12125550100"}}
	emails, phones := in.Shared(c)
	if !slices.Equal(emails, []string{"M@X.org"}) || !slices.Equal(phones, []string{"(212) 555-0100"}) {
		t.Errorf("shared are %q and %q", emails, phones)
	}
	if added := in.AddedKeys(c); !slices.Equal(added, []string{"e:new@x.org", "p:+12125550199"}) {
		t.Errorf("added are %q", added)
	}
}

func TestNumbersWithoutAnAreaCodeAreKeptAndMatchNobody(t *testing.T) {
	in := valid(t, `{"first_name":"A","last_name":"B","phones":[{"value":"555-0123"},{"value":"555-0123"},{"value":"(312) 555-0123"}]}`)
	if got, want := in.MatchKeys(), []string{"p:+13125550123"}; !slices.Equal(got, want) {
		t.Errorf("match keys %q, want %q", got, want)
	}
	c, err := NewContact(in, time.Now())
	if err != nil || len(c.Phones) != 2 || !slices.Equal(c.MatchKeys, in.MatchKeys()) {
		t.Fatalf("%+v %v", c, err)
	}
	again, err := c.Merge(in, time.Now())
	if err != nil || len(again.Phones) != 2 {
		t.Errorf("merged twice: %+v %v", again.Phones, err)
	}
	patched, err := c.Patch(valid(t, `{"phones":[{"value":"555-0123"}]}`), time.Now())
	if err != nil || len(patched.Phones) != 1 || len(patched.MatchKeys) != 0 {
		t.Errorf("patched: %+v %v", patched, err)
	}
}

// What a person adds to a contact that they have seen never renames it, and loses no note.
func TestAddKeepsTheNameAndTheNote(t *testing.T) {
	now := time.Now()
	typed := ContactInput{FirstName: new("Pete"), MiddleName: new("J"), LastName: new("Karter"), Title: new("Chair"), Note: new("Met at the gala.")}
	for _, test := range []struct{ c, want Contact }{
		{Contact{FirstName: "Peter", LastName: "Carter", Title: "Member", Note: "Prefers letters."}, Contact{FirstName: "Peter", MiddleName: "J", LastName: "Carter", Title: "Chair", Note: "Prefers letters.\n\nMet at the gala."}},
		{Contact{FirstName: "Peter"}, Contact{FirstName: "Peter", MiddleName: "J", LastName: "Karter", Title: "Chair", Note: "Met at the gala."}},
		{Contact{FirstName: "pete@example.org"}, Contact{FirstName: "Pete", MiddleName: "J", LastName: "Karter", Title: "Chair", Note: "Met at the gala."}},
		{Contact{IsCompany: true, Company: "Acme", Note: "Met at the gala."}, Contact{IsCompany: true, FirstName: "Pete", MiddleName: "J", LastName: "Karter", Company: "Acme", Title: "Chair", Note: "Met at the gala."}},
	} {
		got, err := test.c.Add(typed, now)
		if test.want.UpdatedAt = got.UpdatedAt; err != nil || string(got.AppendBody(nil)) != string(test.want.AppendBody(nil)) {
			t.Errorf("%s became %s, want %s, %v", test.c.AppendBody(nil), got.AppendBody(nil), test.want.AppendBody(nil), err)
		}
	}
}
