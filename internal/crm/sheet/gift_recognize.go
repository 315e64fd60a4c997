package sheet

import (
	"slices"
	"strings"

	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/giving"
)

// recognizeGifts tells what the columns of a file of gifts are. Who gave is told as in a file of contacts.
func recognizeGifts(s *Sheet, header []string, _ *custom.Fields, look *Look) Mapping {
	g := s.newRecognition(header, look)
	done := map[int]bool{}
	isOwn := s.isOwn(g.mapping)
	for i := range g.mapping {
		name := g.mapping[i].Name
		c := s.byTarget[strings.ToLower(name)]
		isNamed := c != nil && c.giver == "" && c.target != Skip && c.target != "gift_id" && (c.target != ownGift || isOwn) && (isOwn || c.rateValues(&g.headings[i], look.column(i), byWords) >= 0)
		target := ""
		if isNamed {
			target = c.target
		} else if isOwn {
			target = s.ownHeading(name)
		} else if plainName(name) == "contactid" {
			target = "contact_id"
		}
		done[i] = target != "" && g.place(i, target) || isOwn && s.onlyWritten(name) || name == giving.RejectedKey || name == ""
	}
	all := g.candidates(func(i int) bool { return !done[i] })
	asGiver := Contacts.Recognize(giverNames(g, done), nil, look)
	all = slices.DeleteFunc(all, func(one candidate) bool { // what only some words tell counts less than what all words tell about the giver
		return one.score < byPart+fitting && s.giverTarget(asGiver[one.column].Target) != nil && asGiver[one.column].score > one.score
	})
	g.settle(all, done)
	g.placeGiver(asGiver)
	g.findGiver(asGiver)
	g.mapping.leaveForeignIDs()
	g.placeIDs()
	g.doubtIDs()
	g.findMoney()
	for i := range g.mapping { // of a pledge whose amount is 0 until it is paid
		if h := &g.headings[i]; g.mapping[i].Target == Skip && g.taken["amount"] && g.taken["type"] && slices.Equal(h.means, []string{"total"}) && h.unknown == 0 && g.look.column(i).part(amountKind) >= 0.9 {
			g.place(i, "pledged")
		}
	}
	return g.mapping
}

// giverNames are the names of the columns that may be about the giver. Where something is shipped to is not where the giver lives. To a bank, the partner is who has paid, and
// the account the one of the statement.
func giverNames(g *recognition, done map[int]bool) []string {
	names, isStatement := make([]string, len(g.mapping)), g.mapping.isStatement()
	for i := range names {
		if h := &g.headings[i]; !done[i] && !h.has("shipping", "honor", "memory", "soft") && (!h.has("recipient") || h.has("who")) {
			names[i] = g.mapping[i].Name
		}
		if isStatement && g.headings[i].has("account") && g.look.column(i).isConstant() {
			names[i] = ""
		} else if lower := strings.ToLower(names[i]); isStatement && strings.Contains(lower, "partner") {
			names[i] = strings.Replace(lower, "partner", "payer", 1)
		}
	}
	return names
}

// giverTarget is the column of gifts for what is a target of contacts, nil for none.
func (s *Sheet) giverTarget(target string) *column {
	at := slices.IndexFunc(s.columns, func(c column) bool { return c.giver != "" && c.giver == target })
	if at < 0 {
		return nil
	}
	return &s.columns[at]
}

// placeGiver places the columns that say who gave, as the columns of a file of contacts are.
func (g *recognition) placeGiver(asGiver Mapping) {
	for i, found := range asGiver {
		c := g.sheet.giverTarget(found.Target)
		isMark := c != nil && (c.target == restrictions || slices.Contains(reachMarks, c.target))
		if c == nil || g.mapping[i].Target != Skip || isMark && !g.look.column(i).areAnswers() { // Solicit Code is also which letter has asked for the gift
			continue
		}
		g.place(i, c.target)
	}
}

