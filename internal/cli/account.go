package cli

import (
	"fmt"

	"donorbook/internal/config"
	"donorbook/internal/crm/access"
	"donorbook/internal/store/book"
)

type accountCreate struct {
	Name   string  `help:"Name of the organization or chapter." required:"" placeholder:"NAME"`
	Parent *string `help:"Id of the parent account: the new one becomes its chapter." placeholder:"ID"`
}

func (accountCreate) Help() string {
	return `An account owns contacts, campaigns and keys. Other commands take its id with --account and --parent.

	donorbook account create --name "Harbor Light"
	donorbook account create --name "Harbor Light Portland" --parent ID`
}

func (c *accountCreate) Run(t *terminal) error {
	parent := ""
	if c.Parent != nil {
		if parent = *c.Parent; parent == "" {
			return &config.Problem{Flag: "parent", Reason: "is empty; leave it out to create an organization"}
		}
	}
	return t.withStore(func(s *book.Book) error {
		account, err := s.CreateAccount(t.ctx, c.Name, parent)
		if err != nil {
			return err
		}
		fmt.Fprintln(t.stderr, "Next: "+t.command("key create --account "+account.ID+` --name "My first key"`))
		_, err = fmt.Fprintln(t.stdout, account.ID)
		return err
	})
}

type accountList struct {
	JSON bool `help:"Print a JSON array of objects with id, name, parent_id and created_at." name:"json"`
}

// accountLine is an account as scripts see it.
type accountLine struct {
	ID        string  `json:"id" heading:"ID"`
	Name      string  `json:"name" heading:"NAME"`
	ParentID  *string `json:"parent_id" heading:"PARENT"`
	CreatedAt string  `json:"created_at" heading:"CREATED"`
}

func (c *accountList) Run(t *terminal) error {
	return t.withStore(func(s *book.Book) error {
		accounts, err := s.Accounts(t.ctx)
		if err != nil {
			return err
		}
		lines := make([]accountLine, 0, len(accounts))
		for _, a := range accounts {
			line := accountLine{ID: a.ID, Name: a.Name, CreatedAt: stamp(a.CreatedAt)}
			if a.ParentID != "" {
				line.ParentID = &a.ParentID
			}
			lines = append(lines, line)
		}
		if err := tellUnfinished(t, s); err != nil {
			return err
		}
		return printRows(t, c.JSON, lines, "No account yet. Next: "+t.command("account create --name NAME"))
	})
}

type accountSettings struct {
	ID       string  `arg:"" help:"Id of the account."`
	Currency *string `help:"ISO 4217 code of the currency of its sums, such as USD. It stays once the account has gifts." placeholder:"CODE"`
	Timezone *string `help:"Time zone in which its days begin, such as America/New_York. Gifts that have a time move to their day in it while the server runs." placeholder:"NAME"`
	Address  *string `help:"Postal address on giving statements, with line breaks; an empty one is removed." placeholder:"TEXT"`
	TaxID    *string `help:"Tax id on giving statements; an empty one is removed." name:"tax-id" placeholder:"TEXT"`
	Email    *string `help:"Email for donors, on public pages of campaigns; an empty one is removed." placeholder:"EMAIL"`
	Website  *string `help:"Web address on public pages of campaigns; an empty one is removed." placeholder:"URL"`
	Donors   *string `help:"What public pages of campaigns show of recent donors: names, amounts as well, or nothing." name:"public-donors" placeholder:"names|amounts"`
	NoReturn *bool   `help:"Statements say that no goods or services were provided in exchange for gifts; --nothing-in-return=false takes it back." name:"nothing-in-return"`
	History  *string `help:"For how many days the history is kept; 0 is for good." name:"history-days" placeholder:"DAYS"`
	JSON     bool    `help:"Print a JSON object with currency, timezone, address, tax_id, email, website, public_donors, nothing_in_return and history_days." name:"json"`
}

func (accountSettings) Help() string {
	return `Without a flag it only prints the settings.

	donorbook account settings ID --currency EUR --tax-id 04-1234567`
}

// settingsLine are the settings of an account as scripts see them.
type settingsLine struct {
	Currency string  `json:"currency" heading:"CURRENCY"`
	Timezone string  `json:"timezone" heading:"TIME ZONE"`
	Address  *string `json:"address" heading:"ADDRESS"`
	TaxID    *string `json:"tax_id" heading:"TAX ID"`
	Email    *string `json:"email" heading:"EMAIL"`
	Website  *string `json:"website" heading:"WEBSITE"`
	Donors   *string `json:"public_donors" heading:"PUBLIC DONORS"`
	NoReturn bool    `json:"nothing_in_return" heading:"NOTHING IN RETURN"`
	History  int64   `json:"history_days" heading:"HISTORY DAYS"`
}

func (c *accountSettings) Run(t *terminal) error {
	return t.withStore(func(s *book.Book) error {
		account, err := s.Account(t.ctx, c.ID)
		if err != nil {
			return err
		}
		if in := (access.AccountSettingsInput{Currency: c.Currency, Timezone: c.Timezone, NoReturn: c.NoReturn, Address: c.Address, TaxID: c.TaxID, Email: c.Email, Website: c.Website, PublicDonors: c.Donors, HistoryDays: c.History}); in != (access.AccountSettingsInput{}) {
			if err := s.SetAccountSettings(t.ctx, account.Number, in); err != nil {
				return err
			}
		}
		settings, err := s.AccountSettings(t.ctx, account.Number)
		if err != nil {
			return err
		}
		line := settingsLine{Currency: settings.Currency, Timezone: settings.Timezone, NoReturn: settings.NoReturn, History: settings.HistoryDays}
		donors := string(settings.PublicDonors)
		for to, value := range map[**string]*string{&line.Address: &settings.Address, &line.TaxID: &settings.TaxID, &line.Email: &settings.Email, &line.Website: &settings.Website, &line.Donors: &donors} {
			if *value != "" {
				*to = value
			}
		}
		if c.JSON {
			return t.printJSON(line)
		}
		return printTable(t, []settingsLine{line})
	})
}
