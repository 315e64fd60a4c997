package cli

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"time"
)

const (
	logDelay  = 100 * time.Millisecond // a line is written this much later at most
	logBuffer = 32 << 10               // and earlier where so many bytes wait
)

// newLogger logs to w. Lines are written some at a time, because to write each by itself would cost a busy server more than
// to make it; a warning or an error is written at once, with all that came before. The log must be flushed at the end.
func newLogger(w io.Writer, format, level string) (*slog.Logger, *logWriter) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		l = slog.LevelInfo
	}
	options := &slog.HandlerOptions{Level: l}
	lines := &logWriter{to: w}
	if format == "json" {
		return slog.New(urgent{slog.NewJSONHandler(lines, options), lines}), lines
	}
	return slog.New(urgent{plainText{slog.NewTextHandler(lines, options), lines}, lines}), lines
}

// urgent does not let warnings and errors wait.
type urgent struct {
	slog.Handler
	lines *logWriter
}

func (u urgent) Handle(ctx context.Context, r slog.Record) error {
	err := u.Handler.Handle(ctx, r)
	if r.Level >= slog.LevelWarn {
		u.lines.flush()
	}
	return err
}

func (u urgent) WithAttrs(attrs []slog.Attr) slog.Handler {
	return urgent{u.Handler.WithAttrs(attrs), u.lines}
}

func (u urgent) WithGroup(name string) slog.Handler {
	return urgent{u.Handler.WithGroup(name), u.lines}
}

// logWriter collects whole lines for a moment.
type logWriter struct {
	to      io.Writer
	mu      sync.Mutex
	waiting []byte
	timer   *time.Timer
}

func (w *logWriter) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.waiting) == 0 {
		if w.timer == nil {
			w.timer = time.AfterFunc(logDelay, w.flush)
		} else {
			w.timer.Reset(logDelay)
		}
	}
	w.waiting = append(w.waiting, line...)
	if len(w.waiting) >= logBuffer {
		w.write()
	}
	return len(line), nil
}

// flush writes what waits.
func (w *logWriter) flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.write()
}

func (w *logWriter) write() {
	if len(w.waiting) > 0 {
		_, _ = w.to.Write(w.waiting) // nobody is left to tell
		w.waiting = w.waiting[:0]
	}
}
