package book

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/store/jobs"
)

// BenchmarkFilters is the first page of each filter alone and of some pairs. FILTER_CONTACTS is how many contacts
// there are, and the directory FILTER_DATA keeps them for the next time:
//
//	FILTER_CONTACTS=1000000 FILTER_DATA=/var/tmp/filters \
//	go test ./internal/store/book -run - -bench Filters -timeout 1h
func BenchmarkFilters(b *testing.B) {
	o, n := emptySQLite(b), 20_000
	if text := os.Getenv("FILTER_CONTACTS"); text != "" {
		n, _ = strconv.Atoi(text)
	}
	if dir := os.Getenv("FILTER_DATA"); dir != "" {
		o.Data = dir
	}
	s, err := Open(b.Context(), o)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	accounts, err := s.Accounts(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	if len(accounts) == 0 {
		fillFilters(b, s, n)
		if accounts, err = s.Accounts(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	for _, query := range benchFilters {
		b.Run(query, func(b *testing.B) {
			f, total := filterOf(b, query), int64(0)
			before := processorTime()
			for b.Loop() {
				_, found, err := s.FilteredContacts(b.Context(), accounts[0].Number, crm.Active, f,
					crm.PageRequest{Page: 1, PerPage: 50}, nil, nil)
				if err != nil {
					b.Fatal(err)
				}
				total = found.Total
			}
			b.ReportMetric(float64(total), "found")
			b.ReportMetric(float64((processorTime()-before).Microseconds())/1000/float64(b.N), "cpu-ms/op")
		})
	}
}

// processorTime is what this process has used so far: on a machine that does other work as well, elapsed time says
// little.
func processorTime() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// benchFilters find many contacts where they can. Contacts were added between 2023 and 2025, and gave in 2024 and 2025.
var benchFilters = []string{
	"tag=t1", "tag=all", "tag_any=t1&tag_any=t2", "tag_none=t1", "has=email", "lacks=email", "has=phone", "lacks=phone",
	"city=Boston", "zip=02101", "zip=0210", "zip=021", "zip=0", "field_1=North", "field_1=%2A", "field_2=2020-02-03",
	"field_3=yes",
	"campaign_id=1", "campaign_id=2", "gave_after=2024-01-01", "gave_after=2025-10-01", "gave_before=2024-02-01",
	"gave_before=2025-12-31", "gave_after=2024-06-01&gave_before=2025-06-01",
	"total_contributions_min=1", "total_contributions_min=300&total_contributions_max=600",
	"total_contributions_max=400",
	"created_after=2025-12-01", "created_after=2024-06-15", "created_before=2024-06-15",
	"created_after=2023-10-01&created_before=2025-01-01",
	"updated_after=2026-01-01", "updated_before=2024-06-15", "updated_after=2023-10-01&updated_before=2025-01-01",
	"gave_after=2024-01-01&gave_before=2025-01-01&no_gift_after=2025-01-01&sort=-total_contributions",
	"gave_before=2025-01-01&no_gift_after=2025-01-01&sort=-total_contributions",
	"gave_after=2025-01-01&no_gift_before=2025-01-01&sort=-total_contributions", "no_gift_after=2024-01-01",
	"plan_status=active&plan_status=past_due&sort=-total_contributions",
	"email=p77@example.org", "phone=%2B12125550070", "last_name=Person77", "first_name=Ann7",
	"q=a", "q=an", "q=ann", "q=ann7",
	"sort=last_name", "sort=-created_at", "sort=-updated_at", "sort=-total_contributions", "sort=-last_gift",
	"sort=total_contributions",
	"city=Boston&tag=t1", "city=Boston&zip=02101", "city=Boston&campaign_id=1", "city=Boston&gave_after=2025-01-01",
	"city=Boston&created_after=2024-06-15", "tag=t1&gave_after=2025-01-01",
	"tag=all&created_after=2024-06-15", "campaign_id=1&created_after=2024-06-15",
	"total_contributions_min=100&city=Boston", "q=ann&city=Boston",
}

// fillFilters makes contacts day by day, gifts of a tenth of them, and changes some.
func fillFilters(b *testing.B, s *Book, n int) {
	now := time.Date(2023, 1, 1, 12, 0, 0, 0, time.UTC)
	s.Now = func() time.Time { return now }
	before := jobs.UnitRows
	defer func() { jobs.UnitRows = before }()
	jobs.UnitRows = 400
	account := newAccount(b, s)
	for i, in := range []custom.FieldInput{{Title: "Area", Type: "text"}, {Title: "Since", Type: "date"},
		{Title: "Volunteer", Type: "boolean"}} {
		equal(b, must(s.DefineField(b.Context(), account.Number, in))(b).ID, int64(i+1))
	}
	const days = 3 * 365
	for day, made := 0, 0; day < days; day++ {
		now = now.AddDate(0, 0, 1)
		var text strings.Builder
		text.WriteString(
			"First Name,Last Name,Email,Phone,Street,City,State,Zip,Country,Tags,Company,Area,Since,Volunteer\n")
		for ; made < n*(day+1)/days; made++ {
			text.WriteString(filterRow(made))
		}
		rows := openTable(b, text.String())
		spec := importOf(rows, jobs.ForceCreate)
		var err error
		if spec.Mapping, err = s.ColumnMapping(b.Context(), account.Number, jobs.ImportContacts, rows.Header(),
			nil); err == nil {
			_, _, err = s.ImportFile(b.Context(), account.Number, rows, spec, 0, true, func(jobs.ImportProgress) {})
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	giveForFilters(b, s, account, n, now)
	now = now.AddDate(0, 0, 30)
	for i := range n / 50 {
		must(s.UpdateContact(b.Context(), account.Number, doc.MakeID(account.Number, int64(1+i*49)),
			input(b, `{"title":"Chair"}`)))(b)
	}
}

func filterRow(i int) string {
	email, phone := fmt.Sprintf("p%d@example.org", i), fmt.Sprintf("+1212555%04d", i%10_000)
	if i%10 == 3 {
		email = ""
	}
	if i%10 > 2 {
		phone = ""
	}
	city := []string{"Boston", "Boston", "Chicago", "Dallas", "Austin", "Miami", "Reno", "Salem", "Boise", "Tulsa",
		"Omaha", "Akron"}[i%12]
	return fmt.Sprintf("Ann%d,Person%d,%s,%s,%d Main St,%s,MA,%05d,USA,\"t%d, all\",Acme %d,%s,%d-02-03,%s\n", i%50,
		i%40_000, email, phone, i, city, 2101+i*7919%40_000,
		i%40, i%300, []string{"North", "South", "East", "West", "Center", "Coast"}[i*7%6], 2000+i%26,
		[]string{"yes", "no"}[i%2])
}

// giveForFilters lets a tenth of the contacts give three times, most of them for the first of 20 campaigns.
func giveForFilters(b *testing.B, s *Book, account access.Account, n int, now time.Time) {
	for i := range 20 {
		title := fmt.Sprintf("Campaign %d", i+1)
		must(s.CreateCampaign(b.Context(), account, campaign.Input{Title: &title}))(b)
	}
	var inputs []*giving.GiftInput
	for i := range n * 3 / 10 {
		campaign := 1
		if i%2 == 0 {
			campaign = 2 + i/2%19
		}
		in := giftInput(b,
			fmt.Sprintf(`{"amount":%d,"method":"card","transacted_at":"%s","contact_id":%d,"campaign_id":%d}`, 1+i%300,
				now.AddDate(0, 0, -(i*7919%700)).Format(time.DateOnly),
				doc.MakeID(account.Number, int64(1+i%(n/10)*10)),
				campaign), true, now)
		if inputs = append(inputs, &in); len(inputs) == 400 || i == n*3/10-1 {
			must(s.CreateGifts(b.Context(), account.Number, inputs))(b)
			inputs = nil
		}
	}
}

// BenchmarkChange changes contacts by 64 clients at once, in one account and in a thousand: the price of a change,
// with its history.
func BenchmarkChange(b *testing.B) {
	for _, accounts := range []int{1, 1000} {
		b.Run(fmt.Sprint(accounts), func(b *testing.B) {
			s := openTest(b)
			var ids []int64
			for i := range accounts {
				account := newAccount(b, s).Number
				for range 2000 / accounts {
					ids = append(ids, create(b, s, account,
						fmt.Sprintf(`{"first_name":"A%d","last_name":"B","emails":[{"value":"a%d@example.org"}],
							"tags":["a","b"]}`, i, len(ids))).ID)
				}
			}
			clients(b, func(n int64) error {
				id := ids[n*7919%int64(len(ids))]
				return errOf(s.UpdateContact(b.Context(), doc.IDAccount(id), id,
					input(b, fmt.Sprintf(`{"company":"C%d"}`, n))))
			})
		})
	}
}
