package giving

import (
	"encoding/json"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
)

// erasedGiver is what gifts and plans say of a giver who was erased.
var erasedGiver = Giver{FirstName: crm.ErasedFirstName, LastName: crm.ErasedLastName}

// Erase takes out of a gift all that tells who gave it. The money, the day and the campaign stay, and so does the id
// that another system knows the gift by: a file that is imported again must not bring the person back.
func (g Gift) Erase() Gift {
	g.Giver, g.Dedication, g.Check, g.Note = erasedGiver, nil, "", ""
	if g.Void != nil {
		silent := *g.Void
		silent.Reason, g.Void = "", &silent
	}
	return g
}

// PersonalPart is the part of what a gift says about the person who gave it that a field belongs to, "" for none. A
// part is always written as a whole.
func PersonalPart(field string) string {
	switch field {
	case "first_name", "last_name", "company", "email", "phone", "address":
		return "giver"
	case "dedication", "check_number", "note", "void_reason":
		return field
	}
	return ""
}

// PersonalParts are all of them.
var PersonalParts = []string{"giver", "dedication", "check_number", "note", "void_reason"}

// EraseParts is Erase for some parts of a gift that has become another contact's: they are from the time when it was
// the person's.
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
		case "void_reason":
			g.Void = erased.Void
		}
	}
	return g
}

// Without is a giver without what a person has brought to the contact while both were one: there it says what the
// contact says now.
func (g Giver) Without(person *crm.Identity, contact *crm.Contact) Giver {
	own, now := contact.Identity(), GiverOf(contact)
	for _, one := range []struct {
		detail *string
		now    string
	}{{&g.FirstName, now.FirstName}, {&g.LastName, now.LastName}, {&g.Company, now.Company}, {&g.Email, now.Email},
		{&g.Phone, now.Phone}} {
		if person.Has(*one.detail) && !own.Has(*one.detail) {
			*one.detail = one.now
		}
	}
	if person.HasAddress(g.Address) && !own.HasAddress(g.Address) {
		g.Address = now.Address
	}
	return g
}

// ChangeWithout is Giver.Without for a change of a gift: if it tells of the person, it says nothing of the giver any
// more.
func ChangeWithout(change doc.Differences, person *crm.Identity,
	contact *crm.Contact,
) (left doc.Differences, told bool) {
	own := contact.Identity()
	for _, d := range change {
		if PersonalPart(d.Field) != "giver" {
			left = append(left, d)
			continue
		}
		for _, said := range []json.RawMessage{d.Before, d.After} {
			told = told || person.HasIn(said) && !own.HasIn(said)
		}
	}
	if !told {
		left = change
	}
	return left, told
}

// Erase takes out of a plan all that tells who gives, and ends it: no one is left to give.
func (p Plan) Erase(now time.Time) Plan {
	p.Giver = erasedGiver
	if p.Status != Ended {
		p.Status, p.NextBill, p.CanceledAt = Ended, time.Time{}, now.UTC().Truncate(time.Second)
	}
	return p
}
