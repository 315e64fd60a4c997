package book

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/gifts"
)

func TestTheLatestGiftsAndTheNamesOfCampaigns(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account, other := newAccount(t, s), newAccount(t, s)
		var ids []int64
		for _, title := range []string{"Gala", "Coats", "Roof"} {
			campaign := must(s.CreateCampaign(t.Context(), account, campaign.Input{Title: &title}))(t)
			ids = append(ids, campaign.ID)
		}
		contact := create(t, s, account.Number, `{"first_name":"A","last_name":"B"}`).ID
		for i := range 6 {
			in := giftInput(t, fmt.Sprintf(`{"contact_id":%d,"campaign_id":%d,"amount":%d,"method":"cash","transacted_at":"2025-0%d-01"}`, contact, ids[i%2], i+1, i+1), true, time.Now())
			must(s.CreateGift(t.Context(), account.Number, in))(t)
		}
		found, err := s.LatestGifts(t.Context(), account.Number, giving.GiftFilter{Campaign: ids[1]}, 2)
		if err != nil || len(found) != 2 || found[0].Net() != 600 || found[1].Net() != 400 || found[0].Slug != "coats" {
			t.Errorf("%+v, %v", found, err)
		}
		newest, err := s.NewestCampaigns(t.Context(), account.Number, 2)
		if want := []gifts.CampaignName{{ID: ids[2], Title: "Roof", Currency: "USD"},
			{ID: ids[1], Title: "Coats", Currency: "USD"}}; err != nil || !slices.Equal(newest, want) {
			t.Errorf("%v, %v, want %v", newest, err, want)
		}
		names, err := s.CampaignNames(t.Context(), account.Number, []int64{ids[0], 5})
		if err != nil || len(names) != 1 || names[ids[0]].Title != "Gala" {
			t.Errorf("%v, %v", names, err)
		}
		expect(t, "another account reads", "0", len(must(s.CampaignNames(t.Context(), other.Number, ids))(t)))
	})
}

// The totals of contacts are stored among those of the account, and a page reads none of them.
func TestAPageOfGiftsReadsNoMoreRowsWhereMoreContactsGave(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account, e := newAccount(t, s), spyOn(t, s)
		var read []int64
		for _, more := range []int{3, 30} {
			for range more {
				contact := create(t, s, account.Number, `{"first_name":"A","last_name":"B"}`).ID
				in := giftInput(t, fmt.Sprintf(`{"contact_id":%d,"amount":5,"method":"cash","transacted_at":"2025-03-01"}`, contact), true, time.Now())
				must(s.CreateGift(t.Context(), account.Number, in))(t)
			}
			e.rows.Store(0)
			records, totals, err := s.GiftPage(t.Context(), account.Number, giving.GiftFilter{},
				crm.PageRequest{Page: 1, PerPage: 2})
			if err != nil || len(records) != 2 || totals.Sums["USD"] != totals.Gifts*500 {
				t.Fatalf("%d gifts, %+v, %v", len(records), totals, err)
			}
			read = append(read, e.rows.Load())
		}
		expect(t, "where ten times as many contacts gave", fmt.Sprint(read[1]), read[0])
	})
}

// A busy day has thousands of gifts, and its pages skip them.
func TestGiftsThatAPageSkipsAreFoundInAnIndexAlone(t *testing.T) {
	s := openTest(t)
	account := newAccount(t, s)
	contact := create(t, s, account.Number, `{"first_name":"A","last_name":"B"}`).ID
	must(s.CreateGift(t.Context(), account.Number, giftInput(t,
		fmt.Sprintf(`{"contact_id":%d,"amount":5,"method":"cash","transacted_at":"2025-03-01"}`,
			contact), true, time.Now())))(t)
	var skips, plan string
	spyOn(t, s).read = func(sql string) {
		if strings.Contains(sql, "OFFSET") {
			skips = sql
		}
	}
	if records, _, err := s.GiftPage(t.Context(), account.Number, giving.GiftFilter{},
		crm.PageRequest{Page: 1, PerPage: 2}); err != nil || len(records) != 1 {
		t.Fatalf("%+v, %v", records, err)
	}
	err := s.Db.Read(t.Context(), func(c db.Conn) error {
		return c.Each(func(r db.Row) error {
			plan += r.Text(3) + "\n"
			return nil
		}, "EXPLAIN QUERY PLAN "+skips, account.Number, int64(0), int64(0), int64(0))
	})
	if err != nil || plan != "SEARCH g USING COVERING INDEX gift_time (account_id=? AND given_at<?)\n" {
		t.Errorf("%s\n%s%v", skips, plan, err)
	}
}

