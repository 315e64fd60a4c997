package console_test

import (
	"encoding/csv"
	"fmt"
	"strings"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
)

// TestListsAreExportedAsTheyAreShown: the file has what the list shows on all its pages, a viewer may have it, and a person of another
// organization may not.
func TestListsAreExportedAsTheyAreShown(t *testing.T) {
	s := anySite(t)

	p, contact := s.generous()
	for i := range 60 {
		first, last := fmt.Sprintf("Many%d", i), "=1+1"
		in := crm.ContactInput{FirstName: &first, LastName: &last, Tags: &[]string{"many"}}
		succeed(t, in.Validate(nil, true, "US", now))
		must(s.store.CreateContact(t.Context(), p.account.Number, in, crm.Force))(t)
	}
	s.campaign(p.account, `{"title": "Gala"}`)
	s.donation(p.account, contact, `"amount":50,"method":"check","transacted_at":"2025-12-31"`)
	s.donation(p.account, contact, `"amount":60,"method":"cash","transacted_at":"2025-12-31"`)

	list := p.get("contacts?tag=many")
	list.has(`action="`+p.org("/contacts/export")+`"`, `<input type="hidden" name="tag" value="many">`)
	rows := p.csvOf("/contacts/export?tag=many&format=csv", "harbor-light-contacts-")
	if len(rows) != 61 || rows[0][1] != "First name" || rows[1][1] != "Many0" || rows[1][3] != "'=1+1" {
		t.Errorf("%d rows: %q and so on", len(rows), rows[:min(2, len(rows))])
	}
	if rows := p.csvOf("/gifts/export?method=cash", "harbor-light-gifts-"); len(rows) != 2 || rows[1][3] != "60" {
		t.Errorf("the gifts are %q", rows)
	}
	if rows := p.csvOf("/campaigns/export", "harbor-light-campaigns-"); len(rows) != 2 || rows[1][1] != "Gala" {
		t.Errorf("the campaigns are %q", rows)
	}
	other := s.newcomer(p.account, "Bo", "Ek").ID
	s.donation(p.account, other, `"amount":7.50,"method":"cash","transacted_at":"2026-01-02","plan_id":%q`, s.plan(p.account, other, "monthly"))
	s.donation(p.account, other, `"amount":9.50,"currency":"EUR","method":"cash","transacted_at":"2025-01-02"`) // a donor, too
	s.plan(p.account, contact, "yearly")
	rows = p.csvOf("/plans/export?frequency=monthly", "harbor-light-plans-")
	if len(rows) != 2 || strings.Join(rows[0][:4], " ") != "id contact_id first_name last_name" || rows[1][2] != "Bo" || rows[1][10] != "7.5" || rows[1][12] != "2025-01-31" {
		t.Errorf("the plans are %q", rows)
	}
	for query, want := range map[string]string{"year=2025": "Amelia 2 110 USD |Bo 1 0 USD 9.5 EUR|", "year=2026&new=1": "", "year=2026&lapsed=1": "Amelia 2 110 USD |", "year=2026&returning=1": "Bo 1 7.5 USD |"} {
		got := ""
		for _, row := range p.csvOf("/donors/export?"+query, "harbor-light-donors-")[1:] {
			got += strings.Join(append(row[1:2], row[len(row)-4:]...), " ") + "|"
		}
		if got != want {
			t.Errorf("the donors of %s are %q, want %q", query, got, want)
		}
	}
	p.get("donors?year=2026&lapsed=1").has(`action="`+p.org("/donors/export")+`"`, `<input type="hidden" name="lapsed" value="1"><input type="hidden" name="year" value="2026">`)
	p.get("plans?frequency=yearly&sort=amount").has(`action="` + p.org("/plans/export") + `" class="stack tight"><input type="hidden" name="frequency" value="yearly">`)
	p.get("donors/export?year=x").leads(p.org("/donors?year=x"))
	p.get("plans/export?status=gone").leads(p.org("/plans?status=gone"))
	lines := p.get("contacts/export?format=jsonl&q=amelia")
	lines.with("Content-Type", "application/jsonl")
	if strings.Count(lines.body, "\n") != 1 || !strings.HasPrefix(lines.body, fmt.Sprintf(`{"id":%d,"first_name":"Amelia",`, contact)) {
		t.Errorf("%s: %s", lines.header, lines.body)
	}
	if book := p.get("contacts/export?format=xlsx"); !strings.HasPrefix(book.body, "PK") {
		t.Errorf("a workbook begins with %.10q", book.body)
	}
	stranger := s.member(s.organization("Other"), access.Owner)
	for _, list := range []string{"contacts", "gifts", "plans", "donors", "campaigns"} {
		stranger.get(p.org("/" + list + "/export")).is(404)
	}

}

