package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
)

// What is read of a gift to show it; its campaign may have changed its address since.
const (
	shownGift = `SELECT g.id, g.contact_id, g.campaign_id, g.plan_id, g.status, g.code, g.body, g.checksum, g.revision,
		g.given_at, COALESCE(c.slug, '')
		FROM gift g LEFT JOIN campaign c ON c.id = g.campaign_id AND c.account_id = g.account_id`

	sqlGift      = shownGift + ` WHERE g.account_id = $1 AND g.id = $2`
	SQLGiftsByID = shownGift + ` WHERE g.account_id = $1 AND g.id = ANY($2) ORDER BY g.id`

	sqlTopGifts = `SELECT id FROM gift WHERE account_id = $1 AND id <> 0 AND given_at >= $2 AND given_at < $3
		AND net > 0 AND currency = $4 ORDER BY net DESC, id LIMIT $5`
)

// appendGift appends one row of a list.
func appendGift(dst []byte, r db.Row) ([]byte, error) {
	body := r.Bytes(6)
	if Checksum(body) != r.Int(7) {
		return dst, &Damaged{Table: GiftTable.Name, ID: r.Int(0), Account: doc.IDAccount(r.Int(0))}
	}
	return giving.AppendGift(dst, r.Int(0), r.Text(5), r.Int(2), r.Text(10), body), nil
}

// Gift appends the wire form of a gift to dst.
func (s *Store) Gift(ctx context.Context, account int64, code string, dst []byte) ([]byte, error) {
	start, err := len(dst), error(nil)
	err = s.Read(ctx, func(c db.Conn) error {
		dst = dst[:start]
		return c.Each(func(r db.Row) (err error) {
			if r.Text(5) == code {
				dst, err = appendGift(dst, r)
			}
			return err
		}, sqlGift, account, CodeID(account, code))
	})
	if err == nil && len(dst) == start {
		err = crm.ErrNotFound
	}
	return dst, err
}

// GiftRecord is a gift as people see it.
type GiftRecord struct {
	giving.Gift
	Slug string // of its campaign
}

func ScanGiftRecord(r db.Row) (record GiftRecord, err error) {
	_, g := ScanGift(r)
	return GiftRecord{Gift: g.Gift, Slug: r.Text(10)}, g.Damage
}

// GiftRecord finds a gift.
func (s *Store) GiftRecord(ctx context.Context, account int64, code string) (GiftRecord, error) {
	id := CodeID(account, code)
	return Snapshot(ctx, s, func(c db.Conn) (record GiftRecord, err error) {
		records, err := giftRecords(c, sqlGift, account, id)
		if err != nil {
			return record, err
		}
		if len(records) == 0 || records[0].Code != code {
			return record, crm.ErrNotFound
		}
		return records[0], nil
	})
}

// GiftsCalled are gifts by their public ids.
func (s *Store) GiftsCalled(ctx context.Context, account int64, codes []string) (map[string]*giving.Gift, error) {
	ids := Collect(codes, func(code string) int64 { return CodeID(account, code) })
	return Snapshot(ctx, s, func(c db.Conn) (map[string]*giving.Gift, error) {
		found, err := giftRecords(c, SQLGiftsByID, account, ids)
		called := make(map[string]*giving.Gift, len(found))
		for i := range found {
			called[found[i].Code] = &found[i].Gift
		}
		return called, err
	})
}

// GiftNumbered finds a gift by the number that receipts show, without its history.
func (s *Store) GiftNumbered(ctx context.Context, account, number int64) (GiftRecord, error) {
	if number < 1 || number > doc.MaxSeq {
		return GiftRecord{}, crm.ErrNotFound
	}
	return Snapshot(ctx, s, func(c db.Conn) (record GiftRecord, err error) {
		records, err := giftRecords(c, sqlGift, account, doc.MakeID(account, number))
		if err != nil || len(records) == 0 {
			return record, cmp.Or(err, error(crm.ErrNotFound))
		}
		return records[0], nil
	})
}

func giftRecords(c db.Conn, sql string, args ...any) (records []GiftRecord, err error) {
	err = c.Each(func(r db.Row) error {
		record, err := ScanGiftRecord(r)
		records = append(records, record)
		return err
	}, sql, args...)
	return records, err
}

