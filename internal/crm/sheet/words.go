package sheet

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"donorbook/internal/crm/text"
)

// A heading is understood word by word: each word has one meaning, in English, German, French and Spanish, and words that add nothing are left out. What a column
// is follows from the meanings that its heading has together (recognize.go), so that a heading that no one has seen before is understood if its words are.

// vocabulary is what words mean. "" adds nothing; "other" makes the heading one of something that contacts and gifts do not have.
var vocabulary = byWord(map[string]string{
	"": "requests requested desea deseo souhaite wunscht wants wishes of de del the and und et y for fur pour to a an your our is has was s die das dem der den von vom zu zur du des le les la el los las d l c npe npsp value values wert valeur valor please list gave giving " +
		"utc gmt est edt cst cdt mst mdt pst pdt cet cest local iso field info information data detail details record rec online web npo nonprofit charity internal interne intern interno tracking metadata meta etre par allgemeine allgemeiner",
	"primary": "primary main principal principale haupt preferred pref prefer best default bevorzugt primare prefere preferido hauptsachlich",

	// who
	"who": "donor donors constituent constituents supporter supporters contact contacts giver payer payor sender from customer billing billed cardholder remitter donator purchaser benefactor buyer registrant " +
		"spender spenderin geber auftraggeber zahler zahlungspflichtiger zahlungspflichtige kontoinhaber debitor ordenante donateur donatrice payeur emetteur titulaire donante donador contacto contribuyente remitente " +
		"lookup person persons personne persona individual einzelperson client cliente kunde kunden patron absender einzahler kontakt counterparty who lead subscriber backer contributor ansprechpartner partei begunstigter contacte contactee",
	"account": "account acct konto compte cuenta", "member": "member mitglied mitglieds membre miembro socio socia socios adherent adherente adherents", "card": "card karte carte tarjeta",
	"name": "name names nom nombre", "first": "first fname forename vorname prenom rufname firstname primernombre", "given": "given", "middle": "middle mi mname mittelname middlename initial",
	"last": "last lname surname family nachname familienname zuname apellido apellidos lastname nachnamen", "full": "full voll vollstandiger vollstandig complet completo complete display sort sorted formatted",
	"company":  "company companies organization organisation org organizations business firma firmen unternehmen verein entreprise societe organisme association empresa organizacion institution corporation",
	"employer": "employer arbeitgeber employeur empleador", "title": "title position titre titulo occupation profession beruf berufs funktion fonction poste puesto berufsbezeichnung bezeichnung", "job": "job prof professional",
	"prefix": "prefix honorific anrede civilite tratamiento titel namenstitel prefijo prefixe", "suffix": "suffix suffixe sufijo namenszusatz", "salutation": "salutation greeting briefanrede salutations saludo",
	"birth": "birth dob birthday birthdate bday born geburt geburts geboren geburtstag naissance geb nacimiento nac neele", "deceased": "deceased death verstorben verst decede decedee fallecido died",
	"tags":    "tag tags label labels group groups membership groupmembership keyword keywords category categories schlagwort schlagworte schlagworter stichworte stichwort gruppen gruppe kategorien kategorie etiquettes motscles groupes groupe categorie etiquetas grupo grupos categorias",
	"note":    "note notes comment comments remark remarks memo message messages narrative notiz notizen bemerkung bemerkungen anmerkung anmerkungen kommentar remarque remarques commentaire commentaires nota notas comentario comentarios observaciones observations description desc libelle nachricht mensaje verwendungszweck avisierungstext mitteilung mitteilungen hinweis hinweise buchungstext betreff concepto",
	"twitter": "twitter", "linkedin": "linkedin", "facebook": "facebook", "profile": "url profile handle link profil",

	// how to reach them
	"email": "email emails courriel courriels correoe emailadresse mailadresse mel correo", "mail": "mail mails", "phone": "phone phones ph telephone tel telefon fon rufnummer ruf telefono", "cell": "mobile cell handy mobil portable cellular gsm natel movil celular mobiltelefon cellphone", "landline": "festnetz fixe landline fijo",
	"home": "home privat private personal perso personnel personnelle domicile residential maison prive privee personlich casa residence", "work": "work office dienstlich geschaftlich arbeit buro beruflich professionnel professionnelle pro travail bureau dienst trabajo oficina",
	"mailing": "mailing postal versand", "second": "other alternate alternative secondary second additional permanent seasonal autre weitere sekundare zweite zweiter andere supplementaire otro adicional", "shipping": "shipping lieferung delivery livraison",
	"address": "address adresse addresses anschrift addr direccion addressline adress adresszeile", "street": "street strasse str rue voie calle avenue domicilio", "line": "line lines zeile zeilen ligne lignes linea lineas", "extra": "extended supplemental zusatz adresszusatz complement pobox postfach apt apartment unit suite",
	"house": "hausnummer hausnr", "city": "city town ort stadt wohnort ville locality commune ciudad municipio poblacion localidad localite", "state": "state st province region bundesland kanton etat canton provincia estado county", "zip": "zip zipcode postcode plz postleitzahl cp codepostal postalcode npa",
	"country": "country land pays staat pais", "place": "district neighborhood territory prefecture republic",

	// what was given
	"gift": "gift gifts donation donations contribution contributions spende spenden don dons donacion donaciones donativo donativos donado donada gespendet aportacion offering donate donated",
	"pay":  "payment pmt pymt payments paid pay zahlung zahlungs paiement paiements versement reglement pago pagos merchant provider", "txn": "operation operacion transaction transactions txn trxn trans transaktion transaktions transaccion charge charged buchung buchungs opportunity capture captured gateway processor order auftrags",
	"date": "date dates dt datum datums fecha day time zeit datetime timestamp when valuta wertstellung zeitpunkt heure buchungstag zahlungstag at on am", "settled": "posted posting settled completed", "received": "received receive close closed eingang eingangs reception recibido recepcion encaissement transacted processed effective",
	"created": "created create creation added entered entry erstellt angelegt erfasst creado cree submitted", "deposit": "deposit deposits deposited einzahlung einzahlungen deposito depositos",
	"amount": "amount amounts amt betrag geld hohe summe montant somme importe monto cantidad", "gross": "gross brutto brut bruto", "total": "total sum gesamt gesamtbetrag", "net": "net netto neto payout payouts", "fee": "fee fees gebuhr gebuhren gebuehr gebuehren frais commission comision comisiones cost costs kosten",
	"covered": "covered cover covers coverage ubernommen cubierto couverts", "refund": "refund refunded refunds erstattet erstattung rembourse remboursement reembolso ruckzahlung ruckerstattung devolucion", "dispute": "dispute disputed chargeback", "currency": "currency currencies wahrung waehrung devise monnaie moneda divisa",
	"status": "status stage statut situation", "method": "method mthd instrument tender weise mittel methode moyen medio forma metodo weg", "source": "source quelle herkunft origen", "mode": "mode modus modo", "type": "type typ kind art tipo types forme nature", "frequency": "frequency haufigkeit interval intervall turnus frequence frecuencia periodicity periodicidad periodicite period rhythmus schedule",
	"recurring": "recurring sustaining recurrence subscription subscriptions abonnement abonnements plan recurrent sustainer regular recurrente dauerspende", "pledge": "pledge pledges pledged promised zusage promesse promesa commitment", "pledgelink": "plink pledgelink", "installment": "installment instalment",
	"campaign": "fundraising initiative drive campaign campaigns kampagne campagne campana spendenaktion aktion", "fund": "fund funds fonds fondo designation designations program programm programme project projekt projet proyecto cause purpose zweck spendenzweck allocation affectation destino", "appeal": "appeal appeals aufruf appel solicitation apelacion mailingaktion", "ledger": "gl ledger generalledger glcode",
	"event": "event events veranstaltung evenement evento", "page": "page pages form forms seite formular formulaire formulario",
	"id": "id ids number numbers nummer nr numero num identifier key kennung kennzeichen referenz reference references ref referencia guid uuid token identificador identifiant", "code": "code codes slug", "invoice": "invoice rechnung rechnungs facture factura beleg belegs confirmation bestatigung vorgangs vorgang recibo", "receipt": "receipt receipts rcpt quittung quittungs recu", "external": "external extern foreign legacy externe",
	"check": "check checks ck chk cheque cheques scheck schecks chq", "honor": "tribute dedication honoree honor honour widmung hommage dedicatoria dedicated honoring honouring honore", "memory": "memory memoriam memorial gedenken memoire memoria", "recipient": "recipient notify notification notified empfanger destinataire",
	"soft": "soft softcredit", "credit": "credit credits haben haber abono abonos gutschrift gutschriften", "paidout": "withdrawal withdrawals debit debits soll auszahlung auszahlungen debe cargo cargos belastung belastungen abbuchung abbuchungen retrait retraits retirada", "match": "match matching matched", "live": "live livemode", "test": "test tests", "original": "original parent linked adjusted zugehorig zugehoriger zugehorige",

	// how they must not be reached
	"not": "no not dont donot never nicht kein keine keinen keinerlei sans sin ne pas", "out": "optout optedout unsub unsubscribe unsubscribed unsubscribes unsubscription desinscrit desinscrite desinscription desabonne abgemeldet abmeldung austragung baja desuscrito bounced bounce widerruf widerspruch suppressed suppression optouts bad invalid undeliverable disabled deactivated",
	"block": "sperre werbesperre kontaktsperre sperrvermerk restriction restrictions solicit solicitations blocked gesperrt bloque robinson exclude excluded blacklist blacklisted", "consent": "preference preferences optin optedin subscribed subscribe consent consents newsletter newsletters envoi einwilligung abonne abonnee suscrito infolettre boletin accepte acepta akzeptiert permission permissions ok erlaubt erlaubnis consentement consentimiento marketing werbung publicidad publicite interest interests",
	"call": "call calls anruf anrufe anrufen appels appeler llamar llamadas", "sms": "sms texts texting", "letter": "letters brief briefe post courrier carta", "any": "all any everything alle communication communications kommunikation bulk",

	"other": "acknowledgment acknowledgement acknowledged thank thanked thankyou tax taxes fair market goods benefit benefits modified updated changed changes lastchanged expiry expiration expires expire end ended start started next due owner officer solicitor fundraiser fundraisers assigned staff user agent ip browser utm referrer referring referral medium website " +
		"latitude longitude gender geschlecht sexe sexo sex age alter language sprache langue idioma department photo picture image file ext extension fax team teams ticket tickets quantity qty batch relationship relation spouse partner wife husband ehepartner conjoint conyuge timezone tz offset score rating level average avg lifetime largest smallest highest lowest latest count counts ytd year years fiscal month " +
		"quarter visitor session device hidden public converted exchange tip tips anniversary formal informal addressee envelope recognition nickname nick phonetic yomi signature reason balance solde saldo kontostand guthaben goal target deductible nondeductible anonymous anon by since impact seller statement descriptor brand expected eligible potential estimated reminder reminders bal coin crypto fulfillment fulfilment percent percentage rate raised remaining hold iban bic bank routing pan last4 digits question answer campaignowner attribution dni nif lifecycle financial",
})

