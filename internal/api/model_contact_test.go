package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"donorbook/internal/rig/rows"
)

// modelContact is a contact as the contract describes it, in its simplest form.
type modelContact struct {
	id        int64
	texts     [9]string // in the order of textFields; "" is unset
	emails    []modelValue
	phones    []modelValue
	addresses [][6]string
	tags      []string
	archived  bool
}

var textFields = [9]string{"first_name", "middle_name", "last_name", "dob", "company", "title", "twitter_url",
	"linkedin_url", "facebook_url"}

const (
	firstName = 0
	lastName  = 2
	dayOfDOB  = 3
)

var addressFields = [6]string{"address_1", "address_2", "city", "state", "zipcode", "country"}

// modelValue is an email or a phone: as it was sent, and in the form that is compared.
type modelValue struct{ Kind, Value, Same string }

// modelInput is a body. A nil text or list is not sent; a text may be sent as null.
type modelInput struct {
	texts     [9]*string // what the field becomes; "" clears it
	sent      [9]string  // as it is written
	emails    *[]modelValue
	phones    *[]modelValue
	addresses *[][6]string
	tags      *[]string
}

// There are few values, so that contacts match each other.
var (
	emailPool = rows.Of[modelValue](`
		work      ann@lee.example      ann
		""        Ann@Lee.Example      ann
		personal  ANN@LEE.EXAMPLE      ann
		""        bob@ray.example      bob
		work      BOB@ray.example      bob
		personal  jörg@müller.example  jörg
		""        JÖRG@MÜLLER.example  jörg
		""        cy@ode.example       cy
		work      dee@ode.example      dee
	`)
	phonePool = rows.Of[modelValue](`
		cell  (415) 555-0132    1
		""    +1 415 555 0132   1
		home  415.555.0132      1
		""    +49 30 901820     2
		work  +4930901820       2
		cell  212-555-0187      3
		""    +44 20 7946 0018  4
	`)
	addressPool = [][6]string{
		{"18 Harbor Street", "Apt 4", "Oakland", "CA", "94607", "USA"},
		{"18 harbor  STREET", "apt4", "oakland", "ca", "94607", "usa"},
		{"", "", "Oakland", "", "", ""}, {"1 Road", "", "", "", "", "DEU"}, {"1 Road", "", "", "", "", ""},
		{"", "", "", "NY", "", "USA"},
	}
	tagPool  = []string{"donor", "Donor", "Major donor", "Großspender", "a\"b", "<i>&"}
	textPool = [9][]string{
		{"Ann", "Bob", "Cy"}, {"M", "de"}, {"Lee", "Ray"}, {"01/31/1984", "1/2/2000", "12/31/1999"},
		{"Lee & Co", "株式会社"}, {"Chair", "T"},
		{"https://twitter.com/x", "http://t.example"}, {"https://l.example/in/y?z=1"}, {"https://f.example/ü"},
	}
	isoDays = map[string]string{
		"01/31/1984": "1984-01-31T00:00:00.000000Z", "1/2/2000": "2000-01-02T00:00:00.000000Z",
		"12/31/1999": "1999-12-31T00:00:00.000000Z",
	}
)

func drawInput(r *rapid.T) *modelInput {
	in := &modelInput{}
	for i, pool := range textPool {
		choice := rapid.IntRange(0, 9).Draw(r, textFields[i])
		if (i == firstName || i == lastName) && choice >= 3 {
			choice = 9 // most bodies have names
		}
		var value, sent string
		switch choice {
		case 0:
			sent = `null`
		case 1:
			sent = `""`
		case 2, 3, 4, 5:
			continue // absent
		default:
			value = rapid.SampledFrom(pool).Draw(r, "value")
			sent = jsonText(value)
			if rapid.Bool().Draw(r, "with spaces") {
				sent = jsonText(" " + value + "\t")
			}
			if i == dayOfDOB {
				value = isoDays[value]
			}
		}
		in.texts[i], in.sent[i] = &value, sent
	}
	in.emails = drawList(r, "emails", emailPool, 3)
	in.phones = drawList(r, "phones", phonePool, 3)
	in.addresses = drawList(r, "addresses", addressPool, 3)
	in.tags = drawList(r, "tags", tagPool, 4)
	return in
}

