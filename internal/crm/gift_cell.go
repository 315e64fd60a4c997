package crm

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

func textColumn(of func(*GiftInput) **string) func(*GiftRow, *giftCell) {
	return func(row *GiftRow, c *giftCell) { *of(&row.GiftInput) = &c.text }
}

// wordColumn takes a word that people also write in other ways.
func wordColumn(word func(string) string, of func(*GiftInput) **string) func(*GiftRow, *giftCell) {
	return func(row *GiftRow, c *giftCell) {
		text := word(c.text)
		*of(&row.GiftInput) = &text
	}
}

func dayColumn(of func(*GiftInput) **string) func(*GiftRow, *giftCell) {
	return func(row *GiftRow, c *giftCell) {
		text := writtenMoment(c.text, c.dayFirst)
		if len(text) == len(time.DateOnly) && c.isOwn { // a workbook has midnight so, and ours has no days alone
			text += " 00:00:00"
		}
		*of(&row.GiftInput) = &text
	}
}

func idColumn(of func(*GiftInput) **int64) func(*GiftRow, *giftCell) {
	return func(row *GiftRow, c *giftCell) {
		id, err := strconv.ParseInt(c.text, 10, 64)
		if err != nil || id < 0 {
			row.faults.Add(c.target, IDForm)
		}
		*of(&row.GiftInput) = &id
	}
}

func dedicationColumn(set func(d *Dedication, text string)) func(*GiftRow, *giftCell) {
	return func(row *GiftRow, c *giftCell) {
		if row.Dedication == nil {
			d := new(Dedication)
			row.Dedication = &d
		}
		set(*row.Dedication, c.text)
	}
}

// readNote joins the columns that go to the note.
func readNote(row *GiftRow, c *giftCell) {
	text := c.text
	if row.Note != nil {
		text = *row.Note + "\n\n" + text
	}
	row.Note = &text
}

// saidYes and saidNo are what people write for yes and no.
var (
	saidYes = strings.Fields("true yes y 1 x ja oui wahr vrai subscribed optedin")
	saidNo  = strings.Fields("false no n 0 nein non falsch faux unsubscribed optedout")
)

func yesColumn(row *GiftRow, c *giftCell) (yes bool) {
	text := plainWord(c.text)
	if yes = slices.Contains(saidYes, text); !yes && !slices.Contains(saidNo, text) {
		row.faults.Add(c.target, Boolean)
	}
	return yes
}

func optInColumn(row *GiftRow, c *giftCell) {
	yes := yesColumn(row, c)
	row.OptIn = &yes
}

func liveColumn(row *GiftRow, c *giftCell) { row.Test = !yesColumn(row, c) }

// readRefunded refuses a gift that was refunded, since its refund would be lost.
func readRefunded(row *GiftRow, c *giftCell) {
	if strings.Trim(c.text, "0.,-") != "" && !slices.Contains(saidNo, plainWord(c.text)) {
		row.faults.Add(c.target, refundLost)
	}
}

const refundLost Rule = "says that money was refunded, which cannot be imported: record the gift and its refund by hand"

// moneyColumn takes an amount as people write it.
func moneyColumn(of func(*GiftInput) **int64) func(*GiftRow, *giftCell) {
	return func(row *GiftRow, c *giftCell) {
		currency := value(row.Currency)
		amount, fault := writtenAmount(c.text, currency, c.region)
		if fault == "" && amount.isNegative && c.target != "fee" { // PayPal writes fees so
			fault = notNegative
		}
		if fault != "" {
			row.faults.Add(c.target, fault, c.text)
		}
		if amount.sign != "" && row.sign == "" {
			row.sign = amount.sign
			if codes := currenciesOf(amount.sign); len(codes) == 1 && currency == "" {
				row.Currency = &codes[0]
			}
		}
		if *of(&row.GiftInput) = new(int64); fault == "" {
			*of(&row.GiftInput) = ParseMoney(&row.faults, c.target, amount.digits, currency, false)
		}
	}
}

// amountText is an amount of a cell.
type amountText struct {
	digits     string // with a dot before the decimals
	sign       string // or the code of a currency, as it stands there
	isNegative bool
}

// writtenMoney is an amount with what may stand before and after it.
var writtenMoney = regexp.MustCompile(`^-?\s*(\p{L}*\p{Sc}|\p{L}+\.?)?\s*-?\s*([0-9][0-9 .,'’]*|[.,][0-9]+)-?\s*(\p{Sc}|\p{L}+\.?)?\s*-?$`)

// The rules of amounts that a file has.
const (
	amountWritten Rule = "is not an amount: write it such as 1500, 1500.50 or 1.500,50"
	amountTwoWays Rule = "can be read in two ways: write %v without a sign between the thousands, or with two decimals"
	notNegative   Rule = "is negative: leave the row out, or record the refund of a gift on the page of that gift"
)

// commaRegions are where decimals have a comma.
var commaRegions = strings.Fields("AD AL AM AO AR AT AZ BA BE BG BO BR BY CL CO CR CU CY CZ DE DK DZ EC EE ES FI FR GE GR HR HU ID IS IT KZ LT LU LV MA MC MD ME MK MZ NL NO PL PT PY RO RS RU SE SI SK SM TN TR UA UY VE VN")

