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
	"donorbook/internal/db"
)

const (
	sqlCampaignBySlug = `SELECT id, account_id, body, checksum FROM campaign WHERE slug = $1`
	sqlCampaignByID   = `SELECT account_id FROM campaign WHERE id = $1`

	sqlCampaignReaders = `SELECT account_id, relation FROM campaign_reader WHERE campaign_id = $1 ORDER BY account_id`
	sqlParent          = `SELECT parent FROM account WHERE account_id = $1`

	// A campaign that only benefits an account is another organization's.
	sqlCampaignCount = `SELECT COUNT(*) FROM campaign_reader WHERE account_id = $1 AND relation <> $2`

	sqlReaderCampaigns = `SELECT campaign_id, relation FROM campaign_reader WHERE account_id = $1 ORDER BY campaign_id`
)

const sqlCampaigns = `SELECT id, url_at, body, checksum FROM campaign WHERE id = ANY($1) ORDER BY id`

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

// changeCampaigns locks the owner and the accounts above, which list its campaigns. It begins again where another node has taken an id or
// a slug while we looked.
func (s *Store) changeCampaigns(ctx context.Context, owner crm.Account, fn func(*tx, time.Time) error) error {
	var above []int64
	err := s.view(ctx, func(c db.Conn) (err error) {
		above, err = accountsAbove(c, owner)
		return err
	})
	if err != nil {
		return err
	}
	for range 20 {
		now := s.now()
		err = s.update(ctx, owner.Number, needs{also: above}, func(t *tx) error { return fn(t, now) })
		if !errors.Is(err, db.ErrTaken) {
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

// imported is what the rows before have taken. Rows that ask for the same go on where the last one has ended, so that a file
// costs what its length says.
type imported struct {
	slugs map[string]bool
	tried map[string]int // slugs of each title
	ids   map[int64]bool
	next  map[int64]int64 // the id to try after each first one
}

func newImport() *imported {
	return &imported{slugs: map[string]bool{}, tried: map[string]int{}, ids: map[int64]bool{}, next: map[int64]int64{}}
}

// planImport decides about every row, and tells all faults at once.
func (t *tx) planImport(owner crm.Account, inputs []crm.CampaignInput, now time.Time) ([]campaignPlan, error) {
	wrong := &crm.RowsInvalid{}
	before := newImport()
	var plans []campaignPlan
	for i, in := range inputs {
		p, err := t.planCampaign(owner, in, now, before)
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

func (t *tx) planCampaign(owner crm.Account, in crm.CampaignInput, now time.Time, before *imported) (p campaignPlan, err error) {
	slug, old, err := t.findSlug(owner, in, before)
	if err != nil {
		return p, err
	}
	before.slugs[slug] = true
	if old == nil {
		if err := in.CheckNew(); err != nil {
			return p, err
		}
		id, err := t.freeCampaignID(in.ID(now), before)
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
func (t *tx) findSlug(owner crm.Account, in crm.CampaignInput, before *imported) (slug string, old *crm.Campaign, err error) {
	for slug := range crm.SlugCandidates(in, before.tried) {
		if before.slugs[slug] {
			continue
		}
		c, account, err := campaignBySlug(t.Conn, slug)
		switch {
		case errors.Is(err, crm.ErrNotFound):
			return slug, nil, nil
		case err != nil:
			return "", nil, err
		case account == owner.Number:
			return slug, &c, nil
		}
	}
	return "", nil, slugIsTaken()
}

// campaignBySlug finds a campaign and the number of the account that it belongs to.
func campaignBySlug(c db.Conn, slug string) (campaign crm.Campaign, account int64, err error) {
	found := false
	err = c.Each(func(r db.Row) (err error) {
		found, account = true, r.Int(1)
		campaign, err = parseCampaign(r, 2, r.Int(0))
		return err
	}, sqlCampaignBySlug, slug)
	if err == nil && !found {
		err = crm.ErrNotFound
	}
	return campaign, account, err
}

func slugIsTaken() error {
	faults := &crm.Invalid{}
	faults.Add("slug", crm.Taken)
	return faults
}

// freeCampaignID is the first id from the given one on that no campaign has.
func (t *tx) freeCampaignID(first int64, before *imported) (int64, error) {
	for id := max(first, before.next[first]); ; id++ {
		if before.ids[id] {
			continue
		}
		found, err := t.Exists(sqlCampaignByID, id)
		if err != nil {
			return 0, err
		}
		if !found {
			before.ids[id], before.next[first] = true, id+1
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
			account, err := findAccount(t.Conn, id)
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
	above, err := accountsAbove(t.Conn, owner)
	if err != nil {
		return nil, err
	}
	for _, account := range above {
		readers[account] |= crm.Chapter
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
		if _, err := t.lock(account); err != nil {
			return err
		}
	}
	above, err := accountsAbove(t.Conn, owner)
	if err != nil {
		return err
	}
	campaigns, err := t.Int(sqlCampaignCount, topOf(owner, above), int64(crm.Benefiting))
	if err != nil {
		return err
	}
	return crm.CampaignLimit.Check(campaigns, created)
}

func (t *tx) saveCampaign(account int64, p campaignPlan) error {
	body, urlAt := p.campaign.AppendBody(nil)
	row := []any{p.campaign.ID, account, p.campaign.Slug, int64(urlAt), body, checksum(body)}
	switch {
	case p.isNew:
		t.Insert(campaignTable, row...)
	case p.changed:
		t.Save(campaignTable, row...)
	}
	if p.readers == nil {
		return nil
	}
	return t.saveReaders(p.campaign.ID, p.readers)
}

// relations is who may list a campaign now.
func relations(c db.Conn, campaign int64) (map[int64]crm.Relation, error) {
	readers := make(map[int64]crm.Relation)
	err := c.Each(func(r db.Row) error {
		readers[r.Int(0)] = crm.Relation(r.Int(1))
		return nil
	}, sqlCampaignReaders, campaign)
	return readers, err
}

// saveReaders writes the difference, in the order of accounts, and moves the campaign revision of each account that is
// concerned.
func (t *tx) saveReaders(campaign int64, readers map[int64]crm.Relation) error {
	old, err := relations(t.Conn, campaign)
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
			t.Delete(readerTable, account, campaign)
		} else {
			t.Save(readerTable, account, campaign, int64(readers[account]))
		}
		row, err := t.lock(account)
		if err != nil {
			return err
		}
		row.touch(t)
		row.campaignRevision++
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
func (cache *campaignCache) of(c db.Conn, account int64) (*campaignList, error) {
	row, err := readTally(c, account)
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
	err = c.Each(func(r db.Row) error {
		for _, scope := range crm.CampaignScopes {
			if crm.Relation(r.Int(1))&scope.Mask() != 0 {
				list.ids[scope] = append(list.ids[scope], r.Int(0))
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

// Campaigns appends the wire forms of one page of campaigns to dst, separated by commas, oldest first. A large page goes through
// flush piece by piece.
func (s *Store) Campaigns(ctx context.Context, account int64, scope crm.CampaignScope, page crm.PageRequest, baseURL string, dst []byte, flush Flush) ([]byte, ListResult, error) {
	var result ListResult
	var ids []int64
	p := newPieces(dst, flush)
	read := func(c db.Conn, ids []int64) error {
		return p.read(c, func(dst []byte, r db.Row) ([]byte, error) {
			body, err := campaignBody(r, 2, r.Int(0))
			if err != nil {
				return dst, err
			}
			return crm.AppendCampaign(dst, r.Int(0), body, int(r.Int(1)), baseURL), nil
		}, sqlCampaigns, ids)
	}
	err := s.view(ctx, func(c db.Conn) (err error) {
		result, ids, err = s.campaigns.page(c, account, scope, page, oldestFirst)
		if err != nil || len(ids) == 0 {
			return err
		}
		return read(c, ids)
	})
	if err == nil && p.full() {
		err = p.rest(ctx, s, ids, read)
	}
	return p.dst, result, err
}

// page finds one page of the account's list, in ascending order whatever the order of pages is.
func (cache *campaignCache) page(c db.Conn, account int64, scope crm.CampaignScope, page crm.PageRequest, order pageOrder) (result ListResult, ids []int64, err error) {
	list, err := cache.of(c, account)
	if err != nil {
		return result, nil, err
	}
	ids = list.ids[scope]
	result.Total = int64(len(ids))
	if page.Skip() >= result.Total {
		return result, nil, nil
	}
	from, to := order(page)(result.Total)
	ids = ids[from:to]
	result.Count = int64(len(ids))
	return result, ids, nil
}
