package sheet

import (
	"slices"
	"strings"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/text"
)

// marks are the meanings that a heading may have which tells how someone must not be reached.
var marks = strings.Fields("not out block consent recurring status email mail phone cell landline sms call letter mailing address any who date account type code member home work appeal")

// mark is the mark that a heading or a value means, "" for none. isConsent tells that it says who may be reached, and not who must not.
func (h *heading) mark() (target string, isConsent bool) {
	isOut := h.has("not", "out", "block")
	isConsent = !isOut && (h.has("consent") || h.has("status") && slices.ContainsFunc(h.words, func(word string) bool { return strings.HasPrefix(word, "subscri") }))
	isReach := h.has("email", "mail", "phone", "cell", "landline", "sms", "call", "letter", "mailing", "address")
	switch {
	case h.has("deceased") && !slices.ContainsFunc(h.means, func(m string) bool { return m != "deceased" && m != "date" && m != "who" }):
		return "deceased", false
	case !isOut && !isConsent || slices.ContainsFunc(h.means, func(m string) bool { return !slices.Contains(marks, m) }):
		return "", false
	case isConsent && h.has("date"), h.has("not") && !isReach && !h.has("any", "who", "out", "block", "consent"):
		return "", false
	case h.has("out", "consent") && !isReach:
		return "do_not_email", isConsent
	case isReach:
		return h.channelMark(), isConsent
	}
	return restrictions, isConsent
}

// asksReach tells whether a heading names nothing but a way to reach someone. If its values are yes and no, they tell who may be reached so.
func (h *heading) asksReach() bool {
	return h.has(channels...) && h.unknown == 0 && !slices.ContainsFunc(h.means, func(m string) bool { return m != "who" && m != "mailing" && !slices.Contains(channels, m) })
}

// channelMark is the mark that keeps someone from being reached in the way that a heading names.
func (h *heading) channelMark() string {
	switch {
	case h.has("email"):
		return "do_not_email"
	case h.has("phone", "cell", "landline", "sms", "call"):
		return "do_not_call"
	}
	return "do_not_mail"
}

// placeMarks places columns that tell how someone must not be reached. Where some words are not known, the values must tell; where a column is but a status, they must be such as
// "unsubscribed".
func (g *recognition) placeMarks(done map[int]bool) {
	for i := range g.mapping {
		h, values := &g.headings[i], g.look.column(i)
		target, isConsent := h.mark()
		listed, answers := values.part(listedKind), values.part(answerKind)
		switch isStatus := len(h.means) > 0 && !slices.ContainsFunc(h.means, func(m string) bool { return m != "status" && m != "email" && m != "address" && m != "who" }) && h.has("status"); {
		case done[i]:
			continue
		case isStatus && target == "" && listed >= 0.9 && values.tellsListed():
			target = "do_not_email"
		case target == "" && values.areMarks():
			target = restrictions
		case target == "" && h.asksReach() && values.part(yesKind) >= 0.5 && values.part(emailKind) == 0: // Mail?
			target = h.channelMark()
		case target == "" || h.unknown > 0 && answers < 0.8 || isConsent && values != nil && answers < 0.8:
			continue
		}
		done[i] = g.place(i, target)
	}
}

// areAnswers tells whether nearly all values tell whether someone must not be reached, or in which way.
func (c *seen) areAnswers() bool {
	return c.part(answerKind) >= 0.8 || c.areMarks()
}

// areMarks tells whether the values are lists of how someone must not be reached, whatever their column is called.
func (c *seen) areMarks() bool {
	if c == nil {
		return false
	}
	found := false
	for value := range c.distinct {
		for _, said := range splitTags(value) {
			isMark := markCalled(said) != ""
			if found = found || isMark; !isMark && !slices.Contains(noMarks, plainName(said)) {
				return false
			}
		}
	}
	return found
}

// tellsListed tells whether some value says that someone is on a list, or is not any more.
func (c *seen) tellsListed() bool {
	for value := range c.distinct {
		if plain := plainName(value); strings.HasPrefix(plain, "subscribe") || isOptedOut(plain) {
			return true
		}
	}
	return false
}

