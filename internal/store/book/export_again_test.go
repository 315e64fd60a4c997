package book

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"donorbook/internal/crm"
	"donorbook/internal/crm/sheet"
	"donorbook/internal/store/jobs"
	"donorbook/internal/store/move"
)

// TestAnExportThatIsImportedAgainChangesNothing: also contacts who have no email and no phone, and those who share one, are found.
func TestAnExportThatIsImportedAgainChangesNothing(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		defined := defineEach(t, s, account)
		random := rand.New(rand.NewPCG(7, 8))
		for n := range 30 {
			mustCreate(t, s, account, randomContact(random, defined, n%20)) // some are merged
		}
		for _, body := range []string{`{"first_name":"Ana","last_name":"Ruiz"}`, `{"first_name":"Ana","last_name":"Ruiz","phones":[{"value":"212-555-0100"}]}`,
			`{"first_name":"Juan","last_name":"Ruiz","phones":[{"value":"212-555-0100"}],"tags":["twin"]}`,
			`{"type":"company","company":"Ruiz & Sons","external_ids":[{"source":"LGL","value":"7;8"},{"source":"Stripe","value":"cus_1"}],"do_not_mail":true}`,
			`{"type":"company","company":"Ruiz Ltd","first_name":"Ana","phones":[{"value":"212-555-0100"}]}`,
			`{"first_name":"Eva","last_name":"Ruiz","prefix":"Dr.","suffix":"Jr.","salutation":"Dear Eva","do_not_email":true,"do_not_call":true,"deceased":true}`} {
			createAs(t, s, account, body, crm.Force)
		}
		before := peopleOf(t, s, account)
		for _, format := range move.ExportFormats {
			export := must(s.ExportContacts(t.Context(), account, jobs.Selection{All: true, Scope: crm.Active}, move.ExportOptions{Format: format}))(t)
			var file bytes.Buffer
			succeed(t, export.Write(t.Context(), &file, func(_, _ int64) {}))
			rows := must(jobs.OpenTable(bytes.NewReader(file.Bytes()), int64(file.Len()), "contacts."+format, 0, nil))(t)
			fields := must(s.CustomFields(t.Context(), account))(t)
			spec := jobs.FileImport{Name: "contacts." + format, SHA256: format, Mode: jobs.MergeExisting, FileIsRight: true, Region: "US", Mapping: sheet.Contacts.Recognize(rows.Header(), fields, nil)}
			im, _, err := s.ImportFile(t.Context(), account, rows, spec, 0, false, func(jobs.ImportProgress) {})
			if got := im.Progress; err != nil || got.Rows != export.Rows || got.Unchanged != got.Rows || got.LeftOut != 0 {
				t.Errorf("%s: %d contacts came back as %+v, %v", format, export.Rows, got, err)
			}
			if diff := cmp.Diff(before, peopleOf(t, s, account)); diff != "" {
				t.Errorf("%s: before (-), after (+):\n%s", format, diff)
			}
		}
	})
}

// TestAnExportHasHeadingsThatPeopleRead: what a contact gave stands beside what they are called.
func TestAnExportHasHeadingsThatPeopleRead(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		ana := create(t, s, account, `{"first_name":"Ana","last_name":"Ruiz","emails":[{"value":"a@example.org"},{"value":"b@example.org","type":"work"}],"addresses":[{"address_1":"1 Road","city":"Rome"},{"address_1":"2 Road","city":"Bonn"}]}`)
		for _, at := range []string{"2024-03-05", "2023-01-31", "2026-02-01"} {
			body := fmt.Sprintf(`{"amount":50,"method":"cash","transacted_at":%q,"contact_id":%d}`, at, ana.ID)
			must(s.CreateGift(t.Context(), account, giftInput(t, body, true, s.Now())))(t)
		}
		export := must(s.ExportContacts(t.Context(), account, jobs.Selection{All: true, Scope: crm.Active}, move.ExportOptions{Format: "csv"}))(t)
		var file bytes.Buffer
		succeed(t, export.Write(t.Context(), &file, func(_, _ int64) {}))
		lines := strings.Split(file.String(), "\n")
		for i, want := range []string{"Contact ID,First name,Middle name,Last name,", "Email,Email type,Email 2,Email 2 type,Street,Address line 2,City,State,ZIP,Country,Street 2,Address 2 line 2,City 2,State 2,ZIP 2,Country 2,", "Total given,Recurring given,First gift,Last gift,Created,Updated,Archived"} {
			if !strings.Contains(lines[0], want) {
				t.Errorf("%d: the header is %s", i, lines[0])
			}
		}
		if !strings.Contains(lines[1], ",150,0,2023-01-31,2026-02-01,") {
			t.Errorf("Ana's row is %s", lines[1])
		}
	})
}
