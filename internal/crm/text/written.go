package text

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Amounts, days, yes and no as people write them, in forms and in files. Each has one reader here.

// Amount is an amount that a person wrote.
type Amount struct {
	Digits     string // with a dot before the decimals
	Sign       string // or the code of a currency, as it stands there
	IsNegative bool
}

// The rules of amounts that people write, as faults word them.
const (
	amountWritten = "is not an amount: write it like 1500, 1500.50 or 1.500,50"
	amountTwoWays = "can be read in two ways: write %v without a thousands separator, or with two decimals"
)

// amountForm is an amount with what may stand before and after it.
var amountForm = regexp.MustCompile(`^-?\s*(\p{L}*\p{Sc}|\p{L}+\.?)?\s*-?\s*([0-9][0-9 .,'’]*|[.,][0-9]+)-?\s*(\p{L}*\p{Sc}|\p{L}+\.?)?\s*-?$`)

// noCents is a dash where the cents would be: 100.– and 50,-.
var noCents = regexp.MustCompile(`([0-9][.,])[-–—]+`)

// commaRegions are where decimals have a comma.
var commaRegions = strings.Fields("AD AL AM AO AR AT AZ BA BE BG BO BR BY CL CO CR CU CY CZ DE DK DZ EC EE ES FI FR GE GR HR HU ID IS IT KZ LT LU LV MA MC MD ME MK MZ NL NO PL PT PY RO RS RU SE SI SK SM TN TR UA UY VE VN")

// RegionOf is where people write amounts as those do who have a currency: in the country whose code it begins with, and
// in Germany for euros.
func RegionOf(currency string) string {
	if currency == "EUR" || len(currency) < 2 {
		return "DE"
	}
	return currency[:2]
}

// spaces also hold thousands apart.
const spaces = " '’"

// PlainSigns writes signs as keyboards have them.
var PlainSigns = strings.NewReplacer("\u2212", "-", "\u00a0", " ", "\u202f", " ")

// ReadAmount reads an amount as the people of a region write it in a file: $1,234.56, 1.234,56 €, 1 234,56, (25.00).
// Without a region it is read as forms ask for it: a comma holds thousands apart, and a dot begins decimals. fault is
// the rule that it breaks.
func ReadAmount(text, currency, region string) (a Amount, fault string) {
	text = strings.TrimSpace(PlainSigns.Replace(text))
	text = noCents.ReplaceAllString(text, "${1}00")
	inner, isOpen := strings.CutPrefix(text, "(")
	inner, isClosed := strings.CutSuffix(inner, ")")
	parts := amountForm.FindStringSubmatch(strings.TrimSpace(inner))
	if parts == nil || isOpen != isClosed || parts[1] != "" && parts[3] != "" {
		return a, amountWritten
	}
	a.IsNegative = isOpen || strings.Contains(inner, "-")
	if a.Sign = parts[1] + parts[3]; a.Sign != "" && CurrenciesOf(a.Sign) == nil {
		return a, amountWritten
	}
	a.Digits, fault = plainDigits(strings.TrimSpace(parts[2]), currency, region)
	return a, fault
}

// plainDigits is a number without the signs between its thousands, and with a dot before its decimals. A sign that
// stands once, with three digits after it, may hold thousands apart or begin decimals. Where decimals have a dot, a
// comma holds thousands apart. Elsewhere it cannot be told.
func plainDigits(number, currency, region string) (digits string, fault string) {
	most := max(2, Decimals(currency))
	if region == "" {
		return EnglishDigits(number, most)
	}
	point := strings.LastIndexAny(number, ".,") // may begin the decimals
	if point < 0 {
		return joinThousands(number, spaces)
	}
	whole, mark, decimals := number[:point], number[point:point+1], number[point+1:]
	switch {
	case strings.Contains(whole, mark): // 1.234.567
		return joinThousands(number, mark)
	case strings.ContainsAny(whole, ".,"+spaces): // 1.234,56 and 1 234,56
		whole, fault = joinThousands(whole, strings.ReplaceAll(".,"+spaces, mark, ""))
		if fault != "" || len(decimals) > most {
			return "", amountWritten
		}
	case len(decimals) == 3 && most < 3 && len(whole) <= 3 && strings.Trim(whole, "0") != "": // 1,234 and 1.234
		switch isComma := slices.Contains(commaRegions, region); {
		case isComma:
			return "", amountTwoWays
		case mark == ",":
			return whole + decimals, ""
		}
	case mark == "," && (decimals == "" || len(decimals) > most):
		return "", amountWritten
	}
	if !allDigits(decimals) {
		return "", amountWritten
	}
	return whole + "." + decimals, ""
}

