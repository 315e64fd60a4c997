package duplicate

import (
	"testing"

	"donorbook/internal/rig/assert"
)

// The first round counts in a byte. A value that fills it stays common.
func TestHoweverManyHaveAValueItIsCommon(t *testing.T) {
	for _, contacts := range []int{255, 256, 257, 512} {
		tally := newTally(contacts)
		for range contacts {
			tally.note(&Record{Last: "lee"})
		}
		for range contacts {
			tally.count(&Record{Last: "lee"})
		}
		assert.Equal(t, tally.common[valueHash(last, "lee")], uint32(contacts))
	}
}
