package store

import (
	"donorbook/internal/crm"
	"donorbook/internal/db"
)

const (
	// Contacts that the archive has otherwise than their rows say.
	sqlWrongArchive = `SELECT id FROM contact_archival AS note WHERE account_id = $1 AND NOT EXISTS (SELECT 1 FROM contact AS c
			WHERE c.account_id = note.account_id AND c.id = note.id AND c.list_revision = note.revision AND c.archived = note.archived)
		UNION SELECT id FROM contact AS c WHERE account_id = $1 AND id > $2 AND id <= $3 AND archived = 1 AND NOT EXISTS (SELECT 1
			FROM contact_archival AS note WHERE note.account_id = c.account_id AND note.revision = c.list_revision AND note.id = c.id) ORDER BY id`
	sqlDropNotes  = `DELETE FROM contact_archival WHERE account_id = $1 AND id = $2`
	sqlIsArchived = `SELECT archived FROM contact WHERE account_id = $1 AND id = $2`
	sqlMoveNote   = `UPDATE contact SET list_revision = $3 WHERE account_id = $1 AND id = $2`
)

func wrongArchive(c db.Conn, account int64) ([]int64, error) {
	return db.List(c, number, sqlWrongArchive, account, crm.MakeID(account, 0), crm.MakeID(account, crm.MaxSeq))
}

// renewArchive notes contacts in the archive anew, at revisions that no node has seen.
func renewArchive(t *db.Tx, d *derivation) error {
	ids, err := wrongArchive(t.Conn, d.account)
	for _, id := range ids {
		d.listRevision++
		if err == nil {
			_, err = t.Exec(sqlDropNotes, d.account, id)
		}
		if err == nil {
			_, err = t.Exec(sqlMoveNote, d.account, id, d.listRevision)
		}
		if err == nil {
			_, err = t.One(func(r db.Row) { t.Insert(archivalTable, d.account, d.listRevision, id, r.Int(0)) }, sqlIsArchived, d.account, id)
		}
	}
	if err == nil && len(ids) > 0 {
		t.Save(tallyTable, d.tally.values()...)
	}
	return err
}
