package steps

// step13SQL is the step that keeps which contacts were merged, and which ones may be the same person. Once it is released, it stays as it is.
const step13SQL = `
-- A merge of two contacts, or of what was sent into the contact that it matched. id is the change of the survivor in the history; the change of the other contact comes
-- right before it, and those of gifts and plans up to last follow it. sent is the document of what was sent, with its match keys before it, line by line; then other is 0, until an undo makes a
-- contact of it. review is 1 where the names contradict each other, and 2 once a person has kept the merge. undone is the change of the survivor that undid it.
CREATE TABLE contact_merge (
	account_id BIGINT NOT NULL,
	id BIGINT NOT NULL,
	survivor BIGINT NOT NULL,
	other BIGINT NOT NULL,
	last BIGINT NOT NULL,
	sent TEXT NOT NULL,
	review BIGINT NOT NULL,
	undone BIGINT NOT NULL,
	at BIGINT NOT NULL,
	PRIMARY KEY (account_id, id)
);

CREATE INDEX contact_merge_survivor ON contact_merge (account_id, survivor, id);

CREATE INDEX contact_merge_other ON contact_merge (account_id, other, id) WHERE other <> 0;

CREATE INDEX contact_merge_review ON contact_merge (account_id, id) WHERE review = 1;

-- Two contacts that may be the same person, a < b. person stands for all contacts that are taken for this person. The probability is in millionths, and level 1 is the surest. Reasons are lines. state
-- is 1 where a person has said that they are not the same, which holds until one of the digests of what is compared is another one.
CREATE TABLE duplicate (
	account_id BIGINT NOT NULL,
	a BIGINT NOT NULL,
	b BIGINT NOT NULL,
	person BIGINT NOT NULL,
	level BIGINT NOT NULL,
	probability BIGINT NOT NULL,
	reasons TEXT NOT NULL,
	against TEXT NOT NULL,
	state BIGINT NOT NULL,
	digest_a BIGINT NOT NULL,
	digest_b BIGINT NOT NULL,
	PRIMARY KEY (account_id, a, b)
);

CREATE INDEX duplicate_b ON duplicate (account_id, b, a);

CREATE INDEX duplicate_person ON duplicate (account_id, person);

CREATE INDEX duplicate_rank ON duplicate (account_id, state, probability DESC, a, b);

-- Up to which change an account was looked through for duplicates, and when; up to which one all contacts were compared with each other, how many these were, what was learned of them, and how many were
-- looked at one by one since. A node that is at it says until when.
CREATE TABLE duplicate_run (
	account_id BIGINT NOT NULL PRIMARY KEY,
	revision BIGINT NOT NULL,
	at BIGINT NOT NULL,
	busy BIGINT NOT NULL,
	learned BIGINT NOT NULL,
	contacts BIGINT NOT NULL,
	changed BIGINT NOT NULL,
	model TEXT NOT NULL
);
`
