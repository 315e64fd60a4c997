package duplicate

import (
	"strings"

	"donorbook/internal/crm"
	"donorbook/internal/crm/text"
)

// streetWords are words of streets as people shorten them. What follows an apt is the number of an apartment.
var streetWords = map[string]string{
	"street": "st", "str": "st", "strasse": "st", "avenue": "ave", "av": "ave", "avn": "ave", "road": "rd", "drive": "dr", "lane": "ln", "court": "ct", "place": "pl", "boulevard": "blvd",
	"circle": "cir", "circuit": "cct", "terrace": "ter", "parkway": "pkwy", "highway": "hwy", "square": "sq", "trail": "trl", "crescent": "cres", "close": "cl", "mount": "mt", "way": "wy",
	"north": "n", "south": "s", "east": "e", "west": "w", "northeast": "ne", "northwest": "nw", "southeast": "se", "southwest": "sw", "saint": "st",
	"apartment": "apt", "unit": "apt", "suite": "apt", "ste": "apt", "no": "apt", "number": "apt", "room": "apt", "floor": "apt", "fl": "apt", "fort": "ft", "heights": "hts", "route": "rte",
	"first": "1st", "second": "2nd", "third": "3rd", "fourth": "4th", "fifth": "5th", "sixth": "6th", "seventh": "7th", "eighth": "8th", "ninth": "9th", "tenth": "10th",
	"postfach": "box", "bp": "box",
}

// placeOf reads an address. The first word with a digit is the number of the house, or of a post office box.
func placeOf(a *crm.Address) (p Place) {
	line := strings.ReplaceAll(a.Line1, "#", " apt ")
	if text.Digits(a.Line2) != "" {
		line += " apt " + a.Line2
	}
	var street []string
	inUnit := false
	for _, word := range text.DistinctWords(line) {
		if short := streetWords[word]; short != "" {
			word = short
		}
		switch {
		case word == "apt":
			inUnit = true
		case inUnit:
			p.Unit += word
		case p.Number == "" && text.Digits(word) != "":
			p.Number = word
		case word != "p" && word != "o" && word != "po" && word != "post" && word != "office":
			street = append(street, strings.TrimLeft(word, "0"))
		}
	}
	p.Street, p.Zip, p.City, p.Country = compared(street, " "), text.Cut(crm.ShortZip(a.Zipcode), long), compared(text.DistinctWords(a.City), ""), text.Cut(a.Country, long)
	p.Number, p.Unit = text.Cut(p.Number, long), text.Cut(p.Unit, long)
	return p
}

// key is the address as one text, by which it is counted.
func (p *Place) key() string { return p.Number + " " + p.Street + " " + p.Zip }

// word is the word of the street that tells most: the longest one.
func (p *Place) word() (best string) {
	for word := range strings.SplitSeq(p.Street, " ") {
		if len(word) > len(best) {
			best = word
		}
	}
	return best
}
