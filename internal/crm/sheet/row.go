package sheet

import (
	"bytes"
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/text"
)

// Rows reads the rows of a file. What the columns say about all of them is found out once.
type Rows struct {
	cells  []cell
	region string            // where phone numbers without + belong; it tells how days and amounts are written
	isOwn  bool              // the file is an export of ours: every cell is meant as it stands
	names  map[string]string // what the columns are called, by the paths of what they become
	usual  bool              // names in capitals are written in the usual form

	isStatement bool   // of a bank: it has a balance, and knows no one but by name
	isGiverless bool   // no column says who gave
	group       string // what the rows after it have in a column, where they have nothing
	groupAt     int
}

// UsualNames writes names in capitals, or without any, in the usual form.
func (rows *Rows) UsualNames(yes bool) *Rows {
	rows.usual = yes
	return rows
}

// cell is a cell of a row, as its column tells how to read it.
type cell struct {
	*column
	at        int    // the place of its column
	n         int64  // which of several it is, or the id of a custom field
	name      string // of its column
	mapped    string // what its column was mapped to
	source    string // of ids
	dayFirst  bool
	valueType string // of an email or a phone
	values    map[string]string
	zone      *time.Location // of times: what the heading says; nil where it says nothing
	isConsent bool           // of a mark: the column tells who may be reached
	isStatus  bool           // of a mark: the column tells more than yes and no
	mark      string         // that it gives a contact; "" for none
	currency  string         // of amounts: what the heading says
	lastFirst bool           // of names
	kind      string         // of an id of gifts: which of several ids it is
}

// Rows reads what the columns of a file mean.
func (s *Sheet) Rows(m Mapping, region string) *Rows {
	rows := &Rows{region: region, isOwn: s.isOwn(m), names: map[string]string{}, isGiverless: s == Gifts}
	sources := m.sources()
	for i, named := range m {
		c, n, ok := s.find(named.Target)
		if !ok || c.target == Skip {
			continue
		}
		rows.call(c, n, named.Name)
		if rows.isGiverless = rows.isGiverless && c.giver == "" && c.target != "contact_id" && c.target != giving.GiverID; c.giver != "" {
			c, n, _ = Contacts.find(c.giver)
		}
		h, words := parseHeading(named.Name), headingWords(named.Name)
		mark, isConsent := h.mark()
		isConsent = isConsent || c.target == optIn || crm.IsMark(c.target) && h.asksReach()
		switch {
		case crm.IsMark(c.target):
			mark = c.target
		case c.target == optIn && !rows.isOwn: // where no gift says yes that did not ask
			mark = cmp.Or(mark, "do_not_email")
		default:
			mark = ""
		}
		rows.cells = append(rows.cells, cell{isConsent: isConsent || h.has("status"), isStatus: h.has("status"), mark: mark, kind: strings.Join(h.words, " "), currency: h.currency, zone: zoneIn(named.Name), lastFirst: saysLastFirst(words), column: c, at: i, n: n, name: named.Name, mapped: named.Target, source: sources[i],
			dayFirst: region != "US" || isForeignDay(named.Name), valueType: c.types[groupOf(named.Name)], values: named.Values})
	}
	rows.isStatement = m.isStatement() && !m.has("email", "contact_id", giving.GiverID, "pledge", "pledged")
	slices.SortStableFunc(rows.cells, func(a, b cell) int { return cmp.Compare(first(a.first), first(b.first)) })
	return rows
}

// isStatement tells whether columns are those of a bank's statement.
func (m Mapping) isStatement() bool {
	return slices.ContainsFunc(m, func(c Column) bool {
		words := headingWords(c.Name)
		has := func(list []string) bool {
			return slices.ContainsFunc(words, func(word string) bool { return slices.Contains(list, word) })
		}
		return has(ofBanks) && !has(ofDebts)
	})
}

// Days tells of each column how its days are written, as Days.String has it. A column that does not tell is written as the others with days are, if these agree;
// else the region and the heading tell.
func (rows *Rows) Days(of string) *Rows {
	var all order
	for i := range rows.cells {
		if c := &rows.cells[i]; c.isDay && c.at < len(of) {
			all = order{all.dayFirst || of[c.at] == dayFirst || of[c.at] == bothWays, all.monthFirst || of[c.at] == monthFirst || of[c.at] == bothWays}
		}
	}
	for i := range rows.cells {
		c := &rows.cells[i]
		said := all.letter()
		if c.at < len(of) && of[c.at] != untold {
			said = of[c.at]
		}
		if said == dayFirst || said == monthFirst {
			c.dayFirst = said == dayFirst
		}
	}
	return rows
}

