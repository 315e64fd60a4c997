package sheet

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"donorbook/internal/crm"
	tables "donorbook/internal/table"
)

// contactFiles are files of people.
var contactFiles = map[string]judged{
	"a mailing list": {"US", []string{
		"Mr. Gus Hale [gus@example.org] 1 Fir Cambridge 2139 born 1955-03-04 do_not_email",
		"Mrs. IDA JONES [ida.j@example.org] 2 Fir Cambridge 2139 born 1960-12-01 do_not_mail do_not_email",
		"Kai Lum [kai@example.org] 3 Fir Cambridge 2139 do_not_call",
		"remark",
	}},
	"une association": {"FR", []string{
		"M. Jean-Pierre DUPONT [jp@example.fr] 3 rue Haute Bourg-en-Bresse 01000 born 1948-07-14",
		"Mme Soizic LE GALL [soizic@example.fr] 4 rue Haute Quimper 29000 do_not_email do_not_call",
		"M. et Mme MARTIN [] 5 rue Haute Quimper 29000",
	}},
	"raisers edge query": {"US", []string{
		"Mr. Alan B. Yates [alan@example.org] 12 Low Rd Reno NV 89501 born 1950-01-31",
		"Mrs. Opal Zest [opal.z@example.org] 13 Low Rd Reno NV 89501 deceased",
		"Acorn & Sons [] 14 Low Rd Reno NV 89501 do_not_mail do_not_email do_not_call",
	}},
	"socios": {"ES", []string{
		"Sra. MARÍA JOSÉ DEL RÍO PÉREZ [mj.rio@example.es] C/ LUNA 3 BARCELONA 08001 born 1955-03-02",
		"Sr. JUAN DE LA CRUZ [juan@example.es] C/ LUNA 4 MADRID 28001 do_not_email",
		"TALLERES VEGA S.L. [vega@example.es] C/ LUNA 5 MADRID 28001 do_not_email",
	}},
	"bloomerang with interests": {"US", []string{
		"Ivo Park [ivo@example.org ivo2@example.org] 1 Bay Salem OR 97301 do_not_mail do_not_email do_not_call",
		"Jan Quist [jan@example.org] 2 Bay Salem OR 97301",
		"Linden Co-op [] 3 Bay Salem OR 97301 do_not_mail",
	}},
	"keela consent": {"CA", []string{
		"Mme Josée Bélanger [josee@example.ca] 14 rue St-Denis Montréal QC h2x1k4 born 1984-07-01 do_not_call",
		"Fondation Maple [info@fondationmaple.example]",
		"Rob Yates [rob.y@example.ca rob2@example.ca] born 1960-02-13 do_not_mail do_not_email",
		"Edith Moore [edith@example.ca] born 1944-11-05 deceased",
	}},
	"tags of communication": {"US", []string{
		"Mr Doug Hale [doug@example.com] 77 Mesa Taos NM 87571 born 1956-02-29 do_not_email do_not_call",
		"Taos Brewing LLC [hello@taosbrew.example]",
		"Wren Lujan [] do_not_mail",
		"Trujillo [] 1 Rio Taos NM 87571",
	}},
	"hubspot bounces": {"US", []string{
		"Priya Nair [priya.nair@example.com] 700 Bay St San Francisco CA 94109",
		"Gus Holt [gus.holt@example.com] born 1959-11-30 do_not_email do_not_call",
		"Ida Frost [ida.frost@example.com] do_not_email",
		"Len Ode [len.ode@example.com] do_not_email",
		" [walkin@example.com]",
	}},
	"civicrm on hold": {"GB", []string{
		"Mr. Omar Said [omar@example.co.uk] 10 Quay Bristol BS1 4QA born 1990-02-03",
		"Beth Ames [beth@example.co.uk] do_not_mail do_not_email",
		"Cy Dunn [cy@example.co.uk] do_not_email",
		"Tidy Towns CIC [post@tidytowns.example] do_not_email",
		"The Lowe family [] 2 Fen Rd Ely CB7 4AA",
		"Gwen Ash [gwen@example.co.uk] deceased",
	}},
	"mailchimp cleaned": {"US", []string{
		"Dora Letter [dead.letter@example.com] do_not_email",
	}},
	"members and newsletter": {"DE", []string{
		"Herr Dr. Jürgen Weiß [j.weiss@example.de] Lindenstr. 4 Köln 50674 born 1958-04-03",
		"Frau Änne Groß [aenne.gross@example.de] Dorfstr. 1a Dresden 01067 do_not_mail do_not_email do_not_call",
		"Familie Hans u. Inge Krämer [] Hauptstr. 9 Freiburg 79100",
		"Schröder Bau GmbH [kontakt@schroeder-bau.example] Gewerbepark 3 Köln 50667 do_not_mail do_not_email do_not_call",
		"Frau Prof. Dr. Gisela von der Heide [] born 1939-12-31 do_not_email",
	}},
	"mailchimp unsubscribed":    {"US", []string{"Ana Ruiz [ana@example.org] do_not_email", " [ben@example.org]"}},
	"constant contact":          {"US", []string{"Ana Ruiz [a@example.org] do_not_email", "Ben King [b@example.org]", "Cy Fox [c@example.org]"}},
	"hubspot":                   {"US", []string{"Ana Ruiz [a@example.org] do_not_email", "Ben King [b@example.org]"}},
	"outlook":                   {"US", []string{"Ana Ruiz (Acme) [a@example.org ana@home.example.org] 1 Main St Boston MA 02139"}},
	"a list of a small charity": {"US", []string{"Mr. and Mrs. Paul Greene [paul@example.org] born 1950-01-31 do_not_email", "Harbor Rotary Club [club@example.org] do_not_mail do_not_email do_not_call", "Cher [cher@example.org]"}},
	"german":                    {"DE", []string{"Herr Karl Groß [karl@example.org] Dresden 01067 do_not_mail do_not_email do_not_call", "Schröder Bau GmbH [] München 80331"}},
	"french":                    {"FR", []string{"Mme Zoé Lefèvre [zoe@example.org] do_not_email", "M. Luc Martin [luc@example.org] do_not_email"}},
	"bloomerang":                {"US", []string{"Grace Kim [grace@example.org] 7 Hill Rd Oakland CA 94601 born 1975-03-14", "Bay Grocers [] 9 Pier Oakland CA 94607 do_not_call", "HAROLD KIM [] 7 Hill Rd Oakland CA 94601 do_not_mail do_not_email"}},
	"a parish":                  {"US", []string{"Ngozi Okoye [ngozi@example.org] 4 Elm Quincy MA 02169", "Piet Van der Berg [] 9 Oak Milton MA 02186-1234"}},
	"members of a Verein":       {"DE", []string{"Herr Dr. Uwe Ahrens [uwe@example.de] Am Markt 5 Dresden 01067 born 1951-05-04 do_not_email", "Frau Käthe Müller-Lüdenscheid [] Weg 3 Dresden 01069 born 1960-12-12 do_not_mail do_not_email do_not_call", "Tischlerei Holz GmbH [info@holz.example.de] Ring 9 Dresden 01069", "Eheleute Max und Eva Roth [roth@example.de] Gasse 1 Dresden 01069"}},
	"adherents":                 {"FR", []string{"Mme Zoé LEFÈVRE [zoe@example.fr] 12 rue Haute Bourg-en-Bresse 01000 born 1962-04-03 do_not_email do_not_call", "M. et Mme Luc MARTIN [martin@example.fr] 3 place Basse Lyon 69001", "Boulangerie Durand SARL [durand@example.fr] 5 rue Neuve Lyon 69002"}},
	"all in capitals":           {"US", []string{"MR. AND MRS. PAUL GREENE [GREENE@EXAMPLE.ORG] 12 OAK ST NEWARK NJ 07102", "HARBOR ROTARY CLUB [] 1 PIER BOSTON MA 02110 do_not_mail do_not_email do_not_call", "MARY JO O'NEIL-SMITH [] 3 ELM BOSTON MA 02110"}},
	"google":                    {"US", []string{"Dr. Cleo Diaz (City Clinic) [cleo@example.org c@clinic.example.org] 1 Elm Salem OR 97301 born 1970-05-05", "Elm Bakery [shop@example.org]"}},
	"planning center":           {"US", []string{"Nia Obi [nia@example.org] 1 A St Quincy MA 02169 born 1980-01-01", "Oz Obi [] 1 A St Quincy MA 02169"}},
	"subscribed":                {"US", []string{"Ana Ruiz [a@example.org] do_not_email", "Ben King [b@example.org]"}},
}

