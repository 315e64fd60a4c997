package cli

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// pages records every write as it arrives.
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
		for range 2 { // the second interval begins with the first line after the first interval
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
