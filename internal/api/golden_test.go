package api_test

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm/access"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/store/book"
)

// script fills in and compares the texts of a scenario.
type script struct {
	start time.Time
	vars  map[string]string
}

var (
	repeated    = regexp.MustCompile(`\{repeat (\S+) ([0-9]+)\}`)
	series      = regexp.MustCompile(`\{series ([0-9]+) \[\[(.*?)\]\]\}`)
	hexadecimal = regexp.MustCompile(`\{hex ([0-9a-f]+)\}`)
	placeholder = regexp.MustCompile(`\{([a-z][a-z0-9_.]*)(?:=([a-z]+))?\}`)
)

// kinds are the placeholders for values that differ from run to run.
var kinds = map[string]string{
	"id":    `[1-9][0-9]{0,15}`,
	"code":  `[0-9A-Za-z]{16}`,
	"now":   `20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\+00:00`,
	"micro": `20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.000000Z`,
	"count": `[0-9]+`,
	"any":   `.*?`,
}

// fill inserts texts and variables; placeholders of kinds stay.
func (c *script) fill(t testing.TB, where, text string) string {
	t.Helper()
	text = expand(t, where, text)
	text = repeated.ReplaceAllStringFunc(text, func(s string) string {
		m := repeated.FindStringSubmatch(s)
		n, _ := strconv.Atoi(m[2])
		return strings.Repeat(m[1], n)
	})
	text = series.ReplaceAllStringFunc(text, func(s string) string {
		m := series.FindStringSubmatch(s)
		n, _ := strconv.Atoi(m[1])
		parts := make([]string, n)
		for i := range parts {
			parts[i] = strings.ReplaceAll(m[2], "#", strconv.Itoa(i+1))
		}
		return strings.Join(parts, ",")
	})
	text = hexadecimal.ReplaceAllStringFunc(text, func(s string) string {
		raw := must(hex.DecodeString(hexadecimal.FindStringSubmatch(s)[1]))(t)
		return string(raw)
	})
	return placeholder.ReplaceAllStringFunc(text, func(s string) string {
		m := placeholder.FindStringSubmatch(s)
		if value, known := c.vars[m[1]]; known && m[2] == "" {
			return value
		}
		if kinds[m[1]] == "" && kinds[m[2]] == "" {
			t.Fatalf("%s: nothing is called %s", where, s)
		}
		return s
	})
}

// matches compares a text with the expected text, and stores what the named placeholders matched.
func (c *script) matches(t testing.TB, where, written, got string) bool {
	t.Helper()
	want := c.fill(t, where, written)
	var pattern strings.Builder
	var names, found []string
	pattern.WriteString(`(?s)^`)
	at := 0
	for _, m := range placeholder.FindAllStringSubmatchIndex(want, -1) {
		pattern.WriteString(regexp.QuoteMeta(want[at:m[0]]))
		name, kind := want[m[2]:m[3]], want[m[2]:m[3]]
		if m[4] >= 0 {
			kind = want[m[4]:m[5]]
		}
		pattern.WriteString("(" + kinds[kind] + ")")
		names, found = append(names, name), append(found, kind)
		at = m[1]
	}
	pattern.WriteString(regexp.QuoteMeta(want[at:]) + `$`)
	m := regexp.MustCompile(pattern.String()).FindStringSubmatch(got)
	if m == nil {
		return false
	}
	for i, value := range m[1:] {
		if !c.recent(found[i], value) {
			t.Errorf("%s: %s is not a time of this test, which began at %s", where, value, c.start.UTC())
		}
		if names[i] == found[i] {
			continue
		}
		if known, ok := c.vars[names[i]]; ok && known != value {
			t.Errorf("%s: %s is %s here and %s there", where, names[i], known, value)
		}
		c.vars[names[i]] = value
	}
	return true
}

func (c *script) recent(kind, value string) bool {
	layout := map[string]string{"now": "2006-01-02T15:04:05-07:00", "micro": "2006-01-02T15:04:05.000000Z"}[kind]
	if layout == "" {
		return true
	}
	at, err := time.Parse(layout, value)
	return err == nil && !at.Before(c.start.Truncate(time.Second)) && !at.After(clock.now())
}

