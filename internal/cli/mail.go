package cli

import (
	"errors"
	"fmt"
	"time"

	"donorbook/internal/config"
	"donorbook/internal/crm/mail"
	"donorbook/internal/crm/text"
	"donorbook/internal/store"
)

type mailTest struct {
	config.Mail
	Address string `arg:"" help:"Email address that the test goes to."`
}

func (mailTest) Help() string {
	return `Takes the settings of serve, hands one mail over to the relay at once, and prints what the relay says to it.

	donorbook mail test you@example.org --smtp-host smtp.example.org --mail-from giving@example.org
	donorbook mail test you@example.org --config donorbook.toml`
}

func (c *mailTest) Run(t *terminal) error {
	if err := c.Check(); err != nil {
		return err
	}
	to, ok := mail.ParseAddress(c.Address)
	if !ok {
		return usageError{errors.New("the test needs one email address, such as you@example.org")}
	}
	relay, err := c.Relay()
	if err != nil {
		return err
	}
	if relay == nil {
		return usageError{errors.New("no mail relay is set: use --smtp-host and --mail-from, their variables, or the file of --config")}
	}
	l := &mail.Letter{ID: 1 + text.RandomBelow(1<<53-1), At: time.Now(), Name: mail.NewLine("Donorbook"), To: to, Message: *store.TestMessage("your organization")}
	if err := relay.Send(t.ctx, l); err != nil {
		if refused := new(mail.Refused); errors.As(err, &refused) && refused.Reply != "" {
			err = fmt.Errorf("%w\n%s", err, refused.Reply)
		}
		return err
	}
	fmt.Fprintf(t.stderr, "%s has taken the mail for %s. If it does not arrive, look into the spam folder, then into the log of the relay.\n", c.SMTPHost, to)
	return nil
}