// phrases are several words that mean one thing.
var phrases = func() map[string]string {
	all := map[string]string{}
	for meaning, list := range map[string]string{
		"email": "e mail,e mails,adresse electronique,email delivery,receiving emails,correo electronico,electronic mail", "": "to be acknowledged,at time of,at the time of", "zip": "c p,zip postal,postal code,post code,code postal,zip code,zip postal code,codigo postal,zip 4,zip plus 4", "extra": "po box", "house": "haus nr,house number",
		"out": "opt out,opted out,opt outs,user opt out,sign off,on hold,clean time,cleaned at,hard bounce reason,hard bounce,bounce reason", "consent": "opt in,opted in,further contact,may contact,can contact,ok to contact,mailing list,join mailing list,recibir informacion,recevoir informations,lettre d information,lettre d informations,lettre information", "not": "do not,does not,don t,no mas,ne pas", "who": "bill to,received from,name on card,by donor,by the donor,given by,donated by,donor by,gift of,gespendet von,donado por", "block": "lista negra,liste noire,schwarze liste,black list", "amount": "how much", "birth": "date of birth,geboren am,nee le,ne e le,ne le", "soft": "soft credit,soft credits,soft credited",
		"ledger": "general ledger,gl code", "middle": "second name,additional name,zweiter vorname,deuxieme prenom,middle initial", "honor": "in honor of,in honour of,in honor,in honour,zu ehren,en l honneur,en hommage,in tribute", "memory": "in memory of,in memoriam,in memory,in gedenken,zum gedenken,en memoire,en memoria",
		"first": "given name,given names,first names", "test": "test mode", "live": "live mode", "names": "last first,first last,last name first name,first name last name,nom prenom,prenom nom,nachname vorname,vorname nachname,name vorname,apellidos nombre,apellidos y nombre,vor und nachname,vor und zuname,nom et prenom,nombre y apellidos,first and last", "employer": "current employer", "original": "reference txn,reference transaction,transaction de reference,refund of,refund for,reversal of", "gross": "avant commission,before fees,vor gebuhren,antes de comision", "other": "charity name,charity id,nonprofit name,last 4,last four,phone ext,street number,street name,social security,created by,entered by,added by,reference txn name", "linkedin": "linked in", "company": "doing business,raison sociale,razon social",
		"salutation": "informal greeting,informal salutation,email greeting", "donotcontact": "do not contact,no contact,nicht kontaktieren,ne pas contacter,no contactar", "solicit": "do not solicit,no solicitation,no solicitations,keine werbung,solicit code,solicit codes", "frequency": "how often", "pledgelink": "pledge link", "receipt": "recu fiscal,recus fiscaux", "txn": "balance transaction,billing transaction", "status": "billing status,financial status", "method": "paid by,paid with,bezahlt per,paye par,pagado con,how,billing type", "gift": "gift lookup,line item", "fund": "giving type,giving category,what for,given for", "paidout": "paid out,money out,payments out", "credit": "paid in,money in,payments in",
	} {
		for _, phrase := range strings.Split(list, ",") {
			all[phrase] = meaning
		}
	}
	return all
}()

