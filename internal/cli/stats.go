package cli

import (
	"context"

	"donorbook/internal/store"
	"donorbook/internal/store/book"
	"donorbook/internal/web"
)

// measureStore adds the metrics of the database.
func measureStore(metrics *web.Metrics, s *book.Book) {
	metrics.Gauges("donorbook_database_size_bytes", "Size of the database.", "", func() map[string]float64 {
		size, err := s.Size(context.Background())
		return known(float64(size), err == nil)
	})
	metrics.Gauges("donorbook_database_log_size_bytes", "Size of the write-ahead log of SQLite.", "", func() map[string]float64 {
		size, ok := s.LogSize()
		return known(float64(size), ok)
	})
	metrics.Gauge("donorbook_database_changes_waiting", "Changes that are queued or being committed.", func() float64 { return float64(s.Waiting()) })
	pools := func(number func(store.Pool) int64) func() map[string]float64 {
		return func() map[string]float64 {
			values := make(map[string]float64)
			for _, pool := range s.Pools() {
				values[pool.Name] = float64(number(pool))
			}
			return values
		}
	}
	metrics.Gauges("donorbook_database_connections_in_use", "Connections to the database that are in use, for reading and for writing.", "pool",
		pools(func(p store.Pool) int64 { return p.InUse }))
	metrics.Gauges("donorbook_database_connections_max", "Connections to the database that may be in use at once.", "pool",
		pools(func(p store.Pool) int64 { return p.Max }))
}

// known is a number, or nothing if it is not known.
func known(value float64, ok bool) map[string]float64 {
	if !ok {
		return nil
	}
	return map[string]float64{"": value}
}
