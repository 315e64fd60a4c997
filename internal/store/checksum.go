package store

import (
	"donorbook/internal/crm"
	"donorbook/internal/db"
)

// Damaged is a stored document that is not what was written.
type Damaged = db.Damaged

func checksum(body []byte) int64 { return db.Checksum(body) }

// documentIn is the document in a column of a row, which its checksum follows, with the error that says whether it is damaged. It is valid until
// the next row.
func documentIn(table *db.Table, r db.Row, column int, id int64) ([]byte, error) {
	body := r.Bytes(column)
	return body, intact(table, id, body, r.Int(column+1))
}

// intact compares a document with its checksum.
func intact(table *db.Table, id int64, body []byte, sum int64) error {
	switch {
	case checksum(body) == sum:
		return nil
	case table == campaignTable: // its id may be of no account
		return &Damaged{Table: table.Name, ID: id}
	}
	return &Damaged{Table: table.Name, ID: id, Account: crm.IDAccount(id)}
}

// contactBody is the document of a contact in a column of a row.
func contactBody(r db.Row, column int, id int64) ([]byte, error) {
	return documentIn(contactTable, r, column, id)
}
