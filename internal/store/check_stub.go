package store

import (
	"context"

	"donorbook/internal/db"
)

// Problem is something in a database that is not as it must be.
type Problem struct {
	Account  string `json:"account,omitempty"`
	Contact  int64  `json:"contact,omitempty"`
	Campaign int64  `json:"campaign,omitempty"`
	What     string `json:"what"`
	Repaired bool   `json:"repaired"`
}

// CheckOptions say how to check.
type CheckOptions struct {
	Repair   bool
	Found    func(Problem)
	Progress db.Progress
}

// CheckReport is what was looked at and found.
type CheckReport struct {
	Accounts, Contacts, Campaigns int64
	IndexKeys                     int64
	Words                         int64
	Problems, Repaired            int64
}

// Check compares everything in the database that is kept twice.
func (s *Store) Check(ctx context.Context, o CheckOptions) (CheckReport, error) {
	return CheckReport{}, nil
}
