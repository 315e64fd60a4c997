package certs

import (
	"crypto/tls"
	"log/slog"
	"slices"
	"testing"
)

func TestACMEModeOffersTheProtocols(t *testing.T) {
	settings := Settings{Mode: ACME, Dir: t.TempDir(), ACMEHosts: []string{"donors.example.org"}}
	s := must(settings.Open(":443", slog.New(slog.DiscardHandler)))(t)
	for _, proto := range []string{"h2", "http/1.1", "acme-tls/1"} {
		if !slices.Contains(s.Config.NextProtos, proto) {
			t.Errorf("%s is not offered: %v", proto, s.Config.NextProtos)
		}
	}
	equal(t, s.Config.MinVersion, tls.VersionTLS12, "oldest version")
}
