package cli

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"time"
)

const (
	logDelay  = 100 * time.Millisecond // a line waits at most this long
	logBuffer = 32 << 10               // and less when this many bytes wait
)

// newLogger logs to w. It collects lines and writes several at once, because a busy server would spend more on writing each line
// than on formatting it. A warning or an error is written at once, with everything before it. The caller flushes the log at the end.
func newLogger(w io.Writer, format, level string) (*slog.Logger, *logWriter) {
	options := &slog.HandlerOptions{Level: slog.LevelInfo}
	var l slog.Level
	if l.UnmarshalText([]byte(level)) == nil {
		options.Level = l
	}
	lines := &logWriter{to: w}
	lines.timer = time.AfterFunc(logDelay, lines.flush)
	var handler slog.Handler = slog.NewTextHandler(lines, options)
	if format == "json" {
		handler = slog.NewJSONHandler(lines, options)
	}
	return slog.New(urgent{handler, lines}), lines
}

// urgent writes warnings and errors at once.
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

// logWriter collects whole lines.
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
		w.timer.Reset(logDelay)
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
		_, _ = w.to.Write(w.waiting) // there is no other place to report it
		w.waiting = w.waiting[:0]
	}
}
