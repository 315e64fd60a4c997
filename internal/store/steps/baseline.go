package steps

// baselineSQL makes schema 13, that of release 0.10, before which nothing was given to anyone. It is frozen. The texts are as a database file has kept them since, word for word and space for space, because the schema of a
// backup is compared with them: columns that were added by a step of their own stand on one line.
const baselineSQL = `
CREATE TABLE account (
	account_id BIGINT NOT NULL PRIMARY KEY,
	public_id {key} NOT NULL UNIQUE,
	name TEXT NOT NULL,
	parent BIGINT NOT NULL,
	created_at BIGINT NOT NULL
);

CREATE INDEX account_parent ON account (parent, account_id);

-- What every change of an account locks and counts. Its sequences and totals; revision is that of its last change, oldest the first change that is kept, and epoch a random number by which a feed
-- notices that a database was put back. set_revision counts the changes that move contacts into sets and out of them, but for new contacts. timezone (IANA) is where its days, months and years begin. importing is the job
-- that brings a whole account back and is not done yet, until which nothing else writes to the account; answer_bytes is how many bytes the large answers have that are kept for retries; last_created is the
-- created_at of the last contact.
CREATE TABLE account_tally (
	account_id BIGINT NOT NULL PRIMARY KEY,
	contact_seq BIGINT NOT NULL,
	contact_active BIGINT NOT NULL,
	key_seq BIGINT NOT NULL,
	campaign_revision BIGINT NOT NULL
, gift_seq BIGINT NOT NULL DEFAULT 0, plan_seq BIGINT NOT NULL DEFAULT 0, currency TEXT NOT NULL DEFAULT 'USD', campaign_seq BIGINT NOT NULL DEFAULT 0, set_revision BIGINT NOT NULL DEFAULT 0, revision BIGINT NOT NULL DEFAULT 0, oldest BIGINT NOT NULL DEFAULT 1, epoch BIGINT NOT NULL DEFAULT 0, job_seq BIGINT NOT NULL DEFAULT 0, field_seq BIGINT NOT NULL DEFAULT 0, segment_seq BIGINT NOT NULL DEFAULT 0, timezone TEXT NOT NULL DEFAULT 'UTC', importing BIGINT NOT NULL DEFAULT 0, answer_bytes BIGINT NOT NULL DEFAULT 0, last_created BIGINT NOT NULL DEFAULT 0);

-- What statements and public pages say about the organization; an account without a row has set nothing. history_days is for how many days the history is kept, and 0 is for good. logo is an address without the base
-- of the server. public_donors is what public pages of campaigns tell of recent donors: nothing, names, or amounts as well.
CREATE TABLE account_setting (
	account_id BIGINT NOT NULL PRIMARY KEY,
	address TEXT NOT NULL,
	tax_id TEXT NOT NULL
, history_days BIGINT NOT NULL DEFAULT 0, no_return BIGINT NOT NULL DEFAULT 0, logo TEXT NOT NULL DEFAULT '', email TEXT NOT NULL DEFAULT '', website TEXT NOT NULL DEFAULT '', public_donors TEXT NOT NULL DEFAULT '');

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

-- People who sign in. They belong to no account by themselves; member says where they do. opened is the account that they worked with last.
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

-- A contact is one document: the bytes that the API answers, all but the id. What it is filtered and sorted by stands beside it. checksum is the CRC-32C of the body. created_at never falls from one contact of an account to
-- the next. last_gift is when the last gift was given that counts: 0 is none, and the very second of 1970 is 1. The indexes have conditions so that only a statement that repeats one uses it: a planner without statistics
-- would take any of them for a range of ids.
CREATE TABLE contact (
	account_id BIGINT NOT NULL,
	id {id} NOT NULL,
	archived SMALLINT NOT NULL,
	match_keys TEXT NOT NULL,
	body {bytes} NOT NULL, checksum BIGINT NOT NULL DEFAULT 0, created_at BIGINT NOT NULL DEFAULT 0, updated_at BIGINT NOT NULL DEFAULT 0, sort_name {key} NOT NULL DEFAULT '', given BIGINT NOT NULL DEFAULT 0, revision BIGINT NOT NULL DEFAULT 0, last_gift BIGINT NOT NULL DEFAULT 0, custom SMALLINT NOT NULL DEFAULT 0,
	{idKey}
);

CREATE INDEX contact_updated ON contact (account_id, updated_at, id) WHERE updated_at <> 0;

CREATE INDEX contact_name ON contact (account_id, sort_name, id) WHERE sort_name <> '';

CREATE INDEX contact_given ON contact (account_id, given, id) WHERE given <> 0;

CREATE INDEX contact_last_gift ON contact (account_id, last_gift, id) WHERE last_gift <> 0;

-- The match keys of contacts.
CREATE TABLE contact_index (
	account_id BIGINT NOT NULL,
	key {key} NOT NULL,
	id BIGINT NOT NULL,
	PRIMARY KEY (account_id, key, id)
) {clustered};

-- The words of contacts.
{search contact_search}

-- Which contacts have a tag, or something else in common: of each block of 4,096 sequence numbers how many, and which.
CREATE TABLE contact_set (
	account_id BIGINT NOT NULL,
	name {key} NOT NULL,
	block BIGINT NOT NULL,
	size BIGINT NOT NULL,
	bits {bytes} NOT NULL,
	PRIMARY KEY (account_id, name, block)
) {clustered};

-- How many active contacts have each tag; fold is the name as it is searched for, and size is how many digits the number of contacts has: an index of the number itself would move a row with every change.
CREATE TABLE tag (
	account_id BIGINT NOT NULL,
	fold {key} NOT NULL,
	name {key} NOT NULL,
	contacts BIGINT NOT NULL, size SMALLINT NOT NULL DEFAULT 0,
	PRIMARY KEY (account_id, fold, name)
) {clustered};

CREATE INDEX tag_size ON tag (account_id, size DESC, fold, name);

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

-- Campaigns are few and shared between accounts. cell names the sums of its gifts; what the API does not show stands beside the document.
CREATE TABLE campaign (
	id BIGINT NOT NULL PRIMARY KEY,
	account_id BIGINT NOT NULL,
	slug {key} NOT NULL UNIQUE,
	url_at BIGINT NOT NULL,
	body {bytes} NOT NULL
, checksum BIGINT NOT NULL DEFAULT 0, cell {key} NOT NULL DEFAULT '', status TEXT NOT NULL DEFAULT 'published', payment_link TEXT NOT NULL DEFAULT '', listed_at BIGINT NOT NULL DEFAULT 0, revision BIGINT NOT NULL DEFAULT 0);

-- Who may list a campaign, and why: a row under the account that reads.
CREATE TABLE campaign_reader (
	account_id BIGINT NOT NULL,
	campaign_id BIGINT NOT NULL,
	relation SMALLINT NOT NULL,
	PRIMARY KEY (account_id, campaign_id)
) {clustered};

CREATE INDEX campaign_reader_campaign ON campaign_reader (campaign_id, account_id);

-- The slugs that campaigns had, which lead to them until another one takes them. left_at is in microseconds.
CREATE TABLE campaign_slug (
	slug {key} NOT NULL PRIMARY KEY,
	campaign_id BIGINT NOT NULL,
	left_at BIGINT NOT NULL
);

CREATE INDEX campaign_slug_campaign ON campaign_slug (campaign_id, left_at, slug);

-- One size of a picture each. campaign_id is the campaign that shows it, and 0 where it is the logo of the organization. The name is random, and is all that the address of the picture says.
CREATE TABLE picture (
	account_id BIGINT NOT NULL,
	name {key} NOT NULL,
	campaign_id BIGINT NOT NULL,
	body {bytes} NOT NULL,
	checksum BIGINT NOT NULL,
	PRIMARY KEY (account_id, name)
);

CREATE INDEX picture_name ON picture (name, account_id);

-- A gift: what it is found by stands in columns, all else in its document. net is what is left of it where it counts, in the smallest unit of its currency; a campaign or plan of 0 is none. given_at is by the clock of the
-- organization, which was ahead of UTC by so many seconds. Whatever gifts are filtered by, one index has all of it: that of the contact, of the campaign, or else that of the time, whose condition keeps it from being taken
-- for the others.
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
	given_at BIGINT NOT NULL,
	code TEXT NOT NULL,
	body {bytes} NOT NULL,
	checksum BIGINT NOT NULL, revision BIGINT NOT NULL DEFAULT 0, ahead BIGINT NOT NULL DEFAULT 0,
	{idKey}
);

CREATE INDEX gift_plan ON gift (account_id, plan_id, given_at, id) WHERE plan_id <> 0;

CREATE INDEX gift_time ON gift (account_id, given_at, id, net, contact_id, currency, status, method, campaign_id, plan_id, ahead) WHERE id <> 0;

CREATE INDEX gift_contact ON gift (account_id, contact_id, given_at, id, currency, net, status, method, plan_id, ahead);

CREATE INDEX gift_campaign ON gift (account_id, campaign_id, given_at, id, currency, net, contact_id, status, method, plan_id, ahead) WHERE campaign_id <> 0;

CREATE TABLE plan (
	account_id BIGINT NOT NULL,
	id {id} NOT NULL,
	contact_id BIGINT NOT NULL,
	campaign_id BIGINT NOT NULL,
	status SMALLINT NOT NULL,
	next_bill BIGINT NOT NULL,
	code TEXT NOT NULL,
	body {bytes} NOT NULL,
	checksum BIGINT NOT NULL, revision BIGINT NOT NULL DEFAULT 0,
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

-- The sums of gifts. A cell is a campaign or all, a month or all, a currency, a contact or all (giving.Cell).
CREATE TABLE giving (
	account_id BIGINT NOT NULL,
	cell {key} NOT NULL,
	entries BIGINT NOT NULL,
	gifts BIGINT NOT NULL,
	amount BIGINT NOT NULL,
	recurring BIGINT NOT NULL,
	donors BIGINT NOT NULL,
	PRIMARY KEY (account_id, cell)
) {clustered};

-- Everything that was changed: one record, numbered from 1 in each account without a gap, written in the transaction of the change. undoes is the change that this one takes back; job is the import or the work on many
-- contacts that it belongs to, 0 for none. noun, kind and door are crm's numbers. The index finds the changes of a document and says what was undone; its condition keeps it from being used for ranges of revisions.
CREATE TABLE change (
	account_id BIGINT NOT NULL,
	revision BIGINT NOT NULL,
	noun SMALLINT NOT NULL,
	kind SMALLINT NOT NULL,
	id BIGINT NOT NULL,
	undoes BIGINT NOT NULL,
	job BIGINT NOT NULL,
	at BIGINT NOT NULL,
	door SMALLINT NOT NULL,
	actor TEXT NOT NULL,
	data TEXT NOT NULL,
	PRIMARY KEY (account_id, revision)
) {clustered};

CREATE INDEX change_document ON change (account_id, noun, id, revision, undoes) WHERE id <> 0;

-- A merge of two contacts, or of what was sent into the contact that it matched. id is the change of the survivor in the history; the change of the other contact comes right before it, and those of gifts and plans up to last
-- follow it. sent is the document of what was sent, with its match keys before it, line by line; then other is 0, until an undo makes a contact of it. review is 1 where the names contradict each other, and 2 once a
-- person has kept the merge. undone is the change of the survivor that undid it.
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

-- Two contacts that may be the same person, a < b. person stands for all contacts that are taken for this person. The probability is in millionths, and level 1 is the surest. Reasons are lines. state is 1 where a person has
-- said that they are not the same, which holds until one of the digests of what is compared is another one.
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

-- Up to which change an account was looked through for duplicates, and when; up to which one all contacts were compared with each other, how many these were, what was learned of them, and how many were looked at one by
-- one since. A node that is at it says until when.
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

-- Work on many contacts that goes on in the background, on any node: imports, and changes of what was selected. first and last are the range of its changes, and undo is the job that takes them back, 0 for none. The indexes find
-- those that are not at their end, of which there are few, and those whose rows are to be forgotten.
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

CREATE INDEX job_open ON job (account_id, id) WHERE state IN ('uploading', 'mapping', 'waiting', 'running');

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

-- Of which version the program was that has derived something. What is missing here must be derived.
CREATE TABLE derived (
	name {key} NOT NULL PRIMARY KEY,
	version BIGINT NOT NULL
);
`
