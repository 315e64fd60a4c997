package crmtest

import (
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// HouseholdColumns are the columns of Households, as linked sets of other people have them.
const HouseholdColumns = "rec_id,cluster_id,first_name,middle_name,last_name,email,phone,address_1,city,state,zipcode,country,dob,company"

// HouseholdRow is a row of Households. Two rows are about one person exactly when their second cells are equal.
type HouseholdRow [14]string

// Households are made-up contacts of so many people who live together: spouses, children, some of them with the name of
// a parent, with shared landlines and emails. About every fourth person is there more than once, with a short form, a
// typing error, another address or email, or much less. The same seed makes the same people.
func Households(seed uint64, people int) iter.Seq[HouseholdRow] {
	return func(yield func(HouseholdRow) bool) {
		r := &randomPeople{Rand: rand.New(rand.NewPCG(seed, 33))}
		for n, row := 0, 0; n < people; {
			for _, p := range r.household() {
				for copies := r.copies(); copies > 0; copies-- {
					cells := r.row(&p, copies > 1)
					cells[0], cells[1] = fmt.Sprint(row), fmt.Sprint(n)
					if row++; !yield(cells) {
						return
					}
				}
				n++
			}
		}
	}
}

var (
	givenNames = strings.Fields(`Thomas/Tom/Tommy William/Bill/Will Robert/Bob/Rob James/Jim/Jimmy Michael/Mike John/Jack Richard/Rick/Dick Joseph/Joe Charles/Chuck/Charlie Christopher/Chris
Daniel/Dan/Danny Matthew/Matt Anthony/Tony Steven/Steve Andrew/Andy/Drew Joshua/Josh Kenneth/Ken Edward/Ed/Ted Timothy/Tim Ronald/Ron Gregory/Greg Samuel/Sam Benjamin/Ben Nicholas/Nick Lawrence/Larry
Brian Kevin Jason Mark Paul George Eric Ryan Scott Justin Carlos Juan Ahmed Wei Diego Kofi Lars Hiroshi Omar Marcus Dean Craig Bruce Trevor Felix Oscar
Elizabeth/Liz/Beth/Betty Margaret/Peggy/Maggie Katherine/Kate/Kathy Patricia/Pat/Patty Jennifer/Jen/Jenny Susan/Sue Deborah/Debbie/Deb Barbara/Barb Rebecca/Becky Christine/Chris Victoria/Vicky
Pamela/Pam Cynthia/Cindy Kimberly/Kim Jessica/Jess Samantha/Sam Theresa/Terry Dorothy/Dot Virginia/Ginny Abigail/Abby Judith/Judy Nancy Linda Sandra Ashley Donna Carol Michelle Laura Karen
Amanda Melissa Ruth Maria Ana Fatima Priya Mei Ingrid Noor Yuki Grace Helen Diane Alice Joyce Rosa Lucia Hannah Naomi Claire Vera`)
	familyNames = strings.Fields(`Smith Johnson Williams Brown Jones Garcia Miller Davis Rodriguez Martinez Hernandez Lopez Gonzalez Wilson Anderson Thomas Taylor Moore Jackson Martin Lee Perez
Thompson White Harris Sanchez Clark Ramirez Lewis Robinson Walker Young Allen King Wright Scott Torres Nguyen Hill Flores Green Adams Nelson Baker Hall Rivera Campbell Mitchell Carter Roberts`)
	streetNames = strings.Fields(`Oak Maple Cedar Elm Washington Lake Hill Park Pine Walnut Spring North Ridge Church Willow Mill Sunset Jefferson River Highland Meadow Forest Lincoln Chestnut`)
	streetKinds = strings.Fields(`Street/St Avenue/Ave Road/Rd Drive/Dr Lane/Ln Court/Ct`)
	providers   = strings.Fields(`gmail.com yahoo.com hotmail.com outlook.com aol.com icloud.com`)
)

type randomPeople struct {
	*rand.Rand
	mailboxes int // made so far: no two people have the same
}

// person is someone who lives somewhere.
type person struct {
	first             []string // and the short forms
	middle, last, was string
	suffix, dob       string
	email, cell       string
	home              home
}

type home struct{ number, street, kind, city, zip, landline, email string }

func (r *randomPeople) chance(percent int) bool { return r.IntN(100) < percent }

func (r *randomPeople) pick(list []string) string { return list[r.IntN(len(list))] }

func (r *randomPeople) copies() (n int) {
	for n = 1; n < 4 && r.chance(25); n++ {
	}
	return n
}

// family is a last name: some are common, and most are rare.
func (r *randomPeople) family() string {
	if r.chance(35) {
		return r.pick(familyNames)
	}
	return syllables(int(math.Exp(r.Float64() * math.Log(200_000))))
}

// syllables are a name for a number, so that none needs a list.
func syllables(n int) string {
	const parts = "bar con del fen gor hal kir lan mor nus pel ros sto tan vik wel zim bro cas der"
	name := ""
	for n += 20; n > 0; n /= 20 {
		name += parts[n%20*4 : n%20*4+3]
	}
	return strings.ToUpper(name[:1]) + name[1:]
}

func (r *randomPeople) phone() string {
	return fmt.Sprintf("(%d) %d-%04d", 201+r.IntN(700), 220+r.IntN(700), r.IntN(10_000))
}

func (r *randomPeople) home() home {
	city := int(math.Exp(r.Float64() * math.Log(3000)))
	return home{fmt.Sprint(1 + r.IntN(9000)), r.pick(streetNames) + []string{"",
		" " + syllables(r.IntN(400))}[r.IntN(2)], r.pick(streetKinds), syllables(city),
		fmt.Sprintf("%05d", 10_000+city*20+r.IntN(20)), r.phone(), ""}
}

func (r *randomPeople) household() (all []person) {
	at, last := r.home(), r.family()
	size := 1 + r.IntN(4)
	for i := range size {
		p := person{first: r.given(all), middle: string(rune('A' + r.IntN(26))), last: last, home: at, cell: r.phone()}
		year := 1940 + r.IntN(35)
		switch {
		case i == 1 && r.chance(50): // a spouse, or two friends
			p.was = r.family()
			if r.chance(20) {
				p.last = p.was
			}
		case i > 1:
			if year += 28; r.IntN(200) == 0 {
				p.first, p.suffix = all[0].first, "Jr."
			}
		}
		p.dob = fmt.Sprintf("%d-%02d-%02d", year, 1+r.IntN(12), 1+r.IntN(28))
		p.email = r.mailbox(&p)
		all = append(all, p)
	}
	for i := range all {
		if all[i].home.email = all[0].email; i > 0 && r.chance(15) {
			all[i].email = all[0].email
		}
	}
	return all
}

// given is a first name that no one at home has.
func (r *randomPeople) given(home []person) []string {
	for {
		name := strings.Split(r.pick(givenNames), "/")
		if !slices.ContainsFunc(home, func(p person) bool { return p.first[0] == name[0] }) {
			return name
		}
	}
}

// mailbox is a new email. Most are made of the name, and all have a number, because those without were gone.
func (r *randomPeople) mailbox(p *person) string {
	first, last := strings.ToLower(p.first[0]), strings.ToLower(p.last)
	r.mailboxes++
	local := [...]string{first + "." + last, first[:1] + last, first + last,
		strings.ToLower(syllables(r.IntN(8000)))}[r.IntN(4)]
	return fmt.Sprintf("%s%d@%s", local, r.mailboxes, r.pick(providers))
}

// row is a contact for a person. One that is there again may differ.
func (r *randomPeople) row(p *person, again bool) (row HouseholdRow) {
	q := *p
	first := q.first[0]
	if again {
		first = r.change(&q)
	}
	known := func(percent int, value string) string {
		if r.chance(percent) {
			return value
		}
		return ""
	}
	phone := q.cell
	if r.chance(35) {
		phone = q.home.landline
	}
	row[2], row[3], row[4] = first, known(30, q.middle), strings.TrimSpace(q.last+" "+known(60, q.suffix))
	row[5], row[6], row[12] = known(70, q.email), known(62, phone), known(40, q.dob)
	if kinds := strings.Split(q.home.kind, "/"); r.chance(80) {
		row[7], row[8], row[10], row[11] = q.home.number+" "+q.home.street+" "+r.pick(kinds), q.home.city, q.home.zip,
			"USA"
	}
	return row
}

// change changes some of a person, as time and typing do.
func (r *randomPeople) change(p *person) (first string) {
	first = p.first[0]
	switch n := r.IntN(100); {
	case n < 18:
		first = r.pick(p.first)
	case n < 24:
		first = r.typo(first)
	case n < 28:
		first = first[:1] + "."
	case n < 29:
		first, p.last = p.last, first
	}
	switch n := r.IntN(100); {
	case n < 6:
		p.last = r.typo(p.last)
	case n < 9 && p.was != "":
		p.last = p.was
	case n < 11 && p.was != "":
		p.last = p.was + "-" + p.last
	}
	if r.chance(15) {
		landline := p.home.landline
		p.home = r.home()
		p.home.landline = landline
	}
	if r.chance(20) {
		p.email = r.mailbox(p)
	}
	if r.chance(15) {
		p.cell = r.phone()
	}
	return first
}

// typo makes a typing error: two letters exchanged, or one dropped, doubled or mistaken.
func (r *randomPeople) typo(name string) string {
	if len(name) < 4 {
		return name
	}
	at := 1 + r.IntN(len(name)-2)
	switch r.IntN(4) {
	case 0:
		return name[:at] + name[at+1:at+2] + name[at:at+1] + name[at+2:]
	case 1:
		return name[:at] + name[at+1:]
	case 2:
		return name[:at] + name[at:at+1] + name[at:]
	}
	return name[:at] + string(rune('a'+r.IntN(26))) + name[at+1:]
}
