package sheet

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"donorbook/internal/crm/text"
)

// meaning is what one word says about a column.
type meaning struct {
	part    string // email, phone, type, or a part of an address
	group   string // which email, phone or address it is: home, work, cell, or the word itself
	primary bool
}

// headings are the words that names of columns of emails, phones and addresses are made of. A name with any other word is none of these: "Email
// opt out" is no email.
var headings = func() map[string]meaning {
	words := map[string]meaning{}
	add := func(m meaning, text string) {
		for _, word := range strings.Fields(text) {
			words[word] = m
		}
	}
	add(meaning{part: "email"}, "email emails mail courriel courriels emailadresse mailadresse emailaddress mel")
	add(meaning{part: "phone"}, "phone phones telephone tel telefon fon telefonnummer telefonnr rufnummer phonenumber ruf")
	add(meaning{part: "phone", group: "cell"}, "mobile cell handy mobil mobiltelefon mobilnummer handynummer portable cellphone mobilephone cellular gsm natel")
	add(meaning{part: "phone", group: "home"}, "festnetz festnetznummer fixe homephone")
	add(meaning{part: "phone", group: "work"}, "workphone diensttelefon")
	add(meaning{group: "home"}, "home privat private personal perso personnel personnelle domicile residential maison prive privee personlich")
	add(meaning{group: "work"}, "work business office dienstlich geschaftlich arbeit buro beruflich professionnel professionnelle pro travail bureau dienst")
	for _, word := range strings.Fields("mailing billing shipping other alternate alternative secondary second additional permanent seasonal autre weitere zweite andere supplementaire postal rechnung lieferung versand") {
		add(meaning{group: word}, word)
	}
	add(meaning{primary: true}, "primary main principal principale haupt")
	add(meaning{}, "number numbers nummer numero nr no n value values wert valeur contact c npe from district neighborhood county territory prefecture republic of the and und et de du la le der die das addr dadresse")
	add(meaning{part: "type"}, "type label typ")
	add(meaning{part: "address"}, "address adresse addresses anschrift addr dadresse")
	add(meaning{part: "whole"}, "formatted full")
	add(meaning{part: "street"}, "street strasse str rue voie")
	add(meaning{part: "line"}, "line zeile ligne")
	add(meaning{part: "extra"}, "extended supplemental zusatz adresszusatz complement pobox postfach apt apartment unit suite")
	add(meaning{part: "house"}, "hausnummer hausnr")
	add(meaning{part: "city"}, "city town ort stadt wohnort ville locality commune")
	add(meaning{part: "state"}, "state province region bundesland kanton etat canton")
	add(meaning{part: "zip"}, "zip zipcode postcode plz postleitzahl cp codepostal postalcode npa")
	add(meaning{part: "country"}, "country land pays staat")
	add(meaning{part: "code"}, "code")
	return words
}()

// pairs are two words that mean one.
var pairs = map[[2]string]string{
	{"e", "mail"}: "email", {"e", "mails"}: "emails", {"postal", "code"}: "zip", {"post", "code"}: "zip", {"code", "postal"}: "zip", {"zip", "code"}: "zip", {"po", "box"}: "pobox",
	{"haus", "nr"}: "hausnummer", {"adresse", "electronique"}: "email", {"npe", "01"}: "npe", {"street", "number"}: "streetnumber",
}

// headingWords are the words of the name of a column in small letters, with numbers apart: "E-mail 1 - Value", "MailingStreet", "email2".
func headingWords(name string) []string {
	var spaced strings.Builder
	var last rune
	for _, r := range name {
		if unicode.IsUpper(r) && unicode.IsLower(last) || unicode.IsDigit(r) != unicode.IsDigit(last) {
			spaced.WriteByte(' ')
		}
		spaced.WriteRune(r)
		last = r
	}
	all := text.DistinctWords(spaced.String())
	joined := all[:0]
	for i := 0; i < len(all); i++ {
		word := all[i]
		if i+1 < len(all) {
			if pair, ok := pairs[[2]string{word, all[i+1]}]; ok {
				word = pair
				i++
			}
		}
		joined = append(joined, word)
	}
	return joined
}

// heading is the name of a column of an email, a phone or an address.
type heading struct {
	parts   []string
	group   string
	number  int // which of several
	line    int // of an address
	primary bool
}

// parseHeading reads a name; ok is false where it is no such column.
func parseHeading(name string) (h heading, ok bool) {
	before := ""
	for _, word := range headingWords(name) {
		if n, err := strconv.Atoi(word); err == nil {
			if before == "line" || h.number > 0 {
				h.line = n
			} else {
				h.number = n
			}
			continue
		}
		m, known := headings[word]
		if !known {
			return h, false
		}
		if m.part != "" {
			h.parts = append(h.parts, m.part)
		}
		if m.group != "" {
			h.group += m.group + " "
		}
		h.primary = h.primary || m.primary
		before = m.part
	}
	return h, slices.ContainsFunc(h.parts, func(part string) bool { return part != "type" && part != "code" })
}

func (h heading) has(part string) bool { return slices.Contains(h.parts, part) }

// isForeignDay tells by the name of a column that its days are written with the day first, whatever the region is.
func isForeignDay(name string) bool {
	plain := plainName(name)
	for _, part := range [...]string{"gebor", "geburt", "naissance", "datum", "buchungstag", "datede", "datedu"} {
		if strings.Contains(plain, part) {
			return true
		}
	}
	return false
}

// plainName is a name without spaces, accents and punctuation, and without the number of the first of several.
func plainName(name string) string {
	return strings.Join(slices.DeleteFunc(headingWords(name), func(word string) bool { return word == "1" }), "")
}
