package steps

import (
	"bytes"
	"hash/crc32"

	"donorbook/internal/db"
)

// Step 10 of the schema marks the contacts that were erased before: until then they were known by their name. Once it is released, what is in this
// file stays as it is, and uses nothing that may become different.

const (
	sqlStep10Erased  = `SELECT account_id, id FROM change WHERE noun = 1 AND kind = 8`
	sqlStep10Contact = `SELECT body FROM contact WHERE account_id = $1 AND id = $2 AND archived = 1`
	sqlStep10Mark    = `UPDATE contact SET body = $3, checksum = $4 WHERE account_id = $1 AND id = $2`
)

func markErased(t *db.Tx, _ db.Progress) error {
	type contact struct{ account, id int64 }
	erased, err := db.List(t.Conn, func(r db.Row) contact { return contact{r.Int(0), r.Int(1)} }, sqlStep10Erased)
	if err != nil {
		return err
	}
	for _, c := range erased {
		var body []byte
		if _, err := t.One(func(r db.Row) { body = bytes.Clone(r.Bytes(0)) }, sqlStep10Contact, c.account, c.id); err != nil {
			return err
		}
		marked := step10Marked(body)
		if marked == nil {
			continue
		}
		checksum := int64(crc32.Checksum(marked, crc32.MakeTable(crc32.Castagnoli)))
		if _, err := t.Exec(sqlStep10Mark, c.account, c.id, marked, checksum); err != nil {
			return err
		}
	}
	return nil
}

// step10Marked is the document of an erased contact with the time at which it was, nil where it cannot be told or is told already.
func step10Marked(body []byte) []byte {
	open, closed := bytes.CutSuffix(body, []byte("}"))
	_, at, archived := bytes.Cut(body, []byte(`,"archived_at":"`))
	at, _, whole := bytes.Cut(at, []byte(`"`))
	if !closed || !archived || !whole || bytes.Contains(body, []byte(`,"erased_at":`)) {
		return nil
	}
	return append(append(append(bytes.Clone(open), `,"erased_at":"`...), at...), `"}`...)
}
