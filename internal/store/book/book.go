// Package book opens a database with everything that can be done to it. The API, the console and the command line work
// with a Book.
package book

import (
	"context"

	"donorbook/internal/store"
	"donorbook/internal/store/check"
	"donorbook/internal/store/donations"
	"donorbook/internal/store/duplicates"
	"donorbook/internal/store/jobs"
	"donorbook/internal/store/merges"
	"donorbook/internal/store/move"
	"donorbook/internal/store/people"
)

// Book is an open database, with everything that can be done to it.
type Book struct {
	*store.Store
	*check.CheckStore
	*merges.MergeStore
	*duplicates.DuplicateStore
	*donations.DonationStore
}

// Open opens the database, creates it if it does not exist, and upgrades an older one. It lists what units of work and
// jobs are made of: nothing registers itself.
func Open(ctx context.Context, o store.Options) (*Book, error) {
	base, err := store.Open(ctx, o, check.Derive)
	if err != nil {
		return nil, err
	}
	jobs := jobs.New(base, people.New(base))
	moved := merges.New(jobs)
	pairs := duplicates.New(jobs, moved)
	jobs.Use(merges.MoveKind, move.EraseKind, pairs.SureKind(), move.EraseAll, pairs.LookOnce)
	return &Book{base, check.New(move.New(jobs)), moved, pairs, donations.New(base)}, nil
}
