// Command pocketbase is a peer for the benchmark: PocketBase with a collection of contacts. It is a module of its own, so
// that the program does not depend on it.
//
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
	"strings"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/types"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 2 && args[0] == "fill":
		return within(args[1], func(app core.App) error { return fill(app, os.Stdin) })
	case len(args) == 2 && args[0] == "token":
		return within(args[1], printToken)
	}
	return pocketbase.New().Start()
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
	signedIn := "@request.auth.id != ''" // as with us, reading takes a key
	contacts.ListRule, contacts.ViewRule, contacts.CreateRule = &signedIn, &signedIn, &signedIn
	return app.Save(contacts)
}

// printToken makes a user, and prints a token of theirs.
func printToken(app core.App) error {
	users, err := app.FindCollectionByNameOrId("users")
	if err != nil {
		return err
	}
	user := core.NewRecord(users)
	user.SetEmail("bench@example.org")
	user.SetPassword("only for the benchmark")
	user.SetVerified(true)
	if err := app.Save(user); err != nil {
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
		var record map[string]any
		if err := json.Unmarshal(scanner.Bytes(), &record); err != nil {
			return err
		}
		values := dbx.Params{"created": now, "updated": now}
		for _, name := range append([]string{"id", "email"}, texts...) {
			values[name] = record[name]
		}
		for _, name := range lists {
			text, err := json.Marshal(record[name])
			if err != nil {
				return err
			}
			values[name] = string(text)
		}
		if _, err := query.Bind(values).Execute(); err != nil {
			return err
		}
	}
	return scanner.Err()
}