// spaces also hold thousands apart.
const spaces = " '’"

var plainSigns = strings.NewReplacer("\u2212", "-", "\u00a0", " ", "\u202f", " ")

// writtenAmount reads an amount as people write it: $1,234.56, 1.234,56 €, 1 234,56, (25.00). A sign that stands once, with three digits after it, may hold
// thousands apart or begin decimals. Where decimals have a dot, a comma holds thousands apart. Elsewhere it cannot be told, and the amount is refused.
func writtenAmount(text, currency, region string) (a amountText, fault Rule) {
	text = plainSigns.Replace(text)
	inner, isOpen := strings.CutPrefix(text, "(")
	inner, isClosed := strings.CutSuffix(inner, ")")
	parts := writtenMoney.FindStringSubmatch(strings.TrimSpace(inner))
	if parts == nil || isOpen != isClosed || parts[1] != "" && parts[3] != "" {
		return a, amountWritten
	}
	a.isNegative = isOpen || strings.Contains(inner, "-")
	if a.sign = parts[1] + parts[3]; a.sign != "" && currenciesOf(a.sign) == nil {
		return a, amountWritten
	}
	a.digits, fault = plainDigits(strings.TrimSpace(parts[2]), currency, region)
	return a, fault
}

// plainDigits is a number without the signs between its thousands, and with a dot before its decimals.
func plainDigits(number, currency, region string) (digits string, fault Rule) {
	point := strings.LastIndexAny(number, ".,") // may begin the decimals
	if point < 0 {
		return joinThousands(number, spaces)
	}
	whole, mark, decimals := number[:point], number[point:point+1], number[point+1:]
	most := max(2, Decimals(currency))
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
	if strings.Trim(decimals, "0123456789") != "" {
		return "", amountWritten
	}
	return whole + "." + decimals, ""
}

// joinThousands takes the sign from between the thousands of a whole number. It must be the same everywhere.
func joinThousands(number, separators string) (digits string, fault Rule) {
	i := strings.IndexAny(number, separators)
	if i < 0 {
		return number, ""
	}
	sign := []rune(number[i:])[0]
	for j, group := range strings.Split(number, string(sign)) {
		if strings.Trim(group, "0123456789") != "" || len(group) != 3 && (j > 0 || group == "" || len(group) > 3) {
			return "", amountWritten
		}
		digits += group
	}
	return digits, ""
}

// otherSigns are what people write beside an amount for which we write something else.
var otherSigns = map[string][]string{
	"$": {"USD", "AUD", "CAD", "NZD", "HKD", "MXN", "TWD", "SGD", "ARS", "CLP", "COP"}, "US$": {"USD"}, "EURO": {"EUR"}, "EUROS": {"EUR"}, "C$": {"CAD"}, "¥": {"JPY", "CNY"},
	"FR": {"CHF"}, "SFR": {"CHF"}, "KR": {"SEK", "NOK", "DKK", "ISK"}, "ZŁ": {"PLN"}, "KČ": {"CZK"}, "FT": {"HUF"},
}

// currenciesOf are the currencies that a sign or a code stands for, none where it is neither.
func currenciesOf(sign string) (codes []string) {
	sign = strings.TrimSuffix(strings.ToUpper(sign), ".")
	if codes = otherSigns[sign]; codes != nil {
		return codes
	}
	for code, own := range currencySigns {
		if own == sign {
			return []string{code}
		}
	}
	if isCurrency(sign) {
		return []string{sign}
	}
	return nil
}

// signFits tells whether an amount with a sign may be one of a currency.
func signFits(sign, currency string) bool { return slices.Contains(currenciesOf(sign), currency) }

// currencyWord is the code of a currency, of which people also write the sign.
func currencyWord(text string) string {
	if codes := currenciesOf(text); len(codes) == 1 {
		return codes[0]
	}
	return strings.ToUpper(text)
}

// clockTime is the time behind a day.
var clockTime = regexp.MustCompile(`(?i)[ T,]+(\d{1,2}:\d\d(?::\d\d)?)(?:\.\d+)?\s*([ap])?\.?(?:m\b\.?)?\s*(?:utc|uhr)?$`)

// dayForms are days as people write them, whatever the region is.
var dayForms = []string{"2006-1-2", "2006/1/2", "20060102", "2.1.2006", "2.1.06", "January 2, 2006", "Jan 2, 2006", "2 January 2006", "2 Jan 2006", "2-Jan-2006", "2-Jan-06"}

