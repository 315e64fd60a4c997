package cli

import (
	"fmt"
	"io"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"donorbook/internal/config"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/giving"
	"donorbook/internal/store/book"
	"donorbook/internal/store/jobs"
	"donorbook/internal/store/move"
)

// exportFile is where an export goes, and in which format.
type exportFile struct {
	Format string `help:"csv, jsonl or xlsx. Default: by the file name, or else csv." placeholder:"FORMAT"`
	Output string `help:"File to write, or - for standard output. Links are not followed." required:"" placeholder:"FILE"`
	Force  bool   `help:"Replace an existing file."`
}

// options say how to write the file. One person's file has a format of its own.
func (f exportFile) options(query url.Values, formats ...string) (move.ExportOptions, error) {
	how := move.ExportOptions{Format: f.Format, Filters: slices.Sorted(maps.Keys(query))}
	if how.Format == "" {
		how.Format = strings.TrimPrefix(filepath.Ext(f.Output), ".")
		if !slices.Contains(formats, how.Format) {
			how.Format = formats[0]
		}
	}
	if !slices.Contains(formats, how.Format) {
		return how, &config.Problem{Flag: "format", Reason: fmt.Sprintf("%q is not one of %s", how.Format, strings.Join(formats, ", "))}
	}
	return how, nil
}

// writeTo writes the file.
func (f exportFile) writeTo(t *terminal, write func(io.Writer) error) error {
	if f.Output == "-" {
		return write(t.stdout)
	}
	file, err := createFile(f.Output, f.Force)
	if err != nil {
		return err
	}
	return file.finish(write(file))
}

// export writes a file that the store has prepared.
func (f exportFile) export(t *terminal, what string, file *move.Export) error {
	w := newWatch(t, watch{})
	err := f.writeTo(t, func(out io.Writer) error {
		return file.Write(t.ctx, out, func(done, total int64) { w.progress(what, done, total) })
	})
	w.end()
	if err == nil && f.Output != "-" {
		fmt.Fprintf(t.stderr, "%s: %d %s.\n", f.Output, file.Rows, what)
	}
	return err
}

// parseQuery reads a filter. One that is not known is refused, so that no one takes a file with everything for the answer. The address of a list
// also tells its page, which says nothing here.
func parseQuery(text string, isFilter func(name string) bool) (url.Values, error) {
	query, err := url.ParseQuery(strings.TrimPrefix(text, "?"))
	if err != nil {
		return nil, &config.Problem{Flag: "query", Reason: err.Error()}
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if !isFilter(name) && name != "page" && name != "per_page" {
			return nil, &config.Problem{Flag: "query", Reason: fmt.Sprintf("unknown filter %q", name)}
		}
	}
	return query, nil
}

type giftExport struct {
	Account string `help:"Account ID." required:"" placeholder:"ID"`
	Query   string `help:"Only gifts that match this filter, as in the API: contact_id, campaign_id, status, method, transacted_after and so on." placeholder:"QUERY"`
	exportFile
}

func (giftExport) Help() string {
	return `Writes gifts in the order they were recorded. "gift import" recognizes the columns of CSV and takes refunds back in from their own columns; JSON Lines has refunds in full.

	donorbook gift export --account ID --output gifts.csv --query "transacted_after=2026-01-01&method=check"`
}

func (c *giftExport) Run(t *terminal) error {
	return c.filtered(t, c.Account, "gifts", c.Query, giving.GiftParameters(), func(s *book.Book, account int64, query url.Values, how move.ExportOptions) (*move.Export, error) {
		filter, err := giving.ParseGiftFilter(query.Get)
		if err != nil {
			return nil, err
		}
		return s.ExportGifts(t.ctx, account, filter, how)
	})
}

// filtered writes what passes a filter of the API.
func (f exportFile) filtered(t *terminal, account, what, filter string, parameters []string, prepare func(s *book.Book, account int64, query url.Values, how move.ExportOptions) (*move.Export, error)) error {
	query, err := parseQuery(filter, func(name string) bool { return slices.Contains(parameters, name) })
	if err != nil {
		return err
	}
	how, err := f.options(query, move.ExportFormats...)
	if err != nil {
		return err
	}
	return t.withAccount(account, func(s *book.Book, account access.Account) error {
		file, err := prepare(s, account.Number, query, how)
		if err != nil {
			return err
		}
		return f.export(t, what, file)
	})
}

