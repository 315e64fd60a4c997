package text

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/nyaruka/phonenumbers"

	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/drill"
	"donorbook/internal/rig/rows"
)

// The drill compares with all that the library knows, make test with a part of it.

// libraryPhone is normalPhone with the library alone, without our short path.
func libraryPhone(value, region string) (key string, ok bool) {
	if utf8.RuneCountInString(value) > maxPhone || !utf8.ValidString(value) {
		return "", false
	}
	number, err := phonenumbers.Parse(value, region)
	if err != nil {
		return "", false
	}
	switch phonenumbers.IsPossibleNumberWithReason(number) {
	case phonenumbers.IS_POSSIBLE:
		key = phonenumbers.Format(number, phonenumbers.E164)
		if extension := phonenumbers.NormalizeDigitsOnly(number.GetExtension()); extension != "" {
			key += ";ext=" + extension
		}
		return key, true
	case phonenumbers.IS_POSSIBLE_LOCAL_ONLY:
		return "", true
	}
	return "", false
}

// libraryFormat is FormatPhone with the library alone.
func libraryFormat(value, region string) string {
	number, err := phonenumbers.Parse(value, region)
	switch {
	case err != nil:
		return value
	case phonenumbers.GetCountryCodeForRegion(region) == int(number.GetCountryCode()):
		return phonenumbers.Format(number, phonenumbers.NATIONAL)
	}
	return phonenumbers.Format(number, phonenumbers.INTERNATIONAL)
}

// sameAsLibrary compares how we read a number with how the library does. Numbers of our short path must also be shown
// in the same way.
func sameAsLibrary(t *testing.T, value, region string) (ok bool) {
	t.Helper()
	key, ok := NormalPhone(value, region)
	if want, wantOK := libraryPhone(value, region); key != want || ok != wantOK {
		t.Errorf("normalPhone(%q, %q) = %q, %v; the library says %q, %v", value, region, key, ok, want, wantOK)
	}
	if isShort(value, region) {
		if shown, want := FormatPhone(value, region), libraryFormat(value, region); shown != want {
			t.Errorf("FormatPhone(%q, %q) = %q; the library says %q", value, region, shown, want)
		}
	}
	return ok
}

// isShort tells whether a number is read without the library.
func isShort(value, region string) bool {
	_, ok := plainNorthAmerican(value, region)
	return ok
}

// Every area code in the US, whether it is in use or not, and some in each other region.
func TestEveryAreaCodeIsReadAndShownAsByTheLibrary(t *testing.T) {
	regions, usual := append(regionsOfLibrary(), "ZZ", ""), 1
	if !drill.On {
		regions, usual = rows.All(`US  CA  BS  GB  ZZ  ""`), 17
	}
	for _, region := range regions {
		step := 499 // another country's plan
		switch {
		case region == "US":
			step = usual
		case isNorthAmerican(region):
			step = 53
		}
		for area := 0; area < 1000; area += step {
			for _, form := range rows.All(`%03d5550100  1%03d5550100  +1%03d5550100  (%03d) 555-0100  1-%03d-555-0100  +1 (%03d) 555.0100`) {
				value := fmt.Sprintf(form, area)
				sameAsLibrary(t, value, region)
				assert.Equal(t, isShort(value, region), area >= 200 && (isNorthAmerican(region) || form[0] == '+'),
					"%q in %q takes the short path", value, region)
			}
		}
	}
}

// plainPhone has about as many digits as a North American number, with some of the usual punctuation and some unusual.
func plainPhone(random *rand.Rand) string {
	value := rows.All(`
		""  +  1  +1  (  + 1-  00  011
	`)[random.IntN(8)]
	for range 9 + random.IntN(3) {
		value += string('0' + rune(random.IntN(10)))
		if random.IntN(4) == 0 {
			value += string(" .-() .-()/+x"[random.IntN(13)])
		}
	}
	return value
}