// writtenMoment is a day or a time as Validate takes it. What is none stays as it is. Midnight without a zone is what programs write for a day alone.
func writtenMoment(text string, dayFirst bool) string {
	day, clock := text, ""
	if found := clockTime.FindStringSubmatchIndex(text); found != nil {
		day, clock = text[:found[0]], text[found[2]:found[3]]
		if found[4] >= 0 {
			clock += text[found[4]:found[5]] + "m"
		}
	}
	at, ok := writtenDay(strings.TrimSpace(day), dayFirst)
	if !ok {
		return text
	}
	if clock == "" {
		return at.Format(time.DateOnly)
	}
	for _, form := range []string{"15:04", "15:04:05", "3:04pm", "3:04:05pm"} {
		if t, err := time.Parse(form, strings.ToLower(clock)); err == nil {
			at = at.Add(time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute + time.Duration(t.Second())*time.Second)
			if at.Hour()+at.Minute()+at.Second() == 0 {
				return at.Format(time.DateOnly)
			}
			return at.Format(campaignTimeForm)
		}
	}
	return text
}

func writtenDay(day string, dayFirst bool) (at time.Time, ok bool) {
	forms := append([]string{"1/2/2006", "1/2/06", "1-2-2006"}, dayForms...)
	if dayFirst {
		forms = append([]string{"2/1/2006", "2/1/06", "2-1-2006"}, dayForms...)
	}
	for _, form := range forms {
		if firstSign(form) != firstSign(day) {
			continue // an attempt costs more than a look
		}
		if at, err := time.Parse(form, day); err == nil {
			return at, true
		}
	}
	return at, false
}

// plainWord is words without spaces, accents, punctuation and numbers: "Check #123" is check.
func plainWord(text string) string {
	words := slices.DeleteFunc(headingWords(text), func(word string) bool { return len(word) > 1 && strings.Trim(word, "0123456789") == "" })
	return strings.Join(words, "")
}

// byWord turns lists of words around.
func byWord(lists map[string]string) map[string]string {
	words := map[string]string{}
	for meaning, list := range lists {
		for _, word := range strings.Fields(list) {
			words[word] = meaning
		}
	}
	return words
}

// methodWords are what people call the methods, in English, German and French.
var methodWords = byWord(map[string]string{
	"card":          "card creditcard debitcard creditordebitcard visa mastercard amex americanexpress discover applepay googlepay digitalwallet kreditkarte debitkarte karte eckarte girocard carte cartebancaire cartedecredit cartebleue cb",
	"ach":           "ach achtransfer achdebit eft echeck electroniccheck electronicfundstransfer usbankaccount",
	"direct_debit":  "directdebit sepa sepadebit sepadirectdebit sepalastschrift lastschrift bankeinzug einzug einzugsermachtigung bacs bacsdebit bacsdirectdebit prelevement prelevementautomatique prelevementsepa",
	"bank_transfer": "banktransfer bank wire wiretransfer standingorder uberweisung bankuberweisung sepauberweisung sepacredittransfer dauerauftrag virement virementbancaire virementsepa virementpermanent",
	"check":         "check cheque personalcheck businesscheck papercheck scheck verrechnungsscheck chequebancaire",
	"cash":          "cash bar bargeld barspende barzahlung especes liquide",
	"paypal":        "paypal", "venmo": "venmo",
	"stock":   "stock stocks stockgift securities shares wertpapiere aktien titres valeursmobilieres",
	"in_kind": "inkind giftinkind inkindgift inkinddonation sachspende ennature dontennature donennature",
	"other":   "other none unknown misc miscellaneous sonstige sonstiges andere anderes autre autres donoradvisedfund daf",
})

// methodWord is a method as the wire has it. What is none stays as it is.
func methodWord(text string) string { return cmp.Or(methodWords[plainWord(text)], text) }

// refunded is what some systems say of a gift that was given back.
const refunded = "refunded"

// statusWords are what people and systems call the states of gifts.
var statusWords = byWord(map[string]string{
	string(Succeeded): "succeeded success successful completed complete paid posted closedwon received captured cleared settled approved deposited erfolgreich bezahlt abgeschlossen eingegangen gebucht verbucht paye payee valide validee effectue effectuee reussi reussie encaisse termine",
	string(Pending):   "pending pledged pledge promised processing inprogress authorized ausstehend offen zugesagt enattente promesse encours",
	string(Failed):    "failed failure declined denied bounced returned rejected expired fehlgeschlagen abgelehnt echoue echouee refuse refusee",
	string(Cancelled): "cancelled canceled void voided closedlost withdrawn storniert abgebrochen annule annulee",
	refunded:          "refunded refund partiallyrefunded partialrefund chargeback chargedback disputed reversed erstattet zuruckerstattet teilweiseerstattet rembourse remboursee partiellementrembourse",
})

func readStatus(row *GiftRow, c *giftCell) {
	status := cmp.Or(statusWords[plainWord(c.text)], c.text)
	if status == refunded {
		row.faults.Add(c.target, refundLost)
		return
	}
	row.Status = &status
}

// dedicationWords are the kinds of dedications as people write them.
var dedicationWords = byWord(map[string]string{
	"in_honor_of":  "inhonorof inhonourof honor honour inhonor zuehren enlhonneurde enhommagea hommage",
	"in_memory_of": "inmemoryof inmemoriam memory memorial inmemory zumgedenken inerinnerungan enmemoirede",
})

func dedicationWord(text string) string { return cmp.Or(dedicationWords[plainWord(text)], text) }