type planExport struct {
	Account string `help:"Account ID." required:"" placeholder:"ID"`
	Query   string `help:"Only recurring gifts that match this filter, as in the API: contact_id, campaign_id, status, frequency, method and so on." placeholder:"QUERY"`
	exportFile
}

func (planExport) Help() string {
	return `Writes recurring gifts (plans) in the order they were recorded. JSON Lines has each plan as the API returns it.

	donorbook plan export --account ID --output plans.csv --query "status=active&frequency=monthly"`
}

func (c *planExport) Run(t *terminal) error {
	return c.filtered(t, c.Account, "plans", c.Query, giving.PlanParameters(), func(s *book.Book, account int64, query url.Values, how move.ExportOptions) (*move.Export, error) {
		filter, err := giving.ParsePlanFilter(query.Get)
		if err != nil {
			return nil, err
		}
		return s.ExportPlans(t.ctx, account, filter, how)
	})
}

type donorExport struct {
	Account  string  `help:"Account ID." required:"" placeholder:"ID"`
	Year     int64   `help:"Year. Default: this year, unless --campaign is given." placeholder:"YEAR"`
	Kind     *string `help:"Only donors who gave for the first time that year (new), also gave the year before (returning), or gave the year before but not that year (lapsed)." enum:"new,returning,lapsed" placeholder:"KIND"`
	Campaign string  `help:"Only donors to the campaign with this ID, slug or title, in any year." placeholder:"ID"`
	exportFile
}

func (donorExport) Help() string {
	return `Writes the contacts who gave in a year or to a campaign, oldest first: the columns of "contact export", then the number of gifts and the amount, in the currency of the account.

	donorbook donor export --account ID --year 2025 --output donors.csv
	donorbook donor export --account ID --year 2026 --kind lapsed --output lapsed.xlsx`
}

func (c *donorExport) Run(t *terminal) error {
	filter := giving.DonorFilter{Year: c.Year}
	if c.Kind != nil {
		filter.Kind = giving.DonorKind(*c.Kind)
	}
	if c.Campaign != "" && (c.Year != 0 || c.Kind != nil) {
		return &config.Problem{Flag: "campaign", Reason: "cannot be combined with --year and --kind"}
	}
	if c.Year != 0 && (c.Year < 1900 || c.Year > 9998) {
		return &config.Problem{Flag: "year", Reason: "must be 1900 or later"}
	}
	return c.filtered(t, c.Account, "donors", "", nil, func(s *book.Book, account int64, _ url.Values, how move.ExportOptions) (_ *move.Export, err error) {
		if c.Campaign != "" {
			if filter.Campaign, err = s.CampaignNamed(t.ctx, account, c.Campaign); err != nil {
				return nil, err
			}
		} else if filter.Year == 0 {
			zone, err := s.Timezone(t.ctx, account)
			if err != nil {
				return nil, err
			}
			filter.Year = int64(time.Now().In(zone).Year())
		}
		return s.ExportDonors(t.ctx, account, filter, how)
	})
}

type campaignExport struct {
	Account string `help:"Account ID." required:"" placeholder:"ID"`
	Scope   string `help:"own, benefiting, chapters or all. Default: own." placeholder:"SCOPE"`
	exportFile
}

func (campaignExport) Help() string {
	return `Writes campaigns, oldest first.

	donorbook campaign export --account ID --output campaigns.csv`
}

func (c *campaignExport) Run(t *terminal) error {
	scope, err := campaign.ParseScope(c.Scope)
	if err != nil {
		return err
	}
	return c.filtered(t, c.Account, "campaigns", "", nil, func(s *book.Book, account int64, _ url.Values, how move.ExportOptions) (*move.Export, error) {
		return s.ExportCampaigns(t.ctx, account, scope, "", how)
	})
}

type contactExport struct {
	Account string `help:"Account ID." required:"" placeholder:"ID"`
	Scope   string `help:"active, archived or all. Default: as in the query, or else active." placeholder:"SCOPE"`
	Query   string `help:"Only contacts that match this filter, written like the part of a list's web address after the question mark." placeholder:"QUERY"`
	Contact string `help:"Everything about one contact (ID, email or phone), with gifts, recurring gifts and history, as JSON." placeholder:"WHO"`
	exportFile
	phoneRegion
}

