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

// TestALaterFileWithoutIDsSaysThingsOtherwise: gifts without an id are known in a later file whose notes, statuses and addresses are others, and whose rows are in another order. Equal rows
// are as many gifts as there are rows.
func TestALaterFileWithoutIDsSaysThingsOtherwise(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		first := "Date,Name,Email,Street,City,Amount,Status,Note\n" +
			"2026-01-05,Dot Elm,dot@example.org,1 Mill Lane,Riverton,20,Succeeded,\n" +
			"2026-01-05,Dot Elm,dot@example.org,1 Mill Lane,Riverton,20,Succeeded,second\n" +
			"2026-01-06,Ed Fir,ed@example.org,2 Mill Lane,Riverton,50,Pending,first\n"
		later := "Note,Date,Amount,Name,Email,Street,City,Status\n" +
			"new,2026-01-09,10,Gil Gum,gil@example.org,,,Succeeded\n" +
			"first gift,2026-01-06,50,Ed Fir,ed@fir.example,9 Hill Road,Lakeside,Succeeded\n" +
			"2nd,2026-01-05,20,Dot Elm,dot@example.org,1 Mill Lane,Riverton,Succeeded\n" +
			",2026-01-05,20,Dot Elm,dot@example.org,1 Mill Lane,Riverton,Succeeded\n" +
			"third,2026-01-05,20,Dot Elm,dot@example.org,1 Mill Lane,Riverton,Succeeded\n"
		for _, c := range []struct {
			file         string
			created, sum int64
		}{{first, 3, 4000}, {first, 0, 4000}, {later, 2, 12000}, {later, 0, 12000}, {first, 0, 12000}} {
			for _, trial := range []bool{true, false} {
				if got, rejected := imported(t, s, account, c.file, trial); got.Created != c.created || got.Rejected > 0 {
					t.Errorf("%v: %+v, %q of\n%s", trial, got, rejected, c.file)
				}
			}
			if sum := givenIn(t, s, account); sum != c.sum {
				t.Errorf("%d cents are given after\n%s", sum, c.file)
			}
		}
		checked(t, s)
	})
}

// givenIn is what was given to an account, in cents.
func givenIn(t *testing.T, s *Book, account int64) (sum int64) {
	t.Helper()
	for _, g := range ledgerOf(t, s, account) {
		sum += g.Net()
	}
	return sum
}

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

// TestTwoSystemsThatCountFromOne: an id that belongs to another gift of another donor is left out of a row, and its gift is recorded, once.
func TestTwoSystemsThatCountFromOne(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		shop := "Gift ID,Date,Name,Amount\n1,2026-01-05,Ann Elm,10\n2,2026-01-06,Bob Fir,20\n"
		gala := "Gift ID,Receipt ID,Date,Name,Amount\n1,2,2026-02-05,Cy Gum,30\n2,1,2026-02-06,Di Oak,40\n3,3,2026-02-07,Ed Yew,50\n"
		for _, c := range []struct {
			file                            string
			created, leftOut, rejected, sum int64
		}{{shop, 2, 0, 0, 3000}, {gala, 3, 2, 0, 15000}, {gala, 0, 0, 0, 15000}, {shop, 0, 0, 0, 15000}, {"Gift ID,Date,Name,Amount\n1,2026-01-05,Ann Elm,99\n", 0, 0, 1, 15000}} {
			for _, trial := range []bool{true, false} {
				if got, rejected := imported(t, s, account, c.file, trial); got.Created != c.created || got.LeftOut != c.leftOut || got.Rejected != c.rejected {
					t.Errorf("%+v, %q of\n%s", got, rejected, c.file)
				}
			}
			if sum := givenIn(t, s, account); sum != c.sum {
				t.Errorf("%d cents are given after\n%s", sum, c.file)
			}
		}
		checked(t, s)
	})
}
