// Package relay sends mails through an SMTP relay.
package relay

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/mail"
	"net/textproto"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/idna"

	smtp "github.com/wneessen/go-mail"

	crm "donorbook/internal/crm/mail"
)

// The ways to encrypt what is said to the relay.
const (
	StartTLS = "starttls"
	TLS      = "tls"
	Off      = "off"
)

// Relay is where mails are handed over.
type Relay struct {
	Host           string
	Port           int
	User, Password string // "" for none
	TLS            string
	From           crm.Address
	Roots          *tls.Config // what is trusted, nil for what the machine trusts
}

// Send hands a mail over. It returns when the relay has acknowledged it.
func (r *Relay) Send(ctx context.Context, l *crm.Letter) error {
	message, err := r.message(l)
	if err != nil {
		return &crm.Refused{Reply: "This address can’t be written to.", Final: true, Err: errors.New("the address can’t be written to")}
	}
	client, err := r.client()
	if err != nil {
		return &crm.Refused{Err: err}
	}
	if err := client.DialWithContext(ctx); err != nil {
		return refusal(err)
	}
	defer client.Close() //nolint:errcheck // the mail is the relay's or it is not; how it says goodbye does not matter
	return refusal(client.Send(message))
}

func (r *Relay) client() (*smtp.Client, error) {
	// Nothing is said after the mail: if it were not answered, a mail that was taken would count as one that was not.
	options := []smtp.Option{smtp.WithPort(r.Port), smtp.WithTimeout(crm.SendTime / 2), smtp.WithoutNoop(), smtp.WithoutRset()}
	switch r.TLS {
	case TLS:
		options = append(options, smtp.WithSSL())
	case Off:
		options = append(options, smtp.WithTLSPolicy(smtp.NoTLS))
	default:
		options = append(options, smtp.WithTLSPolicy(smtp.TLSMandatory))
	}
	if r.Roots != nil {
		options = append(options, smtp.WithTLSConfig(r.Roots))
	}
	if r.User != "" {
		options = append(options, smtp.WithSMTPAuth(smtp.SMTPAuthAutoDiscover), smtp.WithUsername(r.User), smtp.WithPassword(r.Password))
	}
	return smtp.NewClient(r.Host, options...)
}

// message is the mail as it goes over the wire. Names are written by net/mail, which quotes or encodes whatever they hold.
func (r *Relay) message(l *crm.Letter) (*smtp.Msg, error) {
	from, err := mailbox(l.Name, r.From)
	if err != nil {
		return nil, err
	}
	to, err := mailbox(crm.Line{}, l.To)
	if err != nil {
		return nil, err
	}
	m := smtp.NewMsg(smtp.WithNoDefaultUserAgent())
	m.FromMailAddress(from)
	m.ToMailAddress(to)
	if l.ReplyTo != (crm.Address{}) {
		if answers, err := mailbox(l.Name, l.ReplyTo); err == nil {
			m.ReplyToMailAddress(answers)
		}
	}
	m.SetMessageIDWithValue(strconv.FormatInt(l.ID, 10) + ".donorbook@" + domain(r.From))
	m.SetDateWithValue(l.At)
	m.SetGenHeader("Auto-Submitted", "auto-generated") // so that no one’s out-of-office note answers
	m.Subject(l.Subject.String())
	m.SetBodyString(smtp.TypeTextPlain, l.Text())
	m.AddAlternativeString(smtp.TypeTextHTML, l.HTML())
	m.SetAttachments(attachments(l.Files))
	return m, nil
}

// attachments are files as they go over the wire: each is written to the connection and not into memory.
func attachments(files []crm.File) (all []*smtp.File) {
	for _, f := range files {
		all = append(all, &smtp.File{Name: f.Name, ContentType: smtp.ContentType(f.Type), Header: textproto.MIMEHeader{}, Writer: func(w io.Writer) (int64, error) {
			counted := &counter{w: w}
			err := f.Write(counted)
			return counted.n, err
		}})
	}
	return all
}

// counter counts what is written.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// mailbox is an address with a name. Its domain is written as the domain name system knows it.
func mailbox(name crm.Line, a crm.Address) (*mail.Address, error) {
	if a == (crm.Address{}) {
		return nil, errors.New("no address")
	}
	text := a.String()
	local := text[:len(text)-len(a.Domain())]
	ascii, err := idna.Lookup.ToASCII(a.Domain())
	return &mail.Address{Name: name.String(), Address: local + ascii}, err
}

