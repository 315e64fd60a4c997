package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// TestServeLeavesNothingRunning starts and stops a server in this process. It is not parallel: the goroutines of other tests
// would look like a leak.
func TestServeLeavesNothingRunning(t *testing.T) {
	for _, e := range engines {
		t.Run(string(e), func(t *testing.T) { serveLeavesNothingRunning(t, e) })
	}
}

func serveLeavesNothingRunning(t *testing.T, e engine) {
	data := e.data(t)
	_, key := newKey(t, data)
	database := databaseFlags([]string{"--data", data})
	before := goleak.IgnoreCurrent()
	for range 2 {
		ctx, stop := context.WithCancel(t.Context())
		p := &process{t: t, data: data, exited: make(chan struct{})}
		code := -1
		go func() {
			defer close(p.exited)
			code = run(ctx, append([]string{"serve", "--data", data, "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0"}, database...), nil, &p.stdout, &p.stderr)
		}()
		p.waitUntilServing()
		p.call(key, 201, "POST", "/v1/contacts", `{"first_name":"Ada","last_name":"King"}`)
		p.call("", 200, "GET", "/readyz", "")
		p.client.CloseIdleConnections()
		stop()
		<-p.exited
		if code != exitOK || !setUpLink.MatchString(p.stdout.String()) || !strings.Contains(p.stderr.String(), "msg=stopped") {
			t.Errorf("exit code %d, stdout %q, stderr %q", code, &p.stdout, &p.stderr)
		}
	}
	var errs bytes.Buffer
	if code := run(t.Context(), append([]string{"serve", "--data", data, "--listen", "192.0.2.1:8443"}, database...), nil, &errs, &errs); code != exitFailed {
		t.Errorf("exit code %d: %s", code, &errs)
	}
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
}
