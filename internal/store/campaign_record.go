package store

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/picture"
	"donorbook/internal/db"
)

const (
	// What a campaign is made of behind its id and one more column. Campaigns are on every machine; what was given to
	// one is with the account that owns it, and read by itself.
	campaignColumns = `c.body, c.checksum, c.status, c.payment_link, c.listed_at, c.account_id, c.cell`

	sqlCampaign = `SELECT c.id, r.relation, ` + campaignColumns + ` FROM campaign_reader r
		JOIN campaign c ON c.id = r.campaign_id WHERE r.account_id = $1 AND r.campaign_id = $2`
	sqlGivenTo   = `SELECT cell, amount, donors FROM giving WHERE account_id = $1 AND cell = ANY($2)`
	SQLCampaigns = `SELECT c.id, c.url_at, ` + campaignColumns +
		` FROM campaign c WHERE c.id = ANY($1) ORDER BY c.listed_at, c.id`
	sqlCampaignCells  = `SELECT id, account_id, cell FROM campaign WHERE id = ANY($1)`
	sqlCampaignBySlug = `SELECT c.id, c.account_id, ` + campaignColumns +
		`, a.name FROM campaign c JOIN account a ON a.account_id = c.account_id WHERE c.slug = $1`
	SQLCampaignByOldSlug = `SELECT c.id, c.account_id, ` + campaignColumns +
		`, a.name FROM campaign_slug s JOIN campaign c ON c.id = s.campaign_id
		JOIN account a ON a.account_id = c.account_id WHERE s.slug = $1`
	sqlSlugID           = `SELECT id FROM campaign WHERE slug = $1`
	sqlOldSlugID        = `SELECT campaign_id FROM campaign_slug WHERE slug = $1`
	SQLReaderCampaigns  = `SELECT campaign_id, relation FROM campaign_reader WHERE account_id = $1 ORDER BY campaign_id`
	sqlCampaignAccounts = `SELECT id, account_id, listed_at, status FROM campaign WHERE id = ANY($1)`
)

// CampaignRow is a campaign as it is stored.
type CampaignRow struct {
	ID, of       int64 // of is its account, or what else the statement asks for
	Body         []byte
	Checksum     int64
	status, link string
	listedAt     int64
	givingCell
	given campaign.Given // where it was asked for
}

func ScanCampaign(r db.Row) CampaignRow {
	return CampaignRow{ID: r.Int(0), of: r.Int(1), Body: slices.Clone(r.Bytes(2)), Checksum: r.Int(3),
		status: r.Text(4), link: r.Text(5), listedAt: r.Int(6), givingCell: givingCell{r.Int(7), r.Text(8)}}
}

// givingCell is where the sum of what was given to a campaign is.
type givingCell struct {
	owner int64
	cell  string
}

// givenTo reads what was given to campaigns, of one account after the other.
func givenTo(c db.Conn, cells []givingCell) (given map[givingCell]campaign.Given, err error) {
	byOwner := make(map[int64][]string)
	for _, at := range cells {
		byOwner[at.owner] = append(byOwner[at.owner], at.cell)
	}
	given = make(map[givingCell]campaign.Given, len(cells))
	for owner, cells := range byOwner {
		if err == nil {
			err = c.Scan(func(r db.Row) {
				given[givingCell{owner, r.Text(0)}] = campaign.Given{Amount: r.Int(1), Donors: r.Int(2)}
			}, sqlGivenTo, owner, cells)
		}
	}
	return given, err
}

// ReadCampaigns reads the campaigns that a statement finds, with what was given to them.
func ReadCampaigns(c db.Conn, sql string, args ...any) ([]CampaignRow, error) {
	rows, err := db.List(c, ScanCampaign, sql, args...)
	if err != nil {
		return nil, err
	}
	given, err := givenTo(c, Collect(rows, func(row CampaignRow) givingCell { return row.givingCell }))
	for i := range rows {
		rows[i].given = given[rows[i].givingCell]
	}
	return rows, err
}

// FindCampaign reads the campaign that a statement finds, with what was given to it.
func FindCampaign(c db.Conn, sql string, args ...any) (CampaignRow, error) {
	rows, err := ReadCampaigns(c, sql, args...)
	if err != nil || len(rows) == 0 {
		return CampaignRow{}, cmp.Or(err, crm.ErrNotFound)
	}
	return rows[0], nil
}

