package giving

import (
	"errors"

	"donorbook/internal/crm/doc"
)

// UnknownGiver is broken by an email or a phone that no contact has.
const UnknownGiver doc.Rule = "must belong to a contact, or come with the first and last name of a new one"

// NoGiver is the fault of a giver without a name who is no contact.
func (in *GiftInput) NoGiver() error {
	field := GiverID
	switch {
	case value(in.Email) != "":
		field = "email"
	case value(in.Phone) != "":
		field = "phone"
	}
	return doc.NewInvalid(field, UnknownGiver)
}

// GiverFaults are faults of a contact, by the names that a gift has for its fields.
func GiverFaults(err error) error {
	var faults *doc.Invalid
	if errors.As(err, &faults) {
		for i := range faults.Faults {
			faults.Faults[i].Field = giverFaults.Replace(faults.Faults[i].Field)
		}
	}
	return err
}