// EnglishDigits is plainDigits for a number that can be read in one way only.
func EnglishDigits(number string, most int) (digits string, fault string) {
	whole, decimals, hasDecimals := strings.Cut(number, ".")
	digits, fault = joinThousands(whole, ","+spaces)
	if fault != "" || digits == "" || !allDigits(digits+decimals) || hasDecimals &&
		(decimals == "" || len(decimals) > most) {
		return "", amountWritten
	}
	if hasDecimals {
		digits += "." + decimals
	}
	return digits, ""
}

// joinThousands takes the sign from between the thousands of a whole number. It must be the same everywhere.
func joinThousands(number, separators string) (digits string, fault string) {
	i := strings.IndexAny(number, separators)
	if i < 0 {
		return number, ""
	}
	sign := []rune(number[i:])[0]
	for j, group := range strings.Split(number, string(sign)) {
		if !allDigits(group) || len(group) != 3 && (j > 0 || group == "" || len(group) > 3) {
			return "", amountWritten
		}
		digits += group
	}
	return digits, ""
}

// otherSigns are what people write beside an amount for which we write something else.
var otherSigns = map[string][]string{
	"$": {"USD", "AUD", "CAD", "NZD", "HKD", "MXN", "TWD", "SGD", "ARS", "BRL", "CLP", "COP"}, "US$": {"USD"},
	"EURO": {"EUR"}, "EUROS": {"EUR"}, "C$": {"CAD"}, "¥": {"JPY", "CNY"},
	"FR": {"CHF"}, "SFR": {"CHF"}, "KR": {"SEK", "NOK", "DKK", "ISK"}, "ZŁ": {"PLN"}, "KČ": {"CZK"}, "FT": {"HUF"},
}

// CurrenciesOf are the currencies that a sign or a code stands for, none where it is neither.
func CurrenciesOf(sign string) (codes []string) {
	sign = strings.TrimSuffix(strings.ToUpper(sign), ".")
	if codes = otherSigns[sign]; codes != nil {
		return codes
	}
	for code, own := range currencySigns {
		if own == sign {
			return []string{code}
		}
	}
	if IsCurrency(sign) {
		return []string{sign}
	}
	return nil
}

// SignFits tells whether an amount with a sign, or with none, may be one of a currency.
func SignFits(sign, currency string) bool {
	return sign == "" || slices.Contains(CurrenciesOf(sign), currency)
}

// Moment is a day, perhaps with a time of it, that a person wrote.
type Moment struct {
	At      time.Time // what the clock shows, whatever the zone is
	HasTime bool
	Zone    string // Z or +02:00, "" where none is written
}

// clockTime is the time behind a day.
var clockTime = regexp.MustCompile(`(?i)[ T,]+(\d{1,2}:\d\d(?::\d\d)?)(?:\.\d+)?\s*([ap])?\.?(?:m\b\.?)?\s*(?:utc|uhr|[a-z]{1,3}[ds]?t)?\s*(z|[+-]\d\d:?\d\d)?$`)

// Days as people write them: everywhere, and where the month or the day comes first.
var (
	dayForms      = []string{"2006-1-2", "2006/1/2", "20060102", "2.1.2006", "2.1.06", "2-Jan-06"}
	monthDayForms = append([]string{"1/2/2006", "1/2/06", "1-2-2006"}, dayForms...)
	dayMonthForms = append([]string{"2/1/2006", "2/1/06", "2-1-2006"}, dayForms...)
)

// ReadMoment reads a day as people write it, with or without a time. dayFirst tells how 3/4/2026 is meant.
func ReadMoment(text string, dayFirst bool) (m Moment, ok bool) {
	day, clock := text, ""
	if strings.Contains(text, ":") {
		found := clockTime.FindStringSubmatchIndex(text)
		if found == nil {
			return m, false
		}
		day, clock, m.HasTime = text[:found[0]], text[found[2]:found[3]], true
		if found[6] >= 0 {
			m.Zone = strings.ToUpper(text[found[6]:found[7]])
			if n := len(m.Zone); n == len("+0200") {
				m.Zone = m.Zone[:n-2] + ":" + m.Zone[n-2:]
			}
		}
		if found[4] >= 0 {
			clock += text[found[4]:found[5]] + "m"
		}
	}
	forms := monthDayForms
	if dayFirst {
		forms = dayMonthForms
	}
	if m.At, ok = parseAny(strings.TrimSpace(day), forms); !ok {
		m.At, ok = dayInWords(day)
	}
	if !ok || !m.HasTime {
		return m, ok
	}
	at, ok := parseAny(strings.ToLower(clock), []string{"15:04", "15:04:05", "3:04pm", "3:04:05pm"})
	m.At = m.At.Add(at.Sub(at.Truncate(24 * time.Hour)))
	return m, ok
}

