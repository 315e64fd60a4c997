package sheet

import "strings"

// splitTags are the tags of a cell: separated by semicolons, or else by bars, or else by commas. A backslash keeps a separator in a tag, and so do
// quotes around it.
func splitTags(cell string) (tags []string) {
	cell = strings.ReplaceAll(cell, googleSeparator, ";")
	separator := byte(',')
	for _, other := range []byte{'|', ';'} {
		if strings.IndexByte(cell, other) >= 0 && len(cutTags(cell, other)) > 1 {
			separator = other
		}
	}
	for _, tag := range cutTags(cell, separator) {
		if tag != "" && tag != "* myContacts" { // a group that Google puts all contacts into
			tags = append(tags, tag)
		}
	}
	return tags
}

// cutTags cuts a cell at a separator.
func cutTags(cell string, separator byte) (tags []string) {
	var tag []byte
	quoted, escaped, kept := false, false, 0 // kept: what a backslash or quotes keep is not trimmed
	end := func() {
		text := string(tag)
		if kept == 0 {
			text = strings.TrimSpace(text)
		}
		tags, tag, kept = append(tags, text), nil, 0
	}
	for i := range len(cell) {
		c := cell[i]
		switch {
		case escaped:
			if c == 'n' {
				c = '\n'
			}
			tag, escaped = append(tag, c), false
		case c == '\\' && i+1 < len(cell) && strings.IndexByte(`\;,|n"*:`, cell[i+1]) >= 0:
			escaped = true
		case c == '"' && (quoted || len(strings.TrimSpace(string(tag))) == 0):
			quoted = !quoted
			if tag = tag[:len(tag):len(tag)]; quoted {
				tag = nil
			}
		case c == separator && !quoted:
			end()
		default:
			tag = append(tag, c)
		}
	}
	end()
	return tags
}

// JoinTags is tags in one cell. What an import may take for a separator within a tag is written behind a backslash.
func JoinTags(tags []string) string {
	joined := make([]string, len(tags))
	for i, tag := range tags {
		joined[i] = tagEscapes.Replace(tag)
	}
	return strings.Join(joined, "; ")
}

var tagEscapes = strings.NewReplacer(`\`, `\\`, `;`, `\;`, `,`, `\,`, `|`, `\|`, `"`, `\"`, ":::", `\:\:\:`, "* ", `\* `, "\n", `\n`)
