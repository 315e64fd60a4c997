//go:build drill

package db_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"donorbook/internal/db"
	"donorbook/internal/store/book"
)

var (
	parameter   = regexp.MustCompile(`\$\d+`)
	onlyAccount = regexp.MustCompile(`Cond: \((\w+\.)?account_id = (\$\d+|n\.account_id)\)`)
)

// A prepared statement keeps the plan that was made for it when the tables were empty and had no statistics. The plan must be
// good for a million rows.
func TestPostgreSQLPlansDoNotReadWholeTables(t *testing.T) {
	t.Parallel()
	s := open(t, testEngines[1].options(t))
	account := newAccount(t, s).Number
	atOnce(50, func(i int) {
		create(t, s, account, fmt.Sprintf(`{"first_name":"N%d","emails":[{"value":"n%d@x.org"}]}`, i, i))
	})
	whole := []string{"sqlTallies", "sqlStep14Accounts", "sqlAccounts", "sqlAccountList", "sqlAllUsers", "sqlAllMemberships", "sqlVersion", "sqlVersions", "sqlProbe", "sqlSweeps", // small tables, read or looked at as a whole
		"sqlCheckTotal", "sqlCheckCampaigns", "sqlCampaignsOf", "sqlDisplaced", "sqlLostGivers", "sqlAnswerBytes", "sqlMostGiven"} // a check reads everything
	planned := 0
	many := []string{
		"sqlFoldedAlike",                     // all tags of an account are compared
		"sqlOpenBulkJobs", "sqlOpenZoneJobs", // what is to be done in an account, mostly nothing
		"sqlKeys", "sqlKeyColumns", "sqlReaderCampaigns", // all keys and campaigns of an account are asked for
		"sqlScattered", "sqlActive", "sqlCheckStates", // rare; while a table is small enough to have no statistics
		"sqlLargestTags",                                                                                                                                                        // the first ones, in the order of an index
		"sqlParent", "sqlRenameAccount", "sqlAccountsByNumber", "account: lock", "account: remove", "account_setting: lock", "account_setting: remove", "sqlSetting", "sqlLogo", // an account has one row
		"sqlActiveKeys", "sqlForgetKeys", "sqlOpenInvitations", "sqlMemberCount", "sqlCampaignCount", // counted, or cleared, so that they stay few
		"sqlMembers", "sqlOwners", "sqlInvitations", "sqlExpireInvitations", "sqlDeleteInvitationsBy", // all people of an account
	}
	many = append(many, "sqlCustomFields", "sqlFieldIDs", "sqlSegments", "sqlImports", "sqlOpenImports")                                                                             // all of an account, which has few of them
	many = append(many, "sqlImportedCampaigns")                                                                                                                                      // what an import has left is removed
	many = append(many, "sqlJobsBefore", "sqlOpenErasures", "sqlNextErasure")                                                                                                        // the first of an index; what is to be done in an account, mostly nothing
	whole = append(whole, "sqlGiftMonths", "sqlStep14Merged")                                                                                                                        // while everything is derived anew; an upgrade
	whole = append(whole, "sqlOldJobs", "sqlLeftParts")                                                                                                                              // all jobs, while they are few; every hour
	many = append(many, "sqlRun", "sqlBusy", "sqlSeen", "sqlModel", "duplicate_run: lock", "duplicate_run: remove")                                                                  // an account has one row
	many = append(many, "sqlMerged", "sqlForgetPairs")                                                                                                                               // a check and an erasure, which are rare
	many = append(many, "sqlMoving")                                                                                                                                                 // what is to be done in an account, mostly nothing
	whole = append(whole, "sqlLostMerges", "sqlHalfMerges", "sqlLostPairs", "sqlPending")                                                                                            // a check; all accounts, once a minute
	whole = append(whole, "sqlAccountNumbers")                                                                                                                                       // all accounts, while a machine is away
	many = append(many, "sqlOpenJobsOf", "sqlPendingOf")                                                                                                                             // the same; an account has one row
	many = append(many, "sqlMails", "sqlSender")                                                                                                                                     // the first ones, in the order of an index; an account has one row
	many = append(many, "sqlToThank", "sqlTemplates", "sqlAccountName")                                                                                                              // the first ones of an index of those alone; an account has five rows, and one
	whole = append(whole, "sqlLostReceipts", "sqlReceiptGaps")                                                                                                                       // a check
	many = append(many, "sqlReceipts", "sqlValidReceipts")                                                                                                                           // a range of the key, while a table is small enough to have no statistics; a check
	many = append(many, "sqlConnection", "sqlOffer", "sqlClaimConnection", "sqlCompared", "sqlNoteFault", "sqlLookAtAll", "connection: lock", "connection: remove", "sqlOwnersMail") // an account has one row; all people of an account
	many = append(many, "sqlByNumber", "sqlDonationsByID", "sqlPromise", "sqlForgetDonation", "sqlBegun", "sqlUnderWay", "sqlTests")                                                 // a key of two columns, while a table is small enough to have no statistics
	many = append(many, "sqlReviews", "sqlOpenNow")                                                                                                                                  // an index of those alone
	whole = append(whole, "sqlDueConnections", "sqlOldestEvent", "sqlDonationCounts")                                                                                                // all accounts, for the worker and for metrics; while the tables are small
	whole = append(whole, "sqlLogins")                                                                                                                                               // a check
	many = append(many, "sqlUndoneJob", "sqlMailsAbout", "sqlVoided")                                                                                                                // the undos of an account that are under way, before its history is swept; by indexes, while tables are small enough to have no statistics
	texts := statementTexts(t, s)
	for name, sql := range texts {
		sql = db.Single(sql) // a longer list is planned each time
		if strings.HasPrefix(sql, "CREATE ") || slices.Contains(whole, name) || db.Planned(sql) {
			continue
		}
		scanned := ""
		for _, line := range planOf(t, s, sql) {
			if strings.Contains(line, " Scan ") {
				scanned = line
			}
			// An index on the account alone is as bad as none, except for the accounts' own rows.
			alone := onlyAccount.MatchString(line) && !strings.Contains(scanned, "account_tally_pkey")
			if strings.Contains(line, "Seq Scan") || alone && !slices.Contains(many, name) {
				t.Errorf("%s: %s\n%s", name, line, sql)
			}
		}
		planned++
	}
	if planned < 20 {
		t.Errorf("only %d statements were planned", planned)
	}
}

// planOf is the plan of a prepared statement without known arguments.
func planOf(t *testing.T, s *book.Book, sql string) (lines []string) {
	t.Helper()
	nulls := make([]string, 0)
	seen := map[string]bool{}
	for _, p := range parameter.FindAllString(sql, -1) {
		if !seen[p] {
			seen[p] = true
			nulls = append(nulls, "NULL")
		}
	}
	call := "EXPLAIN EXECUTE statement"
	if len(nulls) > 0 {
		call += "(" + strings.Join(nulls, ", ") + ")"
	}
	succeed(t, s.DB().Read(t.Context(), func(c db.Conn) error {
		lines = nil
		return c.InTransaction(func(exec func(string) error) error { // so that the statements are in one session
			for _, step := range []string{"SET LOCAL plan_cache_mode = force_generic_plan", "PREPARE statement AS " + sql} {
				if err := exec(step); err != nil {
					return fmt.Errorf("%s: %w", step, err)
				}
			}
			err := c.Each(func(r db.Row) error {
				lines = append(lines, r.Text(0))
				return nil
			}, call)
			if err != nil {
				return err
			}
			return exec("DEALLOCATE statement") // which a rollback would not do
		})
	}))
	return lines
}
