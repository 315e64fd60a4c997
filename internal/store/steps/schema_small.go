package steps

// step14SQL is the step that keeps pages and background work small. Once it is released, it stays as it is.
const step14SQL = `
-- Groups of duplicates are listed by how sure they are, page by page.
CREATE INDEX duplicate_group ON duplicate (account_id, state, person, probability, level);

-- A merge moves gifts and plans, or its undo moves them back, in the background where they are many: moving is the job that does it. last is the last change of the merge so far, and for an undo the last
-- one that is not taken back yet. Other changes may lie between.
ALTER TABLE contact_merge ADD COLUMN moving BIGINT NOT NULL DEFAULT 0;

CREATE INDEX contact_merge_moving ON contact_merge (account_id, id) WHERE moving <> 0;

-- What cannot be undone any more needs no review.
UPDATE contact_merge SET review = 0 WHERE review = 1 AND sent = '-';
`