// Days finds out how a file writes days: 3/4/2026 alone does not tell, and 31/12/2026 in the same column does.
type Days struct{ columns []order }

// order is what the days of a column tell.
type order struct{ dayFirst, monthFirst bool }

// NewDays is for a file with so many columns.
func NewDays(columns int) *Days { return &Days{make([]order, columns)} }

// See looks at a cell.
func (d *Days) See(column int, cell string) {
	if dayFirst, known := text.DayOrder(cell); known && column < len(d.columns) {
		d.columns[column].dayFirst = d.columns[column].dayFirst || dayFirst
		d.columns[column].monthFirst = d.columns[column].monthFirst || !dayFirst
	}
}

// String is what Rows.Days takes: a letter for each column.
func (d *Days) String() string {
	said := make([]byte, len(d.columns))
	for i, c := range d.columns {
		said[i] = c.letter()
	}
	if len(bytes.Trim(said, string(untold))) == 0 {
		return ""
	}
	return string(said)
}

// The letters that tell how a column writes days.
const (
	dayFirst   byte = 'd'
	monthFirst byte = 'm'
	bothWays   byte = '-'
	untold     byte = '.'
)

func (o order) letter() byte {
	switch {
	case o.dayFirst && o.monthFirst:
		return bothWays
	case o.dayFirst:
		return dayFirst
	case o.monthFirst:
		return monthFirst
	}
	return untold
}

func first(yes bool) int {
	if yes {
		return 0
	}
	return 1
}

// call notes what a column is called, for faults.
func (rows *Rows) call(c *column, n int64, name string) {
	switch {
	case c.target == FullName:
		for _, part := range [...]string{"first_name", "last_name"} {
			if rows.names[part] == "" {
				rows.names[part] = name + " (" + strings.ReplaceAll(part, "_", " ") + ")"
			}
		}
	case c.target == customTarget:
		field := custom.Field{ID: n}
		rows.names["custom_fields."+field.Key()] = name
	default:
		rows.names[cmp.Or(c.path, numbered(c.target, n))] = name
	}
}

// row is what the cells of one row say.
type row struct {
	*Rows
	contact   crm.ContactInput // in a file of gifts, the giver
	gift      *GiftRow         // nil in a file of contacts
	fullName  string
	emails    []cellValue
	phones    []cellValue
	places    []cellAddress
	tags      []string
	marked    []string // marks that a cell lists among others
	isRenamed bool
	isHidden  bool              // the giver does not want the name to be known
	original  string            // what the cell says that is being read, where a person has said what that means
	names     map[string]string // as in Rows, or a copy for this row; nil in a file of gifts
}

// Input is the contact that a row describes. Empty cells say nothing, and what is wrong is found by Validate, which calls fields as the columns are called.
func (rows *Rows) Input(cells []string) crm.ContactInput {
	r := &row{Rows: rows, names: rows.names}
	r.contact.FromRow = true
	r.read(cells)
	r.contact.SentAs = r.names
	return r.contact
}

// IsRemark tells a row below a table of contacts that is about no one: but for amounts, a single cell that adds up those above it, or a text where an ID would be.
func (rows *Rows) IsRemark(cells []string) bool {
	filled, at := 0, 0
	for i, cell := range cells {
		if cell = strings.TrimSpace(cell); cell != "" && !isAmount(cell) {
			filled, at = filled+1, i
		}
	}
	if filled != 1 || len(cells) < 3 {
		return false
	}
	isID := slices.ContainsFunc(rows.cells, func(c cell) bool { return c.at == at && c.target == externalID })
	return isTotal(cells) || isID && strings.Contains(strings.TrimSpace(cells[at]), " ")
}

// Quoted gives values that were left out what their cells say, where an element does not say it.
func (rows *Rows) Quoted(left []crm.LeftOut, cells []string) []crm.LeftOut {
	for i := range left {
		for _, c := range rows.cells {
			if l := &left[i]; l.Value == "" && c.name == l.Column && c.at < len(cells) {
				l.Value = strings.TrimSpace(cells[c.at])
			}
		}
	}
	return left
}

// ofBanks are words of headings that statements of banks have.
var ofBanks = strings.Fields("balance saldo kontostand solde valuta valutadatum wertstellung wertstellungsdatum buchungstext posting booking bal")

// ofDebts are words of headings about a balance that no bank has: what is still promised.
var ofDebts = strings.Fields("due owed owing outstanding remaining pledge unpaid")

