package store

// step10SQL is the step that brings the time zone of an organization, and imports of whole accounts that go on where they were stopped. Once it is
// released, it stays as it is.
const step10SQL = `
-- The time zone of the organization (IANA), in which its days, months and years begin.
ALTER TABLE account_tally ADD COLUMN timezone TEXT NOT NULL DEFAULT 'UTC';

-- The job that brings a whole account back and is not done yet; 0 is none. Until then nothing else writes to the account.
ALTER TABLE account_tally ADD COLUMN importing BIGINT NOT NULL DEFAULT 0;

-- How many bytes the large answers have that are kept for retries (retry.go).
ALTER TABLE account_tally ADD COLUMN answer_bytes BIGINT NOT NULL DEFAULT 0;

UPDATE account_tally SET answer_bytes = COALESCE((SELECT SUM(length(request_answer.body)) FROM request_answer
	WHERE request_answer.account_id = account_tally.account_id AND length(request_answer.body) > 2048), 0);
`
