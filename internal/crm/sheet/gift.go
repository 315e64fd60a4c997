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
	columns: giftColumns(), own: []string{"Live payment (not a test)", "Check deposited", "livemode", "check_deposited_at"}, readable: true, recognize: recognizeGifts,
	check: func(s *Sheet, has func(string) bool) string {
		if !has("amount") && has("net") {
			return "The file has a column for the net amount, but none for the amount paid. Choose the column with the amount, or use the net amount as the amount."
		}
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
		{heading: "Number", before: "number", write: func(of *record, _ int) any { return giving.GiftNumber(of.gift.ID) }},
		{target: "transacted_at", isDay: true, label: "Date", read: readMoment(func(in *giving.GiftInput) **string { return &in.GivenAt }),
			write: func(of *record, _ int) any { return giftTime(of.gift.At) },
			names: "transactedat date giftdate donationdate dategiven transactiondate transactiondateutc datereceived receiveddate receivedate contributiondate closedate paymentdate createdutc createddateutc spendendatum datum zahlungsdatum buchungsdatum buchungstag eingangsdatum valuta wertstellung datedudon dateduversement datedepaiement datedereception donatedat donateddate donationdatetime giftdatetime paidat paiddate pledgedate"},
		{target: "amount", label: "Amount", read: readAmount,
			write: money(func(g *giving.Gift) int64 { return g.Payment().Amount }),
			names: "amount giftamount donationamount contributionamount transactionamount totalamount amountgiven amountpaid paymentamount grossamount amountgross gross total spendenbetrag betrag spendenhohe hohe summe montantdudon montant montantduversement somme receivedamount donationtotal gifttotal"},
		{target: "currency", clean: currencyWord, first: true,
			names: "currency currencycode currencyisocode transactioncurrency wahrung waehrung devise monnaie"},
		{target: "method", read: readMethod,
			names: "method paymentmethod paymethod paymentsourcetype giftpaymenttype giftmethod paymenttype paymentinstrument paymentmode tendertype zahlungsart zahlungsweise zahlungsmethode zahlungsmittel modedepaiement moyendepaiement modedereglement moyendereglement typedepaiement"},
		{target: "status", read: readStatus,
			names: "status transactionstatus paymentstatus giftstatus donationstatus contributionstatus stage zahlungsstatus spendenstatus statut statutdudon statutdupaiement opportunitystage stagename"},
		{target: "type", late: true, label: "Kind of row: gift, pledge, payment or refund", read: readKind,
			names: "type gifttype transactiontype giftrecordtype recordtype opportunityrecordtype contributiontype pledgetype"},
		{target: "contact_id", label: "Contact ID in Donorbook", names: "contactid", read: readContactID,
			write: func(of *record, _ int) any { return of.gift.Contact }},
		{target: giving.GiverID, late: true, label: "Contact ID in another system", read: readGiverID, names: personIDNames() + " primarycontactid"},
		{target: "first_name", giver: "first_name"},
		{target: "last_name", giver: "last_name"},
		{target: FullName, label: "Full name", giver: FullName,
			names: "donor primarycontact primarycontactname contact spender spenderin donateur donatrice payer auftraggeber zahler"},
		{target: "company", giver: "company"},
		{target: "contact_type", late: true, label: "Contact type: individual or company", giver: "type", names: contactTypes, repeats: true},
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
			heading: "Campaign", before: "campaign_code", write: func(of *record, _ int) any { return of.title },
			names: "campaign campaigntitle campaignname campaigncode campaignslug primarycampaignsource kampagne spendenaktion aktion campagne designation fund fundname funddescription glcode gl generalledger appeal appealname solicitcode"},
		{target: "plan", late: true, label: "Recurring gift ID in another system", read: func(r *row, _ *cell, text string) { r.gift.Filed.Plan = text },
			names: "subscriptionid planid recurringplanid recurringid recurringdonationid recurringgiftid recurringcontributionid recurringprofileid recurringprofile recurringpaymentid subscription"},
		{target: "plan_id", label: "Recurring gift ID in Donorbook"},
		{target: "frequency", late: true, label: "How often the recurring gift comes", read: readFrequency,
			names: "frequency recurringfrequency recurringinterval installmentperiod billingfrequency giftfrequency donationfrequency interval"},
		{target: "fee", label: "Fee", read: readMoney(func(in *giving.GiftInput) **int64 { return &in.Fee }),
			write: money(func(g *giving.Gift) int64 { return g.Payment().Fee }),
			names: "fee fees feeamount processingfee processingfees transactionfee platformfee gebuhr gebuhren gebuehr gebuehren frais commission"},
		{target: "fee_covered", label: "Fee covered by the donor", read: readCovered,
			write: money(func(g *giving.Gift) int64 { return g.Payment().FeeCovered }),
			names: "feecovered feescovered coveredfee coveredfees donorcoveredfee donorcoveredfees feecoveredbydonor feescoveredbydonor donorcoversfee donorcoversfees coversfees feecoverage"},
		{target: "net", late: true, label: "Net amount, after fees", read: readNet,
			names: "net netamount amountnet netvalue netdonation payout payoutamount depositedamount netto montantnet"},
		{heading: "Donated", before: "donated", write: money((*giving.Gift).Donated)},
		{heading: "Payout", before: "payout", write: money(func(g *giving.Gift) int64 { return g.Payment().Payout() })},
		{target: "refunded", label: "Refunded amount", names: "refunded amountrefunded refundedamount refundamount refundtotal totalrefunded isrefunded", read: readGone(func(g *GiftRow) (*bool, **int64) { return &g.isRefunded, &g.refunded }), write: money((*giving.Gift).Refunded)},
		{target: "refunded_at", isDay: true, late: true, label: "Refund date", names: "refundedat refundeddate refundeddateutc refunddate daterefunded refundedon",
			read: func(r *row, c *cell, text string) { readDay(r, c, text, &r.gift.refundedAt) }, write: func(of *record, _ int) any { return giftTime(of.gift.RefundedAt()) }},
		{target: "disputed", late: true, label: "Disputed amount", names: "disputed disputedamount disputeamount amountdisputed", read: readGone(func(g *GiftRow) (*bool, **int64) { return &g.isDisputed, &g.disputed })},
		{target: "dispute_status", late: true, label: "Dispute: status", names: "disputestatus chargebackstatus", read: readDispute},
		{target: "disputed_at", isDay: true, late: true, label: "Dispute date", names: "disputedate disputedateutc disputedat chargebackdate",
			read: func(r *row, c *cell, text string) { readDay(r, c, text, &r.gift.disputedAt) }},
		{target: "refund_of", late: true, label: "Refund of: ID of the original gift", read: func(r *row, _ *cell, text string) { r.gift.Filed.RefundOf = text },
			names: "refundof referencetxnid referencetransactionid originaltransactionid originalpaymentid originalgiftid originaldonationid parenttransactionid parentid parentgiftid adjustedgiftid"},
		{target: "pledge", late: true, label: "Payment of: ID of the pledge", read: func(r *row, _ *cell, text string) { r.gift.Filed.Pledge = text },
			names: "pledgeid pledgenumber pledgegiftid pledgetransactionnumber linkedpledgeid plink parentpledgeid"},
		{target: "external_id",
			names: "externalid externalreference transactionid trxnid chargeid stripechargeid stripetransactionid gatewaytransactionid paymentid transaktionsnummer transaktionsid transaktionscode spendennummer spendenid numerodutransaction numerodetransaction numerodudon"},
		{target: "gift_id", late: true, label: "Gift ID, where there is no external ID", read: func(r *row, _ *cell, text string) { r.gift.giftID = text },
			names: "paypaltransactionid paypalcaptureid giftid lglgiftid donationid contributionid opportunityid transactionnumber systemrecordid giftsystemid paymentnumber giftnumber donationnumber receiptid"},
		{target: "check_number", names: "checknumber chequenumber checkno checkreferencenumber checkreferenceno checkreference checkorreferencenumber schecknummer numerodecheque numeroducheque"},
		{target: "check_deposited_at", isDay: true, label: "Check deposited", read: readMoment(func(in *giving.GiftInput) **string { return &in.DepositedAt }),
			write: func(of *record, _ int) any { return giftTime(of.gift.Deposited) },
			names: "checkdepositedat checkdeposited depositdate dateofdeposit depositedon datedeposited checkdate datedencaissement"},
		{target: "note", repeats: true, read: func(r *row, _ *cell, text string) { addNote(&r.gift.Note, text) },
			names: "note notes comment comments description message donationnote giftnote contributionnote contributionsource memo remarks verwendungszweck bemerkung bemerkungen anmerkung notiz kommentar nachricht remarque remarques commentaire commentaires libelle donorcomment internalnotes giftnarrative giftcomment giftcomments giftnotes"},
		{target: "soft_credit", late: true, label: "Soft credit (kept in the note)", repeats: true, read: readSoftCredit,
			names: "softcredit softcredits softcreditto softcreditname softcreditnames softcreditdonor softcreditrecipient softcreditcontact softcreditamount softcredittype"},
		dedication(column{target: "dedication_type", label: "Dedication: in honor or in memory", path: "dedication.type", clean: dedicationWord, names: "dedicationtype tributetype honoreetype memoryhonor tributegifttype"},
			func(d *giving.Dedication) *string { return &d.Type }),
		dedication(column{target: "dedication_name", label: "Dedication: name", path: "dedication.name", names: "dedicationname tributename honoreename tribute tributedescription dedicatedto dedication"},
			func(d *giving.Dedication) *string { return &d.Name }),
		{target: "in_honor_of", late: true, label: "In honor of: name", names: "inhonorof inhonourof honoring", read: readDedicated("in_honor_of")},
		{target: "in_memory_of", late: true, label: "In memory of: name", names: "inmemoryof inmemoriam", read: readDedicated("in_memory_of")},
		dedication(column{target: "dedication_recipient_name", label: "Dedication: recipient", path: "dedication.recipient_name", names: "dedicationrecipientname notificationrecipientname"},
			func(d *giving.Dedication) *string { return &d.RecipientName }),
		dedication(column{target: "dedication_recipient_email", label: "Dedication: recipient's email", path: "dedication.recipient_email", names: "dedicationrecipientemail notificationrecipientemail"},
			func(d *giving.Dedication) *string { return &d.RecipientEmail }),
		{target: "communication_opt_in", names: "communicationoptin optin marketingoptin newsletteroptin",
			read: func(r *row, c *cell, text string) { yes := r.readYes(c, text); r.gift.OptIn = &yes }, write: func(of *record, _ int) any { return of.gift.OptIn }},
		{target: "livemode", label: "Live payment (not a test)", names: "livemode mode",
			read: func(r *row, c *cell, text string) { r.readTest(c, text, false) }, write: func(of *record, _ int) any { return !of.gift.Test }},
		{target: "test", late: true, label: "Test payment", names: "test istest testmode testgift testdonation testtransaction",
			read: func(r *row, c *cell, text string) { r.readTest(c, text, true) }},
		{heading: "Recorded", before: "created_at", write: func(of *record, _ int) any { return moment(of.gift.CreatedAt) }},
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
