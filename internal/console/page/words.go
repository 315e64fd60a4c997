package page

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"donorbook/internal/crm"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/mail"
	"donorbook/internal/crm/text"
)

// Spoken makes words of a value of the API: in_person is In person.
func Spoken(value string) string {
	return cmp.Or(campaignWords[value], giving.Words[value], value)
}

// SpokenOptions are choices of such values.
func SpokenOptions(values ...string) (all []Option) {
	for _, value := range values {
		all = append(all, Option{Value: value, Label: Spoken(value)})
	}
	return all
}

var campaignWords = map[string]string{
	campaign.Draft: "Draft", campaign.Published: "Published", campaign.Closed: "Closed",
	"general": "General fund", "collect": "Donations", "fundraise": "Fundraisers", "event": "Event",
	"in_person": "In person", "virtual": "Online", "hybrid": "In person and online",
	"upload": "Upload", "youtube": "YouTube", "vimeo": "Vimeo", "twitch": "Twitch", "facebook": "Facebook", "image": "Image", "video": "Video",
}

// dialed is a phone number as a telephone takes it: without what people write between the digits, and without an extension.
func dialed(number string) string {
	end := strings.IndexFunc(number, unicode.IsLetter)
	if end < 0 {
		end = len(number)
	}
	return strings.Map(func(r rune) rune {
		if r == '+' || '0' <= r && r <= '9' {
			return r
		}
		return -1
	}, number[:end])
}

// Choose is the one text for one thing, and the other for several.
func Choose(n int64, one, several string) string {
	if n == 1 {
		return one
	}
	return several
}

// MoneyList are sums of several currencies: $7, €5 and £6. That of the organization comes first. It is "" for none.
func MoneyList(sums map[string]int64, first string) string {
	return giving.SumTexts(sums, first, text.Money)
}

// LeftLine says who gets nothing, and why. Its address is that of the list of these contacts, "" where no filter finds them.
type LeftLine struct{ Text, Address string }

// LeftOut says who gets nothing, and why. address is where those are listed who get nothing for a reason.
func LeftOut(left map[crm.Unreached]int64, address func(why crm.Unreached) string) (lines []LeftLine) {
	for _, line := range crm.LeftWords(left, func(n int64) string { return Plural(n, "contact") }) {
		lines = append(lines, LeftLine{line.Text, address(line.Why)})
	}
	return lines
}

// Unlisted is for contacts who are part of no list.
func Unlisted(crm.Unreached) string { return "" }

// PrintChoices fills in how something is printed where no one has chosen: sorted by name, on the paper of the organization's country.
func (r *Request) PrintChoices() {
	paper := "a4"
	if slices.Contains([]string{"USD", "CAD", "MXN", "PHP"}, r.Currency()) {
		paper = "letter"
	}
	r.Form.Set("order", cmp.Or(r.Form.Value("order"), "name"))
	r.Form.Set("paper", cmp.Or(r.Form.Value("paper"), paper))
}

// reasonsText is what speaks for a pair, as a sentence.
func reasonsText(reasons []string) string { return Capital(strings.Join(reasons, "; ")) }

// Link leads to another page, or is only a name where it has no address.
type Link struct{ Label, Address string }

// Mark is a word about what is special, with its color.
type Mark struct{ Label, Color string }

// Plural is a number of things: 1 gift, 2 gifts.
func Plural(n int64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return Count(n) + " " + thing + "s"
}

// ParseID is a number that was typed or linked, 0 where it is none.
func ParseID(text string) int64 {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 0 {
		return 0
	}
	return id
}

func IDText(id int64) string {
	if id == 0 {
		return ""
	}
	return strconv.FormatInt(id, 10)
}

// Rounded is a quotient to the nearest integer, 0 where there is nothing to divide by.
func Rounded(n, by int64) int64 {
	if by == 0 {
		return 0
	}
	return (n + by/2) / by
}

// PercentText is a share in whole percent, and a dash where there is nothing to compare with.
func PercentText(part, whole int64) string {
	if whole == 0 {
		return "–"
	}
	share := 100 * float64(part) / float64(whole)
	if part > 0 && share < 0.5 {
		return "under 1%"
	}
	return Count(int64(share+0.5)) + "%"
}

// mailState says how far a mail is.
func mailState(m mail.Mail) string {
	return [...]string{mail.Waiting: "Waiting to be sent", mail.Delayed: "Trying again", mail.Sent: "Sent", mail.Failed: "Not sent"}[m.State()]
}

// mailKind says what a mail is for.
func mailKind(m mail.Mail) string {
	return mailKinds[m.Kind]
}

var mailKinds = map[mail.Kind]string{
	mail.Invitation: "Invitation", mail.Test: "Test", mail.Thanks: "Thank-you", mail.Statement: "Giving statement", mail.Arrived: "New gift, for your staff", mail.Declined: "Monthly gift: card declined",
	mail.Ended: "Monthly gift ended", mail.Refunded: "Refund", mail.Promised: "Promised gift: how to send it",
	mail.Manage: "Monthly gift: link for the donor", mail.Confirm: "Gift: link for the donor",
	mail.Trouble: "Trouble with taking money", mail.Reset: "New password", mail.Password: "Password changed", mail.SignIn: "Sign-in from a new browser",
}

// WithArchived is a number of contacts of which some are archived.
func WithArchived(contacts, archived int64) string {
	switch {
	case archived == 0:
		return Plural(contacts, "contact")
	case archived == contacts:
		return Plural(contacts, "archived contact")
	}
	return Plural(contacts-archived, "contact") + " and " + Plural(archived, "archived contact")
}

// QuotedTags are names in quotation marks.
func QuotedTags(names []string) string { return "“" + strings.Join(names, "”, “") + "”" }