func (r *row) read(cells []string) {
	for i := range r.cells {
		c := &r.cells[i]
		if c.at >= len(cells) { // of a row that cannot be read
			continue
		}
		text := strings.TrimSpace(cells[c.at])
		r.original = ""
		if meaning, known := c.values[strings.ToLower(text)]; known {
			text, r.original = meaning, text
		}
		if c.isNothing(text) {
			r.isHidden = r.isHidden || strings.HasSuffix(c.target, "_name") && begins(text, hidden)
			continue
		}
		if text != "" && c.clean != nil {
			text = c.clean(c, text)
		}
		if text != "" {
			c.read(r, c, text)
		}
	}
	if r.isGiverless && r.gift != nil && r.gift.Note != nil {
		r.fullName = payerIn(*r.gift.Note)
	}
	if r.gift != nil && r.gift.isCharge && r.gift.paidTo != "" { // someone was asked for money, and has paid
		r.fullName = r.gift.paidTo
	}
	r.finish()
}

// paidBy is how banks describe a payment that has come: Zelle payment from JANE ROE 99887.
var paidBy = regexp.MustCompile(`(?i)\b(?:payment|transfer|zelle|credit|deposit|received|gutschrift|überweisung|virement|vir|transferencia|bizum)\b.*?\b(?:from|von|de)\s+(\p{L}[\p{L}.'’& -]*)`)

// payerSaid is the same where the bank says who paid behind a colon.
var payerSaid = regexp.MustCompile(`(?i)\b(?:auftraggeber|ordonnateur|donneur d.ordre|ordenante|payer|remitter)\s*:\s*(\p{L}[\p{L}.'’& -]*)`)

// payerIn is the name that a bank's description has, "" for none. What follows it is a day or a number, and names of accounts are none.
func payerIn(note string) string {
	found := payerSaid.FindStringSubmatch(note)
	if found == nil {
		found = paidBy.FindStringSubmatch(note)
	}
	if found == nil {
		return ""
	}
	words := strings.Fields(found[1])
	if end := slices.IndexFunc(words, func(word string) bool {
		return slices.Contains([]string{"on", "ref", "reference", "conf", "confirmation", "id", "memo", "for", "via", "am", "vom", "le", "el"}, strings.ToLower(word)) || vocabulary[strings.ToLower(word)] == "note"
	}); end >= 0 {
		words = words[:end]
	}
	name := strings.Join(words, " ")
	if h := parseHeading(name); len(words) < 2 || h.has("account", "card", "deposit", "credit", "check", "fund") {
		return ""
	}
	return name
}

// isNothing tells that a cell only says that it has no value: "-", "n/a", "Not provided". People may be called Na; of an email, that is none. What may mean something is left to its column.
func (c *cell) isNothing(text string) bool {
	if len(text) > 40 || c.target == "currency" || c.target == customTarget || c.target == "note" {
		return false
	}
	isReach := c.list != "" || c.target == "prefix" || c.target == "dob" || c.target == externalID || c.target == "company" || c.target == "title"
	is := func(said string) bool { return strings.EqualFold(text, said) }
	switch text = strings.Trim(text, "#()[]<>*-–—_.?!/ "); {
	case text == "", is("n/a"), is("n.a"):
		return true
	case isReach && slices.ContainsFunc(nothings, is):
		return true
	}
	return (isReach || strings.HasSuffix(c.target, "_name")) && (begins(text, hidden) || begins(text, withheld))
}

func begins(text string, starts []string) bool {
	return slices.ContainsFunc(starts, func(start string) bool { return len(text) >= len(start) && strings.EqualFold(text[:len(start)], start) })
}

// What people write for no value; withheld is what such cells begin with, and hidden what those do of people who do not share theirs.
var (
	nothings = []string{"na", "none", "null", "nil", "unknown", "unbekannt", "inconnu", "keine", "aucun", "aucune", "ninguno", "nada", "no phone", "no email", "empty", "anon", "anonymous", "private", "privat", "divers", "neutral", "keine angabe"}
	withheld = []string{"not provided", "not available", "not given", "not applicable"}
	hidden   = []string{"not shared", "not disclosed", "withheld", "undisclosed"}
)

// columnOf is the name of the column that goes to a target, "" for none.
func (rows *Rows) columnOf(target string, n int64) string {
	for i := range rows.cells {
		if c := &rows.cells[i]; c.target == target && c.n == n {
			return c.name
		}
	}
	return ""
}

// callElement notes which column a part of an element comes from, where the columns before it were empty or had several values.
func (r *row) callElement(list string, i int, part, column string) {
	if r.names == nil || column == "" { // a gift has one email, phone and address, whose columns are known
		return
	}
	if !r.isRenamed {
		r.names, r.isRenamed = maps.Clone(r.names), true
	}
	r.names[list+"."+strconv.Itoa(i)+"."+part] = column
}