// TestPeopleOfManySystems: each row is the right person, reached in the right ways.
func TestPeopleOfManySystems(t *testing.T) {
	t.Parallel()
	for name, f := range contactFiles {
		if said := peopleSaid(t, f.read(t, "people", name), f.region); !slices.Equal(said, f.want) {
			t.Errorf("%s is\n%s\nwant\n%s", name, strings.Join(said, "\n"), strings.Join(f.want, "\n"))
		}
	}
}

// peopleSaid is each row of a file of people: who, how they are reached, and how not.
func peopleSaid(t *testing.T, file, region string) (said []string) {
	t.Helper()
	r, err := tables.OpenWith(strings.NewReader(file), int64(len(file)), "people.csv", tables.Options{Header: FindHeader})
	if err != nil {
		t.Fatal(err)
	}
	m := Contacts.Recognize(r.Header(), nil, lookAt([]byte(file), "people.csv"))
	for cells, _, err := r.Next(); err == nil; cells, _, err = r.Next() {
		rows := Contacts.Rows(m, region)
		if rows.IsRemark(cells) {
			said = append(said, "remark")
			continue
		}
		in := rows.Input(cells)
		if _, err := in.ValidateRow(nil, region, today); err != nil {
			said = append(said, "rejected: "+err.Error())
			continue
		}
		c, err := crm.NewContact(in, today)
		if err != nil {
			t.Fatal(err)
		}
		said = append(said, personSaid(&c))
	}
	return said
}

