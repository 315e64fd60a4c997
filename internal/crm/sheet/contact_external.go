package sheet

import (
	"strings"

	"donorbook/internal/crm"
)

// systems are those whose ids headings name, by the word that a heading has.
var systems = map[string]string{
	"bloomerang": "Bloomerang", "salesforce": "Salesforce", "givebutter": "Givebutter", "lgl": "Little Green Light", "donorperfect": "DonorPerfect", "civicrm": "CiviCRM",
	"raisersedge": "Raiser's Edge", "stripe": "Stripe", "paypal": "PayPal", "donorbox": "Donorbox", "neoncrm": "NeonCRM", "kindful": "Kindful", "mailchimp": "Mailchimp", "hubspot": "HubSpot",
}

// personIDNames are the headings of ids that only a person has, also in a file of gifts.
func personIDNames() string {
	names := "accountnumber constituentid constituentnumber donorid donornumber supporterid personid kontaktid spendernummer"
	for system := range systems {
		names += " " + system + "contactid " + system + "constituentid " + system + "accountnumber " + system + "donorid"
	}
	return names
}

// idNames are the headings of ids.
func idNames() string {
	names := personIDNames() + " contactid recordid externalid externalidentifier externalconstituentid contactexternalid customerid id"
	for system := range systems {
		names += " " + system + "id"
	}
	return names
}

// sourceOf is the system that a heading names.
func sourceOf(heading string) string {
	plain := plainName(heading)
	for system, name := range systems {
		if strings.HasPrefix(plain, system) {
			return name
		}
	}
	return crm.ImportSource
}

// foreignID leaves out what stands under "id" and is a number: every table has such ids, and they would name other contacts in the next one.
func foreignID(c *cell, id string) string {
	if strings.EqualFold(c.name, "id") && strings.Trim(id, "0123456789") == "" {
		return ""
	}
	return id
}

// readOwnIDs takes ids as our files have them, each with its source.
func readOwnIDs(r *row, _ *cell, text string) {
	for _, written := range splitTags(text) {
		r.contact.AddedIDs = append(r.contact.AddedIDs, crm.ReadExternalID(written, crm.ImportSource))
	}
}

func writtenIDs(c *crm.Contact) string {
	var ids []string
	for i := range c.ExternalIDs {
		ids = append(ids, c.ExternalIDs[i].Written())
	}
	return joinTags(ids)
}
