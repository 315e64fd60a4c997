package book

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

func segment(t testing.TB, name, query string) find.Segment {
	t.Helper()
	made := must(find.NewSegment(name, query, "US"))(t)
	return made
}

func TestSegmentsAreSavedRenamedAndDeleted(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account, other := newAccount(t, s).Number, newAccount(t, s).Number
		ctx := store.By(t.Context(), history.ConsoleChannel, "ann@x.org")
		names := func() (all []string) {
			t.Helper()
			found := must(s.Segments(t.Context(), account))(t)
			return store.Collect(found, func(s find.Segment) string { return s.Name + "?" + s.Query + " by " + s.Actor })
		}
		vip := must(s.CreateSegment(ctx, account, segment(t, "VIPs", "tag=vip")))(t)
		must(s.CreateSegment(ctx, account, segment(t, "Boston", "city=boston&sort=-last_gift")))(t)
		var taken *doc.Invalid
		if _, err := s.CreateSegment(ctx, account, segment(t, "vipS", "tag=x")); !errors.As(err, &taken) || taken.Faults[0].Field != "name" {
			t.Errorf("the same name in other letters: %v", err)
		}
		if err := s.RenameSegment(ctx, account, vip.ID, "BOSTON"); !errors.As(err, &taken) {
			t.Errorf("the name of another one: %v", err)
		}
		if err := s.RenameSegment(ctx, account, vip.ID, "vips"); err != nil {
			t.Errorf("its own name in other letters: %v", err)
		}
		if _, err := s.CreateSegment(ctx, other, segment(t, "VIPs", "tag=vip")); err != nil {
			t.Errorf("the name in another account: %v", err)
		}
		if want := []string{"vips?tag=vip by ann@x.org", "Boston?city=boston&sort=-last_gift by ann@x.org"}; !slices.Equal(names(), want) {
			t.Errorf("%q", names())
		}
		if err := s.RenameSegment(ctx, other, vip.ID, "Mine"); !errors.Is(err, crm.ErrNotFound) {
			t.Errorf("a rename by another account: %v", err)
		}
		if _, err := s.DeleteSegment(ctx, other, vip.ID); !errors.Is(err, crm.ErrNotFound) {
			t.Errorf("a deletion by another account: %v", err)
		}
		if old, err := s.DeleteSegment(ctx, account, vip.ID); err != nil || old.Name != "vips" {
			t.Errorf("%+v, %v", old, err)
		}
		if want := []string{"Boston?city=boston&sort=-last_gift by ann@x.org"}; !slices.Equal(names(), want) {
			t.Errorf("%q", names())
		}
		told := changesOf(t, s, account, history.SegmentNoun)
		want := []string{
			`created ann@x.org {"name":[null,"VIPs"],"query":[null,"tag=vip"]}`, `created ann@x.org {"name":[null,"Boston"],"query":[null,"city=boston&sort=-last_gift"]}`,
			`updated ann@x.org {"name":["VIPs","vips"]}`, `deleted ann@x.org {"name":["vips",null],"query":["tag=vip",null]}`,
		}
		if !slices.Equal(told, want) {
			t.Errorf("the history tells\n%s", strings.Join(told, "\n"))
		}
	})
}

// changesOf are the changes of a noun, as the history of an account tells them.
func changesOf(t testing.TB, s *Book, account int64, noun history.Noun) []string {
	t.Helper()
	found := must(store.List(t.Context(), s.Base, func(r db.Row) string { return fmt.Sprintf("%s %s %s", history.Kind(r.Int(0)), r.Text(1), r.Text(2)) },
		`SELECT kind, actor, data FROM change WHERE account_id = $1 AND noun = $2 ORDER BY revision`, account, int64(noun)))(t)
	return found
}

func TestThereAreAtMost200Segments(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		for i := range find.SegmentLimit.Max {
			must(s.CreateSegment(t.Context(), account, segment(t, fmt.Sprint(i), "tag=vip")))(t)
		}
		if _, err := s.CreateSegment(t.Context(), account, segment(t, "More", "tag=vip")); err == nil || !strings.Contains(err.Error(), "200 segments") {
			t.Errorf("one more: %v", err)
		}
	})
}
