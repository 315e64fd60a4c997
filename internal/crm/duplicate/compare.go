package duplicate

import (
	"math"
	"slices"
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

// compare compares two records field by field. worth is false where neither the first nor the last names agree, and
// where one is a company: no one looks at such a pair, unless it has the same date of birth at the same address.
func compare(a, b *Record, counts *counts) (p pair, worth bool) {
	c := comparison{a: a, b: b, counts: counts}
	c.names()
	born := a.Year > 0 && a.Year == b.Year && a.Month == b.Month && a.Day == b.Day
	if a.Company != b.Company || !born && !c.byName() {
		return pair{levels: c.levels}, false
	}
	p = c.others()
	return p, c.byName() || within(p.levels[place], similarPlace)
}

// byName tells whether the names leave a chance.
func (c *comparison) byName() bool {
	return c.levels[first] != unknown && c.levels[first] != otherFirst || c.levels[initial] == same ||
		c.levels[last] != unknown && c.levels[last] != otherLast
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
	a, b := c.a, c.b
	if a.First != b.First && a.Last != b.Last && a.First != "" && b.First != "" && a.Last != "" && b.Last != "" &&
		(isSwapped(a, b) || isSwapped(b, a)) {
		c.agree(first, swappedFirst, 2*c.either(last, joined(a.Last), joined(b.Last))*c.either(first, a.First, b.First))
		c.levels[last] = swappedLast
		return
	}
	c.firstNames()
	c.lastNames()
}

// isSwapped tells whether the first name of a is the last name of b, and the last name of a may be the first name of b.
func isSwapped(a, b *Record) bool {
	last := joined(b.Last)
	if !isNear(a.First, last) && !isNear(a.First+a.Middle, last) {
		return false
	}
	name := joined(a.Last)
	return isNear(name, b.First) || isShortFor(name, b.First) || isShortFor(b.First, name) || a.First == last &&
		(crm.IsInitial(name, b.First) || crm.IsInitial(b.First, name))
}

func joined(name string) string { return strings.ReplaceAll(name, " ", "") }

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
	case isRelated(a, b):
		c.agree(first, spelledFirst, 2*c.either(first, a, b))
	case len(a) > 2 && len(b) > 2 && (isOneEdit(a, b) || isMisread(a, b)) && !areNames(a, b):
		c.agree(first, typoFirst, neighbors(a, b)*c.either(first, a, b))
	case c.a.Middle != "" && isNear(c.a.Middle, b) || c.b.Middle != "" && isNear(a, c.b.Middle):
		c.levels[first] = middleFirst
	case isOneEdit(a, b), !areNames(a, b) && (isLike(a, b) || isLike(b, a) || similarity(a, b) >= 0.85):
		c.levels[first] = relatedFirst
	case c.mailsOther():
		c.levels[first] = mailFirst
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
	ja, jb := joined(a), joined(b)
	part := sharedWord(a, b)
	switch {
	case ja == jb:
		c.agree(last, same, c.either(last, a, b))
	case len(ja) > 2 && len(jb) > 2 && (isOneEdit(ja, jb) || isMisread(ja, jb)):
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

// mailsOther tells whether an email that only one of them has is made of the other's first name.
func (c *comparison) mailsOther() bool {
	shared := slices.ContainsFunc(c.a.Emails, func(email string) bool { return slices.Contains(c.b.Emails, email) })
	return !shared && (mails(c.a, c.b.First) || mails(c.b, c.a.First))
}

// mails tells whether an email of a record has a name in it: people keep their emails when they marry.
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
