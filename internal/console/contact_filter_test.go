package console_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
)

// filterable is an organization with contacts that filters tell apart.
func (s *site) filterable(role access.Role) *person {
	p := s.member(s.organization("Harbor"), role)
	s.contact(p, "Ann", "Abel", tagged("vip", "board"), func(in *crm.ContactInput) {
		in.Emails, in.Addresses = &[]crm.Email{{Value: "ann@example.org"}}, &[]crm.Address{{City: "San José", Zipcode: "95112"}}
	})
	s.contact(p, "Ben", "Bloom", tagged("vip"), func(in *crm.ContactInput) { in.Phones = &[]crm.Phone{{Value: "212-555-0100"}} })
	s.contact(p, "Cat", "Cole", tagged("press"))
	campaign := s.fund(p.account, "Gala", "USD")
	s.donation(p.account, doc.MakeID(p.account.Number, 1), `"amount":50,"method":"check","transacted_at":"2026-01-31","campaign_id":%s`, campaign)
	return p
}

func TestContactsAreFiltered(t *testing.T) {
	s := anySite(t)

	p := s.filterable(access.Viewer)
	for _, test := range []struct{ query, link, chip, names string }{
		{"tags_all=vip,+board", "tag=vip&tag=board", "Tagged vip × Tagged board ×", "Ann"},
		{"tags_any=board,press", "tag_any=board&tag_any=press", "Tagged board or press", "Ann Cat"},
		{"tags_none=vip&city=", "tag_none=vip", "Not tagged vip", "Cat"},
		{"city=SAN+JOSE&zip=", "city=SAN+JOSE", "City SAN JOSE", "Ann"},
		{"zip=951&gave_to=", "zip=951", "ZIP 951", "Ann"},
		{"has_email=yes&has_phone=", "has=email", "Has email", "Ann"},
		{"has_email=no&has_phone=no", "lacks=email&lacks=phone", "No phone", "Cat"},
		{"gave_from=2026-01-31&gave_to=2026-01-31", "gave_after=2026-01-31&gave_before=2026-02-01", "Gave Jan 31, 2026 – Jan 31, 2026", "Ann"},
		{"no_gift_from=2026-01-31", "no_gift_after=2026-01-31", "No gift since Jan 31, 2026", "Ben Cat"},
		{"no_gift_to=2026-01-30&gave_from=2026-01-31", "gave_after=2026-01-31&no_gift_before=2026-01-31", "No gift on or before Jan 30, 2026", "Ann"},
		{"plan=current", "plan_status=active&plan_status=past_due", "Recurring gift active or past due", ""},
		{"gave_from=2026-02-01", "gave_after=2026-02-01", "Gave since Feb 1, 2026", ""},
		{"total_contributions_min=50&tags_all=", "total_contributions_min=50", "Total given at least 50", "Ann"},
		{"added_to=2020-01-01", "created_before=2020-01-02", "Added on or before Jan 1, 2020", ""},
		{"changed_from=2020-01-01&q=", "updated_after=2020-01-01", "Changed since Jan 1, 2020", "Ann Ben Cat"},
		{"lastName=COLE", "last_name=COLE", "Last name COLE", "Cat"},
		{"sort=-last_name&scope=all&city=", "scope=all&sort=-last_name", "", "Ann Ben Cat"},
	} {
		a := p.get("contacts?" + test.query)
		if want := p.org("/contacts?" + test.link); a.location() != want {
			t.Errorf("%s leads to %s, want %s", test.query, a.location(), want)
			continue
		}
		for _, a := range []answer{p.get("contacts?" + test.link), p.live("contacts?" + test.query)} {
			a.sees(test.chip)
			var names []string
			for _, name := range []string{"Ann", "Ben", "Cat"} {
				if strings.Contains(a.body, ">"+name+" ") {
					names = append(names, name)
				}
			}
			if got := strings.Join(names, " "); got != test.names {
				t.Errorf("%s finds %q, want %q", test.query, got, test.names)
			}
		}
		p.live("contacts?"+test.query).with("HX-Replace-Url", p.org("/contacts?"+test.link))
	}
	both := p.get("contacts?tag=vip&lacks=email")
	both.sees("1 of 3 contacts", "Ben Bloom")
	if got := both.link(t, "×"); got != p.org("/contacts?lacks=email") { // of the first chip
		t.Errorf("without the tag: %s", got)
	}
	p.get("contacts?gave_after=soon&has=fax").is(422).sees("Please fix 2 filters.", "Gave on or after must be a date").lacks("Ann Abel")

}

