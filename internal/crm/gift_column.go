package crm

import (
	"slices"
	"strings"
)

// giftColumn is a target that a column of a file of gifts may go to.
type giftColumn struct {
	target  string
	label   string
	names   string // what source systems and people call it, in English, German and French, as plainName has it: the best one first
	giver   string // what it is in a file of contacts, for what a gift says about its giver
	read    func(row *GiftRow, c *giftCell)
	repeats bool // several columns may go there
}

// giftColumns are in the order in which they are offered.
var giftColumns = []giftColumn{
	{target: SkipColumn, label: "Do not import", repeats: true},
	{target: "amount", label: "Amount", read: moneyColumn(func(in *GiftInput) **int64 { return &in.Amount }),
		names: "amount giftamount donationamount contributionamount transactionamount totalamount amountgiven amountpaid paymentamount grossamount amountgross gross total spendenbetrag betrag spendenhohe hohe summe montantdudon montant montantduversement somme"},
	{target: "transacted_at", label: "Date", read: dayColumn(func(in *GiftInput) **string { return &in.GivenAt }),
		names: "transactedat date giftdate donationdate dategiven transactiondate transactiondateutc datereceived receiveddate receivedate contributiondate closedate paymentdate createdutc createddateutc spendendatum datum zahlungsdatum buchungsdatum buchungstag eingangsdatum valuta wertstellung datedudon dateduversement datedepaiement datedereception"},
	{target: "method", label: "Method", read: wordColumn(methodWord, func(in *GiftInput) **string { return &in.Method }),
		names: "method paymentmethod paymenttype paymentinstrument paymentmode tendertype zahlungsart zahlungsweise zahlungsmethode zahlungsmittel modedepaiement moyendepaiement modedereglement moyendereglement typedepaiement"},
	{target: "status", label: "Status", read: readStatus,
		names: "status transactionstatus paymentstatus giftstatus donationstatus contributionstatus stage zahlungsstatus spendenstatus statut statutdudon statutdupaiement"},
	{target: "currency", label: "Currency", read: wordColumn(currencyWord, func(in *GiftInput) **string { return &in.Currency }),
		names: "currency currencycode currencyisocode transactioncurrency wahrung waehrung devise monnaie"},
	{target: "fee", label: "Fee", read: moneyColumn(func(in *GiftInput) **int64 { return &in.Fee }),
		names: "fee fees feeamount processingfee processingfees transactionfee platformfee gebuhr gebuhren gebuehr gebuehren frais commission"},
	{target: "fee_covered", label: "Fee covered by the donor", read: moneyColumn(func(in *GiftInput) **int64 { return &in.FeeCovered }),
		names: "feecovered feescovered coveredfee coveredfees donorcoveredfee donorcoveredfees feecoveredbydonor"},
	{target: "contact_id", label: "Contact ID in Donorbook", names: "contactid", read: idColumn(func(in *GiftInput) **int64 { return &in.Contact })},
	{target: "email", label: "Email", giver: "emails.0.value"},
	{target: "phone", label: "Phone", giver: "phones.0.value"},
	{target: "first_name", label: "First name", giver: "first_name"},
	{target: "last_name", label: "Last name", giver: "last_name"},
	{target: FullNameColumn, label: "Full name", giver: FullNameColumn, names: "donor primarycontact primarycontactname contact spender spenderin donateur donatrice payer auftraggeber zahler"},
	{target: "company", label: "Company", giver: "company"},
	{target: "address_1", label: "Address line 1", giver: "addresses.0.address_1"},
	{target: "address_2", label: "Address line 2", giver: "addresses.0.address_2", repeats: true},
	{target: "city", label: "City", giver: "addresses.0.city"},
	{target: "state", label: "State", giver: "addresses.0.state"},
	{target: "zipcode", label: "Postal code", giver: "addresses.0.zipcode"},
	{target: "country", label: "Country", giver: "addresses.0.country"},
	{target: "address", label: "Address, all in one", giver: "addresses.0." + wholeAddress},
	{target: zipAndCity, label: "Postal code and city", giver: "addresses.0." + zipAndCity},
	{target: "house_number", label: "House number", giver: "addresses.0." + houseNumber},
	{target: "campaign", label: "Campaign: ID, slug or title", read: func(row *GiftRow, c *giftCell) { row.CampaignName = c.text },
		names: "campaign campaigntitle campaignname campaigncode campaignslug primarycampaignsource kampagne spendenaktion aktion campagne"},
	{target: "campaign_id", label: "Campaign ID in Donorbook", names: "campaignid", read: idColumn(func(in *GiftInput) **int64 { return &in.Campaign })},
	{target: "plan_id", label: "Recurring plan ID in Donorbook", names: "planid", read: textColumn(func(in *GiftInput) **string { return &in.Plan })},
	{target: "external_id", label: "External ID", read: textColumn(func(in *GiftInput) **string { return &in.ExternalID }),
		names: "externalid externalreference contributionid donationid giftid opportunityid transactionid trxnid transactionnumber paymentid chargeid transaktionsnummer transaktionsid transaktionscode spendennummer spendenid numerodutransaction numerodetransaction numerodudon"},
	{target: "check_number", label: "Check number", read: textColumn(func(in *GiftInput) **string { return &in.Check }),
		names: "checknumber chequenumber checkno checkreferencenumber schecknummer numerodecheque numeroducheque"},
	{target: "check_deposited_at", label: "Check deposited", read: dayColumn(func(in *GiftInput) **string { return &in.DepositedAt }),
		names: "checkdepositedat checkdeposited depositdate checkdate datedencaissement"},
	{target: "note", label: "Note", repeats: true, read: readNote,
		names: "note notes comment comments description message donationnote giftnote contributionnote contributionsource memo remarks verwendungszweck bemerkung bemerkungen anmerkung notiz kommentar nachricht remarque remarques commentaire commentaires libelle"},
	{target: "dedication_type", label: "Dedication: in honor or in memory", read: dedicationColumn(func(d *Dedication, text string) { d.Type = dedicationWord(text) }),
		names: "dedicationtype tributetype honoreetype"},
	{target: "dedication_name", label: "Dedication: name", read: dedicationColumn(func(d *Dedication, text string) { d.Name = text }),
		names: "dedicationname tributename honoreename tribute inhonorof"},
	{target: "dedication_recipient_name", label: "Dedication: recipient", read: dedicationColumn(func(d *Dedication, text string) { d.RecipientName = text }),
		names: "dedicationrecipientname notificationrecipientname"},
	{target: "dedication_recipient_email", label: "Dedication: recipient's email", read: dedicationColumn(func(d *Dedication, text string) { d.RecipientEmail = text }),
		names: "dedicationrecipientemail notificationrecipientemail"},
	{target: "communication_opt_in", label: "Wants to hear from us", names: "communicationoptin optin marketingoptin newsletteroptin", read: optInColumn},
	{target: "refunded", label: "Refunded amount", names: "refunded amountrefunded refundedamount", read: readRefunded},
	{target: ownGift, label: "Gift ID in Donorbook", read: func(row *GiftRow, c *giftCell) { row.Own = c.text }},
	{target: "livemode", label: "Live payment (not a test)", names: "livemode", read: liveColumn},
}

