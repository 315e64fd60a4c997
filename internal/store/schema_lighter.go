package store

// step11SQL is the step that makes the archive one of the sets of contacts. Once it is released, it stays as it is.
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
`
