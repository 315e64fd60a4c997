package store

import (
	"context"

	"donorbook/internal/db"
)

// Contents is what is in a database, for a person to recognize it by.
type Contents struct {
	Schema   int   // version
	Accounts int64 // organizations and chapters
	Contacts int64 // archived ones too
}

// ContentsOf reads all of a database file that is not in use, and tells what is in it. It refuses a schema that is not ours before anything in it can run. It
// changes nothing.
func ContentsOf(ctx context.Context, file string) (found Contents, err error) {
	found.Schema, err = db.CheckFile(ctx, file, &Schema, func(r db.Row) { found.Accounts, found.Contacts = r.Int(0), r.Int(1) },
		`SELECT COUNT(*), COALESCE(SUM(contact_seq), 0) FROM account_tally`)
	return found, Translate(err)
}
