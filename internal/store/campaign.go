package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/crm/picture"
	"donorbook/internal/db"
)

const (
	SQLSlug         = `SELECT c.id, c.account_id, ` + campaignColumns + ` FROM campaign c WHERE c.slug = $1`
	SQLCampaignRow  = `SELECT c.id, c.account_id, ` + campaignColumns + ` FROM campaign c WHERE c.id = $1`
	SQLCampaignByID = `SELECT account_id FROM campaign WHERE id = $1`

	sqlCampaignReaders = `SELECT account_id, relation FROM campaign_reader WHERE campaign_id = $1 ORDER BY account_id`

	// A campaign that only benefits an account is another organization's.
	sqlCampaignCount = `SELECT COUNT(*) FROM campaign_reader WHERE account_id = $1 AND relation <> $2`
)

// ImportResult says what an import did.
type ImportResult struct {
	Created, Updated, Unchanged int
}

// ImportCampaigns creates campaigns, or updates those of the account that have the same slug: all of them or, where one
// is refused, none.
func (s *Store) ImportCampaigns(ctx context.Context, owner access.Account,
	inputs []campaign.Input,
) (result ImportResult, err error) {
	plans, err := s.changeCampaigns(ctx, owner, inputs, func(c *campaignChange) ([]campaignPlan, error) {
		return c.planImport(inputs)
	})
	for _, p := range plans {
		switch {
		case p.isNew:
			result.Created++
		case p.changed, len(p.moved) > 0:
			result.Updated++
		default:
			result.Unchanged++
		}
	}
	return result, err
}

// CreateCampaign makes a new campaign of a validated input. A slug that was sent must be free; one that is made from
// the title gets a number until it is.
func (s *Store) CreateCampaign(ctx context.Context, owner access.Account,
	in campaign.Input,
) (campaign.Campaign, error) {
	return s.changeCampaign(ctx, owner, in, func(c *campaignChange) (campaignPlan, error) { return c.planNew(in) })
}

// UpdateCampaign changes a campaign that the account owns: what a validated input does not name stays.
func (s *Store) UpdateCampaign(ctx context.Context, owner access.Account, id int64,
	in campaign.Input,
) (campaign.Campaign, error) {
	return s.changeCampaign(ctx, owner, in, func(c *campaignChange) (campaignPlan, error) {
		old, err := c.own(id, in.Seen)
		if err != nil {
			return campaignPlan{}, err
		}
		if in.Slug != nil && *in.Slug != "" && *in.Slug != old.Slug {
			_, _, err = c.findSlug(in, false)
		}
		p, err := c.plan(&old, in, old.Slug, err)
		if err == nil {
			err = Matches(ctx, MadeCampaign{Campaign: old}.ETag)
		}
		return p, err
	})
}

func (s *Store) changeCampaign(ctx context.Context, owner access.Account, in campaign.Input,
	decide func(*campaignChange) (campaignPlan, error),
) (campaign.Campaign, error) {
	plans, err := s.changeCampaigns(ctx, owner, []campaign.Input{in}, func(c *campaignChange) ([]campaignPlan, error) {
		p, err := decide(c)
		if err == nil && !p.isNew { // a new one has no gifts, and no id yet
			p.campaign.Given, err = c.given(p.campaign)
		}
		return []campaignPlan{p}, err
	})
	if err != nil {
		return campaign.Campaign{}, err
	}
	return plans[0].campaign, nil
}

// campaignChange is a unit of work in which campaigns of one account change.
type campaignChange struct {
	*Tx
	owner access.Account
	now   time.Time

	above         []int64          // the accounts above the owner, which list its campaigns, too
	beneficiaries map[string]int64 // accounts that the inputs name, by their public ids

	// What the rows of a file before this one have taken. Rows that ask for the same go on where the last one has
	// ended, so that a file costs what its length says.
	slugs map[string]bool
	tried map[string]int // slugs of each title

	unlocked []int64 // accounts whose lists change and that are not locked
}

