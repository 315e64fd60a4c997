package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"donorbook/internal/api"
	"donorbook/internal/assistant"
	"donorbook/internal/config"
)

type mcpCommand struct {
	URL     string `help:"Address of the server. Default: ${default}." default:"https://localhost:8443" env:"DONORBOOK_URL" placeholder:"URL" name:"url"`
	KeyFile string `help:"File with the API key. Default: the variable DONORBOOK_KEY." placeholder:"FILE" name:"key-file"`
	CA      string `help:"Certificate (PEM) of the server's own authority. Default: tls/ca.pem of the data directory, for a server on this machine." placeholder:"FILE" name:"ca"`
}

func (mcpCommand) Help() string {
	return `Speaks the Model Context Protocol on standard input and output, so that an assistant can find, create, change and tag
contacts, record and refund gifts, and look at campaigns and plans. It can do only what the API key allows: give the
assistant its own key, with as few permissions as possible. If the key or the certificate is refused, the command ends at
once and says what to do.

	donorbook key create --account ID --name Assistant --permission contacts:read --permission campaigns:read

The assistant starts the command on its own. Most assistants take settings like these:

	{
	  "mcpServers": {
	    "donorbook": {
	      "command": "/usr/local/bin/donorbook",
	      "args": ["mcp", "--url", "https://donors.example.org"],
	      "env": {"DONORBOOK_KEY": "dbk_..."}
	    }
	  }
	}

Or the assistant connects to the server itself, without this command ("serve --mcp off" turns that off):

	{
	  "mcpServers": {
	    "donorbook": {
	      "type": "http",
	      "url": "https://donors.example.org/mcp",
	      "headers": {"Authorization": "Bearer dbk_..."}
	    }
	  }
	}

To trust a server that made its own certificate, use --ca:

	donorbook mcp --url https://donors.internal:8443 --ca ca.pem --key-file assistant.key`
}

func (c *mcpCommand) Run(t *terminal) error {
	key, err := c.key()
	if err != nil {
		return err
	}
	authority, err := c.authority(t.storage.Data)
	if err != nil {
		return err
	}
	at := assistant.Remote{URL: c.URL, Key: key, Authority: authority}
	if err = at.Check(t.ctx, Version()); err == nil {
		err = assistant.Run(t.ctx, api.Document(), Version(), at, t.stdin, t.stdout)
	}
	switch {
	case errors.Is(err, assistant.ErrKey):
		return &config.Problem{Flag: "key-file", Reason: err.Error()}
	case errors.Is(err, assistant.ErrURL), errors.Is(err, assistant.ErrPlainHTTP):
		return &config.Problem{Flag: "url", Reason: err.Error()}
	case errors.Is(err, assistant.ErrAuthority), errors.As(err, new(assistant.Untrusted)):
		return &config.Problem{Flag: "ca", Reason: err.Error()}
	}
	return err
}

// key is the secret. It is never repeated in an error.
func (c *mcpCommand) key() (string, error) {
	key := os.Getenv("DONORBOOK_KEY")
	if c.KeyFile != "" {
		text, err := os.ReadFile(c.KeyFile)
		if err != nil {
			return "", fmt.Errorf("--key-file: %w", err)
		}
		key = string(text)
	}
	key = strings.TrimSpace(key)
	if key == "" || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", &config.Problem{Flag: "key-file", Reason: "no API key in the file or in DONORBOOK_KEY; create one with \"donorbook key create\", or in the console under Settings, Integrations, API keys"}
	}
	return key, nil
}

// authority is the certificate that signs that of the server, nil if this machine trusts it anyway.
func (c *mcpCommand) authority(data string) ([]byte, error) {
	if c.CA != "" {
		text, err := os.ReadFile(c.CA)
		if err != nil {
			return nil, fmt.Errorf("--ca: %w", err)
		}
		return text, nil
	}
	if !assistant.IsThisMachine(c.URL) {
		return nil, nil
	}
	text, err := os.ReadFile(filepath.Join(data, "tls", "ca.pem"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return text, err
}
