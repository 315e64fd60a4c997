package db

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Schema is what a database looks like.
type Schema struct {
	Steps    []Step // the first makes a new database
	Squashed int    // how many steps that were taken before it has in it
	Since    string // the release that has made such databases; where steps were squashed
	// all that have data, in the order in which a copy fills them: what makes data reachable comes last
	Tables []*Table

	Derived Derived
}

// Version is that of a database that has taken every step.
func (s *Schema) Version() int { return s.Squashed + len(s.Steps) }

// Derived is everything that is derived from documents. It is worked out anew where a program with another version has
// done it. Where Work is nil, nothing is derived.
type Derived struct {
	Name    string
	Version int64
	Work    func(t *Tx, progress Progress) error
}

// Step is one step of a schema: a frozen text, and frozen code where a text is not enough. It is never changed once it
// was released: what must become different becomes another step. Words in braces are the engine's.
type Step struct {
	SQL  string
	Fill func(t *Tx, progress Progress) error
}

const (
	sqlCreateVersion = `CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL PRIMARY KEY)`
	sqlVersion       = `SELECT COALESCE(MAX(version), 0) FROM schema_version`
	sqlAddVersion    = `INSERT INTO schema_version (version) VALUES ($1)`
	sqlLockAll       = `UPDATE schema_version SET version = version WHERE version = 1`

	sqlDerived    = `SELECT version FROM derived WHERE name = $1`
	sqlSetDerived = `INSERT INTO derived (name, version) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE
		SET version = excluded.version`
)

// migrate brings a database to the program's schema, in one transaction: a program that is killed leaves what was
// there. Of two that start at once, the second finds nothing left to do.
func migrate(ctx context.Context, e engine, schema *Schema, progress Progress) error {
	if progress == nil {
		progress = func(string, int64, int64) {}
	}
	c, err := e.writer(ctx)
	if err != nil {
		return err
	}
	done, err := schema.done(c)
	e.release(c)
	if err != nil || done {
		return err
	}
	return change(ctx, e, func(t *Tx) error {
		if err := t.lockVersion(); err != nil {
			return err
		}
		version, err := schemaVersion(t.conn) // again, now that no other program can change it
		switch {
		case err != nil:
			return err
		case version >= copyMark:
			return ErrUnfinished
		case version > schema.Version():
			return newerSchema(version, schema)
		case version > 0 && version <= schema.Squashed:
			return olderSchema(schema)
		}
		for version < schema.Version() {
			before := version
			version = max(version, schema.Squashed) + 1
			if err := t.apply(schema.Steps[version-schema.Squashed-1], before, version, progress); err != nil {
				return fmt.Errorf("migration %d: %w", version, err)
			}
		}
		for _, sql := range t.dialect.estimates {
			if _, err := t.exec(sql); err != nil {
				return err
			}
		}
		if c, keeps := t.conn.(interface{ forgetAll() error }); keeps { // no one says again what the steps say
			if err := c.forgetAll(); err != nil {
				return err
			}
		}
		return schema.derive(t, progress)
	})
}

// newerSchema refuses what a newer program has made: this one does not know what it would read or leave out.
func newerSchema(version int, schema *Schema) error {
	return fmt.Errorf("the database has schema version %d, and this program knows versions up to %d: use a newer donorbook", version, schema.Version())
}

// olderSchema refuses what only the release that knows its steps brings up to date.
func olderSchema(schema *Schema) error {
	return fmt.Errorf("the database was written by a donorbook older than %s: open it with donorbook %[1]s once, then start this version", schema.Since)
}

// change runs a transaction beside the queues. It waits for what was written before it commits: a commit cannot be
// interrupted.
func change(ctx context.Context, e engine, fn func(*Tx) error) error {
	c, err := e.writer(ctx)
	if err != nil {
		return err
	}
	defer e.release(c)
	if err := c.begin(true); err != nil {
		return err
	}
	defer c.rollback()
	t := newTx(c, new(Observer))
	return First(func() error { return t.heard(fn(t)) }, t.Flush, c.commit)
}

// Rebuild runs a transaction beside the queues, for as long as it takes. fn may run again.
func (d *DB) Rebuild(ctx context.Context, fn func(*Tx) error) error {
	return retried(func() error { return change(ctx, d.engine, fn) })
}

// lockVersion keeps other programs from migrating, and from beginning a copy, until the transaction ends.
func (t *Tx) lockVersion() error {
	for _, sql := range t.dialect.lockVersion {
		if _, err := t.exec(sql); err != nil {
			return err
		}
	}
	return nil
}

// done tells whether there is nothing to do.
func (s *Schema) done(c conn) (bool, error) {
	version, err := schemaVersion(c)
	if err != nil || version != s.Version() || s.Derived.Work == nil {
		return err == nil && version == s.Version(), err
	}
	derived, err := Conn{conn: c}.Int(sqlDerived, s.Derived.Name)
	return derived == s.Derived.Version, err
}

func (s *Schema) derive(t *Tx, progress Progress) error {
	if s.Derived.Work == nil {
		return nil
	}
	if derived, err := t.Int(sqlDerived, s.Derived.Name); err != nil || derived == s.Derived.Version {
		return err
	}
	if err := s.Derived.Work(t, progress); err != nil {
		return err
	}
	_, err := t.Exec(sqlSetDerived, s.Derived.Name, s.Derived.Version)
	return err
}

func schemaVersion(c conn) (version int, err error) {
	_, err = exec(c, sqlCreateVersion)
	if errors.Is(err, ErrTaken) { // by a node that starts at the same moment
		_, err = exec(c, sqlCreateVersion)
	}
	if err != nil {
		return 0, err
	}
	n, err := Conn{conn: c}.Int(sqlVersion)
	return int(n), err
}

// apply takes a step, after which a new database has the versions that were squashed as well.
func (t *Tx) apply(step Step, before, version int, progress Progress) error {
	for statement := range strings.SplitSeq(t.dialect.spell(step.SQL), ";\n") {
		if strings.TrimSpace(statement) == "" {
			continue
		}
		if _, err := t.Exec(statement); err != nil {
			return err
		}
	}
	if step.Fill != nil {
		if err := step.Fill(t, progress); err != nil {
			return err
		}
	}
	for number := before + 1; number <= version; number++ {
		if _, err := t.Exec(sqlAddVersion, int64(number)); err != nil {
			return err
		}
	}
	return nil
}

var schemaWord = regexp.MustCompile(`\{(\w+)( \w+)?\}`)

// spell puts the engine's words in place of those in braces; a name behind a word goes where the engine's text has a
// %s.
func (d *dialect) spell(sql string) string {
	return schemaWord.ReplaceAllStringFunc(sql, func(found string) string {
		word, name, named := strings.Cut(strings.Trim(found, "{}"), " ")
		if named {
			return strings.ReplaceAll(d.words[word], "%s", name)
		}
		return d.words[word]
	})
}
