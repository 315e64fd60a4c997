package sheet

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
)

// GiftRow is one row of a file of gifts.
type GiftRow struct {
	giving.GiftLine
	Line int // where it begins, from 1

	faults   doc.Invalid // found while reading
	isBroken bool        // it cannot be read
	together
	rows   *Rows
	cells  []string
	named  int    // behind which of them the name of the rows above it was filled in, from 1; 0 for none
	object []byte // of a JSON file: the row as it was
}

// together is what the cells of a row say that only tells something together.
type together struct {
	Unknown []UnknownValue // values that a person has to explain
	LeftOut []crm.LeftOut  // what the gift is recorded without

	kind, kindMethod              string
	state                         string // as statusWords has it
	giftID                        string
	refundedAt, disputedAt        *string
	net, refunded, disputed       *int64
	pledged                       *int64
	isRefunded, isDisputed, isWon bool
	coversFee                     bool
	lines                         []string // for the note
	matched                       *int64   // what a company adds
	matchedBy                     string   // which one
	matchState                    giving.GiftStatus
	isPaidOut, isPayment          bool   // a column for that says so; the row calls itself a payment, by whomever
	namesRefund                   bool   // the column of what the row belongs to is one of refunds
	isCharge                      bool   // the row asked someone for money
	paidTo                        string // who was asked, or was paid
	noGiftIn                      string // the field that says that the row is no gift, and how
	noGiftRule                    doc.Rule
	awaitsRefund                  bool // it was refunded, and another row has to say how much
}

// Gift is the gift that a row describes. An empty cell says nothing, and what is wrong is found by Validate.
func (rows *Rows) Gift(line int, cells []string) *GiftRow {
	g := &GiftRow{Line: line, rows: rows, cells: cells}
	g.SentAs, g.Filed = rows.names, new(giving.Filed)
	isGroup, filled := g.inGroup()
	r := &row{Rows: rows, gift: g}
	r.read(cells)
	if name := r.contact.PersonName(); r.isHidden && name.Company != "" && name.First+name.Last == "" && r.contact.Emails == nil { // of an employee
		g.lines, g.matchedBy = append(g.lines, "Company: "+name.Company), cmp.Or(g.matchedBy, name.Company)
		r.contact.Company, r.contact.IsCompany = nil, nil
	}
	g.settleTransfer(rows.isStatement)
	g.settleMatch(&r.contact)
	g.takeGiver(&r.contact)
	g.settle()
	switch {
	case (g.GivenAt == nil || isTotal([]string{*g.GivenAt})) && (isGroup || isTotal(cells) || filled <= 3 && filled*4 <= len(cells)):
		g.kind, g.noGiftRule = noGift, ofOthers
	case g.kind != noGift:
		g.settleStatement(rows.isStatement)
	}
	return g
}

// inGroup tells whether a row is nothing but one cell, which names the rows below it, as reports by customers do, or is a remark. These rows get the name, until one adds them up.
func (g *GiftRow) inGroup() (isGroup bool, filled int) {
	rows, cells, at := g.rows, g.cells, 0
	for i, cell := range cells {
		if strings.TrimSpace(cell) != "" {
			filled, at = filled+1, i
		}
	}
	switch {
	case filled == 1 && len(cells) > 2:
		rows.group, rows.groupAt = cells[at], at
		return true, filled
	case isTotal(cells):
		rows.group = ""
	case filled > 1 && rows.group != "" && rows.groupAt < len(cells) && strings.TrimSpace(cells[rows.groupAt]) == "":
		cells[rows.groupAt], g.named = rows.group, rows.groupAt+1
	}
	return false, filled
}

// isTotal tells a row that adds up those above it.
func isTotal(cells []string) bool {
	return slices.ContainsFunc(cells, func(cell string) bool {
		words := 0
		for word := range strings.FieldsFuncSeq(cell, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) { // Batch Total, too
			if words++; words > 2 || slices.ContainsFunc(totals, func(total string) bool { return strings.EqualFold(word, total) }) {
				return words <= 2
			}
		}
		return false
	})
}

// totals are words that cells begin with which add up others.
var totals = strings.Fields("total totals subtotal grand sum count anzahl summe gesamt gesamtsumme somme suma")

