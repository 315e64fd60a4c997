package config

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// ReadFile reads settings from a TOML file. Keys are the names of flags, with values of the same type; anything else is
// an error. Errors do not repeat values: one may hold a password.
func ReadFile(path string, known []Setting) (map[string]any, error) {
	values := map[string]any{}
	_, err := toml.DecodeFile(path, &values)
	var syntax toml.ParseError
	switch {
	case errors.As(err, &syntax):
		return nil, problem("config", "line %d of %s is not valid TOML, such as listen = \"localhost:8443\"", syntax.Position.Line, path)
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("--config: there is no file %s: %w", path, fs.ErrNotExist)
	case err != nil:
		return nil, problem("config", "%s cannot be read: %v", path, err)
	}
	for key, value := range values {
		at := slices.IndexFunc(known, func(s Setting) bool { return s.Name == key })
		if at < 0 {
			return nil, problem("config", "%s has the unknown key %q; use one of %s", path, key, names(known))
		}
		if want := wantedType(known[at].Value, value); want != "" {
			return nil, problem("config", "%s: the value of %s must be %s", path, key, want)
		}
	}
	return values, nil
}

func names(settings []Setting) string {
	list := make([]string, 0, len(settings))
	for _, s := range settings {
		list = append(list, s.Name)
	}
	return strings.Join(list, ", ")
}

// wantedType says what type a value from the file should have, or "" if it has it.
func wantedType(setting, value any) string {
	switch setting.(type) {
	case int:
		if _, ok := value.(int64); !ok {
			return "an integer"
		}
	case []string:
		list, isList := value.([]any)
		if !isList || slices.ContainsFunc(list, func(v any) bool { _, ok := v.(string); return !ok }) {
			return "a list of strings"
		}
	default:
		if _, ok := value.(string); !ok {
			return "a string"
		}
	}
	return ""
}

// FilePath finds the settings file before the other settings are read: in the arguments, or else in the environment. The last of
// several arguments wins, as with every flag.
func FilePath(args []string, lookup func(string) (string, bool)) string {
	path, _ := lookup("DONORBOOK_CONFIG")
	for i, arg := range args {
		if arg == "--config" && i+1 < len(args) {
			path = args[i+1]
		}
		if value, found := strings.CutPrefix(arg, "--config="); found {
			path = value
		}
	}
	return path
}
