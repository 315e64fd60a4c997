package donations

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"donorbook/internal/crm"
	"donorbook/internal/crm/donate"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

// Filter is which donations a list shows.
type Filter struct {
	State    donate.State // "" for all
	Campaign int64        // 0 for all
	Review   bool         // only those that a person must look at
	NotHere  bool         // payments that did not begin on a page of ours, and that no one has taken over
}

// Where is the condition of a filter.
func (f Filter) where(account int64) (where string, args []any) {
	conditions, args := []string{"account_id = $1"}, []any{account}
	add := func(condition string, value any) {
		args = append(args, value)
		conditions = append(conditions, condition+" = $"+strconv.Itoa(len(args)))
	}
	if f.State != "" {
		add("state", string(f.State))
	}
	if f.Campaign != 0 {
		add("campaign_id", f.Campaign)
	}
	switch {
	case f.NotHere:
		conditions = append(conditions, "doubt <> ''")
		add("doubt", string(donate.NotHere))
	case f.Review:
		conditions = append(conditions, "doubt <> ''")
	}
	return " WHERE " + strings.Join(conditions, " AND "), args
}

// Donations is one page of the donations of an account, newest first.
func (s *DonationStore) Donations(ctx context.Context, account int64, f Filter, page crm.PageRequest) (found []donate.Donation, result store.ListResult, err error) {
	where, args := f.where(account)
	found, err = store.Admitted(ctx, s.base, account, func(c db.Conn, w store.Admit) ([]donate.Donation, error) {
		total, err := c.Int(`SELECT COUNT(*) FROM donation`+where, args...)
		if err == nil {
			err = w(page.Skip())
		}
		if result = (store.ListResult{Total: total}); err != nil || page.Skip() >= total {
			return nil, err
		}
		n := len(args)
		rows, err := db.List(c, scanDonation, `SELECT `+donationColumns+` FROM donation`+where+` ORDER BY created_at DESC, id LIMIT $`+strconv.Itoa(n+1)+` OFFSET $`+strconv.Itoa(n+2),
			append(args, page.PerPage, page.Skip())...)
		result.Count = int64(len(rows))
		return store.Collect(rows, func(d *row) donate.Donation { return d.Donation }), err
	})
	return found, result, err
}

const sqlReviews = `SELECT COUNT(*) FROM (SELECT 1 FROM donation WHERE account_id = $1 AND doubt <> '' LIMIT $2) AS doubtful`

// Reviews is how many donations a person must look at, up to a number.
func (s *DonationStore) Reviews(ctx context.Context, account, most int64) (int64, error) {
	return store.Lend(ctx, s.base.Read, func(c db.Conn) (int64, error) { return c.Int(sqlReviews, account, most) })
}

const (
	sqlUnnamedGifts = `SELECT code, wish FROM donation WHERE account_id = $1 AND code = ANY($2) AND code <> ''`
	sqlUnnamedPlans = `SELECT plan_code, wish FROM donation WHERE account_id = $1 AND plan_code = ANY($2) AND plan_code <> ''`
)

// Unnamed are the codes of those gifts and plans whose givers do not want a page to name them.
func (s *DonationStore) Unnamed(ctx context.Context, account int64, gifts, plans []string) (map[string]bool, error) {
	unnamed := map[string]bool{}
	err := s.base.View(ctx, func(c db.Conn) error {
		for query, codes := range map[string][]string{sqlUnnamedGifts: gifts, sqlUnnamedPlans: plans} {
			if len(codes) == 0 {
				continue
			}
			_, err := db.List(c, func(r db.Row) bool {
				wish := donate.Wish{}
				_ = json.Unmarshal([]byte(r.Text(1)), &wish) // it was written by us
				if wish.Anonymous {
					unnamed[r.Text(0)] = true
				}
				return wish.Anonymous
			}, query, account, codes)
			if err != nil {
				return err
			}
		}
		return nil
	})
	return unnamed, err
}
