package sheet

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/giving"
)

// What the words of a heading and the values below it tell about a column, in points. What has sure points or more is mapped. What has fewer, and doubtful ones or more,
// is asked.
const (
	byWords   = 100 // all words are explained; less the rank of the pattern
	byPart    = 50  // some words are not known
	perWord   = 5   // that is not known
	fitting   = 30  // nearly all values are of the kind
	unfitting = -45 // hardly any value is
	byValues  = 98  // a closed set of known words, whatever the column is called
	prefixed  = 10  // less where a word was left out that may mean something
	sure      = 60
	doubtful  = 35
)

// pattern is meanings that a heading has together.
type pattern struct{ need, may []string }

// parsePatterns reads the patterns of a column, the best one first: meanings, with ? behind those that may be missing.
func parsePatterns(means string) (all []pattern) {
	for _, one := range strings.Split(means, ",") {
		var p pattern
		for _, meaning := range strings.Fields(one) {
			if optional, ok := strings.CutSuffix(meaning, "?"); ok {
				p.may = append(p.may, optional)
			} else {
				p.need = append(p.need, meaning)
			}
		}
		if len(p.need) > 0 {
			all = append(all, p)
		}
	}
	return all
}

// explains tells whether a pattern has all meanings of a heading, and the heading all that the pattern needs.
func (p *pattern) explains(h *heading, context []string) bool {
	for _, need := range p.need {
		if !h.has(need) {
			return false
		}
	}
	return !slices.ContainsFunc(h.means, func(m string) bool {
		return !slices.Contains(p.need, m) && !slices.Contains(p.may, m) && !slices.Contains(context, m)
	})
}

// rate is how likely a column goes to a target.
func (s *Sheet) rate(c *column, h *heading, values *seen) (score int) {
	if len(c.patterns) == 0 && c.giver == "" && c.label != "" && c.target != Skip && c.target != ownID && c.target != ownGift && c.target != oneTag && (h.plain == plainName(c.label) || h.plain == plainName(c.target)) {
		return byWords
	}
	for rank := range c.patterns {
		if c.patterns[rank].explains(h, s.context) {
			if score = byWords - rank; h.system != "" {
				score-- // such as an id of a third system
			}
			if h.prefixed {
				score -= prefixed
			}
			if h.unknown > 0 {
				score = byPart - perWord*h.unknown - rank
			}
			break
		}
	}
	return score + c.rateValues(h, values, score)
}

// rateValues is what the values of a column add to what its words tell.
func (c *column) rateValues(h *heading, values *seen, words int) int {
	if values == nil || c.kind == anyText {
		return 0
	}
	part, isSet := values.part(c.kind), c.kind == statusKind || c.kind == methodKind || c.kind == rowKind || c.kind == frequencyKind
	switch {
	case words == 0 && c.kind == rowKind && h.has("id") && values.part(idKind) >= 0.9 && values.isUnique():
		return 0
	case words == 0 && c.kind == statusKind && h.has("type") && values.part(rowKind) >= part: // Pledge Payment
		return 0
	case words == 0 && c.kind == statusKind && part >= 0.5 && h.has("state") && values.few() && values.filled > 1: // Estado is both
		return byValues
	case words == 0 && isSet && part >= 0.95 && values.few() && values.filled > 1 && (len(values.distinct) > 1 || h.has("type", "method", "status", "mode") || h.has("state") && c.kind == statusKind) && isOpen(h):
		return byValues
	case words == 0:
		return 0
	case c.kind == methodKind && values.isDirection():
		return 2 * unfitting
	case c.kind == idKind && c.target == giving.GiverID && part >= 0.5: // one giver has many gifts
		return fitting
	case c.kind == idKind:
		return c.rateID(h, values, part)
	case c.kind == planKind && slices.Contains(h.words, "id") && values.part(serialKind) == 1: // a small number, too, where the heading says ID
		return fitting
	case (c.kind == serialKind || c.kind == planKind || c.kind == modeKind || c.kind == dedicationKind && len(h.means) == 1) && part < 0.9:
		return 2 * unfitting
	case c.kind == amountKind && max(values.part(yesKind), values.part(dayKind)) >= 0.9 && part < 0.9:
		return 2 * unfitting
	case part >= 0.9:
		return fitting
	case isSet && words == byPart-perWord*h.unknown && part >= 0.5 && values.few(): // words that no one knows are asked
		return fitting / 2
	case c.kind == rowKind && values.part(methodKind) >= 0.95: // which kinds of gifts may be, where another column has the method
		return unfitting / 2
	case (c.kind == rowKind || c.kind == contactKind) && part == 0 && values.filled > 1:
		return unfitting
	case part < 0.1 && values.filled >= 5 && (!isSet || values.few() || values.part(nameKind) >= 0.8), isSet && part < 0.5 && values.isOther(c.kind):
		return unfitting
	}
	return 0
}

