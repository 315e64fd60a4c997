package db

import "errors"

const copyMark = 1_000_000_000

// ErrUnfinished: a copy has not got to its end.
var ErrUnfinished = errors.New("x")
