// Command donorbook is a self-hosted fundraising and donor-management service.
package main

import (
	"os"

	"donorbook/internal/cli"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