// isOther tells whether all values are those of another closed set.
func (c *seen) isOther(of kind) bool {
	return slices.ContainsFunc([]kind{statusKind, methodKind, rowKind, frequencyKind}, func(other kind) bool { return other != of && c.part(other) >= 0.95 })
}

// isDirection tells whether the values are debit and credit: in which direction money went, and not by which card.
func (c *seen) isDirection() bool {
	hasDebit := false
	for value := range c.distinct {
		plain := plainWord(value)
		if plain != "debit" && plain != "credit" {
			return false
		}
		hasDebit = hasDebit || plain == "debit"
	}
	return hasDebit
}

// rateID is what values add to a heading of ids: they name one row each.
func (c *column) rateID(h *heading, values *seen, part float64) int {
	switch {
	case part == 0, !values.isUnique(), c.target == "gift_id" && values.part(planKind) == 0: // which of several payments it is
		return 2 * unfitting
	case values.filled < 3:
		return 0
	case part < 0.5 || values.isCount() && len(h.means) == 1: // 1, 2, 3 number the rows of this file alone
		return 2 * unfitting
	}
	return fitting
}

// isOpen tells whether a heading says nothing that its values could contradict.
func isOpen(h *heading) bool {
	return !slices.ContainsFunc(h.means, func(m string) bool {
		return !slices.Contains([]string{"gift", "pay", "txn", "type", "method", "mode", "status", "source", "id", "code", "received", "settled", "card", "frequency", "recurring", "note", "title", "state", "created", "tags", "invoice", "check"}, m)
	})
}

// recognition is what has been found out so far.
type recognition struct {
	sheet    *Sheet
	mapping  Mapping
	headings []heading
	look     *Look
	taken    map[string]bool // targets, and elements of lists: emails.0
	found    []foundHeading
}

// candidate is a target that a column may go to.
type candidate struct {
	column, score int
	target        string
}

func (s *Sheet) newRecognition(header []string, look *Look) *recognition {
	g := &recognition{sheet: s, mapping: make(Mapping, len(header)), headings: make([]heading, len(header)), look: look, taken: map[string]bool{}}
	for i, name := range header {
		g.mapping[i] = Column{Name: strings.TrimSpace(name), Target: Skip}
		g.headings[i] = parseHeading(name)
		if i > 0 && isNumber(&g.headings[i]) && g.headings[i-1].has("street") && !g.headings[i-1].has("house") { // Straße; Nr.
			g.headings[i] = parseHeading("house number")
		}
		g.readPlace(i)
	}
	g.dropPrefixes()
	return g
}

// dropPrefixes leaves out what a system puts before the names of its columns: stored_customer_city, CnBio_First_Name. That is a word that no one knows before three headings or more,
// none of which says without it what another heading says: the column of an emergency contact's name has one beside it for the name.
func (g *recognition) dropPrefixes() {
	begin := map[string][]int{}
	for i, c := range g.mapping {
		if at := strings.IndexAny(c.Name, "_."); at > 0 && at < len(c.Name)-1 {
			if h := parseHeading(c.Name[:at]); h.unknown > 0 && len(h.means) == 0 {
				begin[c.Name[:at]] = append(begin[c.Name[:at]], i)
			}
		}
	}
	for prefix, at := range begin {
		rest := make([]heading, len(at))
		isNew := len(at) > 2
		for n, i := range at {
			rest[n] = parseHeading(strings.TrimLeft(g.mapping[i].Name[len(prefix):], "_."))
			isNew = isNew && !slices.ContainsFunc(g.headings, func(h heading) bool { return h.unknown == 0 && slices.Equal(h.means, rest[n].means) })
		}
		for n, i := range at {
			if isNew && g.headings[i].unknown > 0 && !slices.Equal(rest[n].means, []string{"id"}) { // of whatever has the prefix
				g.headings[i] = rest[n]
				g.headings[i].prefixed = true
			}
		}
	}
}

// readPlace takes Home, Work and SMS for phones or emails, if these are below.
func (g *recognition) readPlace(i int) {
	h, values := &g.headings[i], g.look.column(i)
	if h.unknown > 0 || len(h.means) != 1 || !h.has("home", "work", "sms") {
		return
	}
	for _, of := range []struct {
		kind  kind
		means string
	}{{phoneKind, "phone"}, {emailKind, "email"}} {
		if values.part(of.kind) >= 0.9 {
			h.means = append(slices.DeleteFunc(h.means, func(m string) bool { return m == "sms" }), of.means)
			return
		}
	}
}

// isNumber tells a heading that says number, and nothing else.
func isNumber(h *heading) bool {
	return len(h.words) == 1 && h.unknown == 0 && h.system == "" && h.has("id") && h.words[0] != "id"
}