// takeGiver takes what a row says about the giver, which was read as that of a contact.
func (g *GiftRow) takeGiver(giver *crm.ContactInput) {
	g.Giver = *giver
	g.Giver.Emails, g.Giver.Phones, g.Giver.Addresses = nil, nil, nil // a gift has one of each
	g.LeftOut, g.Giver.LeftOut = append(g.LeftOut, giver.LeftOut...), nil
	if giver.Emails != nil {
		g.Email = &(*giver.Emails)[0].Value
	}
	if giver.Phones != nil {
		g.Phone = &(*giver.Phones)[0].Value
	}
	if giver.Addresses != nil {
		address := &(*giver.Addresses)[0]
		g.Address = &address
	}
}

// content is what a row says, whatever the order of its columns is: all of it, by which an earlier version has recorded gifts, or what lasts of it.
func (g *GiftRow) content(isAll bool) []byte {
	if g.rows == nil {
		return withoutKey(g.object, giving.RejectedKey)
	}
	said, isNamed := make([]string, 0, len(g.rows.cells)), g.rows.namesGiver(g.cells)
	for _, c := range g.rows.cells {
		of := Gifts.byTarget[c.mapped]
		isLate := of != nil && of.late && (c.mapped != giving.GiverID || isNamed) // without another word about the giver, an earlier version has rejected it
		isLeft := !isAll && of != nil && g.changes(of) || isAll && c.at+1 == g.named
		if c.at >= len(g.cells) || c.mapped == ownGift || isLate || isLeft { // the same gift is exported under another id by another account
			continue
		}
		if value := strings.TrimSpace(g.cells[c.at]); value != "" {
			said = append(said, c.mapped+"="+strconv.Itoa(len(value))+":"+value+";")
		}
	}
	slices.Sort(said)
	return []byte(strings.Join(said, ""))
}

// changes tells whether a later file may say otherwise of the same gift: its note and its status, and where a giver lives who has a name.
func (g *GiftRow) changes(of *column) bool {
	return of.changes || strings.Contains(of.giver, ".") && g.Giver.PersonName() != (crm.PersonName{})
}

// namesGiver tells whether a row says who gave by anything but the id of another system.
func (rows *Rows) namesGiver(cells []string) bool {
	return slices.ContainsFunc(rows.cells, func(c cell) bool {
		of := Gifts.byTarget[c.mapped]
		isWho := c.mapped == "contact_id" || of != nil && of.giver != "" && !of.late
		return isWho && c.at < len(cells) && strings.TrimSpace(cells[c.at]) != ""
	})
}

// GiftObject is the gift that a JSON object describes, by the names of the API.
func (rows *Rows) GiftObject(line int, object []byte) *GiftRow {
	read, faults, err := giving.DecodeGiftLine(object)
	if err != nil {
		return rows.BrokenGift(line, err.Error(), nil, object)
	}
	return &GiftRow{GiftLine: read, Line: line, faults: *faults, object: withoutKey(object, giving.RejectedKey)}
}

// BrokenGift is a row that cannot be read, and is rejected whatever its cells say. A row of a JSON file is kept as a text, since it is no object.
func (rows *Rows) BrokenGift(line int, reason string, cells []string, object []byte) *GiftRow {
	g := rows.Gift(line, cells)
	g.object = append(appendQuoted([]byte(`{"row":`), string(object)), '}')
	g.isBroken, g.faults = true, doc.Invalid{} // faults of its cells follow from that
	g.faults.Add("", "%v", reason)
	return g
}

// withoutKey is a JSON object, which was read before, without one of its members.
func withoutKey(document []byte, key string) []byte {
	d := jsontext.NewDecoder(bytes.NewReader(document))
	object := []byte{'{'}
	for _, err := d.ReadToken(); err == nil && d.PeekKind() == '"'; {
		var name, value jsontext.Value
		if name, err = d.ReadValue(); err != nil {
			break
		}
		name = slices.Clone(name)
		if value, err = d.ReadValue(); err != nil || string(name) == `"`+key+`"` {
			continue
		}
		if len(object) > 1 {
			object = append(object, ',')
		}
		object = append(append(append(object, name...), ':'), value...)
	}
	return append(object, '}')
}