// signs are what people write for a number.
var signs = strings.NewReplacer("N°", " number ", "n°", " number ", "Nº", " number ", "nº", " number ", "№", " number ", "#", " number ", "(s)", "s", "(e)", "", "·e", "")

// womanToo is how German headings name women and men together: Spender/in, Spender*innen.
var womanToo = regexp.MustCompile(`(?i)(er|or|ent|ant|ist|at)[/*:_(]-?in(?:nen)?\b\)?`)

// zoneName is a time zone in the name of a column: Payment Date (America/New_York).
var zoneName = regexp.MustCompile(`(?i)\b(?:Africa|America|Asia|Atlantic|Australia|Europe|Pacific|Etc)/[A-Za-z_/]+`)

// universal is how headings say that their times are those of no place.
var universal = regexp.MustCompile(`(?i)\b(?:UTC|GMT)\b`)

// zoneIn is the time zone that the name of a column says, nil for none.
func zoneIn(name string) *time.Location {
	if named := zoneName.FindString(name); named != "" {
		if place, ok := text.Timezone(named); ok {
			return place
		}
	}
	if universal.MatchString(strings.ReplaceAll(name, "_", " ")) {
		return time.UTC
	}
	return nil
}

// saysLastFirst tells whether the words of a heading name the last name before the first one: Nom Prénom, Apellidos y nombre, Name (Last, First).
func saysLastFirst(words []string) bool {
	at := map[string]int{}
	for i, word := range words {
		at[vocabulary[word]] = i + 1
	}
	first, last := cmp.Or(at["first"], at["given"]), at["last"]
	if first == 0 {
		first = at["name"]
	} else if last == 0 {
		last = at["name"]
	}
	return 0 < last && last < first
}

