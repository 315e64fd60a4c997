package donations

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/donate"
	"donorbook/internal/crm/text"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

// listed is the condition of a filter. unconfirmed is from when on promises are listed that no one has confirmed; a
// search finds all.
func listed(account int64, f donate.Filter, unconfirmed time.Time) (where string, args []any) {
	conditions, args := []string{"account_id = $1"}, []any{account}
	add := func(condition string, value any) {
		args = append(args, value)
		conditions = append(conditions, condition+" $"+strconv.Itoa(len(args)))
	}
	if f.State != "" {
		add("state =", string(f.State))
	}
	if f.Campaign != 0 {
		add("campaign_id =", f.Campaign)
	}
	if f.Review || f.NotHere {
		conditions = append(conditions, "doubt <> ''")
	}
	if f.NotHere {
		conditions = append(conditions, "doubt LIKE '"+string(donate.NotHere)+"%'") // which is always the first reason
	}
	if f.Promised {
		add("state =", string(donate.Processing))
		conditions = append(conditions, "provider = ''")
	}
	if number, isReference := donate.FindReference(f.Find); isReference {
		add("number =", number)
	} else if f.Find != "" {
		conditions = append(conditions, "email <> ''")
		add("email =", text.FoldEmail(strings.TrimSpace(f.Find)))
	}
	if f.Find == "" {
		add("(provider <> '' OR state <> 'started' OR created_at >", store.Seconds(unconfirmed))
		conditions[len(conditions)-1] += ")"
	}
	if !f.From.IsZero() {
		add("created_at >=", f.From.Unix())
	}
	if !f.To.IsZero() {
		add("created_at <", f.To.Unix())
	}
	return " FROM donation WHERE " + strings.Join(conditions, " AND "), args
}

const sqlListed = `SELECT ` + donationColumns + ` FROM donation WHERE account_id = $1 AND id = ANY($2)`

// Donations is one page of the donations of an account, newest first. A total of more than donate.Listed is one more
// than that: they are not counted further. Where the page begins is found in the index that has the order.
func (s *DonationStore) Donations(ctx context.Context, account int64, f donate.Filter,
	page crm.PageRequest,
) (found []donate.Donation, result store.ListResult, err error) {
	where, args := listed(account, f, s.store.Now().Add(-donate.ConfirmTime))
	limit := ` LIMIT $` + strconv.Itoa(len(args)+1)
	found, err = store.Snapshot(ctx, s.store, func(c db.Conn) (all []donate.Donation, err error) {
		if result.Total, err = c.Int(`SELECT COUNT(*) FROM (SELECT 1`+where+limit+`) AS first`,
			append(args, int64(donate.Listed+1))...); err != nil || page.Skip() >= result.Total {
			return nil, err
		}
		if page.Skip() >= donate.Listed {
			return nil, doc.NewInvalid("page", donate.BeyondList)
		}
		ids, err := db.List(c, func(r db.Row) string { return r.Text(0) },
			`SELECT id`+where+` ORDER BY created_at DESC, id`+limit, append(args, page.Skip()+page.PerPage)...)
		if err != nil {
			return nil, err
		}
		ids = ids[min(page.Skip(), int64(len(ids))):]
		rows, err := db.List(c, scanDonation, sqlListed, account, ids)
		byID := store.Keyed(rows, func(d *row) string { return d.ID })
		for _, id := range ids {
			if d := byID[id]; d != nil {
				all = append(all, d.Donation)
			}
		}
		return all, err
	})
	result.Count = int64(len(found))
	return found, result, err
}

const sqlReviews = `SELECT COUNT(*) FROM (SELECT 1 FROM donation WHERE account_id = $1 AND doubt <> ''
	LIMIT $2) AS doubtful`

// Reviews is how many donations a person must look at, up to a number.
func (s *DonationStore) Reviews(ctx context.Context, account, most int64) (int64, error) {
	return store.Lend(ctx, s.store.Read, func(c db.Conn) (int64, error) { return c.Int(sqlReviews, account, most) })
}

const (
	sqlUnnamedGifts = `SELECT code, wish FROM donation WHERE account_id = $1 AND code = ANY($2) AND code <> ''`
	sqlUnnamedPlans = `SELECT plan_code, wish FROM donation WHERE account_id = $1 AND plan_code = ANY($2)
		AND plan_code <> ''`
)

// Unnamed are the codes of those gifts and plans whose givers do not want a page to name them.
func (s *DonationStore) Unnamed(ctx context.Context, account int64, gifts, plans []string) (map[string]bool, error) {
	unnamed := map[string]bool{}
	err := s.store.View(ctx, func(c db.Conn) error {
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