// Validate checks the row as a new gift; the location of now is the organization's. What is wrong and has nothing to do with the money is left out: a row with an amount and a
// day is not lost.
func (g *GiftRow) Validate(region string, now time.Time) error {
	if g.isBroken { // what the cells say cannot be trusted
		return g.faults.Err()
	}
	if g.kind == noGift {
		if g.noGiftRule == "" {
			g.noGiftIn, g.noGiftRule = "type", notAGift
		}
		return g.Named(doc.NewInvalid(g.noGiftIn, g.noGiftRule))
	}
	if g.Filed == nil {
		g.Filed = new(giving.Filed)
	}
	for _, at := range []*string{g.GivenAt, g.refundedAt, g.disputedAt} { // a clock of the organization has shown it
		if at != nil {
			if shown, err := time.ParseInLocation(time.DateTime, *at, now.Location()); err == nil {
				*at = shown.Format(time.RFC3339)
			}
		}
	}
	if g.CampaignName != "" && g.Campaign != nil && *g.Campaign != 0 {
		g.Campaign = nil // of another system
	}
	if g.object != nil {
		return g.Named(g.check(&g.faults, region, now))
	}
	for {
		sent, filed, faults := g.GiftInput, *g.Filed, doc.Invalid{Faults: slices.Clone(g.faults.Faults)}
		err := g.check(&faults, region, now)
		if !g.Without(err, &sent, &filed) {
			return g.Named(err)
		}
		g.GiftInput, *g.Filed = sent, filed
	}
}

func (g *GiftRow) check(faults *doc.Invalid, region string, now time.Time) error {
	if g.Filed.IsRefund {
		return g.ValidateRefund(faults, now)
	}
	return g.GiftInput.Validate(faults, true, region, now)
}

// Without leaves out of an input what faults are about, as far as a gift can be without it, and notes that. It is false where there is nothing of that kind.
func (g *GiftRow) Without(err error, in *giving.GiftInput, filed *giving.Filed) (isLess bool) {
	var found *doc.Invalid
	if !errors.As(err, &found) {
		return false
	}
	for _, f := range found.Faults {
		if !g.drop(f, in, filed) {
			continue
		}
		isLess = true
		g.faults.Faults = slices.DeleteFunc(g.faults.Faults, func(other doc.Fault) bool { return other.Field == f.Field })
		column := cmp.Or(g.SentAs[f.Field], f.Label, f.Field)
		g.LeftOut = append(g.LeftOut, crm.LeftOut{Column: column, Reason: f.Format(string(f.Rule))})
	}
	return isLess
}

// drop takes what one fault is about out of an input.
func (g *GiftRow) drop(f doc.Fault, in *giving.GiftInput, filed *giving.Filed) bool {
	name, part, _ := strings.Cut(f.Field, ".")
	if of := map[string]any{"email": &in.Email, "phone": &in.Phone, "first_name": &in.Giver.FirstName, "last_name": &in.Giver.LastName, giving.GiverID: &in.Giver.AddedIDs, "fee": &in.Fee, "fee_covered": &in.FeeCovered,
		"check_number": &in.Check, "check_deposited_at": &in.DepositedAt, "note": &in.Note, "dedication": &in.Dedication, "communication_opt_in": &in.OptIn, "campaign_id": &in.Campaign, "plan_id": &in.Plan,
		"benefit": &in.Benefit, "benefit_value": &in.BenefitValue}[name]; of != nil {
		return dropped(of)
	}
	switch name {
	case "address":
		return dropPart(in, part)
	case "company":
		in.Giver.IsCompany = nil
		return dropped(&in.Giver.Company)
	case "contact_id": // of someone else, where the row tells who
		return (in.Email != nil || in.Phone != nil || in.Giver.AddedIDs != nil || in.Giver.PersonName().String() != "") && dropped(&in.Contact)
	case "net", "matched", "livemode", "test":
		return true
	case "plan":
		filed.Plan = ""
		return true
	case "frequency", "pledge":
		filed.Every = ""
		return true
	case "external_id":
		if !slices.Contains([]doc.Rule{doc.Reserved, doc.TooLong, giving.OtherGift}, f.Rule) || in.FromRow {
			return false
		}
		filed.IDs = slices.DeleteFunc(slices.Clone(filed.IDs), func(id crm.ExternalID) bool { return id.Value == *in.ExternalID })
		reference := g.Key().reference(0)
		in.ExternalID, in.FromRow = &reference, true
		return true
	case "refunded", "disputed": // in doubt, all of it went back
		if filed.Back != nil {
			filed.Back = &giving.GivenBack{Disputed: filed.Back.Disputed}
		}
		return !filed.IsRefund
	case "refunded_at", "disputed_at":
		if filed.Back != nil {
			filed.Back = &giving.GivenBack{Amount: filed.Back.Amount, Disputed: filed.Back.Disputed}
		}
		return !filed.IsRefund
	case "status":
		filed.Back = nil
		return f.Rule == refundMissing
	}
	return false
}

