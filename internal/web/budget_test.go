package web

import "testing"

// What one account holds leaves room for the others, up to a total that nobody gets beyond.
func TestABudgetIsSharedByAccounts(t *testing.T) {
	b := newBudget()
	for account := range int64(budgetTotal / budgetShare) {
		o := owner{account: account + 1}
		if !b.take(o, budgetShare) {
			t.Fatalf("account %d gets nothing", o.account)
		}
		if b.take(o, 1) {
			t.Errorf("account %d gets more than its share", o.account)
		}
	}
	if b.take(owner{account: 99}, 1) {
		t.Error("more is given out than there is")
	}
	b.give(owner{account: 1}, budgetShare)
	if !b.take(owner{user: 7}, budgetShare) {
		t.Error("what was given back is not there")
	}
	for o, n := range b.owners {
		b.give(o, n)
	}
	if b.used != 0 || len(b.owners) != 0 {
		t.Errorf("%d bytes of %d owners are left", b.used, len(b.owners))
	}
}
