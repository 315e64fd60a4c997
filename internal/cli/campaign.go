package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"donorbook/internal/config"
	"donorbook/internal/crm"
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

type campaignList struct {
	Account string `help:"Account ID." required:"" placeholder:"ID"`
	Scope   string `help:"own, benefiting (the account is a beneficiary), chapters (of its chapters) or all. Default: ${default}." enum:"own,benefiting,chapters,all" default:"own" placeholder:"SCOPE"`
	BaseURL string `help:"Public address of the service, used in the campaigns' URLs. Default: ${default}." env:"DONORBOOK_BASE_URL" default:"https://localhost:8443" placeholder:"URL" name:"base-url"`
	JSON    bool   `help:"Print a JSON array of campaigns as the API returns them." name:"json"`
}

// campaignsAtOnce is the largest page of the store.
const campaignsAtOnce = 100

func (c *campaignList) Run(t *terminal) error {
	if err := config.CheckBaseURL(c.BaseURL); err != nil {
		return err
	}
	scope := campaign.Scope(c.Scope)
	if c.Scope == "own" {
		scope = campaign.OwnCampaigns
	}
	return t.withAccount(c.Account, func(s *book.Book, account access.Account) error {
		list := []byte{'['}
		page := crm.PageRequest{Page: 1, PerPage: campaignsAtOnce}
		for more := true; more; page.Page++ {
			part, found, err := s.Campaigns(t.ctx, account.Number, scope, page, c.BaseURL, nil, nil)
			if err != nil {
				return err
			}
			if page.Page > 1 && len(part) > 0 {
				list = append(list, ',')
			}
			list = append(list, part...)
			more = page.Page < page.LastPage(found.Total)
		}
		return c.print(t, append(list, ']'))
	})
}

// campaignLine is a campaign in the table.
type campaignLine struct {
	ID       int64       `json:"id" heading:"ID"`
	Type     string      `json:"type" heading:"TYPE"`
	Title    string      `json:"title" heading:"TITLE"`
	Slug     string      `json:"slug" heading:"SLUG"`
	Raised   json.Number `json:"raised" heading:"RAISED"`
	Goal     json.Number `json:"goal" heading:"GOAL"`
	Currency string      `json:"currency" heading:"CURRENCY"`
}

func (c *campaignList) print(t *terminal, list []byte) error {
	if c.JSON {
		return t.printJSON(json.RawMessage(list))
	}
	var lines []campaignLine
	if err := json.Unmarshal(list, &lines); err != nil {
		return err
	}
	return printTable(t, lines)
}

type campaignDelete struct {
	Account string `help:"ID of the account that owns the campaign." required:"" placeholder:"ID"`
	ID      int64  `arg:"" name:"campaign-id" help:"Campaign ID; see \"donorbook campaign list\"."`
}

func (campaignDelete) Help() string {
	return `A campaign that has ever had gifts or recurring gifts cannot be deleted; close it instead. The slug of a deleted campaign is free again.

	donorbook campaign delete --account ID 7`
}

func (c *campaignDelete) Run(t *terminal) error {
	return t.withAccount(c.Account, func(s *book.Book, account access.Account) error {
		if err := s.DeleteCampaign(t.ctx, account, c.ID, ""); err != nil {
			return fmt.Errorf("campaign %d: %w", c.ID, err)
		}
		fmt.Fprintf(t.stderr, "Deleted campaign %d.\n", c.ID)
		return nil
	})
}
