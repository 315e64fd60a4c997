package steps

// step11SQL is the step that keeps less beside the documents: the archive is one of the sets of contacts, sums of gifts are fewer, and an index finds
// the changes of a document. Once it is released, it stays as it is.
const step11SQL = `
-- The archive is a set, which migrate_lighter.go fills.
DROP TABLE contact_archival;

ALTER TABLE contact DROP COLUMN list_revision;

ALTER TABLE account_tally DROP COLUMN list_revision;

-- Days and months of contacts, and how much they gave, are no longer sets.
DELETE FROM contact_set WHERE name >= 'c:' AND name < 'c;' OR name >= 'g:' AND name < 'g;' OR name >= 'u:' AND name < 'u;' OR name >= 'v:' AND name < 'v;';

-- Counts the changes that move contacts into sets and out of them, but for new contacts.
ALTER TABLE account_tally RENAME COLUMN tag_revision TO set_revision;

-- contact.created_at never falls from one contact of an account to the next, so that contacts are in its order already. This is that of the last one.
ALTER TABLE account_tally ADD COLUMN last_created BIGINT NOT NULL DEFAULT 0;

DROP INDEX contact_created;

-- Of the sums of gifts, those of contacts, campaigns and months stay; days, years and donors of years are counted when they are asked for. The characters
-- 18 to 25 of a cell are its period (00000000 all time, 0000yyyy a year, 00yyyymm a month, yyyymmdd a day), those from 31 on its contact.
DELETE FROM giving WHERE substr(cell, 18, 2) <> '00' OR substr(cell, 18, 4) = '0000' AND substr(cell, 22, 4) <> '0000'
	OR substr(cell, 1, 25) = '0000000000000000/00000000' AND substr(cell, 31) = '000000000';

UPDATE giving SET donors = 0 WHERE substr(cell, 1, 16) = '0000000000000000' AND donors <> 0;

ALTER TABLE giving DROP COLUMN new_donors;

ALTER TABLE giving DROP COLUMN retained;

ALTER TABLE giving DROP COLUMN first_year;

-- The largest gifts of a few months are found by gift_time.
DROP INDEX gift_size;

ALTER TABLE gift DROP COLUMN month;

-- The changes of a document are found by an index, and no longer by following the change before each of them. The index also says what was undone, and
-- its condition keeps it from being used for ranges of revisions.
CREATE INDEX change_document ON change (account_id, noun, id, revision, undoes) WHERE id <> 0;

ALTER TABLE change DROP COLUMN prev;

ALTER TABLE contact DROP COLUMN version;
`
