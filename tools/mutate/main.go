// Mutate breaks the product at places drawn with a fixed seed, one after another, and tells which breaks the tests find:
//
//	go run ./tools/mutate            60 places, one line for each
//	go run ./tools/mutate -at 7,12   these alone, with what the tests said
//
// The tree stays as it is: the compiler gets the broken file in the place of the right one.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"hash/fnv"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// where are the folders that are broken, and testers the packages whose tests look for a break, in this order, after those of the
// package itself.
var (
	where   = []string{"internal/crm", "internal/store", "internal/db", "internal/api", "internal/console"}
	testers = []string{"./internal/crm/...", "./internal/db", "./internal/store/book", "./internal/api", "./internal/console/...", "./internal/cli"}
)

// place is one way to break a file: the text between two offsets becomes another.
type place struct {
	file     string
	line     int
	source   string // the line
	from, to int
	text     string
	what     string
	rank     uint64 // where chance puts it
}

func main() {
	number := flag.Int("n", 60, "how many places")
	seed := flag.Uint64("seed", 54, "where chance begins")
	at := flag.String("at", "", "these places alone, separated by commas")
	limit := flag.Duration("limit", 3*time.Minute, "how long the tests may look for one break")
	flag.Parse()
	drawn, err := draw(*seed, *number)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
	found, tried := 0, 0
	for i, p := range drawn {
		if *at != "" && !slices.Contains(strings.Split(*at, ","), strconv.Itoa(i)) {
			continue
		}
		by, said := tryOut(p, *limit)
		tried++
		if by != "" {
			found++
		} else {
			by = "NOT FOUND"
		}
		fmt.Printf("%d\t%s:%d\t%s\t%s\n", i, p.file, p.line, p.what, by)
		if *at != "" {
			fmt.Println(said)
		}
	}
	fmt.Printf("%d of %d found\n", found, tried)
}

// draw takes some of the places of all files by chance: by a hash of the seed and the broken line, so that a change elsewhere leaves
// what is drawn as it is.
func draw(seed uint64, number int) (drawn []place, err error) {
	var all []place
	for _, dir := range where {
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
				strings.Contains(path, "crmtest") {
				return err
			}
			src, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			all = append(all, places(path, src)...)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	same := map[string]int{} // a line may have several of a kind
	for i, p := range all {
		h, of := fnv.New64a(), p.file+p.source+p.what
		fmt.Fprintln(h, seed, p.file, p.source, p.what, same[of])
		same[of]++
		all[i].rank = h.Sum64()
	}
	slices.SortStableFunc(all, func(a, b place) int { return cmp.Compare(a.rank, b.rank) })
	for _, p := range all {
		if len(drawn) == number {
			break
		}
		if compiles(p) {
			drawn = append(drawn, p)
		}
	}
	return drawn, nil
}

var opposite = map[token.Token]string{
	token.EQL: "!=", token.NEQ: "==", token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">",
	token.LAND: "||", token.LOR: "&&", token.ADD: "-", token.SUB: "+",
}

// places finds what can be broken in a file: a comparison, a sum, a condition, a constant, a statement.
func places(path string, src []byte) (list []place) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, src, 0)
	if err != nil {
		return nil
	}
	lines := strings.Split(string(src), "\n")
	add := func(from, to token.Pos, text, what string) {
		at := set.Position(from)
		source := strings.TrimSpace(lines[at.Line-1])
		list = append(list, place{file: path, line: at.Line, source: source, from: at.Offset, to: set.Position(to).Offset, text: text, what: what})
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if text := opposite[n.Op]; text != "" {
				add(n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), text, n.Op.String()+" is "+text)
			}
		case *ast.IfStmt:
			add(n.Cond.Pos(), n.Cond.Pos(), "true || ", "the condition always holds")
			add(n.Cond.Pos(), n.Cond.Pos(), "false && ", "the condition never holds")
		case *ast.BasicLit:
			if n.Kind == token.INT {
				add(n.End(), n.End(), "+1", n.Value+" is one more")
			}
		case *ast.ExprStmt:
			add(n.Pos(), n.End(), "", "a call is left out")
		case *ast.AssignStmt:
			if n.Tok == token.ASSIGN || n.Tok == token.ADD_ASSIGN {
				add(n.Pos(), n.End(), "", "an assignment is left out")
			}
		case *ast.Ident:
			if n.Name == "true" || n.Name == "false" {
				add(n.Pos(), n.End(), map[string]string{"true": "false", "false": "true"}[n.Name], n.Name+" is the opposite")
			}
		case *ast.ImportSpec, *ast.GenDecl:
			_, imports := n.(*ast.ImportSpec)
			return !imports
		}
		return true
	})
	return list
}

// overlay writes what tells the compiler to take the broken file, and returns its flag.
func overlay(p place) (name string, remove func(), err error) {
	dir, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return "", nil, err
	}
	src, err := os.ReadFile(p.file)
	if err != nil {
		return "", nil, err
	}
	broken, original := filepath.Join(dir, "broken.go"), p.file
	if original, err = filepath.Abs(original); err != nil {
		return "", nil, err
	}
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{original: broken}})
	if err != nil {
		return "", nil, err
	}
	name = filepath.Join(dir, "overlay.json")
	err = os.WriteFile(broken, []byte(string(src[:p.from])+p.text+string(src[p.to:])), 0o600)
	if err == nil {
		err = os.WriteFile(name, text, 0o600)
	}
	return name, func() { os.RemoveAll(dir) }, err
}

func compiles(p place) bool {
	name, remove, err := overlay(p)
	if err != nil {
		return false
	}
	defer remove()
	return exec.Command("go", "build", "-overlay", name, "./"+filepath.Dir(p.file)).Run() == nil
}

// tryOut runs the tests until one fails, and tells the package that found the break.
func tryOut(p place, limit time.Duration) (by, said string) {
	name, remove, err := overlay(p)
	if err != nil {
		return "", err.Error()
	}
	defer remove()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	for _, packages := range append([]string{"./" + filepath.Dir(p.file)}, testers...) {
		cmd := exec.CommandContext(ctx, ".ci/scratch", "go", "test", "-vet=off", "-failfast", "-overlay", name, packages)
		cmd.WaitDelay = 5 * time.Second
		out, err := cmd.CombinedOutput()
		if ctx.Err() != nil {
			return "", "the tests took too long"
		}
		if err != nil {
			return packages, string(out)
		}
	}
	return "", ""
}