func TestAListIsSortedByItsColumns(t *testing.T) {
	s := anySite(t)

	p := s.filterable(access.Viewer)
	order := func(path string) (names string) {
		body := p.get(path).body
		for body != "" {
			var name string
			_, body, _ = strings.Cut(body, `<a class="main" `)
			_, name, _ = strings.Cut(body, ">")
			names += name[:min(1, len(name))]
		}
		return names
	}
	list := p.get("contacts")
	byName := list.link(t, "Name")
	for path, want := range map[string]string{
		p.org("/contacts?sort=-id"): "CBA", byName: "ABC", p.get(byName).link(t, "Name <span aria-hidden=\"true\">↑</span>"): "CBA",
		p.org("/contacts?sort=-total_contributions"): "ACB", p.org("/contacts?sort=last_gift"): "BCA", p.org("/contacts?sort=-last_gift&tag=vip"): "AB",
	} {
		if got := order(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	p.get("columns/contacts?column=given&column=last-gift&column=nonsense&query=tag%3Dvip%26page%3D9%26evil%3D1").leads(p.org("/contacts?tag=vip"))
	p.get("contacts?tag=vip").sees("Total given", "Last gift", "Jan 31, 2026", "$50")
	p.get("contacts?tag=vip").lacks("ann@example.org")

}

func TestSegmentsOfTheConsole(t *testing.T) {
	s := anySite(t)

	p := s.filterable(access.Editor)
	viewer := s.member(p.account, access.Viewer)
	p.get("contacts?tag=vip").sees("Save as segment")
	viewer.get(p.org("/contacts?tag=vip")).lacks("Save as segment")
	viewer.post(p.org("/segments"), "name", "Mine", "query", "tag=vip").is(403)
	p.follow("segments", "name", "VIPs <b>", "query", "tag=vip&page=2").sees("Segment “VIPs <b>” saved.", "2 of 3 contacts")
	viewer.get(p.org("/contacts?tag=vip")).sees("VIPs <b>")
	viewer.get(p.org("/segments")).sees("VIPs <b> 2 ")
	p.post("segments", "name", "vips <B>", "query", "city=boston").is(422).sees("City boston", "Name of the segment is taken: choose another one.")
	p.post("segments", "name", "Wrong", "query", "has=fax").is(422)
	p.post("segments", "name", "Wrong", "query", "%zz").is(422)
	all, err := s.store.Segments(t.Context(), p.account.Number)
	if err != nil || len(all) != 1 || all[0].Actor != p.user.Email {
		t.Fatalf("%+v, %v", all, err)
	}
	path := p.org("/segments/" + fmt.Sprint(all[0].ID))
	p.follow(path, "name", "Friends").sees("Segment renamed to “Friends”.")
	p.post(path, "name", " ").sees("Name is required.")
	stranger := s.member(s.organization("Other"), access.Owner)
	stranger.post("segments/" + fmt.Sprint(all[0].ID) + "/delete").is(404)
	p.follow(path+"/delete").sees("Segment “Friends” deleted.", "No segments yet")

}

// A filter lives in the address and in segments and nowhere else: a list that was filtered opens on all. What a person has
// chosen are the columns, for themselves alone and in the console alone.
func TestAListOpensOnAllWithTheChosenColumns(t *testing.T) {
	s := anySite(t)
	p := s.filterable(access.Viewer)
	contacts := p.org("/contacts")
	for _, list := range []string{
		"/contacts?tag=vip&sort=last_name", "/gifts?method=cash&sort=amount", "/gifts?thanks=waiting", "/plans?status=ended", "/donations?find=ann@example.org",
	} {
		p.get(p.org(list))
		path, _, _ := strings.Cut(list, "?")
		p.get(p.org(path)).is(200).lacks("Filtered:", "To thank Record")
	}
	p.get(contacts).sees("Ann Abel", "Ben Bloom", "Cat Cole")
	list := p.get(contacts + "?sort=last_name&tag=vip")
	for _, all := range []string{list.link(t, "Show all contacts"), contacts + "?tags_all=&city="} {
		a := p.get(all)
		if a.status == 303 {
			a = p.get(a.location())
		}
		a.sees("Cat Cole").lacks("Filtered:")
	}
	chosen := p.get("columns/gifts?query=method%3Dcheck&column=how&column=amount")
	chosen.leads(p.org("/gifts?method=check"))
	if cookie := chosen.header.Get("Set-Cookie"); strings.Contains(cookie, "check") || !strings.Contains(cookie, "Path=/console;") {
		t.Errorf("the browser keeps %s", cookie)
	}
	p.get("gifts").has(`<th scope="col" class="how">`).hides(`<th scope="col" class="what">`)
	other, console := s.member(p.account, access.Viewer), mustURL(t, s.http.URL+"/console")
	for _, kept := range p.client.Jar.Cookies(console) {
		if strings.HasPrefix(kept.Name, "__Secure-columns-") { // as in the same browser
			other.client.Jar.SetCookies(console, []*http.Cookie{{Name: kept.Name, Value: kept.Value, Path: "/console", Secure: true}})
		}
	}
	other.get(p.org("/gifts")).has(`<th scope="col" class="what">`)
	p.get("columns/keys?column=how").is(404)
}

func TestReportsAreListsOfContacts(t *testing.T) {
	s := anySite(t)

	p := s.filterable(access.Editor)
	id := func(n int64) int64 { return doc.MakeID(p.account.Number, n) }
	s.donation(p.account, id(2), `"amount":80,"method":"cash","transacted_at":"2024-05-01"`)
	s.donation(p.account, id(3), `"amount":20,"method":"cash","transacted_at":"2025-05-01"`)
	p.follow(fmt.Sprintf("%s/contacts/%d/plans", p.org(""), id(3)), "amount", "25", "frequency", "monthly", "method", "card", "start_at", "2026-01-31")
	page := p.get("reports?year=2026")
	page.sees("Gave in 2025, not in 2026 Last year’s donors who haven’t given again. 1", "Gave before, not in 2026", "First gift in 2026")
	for report, want := range map[string]string{
		"Gave in 2025, not in 2026": "Cat Cole", "Gave before, not in 2026": "Ben Bloom Cat Cole", "First gift in 2026": "Ann Abel", "Recurring donors": "Cat Cole", "Largest donors": "Ben Bloom Ann Abel Cat Cole",
	} {
		list := p.get(page.link(t, report))
		list.sees("Last gift", "Total given", "Save as segment", "Add tags", "Export")
		_, rows, _ := strings.Cut(list.body, "<tbody>")
		got := []string{}
		for _, part := range strings.Split(rows, `<a class="main"`)[1:] {
			_, name, _ := strings.Cut(part, ">")
			name, _, _ = strings.Cut(name, "<")
			got = append(got, name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %s, want %s", report, got, want)
		}
	}
	p.get("reports?year=2025").sees("Gave in 2024, not in 2025 Last year’s donors who haven’t given again. 1")
	p.get("reports?year=x").is(422)

}