// withKey are the contacts that have a match key.
const withKey = "(SELECT id FROM contact_index WHERE account_id = $1 AND key = $%d)"

// ClockSpan is more than any clock is ahead of UTC or behind it, in seconds.
const ClockSpan = 15 * 60 * 60

// giftCondition is a filter as a condition, with its arguments after the account. What leads to the fewest gifts
// decides about the index: those of campaigns, plans and times are only used where their own condition is repeated.
func giftCondition(account int64, f giving.GiftFilter) (sql string, args []any) {
	conditions, args := []string{"g.account_id = $1"}, []any{account}
	add := func(condition string, value any) {
		args = append(args, value)
		conditions = append(conditions, fmt.Sprintf(condition, len(args)))
	}
	led := f.ExternalID != "" || f.Contact != 0 || f.Email != ""
	lead := func(condition string) {
		if !led {
			conditions = append(conditions, condition)
		}
		led = true
	}
	if f.Contact != 0 {
		add("g.contact_id = $%d", f.Contact)
	}
	if f.Email != "" {
		add("g.contact_id IN "+withKey, f.Email)
	}
	if f.Plan != "" { // of another account with the same number, it is none of ours
		lead("g.plan_id <> 0")
		args = append(args, f.Plan)
		code := len(args)
		add(fmt.Sprintf("g.plan_id = (SELECT id FROM plan WHERE account_id = $1 AND id = $%%d AND code = $%d)", code),
			CodeID(account, f.Plan))
	}
	if f.Campaign != 0 {
		lead("g.campaign_id <> 0")
		add("g.campaign_id = $%d", f.Campaign)
	}
	if f.Waiting {
		conditions, led = append(conditions, "g.thank <> 0"), true
	}
	switch {
	case f.Status == giving.Voided:
		conditions, led = append(conditions, "g."+isVoided), true
	case f.Status == "" && !f.Counted && !f.Waiting: // the others have none
		conditions = append(conditions, "NOT g."+isVoided)
	}
	lead("g.id <> 0")
	if f.Recurring {
		conditions = append(conditions, "g.plan_id <> 0")
	}
	if f.Status != "" && f.Status != giving.Voided {
		g := giving.Gift{Status: f.Status}
		add("g.status = $%d", g.StatusNumber())
	}
	if f.Method != "" {
		g := giving.Gift{Method: f.Method}
		add("g.method = $%d", g.MethodNumber())
	}
	if f.ExternalID != "" {
		add("g.id = (SELECT id FROM external_reference WHERE account_id = $1 AND reference = $%d)",
			find.GiftReference+f.ExternalID)
	}
	if f.Import != 0 {
		add("g.id IN ("+fmt.Sprintf(MadeByImport, history.GiftNoun, history.DidCreate, "%[1]d")+")", f.Import)
	}
	for _, bound := range []struct {
		at   time.Time
		is   string
		edge int64 // on the right side of which the clock of any organization is
	}{{f.From, ">=", -ClockSpan}, {f.To, "<", ClockSpan}} {
		switch {
		case bound.at.IsZero():
		case f.Days:
			add("g.given_at "+bound.is+" $%d", bound.at.Unix())
		default: // an index begins or ends near there; the time itself has what is by any clock
			add("g.given_at "+bound.is+" $%d", bound.at.Unix()+bound.edge)
			add("g.given_at - g.ahead "+bound.is+" $%d", bound.at.Unix())
		}
	}
	if f.Currency != "" {
		add("g.currency = $%d", f.Currency)
	}
	if f.Counted {
		conditions = append(conditions, "g.net > 0")
	}
	if f.Min != 0 {
		add("g.net >= $%d", f.Min)
	}
	if f.Max != 0 {
		add("g.net <= $%d", f.Max)
	}
	return " WHERE " + strings.Join(conditions, " AND "), args
}