// The keys of a contact, an address, a gift and a plan in order, with their values when nothing was sent. The gift and
// the plan are those that most scenarios have.
var (
	contactKeys = members(`
		id:{id}, first_name:, middle_name:null, last_name:, dob:null, company:null,
		title:null, twitter_url:null, linkedin_url:null, facebook_url:null, emails:[],
		phones:[], primary_email:null, primary_phone:null, note:null, addresses:[],
		primary_address:null, stats:{"recurring_contributions":0,"total_contributions":0}, tags:[],
		custom_fields:[], archived_at:null, created_at:{now}, updated_at:{now},
		type:"individual", prefix:null, suffix:null, salutation:null, external_ids:[],
		do_not_mail:false, do_not_email:false, do_not_call:false, deceased:false, bounced_email:null,
		is_email_subscribed:true, is_phone_subscribed:true, is_address_subscribed:true`)
	addressKeys = members(`
		address_1:null, address_2:null, city:null, state:null, zipcode:null, country:null,
		type:"home", is_primary:0, created_at:{micro}, updated_at:{micro}`)
	itemKeys = members(`
		type:"donation", subtype:"donation", description:"Donation", quantity:1, price:50, discount:0, total:50`)
	entryKeys = members(`
		id:"{code}", plan_id:null, amount:50, fee:0, fee_covered:0, donated:50, payout:50,
		captured:true, captured_at:"2026-01-31T12:00:00+00:00", refunded:false, refunded_at:null, line_items:[@item()]`)
	giftKeys = members(`
		id:"{code}", number:"{count}", campaign_id:null, campaign_code:null, plan_id:null, team_id:null,
		member_id:null, fund_id:null, fund_code:null, giving_space:null, contact_id:{id}, first_name:"Ann",
		last_name:"Lee", company:null, email:null, phone:null, address:null, status:"succeeded",
		method:"check", payment_method:"check", amount:50, fee:0, fee_covered:0, donated:50,
		payout:50, currency:"USD", transacted_at:"2026-01-31T12:00:00+00:00", created_at:{now}, dedication:null,
		transactions:[@entry()], line_items:[@item()], custom_fields:[], utm_parameters:null, attribution_data:null,
		session_id:null, communication_opt_in:false, external_id:null, check_number:null, check_deposited_at:null,
		note:null, livemode:true, is_recurring:false, refunded_at:null`)
	planKeys = members(`
		id:"{code}", contact_id:{id}, first_name:"Ann", last_name:"Lee", email:null, phone:null,
		campaign_id:null, frequency:"monthly", status:"active", method:"card", amount:25, currency:"USD",
		start_at:"2026-01-31T00:00:00+00:00", next_bill_date:"2026-01-31T00:00:00+00:00", created_at:{now}, canceled_at:null,
		external_id:null, fee_covered:0`)
)

var navigation = regexp.MustCompile(`@pages\(([^ ]+) ([^)]*)\)`)

// pages expands meta.links: the beginning of the links, the previous page or -, the page numbers with [n] for this page
// and ... for a gap, the next page or -.
func pages(text string) string {
	m := navigation.FindStringSubmatch(text)
	link := func(page string) string {
		if page == "-" || page == "..." {
			return "null"
		}
		return `"` + m[1] + page + `"`
	}
	words := strings.Fields(m[2])
	last := len(words) - 1
	b := `[{"url":` + link(words[0]) + `,"label":"&laquo; Previous","active":false}`
	for _, word := range words[1:last] {
		page := strings.Trim(word, "[]")
		b += `,{"url":` + link(page) + `,"label":"` + page + `","active":` + strconv.FormatBool(page != word) + `}`
	}
	return b + `,{"url":` + link(words[last]) + `,"label":"Next &raquo;","active":false}]`
}

// expand expands @contact(...), @pages(...) and the like: the brackets contain only what differs from an empty object.
func expand(t testing.TB, where, text string) string {
	t.Helper()
	text = navigation.ReplaceAllStringFunc(text, pages)
	for _, form := range []struct {
		word string
		keys []field
	}{{"@address(", addressKeys}, {"@contact(", contactKeys}, {"@plan(", planKeys}, {"@gift(", giftKeys},
		{"@entry(", entryKeys}, {"@item(", itemKeys}} {
		for {
			before, after, found := strings.Cut(text, form.word)
			if !found {
				break
			}
			end := closing(after, ')')
			if end < 0 {
				t.Fatalf("%s: %s has no end", where, form.word)
			}
			text = before + object(t, where, form.keys, after[:end]) + after[end+1:]
		}
	}
	return text
}

// members are the keys and values within the brackets.
func members(given string) (all []field) {
	for given = strings.TrimSpace(given); given != ""; {
		key, rest, _ := strings.Cut(given, ":")
		end := closing(rest, ',')
		if end < 0 {
			end, rest = len(rest), rest+","
		}
		all = append(all, field{strings.TrimSpace(key), strings.TrimSpace(rest[:end])})
		given = strings.TrimSpace(rest[end+1:])
	}
	return all
}

func object(t testing.TB, where string, keys []field, given string) string {
	t.Helper()
	values := map[string]string{}
	for _, member := range members(given) {
		values[member.name] = member.value
	}
	var b strings.Builder
	for i, key := range keys {
		b.WriteByte("{,"[min(i, 1)])
		value, sent := values[key.name]
		delete(values, key.name)
		if !sent {
			value = key.value
		}
		if strings.HasPrefix(value, "{") && placeholder.MatchString(value) && strings.HasSuffix(key.name, "_at") {
			value = `"` + value + `"`
		}
		b.WriteString(`"` + key.name + `":` + value)
	}
	for key := range values {
		t.Fatalf("%s: there is no key %s", where, key)
	}
	return b.String() + "}"
}

// closing finds a character outside strings and brackets, -1 if there is none.
func closing(text string, sign byte) int {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == sign && depth == 0:
			return i
		case c == '{' || c == '[' || c == '(':
			depth++
		case c == '}' || c == ']' || c == ')':
			depth--
		}
	}
	return -1
}

// byMember breaks JSON into lines for a readable difference.
func byMember(text string) []string {
	return strings.SplitAfter(strings.ReplaceAll(text, "{", "{,"), ",")
}

func idOf(t testing.TB, body string) string {
	t.Helper()
	var found struct{ ID json.RawMessage } // a number, or a text
	if err := json.Unmarshal([]byte(body), &found); err != nil || len(found.ID) == 0 {
		t.Fatalf("no id in %s", clip(body))
	}
	return strings.Trim(string(found.ID), `"`)
}

func importCampaigns(t testing.TB, s *book.Book, account access.Account, document string) {
	t.Helper()
	rows, err := campaign.DecodeAll([]byte(document))
	if err == nil {
		_, err = s.ImportCampaigns(context.Background(), account, rows)
	}
	if err != nil {
		t.Fatal(err)
	}
}
