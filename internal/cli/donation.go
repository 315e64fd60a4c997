package cli

import (
	"errors"
	"fmt"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/store/book"
)

type donationReconcile struct {
	Account string `help:"Account ID." required:"" placeholder:"ID"`
}

func (donationReconcile) Help() string {
	return `Asks the payment provider for everything that happened since the last comparison, and for donations that are still open. The server does the same every day, and every hour for open donations, so this is for after an outage or a restored backup.

	donorbook donation reconcile --account ID`
}

func (c *donationReconcile) Run(t *terminal) error {
	return t.withAccount(c.Account, func(s *book.Book, account access.Account) error {
		failed := 0
		err := s.Reconcile(t.ctx, account, func(err error) {
			if failed++; failed <= 10 {
				fmt.Fprintln(t.stderr, err)
			}
		})
		if errors.Is(err, crm.ErrNotFound) {
			return fmt.Errorf("%w: connect one in the console, under Settings, Taking money", err)
		}
		if err != nil {
			return err
		}
		if failed > 0 {
			return fmt.Errorf("%d payments could not be looked at; the server tries again", failed)
		}
		waiting, err := s.Reviews(t.ctx, account.Number, 1000)
		if err == nil {
			_, err = fmt.Fprintf(t.stdout, "Everything is as the payment provider has it. %d donations wait for a person.\n", waiting)
		}
		return err
	})
}

type donationDeleteTests struct {
	Account string `help:"Account ID." required:"" placeholder:"ID"`
}

func (donationDeleteTests) Help() string {
	return `Deletes the donations that were begun in the provider's test mode, and cancels the gifts and recurring gifts that they became, which have counted nowhere. The account must be connected with its live key, or with no provider: while it takes test payments, they would come back.

	donorbook donation delete-tests --account ID`
}

func (c *donationDeleteTests) Run(t *terminal) error {
	return t.withAccount(c.Account, func(s *book.Book, account access.Account) error {
		deleted, err := s.DeleteTests(t.ctx, account.Number)
		if err == nil {
			_, err = fmt.Fprintf(t.stdout, "%d test donations deleted.\n", deleted)
		}
		return err
	})
}