// elision is a short word that French writes together with the next one: d'abonnement.
var elision = regexp.MustCompile(`(?i)(^|[^\pL])([dl])['’]`)

// headingWords are the words of the name of a column in small letters, with numbers apart: "E-mail 1 - Value", "MailingStreet", "email2".
func headingWords(name string) []string {
	if strings.ContainsAny(name, "'’") {
		name = elision.ReplaceAllString(name, "$1$2 ")
	}
	var spaced strings.Builder
	var last, before rune
	for i, r := range name {
		acronym := unicode.IsUpper(last) && unicode.IsUpper(before) && unicode.IsUpper(r) && i+1 < len(name) && unicode.IsLower(rune(name[i+1])) // IDNumber is no word
		if unicode.IsUpper(r) && unicode.IsLower(last) && last != 'ß' || unicode.IsDigit(r) != unicode.IsDigit(last) || acronym {
			spaced.WriteByte(' ')
		}
		spaced.WriteRune(r)
		before, last = last, r
	}
	return text.DistinctWords(spaced.String())
}

// heading is what the name of a column says.
type heading struct {
	means   []string // in its order
	unknown int      // words that no one knows
	words   []string // all that add something, the known ones by their meanings: what ids of one kind are told by
	group   string   // which email, phone or address it is
	number  int      // which of several
	line    int      // of an address
	primary bool
	system  string // that it names
	plain   string // as plainName has it

	currency string // that it names; "" for none
}