// Gifts appends the wire forms of one page of gifts to dst, separated by commas, oldest first unless the filter says
// otherwise. A large page goes through flush piece by piece.
func (s *Store) Gifts(ctx context.Context, account int64, scope campaign.Scope, filter giving.GiftFilter,
	page crm.PageRequest, dst []byte, flush Flush,
) ([]byte, ListResult, error) {
	p := NewPieces(dst, flush)
	var result ListResult
	parts, err := s.giftParts(ctx, account, scope, filter)
	if err != nil {
		return dst, result, err
	}
	sorted := filter.Sort != giving.Sort{}
	var found []giftPage
	err = s.InTurn(ctx, account, func(w Admit) error {
		return s.View(ctx, func(c db.Conn) (err error) {
			found, result, err = findGifts(c, w, parts, page)
			p.Found = result
			return err
		})
	})
	for _, f := range found {
		if err != nil {
			break
		}
		ask := func(c db.Conn, ids []int64) error {
			if sorted {
				return p.ReadInOrder(c, appendGift, ids, SQLGiftsByID, f.account)
			}
			return p.Read(c, appendGift, SQLGiftsByID, f.account, ids)
		}
		p.Before, p.N, p.Start = p.Before+p.N, 0, len(p.Dst)
		if err = s.Read(ctx, func(c db.Conn) error { return ask(c, f.ids) }); err == nil && p.N < len(f.ids) {
			err = p.Rest(ctx, s, account, f.ids, ask)
		}
	}
	return p.Dst, result, err
}

// GiftPart is the gifts of one account in a list that has those of several.
type GiftPart struct {
	Account int64
	Filter  giving.GiftFilter
}

type giftPage struct {
	account int64
	ids     []int64
}

// giftParts are whose gifts a scope shows: those of the account, of campaigns that benefit it, of the accounts below
// it, one after the other.
func (s *Store) giftParts(ctx context.Context, account int64, scope campaign.Scope,
	filter giving.GiftFilter,
) (parts []GiftPart, err error) {
	if filter, err = s.ByCampaign(ctx, filter); err != nil {
		return nil, err
	}
	if scope == campaign.OwnCampaigns || scope == campaign.AllCampaigns {
		parts = append(parts, GiftPart{account, filter})
	}
	if scope == campaign.OwnCampaigns {
		return parts, nil
	}
	err = s.View(ctx, func(c db.Conn) error {
		others, err := ReadableCampaigns(c, account)
		if err != nil {
			return err
		}
		below, err := AccountsBelow(c, account)
		if err != nil {
			return err
		}
		for _, chapter := range below {
			if scope != campaign.BenefitingCampaigns {
				parts = append(parts, GiftPart{chapter.Number, filter})
			}
		}
		for _, o := range others {
			benefits := o.Relation&campaign.Benefiting != 0 && o.Relation&campaign.Own == 0
			if !benefits || scope == campaign.ChapterCampaigns || scope == campaign.AllCampaigns &&
				o.Relation&campaign.Chapter != 0 || filter.Campaign != 0 && filter.Campaign != o.ID {
				continue
			}
			part := GiftPart{o.Owner, filter}
			part.Filter.Campaign = o.ID
			parts = append(parts, part)
		}
		return nil
	})
	return parts, err
}

// ByCampaign is a filter with the campaign that its code names.
func (s *Store) ByCampaign(ctx context.Context, f giving.GiftFilter) (giving.GiftFilter, error) {
	if f.CampaignCode == "" {
		return f, nil
	}
	id, err := Lend(ctx, s.Read, func(c db.Conn) (int64, error) { return Coded(c, f.Campaign, f.CampaignCode) })
	f.Campaign, f.CampaignCode = id, ""
	return f, err
}

// findGifts finds the gifts of one page: parts one after the other, each in the order of its ids, unless a filter says
// how to sort them all.
func findGifts(c db.Conn, w Admit, parts []GiftPart,
	page crm.PageRequest,
) (found []giftPage, result ListResult, err error) {
	if len(parts) > 0 && parts[0].Filter.Sort != (giving.Sort{}) {
		return findSorted(c, w, parts, page)
	}
	var weight int64
	for _, part := range parts {
		rows, err := part.Weight(c)
		if err != nil {
			return nil, result, err
		}
		weight += rows
	}
	if err := w(weight); err != nil {
		return nil, result, err
	}
	skip, want := page.Skip(), page.PerPage
	for _, part := range parts {
		total, ids, err := part.Find(c)
		if err != nil {
			return nil, result, err
		}
		result.Total += total
		if skip >= total || want == 0 {
			skip = max(0, skip-total)
			continue
		}
		some := ids(skip, min(skip+want, total))
		found = append(found, giftPage{part.Account, some})
		result.Count += int64(len(some))
		skip, want = 0, want-int64(len(some))
	}
	return found, result, nil
}

