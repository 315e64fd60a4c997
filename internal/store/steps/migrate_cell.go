package steps

import (
	"bytes"
	"fmt"

	"donorbook/internal/db"
)

// Step 7 of the schema works out where the gifts of each campaign are added up. Once it is released, what is in this file stays as it is,
// and uses nothing that may become different.

const (
	sqlStep7Campaigns = `SELECT id, url_at, body FROM campaign WHERE id > $1 AND id <= $2 ORDER BY id LIMIT 100`
	sqlStep7Campaign  = `UPDATE campaign SET cell = $2 WHERE id = $1`
)

func FillCells(t *db.Tx, _ db.Progress) error {
	type campaign struct {
		id   int64
		cell string
	}
	for last, n := int64(-1), 100; n == 100; {
		campaigns, err := db.List(t.Conn, func(r db.Row) campaign {
			body := r.Bytes(2)
			body = body[min(max(r.Int(1), 0), int64(len(body))):] // behind the URL, where no text comes before it; it may be damaged
			_, currency, _ := bytes.Cut(body, []byte(`,"currency":"`))
			return campaign{r.Int(0), fmt.Sprintf("%016d/00000000/%.3s/000000000", r.Int(0), currency)}
		}, sqlStep7Campaigns, last, int64(1<<63-1))
		if err != nil {
			return err
		}
		n = len(campaigns)
		for _, c := range campaigns {
			last = c.id
			if err := t.Prefetch(nil, sqlStep7Campaign, c.id, c.cell); err != nil {
				return err
			}
		}
	}
	return t.Fetch()
}
