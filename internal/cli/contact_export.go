package cli

import (
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"

	"donorbook/internal/config"
	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/history"
	"donorbook/internal/store"
	"donorbook/internal/store/book"
	"donorbook/internal/store/jobs"
	"donorbook/internal/store/move"
)

type contactExport struct {
	Account string `help:"Id of the account." required:"" placeholder:"ID"`
	Scope   string `help:"active, archived or all. Default: what the query says, else active." placeholder:"SCOPE"`
	Query   string `help:"Only contacts that pass this filter, as the address of a list has it behind the question mark." placeholder:"QUERY"`
	Contact string `help:"Everything about one contact, with gifts, plans and history, as JSON: id, email or phone." placeholder:"WHO"`
	exportFile
	phoneRegion
}

func (contactExport) Help() string {
	return `Writes contacts, oldest first. CSV and XLSX have a row for each with a header that "contact import" knows; JSON Lines has each contact as the API shows it. The file gets its name only when it is complete. Contacts that others change meanwhile are written as they were or as they are.

	donorbook contact export --account ID --output contacts.csv
	donorbook contact export --account ID --format xlsx --output donors.xlsx --query "tag=donor&created_after=2026-01-01"
	donorbook contact export --account ID --format jsonl --output - --scope all | gzip > contacts.jsonl.gz

--contact writes all that is kept about one person into one file, for a person who asks for it:

	donorbook contact export --account ID --contact ada@example.org --output ada.json

The history of the account notes every export: who, when, how many.`
}

func (c *contactExport) Run(t *terminal) error {
	if err := c.check(); err != nil {
		return err
	}
	query, err := parseQuery(c.Query, func(name string) bool {
		_, known := find.Parameter(name)
		return known || name == "scope"
	})
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
		file, err := s.ExportContacts(store.By(t.ctx, history.CommandChannel, commandLine), account.Number, of, how)
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
		data, err := s.ContactData(store.By(t.ctx, history.CommandChannel, commandLine), account.Number, id)
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
	Account string `help:"Id of the account." required:"" placeholder:"ID"`
	Yes     bool   `help:"Erase. Without it, the command only says who would be erased."`
	Contact string `arg:"" help:"Id, email or phone of the contact."`
	phoneRegion
}

func (contactErase) Help() string {
	return `Removes a person for good: document, search, tags and history, and the name, address, dedication and notes on gifts and plans. The totals stay, and the history of the account keeps a line that does not name them. Nothing brings the person back.

	donorbook contact erase --account ID ada@example.org
	donorbook contact erase --account ID ada@example.org --yes

Backups that were made before still have the data, and so do files that were exported. Delete those, too.`
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
			return &config.Problem{Flag: "yes", Reason: fmt.Sprintf("is missing: contact %d, %s, would be erased for good; nothing was changed", id, name)}
		}
		job, err := s.EraseContact(store.By(t.ctx, history.CommandChannel, commandLine), account.Number, id)
		if err != nil {
			return err
		}
		ended := true
		if job != 0 {
			if ended, err = s.FinishErasure(t.ctx, account.Number, job); err != nil {
				return fmt.Errorf("contact %d was erased, but what else names the person is not removed yet; a server goes on with that: %w", id, err)
			}
		}
		said := "Contact %d was erased. Backups that were made before still have the data.\n"
		if !ended {
			said = "Contact %d was erased, but traces are left in the files of the database while something reads an earlier state, such as an export. A server removes them soon; \"donorbook serve\" does if none runs. Backups that were made before still have the data.\n"
		}
		fmt.Fprintf(t.stderr, said, id)
		return nil
	})
}

type contactMerge struct {
	Account  string            `help:"Id of the account." required:"" placeholder:"ID"`
	Prefer   string            `help:"Whose values win where both contacts have one: ${enum}." enum:"survivor,other" default:"survivor" placeholder:"WHICH"`
	Field    map[string]string `help:"Whose value one field gets, such as company=other. Can be given several times." placeholder:"NAME=WHICH"`
	Yes      bool              `help:"Merge. Without it, the command only says what would become of the contacts."`
	Survivor string            `arg:"" help:"Id, email or phone of the contact that stays."`
	Other    string            `arg:"" help:"Id, email or phone of the contact that is merged into it."`
	phoneRegion
}

