package table

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// style is how a workbook shows a number.
type style struct {
	isDate  bool
	isTime  bool   // hours, minutes and seconds alone
	elapsed bool   // hours that are counted beyond a day: [h]:mm
	mask    string // zeros that stand for digits, and what is between them: postal codes are 02134 and 02110-0001
}

// readStyles reads the styles of cells.
func (w *workbook) readStyles(part string) error {
	formats := map[string]style{}
	inCells := false
	return w.each(part, func(e *element) error {
		switch e.name {
		case "numFmt":
			if len(formats) < maxStyles {
				formats[e.attr("numFmtId")] = styleOf(e.attr("formatCode"))
			}
		case "cellXfs":
			inCells = true
		case "cellStyles", "dxfs":
			inCells = false
		case "xf":
			if inCells && len(w.styles) < maxStyles {
				id := e.attr("numFmtId")
				s, known := formats[id]
				if number, err := strconv.Atoi(id); err == nil && !known {
					s = styleOf(timeFormats[number])
					s.isDate = s.isDate || slices.ContainsFunc(dateFormats, func(r [2]int) bool { return r[0] <= number && number <= r[1] })
				}
				w.styles = append(w.styles, s)
			}
		}
		return nil
	})
}

// dateFormats are the ranges of numbers of formats that every workbook has and that are dates or times.
var dateFormats = [][2]int{{14, 22}, {27, 36}, {45, 47}, {50, 58}}

// timeFormats are those of them that tell no day.
var timeFormats = map[int]string{18: "h:mm AM/PM", 19: "h:mm:ss AM/PM", 20: "h:mm", 21: "h:mm:ss", 45: "mm:ss", 46: "[h]:mm:ss", 47: "mm:ss.0"}

// styleOf reads the code of a format. Its letters for days and times count, unless they stand in quotes or after a backslash. In brackets, they are
// hours, minutes or seconds that are counted beyond a day; anything else there is a color, a language or a condition.
func styleOf(code string) (s style) {
	code, _, _ = strings.Cut(code, ";") // what follows is for negative numbers
	if mask := strings.ReplaceAll(code, `\`, ""); code != "" && strings.Trim(mask, "0- ") == "" {
		return style{mask: mask}
	}
	hasDay := false
	for i := 0; i < len(code); i++ {
		switch c := code[i]; c {
		case '"', '[':
			end := map[byte]string{'"': `"`, '[': "]"}[c]
			n := strings.Index(code[i+1:], end)
			if n < 0 {
				return s
			}
			s.elapsed = s.elapsed || c == '[' && n > 0 && strings.Trim(code[i+1:i+1+n], "hmsHMS") == ""
			i += n + 1
		case '\\', '_', '*':
			i++
		default:
			s.isDate = s.isDate || strings.IndexByte("dmyhsDMYHS", c) >= 0
			s.isTime = s.isTime || strings.IndexByte("hsHS", c) >= 0
			hasDay = hasDay || strings.IndexByte("dyDY", c) >= 0
		}
	}
	s.isDate, s.isTime = s.isDate || s.elapsed, (s.isTime || s.elapsed) && !hasDay
	return s
}

// format is a number as a person would write it.
func (s style) format(value string, is1904 bool) string {
	if s.isDate {
		if date, ok := s.dateText(value, is1904); ok {
			return date
		}
	}
	text := plainNumber(value)
	if s.mask != "" && isNumber(text) && !strings.ContainsAny(text, "-.") {
		return masked(text, s.mask)
	}
	return text
}

// masked puts digits in the place of the zeros of a mask, from its end on. Zeros that are left stay, and so do digits.
func masked(digits, mask string) string {
	text := []byte(mask)
	for i := len(text) - 1; i >= 0 && digits != ""; i-- {
		if last := len(digits) - 1; text[i] == '0' {
			text[i], digits = digits[last], digits[:last]
		}
	}
	return digits + string(text)
}

// dateText is the day or the time that a workbook counts: in days, since the end of 1899 or the first day of 1904. Less than a day is a time of
// day, and hours that are counted beyond a day are no date, however many they are.
func (s style) dateText(value string, is1904 bool) (text string, ok bool) {
	serial, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if isDay := 0 <= serial && serial < lastSerial; err != nil || !isDay { // there is also NaN
		return "", false
	}
	days, part := math.Modf(serial)
	seconds := int(math.Round(part * 86400))
	switch {
	case s.elapsed:
		seconds += int(days) * 86400
		return fmt.Sprintf("%02d:%02d:%02d", seconds/3600, seconds/60%60, seconds%60), true
	case days == 0 && (part != 0 || s.isTime):
		return time.Unix(int64(seconds), 0).UTC().Format(time.TimeOnly), true
	}
	if is1904 {
		days += 1462
	}
	if days >= lastSerial {
		return "", false
	}
	if days > 0 && days < 60 {
		days++ // workbooks believe in February 29, 1900
	}
	at := time.Date(1899, 12, 30+int(days), 0, 0, seconds, 0, time.UTC)
	if part == 0 {
		return at.Format(time.DateOnly), true
	}
	return at.Format(time.DateTime), true
}

// lastSerial is the number of the first day of the year 10000.
const lastSerial = 2958466

// serialOf is the number that a workbook has for a time. It is not ok before March 1900, since which workbooks count right.
func serialOf(at time.Time) (serial string, ok bool) {
	at = at.UTC()
	since := at.Unix() - time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC).Unix() // a time.Duration ends after 292 years
	days := float64(since) / 86400
	return strconv.FormatFloat(days, 'f', -1, 64), days >= 61 && at.Year() < 10000
}

// plainNumber is a number without an exponent, and with the 15 digits that a workbook vouches for. Text that is no number stays as it is.
func plainNumber(value string) string {
	value = strings.TrimSpace(value)
	if len(value) <= 16 && !strings.ContainsAny(value, "eE") {
		return value
	}
	number, err := strconv.ParseFloat(value, 64)
	if err != nil || math.Abs(number) >= 1e21 || number != 0 && math.Abs(number) < 1e-12 {
		return value
	}
	number, _ = strconv.ParseFloat(strconv.FormatFloat(number, 'g', 15, 64), 64)
	return strconv.FormatFloat(number, 'f', -1, 64)
}
