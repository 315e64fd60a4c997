package steps

// step9SQL is the step that brings the record of every change, and what stands on it. Once it is released, it stays as it is.
const step9SQL = `
-- What contacts, campaigns, gifts and plans were changed by, and everything else that is changed: one record, numbered from 1 in each account without
-- a gap, written in the transaction of the change. prev is the change of the same document before it, 0 where there is none, or none is known; undoes is the
-- change that this one takes back; job is the import or the work on many contacts that it belongs to, 0 for none. noun, kind and door are crm's numbers.
CREATE TABLE change (
	account_id BIGINT NOT NULL,
	revision BIGINT NOT NULL,
	noun SMALLINT NOT NULL,
	kind SMALLINT NOT NULL,
	id BIGINT NOT NULL,
	prev BIGINT NOT NULL,
	undoes BIGINT NOT NULL,
	job BIGINT NOT NULL,
	at BIGINT NOT NULL,
	door SMALLINT NOT NULL,
	actor TEXT NOT NULL,
	data TEXT NOT NULL,
	PRIMARY KEY (account_id, revision)
) {clustered};

-- revision is that of the last change from now on. What counts the moves in lists is list_revision.
ALTER TABLE account_tally RENAME COLUMN revision TO list_revision;

ALTER TABLE account_tally ADD COLUMN revision BIGINT NOT NULL DEFAULT 0;

-- The first change that is kept, and a random number by which a feed notices that a database was put back.
ALTER TABLE account_tally ADD COLUMN oldest BIGINT NOT NULL DEFAULT 1;

ALTER TABLE account_tally ADD COLUMN epoch BIGINT NOT NULL DEFAULT 0;

ALTER TABLE account_tally ADD COLUMN job_seq BIGINT NOT NULL DEFAULT 0;

ALTER TABLE account_tally ADD COLUMN field_seq BIGINT NOT NULL DEFAULT 0;

ALTER TABLE account_tally ADD COLUMN segment_seq BIGINT NOT NULL DEFAULT 0;

ALTER TABLE contact RENAME COLUMN revision TO list_revision;

ALTER TABLE contact ADD COLUMN revision BIGINT NOT NULL DEFAULT 0;

-- How many changes it has had.
ALTER TABLE contact ADD COLUMN version BIGINT NOT NULL DEFAULT 0;

-- When the last gift was given that counts (0 is none, and the very second of 1970 is 1), and whether it has custom fields.
ALTER TABLE contact ADD COLUMN last_gift BIGINT NOT NULL DEFAULT 0;

ALTER TABLE contact ADD COLUMN custom SMALLINT NOT NULL DEFAULT 0;

UPDATE contact SET last_gift = COALESCE((SELECT MAX(CASE given_at WHEN 0 THEN 1 ELSE given_at END) FROM gift
	WHERE gift.account_id = contact.account_id AND gift.contact_id = contact.id AND gift.net > 0), 0)
	WHERE id IN (SELECT contact_id FROM gift WHERE net > 0);

CREATE INDEX contact_last_gift ON contact (account_id, last_gift, id) WHERE last_gift <> 0;

ALTER TABLE campaign ADD COLUMN revision BIGINT NOT NULL DEFAULT 0;

-- Both indexes now tell who gave, so that contacts are found by when they gave, and to which campaign.
DROP INDEX gift_time;

CREATE INDEX gift_time ON gift (account_id, given_at, id, net, contact_id);

DROP INDEX gift_campaign;

CREATE INDEX gift_campaign ON gift (account_id, campaign_id, given_at, id, currency, net, contact_id) WHERE campaign_id <> 0;

ALTER TABLE gift ADD COLUMN revision BIGINT NOT NULL DEFAULT 0;

ALTER TABLE plan ADD COLUMN revision BIGINT NOT NULL DEFAULT 0;

-- For how many days the history is kept; 0 is for good.
ALTER TABLE account_setting ADD COLUMN history_days BIGINT NOT NULL DEFAULT 0;

-- Fields that an owner has defined. options has one choice a line; one that was taken away has ended.
CREATE TABLE custom_field (
	account_id BIGINT NOT NULL,
	id BIGINT NOT NULL,
	title TEXT NOT NULL,
	description TEXT NOT NULL,
	type TEXT NOT NULL,
	options TEXT NOT NULL,
	place BIGINT NOT NULL,
	created_at BIGINT NOT NULL,
	ended_at BIGINT NOT NULL,
	PRIMARY KEY (account_id, id)
);

-- Filters that were saved under a name.
CREATE TABLE segment (
	account_id BIGINT NOT NULL,
	id BIGINT NOT NULL,
	name TEXT NOT NULL,
	query TEXT NOT NULL,
	actor TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	PRIMARY KEY (account_id, id)
);

-- Work on many contacts that goes on in the background, on any node: imports, and changes of what was selected. first and last are the range of
-- its changes, and undo is the job that takes them back, 0 for none.
CREATE TABLE job (
	account_id BIGINT NOT NULL,
	id BIGINT NOT NULL,
	kind TEXT NOT NULL,
	state TEXT NOT NULL,
	actor TEXT NOT NULL,
	door SMALLINT NOT NULL,
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL,
	spec TEXT NOT NULL,
	progress TEXT NOT NULL,
	first BIGINT NOT NULL,
	last BIGINT NOT NULL,
	undo BIGINT NOT NULL,
	PRIMARY KEY (account_id, id)
);

-- Jobs that are not at their end, of which there are few.
CREATE INDEX job_open ON job (account_id, id) WHERE state IN ('uploading', 'mapping', 'waiting', 'running');

-- Jobs by their age, to find those whose rows are to be forgotten.
CREATE INDEX job_age ON job (updated_at, account_id, id);

-- The file of an import, or the contacts that work is about, in parts.
CREATE TABLE job_part (
	account_id BIGINT NOT NULL,
	job_id BIGINT NOT NULL,
	number BIGINT NOT NULL,
	data {bytes} NOT NULL,
	PRIMARY KEY (account_id, job_id, number)
);

-- What became of rows that a person has to know of: those that were rejected, and why.
CREATE TABLE job_row (
	account_id BIGINT NOT NULL,
	job_id BIGINT NOT NULL,
	number BIGINT NOT NULL,
	outcome TEXT NOT NULL,
	contact_id BIGINT NOT NULL,
	data TEXT NOT NULL,
	PRIMARY KEY (account_id, job_id, number)
);

-- How the columns of files with the same header were mapped last.
CREATE TABLE column_mapping (
	account_id BIGINT NOT NULL,
	header {key} NOT NULL,
	mapping TEXT NOT NULL,
	used_at BIGINT NOT NULL,
	PRIMARY KEY (account_id, header)
);
`