// drawList is nil for a list that is not sent or is sent as null, which means the same everywhere.
func drawList[T any](r *rapid.T, name string, pool []T, most int) *[]T {
	if rapid.IntRange(0, 2).Draw(r, name+" sent") == 0 {
		return nil
	}
	list := rapid.SliceOfN(rapid.SampledFrom(pool), 0, most).Draw(r, name)
	return &list
}

func drawTags(r *rapid.T) []string {
	return rapid.SliceOfN(rapid.SampledFrom(tagPool), 0, 4).Draw(r, "tags")
}

func (in *modelInput) json() string {
	var members []string
	for i, field := range textFields {
		if in.texts[i] != nil {
			members = append(members, jsonText(field)+":"+in.sent[i])
		}
	}
	values := func(list []modelValue) string {
		var parts []string
		for _, v := range list {
			if v.Kind == "" {
				parts = append(parts, `{"value":`+jsonText(v.Value)+`}`)
			} else {
				parts = append(parts, `{"value":`+jsonText(v.Value)+`,"type":`+jsonText(v.Kind)+`}`)
			}
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	if in.emails != nil {
		members = append(members, `"emails":`+values(*in.emails))
	}
	if in.phones != nil {
		members = append(members, `"phones":`+values(*in.phones))
	}
	if in.addresses != nil {
		var parts []string
		for _, address := range *in.addresses {
			var fields []string
			for i, part := range address {
				fields = append(fields, jsonText(addressFields[i])+":"+jsonText(part))
			}
			parts = append(parts, "{"+strings.Join(fields, ",")+"}")
		}
		members = append(members, `"addresses":[`+strings.Join(parts, ",")+"]")
	}
	if in.tags != nil {
		members = append(members, `"tags":`+jsonTexts(*in.tags))
	}
	return "{" + strings.Join(members, ",") + "}"
}

// missingNames is the answer to a create without names, "" if it has them.
func (in *modelInput) missingNames() string {
	var faults []string
	for _, i := range []int{firstName, lastName} {
		if in.texts[i] == nil || *in.texts[i] == "" {
			faults = append(faults, textFields[i], "The "+textFields[i]+" field is required.")
		}
	}
	return refusal(faults)
}

// emptyNames is the answer to an update that would clear names, "" if it would not.
func (in *modelInput) emptyNames() string {
	var faults []string
	for _, i := range []int{firstName, lastName} {
		if in.texts[i] != nil && *in.texts[i] == "" {
			faults = append(faults, textFields[i], "The "+textFields[i]+" field must not be empty.")
		}
	}
	return refusal(faults)
}

// refusal is a 422 with errors in one or two fields: name and message alternate.
func refusal(faults []string) string {
	switch len(faults) {
	case 0:
		return ""
	case 2:
		return fmt.Sprintf(`{"message":"%s","errors":{"%s":["%s"]}}`, faults[1], faults[0], faults[1])
	default:
		return fmt.Sprintf(`{"message":"%s (and 1 more error)","errors":{"%s":["%s"],"%s":["%s"]}}`, faults[1],
			faults[0], faults[1], faults[2], faults[3])
	}
}

// match finds the active contact that a create matches: by email before phone, then by name, then by age.
func (a *modelAccount) match(in *modelInput) (best *modelContact) {
	shares := func(have []modelValue, sent *[]modelValue) bool {
		return sent != nil && slices.ContainsFunc(*sent, func(v modelValue) bool { return holds(have, v) })
	}
	rank := func(c *modelContact) int {
		n := 0
		if shares(c.emails, in.emails) {
			n += 2
		}
		if c.texts[firstName] == *in.texts[firstName] && c.texts[lastName] == *in.texts[lastName] {
			n++
		}
		return n
	}
	for _, c := range a.contacts {
		if !c.archived && (shares(c.emails, in.emails) || shares(c.phones, in.phones)) &&
			(best == nil || rank(c) > rank(best)) {
			best = c
		}
	}
	return best
}

func holds(list []modelValue, v modelValue) bool {
	return slices.ContainsFunc(list, func(have modelValue) bool { return have.Same == v.Same })
}

// merge adds what was sent and drops nothing.
func (c *modelContact) merge(in *modelInput) {
	for i, text := range in.texts {
		if text != nil && *text != "" {
			c.texts[i] = *text
		}
	}
	add := func(list *[]modelValue, sent *[]modelValue) {
		if sent != nil {
			*list = onceEach(slices.Concat(*list, *sent))
		}
	}
	add(&c.emails, in.emails)
	add(&c.phones, in.phones)
	if in.addresses != nil {
		c.addresses = differentAddresses(slices.Concat(c.addresses, *in.addresses))
	}
	if in.tags != nil {
		c.tags = once(slices.Concat(c.tags, *in.tags))
	}
}

// patch sets what was sent; lists are replaced completely.
func (c *modelContact) patch(in *modelInput) {
	for i, text := range in.texts {
		if text != nil {
			c.texts[i] = *text
		}
	}
	if in.emails != nil {
		c.emails = onceEach(*in.emails)
	}
	if in.phones != nil {
		c.phones = onceEach(*in.phones)
	}
	if in.addresses != nil {
		c.addresses = differentAddresses(*in.addresses)
	}
	if in.tags != nil {
		c.tags = once(*in.tags)
	}
}

func once(tags []string) (kept []string) {
	for _, tag := range tags {
		if !slices.Contains(kept, tag) {
			kept = append(kept, tag)
		}
	}
	return kept
}

func onceEach(values []modelValue) (kept []modelValue) {
	for _, v := range values {
		if !holds(kept, v) {
			kept = append(kept, v)
		}
	}
	return kept
}

func differentAddresses(addresses [][6]string) (kept [][6]string) {
	bare := func(address [6]string) string {
		return strings.ToLower(strings.ReplaceAll(strings.Join(address[:], "|"), " ", ""))
	}
	for _, address := range addresses {
		if !slices.ContainsFunc(kept, func(have [6]string) bool { return bare(have) == bare(address) }) {
			kept = append(kept, address)
		}
	}
	return kept
}

// json is the contact on the wire, with the word time in place of every time.
func (c *modelContact) json() string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"id":%d`, c.id)
	for i, field := range textFields {
		fmt.Fprintf(&b, `,"%s":%s`, field, orNull(c.texts[i]))
	}
	list := func(values []modelValue) (parts []string, primary string) {
		for _, v := range values {
			parts = append(parts, `{"type":`+orNull(v.Kind)+`,"value":`+jsonText(v.Value)+`}`)
		}
		if len(values) > 0 {
			primary = values[0].Value
		}
		return parts, orNull(primary)
	}
	emails, email := list(c.emails)
	phones, phone := list(c.phones)
	fmt.Fprintf(&b, `,"emails":[%s],"phones":[%s],"primary_email":%s,"primary_phone":%s,"note":null`,
		strings.Join(emails, ","), strings.Join(phones, ","), email, phone)
	var addresses []string
	first := "null"
	for i, address := range c.addresses {
		text := "{"
		for j, part := range address {
			text += `"` + addressFields[j] + `":` + orNull(part) + `,`
		}
		text += fmt.Sprintf(`"type":"home","is_primary":%d,"created_at":"time","updated_at":"time"}`, max(0, 1-i))
		if i == 0 {
			first = text
		}
		addresses = append(addresses, text)
	}
	archived := "null"
	if c.archived {
		archived = `"time"`
	}
	fmt.Fprintf(&b,
		`,"addresses":[%s],"primary_address":%s,"stats":{"recurring_contributions":0,"total_contributions":0},"tags":%s,"custom_fields":[],"archived_at":%s,"created_at":"time","updated_at":"time",`+newKeys+`}`,
		strings.Join(addresses, ","), first, jsonTexts(c.tags), archived)
	return b.String()
}

// newKeys are the keys that contacts did not always have, as most have them.
const newKeys = `"type":"individual","prefix":null,"suffix":null,"salutation":null,"external_ids":[],"do_not_mail":false,"do_not_email":false,"do_not_call":false,"deceased":false,"bounced_email":null,"is_email_subscribed":true,"is_phone_subscribed":true,"is_address_subscribed":true`

func orNull(text string) string {
	if text == "" {
		return "null"
	}
	return jsonText(text)
}

func jsonText(text string) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text) // a string always encodes
	return strings.TrimSuffix(b.String(), "\n")
}

func jsonTexts(texts []string) string {
	parts := make([]string, len(texts))
	for i, text := range texts {
		parts[i] = jsonText(text)
	}
	return "[" + strings.Join(parts, ",") + "]"
}
