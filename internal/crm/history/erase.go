package history

import (
	"slices"
	"strconv"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
)

// WhileOf are those changes of a gift, the newest first, that happened while it was a contact's, those that gave it to
// them or took it away, and those that replaced what it said in that time. The one that tells of the others comes last.
// parts are those of the gift that still say what was written in that time.
func WhileOf(changes []Activity, contact int64) (theirs []int64, parts []string) {
	id := strconv.FormatInt(contact, 10)
	mine, ever := false, false
	replacedBy := make(map[string]int64) // the change that replaced what a part said, 0 for what it says now
	var replaced []int64
	written := func(part string) {
		if by := replacedBy[part]; by != 0 {
			replaced = append(replaced, by)
		} else {
			parts = append(parts, part)
		}
	}
	for _, c := range changes {
		was := mine
		for _, d := range doc.KnownDifferences(c.Data) {
			if d.Field == "contact_id" && (string(d.Before) == id || string(d.After) == id) {
				mine, ever = string(d.Before) == id, true
				theirs = append(theirs, c.Revision)
			}
			if part := giving.PersonalPart(d.Field); part != "" && replacedBy[part] != c.Revision {
				if was {
					written(part)
				}
				replacedBy[part] = c.Revision
			}
		}
		if was && mine {
			theirs = append(theirs, c.Revision)
		}
	}
	if mine { // from the beginning
		for _, part := range giving.PersonalParts {
			written(part)
		}
	}
	if !ever {
		return nil, nil
	}
	slices.Sort(theirs)
	theirs = slices.Compact(theirs)
	replaced = slices.DeleteFunc(replaced, func(change int64) bool { return slices.Contains(theirs, change) })
	return append(replaced, theirs...), parts
}
