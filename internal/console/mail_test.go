package console_test

import (
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm/access"
	"donorbook/internal/store/mails"
)

// Who asks for a new password learns nothing about who is a user, and what is done is the same: a row in the outbox.
func TestAForgottenPasswordTellsNothing(t *testing.T) {
	s, anna := signedIn(t, access.Owner)
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
		sent.is(303)
		if err != nil || len(waiting) != len(answers)/2+1 {
			t.Errorf("%s: %d, %d mails wait, %v", email, sent.status, len(waiting), err)
		}
		answers = append(answers, sent, page)
	}
	answers[0].leads(answers[2].location())
	if answers[1].words() != answers[3].words() {
		t.Errorf("%s\n%s", answers[1].words(), answers[3].words())
	}
	s.visitor().post("/console/forgot", "email", "a@b.org\r\nBcc: c@d.org").is(422)
	for range 10 {
		s.visitor().post("/console/forgot", "email", anna.user.Email)
	}
	s.visitor().post("/console/forgot", "email", anna.user.Email).is(429)

}

func TestOwnersTryTheMail(t *testing.T) {
	s := anySite(t)

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
	s.visitor().get("/console/mails").is(404)
	s.store.UseRelay(new(mails.Shelf))
	victor.post(path + "/test").is(403)
	anna.post(path + "/test")
	if words := anna.get(path).words(); !strings.Contains(words, anna.user.Email+" Test") || !strings.Contains(words, "Waiting") {
		t.Error(words)
	}
	s.send()
	if words := anna.get(path).words(); !strings.Contains(words, "Sent") {
		t.Error(words)
	}
	if words := s.visitor().get("/console/mails").words(); !strings.Contains(words, "Test mail from Harbor Light") {
		t.Error(words)
	}

}

// The mail to who is invited says what they may do, and has the last day of its link by the clock of the organization, as the page has it.
func TestTheMailOfAnInvitationSaysWhatItIsFor(t *testing.T) {
	s := siteAt(t, time.Date(2026, time.November, 17, 4, 37, 0, 0, time.UTC))

	owner := s.clockIn("America/New_York", access.Owner)
	s.store.UseRelay(new(mails.Shelf))
	owner.post("settings/people/invite", "email", "bob@example.org", "role", "viewer")
	s.send()
	owner.get("/console/mails").sees(owner.user.Name+" invited you to join Harbor on Donorbook. As a viewer, you can see contacts, gifts and campaigns.", "The link works once and until November 23, 2026.")
	owner.get("settings/people").sees("Nov 23, 2026")

}