// findReadable reads a campaign that the account may list. The row is of its relation to it.
func findReadable(c db.Conn, account, id int64) (CampaignRow, error) {
	row, err := FindCampaign(c, sqlCampaign, account, id)
	if err == nil && campaign.Relation(row.of).While(row.status) == 0 {
		return CampaignRow{}, crm.ErrNotFound
	}
	return row, err
}

func (row CampaignRow) Parse() (campaign.Campaign, error) {
	if err := Intact(CampaignTable, row.ID, row.Body, row.Checksum); err != nil {
		return campaign.Campaign{}, err
	}
	c, err := campaign.Parse(row.ID, row.Body)
	c.Status, c.PaymentLink, c.Given, c.ListedAt = row.status, row.link, row.given, row.listedAt
	return c, err
}

// ParseFound parses a campaign that was found.
func ParseFound(row CampaignRow, err error) (campaign.Campaign, error) {
	if err != nil {
		return campaign.Campaign{}, err
	}
	return row.Parse()
}

// CampaignBySlug finds a campaign, and the name of the account that it belongs to, for anyone who knows its address: by
// the slug that it has, or by one that it had and no other campaign has now.
func (s *Store) CampaignBySlug(ctx context.Context, slug string) (campaign campaign.Campaign, owner string, err error) {
	found, err := Snapshot(ctx, s, func(c db.Conn) (found CampaignRow, err error) {
		err = crm.ErrNotFound
		for _, sql := range []string{sqlCampaignBySlug, SQLCampaignByOldSlug} {
			if errors.Is(err, crm.ErrNotFound) {
				found, err = FindIn(c, crm.ErrNotFound, func(r db.Row) CampaignRow {
					owner = r.Text(9)
					return ScanCampaign(r)
				}, sql, slug)
			}
		}
		if err != nil {
			return found, err
		}
		given, err := givenTo(c, []givingCell{found.givingCell})
		found.given = given[found.givingCell]
		return found, err
	})
	campaign, err = ParseFound(found, err)
	return campaign, owner, err
}

// Coded is the id of a campaign that a client names by its id, by its code, which is its slug or one that it had, or by
// both. It is -1, which is never an id, where there is none.
func Coded(c db.Conn, id int64, code string) (int64, error) {
	if code == "" {
		return id, nil
	}
	found := int64(-1)
	for _, sql := range []string{sqlSlugID, sqlOldSlugID} {
		ok, err := c.One(func(r db.Row) { found = r.Int(0) }, sql, code)
		if err != nil {
			return 0, err
		}
		if ok {
			break
		}
	}
	if id != 0 && id != found {
		found = -1
	}
	return found, nil
}

// CampaignRecord is a campaign as an account that may list it sees it.
type CampaignRecord struct {
	Campaign campaign.Campaign
	Relation campaign.Relation

	// Only for the owner:
	Beneficiaries []string // public ids of accounts in ascending order
	Uncounted     []string // other currencies than its own in which gifts came
}

// Version names the state that the owner sees.
func (r CampaignRecord) Version() string { return r.Campaign.Version(r.Beneficiaries) }

// Campaign finds a campaign that the account may list, for any reason. All others do not exist for it.
func (s *Store) Campaign(ctx context.Context, account, id int64) (CampaignRecord, error) {
	return Snapshot(ctx, s, func(c db.Conn) (record CampaignRecord, err error) {
		row, err := findReadable(c, account, id)
		if record.Campaign, err = ParseFound(row, err); err != nil {
			return record, err
		}
		if record.Relation = campaign.Relation(row.of); record.Relation&campaign.Own != 0 {
			if record.Beneficiaries, err = beneficiaries(c, id); err == nil {
				record.Uncounted, err = uncounted(c, account, record.Campaign)
			}
		}
		return record, err
	})
}

// MadeCampaign is a campaign that was created or changed, as the API shows it.
type MadeCampaign struct {
	campaign.Campaign
	BaseURL string // of its address
	Created bool
}

// Append appends the wire form.
func (m MadeCampaign) Append(dst []byte) []byte {
	body, urlAt := m.AppendBody(nil)
	return campaign.Append(dst, m.ID, body, urlAt, m.BaseURL, m.Given, m.Status)
}

// ETag names the state that a campaign is in, at whatever address it is shown.
func (m MadeCampaign) ETag() doc.ETag {
	m.BaseURL = ""
	return doc.TagOf(m.Append(nil))
}

// Outcome tells what has become of a create.
func (m MadeCampaign) Outcome() Outcome {
	return Outcome{Created: m.Created, Tag: m.ETag()}
}

