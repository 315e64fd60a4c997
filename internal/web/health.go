package web

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"syscall"
	"time"
)

// Health answers the probes of an orchestrator: /healthz says that the process is alive, /readyz that it can work.
type Health struct {
	// Ready returns why the service cannot work, or nil if it can. Without Ready it always can.
	Ready func(ctx context.Context) error

	stopping atomic.Bool
}

const readyTimeout = 3 * time.Second

// Routes adds both probes to a mux.
func (h *Health) Routes(m *Mux) {
	m.Handle("GET /healthz", h.healthz)
	m.Handle("GET /readyz", h.readyz)
}

// isProbe finds requests that are allowed over plain HTTP: probes come from a machine nearby, and their answers reveal nothing.
func isProbe(path string) bool { return path == "/healthz" || path == "/readyz" }

func (h *Health) healthz(w http.ResponseWriter, _ *http.Request) error {
	beQuiet(w)
	return WriteJSON(w, http.StatusOK, []byte(`{"status":"ok"}`))
}

func (h *Health) readyz(w http.ResponseWriter, r *http.Request) error {
	beQuiet(w)
	if h.stopping.Load() {
		return &Error{Status: http.StatusServiceUnavailable, Message: "The service is stopping."}
	}
	if h.Ready != nil {
		ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
		defer cancel()
		if err := h.Ready(ctx); err != nil {
			return &Error{Status: http.StatusServiceUnavailable, Message: "The service is not ready" + plainCause(err) + ".", Err: err}
		}
	}
	return WriteJSON(w, http.StatusOK, []byte(`{"status":"ready"}`))
}

// plainCause names a cause that an operator can fix, in words that reveal nothing to strangers.
func plainCause(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return ": there is no space left on the disk"
	case errors.Is(err, syscall.EROFS):
		return ": the disk is read-only"
	}
	return ""
}

// beQuiet keeps successful probes out of the log.
func beQuiet(w http.ResponseWriter) { exchangeOf(w).quiet = true }