// Weight is how many gifts are walked through to find those of a part, as far as they are many.
func (part GiftPart) Weight(c db.Conn) (int64, error) {
	f := part.Filter
	f.Sort = giving.Sort{}
	switch {
	case f.IsEmpty(), f.ExternalID != "":
		return 0, nil
	case f.Contact != 0:
		f = giving.GiftFilter{Contact: f.Contact}
	case f.Email != "":
		f = giving.GiftFilter{Email: f.Email}
	case f.Plan != "":
		f = giving.GiftFilter{Plan: f.Plan}
	case f.Campaign != 0:
		f = giving.GiftFilter{Campaign: f.Campaign}
	case f.Waiting:
		f = giving.GiftFilter{Waiting: true}
	case f.Status == giving.Voided:
		f = giving.GiftFilter{Status: giving.Voided}
	default:
		row, err := ReadTally(c, part.Account)
		return row.GiftSeq, err
	}
	condition, args := giftCondition(part.Account, f)
	sql := fmt.Sprintf(`SELECT COUNT(*) FROM (SELECT 1 FROM gift g%s LIMIT $%d) AS first`, condition, len(args)+1)
	return c.Int(sql, append(args, int64(LightRows+1))...)
}

// Find counts the gifts of a part and lists those from one place on and up to another.
func (part GiftPart) Find(c db.Conn) (total int64, ids func(from, to int64) []int64, err error) {
	if part.Filter.IsEmpty() {
		all, err := readEachGift(c, part.Account)
		return all.count(), all.ids, err
	}
	// One walk through an index, in whatever order it has: a set needs no sorting, and knows its pages.
	var set db.Set
	condition, args := giftCondition(part.Account, part.Filter)
	err = c.Each(func(r db.Row) error {
		set.Add(doc.IDSeq(r.Int(0)))
		return nil
	}, `SELECT g.id FROM gift g`+condition, args...)
	return set.Count(), func(from, to int64) []int64 { return IDsOf(part.Account, set.Page(from, to)) }, err
}

// LargestGifts are the largest gifts of the last months, this one included, the largest first.
func (s *Store) LargestGifts(ctx context.Context, account int64, months int,
	limit int64,
) (records []GiftRecord, err error) {
	return Snapshot(ctx, s, func(c db.Conn) (records []GiftRecord, err error) {
		row, err := ReadTally(c, account)
		if err != nil {
			return nil, err
		}
		now := row.Clock(s.Now())
		next := time.Date(now.Year(), now.Month()+1, 1, 0, 0, 0, 0, time.UTC)
		ids, err := db.List(c, Number, sqlTopGifts, account, next.AddDate(0, -months, 0).Unix(), next.Unix(),
			row.Currency, limit)
		if err != nil {
			return nil, err
		}
		records, err = giftRecords(c, SQLGiftsByID, account, ids)
		SortRows(records, func(a, b *GiftRecord) int { return cmp.Compare(b.Net(), a.Net()) })
		return records, err
	})
}

// GiftSet are the account's own gifts that pass a filter.
func (s *Store) GiftSet(ctx context.Context, account int64, filter giving.GiftFilter) (db.Set, error) {
	return Admitted(ctx, s, account, func(c db.Conn, w Admit) (set db.Set, err error) {
		part := GiftPart{Account: account, Filter: filter}
		weight, err := part.Weight(c)
		if err == nil {
			err = w(weight)
		}
		if err != nil {
			return set, err
		}
		total, ids, err := part.Find(c)
		for _, id := range ids(0, total) {
			set.Add(doc.IDSeq(id))
		}
		return set, err
	})
}

// sortKey is what a gift or a plan is sorted by.
type giftSortKey struct{ key, id int64 }

func (k giftSortKey) compare(other giftSortKey) int {
	return cmp.Or(cmp.Compare(k.key, other.key), cmp.Compare(k.id, other.id))
}