// campaignPlan is what will be done to one campaign. Everything is decided before anything is written.
type campaignPlan struct {
	campaign campaign.Campaign
	old      *campaign.Campaign // nil for a new one
	isNew    bool
	changed  bool // its document, or what is kept beside it
	deleted  bool
	slug     string                      // that it had, where that changes
	readers  map[int64]campaign.Relation // who may list it from now on; nil where that stays
	benefits doc.Differences             // whom it benefits, where that changes
	pictures []picture.File              // that are new
	moved    []int64                     // the accounts whose lists change
}

// changeCampaigns decides about campaigns and writes them. It locks every account whose list may change before anything
// else, in ascending order, so that two changes do not wait for each other: the owner, the accounts above it and the
// beneficiaries. Where a list of any other account changes, as that of a former beneficiary, it begins again with that
// one.
func (s *Store) changeCampaigns(ctx context.Context, owner access.Account, inputs []campaign.Input,
	decide func(*campaignChange) ([]campaignPlan, error),
) (plans []campaignPlan, err error) {
	var above []int64
	named, err := Snapshot(ctx, s, func(c db.Conn) (named []access.Account, err error) {
		if above, err = AccountsAbove(c, owner); err == nil {
			named, err = db.List(c, ReadAccount, SQLAccountsByID, beneficiariesOf(inputs))
		}
		return named, err
	})
	if err != nil {
		return nil, err
	}
	beneficiaries, locked := make(map[string]int64), slices.Clone(above)
	for _, a := range named {
		beneficiaries[a.ID] = a.Number
		locked = append(locked, a.Number)
	}
	err = Repeat(func() error {
		now := s.Now()
		_, err := Answered(ctx, s, owner.Number, Needs{Also: locked}, func(u Unit) (made MadeCampaign, err error) {
			c := newChange(u.Tx, owner, above, beneficiaries, now)
			if plans, err = decide(c); err != nil {
				return made, err
			}
			if locked = append(locked, c.unlocked...); len(c.unlocked) > 0 {
				return made, ErrAgain
			}
			if err := c.number(plans, TopOf(owner, above)); err != nil {
				return made, err
			}
			for _, p := range plans { // the API, which answers with what was made, changes one at a time
				made = MadeCampaign{p.campaign, BaseURLOf(ctx), p.isNew}
			}
			return made, c.save(plans)
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	return plans, nil
}

// beneficiariesOf are the public ids of accounts that inputs name.
func beneficiariesOf(inputs []campaign.Input) (ids []string) {
	for _, in := range inputs {
		if in.Beneficiaries != nil {
			ids = append(ids, *in.Beneficiaries...)
		}
	}
	slices.Sort(ids)
	return slices.DeleteFunc(slices.Compact(ids), func(id string) bool { return !access.IsAccountID(id) })
}

// planImport decides about every row, and tells all faults at once.
func (c *campaignChange) planImport(inputs []campaign.Input) (plans []campaignPlan, err error) {
	wrong := &campaign.RowsInvalid{}
	for i, in := range inputs {
		slug, old, err := c.findSlug(in, true)
		c.slugs[slug] = true
		if old != nil {
			in.DropTotals(*old)
		}
		p, err := c.plan(old, in, slug, err)
		var faults *doc.Invalid
		switch {
		case errors.As(err, &faults):
			wrong.Rows = append(wrong.Rows, campaign.RowFaults{Row: i + 1, Faults: faults.Faults})
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

// plan decides about one campaign, a new one where old is nil, and tells all its faults at once; slugErr is what is
// wrong with its slug.
func (c *campaignChange) plan(old *campaign.Campaign, in campaign.Input, slug string,
	slugErr error,
) (p campaignPlan, err error) {
	var inputErr, readersErr error
	if old == nil {
		inputErr = in.CheckNew()
	} else {
		p.campaign = old.Update(in, c.now)
		inputErr = c.checkCurrency(*old, p.campaign)
	}
	if old == nil || in.Beneficiaries != nil {
		p.readers, readersErr = c.readers(in.Beneficiaries)
	}
	if err := FirstOrFaults(inputErr, slugErr, readersErr); err != nil {
		return p, err
	}
	var was map[int64]campaign.Relation
	if p.old = old; old == nil {
		p.campaign, p.isNew = campaign.New(in, c.owner, 0, slug, c.now), true // number gives the id
	}
	if p.pictures, err = c.pictures(&p.campaign, in.Pictures); err != nil {
		return p, err
	}
	if old != nil {
		before, _ := old.AppendBody(nil)
		after, _ := p.campaign.AppendBody(nil)
		p.changed = string(before) != string(after) || p.campaign.Status != old.Status ||
			p.campaign.PaymentLink != old.PaymentLink
		if p.campaign.Slug != old.Slug {
			p.slug = old.Slug
		}
		appears := (p.campaign.Status == campaign.Draft) != (old.Status == campaign.Draft)
		if p.readers == nil && !appears {
			return p, nil
		}
		if was, err = Relations(c.Conn, old.ID); err != nil {
			return p, err
		}
		if p.readers == nil {
			p.readers = was
		}
	}
	c.move(&p, was)
	if old != nil && len(Differences(was, p.readers)) > 0 {
		ids, err := beneficiaries(c.Conn, old.ID)
		if err != nil {
			return p, err
		}
		p.benefits = doc.Differences{doc.TextsDifference("beneficiaries", ids,
			slices.Sorted(slices.Values(*in.Beneficiaries)))}
	}
	return p, nil
}

// checkCurrency refuses another currency once a campaign has gifts: what it has raised would become other money.
func (c *campaignChange) checkCurrency(old, next campaign.Campaign) error {
	if next.Currency == old.Currency {
		return nil
	}
	found, err := c.Exists(sqlCampaignGift, c.owner.Number, old.ID)
	if found {
		err = Fault("currency", doc.CurrencyStays, old.Currency, "campaign")
	}
	return err
}

// given is what the gifts to a campaign come to in its currency.
func (c *campaignChange) given(of campaign.Campaign) (campaign.Given, error) {
	sums, err := c.Account(c.owner.Number).Giving.Get(c.Tx, c.owner.Number, giving.CampaignCell(of.ID, of.Currency))
	if err != nil || sums == nil {
		return campaign.Given{}, err
	}
	return campaign.Given{Amount: sums.Amount, Donors: sums.Donors}, nil
}

// move notes whose lists change where those who could list a campaign were others, or its status was.
func (c *campaignChange) move(p *campaignPlan, was map[int64]campaign.Relation) {
	p.moved = Differences(was, p.readers)
	if p.old != nil {
		p.moved = append(p.moved, Differences(listed(was, p.old.Status), listed(p.readers, p.campaign.Status))...)
		slices.Sort(p.moved)
		p.moved = slices.Compact(p.moved)
	}
	for _, account := range p.moved {
		if c.Accounts[account] == nil {
			c.unlocked = append(c.unlocked, account)
		}
	}
}

// listed is who lists a campaign while it has a status.
func listed(readers map[int64]campaign.Relation, status string) map[int64]campaign.Relation {
	readers = maps.Clone(readers)
	for account, relation := range readers {
		readers[account] = relation.While(status)
	}
	return readers
}

// findSlug chooses the slug: the one that was sent, or the first one made from the title, that no campaign has. Where
// mine is true, it may also be that of a campaign of the account, which is old then.
func (c *campaignChange) findSlug(in campaign.Input, mine bool) (slug string, old *campaign.Campaign, err error) {
	for slug := range campaign.SlugCandidates(in, c.tried) {
		if c.slugs[slug] {
			continue
		}
		row, err := FindCampaign(c.Conn, SQLSlug, slug)
		switch {
		case errors.Is(err, crm.ErrNotFound):
			return slug, nil, nil
		case err != nil:
			return "", nil, err
		case mine && row.of == c.owner.Number:
			campaign, err := row.Parse()
			return slug, &campaign, err
		}
	}
	faults := &doc.Invalid{}
	faults.Add("slug", doc.Taken)
	return "", nil, faults
}

// number gives the new campaigns their ids, in the order in which lists show them. The account at the top, which counts
// all of its organization, is locked.
func (c *campaignChange) number(plans []campaignPlan, top int64) error {
	var created []*campaign.Campaign
	for i := range plans {
		if plans[i].isNew {
			created = append(created, &plans[i].campaign)
		}
	}
	if len(created) == 0 {
		return nil
	}
	if err := c.CheckLimit(campaign.Limit, int64(len(created)), sqlCampaignCount, top,
		int64(campaign.Benefiting)); err != nil {
		return err
	}
	slices.SortStableFunc(created, func(a, b *campaign.Campaign) int { return cmp.Compare(a.ListedAt, b.ListedAt) })
	row := c.Account(c.owner.Number)
	seq := row.CampaignSeq
	for _, campaign := range created {
		for taken := true; taken; { // by an older campaign, whose id is a time
			if seq++; seq > doc.MaxSeq {
				return ErrNoMoreIDs
			}
			campaign.ID = doc.MakeID(row.Number, seq)
			var err error
			if taken, err = c.Exists(SQLCampaignByID, campaign.ID); err != nil {
				return err
			}
		}
	}
	row.Touch()
	row.CampaignSeq = seq
	return nil
}

// readers is who may list a campaign, and why: its owner, its beneficiaries, and every account above the owner.
func (c *campaignChange) readers(beneficiaries *[]string) (map[int64]campaign.Relation, error) {
	readers := map[int64]campaign.Relation{c.owner.Number: campaign.Own}
	for _, account := range c.above {
		readers[account] |= campaign.Chapter
	}
	faults := &doc.Invalid{}
	if beneficiaries != nil {
		for i, id := range *beneficiaries {
			if account, ok := c.beneficiaries[id]; ok {
				readers[account] |= campaign.Benefiting
				continue
			}
			field := fmt.Sprintf("beneficiaries.%d", i)
			faults.Add(field, "The %s field must be the id of an account: there is no account %q.", field, id)
		}
	}
	return readers, faults.Err()
}

// own finds a campaign of the account, which is locked, where it is still what the user saw of it.
func (c *campaignChange) own(id int64, seen string) (campaign.Campaign, error) {
	row, err := FindCampaign(c.Conn, SQLCampaignRow, id)
	if err == nil && row.of != c.owner.Number {
		err = crm.ErrNotFound
	}
	campaign, err := ParseFound(row, err)
	if err != nil || seen == "" {
		return campaign, err
	}
	ids, err := beneficiaries(c.Conn, id)
	if err == nil && campaign.Version(ids) != seen {
		err = crm.ErrChanged
	}
	return campaign, err
}

// FirstOrFaults is the first error that is not about the input, or all faults of the input together.
func FirstOrFaults(errs ...error) error {
	all := &doc.Invalid{}
	for _, err := range errs {
		var faults *doc.Invalid
		switch {
		case errors.As(err, &faults):
			all.Faults = append(all.Faults, faults.Faults...)
		case err != nil:
			return err
		}
	}
	return all.Err()
}

func (c *campaignChange) save(plans []campaignPlan) error {
	for _, p := range plans {
		revision := c.note(p)
		body, urlAt := p.campaign.AppendBody(nil)
		row := []any{p.campaign.ID, c.owner.Number, p.campaign.Slug, int64(urlAt), body, Checksum(body),
			giving.CampaignCell(p.campaign.ID, p.campaign.Currency), p.campaign.Status, p.campaign.PaymentLink,
			p.campaign.ListedAt, revision}
		switch {
		case p.isNew:
			c.Insert(CampaignTable, row...)
		case p.deleted:
			c.Delete(CampaignTable, p.campaign.ID)
		case revision != 0:
			c.Save(CampaignTable, row...)
		}
		c.savePictures(p)
		delete(c.Account(c.owner.Number).Campaigns.Rows, p.campaign.ID) // gifts of the batch must look again
		if err := c.moveSlugs(p); err != nil {
			return err
		}
		if err := MoveReaders(c.Tx, p.campaign.ID, p.moved, p.readers); err != nil {
			return err
		}
	}
	return nil
}

// note notes what is done to a campaign; the revision is 0 where that is nothing.
func (c *campaignChange) note(p campaignPlan) (revision int64) {
	kind, data := history.DidUpdate, p.benefits
	switch {
	case p.isNew:
		kind = history.DidCreate
	case p.deleted:
		kind, data = history.DidDelete, doc.Differences{doc.TextDifference("title", p.campaign.Title, "")}
	case p.changed:
		data = append(p.old.Differences(&p.campaign), data...)
	case len(p.moved) == 0:
		return 0
	}
	return c.Account(c.owner.Number).Record(history.CampaignNoun, p.campaign.ID, kind, data.Text())
}

// Relations is who may list a campaign now.
func Relations(c db.Conn, id int64) (map[int64]campaign.Relation, error) {
	readers := make(map[int64]campaign.Relation)
	err := c.Scan(func(r db.Row) { readers[r.Int(0)] = campaign.Relation(r.Int(1)) }, sqlCampaignReaders, id)
	return readers, err
}

// Differences are the accounts whose relations differ, in ascending order.
func Differences(was, now map[int64]campaign.Relation) []int64 {
	accounts := slices.AppendSeq(slices.Collect(maps.Keys(was)), maps.Keys(now))
	slices.Sort(accounts)
	return slices.DeleteFunc(slices.Compact(accounts), func(account int64) bool { return was[account] == now[account] })
}

// SaveReaders makes a campaign one that these accounts may list.
func SaveReaders(t *Tx, campaign int64, readers map[int64]campaign.Relation) error {
	was, err := Relations(t.Conn, campaign)
	if err != nil {
		return err
	}
	return MoveReaders(t, campaign, Differences(was, readers), readers)
}

// MoveReaders writes what these accounts may do with a campaign, and moves their campaign revisions.
func MoveReaders(t *Tx, campaign int64, accounts []int64, readers map[int64]campaign.Relation) error {
	for _, account := range accounts {
		if readers[account] == 0 {
			t.Delete(ReaderTable, account, campaign)
		} else {
			t.Save(ReaderTable, account, campaign, int64(readers[account]))
		}
		u, err := t.LockAccount(account)
		if err != nil {
			return err
		}
		u.Touch()
		u.CampaignRevision++
	}
	return nil
}

const campaignResource = "campaign"

// Resource names the campaign for an answer that shows it.
func (m MadeCampaign) Resource() Resource {
	return Resource{Kind: campaignResource, ID: m.ID}
}

func rereadCampaign(u Unit, id int64, baseURL string) (Result, error) {
	campaign, err := ParseFound(FindCampaign(u.Conn, sqlCampaign, u.Number, id))
	return MadeCampaign{Campaign: campaign, BaseURL: baseURL}, err
}

// OwnCampaign is what a gift has to know of a campaign of its account.
type OwnCampaign struct{ Slug, Currency string }

func scanOwnCampaign(r db.Row) (int64, *OwnCampaign) {
	row := CampaignRow{ID: r.Int(0), Body: slices.Clone(r.Bytes(2)), Checksum: r.Int(3)}
	campaign, err := row.Parse()
	if err != nil { // a damaged one takes no gifts
		return row.ID, nil
	}
	return row.ID, &OwnCampaign{r.Text(1), campaign.Currency}
}

const SQLOwnCampaigns = `SELECT id, slug, body, checksum FROM campaign WHERE account_id = $1 AND id = ANY($2)`
