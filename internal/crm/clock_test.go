package crm

import (
	"testing"

	"pgregory.net/rapid"

	"donorbook/internal/rig/assert"
)

// No change is dated before the one before it, also after the clock was set back by a day.
func TestNoChangeIsDatedBeforeTheOneBeforeIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := someContact(t)
		changed := someChange(t, c, noon.AddDate(0, 0, -1))
		assert.Equal(t, changed.UpdatedAt.Equal(c.UpdatedAt), true, "updated at %v, and then at %v", c.UpdatedAt,
			changed.UpdatedAt)
		assert.Equal(t, changed.Archived() && changed.ArchivedAt.Before(noon), false, "archived at %v",
			changed.ArchivedAt)
		for _, a := range changed.Addresses {
			assert.Equal(t, a.CreatedAt.Before(noon) || a.UpdatedAt.Before(a.CreatedAt), false, "%+v", a)
		}
	})
}
