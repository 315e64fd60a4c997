package cli

import (
	"fmt"
	"strings"

	"donorbook/internal/config"
	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/history"
	"donorbook/internal/store"
	"donorbook/internal/store/book"
)

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