func (h *heading) has(meanings ...string) bool {
	return slices.ContainsFunc(h.means, func(m string) bool { return slices.Contains(meanings, m) })
}

// parseHeading reads the name of a column.
func parseHeading(name string) (h heading) {
	name = text.Cut(name, longestHeading)
	h.plain = plainName(name)
	if strings.Contains(name, "/") {
		name = zoneName.ReplaceAllString(name, "")
	}
	all := headingWords(signs.Replace(womanToo.ReplaceAllString(name, "$1")))
	for _, r := range name {
		if unicode.Is(unicode.Sc, r) {
			if codes := text.CurrenciesOf(string(r)); len(codes) == 1 {
				h.currency = codes[0]
			}
		}
	}
	for i := 0; i < len(all); {
		meaning, n := meaningAt(all[i:], i == 0)
		if n == 0 {
			h.takeWord(all[i], all, i)
			i++
			continue
		}
		h.take(meaning, strings.Join(all[i:i+n], ""))
		i += n
	}
	return h
}

// channels are the ways in which someone may be reached.
var channels = strings.Fields("mail email phone call sms letter")

// longestHeading is how much of a heading is looked at, in bytes.
const longestHeading = 200

// meaningAt is the meaning of the phrase or the word that words begin with; n is 0 where it is not known.
func meaningAt(all []string, isFirst bool) (meaning string, n int) {
	for n := min(4, len(all)); n > 1; n-- {
		if meaning, ok := phrases[strings.Join(all[:n], " ")]; ok {
			return meaning, n
		}
	}
	word := all[0]
	next := ""
	if len(all) > 1 {
		next, _ = meaningAt(all[1:], false)
	}
	switch {
	case word == "no" && slices.Contains(channels, next): // Requests no email
		return "not", 1
	case word == "bill" && next != "": // Bill street
		return "who", 1
	case word == "postal" && isFirst && len(all) == 1:
		return "zip", 1
	case word == "postal" && next == "zip":
		return "", 1
	}
	if word == "no" && !isFirst || word == "no" && len(all) == 1 { // Gift No. is a number, and No Mail is none
		return "id", 1
	}
	if word == "n" && len(all) > 1 {
		return "id", 1
	}
	if isFirst && (word == "to" || len(all) > 1 && (word == "a" || word == "an")) { // To, and À l'adresse email, are where the money goes
		return "recipient", 1
	}
	for _, spelled := range []string{word, umlauts.Replace(word)} {
		if meaning, ok := vocabulary[spelled]; ok {
			return meaning, 1
		}
	}
	return "", 0
}

