package store

import (
	"hash/maphash"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

// The history of an account is sound where its changes are numbered without a gap, and where those of each document are one chain: each of
// them is named by the next one, or by the document. That is compared by sums of random numbers, and document by document only where these
// differ.

const (
	sqlCheckChanges = `SELECT revision, noun, id, kind, prev FROM change WHERE account_id = $1 AND revision > $2 ORDER BY revision LIMIT 5000`

	// Documents whose history is not one chain. A chain may begin with a change that is no longer kept.
	sqlWrongChains = `SELECT d.noun, d.id FROM (
			SELECT 1 AS noun, id, revision, version FROM contact WHERE account_id = $1
			UNION ALL SELECT 2, id, revision, -1 FROM campaign WHERE account_id = $1
			UNION ALL SELECT 3, id, revision, -1 FROM gift WHERE account_id = $1
			UNION ALL SELECT 4, id, revision, -1 FROM plan WHERE account_id = $1) AS d
		LEFT JOIN (
			SELECT noun, id, MAX(revision) AS head, COUNT(*) AS n, MAX(CASE WHEN prev <> was THEN 1 ELSE 0 END) AS wrong FROM (
				SELECT noun, id, revision, prev, COALESCE(LAG(revision) OVER (PARTITION BY noun, id ORDER BY revision), CASE WHEN prev < $2 THEN prev ELSE 0 END) AS was
				FROM change WHERE account_id = $1 AND noun >= 1 AND noun <= 4) AS linked
			GROUP BY noun, id) AS h ON h.noun = d.noun AND h.id = d.id
		WHERE h.wrong = 1 OR h.head <> d.revision OR h.head IS NULL AND d.revision >= $2 OR d.version >= 0 AND $2 = 1 AND d.version <> COALESCE(h.n, 0)
		ORDER BY d.noun, d.id`

	sqlChangesOf  = `SELECT revision, prev FROM change WHERE account_id = $1 AND noun = $2 AND id = $3 ORDER BY revision`
	sqlSetPrev    = `UPDATE change SET prev = $3 WHERE account_id = $1 AND revision = $2`
	sqlSetVersion = `UPDATE contact SET version = $3 WHERE account_id = $1 AND id = $2`
)

// sqlSetHeads say which change of a document is the last one.
var sqlSetHeads = map[crm.Noun]string{
	crm.ContactNoun:  `UPDATE contact SET revision = $3 WHERE account_id = $1 AND id = $2`,
	crm.CampaignNoun: `UPDATE campaign SET revision = $3 WHERE account_id = $1 AND id = $2`,
	crm.GiftNoun:     `UPDATE gift SET revision = $3 WHERE account_id = $1 AND id = $2`,
	crm.PlanNoun:     `UPDATE plan SET revision = $3 WHERE account_id = $1 AND id = $2`,
}

// link is a change of a document, as it is named by the next one or by the document.
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

// versionHash stands for the number of changes that a contact has had.
func versionHash(id, version int64) uint64 {
	return uint64(version) * link{noun: crm.ContactNoun, id: id}.hash()
}

// historyCheck goes through the changes of one account.
type historyCheck struct {
	*checker
	account  *checkedAccount
	last     int64  // revision that was read
	begun    bool   // one was read
	links    uint64 // changes of documents, less those that others name
	versions uint64 // of contacts
	wrong    bool   // one comes before the one that it names
}

func (k *checker) everyHistory() error {
	for _, number := range k.numbers {
		h := &historyCheck{checker: k, account: k.accounts[number]}
		for _, step := range []func() error{h.readChanges, h.compareEnds, h.compareChains} {
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
			return h.readChange(r.Int(0), crm.Noun(r.Int(1)), r.Int(2), crm.ChangeKind(r.Int(3)), r.Int(4))
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

func (h *historyCheck) readChange(revision int64, noun crm.Noun, id int64, kind crm.ChangeKind, prev int64) error {
	var err error
	if h.begun && revision > h.last+1 {
		err = h.fill(h.last+1, revision-1)
	} else if first := h.account.totals.oldest; !h.begun && revision != first {
		err = h.mend(h.problem(h.account.Number, 0, "its history begins with change %d, and not with %d", revision, first), h.account.Number, h.begin(revision))
	}
	h.last, h.begun = revision, true
	if sqlSetHeads[noun] == "" {
		return err
	}
	h.wrong = h.wrong || prev >= revision
	h.links += link{noun, id, revision}.hash() - h.account.headHash(noun, id, prev)
	if noun == crm.CampaignNoun && kind == crm.DidDelete { // no document names it
		h.links -= link{noun, id, revision}.hash()
	}
	if noun == crm.ContactNoun {
		h.versions += versionHash(id, 1)
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
				t.Save(changeTable, h.account.Number, revision, int64(0), int64(crm.DidLose), int64(0), int64(0), int64(0), int64(0), int64(0), int64(0), "", "")
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

// compareChains finds the documents whose changes are not one chain.
func (h *historyCheck) compareChains() error {
	oldest := max(1, h.account.totals.oldest)
	if h.links == h.account.heads && !h.wrong && (oldest > 1 || h.versions == h.account.versions) {
		return nil
	}
	number := h.account.Number
	return h.conn.Each(func(r db.Row) error {
		noun, id := crm.Noun(r.Int(0)), r.Int(1)
		return h.mend(h.chainProblem(noun, id), number, relink(number, noun, id))
	}, sqlWrongChains, number, oldest)
}

func (h *historyCheck) chainProblem(noun crm.Noun, id int64) Problem {
	const says = "its changes are not one chain"
	switch noun {
	case crm.ContactNoun:
		return h.problem(h.account.Number, id, says)
	case crm.CampaignNoun:
		return Problem{Account: h.account.ID, Campaign: id, What: says}
	}
	return h.problem(h.account.Number, 0, "%s %s: %s", noun, crm.GiftNumber(id), says)
}

// relink makes the changes of a document one chain in the order of their numbers.
func relink(account int64, noun crm.Noun, id int64) func(*tx) error {
	return func(t *tx) error {
		a, err := t.lock(account)
		if err != nil {
			return err
		}
		rows, err := db.List(t.Conn, func(r db.Row) [2]int64 { return [2]int64{r.Int(0), r.Int(1)} }, sqlChangesOf, account, int64(noun), id)
		last := int64(0)
		for _, row := range rows {
			should := last
			if last == 0 && row[1] < a.oldest { // it is no longer kept
				should = row[1]
			}
			if row[1] != should && err == nil {
				err = t.exec(sqlSetPrev, account, row[0], should)
			}
			last = row[0]
		}
		if err == nil {
			err = t.exec(sqlSetHeads[noun], account, id, last)
		}
		if err == nil && noun == crm.ContactNoun && a.oldest == 1 {
			err = t.exec(sqlSetVersion, account, id, int64(len(rows)))
		}
		delete(a.contacts, id) // changes of the batch must look again
		delete(a.gifts.rows, id)
		delete(a.plans.rows, id)
		return err
	}
}
