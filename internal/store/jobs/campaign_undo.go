package jobs

import (
	"context"
	"slices"

	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

// The campaigns that gifts and plans are for, as far as imports have made them.
const (
	madeCampaign = `SELECT c.id FROM change AS c WHERE c.account_id = $1 AND c.noun = ` + store.CampaignNoun +
		` AND c.kind = ` + store.DidCreate + ` AND c.job <> 0 AND c.id <> 0 AND c.id IN `
	sqlGiftsMade = madeCampaign + `(SELECT g.campaign_id FROM gift AS g WHERE g.account_id = $1 AND g.id = ANY($2))`
	sqlPlansMade = madeCampaign + `(SELECT p.campaign_id FROM plan AS p WHERE p.account_id = $1 AND p.id = ANY($2))`
)

// lookForCampaigns asks which campaigns of gifts and plans were made by imports. What is withdrawn is no longer for
// them: it would keep them.
func (u *Undoing) lookForCampaigns(ids map[history.Noun][]int64) error {
	u.drafts = make(map[int64]bool)
	read := func(r db.Row) error {
		u.drafts[r.Int(0)] = true
		return nil
	}
	for noun, sql := range map[history.Noun]string{history.GiftNoun: sqlGiftsMade, history.PlanNoun: sqlPlansMade} {
		if len(ids[noun]) == 0 {
			continue
		}
		if err := u.Prefetch(read, sql, u.Number, ids[noun]); err != nil {
			return err
		}
	}
	return nil
}

// removeCampaign removes a campaign that the import has made, unless it was changed since or anything else is for it.
func (u *Undoing) removeCampaign(c store.Change) (undone bool, err error) {
	there, err := u.Exists(store.SQLCampaignByID, c.ID)
	if err != nil || !there || c.Kind != history.DidCreate {
		return false, err
	}
	if !u.isOthers(&c) {
		u.Author.Undoes = c.Revision
		undone, err = store.Family{Tx: u.Tx, Owner: u.owner, Above: u.above, Now: u.Now}.Remove(c.ID)
		u.Author.Undoes = 0
	}
	if err == nil && !undone {
		u.keep(keptCampaigns+doc.IDSeq(c.ID), 0, Kept{Campaign: c.ID})
	}
	return undone, err
}

// ancestryFor is the account and those above it, whose lists change where one of the changes has made a campaign.
func (w *JobWorker) ancestryFor(ctx context.Context, account int64,
	changes []store.Change,
) (owner access.Account, above []int64, err error) {
	if slices.ContainsFunc(changes, func(c store.Change) bool { return c.Noun == history.CampaignNoun }) {
		owner, above, err = w.Ancestry(ctx, account)
	}
	return owner, above, err
}
