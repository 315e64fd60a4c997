package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"donorbook/internal/crm"
)

const (
	sqlCampaignBySlug = `SELECT id, account_id, body FROM campaign WHERE slug = $1`
	sqlCampaignByID   = `SELECT account_id FROM campaign WHERE id = $1`
	sqlInsertCampaign = `INSERT INTO campaign (id, account_id, slug, url_at, body) VALUES ($1, $2, $3, $4, $5)`
	sqlUpdateCampaign = `UPDATE campaign SET slug = $2, url_at = $3, body = $4 WHERE id = $1`

	sqlCampaignReaders = `SELECT account_id, relation FROM campaign_reader WHERE campaign_id = $1 ORDER BY account_id`
	sqlPutReader       = `INSERT INTO campaign_reader (account_id, campaign_id, relation) VALUES ($1, $2, $3)
		ON CONFLICT (account_id, campaign_id) DO UPDATE SET relation = excluded.relation`
	sqlDeleteReader = `DELETE FROM campaign_reader WHERE account_id = $1 AND campaign_id = $2`
	sqlParent       = `SELECT parent FROM account WHERE account_id = $1`

	// A campaign that only benefits an account is another organization's.
	sqlCampaignCount = `SELECT COUNT(*) FROM campaign_reader WHERE account_id = $1 AND relation <> $2`

	sqlReaderCampaigns = `SELECT campaign_id, relation FROM campaign_reader WHERE account_id = $1 ORDER BY campaign_id`
)

var sqlCampaigns = `SELECT id, url_at, body FROM campaign WHERE id IN (` + parameters(1, scatteredWidth) + `) ORDER BY id`

// ImportResult says what an import did.
type ImportResult struct {
	Created, Updated, Unchanged int
}

// ImportCampaigns creates campaigns, or updates those of the account that have the same slug: all of them or, where one
// is refused, none.
func (s *Store) ImportCampaigns(ctx context.Context, owner crm.Account, inputs []crm.CampaignInput) (result ImportResult, err error) {
	err = s.changeCampaigns(ctx, owner, func(t *tx, now time.Time) error {
		plans, err := t.planImport(owner, inputs, now)
		if err != nil {
			return err
		}
		if err := t.checkCampaigns(owner, plans); err != nil {
			return err
		}
		result = ImportResult{}
		for _, p := range plans {
			if err := t.saveCampaign(owner.Number, p); err != nil {
				return err
			}
			result.count(p)
		}
		return nil
	})
	return result, err
}

// changeCampaigns begins again where another node has taken an id or a slug while we looked.
func (s *Store) changeCampaigns(ctx context.Context, owner crm.Account, fn func(*tx, time.Time) error) (err error) {
	for range 20 {
		now := s.now()
		err = s.update(ctx, owner.Number, func(t *tx) error { return fn(t, now) })
		if !errors.Is(err, errTaken) {
			break
		}
	}
	return err
}

func (r *ImportResult) count(p campaignPlan) {
	switch {
	case p.isNew:
		r.Created++
	case p.changed:
		r.Updated++
	default:
		r.Unchanged++
	}
}

// campaignPlan is what will be done to one campaign. Everything is decided before anything is written.
type campaignPlan struct {
	campaign crm.Campaign
	isNew    bool
	changed  bool                   // its document or who reads it
	readers  map[int64]crm.Relation // nil where they stay
}

// planImport decides about every row, and tells all faults at once.
func (t *tx) planImport(owner crm.Account, inputs []crm.CampaignInput, now time.Time) ([]campaignPlan, error) {
	wrong := &crm.RowsInvalid{}
	taken := map[string]bool{} // slugs of rows before
	ids := map[int64]bool{}
	var plans []campaignPlan
	for i, in := range inputs {
		p, err := t.planCampaign(owner, in, now, taken, ids)
		var faults *crm.Invalid
		switch {
		case errors.As(err, &faults):
			wrong.Rows = append(wrong.Rows, crm.RowFaults{Row: i + 1, Faults: faults.Faults})
		case err != nil:
			return nil, err
		}
		plans = append(plans, p)
	}
	if len(wrong.Rows) > 0 {
		return nil, wrong
	}
	return plans, nil
}

func (t *tx) planCampaign(owner crm.Account, in crm.CampaignInput, now time.Time, taken map[string]bool, ids map[int64]bool) (p campaignPlan, err error) {
	slug, old, err := t.findSlug(owner, in, taken)
	if err != nil {
		return p, err
	}
	taken[slug] = true
	if old == nil {
		if err := in.CheckNew(); err != nil {
			return p, err
		}
		id, err := t.freeCampaignID(in.ID(now), ids)
		if err != nil {
			return p, err
		}
		p = campaignPlan{campaign: crm.NewCampaign(in, owner, id, slug, now), isNew: true, changed: true}
	} else {
		p = planChange(*old, in, now)
	}
	if old == nil || in.Beneficiaries != nil {
		p.readers, err = t.campaignReaders(owner, in.Beneficiaries)
	}
	return p, err
}

