package steps

// step12SQL is the step that keeps pictures that were uploaded, and what public pages say about an organization. Once it is released, it stays as it is.
const step12SQL = `
-- One size of a picture each. campaign_id is the campaign that shows it, and 0 where it is the logo of the organization. The name is random, and is all that the
-- address of the picture says.
CREATE TABLE picture (
	account_id BIGINT NOT NULL,
	name {key} NOT NULL,
	campaign_id BIGINT NOT NULL,
	body {bytes} NOT NULL,
	checksum BIGINT NOT NULL,
	PRIMARY KEY (account_id, name)
);

CREATE INDEX picture_name ON picture (name, account_id);

-- The address of the organization's logo, without the base of the server.
ALTER TABLE account_setting ADD COLUMN logo TEXT NOT NULL DEFAULT '';

ALTER TABLE account_setting ADD COLUMN email TEXT NOT NULL DEFAULT '';

ALTER TABLE account_setting ADD COLUMN website TEXT NOT NULL DEFAULT '';

-- What public pages of campaigns tell of recent donors: nothing, names, or amounts as well.
ALTER TABLE account_setting ADD COLUMN public_donors TEXT NOT NULL DEFAULT '';
`
