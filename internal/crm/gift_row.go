package crm

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
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
	CampaignName string // the id or the slug of a campaign; "" is none

	faults   Invalid // found while reading
	content  []byte  // all that it says, as it was
	rejected func(reason string) []string
	size     int
}

// rejectedColumn is the column, or the key, with the reason in a file of rejected rows. It is not read.
const rejectedColumn = "rejected"

// giftColumns are the columns of a file of gifts by their names on the wire. Names are compared without regard to case, spaces and
// underscores.
var giftColumns = map[string]func(row *GiftRow, text string){
	"amount":        moneyColumn("amount", func(in *GiftInput) **int64 { return &in.Amount }),
	"fee":           moneyColumn("fee", func(in *GiftInput) **int64 { return &in.Fee }),
	"fee_covered":   moneyColumn("fee_covered", func(in *GiftInput) **int64 { return &in.FeeCovered }),
	"transacted_at": func(row *GiftRow, text string) { day := dayColumn(text); row.GivenAt = &day },
	"method":        func(row *GiftRow, text string) { method := methodColumn(text); row.Method = &method },
	"currency":      textColumn(func(in *GiftInput) **string { return &in.Currency }),
	"status":        textColumn(func(in *GiftInput) **string { return &in.Status }),
	"contact_id":    idColumn("contact_id", func(in *GiftInput) **int64 { return &in.Contact }),
	"email":         textColumn(func(in *GiftInput) **string { return &in.Email }),
	"phone":         textColumn(func(in *GiftInput) **string { return &in.Phone }),
	"first_name":    textColumn(func(in *GiftInput) **string { return &in.Giver.FirstName }),
	"last_name":     textColumn(func(in *GiftInput) **string { return &in.Giver.LastName }),
	"company":       textColumn(func(in *GiftInput) **string { return &in.Giver.Company }),
	"campaign":      func(row *GiftRow, text string) { row.CampaignName = text },
	"campaign_id":   idColumn("campaign_id", func(in *GiftInput) **int64 { return &in.Campaign }),
	"plan_id":       textColumn(func(in *GiftInput) **string { return &in.Plan }),
	"external_id":   textColumn(func(in *GiftInput) **string { return &in.ExternalID }),
	"check_number":  textColumn(func(in *GiftInput) **string { return &in.Check }),
	"note":          textColumn(func(in *GiftInput) **string { return &in.Note }),
	rejectedColumn:  nil,
}

// otherColumns are what people also call them.
var otherColumns = map[string]string{"date": "transacted_at", "external_reference": "external_id", "payment_method": "method", "campaign_code": "campaign"}

// dayColumn also takes a day as spreadsheets of the United States write it: 1/31/2026.
func dayColumn(text string) string {
	if day, err := time.Parse("1/2/2006", text); err == nil {
		return day.Format(time.DateOnly)
	}
	return text
}

// methodColumn is a method as people write it: Check, Credit card, In kind.
func methodColumn(text string) string {
	method := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(text)), " ", "_")
	return cmp.Or(map[string]string{"credit_card": "card", "debit_card": "card", "cheque": "check", "bank": "bank_transfer", "wire": "bank_transfer"}[method], method)
}

func textColumn(of func(*GiftInput) **string) func(*GiftRow, string) {
	return func(row *GiftRow, text string) { *of(&row.GiftInput) = &text }
}

func moneyColumn(name string, of func(*GiftInput) **int64) func(*GiftRow, string) {
	return func(row *GiftRow, text string) { *of(&row.GiftInput) = ParseMoney(&row.faults, name, text, "", false) }
}

func idColumn(name string, of func(*GiftInput) **int64) func(*GiftRow, string) {
	return func(row *GiftRow, text string) {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil || id < 0 {
			row.faults.Add(name, IDForm)
		}
		*of(&row.GiftInput) = &id
	}
}

// columnName is the name on the wire of a column, "" where no column is called so.
func columnName(heading string) string {
	plain := func(name string) string { return strings.NewReplacer(" ", "", "_", "").Replace(strings.ToLower(name)) }
	for name := range giftColumns {
		if plain(name) == plain(heading) {
			return name
		}
	}
	for other, name := range otherColumns {
		if plain(other) == plain(heading) {
			return name
		}
	}
	return ""
}

// giftHeader is what the columns of a table are.
type giftHeader struct {
	names    []string // on the wire, "" where a column is not read
	headings []string // as they were
}

