package page

import (
	"bytes"
	"hash/maphash"
	"net/http"
	"net/netip"
	"runtime"

	"donorbook/internal/store"
)

// strangers share half of the processors, so that the other half is there for the console and the API, however many look at the pages of campaigns. Their networks take turns.
var strangersPlaces = max(1, runtime.GOMAXPROCS(0)/2)

var networkSeed = maphash.MakeSeed()

// InTurn does work for a stranger when it is the turn of their network. It is not for what waits for others, such as payment providers or the stranger's own connection.
func (s *Site) InTurn(r *http.Request, work func() error) error {
	client := s.Options.Proxies.Client(r)
	network := netip.PrefixFrom(client, client.BitLen())
	if client.Is6() {
		network, _ = client.Prefix(48)
	}
	return s.turns.Through(r.Context(), int64(maphash.Comparable(networkSeed, network)), work) //nolint:gosec // any number will do
}

// ForStranger counts a look of a stranger, and makes the page when it is the turn of their network.
func (s *Site) ForStranger(w http.ResponseWriter, r *http.Request, show func(w http.ResponseWriter) error) error {
	if err := s.CountStranger(w, r); err != nil {
		return err
	}
	return s.MakeInTurn(w, r, show)
}

// MakeInTurn makes a page when it is the turn of a stranger's network, and sends it after that: clients may be slow.
func (s *Site) MakeInTurn(w http.ResponseWriter, r *http.Request, show func(w http.ResponseWriter) error) error {
	made := &madePage{ResponseWriter: w, status: http.StatusOK}
	if err := s.InTurn(r, func() error { return show(made) }); err != nil {
		return err
	}
	w.WriteHeader(made.status)
	_, err := w.Write(made.body.Bytes())
	return err
}

// madePage is a page that is sent later.
type madePage struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

func (m *madePage) WriteHeader(status int)         { m.status = status }
func (m *madePage) Write(part []byte) (int, error) { return m.body.Write(part) }
func (m *madePage) Unwrap() http.ResponseWriter    { return m.ResponseWriter }

func newTurns() *store.Gate { return store.NewGate(strangersPlaces) }
