//go:build drill

package book

import (
	"strconv"
	"testing"

	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/jobs"
)

// A machine that has one of the accounts is away, so that a question about all accounts fails. The jobs of the others go on.
func TestJobsOfOtherAccountsGoOnWhileAMachineIsAway(t *testing.T) {
	s := must(Open(t.Context(), bothEngines[1].options(t)))(t)
	defer s.Close() //nolint:errcheck // its tables are no longer ours
	away, healthy := newAccount(t, s).Number, newAccount(t, s).Number
	succeed(t, s.DB().Rebuild(t.Context(), func(tx *db.Tx) error {
		for _, account := range []int64{away, healthy} {
			tx.Insert(store.JobTable, account, int64(1), "import", "mapping", "", int64(0), int64(0), int64(0), "{}", "{}", int64(0), int64(0), int64(0))
		}
		if err := tx.Flush(); err != nil {
			return err
		}
		for _, sql := range []string{
			`CREATE FUNCTION reachable(account BIGINT, missing BIGINT) RETURNS BOOLEAN LANGUAGE plpgsql AS
				'BEGIN IF account = missing THEN RAISE EXCEPTION ''connection to the remote node failed'' USING ERRCODE = ''08006''; END IF; RETURN true; END'`,
			`ALTER TABLE job RENAME TO stored_job`,
		} {
			if _, err := tx.Exec(sql); err != nil {
				return err
			}
		}
		_, err := tx.Exec(`CREATE VIEW job AS SELECT * FROM stored_job WHERE reachable(account_id, ` + strconv.FormatInt(away, 10) + `)`)
		return err
	}))
	found, err := store.ListAll(t.Context(), s.Base, jobs.ScanOpenJob, jobs.SQLOpenJobs, jobs.SQLOpenJobsOf)
	if err != nil || len(found) != 1 || found[0].Account != healthy {
		t.Errorf("%v: %+v", err, found)
	}
}
