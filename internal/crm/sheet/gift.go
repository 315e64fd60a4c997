package sheet

import (
	"regexp"
	"strings"

	"donorbook/internal/crm"
	"donorbook/internal/crm/giving"
)

// ownGift is the column with the ids of gifts that are exported.
const ownGift = "id"

// optIn is the column that tells whether a giver wants to hear from the organization.
const optIn = "communication_opt_in"

// Gifts are files of gifts.
var Gifts = newSheet(Sheet{
	columns: giftColumns(), own: []string{"Live payment (not a test)", "Check deposited", "livemode",
		"check_deposited_at"}, readable: true, recognize: recognizeGifts, context: []string{"gift", "pay", "txn"},
	check: func(s *Sheet, has func(string) bool) string {
		hasAmount := has("amount") || has("pledged")
		if !hasAmount && has("net") {
			return "The file has a column for the net amount, but none for the amount paid. Choose the column with the amount, or use the net amount as the amount."
		}
		for _, needed := range []string{"amount", "transacted_at"} {
			if name := strings.ToLower(s.Label(needed)); !has(needed) && (needed != "amount" || !hasAmount) {
				return "No column has the " + name +
					". The first row of the file must name the columns: choose the one with the " + name + "."
			}
		}
		return ""
	},
})

// giftColumns are in the order in which our files have them. What they say about the giver is read as in a file of
// contacts.
func giftColumns() []column {
	return complete([]column{
		{target: Skip, label: "Do not import", repeats: true},
		{target: ownGift, label: "Gift ID in Donorbook", read: func(r *row, _ *cell, text string) { r.gift.Own = text },
			write: func(of *record, _ int) any { return of.gift.Code }},
		{heading: "Number", before: "number", write: func(of *record,
			_ int) any {
			return giving.GiftNumber(of.gift.ID)
		}},
		{target: "transacted_at",
			means: "date gift, date, date txn, date pay, received date?, settled date?, pledge date, created date, created, date given, date event", kind: dayKind, isDay: true, label: "Date", read: readMoment(func(in *giving.GiftInput) **string { return &in.GivenAt }),
			write: func(of *record, _ int) any { return giftTime(of.gift.At) }},
		{target: "amount",
			means: "amount gift, amount, amount txn, amount pay, gross amount?, total gift amount?, amount total, gift, pay, amount given, amount received, total, amount deposit, received, credit amount?, deposit", kind: amountKind, label: "Amount", read: readAmount,
			write: money(func(g *giving.Gift) int64 { return g.Payment().Amount })},
		{target: "pledged", means: "pledge amount?, pledge total amount?", kind: amountKind, late: true,
			label: "Amount pledged", read: func(r *row, c *cell, value string) {
				r.readSum(c, value,
					&r.gift.pledged)
			}},
		{target: "matched",
			means: "match amount?, match gift amount?, company match amount?, employer match amount?, match total amount?", kind: amountKind, late: true, label: "Amount that a company adds", read: func(r *row, c *cell, value string) {
				r.readSum(c, value, &r.gift.matched)
			}},
		{target: "matched_by", means: "match company name?, match employer name?, match who name?, match name",
			kind: nameKind, late: true, label: "Company that adds it", read: func(r *row, _ *cell,
				value string) {
				r.gift.matchedBy = value
			}},
		{target: "match_status", means: "match status", late: true, label: "Status of what the company adds",
			read: readMatchStatus},
		{target: "paid_to", means: "recipient", kind: nameKind, late: true, label: "Who gets the money",
			read: func(r *row, _ *cell, text string) { r.gift.paidTo = text }},
		{target: "paid_out", means: "paidout amount?", kind: amountKind, late: true, label: "Amount paid out (no gift)",
			read: func(r *row, _ *cell, _ string) { r.gift.isPaidOut = true }},
		{target: "currency", means: "currency code? id?, currency who, currency txn, currency net", kind: currencyKind,
			clean: currencyWord, first: true},
		{target: "method",
			means: "method type? id?, pay type, mode pay, pay source type, card type, credit card type, check method",
			kind:  methodKind, read: readMethod},
		{target: "status", changes: true, means: "status, status gift", kind: statusKind, read: readStatus},
		{target: "type", means: "gift type, txn type, type, type pledge", kind: rowKind, late: true,
			label: "Kind of row: gift, pledge, payment or refund", read: readKind},
		{target: "contact_id", label: "Contact ID in Donorbook", read: readContactID,
			write: func(of *record, _ int) any { return of.gift.Contact }},
		{target: giving.GiverID, means: "who id external?, account id, member id, recurring who id", kind: idKind,
			late: true, label: "Contact ID in another system", read: readGiverID},
		{target: "first_name", giver: "first_name"},
		{target: "last_name", giver: "last_name"},
		{target: FullName, means: "who name?, member name, name who, who recipient, card name, company name who",
			label: "Full name", giver: FullName},
		{target: "company", giver: "company"},
		{target: "prefix", giver: "prefix", late: true, label: "Prefix", repeats: true},
		{target: "middle_name", giver: "middle_name", late: true, label: "Middle name"},
		{target: "suffix", giver: "suffix", late: true, label: "Suffix"},
		{target: "do_not_mail", giver: "do_not_mail", late: true, label: "Do not mail", repeats: true},
		{target: "do_not_email", giver: "do_not_email", late: true, label: "Do not email", repeats: true},
		{target: "do_not_call", giver: "do_not_call", late: true, label: "Do not call", repeats: true},
		{target: restrictions, giver: restrictions, late: true, label: "Contact restrictions", repeats: true},
		{target: "contact_type", means: "who type, account type", kind: contactKind, late: true,
			label: "Contact type: individual or company", giver: "type", repeats: true},
		{target: "email", giver: "emails.0.value"},
		{target: "phone", giver: "phones.0.value"},
		{target: "address_1", label: "Address line 1", giver: numbered(street, 0), path: "address.address_1",
			write: giverAddress(func(a *crm.Address) string { return a.Line1 })},
		{target: "address_2", label: "Address line 2", giver: numbered(line2, 0), path: "address.address_2",
			write: giverAddress(func(a *crm.Address) string { return a.Line2 }), repeats: true},
		{target: "city", label: "City", giver: numbered(city, 0), path: "address.city",
			write: giverAddress(func(a *crm.Address) string { return a.City })},
		{target: "state", label: "State", giver: numbered(state, 0), path: "address.state",
			write: giverAddress(func(a *crm.Address) string { return a.State })},
		{target: "zipcode", label: "Postal code", giver: numbered(zipcode, 0), path: "address.zipcode",
			write: giverAddress(func(a *crm.Address) string { return a.Zipcode })},
		{target: "country", label: "Country", giver: numbered(country, 0), path: "address.country",
			write: giverAddress(func(a *crm.Address) string { return a.Country })},
		{target: "address", label: "Address, all in one", giver: numbered(wholeAddress, 0)},
		{target: "zip_city", label: "Postal code and city", giver: numbered(zipAndCity, 0)},
		{target: "house_number", label: "House number", giver: numbered(houseNumber, 0)},
		{target: "campaign_id", means: "campaign id", label: "Campaign ID in Donorbook",
			read:  readID(func(in *giving.GiftInput) **int64 { return &in.Campaign }),
			write: func(of *record, _ int) any { return id(of.gift.Campaign) }},
		{target: "campaign",
			means: "campaign, campaign name, campaign title, campaign code, campaign source name?, campaign page name? title?, fund, fund name, fund title, fund note, fund code, fund type, appeal, appeal name, appeal title, appeal code, event name?, event title, ledger code?", label: "Campaign: ID, slug or title", read: func(r *row, _ *cell, text string) { r.gift.CampaignName = withoutAmounts(text) },
			heading: "Campaign", before: "campaign_code", write: func(of *record, _ int) any { return of.title }},
		{target: "plan", means: "recurring pledge? id, recurring", kind: planKind, late: true,
			label: "Recurring gift ID in another system", read: func(r *row, _ *cell,
				text string) {
				r.gift.Filed.Plan = text
			}},
		{target: "plan_id", label: "Recurring gift ID in Donorbook"},
		{target: "frequency",
			means: "frequency recurring?, recurring frequency, recurring type, installment frequency, recurring",
			kind:  frequencyKind, late: true, label: "How often the recurring gift comes", read: readFrequency},
		{target: "fee", changes: true, means: "fee amount?, fee total amount?, fee pay, fee card", kind: amountKind,
			label: "Fee", read: readMoney(func(in *giving.GiftInput) **int64 { return &in.Fee }),
			write: money(func(g *giving.Gift) int64 { return g.Payment().Fee })},
		{target: "fee_covered", changes: true, means: "fee covered amount? who?, covered who? amount?, fee who amount?",
			label: "Fee covered by the donor", read: readCovered,
			write: money(func(g *giving.Gift) int64 { return g.Payment().FeeCovered })},
		{target: "net", means: "net amount? deposit?, net total amount?", kind: amountKind, late: true,
			label: "Net amount, after fees", read: readNet},
		{heading: "Donated", before: "donated", write: money((*giving.Gift).Donated)},
		{heading: "Payout", before: "payout", write: money(func(g *giving.Gift) int64 { return g.Payment().Payout() })},
		{target: "refunded", changes: true, means: "refund amount? total?", label: "Refunded amount",
			read:  readGone(func(g *GiftRow) (*bool, **int64) { return &g.isRefunded, &g.refunded }),
			write: money((*giving.Gift).Refunded)},
		{target: "refunded_at", means: "refund date", kind: dayKind, isDay: true, late: true, label: "Refund date",
			read:  func(r *row, c *cell, text string) { readDay(r, c, text, &r.gift.refundedAt) },
			write: func(of *record, _ int) any { return giftTime(of.gift.RefundedAt()) }},
		{target: "disputed", means: "dispute amount?", late: true, label: "Disputed amount",
			read: readGone(func(g *GiftRow) (*bool, **int64) { return &g.isDisputed, &g.disputed })},
		{target: "dispute_status", means: "dispute status", late: true, label: "Dispute: status", read: readDispute},
		{target: "disputed_at", means: "dispute date", kind: dayKind, isDay: true, late: true, label: "Dispute date",
			read: func(r *row, c *cell, text string) { readDay(r, c, text, &r.gift.disputedAt) }},
		{target: "refund_of", means: "original id? code?, original gift, refund id original?", late: true,
			label: "Refund of: ID of the original gift", read: func(r *row, c *cell, text string) {
				r.gift.Filed.RefundOf, r.gift.namesRefund = text, strings.Contains(c.kind, "refund")
			}},
		{target: "pledge", means: "pledge id, pledgelink, pledge original id, pledge installment id", late: true,
			label: "Payment of: ID of the pledge", read: func(r *row, _ *cell,
				text string) {
				r.gift.Filed.Pledge = text
			}},
		{target: "external_id", read: readGiftID,
			means: "external id, txn id, pay id, id gift, id, receipt id, invoice id, invoice code, txn code, pay code, gift code", kind: idKind},
		{target: "gift_id", repeats: true,
			means: "external id, txn id, pay id, id gift, id, receipt id, invoice id, invoice code, txn code, pay code, gift code, source", kind: idKind, late: true, label: "Another ID of the gift", read: readGiftID},
		{target: "check_number", means: "check id, check", kind: serialKind},
		{target: "check_deposited_at", changes: true, means: "deposit date, check date, check deposit date?",
			kind: dayKind, isDay: true, label: "Check deposited",
			read:  readMoment(func(in *giving.GiftInput) **string { return &in.DepositedAt }),
			write: func(of *record, _ int) any { return giftTime(of.gift.Deposited) }},
		{target: "note", changes: true, means: "note who?, note received?, note home?, source", repeats: true,
			read: func(r *row, _ *cell, text string) { addNote(&r.gift.Note, text) }},
		{target: "soft_credit", means: "soft who? name? amount? type? recipient?", late: true,
			label: "Soft credit (kept in the note)", repeats: true, read: readSoftCredit},
		dedication(column{target: "dedication_type", means: "honor type, memory type, honor memory type?, honor",
			kind: dedicationKind, label: "Dedication: in honor or in memory", path: "dedication.type",
			clean: dedicationWord},
			func(d *giving.Dedication) *string { return &d.Type }),
		dedication(column{target: "dedication_name", means: "honor name, honor, honor note?, honor memory name?",
			label: "Dedication: name", path: "dedication.name"},
			func(d *giving.Dedication) *string { return &d.Name }),
		{target: "in_honor_of", late: true, label: "In honor of: name", read: readDedicated("in_honor_of")},
		{target: "in_memory_of", means: "memory name?", late: true, label: "In memory of: name",
			read: readDedicated("in_memory_of")},
		dedication(column{target: "dedication_recipient_name", means: "honor recipient name, recipient name",
			label: "Dedication: recipient", path: "dedication.recipient_name"},
			func(d *giving.Dedication) *string { return &d.RecipientName }),
		dedication(column{target: "dedication_recipient_email", means: "honor recipient email, recipient email",
			label: "Dedication: recipient's email", path: "dedication.recipient_email"},
			func(d *giving.Dedication) *string { return &d.RecipientEmail }),
		{target: optIn, means: "consent any? who? email? mail? sms? phone?", kind: yesKind, read: readConsent,
			write: func(of *record, _ int) any { return of.gift.OptIn }},
		{target: "benefit_value", late: true, kind: amountKind,
			read: readMoney(func(in *giving.GiftInput) **int64 { return &in.BenefitValue })},
		{target: "livemode", means: "live, mode", kind: modeKind, label: "Live payment (not a test)",
			read:  func(r *row, c *cell, text string) { r.readTest(c, text, false) },
			write: func(of *record, _ int) any { return !of.gift.Test }},
		{target: "test", means: "test mode?", kind: modeKind, late: true, label: "Test payment",
			read: func(r *row, c *cell, text string) { r.readTest(c, text, true) }},
		{heading: "Recorded", before: "created_at", write: func(of *record,
			_ int) any {
			return moment(of.gift.CreatedAt)
		}},
	}, giftFields())
}

// amountsBeside are the amounts that a list of funds has behind each: General ($150.00), Missions ($50.00).
var amountsBeside = regexp.MustCompile(`\s*\(-?\p{Sc}?\s?[0-9][0-9.,' ]*[.,][0-9]{2}\s?\p{Sc}?\)`)

func withoutAmounts(funds string) string {
	if !strings.Contains(funds, "(") {
		return funds
	}
	return amountsBeside.ReplaceAllString(funds, "")
}

func giftFields() (fields []column) {
	for _, f := range giving.GiftTexts {
		fields = append(fields, column{target: f.Name, label: f.Label,
			read:  func(r *row, _ *cell, text string) { f.Set(&r.gift.GiftInput, text) },
			write: func(of *record, _ int) any { return f.Text(of.gift) }})
	}
	return fields
}
