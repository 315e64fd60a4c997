package steps

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"donorbook/internal/db"
)

// Step 11 of the schema makes one set of the active and the archived contacts of each tag, makes a set of the archive, and sees to it that the times at
// which contacts were made never fall. Once it is released, what is in this file stays as it is, and uses nothing that may become different.

const (
	step11TagsText = `SELECT a.account_id, a.name, a.block, a.bits, COALESCE(t.bits, a.bits) FROM contact_set AS a LEFT JOIN contact_set AS t
		ON t.account_id = a.account_id AND t.name = 't:' || substr(a.name, 3) AND t.block = a.block WHERE a.name >= 'a:' AND a.name < 'a;'`
	step11SaveText = `INSERT INTO contact_set (account_id, name, block, size, bits) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (account_id, name, block) DO UPDATE SET size = excluded.size, bits = excluded.bits`
	step11DropText     = `DELETE FROM contact_set WHERE name >= 'a:' AND name < 'a;'`
	step11AccountsText = `SELECT account_id, contact_seq FROM account_tally ORDER BY account_id`
	step11ContactsText = `SELECT id, archived, created_at FROM contact WHERE account_id = $1 AND id > $2 AND id <= $3 ORDER BY id`
	step11CreatedText  = `UPDATE contact SET created_at = $3 WHERE account_id = $1 AND id = $2`
	step11LastText     = `UPDATE account_tally SET last_created = $2 WHERE account_id = $1`
)

const step11Block = 4096 // contacts

// step11Bits has a bit for each contact of a block.
type step11Bits [step11Block / 8]byte

func FillSets(t *db.Tx, progress db.Progress) error {
	if err := step11Tags(t); err != nil {
		return err
	}
	type account struct{ number, contacts int64 }
	accounts, err := db.List(t.Conn, func(r db.Row) account { return account{r.Int(0), r.Int(1)} }, step11AccountsText)
	if err != nil {
		return err
	}
	done, total := int64(0), int64(0)
	for _, a := range accounts {
		total += a.contacts
	}
	for _, a := range accounts {
		last := int64(0)
		for block := int64(0); block*step11Block < a.contacts; block++ {
			if last, err = step11Contacts(t, a.number, block, last); err != nil {
				return err
			}
			done += min(step11Block, a.contacts-block*step11Block)
			progress("making the archive a set of contacts", done, total)
		}
		if _, err := t.Exec(step11LastText, a.number, last); err != nil {
			return err
		}
	}
	return nil
}

// step11Tags adds the archived contacts of each tag to the active ones.
func step11Tags(t *db.Tx) error {
	type row struct {
		account, block int64
		tag            string
		bits           step11Bits
	}
	rows, err := db.List(t.Conn, func(r db.Row) row {
		found := row{account: r.Int(0), tag: string([]byte(r.Text(1)[2:])), block: r.Int(2)}
		found.bits.add(r.Bytes(3))
		found.bits.add(r.Bytes(4))
		return found
	}, step11TagsText)
	if err != nil {
		return err
	}
	for _, r := range rows {
		if err := r.bits.save(t, r.account, "t:"+r.tag, r.block); err != nil {
			return err
		}
	}
	if err := t.Fetch(); err != nil {
		return err
	}
	_, err = t.Exec(step11DropText)
	return err
}

// step11Contacts goes through a block of contacts; last is when the one before was made.
func step11Contacts(t *db.Tx, account, block, last int64) (int64, error) {
	lead := account
	if account < 1_000_000 {
		lead--
	}
	first := lead*1_000_000_000 + block*step11Block
	var archived step11Bits
	late := make(map[int64]int64)
	err := t.Each(func(r db.Row) error {
		id, created := r.Int(0), r.Int(2)
		if r.Int(1) != 0 {
			archived.put(id - first - 1)
		}
		if created < last {
			late[id] = last
		}
		last = max(last, created)
		return nil
	}, step11ContactsText, account, first, first+step11Block)
	if err != nil {
		return last, err
	}
	for id, created := range late {
		if err := t.Prefetch(nil, step11CreatedText, account, id, created); err != nil {
			return last, err
		}
	}
	if archived != (step11Bits{}) {
		if err := archived.save(t, account, "archived", block); err != nil {
			return last, err
		}
	}
	return last, t.Fetch()
}

func (b *step11Bits) put(at int64) { b[at/8] |= 1 << (at % 8) }

// add adds what is stored of a block: a bit for each contact, or a list of them.
func (b *step11Bits) add(stored []byte) {
	if len(stored) == len(b) {
		for i := range b {
			b[i] |= stored[i]
		}
		return
	}
	for ; len(stored) >= 2; stored = stored[2:] {
		if at := int64(binary.LittleEndian.Uint16(stored)); at < step11Block {
			b.put(at)
		}
	}
}

func (b *step11Bits) save(t *db.Tx, account int64, name string, block int64) error {
	size, stored := int64(0), bytes.Clone(b[:])
	for _, eight := range b {
		size += int64(bits.OnesCount8(eight))
	}
	if 2*size < int64(len(b)) {
		stored = stored[:0]
		for at := range uint16(step11Block) {
			if b[at/8]&(1<<(at%8)) != 0 {
				stored = binary.LittleEndian.AppendUint16(stored, at)
			}
		}
	}
	return t.Prefetch(nil, step11SaveText, account, name, block, size, stored)
}