func domain(a crm.Address) string {
	ascii, err := idna.Lookup.ToASCII(a.Domain())
	if err != nil {
		return "localhost"
	}
	return ascii
}

// refusal says what an error of a relay means. A refusal of the sender is the operator's to mend, so the mail waits; one of the recipient or of the mail itself is final.
// What the relay says may name the recipient: it is for who asked for the mail, and the log gets its codes alone.
func refusal(err error) error {
	if err == nil {
		return nil
	}
	var failed *smtp.SendError
	var answer *textproto.Error
	switch isAnswer := errors.As(err, &answer); {
	case errors.As(err, &failed) && failed.ErrorCode() != 0:
	case failed != nil:
		return &crm.Refused{Reply: trouble(err), Err: fmt.Errorf("%s: %s", failed.Reason, trouble(err))}
	case isAnswer:
		return &crm.Refused{Reply: trouble(err), Err: fmt.Errorf("the connection was refused with %d", answer.Code)}
	default:
		return &crm.Refused{Reply: trouble(err), Err: err}
	}
	refused := &crm.Refused{Err: fmt.Errorf("%s: %d %s", failed.Reason, failed.ErrorCode(), failed.EnhancedStatusCode())}
	refused.Final = !failed.IsTemp() && failed.ErrorCode() >= 500 && failed.Reason != smtp.ErrSMTPMailFrom
	refused.Gone = refused.Final && failed.Reason == smtp.ErrSMTPRcptTo && isMailbox(failed.ErrorCode(), failed.EnhancedStatusCode())
	reply, _, _ := strings.Cut(strings.TrimPrefix(failed.Error(), failed.Reason.String()+": "), ", affected ")
	code, said, _ := strings.Cut(reply, " ")
	if plain, err := strconv.Unquote(said); err == nil {
		said = plain
	}
	refused.Reply = "The mail relay answered: " + code + " " + said
	return refused
}

// trouble is why a mail could not be handed over, for a person; "" is not known.
func trouble(err error) string {
	var (
		name     x509.HostnameError
		invalid  x509.CertificateInvalidError
		untrust  *tls.CertificateVerificationError
		record   tls.RecordHeaderError
		unknown  *net.DNSError
		answer   *textproto.Error
		broken   *net.OpError
		handover *smtp.SendError
	)
	switch {
	case errors.As(err, &name):
		return "The certificate of the mail relay is for another name."
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "The certificate of the mail relay has expired, or is not valid yet."
	case errors.As(err, &untrust):
		return "The certificate of the mail relay was not issued by an authority that this server trusts."
	case strings.Contains(err.Error(), "does not support STARTTLS"):
		return "The mail relay does not offer an encrypted connection (STARTTLS)."
	case errors.As(err, &record):
		return "The mail relay does not answer with an encrypted connection (TLS) at this port."
	case errors.As(err, &broken) && (broken.Op == "remote error" || broken.Op == "local error"): // so crypto/tls says it
		return "The mail relay and this server found no encrypted connection (TLS) that both accept."
	case errors.As(err, &unknown):
		return "The name of the mail relay was not found."
	case errors.As(err, &answer) && slices.Contains(refusedSignIns, answer.Code):
		return fmt.Sprintf("The mail relay refused the user name or the password (%d).", answer.Code)
	case errors.As(err, &answer):
		return fmt.Sprintf("The mail relay refused the connection (%d).", answer.Code)
	case strings.Contains(err.Error(), "timeout"), errors.Is(err, context.DeadlineExceeded):
		return "The mail relay did not answer in time."
	case broken != nil && broken.Op == "dial":
		return "Nothing answers at the address of the mail relay."
	case broken != nil, errors.As(err, &handover), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "The mail relay broke off the connection."
	}
	return ""
}

// refusedSignIns are the answers to a user name and a password.
var refusedSignIns = []int{530, 534, 535, 538}

// isMailbox tells whether a refusal is about the mailbox itself: it is unknown, disabled or moved, and not about who we are or what we say.
func isMailbox(code int, enhanced string) bool {
	if enhanced == "" {
		return code == 550 || code == 551 || code == 553
	}
	return strings.HasPrefix(enhanced, "5.1.") || enhanced == "5.2.1"
}
