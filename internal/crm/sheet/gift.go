package sheet

import (
	"strings"

	"donorbook/internal/crm"
	"donorbook/internal/crm/giving"
)

// ownGift is the column with the ids of gifts that are exported.
const ownGift = "id"

// Gifts are files of gifts.
var Gifts = newSheet(Sheet{
	columns: giftColumns(), own: []string{"livemode", "check_deposited_at"}, recognize: recognizeGifts,
	check: func(s *Sheet, has func(string) bool) string {
		for _, needed := range []string{"amount", "transacted_at"} {
			if name := strings.ToLower(s.Label(needed)); !has(needed) {
				return "No column has the " + name + ". The first row of the file must name the columns: choose the one with the " + name + "."
			}
		}
		return ""
	},
})

// giftColumns are in the order in which our files have them. What they say about the giver is read as in a file of contacts.
func giftColumns() []column {
	return complete([]column{
		{target: Skip, label: "Do not import", repeats: true},
		{target: ownGift, label: "Gift ID in Donorbook", read: func(r *row, _ *cell, text string) { r.gift.Own = text },
			write: func(of *record, _ int) any { return of.gift.Code }},
		{heading: "number", write: func(of *record, _ int) any { return giving.GiftNumber(of.gift.ID) }},
		{target: "transacted_at", label: "Date", read: readMoment(func(in *giving.GiftInput) **string { return &in.GivenAt }),
			write: func(of *record, _ int) any { return giftTime(of.gift.At) },
			names: "transactedat date giftdate donationdate dategiven transactiondate transactiondateutc datereceived receiveddate receivedate contributiondate closedate paymentdate createdutc createddateutc spendendatum datum zahlungsdatum buchungsdatum buchungstag eingangsdatum valuta wertstellung datedudon dateduversement datedepaiement datedereception"},
		{target: "amount", label: "Amount", read: readMoney(func(in *giving.GiftInput) **int64 { return &in.Amount }),
			write: money(func(g *giving.Gift) int64 { return g.Payment().Amount }),
			names: "amount giftamount donationamount contributionamount transactionamount totalamount amountgiven amountpaid paymentamount grossamount amountgross gross total spendenbetrag betrag spendenhohe hohe summe montantdudon montant montantduversement somme"},
		{target: "currency", clean: currencyWord, first: true,
			names: "currency currencycode currencyisocode transactioncurrency wahrung waehrung devise monnaie"},
		{target: "method", clean: methodWord,
			names: "method paymentmethod paymenttype paymentinstrument paymentmode tendertype zahlungsart zahlungsweise zahlungsmethode zahlungsmittel modedepaiement moyendepaiement modedereglement moyendereglement typedepaiement"},
		{target: "status", read: readStatus,
			names: "status transactionstatus paymentstatus giftstatus donationstatus contributionstatus stage zahlungsstatus spendenstatus statut statutdudon statutdupaiement"},
		{target: "contact_id", label: "Contact ID in Donorbook", names: "contactid", read: readID(func(in *giving.GiftInput) **int64 { return &in.Contact }),
			write: func(of *record, _ int) any { return of.gift.Contact }},
		{target: "first_name", giver: "first_name"},
		{target: "last_name", giver: "last_name"},
		{target: FullName, label: "Full name", giver: FullName,
			names: "donor primarycontact primarycontactname contact spender spenderin donateur donatrice payer auftraggeber zahler"},
		{target: "company", giver: "company"},
		{target: "email", giver: "emails.0.value"},
		{target: "phone", giver: "phones.0.value"},
		{target: "address_1", label: "Address line 1", giver: numbered(street, 0), path: "address.address_1", write: giverAddress(func(a *crm.Address) string { return a.Line1 })},
		{target: "address_2", label: "Address line 2", giver: numbered(line2, 0), path: "address.address_2", write: giverAddress(func(a *crm.Address) string { return a.Line2 }), repeats: true},
		{target: "city", label: "City", giver: numbered(city, 0), path: "address.city", write: giverAddress(func(a *crm.Address) string { return a.City })},
		{target: "state", label: "State", giver: numbered(state, 0), path: "address.state", write: giverAddress(func(a *crm.Address) string { return a.State })},
		{target: "zipcode", label: "Postal code", giver: numbered(zipcode, 0), path: "address.zipcode", write: giverAddress(func(a *crm.Address) string { return a.Zipcode })},
		{target: "country", label: "Country", giver: numbered(country, 0), path: "address.country", write: giverAddress(func(a *crm.Address) string { return a.Country })},
		{target: "address", label: "Address, all in one", giver: numbered(wholeAddress, 0)},
		{target: "zip_city", label: "Postal code and city", giver: numbered(zipAndCity, 0)},
		{target: "house_number", label: "House number", giver: numbered(houseNumber, 0)},
		{target: "campaign_id", label: "Campaign ID in Donorbook", names: "campaignid", read: readID(func(in *giving.GiftInput) **int64 { return &in.Campaign }),
			write: func(of *record, _ int) any { return id(of.gift.Campaign) }},
		{target: "campaign", label: "Campaign: ID, slug or title", read: func(r *row, _ *cell, text string) { r.gift.CampaignName = text },
			heading: "campaign_code", write: func(of *record, _ int) any { return of.slug },
			names: "campaign campaigntitle campaignname campaigncode campaignslug primarycampaignsource kampagne spendenaktion aktion campagne"},
		{target: "plan_id", label: "Recurring plan ID in Donorbook", names: "planid"},
		{target: "fee", label: "Fee", read: readMoney(func(in *giving.GiftInput) **int64 { return &in.Fee }),
			write: money(func(g *giving.Gift) int64 { return g.Payment().Fee }),
			names: "fee fees feeamount processingfee processingfees transactionfee platformfee gebuhr gebuhren gebuehr gebuehren frais commission"},
		{target: "fee_covered", label: "Fee covered by the donor", read: readMoney(func(in *giving.GiftInput) **int64 { return &in.FeeCovered }),
			write: money(func(g *giving.Gift) int64 { return g.Payment().FeeCovered }),
			names: "feecovered feescovered coveredfee coveredfees donorcoveredfee donorcoveredfees feecoveredbydonor"},
		{heading: "donated", write: money((*giving.Gift).Donated)},
		{heading: "payout", write: money(func(g *giving.Gift) int64 { return g.Payment().Payout() })},
		{target: "refunded", label: "Refunded amount", names: "refunded amountrefunded refundedamount", read: readRefunded, write: money((*giving.Gift).Refunded)},
		{target: "external_id",
			names: "externalid externalreference contributionid donationid giftid opportunityid transactionid trxnid transactionnumber paymentid chargeid transaktionsnummer transaktionsid transaktionscode spendennummer spendenid numerodutransaction numerodetransaction numerodudon"},
		{target: "check_number", names: "checknumber chequenumber checkno checkreferencenumber schecknummer numerodecheque numeroducheque"},
		{target: "check_deposited_at", label: "Check deposited", read: readMoment(func(in *giving.GiftInput) **string { return &in.DepositedAt }),
			write: func(of *record, _ int) any { return giftTime(of.gift.Deposited) },
			names: "checkdepositedat checkdeposited depositdate checkdate datedencaissement"},
		{target: "note", repeats: true, read: func(r *row, _ *cell, text string) { addNote(&r.gift.Note, text) },
			names: "note notes comment comments description message donationnote giftnote contributionnote contributionsource memo remarks verwendungszweck bemerkung bemerkungen anmerkung notiz kommentar nachricht remarque remarques commentaire commentaires libelle"},
		dedication(column{target: "dedication_type", label: "Dedication: in honor or in memory", path: "dedication.type", clean: dedicationWord, names: "dedicationtype tributetype honoreetype"},
			func(d *giving.Dedication) *string { return &d.Type }),
		dedication(column{target: "dedication_name", label: "Dedication: name", path: "dedication.name", names: "dedicationname tributename honoreename tribute inhonorof"},
			func(d *giving.Dedication) *string { return &d.Name }),
		dedication(column{target: "dedication_recipient_name", label: "Dedication: recipient", path: "dedication.recipient_name", names: "dedicationrecipientname notificationrecipientname"},
			func(d *giving.Dedication) *string { return &d.RecipientName }),
		dedication(column{target: "dedication_recipient_email", label: "Dedication: recipient's email", path: "dedication.recipient_email", names: "dedicationrecipientemail notificationrecipientemail"},
			func(d *giving.Dedication) *string { return &d.RecipientEmail }),
		{target: "communication_opt_in", names: "communicationoptin optin marketingoptin newsletteroptin",
			read: func(r *row, c *cell, text string) { yes := r.readYes(c, text); r.gift.OptIn = &yes }, write: func(of *record, _ int) any { return of.gift.OptIn }},
		{target: "livemode", label: "Live payment (not a test)", names: "livemode",
			read: func(r *row, c *cell, text string) { r.gift.Test = !r.readYes(c, text) }, write: func(of *record, _ int) any { return !of.gift.Test }},
		{heading: "created_at", write: func(of *record, _ int) any { return moment(of.gift.CreatedAt) }},
	}, giftFields())
}

func giftFields() (fields []column) {
	for _, f := range giving.GiftTexts {
		fields = append(fields, column{target: f.Name, label: f.Label,
			read:  func(r *row, _ *cell, text string) { f.Set(&r.gift.GiftInput, text) },
			write: func(of *record, _ int) any { return f.Text(of.gift) }})
	}
	return fields
}
