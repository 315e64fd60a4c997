package main

import (
	_ "embed"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
)

// region is the server's own default for phone numbers without +.
const region = "US"

// seed makes the same people on every machine.
const seed = 1

// The words are ASCII or not, as in a real list of donors: a line for each list. Tags are small ASCII letters, so that their searched
// form is their name.
//
//go:embed people.txt
var peopleText string

var (
	firstNames, lastNames, companies = people(0), people(1), people(2)
	titles, streets, causes          = people(3), people(4), people(5)

	cities = [][3]string{{"Boston", "MA", "02110"}, {"Austin", "TX", "78701"}, {"San José", "CA", "95112"}, {"Portland", "OR", "97205"},
		{"Minneapolis", "MN", "55401"}, {"Albuquerque", "NM", "87102"}}
)

func people(line int) []string { return strings.Split(strings.Split(peopleText, "\n")[line], "|") }

// peopleVersion is told apart where data is kept: it goes up whenever the same seed makes other people, or they are filled in in another way.
const peopleVersion = 7

// choices are the random choices for one person.
func choices(n int) *rand.Rand { return rand.New(rand.NewPCG(seed, uint64(n))) }

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

// personBody is the body of a create for person n. mark goes into the emails and the phone: people with different marks are
// different people.
func personBody(n int, mark string) (dst []byte) {
	r := choices(n)
	first, last, city := pick(r, firstNames), pick(r, lastNames), pick(r, cities)
	if rare(n) {
		last = rareName(n)
	}
	handle := handle(n, mark)
	tag := r.IntN(len(causes))
	dst = fmt.Appendf(dst, `{"first_name":"%s","middle_name":"%c.","last_name":"%s"`, first, 'A'+rune(r.IntN(26)), last)
	dst = fmt.Appendf(dst, `,"dob":"%02d/%02d/%d","company":"%s","title":"%s"`, 1+r.IntN(12), 1+r.IntN(28), 1930+r.IntN(75), pick(r, companies), pick(r, titles))
	dst = fmt.Appendf(dst, `,"linkedin_url":"https://www.linkedin.example/in/%s"`, handle)
	dst = fmt.Appendf(dst, `,"emails":[{"type":"personal","value":"%s@mail.example.org"},{"type":"work","value":"%s@work.example.com"}]`, handle, handle)
	dst = fmt.Appendf(dst, `,"phones":[{"type":"cell","value":"%s"}]`, phone(n, mark))
	dst = fmt.Appendf(dst, `,"addresses":[{"address_1":"%d %s","address_2":"Suite %d","city":"%s","state":"%s","zipcode":"%s","country":"USA"}]`,
		1+r.IntN(9999), pick(r, streets), 1+r.IntN(400), city[0], city[1], city[2])
	return fmt.Appendf(dst, `,"tags":["%s","%s","%s"]}`, causes[tag], causes[(tag+5)%len(causes)], causes[(tag+11)%len(causes)])
}

// rare people, one in ten, have a last name of their own; the others share both names with many.
func rare(n int) bool { return n%10 == 3 }

// rareName is a name of five syllables that no other of 1,889,568 people has.
func rareName(n int) string {
	const syllables = "babedidogufekalemihonurapesitovuzaje"
	var name []byte
	for range 5 {
		at := n % 18 * 2
		name = append(name, syllables[at:at+2]...)
		n /= 18
	}
	return strings.ToUpper(string(name[:1])) + string(name[1:])
}

// handle is what a person's emails begin with.
func handle(n int, mark string) string { return fmt.Sprintf("p%d%s", scattered(n), mark) }

// scattered makes numbers out of order of those in order, one of each. The emails and phone numbers of people who come one after
// the other have nothing to do with each other; were they in order, an index would have all new ones in one place.
func scattered(n int) int {
	const room = 10_000_000 // 7,654,321 has no factor in common with it
	return n/room*room + n%room*7_654_321%room
}

// phone is a number that no one else has, as people of the server's region write it: those with a mark have ten million of their own.
func phone(n int, mark string) string {
	digits := 2_000_000_000 + scattered(n)
	if mark != "" {
		digits += 10_000_000
	}
	return fmt.Sprintf("(%03d) %03d-%04d", digits/10_000_000, digits/10_000%1000, digits%10_000)
}

// newcomer is the mark of people whom requests create.
const newcomer = "x"

// input is the body of a create as the program reads it.
func input(body []byte) crm.ContactInput {
	in, faults, err := crm.DecodeContact(doc.NewBody(body))
	check(err)
	check(in.Validate(faults, true, region, time.Now()))
	return in
}

// archived is one person in 16.
func archived(n int) bool { return n%16 == 7 }