// plan makes a plan of $7.50 and is its public id.
func (s *site) plan(account access.Account, contact int64, frequency string) string {
	s.t.Helper()
	in, faults, err := giving.DecodePlan(doc.NewBody(fmt.Appendf(nil, `{"contact_id":%d,"amount":7.50,"method":"card","frequency":%q,"start_at":"2025-01-31"}`, contact, frequency)))
	if err == nil {
		err = in.Validate(faults, true, "US", now)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	made := must(s.store.CreatePlan(s.t.Context(), account.Number, in))(s.t)
	return made.Code
}

// csvOf downloads a file.
func (p *person) csvOf(path, name string) [][]string {
	p.site.t.Helper()
	a := p.get(p.org(path))
	a.is(200)
	if got := a.header.Get("Content-Disposition"); !strings.HasPrefix(got, `attachment; filename="`+name) || !strings.HasSuffix(got, `.csv"`) {
		p.site.t.Errorf("%s is called %q", path, got)
	}
	rows, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(a.body, "\ufeff"))).ReadAll()
	if err != nil {
		p.site.t.Fatalf("%s: %v", path, err)
	}
	return rows
}

// TestOnlyAnOwnerErases: it takes the role and the name.
func TestOnlyAnOwnerErases(t *testing.T) {
	s := anySite(t)

	viewer, contact := s.generous()
	s.donation(viewer.account, contact, `"amount":50,"method":"check","transacted_at":"2025-12-31"`)
	owner, editor := s.member(viewer.account, access.Owner), s.member(viewer.account, access.Editor)
	path := owner.org(fmt.Sprintf("/contacts/%d", contact))

	data := viewer.get(path + "/data")
	data.is(200).has(`"transactions":[{"id":"`)
	if !strings.HasPrefix(data.body, fmt.Sprintf(`{"contact":{"id":%d,"first_name":"Amelia"`, contact)) || !strings.HasSuffix(data.body, "]}\n") {
		t.Errorf("the data is %s", data.body)
	}
	if page := viewer.get(path).body; !strings.Contains(page, path+"/data") || strings.Contains(page, path+"/erase") {
		t.Error("a viewer's page must offer the data, and no erasure")
	}
	editor.get(path + "/erase").is(403)
	editor.post(path+"/erase", "name", "Amelia Okafor").is(403)
	owner.get(path+"/erase").sees("Erase Amelia Okafor?", "Existing backups keep the data until they are deleted.")
	owner.post(path+"/erase", "name", "Amelia").is(422).sees("Type the name as it is written above. Nothing was erased.")
	owner.get(path).sees("Amelia Okafor")

	owner.follow(path+"/erase", "name", " amelia  okafor ").sees("The contact was erased.", "The person’s details are being removed from gifts, history and imports.", "View progress")
	owner.get("jobs/1").sees("Erase 1 contact", "In progress").hides("Stop this change")
	if ended, err := s.store.FinishJob(t.Context(), owner.account.Number, 1); err != nil || !ended {
		t.Fatal(ended, err)
	}
	owner.get("jobs/1").sees("Done", "Their details were removed from gifts, history and imports.")
	owner.get(path).sees("Erased contact", "This person was erased on", "$50").hides("Amelia", "Okafor", "Harbor Street", "/restore", path+"/erase")
	owner.get("gifts").hides("Okafor")

}
