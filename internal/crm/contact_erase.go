package crm

import (
	"time"

	"donorbook/internal/crm/text"
)

// An erased contact keeps its id, its sums and its place among the archived contacts. This is the name that it has from
// then on.
const (
	ErasedFirstName = "Erased"
	ErasedLastName  = "contact"
)

// erasedKey is the key that only the document of an erased contact has. The name is no proof: anyone may be called
// that.
const erasedKey = "erased_at"

func (c *Contact) appendErased(dst []byte) []byte {
	if !c.Erased() {
		return dst
	}
	return ContactTime.Append(append(dst, `,"`+erasedKey+`":`...), c.ErasedAt)
}

// Erase is what is left of a contact when the person was removed for good: what was given, and when the contact was
// added.
func (c Contact) Erase(now time.Time) Contact {
	at := text.ChangeTime(now, c.UpdatedAt)
	return Contact{ID: c.ID, FirstName: ErasedFirstName, LastName: ErasedLastName, Stats: c.Stats,
		CreatedAt: c.CreatedAt, UpdatedAt: at, ArchivedAt: at, ErasedAt: at, MergedInto: c.MergedInto}
}

// Erased tells whether the person was removed. Such a contact has nothing that a person could be found by, and stays in
// the archive.
func (c *Contact) Erased() bool { return !c.ErasedAt.IsZero() }

// Archive and Restore move the contact between its two states.
func (c Contact) Archive(now time.Time) Contact {
	c.ArchivedAt = text.ChangeTime(now, c.UpdatedAt)
	c.UpdatedAt = c.ArchivedAt
	return c
}

// Unmake is Archive for a contact that should not have been made: its external ids are free for the one that the same
// file makes the next time.
func (c Contact) Unmake(now time.Time) Contact {
	c.ExternalIDs = nil
	c.replaceMatchKeys(ExternalPrefix, nil)
	return c.Archive(now)
}

func (c Contact) Restore(now time.Time) Contact {
	c.ArchivedAt = time.Time{}
	c.UpdatedAt = text.ChangeTime(now, c.UpdatedAt)
	return c
}
