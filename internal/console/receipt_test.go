package console_test

import (
	"fmt"
	"strings"
	"testing"

	"donorbook/internal/crm/access"
)

// What a receipt lacks is told as a sentence, where the wording is chosen and where a gift is thanked for. A receipt leads to its list and to its gift.
func TestWhatAReceiptLacksIsTold(t *testing.T) {
	onSiteAt(t, givingNow, func(t *testing.T, s *site) {
		owner := s.member(s.organization("Harbor"), access.Owner)
		contact := s.newcomer(owner.account, "Amelia", "Okafor").ID
		gift := s.donation(owner.account, contact, `"amount":10,"method":"cash","transacted_at":"2026-11-15"`)
		const lacks = "No receipt can be made for this gift. An official Canadian receipt needs the postal address of your organization, under Settings"
		saved := owner.follow(owner.org("/settings/receipts"), "receipt_form", "ca")
		owner.sees(saved, "Receipts saved.", lacks, "the postal address of the donor.")
		owner.doesNotSee(saved, "donor..", "The receipt field")
		owner.sees(owner.get(owner.org("/gifts/"+gift.Code+"/thank")), lacks)
		owner.follow(owner.org("/settings/receipts"), "receipt_form", "")
		receipt := owner.follow(owner.org("/gifts/" + gift.Code + "/receipt"))
		owner.sees(receipt, fmt.Sprintf("Receipt %d-00001 is ready", givingNow.Year()), "View gift")
		if !strings.Contains(receipt.body, fmt.Sprintf("/receipts?year=%d", givingNow.Year())) {
			t.Error("a receipt does not lead to the list of its year")
		}
		owner.doesNotSee(receipt, "VOID")
		s.refund(owner.account, gift, 40_000)
		printed := owner.get(owner.org(fmt.Sprintf("/receipts/%d-00001", givingNow.Year())))
		owner.sees(printed, "This receipt has been void since", fmt.Sprintf("VOID: replaced by receipt %d-00002 Receipt for your gift", givingNow.Year()))
		covered := s.donation(owner.account, contact, `"amount":10.30,"fee_covered":0.30,"method":"card","transacted_at":"2026-11-15"`)
		owner.sees(owner.get(owner.org("/gifts/"+covered.Code+"/thank")), "For $10.30 on Nov 15, 2026, of which $0.30 covered the fee.", "Thank you for your gift of $10.30")
	})
}