func (contactExport) Help() string {
	return `Writes contacts, oldest first. CSV and XLSX have one row per contact, with headings that "contact import" recognizes; JSON Lines has each contact as the API returns it. The file gets its name only when it is complete. A contact that is changed during the export is written as it was or as it is.

	donorbook contact export --account ID --output contacts.csv
	donorbook contact export --account ID --format xlsx --output donors.xlsx --query "tag=donor&created_after=2026-01-01"
	donorbook contact export --account ID --format jsonl --output - --scope all | gzip > contacts.jsonl.gz

--contact writes everything stored about one person to one file, for a person who asks for their data:

	donorbook contact export --account ID --contact ada@example.org --output ada.json

The account's history records every export: who, when and how many.`
}

// isContactFilter tells whether a list of contacts has a parameter.
func isContactFilter(name string) bool {
	_, known := find.Parameter(name)
	return known || name == "scope"
}

func (c *contactExport) Run(t *terminal) error {
	if err := c.check(); err != nil {
		return err
	}
	query, err := parseQuery(c.Query, isContactFilter)
	if err != nil {
		return err
	}
	if c.Contact != "" {
		return c.person(t, query)
	}
	how, err := c.options(query, move.ExportFormats...)
	if err != nil {
		return err
	}
	if c.Scope != "" {
		query.Set("scope", c.Scope)
	}
	of := jobs.Selection{All: true}
	if of.Scope, of.Filter, err = find.ParseQuery(query.Encode(), c.PhoneRegion); err != nil {
		return err
	}
	return t.withAccount(c.Account, func(s *book.Book, account access.Account) error {
		file, err := s.ExportContacts(t.ctx, account.Number, of, how)
		if err != nil {
			return err
		}
		return c.export(t, "contacts", file)
	})
}

// person writes everything about one contact.
func (c *contactExport) person(t *terminal, query url.Values) error {
	if _, err := c.options(query, "json"); err != nil {
		return err
	}
	return t.withAccount(c.Account, func(s *book.Book, account access.Account) error {
		id, err := anyContact(t, s, account.Number, c.Contact, c.PhoneRegion)
		if err != nil {
			return err
		}
		data, err := s.ContactData(t.ctx, account.Number, id)
		if err != nil {
			return err
		}
		return c.writeTo(t, func(w io.Writer) error { return data.Write(t.ctx, w) })
	})
}

// anyContact finds a contact by its id, even an archived one, or an active one by an email or a phone.
func anyContact(t *terminal, s *book.Book, account int64, name, region string) (int64, error) {
	if id, err := strconv.ParseInt(name, 10, 64); err == nil {
		if _, err := s.ContactRecord(t.ctx, account, id); err == nil {
			return id, nil
		}
	}
	return s.ContactNamed(t.ctx, account, name, region)
}

type contactErase struct {
	Account string `help:"Account ID." required:"" placeholder:"ID"`
	Yes     bool   `help:"Erase. Without it, the command only shows who would be erased."`
	Contact string `arg:"" help:"ID, email or phone of the contact."`
	phoneRegion
}

func (contactErase) Help() string {
	return `Erases a person for good: the contact with its search entries, tags and history, and the name, address, dedication and notes on gifts and recurring gifts. Totals stay, and the account's history keeps a line that does not name the person. This cannot be undone.

	donorbook contact erase --account ID ada@example.org
	donorbook contact erase --account ID ada@example.org --yes

Earlier backups and exported files still have the data. Delete those, too.`
}

func (c *contactErase) Run(t *terminal) error {
	if err := c.check(); err != nil {
		return err
	}
	return t.withAccount(c.Account, func(s *book.Book, account access.Account) error {
		id, err := anyContact(t, s, account.Number, c.Contact, c.PhoneRegion)
		if err != nil {
			return err
		}
		contact, err := s.ContactRecord(t.ctx, account.Number, id)
		if err != nil {
			return err
		}
		name := oneLine(contact.Name())
		if !c.Yes {
			return &config.Problem{Flag: "yes", Reason: fmt.Sprintf("is missing, so nothing was changed. Contact %d (%s) would be erased for good", id, name)}
		}
		job, err := s.EraseContact(t.ctx, account.Number, id)
		if err != nil {
			return err
		}
		ended := true
		if job != 0 {
			if ended, err = s.FinishJob(t.ctx, account.Number, job); err != nil {
				return fmt.Errorf("contact %d was erased, but the name is still on gifts or in the history; a server removes it: %w", id, err)
			}
		}
		said := "Erased contact %d. Earlier backups still have the data.\n"
		if !ended {
			said = "Erased contact %d. Traces stay in the database files while something reads an earlier state, such as an export; a running server removes them soon. Earlier backups still have the data.\n"
		}
		fmt.Fprintf(t.stderr, said, id)
		return nil
	})
}
