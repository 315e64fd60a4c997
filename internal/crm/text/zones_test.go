//go:build drill

package text_test

import (
	"archive/zip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"donorbook/internal/crm/text"
	"donorbook/internal/rig/assert"
)

// The time zones are those of the Go that builds the program, which a release of it may change. make zones writes them
// anew.
func TestTimezonesAreThoseOfGo(t *testing.T) {
	root := assert.Must(exec.Command("go", "env", "GOROOT").Output())(t)
	archive := assert.Must(zip.OpenReader(filepath.Join(strings.TrimSpace(string(root)), "lib", "time",
		"zoneinfo.zip")))(t)
	defer archive.Close()
	var names []string
	for _, file := range archive.File {
		if !strings.HasSuffix(file.Name, "/") {
			names = append(names, file.Name)
		}
	}
	slices.Sort(names)
	if os.Getenv("UPDATE") == "1" {
		assert.Succeed(t, os.WriteFile("zones.txt", []byte(strings.Join(names, "\n")+"\n"), 0o644))
		return
	}
	assert.Equal(t, text.Timezones(), names, "run make zones: the time zones")
}
