//go:build drill

package deploy_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"donorbook/internal/rig"
	"donorbook/internal/rig/assert"
)

// proxy is an nginx with the example's settings.
type proxy struct {
	*process
	dir           string
	secure, plain string // where it listens
	roots         *x509.CertPool
}

// startNginx starts nginx in front of two nodes.
func startNginx(t *testing.T, nodes []*node) *proxy {
	t.Helper()
	p := &proxy{dir: newDir(t), secure: rig.FreeAddress(), plain: rig.FreeAddress()}
	cert, key := p.certificate(t)
	_, securePort, _ := net.SplitHostPort(p.secure)
	_, plainPort, _ := net.SplitHostPort(p.plain)
	site := writeFile(t, filepath.Join(p.dir, "donorbook.conf"), example(t, "nginx.conf",
		"127.0.0.1:8081", nodes[0].address, "127.0.0.1:8082", nodes[1].address,
		"listen 443 ", "listen "+p.secure+" ",
		"listen [::]:443 ", "listen 127.0.0.2:"+securePort+" ", // not every machine has IPv6
		"listen 80 ", "listen "+p.plain+" ", "listen [::]:80 ", "listen 127.0.0.2:"+plainPort+" ",
		"/etc/letsencrypt/live/donors.example.org/fullchain.pem", cert,
		"/etc/letsencrypt/live/donors.example.org/privkey.pem", key,
		"/var/log/nginx/donorbook.log", filepath.Join(p.dir, "access.log"),
		"/var/log/nginx/error.log", filepath.Join(p.dir, "error.log"), "/var/www/html", p.dir,
	))
	// What Debian's nginx.conf says around it, with directories that are the test's.
	main := fmt.Sprintf(`daemon off; pid %[1]s/pid; error_log stderr info; worker_processes 2;
events { worker_connections 1024; }
http {
client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy;
fastcgi_temp_path %[1]s/fastcgi; uwsgi_temp_path %[1]s/uwsgi; scgi_temp_path %[1]s/scgi;
include %[2]s;
}
`, p.dir, site)
	settings := writeFile(t, filepath.Join(p.dir, "nginx.conf"), main)
	command := []string{nginxPath(t), "-e", "stderr", "-p", p.dir, "-c", settings}

	check := exec.Command(command[0], append(command[1:], "-t")...)
	check.SysProcAttr = nobody(t)
	out, err := check.CombinedOutput()
	said := string(out)
	if err != nil || strings.Contains(said, "[warn]") || !strings.Contains(said, "test is successful") {
		t.Fatalf("nginx -t: %v\n%s", err, said)
	}
	p.process = start(t, nil, command...)
	waitFor(t, "nginx to listen", func() bool {
		conn, err := net.Dial("tcp", p.secure)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	return p
}

func nginxPath(t *testing.T) string {
	t.Helper()
	for _, path := range []string{"/usr/sbin/nginx", "nginx"} {
		if found, err := exec.LookPath(path); err == nil {
			return found
		}
	}
	t.Fatal("nginx is not installed: apt-get install nginx")
	return ""
}

// certificate makes a certificate for the public name.
func (p *proxy) certificate(t *testing.T) (cert, key string) {
	t.Helper()
	private := assert.Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"donors.example.org"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, IsCA: true, BasicConstraintsValid: true,
	}
	write := func(name, kind string, der []byte) string {
		return writeFile(t, filepath.Join(p.dir, name), string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})))
	}
	der := assert.Must(x509.CreateCertificate(rand.Reader, template, template, private.Public(), private))(t)
	p.roots = x509.NewCertPool()
	p.roots.AddCert(assert.Must(x509.ParseCertificate(der))(t))
	secret := assert.Must(x509.MarshalPKCS8PrivateKey(private))(t)
	return write("cert.pem", "CERTIFICATE", der), write("key.pem", "PRIVATE KEY", secret)
}

// access is what nginx has logged.
func (p *proxy) access(t *testing.T) string { return readFile(t, filepath.Join(p.dir, "access.log")) }

// client is somebody out there, who knows the public name.
func (p *proxy) client(t *testing.T, key string, http2 bool) *client {
	transport := &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: p.roots, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2: http2, MaxIdleConnsPerHost: 64,
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, p.secure)
		},
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &client{http: &http.Client{Timeout: patience, Transport: transport}, base: public, key: key}
}
