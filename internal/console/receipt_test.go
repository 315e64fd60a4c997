package console_test

import (
	"fmt"
	"testing"

	"donorbook/internal/crm/access"
)

// What a receipt lacks is told as a sentence, where the wording is chosen and where a gift is thanked for. A receipt leads to its list and to its gift.
func TestWhatAReceiptLacksIsTold(t *testing.T) {
	s, owner := signedIn(t, access.Owner)
	contact := s.newcomer(owner.account, "Amelia", "Okafor").ID
	gift := s.donation(owner.account, contact, `"amount":10,"method":"cash","transacted_at":"2026-11-15"`)
	const lacks = "No receipt can be made for this gift. An official Canadian receipt needs the postal address of your organization, under Settings"
	owner.follow("settings/receipts", "receipt_form", "ca").sees("Receipts saved.", lacks, "the postal address of the donor.").lacks("donor..", "The receipt field")
	owner.get("gifts/" + gift.Code + "/thank").sees(lacks)
	owner.follow("settings/receipts", "receipt_form", "")
	owner.follow("gifts/"+gift.Code+"/receipt").sees(fmt.Sprintf("Receipt %d-00001 is ready", now.Year()), "View gift").has(fmt.Sprintf("/receipts?year=%d", now.Year())).lacks("VOID")
	s.refund(owner.account, gift, 40_000)
	owner.get(fmt.Sprintf("receipts/%d-00001", now.Year())).sees("This receipt has been void since", fmt.Sprintf("VOID: replaced by receipt %d-00002 Receipt for your gift", now.Year()))
	covered := s.donation(owner.account, contact, `"amount":10.30,"fee_covered":0.30,"method":"card","transacted_at":"2026-11-15"`)
	owner.get("gifts/"+covered.Code+"/thank").sees("For $10.30 on Nov 15, 2026, of which $0.30 covered the fee.", "Thank you for your gift of $10.30")

}