// A list that is sorted by time is found in the same index.
func TestAListByTimeIsFoundInAnIndexAlone(t *testing.T) {
	s := openTest(t)
	account := newAccount(t, s)
	contact := create(t, s, account.Number, `{"first_name":"A","last_name":"B"}`).ID
	for day := 1; day <= 9; day++ {
		giveAt(t, s, account, contact, fmt.Sprintf("2025-03-0%d", day))
	}
	var asked []string
	spy := spyOn(t, s)
	spy.read = func(sql string) {
		if strings.Contains(sql, "FROM gift g WHERE") {
			asked = append(asked, sql)
		}
	}
	f := giving.GiftFilter{Sort: giving.Sort{By: giving.ByTime}}
	if _, found, err := s.Gifts(t.Context(), account.Number, campaign.OwnCampaigns, f,
		crm.PageRequest{Page: 2, PerPage: 2}, nil, nil); err != nil || found.Total != 9 {
		t.Fatalf("%+v, %v", found, err)
	}
	spy.read = nil
	if len(asked) != 3 { // the edges of the page, how many lie around it, and those
		t.Errorf("it asks %d times: %q", len(asked), asked)
	}
	for _, sql := range asked {
		plan := ""
		err := s.Db.Read(t.Context(), func(c db.Conn) error {
			return c.Each(func(r db.Row) error {
				plan += r.Text(3) + "\n"
				return nil
			}, "EXPLAIN QUERY PLAN "+sql, account.Number, int64(0), int64(0), int64(0))
		})
		if err != nil || !strings.Contains(plan, "SEARCH g USING COVERING INDEX gift_time (account_id=? AND given_at") || strings.Contains(plan, "TEMP B-TREE") {
			t.Errorf("%s\n%s%v", sql, plan, err)
		}
	}
}

func TestAListByTimeReadsNoMoreRowsWhereMoreWasGivenInOtherMonths(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account, e := newAccount(t, s), spyOn(t, s)
		contact := create(t, s, account.Number, `{"first_name":"A","last_name":"B"}`).ID
		for _, day := range []string{"2025-03-01", "2025-03-02", "2025-05-01", "2025-05-02"} {
			giveAt(t, s, account, contact, day)
		}
		read := map[bool][]int64{}
		for _, more := range []int{1, 30} {
			for range more {
				giveAt(t, s, account, contact, "2025-04-15")
			}
			for _, descending := range []bool{false, true} {
				f := giving.GiftFilter{Sort: giving.Sort{By: giving.ByTime, Descending: descending}}
				e.rows.Store(0)
				if _, found, err := s.Gifts(t.Context(), account.Number, campaign.OwnCampaigns, f,
					crm.PageRequest{Page: 1, PerPage: 2}, nil, nil); err != nil || found.Count != 2 {
					t.Fatalf("%+v, %v", found, err)
				}
				read[descending] = append(read[descending], e.rows.Load())
			}
		}
		for descending, rows := range read {
			expect(t, fmt.Sprintf("descending %v: rows that a page reads where more was given in other months",
				descending), fmt.Sprint(rows[0]), rows[1])
		}
	})
}

