package cli

import (
	"errors"
	"fmt"
	"io"
	"os"

	"donorbook/internal/crm/access"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/doc"
	"donorbook/internal/store/book"
)

type campaignImport struct {
	Account string `help:"ID of the account that owns the campaigns." required:"" placeholder:"ID"`
	File    string `arg:"" help:"JSON array of campaigns."`
}

func (campaignImport) Help() string {
	return `The file is a JSON array of objects with the fields of GET /v1/campaigns, and beneficiaries, an array of account IDs. Only title is required. An object whose slug exists updates the fields that it has. If there is any error in the file, nothing is changed.

	raised and donors are what came in before Donorbook: gifts are added to them. Totals that a list has shown are left out, so that a list can be imported again. status is draft, published (the default) or closed; payment_link is where the Donate button leads, an https address.

	donorbook campaign import --account ID campaigns.json

	[{"title": "Summer Gala", "slug": "summer-gala", "type": "event", "goal": 25000, "beneficiaries": ["ID"], "status": "draft", "payment_link": "https://pay.example.org/gala"}]`
}

// maxImport is the largest file of campaigns.
const maxImport = 64 << 20

func (c *campaignImport) Run(t *terminal) error {
	document, err := readImport(c.File)
	if err != nil {
		return err
	}
	inputs, err := campaign.DecodeAll(document)
	if err != nil {
		return c.refused(err)
	}
	return t.withAccount(c.Account, func(s *book.Book, account access.Account) error {
		done, err := s.ImportCampaigns(t.ctx, account, inputs)
		if err != nil {
			return c.refused(err)
		}
		_, err = fmt.Fprintf(t.stdout, "%d created, %d updated, %d unchanged\n", done.Created, done.Updated, done.Unchanged)
		return err
	})
}

// refused names the file if the error is in it.
func (c *campaignImport) refused(err error) error {
	var rows *campaign.RowsInvalid
	var malformed *doc.Malformed
	if errors.As(err, &rows) || errors.As(err, &malformed) {
		return fmt.Errorf("%s was refused, and nothing was changed.\n%w", c.File, err)
	}
	return err
}

func readImport(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, &doc.Malformed{Message: path + " is a directory."}
	}
	document, err := io.ReadAll(io.LimitReader(f, maxImport+1))
	if err == nil && len(document) > maxImport {
		err = &doc.Malformed{Message: fmt.Sprintf("%s is larger than %d MiB. Import it in parts.", path, maxImport>>20)}
	}
	return document, err
}
