package console_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/store/mails"
)

// Someone prints for a list, is told before who is left out and why, mails statements, and thanks for all gifts at once.
func TestPrintingAndThankingMany(t *testing.T) {
	onSiteAt(t, givingNow, func(t *testing.T, s *site) {
		viewer, amelia := s.generous()
		p := s.member(viewer.account, access.Editor)
		yes, name, email := true, "Gone", "gone@example.org"
		in := crm.ContactInput{FirstName: &name, LastName: &name, Emails: &[]crm.Email{{Value: email}}, Deceased: &yes}
		succeed(t, in.Validate(nil, true, "US", givingNow))
		gone := must(s.store.CreateContact(t.Context(), p.account.Number, in, crm.Force))(t)
		for _, contact := range []int64{amelia, gone.ID} {
			s.donation(p.account, contact, `"amount":25,"method":"check","transacted_at":"%s"`, givingNow.Format("2006-01-02"))
		}
		a := p.get(p.org("/contacts/print"))
		p.sees(a, "Print for 2 contacts", "1 contact in one PDF file", "1 contact is deceased.", "Letter to Amelia Okafor", "Dear Amelia,")
		if !strings.Contains(a.body, `href="`+p.org("/contacts")+`?deceased=true"`) {
			t.Error("who is left out is in no list")
		}
		p.sees(p.get(p.org("/contacts?deceased=true")), "Gone Gone", "1 of 2 contacts")
		for _, what := range []string{"letters", "5160", "l7160", "3474"} {
			a = p.get(p.org("/contacts/print/file?what=" + what))
			if p.wantStatus(a, http.StatusOK); a.header.Get("Content-Type") != "application/pdf" || !strings.HasPrefix(a.body, "%PDF-") || !strings.Contains(a.header.Get("Content-Disposition"), ".pdf") {
				t.Errorf("%s: %v %.20q", what, a.header, a.body)
			}
		}
		p.wantStatus(p.get(p.org("/contacts/print?what=nothing")), http.StatusNotFound)
		year := givingNow.Year()
		p.sees(p.get(p.org(fmt.Sprintf("/contacts/print?what=statements&year=%d", year))), "1 contact in one PDF file", "isn’t set up to send email")
		p.sees(p.follow(p.org("/contacts/bulk"), "action", "print", "id", fmt.Sprint(amelia)), "Print for 1 contact")

		s.store.UseRelay(new(mails.Shelf))
		// Who was marked by hand gets a letter, until the email works again.
		mail := "amelia@example.org"
		change := crm.ContactInput{Emails: &[]crm.Email{{Value: mail}}}
		succeed(t, change.Validate(nil, false, "US", givingNow))
		must(s.store.UpdateContact(t.Context(), p.account.Number, amelia, change))(t)
		path := p.org(fmt.Sprintf("/contacts/%d", amelia))
		p.sees(p.follow(path+"/bounced", "email", mail), "No more mail goes to "+mail, "Bounced", "came back, so no mail is sent there")
		if listed := p.get(p.org("/contacts?bounced=true")); !strings.Contains(listed.body, "Amelia Okafor") || strings.Contains(listed.body, "Gone Gone") {
			t.Error("the filter of bounced emails does not find Amelia alone")
		}
		p.sees(p.get(p.org("/contacts/print?what=statements&year="+fmt.Sprint(givingNow.Year()))), "Email statements", "0 emails")
		wrong := p.get(p.org("/contacts/print?what=statements&year=20"))
		p.sees(wrong, "Year must be between 1900 and "+fmt.Sprint(givingNow.Year())+".", "Show preview")
		p.doesNotSee(wrong, "Download PDF")
		p.sees(p.get(p.org("/gifts/thank")), "Thank for 2 gifts", "0 emails to send", "1 letter to print", "1 contact is deceased.", "Prepare 1 letter")
		p.sees(p.follow(path+"/bounced"), "Mail goes to this contact again.")
		p.sees(p.get(p.org("/gifts?thanks=waiting")), "Thank for all", "Thank selected")
		p.sees(p.get(p.org("/gifts/thank")), "1 email to send", "All gifts awaiting thanks", "To Amelia Okafor", "Send 1 email")
		p.wantStatus(viewer.post(p.org("/gifts/thank")), http.StatusForbidden)
		p.sees(p.follow(p.org("/gifts/thank"), "seen", "3"), "Nothing was sent yet: the list now has 2 gifts.", "Send 1 email")
		a = p.post(p.org("/gifts/thank"), "seen", "2")
		p.wantStatus(a, http.StatusSeeOther)
		s.works()
		p.sees(p.until(a.location(), "Done"), "Thank for 2 gifts", "1 mail written.", "1 contact is deceased.", "If one is refused, its gift is To thank again.")
		p.sees(p.get(path), "Last thanked", "by mail ("+p.user.Name+")")

		statements := p.org(fmt.Sprintf("/contacts/%d/statement?year=%d", amelia, year))
		p.sees(p.get(statements), "Download PDF", "Send by mail")
		a = p.post(p.org("/contacts/print/send"), "what", "statements", "year", fmt.Sprint(year), "scope", "picked", "id", fmt.Sprint(amelia))
		p.wantStatus(a, http.StatusSeeOther)
		p.sees(p.until(a.location(), "Done"), fmt.Sprintf("Giving statements %d for 1 contact", year), "1 mail written.", "Mails usually leave within a minute.")
		p.sees(p.get(statements), "Waiting")
	})
}

// The file has no font for a name: the person who prints is told before, and can print the page instead.
func TestALetterThatNoFontHasIsToldBefore(t *testing.T) {
	onSiteAt(t, givingNow, func(t *testing.T, s *site) {
		viewer, amelia := s.generous()
		p := s.member(viewer.account, access.Editor)
		first, last := "ᏣᎳᎩ", "Smith"
		in := crm.ContactInput{FirstName: &first, LastName: &last, Addresses: &[]crm.Address{{Line1: "12 Harbor Street", City: "Boston", State: "MA", Zipcode: "02110", Country: "USA"}}}
		succeed(t, in.Validate(nil, true, "US", givingNow))
		made := must(s.store.CreateContact(t.Context(), p.account.Number, in, crm.Force))(t)
		p.sees(p.get(p.org("/contacts/print")), "2 contacts in one PDF file", "shows boxes for some letters in the name or address of 1 contact: ᏣᎳᎩ Smith")
		for contact, boxes := range map[int64]bool{amelia: false, made.ID: true} {
			gift := p.org("/gifts/" + s.donation(p.account, contact, `"amount":25,"method":"check","transacted_at":"%s"`, givingNow.Format("2006-01-02")).Code)
			for _, page := range []answer{p.get(p.org(fmt.Sprintf("/contacts/%d/statement?year=%d", contact, givingNow.Year()))), p.get(gift + "/thank"), p.follow(gift + "/receipt")} {
				p.wantStatus(page, http.StatusOK)
				if strings.Contains(page.words(), "The PDF file shows boxes") != boxes {
					t.Errorf("it is wrong that the page tells of boxes: %v", !boxes)
				}
			}
		}
	})
}
