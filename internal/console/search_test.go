package console_test

import (
	"path"
	"strconv"
	"testing"

	"donorbook/internal/crm/access"
)

func TestASearchFindsContactsCampaignsAndGifts(t *testing.T) {
	s, p := signedIn(t, access.Owner)
	other := s.member(s.organization("Elsewhere"), access.Owner)
	for i := range 9 {
		s.contact(p, "Winter", "Number"+strconv.Itoa(i))
	}
	s.contact(other, "Winter", "Stranger")
	s.campaign(p.account, `{"title":"Winter Coat Drive"}`)
	page := p.get("search?q=winter")
	page.sees("See all 9 contacts that match", "Winter Number8", "Winter Coat Drive").lacks("Stranger", "Number0")
	p.get(page.link(t, "See all 9 contacts that match")).sees("9 contacts", "Winter Number0")
	p.get("search?q=coat-drive").sees("Winter Coat Drive")
	p.get("search?q=nothing+of+the+kind").sees("Nothing found")
	p.get("search").sees("Find a contact by name")

}

// A typing error finds no one. Both searches offer what was probably meant, and that finds the contact.
func TestASearchOffersWhatWasMeant(t *testing.T) {
	s, p := signedIn(t, access.Owner)
	s.contact(p, "Mary", "Fitzgerald")
	for _, list := range []string{"/search", "/contacts"} {
		page := p.get(p.org(list + "?q=mary+Fitzgereld"))
		page.sees("Did you mean mary Fitzgerald")
		p.get(page.link(t, "mary Fitzgerald")).sees("Mary Fitzgerald")
		page = p.get(p.org(list + "?q=Zebra"))
		page.lacks("Did you mean")
	}
	p.get("contacts?scope=archived&q=Fitzgereld").lacks("Did you mean")

}

func TestASearchForAnIDLeadsToIt(t *testing.T) {
	s, p := signedIn(t, access.Owner)
	other := s.member(s.organization("Elsewhere"), access.Owner)
	contact := s.contact(p, "Ida", "Lund")
	gift := p.give(contact, "75", "2026-01-31", "external_id", "row-7")
	for _, query := range []string{path.Base(gift), "row-7", "0000000001"} {
		if to := p.get("search?q=" + query).location(); to != gift {
			t.Errorf("a search for %s leads to %q, want %s", query, to, gift)
		}
		other.get("search?q=" + query).sees("Nothing found")
	}
	if to := p.get("search?q=" + path.Base(contact)).location(); to != contact && path.Base(contact) != "1" {
		t.Errorf("a search for the contact's ID leads to %q, want %s", to, contact)
	}
	// A number that a contact and a gift have leads to neither.
	p.get("search?q=1").is(200).sees("Ida Lund", "$75")

}
