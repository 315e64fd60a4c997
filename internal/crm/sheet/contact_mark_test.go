package sheet

import (
	"fmt"
	"strings"
	"testing"

	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

// TestOnlyYesMarksAPerson: a living person is not marked by a word that no one knows, and it is listed.
func TestOnlyYesMarksAPerson(t *testing.T) {
	t.Parallel()
	for _, test := range rows.Of[struct {
		Column, Cell   string
		Marked, Listed bool
	}](`
		Deceased                   F                    false  false
		Deceased                   0.0                  false  false
		Deceased                   N/A                  false  false
		Deceased                   -                    false  false
		Deceased                   None                 false  false
		Deceased                   Unknown              false  false
		Deceased                   Living               false  false
		Deceased                   Subscribed           false  false
		Deceased                   0                    false  false
		Deceased                   Unsubscribed         false  false
		Deceased                   Moved away           false  true
		Deceased                   T                    true   false
		Deceased                   1.0                  true   false
		Deceased                   3/4/2020             true   false
		Deceased                   Deceased             true   false
		Email Opt Out              Opted In             false  false
		Email Opt Out              f                    false  false
		Email Opt Out              Opted out of all     true   false
		Email Opt Out              Perhaps              true   true
		Deceased                   Perhaps              false  true
		Email Subscription Status  Subscribed           false  false
		Email Subscription Status  yes                  false  false
		Email Subscription Status  Unsubscribed         true   false
		Email consent              All                  false  false
		Email Opt Out              All                  true   true
		Email Subscription Status  no                   true   false
		Unsubscribed               2024-05-06 07:08:09  true   false
	`) {
		in := Contacts.Rows(Contacts.Recognize([]string{"Name", test.Column}, nil, nil),
			"US").Input([]string{"Ana Lopez", test.Cell})
		_, marked := in.Marked()
		if marked != test.Marked || len(in.LeftOut) > 0 != test.Listed {
			t.Errorf("%q under %s: marked %v, left out %v", test.Cell, test.Column, marked, in.LeftOut)
		}
	}
}

// TestDaysOfOtherColumnsDoNotCount: a column that is not imported, or has no days, does not tell how the others write
// them.
func TestDaysOfOtherColumnsDoNotCount(t *testing.T) {
	t.Parallel()
	days := NewDays(4)
	days.See(2, "31/12/2026")
	days.See(3, "30/11/2020 called")
	dated := Contacts.Rows(Contacts.Recognize(rows.All(`Name  Birthday  Last contacted  Notes`), nil, nil),
		"US").Days(days.String())
	assert.Equal(t, *dated.Input(rows.All(`Ana Lopez  3/4/1980  1/2/2026  ""`)).DOB, "3/4/1980")
}

// TestASystemIsTheSourceOfItsIDs: the files of contacts and of gifts of a system have one source, and those of two
// systems have two.
func TestASystemIsTheSourceOfItsIDs(t *testing.T) {
	t.Parallel()
	recognized := func(s *Sheet, header string) Mapping { return s.Recognize(strings.Split(header, "|"), nil, nil) }
	for _, test := range rows.Of[struct{ System, Contacts, Gifts, Want string }](`
		""            Account Number|Name|Envelope Name    Account Number|Transaction Number|Name|Amount|Date  [{Bloomerang 1}]
		""            Contact ID|Sort Name|Display Name    Contact ID|Display Name|Financial Type|Total Amount|Date Received  [{CiviCRM 1}]
		""            Salesforce ID|Name                   Salesforce Contact ID|Name|Amount|Date              [{Salesforce 1}]
		""            Donor ID|Name                        Donor ID|Name|Amount|Date                           [{import 1}]
		Our own list  Donor ID|Name                        Donor ID|Name|Amount|Date                           [{Our own list 1}]
		""            Contact ID|Contact External ID|Name|Contact Since  Donor ID|Name|Amount|Date             [{Givebutter 1} {import 2}]
	`) {
		people, gifts := recognized(Contacts, test.Contacts), recognized(Gifts, test.Gifts)
		if test.System != "" {
			people, gifts = people.From(test.System), gifts.From(test.System)
		}
		cells := strings.Split("1|2|Ana Lopez|||", "|")
		in := Contacts.Rows(people, "US").Input(cells[:len(people)])
		giver := Gifts.Rows(gifts, "US").Gift(2, append(cells[:1:1], make([]string, len(gifts)-1)...)).Giver
		assert.Equal(t, fmt.Sprint(in.AddedIDs), test.Want)
		if len(in.AddedIDs) == 1 {
			assert.Equal(t, giver.AddedIDs, in.AddedIDs)
		}
	}
	nxt := Gifts.Rows(recognized(Gifts, "Lookup ID|Gift ID|Gift lookup ID|Gift date|Gift amount"), "US").
		Gift(2, rows.All(`40012  G-1  L-1  3/4/2026  5`))
	assert.Equal(t, len(nxt.Giver.AddedIDs), 1)
	assert.Equal(t, nxt.Giver.AddedIDs[0].Value, "40012")
	assert.Equal(t, *nxt.ExternalID != "40012", true, "a lookup id is one of a gift")
}
