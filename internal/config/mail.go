package config

import (
	"net"
	"os"
	"strings"

	"donorbook/internal/crm/mail"
	"donorbook/internal/relay"
)

// Mail says through which relay mail is sent.
type Mail struct {
	SMTPHost         string `help:"Mail relay (SMTP server) to send mail through. Default: no mail is sent." env:"DONORBOOK_SMTP_HOST" placeholder:"HOST" name:"smtp-host"`
	SMTPPort         int    `help:"With --smtp-host: its port. Default: ${default}." default:"587" env:"DONORBOOK_SMTP_PORT" placeholder:"N" name:"smtp-port"`
	SMTPTLS          string `help:"With --smtp-host: starttls (usual on port 587), tls (usual on port 465) or off (only without a user). Default: ${default}." enum:"starttls,tls,off" default:"starttls" env:"DONORBOOK_SMTP_TLS" placeholder:"MODE" name:"smtp-tls"`
	SMTPUser         string `help:"With --smtp-host: user to sign in as. Default: none." env:"DONORBOOK_SMTP_USER" placeholder:"NAME" name:"smtp-user"`
	SMTPPasswordFile string `help:"With --smtp-user: file with the password on its first line." env:"DONORBOOK_SMTP_PASSWORD_FILE" placeholder:"FILE" name:"smtp-password-file"`
	MailFrom         string `help:"With --smtp-host: address that mails come from, in a domain that the relay may send for." env:"DONORBOOK_MAIL_FROM" placeholder:"EMAIL" name:"mail-from"`
}

// Check refuses a relay that cannot be used. The password is read when it is needed.
func (m *Mail) Check() error {
	_, isAddress := mail.ParseAddress(m.MailFrom)
	host, _, hasPort := strings.Cut(m.SMTPHost, ":")
	switch {
	case m.SMTPHost == "":
		return nil
	case hasPort && net.ParseIP(m.SMTPHost) == nil:
		return problem("smtp-host", "give only the name, such as %s; the port goes into --smtp-port", host)
	case m.SMTPPort < 1 || m.SMTPPort > 65535:
		return problem("smtp-port", "%d is not a port, such as 587", m.SMTPPort)
	case m.MailFrom == "":
		return problem("mail-from", "is needed with --smtp-host, such as giving@example.org")
	case !isAddress:
		return problem("mail-from", "must be one email address without a name, such as giving@example.org")
	case (m.SMTPUser == "") != (m.SMTPPasswordFile == ""):
		return problem("smtp-user", "needs --smtp-password-file, and that file a user")
	case m.SMTPUser != "" && m.SMTPTLS == relay.Off:
		return problem("smtp-tls", "off would send the password in the clear; use starttls or tls")
	}
	return nil
}

// Relay is the relay that the settings describe, nil for none.
func (m *Mail) Relay() (*relay.Relay, error) {
	if m.SMTPHost == "" {
		return nil, nil
	}
	r := &relay.Relay{Host: m.SMTPHost, Port: m.SMTPPort, TLS: m.SMTPTLS, User: m.SMTPUser}
	r.From, _ = mail.ParseAddress(m.MailFrom)
	if m.SMTPPasswordFile != "" {
		text, err := os.ReadFile(m.SMTPPasswordFile)
		line, _, _ := strings.Cut(string(text), "\n")
		if r.Password = strings.TrimRight(line, "\r"); err == nil && r.Password == "" {
			return nil, problem("smtp-password-file", "%s has no password on its first line", m.SMTPPasswordFile)
		}
		if err != nil {
			return nil, problem("smtp-password-file", "%v", err)
		}
	}
	return r, nil
}