// dropped takes out what a pointer points to, if there is something.
func dropped(of any) bool {
	value := reflect.ValueOf(of).Elem()
	isThere := !value.IsZero()
	value.SetZero()
	return isThere
}

// dropPart takes a part of the address out.
func dropPart(in *giving.GiftInput, part string) bool {
	if in.Address == nil || *in.Address == nil {
		return false
	}
	address := **in.Address
	for _, f := range crm.AddressTexts {
		if f.Name == part {
			f.Set(&address, "")
			less := &address
			in.Address = &less
			return true
		}
	}
	in.Address = nil
	return true
}

// IsNoGift tells whether a row says of itself that it is no gift: it is skipped, and not rejected.
func (g *GiftRow) IsNoGift() bool {
	return !g.isBroken && (g.kind == noGift || slices.ContainsFunc(g.faults.Faults, func(f doc.Fault) bool { return f.Rule == refundFailed }))
}

// Rejected is a row of a JSON file as it was, with the reason: one JSON object.
func (g *GiftRow) Rejected(reason string) string {
	object := slices.Clone(g.object[:len(g.object)-1])
	if len(object) > 1 {
		object = append(object, ',')
	}
	object = append(object, `"`+giving.RejectedKey+`":`...)
	return string(append(appendQuoted(object, reason), '}'))
}

func appendQuoted(dst []byte, value string) []byte {
	quoted, _ := jsontext.AppendQuote(dst, strings.ToValidUTF8(value, "\ufffd")) // which fails for nothing else
	return quoted
}

// RowKey is what a row says, in short. Equal rows have equal keys.
type RowKey [16]byte

// Key is the key of all that the row says.
func (g *GiftRow) Key() RowKey { return g.key(g.content(true)) }

// LastingKey is the key of what later files say of the same gift, too. A payment that failed is another than the one that came after it.
func (g *GiftRow) LastingKey() RowKey {
	said := append(g.content(false), "lasting;"...)
	if g.Status != nil && (*g.Status == string(giving.Failed) || *g.Status == string(giving.Cancelled)) {
		said = append(said, "status="+giving.Failed...)
	}
	return g.key(said)
}

// key is in short what a row says. A promise is not the payment that says the same but for its type, which earlier versions have not read.
func (g *GiftRow) key(said []byte) RowKey {
	if isDue := g.Status != nil && *g.Status == string(giving.Pending); g.kind == pledgeKind || g.kind == writeOff || g.kind == schedule && isDue {
		said = append(said, "type="+pledgeKind...)
	}
	sum := sha256.Sum256(said)
	return RowKey(sum[:16])
}

// reference is the external id that is made from a key, and from how many rows with that key came before.
func (k RowKey) reference(before int) string {
	reference := "import:" + hex.EncodeToString(k[:])
	if before > 0 {
		reference += ":" + strconv.Itoa(before+1)
	}
	return reference
}

// GiveReference gives a row without an external id one that is made from what lasts of it, so that the same file again, or a later one with other notes, finds the gifts that it
// has made. A refund has one that is made from all it says. count says how many rows with a key came before, and counts this one.
func (g *GiftRow) GiveReference(count func(RowKey) (before int, err error)) error {
	key := g.Key()
	before, err := count(key)
	reference := key.reference(before)
	switch {
	case err != nil:
		return err
	case g.IsRefund():
		if g.Filed.Key = reference; g.ExternalID != nil && *g.ExternalID != "" {
			return nil
		}
	case g.Filed != nil:
		g.Filed.Earlier, key = reference, g.LastingKey()
		before, err = count(key)
		reference = key.reference(before)
	}
	g.ExternalID, g.FromRow = &reference, true
	return err
}

// IsRefund tells whether the row is no gift, but gives one back.
func (g *GiftRow) IsRefund() bool { return g.Filed != nil && g.Filed.IsRefund }
