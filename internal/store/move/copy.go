package move

import (
	"context"

	"donorbook/internal/db"
	"donorbook/internal/store"
)

// A copy moves everything from one database to another that is empty.
type (
	CopyOptions  = db.CopyOptions
	CopyProgress = db.CopyProgress
	CopyReport   = db.CopyReport
	URLError     = db.URLError
	AccountSum   = db.AccountSum
	TableCount   = db.TableCount
)

// Why a copy is refused.
var (
	ErrSameDatabase = db.ErrSameDatabase
	ErrNotEmpty     = db.ErrNotEmpty
	ErrUnfinished   = db.ErrUnfinished
	ErrSchema       = db.ErrSchema
)

// Copy copies everything that is in one database to another one, which must be empty.
func Copy(ctx context.Context, from, to store.Options, o CopyOptions) (CopyReport, error) {
	derived := func(*db.Tx, db.Progress) error { return nil } // the target is empty, and gets what is derived with its rows
	report, err := db.Copy(ctx, from.ForDB(nil, derived), to.ForDB(nil, derived), o)
	return report, store.Translate(err)
}
