package store

import "context"

// Pool is a number of connections to the database.
type Pool struct {
	Name       string // read or write
	InUse, Max int64
}

// Size is the size of the database in bytes. Like Ready, it asks the database one question at a time, and callers do not
// wait long for a database that does not answer.
func (s *Store) Size(ctx context.Context) (int64, error) {
	err := s.sizing.ask(ctx, s.now, func() error {
		return s.read(context.WithoutCancel(ctx), func(c conn) error {
			_, err := one(c, func(r rows) { s.size.Store(r.int(0)) }, s.engine.dialect().size)
			return err
		})
	})
	return s.size.Load(), err
}

// LogSize is the size of SQLite's write-ahead log; ok is false for PostgreSQL, whose log is the server's affair.
func (s *Store) LogSize() (bytes int64, ok bool) {
	bytes = s.engine.log()
	return bytes, bytes >= 0
}

// Waiting is how many changes are queued or being committed.
func (s *Store) Waiting() (n int64) {
	for _, w := range s.writers {
		n += w.waiting.Load()
	}
	return n
}

// Pools tells how many connections are in use.
func (s *Store) Pools() []Pool { return s.engine.pools() }
