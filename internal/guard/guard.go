// Package guard makes an error of a panic: what ends one part of the server must not end the others. Whatever runs
// beside its caller is guarded, which a test of the whole program sees to.
package guard

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"
)

// Panicked is the error of a part that has panicked: what happened, and where. Of the values that it worked on, which
// may be personal, it says nothing.
type Panicked struct{ what, stack string }

func (p *Panicked) Error() string { return "panic: " + p.what + "\n" + p.stack }

// Of is the error of what was recovered.
func Of(recovered any) *Panicked {
	what := fmt.Sprintf("a value of type %T", recovered) // a text of our own or of a library may quote what was read
	if told, ok := recovered.(runtime.Error); ok {
		what = told.Error()
	}
	return &Panicked{what, string(debug.Stack())}
}

// Do runs fn, and makes an error of its panic.
func Do(fn func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = Of(p)
		}
	}()
	return fn()
}

// pause is how long a worker that has panicked rests: what it panicked over may still be there.
const pause = 10 * time.Second

// Keep runs a worker until the context ends, again after each panic, of which report hears.
func Keep(ctx context.Context, report func(error), work func()) {
	for {
		err := Do(func() error { work(); return nil })
		if err == nil || ctx.Err() != nil {
			return
		}
		report(err)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}
