package db

import (
	"fmt"
	"hash/crc32"
)

// castagnoli is CRC-32C, which processors compute with an instruction of their own.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Checksum is kept with each document, so that damage on the disk is noticed before the document is served or changed.
func Checksum(body []byte) int64 { return int64(crc32.Checksum(body, castagnoli)) }

// Damaged is a stored document that is not what was written.
type Damaged struct {
	Table   string
	ID      int64
	Name    string // instead of an id
	Account int64  // whose it is; 0 where the table does not keep accounts apart
}

func (d *Damaged) Error() string {
	name := fmt.Sprintf("%s %d", d.Table, d.ID)
	if d.Name != "" {
		name = d.Table + " " + d.Name
	}
	if d.Account != 0 {
		name += fmt.Sprintf(" of account number %d", d.Account)
	}
	return name +
		" is damaged: its document does not match its checksum. Run donorbook check, and restore the document from a backup"
}

// checkDocument finds out whether the document in a row is as it was written. A table with the columns body and
// checksum has documents.
func (t *Table) checkDocument(row []any) error {
	body, sum := t.At("body"), t.At("checksum")
	if body < 0 || sum < 0 || Checksum(row[body].([]byte)) == row[sum].(int64) {
		return nil
	}
	damaged := &Damaged{Table: t.Name}
	if id := t.At("id"); id >= 0 {
		damaged.ID = row[id].(int64)
	} else {
		damaged.Name, _ = row[t.Key-1].(string)
	}
	if t.tenant() {
		damaged.Account = row[0].(int64)
	}
	return damaged
}
