package browser_test

import "testing"

// demo starts the demo and signs in as the user that it prints.
func demo(t *testing.T, args ...string) *page {
	t.Helper()
	s := start(t, append(args, "--demo")...)
	p := s.open()
	p.signIn("demo@example.org", s.prints(`Sign in at \S+ as demo@example.org with the password (\S+)`))
	return p
}

func TestTheHomeOfAnOrganizationShowsItAtAGlance(t *testing.T) {
	t.Parallel()
	p := demo(t)
	p.in("h1").sees("Harbor Light Foundation")
	p.sees("Raised this month $", "Raised this year $", "Average gift $", "Recurring share", "New donors", "Returning donors", "Donor retention", "Lapsed donors")
	p.sees("Giving by month", "Top campaigns in", "Light the Harbor Annual Fund $", "Largest recent gifts")
	p.sees("Active contacts 154 6 archived", "New this month", "Campaigns 6", "newsletter", "Linh Johansson")
	p.audit()
	p.withoutScripts()
	p.reload()
	p.sees("Raised this year $", "Active contacts 154 6 archived", "Largest tags", "Lighthouse Gala")
}

func TestTheHomeLeadsOn(t *testing.T) {
	t.Parallel()
	p := demo(t)
	home := p.path()
	for link, heading := range map[string]string{
		"newsletter": "Contacts", "All gifts": "Gifts", "Linh Johansson": "Linh Johansson", "Active contacts": "Contacts",
		"Add contact": "New contact", "Create campaign": "New campaign",
	} {
		p.visit(home)
		p.in("main").click(link)
		p.in("h1").sees(heading)
	}
}

func TestTheHomeOfANewOrganizationSaysWhatToDoNext(t *testing.T) {
	t.Parallel()
	s := start(t)
	p := s.owner()
	p.in("h1").sees(organization)
	p.sees("First steps 0 of 7 done", "Add your contacts", "Record your first gift", "Create your first campaign", "Take gifts on your campaign pages", "Set up mail", "Invite a colleague", "Create an API key")
	p.audit()
	home := p.path()
	p.click("Create API key")
	p.in("h1").sees("New API key")
	s.addContacts(p.organizationID(), `{"first_name":"Zoë","last_name":"Okafor","emails":[{"value":"zoe@example.org"}]}`)
	p.withoutScripts()
	p.visit(home)
	p.sees("First steps 2 of 7 done", "Active contacts 1")
	p.audit()
	p.click("Hide first steps")
	p.doesNotSee("First steps", "Record your first gift")
	p.sees("Active contacts 1", "No gifts yet.")

	viewer := s.visitor(p.organizationID(), "vera@example.org", "viewer")
	viewer.sees("Active contacts 1")
	viewer.doesNotSee("First steps", "Create API key")
	viewer.audit()
}