// umlauts are written out where a system knows no others: Beguenstigter.
var umlauts = strings.NewReplacer("ae", "a", "oe", "o", "ue", "u")

// takeWord takes a word that is not known as it stands: a number, a system, a currency, or one that is made of several.
func (h *heading) takeWord(word string, all []string, i int) {
	if n, err := strconv.Atoi(word); err == nil {
		switch before := h.means; {
		case len(before) > 0 && before[len(before)-1] == "line" || h.number > 0:
			h.line = n
		default:
			h.number = n
		}
		return
	}
	if len(word) == 1 { // Full Name (F)
		return
	}
	if system, ok := systems[word]; ok {
		h.system, h.words = system, append(h.words, word)
		return
	}
	if i > 0 && len(word) == 3 && text.IsCurrency(strings.ToUpper(word)) { // Amount (USD)
		h.currency = strings.ToUpper(word)
		return
	}
	if rest, ok := strings.CutPrefix(word, "no"); ok && slices.Contains(channels, vocabulary[rest]) { // NOMAIL
		h.take("not", "no")
		h.take(vocabulary[rest], rest)
		return
	}
	if parts := split(word); parts != nil {
		for _, part := range parts {
			meaning, _ := meaningAt([]string{part}, false)
			h.take(meaning, part)
		}
		return
	}
	h.unknown++
	h.words = append(h.words, word)
}

func (h *heading) take(meaning, word string) {
	switch meaning {
	case "":
		return
	case "primary":
		h.primary = true
		return
	case "donotcontact", "solicit":
		h.means, h.words = append(h.means, "block"), append(h.words, "block")
		return
	}
	h.means, h.words = append(h.means, meaning), append(h.words, word)
	switch meaning {
	case "home", "work", "cell", "landline", "shipping":
		h.group += meaning + " "
	case "second", "mailing":
		h.group += word + " "
	case "company", "employer":
		h.group += "work "
	}
}

// split takes a word that people write as one apart, as German does: Spendenbetrag, firstname. Letters may join its parts. It is nil where a part is not known.
func split(word string) []string {
	const shortest = 3
	if len(word) > 40 {
		return nil
	}
	for n := len(word) - 2; n >= shortest; n-- {
		meaning, known := vocabulary[word[:n]]
		if !known || meaning == "" {
			continue
		}
		for _, joint := range []string{"", "s", "n", "en", "es"} {
			rest, ok := strings.CutPrefix(word[n:], joint)
			if !ok || len(rest) < 2 {
				continue
			}
			if meaning, known := vocabulary[rest]; known && meaning != "" && (len(rest) >= shortest || meaning == "id") {
				return []string{word[:n], rest}
			}
			if parts := split(rest); parts != nil {
				return append([]string{word[:n]}, parts...)
			}
		}
	}
	return nil
}

// isForeignDay tells by the name of a column that its days are written with the day first, whatever the region is.
func isForeignDay(name string) bool {
	plain := plainName(name)
	for _, part := range [...]string{"gebor", "geburt", "naissance", "datum", "buchungstag", "datede", "datedu", "fecha", "nacimiento"} {
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
