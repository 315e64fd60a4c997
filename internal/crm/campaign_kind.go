package crm

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The kinds of fields that campaigns have beside those of contacts.

// maxHTML is the longest HTML text, in characters.
const maxHTML = 100_000

const ticked = "yes" // what a box of a form holds

var (
	// cents is an amount of money.
	cents = kind[int64]{
		read: func(r *jsonReader) int64 { return readDecimal(r, 2, centDigits, CentRange) }, append: appendCents,
		check: within(maxCents, CentRange),
		text:  func(n int64) string { return emptyWhere(n == 0, AmountText(n)) },
		take: func(form Form, name string) int64 {
			f := campaignFormOf(form)
			return ParseAmount(&f.faults, name, form.Value(name), f.currency())
		},
	}

	// count is a number of people.
	count = kind[int64]{
		read:   func(r *jsonReader) int64 { return readDecimal(r, 0, donorDigits, CountRange, maxDonors) },
		append: func(dst []byte, n int64) []byte { return strconv.AppendInt(dst, n, 10) },
		check:  within(maxDonors, CountRange, maxDonors),
		text:   func(n int64) string { return emptyWhere(n == 0, CountText(n)) },
		take: func(form Form, name string) int64 {
			return ParseNumber(&campaignFormOf(form).faults, name, form.Value(name))
		},
	}

	yesNo = kind[bool]{
		read: (*jsonReader).boolean, append: strconv.AppendBool,
		text: func(yes bool) string { return emptyWhere(!yes, ticked) },
		take: func(form Form, name string) bool { return form.Value(name) == ticked },
	}

	// campaignTime is a time as campaigns show it. FillCampaignForm says in which zone.
	campaignTime = kind[time.Time]{
		read:   readCampaignTime,
		append: func(dst []byte, t time.Time) []byte { return appendTime(dst, t, appendCampaignTime) },
		check:  func(*checker, place, string, *time.Time) {},
		text:   func(t time.Time) string { return LocalTimeText(t, "") },
		take:   func(form Form, name string) time.Time { return campaignFormOf(form).time(name, form.Value(name)) },
	}
)

// readDecimal reads a number that is not negative; null is 0.
func readDecimal(r *jsonReader, decimals, digits int, rule Rule, args ...any) int64 {
	text, ok := r.number()
	if !ok {
		return 0
	}
	n, ok := parseDecimal(text, decimals, digits)
	if !ok {
		r.wrong(rule, args...)
	}
	return n
}

// within is for inputs that were not read from JSON.
func within(limit int64, rule Rule, args ...any) func(c *checker, at place, name string, n *int64) {
	return func(c *checker, at place, name string, n *int64) {
		if *n < 0 || *n > limit {
			c.add(at, name, rule, args...)
		}
	}
}

// readCampaignTime reads a time; null and "" are the zero time.
func readCampaignTime(r *jsonReader) time.Time {
	text := r.text()
	if text == "" {
		return time.Time{}
	}
	t, ok := parseCampaignTime(text)
	if ok && t.Year() >= 1000 {
		return t
	}
	if !r.fault.has(r.path()) {
		r.wrong(TimeForm)
	}
	return time.Time{}
}

// matching is a text that keeps to a rule, which says all about it.
func matching(ok func(string) bool, rule Rule, args ...any) kind[string] {
	k := text(maxText)
	k.check = func(c *checker, at place, name string, value *string) {
		if *value != "" && !ok(*value) {
			c.add(at, name, rule, args...)
		}
	}
	return k
}

func among(known ...string) kind[string] {
	return matching(func(value string) bool { return slices.Contains(known, value) }, OneOf, strings.Join(known, ", "))
}

func slugKind() kind[string] {
	return matching(IsSlug, SlugForm, maxText).staying().and(func(c *checker, at place, name string, slug *string) {
		if slices.Contains(reservedSlugs, *slug) {
			c.add(at, name, "is reserved for the service itself: choose another one")
		}
	})
}

// currencyKind is a code; a form takes it in any letter case.
func currencyKind() kind[string] {
	k := matching(isCurrency, Currency)
	k.take = func(form Form, _ string) string { return campaignFormOf(form).currency() }
	return k
}

// picture is the address of a picture that a page would show: pages load pictures over https alone.
func picture() kind[string] { return secureLink(PictureURL) }

// secureLink is an address of another site that begins with https.
func secureLink(rule Rule) kind[string] { return oneOf(maxURL, rule, isSecureURL) }

func isSecureURL(value string) bool {
	u, err := url.Parse(value)
	return err == nil && u.Scheme == "https" && isWebURL(value)
}

// htmlText is sanitized where it is short enough to be.
func htmlText() kind[string] {
	k := text(maxHTML).and(func(_ *checker, _ place, _ string, value *string) { *value = sanitizeHTML(*value) })
	k.take = func(form Form, name string) string { return campaignFormOf(form).html(name, form.Value(name)) }
	return k
}

// eventTitle is empty where it is the campaign's own, which may change in the same form.
func eventTitle() kind[string] {
	k := text(maxText)
	k.take = func(form Form, name string) string {
		title := form.Value(name)
		return emptyWhere(title == campaignFormOf(form).old.Title, title)
	}
	return k
}

func emptyWhere(empty bool, text string) string {
	if empty {
		return ""
	}
	return text
}