func (contactMerge) Help() string {
	return `Makes one contact of two that are the same person. The survivor keeps its values and gets what it lacks: emails, phones, addresses, tags and external IDs of both are united, and two notes become one. Gifts, recurring gifts and the history of the other contact belong to the survivor from then on. The id of the merge is printed.

	donorbook contact merge --account ID 1000000007 1000000012
	donorbook contact merge --account ID 1000000007 1000000012 --field company=other --yes
	donorbook contact unmerge --account ID 4711

Nothing is lost: "donorbook contact unmerge" makes both contacts what they were.`
}

func (c *contactMerge) Run(t *terminal) error {
	if err := c.check(); err != nil {
		return err
	}
	return t.withAccount(c.Account, func(s *book.Book, account access.Account) error {
		survivor, err := anyContact(t, s, account.Number, c.Survivor, c.PhoneRegion)
		if err != nil {
			return err
		}
		in := crm.MergeInput{MergeChoice: crm.MergeChoice{PreferOther: c.Prefer == "other", Fields: make(map[string]int64)}}
		if in.Contact, err = anyContact(t, s, account.Number, c.Other, c.PhoneRegion); err != nil {
			return err
		}
		for name, which := range c.Field {
			id, known := map[string]int64{"survivor": survivor, "other": in.Contact}[which]
			if !known {
				return &config.Problem{Flag: "field", Reason: fmt.Sprintf("must end with =survivor or =other: %s=%s", name, which)}
			}
			in.Fields[name] = id
		}
		preview, err := s.PreviewMerge(t.ctx, account.Number, survivor, in, c.PhoneRegion)
		if err != nil {
			return err
		}
		fmt.Fprintf(t.stderr, "Contact %d, %s, and contact %d, %s, become one: %s. Gifts that move: %d. Recurring gifts that move: %d.\n", survivor, oneLine(preview.Survivor.Name()), in.Contact, oneLine(preview.Other.Name()), oneLine(preview.Merged.Name()), preview.Gifts, preview.Plans)
		for _, lost := range preview.Lost {
			fmt.Fprintf(t.stderr, "%s: %q of contact %d is not kept; it is %q.\n", lost.Field, lost.Value, lost.Contact, lost.Kept)
		}
		if !c.Yes {
			return &config.Problem{Flag: "yes", Reason: "is missing: nothing was changed"}
		}
		made, err := s.Merge(store.By(t.ctx, history.CommandChannel, commandLine), account.Number, survivor, in, c.PhoneRegion)
		if err == nil {
			fmt.Fprintln(t.stdout, made.Merge)
		}
		return err
	})
}

type contactUnmerge struct {
	Account string `help:"Id of the account." required:"" placeholder:"ID"`
	Merge   int64  `arg:"" help:"Id of the merge, as \"donorbook contact merge\" and the API tell it."`
	phoneRegion
}

func (contactUnmerge) Help() string {
	return `Undoes a merge: both contacts are again what they were, and the gifts that had moved go back. What was changed since stays with the survivor. What a create of the API or an import had merged into a contact becomes a contact of its own.

	donorbook contact unmerge --account ID 4711

The id of the undo is printed: "donorbook contact unmerge" with that id merges the two again.`
}

func (c *contactUnmerge) Run(t *terminal) error {
	if err := c.check(); err != nil {
		return err
	}
	return t.withAccount(c.Account, func(s *book.Book, account access.Account) error {
		undone, err := s.UndoMerge(store.By(t.ctx, history.CommandChannel, commandLine), account.Number, c.Merge, c.PhoneRegion)
		if err != nil {
			return err
		}
		if again, _ := undone.Merging(); again != 0 {
			fmt.Fprintf(t.stderr, "Contact %d is merged again.\n", undone.Survivor.ID)
			fmt.Fprintln(t.stdout, again)
			return nil
		}
		fmt.Fprintf(t.stderr, "Contact %d and contact %d are two contacts again.\n", undone.Survivor.ID, undone.Other.ID)
		if len(undone.Left) > 0 {
			fmt.Fprintf(t.stderr, "These fields were changed since, and stay as they are: %s.\n", strings.Join(undone.Left, ", "))
		}
		fmt.Fprintln(t.stdout, undone.ID())
		return nil
	})
}
