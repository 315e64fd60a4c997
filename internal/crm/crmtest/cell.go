package crmtest

import "strings"

// Cells are values of every kind, as a cell of any file may hold them, whatever its heading asks for.
func Cells() []string {
	return []string{
		"", " ", "0", "-0", "1", "-5", "50.00", "1,234.56", "1.234,56", "$5", "12 EUR", "(3.00)", "2,50,000.00",
		"1e999", "NaN", "Infinity",
		"99999999999999999999999999", "-9223372036854775808", "9223372036854775807", "0.00000000000001", "5%", "#1",
		"0x1F",
		"2026-01-31", "31.12.1999", "13/13/2026", "0000-00-00", "2026-02-30T25:61:61Z", "9999-12-31T23:59:59+14:00",
		"04/17", "1900", "46053", "24:00",
		"yes", "false", "none", "null", "n/a", "test", "live", "monthly", "card", "refunded", "pledged", "Won",
		"individual", "Grand Total", "in honor of",
		`{"a":[1,{"b":null}]}`, "[]", `"`, "a,b;c|d\te", "=1+1", `=HYPERLINK("http://example.org")`, "@SUM(A1)",
		"+1 212 555 0100", "ana@example.org", "ana@",
		"https://example.org/a?b=c", "<script>alert(1)</script>", "Ana & Ben O’Neil", "Smith, Ana", "Dr. and Mrs.",
		"1 Main St, Springfield, IL 62701", "Main",
		"é", "e\u0301", "日本語", "שלום", "\u202eabc", "👩‍👩‍👧", "\ufeff", "\x00", "a\x00b", "\x01\x1f\x7f", "\xff\xfe",
		"\ud7ff\ufffd", "line\r\nline",
		"()", "($1.00)", "%s%n%d", "..", ":", "-", "--", "custom.1", strings.Repeat("9", 400),
		strings.Repeat("a", 100_000), strings.Repeat("é ", 5_000), strings.Repeat("(", 2_000),
	}
}
