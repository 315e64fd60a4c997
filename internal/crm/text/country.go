package text

import (
	"slices"
	"strings"
	"sync"
)

// stateNames are the names of states, territories and provinces that have a postal code of two letters, in the United
// States and Canada.
const stateNames = `
AL Alabama|AK Alaska|AZ Arizona|AR Arkansas|CA California|CO Colorado|CT Connecticut|DE Delaware|DC District of Columbia|DC Washington DC|FL Florida|GA Georgia|HI Hawaii|ID Idaho|
IL Illinois|IN Indiana|IA Iowa|KS Kansas|KY Kentucky|LA Louisiana|ME Maine|MD Maryland|MA Massachusetts|MI Michigan|MN Minnesota|MS Mississippi|MO Missouri|MT Montana|NE Nebraska|
NV Nevada|NH New Hampshire|NJ New Jersey|NM New Mexico|NY New York|NC North Carolina|ND North Dakota|OH Ohio|OK Oklahoma|OR Oregon|PA Pennsylvania|RI Rhode Island|SC South Carolina|
SD South Dakota|TN Tennessee|TX Texas|UT Utah|VT Vermont|VA Virginia|WA Washington|WV West Virginia|WI Wisconsin|WY Wyoming|AS American Samoa|GU Guam|MP Northern Mariana Islands|
PR Puerto Rico|VI Virgin Islands|VI US Virgin Islands|AB Alberta|BC British Columbia|MB Manitoba|NB New Brunswick|NL Newfoundland and Labrador|NL Newfoundland|NS Nova Scotia|
NT Northwest Territories|NU Nunavut|ON Ontario|PE Prince Edward Island|QC Quebec|SK Saskatchewan|YT Yukon|YT Yukon Territory`

// otherCountries are names that people write and no list has.
const otherCountries = `
USA America|USA US of A|USA Vereinigte Staaten von Amerika|USA Etats-Unis d'Amérique|USA United States of America|GBR UK|GBR Great Britain|GBR England|GBR Scotland|GBR Wales|GBR Northern Ireland|
GBR Großbritannien|GBR Grande-Bretagne|GBR Angleterre|NLD Holland|NLD The Netherlands|NLD Hollande|DEU BRD|DEU Federal Republic of Germany|DEU Bundesrepublik Deutschland|CZE Czech Republic|CZE Tschechische Republik|
KOR Korea|KOR Republic of Korea|RUS Russian Federation|RUS Russische Föderation|MKD Macedonia|TUR Turkey|CIV Ivory Coast|VNM Viet Nam|CHN China|CHN PR China|HKG Hong Kong|MAC Macau|IRL Republic of Ireland|CPV Cape Verde|SWZ Swaziland|BOL Bolivia|VEN Venezuela`

// byName is a list of codes and names, by the plain form of the names.
func byName(lists ...string) map[string]string {
	codes := map[string]string{}
	for _, list := range lists {
		for _, entry := range strings.Split(strings.TrimSpace(strings.ReplaceAll(list, "\n", "")), "|") {
			code, name, _ := strings.Cut(entry, " ")
			codes[letters(name)], codes[letters(code)] = code, code // also with points between
		}
	}
	return codes
}

// letters are the letters of a name, folded, without anything between them and without "and".
func letters(name string) string {
	return strings.Join(slices.DeleteFunc(AppendWords(nil, name),
		func(word string) bool { return word == "and" || word == "und" || word == "et" }), "")
}

var (
	states    = sync.OnceValue(func() map[string]string { return byName(stateNames) })
	countryOf = sync.OnceValue(func() map[string]string {
		codes := byName(otherCountries)
		for _, line := range strings.Split(strings.TrimSpace(countryNames), "\n") {
			code, rest, _ := strings.Cut(line, " ")
			two, names, _ := strings.Cut(rest, " ")
			codes[letters(code)], codes[letters(two)] = code, code // also with points between
			for _, name := range strings.Split(names, "|") {
				codes[letters(name)] = code
			}
		}
		return codes
	})
	alpha2Of = sync.OnceValue(func() map[string]string {
		codes := map[string]string{}
		for _, line := range strings.Split(strings.TrimSpace(countryNames), "\n") {
			codes[line[:3]] = line[4:6]
		}
		return codes
	})
)

// FindState is the code of a state as people write it. known is false where it has none; an empty text is one.
func FindState(text string) (code string, known bool) {
	if text == "" || IsTwoLetters(text) {
		return text, true
	}
	code, known = states()[letters(text)]
	return code, known
}

// FindCountry is the code of a country as people write it: its name in English, German or French, or a code of two or
// three letters.
func FindCountry(text string) (code string, known bool) {
	if text == "" || IsCountry(text) {
		return text, true
	}
	code, known = countryOf()[letters(text)]
	return code, known
}

// CountryName is the name of a country in English by its code of three letters, or what was given where there is none.
func CountryName(code string) string {
	for line := range strings.Lines(countryNames) {
		if rest, found := strings.CutPrefix(line, strings.ToUpper(code)+" "); found && len(code) == 3 {
			name, _, _ := strings.Cut(strings.TrimSpace(rest[3:]), "|")
			return name
		}
	}
	return code
}

// HomeCountry is the country of an organization: the one that is the last line of its address, or else the one whose
// currency it counts in. It is "" where neither tells.
func HomeCountry(address, currency string) string {
	line := strings.TrimSpace(address[strings.LastIndexByte(address, '\n')+1:])
	if code, known := FindCountry(line); known && code != "" {
		return strings.ToUpper(code)
	}
	if len(currency) < 2 {
		return ""
	}
	code, _ := FindCountry(currency[:2])
	return code
}

// alpha2 is the code of two letters of a country that has one of three.
func alpha2(code string) string { return alpha2Of()[strings.ToUpper(code)] }

func IsTwoLetters(s string) bool {
	return len(s) == 2 && isLetter(s[0]) && isLetter(s[1])
}
