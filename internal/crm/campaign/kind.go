package campaign

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/picture"
	"donorbook/internal/crm/text"
)

// The kinds of fields that campaigns have beside those of contacts.

// maxHTML is the longest HTML text, in characters.
const maxHTML = 100_000

var (
	// cents is an amount of money.
	cents = doc.Kind[int64]{
		Read:   func(r *doc.Reader) int64 { return doc.ReadDecimal(r, 2, text.CentDigits, doc.CentRange) },
		Append: text.AppendCents,
		Check:  within(text.MaxCents, doc.CentRange),
		Text:   func(n int64) string { return doc.EmptyWhere(n == 0, text.AmountText(n)) },
		Take: func(form doc.Form, name string) int64 {
			f := campaignFormOf(form)
			return parseAmount(&f.faults, name, form.Value(name), f.currency())
		},
	}

	// count is a number of people.
	count = doc.Kind[int64]{
		Read: func(r *doc.Reader) int64 {
			return doc.ReadDecimal(r, 0, text.DonorDigits, doc.CountRange, text.MaxDonors)
		},
		Append: func(dst []byte, n int64) []byte { return strconv.AppendInt(dst, n, 10) },
		Check:  within(text.MaxDonors, doc.CountRange, text.MaxDonors),
		Text:   func(n int64) string { return doc.EmptyWhere(n == 0, text.CountText(n)) },
		Take: func(form doc.Form, name string) int64 {
			return parseNumber(&campaignFormOf(form).faults, name, form.Value(name))
		},
	}

	// campaignTime is a time as campaigns show it. FillForm says in which zone.
	campaignTime = doc.Kind[time.Time]{
		Read:   readCampaignTime,
		Append: func(dst []byte, t time.Time) []byte { return doc.AppendTime(dst, t, text.AppendCampaignTime) },
		Check:  func(*doc.Checker, doc.Place, string, *time.Time) {},
		Text:   func(t time.Time) string { return localTimeText(t, "") },
		Take:   func(form doc.Form, name string) time.Time { return campaignFormOf(form).time(name, form.Value(name)) },
	}
)

// within is for inputs that were not read from JSON.
func within(limit int64, rule doc.Rule, args ...any) func(c *doc.Checker, at doc.Place, name string, n *int64) {
	return func(c *doc.Checker, at doc.Place, name string, n *int64) {
		if *n < 0 || *n > limit {
			c.AddAt(at, name, rule, args...)
		}
	}
}

// endTime is when something ends: a day alone is its last second.
func endTime() doc.Kind[time.Time] {
	k := campaignTime
	k.Read = func(r *doc.Reader) time.Time { return readTime(r, 24*time.Hour-time.Second) }
	return k
}

func readCampaignTime(r *doc.Reader) time.Time { return readTime(r, 0) }

// readTime reads a time, or a day, which stands for a moment of it; null and "" are the zero time.
func readTime(r *doc.Reader, ofDay time.Duration) time.Time {
	value := r.Text()
	if value == "" {
		return time.Time{}
	}
	t, ok := text.ParseCampaignTime(value)
	if isDay := false; !ok {
		if t, isDay, ok = text.ParseMoment(value); isDay {
			t = t.Add(ofDay)
		}
	}
	if ok && t.Year() >= 1000 {
		return t
	}
	if !r.Fault.HasFault(r.Path()) {
		r.Wrong(doc.TimeForm)
	}
	return time.Time{}
}

// called takes what others call a value as the value itself.
func called(names map[string]string, k doc.Kind[string]) doc.Kind[string] {
	k.Read = func(r *doc.Reader) string {
		value := r.Text()
		return cmp.Or(names[strings.ToLower(value)], value)
	}
	return k
}

func slugKind() doc.Kind[string] {
	return doc.Matching(IsSlug, doc.SlugForm, doc.MaxText).Staying().And(func(c *doc.Checker, at doc.Place, name string,
		slug *string) {
		if slices.Contains(reservedSlugs, *slug) {
			c.AddAt(at, name, "is reserved for the service itself: choose another one")
		}
	})
}

// currencyKind is a code; a form takes it in any letter case.
func currencyKind() doc.Kind[string] {
	k := doc.Matching(text.IsCurrency, doc.Currency)
	k.Take = func(form doc.Form, _ string) string { return campaignFormOf(form).currency() }
	return k
}

// pictureLink is the address of a picture that a page would show: one that was uploaded, or one of another site, which
// pages load over https alone.
func pictureLink() doc.Kind[string] {
	return doc.Choice(text.MaxURL, doc.PictureURL, func(value string) bool {
		return picture.IsAddress(value) ||
			isSecureURL(value)
	})
}

// secureLink is an address of another site that begins with https.
func secureLink(rule doc.Rule) doc.Kind[string] { return doc.Choice(text.MaxURL, rule, isSecureURL) }

func isSecureURL(value string) bool {
	u, err := url.Parse(value)
	return err == nil && u.Scheme == "https" && text.IsWebURL(value)
}

// htmlText is sanitized where it is short enough to be.
func htmlText() doc.Kind[string] {
	k := doc.String(maxHTML).And(func(c *doc.Checker, at doc.Place, name string, value *string) {
		*value = sanitizeHTML(*value)
		pictures := 0
		if eachInText(name, value, func(string, *string) { pictures++ }); pictures > maxInText {
			c.AddAt(at, name, "must not have more than %v pictures", maxInText)
		}
	})
	k.Take = func(form doc.Form, name string) string { return campaignFormOf(form).html(name, form.Value(name)) }
	return k
}

// eventTitle is empty where it is the campaign's own, which may change in the same form.
func eventTitle() doc.Kind[string] {
	k := doc.String(doc.MaxText)
	k.Take = func(form doc.Form, name string) string {
		title := form.Value(name)
		return doc.EmptyWhere(title == campaignFormOf(form).old.Title, title)
	}
	return k
}

// parseAmount reads an amount as people write it into cents: 1500.5, 1,500, $1,500.50, with or without the sign or the
// code of its currency. Nothing is 0. What could be read in two ways, such as 1.500, is a fault.
func parseAmount(v *doc.Invalid, field, value, currency string) (cents int64) {
	if value = strings.TrimSpace(value); value == "" {
		return 0
	}
	digits, ok := text.TypedAmount(value, currency)
	if ok {
		cents, ok = text.ParseDecimal(digits, 2, text.CentDigits)
	}
	if !ok {
		v.Add(field, "must be 0 or more and less than 10 billion, such as 1,500 or 1500.50")
	}
	return cents
}

// parseNumber reads a whole number as people write it: 1234 or 1,234. Nothing is 0.
func parseNumber(v *doc.Invalid, field, value string) (n int64) {
	value = strings.TrimSpace(value)
	if value == "" {
		return 0
	}
	digits, fault := text.EnglishDigits(text.PlainSigns.Replace(value), 0)
	ok := fault == ""
	if ok {
		n, ok = text.ParseDecimal(digits, 0, text.DonorDigits)
	}
	if !ok {
		v.Add(field, "must be a whole number from 0 to %v", text.CountText(text.MaxDonors))
	}
	return n
}
