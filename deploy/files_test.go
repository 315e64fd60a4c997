//go:build drill

package deploy_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"donorbook/internal/rig/assert"
)

// unit is a systemd unit: what is set, in order.
type unit map[string][]string

func readUnit(t *testing.T, name string) unit {
	t.Helper()
	u := unit{}
	for line := range strings.Lines(readFile(t, name)) {
		line = strings.TrimSpace(line)
		if key, value, found := strings.Cut(line, "="); found && !strings.HasPrefix(line, "#") {
			u[key] = append(u[key], value)
		}
	}
	return u
}

// one is a setting that is there once.
func (u unit) one(t *testing.T, key string) string {
	t.Helper()
	if len(u[key]) != 1 {
		t.Fatalf("%s is set %d times", key, len(u[key]))
	}
	return u[key][0]
}

// worstExposure is what systemd may say about a unit, from 0 (locked in) to 10 (as free as root).
const worstExposure = 1.6

func TestUnitsAreValidAndHardened(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"donorbook.service", "donorbook@.service"} {
		path := writeFile(t, filepath.Join(newDir(t), name), example(t, name, "/usr/local/bin/donorbook", binary))
		if out, err := exec.Command("systemd-analyze", "verify", path).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("systemd-analyze verify %s: %v\n%s", name, err, out)
		}
		out, err := exec.Command("systemd-analyze", "security", "--offline=true", "--no-pager", path).CombinedOutput()
		found := regexp.MustCompile(`Overall exposure level for \S+: ([0-9.]+)`).FindSubmatch(out)
		if err != nil || found == nil {
			t.Fatalf("systemd-analyze security %s: %v\n%s", name, err, out)
		}
		level, err := strconv.ParseFloat(string(found[1]), 64)
		if err != nil || level > worstExposure {
			t.Errorf("%s has an exposure of %s\n%s", name, found[1], out)
		}
		t.Logf("%s: exposure %s of 10", name, found[1])
	}
}

// TestUnitsDifferWhereTheyMust: what is hardened in one unit is hardened in the other.
func TestUnitsDifferWhereTheyMust(t *testing.T) {
	t.Parallel()
	single, node := readUnit(t, "donorbook.service"), readUnit(t, "donorbook@.service")
	keys := slices.Sorted(maps.Keys(single))
	for key := range node {
		if single[key] == nil {
			keys = append(keys, key)
		}
	}
	var differ []string
	for _, key := range keys {
		if !slices.Equal(single[key], node[key]) {
			differ = append(differ, key)
		}
	}
	slices.Sort(differ)
	// Port 443 takes a capability, which does not work in a user namespace.
	want := "AmbientCapabilities CapabilityBoundingSet Description EnvironmentFile ExecStart PrivateUsers"
	assert.Equal(t, strings.Join(differ, " "), want, "the units differ")
}

// TestTimesFitTogether: a rolling restart loses nothing as long as these hold.
func TestTimesFitTogether(t *testing.T) {
	t.Parallel()
	duration := func(file, pattern string) time.Duration {
		t.Helper()
		found := regexp.MustCompile(pattern).FindStringSubmatch(readFile(t, file))
		if found == nil {
			t.Fatalf("%s has no %s", file, pattern)
		}
		return assert.Must(time.ParseDuration(found[1]))(t)
	}
	delay := duration("donorbook.toml", `(?m)^stop-delay = "(.*)"$`)
	if idle := duration("nginx.conf", `(?m)^ *keepalive_timeout (.*);$`); idle >= delay {
		t.Errorf("nginx keeps connections for %s, and a node drains them for %s", idle, delay)
	}
	const inFlight = 25 * time.Second
	for _, name := range []string{"donorbook.service", "donorbook@.service"} {
		if limit := duration(name, `(?m)^TimeoutStopSec=(.*)$`); limit < delay+inFlight+5*time.Second {
			t.Errorf("%s kills after %s a node that may take %s", name, limit, delay+inFlight)
		}
	}
}

func TestSettingsAreThoseThatAreMeant(t *testing.T) {
	t.Parallel()
	database := regexp.MustCompile(`(?m)^DONORBOOK_DATABASE=(.*)$`).FindStringSubmatch(readFile(t, "environment"))[1]
	out := donorbook(t, database, "config", "--config", assert.Must(filepath.Abs("donorbook.toml"))(t))
	for _, want := range []string{
		`base-url +https://donors\.example\.org`, `tls +off`, `trusted-proxy +127\.0\.0\.1`,
		`stop-delay +5s`, `data +/var/lib/donorbook`,
		`database +postgres://donorbook:xxxxx@127\.0\.0\.1:5432/donorbook`,
	} {
		if !regexp.MustCompile(`(?m)^` + want).MatchString(out) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
	if strings.Contains(out, "CHANGE-ME") {
		t.Error("the password is shown")
	}
}

// TestTheReadmeNamesEveryFile: somebody who follows it misses nothing, and finds what it names.
func TestTheReadmeNamesEveryFile(t *testing.T) {
	t.Parallel()
	text := readFile(t, "README.md")
	for _, name := range assert.Must(filepath.Glob("*"))(t) {
		if !strings.HasSuffix(name, ".go") && name != "README.md" && !strings.Contains(text, "deploy/"+name) {
			t.Errorf("README.md does not tell what to do with %s", name)
		}
	}
	for _, name := range regexp.MustCompile(`deploy/[a-z@.]*[a-z]`).FindAllString(text, -1) {
		if _, err := os.Stat(filepath.Base(name)); err != nil {
			t.Error(err)
		}
	}
	for i := 1; i <= 2; i++ { // what the unit makes of an instance's number
		for _, want := range []string{"donorbook@", "127.0.0.1:808", "127.0.0.1:946"} {
			if want += strconv.Itoa(i); !strings.Contains(text, want) {
				t.Errorf("README.md does not name %s", want)
			}
		}
	}
}
