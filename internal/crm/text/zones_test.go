//go:build drill

package text_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm/text"
	"donorbook/internal/rig/assert"
)

// The time zones are those of the Go that builds the program, which a release of it may change. make zones writes them anew.
func TestTimezonesAreThoseOfGo(t *testing.T) {
	root := assert.Must(exec.Command("go", "env", "GOROOT").Output())(t)
	want := zonesOfGo(t, filepath.Join(strings.TrimSpace(string(root)), "lib", "time", "zoneinfo.zip"))
	if os.Getenv("UPDATE") == "1" {
		assert.Succeed(t, os.WriteFile("zones.tar.gz", tarred(t, want), 0o644))
		return
	}
	for name := range want {
		if !text.IsTimezone(name) {
			t.Errorf("%s is missing: run make zones", name)
		}
	}
	for name := range text.Zones() {
		ours, _ := text.Timezone(name)
		theirs, err := time.LoadLocationFromTZData(name, want[name])
		for _, at := range []time.Time{time.Unix(646_833_600, 0), time.Unix(1_767_268_800, 0), time.Unix(1_782_907_200, 0)} { // 1990 and 2026
			if err != nil || at.In(ours).Format(time.RFC1123Z) != at.In(theirs).Format(time.RFC1123Z) {
				t.Errorf("%s differs from Go's at %v, %v: run make zones", name, at, err)
			}
		}
	}
}

func zonesOfGo(t *testing.T, path string) map[string][]byte {
	archive := assert.Must(zip.OpenReader(path))(t)
	defer archive.Close()
	all := map[string][]byte{}
	for _, file := range archive.File {
		if rules := assert.Must(io.ReadAll(assert.Must(file.Open())(t)))(t); len(rules) > 0 { // not a directory
			all[file.Name] = rules
		}
	}
	return all
}

func tarred(t *testing.T, files map[string][]byte) []byte {
	var out bytes.Buffer
	zipped, _ := gzip.NewWriterLevel(&out, gzip.BestCompression)
	archive := tar.NewWriter(zipped)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		assert.Succeed(t, archive.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(files[name]))}))
		assert.Must(archive.Write(files[name]))(t)
	}
	assert.Succeed(t, archive.Close())
	assert.Succeed(t, zipped.Close())
	return out.Bytes()
}
