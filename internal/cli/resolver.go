package cli

import (
	"fmt"
	"os"

	"github.com/alecthomas/kong"
)

// fileResolver gives a flag the value from the settings file, unless the environment sets it.
type fileResolver map[string]any

func (fileResolver) Validate(*kong.Application) error { return nil }

func (values fileResolver) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	for _, name := range flag.Envs {
		if _, set := os.LookupEnv(name); set {
			return nil, nil
		}
	}
	switch value := values[flag.Name].(type) {
	case nil, string, bool, []any:
		return value, nil
	default:
		return fmt.Sprint(value), nil
	}
}
