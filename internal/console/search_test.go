package console_test

import (
	"net/http"
	"path"
	"strconv"
	"strings"
	"testing"

	"donorbook/internal/crm/access"
)

func TestASearchFindsContactsCampaignsAndGifts(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
		p := s.member(s.organization("Harbor"), access.Owner)
		other := s.member(s.organization("Elsewhere"), access.Owner)
		for i := range 9 {
			s.contact(p, "Winter", "Number"+strconv.Itoa(i))
		}
		s.contact(other, "Winter", "Stranger")
		s.campaign(p.account, `{"title":"Winter Coat Drive"}`)
		page := p.get(p.org("/search?q=winter"))
		p.sees(page, "See all 9 contacts that match", "Winter Number8", "Winter Coat Drive")
		if strings.Contains(page.words(), "Stranger") || strings.Contains(page.words(), "Number0") {
			t.Errorf("a search shows %s", page.words())
		}
		p.sees(p.get(page.link(t, "See all 9 contacts that match")), "9 contacts", "Winter Number0")
		p.sees(p.get(p.org("/search?q=coat-drive")), "Winter Coat Drive")
		p.sees(p.get(p.org("/search?q=nothing+of+the+kind")), "Nothing found")
		p.sees(p.get(p.org("/search")), "Find a contact by name")
	})
}

// A typing error finds no one. Both searches offer what was probably meant, and that finds the contact.
func TestASearchOffersWhatWasMeant(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
		p := s.member(s.organization("Harbor"), access.Owner)
		s.contact(p, "Mary", "Fitzgerald")
		for _, list := range []string{"/search", "/contacts"} {
			page := p.get(p.org(list + "?q=mary+Fitzgereld"))
			p.sees(page, "Did you mean mary Fitzgerald")
			p.sees(p.get(page.link(t, "mary Fitzgerald")), "Mary Fitzgerald")
			if page = p.get(p.org(list + "?q=Zebra")); strings.Contains(page.words(), "Did you mean") {
				t.Errorf("%s offers something for a word that is like no other: %s", list, page.words())
			}
		}
		if page := p.get(p.org("/contacts?scope=archived&q=Fitzgereld")); strings.Contains(page.words(), "Did you mean") {
			t.Errorf("the archive offers an active contact: %s", page.words())
		}
	})
}

func TestASearchForAnIDLeadsToIt(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
		p := s.member(s.organization("Harbor"), access.Owner)
		other := s.member(s.organization("Elsewhere"), access.Owner)
		contact := s.contact(p, "Ida", "Lund")
		gift := p.give(contact, "75", "2026-01-31", "external_id", "row-7")
		for _, query := range []string{path.Base(gift), "row-7", "0000000001"} {
			if to := p.get(p.org("/search?q=" + query)).location(); to != gift {
				t.Errorf("a search for %s leads to %q, want %s", query, to, gift)
			}
			p.sees(other.get(other.org("/search?q="+query)), "Nothing found")
		}
		if to := p.get(p.org("/search?q=" + path.Base(contact))).location(); to != contact && path.Base(contact) != "1" {
			t.Errorf("a search for the contact's ID leads to %q, want %s", to, contact)
		}
		// A number that a contact and a gift have leads to neither.
		a := p.get(p.org("/search?q=1"))
		p.wantStatus(a, http.StatusOK)
		p.sees(a, "Ida Lund", "$75")
	})
}
