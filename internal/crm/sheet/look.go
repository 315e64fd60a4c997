package sheet

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"donorbook/internal/crm/text"
)

// Look is what the first rows of a file tell about its columns: what their values look like.
type Look struct {
	columns []seen
	rows    int
	left    int // values that may still be looked at
}

// How much is looked at.
const (
	lookRows    = 1_000
	lookCells   = 50_000
	longestLook = 200 // bytes of a value
)

// kind is what the values of a column look like.
type kind int

// The kinds of values that columns may have.
const (
	anyText kind = iota
	emailKind
	phoneKind
	zipKind
	amountKind
	dayKind
	currencyKind
	yesKind
	statusKind
	methodKind
	rowKind
	frequencyKind
	listedKind // subscribed and unsubscribed
	contactKind
	prefixKind
	placeKind // home and work
	idKind
	serialKind // numbers that are no amounts
	nameKind   // of people and companies, in several words
	planKind   // ids, and no answers
	modeKind   // live and test
	answerKind // whether someone may be reached
	dedicationKind
	kindCount
)

// kinds tell whether a value is of a kind.
var kinds = [kindCount]func(value string) bool{
	anyText: func(string) bool { return true },
	emailKind: func(value string) bool {
		if !strings.Contains(value, "@") {
			return false
		}
		_, ok := text.NormalEmail(splitEmails(value)[0])
		return ok
	},
	phoneKind: func(value string) bool {
		digits := len(text.Digits(value))
		return 7 <= digits && digits <= 17 && strings.IndexFunc(value, func(r rune) bool { return unicode.IsLetter(r) && !strings.ContainsRune("extEXT", r) }) < 0 && !isWrittenDay(value) && strings.Count(value, ".") != 1
	},
	zipKind:    func(value string) bool { return isZip(value) && !strings.ContainsAny(value, "/:") },
	amountKind: isAmount,
	dayKind:    isWrittenDay,
	currencyKind: func(value string) bool {
		return len(value) <= 4 && len(text.CurrenciesOf(value)) > 0
	},
	yesKind:    func(value string) bool { _, ok := text.ReadYesNo(value); return ok },
	statusKind: among(statusWords),
	methodKind: among(methodWords),
	rowKind: func(value string) bool {
		if strings.Contains(value, "@") {
			return false
		}
		_, ok := kindOf(value)
		return ok
	},
	frequencyKind: among(frequencyWords),
	listedKind:    isListed,
	answerKind: func(value string) bool {
		value = withoutConsent(value)
		_, isAnswer := text.ReadYesNo(value)
		return isAnswer || isListed(value) || isWrittenDay(value)
	},
	contactKind: func(value string) bool { _, ok := contactType(value); return ok },
	prefixKind:  func(value string) bool { return isPrefix(value) || isMonsieur(value) },
	placeKind:   func(value string) bool { return !strings.ContainsAny(value, "@0123456789") && groupOf(value) != "" },
	idKind: func(value string) bool {
		return strings.ContainsAny(value, "0123456789") && !strings.ContainsAny(value, " \n@") && len(value) <= 100 && !strings.Contains(value, "//") && !(strings.Contains(value, "/") && isWrittenDay(value))
	},
	serialKind: func(value string) bool { return !strings.ContainsAny(value, ".,$€£") },
	planKind: func(value string) bool {
		_, isAnswer := text.ReadYesNo(value)
		_, isFrequency := meaningOf(frequencyWords, value)
		isCount := len(value) < 3 && text.Digits(value) == value // which of several payments it is
		return !isAnswer && !isFrequency && !isCount
	},
	modeKind: func(value string) bool {
		_, isAnswer := text.ReadYesNo(value)
		return isAnswer || modes[plainWord(value)] != ""
	},
	dedicationKind: func(value string) bool { return dedicationWords[plainWord(value)] != "" },
	nameKind: func(value string) bool {
		return len(value) <= 80 && strings.Contains(value, " ") && !strings.ContainsAny(value, "0123456789@:;#%/=_")
	},
}

func isListed(value string) bool {
	plain := plainName(withoutConsent(value))
	return plain == allOfThem || slices.Contains(noMarks, plain) || isOptedOut(plain)
}

func among(words map[string]string) func(value string) bool {
	return func(value string) bool {
		if len(value) > maxMeaning || strings.Contains(value, "@") {
			return false
		}
		_, ok := meaningOf(words, value)
		return ok
	}
}