// findGiver takes the first column of names where no heading tells who gave. A report by customers has them in a column without a heading, on rows of their own.
func (g *recognition) findGiver(asGiver Mapping) {
	if g.mapping.has(FullName, "first_name", "last_name", "company", "email", "phone", "contact_id", giving.GiverID) {
		return
	}
	for i := range g.mapping {
		isUnnamed, enough := g.mapping[i].Name == "", 0.8
		if asGiver[i].Doubt == FullName && g.mapping[i].Target == Skip && g.look.column(i).part(nameKind) >= 0.5 && g.place(i, FullName) {
			return
		}
		if isUnnamed {
			enough = 0.5
		}
		if g.mapping[i].Target == Skip && (isUnnamed || len(g.headings[i].means) == 0 || g.headings[i].has("member", "account")) && !g.headings[i].has("other", "id") && g.look.column(i).part(nameKind) >= enough && g.place(i, FullName) {
			return
		}
	}
}

// placeIDs takes every other column of ids that gifts have, since another file may have one of them alone. The id that other tables have as well is taken where there is no
// better one.
func (g *recognition) placeIDs() {
	for i := range g.mapping {
		if strings.EqualFold(g.mapping[i].Name, ownGift) && g.mapping[i].Target == Skip && !g.mapping.has("external_id") {
			g.place(i, "external_id")
		}
	}
}

// doubtIDs asks about ids of which no one knows what they are the ids of, such as the household's, where a better one names the gifts: a gift would be taken for another of the same household.
func (g *recognition) doubtIDs() {
	best := slices.IndexFunc(g.mapping, func(c Column) bool { return c.Target == "external_id" })
	for i := range g.mapping {
		c, values := &g.mapping[i], g.look.column(i)
		if c.Target == "gift_id" && g.headings[i].unknown > 0 && values != nil && best >= 0 && g.look.columns[best].filled >= values.filled {
			c.Target, c.Doubt = Skip, "gift_id"
		}
	}
}

// findMoney takes the only column of amounts, and the only one of days, where no heading tells: nothing can be imported without these.
func (g *recognition) findMoney() {
	for target, of := range map[string]kind{"amount": amountKind, "transacted_at": dayKind} {
		found := -1
		if target == "amount" && g.taken["pledged"] {
			continue
		}
		for i := range g.mapping {
			h, values := &g.headings[i], g.look.column(i)
			if g.taken[target] || g.mapping[i].Target != Skip || values.part(of) < 0.95 || values.filled < 2 && (values.filled*2 < g.look.rows || len(h.means) == 0) || !isPlain(h) || of == amountKind && values.part(dayKind) > 0.5 {
				continue
			}
			if found >= 0 {
				found = -2
				break
			}
			found = i
		}
		if found >= 0 {
			g.place(found, target)
		}
	}
}

// isPlain tells whether a heading says nothing but that something was given.
func isPlain(h *heading) bool {
	return !slices.ContainsFunc(h.means, func(m string) bool {
		return !slices.Contains([]string{"gift", "pay", "txn", "amount", "total", "gross", "received", "settled", "given", "date", "created", "deposit", "credit", "currency", "note"}, m)
	})
}

// leaveForeignIDs takes a Contact ID for that of another system, and skips its Campaign ID, which would lead to the wrong contact or campaign of ours: those
// of a file that also has names or emails, or titles of campaigns. Columns that have exactly our names are ours; of our own export the code of the campaign is taken,
// since another account has the same code under another id.
func (m Mapping) leaveForeignIDs() {
	isNamed, isTitled := m.has("email", "phone", "first_name", "last_name", FullName), m.has("campaign")
	isOurs := func(c Column) bool { return c.Name == c.Target }
	for i, c := range m {
		switch {
		case c.Target == "contact_id" && isNamed && !isOurs(c):
			if other := slices.IndexFunc(m, func(c Column) bool { return c.Target == giving.GiverID }); other >= 0 {
				m[other].Target = Skip // such as an id of a third system
			}
			m[i].Target = giving.GiverID
		case c.Target == "campaign_id" && isTitled && (!isOurs(c) || m.find("campaign_code") >= 0):
			m[i].Target = Skip
		}
	}
}
