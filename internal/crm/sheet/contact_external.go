package sheet

import (
	"cmp"
	"slices"
	"strings"

	"donorbook/internal/crm"
	"donorbook/internal/crm/giving"
)

// systems are those whose ids headings name, by the word that a heading has.
var systems = map[string]string{
	"bloomerang": "Bloomerang", "salesforce": "Salesforce", "givebutter": "Givebutter", "lgl": "Little Green Light", "donorperfect": "DonorPerfect", "civicrm": "CiviCRM",
	"raisersedge": "Raiser's Edge", "stripe": "Stripe", "paypal": "PayPal", "donorbox": "Donorbox", "neoncrm": "NeonCRM", "kindful": "Kindful", "mailchimp": "Mailchimp", "hubspot": "HubSpot",
}

// namedSystem is the system that a heading names, "" for none.
func namedSystem(heading string) string {
	plain := plainName(heading)
	for system, name := range systems {
		if strings.HasPrefix(plain, system) {
			return name
		}
	}
	return ""
}

// habits are the headings by which files of systems are known whose ids have no name of their own: two of them tell. Contacts and gifts of one system are
// in one list, so that the ids of both have one source.
var habits = []struct{ system, headings string }{
	{"Bloomerang", "accountnumber transactionnumber communicationrestrictions envelopename recognitionname informalname formalname nondeductibleamount"},
	{"CiviCRM", "sortname displayname preferredcommunicationmethod supplementaladdress supplementaladdress2 contributionid financialtype contributionstatus contributionsource"},
	{"Givebutter", "contactexternalid contactsince emailsubscriptionstatus phonesubscriptionstatus campaigncode fundcode feecovered"},
	{"Salesforce", "mailingstreet mailingcity mailingzippostalcode mailingpostalcode mailingstateprovince contactowner accountname npe01homeemailc opportunityid opportunityname closedate primarycampaignsource"},
	{"DonorPerfect", "optline orgrec glcode solicitcode subsolicitcode giftnarrative nomail nomailreason donortype"},
	{"Raiser's Edge", "constituentid constituentname keyindicator constituentcodes solicitcodes softcreditrecipient originalgiftid giftsubtype appealid packageid"},
	{"NeonCRM", "accountid accounttype individualtypes companyid"},
	{"Stripe", "delinquent cardbrand cardlast4 totalspend paymentcount sellermessage statementdescriptor customeremail cardid amountrefunded"},
	{"Donorbox", "supporterid joinmailinglist totaldonated donatedat donorcomment recurringplanid stripechargeid"},
	{"HubSpot", "lifecyclestage associatedcompany leadstatus contactowner"},
}

// System is the system that the file with these columns comes from, as a person has said or as its headings tell; "" where it is not known.
func (m Mapping) System() (system string) {
	most := 1
	for _, known := range habits {
		found := 0
		for _, heading := range strings.Fields(known.headings) {
			if slices.ContainsFunc(m, func(c Column) bool { return plainName(c.Name) == heading }) {
				found++
			}
		}
		if found > most {
			system, most = known.system, found
		}
	}
	for _, c := range m {
		switch c.Source {
		case "":
			continue
		case crm.ImportSource: // a person has said that it is none
			return ""
		}
		return c.Source
	}
	return system
}

// From is the mapping of a file that comes from a system. What is not known has the source of all such files.
func (m Mapping) From(system string) Mapping {
	m = slices.Clone(m)
	for i := range m {
		if m[i].Source = ""; slices.Contains(idTargets, m[i].Target) {
			m[i].Source = cmp.Or(strings.TrimSpace(strings.ReplaceAll(system, ":", " ")), crm.ImportSource)
		}
	}
	return m
}

// idTargets are the targets of columns that may have what other systems call contacts.
var idTargets = []string{externalID, giving.GiverID, "contact_id"}

// sources are those of the ids in each column: the system that its heading names, or else the one that the file comes from. What a system calls external is no
// id of its own, where it has one.
func (m Mapping) sources() []string {
	isForeign := func(c Column) bool { return strings.Contains(plainName(c.Name), "external") }
	hasOwn := slices.ContainsFunc(m, func(c Column) bool { return slices.Contains(idTargets, c.Target) && !isForeign(c) })
	list, system := make([]string, len(m)), m.System()
	for i, c := range m {
		if hasOwn && isForeign(c) {
			list[i] = cmp.Or(namedSystem(c.Name), crm.ImportSource)
		} else {
			list[i] = cmp.Or(namedSystem(c.Name), c.Source, system, crm.ImportSource)
		}
	}
	return list
}

// foreignID leaves out what is no ID, such as a remark below the table, and what stands under "id" and is a number: every table has such ids, and they would name other contacts in the next one.
func foreignID(c *cell, id string) string {
	if strings.EqualFold(c.name, "id") && strings.Trim(id, "0123456789") == "" || strings.Contains(id, " ") {
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
