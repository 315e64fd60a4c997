package sheet

import (
	"strconv"
	"strings"

	"donorbook/internal/crm"
	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/giving"
)

// Targets of contacts that recognition and reading name.
const (
	oneTag       = "tag" // a column that has one tag, and no separator
	externalID   = "external_id"
	restrictions = "restrictions" // how a contact must not be reached, all in one cell
	ownID        = "own_id"       // the contact that a row of our own export was
	street       = "addresses.#.address_1"
	line2        = "addresses.#.address_2"
	city         = "addresses.#.city"
	state        = "addresses.#.state"
	zipcode      = "addresses.#.zipcode"
	country      = "addresses.#.country"
	wholeAddress = "addresses.#.whole"    // all of it in one cell
	zipAndCity   = "addresses.#.zip_city" // 10115 Berlin
	houseNumber  = "addresses.#.house"    // behind the street
)

// What we call the types of emails and phones, by what headings call them.
var (
	emailTypes = map[string]string{"home": "personal", "work": "work"}
	phoneTypes = map[string]string{"home": "home", "work": "work", "cell": "cell"}
)

// Contacts are files of contacts.
var Contacts = newSheet(Sheet{
	columns: contactColumns(), own: []string{"Recurring given", "Archived", "recurring_contributions", "archived_at",
		"stats.recurring_contributions", "stats.total_contributions"}, readable: true, recognize: recognizeContacts,
	context: []string{"who"},
	more:    ", other emails, phones and addresses by their numbers, custom.ID or new:TYPE",
	check: func(_ *Sheet, has func(string) bool) string {
		if has(FullName) || has("first_name") && has("last_name") {
			return ""
		}
		return "No column has the first and the last name. Choose a column for the first name and one for the last name, or one for the full name."
	},
})

// contactColumns are in the order in which our files have them. A text field that is not here is known by its name and
// its label.
func contactColumns() []column {
	return complete(complete([]column{
		{target: Skip, label: "Do not import", repeats: true},
		{target: ownID, label: "Contact ID", before: "id",
			read:  func(r *row, _ *cell, text string) { r.contact.ID, _ = strconv.ParseInt(text, 10, 64) },
			write: func(of *record, _ int) any { return of.contact.ID }},
		{target: "first_name", means: "first name?, given name"},
		{target: "middle_name", means: "middle name?"},
		{target: "last_name", means: "last name?"},
		{target: FullName, means: "names name? company?, full name?, name, company who name", label: "Full name",
			read: readFullName},
		{target: "dob", means: "birth date?", kind: dayKind, isDay: true, heading: "Date of birth", read: readBirthDay,
			write: func(of *record, _ int) any { return dayText(of.contact.DOB) }},
		{target: "company",
			means: "company name?, account name, employer name?, company employer, who company account?",
			clean: withoutHousehold},
		{target: "title", means: "title, job title?, company title"},
		{target: "twitter_url", means: "twitter profile? id? account?", clean: profileOn("https://twitter.com/")},
		{target: "linkedin_url", means: "linkedin profile? id? account?",
			clean: profileOn("https://www.linkedin.com/in/")},
		{target: "facebook_url", means: "facebook profile? id? account?",
			clean: profileOn("https://www.facebook.com/")},
		{target: "note", means: "note", repeats: true, read: func(r *row, _ *cell,
			text string) {
			addNote(&r.contact.Note, text)
		}},
		{target: "tags", means: "tags, tags type", label: "Tags", repeats: true,
			read:  func(r *row, _ *cell, text string) { r.tags = append(r.tags, splitTags(text)...) },
			write: func(of *record, _ int) any { return joinTags(of.contact.Tags) }},
		{target: "type", means: "who type, account type, type", kind: contactKind, repeats: true,
			read: readContactType},
		{target: "prefix", means: "prefix name? title?", repeats: true, read: readPrefix},
		{target: "suffix", means: "suffix name?"},
		{target: "salutation", means: "salutation name?"},
		{target: "external_ids", label: "External IDs", read: readOwnIDs,
			write: func(of *record, _ int) any { return writtenIDs(of.contact) }},
		{target: externalID, means: "who id, account id, member id, external id, id code?", kind: idKind,
			label: "External ID", repeats: true, clean: foreignID,
			read: func(r *row, c *cell, text string) {
				r.contact.AddedIDs = append(r.contact.AddedIDs, crm.ExternalID{Source: c.source, Value: text})
			}},
		{target: "do_not_mail", repeats: true, read: readMark},
		{target: "do_not_email", repeats: true, read: readMark},
		{target: "do_not_call", repeats: true, read: readMark},
		{target: "deceased", means: "deceased", kind: yesKind, repeats: true, read: readMark},
		{target: restrictions, means: "block code?, account status", label: "Contact restrictions", repeats: true,
			read: readRestrictions},
		{target: oneTag, label: "One tag", repeats: true, read: func(r *row, _ *cell,
			text string) {
			r.tags = append(r.tags, text)
		}},

		{target: "emails.#.value", types: emailTypes, read: readValues(splitEmails), heading: "Email #",
			before: "email_#", write: func(of *record, i int) any { return typedAt(of.contact.Emails, i).Value }},
		{target: "emails.#.type", types: emailTypes, read: readType, heading: "Email # type", before: "email_#_type",
			write: func(of *record, i int) any { return typedAt(of.contact.Emails, i).Type }},
		{target: "phones.#.value", types: phoneTypes, read: readValues(splitPhones), heading: "Phone #",
			before: "phone_#", write: func(of *record, i int) any { return typedAt(of.contact.Phones, i).Value }},
		{target: "phones.#.type", types: phoneTypes, read: readType, heading: "Phone # type", before: "phone_#_type",
			write: func(of *record, i int) any { return typedAt(of.contact.Phones, i).Type }},
		{target: street, heading: "Street #", before: "address_#_line_1", read: readStreet},
		{target: line2, heading: "Address # line 2", before: "address_#_line_2", repeats: true,
			read: func(r *row, c *cell, text string) { r.place(c).addLine(text) }},
		{target: city, heading: "City #", before: "address_#_city"},
		{target: state, heading: "State #", before: "address_#_state"},
		{target: zipcode, heading: "ZIP #", before: "address_#_zipcode"},
		{target: country, heading: "Country #", before: "address_#_country"},
		{target: wholeAddress, label: "Address %d, all in one",
			read: func(r *row, c *cell, text string) { r.place(c).whole = text }},
		{target: zipAndCity, label: "Address %d postal code and city", read: readZipAndCity},
		{target: houseNumber, label: "Address %d house number",
			read: func(r *row, c *cell, text string) { r.place(c).house = text }},

		{target: customTarget, isDay: true, read: func(r *row, c *cell, text string) {
			r.contact.Custom = append(r.contact.Custom, custom.Written(c.n, text).DayFirst(c.dayFirst))
		},
			write: func(of *record, i int) any { return customCell(of.custom[i], of.contact) }},
		{heading: "Total given", before: "total_contributions",
			write: func(of *record, _ int) any { return of.money(of.contact.Given) }},
		{heading: "Recurring given", before: "recurring_contributions",
			write: func(of *record, _ int) any { return of.money(of.contact.Recurring) }},
		{heading: "First gift", write: func(of *record, _ int) any { return day(of.contact.FirstGift) }},
		{heading: "Last gift", write: func(of *record, _ int) any { return day(of.contact.LastGift) }},
		{heading: "Created", before: "created_at", write: func(of *record,
			_ int) any {
			return moment(of.contact.CreatedAt)
		}},
		{heading: "Updated", before: "updated_at", write: func(of *record,
			_ int) any {
			return moment(of.contact.UpdatedAt)
		}},
		{heading: "Archived", before: "archived_at", write: func(of *record,
			_ int) any {
			return moment(of.contact.ArchivedAt)
		}},
		{before: "reason"}, {before: giving.RejectedKey}, // of files of rejected rows
	}, contactFields()), addressFields())
}