// months are the months in English, German, French and Spanish, and their short forms, as Words has them.
var months = func() map[string]time.Month {
	byName := map[string]time.Month{}
	for i, names := range [12]string{"january januar janvier enero jan ene janner",
		"february februar fevrier febrero feb fev", "march marz mars marzo mar mrz", "april avril abril apr avr abr",
		"may mai mayo", "june juni juin junio jun",
		"july juli juillet julio jul", "august aout agosto aug ago",
		"september septembre septiembre setiembre sep sept set", "october oktober octobre octubre oct okt",
		"november novembre noviembre nov", "december dezember decembre diciembre dec dez dic"} {
		for _, name := range strings.Fields(names) {
			byName[name] = time.Month(i + 1)
		}
	}
	return byName
}()

// weekdays are the first letters of their names, and words that stand between the parts of a day.
var weekdays = strings.Fields("mon tue wed thu fri sat sun montag dienstag mittwoch donnerstag freitag samstag sonntag lun mar mer jeu ven sam dim mie jue vie sab dom de den der of the le el")

// dayInWords reads a day whose month is a word: Monday, January 5th 2026, 5. Januar 2026, 1er février 2026, 5 de enero
// de 2026.
func dayInWords(value string) (t time.Time, ok bool) {
	if len(value) > 40 || strings.IndexFunc(value, unicode.IsLetter) < 0 || !strings.ContainsAny(value, "0123456789") {
		return t, false
	}
	month, numbers := time.Month(0), []int{}
	for _, word := range DistinctWords(value) {
		switch number, err := strconv.Atoi(strings.TrimRight(word, "sthndre")); {
		case err == nil:
			numbers = append(numbers, number)
		case months[word] != 0 && month == 0:
			month = months[word]
		case !slices.ContainsFunc(weekdays, func(start string) bool {
			return word == start || len(start) >= 3 &&
				strings.HasPrefix(word, start)
		}):
			return t, false
		}
	}
	if month == 0 || len(numbers) != 2 || numbers[1] < 1000 || numbers[1] > 9999 {
		return t, false
	}
	t = time.Date(numbers[1], month, numbers[0], 0, 0, 0, 0, time.UTC)
	return t, t.Day() == numbers[0]
}

// DayOrder tells whether a day such as 31/12/2026 has the day first; known is false where it does not tell, as 3/4/2026
// does not.
func DayOrder(value string) (dayFirst, known bool) {
	if len(value) < 6 || !IsDigit(value[0]) {
		return false, false
	}
	parts := dayNumbers.FindStringSubmatch(value)
	if parts == nil {
		return false, false
	}
	first, _ := strconv.Atoi(parts[1])
	second, _ := strconv.Atoi(parts[2])
	return first > 12, (first > 12) != (second > 12) && max(first, second) <= 31
}

// dayNumbers is a day of numbers. With dots the day always comes first.
var dayNumbers = regexp.MustCompile(`^(\d{1,2})[/-](\d{1,2})[/-](?:\d{4}|\d\d)\b`)

func parseAny(text string, forms []string) (t time.Time, ok bool) {
	for _, form := range forms {
		if firstSign(form) != firstSign(text) {
			continue // an attempt costs more than a look
		}
		if t, err := time.Parse(form, text); err == nil {
			return t, true
		}
	}
	return t, false
}

// firstSign is the first character that is no digit, 'a' for any letter.
func firstSign(text string) rune {
	for _, r := range text {
		switch {
		case unicode.IsLetter(r):
			return 'a'
		case r < '0' || '9' < r:
			return r
		}
	}
	return 0
}

// What people write for yes and no, without spaces and accents.
var (
	yesWords = strings.Fields("yes true y t 1 on x ja j oui si wahr vrai subscribed optedin")
	noWords  = strings.Fields("no false n f 0 off nein non falsch faux unsubscribed optedout")
)

// ReadYesNo reads what people write for yes and no; ok is false where it is neither.
func ReadYesNo(value string) (yes, ok bool) {
	word := strings.Join(DistinctWords(strings.TrimSuffix(value, ".0")), "") // of a number in a workbook
	yes = slices.Contains(yesWords, word)
	return yes, yes || slices.Contains(noWords, word)
}

// TypedAmount are the digits of an amount that stands in a form.
func TypedAmount(value, currency string) (digits string, ok bool) {
	a, fault := ReadAmount(value, currency, "")
	return a.Digits, fault == "" && !a.IsNegative && SignFits(a.Sign, cmp.Or(currency, DefaultCurrency))
}
