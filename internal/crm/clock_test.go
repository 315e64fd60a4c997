package crm

import (
	"testing"

	"donorbook/internal/rig/assert"
)

// TestNoChangeIsDatedBeforeTheOneBeforeIt makes every kind of change after the clock was set back by a day.
func TestNoChangeIsDatedBeforeTheOneBeforeIt(t *testing.T) {
	dayBefore := noon.AddDate(0, 0, -1)
	ana := assert.Must(NewContact(valid(t, `{"first_name":"Ana","last_name":"B","tags":["a"],"addresses":[{"city":"Oslo"}]}`), noon))(t)
	archived := ana.Archive(noon)
	for name, change := range map[string]func() (Contact, error){
		"merge": func() (Contact, error) {
			return ana.Merge(valid(t, `{"company":"New","addresses":[{"city":"Rome"}]}`), dayBefore)
		},
		"patch": func() (Contact, error) {
			return ana.Patch(valid(t, `{"company":"New","addresses":[{"city":"OSLO"}]}`), dayBefore)
		},
		"add tags":    func() (Contact, error) { return ana.AddTags([]string{"b"}, dayBefore) },
		"sync tags":   func() (Contact, error) { return ana.SyncTags([]string{"b"}, dayBefore) },
		"remove tags": func() (Contact, error) { return ana.RemoveTags([]string{"a"}, dayBefore) },
		"archive":     func() (Contact, error) { return ana.Archive(dayBefore), nil },
		"restore":     func() (Contact, error) { return archived.Restore(dayBefore), nil },
	} {
		changed, err := change()
		if err != nil || changed.sameAs(&ana) && name != "restore" {
			t.Errorf("%s: nothing changed: %v", name, err)
		}
		if !changed.UpdatedAt.Equal(noon) || changed.Archived() && !changed.ArchivedAt.Equal(noon) {
			t.Errorf("%s: updated at %v, archived at %v; it was updated at %v before", name, changed.UpdatedAt, changed.ArchivedAt, noon)
		}
		for _, address := range changed.Addresses {
			if address.CreatedAt.Before(noon) || address.UpdatedAt.Before(address.CreatedAt) {
				t.Errorf("%s: an address is dated %v, %v", name, address.CreatedAt, address.UpdatedAt)
			}
		}
	}
}
