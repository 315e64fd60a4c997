package console_test

import (
	"fmt"
	"strings"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/store/mails"
)

// Someone prints for a list, is told before who is left out and why, mails statements, and thanks for all gifts at once.
func TestPrintingAndThankingMany(t *testing.T) {
	s := anySite(t)

	viewer, amelia := s.generous()
	p := s.member(viewer.account, access.Editor)
	yes, name, email := true, "Gone", "gone@example.org"
	in := crm.ContactInput{FirstName: &name, LastName: &name, Emails: &[]crm.Email{{Value: email}}, Deceased: &yes}
	succeed(t, in.Validate(nil, true, "US", now))
	gone := must(s.store.CreateContact(t.Context(), p.account.Number, in, crm.Force))(t)
	for _, contact := range []int64{amelia, gone.ID} {
		s.donation(p.account, contact, `"amount":25,"method":"check","transacted_at":"%s"`, now.Format("2006-01-02"))
	}
	a := p.get("contacts/print")
	a.sees("Print for 2 contacts", "1 contact in one PDF file", "1 contact is deceased.", "Letter to Amelia Okafor", "Dear Amelia,").has(`href="` + p.org("/contacts") + `?deceased=true"`)
	p.get("contacts?deceased=true").sees("Gone Gone", "1 of 2 contacts")
	for _, what := range []string{"letters", "5160", "l7160", "3474"} {
		a = p.get("contacts/print/file?what=" + what)
		a.is(200).with("Content-Type", "application/pdf")
		if !strings.HasPrefix(a.body, "%PDF-") || !strings.Contains(a.header.Get("Content-Disposition"), ".pdf") {
			t.Errorf("%s: %v %.20q", what, a.header, a.body)
		}
	}
	p.get("contacts/print?what=nothing").is(404)
	year := now.Year()
	p.get(fmt.Sprintf("contacts/print?what=statements&year=%d", year)).sees("1 contact in one PDF file", "isn’t set up to send email")
	p.follow("contacts/bulk", "action", "print", "id", fmt.Sprint(amelia)).sees("Print for 1 contact")

	s.store.UseRelay(new(mails.Shelf))
	// Who was marked by hand gets a letter, until the email works again.
	mail := "amelia@example.org"
	change := crm.ContactInput{Emails: &[]crm.Email{{Value: mail}}}
	succeed(t, change.Validate(nil, false, "US", now))
	must(s.store.UpdateContact(t.Context(), p.account.Number, amelia, change))(t)
	path := p.org(fmt.Sprintf("/contacts/%d", amelia))
	p.follow(path+"/bounced", "email", mail).sees("No more mail goes to "+mail, "Bounced", "came back, so no mail is sent there")
	p.get("contacts?bounced=true").has("Amelia Okafor").hides("Gone Gone")
	p.get("contacts/print?what=statements&year="+fmt.Sprint(now.Year())).sees("Email statements", "0 emails")
	p.get("contacts/print?what=statements&year=20").sees("Year must be between 1900 and "+fmt.Sprint(now.Year())+".", "Show preview").lacks("Download PDF")
	p.get("gifts/thank").sees("Thank for 2 gifts", "0 emails to send", "1 letter to print", "1 contact is deceased.", "Prepare 1 letter")
	p.follow(path + "/bounced").sees("Mail goes to this contact again.")
	p.get("gifts?thanks=waiting").sees("Thank for all", "Thank selected")
	p.get("gifts/thank").sees("1 email to send", "All gifts awaiting thanks", "To Amelia Okafor", "Send 1 email")
	viewer.post(p.org("/gifts/thank")).is(403)
	p.follow("gifts/thank", "seen", "3").sees("Nothing was sent yet: the list now has 2 gifts.", "Send 1 email")
	a = p.post("gifts/thank", "seen", "2")
	a.is(303)
	p.done(a.location(), "Done").sees("Thank for 2 gifts", "1 mail written.", "1 contact is deceased.", "If one is refused, its gift is To thank again.")
	p.get(path).sees("Last thanked", "by mail ("+p.user.Name+")")

	statements := p.org(fmt.Sprintf("/contacts/%d/statement?year=%d", amelia, year))
	p.get(statements).sees("Download PDF", "Send by mail")
	a = p.post("contacts/print/send", "what", "statements", "year", fmt.Sprint(year), "scope", "picked", "id", fmt.Sprint(amelia))
	a.is(303)
	p.done(a.location(), "Done").sees(fmt.Sprintf("Giving statements %d for 1 contact", year), "1 mail written.", "Mails usually leave within a minute.")
	p.get(statements).sees("Waiting")

}

// The file has no font for a name: the person who prints is told before, and can print the page instead.
func TestALetterThatNoFontHasIsToldBefore(t *testing.T) {
	s := anySite(t)

	viewer, amelia := s.generous()
	p := s.member(viewer.account, access.Editor)
	first, last := "ᏣᎳᎩ", "Smith"
	in := crm.ContactInput{FirstName: &first, LastName: &last, Addresses: &[]crm.Address{{Line1: "12 Harbor Street", City: "Boston", State: "MA", Zipcode: "02110", Country: "USA"}}}
	succeed(t, in.Validate(nil, true, "US", now))
	made := must(s.store.CreateContact(t.Context(), p.account.Number, in, crm.Force))(t)
	p.get("contacts/print").sees("2 contacts in one PDF file", "shows boxes for some letters in the name or address of 1 contact: ᏣᎳᎩ Smith")
	for contact, boxes := range map[int64]bool{amelia: false, made.ID: true} {
		gift := p.org("/gifts/" + s.donation(p.account, contact, `"amount":25,"method":"check","transacted_at":"%s"`, now.Format("2006-01-02")).Code)
		for _, page := range []answer{p.get(fmt.Sprintf("contacts/%d/statement?year=%d", contact, now.Year())), p.get(gift + "/thank"), p.follow(gift + "/receipt")} {
			page.is(200)
			if strings.Contains(page.words(), "The PDF file shows boxes") != boxes {
				t.Errorf("it is wrong that the page tells of boxes: %v", !boxes)
			}
		}
	}

}
