package book

import (
	"errors"
	"fmt"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

func TestErrorsOfTheDatabaseHaveTheNamesThatCallersKnow(t *testing.T) {
	t.Parallel()
	for from, want := range map[error]error{db.ErrUnavailable: crm.ErrUnavailable, db.ErrNotFound: crm.ErrNotFound, db.ErrTaken: crm.ErrTaken} {
		cause := fmt.Errorf("the cause: %w", from)
		got := store.Translate(cause)
		wantError(t, from.Error(), got, want)
		wantError(t, from.Error(), got, cause)
		if got.Error() != cause.Error() {
			t.Errorf("%v lost its cause: %v", from, got)
		}
	}
	if other := errors.New("other"); store.Translate(other) != other || store.Translate(nil) != nil {
		t.Error("an error without another name must stay as it is")
	}
}

func TestAChangeThatIsTakenIsTriedAgain(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		refused error
		times   int // that it is refused
		tries   int
		want    error
	}{
		{db.ErrTaken, 3, 4, nil},
		{store.ErrAgain, 3, 4, nil},
		{db.ErrTaken, 1000, 20, db.ErrTaken},
		{access.EmailTaken(), 1000, 1, access.EmailTaken()},
	} {
		tries := 0
		err := store.Repeat(func() error {
			if tries++; tries <= test.times {
				return test.refused
			}
			return nil
		})
		if tries != test.tries || fmt.Sprint(err) != fmt.Sprint(test.want) {
			t.Errorf("%v, refused %d times: tried %d times, %v", test.refused, test.times, tries, err)
		}
	}
}
