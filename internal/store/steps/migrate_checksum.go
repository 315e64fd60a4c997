package steps

import (
	"hash/crc32"

	"donorbook/internal/db"
)

// Step 4 of the schema works out the checksums of all documents. It was released: what is in this file stays as it is, and
// uses nothing that may become different.

const (
	sqlStep4Accounts  = `SELECT account_id, contact_seq FROM account_tally ORDER BY account_id`
	sqlStep4Contacts  = `SELECT id, body FROM contact WHERE account_id = $1 AND id > $2 AND id <= $3 ORDER BY id LIMIT 500`
	sqlStep4Contact   = `UPDATE contact SET checksum = $3 WHERE account_id = $1 AND id = $2`
	sqlStep4Campaigns = `SELECT id, body FROM campaign WHERE $1 >= 0 AND id > $2 AND id <= $3 ORDER BY id LIMIT 500`
	sqlStep4Campaign  = `UPDATE campaign SET checksum = $3 WHERE $1 >= 0 AND id = $2`
)

func fillChecksums(t *db.Tx, progress db.Progress) error {
	type account struct{ number, contacts int64 }
	accounts, err := db.List(t.Conn, func(r db.Row) account { return account{r.Int(0), r.Int(1)} }, sqlStep4Accounts)
	if err != nil {
		return err
	}
	done, total := int64(0), int64(0)
	for _, a := range accounts {
		total += a.contacts
	}
	for _, a := range accounts {
		first := a.number * 1_000_000_000
		err := step4Fill(t, sqlStep4Contacts, sqlStep4Contact, a.number, first, first+999_999_999, func(n int64) {
			done += n
			progress("working out the checksums of contacts", done, total)
		})
		if err != nil {
			return err
		}
	}
	return step4Fill(t, sqlStep4Campaigns, sqlStep4Campaign, 0, 0, 1<<63-1, func(int64) {})
}

func step4Fill(t *db.Tx, read, write string, account, after, end int64, progress func(n int64)) error {
	type document struct{ id, checksum int64 }
	table := crc32.MakeTable(crc32.Castagnoli)
	for n := 500; n == 500; {
		documents, err := db.List(t.Conn, func(r db.Row) document {
			return document{r.Int(0), int64(crc32.Checksum(r.Bytes(1), table))}
		}, read, account, after, end)
		if err != nil {
			return err
		}
		n = len(documents)
		for _, d := range documents {
			after = d.id
			if err := t.Prefetch(nil, write, account, d.id, d.checksum); err != nil {
				return err
			}
		}
		progress(int64(n))
	}
	return t.Fetch()
}
