// Package rows reads the tables of tests: a row on each line, with at least two spaces between its cells. It knows nothing else, so that
// the tests of every package can use it.
package rows

import (
	"fmt"
	"iter"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var between = regexp.MustCompile(` {2,}`)

// cells are the cells of each row. One that is empty, or that has what would not be seen, is written in quotes as in Go. What follows two
// slashes is a remark.
func cells(table string) (all [][]string) {
	for line := range strings.Lines(table) {
		line, _, _ = strings.Cut(line, "  // ")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		row := between.Split(line, -1)
		for i, cell := range row {
			if text, err := strconv.Unquote(cell); err == nil && cell[0] == '"' {
				row[i] = text
			}
		}
		all = append(all, row)
	}
	return all
}

// All are the cells of all rows, one after the other.
func All(table string) []string { return slices.Concat(cells(table)...) }

// Of are the rows of a table: its cells are texts, numbers, true or false, and lists of words.
func Of[T any](table string) (all []T) {
	for _, row := range cells(table) {
		var one T
		fields := reflect.ValueOf(&one).Elem()
		if len(row) != fields.NumField() {
			panic(fmt.Sprintf("%q has %d cells", row, len(row)))
		}
		for i, cell := range row {
			set(fields.Field(i), cell)
		}
		all = append(all, one)
	}
	return all
}

func set(field reflect.Value, cell string) {
	switch field.Kind() {
	case reflect.String:
		field.SetString(cell)
	case reflect.Slice:
		field.Set(reflect.ValueOf(strings.Fields(cell)))
	default:
		if _, err := fmt.Sscan(cell, field.Addr().Interface()); err != nil {
			panic(fmt.Sprintf("%q: %v", cell, err))
		}
	}
}

// Pairs are the rows of a table with two columns of texts.
func Pairs(table string) iter.Seq2[string, string] { return Each[string](table) }

// Each are the rows of a table with a text and what is said of it.
func Each[T any](table string) iter.Seq2[string, T] {
	return func(yield func(string, T) bool) {
		for _, row := range cells(table) {
			if len(row) != 2 {
				panic(fmt.Sprintf("%q has %d cells", row, len(row)))
			}
			var second T
			if set(reflect.ValueOf(&second).Elem(), row[1]); !yield(row[0], second) {
				return
			}
		}
	}
}
