package store

import (
	"fmt"
	"maps"

	"donorbook/internal/crm"
)

const sqlCheckCampaigns = `SELECT id, account_id, slug, url_at, body, checksum FROM campaign WHERE id > $1 ORDER BY id LIMIT 100`

// checkedCampaign is a campaign as it is stored.
type checkedCampaign struct {
	id, account, urlAt int64
	slug               string
	campaign           crm.Campaign
	damage             error
}

func (k *checker) everyCampaign() error {
	last := int64(0)
	for n := 100; n == 100; {
		var part []checkedCampaign
		err := each(k.conn, func(r rows) error {
			c := checkedCampaign{id: r.int(0), account: r.int(1), slug: r.text(2), urlAt: r.int(3)}
			c.campaign, c.damage = parseCampaign(r, 4, c.id)
			part = append(part, c)
			return nil
		}, sqlCheckCampaigns, last)
		if n = len(part); err != nil {
			return err
		}
		for i := range part {
			last = part[i].id
			k.report.Campaigns++
			if err := k.checkCampaign(&part[i]); err != nil {
				return err
			}
		}
		if err := k.ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

func (k *checker) checkCampaign(c *checkedCampaign) error {
	problem := func(format string, args ...any) Problem {
		return Problem{Account: k.name(c.account), Campaign: c.id, What: fmt.Sprintf(format, args...)}
	}
	owner, ok := k.accounts[c.account]
	switch {
	case c.damage != nil:
		k.tell(problem("its document is damaged: %s", restoreIt))
	case !ok:
		k.tell(problem("its account does not exist: %s", restoreIt))
		return nil
	case c.campaign.AccountID != owner.ID:
		k.tell(problem("its document names the account %q: %s", c.campaign.AccountID, restoreIt))
	}
	if !ok {
		return nil
	}
	if _, urlAt := c.campaign.AppendBody(nil); c.damage == nil && (int64(urlAt) != c.urlAt || c.campaign.Slug != c.slug) {
		err := k.mend(problem("its slug %q or the place of its URL differs from its document", c.slug), c.account, renewCampaign(c))
		if err != nil {
			return err
		}
	}
	have := make(map[int64]crm.Relation)
	err := each(k.conn, func(r rows) error {
		have[r.int(0)] = crm.Relation(r.int(1))
		return nil
	}, sqlCampaignReaders, c.id)
	if err != nil || maps.Equal(have, k.readers(owner, have)) {
		return err
	}
	return k.mend(problem("those who may list it are not its owner, its beneficiaries and the accounts above"), c.account, k.renewReaders(owner, c.id))
}

// readers is who may list a campaign. Its beneficiaries are written nowhere else.
func (k *checker) readers(owner crm.Account, have map[int64]crm.Relation) map[int64]crm.Relation {
	readers := make(map[int64]crm.Relation)
	for account, relation := range have {
		if _, ok := k.accounts[account]; ok && relation&crm.Benefiting != 0 {
			readers[account] = crm.Benefiting
		}
	}
	readers[owner.Number] |= crm.Own
	for above := owner.Parent; above != 0; above = k.accounts[above].Parent {
		if readers[above]&crm.Chapter != 0 {
			break // a circle
		}
		readers[above] |= crm.Chapter
	}
	return readers
}

const sqlPlaceCampaign = `UPDATE campaign SET slug = $2, url_at = $3 WHERE id = $1 AND checksum = $4`

// renewCampaign writes what a campaign is found by as its document has it, where nobody has changed that meanwhile.
func renewCampaign(c *checkedCampaign) func(*tx) error {
	body, urlAt := c.campaign.AppendBody(nil)
	return func(t *tx) error {
		_, err := t.exec(sqlPlaceCampaign, c.id, c.campaign.Slug, int64(urlAt), checksum(body))
		return err
	}
}

func (k *checker) renewReaders(owner crm.Account, campaign int64) func(*tx) error {
	return func(t *tx) error {
		have := make(map[int64]crm.Relation)
		err := each(t.conn, func(r rows) error {
			have[r.int(0)] = crm.Relation(r.int(1))
			return nil
		}, sqlCampaignReaders, campaign)
		if err != nil {
			return err
		}
		for account := range have {
			if _, ok := k.accounts[account]; !ok { // it has no totals that could be moved on
				if _, err := t.exec(sqlDeleteReader, account, campaign); err != nil {
					return err
				}
			}
		}
		return t.saveReaders(campaign, k.readers(owner, have))
	}
}

// reference is a row that names another one, which must be there.
type reference struct{ table, id, column, target, key, unless string }

var references = []reference{
	{"account", "account_id", "parent", "account", "account_id", "parent = 0"},
	{"account_tally", "account_id", "account_id", "account", "account_id", ""},
	{"api_key", "id", "account_id", "account", "account_id", ""},
	{"member", "user_id", "account_id", "account", "account_id", ""},
	{"member", "account_id", "user_id", "app_user", "id", ""},
	{"user_session", "user_id", "user_id", "app_user", "id", ""},
	{"invitation", "created_at", "account_id", "account", "account_id", "account_id = 0"},
	{"campaign_reader", "account_id", "campaign_id", "campaign", "id", ""},
}

// references finds rows that name an account, a user or a campaign that is not there.
func (k *checker) references() error {
	for _, ref := range references {
		condition := ""
		if ref.unless != "" {
			condition = " AND NOT (" + ref.unless + ")"
		}
		err := each(k.conn, func(r rows) error {
			k.tell(Problem{What: fmt.Sprintf("the table %s has a row (%s %d) whose %s is %d, and the table %s has no such row: restore a backup, or remove the row", ref.table, ref.id, r.int(0), ref.column, r.int(1), ref.target)})
			return nil
		}, fmt.Sprintf("SELECT %s, %s FROM %s AS named WHERE NOT EXISTS (SELECT 1 FROM %s AS target WHERE target.%s = named.%[2]s)%[6]s",
			ref.id, ref.column, ref.table, ref.target, ref.key, condition))
		if err != nil {
			return err
		}
	}
	for _, table := range []string{"contact", "contact_index", "contact_archival", "tag"} {
		if err := k.strays(table); err != nil {
			return err
		}
	}
	return k.displaced()
}

// displaced finds contacts whose row is in another account than their id says.
func (k *checker) displaced() error {
	return each(k.conn, func(r rows) error {
		account, id := r.int(0), r.int(1)
		k.tell(Problem{Account: k.name(account), Contact: id, What: fmt.Sprintf("its row is in this account, and its id is of account %s: %s", k.name(crm.IDAccount(id)), restoreIt)})
		return nil
	}, fmt.Sprintf("SELECT account_id, id FROM contact WHERE account_id <> id / %d", crm.MakeID(1, 0)))
}

// strays finds accounts that a table has rows of and that do not exist. It goes from one account to the next.
func (k *checker) strays(table string) error {
	next := fmt.Sprintf("SELECT account_id FROM %s WHERE account_id > $1 ORDER BY account_id LIMIT 1", table)
	if table == "contact" && k.store.engine.dialect().idKey == "PRIMARY KEY (id)" {
		next = fmt.Sprintf("SELECT id / %[1]d FROM contact WHERE id >= ($1 + 1) * %[1]d ORDER BY id LIMIT 1", crm.MakeID(1, 0))
	}
	for account := int64(-1); ; {
		found, err := one(k.conn, func(r rows) { account = r.int(0) }, next, account)
		if err != nil || !found {
			return err
		}
		if _, ok := k.accounts[account]; !ok {
			k.tell(Problem{Account: k.name(account), What: fmt.Sprintf("the table %s has rows of it, and it does not exist: restore a backup", table)})
		}
	}
}
