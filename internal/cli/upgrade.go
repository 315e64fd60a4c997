package cli

import (
	"fmt"
	"time"
)

// upgradeWatch tells the operator how far the upgrade of a database has come: in the log of a server, in lines elsewhere.
type upgradeWatch struct {
	t     *terminal
	now   func() time.Time
	shown time.Time
}

func newUpgradeWatch(t *terminal) *upgradeWatch {
	return &upgradeWatch{t: t, now: time.Now, shown: time.Now()}
}

func (w *upgradeWatch) progress(what string, done, total int64) {
	now := w.now()
	if done < total && now.Sub(w.shown) < watchLines {
		return
	}
	w.shown = now
	if w.t.log != nil {
		w.t.log.Info("upgrading the database", "step", what, "done", done, "of", total)
		return
	}
	fmt.Fprintf(w.t.stderr, "upgrading the database: %s: %d of %d\n", what, done, total)
}
