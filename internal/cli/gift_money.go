package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"donorbook/internal/config"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/text"
	"donorbook/internal/store/book"
	"donorbook/internal/store/gifts"
)

// giftAmount names a gift and an amount of it.
type giftAmount struct {
	Account string  `help:"Id of the account." required:"" placeholder:"ID"`
	Amount  *string `help:"How much. Default: all." placeholder:"N"`
	Gift    string  `arg:"" help:"Id of the gift; gift list shows it."`
	JSON    bool    `help:"Print the gift as the API shows it." name:"json"`
}

// run moves money by a function of the store, and says what it did.
func (c *giftAmount) run(t *terminal, move func(*book.Book, context.Context, int64, string, *int64, string) (gifts.GiftDocument, error), did string) error {
	var faults doc.Invalid
	var amount *int64
	if c.Amount != nil {
		if amount = giving.ParseMoney(&faults, "amount", *c.Amount, "", false); amount == nil {
			return &config.Problem{Flag: "amount", Reason: "is empty; leave it out for all"}
		}
	}
	if err := faults.Err(); err != nil {
		return err
	}
	return t.withAccount(c.Account, func(s *book.Book, account access.Account) error {
		made, err := move(s, t.ctx, account.Number, c.Gift, amount, "")
		if err != nil {
			return fmt.Errorf("gift %q: %w", c.Gift, err)
		}
		moved := made.Entries[len(made.Entries)-1].Amount
		fmt.Fprintf(t.stderr, did+"; %s of the gift is left.\n", text.Money(max(moved, -moved), made.Currency), oneLine(made.Giver.Name()), text.Money(made.Left(), made.Currency))
		return t.printGift(c.JSON, made)
	})
}

// printGift prints a gift as the API shows it, where that is asked for.
func (t *terminal) printGift(asked bool, made gifts.GiftDocument) error {
	if !asked {
		return nil
	}
	return t.printJSON(json.RawMessage(made.Append(nil)))
}

type giftRefund struct{ giftAmount }

func (giftRefund) Help() string {
	return `Records a refund, and lowers every sum that the gift is part of. It moves no money: do that where the gift was paid. "gift undo-refund" takes it back.

	donorbook gift refund --account ID GIFT --amount 5`
}

func (c *giftRefund) Run(t *terminal) error {
	return c.run(t, (*book.Book).RefundGift, "Refunded %s to %s")
}

type giftUndoRefund struct{ giftAmount }

func (giftUndoRefund) Help() string {
	return `Takes back a refund that was recorded by mistake, or whose money came back. The ledger keeps the refund, and every sum counts the money again.

	donorbook gift undo-refund --account ID GIFT`
}

func (c *giftUndoRefund) Run(t *terminal) error {
	return c.run(t, (*book.Book).UndoRefund, "Undid a refund of %s to %s")
}

type giftCorrect struct {
	Account    string `help:"Id of the account." required:"" placeholder:"ID"`
	Amount     string `help:"What was paid." placeholder:"N"`
	Method     string `help:"How it was given: ${methods}." placeholder:"METHOD"`
	Fee        string `help:"What a processor kept." placeholder:"N"`
	FeeCovered string `help:"The part of the fee that the donor added." placeholder:"N" name:"fee-covered"`
	Gift       string `arg:"" help:"Id of the gift; gift list shows it."`
	JSON       bool   `help:"Print the gift as the API shows it." name:"json"`
}

func (giftCorrect) Help() string {
	return `Corrects what was entered wrong. The ledger keeps the wrong payment and gets an entry that takes it back and the right one; every sum follows. A gift of a payment provider cannot be corrected, and one of which a part is refunded only after "gift undo-refund".

	donorbook gift correct --account ID GIFT --amount 500
	donorbook gift correct --account ID GIFT --method cash`
}

func (c *giftCorrect) Run(t *terminal) error {
	var faults doc.Invalid
	in := giving.GiftInput{Correction: true, Amount: giving.ParseMoney(&faults, "amount", c.Amount, "", false), Fee: giving.ParseMoney(&faults, "fee", c.Fee, "", false),
		FeeCovered: giving.ParseMoney(&faults, "fee_covered", c.FeeCovered, "", false)}
	if c.Method != "" {
		in.Method = &c.Method
	}
	if c.Amount+c.Method+c.Fee+c.FeeCovered == "" {
		return &config.Problem{Flag: "amount", Reason: "is missing, or --method, --fee or --fee-covered: say what to correct"}
	}
	if err := in.Validate(&faults, false, "", time.Now()); err != nil {
		return err
	}
	return t.withAccount(c.Account, func(s *book.Book, account access.Account) error {
		made, err := s.UpdateGift(t.ctx, account.Number, c.Gift, in)
		if err != nil {
			return fmt.Errorf("gift %q: %w", c.Gift, err)
		}
		fmt.Fprintf(t.stderr, "The gift is %s by %s, from %s.\n", text.Money(made.Payment().Amount, made.Currency), made.Method, oneLine(made.Giver.Name()))
		return t.printGift(c.JSON, made)
	})
}
