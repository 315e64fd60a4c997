package steps

import "donorbook/internal/db"

// step14SQL is the step that keeps pages and background work small, and numbers exact. Once it is released, what is in this file stays as it is, and
// uses nothing that may become different.
const step14SQL = `
-- Groups of duplicates are listed by how sure they are, page by page: each where its likeliest pair is, which is the first one of its person.
DROP INDEX duplicate_rank;

DROP INDEX duplicate_person;

CREATE INDEX duplicate_rank ON duplicate (account_id, state, level, probability DESC, a, b, person);

CREATE INDEX duplicate_group ON duplicate (account_id, state, person, probability DESC, a, b, level);

-- The total of a contact is exact: in the smallest unit of the account's currency, as the sums of its gifts are, and no longer in whole units.
UPDATE contact SET given = giving.amount FROM giving, account_tally
	WHERE account_tally.account_id = contact.account_id AND giving.account_id = contact.account_id AND contact.last_gift <> 0
	AND giving.cell = '0000000000000000/00000000/' || account_tally.currency || '/' || substr('000000000' || (contact.id % 1000000000), length(CAST(contact.id % 1000000000 AS TEXT)) + 1);

-- A merge moves gifts and plans, or its undo moves them back, in the background where they are many: moving is the job that does it. last is the last change of the merge so far, and for an undo the last
-- one that is not taken back yet. Other changes may lie between.
ALTER TABLE contact_merge ADD COLUMN moving BIGINT NOT NULL DEFAULT 0;

CREATE INDEX contact_merge_moving ON contact_merge (account_id, id) WHERE moving <> 0;

-- A merge that was forgotten before its account came with files keeps the number of its change, too.
UPDATE contact_merge SET id = -id WHERE id < 0;

UPDATE contact_merge SET last = -last WHERE last < 0;

UPDATE contact_merge SET undone = -undone WHERE undone < 0;

-- Gifts that became another contact's before the history told contacts of their gifts: an erasure finds them without reading the whole history.
CREATE INDEX change_loose ON change (account_id, revision) WHERE noun = 3 AND door = 0;

-- What cannot be undone any more needs no review.
UPDATE contact_merge SET review = 0 WHERE review = 1 AND sent = '-';
`

const sqlStep14Merged = `SELECT account_id, other FROM contact_merge WHERE other <> 0 AND undone = 0`

// fillMerged makes the set of the contacts that were merged into others.
func fillMerged(t *db.Tx, _ db.Progress) error {
	type place struct{ account, block int64 }
	merged := make(map[place]*step11Bits)
	err := t.Each(func(r db.Row) error {
		seq := r.Int(1)%1_000_000_000 - 1
		at := place{r.Int(0), seq / step11Block}
		if merged[at] == nil {
			merged[at] = new(step11Bits)
		}
		merged[at].put(seq % step11Block)
		return nil
	}, sqlStep14Merged)
	for at, bits := range merged {
		if err == nil {
			err = bits.save(t, at.account, "merged", at.block)
		}
	}
	if err != nil {
		return err
	}
	return t.Fetch()
}
