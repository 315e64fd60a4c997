package giving

import (
	"time"

	"donorbook/internal/crm"
)

// erasedGiver is what gifts and plans say of a giver who was erased.
var erasedGiver = Giver{FirstName: crm.ErasedFirstName, LastName: crm.ErasedLastName}

// Erase takes out of a gift all that tells who gave it. The money, the day and the campaign stay, and so does the id that another system
// knows the gift by: a file that is imported again must not bring the person back.
func (g Gift) Erase() Gift {
	g.Giver, g.Dedication, g.Check, g.Note = erasedGiver, nil, "", ""
	return g
}

// PersonalPart is the part of what a gift says about the person who gave it that a field belongs to, "" for none. A part is always written as a whole.
func PersonalPart(field string) string {
	switch field {
	case "first_name", "last_name", "company", "email", "phone", "address":
		return "giver"
	case "dedication", "check_number", "note":
		return field
	}
	return ""
}

// PersonalParts are all of them.
var PersonalParts = []string{"giver", "dedication", "check_number", "note"}

// EraseParts is Erase for some parts of a gift that has become another contact's: they are from the time when it was the person's.
func (g Gift) EraseParts(parts []string) Gift {
	erased := g.Erase()
	for _, part := range parts {
		switch part {
		case "giver":
			g.Giver = erased.Giver
		case "dedication":
			g.Dedication = erased.Dedication
		case "check_number":
			g.Check = erased.Check
		case "note":
			g.Note = erased.Note
		}
	}
	return g
}

// Erase takes out of a plan all that tells who gives, and ends it: no one is left to give.
func (p Plan) Erase(now time.Time) Plan {
	p.Giver = erasedGiver
	if p.Status != Ended {
		p.Status, p.NextBill, p.CanceledAt = Ended, time.Time{}, now.UTC().Truncate(time.Second)
	}
	return p
}
