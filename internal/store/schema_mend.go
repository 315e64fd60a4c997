package store

// step10SQL is the step that brings the time zone of an organization, and imports of whole accounts that go on where they were stopped. Once it is
// released, it stays as it is.
const step10SQL = `
-- The time zone of the organization (IANA), in which its days, months and years begin.
ALTER TABLE account_tally ADD COLUMN timezone TEXT NOT NULL DEFAULT 'UTC';

-- The job that brings a whole account back and is not done yet; 0 is none. Until then nothing else writes to the account.
ALTER TABLE account_tally ADD COLUMN importing BIGINT NOT NULL DEFAULT 0;

-- given_at is when a gift was made by the clock of the organization: its day, month and year begin there. ahead is by how many seconds that clock was
-- ahead of UTC.
ALTER TABLE gift ADD COLUMN ahead BIGINT NOT NULL DEFAULT 0;

-- Whether statements say that the organization gave nothing in return.
ALTER TABLE account_setting ADD COLUMN no_return BIGINT NOT NULL DEFAULT 0;
`
