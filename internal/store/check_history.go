package store

import (
	"hash/maphash"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

// The history of an account is sound where its changes are numbered without a gap, and where each document names its last one. That is compared by sums
// of random numbers, and document by document only where these differ.

const (
	sqlCheckChanges = `SELECT revision, noun, id, kind FROM change WHERE account_id = $1 AND revision > $2 ORDER BY revision LIMIT 5000`

	// The last change of each document.
	sqlHeads = `SELECT noun, id, MAX(revision) FROM change WHERE account_id = $1 AND noun >= 1 AND noun <= 4 AND id <> 0 GROUP BY noun, id`

	// Documents that name another change than their last one, which may be no longer kept.
	sqlWrongHeads = `SELECT d.noun, d.id FROM (
			SELECT 1 AS noun, id, revision FROM contact WHERE account_id = $1
			UNION ALL SELECT 2, id, revision FROM campaign WHERE account_id = $1
			UNION ALL SELECT 3, id, revision FROM gift WHERE account_id = $1
			UNION ALL SELECT 4, id, revision FROM plan WHERE account_id = $1) AS d
		WHERE d.revision <> COALESCE((SELECT MAX(c.revision) FROM change AS c WHERE c.account_id = $1 AND c.noun = d.noun AND c.id = d.id AND c.id <> 0),
			CASE WHEN d.revision < $2 THEN d.revision ELSE 0 END)
		ORDER BY 1, 2`

	sqlHeadOf = `SELECT COALESCE(MAX(revision), 0) FROM change WHERE account_id = $1` + ofDocument

	sqlSetContactHead  = `UPDATE contact SET revision = $3 WHERE account_id = $1 AND id = $2`
	sqlSetCampaignHead = `UPDATE campaign SET revision = $3 WHERE account_id = $1 AND id = $2`
	sqlSetGiftHead     = `UPDATE gift SET revision = $3 WHERE account_id = $1 AND id = $2`
	sqlSetPlanHead     = `UPDATE plan SET revision = $3 WHERE account_id = $1 AND id = $2`
)

// setHeads say which change of a document is the last one.
var setHeads = map[crm.Noun]string{
	crm.ContactNoun: sqlSetContactHead, crm.CampaignNoun: sqlSetCampaignHead, crm.GiftNoun: sqlSetGiftHead, crm.PlanNoun: sqlSetPlanHead,
}

// link is the last change of a document.
type link struct {
	noun         crm.Noun
	id, revision int64
}

func (l link) hash() uint64 { return maphash.Comparable(checkSeed, l) }

// headHash is 0 for a document whose last change is not kept.
func (a *checkedAccount) headHash(noun crm.Noun, id, revision int64) uint64 {
	if revision < max(1, a.totals.oldest) {
		return 0
	}
	return link{noun, id, revision}.hash()
}

// historyCheck goes through the changes of one account.
type historyCheck struct {
	*checker
	account *checkedAccount
	last    int64  // revision that was read
	begun   bool   // one was read
	deleted uint64 // the last changes of campaigns that no document names
}

func (k *checker) everyHistory() error {
	for _, number := range k.numbers {
		h := &historyCheck{checker: k, account: k.accounts[number]}
		for _, step := range []func() error{h.readChanges, h.compareEnds, h.compareHeads} {
			if err := step(); err != nil {
				return err
			}
		}
	}
	return k.flush()
}

func (h *historyCheck) readChanges() error {
	for n := 5000; n == 5000; {
		n = 0
		err := h.conn.Each(func(r db.Row) error {
			n++
			return h.readChange(r.Int(0), crm.Noun(r.Int(1)), r.Int(2), crm.ChangeKind(r.Int(3)))
		}, sqlCheckChanges, h.account.Number, h.last)
		if err != nil {
			return err
		}
		h.report.Changes += int64(n)
		h.options.Progress("changes", h.last, max(h.last, h.account.totals.revision))
		if err := h.ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

func (h *historyCheck) readChange(revision int64, noun crm.Noun, id int64, kind crm.ChangeKind) error {
	var err error
	if h.begun && revision > h.last+1 {
		err = h.fill(h.last+1, revision-1)
	} else if first := h.account.totals.oldest; !h.begun && revision != first {
		err = h.mend(h.problem(h.account.Number, 0, "its history begins with change %d, and not with %d", revision, first), h.account.Number, h.begin(revision))
	}
	h.last, h.begun = revision, true
	if noun == crm.CampaignNoun && kind == crm.DidDelete {
		h.deleted += link{noun, id, revision}.hash()
	}
	return err
}

// begin makes a change the first one that is kept, where no sweep has done so meanwhile.
func (h *historyCheck) begin(revision int64) func(*tx) error {
	was := h.account.totals.oldest
	return changeTotals(h.account.Number, func(row *tally) {
		if row.oldest == was || was == 0 {
			row.oldest = revision
		}
	})
}

// fillAtOnce bounds how many rows one repair writes.
const fillAtOnce = 1000

// fill tells of changes that are missing. A repair puts rows in their place that say so, because no number is given out again.
func (h *historyCheck) fill(from, to int64) error {
	for ; from <= to; from += fillAtOnce {
		first, last := from, min(to, from+fillAtOnce-1)
		err := h.mend(h.problem(h.account.Number, 0, "the changes %d to %d are missing in its history", first, last), h.account.Number, func(t *tx) error {
			for revision := first; revision <= last; revision++ {
				t.Save(changeTable, h.account.Number, revision, int64(0), int64(crm.DidLose), int64(0), int64(0), int64(0), int64(0), int64(0), "", "")
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// compareEnds compares the last change with the number that was given out last.
func (h *historyCheck) compareEnds() error {
	given, number, last := h.account.totals.revision, h.account.Number, h.last
	switch {
	case last > given:
		return h.mend(h.problem(number, 0, "its revision is %d, and its last change has %d", given, last), number,
			changeTotals(number, func(row *tally) { row.revision = max(row.revision, last) }))
	case !h.begun && h.account.counted && h.account.totals.oldest != given+1:
		return h.mend(h.problem(number, 0, "all its changes up to %d are missing", given), number, h.begin(given+1))
	case h.begun && last < given:
		return h.fill(last+1, given)
	}
	return nil
}

// compareHeads finds the documents that do not name their last change.
func (h *historyCheck) compareHeads() error {
	number, heads := h.account.Number, uint64(0)
	err := h.conn.Each(func(r db.Row) error {
		heads += link{crm.Noun(r.Int(0)), r.Int(1), r.Int(2)}.hash()
		return nil
	}, sqlHeads, number)
	if err != nil || heads == h.account.heads+h.deleted {
		return err
	}
	return h.conn.Each(func(r db.Row) error {
		noun, id := crm.Noun(r.Int(0)), r.Int(1)
		return h.mend(h.headProblem(noun, id), number, setHead(number, noun, id))
	}, sqlWrongHeads, number, max(1, h.account.totals.oldest))
}

func (h *historyCheck) headProblem(noun crm.Noun, id int64) Problem {
	const says = "it does not name its last change"
	switch noun {
	case crm.ContactNoun:
		return h.problem(h.account.Number, id, says)
	case crm.CampaignNoun:
		return Problem{Account: h.account.ID, Campaign: id, What: says}
	}
	return h.problem(h.account.Number, 0, "%s %s: %s", noun, crm.GiftNumber(id), says)
}

// setHead makes a document name its last change.
func setHead(account int64, noun crm.Noun, id int64) func(*tx) error {
	return func(t *tx) error {
		a, err := t.lock(account)
		if err != nil {
			return err
		}
		last, err := t.Int(sqlHeadOf, account, int64(noun), id)
		if err == nil {
			err = t.exec(setHeads[noun], account, id, last)
		}
		delete(a.contacts, id) // changes of the batch must look again
		delete(a.gifts.rows, id)
		delete(a.plans.rows, id)
		return err
	}
}