func personSaid(c *crm.Contact) string {
	text := strings.TrimSpace(c.Prefix + " " + c.PersonName().String())
	if c.Company != "" && !c.IsCompany {
		text += " (" + c.Company + ")"
	}
	var emails []string
	for _, email := range c.Emails {
		emails = append(emails, email.Value)
	}
	text += " " + fmt.Sprint(emails)
	for _, a := range c.Addresses {
		text += " " + strings.Join(strings.Fields(a.Line1+" "+a.City+" "+a.State+" "+a.Zipcode), " ")
	}
	if !c.DOB.IsZero() {
		text += " born " + c.DOB.Format("2006-01-02")
	}
	return strings.Join(append([]string{text}, slices.DeleteFunc(c.Marked(), func(mark string) bool { return mark == crm.Company })...), " ")
}

// TestARemarkBelowATableIsNoPerson: reports end with sums, and with who may read them.
func TestARemarkBelowATableIsNoPerson(t *testing.T) {
	t.Parallel()
	rows := Contacts.Rows(Contacts.Recognize([]string{"Contact ID", "First Name", "Last Name", "Email", "Total Gifts"}, nil, nil), "US")
	for _, test := range []struct {
		cells []string
		want  bool
	}{
		{[]string{"Grand Totals (4 records)", "", "", "", "$1,345.00"}, true}, {[]string{"Confidential - do not distribute", "", "", "", ""}, true}, {[]string{"", "Total members: 5", "", "", ""}, true},
		{[]string{"0035f00000AAA1AAAT", "", "", "", ""}, false}, {[]string{"", "Total", "Wine", "info@example.org", ""}, false}, {[]string{"", "Cher", "", "", ""}, false},
	} {
		if got := rows.IsRemark(test.cells); got != test.want {
			t.Errorf("%q is a remark: %v", test.cells, got)
		}
	}
}
