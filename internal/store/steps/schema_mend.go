package steps

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

-- Whatever gifts are filtered by, one index has all of it: that of the contact, of the campaign, or else this one, whose condition keeps it from
-- being taken for the others. It replaces those by status and by method.
DROP INDEX gift_time;

CREATE INDEX gift_time ON gift (account_id, given_at, id, net, contact_id, currency, status, method, campaign_id, plan_id, ahead) WHERE id <> 0;

DROP INDEX gift_contact;

CREATE INDEX gift_contact ON gift (account_id, contact_id, given_at, id, currency, net, status, method, plan_id, ahead);

DROP INDEX gift_campaign;

CREATE INDEX gift_campaign ON gift (account_id, campaign_id, given_at, id, currency, net, contact_id, status, method, plan_id, ahead) WHERE campaign_id <> 0;

DROP INDEX gift_status;

DROP INDEX gift_method;

-- How many bytes the large answers have that are kept for retries (retry.go).
ALTER TABLE account_tally ADD COLUMN answer_bytes BIGINT NOT NULL DEFAULT 0;

UPDATE account_tally SET answer_bytes = COALESCE((SELECT SUM(length(request_answer.body)) FROM request_answer
	WHERE request_answer.account_id = account_tally.account_id AND length(request_answer.body) > 2048), 0);
`