// The history of a gift has pages, the latest first, and keeps the beginning of a long note.
func TestAGiftHasAHistory(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s)
		contact := create(t, s, account.Number, `{"first_name":"A","last_name":"B"}`).ID
		made := must(s.CreateGift(t.Context(), account.Number,
			giftInput(t, fmt.Sprintf(`{"contact_id":%d,"amount":5,"method":"cash","transacted_at":"2025-01-01"}`,
				contact), true, time.Now())))(t)
		for _, note := range []string{"first", "second", strings.Repeat("long ", 1000)} {
			in := giftInput(t, fmt.Sprintf(`{"note":%q}`, note), false, time.Now())
			must(s.UpdateGift(store.By(t.Context(), history.ConsoleChannel, "ana@example.org"), account.Number,
				made.Code, in))(t)
		}
		changes, found, err := s.Timeline(t.Context(), account.Number, history.GiftNoun, made.ID,
			crm.PageRequest{Page: 1, PerPage: 2})
		if err != nil || found.Total != 4 || len(changes) != 2 || changes[0].Who != "ana@example.org" ||
			len(changes[0].Data) > 300 || !strings.Contains(changes[1].Data, `"second"`) {
			t.Errorf("%+v, %+v, %v", changes, found, err)
		}
	})
}

// A gift that moves to another contact cannot stay a gift of the first contact's plan.
func TestAGiftLeavesItsPlanBeforeItsContact(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s)
		ana, ben := create(t, s, account.Number, `{"first_name":"Ana","last_name":"B"}`).ID, create(t, s,
			account.Number, `{"first_name":"Ben","last_name":"B"}`).ID
		in, faults, err := giving.DecodePlan(doc.NewBody(fmt.Appendf(nil,
			`{"contact_id":%d,"amount":5,"method":"cash","frequency":"monthly"}`, ana)))
		if err == nil {
			err = in.Validate(faults, true, "US", time.Now())
		}
		if err != nil {
			t.Fatal(err)
		}
		plan := must(s.CreatePlan(t.Context(), account.Number, in))(t)
		gift := must(s.CreateGift(t.Context(), account.Number,
			giftInput(t, fmt.Sprintf(`{"contact_id":%d,"plan_id":%q,"amount":5,"method":"cash","transacted_at":"2025-01-01"}`, ana, plan.Code), true, time.Now())))(t)
		move := fmt.Sprintf(`{"contact_id":%d}`, ben)
		_, err = s.UpdateGift(t.Context(), account.Number, gift.Code, giftInput(t, move, false, time.Now()))
		if err == nil || !strings.Contains(err.Error(), "the contact of the gift's plan") {
			t.Errorf("the gift moves alone: %v", err)
		}
		moved := must(s.UpdateGift(t.Context(), account.Number, gift.Code,
			giftInput(t, move[:len(move)-1]+`,"plan_id":null}`, false, time.Now())))(t)
		expect(t, "it", "true true", moved.Contact == ben, moved.PlanCode == "")
	})
}

// A gift for a plan is in the plan's currency unless another one was sent, and a gift in a payment provider's test
// mode pays for nothing.
func TestAGiftForAPlanIsInItsCurrency(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s)
		ana := create(t, s, account.Number, `{"first_name":"Ana","last_name":"Lima"}`).ID
		in, faults, err := giving.DecodePlan(doc.NewBody(fmt.Appendf(nil,
			`{"contact_id":%d,"amount":50,"currency":"EUR","method":"card","frequency":"monthly","start_at":"2026-01-31"}`, ana)))
		if err == nil {
			err = in.Validate(faults, true, "US", time.Now())
		}
		if err != nil {
			t.Fatal(err)
		}
		plan := must(s.CreatePlan(t.Context(), account.Number, in))(t)
		give := func(more string) (gifts.GiftDocument, error) {
			body := fmt.Sprintf(`{"contact_id":%d,"plan_id":%q,"amount":50,"method":"card","transacted_at":"2026-02-01"%s}`, ana, plan.Code, more)
			return s.CreateGift(t.Context(), account.Number, giftInput(t, body, true, time.Now()))
		}
		must(give(`,"livemode":false`))(t)
		expect(t, "a test gift moves the plan on from", "true",
			must(s.Plan(t.Context(), account.Number, plan.Code))(t).NextBill.Equal(plan.NextBill))
		made := must(give(""))(t)
		expect(t, "it", "EUR", made.Currency)
		expect(t, "the plan stays at", "true", must(s.Plan(t.Context(), account.Number,
			plan.Code))(t).NextBill.After(plan.NextBill))
	})
}
