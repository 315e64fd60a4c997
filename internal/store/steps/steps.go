// Package steps is the schema's past: every step that made the database what it is, as frozen texts. A step that was released never changes, so
// nothing here uses a rule or a table description that may become another one. It knows the package db and nothing else of ours.
package steps

import "donorbook/internal/db"

// All is the schema, step by step.
//
// account_id leads every key of tenant data, so that the rows of one account can live on one machine.
var All = []db.Step{{SQL: `
CREATE TABLE account (
	account_id BIGINT NOT NULL PRIMARY KEY,
	public_id {key} NOT NULL UNIQUE,
	name TEXT NOT NULL,
	parent BIGINT NOT NULL,
	created_at BIGINT NOT NULL
);

-- What every write of an account locks and counts: its revision, its sequences and its totals.
CREATE TABLE account_tally (
	account_id BIGINT NOT NULL PRIMARY KEY,
	revision BIGINT NOT NULL,
	contact_seq BIGINT NOT NULL,
	contact_active BIGINT NOT NULL,
	key_seq BIGINT NOT NULL,
	campaign_revision BIGINT NOT NULL
);

-- A contact is one document: the bytes that the API answers, all but the id.
CREATE TABLE contact (
	account_id BIGINT NOT NULL,
	id {id} NOT NULL,
	revision BIGINT NOT NULL,
	archived SMALLINT NOT NULL,
	match_keys TEXT NOT NULL,
	body {bytes} NOT NULL,
	{idKey}
);

-- The last change of each contact, in the order of the account's revisions.
CREATE TABLE contact_change (
	account_id BIGINT NOT NULL,
	revision BIGINT NOT NULL,
	id BIGINT NOT NULL,
	archived SMALLINT NOT NULL,
	PRIMARY KEY (account_id, revision)
) {clustered};

-- Every key under which a contact can be found (crm.IndexKeys).
CREATE TABLE contact_index (
	account_id BIGINT NOT NULL,
	key {key} NOT NULL,
	id BIGINT NOT NULL,
	PRIMARY KEY (account_id, key, id)
) {clustered};

CREATE TABLE api_key (
	account_id BIGINT NOT NULL,
	id BIGINT NOT NULL,
	name TEXT NOT NULL,
	hint TEXT NOT NULL,
	hash {bytes} NOT NULL,
	permissions BIGINT NOT NULL,
	created_at BIGINT NOT NULL,
	last_used_at BIGINT NOT NULL,
	expires_at BIGINT NOT NULL,
	revoked_at BIGINT NOT NULL,
	PRIMARY KEY (account_id, id)
);

-- Campaigns are few and shared between accounts; who may list one, and why, is a row under the account that reads.
CREATE TABLE campaign (
	id BIGINT NOT NULL PRIMARY KEY,
	account_id BIGINT NOT NULL,
	slug {key} NOT NULL UNIQUE,
	url_at BIGINT NOT NULL,
	body {bytes} NOT NULL
);

CREATE TABLE campaign_reader (
	account_id BIGINT NOT NULL,
	campaign_id BIGINT NOT NULL,
	relation SMALLINT NOT NULL,
	PRIMARY KEY (account_id, campaign_id)
) {clustered};

CREATE INDEX campaign_reader_campaign ON campaign_reader (campaign_id, account_id);
`}, {SQL: `
-- People who sign in. They belong to no account by themselves; member says where they do. opened is the account that they
-- worked with last.
CREATE TABLE app_user (
	id BIGINT NOT NULL PRIMARY KEY,
	login {key} NOT NULL UNIQUE,
	email TEXT NOT NULL,
	name TEXT NOT NULL,
	password TEXT NOT NULL,
	opened BIGINT NOT NULL,
	created_at BIGINT NOT NULL
);

CREATE TABLE member (
	account_id BIGINT NOT NULL,
	user_id BIGINT NOT NULL,
	role SMALLINT NOT NULL,
	created_at BIGINT NOT NULL,
	seen_at BIGINT NOT NULL,
	PRIMARY KEY (account_id, user_id)
);

CREATE INDEX member_user ON member (user_id, account_id);

-- Sessions and invitations are found by the hash, in hexadecimal, of a token that is kept nowhere.
CREATE TABLE user_session (
	hash {key} NOT NULL PRIMARY KEY,
	user_id BIGINT NOT NULL,
	account_id BIGINT NOT NULL,
	address TEXT NOT NULL,
	agent TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	seen_at BIGINT NOT NULL,
	expires_at BIGINT NOT NULL
);

CREATE INDEX user_session_user ON user_session (user_id, created_at);

-- An invitation to account 0 is the set-up link.
CREATE TABLE invitation (
	hash {key} NOT NULL PRIMARY KEY,
	account_id BIGINT NOT NULL,
	email TEXT NOT NULL,
	role SMALLINT NOT NULL,
	invited_by BIGINT NOT NULL,
	created_at BIGINT NOT NULL,
	expires_at BIGINT NOT NULL
);

CREATE INDEX invitation_account ON invitation (account_id, created_at);

-- How many active contacts have each tag; fold is the name as it is searched for.
CREATE TABLE tag (
	account_id BIGINT NOT NULL,
	fold {key} NOT NULL,
	name {key} NOT NULL,
	contacts BIGINT NOT NULL,
	PRIMARY KEY (account_id, fold, name)
) {clustered};

CREATE INDEX tag_size ON tag (account_id, contacts DESC, fold, name);

CREATE INDEX account_parent ON account (parent, account_id);
`}, {SQL: `
-- Which contacts were archived or restored, each at the revision at which that happened last. All the others are active, as
-- every contact is at first, so that nothing has to be written here for a new one or for another change.
CREATE TABLE contact_archival (
	account_id BIGINT NOT NULL,
	revision BIGINT NOT NULL,
	id BIGINT NOT NULL,
	archived SMALLINT NOT NULL,
	PRIMARY KEY (account_id, revision)
) {clustered};

INSERT INTO contact_archival (account_id, revision, id, archived)
	SELECT account_id, revision, id, archived FROM contact_change WHERE archived = 1
	AND EXISTS (SELECT 1 FROM account_tally WHERE account_tally.account_id = contact_change.account_id) -- not of a copy that never ended
	ORDER BY account_id, revision;

DROP TABLE contact_change;

-- size is how many digits the number of contacts has. The index has it instead of the number itself, which moved a row of
-- the index with every change of a tag.
ALTER TABLE tag ADD COLUMN size SMALLINT NOT NULL DEFAULT 0;

UPDATE tag SET size = length(CAST(contacts AS TEXT));

DROP INDEX tag_size;

CREATE INDEX tag_size ON tag (account_id, size DESC, fold, name);
`}, {SQL: `
-- The CRC-32C of the body, by which damage is noticed.
ALTER TABLE contact ADD COLUMN checksum BIGINT NOT NULL DEFAULT 0;

ALTER TABLE campaign ADD COLUMN checksum BIGINT NOT NULL DEFAULT 0;
`, Fill: fillChecksums}, {SQL: `
-- contact_index has match keys alone from now on, and contact_search the words. Both are derived from the documents (derive.go).
DROP TABLE contact_index;

CREATE TABLE contact_index (
	account_id BIGINT NOT NULL,
	key {key} NOT NULL,
	id BIGINT NOT NULL,
	PRIMARY KEY (account_id, key, id)
) {clustered};

-- Of which version the program was that has derived something. What is missing here must be derived.
CREATE TABLE derived (
	name {key} NOT NULL PRIMARY KEY,
	version BIGINT NOT NULL
);

{search contact_search}
`}, {SQL: `
{starts contact_search}
`}, {SQL: `
-- A gift: what it is found by stands in columns, all else in its document. net is what is left of it where it counts, in the smallest
-- unit of its currency; month is that of given_at, as in 202611; a campaign or plan of 0 is none.
CREATE TABLE gift (
	account_id BIGINT NOT NULL,
	id {id} NOT NULL,
	contact_id BIGINT NOT NULL,
	campaign_id BIGINT NOT NULL,
	plan_id BIGINT NOT NULL,
	status SMALLINT NOT NULL,
	method SMALLINT NOT NULL,
	currency TEXT NOT NULL,
	net BIGINT NOT NULL,
	month BIGINT NOT NULL,
	given_at BIGINT NOT NULL,
	code TEXT NOT NULL,
	body {bytes} NOT NULL,
	checksum BIGINT NOT NULL,
	{idKey}
);

CREATE INDEX gift_time ON gift (account_id, given_at, id);

CREATE INDEX gift_contact ON gift (account_id, contact_id, given_at, id, currency, net);

CREATE INDEX gift_campaign ON gift (account_id, campaign_id, given_at, id, currency, net) WHERE campaign_id <> 0;

CREATE INDEX gift_plan ON gift (account_id, plan_id, given_at, id) WHERE plan_id <> 0;

CREATE INDEX gift_size ON gift (account_id, month, net);

CREATE INDEX gift_status ON gift (account_id, status, id, currency, net);

CREATE INDEX gift_method ON gift (account_id, method, id, currency, net);

-- What became of a gift after it was recorded: who changed what, and when.
CREATE TABLE gift_event (
	account_id BIGINT NOT NULL,
	gift_id BIGINT NOT NULL,
	number BIGINT NOT NULL,
	at BIGINT NOT NULL,
	actor TEXT NOT NULL,
	data TEXT NOT NULL,
	PRIMARY KEY (account_id, gift_id, number)
) {clustered};

CREATE TABLE plan (
	account_id BIGINT NOT NULL,
	id {id} NOT NULL,
	contact_id BIGINT NOT NULL,
	campaign_id BIGINT NOT NULL,
	status SMALLINT NOT NULL,
	next_bill BIGINT NOT NULL,
	code TEXT NOT NULL,
	body {bytes} NOT NULL,
	checksum BIGINT NOT NULL,
	{idKey}
);

CREATE INDEX plan_contact ON plan (account_id, contact_id, id);

CREATE INDEX plan_campaign ON plan (account_id, campaign_id, id) WHERE campaign_id <> 0;

CREATE INDEX plan_due ON plan (account_id, status, next_bill, id);

-- What gifts (g:) and plans (p:) are called in the systems that they came from.
CREATE TABLE external_reference (
	account_id BIGINT NOT NULL,
	reference {key} NOT NULL,
	id BIGINT NOT NULL,
	PRIMARY KEY (account_id, reference)
) {clustered};

-- The sums of gifts. A cell is a campaign or all, a time or all, a currency, a contact or all (crm.Cell).
CREATE TABLE giving (
	account_id BIGINT NOT NULL,
	cell {key} NOT NULL,
	entries BIGINT NOT NULL,
	gifts BIGINT NOT NULL,
	amount BIGINT NOT NULL,
	recurring BIGINT NOT NULL,
	donors BIGINT NOT NULL,
	new_donors BIGINT NOT NULL,
	retained BIGINT NOT NULL,
	first_year BIGINT NOT NULL,
	PRIMARY KEY (account_id, cell)
) {clustered};

-- What requests with a retry key were answered (retry.go).
CREATE TABLE request_answer (
	account_id BIGINT NOT NULL,
	key {key} NOT NULL,
	fingerprint {bytes} NOT NULL,
	status SMALLINT NOT NULL,
	header TEXT NOT NULL,
	body {bytes} NOT NULL,
	created_at BIGINT NOT NULL,
	PRIMARY KEY (account_id, key)
);

CREATE INDEX request_answer_age ON request_answer (account_id, created_at, key);

-- cell names the sums of its gifts. What the API does not show stands beside the document: draft, published or closed, and where people pay.
ALTER TABLE campaign ADD COLUMN cell {key} NOT NULL DEFAULT '';

ALTER TABLE campaign ADD COLUMN status TEXT NOT NULL DEFAULT 'published';

ALTER TABLE campaign ADD COLUMN payment_link TEXT NOT NULL DEFAULT '';

-- The slugs that campaigns had, which lead to them until another one takes them. left_at is in microseconds.
CREATE TABLE campaign_slug (
	slug {key} NOT NULL PRIMARY KEY,
	campaign_id BIGINT NOT NULL,
	left_at BIGINT NOT NULL
);

CREATE INDEX campaign_slug_campaign ON campaign_slug (campaign_id, left_at, slug);

-- What statements of giving say about the organization; an account without a row has set nothing.
CREATE TABLE account_setting (
	account_id BIGINT NOT NULL PRIMARY KEY,
	address TEXT NOT NULL,
	tax_id TEXT NOT NULL
);

ALTER TABLE account_tally ADD COLUMN gift_seq BIGINT NOT NULL DEFAULT 0;

ALTER TABLE account_tally ADD COLUMN plan_seq BIGINT NOT NULL DEFAULT 0;

ALTER TABLE account_tally ADD COLUMN currency TEXT NOT NULL DEFAULT 'USD';
`, Fill: FillCells}, {SQL: `
-- What contacts are filtered and sorted by, from their documents (derive.go). given is their total of contributions. The indexes have
-- conditions so that only a statement that repeats one uses it: a planner without statistics would take any of them for a range of ids.
ALTER TABLE contact ADD COLUMN created_at BIGINT NOT NULL DEFAULT 0;

ALTER TABLE contact ADD COLUMN updated_at BIGINT NOT NULL DEFAULT 0;

ALTER TABLE contact ADD COLUMN sort_name {key} NOT NULL DEFAULT '';

ALTER TABLE contact ADD COLUMN given BIGINT NOT NULL DEFAULT 0;

CREATE INDEX contact_created ON contact (account_id, created_at, id) WHERE created_at <> 0;

CREATE INDEX contact_updated ON contact (account_id, updated_at, id) WHERE updated_at <> 0;

CREATE INDEX contact_name ON contact (account_id, sort_name, id) WHERE sort_name <> '';

CREATE INDEX contact_given ON contact (account_id, given, id) WHERE given <> 0;

-- Which contacts have a tag (contact_set.go): of each block of 4,096 sequence numbers how many, and which.
CREATE TABLE contact_set (
	account_id BIGINT NOT NULL,
	name {key} NOT NULL,
	block BIGINT NOT NULL,
	size BIGINT NOT NULL,
	bits {bytes} NOT NULL,
	PRIMARY KEY (account_id, name, block)
) {clustered};

-- Tags that are being renamed, or deleted where they become nothing, on many contacts.
CREATE TABLE tag_work (
	account_id BIGINT NOT NULL,
	name {key} NOT NULL,
	becomes TEXT NOT NULL,
	actor TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	PRIMARY KEY (account_id, name)
);

ALTER TABLE account_tally ADD COLUMN campaign_seq BIGINT NOT NULL DEFAULT 0;

-- The id of a campaign was the microsecond of its creation, by which lists go on. An id that an account could come to by counting is passed.
ALTER TABLE campaign ADD COLUMN listed_at BIGINT NOT NULL DEFAULT 0;

UPDATE campaign SET listed_at = id;

UPDATE account_tally SET campaign_seq = COALESCE((SELECT MAX(c.id) - account_tally.account_id * 1000000000 FROM campaign AS c WHERE c.account_id = account_tally.account_id
	AND c.id > account_tally.account_id * 1000000000 AND c.id < (account_tally.account_id + 1) * 1000000000), 0);

ALTER TABLE account_tally ADD COLUMN tag_revision BIGINT NOT NULL DEFAULT 0;
`}, {SQL: step9SQL, Fill: fillHistory}, {SQL: step10SQL, Fill: markErased}, {SQL: step11SQL, Fill: FillSets}, {SQL: step12SQL}, {SQL: step13SQL}, {SQL: step14SQL, Fill: fillMerged}}
