package duplicate

import (
	"fmt"
	"slices"
	"strings"
)

func (c *comparison) births() {
	a, b := c.a, c.b
	if a.Year == 0 || b.Year == 0 {
		return
	}
	equal := 0
	for _, eq := range [...]bool{a.Year == b.Year, a.Month == b.Month, a.Day == b.Day} {
		if eq {
			equal++
		}
	}
	switch {
	case equal == 3:
		const some = 1.0 / 25_000 // of all days on which a person may be born
		c.agree(birth, same, max(some, c.counts.share(birth, a.born())))
	case digitsApart(a.Year, b.Year)+digitsApart(a.Month, b.Month)+digitsApart(a.Day, b.Day) == 1:
		c.levels[birth] = digitBirth
	case a.Year == b.Year && a.Month == b.Day && a.Day == b.Month:
		c.levels[birth] = turnedBirth
	case equal == 2:
		c.levels[birth] = twoBirth
	case a.Year == b.Year:
		c.levels[birth] = yearBirth
	default:
		c.levels[birth] = otherBirth
	}
}

// born is the date of birth, "" for none.
func (r *Record) born() string {
	if r.Year == 0 {
		return ""
	}
	return fmt.Sprint(r.Year, r.Month, r.Day)
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

func (c *comparison) emails() {
	best, value := uint8(unknown), ""
	for _, x := range c.a.Emails {
		for _, y := range c.b.Emails {
			if level := c.mailboxes(x, y); closer(level, best) {
				best, value = level, x
			}
		}
	}
	if c.levels[email] = best; best == same {
		c.agree(email, same, c.counts.share(email, value))
	}
}

// closer tells whether a level is known and beats another one.
func closer(level, than uint8) bool { return level != unknown && (than == unknown || level < than) }

// mailboxes compares two emails. A mailbox that is made of the person's own name says no more than the name where it is
// not the same one: others of the name have it at other providers, or with another number.
func (c *comparison) mailboxes(x, y string) uint8 {
	lx, dx, _ := strings.Cut(x, "@")
	ly, dy, _ := strings.Cut(y, "@")
	switch {
	case x == y && isRole(lx):
		return roleEmail
	case x == y:
		return same
	case withoutDigits(lx) == withoutDigits(ly) && isOfName(lx, c.a) && isOfName(ly, c.b):
		return unknown
	case dx == dy && len(lx) > 4 && isOneEdit(lx, ly), lx == ly && isOneEdit(dx, dy):
		return typoEmail
	case lx == ly && len(lx) > 3 && !isRole(lx):
		return localEmail
	}
	return otherEmail
}

// roles are mailboxes that belong to an office and not to a person.
var roles = []string{"info", "office", "admin", "contact", "mail", "hello", "donations", "sales", "support", "team",
	"accounting", "finance", "webmaster", "noreply", "me", "email", "home", "family", "giving", "development", "events",
	"reception", "secretary", "treasurer", "billing", "accounts", "hr", "marketing", "pastor", "church", "service",
	"kontakt", "buero"}

func isRole(local string) bool { return slices.Contains(roles, local) }

func isOfName(local string, r *Record) bool {
	return len(r.Last) > 2 && strings.Contains(local, strings.ReplaceAll(r.Last, " ", "")) || len(r.First) > 2 &&
		strings.Contains(local, r.First)
}

func withoutDigits(local string) string { return strings.TrimRight(local, "0123456789") }

func (c *comparison) phones() {
	best, value := uint8(unknown), ""
	for _, x := range c.a.Phones {
		for _, y := range c.b.Phones {
			if level := numbers(x, y); closer(level, best) {
				best, value = level, x
			}
		}
	}
	if c.levels[phone] = best; best == same {
		c.agree(phone, same, c.counts.share(phone, value))
	}
}

// numbers compares two phones. Behind one switchboard, two extensions are two phones; one that has no extension may be
// either.
func numbers(x, y string) uint8 {
	const local = 7 // digits of a number without its area
	x, extension, _ := strings.Cut(x, extensionSign)
	y, other, _ := strings.Cut(y, extensionSign)
	switch {
	case x == y && extension == other:
		return same
	case x == y && (extension == "" || other == ""):
		return unknown
	case extension != other:
		return otherPhone
	case len(x) == len(y) && isOneEdit(x, y):
		return digitPhone
	case len(x) > local && len(y) > local && x[len(x)-local:] == y[len(y)-local:]:
		return tailPhone
	}
	return otherPhone
}

func (c *comparison) places() {
	best := uint8(unknown)
	var at *Place
	for i := range c.a.Places {
		for j := range c.b.Places {
			if level := places(&c.a.Places[i], &c.b.Places[j]); closer(level, best) {
				best, at = level, &c.a.Places[i]
			}
		}
	}
	if c.levels[place] = best; best == same || best == streetPlace || best == buildingPlace {
		c.agree(place, best, c.counts.share(place, at.key()))
	}
}

func places(a, b *Place) uint8 {
	zip := a.Zip != "" && a.Zip == b.Zip
	city := a.City != "" && (a.City == b.City || similarity(a.City, b.City) > 0.9)
	number := a.Number == b.Number && (a.Number != "" || a.Street == b.Street)
	nearNumber := number || a.Number == "" || b.Number == "" || len(a.Number) == len(b.Number) && len(a.Number) > 1 &&
		isOneEdit(a.Number, b.Number)
	street := a.Street != "" && a.Street == b.Street
	nearStreet := street || nearStreets(a.Street, b.Street)
	nearby := city || zip || a.Zip != "" && len(a.Zip) == len(b.Zip) && isOneEdit(a.Zip, b.Zip)
	switch {
	case a.Country != b.Country && a.Country != "" && b.Country != "":
		return otherPlace
	case number && nearStreet && nearby && a.Unit != "" && b.Unit != "" && a.Unit != b.Unit:
		return buildingPlace
	case number && street && (zip || city):
		return same
	case number && street:
		return streetPlace
	case number && nearStreet && nearby, nearNumber && street && nearby:
		return similarPlace
	case nearStreet && (nearby || number):
		return roadPlace
	case number && zip && a.Number != "":
		return numberPlace
	case zip:
		return zipPlace
	case city:
		return cityPlace
	case (a.Zip == "" || b.Zip == "") && (a.City == "" || b.City == "") && (a.Street == "" || b.Street == ""):
		return unknown
	}
	return otherPlace
}

func nearStreets(a, b string) bool {
	return a != "" && b != "" && (strings.HasPrefix(a, b) || strings.HasPrefix(b, a) || similarity(a, b) >= 0.88)
}
