package crm

import (
	"regexp"
	"strconv"
)

// FormatPhone writes a stored number in the style that all numbers are shown in: as people write it at home where it has the
// country code of the region, with its country code otherwise. A text that is no possible number is shown as it was written, and so
// is a number that would read as another one in this style.
//
// The grouping is that of libphonenumber.
func FormatPhone(value, region string) string {
	number, ok := parsePhone(value, region)
	if !ok {
		return value
	}
	shown := number.international()
	if home := planOf(region); home != nil && home.code == number.plan.code {
		shown = number.atHome()
	}
	if again, ok := parsePhone(shown, region); !ok || again.plan != number.plan || again.national != number.national {
		return value
	}
	if number.extension != "" {
		shown += " ext. " + number.extension
	}
	return shown
}

func (n phoneNumber) atHome() string {
	for _, format := range n.plan.formats() {
		if format.national != "" && format.fits(n.national) {
			return format.digits.ReplaceAllString(n.national, format.national)
		}
	}
	return n.national
}

func (n phoneNumber) international() string {
	grouped := n.national
	for _, format := range n.plan.formats() {
		if format.international != "" && format.fits(n.national) {
			grouped = format.digits.ReplaceAllString(n.national, format.international)
			break
		}
	}
	return "+" + strconv.Itoa(n.plan.code) + " " + grouped
}

// phoneFormat is how numbers of one kind are grouped.
type phoneFormat struct {
	pattern       string // of a whole national number, with a group for each part
	leading       string // a pattern of its first digits, "" for any
	national      string // what people write at home; "" where another format says so
	international string // what follows the country code; "" where another format says so
}

// countryFormats are the formats of a country code, those that are tried first at the beginning.
type countryFormats struct {
	code    int
	formats []phoneFormat
}

// compiledFormat is a format with its patterns.
type compiledFormat struct {
	*phoneFormat
	digits, first *regexp.Regexp
}

func (f compiledFormat) fits(national string) bool {
	return f.first.MatchString(national) && f.digits.MatchString(national)
}

// formats are those of the plan's country code, compiled for the first number that is shown.
func (p *phonePlan) formats() []compiledFormat {
	p.formatOnce.Do(func() {
		for _, country := range phoneFormats {
			if country.code != p.code {
				continue
			}
			for i := range country.formats {
				format := &country.formats[i]
				p.compiledFormats = append(p.compiledFormats, compiledFormat{format,
					regexp.MustCompile("^(?:" + format.pattern + ")$"), regexp.MustCompile("^(?:" + format.leading + ")")})
			}
		}
	})
	return p.compiledFormats
}
