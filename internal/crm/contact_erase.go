package crm

import (
	"time"

	"donorbook/internal/crm/text"
)

// An erased contact keeps its id, its sums and its place among the archived contacts. This is the name that it has from then on.
const (
	erasedFirstName = "Erased"
	erasedLastName  = "contact"
)

// erasedGiver is what gifts and plans say from then on.
var erasedGiver = Giver{FirstName: erasedFirstName, LastName: erasedLastName}

// erasedKey is the key that only the document of an erased contact has. The name is no proof: anyone may be called that.
const erasedKey = "erased_at"

func (c *Contact) appendErased(dst []byte) []byte {
	if !c.Erased() {
		return dst
	}
	return contactTime.Append(append(dst, `,"`+erasedKey+`":`...), c.ErasedAt)
}

// Erase is what is left of a contact when the person was removed for good: what was given, and when the contact was added.
func (c Contact) Erase(now time.Time) Contact {
	at := text.ChangeTime(now, c.UpdatedAt)
	return Contact{ID: c.ID, FirstName: erasedFirstName, LastName: erasedLastName, Stats: c.Stats, CreatedAt: c.CreatedAt, UpdatedAt: at, ArchivedAt: at, ErasedAt: at}
}

// Erased tells whether the person was removed. Such a contact has nothing that a person could be found by, and stays in the archive.
func (c *Contact) Erased() bool { return !c.ErasedAt.IsZero() }

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