// readMark takes a mark. Several columns may tell it, and one that says yes is right. Whoever may not want to be reached is not reached, and the value is listed; but to mark
// living people as deceased is worse than to ask.
func readMark(r *row, c *cell, value string) {
	switch yes, known := isMarked(c, value); {
	case yes && known:
		r.mark(c.mark)
	case known || plainName(value) == "":
	case c.target == "deceased" || c.isConsent && !c.isStatus:
		r.leaveOut(c, value, "is neither yes nor no")
	default:
		r.mark(c.mark)
		r.leaveOut(c, value, "is neither yes nor no. To be safe, the contact is marked: "+strings.ReplaceAll(c.mark, "_", " "))
	}
}

// mark gives the contact a mark, or all of those that keep it from being reached.
func (r *row) mark(name string) {
	if r.marked = append(r.marked, name); name == restrictions {
		r.marked = append(r.marked[:len(r.marked)-1], reachMarks...)
	}
}

// readConsent takes whether someone wants to hear from the organization, of which the gift keeps a note. Who does not is marked as in a file of contacts.
func readConsent(r *row, c *cell, value string) {
	marked, known := isMarked(c, value)
	r.gift.OptIn = new(known && !marked)
	readMark(r, c, value)
}

// withoutConsent is what "Express Consent" and "No Consent" say.
func withoutConsent(value string) string {
	return strings.TrimSuffix(strings.TrimSuffix(strings.TrimSpace(value), " Consent"), " consent")
}

// isMarked reads whether a mark is set. A day is when it was. Who has opted in has not opted out, whatever the column asks.
func isMarked(c *cell, value string) (yes, known bool) {
	value = withoutConsent(value)
	plain := plainName(value)
	switch {
	case c.isConsent && !c.isStatus && plain == "none":
		return true, true
	case slices.Contains(noMarks, plain), c.isConsent && plain == allOfThem:
		return false, true
	case c.target != "deceased" && isOptedOut(plain), c.mark != "" && markCalled(value) == c.mark:
		return true, true
	}
	if _, isDay := text.ReadMoment(value, c.dayFirst); isDay {
		return !c.isConsent, true
	}
	yes, known = text.ReadYesNo(value)
	return yes != c.isConsent, known
}

// What cells say instead of no and yes, as plainName has it.
var (
	noMarks  = strings.Fields("none na unknown null living alive active subscribed optedin optin confirmed ok valid abonne abonnee suscrito angemeldet express expressed explicit implied granted given")
	optedOut = strings.Fields("unsub optedout optout cleaned nonsubscribed notsubscribed bounced complain spam desinscrit desabonne abgemeldet suppressed donot blocked gesperrt withdrawn revoked declined refused hardbounce bounce onhold") // and what comes behind
)

// allOfThem is what someone wants to hear, or what no more.
const allOfThem = "all"

func isOptedOut(plain string) bool {
	return slices.ContainsFunc(optedOut, func(start string) bool { return strings.HasPrefix(plain, start) })
}

// readRestrictions takes a cell that lists how a contact must not be reached, or tells that it must not be reached at all. Some systems have the deceased
// among them.
func readRestrictions(r *row, c *cell, value string) {
	if yes, known := text.ReadYesNo(value); known {
		if yes {
			r.mark(restrictions)
		}
		return
	}
	for _, said := range splitTags(value) {
		switch mark := markCalled(said); {
		case slices.Contains(noMarks, plainName(said)):
		case mark != "":
			r.mark(mark)
		default:
			r.leaveOut(c, said, "is no restriction that contacts have")
		}
	}
}

// reachMarks are the marks of a contact who must not be reached in any way.
var reachMarks = []string{"do_not_mail", "do_not_email", "do_not_call"}

// markCalled is the mark that a value means, "" for none.
func markCalled(value string) string {
	h := parseHeading(value)
	if target, isConsent := h.mark(); !isConsent && h.unknown == 0 {
		return target
	}
	return ""
}

// applyMarks gives the contact the marks that cells have listed, whatever the column of a mark says.
func (r *row) applyMarks() {
	for _, mark := range r.marked {
		setText(&r.contact, mark, "yes")
	}
}

