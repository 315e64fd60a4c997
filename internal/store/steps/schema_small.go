package steps

import (
	"encoding/binary"

	"donorbook/internal/db"
)

// step14SQL is the step that keeps pages and background work small, and numbers exact. Once it is released, what is in this file stays as it is, and
// uses nothing that may become different.
const step14SQL = `
-- Groups of duplicates are listed by how sure they are, page by page: each where its likeliest pair is, which is the first one of its person.
DROP INDEX duplicate_rank;

DROP INDEX duplicate_person;

CREATE INDEX duplicate_rank ON duplicate (account_id, state, level, probability DESC, a, b, person);

CREATE INDEX duplicate_group ON duplicate (account_id, state, person, probability DESC, a, b, level);

-- A merge moves gifts and plans, or its undo moves them back, in the background where they are many: moving is the job that does it. last is the last change of the merge so far, and for an undo the last
-- one that is not taken back yet. Other changes may lie between.
ALTER TABLE contact_merge ADD COLUMN moving BIGINT NOT NULL DEFAULT 0;

CREATE INDEX contact_merge_moving ON contact_merge (account_id, id) WHERE moving <> 0;

-- A merge that was forgotten before its account came with files keeps the number of its change, too.
UPDATE contact_merge SET id = -id WHERE id < 0;

UPDATE contact_merge SET last = -last WHERE last < 0;

UPDATE contact_merge SET undone = -undone WHERE undone < 0;

-- Through which channel a change came.
ALTER TABLE change RENAME COLUMN door TO channel;

ALTER TABLE job RENAME COLUMN door TO channel;

-- A change of the time zone counts from then on. Gifts that had not moved yet to the days of another stay on theirs.
UPDATE job SET state = 'canceled' WHERE kind = 'timezone' AND state IN ('waiting', 'running');

-- Gifts that became another contact's before the history told contacts of their gifts: an erasure finds them without reading the whole history.
CREATE INDEX change_loose ON change (account_id, id, revision) WHERE noun = 3 AND channel = 0;

-- A merge is undone by doing everything else again that happened to the survivor since. choice says how the merge was made, which is not known of older ones, and place is the change at which it happened: an undo that was
-- undone happens where the merge did that it brings back.
ALTER TABLE contact_merge ADD COLUMN choice TEXT NOT NULL DEFAULT '';

ALTER TABLE contact_merge ADD COLUMN place BIGINT NOT NULL DEFAULT 0;

UPDATE contact_merge SET place = id;

-- What cannot be undone any more needs no review.
UPDATE contact_merge SET review = 0 WHERE review = 1 AND sent = '-';

-- An answer that is kept for retries names the document that it shows, by which an erasure finds it. Of those before, that is not known: any erasure of their account empties them, for the day that they are kept.
ALTER TABLE request_answer ADD COLUMN document {key} NOT NULL DEFAULT '?';

CREATE INDEX request_answer_document ON request_answer (account_id, document) WHERE document <> '';

-- The outbox. Mails of account 0 are the server's own, to users about their passwords. due_at is when a mail is tried next, 0 once it has left or failed; a node that sends it moves that on first, so that no other one
-- does. said is what it says, which is forgotten when it has left: a link in it is a secret.
CREATE TABLE mail (
	account_id BIGINT NOT NULL,
	id BIGINT NOT NULL,
	kind TEXT NOT NULL,
	about {key} NOT NULL,
	recipient TEXT NOT NULL,
	said TEXT NOT NULL,
	error TEXT NOT NULL,
	tries BIGINT NOT NULL,
	created_at BIGINT NOT NULL,
	due_at BIGINT NOT NULL,
	ended_at BIGINT NOT NULL,
	PRIMARY KEY (account_id, id)
);

CREATE INDEX mail_due ON mail (due_at, account_id, id) WHERE due_at <> 0;

CREATE INDEX mail_waiting ON mail (account_id, due_at, id, kind) WHERE due_at <> 0;

CREATE INDEX mail_ended ON mail (ended_at, account_id, id) WHERE ended_at <> 0;

CREATE INDEX mail_recent ON mail (account_id, created_at DESC, id);

CREATE INDEX mail_about ON mail (account_id, about, created_at DESC, id) WHERE about <> '';

-- Gifts that someone still has to thank for. No one is asked about those from before.
ALTER TABLE gift ADD COLUMN thank BIGINT NOT NULL DEFAULT 0;

CREATE INDEX gift_thank ON gift (account_id, given_at, id, net, contact_id, currency, status, method, campaign_id, plan_id, ahead) WHERE thank <> 0;

-- What an organization says instead of our own thank-you texts, by the occasion.
CREATE TABLE template (
	account_id BIGINT NOT NULL,
	occasion {key} NOT NULL,
	subject TEXT NOT NULL,
	body TEXT NOT NULL,
	amount BIGINT NOT NULL,
	PRIMARY KEY (account_id, occasion)
);

-- Receipts for gifts. The id is the year and the number in it, without gaps: one that is void keeps it. said is what the receipt says, which is forgotten when its giver is erased.
CREATE TABLE receipt (
	account_id BIGINT NOT NULL,
	id BIGINT NOT NULL,
	gift_id BIGINT NOT NULL,
	amount BIGINT NOT NULL,
	currency TEXT NOT NULL,
	issued_at BIGINT NOT NULL,
	voided_at BIGINT NOT NULL,
	replaced_by BIGINT NOT NULL,
	said TEXT NOT NULL,
	PRIMARY KEY (account_id, id)
);

CREATE INDEX receipt_gift ON receipt (account_id, gift_id, id);

ALTER TABLE account_setting ADD COLUMN receipt_form TEXT NOT NULL DEFAULT '';

ALTER TABLE account_setting ADD COLUMN receipt_place TEXT NOT NULL DEFAULT '';

ALTER TABLE account_setting ADD COLUMN receipt_signer TEXT NOT NULL DEFAULT '';

ALTER TABLE account_setting ADD COLUMN receipt_text TEXT NOT NULL DEFAULT '';

-- Links by which users who forgot their password set a new one.
CREATE TABLE password_reset (
	hash {key} NOT NULL PRIMARY KEY,
	user_id BIGINT NOT NULL,
	expires_at BIGINT NOT NULL
);

CREATE INDEX password_reset_age ON password_reset (expires_at);

CREATE INDEX password_reset_user ON password_reset (user_id, expires_at);

-- How an organization takes gifts on the pages of its campaigns: one JSON document.
ALTER TABLE account_setting ADD COLUMN donations TEXT NOT NULL DEFAULT '';

-- The payment provider of an organization. The secrets in it are encrypted by a key that is not in the database. fault is what is wrong with it, in words. since is up to when its payments were compared
-- with the books, and due_at when that is done next: the node that does it moves that on first.
CREATE TABLE connection (
	account_id BIGINT NOT NULL PRIMARY KEY,
	provider TEXT NOT NULL,
	live BIGINT NOT NULL,
	hint TEXT NOT NULL,
	host TEXT NOT NULL,
	secret {bytes} NOT NULL,
	fault TEXT NOT NULL,
	since BIGINT NOT NULL,
	due_at BIGINT NOT NULL,
	created_at BIGINT NOT NULL
);

CREATE INDEX connection_due ON connection (due_at, account_id) WHERE due_at <> 0;

-- Gifts that people began to make on a page. wish is what they typed, which is forgotten where nothing was paid; email is in it, too, so that an erasure finds it. code is the public id of the gift it became. version counts the looks at what is true, due_at is when
-- that is looked at next, and manage is the hash of a link to its plan, and card the session for another card.
CREATE TABLE donation (
	account_id BIGINT NOT NULL,
	id {key} NOT NULL,
	number BIGINT NOT NULL,
	campaign_id BIGINT NOT NULL,
	state {key} NOT NULL,
	doubt {key} NOT NULL,
	settled TEXT NOT NULL,
	fault TEXT NOT NULL,
	wish TEXT NOT NULL,
	email {key} NOT NULL,
	charged BIGINT NOT NULL,
	covered BIGINT NOT NULL,
	currency TEXT NOT NULL,
	provider TEXT NOT NULL,
	live BIGINT NOT NULL,
	attempt TEXT NOT NULL,
	session {key} NOT NULL,
	payment {key} NOT NULL,
	plan {key} NOT NULL,
	code {key} NOT NULL,
	plan_code {key} NOT NULL,
	version BIGINT NOT NULL,
	looked_at BIGINT NOT NULL,
	due_at BIGINT NOT NULL,
	manage {key} NOT NULL,
	manage_until BIGINT NOT NULL,
	card TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL,
	PRIMARY KEY (account_id, id)
);

CREATE UNIQUE INDEX donation_number ON donation (account_id, number);

CREATE INDEX donation_recent ON donation (account_id, created_at DESC, id);

CREATE INDEX donation_state ON donation (account_id, state, created_at DESC, id);

CREATE INDEX donation_doubt ON donation (account_id, created_at DESC, id) WHERE doubt <> '';

CREATE INDEX donation_campaign ON donation (account_id, campaign_id, created_at DESC, id);

CREATE INDEX donation_payment ON donation (account_id, payment, id) WHERE payment <> '';

CREATE INDEX donation_plan ON donation (account_id, plan, id) WHERE plan <> '';

CREATE INDEX donation_gift ON donation (account_id, code, id) WHERE code <> '';

CREATE INDEX donation_gift_plan ON donation (account_id, plan_code, id) WHERE plan_code <> '';

CREATE INDEX donation_email ON donation (account_id, email) WHERE email <> '';

CREATE INDEX donation_manage ON donation (account_id, manage) WHERE manage <> '';

CREATE INDEX donation_due ON donation (due_at, account_id, id) WHERE due_at <> 0;

CREATE INDEX donation_waiting ON donation (account_id, due_at, id) WHERE due_at <> 0;

CREATE INDEX donation_old ON donation (created_at, account_id, id) WHERE code = '';

-- Events of payment providers. What happened is not kept: an event only says where to look. due_at is 0 when that was done.
CREATE TABLE provider_event (
	account_id BIGINT NOT NULL,
	id {key} NOT NULL,
	kind TEXT NOT NULL,
	noun TEXT NOT NULL,
	object TEXT NOT NULL,
	error TEXT NOT NULL,
	tries BIGINT NOT NULL,
	received_at BIGINT NOT NULL,
	due_at BIGINT NOT NULL,
	PRIMARY KEY (account_id, id)
);

CREATE INDEX provider_event_due ON provider_event (due_at, account_id, id) WHERE due_at <> 0;

CREATE INDEX provider_event_waiting ON provider_event (account_id, due_at, id) WHERE due_at <> 0;

CREATE INDEX provider_event_old ON provider_event (received_at, account_id, id) WHERE due_at = 0;
`

