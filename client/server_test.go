package client_test

import (
	"context"
	"encoding/pem"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"donorbook/internal/api"
	"donorbook/internal/crm/access"
	"donorbook/internal/store"
	"donorbook/internal/store/book"
	"donorbook/internal/web"
)

// TestMain starts a server for the examples. DONORBOOK_URL, DONORBOOK_KEY and DONORBOOK_CA say how to reach it.
func TestMain(m *testing.M) {
	data, err := os.MkdirTemp("", "donorbook-client-")
	if err == nil {
		err = serve(data)
	}
	if err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(data)
	os.Exit(code)
}

func serve(data string) error {
	s, err := book.Open(context.Background(), store.Options{Data: data})
	if err != nil {
		return err
	}
	account, err := s.CreateAccount(context.Background(), "River Aid", "")
	if err != nil {
		return err
	}
	rights := access.KeyInput{Name: "Examples", Permissions: access.AllPermissions}
	_, key, err := s.CreateKey(context.Background(), account.Number, rights)
	if err != nil {
		return err
	}
	plumbing := &web.Plumbing{Log: slog.New(slog.DiscardHandler)}
	server := httptest.NewTLSServer(plumbing.Wrap(api.New(s, api.Options{Region: "US"}).Serve))
	ca := filepath.Join(data, "ca.pem")
	os.Setenv("DONORBOOK_URL", server.URL)
	os.Setenv("DONORBOOK_KEY", key)
	os.Setenv("DONORBOOK_CA", ca)
	return os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600)
}
