package check

import (
	"fmt"
	"maps"
	"slices"

	"donorbook/internal/crm/access"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/crm/picture"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

const (
	sqlLogo = `SELECT logo FROM account_setting WHERE account_id = $1`

	sqlLastKey = `SELECT COALESCE(MAX(id), 0) FROM api_key WHERE account_id = $1`

	// Older campaigns have ids that no account's number is in.
	sqlLastCampaign = `SELECT COALESCE(MAX(id), 0) FROM campaign WHERE account_id = $1 AND id > $2 AND id <= $3`

	sqlAnswerBytes = `SELECT CAST(COALESCE(SUM(length(body)), 0) AS BIGINT) FROM request_answer WHERE account_id = $1
		AND length(body) > $2`

	sqlCampaignRows = `SELECT id, account_id, slug, url_at, body, checksum, cell, status, payment_link, listed_at,
		revision FROM campaign WHERE id = ANY($1)`
)

// totals compares the account's row. Its sequences never go back: an id is not given out again, even where what had it
// is missing.
func (d *derivation) totals() error {
	key, err := d.conn.Int(sqlLastKey, d.Number)
	if err != nil {
		return err
	}
	campaign, err := d.conn.Int(sqlLastCampaign, d.Number, doc.MakeID(d.Number, 0), doc.MakeID(d.Number, doc.MaxSeq))
	if err != nil {
		return err
	}
	if d.AnswerBytes, err = d.conn.Int(sqlAnswerBytes, d.Number, int64(store.LargeAnswer)); err != nil {
		return err
	}
	d.LastCreated = max(d.LastCreated, d.created)
	d.KeySeq = max(d.KeySeq, doc.IDSeq(key))
	d.CampaignSeq = max(d.CampaignSeq, doc.IDSeq(campaign))
	if len(d.fields) > 0 {
		d.FieldSeq = max(d.FieldSeq, d.fields[len(d.fields)-1])
	}
	return d.settle(store.TallyTable, d.was, d.Tally.Values())
}

// accounts are all accounts, by their numbers.
type accounts map[int64]access.Account

func readAccounts(c db.Conn) (accounts, error) {
	all, err := db.List(c, store.ReadAccount, store.SQLAccountList)
	return store.Keyed(all, func(a access.Account) int64 { return a.Number }), err
}

// campaigns looks at campaigns of the account: what stands beside their documents, and who may list them.
func (d *derivation) campaigns(ids []int64) error {
	for part := range slices.Chunk(ids, 100) {
		rows, err := db.List(d.conn, func(r db.Row) []any {
			return []any{r.Int(0), r.Int(1), r.Text(2), r.Int(3), slices.Clone(r.Bytes(4)), r.Int(5), r.Text(6),
				r.Text(7), r.Text(8), r.Int(9), r.Int(10)}
		}, sqlCampaignRows, part)
		for _, row := range rows {
			if err == nil {
				err = d.campaign(row)
			}
			if err == nil {
				err = d.readers(row[0].(int64))
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *derivation) campaign(row []any) error {
	id, owner := row[0].(int64), d.known[d.Number]
	campaign, err := store.CampaignRow{ID: id, Body: row[4].([]byte), Checksum: row[5].(int64)}.Parse()
	switch {
	case err != nil:
		d.unread = true
		d.on.lost(Problem{Campaign: id, What: "its document is damaged: " + restoreIt})
		return nil
	case campaign.AccountID != owner.ID:
		d.on.lost(Problem{Campaign: id, What: fmt.Sprintf("its document names the account %q: %s", campaign.AccountID,
			restoreIt)})
		return nil
	}
	d.shows(id, campaign.Pictures()...)
	_, urlAt := campaign.AppendBody(nil)
	should := slices.Clone(row)
	should[2], should[3], should[6], should[10] = campaign.Slug, int64(urlAt),
		giving.CampaignCell(campaign.ID, campaign.Currency), d.head(history.CampaignNoun, id, row[10].(int64))
	return d.settle(store.CampaignTable, row, should)
}

// shows notes that a campaign shows pictures, or the organization where it is 0.
func (d *derivation) shows(campaign int64, addresses ...string) {
	for _, name := range picture.Names(addresses...) {
		d.pictures[name] = campaign
	}
}

// everyPicture compares the pictures that campaigns and the organization show with those that are there.
func (d *derivation) everyPicture() error {
	if _, err := d.conn.One(func(r db.Row) { d.shows(store.OrganizationPictures, r.Text(0)) }, sqlLogo,
		d.Number); err != nil {
		return err
	}
	err := d.conn.EachOf(store.PictureTable, d.Number, func(row []any) error {
		name, should := row[1].(string), []any(nil)
		if campaign, shown := d.pictures[name]; shown {
			should = slices.Clone(row)
			should[2] = campaign
			delete(d.pictures, name)
		}
		switch {
		case store.Checksum(row[3].([]byte)) != row[4].(int64):
			d.on.lost(Problem{Campaign: row[2].(int64), What: "picture " + name + ": its file is damaged: " +
				restoreIt})
			return nil
		case should == nil && d.unread:
			return nil
		}
		return d.settle(store.PictureTable, slices.Clone(row), should)
	})
	for _, name := range slices.Sorted(maps.Keys(d.pictures)) {
		d.on.lost(Problem{Campaign: d.pictures[name], What: "picture " + name + ": its file is missing: " + restoreIt})
	}
	return err
}

// readers compares who may list a campaign: its owner, the accounts above it, and its beneficiaries, which are written
// nowhere else.
func (d *derivation) readers(id int64) error {
	was, err := store.Relations(d.conn, id)
	if err != nil {
		return err
	}
	should := map[int64]campaign.Relation{d.Number: campaign.Own}
	for account, relation := range was {
		if _, exists := d.known[account]; exists && relation&campaign.Benefiting != 0 {
			should[account] |= campaign.Benefiting
		}
	}
	for above := d.known[d.Number].Parent; above != 0 &&
		should[above]&campaign.Chapter == 0; above = d.known[above].Parent { // or it is a circle
		if _, exists := d.known[above]; exists {
			should[above] |= campaign.Chapter
		}
	}
	row := func(readers map[int64]campaign.Relation, account int64) []any {
		if readers[account] == 0 {
			return nil
		}
		return []any{account, id, int64(readers[account])}
	}
	for _, account := range store.Differences(was, should) {
		if err := d.on.settle(store.ReaderTable, row(was, account), row(should, account)); err != nil {
			return err
		}
	}
	return nil
}