func readHeader(headings []string) (h giftHeader, err error) {
	h.headings = headings
	for _, heading := range headings {
		name := columnName(heading)
		if name != "" && slices.Contains(h.names, name) {
			return h, &Malformed{Message: fmt.Sprintf("Two columns of the first line are %s: leave one out.", name)}
		}
		h.names = append(h.names, name)
	}
	var missing []string
	for _, name := range []string{"amount", "transacted_at", "method"} {
		if !slices.Contains(h.names, name) {
			missing = append(missing, strings.ReplaceAll(name, "transacted_at", "date"))
		}
	}
	if len(missing) > 0 {
		return h, &Malformed{Message: "The first line must name the columns. It names no " + strings.Join(missing, " and no ") + "."}
	}
	return h, nil
}

// ignored are the columns that are not read.
func (h giftHeader) ignored() (headings []string) {
	for i, name := range h.names {
		if name == "" && strings.TrimSpace(h.headings[i]) != "" {
			headings = append(headings, h.headings[i])
		}
	}
	return headings
}

// row is what the cells of one line say. An empty cell says nothing.
func (h giftHeader) row(line int, cells []string) *GiftRow {
	row := &GiftRow{Line: line, rejected: func(reason string) []string { return h.line(cells, reason) }}
	said := make(map[string]string)
	for i, cell := range cells[:min(len(cells), len(h.names))] { // a row that cannot be read may have more
		row.size += len(cell)
		text := strings.TrimSpace(cell)
		if read := giftColumns[h.names[i]]; read != nil && text != "" {
			read(row, text)
			said[h.names[i]] = text
		}
	}
	for _, name := range slices.Sorted(maps.Keys(said)) { // whatever the order of the columns is
		row.content = fmt.Appendf(row.content, "%s=%d:%s;", name, len(said[name]), said[name])
	}
	return row
}

// line is a row of a table of rejected rows: all columns as they were, and the reason in the last one.
func (h giftHeader) line(cells []string, reason string) []string {
	cells = append(slices.Clone(cells), make([]string, max(0, len(h.names)-len(cells)))...)
	if i := slices.Index(h.names, rejectedColumn); i >= 0 { // of a file that was rejected before
		cells = slices.Delete(cells, i, i+1)
	}
	return append(cells, reason)
}

// readJSONRow reads a row that is a JSON object with the names of the wire.
func readJSONRow(line int, document []byte) (*GiftRow, error) {
	document = bytes.TrimSpace(document)
	row := &GiftRow{Line: line, size: len(document)}
	r := newJSONReader("The row", document)
	r.document(func(key string) {
		switch other := otherColumns[key]; {
		case key == "campaign":
			row.CampaignName = r.textOrNumber()
		case key == "date":
			row.GivenAt = r.textSent()
		case key == "external_reference":
			row.ExternalID = r.textSent()
		case key == rejectedColumn, other == "campaign":
			r.skip()
		default:
			row.read(r, key)
		}
	})
	if err := r.end(); r.err != nil {
		return nil, err
	}
	row.faults = r.fault
	row.content = withoutKey(document, rejectedColumn)
	row.rejected = func(reason string) []string {
		object := bytes.TrimSuffix(withoutKey(document, rejectedColumn), []byte("}"))
		if len(object) > 1 {
			object = append(object, ',')
		}
		object = append(object, `"`+rejectedColumn+`":`...)
		return []string{string(append(appendText(object, reason), '}'))}
	}
	return row, nil
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

// Validate checks the row as a new gift. A giver without a name must be a contact already.
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
	return in.Validate(&row.faults, true, region, now)
}

// UnknownGiver is broken by an email or a phone that no contact has.
const UnknownGiver Rule = "must be that of a contact, or come with the first_name and the last_name of a new one"

// NoGiver is the fault of a giver without a name who is no contact.
func (in *GiftInput) NoGiver() error {
	field := "email"
	if in.Email == nil || *in.Email == "" {
		field = "phone"
	}
	return invalid(field, UnknownGiver)
}

// Rejected is the row as it was, with the reason, for a file of rejected rows: its cells, or one JSON object.
func (row *GiftRow) Rejected(reason string) []string { return row.rejected(reason) }

// Size is about how much memory the row takes.
func (row *GiftRow) Size() int { return row.size }

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
