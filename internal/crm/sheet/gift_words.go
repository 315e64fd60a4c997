package sheet

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/text"
)

// inflected adds the other endings that adjectives have in French and Spanish: payé and payée, devuelto and devueltas.
func inflected(words map[string]string) map[string]string {
	all := maps.Clone(words)
	for word, meaning := range words {
		stem, others := strings.TrimSuffix(word, "o"), []string{"a", "os", "as"}
		if stem == word {
			others = []string{"e", "s", "es"}
		}
		for _, ending := range others {
			if _, known := words[stem+ending]; len(word) > 4 && !known {
				all[stem+ending] = meaning
			}
		}
	}
	return all
}

// byWord turns lists of words around.
func byWord(lists map[string]string) map[string]string {
	words := map[string]string{}
	for meaning, list := range lists {
		for _, word := range strings.Fields(list) {
			if other, twice := words[word]; twice && other != meaning {
				panic(word + " has two meanings: " + meaning + " and " + other)
			}
			words[word] = meaning
		}
	}
	return words
}

// methodWords are what people call the methods, in English, German and French.
var methodWords = byWord(map[string]string{
	"card":          "card cc creditcard credit debit debitcard onlinecreditcard stripe creditordebitcard visa mastercard amex americanexpress discover applepay googlepay digitalwallet kreditkarte debitkarte karte eckarte girocard carte cartebancaire cartedecredit cartebleue cb tarjeta tarjetadecredito tarjetadedebito",
	"ach":           "ach acheft eftach bankdraft achtransfer achdebit eft echeck electroniccheck electronicfundstransfer usbankaccount",
	"direct_debit":  "directdebit sepa sepadebit sepadirectdebit sepalastschrift lastschrift bankeinzug einzug einzugsermachtigung pad preauthorizeddebit bacs bacsdebit bacsdirectdebit prelevement prelevementautomatique prelevementsepa domiciliacion domiciliacionbancaria",
	"bank_transfer": "banktransfer bank directdeposit bankwire wire wiretransfer standingorder uberweisung bankuberweisung sepauberweisung sepacredittransfer dauerauftrag virement virementbancaire virementsepa virementpermanent transferencia transferenciabancaria bizum etransfer interac gutschrift",
	"check":         "check cheque ck chk checks personalcheck businesscheck papercheck scheck verrechnungsscheck chequebancaire",
	"cash":          "cash ca bar efectivo bargeld barspende barzahlung especes liquide",
	"paypal":        "paypal", "venmo": "venmo",
	"donor_advised_fund": "donoradvisedfund donoradvised daf dafgrant dafgift",
	"stock":              "stock stocks stockgift stockproperty stockpropertysold stocktransfer securities shares wertpapiere aktien titres valeursmobilieres",
	"in_kind":            "inkind giftinkind giftsinkind inkindgift inkinddonation ik sachspende ennature dontennature donennature",
	"other":              plainOther + " payroll payrolldeduction payrollgiving workplacegiving crypto cryptocurrency bitcoin moneyorder cashierscheck giftcard property trust bequest matchinggift",
})

// plainOther are words for other methods that say nothing more.
const plainOther = "other none unknown misc miscellaneous sonstige sonstiges andere anderes autre autres numeraire"

// unknownValue is broken by a word that stands for one of a few things, and no one has said for which.
const unknownValue doc.Rule = "says %q, which is unknown: choose what it means, one of %v"

// Meanings are what the values of a column may mean, none where they are not one of a few.
func Meanings(target string) []string {
	switch target {
	case "method":
		return giving.Methods
	case "status":
		return statusMeanings
	case "type":
		return kindMeanings
	case "frequency":
		return giving.Frequencies
	}
	return nil
}

// UnknownValue is a value of a column that a person has to explain.
type UnknownValue struct {
	Column string `json:"column"`
	Target string `json:"target"`
	Value  string `json:"value"`
}

