package store

import (
	"context"
	"fmt"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

// discardedTables have what an import writes under the account, beside campaigns and the history.
var discardedTables = []*db.Table{giftTable, planTable, contactTable, indexTable, setTable, tagTable, referenceTable, givingTable, fieldTable, segmentTable}

const (
	sqlImportedCampaigns = `SELECT campaign_id FROM campaign_reader WHERE account_id = $1 AND relation = 1 ORDER BY campaign_id LIMIT $2` // its own
	sqlImportedChanges   = `SELECT revision FROM change WHERE account_id = $1 AND revision > $2 ORDER BY revision LIMIT $3`
)

// DiscardAccount removes what an import that has not ended has left, some rows in each unit of work. An account that was there before is empty
// again. It is told by its public id, as UnfinishedAccounts lists it.
func (s *MoveStore) DiscardAccount(ctx context.Context, id string) (found UnfinishedAccount, err error) {
	all, err := s.UnfinishedAccounts(ctx)
	if err != nil {
		return found, err
	}
	for _, u := range all {
		if u.ID == id {
			return u, stepwise(ctx, func() (more bool, err error) { return s.discardStep(ctx, &u) })
		}
	}
	return found, fmt.Errorf("account %q is not being imported: %w", id, crm.ErrNotFound)
}

// discardStep removes some rows. The first one stops an import that is under way: it finds that its job has moved on.
func (s *MoveStore) discardStep(ctx context.Context, u *UnfinishedAccount) (more bool, err error) {
	account := u.Job.Account
	err = s.update(u.Job.by(ctx), account, needs{}, func(t *tx) error {
		a, err := t.lock(account)
		if err != nil {
			return err
		}
		j, err := findIn(t.Conn, crm.ErrNotFound, scanJob, sqlJob, account, u.Job.ID)
		if err != nil {
			return err
		}
		spec, progress, err := readAccountJob(&j)
		if err != nil {
			return err
		}
		a.touch(t)
		a.contactSeq, a.contactActive, a.giftSeq, a.planSeq = 0, 0, 0, 0 // from the first step on the account reads as an empty one
		a.setRevision++
		if more, err = t.discardRows(a, spec.Revision); err != nil || !more {
			if err == nil {
				err = t.endDiscard(a, &j, &spec)
			}
			return err
		}
		progress.Discarding = true
		j.Progress, j.UpdatedAt = jsonOf(progress), s.now()
		t.saveJob(&j)
		return nil
	})
	return more, err
}

// discardRows removes some rows of one table. It reports whether there were any.
func (t *tx) discardRows(a *accountUnit, revision int64) (more bool, err error) {
	for _, table := range discardedTables {
		keys, err := t.FirstKeys(table, a.account, importedAtOnce)
		for _, key := range keys {
			if t.Delete(table, key...); table == contactTable {
				t.Delete(wordsTable, key...)
			}
		}
		if err != nil || len(keys) > 0 {
			return true, err
		}
	}
	campaigns, err := db.List(t.Conn, number, sqlImportedCampaigns, a.account, int64(importedAtOnce))
	for _, id := range campaigns {
		if err == nil {
			err = t.discardCampaign(id)
		}
	}
	if err != nil || len(campaigns) > 0 {
		return true, err
	}
	changes, err := db.List(t.Conn, number, sqlImportedChanges, a.account, revision, int64(importedAtOnce))
	for _, change := range changes {
		t.Delete(changeTable, a.account, change)
	}
	return len(changes) > 0, err
}

func (t *tx) discardCampaign(id int64) error {
	slugs, err := db.List(t.Conn, func(r db.Row) string { return r.Text(0) }, sqlOldSlugs, id)
	if err != nil {
		return err
	}
	for _, slug := range slugs {
		t.Delete(slugTable, slug)
	}
	t.Delete(campaignTable, id)
	return t.saveReaders(id, nil)
}

// endDiscard makes an account that was there before empty, and takes the number of any other back.
func (t *tx) endDiscard(a *accountUnit, j *Job, spec *accountSpec) error {
	if !spec.Into {
		a.dirty = false
		t.Delete(tallyTable, a.account)
		return t.removeJob(j)
	}
	a.touch(t)
	a.fieldSeq++ // what nodes remember of the definitions is read again, and of sets
	a.setRevision++
	a.lastCreated, a.campaignSeq, a.segmentSeq, a.revision, a.importing, a.timezone = 0, 0, 0, spec.Revision, 0, spec.Timezone
	return t.removeJob(j)
}