// candidates are the targets of columns that are open, the most likely first.
func (g *recognition) candidates(open func(i int) bool) (all []candidate) {
	for i := range g.mapping {
		if !open(i) {
			continue
		}
		for at := range g.sheet.columns {
			c := &g.sheet.columns[at]
			score := g.sheet.rate(c, &g.headings[i], g.look.column(i))
			if g.look.isEmpty(i) && score > sure { // another column may have what this one lacks
				score = sure
			}
			if c.target != "" && c.list == "" && score >= doubtful {
				all = append(all, candidate{i, score, c.target})
			}
		}
	}
	filled := func(i int) int {
		if values := g.look.column(i); values != nil {
			return values.filled
		}
		return 0
	}
	slices.SortStableFunc(all, func(a, b candidate) int {
		number := func(c candidate) int { return max(g.headings[c.column].number, 1) }
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(number(a), number(b)), cmp.Compare(filled(b.column), filled(a.column)))
	})
	return all
}

// place gives a column its target, unless another one has it.
func (g *recognition) place(column int, target string) bool {
	c, n, ok := g.sheet.find(target)
	if !ok || g.taken[target] && !c.repeats {
		return false
	}
	g.taken[target], g.taken[numbered(c.list+".#", n)] = true, true
	g.mapping[column].Target, g.mapping[column].Doubt, g.mapping[column].Unknown = target, "", false
	return true
}

// settle places columns by what is most likely, and notes what is doubtful.
func (g *recognition) settle(all []candidate, done map[int]bool) {
	for _, one := range all {
		if done[one.column] {
			continue
		}
		if one.score < sure {
			if c := g.sheet.byTarget[one.target]; g.mapping[one.column].Doubt == "" && (c.repeats || !g.taken[one.target]) {
				g.mapping[one.column].Doubt = one.target
			}
			continue
		}
		switch {
		case g.place(one.column, one.target):
			done[one.column], g.mapping[one.column].score = true, one.score
		case one.target == FullName && slices.Equal(g.headings[one.column].means, []string{"name"}) && g.taken["first_name"]: // Nom, beside Prénom
			done[one.column] = g.place(one.column, "last_name")
		case g.hasSame(one): // no one can tell which is meant, so that Check refuses them
			g.mapping[one.column].Target, done[one.column] = one.target, true
		}
	}
}

// hasSame tells whether a column of the same name has the target, and other values.
func (g *recognition) hasSame(one candidate) bool {
	for i, c := range g.mapping {
		if c.Target == one.target && plainName(c.Name) == plainName(g.mapping[one.column].Name) {
			has, other := g.look.column(i), g.look.column(one.column)
			return (has == nil) == (other == nil) && !has.equals(other)
		}
	}
	return false
}

// recognizeContacts tells what the columns of a file of contacts are.
func recognizeContacts(s *Sheet, header []string, fields *custom.Fields, look *Look) Mapping {
	g := s.newRecognition(header, look)
	isOwn, done := s.isOwn(g.mapping), map[int]bool{}
	for i := range header {
		name := g.mapping[i].Name
		own := s.ownTarget(name)
		if (own == "title" || own == "salutation") && g.look.column(i).part(prefixKind) >= 0.5 { // other systems call Mr. and Dr. so
			own = ""
		}
		if values := g.look.column(i); own == "type" && values != nil && values.part(contactKind) == 0 && values.part(yesKind) == 0 {
			own = ""
		}
		done[i] = name == "" || isOwn && (g.place(i, s.ownHeading(name)) || s.onlyWritten(name)) || g.place(i, own)
		if f := headed(fields, name); !done[i] && f != nil && g.place(i, CustomField(f.ID)) {
			done[i] = true
		}
		g.mapping[i].Unknown = !done[i] && !slices.Contains(s.written, plainName(name))
		done[i] = done[i] || isDerived(name) || strings.HasPrefix(name, CustomMark)
		if isDerived(name) {
			g.mapping[i].Unknown = false
		}
	}
	g.markPrefixes(done)
	g.placeMarks(done)
	for i := range header {
		if h := &g.headings[i]; !done[i] && len(h.means) == 1 && h.means[0] == "company" && g.look.column(i).part(yesKind) >= 0.9 { // whether it is one
			done[i] = g.place(i, "type")
		}
	}
	g.settle(g.candidates(func(i int) bool { return !done[i] }), done)
	for i := range header {
		if h := &g.headings[i]; !done[i] && g.isReach(i) {
			g.mapping[i].Unknown, g.mapping[i].Doubt = false, ""
			g.found = append(g.found, foundHeading{*h, i})
		}
	}
	g.placeFound()
	g.askEmails()
	return g.mapping
}

