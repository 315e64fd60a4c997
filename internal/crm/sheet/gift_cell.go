package sheet

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/text"
)

// readMoment takes a day or a time as people write it. What is none stays as it is, and is refused by Validate.
func readMoment(of func(*giving.GiftInput) **string) func(*row, *cell, string) {
	return func(r *row, c *cell, value string) {
		if m, ok := text.ReadMoment(value, c.dayFirst); ok && !m.HasZone {
			isMidnight := m.At.Equal(m.At.Truncate(24 * time.Hour)) // which programs write for a day alone
			if isMidnight && !r.isOwn {                             // a workbook has midnight as a day, and ours has no days alone
				value = m.At.Format(time.DateOnly)
			} else {
				value = m.At.Format(time.DateTime)
			}
		}
		*of(&r.gift.GiftInput) = &value
	}
}

func readID(of func(*giving.GiftInput) **int64) func(*row, *cell, string) {
	return func(r *row, c *cell, text string) {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil || id < 0 {
			r.gift.faults.Add(c.target, doc.IDForm)
		}
		*of(&r.gift.GiftInput) = &id
	}
}

const notNegative doc.Rule = "is negative: leave the row out, or record the refund of a gift on the page of that gift"

// readMoney takes an amount as people write it.
func readMoney(of func(*giving.GiftInput) **int64) func(*row, *cell, string) {
	return func(r *row, c *cell, value string) {
		currency := ""
		if r.gift.Currency != nil {
			currency = *r.gift.Currency
		}
		amount, broken := text.ReadAmount(value, currency, r.region)
		fault := doc.Rule(broken)
		if fault == "" && amount.IsNegative && c.target != "fee" { // PayPal writes fees so
			fault = notNegative
		}
		if amount.Sign != "" && r.gift.Sign == "" {
			r.gift.Sign = amount.Sign
			if codes := text.CurrenciesOf(amount.Sign); len(codes) == 1 && currency == "" {
				r.gift.Currency = &codes[0]
			}
		}
		if *of(&r.gift.GiftInput) = new(int64); fault != "" {
			r.gift.faults.Add(c.target, fault, value)
			return
		}
		*of(&r.gift.GiftInput) = giving.ParseMoney(&r.gift.faults, c.target, amount.Digits, currency, false)
	}
}

// readYes takes yes or no.
func (r *row) readYes(c *cell, value string) bool {
	yes, ok := text.ReadYesNo(value)
	if !ok {
		r.gift.faults.Add(c.target, doc.Boolean)
	}
	return yes
}

// readRefunded refuses a gift that was refunded, since its refund would be lost.
func readRefunded(r *row, c *cell, value string) {
	if yes, ok := text.ReadYesNo(value); strings.Trim(value, "0.,-") != "" && (yes || !ok) {
		r.gift.faults.Add(c.target, giving.RefundLost)
	}
}

// dedication is a column of a part of a dedication.
func dedication(c column, part func(*giving.Dedication) *string) column {
	c.read = func(r *row, _ *cell, text string) {
		if r.gift.Dedication == nil {
			d := new(giving.Dedication)
			r.gift.Dedication = &d
		}
		*part(*r.gift.Dedication) = text
	}
	c.write = func(of *record, _ int) any {
		if of.gift.Dedication == nil {
			return ""
		}
		return *part(of.gift.Dedication)
	}
	return c
}

// giverAddress writes a part of the address of a giver.
func giverAddress(part func(*crm.Address) string) func(*record, int) any {
	return func(of *record, _ int) any {
		if of.gift.Giver.Address == nil {
			return ""
		}
		return part(of.gift.Giver.Address)
	}
}

// money writes an amount of a gift.
func money(of func(*giving.Gift) int64) func(*record, int) any {
	return func(r *record, _ int) any { return Decimal(text.MoneyInput(of(r.gift), r.gift.Currency)) }
}

// giftTime is when a gift was made, as far as it is known.
func giftTime(at time.Time) any {
	if !at.IsZero() && giving.IsDay(at) {
		return Date(at.UTC())
	}
	return moment(at)
}

// id is an id, or an empty cell.
func id(n int64) any {
	if n == 0 {
		return nil
	}
	return n
}

// plainWord is words without spaces, accents, punctuation and numbers: "Check #123" is check.
func plainWord(text string) string {
	words := slices.DeleteFunc(headingWords(text), func(word string) bool { return len(word) > 1 && strings.Trim(word, "0123456789") == "" })
	return strings.Join(words, "")
}

// currencyWord is the code of a currency, of which people also write the sign.
func currencyWord(_ *cell, value string) string {
	if codes := text.CurrenciesOf(value); len(codes) == 1 {
		return codes[0]
	}
	return strings.ToUpper(value)
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
func methodWord(_ *cell, text string) string { return cmp.Or(methodWords[plainWord(text)], text) }

// refunded is what some systems say of a gift that was given back.
const refunded = "refunded"

// statusWords are what people and systems call the states of gifts.
var statusWords = byWord(map[string]string{
	string(giving.Succeeded): "succeeded success successful completed complete paid posted closedwon received captured cleared settled approved deposited erfolgreich bezahlt abgeschlossen eingegangen gebucht verbucht paye payee valide validee effectue effectuee reussi reussie encaisse termine",
	string(giving.Pending):   "pending pledged pledge promised processing inprogress authorized ausstehend offen zugesagt enattente promesse encours",
	string(giving.Failed):    "failed failure declined denied bounced returned rejected expired fehlgeschlagen abgelehnt echoue echouee refuse refusee",
	string(giving.Cancelled): "cancelled canceled void voided closedlost withdrawn storniert abgebrochen annule annulee",
	refunded:                 "refunded refund partiallyrefunded partialrefund chargeback chargedback disputed reversed erstattet zuruckerstattet teilweiseerstattet rembourse remboursee partiellementrembourse",
})

func readStatus(r *row, c *cell, text string) {
	status := cmp.Or(statusWords[plainWord(text)], text)
	if status == refunded {
		r.gift.faults.Add(c.target, giving.RefundLost)
		return
	}
	r.gift.Status = &status
}

// dedicationWords are the kinds of dedications as people write them.
var dedicationWords = byWord(map[string]string{
	"in_honor_of":  "inhonorof inhonourof honor honour inhonor zuehren enlhonneurde enhommagea hommage",
	"in_memory_of": "inmemoryof inmemoriam memory memorial inmemory zumgedenken inerinnerungan enmemoirede",
})

func dedicationWord(_ *cell, text string) string {
	return cmp.Or(dedicationWords[plainWord(text)], text)
}