func TestPlainNumbersAreReadAndShownAsByTheLibrary(t *testing.T) {
	random, regions := rand.New(rand.NewPCG(3, 4)), append(regionsOfLibrary(), "ZZ", "")
	rounds, short := 10_000, 0
	if !drill.On {
		rounds = 1000
	}
	for range rounds {
		value, region := plainPhone(random), "US"
		if random.IntN(2) == 0 {
			region = regions[random.IntN(len(regions))]
		}
		sameAsLibrary(t, value, region)
		if isShort(value, region) {
			short++
		}
	}
	if short < rounds/20 {
		t.Errorf("only %d of %d numbers took the short path", short, rounds)
	}
}

func regionsOfLibrary() []string { return slices.Sorted(maps.Keys(phonenumbers.GetSupportedRegions())) }

// exampleNumbers are the library's own numbers, of each kind in each region and of the country codes without a region.
func exampleNumbers() []*phonenumbers.PhoneNumber {
	var numbers []*phonenumbers.PhoneNumber
	for _, region := range regionsOfLibrary() {
		for kind := phonenumbers.FIXED_LINE; kind <= phonenumbers.UNKNOWN; kind++ {
			if number := phonenumbers.GetExampleNumberForType(region, kind); number != nil {
				numbers = append(numbers, number)
			}
		}
	}
	for _, code := range slices.Sorted(maps.Keys(phonenumbers.GetSupportedGlobalNetworkCallingCodes())) {
		numbers = append(numbers, phonenumbers.GetExampleNumberForNonGeoEntity(code))
	}
	if !drill.On {
		i := 0
		return slices.DeleteFunc(numbers, func(*phonenumbers.PhoneNumber) bool { i++; return i%10 != 0 })
	}
	return numbers
}

// spellings are ways to write a number within its country.
func spellings(number *phonenumbers.PhoneNumber) []string {
	written := func(form phonenumbers.PhoneNumberFormat) string { return phonenumbers.Format(number, form) }
	national, e164 := written(phonenumbers.NATIONAL), written(phonenumbers.E164)
	significant := phonenumbers.GetNationalSignificantNumber(number)
	return []string{
		national, e164, significant, e164[1:], "00" + e164[1:], "011 " + e164[1:], "+00" + e164[1:], "0" + significant,
		"1" + significant,
		written(phonenumbers.INTERNATIONAL), written(phonenumbers.RFC3966), national + " ext. 12", national + " x 3",
		significant[1:],
		significant[:len(significant)-1], significant + "7",
	}
}

func TestEveryExampleNumberIsReadAsTheLibraryReadsIt(t *testing.T) {
	accepted, seen := 0, 0
	for _, number := range exampleNumbers() {
		home := phonenumbers.GetRegionCodeForNumber(number)
		for i, value := range spellings(number) {
			for _, region := range []string{home, "US"} {
				if i >= 3 && region != home {
					continue
				}
				seen++
				if sameAsLibrary(t, value, region) {
					accepted++
				}
			}
		}
	}
	assert.Equal(t, accepted > seen/3, true, "only %d of %d spellings are numbers", accepted, seen)
}