const (
	sqlStep14Accounts = `SELECT account_id, contact_seq FROM account_tally ORDER BY account_id`

	// The total of a contact is exact: in the smallest unit of the account's currency, as the sums of its gifts are, and no longer in whole units.
	sqlStep14Given = `UPDATE contact SET given = giving.amount FROM giving, account_tally
		WHERE contact.account_id = $1 AND contact.id > $2 AND contact.id <= $3 AND contact.last_gift <> 0 AND account_tally.account_id = $1 AND giving.account_id = $1
		AND giving.cell = '0000000000000000/00000000/' || account_tally.currency || '/' || substr('000000000' || (contact.id % 1000000000), length(CAST(contact.id % 1000000000 AS TEXT)) + 1)`

	sqlStep14Merged = `SELECT account_id, other FROM contact_merge WHERE other <> 0 AND undone = 0`
	sqlStep14Save   = `INSERT INTO contact_set (account_id, name, block, size, bits) VALUES ($1, $2, $3, $4, $5)`
)

const step14Block = 4096 // contacts

func fillStep14(t *db.Tx, progress db.Progress) error {
	if err := fillGiven(t, progress); err != nil {
		return err
	}
	return fillMerged(t)
}

func fillGiven(t *db.Tx, progress db.Progress) error {
	type account struct{ number, contacts int64 }
	accounts, err := db.List(t.Conn, func(r db.Row) account { return account{r.Int(0), r.Int(1)} }, sqlStep14Accounts)
	if err != nil {
		return err
	}
	done, total := int64(0), int64(0)
	for _, a := range accounts {
		total += a.contacts
	}
	for _, a := range accounts {
		lead := a.number
		if lead < 1_000_000 {
			lead--
		}
		for seq := int64(0); seq < a.contacts; seq += step14Block {
			first := lead*1_000_000_000 + seq
			if _, err := t.Exec(sqlStep14Given, a.number, first, first+step14Block); err != nil {
				return err
			}
			done += min(step14Block, a.contacts-seq)
			progress("making the totals of contacts exact", done, total)
		}
	}
	return nil
}

