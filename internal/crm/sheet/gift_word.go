package sheet

import (
	"cmp"
	"slices"
	"strings"

	"donorbook/internal/crm"
)

// plainWord is words without spaces, accents, punctuation and numbers: "Check #123" is check.
func plainWord(text string) string {
	words := slices.DeleteFunc(headingWords(text), func(word string) bool { return len(word) > 1 && strings.Trim(word, "0123456789") == "" })
	return strings.Join(words, "")
}

// currencyWord is the code of a currency, of which people also write the sign.
func currencyWord(_ *cell, text string) string {
	if codes := crm.CurrenciesOf(text); len(codes) == 1 {
		return codes[0]
	}
	return strings.ToUpper(text)
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
	string(crm.Succeeded): "succeeded success successful completed complete paid posted closedwon received captured cleared settled approved deposited erfolgreich bezahlt abgeschlossen eingegangen gebucht verbucht paye payee valide validee effectue effectuee reussi reussie encaisse termine",
	string(crm.Pending):   "pending pledged pledge promised processing inprogress authorized ausstehend offen zugesagt enattente promesse encours",
	string(crm.Failed):    "failed failure declined denied bounced returned rejected expired fehlgeschlagen abgelehnt echoue echouee refuse refusee",
	string(crm.Cancelled): "cancelled canceled void voided closedlost withdrawn storniert abgebrochen annule annulee",
	refunded:              "refunded refund partiallyrefunded partialrefund chargeback chargedback disputed reversed erstattet zuruckerstattet teilweiseerstattet rembourse remboursee partiellementrembourse",
})

func readStatus(r *row, c *cell, text string) {
	status := cmp.Or(statusWords[plainWord(text)], text)
	if status == refunded {
		r.gift.faults.Add(c.target, crm.RefundLost)
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
