// Command pocketbase is a peer for the benchmark: PocketBase with a collection of contacts. It is a module of its own, so
// that the program does not depend on it.
//
//	pocketbase version                      its version
//	pocketbase fill DIR < contacts.ndjson   a new database with a record for each line
//	pocketbase token DIR                    a token of a user who may read and create
//	pocketbase serve --dir DIR --http ADDR  PocketBase's own command
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"runtime/debug"
	"strings"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/types"
)

const userEmail = "bench@example.org"

func main() {
	if err := run(os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 1 && args[0] == "version":
		fmt.Println(version())
		return nil
	case len(args) == 2 && args[0] == "fill":
		return within(args[1], func(app core.App) error { return fill(app, os.Stdin) })
	case len(args) == 2 && args[0] == "token":
		return within(args[1], printToken)
	}
	return pocketbase.New().Start()
}

// version is that of the module that was built in.
func version() string {
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if module.Path == "github.com/pocketbase/pocketbase" {
			return module.Version
		}
	}
	return "unknown"
}

// within opens a database directory, brings its schema up to date, and closes it again.
func within(dir string, fn func(core.App) error) error {
	app := pocketbase.NewWithConfig(pocketbase.Config{DefaultDataDir: dir, HideStartBanner: true})
	if err := app.Bootstrap(); err != nil {
		return err
	}
	if err := app.RunAllMigrations(); err != nil {
		return err
	}
	if err := fn(app); err != nil {
		return err
	}
	return app.ResetBootstrapState()
}

// texts are the plain fields of a contact, lists those that hold JSON.
var (
	texts = []string{"first_name", "middle_name", "last_name", "dob", "company", "title", "linkedin_url"}
	lists = []string{"emails", "phones", "addresses", "tags"}
)

func fill(app core.App, lines io.Reader) error {
	if err := makeCollection(app); err != nil {
		return err
	}
	if err := makeUser(app); err != nil {
		return err
	}
	return app.RunInTransaction(func(tx core.App) error { return insertAll(tx, lines) })
}

func makeCollection(app core.App) error {
	contacts := core.NewBaseCollection("contacts")
	contacts.Fields.Add(&core.EmailField{Name: "email", Required: true})
	for _, name := range texts {
		contacts.Fields.Add(&core.TextField{Name: name})
	}
	for _, name := range lists {
		contacts.Fields.Add(&core.JSONField{Name: name})
	}
	contacts.Fields.Add(&core.AutodateField{Name: "created", OnCreate: true}, &core.AutodateField{Name: "updated", OnCreate: true, OnUpdate: true})
	contacts.AddIndex("contacts_email", true, "email", "")
	signedIn := "@request.auth.id != ''" // as with us, nobody reads without a key
	contacts.ListRule, contacts.ViewRule, contacts.CreateRule = &signedIn, &signedIn, &signedIn
	return app.Save(contacts)
}

func makeUser(app core.App) error {
	users, err := app.FindCollectionByNameOrId("users")
	if err != nil {
		return err
	}
	user := core.NewRecord(users)
	user.SetEmail(userEmail)
	user.SetPassword("only for the benchmark")
	user.SetVerified(true)
	return app.Save(user)
}

func printToken(app core.App) error {
	user, err := app.FindAuthRecordByEmail("users", userEmail)
	if err != nil {
		return err
	}
	token, err := user.NewAuthToken()
	if err == nil {
		_, err = fmt.Println(token)
	}
	return err
}

// insertAll writes the records with one prepared statement.
func insertAll(app core.App, lines io.Reader) error {
	columns := append(append([]string{"id", "email", "created", "updated"}, texts...), lists...)
	query := app.DB().NewQuery("INSERT INTO contacts (" + strings.Join(columns, ", ") + ") VALUES ({:" + strings.Join(columns, "}, {:") + "})").Prepare()
	defer query.Close()
	now := types.NowDateTime().String()
	scanner := bufio.NewScanner(lines)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		var record map[string]json.RawMessage
		if err := json.Unmarshal(scanner.Bytes(), &record); err != nil {
			return err
		}
		values := dbx.Params{"created": now, "updated": now}
		for _, name := range append([]string{"id", "email"}, texts...) {
			var text string
			if err := json.Unmarshal(record[name], &text); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			values[name] = text
		}
		for _, name := range lists {
			values[name] = string(record[name])
		}
		if _, err := query.Bind(values).Execute(); err != nil {
			return err
		}
	}
	return scanner.Err()
}
