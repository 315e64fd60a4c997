package console_test

import (
	"strings"
	"testing"

	"donorbook/internal/crm/access"
)

// A value that is not known, and a campaign that does not exist, are asked about after the dry run. What a person says about a value is remembered.
func TestWhatAFileOfGiftsSaysIsExplained(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
		s.works()
		p := s.member(s.organization("Harbor"), access.Editor)
		const file = "Gift ID,Amount,Date,Method,Status,Fund,First name,Last name,Email\n" +
			"1,50,2026-01-05,Beads,Paid,Roof,Ada,Byron,ada@example.org\n2,20,2026-01-06,CK,Refunded,,Ada,Byron,ada@example.org\n"
		path := p.uploadsOf("gifts", p.org("/contacts/import"), "gifts.csv", file).location()
		form := mapping(p.get(path))
		p.follow(path, append(form, "do", "try")...)
		a := p.until(path, "Nothing was changed yet.")
		for _, words := range []string{"Rows 2 New gifts 2 Already recorded 0 Rejected 0 New contacts 1", "Beads Other, kept in the note", "This campaign does not exist and will be created as a draft: Roof"} {
			if !strings.Contains(a.words(), words) {
				t.Errorf("the dry run does not say %q: %s", words, a.words())
			}
		}
		form = append(form, "value.0", "other", "mode", "leave")
		p.follow(path, append(form, "do", "try")...)
		a = p.until(path, "Adds to gifts received $50")
		if !strings.Contains(a.body, `<option value="other" selected>`) || !strings.Contains(a.body, `value="leave" checked`) {
			t.Errorf("what was chosen is not kept: %s", a.body)
		}
		form = form[:len(form)-2]
		p.follow(path, append(form, "do", "import")...)
		if a = p.until(path, "Undo import"); !strings.Contains(a.words(), "Rows 2 New gifts 2 Already recorded 0 Rejected 0 New contacts 1 Adds to gifts received $50") {
			t.Errorf("the result is %s", a.words())
		}
		if got := p.get(p.org("/campaigns")).words(); !strings.Contains(got, "Roof") || !strings.Contains(got, "Draft") {
			t.Errorf("the campaigns are %s", got)
		}
		next := p.uploadsOf("gifts", p.org("/contacts/import"), "next.csv", strings.Replace(file, "\n1,", "\n3,", 1)).location()
		if a = p.get(next); !strings.Contains(a.body, `<option value="other" selected>`) {
			t.Errorf("what was said is not remembered: %s", a.words())
		}
		later := p.uploadsOf("gifts", p.org("/contacts/import"), "later.csv", strings.Replace(file, "Beads,Paid", "Beads,Refunded", 1)).location()
		p.follow(later, append(mapping(p.get(later)), "value.0", "other", "do", "try")...)
		a = p.until(later, "Nothing was changed yet.")
		for _, words := range []string{"Refunds and updates 1 Already recorded 1", "Updates the gift.", "Not recorded again.", "Refunds and updates of gifts 1 ", "Gifts already recorded 1 "} {
			if !strings.Contains(a.words(), words) {
				t.Errorf("the dry run of a later file does not say %q: %s", words, a.words())
			}
		}
		p.follow(later, append(mapping(a), "value.0", "other", "do", "import")...)
		p.sees(p.until(later, "Undo import"), "It reverses the import’s changes to earlier gifts", "It removes the campaigns that the import created")
		p.follow(later + "/undo")
		p.until(later, "1 change to earlier gifts was reversed")
		p.sees(p.get(p.org("/jobs")), "1 change to earlier gifts was reversed")
		p.follow(path + "/undo")
		p.until(path, "1 campaign that it created was removed.")
		if got := p.get(p.org("/campaigns")).words(); strings.Contains(got, "Roof") {
			t.Errorf("after the undo the campaigns are %s", got)
		}
	})
}

// A person chooses whether gifts find contacts by name and address. The dry run counts the new contacts, and the import makes as many.
func TestGiftsFindContactsByNameAndAddress(t *testing.T) {
	s := anySite(t)
	s.works()
	p := s.member(s.organization("Harbor"), access.Editor)
	p.post(p.org("/contacts"), "first_name", "Otto", "last_name", "Lang", "addresses.0.address_1", "1 Main St", "addresses.0.city", "Boston", "addresses.0.state", "MA", "addresses.0.zipcode", "02140", "addresses.0.country", "USA")
	const file = "Name,ZIP,Amount,Date\nOtto Lang,02140,4,2026-05-03\nPia Roth,02141,16,2026-05-05\nPia Roth,02141,32,2026-05-06\n"
	path := p.uploadsOf("gifts", p.org("/contacts/import"), "gifts.csv", file).location()
	a := p.get(path)
	p.sees(a, "Also match contacts by name and address")
	form := mapping(a)
	p.follow(path, append(form, "do", "try")...)
	p.sees(p.until(path, "Nothing was changed yet."), "Rows 3 New gifts 3 Already recorded 0 Rejected 0 New contacts 2")
	form = append(form, "match_names", "1")
	p.follow(path, append(form, "do", "try")...)
	a = p.until(path, "New contacts 1")
	if !strings.Contains(a.body, `name="match_names" value="1" checked`) {
		t.Errorf("what was chosen is not kept: %s", a.body)
	}
	p.follow(path, append(form, "do", "import")...)
	p.sees(p.until(path, "Undo import"), "Rows 3 New gifts 3 Already recorded 0 Rejected 0 New contacts 1 Adds to gifts received $52")
}

// A gift with the email of a contact of another name is listed, and a person chooses whose gift it is.
func TestAPersonChoosesWhoseGiftItIs(t *testing.T) {
	s := anySite(t)
	s.works()
	p := s.member(s.organization("Harbor"), access.Editor)
	p.post(p.org("/contacts"), "first_name", "Ada", "last_name", "Byron", "emails.0.value", "ada@example.org")
	path := p.uploadsOf("gifts", p.org("/contacts/import"), "gifts.csv", "Name,Email,Amount,Date\nWilliam King,ada@example.org,4,2026-05-03\n").location()
	form := mapping(p.get(path))
	p.follow(path, append(form, "do", "try")...)
	p.sees(p.until(path, "Nothing was changed yet."), "New contacts 1", "Same email, phone or ID, different name", "Row 2 William King Ada Byron ada@example.org Recorded for a new contact.", "Record the gift for that contact")
	form = append(form, "other_name", "merge")
	p.follow(path, append(form, "do", "try")...)
	if a := p.until(path, "Recorded for that contact."); !strings.Contains(a.body, `<option value="merge" selected>`) {
		t.Errorf("what was chosen is not kept: %s", a.body)
	}
	p.follow(path, append(form, "do", "import")...)
	p.sees(p.until(path, "Undo import"), "Rows 1 New gifts 1 Already recorded 0 Rejected 0 New contacts 0", "Recorded for that contact.")
}
