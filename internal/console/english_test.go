package console_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Words that a colleague would not say. Explanations of the API belong on pages for programmers.
var (
	oddWords    = regexp.MustCompile(`(?i)\b(whoever|whatever|somebody|nobody|everybody|no longer,|works no longer|by itself|in force|taken back|take back|account id|id in the api|organisation|colour|set-up|givers?|given back|goes on|anew)\b`)
	aboutTheAPI = regexp.MustCompile(`\b(the|our) API\b`)
	notShown    = regexp.MustCompile(`(?s)\{\{/\*.*?\*/\}\}|<[^>]*>|\{\{[^}"]*\}\}`)
)

func TestPagesSpeakPlainEnglish(t *testing.T) {
	names, err := filepath.Glob("*/*.html")
	if err != nil || len(names) < 20 {
		t.Fatalf("%d templates, %v", len(names), err)
	}
	for _, name := range names {
		text := must(os.ReadFile(name))(t)
		shown := notShown.ReplaceAllString(string(text), " ")
		if odd := oddWords.FindString(shown); odd != "" {
			t.Errorf("%s says %q", name, odd)
		}
		if api := aboutTheAPI.FindString(shown); api != "" && !strings.HasPrefix(filepath.Base(name), "key") {
			t.Errorf("%s explains %s", name, api)
		}
	}
}

// A button says what it does with a verb and a noun. Only the buttons of a dialog about one thing are shorter.
func TestButtonsNameTheirAction(t *testing.T) {
	short := map[string]bool{"Cancel": true, "Close": true, "Copy": true, "Donate": true, "Save": true, "Search": true, "Undo": true, "Revoke": true, "Remove": true, "Delete": true, "Leave": true, "Rename": true, "Previous": true, "Next": true, "×": true,
		"Segments": true, "Columns": true, "Export": true, // which open what they name
		"Import": true, "Archive": true, "Restore": true, "Merge": true, "Split": true, "Print": true} // beside a list, or a selection, of contacts
	button := regexp.MustCompile(`(?s)<(?:button|a|summary)[^>]*class="button[^>]*>(.*?)</(?:button|a|summary)>`)
	names, _ := filepath.Glob("*/*.html")
	n := 0
	for _, name := range names {
		text := must(os.ReadFile(name))(t)
		for _, found := range button.FindAllStringSubmatch(string(text), -1) {
			label := strings.TrimSpace(regexp.MustCompile(`<span class="visually-hidden">.*`).ReplaceAllString(found[1], ""))
			label = strings.TrimSpace(regexp.MustCompile(`\{\{icon "\w+"\}\}`).ReplaceAllString(label, ""))
			n++
			if !strings.Contains(label, " ") && !strings.Contains(label, "{{") && !short[label] {
				t.Errorf("%s has a button %q", name, label)
			}
		}
	}
	if n < 40 {
		t.Errorf("only %d buttons were found", n)
	}
}
