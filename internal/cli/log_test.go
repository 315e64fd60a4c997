package cli

import (
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// pages notes every write as it arrives.
type pages struct {
	mu    sync.Mutex
	wrote []string
}

func (p *pages) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wrote = append(p.wrote, string(b))
	return len(b), nil
}

func (p *pages) writes() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.wrote
}

func TestLinesOfTheLogAreWrittenTogetherAMomentLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out pages
		log, _ := newLogger(&out, "text", "info")
		for range 2 { // the second moment begins with the first line after the first one
			log.Info("one")
			log.Info("two")
			before := len(out.writes())
			time.Sleep(logDelay + time.Millisecond)
			synctest.Wait()
			wrote := out.writes()
			if before != len(wrote)-1 {
				t.Fatalf("%d writes before the moment was over, %d after it", before, len(wrote))
			}
			if last := wrote[len(wrote)-1]; strings.Count(last, "\n") != 2 || !strings.Contains(last, "msg=one") || !strings.Contains(last, "msg=two") {
				t.Errorf("wrote %q", last)
			}
		}
	})
}

func TestAWarningIsWrittenAtOnceWithWhatCameBefore(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		var out pages
		log, _ := newLogger(&out, format, "info")
		log.Info("before")
		log.With("node", 1).WithGroup("disk").Warn("trouble")
		if wrote := strings.Join(out.writes(), ""); !strings.Contains(wrote, "before") || !strings.Contains(wrote, "trouble") {
			t.Errorf("%s: wrote %q", format, wrote)
		}
	}
}

func TestTheEndOfTheLogIsWrittenWhenItIsFlushed(t *testing.T) {
	var out pages
	log, lines := newLogger(&out, "text", "info")
	log.Info("stopped")
	lines.flush()
	if wrote := strings.Join(out.writes(), ""); !strings.Contains(wrote, "msg=stopped") {
		t.Errorf("wrote %q", wrote)
	}
}

func TestABusyLogIsWrittenBeforeItGrows(t *testing.T) {
	var out pages
	log, _ := newLogger(&out, "text", "info")
	for range 2 * logBuffer / 1000 {
		log.Info(strings.Repeat("x", 1000))
	}
	if len(out.writes()) == 0 {
		t.Error("nothing was written")
	}
}

func TestPlainLinesReadAsSlogWritesThem(t *testing.T) {
	at := time.Date(2026, 11, 15, 9, 5, 3, 70_400_000, time.FixedZone("", -3*3600-1800))
	for _, c := range []struct {
		message string
		attrs   []slog.Attr
	}{
		{"request", []slog.Attr{{Value: slog.GroupValue(
			slog.String("request_id", "0f3a"), slog.String("route", "/v1/contacts/{id}"), slog.Int("status", 200), slog.Int64("bytes", -1),
			slog.Duration("duration", 1234567*time.Nanosecond), slog.Duration("none", 0))}}},
		{"request", []slog.Attr{{Value: slog.GroupValue(slog.String("error", "two words")), Key: ""}}},
		{"two words", nil},
		{"", []slog.Attr{slog.String("", "x"), slog.String("empty", ""), slog.String("a b", "c")}},
		{"odd", []slog.Attr{slog.String("quote", `"`), slog.String("equals", "a=b"), slog.String("slash", `a\b`), slog.String("line", "a\nb"), slog.String("tilde", "~"), slog.String("delete", "\x7f"), slog.String("name", "Søren")}},
		{"kinds", []slog.Attr{slog.Bool("b", true), slog.Float64("f", 1.5), slog.Time("t", at), slog.Any("e", errors.New("no")), slog.Group("g", slog.Int("in", 1)), slog.Group("none")}},
		{"kinds", []slog.Attr{slog.Int("before", 1), slog.Group("g", slog.Int("in", 1))}},
	} {
		for _, level := range []slog.Level{slog.LevelInfo, slog.LevelError, slog.LevelWarn + 1} {
			for _, when := range []time.Time{at, at.UTC(), {}} {
				r := slog.NewRecord(when, level, c.message, 0)
				r.AddAttrs(c.attrs...)
				var want strings.Builder
				if err := slog.NewTextHandler(&want, nil).Handle(t.Context(), r); err != nil {
					t.Fatal(err)
				}
				var out pages
				log, lines := newLogger(&out, "text", "info")
				if err := log.Handler().Handle(t.Context(), r); err != nil {
					t.Fatal(err)
				}
				lines.flush()
				if got := strings.Join(out.writes(), ""); got != want.String() {
					t.Errorf("wrote %q, want %q", got, want.String())
				}
			}
		}
	}
}