func planChange(old crm.Campaign, in crm.CampaignInput, now time.Time) campaignPlan {
	p := campaignPlan{campaign: old.Update(in, now)}
	before, _ := old.AppendBody(nil)
	after, _ := p.campaign.AppendBody(nil)
	p.changed = string(before) != string(after)
	return p
}

// findSlug chooses the slug: the one that was sent, or the first one made from the title that is free or the account's
// own. old is the campaign that has it.
func (t *tx) findSlug(owner crm.Account, in crm.CampaignInput, taken map[string]bool) (slug string, old *crm.Campaign, err error) {
	for slug := range crm.SlugCandidates(in) {
		if taken[slug] {
			continue
		}
		var id, account int64
		var body []byte
		found, err := one(t.conn, func(r rows) {
			id, account, body = r.int(0), r.int(1), slices.Clone(r.bytes(2))
		}, sqlCampaignBySlug+t.forUpdate, slug)
		switch {
		case err != nil:
			return "", nil, err
		case !found:
			return slug, nil, nil
		case account == owner.Number:
			c, err := crm.ParseCampaign(id, body)
			return slug, &c, err
		}
	}
	return "", nil, slugIsTaken()
}

func slugIsTaken() error {
	faults := &crm.Invalid{}
	faults.Add("slug", "The slug field is taken: choose another one.")
	return faults
}

// freeCampaignID is the first id from the given one on that no campaign has.
func (t *tx) freeCampaignID(id int64, ids map[int64]bool) (int64, error) {
	for ; ; id++ {
		if ids[id] {
			continue
		}
		found, err := one(t.conn, func(rows) {}, sqlCampaignByID, id)
		if err != nil {
			return 0, err
		}
		if !found {
			ids[id] = true
			return id, nil
		}
	}
}

// campaignReaders is who may list a campaign, and why: its owner, its beneficiaries, and every account above the owner.
func (t *tx) campaignReaders(owner crm.Account, beneficiaries *[]string) (map[int64]crm.Relation, error) {
	readers := map[int64]crm.Relation{owner.Number: crm.Own}
	faults := &crm.Invalid{}
	if beneficiaries != nil {
		for i, id := range *beneficiaries {
			account, err := findAccount(t.conn, id)
			switch {
			case errors.Is(err, crm.ErrNotFound):
				field := fmt.Sprintf("beneficiaries.%d", i)
				faults.Add(field, "The %s field must be the id of an account: there is no account %q.", field, id)
			case err != nil:
				return nil, err
			}
			readers[account.Number] |= crm.Benefiting
		}
	}
	for above := owner.Parent; above != 0; {
		readers[above] |= crm.Chapter
		parent := int64(0)
		if _, err := one(t.conn, func(r rows) { parent = r.int(0) }, sqlParent, above); err != nil {
			return nil, err
		}
		above = parent
	}
	return readers, faults.Err()
}

// checkCampaigns refuses new campaigns where the owner's organization would have too many. It locks the accounts that will
// list them first, in ascending order, so that two at once cannot pass the limit together.
func (t *tx) checkCampaigns(owner crm.Account, plans []campaignPlan) error {
	created := int64(0)
	var readers []int64
	for _, p := range plans {
		if p.isNew {
			created++
			readers = slices.AppendSeq(readers, maps.Keys(p.readers))
		}
	}
	if created == 0 {
		return nil
	}
	slices.Sort(readers)
	for _, account := range slices.Compact(readers) {
		if _, err := t.tally(account); err != nil {
			return err
		}
	}
	top, _, err := topOf(t.conn, owner)
	if err != nil {
		return err
	}
	campaigns, err := countRows(t.conn, sqlCampaignCount, top, int64(crm.Benefiting))
	if err != nil {
		return err
	}
	return crm.CampaignLimit.Check(campaigns, created)
}

func (t *tx) saveCampaign(account int64, p campaignPlan) error {
	body, urlAt := p.campaign.AppendBody(nil)
	var err error
	switch {
	case p.isNew:
		_, err = t.exec(sqlInsertCampaign, p.campaign.ID, account, p.campaign.Slug, int64(urlAt), body)
	case p.changed:
		_, err = t.exec(sqlUpdateCampaign, p.campaign.ID, p.campaign.Slug, int64(urlAt), body)
	}
	if err != nil || p.readers == nil {
		return err
	}
	return t.saveReaders(p.campaign.ID, p.readers)
}

