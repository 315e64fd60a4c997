package crm

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// Version names the state that a contact is in. A client that changes it may say which state it saw. A time
// would not do, because two changes in one second have the same.
func (c *Contact) Version() string {
	seen := *c
	seen.Stats = Stats{} // a gift that arrives meanwhile is no change of what a person edits
	return versionOf(seen.AppendBody(nil))
}

// Snapshot names the contact together with its state: twins may be in the same one.
func (c *Contact) Snapshot() string { return strconv.FormatInt(c.ID, 10) + "-" + c.Version() }

// Version names the state that a campaign is in. Whom it benefits and where people donate is no part of what the API shows of it, but
// people change it on the same form.
func (c *Campaign) Version(beneficiaries []string) string {
	body, _ := c.AppendBody(nil)
	return versionOf(append(body, strings.Join(beneficiaries, " ")+" "+c.PaymentLink...))
}

func versionOf(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:8])
}

// Version names the state that a gift is in.
func (g *Gift) Version() string { return versionOf(g.AppendBody(idKind.Append(nil, g.Campaign))) }

// Version names the state that a plan is in.
func (p *Plan) Version() string { return versionOf(p.AppendBody(nil)) }
