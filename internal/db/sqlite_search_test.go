package db

import (
	"fmt"
	"strings"
	"testing"
)

// FTS5 returns the documents of a word one by one, but for a prefix it collects all documents first. So the words with the prefix
// are looked up individually, unless there are very many, or each is in one document only: then there is little to collect.
func TestABeginningIsLookedUpByItsWords(t *testing.T) {
	t.Parallel()
	o := testOptions(Options{Dir: t.TempDir()})
	makeDatabase(t, o)
	tamper(t, o, func(x *Tx) error {
		for i := range int64(300) {
			x.Insert(testWords, int64(1), i+1, fmt.Sprintf("1~newsletter 1~report%d 1~rare%d 2~newspaper", i%2, i))
		}
		return nil
	})
	d, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close() //nolint:errcheck // it was only read
	for _, test := range []struct {
		word   Word
		spaces []string
		want   string
		found  int64
	}{
		{Word{Text: "newsletter"}, []string{"1~"}, `"1~newsletter"`, 300},
		{Word{Text: "news", Prefix: true, Shared: true}, []string{"1~"}, `"1~newsletter"`, 300},
		{Word{Text: "news", Prefix: true, Shared: true}, []string{"1~", "2~"}, `"1~newsletter") OR ("2~newspaper"`, 300},
		{Word{Text: "report", Prefix: true, Shared: true}, []string{"1~"}, `"1~report0" OR "1~report1"`, 300},
		{Word{Text: "report1", Prefix: true, Shared: true}, []string{"1~"}, `"1~report1"`, 150},
		{Word{Text: "rare", Prefix: true, Shared: true}, []string{"1~"}, `"1~rare"*`, 300},
		{Word{Text: "rare19", Prefix: true, Shared: true}, []string{"1~"}, `"1~rare19" OR "1~rare190" OR "1~rare191" OR "1~rare192" OR "1~rare193" OR "1~rare194" OR ` +
			`"1~rare195" OR "1~rare196" OR "1~rare197" OR "1~rare198" OR "1~rare199"`, 11},
		{Word{Text: "rare19", Prefix: true}, []string{"1~"}, `"1~rare19"*`, 11},
		{Word{Text: "n", Prefix: true, Shared: true, Start: "newsletter"}, []string{"1~"}, `"1~newsletter"`, 300},
		{Word{Text: "nobody", Prefix: true, Shared: true}, []string{"1~"}, `"1~nobody"*`, 0},
	} {
		q := Query{Account: 1, Spaces: test.spaces, Terms: [][][]Word{{{test.word}}}}
		err := d.View(t.Context(), func(c Conn) error {
			got, err := c.expression(testWords, q)
			if err != nil {
				return err
			}
			r, err := c.Search(testWords, q, Place{}, 50, 1000)
			if got = strings.Trim(got, "()"); got != test.want || r.Total != test.found {
				t.Errorf("%+v is asked for as %s, want %s; %d found, want %d", test.word, got, test.want, r.Total, test.found)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A query looks up a limited number of words one by one, no matter how many prefixes it has.
func TestAQueryLooksUpFewWords(t *testing.T) {
	t.Parallel()
	o := testOptions(Options{Dir: t.TempDir()})
	makeDatabase(t, o)
	tamper(t, o, func(x *Tx) error {
		for i := range int64(maxKnown / 2) {
			x.Insert(testWords, int64(1), i+1, fmt.Sprintf("1~a%d 1~b%d 1~c%d", i, i, i))
		}
		return nil
	})
	d, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close() //nolint:errcheck // it was only read
	var q Query
	q.Account, q.Spaces = 1, []string{"1~"}
	for _, text := range []string{"a", "b", "c"} {
		q.Terms = append(q.Terms, [][]Word{{{Text: text, Prefix: true, Shared: true}}})
	}
	err = d.View(t.Context(), func(c Conn) error {
		expression, err := c.expression(testWords, q)
		if n := strings.Count(expression, `"1~`); err == nil && (n != maxKnown+1 || !strings.Contains(expression, `"1~c"*`)) {
			t.Errorf("%d words are looked up: %s", n, expression)
		}
		r, err := c.Search(testWords, q, Place{}, 50, 1000)
		if r.Total != maxKnown/2 {
			t.Errorf("%d found", r.Total)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
