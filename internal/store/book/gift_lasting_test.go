package book

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"
	"time"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/store/jobs"
)

// TestGiftsThatAnEarlierVersionHasRecordedWithoutIDs: they are known by all that their rows say.
func TestGiftsThatAnEarlierVersionHasRecordedWithoutIDs(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		for _, said := range []string{
			"amount=2:20;email=15:dot@example.org;note=5:first;transacted_at=10:2026-01-05;", "amount=2:20;email=15:dot@example.org;transacted_at=10:2026-01-05;",
		} {
			sum := sha256.Sum256([]byte(said))
			in := giving.GiftInput{
				Email: new("dot@example.org"), Amount: new(int64(200000)), Method: new("other"), GivenAt: new("2026-01-05"),
				ExternalID: new("import:" + hex.EncodeToString(sum[:16])), FromRow: true, Filed: new(giving.Filed),
			}
			err := in.Validate(new(doc.Invalid), true, "US", time.Now())
			if err == nil {
				_, err = s.CreateGift(t.Context(), account, in)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		file := "date,email,amount,note\n2026-01-05,dot@example.org,20,first\n2026-01-05,dot@example.org,20,\n"
		if got, rejected := imported(t, s, account, file, false); got != (jobs.ImportCounts{Rows: 2, Unchanged: 2}) {
			t.Errorf("%+v, %q", got, rejected)
		}
	})
}
