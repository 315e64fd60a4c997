package duplicate

import (
	"math"
	"strings"

	"donorbook/internal/crm"
)

// pair is how two records compare.
type pair struct {
	levels [fields]uint8
	rarity uint8 // of the values that they share, all in all: the number of half bits, 20 for one in 1,024
}

// comparison is a pair that is being compared.
type comparison struct {
	a, b   *Record
	counts *counts
	levels [fields]uint8
	bits   float64
}

// compare compares two records field by field. worth is false where neither the first nor the last names agree, and where one is a company: no one looks at such
// a pair.
func compare(a, b *Record, counts *counts) (p pair, worth bool) {
	c := comparison{a: a, b: b, counts: counts}
	if c.names(); !c.isWorth() {
		return p, false
	}
	return c.others(), true
}

// isWorth tells whether the names leave a chance.
func (c *comparison) isWorth() bool {
	byFirst := c.levels[first] != unknown && c.levels[first] != otherFirst || c.levels[initial] == same
	return c.a.Company == c.b.Company && (byFirst || c.levels[last] != unknown && c.levels[last] != otherLast)
}

// others compares all but the names.
func (c *comparison) others() pair {
	c.births()
	c.emails()
	c.phones()
	c.places()
	c.middles()
	c.suffixes()
	return pair{c.levels, uint8(min(255, max(0, math.Round(2*c.bits))))}
}

// agree notes a level that counts by how rare a value is.
func (c *comparison) agree(field int, level uint8, share float64) {
	c.levels[field] = level
	c.bits -= math.Log2(min(share, 0.5))
}

// either is how common the more common one of two values is.
func (c *comparison) either(field int, a, b string) float64 {
	return max(c.counts.share(field, a), c.counts.share(field, b))
}

// neighbors is how many other names are one letter from one, in terms of its own frequency: short ones have more.
func neighbors(a, b string) float64 {
	if min(len(a), len(b)) < 5 {
		return 6
	}
	return 2
}

func (c *comparison) names() {
	if c.areSwapped() {
		c.levels[first], c.levels[last] = swappedFirst, swappedLast
		return
	}
	c.firstNames()
	c.lastNames()
}

// areSwapped tells whether the last name of each is the first name of the other.
func (c *comparison) areSwapped() bool {
	a, b := c.a, c.b
	if a.First == "" || a.Last == "" || b.First == "" || b.Last == "" || a.First == b.First || a.Last == b.Last {
		return false
	}
	return isNear(a.First, b.Last) && isNear(a.Last, b.First)
}

func isNear(a, b string) bool {
	return a == b || len(a) > 2 && len(b) > 2 && (isOneEdit(a, b) || similarity(a, b) >= 0.88)
}

func (c *comparison) firstNames() {
	a, b := c.a.First, c.b.First
	switch {
	case a == "" || b == "":
	case a == b:
		c.agree(first, same, c.counts.share(first, a))
	case isInitial(a) || isInitial(b):
		c.initials()
	case strings.Contains(a, "&") != strings.Contains(b, "&"):
		c.levels[first] = otherFirst
	case a+c.a.Middle == b+c.b.Middle, a+c.a.Middle == b, a == b+c.b.Middle: // Mary Ann and Maryann
		c.agree(first, same, c.either(first, a, b))
	case isShortFor(a, b) || isShortFor(b, a):
		c.agree(first, shortFirst, 1.5*c.either(first, a, b))
	case len(a) > 2 && len(b) > 2 && isOneEdit(a, b):
		c.agree(first, typoFirst, neighbors(a, b)*c.either(first, a, b))
	case c.a.Middle != "" && isNear(c.a.Middle, b) || c.b.Middle != "" && isNear(a, c.b.Middle):
		c.levels[first] = middleFirst
	case isRelated(a, b), similarity(a, b) >= 0.85:
		c.levels[first] = relatedFirst
	default:
		c.levels[first] = otherFirst
	}
}

// isInitial tells whether a first name is no more than its first letter.
func isInitial(name string) bool { return crm.IsInitial(name, name) }

func (c *comparison) initials() {
	a, b := c.a.First, c.b.First
	switch {
	case crm.IsInitial(a, b), crm.IsInitial(b, a):
		c.agree(initial, same, 0.07)
	case c.a.Middle != "" && c.a.Middle == b || c.b.Middle != "" && c.b.Middle == a: // J. Robert
		c.levels[first] = middleFirst
	default:
		c.levels[initial] = otherInitial
	}
}

func (c *comparison) lastNames() {
	a, b := c.a.Last, c.b.Last
	if a == "" || b == "" {
		return
	}
	if a == b {
		c.agree(last, same, c.counts.share(last, a))
		return
	}
	ja, jb := strings.ReplaceAll(a, " ", ""), strings.ReplaceAll(b, " ", "")
	part := sharedWord(a, b)
	switch {
	case ja == jb:
		c.agree(last, same, c.either(last, a, b))
	case len(ja) > 2 && len(jb) > 2 && isOneEdit(ja, jb):
		c.agree(last, typoLast, neighbors(a, b)*c.either(last, a, b))
	case part != "":
		c.agree(last, partLast, 3*c.counts.share(last, part))
	case similarity(ja, jb) >= 0.88:
		c.levels[last] = similarLast
	case mails(c.a, jb) || mails(c.b, ja):
		c.levels[last] = mailLast
	default:
		c.levels[last] = otherLast
	}
}

// sharedWord is a word of some length that two double names have in common, also with a typing error.
func sharedWord(a, b string) string {
	if !strings.Contains(a, " ") && !strings.Contains(b, " ") {
		return ""
	}
	for word := range strings.SplitSeq(a, " ") {
		for other := range strings.SplitSeq(b, " ") {
			if len(word) > 2 && (word == other || len(word) > 4 && isOneEdit(word, other)) {
				return word
			}
		}
	}
	return ""
}

// mails tells whether an email of a record has a last name in it: people keep their emails when they marry.
func mails(r *Record, name string) bool {
	for _, email := range r.Emails {
		local, _, _ := strings.Cut(email, "@")
		if len(name) > 3 && strings.Contains(local, name) {
			return true
		}
	}
	return false
}

func (c *comparison) middles() {
	a, b := c.a.Middle, c.b.Middle
	switch {
	case a == "" || b == "" || c.levels[first] == middleFirst:
	case len(a) > 1 && len(b) > 1:
		c.levels[middle] = otherMiddle
		if a == b || isNear(a, b) || isShortFor(a, b) || isShortFor(b, a) {
			c.levels[middle] = same
		}
	case a[0] == b[0]:
		c.levels[middle] = initialMiddle
	default:
		c.levels[middle] = otherMiddle
	}
}

func (c *comparison) suffixes() {
	switch a, b := c.a.Suffix, c.b.Suffix; {
	case a == "" && b == "":
	case a == b:
		c.levels[suffix] = same
	case a == "" || b == "":
		c.levels[suffix] = oneSuffix
	default:
		c.levels[suffix] = otherSuffix
	}
}
