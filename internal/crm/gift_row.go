package crm

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// GiftRow is one row of a file of gifts.
type GiftRow struct {
	GiftInput
	Line         int    // where it begins, from 1
	CampaignName string // the id, the slug or the title of a campaign; "" is none
	Own          string // the id of a gift that was exported; "" is none

	faults   Invalid                    // found while reading
	content  []byte                     // all that it says, as it was
	rejected func(reason string) string // of a JSON file
}

// RejectedColumn is the column, or the key, with the reason in a file of rejected rows. It is not read.
const RejectedColumn = "rejected"

// otherKeys are what a JSON row may also call the fields of the wire.
var otherKeys = map[string]string{"date": "transacted_at", "external_reference": "external_id", "payment_method": "method", "campaign_code": "campaign"}

// giftCell is a cell of a table with what its column tells.
type giftCell struct {
	*giftColumn
	index    int // of the column
	text     string
	region   string
	dayFirst bool
	isOwn    bool // the file is an export of ours
}

// giftHeader is what the columns of a table are.
type giftHeader struct {
	cells    []giftCell
	giver    *ContactRows
	sentAs   map[string]string // the columns, by what they are on the wire
	noMethod bool
}

func readHeader(mapping Mapping, region string) *giftHeader {
	h := &giftHeader{sentAs: map[string]string{}, noMethod: true}
	giver := make(Mapping, len(mapping))
	isOwn := mapping.isOwnGifts()
	for i, c := range mapping {
		column := giftColumnOf(c.Target)
		giver[i] = Column{Name: c.Name, Target: cmp.Or(column.giver, SkipColumn)}
		h.noMethod = h.noMethod && c.Target != "method"
		if c.Target == SkipColumn {
			continue
		}
		h.cells = append(h.cells, giftCell{giftColumn: column, index: i, region: region, dayFirst: region != "US" || isForeignDay(c.Name), isOwn: isOwn})
		h.name(column, c.Name)
	}
	isAmount := func(c giftCell) int { return first(c.target == "currency") } // it tells how an amount is read
	slices.SortStableFunc(h.cells, func(a, b giftCell) int { return cmp.Compare(isAmount(a), isAmount(b)) })
	h.giver = giver.Rows(region)
	return h
}

// name notes what a column is called, for the faults of its field.
func (h *giftHeader) name(column *giftColumn, heading string) {
	dedication, isDedication := strings.CutPrefix(column.target, "dedication_")
	switch {
	case isDedication:
		h.sentAs["dedication."+dedication] = heading
	case column.target == FullNameColumn:
		for _, part := range [...]string{"first_name", "last_name"} {
			if h.sentAs[part] == "" {
				h.sentAs[part] = heading + " (" + strings.ReplaceAll(part, "_", " ") + ")"
			}
		}
	default:
		h.sentAs[cmp.Or(giverFaults.Replace(column.giver), column.target)] = heading
	}
}

// row is what the cells of one line say. An empty cell says nothing.
func (h *giftHeader) row(line int, cells []string) *GiftRow {
	row := &GiftRow{Line: line}
	row.sentAs = h.sentAs
	said := make([]string, 0, len(h.cells))
	for _, c := range h.cells {
		if c.index >= len(cells) { // of a row that cannot be read
			continue
		}
		if c.text = strings.TrimSpace(cells[c.index]); c.text == "" {
			continue
		}
		if c.read != nil {
			c.read(row, &c)
		}
		if c.target != ownGift { // the same gift is exported under another id by another account
			said = append(said, fmt.Sprintf("%s=%d:%s;", c.target, len(c.text), c.text))
		}
	}
	row.takeGiver(h.giver.Input(cells))
	if h.noMethod {
		method := "other"
		row.Method = &method
	}
	slices.Sort(said) // whatever the order of the columns is
	row.content = []byte(strings.Join(said, ""))
	return row
}

// takeGiver takes what a row says about the giver, which was read as that of a contact.
func (row *GiftRow) takeGiver(giver ContactInput) {
	row.Giver.FirstName, row.Giver.LastName, row.Giver.Company = giver.FirstName, giver.LastName, giver.Company
	if giver.Emails != nil {
		row.Email = &(*giver.Emails)[0].Value
	}
	if giver.Phones != nil {
		row.Phone = &(*giver.Phones)[0].Value
	}
	if giver.Addresses != nil {
		address := &(*giver.Addresses)[0]
		row.Address = &address
	}
}