// meaningOf is what a value means: the one meaning that the words in it have which are known. "Credit Card - Visa" is a card, and "Refund pending" is not clear.
func meaningOf(words map[string]string, value string) (meaning string, ok bool) {
	if meaning, ok = words[plainWord(value)]; ok || len(value) > maxMeaning {
		return meaning, ok && meaning != unclear
	}
	all := headingWords(value)
	for i := 0; i < len(all); {
		n := min(5, len(all)-i)
		for ; n > 0; n-- {
			found, known := words[strings.Join(all[i:i+n], "")]
			if !known || n == 1 && (len(all[i]) < 3 || found == "card" && (all[i] == "credit" || all[i] == "debit")) { // of an account, if not of a card
				continue
			}
			if ok && found != meaning {
				return "", false
			}
			meaning, ok = found, true
			break
		}
		if n == 0 && slices.Contains(denials, all[i]) {
			return "", false
		}
		i += max(1, n)
	}
	return meaning, ok
}

// unclear is what words mean that a person has to explain.
const unclear = "?"

// maxMeaning is how long a value may be that stands for one of a few things.
const maxMeaning = 60

// denials turn around what the words beside them say.
var denials = strings.Fields("not no non un never nicht kein keine pas partial partially partly teilweise waiting awaiting requires")

// meaning is what a value of a column means, or a fault.
func (r *row) meaning(c *cell, words map[string]string, value string) (meaning string, ok bool) {
	if meaning, ok = meaningOf(words, value); ok {
		return meaning, true
	}
	if slices.Contains(Meanings(c.target), value) {
		return value, true
	}
	if c.target == "status" || c.target == "type" { // they tell whether money has come
		r.gift.faults.Add(c.target, unknownValue, value, strings.ReplaceAll(strings.Join(Meanings(c.target), ", "), "_", " "))
	}
	r.gift.Unknown = append(r.gift.Unknown, UnknownValue{c.name, c.target, value})
	return "", false
}

// readMethod takes a method. What has none of its own is kept in the note.
func readMethod(r *row, c *cell, value string) {
	method, ok := r.meaning(c, methodWords, value)
	if !ok {
		method = "other"
	}
	r.gift.Method = &method
	if original := cmp.Or(r.original, value); method == "other" && !slices.Contains(strings.Fields(plainOther), plainWord(original)) {
		r.note("Method: " + original)
	}
}

// States of gifts in other systems that are more than a status of ours.
const (
	refunded       = "refunded"
	partlyRefunded = "partly_refunded"
	disputed       = "disputed"
	testStatus     = "test"
	noStatus       = "none"
)

var statusMeanings = append(text.Strings(giving.SentStatuses), refunded, partlyRefunded, disputed, testStatus)

// statusWords are what people and systems call the states of gifts.
var statusWords = inflected(byWord(map[string]string{
	string(giving.Succeeded): "succeeded success successful completed complete paid paidout posted closedwon received captured cleared settled approved accepted deposited won disputewon collected processed fulfilled confirmed ok attending checkedin erfolgreich bestatigt bezahlt abgeschlossen eingegangen gebucht verbucht paye valide effectue reussi encaisse termine completado pagado exitoso cobrado recibido eingezogen abgebucht erledigt gutgeschrieben",
	string(giving.Pending):   "pending pledged pledge promised processing inprogress authorized open unpaid unfulfilled scheduled submitted onhold held uncaptured requirescapture requiresaction awaitingpayment uncollected outstanding due overdue ausstehend offen zugesagt enattente promesse encours pendiente",
	string(giving.Failed):    "failed failure declined denied bounced returned rejected expired aborted nsf blocked incomplete requirespaymentmethod error fehlgeschlagen abgelehnt echoue refuse fallido rechazado rucklastschrift ruckgabe impaye impagado ruckgebucht rejete",
	string(giving.Cancelled): "cancelled canceled void voided closedlost withdrawn deleted abandoned writtenoff writeoff terminated template storniert abgebrochen annule cancelado anulado",
	refunded:                 "refunded refund fullyrefunded fullrefund reversed returnedtodonor erstattet zuruckerstattet rembourse reembolsado devuelto",
	partlyRefunded:           "partlyrefunded partiallyrefunded partialrefund partialrefunded teilweiseerstattet partiellementrembourse",
	disputed:                 "disputed dispute chargeback chargedback underreview needsresponse disputelost lost",
	testStatus:               "test testmode sandbox",
	noStatus:                 "active na none notapplicable",
}))

