package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	"donorbook/internal/crm"
	"donorbook/internal/store"
)

type campaignImport struct {
	Account string `help:"Id of the account that owns the campaigns." required:"" placeholder:"ID"`
	File    string `arg:"" help:"JSON array of campaigns: the fields of the API, of which only title is required, and beneficiaries (account ids)."`
}

func (c *campaignImport) Run(t *terminal) error {
	document, err := os.ReadFile(c.File)
	if err != nil {
		return err
	}
	inputs, err := crm.DecodeCampaigns(document)
	if err != nil {
		return fmt.Errorf("%s was refused, and nothing was changed.\n%w", c.File, err)
	}
	return t.withStore(func(s *store.Store) error {
		account, err := s.Account(t.ctx, c.Account)
		if err != nil {
			return err
		}
		done, err := s.ImportCampaigns(t.ctx, account, inputs)
		if err != nil {
			return fmt.Errorf("%s was refused, and nothing was changed.\n%w", c.File, err)
		}
		_, err = fmt.Fprintf(t.stdout, "%d created, %d updated, %d unchanged\n", done.Created, done.Updated, done.Unchanged)
		return err
	})
}

type campaignList struct {
	Account string `help:"Id of the account." required:"" placeholder:"ID"`
	Scope   string `help:"own, benefiting, chapters or all." enum:"own,benefiting,chapters,all" default:"own"`
	BaseURL string `help:"Public address of the service, for the campaigns' URLs." env:"DONORBOOK_BASE_URL" default:"https://localhost:8443" placeholder:"URL" name:"base-url"`
	JSON    bool   `help:"Print JSON." name:"json"`
}

// campaignsAtOnce is the largest page of the store.
const campaignsAtOnce = 100

func (c *campaignList) Run(t *terminal) error {
	return t.withStore(func(s *store.Store) error {
		account, err := s.Account(t.ctx, c.Account)
		if err != nil {
			return err
		}
		scope := crm.CampaignScope(c.Scope)
		if c.Scope == "own" {
			scope = crm.OwnCampaigns
		}
		list := []byte{'['}
		page := crm.PageRequest{Page: 1, PerPage: campaignsAtOnce}
		for more := true; more; page.Page++ {
			if page.Page > 1 {
				list = append(list, ',')
			}
			var found store.ListResult
			if list, found, err = s.Campaigns(t.ctx, account.Number, scope, page, c.BaseURL, list); err != nil {
				return err
			}
			more = page.Page < page.LastPage(found.Total)
		}
		return c.print(t, append(list, ']'))
	})
}

// campaignLine is what people see of a campaign.
type campaignLine struct {
	ID       int64       `json:"id"`
	Type     string      `json:"type"`
	Title    string      `json:"title"`
	Slug     string      `json:"slug"`
	Goal     json.Number `json:"goal"`
	Raised   json.Number `json:"raised"`
	Currency string      `json:"currency"`
}

func (c *campaignList) print(t *terminal, list []byte) error {
	if c.JSON {
		var indented bytes.Buffer
		if err := json.Indent(&indented, list, "", "  "); err != nil {
			return err
		}
		_, err := fmt.Fprintln(t.stdout, indented.String())
		return err
	}
	var lines []campaignLine
	if err := json.Unmarshal(list, &lines); err != nil {
		return err
	}
	table := t.table("ID", "TYPE", "TITLE", "SLUG", "RAISED", "GOAL", "CURRENCY")
	for _, l := range lines {
		table.row(fmt.Sprint(l.ID), l.Type, l.Title, l.Slug, l.Raised.String(), l.Goal.String(), l.Currency)
	}
	return table.flush()
}