const step15SQL = `
-- Gifts that were entered by mistake are found, and left out of lists of all, without a look at every gift.
CREATE INDEX gift_voided ON gift (account_id, given_at, id) WHERE status = 4;

-- The history is kept for good. What was removed before stays missing: oldest is the first change that is there.
ALTER TABLE account_setting DROP COLUMN history_days;

-- Nothing has ever asked for it.
ALTER TABLE account_tally DROP COLUMN epoch;
`

// fillMerged makes the set of the contacts that were merged into others.
func fillMerged(t *db.Tx) error {
	type place struct{ account, block int64 }
	merged := make(map[place]*[step14Block / 8]byte)
	err := t.Scan(func(r db.Row) {
		seq := r.Int(1)%1_000_000_000 - 1
		at := place{r.Int(0), seq / step14Block}
		if merged[at] == nil {
			merged[at] = new([step14Block / 8]byte)
		}
		merged[at][seq%step14Block/8] |= 1 << (seq % 8)
	}, sqlStep14Merged)
	for at, block := range merged {
		if err == nil {
			size, stored := step14Stored(block)
			err = t.Prefetch(nil, sqlStep14Save, at.account, "merged", at.block, size, stored)
		}
	}
	if err != nil {
		return err
	}
	return t.Fetch()
}

// step14Stored is a block as it is kept: a bit for each contact, or a list of them where that is shorter.
func step14Stored(block *[step14Block / 8]byte) (size int64, stored []byte) {
	for at := range uint16(step14Block) {
		if block[at/8]&(1<<(at%8)) != 0 {
			size++
			stored = binary.LittleEndian.AppendUint16(stored, at)
		}
	}
	if len(stored) >= len(block) {
		stored = block[:]
	}
	return size, stored
}