// giftColumnOf is the column with a target, nil where there is none.
func giftColumnOf(target string) *giftColumn {
	if i := slices.IndexFunc(giftColumns, func(c giftColumn) bool { return c.target == target }); i >= 0 {
		return &giftColumns[i]
	}
	return nil
}

func giftTarget(text string) (repeats, ok bool) {
	c := giftColumnOf(text)
	return c != nil && c.repeats, c != nil
}

// GiftTargets are what a person may choose for a column of a file of gifts, in the order in which they are offered.
func GiftTargets() (targets []string) {
	for _, c := range giftColumns {
		targets = append(targets, c.target)
	}
	return targets
}

// GiftTargetLabel is what people call a target of a file of gifts.
func GiftTargetLabel(text string) string {
	if c := giftColumnOf(text); c != nil {
		return c.label
	}
	return text
}

// CheckGifts refuses a mapping of a file of gifts with a target that is none, or that two columns have, and one without an amount or a date.
func (m Mapping) CheckGifts() error {
	v := new(Invalid)
	has := m.check(v, giftTarget, strings.Join(GiftTargets(), ", "))
	for _, needed := range []string{"amount", "transacted_at"} {
		if name := strings.ToLower(GiftTargetLabel(needed)); len(v.Faults) == 0 && !has(needed) {
			v.Add("", "No column has the %v. The first row of the file must name the columns: choose the one with the %v.", name, name)
		}
	}
	return v.Err()
}