func readStatus(r *row, c *cell, text string) {
	r.gift.state, _ = r.meaning(c, statusWords, text)
	if plainWord(text) == "disputewon" { // other words of a gift that was paid stood there before the dispute, too
		r.gift.Filed.Won = true
	}
}

// readMatchStatus takes whether the money of a company has come. What is not clear has not.
func readMatchStatus(r *row, _ *cell, text string) {
	state, _ := meaningOf(statusWords, text)
	if r.gift.matchState = giving.GiftStatus(state); state != string(giving.Succeeded) && state != string(giving.Failed) && state != string(giving.Cancelled) {
		r.gift.matchState = giving.Pending
	}
}

// Kinds of rows.
const (
	giftKind    = "gift"
	schedule    = "schedule" // of gifts that are to come, unless it says that its own has come
	pledgeKind  = "pledge"
	paymentKind = "payment"
	refundKind  = "refund"
	writeOff    = "write_off"
	noGift      = "no_gift"
	transfer    = "transfer" // in or out
)

var kindMeanings = []string{giftKind, pledgeKind, paymentKind, refundKind, writeOff, noGift}

// kindWords are what systems call the kinds of their rows. What a donor has agreed to give again and again is a promise, too.
var kindWords = byWord(map[string]string{
	giftKind: "gift giving credittransfer sepacredittransfer incomingtransfer banktransfer wiretransfer tip memorial g m donation cash onetime onetimegift singlegift contribution donationpayment payment generalpayment websitepayment websitezahlung expresscheckoutpayment mobilepayment webacceptpaymentreceived paymentreceived charge donationreceived " +
		"stock stockproperty stockpropertysold soldstockproperty property giftinkind inkind inkindgift other otherincome majorgift grant matchinggift matching membership ticket tickets purchase eventregistration eventticket auction sponsorship onetimedonation spende don donacion donativo salesreceipt receivepayment invoicepayment receivedpayment subscription recurring monthly",
	pledgeKind:  "invoice rechnung facture factura pledge p mgpledge matchinggiftpledge plannedgift pledgeschedule zusage promesse",
	schedule:    "recurringgift recurringdonation recurringgiftschedule recurringdonationschedule",
	paymentKind: "pledgepayment paycash paycheck paycreditcard paystockproperty paygiftinkind payother mgpaycash mgpay matchinggiftpayment recurringgiftpayment recurringgiftpaycash recurringdonationpayment recurringpayment subscriptionpayment preapprovedpaymentbillpayment installmentpayment pledgeinstallment",
	refundKind:  "refund paymentrefund partialrefund dispute chargeback paymentreversal reversal donationrefund",
	transfer:    "transfer",
	unclear:     "disputereversal chargebackreversal refundreversal refundfailure disputewon chargebackwon",
	writeOff:    "writeoff writtenoff pledgewriteoff mgwriteoff covenantwriteoff",
	noGift:      "nogift authorization authorisation generalauthorization bill billpayment expense creditmemo feerefund adjustment withdrawaltobank generalwithdrawal withdrawal debittransfer outgoingtransfer standardtransfer instanttransfer virementstandard virementinstantane payout fee chargebackfee disputefee generalcurrencyconversion currencyconversion bankdeposittoppaccount generalcreditcarddeposit hold accounthold generalaccounthold reversalofgeneralaccounthold masspayment masspaypayment softcredit",
})

