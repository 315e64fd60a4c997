package db

import (
	"testing"

	"donorbook/internal/rig"
)

func TestMain(m *testing.M) { rig.Main(m) }
