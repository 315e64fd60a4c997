package access

import (
	"errors"
	"testing"

	"donorbook/internal/crm/doc"
	"donorbook/internal/rig/assert"
)

func TestALimitSaysWhatToDo(t *testing.T) {
	for limit, words := range map[doc.Limit][]string{
		KeyLimit: {"200", "Revoke"}, InvitationLimit: {"100", "Cancel"}, MemberLimit: {"1,000", "remove"},
		ChapterLimit: {"1,000", "Rename"},
		LevelLimit:   {"10 levels", "higher up"},
	} {
		if err := limit.Check(limit.Max-3, 3); err != nil {
			t.Errorf("up to the limit: %v", err)
		}
		var invalid *doc.Invalid
		err := limit.Check(limit.Max-3, 4)
		if !errors.As(err, &invalid) {
			t.Fatalf("beyond the limit: %v", err)
		}
		for _, word := range words {
			assert.Contains(t, err.Error(), word)
		}
	}
}
