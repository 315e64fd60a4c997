package steps

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/json"

	"donorbook/internal/db"
)

// Step 9 of the schema takes the history of gifts over into the record of every change, and makes jobs of renames and deletions of tags that are
// not finished. Once it is released, what is in this file stays as
// it is, and uses nothing that may become different.

const (
	step9AccountsText = `SELECT account_id FROM account_tally ORDER BY account_id`
	step9AccountText  = `UPDATE account_tally SET epoch = $2, revision = $3, job_seq = $4 WHERE account_id = $1`
	step9EventsText   = `SELECT gift_id, at, actor, data FROM gift_event WHERE account_id = $1 ORDER BY at, gift_id, number`
	step9ChangeText   = `INSERT INTO change (account_id, revision, noun, kind, id, prev, undoes, job, at, door, actor, data)
		VALUES ($1, $2, 3, $3, $4, $5, 0, 0, $6, 0, $7, $8)`
	step9GiftText = `UPDATE gift SET revision = $3 WHERE account_id = $1 AND id = $2`
	step9TagsText = `SELECT name, becomes, actor, created_at FROM tag_work WHERE account_id = $1 ORDER BY name`
	step9JobText  = `INSERT INTO job (account_id, id, kind, state, actor, door, created_at, updated_at, spec, progress, first, last, undo)
		VALUES ($1, $2, 'bulk', 'waiting', $3, 0, $4, $4, $5, '{}', 0, 0, 0)`
	step9DropText     = `DROP TABLE gift_event`
	step9DropTagsText = `DROP TABLE tag_work`
)

func fillHistory(t *db.Tx, _ db.Progress) error {
	accounts, err := db.List(t.Conn, func(r db.Row) int64 { return r.Int(0) }, step9AccountsText)
	if err != nil {
		return err
	}
	for _, account := range accounts {
		if err := step9Account(t, account); err != nil {
			return err
		}
	}
	if _, err = t.Exec(step9DropText); err == nil {
		_, err = t.Exec(step9DropTagsText)
	}
	return err
}

func step9Account(t *db.Tx, account int64) error {
	type event struct {
		gift, at    int64
		actor, data string
	}
	events, err := db.List(t.Conn, func(r db.Row) event { return event{r.Int(0), r.Int(1), r.Text(2), r.Text(3)} }, step9EventsText, account)
	if err != nil {
		return err
	}
	last := make(map[int64]int64)
	for i, e := range events {
		revision := int64(i + 1)
		data, kind := step9Data(e.data)
		if err := t.Prefetch(nil, step9ChangeText, account, revision, kind, e.gift, last[e.gift], e.at, e.actor, data); err != nil {
			return err
		}
		last[e.gift] = revision
	}
	for gift, revision := range last {
		if err := t.Prefetch(nil, step9GiftText, account, gift, revision); err != nil {
			return err
		}
	}
	jobs, err := step9Jobs(t, account)
	if err != nil {
		return err
	}
	var epoch [8]byte
	_, _ = rand.Read(epoch[:]) // never fails
	if err := t.Prefetch(nil, step9AccountText, account, int64(binary.BigEndian.Uint64(epoch[:])>>2), int64(len(events)), jobs); err != nil {
		return err
	}
	return t.Fetch()
}

// step9Jobs makes a job of each tag that is being renamed or deleted.
func step9Jobs(t *db.Tx, account int64) (n int64, err error) {
	type work struct {
		name, becomes, actor string
		at                   int64
	}
	works, err := db.List(t.Conn, func(r db.Row) work { return work{r.Text(0), r.Text(1), r.Text(2), r.Int(3)} }, step9TagsText, account)
	for _, w := range works {
		n++
		spec, _ := json.Marshal(map[string]any{"action": "rename", "tags": []string{w.name}, "becomes": w.becomes}) // texts alone
		if err := t.Prefetch(nil, step9JobText, account, n, w.actor, w.at, string(spec)); err != nil {
			return n, err
		}
	}
	return n, err
}

// step9Data makes an object of [before, after] of the list that the history of gifts had.
func step9Data(list string) (data string, kind int64) {
	var changes []struct{ Field, Before, After string }
	_ = json.Unmarshal([]byte(list), &changes)
	kind = 2 // updated
	fields := make(map[string][2]json.RawMessage)
	for _, c := range changes {
		if c.Field == "refund" {
			kind = 10
		}
		fields[c.Field] = [2]json.RawMessage{step9Value(c.Before), step9Value(c.After)}
	}
	text, _ := json.Marshal(fields)
	return string(text), kind
}

// step9Value is a value as JSON: most of them were kept so, others as plain text.
func step9Value(text string) json.RawMessage {
	if text == "" {
		return json.RawMessage("null")
	}
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	quoted, _ := json.Marshal(text)
	return quoted
}