// CampaignWire appends the wire form of a campaign that the account may list, for any reason, and tells the state that
// it is in.
func (s *Store) CampaignWire(ctx context.Context, account, id int64, baseURL string,
	dst []byte,
) ([]byte, doc.ETag, error) {
	campaign, err := ParseFound(Snapshot(ctx, s, func(c db.Conn) (CampaignRow, error) {
		return findReadable(c, account,
			id)
	}))
	if err != nil {
		return dst, doc.ETag{}, err
	}
	found := MadeCampaign{Campaign: campaign, BaseURL: baseURL}
	return found.Append(dst), found.ETag(), nil
}

const sqlNextCell = `SELECT cell, gifts FROM giving WHERE account_id = $1 AND cell >= $2 AND cell < $3 ORDER BY cell
	LIMIT 1`

// uncounted are the currencies of gifts that do not count for a campaign. It goes from one currency to the next,
// whatever many contacts have given in each: the sums of all of them come first.
func uncounted(c db.Conn, owner int64, campaign campaign.Campaign) (currencies []string, err error) {
	from, end := giving.Cell(campaign.ID, 0, "", 0), giving.Cell(campaign.ID, 1, "", 0)
	for found := true; found && err == nil; {
		found, err = c.One(func(r db.Row) {
			_, _, currency, _ := giving.CellParts(r.Text(0))
			if currency != campaign.Currency && r.Int(1) > 0 {
				currencies = append(currencies, currency)
			}
			from = giving.Cell(campaign.ID, 0, currency+"~", 0) // after those of all contacts
		}, sqlNextCell, owner, from, end)
	}
	return currencies, err
}

// beneficiaries are the public ids of accounts that a campaign benefits, in ascending order.
func beneficiaries(c db.Conn, id int64) (ids []string, err error) {
	readers, err := Relations(c, id)
	if err != nil {
		return nil, err
	}
	var numbers []int64
	for account, relation := range readers {
		if relation&campaign.Benefiting != 0 {
			numbers = append(numbers, account)
		}
	}
	accounts, err := db.List(c, ReadAccount, SQLAccountsByNumber, numbers)
	ids = Collect(accounts, func(a access.Account) string { return a.ID })
	slices.Sort(ids)
	return ids, err
}

// CampaignPage is one page of campaigns, newest first.
func (s *Store) CampaignPage(ctx context.Context, account int64, scope campaign.Scope,
	page crm.PageRequest,
) (campaigns []campaign.Campaign, result ListResult, err error) {
	rows, err := Snapshot(ctx, s, func(c db.Conn) (rows []CampaignRow, err error) {
		var ids []int64
		if result, ids, err = s.Listed.Page(c, account, scope, page, NewestFirst); err != nil || len(ids) == 0 {
			return nil, err
		}
		return ReadCampaigns(c, SQLCampaigns, ids)
	})
	for _, row := range slices.Backward(rows) {
		campaign, err := row.Parse()
		if err != nil {
			return nil, result, err
		}
		campaigns = append(campaigns, campaign)
	}
	return campaigns, result, err
}

// CampaignTotals is how many campaigns the account has in each scope.
func (s *Store) CampaignTotals(ctx context.Context, account int64) (map[campaign.Scope]int64, error) {
	list, err := Snapshot(ctx, s, func(c db.Conn) (*campaignList, error) { return s.Listed.of(c, account) })
	if err != nil {
		return nil, err
	}
	totals := map[campaign.Scope]int64{}
	for _, scope := range campaign.Scopes {
		totals[scope] = int64(len(list.ids[scope]))
	}
	return totals, nil
}

// campaignCache remembers which campaigns an account may list, for as long as its campaign revision stays. An account
// has few: what is kept is their ids, so that any page costs what the first one does.
type campaignCache struct {
	Cache[int64, *campaignList] // by account
}

type campaignList struct {
	revision int64
	ids      map[campaign.Scope][]int64
}

// of is the account's list at the snapshot that c reads.
func (cache *campaignCache) of(c db.Conn, account int64) (*campaignList, error) {
	row, err := ReadTally(c, account)
	if err != nil {
		return nil, err
	}
	if list, ok := cache.Get(account); ok && list.revision == row.CampaignRevision {
		return list, nil
	}
	list := &campaignList{revision: row.CampaignRevision, ids: map[campaign.Scope][]int64{}}
	found, err := ReadableCampaigns(c, account)
	if err != nil {
		return nil, err
	}
	for _, one := range found {
		for _, scope := range campaign.Scopes {
			if one.Relation&scope.Mask() != 0 {
				list.ids[scope] = append(list.ids[scope], one.ID)
			}
		}
	}
	cache.Keep(account, list, int64(len(found)*len(campaign.Scopes)*8))
	return list, nil
}

