package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Gifts of a file wait for thanks if the person who imports it says so, and the undo of the import takes them off the list.
func TestAnImportCanAskForThanks(t *testing.T) {
	data, file := t.TempDir(), filepath.Join(t.TempDir(), "gifts.csv")
	today := time.Now().UTC().Format(time.DateOnly)
	succeed(t, os.WriteFile(file, []byte("amount,date,email,external_id\n5,"+today+",ada@example.org,a\n7,2001-02-03,ada@example.org,b\n"), 0o600))
	account := result(t, "account", "create", "--data", data, "--name", "Import")
	waiting := func() int {
		return strings.Count(result(t, "gift", "list", "--data", data, "--account", account, "--thanks", "waiting", "--json"), `"external_id"`)
	}
	for _, test := range []struct {
		flags []string
		want  int
	}{{nil, 0}, {[]string{"--thanks"}, 1}} {
		result(t, append([]string{"gift", "import", "--data", data, "--account", account, file}, test.flags...)...)
		if n := waiting(); n != test.want {
			t.Errorf("%d gifts wait for thanks after an import with %v", n, test.flags)
		}
		last := decode[[]struct{ ID int64 }](t, []byte(result(t, "import", "list", "--data", data, "--account", account, "--json")))[0].ID
		result(t, "import", "undo", "--data", data, "--account", account, fmt.Sprint(last))
		if n := waiting(); n != 0 {
			t.Errorf("%d gifts wait for thanks after the undo", n)
		}
	}
}
