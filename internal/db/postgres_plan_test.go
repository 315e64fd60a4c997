//go:build drill

package db_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"donorbook/internal/db"
	"donorbook/internal/rig"
	"donorbook/internal/store/book"
)

var (
	parameter   = regexp.MustCompile(`\$\d+`)
	onlyAccount = regexp.MustCompile(`Cond: \((\w+\.)?account_id = (\$\d+|n\.account_id)\)`)
)

// A prepared statement keeps the plan that was made for it when the tables were empty and had no statistics. The plan
// must be good for a million rows.
func TestPostgreSQLPlansDoNotReadWholeTables(t *testing.T) {
	t.Parallel()
	s := openPostgres(t)
	account := newAccount(t, s).Number
	rig.AtOnce(50, func(i int) { create(t, s, account, named(fmt.Sprint("N", i))) })
	many := parts(map[string]string{
		"all tags of an account are compared": "sqlFoldedAlike",
		"what is to be done in an account, mostly nothing": `sqlOpenBulkJobs sqlOpenErasures sqlNextErasure sqlMoving
			sqlOpenJobsOf sqlUndoneJob`,
		"all keys, campaigns, fields, segments and imports of an account, which has few": `sqlKeys sqlKeyColumns sqlReaderCampaigns
			sqlCustomFields sqlFieldIDs sqlSegments sqlImports sqlOpenImports`,
		"rare; while a table is small enough to have no statistics": `sqlScattered sqlActive sqlCheckStates sqlReceipts sqlByNumber
			sqlDonationsByID sqlPromise sqlForgetDonation sqlBegun sqlUnderWay sqlTests sqlMailsAbout sqlVoided`,
		"the first ones, in the order of an index": "sqlLargestTags sqlJobsBefore sqlMails sqlToThank sqlReviews sqlOpenNow",
		"an account has one row, or a few": `sqlParent sqlRenameAccount sqlAccountsByNumber sqlSetting sqlLogo sqlRun sqlBusy sqlSeen
			sqlModel sqlPendingOf sqlSender sqlTemplates sqlAccountName sqlConnection sqlOffer sqlClaimConnection sqlCompared
			sqlNoteFault sqlLookAtAll account:lock account:remove account_setting:lock account_setting:remove duplicate_run:lock
			duplicate_run:remove connection:lock connection:remove`,
		"counted, or cleared, so that they stay few": `sqlActiveKeys sqlForgetKeys sqlOpenInvitations sqlMemberCount
			sqlCampaignCount`,
		"all people of an account":                                "sqlMembers sqlOwners sqlInvitations sqlExpireInvitations sqlDeleteInvitationsBy sqlOwnersMail",
		"what an import has left is removed; a check; an erasure": "sqlImportedCampaigns sqlMerged sqlForgetPairs sqlValidReceipts",
	})
	whole := parts(map[string]string{
		"small tables, read or looked at as a whole": `sqlTallies sqlStep14Accounts sqlAccounts sqlAccountList sqlAllUsers
			sqlAllMemberships sqlVersion sqlVersions sqlProbe sqlSweeps`,
		"a check": `sqlCheckTotal sqlCheckCampaigns sqlCampaignsOf sqlDisplaced sqlLostGivers sqlAnswerBytes sqlMostGiven
			sqlLostMerges sqlHalfMerges sqlLostPairs sqlLostReceipts sqlReceiptGaps sqlLogins`,
		"while everything is derived anew; an upgrade": "sqlGiftMonths sqlStep14Merged",
		"all jobs, while they are few; every hour":     "sqlOldJobs sqlLeftParts",
		"all accounts, once a minute, for the worker and for metrics": `sqlPending sqlAccountNumbers sqlDueConnections sqlOldestEvent
			sqlDonationCounts`,
	})
	planned := 0
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

// parts are the names of statements that are listed by the reasons why they may cost something.
func parts(reasons map[string]string) (names []string) {
	for _, some := range reasons {
		for _, name := range strings.Fields(some) {
			names = append(names, strings.ReplaceAll(name, ":", ": "))
		}
	}
	return names
}

// planOf is the plan of a prepared statement without known arguments.
func planOf(t *testing.T, s *book.Book, sql string) (lines []string) {
	t.Helper()
	given := parameter.FindAllString(sql, -1)
	slices.Sort(given)
	call := "EXPLAIN EXECUTE statement"
	if n := len(slices.Compact(given)); n > 0 {
		call += "(NULL" + strings.Repeat(", NULL", n-1) + ")"
	}
	succeed(t, s.DB().Read(t.Context(), func(c db.Conn) error {
		lines = nil
		return c.InTransaction(func(exec func(string) error) error { // so that the statements are in one session
			for _, step := range []string{"SET LOCAL plan_cache_mode = force_generic_plan",
				"PREPARE statement AS " + sql} {
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
