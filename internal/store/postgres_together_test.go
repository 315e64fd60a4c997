package store

import "testing"

// A statement is joined to an earlier one of its kind, unless that would move it past something that it may depend on.
func TestOnlyWhatMayMoveIsJoined(t *testing.T) {
	t.Parallel()
	read := func(rows) error { return nil }
	for _, test := range []struct {
		name  string
		sqls  []string
		sends int
	}{
		{"keys of two contacts", []string{sqlInsertContact, sqlInsertKey, sqlInsertKey, sqlInsertContact, sqlInsertKey}, 2},
		{"a change between two creates", []string{sqlInsertKey, sqlUpdateContact, sqlInsertKey}, 3},
		{"a key that is deleted and written again", []string{sqlInsertKey, sqlDeleteKey, sqlInsertKey}, 3},
		{"look-ups under one lock", []string{sqlTally, sqlMatch, sqlMatch, sqlLoadContact, sqlMatch}, 3},
		{"look-ups under two locks", []string{sqlTally, sqlMatch, sqlTally, sqlMatch}, 4},
		{"a look-up after what it may find", []string{sqlMatch, sqlInsertKey, sqlMatch}, 3},
		{"a tag that is dropped", []string{sqlCountTag, sqlCountTag, sqlDropTag, sqlCountTag}, 3},
	} {
		c := &postgresConn{}
		for i, sql := range test.sqls {
			answer := read
			if asksTogether[sql].place == 0 && sql != sqlTally {
				answer = nil
			}
			if err := c.later(answer, sql, int64(i), int64(i)); err != nil {
				t.Fatal(err)
			}
		}
		sent := c.depart()
		if len(sent) != test.sends {
			t.Errorf("%s: %d statements are sent as %d, want %d", test.name, len(test.sqls), len(sent), test.sends)
		}
		if left := c.depart(); len(left) != 0 {
			t.Errorf("%s: %d statements are sent twice", test.name, len(left))
		}
	}
}
