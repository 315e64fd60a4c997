package db

import (
	"fmt"
	"slices"
)

// ForgottenTables finds the tables that neither are spread over the machines of a distributed PostgreSQL nor on all of
// them.
const ForgottenTables = `SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
	WHERE n.nspname = current_schema() AND c.relkind = 'r' AND NOT EXISTS (SELECT 1 FROM pg_dist_partition p WHERE p.logicalrelid = c.oid) ORDER BY c.relname`

// Distribution are the commands by which Citus spreads the tables over several machines: what every machine has, then
// the first table of accounts, then those whose rows are beside it. Each does nothing where it was done before, so that
// all of them can run again after an upgrade.
func (s *Schema) Distribution(first *Table) (commands []string) {
	var all []*Table
	for _, t := range s.Tables {
		if all = append(all, t); t.Words != nil {
			all = append(all, t.Words)
		}
	}
	command := func(call, table string) {
		commands = append(commands,
			fmt.Sprintf("SELECT %s WHERE NOT EXISTS (SELECT 1 FROM pg_dist_partition WHERE logicalrelid = '%s'::regclass)", call, table))
	}
	everywhere := []string{"schema_version", "derived"}
	for _, t := range all {
		if !t.spread() {
			everywhere = append(everywhere, t.Name)
		}
	}
	slices.Sort(everywhere)
	for _, name := range everywhere {
		command(fmt.Sprintf("create_reference_table('%s')", name), name)
	}
	command(fmt.Sprintf("create_distributed_table('%s', 'account_id')", first.Name), first.Name)
	for _, t := range all {
		if t.spread() && t != first {
			command(fmt.Sprintf("create_distributed_table('%s', 'account_id', colocate_with => '%s')", t.Name,
				first.Name), t.Name)
		}
	}
	return commands
}