var oddPhones = rows.All(`
	312.555.0123 x42  312-555-0123 ext. 42  312 555 0123 extn 7  3125550123;ext=9  312 555 0123,,5  312 555 0123;5#
	312 555 0123 #44  312 555 0123 - 503#  312 555 0123, ext 1234567  312 555 0123 EXTENSIÓN 5  312 555 0123 доб. 9
	312 555 0123 anexo 5  312 555 0123 int 5  312 555 0123～5  312 555 0123 ｅｘｔ 5  (530) 583-6985 x302/x2303
	530 583 6985 \ x2  1-800-FLOWERS  1-800-flo-wers  800 CALL ME  +1 800 FLOWERS x5  0800 FLOWERS  12ab345678
	1-800-ſlowers  1-800-ıKKKKK  tel:+1-201-555-0123  tel:201-555-0123;phone-context=+1
	tel:555-0123;phone-context=example.com  201-555-0123;phone-context=+1;ext=5  ;phone-context=+1
	tel:201-555-0123;phone-context=  tel:2015550123;phone-context=+1-.  tel:2015550123;phone-context=a-.b
	2015550123;phone-context=+1;tel:5  tel:+12015550123;isub=12345  tel:+12015550123;isub=1;phone-context=+44
	+12015550123;foo=bar  ０３-１２３４-５６７８  ＋１ ３１２ ５５５ ０１２３  +＋1 312 555 0123  ٣١٢ ٥٥٥ ٠١٢٣  ۰۲۱ ۱۲۳۴ ۵۶۷۸
	०२२ १२३४ ५६७८  0०  ०००  0०० 12  +  ++  + +1 312 555 0123  ++1 312 555 0123  (+1) 312 555 0123
	1 (+1) 312 555 0123  phone: 312 555 0123  312 555 0123 home  "312\u00a0555\u00a00123"  312‐555‐0123
	312–555–0123  "312\u200b5550123"  "312\t5550123"  "312\n5550123"  [312] 555~0123  312*555*0123  *31#3125550123
	#31#3125550123  312 555 0123&&x]]  12  1 2  12)  +12  1  123  00  000  0000000  011  01101  0114
	011 44 20 7946 0958  +011 44 20 7946 0958  +0044 20 7946 0958  +1 1 312 555 0123  +44 (0)20 7946 0958
	+39 06 6982  +800 1234 5678  0343 15 555 1212  +54 9 343 555 1212  (011) 15-2345-6789  0 15 11 96123 4567
	+55 (0xx11) 96123-4567  044 55 1234 5678  01 55 1234 5678  8 10 44 20 7946 0958  8 (495) 123-45-67
	8~10 44 2079460958  0011 1 312 555 0123  0015 44 2079460958  180020 7946 0958
`)

func TestOddSpellingsAreReadAsTheLibraryReadsThem(t *testing.T) {
	for _, value := range oddPhones {
		for _, region := range rows.All(`
			US  GB  DE  IT  AR  BR  MX  RU  AU  JP  BS  GG  KZ  CO  IL  ""  us  ZZ  001
		`) {
			sameAsLibrary(t, value, region)
		}
	}
}

// phonePieces are what mutations put into numbers.
var phonePieces = strings.Split("0|00|1|9|15|+|++|＋|-| |(|)|.|/|x|X|ext|#|,|,,|;|;ext=|*|~|tel:|;phone-context=|;isub=|a|F|３|٣|०|\u00a0|–|\\|&&|]|011|8~10|\t", "|")

// mutate changes one place of a text.
func mutate(random *rand.Rand, text string) string {
	runes := []rune(text)
	at := random.IntN(len(runes) + 1)
	end := min(at+random.IntN(3), len(runes))
	piece := ""
	if random.IntN(4) > 0 {
		piece = phonePieces[random.IntN(len(phonePieces))]
	}
	return string(runes[:at]) + piece + string(runes[end:])
}

func TestNumbersTypedWronglyAreReadAsTheLibraryReadsThem(t *testing.T) {
	random, numbers, regions := rand.New(rand.NewPCG(1, 2)), exampleNumbers(), regionsOfLibrary()
	rounds := 1000
	if !drill.On {
		rounds = 100
	}
	for range rounds {
		number := numbers[random.IntN(len(numbers))]
		choices := append(spellings(number), oddPhones[random.IntN(len(oddPhones))])
		value := choices[random.IntN(len(choices))]
		region := phonenumbers.GetRegionCodeForNumber(number)
		if random.IntN(3) == 0 {
			region = regions[random.IntN(len(regions))]
		}
		for range 3 {
			sameAsLibrary(t, value, region)
			value = mutate(random, value)
		}
	}
}

func FuzzPhoneIsReadAsTheLibraryReadsIt(f *testing.F) {
	for i, value := range oddPhones {
		f.Add(value, regionsOfLibrary()[i])
	}
	f.Fuzz(func(t *testing.T, value, region string) { sameAsLibrary(t, value, region) })
}
