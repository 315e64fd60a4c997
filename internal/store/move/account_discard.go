package move

import (
	"context"
	"fmt"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/jobs"
)

const (
	// its own
	sqlImportedCampaigns = `SELECT campaign_id FROM campaign_reader WHERE account_id = $1 AND relation = 1
		ORDER BY campaign_id LIMIT $2`
	sqlImportedChanges = `SELECT revision FROM change WHERE account_id = $1 AND revision > $2 ORDER BY revision
		LIMIT $3`
)

// DiscardAccount removes what an import that has not ended has left, some rows in each unit of work. An account that
// was there before is empty again. It is told by its public id, as UnfinishedAccounts lists it.
func (s *MoveStore) DiscardAccount(ctx context.Context, id string) (found UnfinishedAccount, err error) {
	all, err := s.UnfinishedAccounts(ctx)
	if err != nil {
		return found, err
	}
	for _, u := range all {
		if u.ID == id {
			return u, store.Stepwise(ctx, func() (more bool, err error) { return s.discardStep(ctx, &u) })
		}
	}
	return found, fmt.Errorf("account %q is not being imported: %w", id, crm.ErrNotFound)
}

// discardStep removes some rows. The first one stops an import that is under way: it finds that its job has moved on.
func (s *MoveStore) discardStep(ctx context.Context, u *UnfinishedAccount) (more bool, err error) {
	account := u.Job.Account
	err = s.Update(u.Job.By(ctx), account, store.Needs{}, func(t *store.Tx) error {
		unit, err := t.LockAccount(account)
		if err != nil {
			return err
		}
		j, err := store.FindIn(t.Conn, crm.ErrNotFound, jobs.ScanJob, jobs.SQLJob, account, u.Job.ID)
		if err != nil {
			return err
		}
		spec, progress, err := readAccountJob(&j)
		if err != nil {
			return err
		}
		unit.Touch()
		for _, n := range nouns {
			if n.seq != nil {
				*n.seq(&unit.Tally) = 0 // from the first step on the account reads as an empty one
			}
		}
		unit.ContactActive = 0
		unit.SetRevision++
		if more, err = discardRows(unit, spec.Revision); err != nil || !more {
			if err == nil {
				err = endDiscard(unit, &j, &spec)
			}
			return err
		}
		progress.Discarding = true
		j.Progress, j.UpdatedAt = jobs.JSONOf(progress), s.Now()
		jobs.SaveJob(t, &j)
		return nil
	})
	return more, err
}

// discardRows removes some rows of one table. It reports whether there were any.
func discardRows(u store.Unit, revision int64) (more bool, err error) {
	for _, n := range nouns {
		for _, table := range n.tables {
			keys, err := u.FirstKeys(table, u.Number, doc.MakeID(u.Number, 0), ImportedAtOnce)
			for _, key := range keys {
				if u.Delete(table, key...); table.Words != nil {
					u.Delete(table.Words, key...)
				}
			}
			if err != nil || len(keys) > 0 {
				return true, err
			}
		}
	}
	campaigns, err := db.List(u.Conn, store.Number, sqlImportedCampaigns, u.Number, int64(ImportedAtOnce))
	for _, id := range campaigns {
		if err == nil {
			err = discardCampaign(u.Tx, id)
		}
	}
	if err != nil || len(campaigns) > 0 {
		return true, err
	}
	changes, err := db.List(u.Conn, store.Number, sqlImportedChanges, u.Number, revision, int64(ImportedAtOnce))
	for _, change := range changes {
		u.Delete(store.ChangeTable, u.Number, change)
	}
	return len(changes) > 0, err
}

func discardCampaign(t *store.Tx, id int64) error {
	slugs, err := db.List(t.Conn, func(r db.Row) string { return r.Text(0) }, store.SQLOldSlugs, id)
	if err != nil {
		return err
	}
	for _, slug := range slugs {
		t.Delete(store.SlugTable, slug)
	}
	t.Delete(store.CampaignTable, id)
	return store.SaveReaders(t, id, nil)
}

// endDiscard makes an account that was there before empty, and takes the number of any other back.
func endDiscard(u store.Unit, j *jobs.Job, spec *accountSpec) error {
	if !spec.Into {
		u.Dirty = false
		u.Delete(store.TallyTable, u.Number)
		return jobs.RemoveJob(u.Tx, j)
	}
	u.Touch()
	u.FieldSeq++ // what nodes remember of the definitions is read again, and of sets
	u.SetRevision++
	u.LastCreated, u.Revision, u.Importing, u.Timezone = 0, spec.Revision, 0, spec.Timezone
	return jobs.RemoveJob(u.Tx, j)
}
