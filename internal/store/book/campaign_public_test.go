package book

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"donorbook/internal/crm"
)

func TestACampaignIsFoundByItsSlugAlone(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		f := newFamily(t, s)
		made := createCampaign(t, s, f.chapter, `{"title":"Winter Gala","goal":100,"event":{"private":true}}`)
		createCampaign(t, s, f.root, `{"title":"Winter Gala"}`)
		got, owner, err := s.CampaignBySlug(t.Context(), "winter-gala")
		if err != nil || owner != f.chapter.Name {
			t.Errorf("it belongs to %q, %v", owner, err)
		}
		if diff := cmp.Diff(made, got); diff != "" {
			t.Error(diff)
		}
		if second, owner, err := s.CampaignBySlug(t.Context(), "winter-gala-2"); err != nil || second.ID == made.ID || owner != f.root.Name {
			t.Errorf("the second one is %+v of %q, %v", second, owner, err)
		}
		updateCampaign(t, s, f.chapter, made.ID, `{"slug":"ball"}`)
		for _, slug := range []string{"Ball", "", "ball%", "nothing"} {
			_, _, err := s.CampaignBySlug(t.Context(), slug)
			wantError(t, slug, err, crm.ErrNotFound)
		}
		if got, _, err := s.CampaignBySlug(t.Context(), "ball"); err != nil || got.ID != made.ID {
			t.Errorf("under its new slug: %+v, %v", got, err)
		}
	})
}
