// Package steps is the schema's past: every step that made the database what it is, as frozen texts. A step that was released never changes, so
// nothing here uses a rule or a table description that may become another one. It knows the package db and nothing else of ours.
package steps

import "donorbook/internal/db"

// Squashed is how many steps the baseline has in it, and Since the release that it is the schema of. An older database is brought to it by that release.
const (
	Squashed = 12
	Since    = "0.10"
)

// All is the schema, step by step, from the baseline on.
//
// account_id leads every key of tenant data, so that the rows of one account can live on one machine.
var All = []db.Step{{SQL: baselineSQL}, {SQL: step14SQL, Fill: fillStep14}, {SQL: step15SQL}}