// markPrefixes takes the column of titles, or of greetings, for Mr. and Dr. whose values are such most often; where jobs or greetings have another column, half of them are enough.
func (g *recognition) markPrefixes(done map[int]bool) {
	for _, meaning := range []string{"title", "salutation", ""} {
		best, most, columns := -1, 0.0, 0
		for i, h := range g.headings {
			isMr := meaning == "" && len(h.means) == 0 && isPrefix(strings.Trim(g.mapping[i].Name, " :*")) // Mr/Mrs
			if !isMr && !h.has(meaning) || h.has("other", "campaign", "fund") {
				continue
			}
			columns++
			values := g.look.column(i)
			if part := values.part(prefixKind); !done[i] && !slices.ContainsFunc(h.means, func(m string) bool { return m != meaning && m != "who" }) && (h.unknown == 0 || isMr) && part >= 0.5 && part*float64(values.filled) > most {
				best, most = i, part*float64(values.filled)
			}
		}
		if best >= 0 && (columns > 1 || g.look.column(best).part(prefixKind) >= 0.8) {
			done[best] = g.place(best, "prefix")
		}
	}
}

// reachMeanings are those of headings that are about an email, a phone or an address.
var reachMeanings = strings.Fields("email mail phone cell landline address street line extra house city state zip country")

// isReach tells whether a column has an email, a phone or a part of an address: all words of its heading are about these, or its values say so.
func (g *recognition) isReach(i int) bool {
	h, values := &g.headings[i], g.look.column(i)
	allowed := append(strings.Fields("home work second mailing shipping who account member card company employer type tags id code place name full"), reachMeanings...)
	if !h.has(reachMeanings...) || slices.ContainsFunc(h.means, func(m string) bool { return !slices.Contains(allowed, m) }) || h.has("name") && !h.has("country", "city", "state") {
		return false
	}
	if values.part(placeKind) >= 0.9 && !h.has("type", "tags") { // Preferred Email: Work
		return false
	}
	if h.unknown == 0 {
		return true
	}
	switch {
	case h.has("email"):
		return values.part(emailKind) >= 0.9
	case h.has("phone", "cell", "landline"):
		return values.part(phoneKind) >= 0.9
	case h.has("zip"):
		return values.part(zipKind) >= 0.9
	}
	return false
}

// askEmails takes the one column of emails that a file has for that, whatever it is called.
func (g *recognition) askEmails() {
	if g.taken["emails.0"] {
		return
	}
	for i := range g.mapping {
		h, values := &g.headings[i], g.look.column(i)
		if g.mapping[i].Target == Skip && g.mapping[i].Name != "" && values.part(emailKind) >= 0.9 && !h.has("other", "recipient", "honor", "memory") {
			g.place(i, "emails.0.value")
			return
		}
	}
}

// onlyWritten tells headings of our own files that no file gives: sums and times.
func (s *Sheet) onlyWritten(name string) bool {
	return slices.ContainsFunc(s.columns, func(c column) bool { return c.target == "" && (c.heading == name || c.before == name) })
}

// CustomMark stands before the title of a custom field that an import would take for another field, and of those in JSON Lines, which are under CustomList.
const (
	CustomMark = "Custom: "
	CustomList = "custom_fields"
)

// FieldTitle is the title of the custom field that becomes of a column. GENDER and nick_name are names for programs, and become Gender and Nick name.
func FieldTitle(column string) string {
	title := strings.TrimPrefix(column, CustomMark)
	isUpper := len(title) > 3 && title == strings.ToUpper(title)
	if strings.Contains(title, " ") || !isUpper && !strings.Contains(title, "_") {
		return title
	}
	words := strings.Fields(strings.ToLower(strings.ReplaceAll(strings.TrimSuffix(title, "__c"), "_", " ")))
	if len(words) == 0 {
		return title
	}
	first, size := utf8.DecodeRuneInString(words[0])
	words[0] = string(unicode.ToUpper(first)) + words[0][size:]
	return strings.Join(words, " ")
}

// headed is the custom field that a column is named for, nil for none.
func headed(fields *custom.Fields, name string) *custom.Field {
	if fields == nil {
		return nil
	}
	if f := fields.ByTitle(FieldTitle(name)); f != nil {
		return f
	}
	return fields.ByTitle(name)
}

// ownTarget is the target that a name says itself, as those of our own files do: emails.0.value. It is "" for other names.
func (s *Sheet) ownTarget(name string) string {
	name = strings.ToLower(name)
	if strings.HasPrefix(name, "tags.") {
		return oneTag
	}
	if c, _, ok := s.find(name); ok && c.target != Skip && c.target != oneTag && c.target != ownID && c.target != customTarget {
		return name
	}
	return ""
}

// isDerived tells paths of values in our JSON that follow from others, or that are read in another way.
func isDerived(name string) bool {
	name, _, isPath := strings.Cut(name, ".")
	return isPath && slices.Contains([]string{"primary_address", "stats", "custom_fields", "external_ids", "addresses", "emails", "phones"}, name)
}
