package duplicate

import (
	"math"
	"strings"
)

// The fields that are compared.
const (
	first = iota
	last
	birth
	email
	phone
	place
	middle
	suffix
	fields
)

// level is how far two records agree in a field: in how many of 1,000 pairs it is so where both are about one person, about two people of one household, and
// about strangers. Where chance is 0, it is how common the value is that they share.
type level struct {
	words              string
	same, home, chance float64
}

// Levels of each field, the closest one first. Pair.levels counts from 1; 0 is a field that one of both does not have.
var levels = [fields][]level{
	first: {
		{"same first name", 770, 10, 0},
		{"short form of the first name", 70, 2, 0},
		{"first names differ by a letter", 60, 3, 0},
		{"first name is an initial", 40, 5, 5},
		{"similar first names", 25, 8, 8},
		{"first and last name swapped", 10, 0.1, 0.01},
		{"other first name", 25, 972, 983},
	},
	last: {
		{"same last name", 860, 780, 0},
		{"last names differ by a letter", 50, 10, 0},
		{"a part of the last name is the same", 20, 25, 1},
		{"similar last names", 15, 10, 8},
		{"first and last name swapped", 10, 10, 1000},
		{"other last name", 45, 175, 990},
	},
	birth: {
		{"same date of birth", 880, 4, 0},
		{"dates of birth differ by a digit", 70, 4, 1},
		{"day and month of birth swapped", 10, 0.5, 0.05},
		{"two of three parts of the date of birth agree", 20, 10, 4},
		{"same year of birth", 5, 30, 15},
		{"other date of birth", 15, 952, 980},
	},
	email: {
		{"same email", 700, 150, 0},
		{"emails differ by a letter", 50, 3, 0.02},
		{"same name in another email", 50, 10, 0.1},
		{"other email", 200, 837, 1000},
	},
	phone: {
		{"same phone", 650, 500, 0},
		{"phones differ by a digit", 40, 5, 0.01},
		{"same phone without its area", 10, 5, 0.01},
		{"other phone", 300, 490, 1000},
	},
	place: {
		{"same address", 520, 800, 0},
		{"same street and number", 20, 30, 0},
		{"similar address", 50, 40, 0.05},
		{"same street", 20, 20, 0.3},
		{"same number and ZIP code", 30, 30, 0.2},
		{"same ZIP code", 60, 25, 3},
		{"same city", 60, 20, 10},
		{"other address", 240, 35, 987},
	},
	middle: {
		{"same middle name", 600, 30, 10},
		{"same middle initial", 360, 90, 80},
		{"other middle name", 40, 880, 910},
	},
	suffix: {
		{"same suffix", 900, 100, 300},
		{"suffix on one of them", 400, 500, 500},
		{"other suffix", 10, 400, 300},
	},
}

// Pair is how two records compare.
type Pair struct {
	levels [fields]uint8
	rarity [fields]uint8 // of the value that they share, as a power of 1/2
}

// Rarity tells how common values are in an account.
type Rarity interface {
	Share(field int, value string) float64
}

// bits is how rare a value is: 10 for one in 1,024.
func bits(share float64) uint8 { return uint8(min(40, max(1, math.Round(-math.Log2(share))))) }

// Compare compares two records field by field.
func Compare(a, b *Record, rare Rarity) (p Pair) {
	var other string
	set := func(field int, level uint8, value string) {
		p.levels[field] = level
		if level > 0 && levels[field][level-1].chance == 0 {
			share := rare.Share(field, value)
			if level > 1 && field < birth {
				share = 1.5 * max(share, rare.Share(field, other))
			}
			p.rarity[field] = bits(share)
		}
	}
	l, v := compareFirst(a.First, b.First), a.First
	other = b.First
	set(first, l, v)
	l = compareLast(a.Last, b.Last)
	other = b.Last
	set(last, l, a.Last)
	if p.levels[first] == 7 && p.levels[last] == 6 && near(a.First, b.Last) && near(a.Last, b.First) {
		p.levels[first], p.levels[last] = 6, 5
		p.rarity[first], p.rarity[last] = 0, 0
	}
	set(birth, compareBirth(a, b), "")
	if p.levels[birth] == 1 {
		p.rarity[birth] = 15
	}
	l, v = compareEmails(a, b)
	set(email, l, v)
	l, v = comparePhones(a.Phones, b.Phones)
	set(phone, l, v)
	l, v = comparePlaces(a.Places, b.Places)
	set(place, l, v)
	set(middle, compareMiddle(a, b), "")
	if a.Suffix != "" || b.Suffix != "" {
		switch {
		case a.Suffix == b.Suffix:
			p.levels[suffix] = 1
		case a.Suffix == "" || b.Suffix == "":
			p.levels[suffix] = 2
		default:
			p.levels[suffix] = 3
		}
	}
	return p
}

func near(a, b string) bool { return a != "" && b != "" && (a == b || len(a) > 3 && isOneEdit(a, b)) }

func compareFirst(a, b string) uint8 {
	switch {
	case a == "" || b == "":
		return 0
	case a == b:
		return 1
	case len(a) == 1 || len(b) == 1:
		if a[0] == b[0] {
			return 4
		}
		return 7
	case isShortFor(a, b):
		return 2
	case isOneEdit(a, b) && min(len(a), len(b)) > 2:
		return 3
	case shareFull(a, b), similarity(a, b) >= 0.85, len(a) > 2 && strings.HasPrefix(b, a), len(b) > 2 && strings.HasPrefix(a, b):
		return 5
	}
	return 7
}

