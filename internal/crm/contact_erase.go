package crm

import "time"

// An erased contact keeps its id, its sums and its place among the archived contacts. This is the name that it has from then on.
const (
	erasedFirstName = "Erased"
	erasedLastName  = "contact"
)

// erasedGiver is what gifts and plans say from then on.
var erasedGiver = Giver{FirstName: erasedFirstName, LastName: erasedLastName}

// Erase is what is left of a contact when the person was removed for good: what was given, and when the contact was added.
func (c Contact) Erase(now time.Time) Contact {
	at := changeTime(now, c.UpdatedAt)
	return Contact{ID: c.ID, FirstName: erasedFirstName, LastName: erasedLastName, Stats: c.Stats, CreatedAt: c.CreatedAt, UpdatedAt: at, ArchivedAt: at}
}

// Erased tells whether the person was removed. Such a contact has nothing that a person could be found by, and stays in the archive.
func (c *Contact) Erased() bool {
	bare := c.Erase(c.UpdatedAt)
	bare.UpdatedAt, bare.ArchivedAt = c.UpdatedAt, c.ArchivedAt
	return c.Archived() && c.sameAs(&bare)
}

// Erase takes out of a gift all that tells who gave it. The money, the day and the campaign stay, and so does the id that another system
// knows the gift by: a file that is imported again must not bring the person back.
func (g Gift) Erase() Gift {
	g.Giver, g.Dedication, g.Check, g.Note = erasedGiver, nil, "", ""
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