// readableCampaign is a campaign that an account may list.
type readableCampaign struct {
	ID, Owner, listedAt int64
	Relation            campaign.Relation
}

// ReadableCampaigns are the campaigns that an account may list, oldest first.
func ReadableCampaigns(c db.Conn, account int64) (found []readableCampaign, err error) {
	relations, ids := map[int64]campaign.Relation{}, []int64{}
	err = c.Scan(func(r db.Row) { relations[r.Int(0)], ids = campaign.Relation(r.Int(1)), append(ids, r.Int(0)) },
		SQLReaderCampaigns, account)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	found, err = db.List(c, func(r db.Row) readableCampaign {
		return readableCampaign{r.Int(0), r.Int(1), r.Int(2), relations[r.Int(0)].While(r.Text(3))}
	}, sqlCampaignAccounts, ids)
	found = slices.DeleteFunc(found, func(c readableCampaign) bool { return c.Relation == 0 })
	SortRows(found, func(a, b *readableCampaign) int {
		return cmp.Or(cmp.Compare(a.listedAt, b.listedAt), cmp.Compare(a.ID, b.ID))
	})
	return found, err
}

// Campaigns appends the wire forms of one page of campaigns to dst, separated by commas, oldest first. A large page
// goes through flush piece by piece.
func (s *Store) Campaigns(ctx context.Context, account int64, scope campaign.Scope, page crm.PageRequest,
	baseURL string, dst []byte, flush Flush,
) ([]byte, ListResult, error) {
	var result ListResult
	var ids []int64
	p := NewPieces(dst, flush)
	p.Lossy = true
	read := func(c db.Conn, ids []int64) error {
		cells, err := db.List(c, func(r db.Row) givingCell { return givingCell{r.Int(1), r.Text(2)} }, sqlCampaignCells,
			ids)
		if err != nil {
			return err
		}
		given, err := givenTo(c, cells)
		if err != nil {
			return err
		}
		return p.Read(c, func(dst []byte, r db.Row) ([]byte, error) {
			body, err := DocumentIn(CampaignTable, r, 2, r.Int(0))
			if err != nil {
				return dst, err
			}
			return campaign.Append(dst, r.Int(0), body, int(r.Int(1)), baseURL, given[givingCell{r.Int(7), r.Text(8)}],
				r.Text(4)), nil
		}, SQLCampaigns, ids)
	}
	err := s.View(ctx, func(c db.Conn) (err error) {
		result, ids, err = s.Listed.Page(c, account, scope, page, OldestFirst)
		if err != nil || len(ids) == 0 {
			return err
		}
		return read(c, ids)
	})
	if err == nil && p.Full() {
		p.Found = result
		err = p.Rest(ctx, s, account, ids, read)
		result.Count = int64(p.Before + p.N)
	}
	return p.Dst, result, err
}

// Page finds one page of the account's list, the oldest campaign first for either order of pages.
func (cache *campaignCache) Page(c db.Conn, account int64, scope campaign.Scope, page crm.PageRequest,
	order PageOrder,
) (result ListResult, ids []int64, err error) {
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

// pictures are the files that a campaign needs and does not have. It may show a picture in many places.
func (c *campaignChange) pictures(of *campaign.Campaign, uploaded []picture.Picture) (files []picture.File, err error) {
	became := make(map[string]string)
	of.EachPicture(func(field string, address *string) {
		was := *address
		if _, seen := became[was]; !seen {
			more, failed := NewFiles(c.Conn, c.owner.Number, cmp.Or(of.ID, NoCampaign), field, address, uploaded)
			if files, err = append(files, more...), FirstOrFaults(err, failed); failed != nil {
				return
			}
			became[was] = *address
		}
		*address = became[was]
	})
	return files, err
}

// savePictures writes the pictures of a campaign, and removes those that it has no longer.
func (c *campaignChange) savePictures(p campaignPlan) {
	var was, is []string
	if p.old != nil {
		was = p.old.Pictures()
	}
	if is = p.campaign.Pictures(); p.deleted {
		was, is = is, nil
	}
	SavePictures(c.Tx, c.owner.Number, p.campaign.ID, p.pictures, was, is)
}