func compareLast(a, b string) uint8 {
	if a == "" || b == "" {
		return 0
	}
	if a == b {
		return 1
	}
	ja, jb := strings.ReplaceAll(a, " ", ""), strings.ReplaceAll(b, " ", "")
	switch {
	case ja == jb:
		return 1
	case isOneEdit(ja, jb) && min(len(a), len(b)) > 2:
		return 2
	case sharesWord(a, b):
		return 3
	case similarity(ja, jb) >= 0.88:
		return 4
	}
	return 6
}

// sharesWord tells whether two texts have a word of some length in common.
func sharesWord(a, b string) bool {
	if !strings.Contains(a, " ") && !strings.Contains(b, " ") {
		return false
	}
	for word := range strings.SplitSeq(a, " ") {
		if len(word) > 2 {
			for other := range strings.SplitSeq(b, " ") {
				if word == other {
					return true
				}
			}
		}
	}
	return false
}

func compareBirth(a, b *Record) uint8 {
	if a.Year == 0 || b.Year == 0 {
		return 0
	}
	same := 0
	for _, eq := range []bool{a.Year == b.Year, a.Month == b.Month, a.Day == b.Day} {
		if eq {
			same++
		}
	}
	digits := digitsApart(a.Year, b.Year) + digitsApart(a.Month, b.Month) + digitsApart(a.Day, b.Day)
	switch {
	case same == 3:
		return 1
	case digits == 1:
		return 2
	case a.Year == b.Year && a.Month == b.Day && a.Day == b.Month:
		return 3
	case same == 2:
		return 4
	case a.Year == b.Year:
		return 5
	}
	return 6
}

func digitsApart(a, b int) (n int) {
	for a > 0 || b > 0 {
		if a%10 != b%10 {
			n++
		}
		a, b = a/10, b/10
	}
	return n
}

func compareEmails(a, b *Record) (best uint8, value string) {
	for _, x := range a.Emails {
		for _, y := range b.Emails {
			l := uint8(4)
			lx, dx, _ := strings.Cut(x, "@")
			ly, dy, _ := strings.Cut(y, "@")
			switch {
			case x == y:
				return 1, x
			case dx == dy && isOneEdit(lx, ly) && len(lx) > 4, lx == ly && isOneEdit(dx, dy):
				l = 2
			case lx == ly && isRole(lx):
			case lx == ly && ofName(lx, a) && ofName(ly, b):
				l = 0
			case lx == ly && len(lx) > 3:
				l = 3
			}
			if best == 0 || l != 0 && l < best {
				best = l
			}
		}
	}
	return best, ""
}

// roles are mailboxes that belong to an office and not to a person.
var roles = []string{"info", "office", "admin", "contact", "mail", "hello", "donations", "sales", "support", "team", "accounting", "finance", "webmaster", "noreply", "me", "email", "home", "family"}

func isRole(local string) bool {
	for _, role := range roles {
		if local == role {
			return true
		}
	}
	return false
}

// ofName tells whether a mailbox is made of the person's own name: that two have it says no more than that they have the name.
func ofName(local string, r *Record) bool {
	return len(r.Last) > 2 && strings.Contains(local, strings.ReplaceAll(r.Last, " ", "")) || len(r.First) > 2 && strings.Contains(local, r.First)
}

func comparePhones(as, bs []string) (best uint8, value string) {
	for _, x := range as {
		for _, y := range bs {
			l := uint8(4)
			switch {
			case x == y:
				return 1, x
			case len(x) == len(y) && isOneEdit(x, y):
				l = 2
			case len(x) > 7 && len(y) > 7 && x[len(x)-7:] == y[len(y)-7:]:
				l = 3
			}
			if best == 0 || l < best {
				best = l
			}
		}
	}
	return best, ""
}

func comparePlaces(as, bs []Place) (best uint8, value string) {
	for i := range as {
		for j := range bs {
			if l := comparePlace(&as[i], &bs[j]); l != 0 && (best == 0 || l < best) {
				best, value = l, as[i].Number+" "+as[i].Street+" "+as[i].Zip
			}
		}
	}
	return best, value
}

func comparePlace(a, b *Place) uint8 {
	zip := a.Zip != "" && a.Zip == b.Zip
	city := a.City != "" && (a.City == b.City || similarity(a.City, b.City) > 0.9)
	number := a.Number != "" && a.Number == b.Number
	nearNumber := number || a.Number != "" && b.Number != "" && len(a.Number) == len(b.Number) && len(a.Number) > 1 && isOneEdit(a.Number, b.Number)
	street, nearStreet := false, false
	if a.Street != "" && b.Street != "" {
		street = a.Street == b.Street
		nearStreet = street || similarity(a.Street, b.Street) >= 0.88 || strings.HasPrefix(a.Street, b.Street) || strings.HasPrefix(b.Street, a.Street)
	}
	noNumbers := a.Number == "" && b.Number == "" && street
	nearZip := zip || len(a.Zip) == len(b.Zip) && a.Zip != "" && isOneEdit(a.Zip, b.Zip)
	switch {
	case (number || noNumbers) && street && (zip || city):
		return 1
	case (number || noNumbers) && street:
		return 2
	case number && nearStreet && (nearZip || city), nearNumber && street && (nearZip || city):
		return 3
	case street && (nearZip || city), nearStreet && nearNumber:
		return 4
	case number && zip:
		return 5
	case zip:
		return 6
	case city:
		return 7
	case (a.Zip == "" || b.Zip == "") && (a.City == "" || b.City == "") && (a.Street == "" || b.Street == ""):
		return 0
	}
	return 8
}

func compareMiddle(a, b *Record) uint8 {
	switch {
	case a.Middle == "" || b.Middle == "":
		return 0
	case a.Middle == b.Middle && len(a.Middle) > 1:
		return 1
	case a.Middle[0] == b.Middle[0]:
		return 2
	}
	return 3
}
