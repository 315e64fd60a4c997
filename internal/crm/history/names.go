package history

import (
	"fmt"
	"slices"

	"donorbook/internal/crm"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/giving"
)

// What a history says in files, which have names where the database has numbers.

// ParseNoun, ParseKind and ParseChannel read a name back.
func ParseNoun(name string) (Noun, error) {
	n, err := numberOf(nounNames, name)
	return Noun(n), err
}

func ParseKind(name string) (Kind, error) {
	n, err := numberOf(kindNames, name)
	return Kind(n), err
}

func ParseChannel(name string) (Channel, error) {
	n, err := numberOf(channelNames, name)
	return Channel(n), err
}

func numberOf(names []string, name string) (int, error) {
	n := slices.Index(names, name)
	if n < 0 {
		return 0, fmt.Errorf("%q is unknown: a newer version may have written it", name)
	}
	return n, nil
}

// Label is what people call a field of an input by its path; ok is false where no table has it.
func Label(path string) (label string, ok bool) {
	for _, labelIn := range []func(string) (string, bool){crm.ContactTable.Label, campaign.Table.Label,
		giving.GiftTable.Label, giving.PlanTable.Label} {
		label, known := labelIn(path)
		if label != "" {
			return label, true
		}
		ok = ok || known
	}
	return "", ok
}

// FieldLabel is what people call a field of a contact, and a custom field among them. ok is false where it is none.
func FieldLabel(fields *custom.Fields, path string) (label string, ok bool) {
	if label, ok = fields.Label(path); ok {
		return label, true
	}
	return Label(path)
}