// saveReaders writes the difference, in the order of accounts, and moves the campaign revision of each account that is
// concerned.
func (t *tx) saveReaders(campaign int64, readers map[int64]crm.Relation) error {
	old := map[int64]crm.Relation{}
	err := each(t.conn, func(r rows) error {
		old[r.int(0)] = crm.Relation(r.int(1))
		return nil
	}, sqlCampaignReaders, campaign)
	if err != nil {
		return err
	}
	accounts := []int64{}
	for account := range readers {
		accounts = append(accounts, account)
	}
	for account := range old {
		accounts = append(accounts, account)
	}
	slices.Sort(accounts)
	for _, account := range slices.Compact(accounts) {
		if old[account] == readers[account] {
			continue
		}
		if readers[account] == 0 {
			_, err = t.exec(sqlDeleteReader, account, campaign)
		} else {
			_, err = t.exec(sqlPutReader, account, campaign, int64(readers[account]))
		}
		if err != nil {
			return err
		}
		row, err := t.tally(account)
		if err != nil {
			return err
		}
		row.campaignRevision++
		row.dirty = true
	}
	return nil
}

// campaignCache remembers which campaigns an account may list, for as long as its campaign revision stays. An account
// has few: what is kept is their ids, so that any page costs what the first one does.
type campaignCache struct {
	mu       sync.Mutex
	accounts map[int64]*campaignList
}

type campaignList struct {
	revision int64
	ids      map[crm.CampaignScope][]int64
}

// campaignListsKept bounds the cache; lists are quickly read again.
const campaignListsKept = 10_000

// of is the account's list at the snapshot that c reads.
func (cache *campaignCache) of(c conn, account int64) (*campaignList, error) {
	row, err := readTally(c, account, "")
	if err != nil {
		return nil, err
	}
	cache.mu.Lock()
	list := cache.accounts[account]
	cache.mu.Unlock()
	if list != nil && list.revision == row.campaignRevision {
		return list, nil
	}
	list = &campaignList{revision: row.campaignRevision, ids: map[crm.CampaignScope][]int64{}}
	err = each(c, func(r rows) error {
		for _, scope := range crm.CampaignScopes {
			if crm.Relation(r.int(1))&scope.Mask() != 0 {
				list.ids[scope] = append(list.ids[scope], r.int(0))
			}
		}
		return nil
	}, sqlReaderCampaigns, account)
	if err != nil {
		return nil, err
	}
	cache.mu.Lock()
	defer cache.mu.Unlock()
	if cache.accounts == nil || len(cache.accounts) >= campaignListsKept {
		cache.accounts = make(map[int64]*campaignList)
	}
	cache.accounts[account] = list
	return list, nil
}

// Campaigns appends the wire forms of one page of campaigns to dst, separated by commas, oldest first.
func (s *Store) Campaigns(ctx context.Context, account int64, scope crm.CampaignScope, page crm.PageRequest, baseURL string, dst []byte) ([]byte, ListResult, error) {
	var result ListResult
	start := len(dst)
	err := s.view(ctx, func(c conn) (err error) {
		dst = dst[:start]
		result, err = s.campaigns.page(c, account, scope, page, oldestFirst, func(r rows) error {
			if len(dst) > start {
				dst = append(dst, ',')
			}
			dst = crm.AppendCampaign(dst, r.int(0), r.bytes(2), int(r.int(1)), baseURL)
			return nil
		})
		return err
	})
	return dst, result, err
}

// page reads the rows of one page of the account's list, in ascending order whatever the order of pages is.
func (cache *campaignCache) page(c conn, account int64, scope crm.CampaignScope, page crm.PageRequest, order pageOrder, read func(rows) error) (result ListResult, err error) {
	list, err := cache.of(c, account)
	if err != nil {
		return result, err
	}
	ids := list.ids[scope]
	result.Total = int64(len(ids))
	if page.Skip() >= result.Total {
		return result, nil
	}
	from, to := order(page, result.Total)
	ids = ids[from:to]
	result.Count = int64(len(ids))
	args := make([]any, 0, scatteredWidth)
	for i := range scatteredWidth {
		args = append(args, ids[min(i, len(ids)-1)])
	}
	return result, each(c, read, sqlCampaigns, args...)
}

// pageOrder says where a page lies in a list that is kept oldest first.
type pageOrder func(page crm.PageRequest, total int64) (from, to int64)

func oldestFirst(page crm.PageRequest, total int64) (from, to int64) {
	return page.Skip(), min(page.Skip()+page.PerPage, total)
}

func newestFirst(page crm.PageRequest, total int64) (from, to int64) {
	from, to = oldestFirst(page, total)
	return total - to, total - from
}
