package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// ReadFile reads settings from a TOML file. Keys are the names of flags; an unknown one is an error.
func ReadFile(path string, known []string) (map[string]any, error) {
	values := map[string]any{}
	if _, err := toml.DecodeFile(path, &values); err != nil {
		return nil, fmt.Errorf("the settings file %s cannot be read: %w", path, err)
	}
	for key := range values {
		if !slices.Contains(known, key) {
			return nil, fmt.Errorf("the settings file %s has the unknown key %q; known are %s", path, key, strings.Join(known, ", "))
		}
	}
	return values, nil
}

// FilePath finds the settings file before the other settings are read: in the arguments, else in the environment.
func FilePath(args []string, lookup func(string) (string, bool)) string {
	for i, arg := range args {
		if arg == "--config" && i+1 < len(args) {
			return args[i+1]
		}
		if value, found := strings.CutPrefix(arg, "--config="); found {
			return value
		}
	}
	path, _ := lookup("DONORBOOK_CONFIG")
	return path
}
