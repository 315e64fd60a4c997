package duplicate

import (
	"slices"
	"strings"
)

// part is something that two records about one person may have in common.
type part uint8

const (
	fullEmail part = iota
	emailName
	fullPhone
	phoneEnd
	formalFirst
	firstStart
	firstLetter
	fullLast
	lastSound
	lastStart
	lastLetter
	bothNames  // in either order
	bothStarts // in either order
	birthDay
	birthYear
	yearMonth
	monthDay
	yearDay
	zipCode
	zipStart
	houseNumber
	streetWord
	cityName
	parts
)

// passes are what pairs worth a look have in common: all of the first parts, and where too many records have these,
// also all of the second ones.
var passes = [...]struct{ coarse, fine []part }{
	{[]part{fullEmail}, []part{formalFirst}},
	{[]part{fullPhone}, []part{formalFirst}},
	{[]part{birthDay}, []part{firstLetter, lastLetter}},
	{[]part{formalFirst, lastSound}, []part{zipStart, fullLast}},
	{[]part{houseNumber, zipCode}, []part{streetWord}},
	{[]part{houseNumber, streetWord}, []part{zipCode}},
	{[]part{zipCode, lastSound}, []part{firstLetter}},
	{[]part{zipCode, formalFirst}, []part{lastLetter}},
	{[]part{emailName}, []part{formalFirst, lastSound}},
	{[]part{phoneEnd}, []part{firstLetter}},
	{[]part{bothStarts}, []part{zipCode}},
	{[]part{bothNames}, []part{zipCode}},
	{[]part{formalFirst, yearMonth}, []part{lastSound}},
	{[]part{formalFirst, yearDay}, []part{lastSound}},
	{[]part{formalFirst, monthDay}, []part{lastSound}},
	{[]part{fullLast, monthDay}, []part{firstLetter}},
	{[]part{fullLast, yearMonth}, []part{firstLetter}},
	{[]part{firstLetter, lastLetter, birthYear}, []part{birthDay}},
	{[]part{cityName, lastSound}, []part{formalFirst}},
	{[]part{cityName, formalFirst}, []part{lastSound}},
	{[]part{streetWord, formalFirst}, []part{houseNumber}},
	{[]part{streetWord, lastSound}, []part{houseNumber}},
	{[]part{firstStart, lastStart}, []part{zipStart}},
	{[]part{fullLast, firstLetter}, []part{zipCode, formalFirst}},
	{[]part{firstLetter, lastSound}, []part{zipStart}},
}

// crowd is how many records are compared with each other because of what they have in common. Where more have it, it
// says little.
const crowd = 50

// keys are the hashes of what a record may share, two for each pass; 0 where it has not all the parts.
type keys [len(passes)][2]uint64

// keysOf are the keys of a record for passes, once for each of its emails, phones or addresses.
func keysOf(dst []keys, r *Record, from, to int) []keys {
	dst = dst[:0]
	for i := range max(1, len(r.Emails), len(r.Phones), len(r.Places)) {
		var has [parts]uint64
		r.parts(&has, i)
		var k keys
		for pass := from; pass <= to; pass++ {
			coarse := join(uint64(pass)+1, &has, passes[pass].coarse, false)
			if coarse != 0 {
				k[pass] = [2]uint64{coarse, join(coarse, &has, passes[pass].fine, true)}
			}
		}
		dst = append(dst, k)
	}
	return dst
}

// join is the hash of all the parts together; 0 where one is not known, unless it may be.
func join(h uint64, has *[parts]uint64, wanted []part, mayLack bool) uint64 {
	for _, p := range wanted {
		if has[p] == 0 && !mayLack {
			return 0
		}
		h = mix(h, has[p])
	}
	return h
}

// parts are what a record has that may be shared, with its i-th email, phone and address.
func (r *Record) parts(has *[parts]uint64, i int) {
	set := func(p part, value string) {
		if value != "" {
			has[p] = hash(value)
		}
	}
	surname := r.Last
	if r.Company {
		surname = r.First
	}
	start, startLast := head(r.First, 4), head(surname, 4)
	set(formalFirst, formal(r.First))
	set(firstStart, start)
	set(firstLetter, head(r.First, 1))
	set(fullLast, surname)
	set(lastSound, sound(surname))
	set(lastStart, head(surname, 3))
	set(lastLetter, head(surname, 1))
	if r.First != "" && surname != "" {
		has[bothNames] = has[formalFirst] + has[fullLast]
		has[bothStarts] = has[firstStart] + hash(startLast)
	}
	if r.Year > 0 {
		year, month, day := uint64(r.Year), uint64(r.Month), uint64(r.Day)
		has[birthDay], has[birthYear], has[yearMonth], has[monthDay], has[yearDay] = year*10_000+month*100+day, year,
			year*100+month, month*100+day, year*100+day
	}
	if i < len(r.Emails) {
		local, _, _ := strings.Cut(r.Emails[i], "@")
		if set(fullEmail, r.Emails[i]); len(local) > 3 && !isRole(local) {
			set(emailName, local)
		}
	}
	if i < len(r.Phones) {
		set(fullPhone, r.Phones[i])
		set(phoneEnd, r.Phones[i][max(0, len(r.Phones[i])-6):])
	}
	if i < len(r.Places) {
		p := &r.Places[i]
		set(zipCode, p.Zip)
		set(zipStart, head(p.Zip, 3))
		set(houseNumber, p.Number)
		set(streetWord, p.word())
		set(cityName, p.City)
	}
}

// head are the first bytes of a text. They are hashed alone, so half a letter does no harm.
func head(s string, n int) string { return s[:min(n, len(s))] }

// Probe is what contacts must have, all of it, to be compared with a new one: words of their name, a ZIP code, and how
// an email begins, or one of the words of AppendWords. Those with one of its match keys are compared in any case.
type Probe struct {
	Names      []string
	Zip, Email string
	Word       string
}

// Probes are what is looked for to find the contacts that may be about the person of a record: each on its own finds
// few, so that one contact is checked at once.
func Probes(r *Record) (probes []Probe) {
	last := strings.Fields(r.Last)
	if len(last) > 0 {
		for _, name := range calls(r.First) {
			probes = append(probes, Probe{Names: append([]string{name}, last...)})
		}
	}
	if r.Company {
		probes = append(probes, Probe{Names: strings.Fields(r.First)})
	}
	for i := range r.Places {
		for _, name := range append(slices.Clip(last), r.First) { // one of them may be mistyped
			if zip := r.Places[i].Zip; zip != "" && name != "" && !r.Company {
				probes = append(probes, Probe{Names: []string{name}, Zip: zip})
			}
		}
	}
	for _, email := range r.Emails {
		if local, _, _ := strings.Cut(email, "@"); len(local) > 3 && !isRole(local) {
			probes = append(probes, Probe{Email: local + "@"})
		}
	}
	for _, word := range r.words() {
		probes = append(probes, Probe{Word: word})
	}
	return probes
}

// calls are the names by which a person of a first name may be called, that one first.
func calls(name string) (all []string) {
	if name == "" {
		return nil
	}
	all = append(all, name)
	for _, other := range slices.Concat(names().full[name], names().short[name], names().spelled[name]) {
		if !slices.Contains(all, other) {
			all = append(all, other)
		}
	}
	return all
}
