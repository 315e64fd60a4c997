package cli

import (
	"fmt"

	"donorbook/internal/backup"
)

// tighten keeps other users of the machine out of the directories of a command, and reports what it changed. What cannot be
// changed is only a warning: the operator may have reasons, such as a volume that belongs to another user.
func (t *terminal) tighten() {
	for _, dir := range backup.Directories(t.storage.Options()) {
		changed, err := backup.Tighten(dir)
		for _, c := range changed {
			t.notice(fmt.Sprintf("%s was open to other users of this machine (mode %04o); now only its owner can use it", c.Path, c.Was))
		}
		if err != nil {
			t.notice(err.Error())
		}
	}
}

// notice tells the operator something that is not a result of the command.
func (t *terminal) notice(text string) {
	if t.log != nil {
		t.log.Warn(text)
		return
	}
	fmt.Fprintln(t.stderr, "donorbook: "+text)
}
