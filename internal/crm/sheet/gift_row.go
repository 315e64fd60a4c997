package sheet

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

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
	content  []byte      // all that it says, as it was
	together
	object []byte // of a JSON file: the row as it was
}

// together is what the cells of a row say that only tells something together.
type together struct {
	Unknown []UnknownValue // values that a person has to explain

	kind, kindMethod              string
	state                         string // as statusWords has it
	giftID                        string
	refundedAt, disputedAt        *string
	net, refunded, disputed       *int64
	isRefunded, isDisputed, isWon bool
	coversFee                     bool
	lines                         []string // for the note
	awaitsRefund                  bool     // it was refunded, and another row has to say how much
}

// Gift is the gift that a row describes. An empty cell says nothing, and what is wrong is found by Validate.
func (rows *Rows) Gift(line int, cells []string) *GiftRow {
	g := &GiftRow{Line: line, content: rows.content(cells)}
	g.SentAs, g.Filed = rows.names, new(giving.Filed)
	r := &row{Rows: rows, gift: g}
	r.read(cells)
	g.takeGiver(&r.contact)
	g.settle()
	return g
}

// takeGiver takes what a row says about the giver, which was read as that of a contact.
func (g *GiftRow) takeGiver(giver *crm.ContactInput) {
	g.Giver.FirstName, g.Giver.LastName, g.Giver.Company, g.Giver.IsCompany, g.Giver.AddedIDs = giver.FirstName, giver.LastName, giver.Company, giver.IsCompany, giver.AddedIDs
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

// content is all that a row says, whatever the order of its columns is. An earlier version has recorded gifts by it.
func (rows *Rows) content(cells []string) []byte {
	said := make([]string, 0, len(rows.cells))
	isNamed := rows.namesGiver(cells)
	for _, c := range rows.cells {
		of := Gifts.byTarget[c.mapped]
		isLate := of != nil && of.late && (c.mapped != giving.GiverID || isNamed) // without another word about the giver, an earlier version has rejected it
		if c.at >= len(cells) || c.mapped == ownGift || isLate {                  // the same gift is exported under another id by another account
			continue
		}
		if text := strings.TrimSpace(cells[c.at]); text != "" {
			said = append(said, fmt.Sprintf("%s=%d:%s;", c.mapped, len(text), text))
		}
	}
	slices.Sort(said)
	return []byte(strings.Join(said, ""))
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
	kept := withoutKey(object, giving.RejectedKey)
	return &GiftRow{GiftLine: read, Line: line, faults: *faults, content: kept, object: kept}
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

// Validate checks the row as a new gift; the location of now is the organization's.
func (g *GiftRow) Validate(region string, now time.Time) error {
	if g.isBroken { // what the cells say cannot be trusted
		return g.faults.Err()
	}
	in := &g.GiftInput
	if g.kind == noGift {
		return in.Named(doc.NewInvalid("type", notAGift))
	}
	if in.Filed == nil {
		in.Filed = new(giving.Filed)
	}
	for _, at := range []*string{in.GivenAt, g.refundedAt, g.disputedAt} { // a clock of the organization has shown it
		if at != nil {
			if shown, err := time.ParseInLocation(time.DateTime, *at, now.Location()); err == nil {
				*at = shown.Format(time.RFC3339)
			}
		}
	}
	if in.Filed.IsRefund {
		return in.Named(in.ValidateRefund(&g.faults, now))
	}
	if g.CampaignName != "" && in.Campaign != nil && *in.Campaign != 0 {
		g.faults.Add("campaign", "must not come together with campaign_id")
	}
	return in.Named(in.Validate(&g.faults, true, region, now))
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

func appendQuoted(dst []byte, text string) []byte {
	quoted, _ := jsontext.AppendQuote(dst, strings.ToValidUTF8(text, "\ufffd")) // which fails for nothing else
	return quoted
}

// RowKey is what a row says, in short. Equal rows have equal keys.
type RowKey [16]byte

// Key is the key of the row. A promise is not the payment that says the same but for its type, which earlier versions have not read.
func (g *GiftRow) Key() RowKey {
	said := g.content
	if isDue := g.Status != nil && *g.Status == string(giving.Pending); g.kind == pledgeKind || g.kind == writeOff || g.kind == schedule && isDue {
		said = append(slices.Clone(said), "type="+pledgeKind...)
	}
	sum := sha256.Sum256(said)
	return RowKey(sum[:16])
}

// GiveReference gives a row without an external id one that is made from all it says, and from how many equal rows came before it in its
// file: the same file again finds the gifts that it has made.
func (g *GiftRow) GiveReference(key RowKey, before int) {
	reference := "import:" + hex.EncodeToString(key[:])
	if before > 0 {
		reference += ":" + strconv.Itoa(before+1)
	}
	if g.IsRefund() {
		if g.Filed.Key = reference; g.ExternalID != nil && *g.ExternalID != "" {
			return
		}
	}
	g.ExternalID, g.FromRow = &reference, true
}

// IsRefund tells whether the row is no gift, but gives one back.
func (g *GiftRow) IsRefund() bool { return g.Filed != nil && g.Filed.IsRefund }
