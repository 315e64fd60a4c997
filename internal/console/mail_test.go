package console_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm/access"
	"donorbook/internal/store/mails"
)

// Who asks for a new password learns nothing about who is a user, and what is done is the same: a row in the outbox.
func TestAForgottenPasswordTellsNothing(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
		anna := s.member(s.organization("Harbor Light"), access.Owner)
		if words := s.visitor().get("/console/signin").words(); strings.Contains(words, "We mail") || !strings.Contains(words, "Ask your administrator") {
			t.Error(words)
		}
		s.store.UseRelay(new(mails.Shelf))
		var answers []answer
		for _, email := range []string{anna.user.Email, "nobody@example.org"} {
			v := s.visitor()
			sent := v.post("/console/forgot", "email", email)
			page := v.get(sent.location())
			waiting, err := s.store.RecentMails(t.Context(), 0, 50)
			if err != nil || sent.status != http.StatusSeeOther || len(waiting) != len(answers)/2+1 {
				t.Errorf("%s: %d, %d mails wait, %v", email, sent.status, len(waiting), err)
			}
			answers = append(answers, sent, page)
		}
		if answers[0].location() != answers[2].location() || answers[1].words() != answers[3].words() {
			t.Errorf("%s\n%s", answers[1].words(), answers[3].words())
		}
		if a := s.visitor().post("/console/forgot", "email", "a@b.org\r\nBcc: c@d.org"); a.status != http.StatusUnprocessableEntity {
			t.Error(a.status)
		}
		for range 10 {
			s.visitor().post("/console/forgot", "email", anna.user.Email)
		}
		if a := s.visitor().post("/console/forgot", "email", anna.user.Email); a.status != http.StatusTooManyRequests {
			t.Errorf("one address may ask for any number of mails: %d", a.status)
		}
	})
}

func TestOwnersTryTheMail(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
		account := s.organization("Harbor Light")
		anna, victor := s.member(account, access.Owner), s.member(account, access.Viewer)
		path := "/console/o/" + account.ID + "/settings/mail"
		if words := anna.get(path).words(); !strings.Contains(words, "This server isn’t set up to send mail") || !strings.Contains(words, "--smtp-host") {
			t.Error(words)
		}
		anna.post(path + "/test")
		if waiting, err := s.store.RecentMails(t.Context(), account.Number, 50); err != nil || len(waiting) != 0 {
			t.Error("a mail waits for a relay that is not there", err)
		}
		if a := s.visitor().get("/console/mails"); a.status != http.StatusNotFound {
			t.Errorf("mails are shown where they are sent: %d", a.status)
		}
		s.store.UseRelay(new(mails.Shelf))
		if a := victor.post(path + "/test"); a.status != http.StatusForbidden {
			t.Error(a.status)
		}
		anna.post(path + "/test")
		if words := anna.get(path).words(); !strings.Contains(words, anna.user.Email+" Test") || !strings.Contains(words, "Waiting") {
			t.Error(words)
		}
		succeed(t, s.store.SendDue(t.Context(), "https://donors.example", func(err error) { t.Error(err) }))
		if words := anna.get(path).words(); !strings.Contains(words, "Sent") {
			t.Error(words)
		}
		if words := s.visitor().get("/console/mails").words(); !strings.Contains(words, "Test mail from Harbor Light") {
			t.Error(words)
		}
	})
}

// The mail to who is invited says what they may do, and has the last day of its link by the clock of the organization, as the page has it.
func TestTheMailOfAnInvitationSaysWhatItIsFor(t *testing.T) {
	onSiteAt(t, time.Date(2026, time.November, 17, 4, 37, 0, 0, time.UTC), func(t *testing.T, s *site) {
		owner := s.clockIn("America/New_York", access.Owner)
		s.store.UseRelay(new(mails.Shelf))
		owner.post(owner.org("/settings/people/invite"), "email", "bob@example.org", "role", "viewer")
		succeed(t, s.store.SendDue(t.Context(), "https://donors.example", func(err error) { t.Error(err) }))
		owner.sees(owner.get("/console/mails"), owner.user.Name+" invited you to join Harbor on Donorbook. As a viewer, you can see contacts, gifts and campaigns.", "The link works once and until November 23, 2026.")
		owner.sees(owner.get(owner.org("/settings/people")), "Nov 23, 2026")
	})
}