// sortedIDs are the ids of one page.
func sortedIDs(keys []giftSortKey, descending bool, from, to int64) []int64 {
	slices.SortFunc(keys, giftSortKey.compare)
	if descending {
		slices.Reverse(keys)
	}
	return Collect(keys[from:to], func(k giftSortKey) int64 { return k.id })
}

// bodyRows: a document that must be read costs as much as so many entries of an index.
const bodyRows = 8

// findSorted is findGifts for a list that is sorted.
func findSorted(c db.Conn, w Admit, parts []GiftPart, page crm.PageRequest) ([]giftPage, ListResult, error) {
	ids, total, err := sortGifts(c, w, parts, page)
	result := ListResult{Total: total, Count: int64(len(ids))}
	var found []giftPage
	for _, id := range ids {
		account := doc.IDAccount(id)
		if n := len(found); n == 0 || found[n-1].account != account {
			found = append(found, giftPage{account: account})
		}
		last := &found[len(found)-1]
		last.ids = append(last.ids, id)
	}
	return found, result, err
}

// sortGifts are the ids of one page of a list that is sorted. That of one account is carried by its sequence numbers,
// or by the indexes of gifts, which all go on with the time by the organization's clock. Nothing but the documents has
// amounts, and no index has the gifts of several accounts, or of several contacts with one email: those are read and
// sorted when it is their turn.
func sortGifts(c db.Conn, w Admit, parts []GiftPart, page crm.PageRequest) (ids []int64, total int64, err error) {
	part := parts[0]
	sort := part.Filter.Sort
	byTime := sort.By == giving.ByTime
	if len(parts) > 1 || !sort.InOrder() && (!byTime || part.Filter.Email != "") {
		return sortInMemory(c, w, parts, page)
	}
	weight, err := part.Weight(c)
	if err == nil {
		err = w(weight)
	}
	if err != nil {
		return nil, 0, err
	}
	var recorded func(from, to int64) []int64
	if byTime {
		total, err = part.count(c)
	} else {
		total, recorded, err = part.Find(c)
	}
	order := OldestFirst
	if sort.Descending {
		order = NewestFirst
	}
	from, to := order(page)(total)
	if err != nil || from < 0 || from >= to {
		return nil, total, err
	}
	if byTime {
		ids, err = part.latestFirst(c, w, total-to, to-from)
	} else {
		ids = recorded(from, to)
	}
	if sort.Descending != byTime {
		slices.Reverse(ids)
	}
	return ids, total, err
}

// count is how many gifts a part has.
func (part GiftPart) count(c db.Conn) (int64, error) {
	if part.Filter.IsEmpty() {
		all, err := readEachGift(c, part.Account)
		return all.count(), err
	}
	condition, args := giftCondition(part.Account, part.Filter)
	return c.Int(`SELECT COUNT(*) FROM gift g`+condition, args...)
}

// sortInMemory reads what all gifts of the parts are sorted by.
func sortInMemory(c db.Conn, w Admit, parts []GiftPart, page crm.PageRequest) (ids []int64, total int64, err error) {
	sort, weight := parts[0].Filter.Sort, int64(0)
	for _, part := range parts {
		rows, err := part.Weight(c)
		if err == nil && part.Filter.IsEmpty() {
			rows, err = part.count(c)
		}
		if err != nil {
			return nil, 0, err
		}
		weight += rows
	}
	column, key := "g.given_at", func(r db.Row) int64 { return r.Int(1) }
	switch sort.By {
	case giving.ByTime:
	case giving.ByID:
		column = "0"
	default:
		column, key, weight = "g.body", func(r db.Row) int64 { return sort.GiftKey(r.Bytes(1)) }, weight*bodyRows
	}
	if err := w(weight); err != nil {
		return nil, 0, err
	}
	var keys []giftSortKey
	for _, part := range parts {
		condition, args := giftCondition(part.Account, part.Filter)
		err := c.Each(func(r db.Row) error {
			keys = append(keys, giftSortKey{key(r), r.Int(0)})
			return nil
		}, `SELECT g.id, `+column+` FROM gift g`+condition, args...)
		if err != nil {
			return nil, 0, err
		}
	}
	total = int64(len(keys))
	if from, to := OldestFirst(page)(total); from < to {
		ids = sortedIDs(keys, sort.Descending, from, to)
	}
	return ids, total, nil
}