func contactFields() (fields []column) {
	for _, f := range crm.ContactTexts {
		fields = append(fields, column{target: f.Name, label: f.Label,
			read:  func(r *row, _ *cell, text string) { f.Set(&r.contact, text) },
			write: func(of *record, _ int) any { return f.Text(of.contact) }})
	}
	return fields
}

func addressFields() (fields []column) {
	for _, f := range crm.AddressTexts {
		fields = append(fields, column{target: "addresses.#." + f.Name, heading: "address_#_" + f.Name,
			read: func(r *row, c *cell, text string) { f.Set(&r.place(c).Address, text) },
			write: func(of *record, i int) any {
				if i < len(of.contact.Addresses) {
					return f.Text(&of.contact.Addresses[i])
				}
				return ""
			}})
	}
	return fields
}

// typedAt is an element of a list, empty where the list is shorter.
func typedAt(list []crm.Typed, i int) (t crm.Typed) {
	if i < len(list) {
		t = list[i]
	}
	return t
}

// readPrefix takes what stands before a name, which may be in two columns: Herr, and Dr.
func readPrefix(r *row, _ *cell, text string) {
	if before := r.contact.Prefix; before != nil && !strings.Contains(*before, text) {
		if text = *before + " " + text; strings.HasPrefix(*before, "Dr") || strings.HasPrefix(*before, "Prof") {
			text = strings.TrimPrefix(text, *before+" ") + " " + *before
		}
	}
	r.contact.Prefix = &text
}

// readFullName takes a name, in the order that the heading has: Nom Prénom. Some systems write Chen; Lily.
func readFullName(r *row, c *cell, text string) {
	if c.lastFirst {
		text = withComma(text)
	}
	if r.fullName = text; !strings.Contains(text, ",") {
		r.fullName = strings.Replace(text, "; ", ", ", 1)
	}
}

// addNote adds a cell to a note, which several columns may go to.
func addNote(note **string, text string) {
	if *note != nil {
		text = **note + "\n\n" + text
	}
	*note = &text
}