func readKind(r *row, c *cell, text string) {
	method, _ := meaningOf(methodWords, text)
	kind, isKind := kindOf(text)
	switch words := headingWords(text); {
	case !isKind && (method != "" || slices.Contains(words, "credit")): // CK, or QUICKPAY_CREDIT in the statement of a bank
		r.gift.kind, r.gift.kindMethod = giftKind, method
		return
	case !isKind && slices.Contains(words, "debit"):
		r.gift.kind = noGift
		return
	}
	if r.gift.kind = kind; !isKind {
		r.gift.kind, _ = r.meaning(c, kindWords, text)
	}
	if r.gift.kind == paymentKind {
		h := parseHeading(text)
		r.gift.Filed.Pays = h.has("pledge")
	}
	r.gift.isPayment = r.gift.kind == giftKind && slices.ContainsFunc(headingWords(text), func(word string) bool { h := parseHeading(word); return h.has("pay") })
	r.gift.isCharge = plainWord(text) == "charge"
	if method == "in_kind" || method == "stock" { // where no other column says more
		r.gift.kindMethod = method
	}
}

// kindOf is the kind that a value means: by the words of systems, or else by what each of its words would mean in a heading, in whatever language.
func kindOf(value string) (kind string, ok bool) {
	if plain := plainWord(value); plain == "debit" || plain == "dr" { // and no debit card, and no direct debit
		return noGift, true
	}
	if kind, ok = meaningOf(kindWords, value); ok || len(value) > maxMeaning {
		return kind, ok
	}
	if _, isKnown := kindWords[plainWord(value)]; isKnown { // and is unclear
		return "", false
	}
	h := parseHeading(value)
	if h.unknown > 0 || len(h.means) == 0 || slices.ContainsFunc(h.means, func(m string) bool { return !slices.Contains(kindMeans, m) }) {
		return "", false
	}
	switch {
	case h.has("fee", "net", "paidout"):
		return noGift, true
	case h.has("refund"):
		return refundKind, true
	case h.has("gift", "pay", "deposit"):
		return giftKind, true
	}
	return "", false
}

// kindMeans are the meanings of words by which the kind of a row is told.
var kindMeans = strings.Fields("deposit gift pay txn amount received recurring member refund fee net paidout account type total")

// frequencyWords are how often a gift comes again.
var frequencyWords = inflected(byWord(map[string]string{
	"weekly": "weekly week everyweek wochentlich hebdomadaire semanal", "monthly": "monthly month everymonth monatlich mensuel mensuelle mensual", "quarterly": "quarterly quarter everythreemonths vierteljahrlich quartalsweise trimestriel trimestrielle trimestral",
	"yearly": "yearly year annual annually everyyear jahrlich annuel annuelle anual", "": "onetime once none single no na notrecurring nonrecurring einmalig ponctuel ponctuelle unique unico onetimegift",
}))

func readFrequency(r *row, c *cell, value string) {
	if _, isAnswer := text.ReadYesNo(value); isAnswer { // whether it is one of several
		return
	}
	every, ok := r.meaning(c, frequencyWords, value)
	if r.gift.Filed.Every = every; !ok {
		r.gift.LeftOut = append(r.gift.LeftOut, crm.LeftOut{Column: c.name, Value: value, Reason: "does not tell how often a gift comes"})
	}
}

// dedicationWords are the kinds of dedications as people write them.
var dedicationWords = byWord(map[string]string{
	"in_honor_of":  "inhonorof inhonourof honor honour inhonor h honorarium incelebrationof zuehren enlhonneurde enhommagea hommage",
	"in_memory_of": "inmemoryof inmemoriam memory m memorial inmemory zumgedenken inerinnerungan enmemoirede",
})

func dedicationWord(_ *cell, text string) string {
	return cmp.Or(dedicationWords[plainWord(text)], text)
}
