package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"
)

// Raw is a fair limit only as long as it writes with the very settings of the store, which this room may not know.
func TestRawWritesWithTheSettingsOfTheStore(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../internal/db/sqlite.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var theirs []string
	ast.Inspect(file, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			if text, err := strconv.Unquote(literal.Value); err == nil && len(text) > 7 && text[:7] == "PRAGMA " {
				theirs = append(theirs, text)
			}
		}
		return true
	})
	if !slices.Equal(theirs, durable) {
		t.Errorf("the store sets\n%q, raw sets\n%q", theirs, durable)
	}
}
