package store

import (
	"donorbook/internal/crm/doc"
	"donorbook/internal/db"
)

// Damaged is a stored document that is not what was written.
type Damaged = db.Damaged

func Checksum(body []byte) int64 { return db.Checksum(body) }

// DocumentIn is the document in a column of a row, which its checksum follows, with the error that says whether it is damaged. It is valid until
// the next row.
func DocumentIn(table *db.Table, r db.Row, column int, id int64) ([]byte, error) {
	body := r.Bytes(column)
	return body, Intact(table, id, body, r.Int(column+1))
}

// Intact compares a document with its checksum.
func Intact(table *db.Table, id int64, body []byte, sum int64) error {
	switch {
	case Checksum(body) == sum:
		return nil
	case table == CampaignTable: // its id may be of no account
		return &Damaged{Table: table.Name, ID: id}
	}
	return &Damaged{Table: table.Name, ID: id, Account: doc.IDAccount(id)}
}

// ContactBody is the document of a contact in a column of a row.
func ContactBody(r db.Row, column int, id int64) ([]byte, error) {
	return DocumentIn(ContactTable, r, column, id)
}