// setText gives a contact a text field as a form has it.
func setText(in *crm.ContactInput, name, value string) {
	if at := slices.IndexFunc(crm.ContactTexts, func(f doc.FormText[*crm.Contact, *crm.ContactInput]) bool { return f.Name == name }); at >= 0 {
		crm.ContactTexts[at].Set(in, value)
	}
}

// leaveOut notes a value that says nothing which a contact can have.
func (r *row) leaveOut(c *cell, value, reason string) {
	r.contact.LeftOut = append(r.contact.LeftOut, crm.LeftOut{Column: c.name, Value: value, Reason: reason})
}

// readContactType takes what kind of contact a row is about. Where several columns tell, one that says company is right: it is the exception.
func readContactType(r *row, c *cell, value string) {
	is, known := contactType(value)
	if yes, answered := text.ReadYesNo(value); answered && !known {
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
	case "company", "organization", "organisation", "business", "corporation", "corporate", "foundation", "nonprofit", "firma", "unternehmen", "entreprise", "societe", "association", "verein", "empresa", "institution",
		"o", "org", "co", "corp", "fd":
		return true, true
	case "individual", "person", "particular", "household", "family", "einzelperson", "individu", "personne", "i", "in", "ind":
		return false, true
	}
	return false, false
}

// settleNames finds the name of a company, which some systems have where a person's name is, and prefixes that stand under Title or Salutation.
func (r *row) settleNames() {
	in := &r.contact
	if in.Prefix != nil {
		if is, _ := contactType(*in.Prefix); is { // Anrede: Firma
			in.Prefix, in.IsCompany = nil, &is
		}
	}
	isCompany := in.IsCompany != nil && *in.IsCompany
	byName := in.IsCompany == nil && in.Company == nil && in.Prefix == nil
	byTwice := in.IsCompany == nil && in.FirstName == nil && in.LastName == nil // its name stands in both columns
	switch isPerson := in.FirstName != nil || in.LastName != nil; {
	case byName && isPerson && isCompanyInTwo(in.FirstName, in.LastName):
		r.fullName, in.FirstName, in.LastName = strings.Join(slices.Concat(fieldsOf(in.FirstName), fieldsOf(in.LastName)), " "), nil, nil
		fallthrough
	case byName && !isPerson && isCompanyName(r.fullName):
		isCompany = true
		in.IsCompany = &isCompany
		r.readAs(r.fullName, "is a company")
	}
	if in.Company != nil && in.IsCompany == nil && in.FirstName == nil && in.LastName == nil {
		prefix, _ := splitPrefix(*in.Company)
		switch {
		case prefix != "": // Account Name: Mr. and Mrs. Paul Greene
			r.fullName, in.Company = *in.Company, nil
		case isCompanyName(*in.Company) && isCompanyName(r.fullName): // of which a sort name is another form
			r.fullName = ""
		}
	}
	switch {
	case in.IsCompany == nil && in.Company != nil && in.FirstName == nil && in.LastName == nil && r.fullName == "":
		isCompany = true
		in.IsCompany = &isCompany
	case isCompany && in.Company == nil && r.fullName != "":
		name := r.fullName
		in.Company, r.fullName = &name, ""
	case isCompany && in.Company == nil && in.FirstName == nil:
		in.Company, in.LastName = in.LastName, nil
	case (isCompany || byTwice) && in.Company != nil && plainName(*in.Company) == plainName(r.fullName):
		in.IsCompany, r.fullName = new(true), ""
	}
	for _, from := range []**string{&in.Title, &in.Salutation} {
		if *from != nil && in.Prefix == nil && isPrefix(**from) {
			in.Prefix, *from = *from, nil
		}
	}
}

// isMonsieur tells M., which is also an initial.
func isMonsieur(word string) bool { return strings.EqualFold(strings.Trim(word, "."), "m") }

// isPrefix tells titles such as Dr. or Mr. and Mrs. from jobs and salutations.
func isPrefix(text string) bool {
	words := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" &+/", r) })
	return len(words) > 0 && !slices.ContainsFunc(words, func(word string) bool {
		return !crm.IsTitle(word) && !(len(words) > 1 && isMonsieur(word)) && len(crm.WithoutAnd([]string{word})) > 0
	})
}
