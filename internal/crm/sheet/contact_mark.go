package sheet

import (
	"slices"
	"strings"

	"donorbook/internal/crm"
	"donorbook/internal/crm/text"
)

// markNames are what columns and cells call the marks of a contact.
var markNames = map[string]string{
	"do_not_mail":  "donotmail nomail nopostalmail mailoptout optoutmail donotsendmail keinepost",
	"do_not_email": "donotemail noemail emailoptout optoutemail hasoptedoutofemail nobulkemail nobulkemails nobulkemailsuseroptout unsubscribed unsubscribedfromemail keineemail",
	"do_not_call":  "donotcall nocall nocalls donotphone nophone phoneoptout optoutphone keineanrufe",
	"deceased":     "deceased isdeceased npspdeceasedc verstorben decede",
}

// readMark takes a mark. Several columns may tell it, and one that says yes is right. What says neither yes nor no is listed: to mark living people as deceased
// is worse than to ask.
func readMark(r *row, c *cell, value string) {
	switch yes, known := isMarked(c, value); {
	case yes && known:
		r.marked = append(r.marked, c.target)
	case !known && plainName(value) != "":
		r.leaveOut(c, value, "is neither yes nor no")
	}
}

// isMarked reads whether a mark is set. A day is when it was. Who has opted in has not opted out, whatever the column asks.
func isMarked(c *cell, value string) (yes, known bool) {
	plain := plainName(value)
	if _, isDay := text.ReadMoment(value, c.dayFirst); isDay || markCalled(plain) == c.target {
		return true, true
	}
	yes, known = text.ReadYesNo(value)
	name := plainName(c.name)
	isConsent := strings.Contains(name, "subscription") || strings.HasSuffix(name, "subscribed") && !strings.HasSuffix(name, "unsubscribed")
	switch {
	case slices.Contains(noMarks, plain):
		return false, true
	case c.target != "deceased" && slices.ContainsFunc(optedOut, func(start string) bool { return strings.HasPrefix(plain, start) }):
		return true, true
	}
	return yes != isConsent, known
}

// What cells say instead of no and yes, as plainName has it.
var (
	noMarks  = strings.Fields("none na unknown null living alive active subscribed optedin optin")
	optedOut = strings.Fields("unsub optedout optout cleaned") // and what comes behind
)

// readRestrictions takes a cell that lists how a contact must not be reached, or tells that it must not be reached at all. Some systems have the deceased
// among them.
func readRestrictions(r *row, c *cell, value string) {
	if yes, known := text.ReadYesNo(value); known {
		if yes {
			r.marked = append(r.marked, reachMarks...)
		}
		return
	}
	for _, said := range splitTags(value) {
		switch plain := plainName(said); plain {
		case "active", "none":
		case "donotcontact", "nocontact":
			r.marked = append(r.marked, reachMarks...)
		default:
			if mark := markCalled(plain); mark != "" {
				r.marked = append(r.marked, mark)
			} else {
				r.leaveOut(c, said, "is no restriction that contacts have")
			}
		}
	}
}

// reachMarks are the marks of a contact who must not be reached in any way.
var reachMarks = []string{"do_not_mail", "do_not_email", "do_not_call"}

// markCalled is the mark that a plain name means, "" for none.
func markCalled(plain string) string {
	for mark, names := range markNames {
		if slices.Contains(strings.Fields(names), plain) {
			return mark
		}
	}
	return ""
}

// applyMarks gives the contact the marks that cells have listed, whatever the column of a mark says.
func (r *row) applyMarks() {
	for _, f := range crm.ContactTexts {
		if slices.Contains(r.marked, f.Name) {
			f.Set(&r.contact, "yes")
		}
	}
}

// leaveOut notes a value that says nothing which a contact can have.
func (r *row) leaveOut(c *cell, value, reason string) {
	r.contact.LeftOut = append(r.contact.LeftOut, crm.LeftOut{Column: c.name, Value: value, Reason: reason})
}

// companyQuestions are columns that ask whether the row is a company.
const companyQuestions = "orgrec isorganization isanorganization iscompany isbusiness"

// contactTypes are columns that tell what kind of contact a row is about.
const contactTypes = "constituenttype contacttype donortype supportertype " + companyQuestions + " keyindicator persontyp kontaktart"

// readContactType takes what kind of contact a row is about. Where several columns tell, one that says company is right: it is the exception.
func readContactType(r *row, c *cell, value string) {
	is, known := contactType(value)
	if yes, answered := text.ReadYesNo(value); answered && slices.Contains(strings.Fields(companyQuestions), plainName(c.name)) {
		is, known = yes, true
	}
	switch {
	case !known:
		r.leaveOut(c, value, "is no type of contacts: individual or company")
	case is || r.contact.IsCompany == nil:
		r.contact.IsCompany = &is
	}
}

// contactType tells whether a word means a company, or a person or household.
func contactType(value string) (isCompany, known bool) {
	switch plainName(value) {
	case "company", "organization", "organisation", "business", "corporation", "corporate", "foundation", "nonprofit", "firma", "unternehmen", "entreprise", "institution",
		"o", "org", "co", "corp", "fd":
		return true, true
	case "individual", "person", "household", "family", "einzelperson", "individu", "personne", "i", "in", "ind":
		return false, true
	}
	return false, false
}

// settleNames finds the name of a company, which some systems have where a person's name is, and prefixes that stand under Title or Salutation.
func (r *row) settleNames() {
	in := &r.contact
	isCompany := in.IsCompany != nil && *in.IsCompany
	switch {
	case in.IsCompany == nil && in.Company != nil && in.FirstName == nil && in.LastName == nil && r.fullName == "":
		isCompany = true
		in.IsCompany = &isCompany
	case isCompany && in.Company == nil && r.fullName != "":
		name := r.fullName
		in.Company, r.fullName = &name, ""
	case isCompany && in.Company == nil && in.FirstName == nil:
		in.Company, in.LastName = in.LastName, nil
	case isCompany && in.Company != nil && plainName(*in.Company) == plainName(r.fullName):
		r.fullName = ""
	}
	for _, from := range []**string{&in.Title, &in.Salutation} {
		if *from != nil && in.Prefix == nil && isPrefix(**from) {
			in.Prefix, *from = *from, nil
		}
	}
}

// isPrefix tells titles such as Dr. or Mr. and Mrs. from jobs and salutations.
func isPrefix(text string) bool {
	words := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" &+/", r) })
	return len(words) > 0 && !slices.ContainsFunc(words, func(word string) bool { return !crm.IsTitle(word) && len(crm.WithoutAnd([]string{word})) > 0 })
}
