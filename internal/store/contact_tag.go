package store

import (
	"errors"
	"slices"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

const (
	sqlTagContacts  = `SELECT contacts FROM tag WHERE account_id = $1 AND fold = $2 AND name = $3`
	sqlSetTotal     = `SELECT COALESCE(SUM(size), 0) FROM contact_set WHERE account_id = $1 AND name = $2`
	sqlSetSizes     = `SELECT block, size FROM contact_set WHERE account_id = $1 AND name = $2 ORDER BY block`
	sqlSetSizesBack = `SELECT block, size FROM contact_set WHERE account_id = $1 AND name = $2 ORDER BY block DESC`
	sqlSetPart      = `SELECT block, size, bits FROM contact_set WHERE account_id = $1 AND name = $2 AND block >= $3 AND block <= $4 ORDER BY block`
)

// tagPage finds a page of the contacts that have a tag, in ascending order: only the sizes of the blocks before it are read, or of those
// after it where these are fewer.
func tagPage(c db.Conn, account int64, archived bool, tag string, span db.Span) (total int64, seqs []int64, err error) {
	name := activeSet + tag
	if archived {
		name = archivedSet + tag
		total, err = c.Int(sqlSetTotal, account, name)
	} else {
		total, err = c.Int(sqlTagContacts, account, crm.FoldTag(tag), tag)
	}
	from, to := span(total)
	if err != nil || from >= to {
		return total, nil, err
	}
	part, err := findInSet(c, account, name, total, from, to)
	if err == nil {
		seqs, err = part.read(c, account, name, from, to)
	}
	return total, seqs, err
}

// setPart is some blocks of a set, and how many of its numbers lie before them.
type setPart struct{ first, last, before int64 }

// findInSet finds the blocks that have the places of a set from one to another.
func findInSet(c db.Conn, account int64, name string, total, from, to int64) (part setPart, err error) {
	sql, at, back := sqlSetSizes, int64(0), total-to < from
	if back {
		sql, at = sqlSetSizesBack, total
	}
	part = setPart{first: -1}
	err = c.Each(func(r db.Row) error {
		block, start, end := r.Int(0), at, at+r.Int(1)
		if back {
			start, end = at-r.Int(1), at
		}
		if start < to && end > from {
			if part.first < 0 {
				part = setPart{block, block, start}
			}
			part.first, part.last, part.before = min(part.first, block), max(part.last, block), min(part.before, start)
		}
		if at = end; back {
			at = start
		}
		if !back && at >= to || back && at <= from {
			return errFull
		}
		return nil
	}, sql, account, name)
	if errors.Is(err, errFull) {
		err = nil
	}
	return part, err
}

// read lists the sequence numbers at the places from one to another.
func (p setPart) read(c db.Conn, account int64, name string, from, to int64) (seqs []int64, err error) {
	at := p.before
	err = c.Each(func(r db.Row) error {
		block, err := db.DecodeBlock(r.Int(0), r.Int(1), r.Bytes(2))
		for place := range block.Places {
			if at >= from && at < to {
				seqs = append(seqs, r.Int(0)*db.BlockSize+int64(place)+1)
			}
			at++
		}
		return damagedSet(account, name, r.Int(0), err)
	}, sqlSetPart, account, name, p.first, p.last)
	return slices.Clip(seqs), err
}
