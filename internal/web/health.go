package web

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
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

func (h *Health) isStopping() bool { return h != nil && h.stopping.Load() }

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

// AskReady asks the server that listens at an address of this machine whether it can work. It does not check the certificate: a local one is
// made for names of this machine, a public one for others, and the answer is no secret.
func AskReady(ctx context.Context, address, name string, secure bool) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout+2*time.Second)
	defer cancel()
	client := http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", address) // without a host, this machine
		},
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true, ServerName: name}, //nolint:gosec // see above
		DisableKeepAlives: true,
	}}
	url := "http://" + name + "/readyz"
	if secure {
		url = "https://" + name + "/readyz"
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("no answer at %s: %w", address, errors.Unwrap(err))
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	if response.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(io.LimitReader(response.Body, 1<<10))
		return fmt.Errorf("%s answers %s: %s", address, response.Status, bytes.TrimSpace(body))
	}
	return nil
}
