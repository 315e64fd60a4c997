package store

import "hash/crc32"

// Step 4 of the schema works out the checksums of all documents. It was released: what is in this file stays as it is, and
// uses nothing that may become different.

// checksumStep is how the documents of one table get their checksums: read some that follow an account and an id, write each of
// them or, where a round trip is expensive, all of them at once.
type checksumStep struct{ read, writeOne, writeAll string }

const checksumStepRows = 500 // that one statement reads

func fillChecksums(c conn, d dialect) error {
	contacts := checksumStep{
		`SELECT account_id, id, body FROM contact WHERE (account_id, id) > ($1, $2) ORDER BY account_id, id LIMIT 500`,
		`UPDATE contact SET checksum = $3 WHERE account_id = $1 AND id = $2`,
		`UPDATE contact SET checksum = n.checksum FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS n (account_id, id, checksum)
			WHERE contact.account_id = n.account_id AND contact.id = n.id`,
	}
	if d.idKey == "PRIMARY KEY (id)" { // ids of one account follow each other, so that this is the same order
		contacts.read = `SELECT account_id, id, body FROM contact WHERE $1 >= 0 AND id > $2 ORDER BY id LIMIT 500`
	}
	campaigns := checksumStep{
		`SELECT account_id, id, body FROM campaign WHERE $1 >= 0 AND id > $2 ORDER BY id LIMIT 500`,
		`UPDATE campaign SET checksum = $3 WHERE account_id = $1 AND id = $2`,
		`UPDATE campaign SET checksum = n.checksum FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS n (account_id, id, checksum)
			WHERE campaign.account_id = n.account_id AND campaign.id = n.id`,
	}
	for _, step := range []checksumStep{contacts, campaigns} {
		if err := step.run(c, d.distant); err != nil {
			return err
		}
	}
	return nil
}

func (s checksumStep) run(c conn, distant bool) error {
	table := crc32.MakeTable(crc32.Castagnoli)
	for account, id, n := int64(0), int64(0), checksumStepRows; n == checksumStepRows; {
		var accounts, ids, sums []int64
		err := each(c, func(r rows) error {
			accounts, ids = append(accounts, r.int(0)), append(ids, r.int(1))
			sums = append(sums, int64(crc32.Checksum(r.bytes(2), table)))
			return nil
		}, s.read, account, id)
		if n = len(ids); err != nil || n == 0 {
			return err
		}
		account, id = accounts[n-1], ids[n-1]
		if distant {
			_, err = c.exec(s.writeAll, accounts, ids, sums)
		}
		for i := 0; i < n && !distant && err == nil; i++ {
			_, err = c.exec(s.writeOne, accounts[i], ids[i], sums[i])
		}
		if err != nil {
			return err
		}
	}
	return nil
}