// GuessGiftColumns tells what the columns of a file of gifts mean by their names: those that our own export, Givebutter, Bloomerang, CiviCRM,
// Salesforce, Stripe and PayPal give them, and what people call them in English, German and French. Who gave is told as in a file of contacts.
func GuessGiftColumns(header []string) Mapping {
	m := make(Mapping, len(header))
	found := make([]giftNamed, len(header))
	giver := make([]string, len(header)) // the names of the columns that are not about the gift itself
	best := map[string]int{}             // ranks of the targets
	for i, name := range header {
		name = strings.TrimSpace(name)
		m[i] = Column{Name: name, Target: SkipColumn}
		found[i] = giftName(name)
		if target := found[i].target; target == "" {
			giver[i] = giverName(name)
		} else if rank, taken := best[target]; !taken || found[i].rank < rank {
			best[target] = found[i].rank
		}
	}
	for i, f := range found {
		if repeats, ok := giftTarget(f.target); ok && (repeats || f.rank == best[f.target]) {
			m[i].Target = f.target // two columns of the same name are refused by CheckGifts, since no one can tell which is meant
		}
	}
	m.guessGiver(giver)
	m.leaveForeignIDs()
	for i, c := range m {
		if c.Target == ownGift && (c.Name != ownGift || !m.isOwnGifts()) { // of another system
			m[i].Target = SkipColumn
		}
	}
	return m
}

// ownGift is the column with the ids of gifts that are exported.
const ownGift = "id"

// isOwnGifts tells by columns that no other system has that a file is an export of ours.
func (m Mapping) isOwnGifts() bool {
	return m.find("livemode") >= 0 && m.find("check_deposited_at") >= 0
}

// giftNamed is the target that a name means, and how good a name it is: 0 is the best.
type giftNamed struct {
	target string
	rank   int
}

// giftNames are the targets by their own names and by their plain ones.
var giftNames = func() map[string]giftNamed {
	names := map[string]giftNamed{}
	for _, c := range giftColumns {
		for i, name := range strings.Fields(c.names) {
			names[name] = giftNamed{c.target, i + 1}
		}
	}
	for _, c := range giftColumns[1:] { // all but the first, which skips
		if c.giver == "" { // otherwise the columns beside it tell: an address may be a street or all of it
			names[c.target] = giftNamed{target: c.target}
		}
	}
	return names
}()

// giftName is what a name means; the target is "" where it means none.
func giftName(name string) giftNamed {
	if own, ok := giftNames[strings.ToLower(name)]; ok {
		return own
	}
	return giftNames[plainName(name)]
}

// giverWords stand before what a column says about the giver: Donor First Name, Customer Email.
var giverWords = strings.Fields("donor supporter constituent contact giver payer sender from customer billing card spender spenderin donateur")

// giverName is the name of a column without such words. Where something is shipped to is not where the giver lives.
func giverName(name string) string {
	words := headingWords(name)
	if slices.Contains(words, "shipping") {
		return ""
	}
	words = slices.DeleteFunc(words, func(word string) bool { return slices.Contains(giverWords, word) })
	return strings.Join(words, " ")
}

// guessGiver places the columns that say who gave, as the columns of a file of contacts are.
func (m Mapping) guessGiver(names []string) {
	taken := map[string]bool{}
	for _, c := range m {
		taken[c.Target] = true
	}
	for i, guessed := range GuessColumns(names, nil) {
		place := slices.IndexFunc(giftColumns, func(c giftColumn) bool { return c.giver != "" && c.giver == guessed.Target })
		if place < 0 || m[i].Target != SkipColumn {
			continue
		}
		if c := giftColumns[place]; c.repeats || !taken[c.target] {
			m[i].Target, taken[c.target] = c.target, true
		}
	}
}

// leaveForeignIDs skips a Contact ID and a Campaign ID of another system, which would lead to the wrong contact or campaign of ours: those of a file that
// also has names or emails, or titles of campaigns. Columns that have exactly our names are ours; of our own export the code of the campaign is taken,
// since another account has the same code under another id.
func (m Mapping) leaveForeignIDs() {
	has := func(targets ...string) bool {
		return slices.ContainsFunc(m, func(c Column) bool { return slices.Contains(targets, c.Target) })
	}
	isNamed, isTitled := has("email", "phone", "first_name", "last_name", FullNameColumn), has("campaign")
	isOurs := func(c Column) bool { return c.Name == c.Target }
	for i, c := range m {
		switch {
		case c.Target == "contact_id" && isNamed && !isOurs(c), c.Target == "campaign_id" && isTitled && (!isOurs(c) || m.find("campaign_code") >= 0):
			m[i].Target = SkipColumn
		}
	}
}
