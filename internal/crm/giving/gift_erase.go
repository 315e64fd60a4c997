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

// EraseNote takes the note out of a gift that has become another contact's: it may name the person whose gift it was when it was written.
func (g Gift) EraseNote() Gift {
	g.Note = ""
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