// readJSONRow reads a row that is a JSON object with the names of the wire.
func readJSONRow(line int, document []byte) (*GiftRow, error) {
	document = bytes.TrimSpace(document)
	row := &GiftRow{Line: line}
	r := newJSONReader("The row", document)
	r.document(func(key string) {
		switch other := otherKeys[key]; {
		case key == "campaign":
			row.CampaignName = r.textOrNumber()
		case key == "date":
			row.GivenAt = r.textSent()
		case key == "external_reference":
			row.ExternalID = r.textSent()
		case key == ownGift && r.next() == '"':
			row.Own = r.text()
		case key == RejectedColumn, other == "campaign":
			r.skip()
		case key == "transactions" && r.hasRefund():
			r.fault.Add(key, refundLost)
		case key == "transactions":
		default:
			row.read(r, key)
		}
	})
	if err := r.end(); r.err != nil {
		return nil, err
	}
	row.faults = r.fault
	row.content = withoutKey(document, RejectedColumn)
	row.rejected = func(reason string) string {
		object := bytes.TrimSuffix(withoutKey(document, RejectedColumn), []byte("}"))
		if len(object) > 1 {
			object = append(object, ',')
		}
		object = append(object, `"`+RejectedColumn+`":`...)
		return string(append(appendText(object, reason), '}'))
	}
	return row, nil
}

// hasRefund reads the ledger of a gift, and tells whether money went back and stayed there. A correction is no refund.
func (r *jsonReader) hasRefund() (found bool) {
	if r.next() != '[' {
		r.skip()
		return false
	}
	var g Gift
	r.token()
	for r.err == nil && r.dec.PeekKind() != ']' {
		var amount string
		refunded := false
		r.object(func(key string) {
			switch kind, text := r.scalar(); key {
			case "refunded":
				refunded = kind == 't'
			case "amount":
				amount = text
			}
		})
		entry := Entry{}
		digits, negative := strings.CutPrefix(amount, "-")
		units, ok := parseDecimal(digits, sentDecimals, 18)
		if entry.Amount = units; negative {
			entry.Amount = -units
		}
		if refunded {
			entry.RefundedAt = time.Unix(1, 0)
		}
		g.Entries = append(g.Entries, entry)
		found = found || refunded && !negative || negative && !ok || entry.IsReversal() && g.Left() != 0
	}
	r.token()
	return found || len(g.Entries) > 0 && g.Refunded() > 0
}

// textOrNumber reads a text, or a number as it was written.
func (r *jsonReader) textOrNumber() string {
	if r.next() == '0' {
		text, _ := r.number()
		return text
	}
	return r.text()
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

// Validate checks the row as a new gift; the location of now is the organization's. A giver without a name must be a contact already.
func (row *GiftRow) Validate(region string, now time.Time) error {
	if row.faults.has("") { // what the cells say cannot be trusted
		return row.faults.Err()
	}
	in := &row.GiftInput
	empty := func(text *string) bool { return text == nil || *text == "" }
	if (in.Contact == nil || *in.Contact == 0) && empty(in.Giver.FirstName) && empty(in.Giver.LastName) && !(empty(in.Email) && empty(in.Phone)) {
		in.Known, in.Giver.FirstName, in.Giver.LastName = true, nil, nil
	}
	if row.CampaignName != "" && in.Campaign != nil && *in.Campaign != 0 {
		row.faults.Add("campaign", "must not come together with campaign_id")
	}
	if at, err := time.ParseInLocation(campaignTimeForm, value(in.GivenAt), now.Location()); err == nil { // a clock of the organization has shown it
		text := at.Format(time.RFC3339)
		in.GivenAt = &text
	}
	return in.Named(in.Validate(&row.faults, true, region, now))
}

// UnknownGiver is broken by an email or a phone that no contact has.
const UnknownGiver Rule = "must be that of a contact, or come with the first and the last name of a new one"

// NoGiver is the fault of a giver without a name who is no contact.
func (in *GiftInput) NoGiver() error {
	field := "email"
	if in.Email == nil || *in.Email == "" {
		field = "phone"
	}
	return invalid(field, UnknownGiver)
}

// Rejected is a row of a JSON file as it was, with the reason: one JSON object.
func (row *GiftRow) Rejected(reason string) string { return row.rejected(reason) }

// RowKey is what a row says, in short. Equal rows have equal keys.
type RowKey [16]byte

// Key is the key of the row.
func (row *GiftRow) Key() RowKey {
	sum := sha256.Sum256(row.content)
	return RowKey(sum[:16])
}

// GiveReference gives a row without an external id one that is made from all it says, and from how many equal rows came before it in its
// file: the same file again finds the gifts that it has made.
func (row *GiftRow) GiveReference(key RowKey, before int) {
	reference := "import:" + hex.EncodeToString(key[:])
	if before > 0 {
		reference += ":" + strconv.Itoa(before+1)
	}
	row.ExternalID, row.FromRow = &reference, true
}

// AllFaults are all faults of an input in one line.
func (v *Invalid) AllFaults() string {
	texts := make([]string, 0, len(v.Faults))
	for _, fault := range v.Faults {
		texts = append(texts, fault.String())
	}
	return strings.Join(texts, " ")
}