// isAmount tells an amount as people of any region write it.
func isAmount(value string) bool {
	if len(value) > 30 || !strings.ContainsAny(value, "0123456789") || strings.ContainsAny(value, "@/:#_") {
		return false
	}
	value = strings.TrimPrefix(value, "+")
	_, broken := text.ReadAmount(value, "", "US")
	if broken != "" {
		_, broken = text.ReadAmount(value, "", "CH") // where either mark may begin the decimals
	}
	return broken == ""
}

func isWrittenDay(value string) bool {
	if len(value) < 6 || len(value) > 40 || !strings.ContainsAny(value, "0123456789") || strings.Trim(value, "0123456789.,") == "" && strings.Count(value, ".") != 2 && len(value) != 8 {
		return false
	}
	m, ok := text.ReadMoment(value, false)
	if !ok {
		m, ok = text.ReadMoment(value, true)
	}
	return ok && m.At.Year() > 1850 && m.At.Year() < 2150
}

// seen is what the values of a column look like.
type seen struct {
	filled   int
	looked   int // of these
	fits     [kindCount]int
	distinct map[string]uint32 // the kinds of values, as bits
	counts   int               // how many values number the rows
}

// NewLook is for a file with so many columns.
func NewLook(columns int) *Look { return &Look{columns: make([]seen, columns), left: lookCells} }

// See looks at a row, if it is one of the first.
func (l *Look) See(cells []string) {
	if l.rows >= lookRows || l.left <= 0 {
		return
	}
	l.rows++
	for i, cell := range cells {
		if cell = strings.TrimSpace(cell); cell == "" || i >= len(l.columns) {
			continue
		}
		c := &l.columns[i]
		if cell == strconv.Itoa(l.rows) {
			c.counts++
		}
		if c.filled++; len(cell) <= longestLook {
			l.left--
			c.see(cell)
		}
	}
}

func (c *seen) see(cell string) {
	if c.distinct == nil {
		c.distinct = map[string]uint32{}
	}
	c.looked++
	bits, known := c.distinct[cell]
	if !known {
		for at, fits := range kinds {
			if fits(cell) {
				bits |= 1 << at
			}
		}
		c.distinct[cell] = bits
	}
	for at := range kinds {
		c.fits[at] += int(bits >> at & 1)
	}
}

// column is what the values of a column look like; nothing where they were not looked at.
func (l *Look) column(i int) *seen {
	if l == nil || i >= len(l.columns) || l.columns[i].filled == 0 {
		return nil
	}
	return &l.columns[i]
}

// isEmpty tells whether a column was looked at, and had nothing.
func (l *Look) isEmpty(i int) bool { return l != nil && i < len(l.columns) && l.columns[i].filled == 0 }

// part is which part of the values is of a kind, from 0 to 1.
func (c *seen) part(of kind) float64 {
	if c == nil || c.looked == 0 {
		return 0
	}
	return float64(c.fits[of]) / float64(c.filled)
}

// isUnique tells whether the values name one row each. Refunds may have the id of their gift.
func (c *seen) isUnique() bool { return c != nil && float64(len(c.distinct)) >= 0.9*float64(c.looked) }

// equals tells whether two columns have the same values, such as the currency of an amount and that of a balance.
func (c *seen) equals(other *seen) bool {
	return c != nil && c.filled == other.filled && maps.Equal(c.distinct, other.distinct)
}

// isCount tells whether the values number the rows, but for a remark below them.
func (c *seen) isCount() bool { return c.counts > 1 && c.counts >= c.filled-1 }

// isConstant tells whether all rows say the same.
func (c *seen) isConstant() bool { return c != nil && c.filled > 1 && len(c.distinct) == 1 }

// few tells whether the values are those of a closed set.
func (c *seen) few() bool { return c != nil && len(c.distinct) <= 12+c.filled/20 }

// headerLook is how far down a header is looked for.
const headerLook = 30

// FindHeader is which of the first rows of a file names the columns. Above it a title may stand, and what a report was asked for. That has fewer cells, and fewer words
// that name columns.
func FindHeader(first [][]string) (at int) {
	best, width := 0, 0
	for i, row := range first {
		filled, score := 0, 0
		for _, cell := range row {
			if cell = strings.TrimSpace(cell); cell == "" {
				continue
			}
			filled++
			if len(cell) > 100 || isWrittenDay(cell) || isAmount(cell) || strings.Contains(cell, "@") {
				score -= 3
				continue
			}
			if score++; i < headerLook {
				if h := parseHeading(cell); len(h.means) > h.unknown {
					score += 2
				}
			}
		}
		if i == 0 || filled > width && filled > 1 && score > best {
			at, best, width = i, score, filled
		}
	}
	return at
}
