package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// migrations is the schema, step by step; its length is the schema's version. A step is never changed once it was
// released: what must become different becomes another step. Words in braces are the engine's (see dialect).
//
// account_id leads every key of tenant data, so that the rows of one account can live on one machine. Times are
// seconds since 1970 (an account's: microseconds), 0 where there is none.
var migrations = []migration{{sql: `
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
`}, {sql: `
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
`}, {sql: `
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
`}, {sql: `
-- The CRC-32C of the body, by which damage is noticed.
ALTER TABLE contact ADD COLUMN checksum BIGINT NOT NULL DEFAULT 0;

ALTER TABLE campaign ADD COLUMN checksum BIGINT NOT NULL DEFAULT 0;
`, fill: fillChecksums}, {sql: `
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
`, own: map[string]string{"sqlite": `
-- The prefix is as long as what stands before a word, and the word's first letter.
CREATE VIRTUAL TABLE contact_search USING fts5(words, content='', contentless_delete=1, detail=none, prefix='9', tokenize="ascii tokenchars '@.#+~=-_'");

CREATE VIRTUAL TABLE contact_search_word USING fts5vocab(contact_search, instance);
`, "postgres": `
CREATE TABLE contact_search (
	account_id BIGINT NOT NULL,
	id BIGINT NOT NULL,
	words tsvector NOT NULL,
	PRIMARY KEY (account_id, id)
);

CREATE INDEX contact_search_words ON contact_search USING GIN (words);
`}}}

// migration is one step: frozen texts, for all engines and for each by its name, and frozen code where texts are not enough.
// What is derived from documents is no part of a step: it is derived anew after the last one (derive.go).
type migration struct {
	sql  string
	own  map[string]string
	fill func(conn, dialect) error // nil where statements are enough
}

// migrate brings the database to this program's schema. Whoever comes second finds nothing left to do.
func (s *Store) migrate(ctx context.Context) error {
	c, err := s.engine.writer(ctx)
	if err != nil {
		return err
	}
	defer s.engine.release(c)
	version, err := schemaVersion(c)
	if err != nil {
		return err
	}
	if version == len(migrations) {
		if done, err := isDerived(c); err != nil || done {
			return err
		}
	}
	if err := c.begin(true); err != nil {
		return err
	}
	defer c.rollback()
	if lock := s.engine.dialect().lockVersion; lock != "" {
		if _, err := c.exec(lock); err != nil {
			return err
		}
	}
	if version, err = schemaVersion(c); err != nil { // again, now that nobody else can change it
		return err
	}
	if version >= copyMark {
		return ErrUnfinished
	}
	if version > len(migrations) {
		return fmt.Errorf("the database has schema version %d, and this program knows versions up to %d: use a newer donorbook", version, len(migrations))
	}
	for ; version < len(migrations); version++ {
		if err := applyMigration(c, s.engine.dialect(), version); err != nil {
			return fmt.Errorf("migration %d: %w", version+1, err)
		}
	}
	if err := derive(c, s.engine.dialect()); err != nil {
		return err
	}
	return c.commit()
}

const (
	sqlCreateVersion = `CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL PRIMARY KEY)`
	sqlVersion       = `SELECT COALESCE(MAX(version), 0) FROM schema_version`
	sqlProbe         = `UPDATE schema_version SET version = version WHERE version = $1`
	sqlAddVersion    = `INSERT INTO schema_version (version) VALUES ($1)`
)

func schemaVersion(c conn) (version int, err error) {
	_, err = c.exec(sqlCreateVersion)
	if errors.Is(err, errTaken) { // by a node that starts at the same moment
		_, err = c.exec(sqlCreateVersion)
	}
	if err != nil {
		return 0, err
	}
	_, err = one(c, func(r rows) { version = int(r.int(0)) }, sqlVersion)
	return version, err
}

func applyMigration(c conn, d dialect, version int) error {
	words := strings.NewReplacer("{id}", d.id, "{idKey}", d.idKey, "{bytes}", d.bytes, "{key}", d.key, "{clustered}", d.clustered)
	step := migrations[version]
	for statement := range strings.SplitSeq(words.Replace(step.sql+step.own[d.name]), ";\n") {
		if strings.TrimSpace(statement) == "" {
			continue
		}
		if _, err := c.exec(statement); err != nil {
			return err
		}
	}
	if step.fill != nil {
		if err := step.fill(c, d); err != nil {
			return err
		}
	}
	_, err := c.exec(sqlAddVersion, int64(version+1))
	return err
}
