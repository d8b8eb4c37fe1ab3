package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/cli"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/replay"
)

// maxRaw is how many bytes of a response --raw prints. They are in memory twice to be redacted.
const maxRaw = 32 << 20

// runRaw prints the response to a GET of the path of --raw.
func runRaw(p *cli.Program, cmd *cobra.Command, args []string, o *listFlags) error {
	u, err := url.Parse(o.raw)
	switch {
	case len(args) > 0:
		return exit.Usage("--raw and %q both select what to print: give one", printable.Clip(args[0]))
	case err != nil || u.Host != "" || !strings.HasPrefix(u.Path, "/"):
		return exit.Usage("--raw %q: want a path, such as /readyz?verbose", printable.Clip(o.raw))
	}
	t := p.Messages(o.printing.logFormat, o.printing.quiet)
	c, _, err := o.connection.Load(p, t)
	if err != nil {
		return err
	}
	defer c.CloseIdleConnections()
	b, err := getRaw(cmd.Context(), c, &client.Request{Path: u.EscapedPath(), Query: u.Query(), Accept: "application/json, */*"})
	if err != nil {
		return err
	}
	if o.printing.redact != "none" {
		redacted := replay.Redact(b, replay.Redaction{Secrets: true, Env: o.printing.redact == "env"})
		if !bytes.Equal(b, redacted) {
			t.Note("the values of Secrets are replaced; --redact none shows them")
		}
		b = redacted
	}
	for err == nil && len(b) > 0 {
		n := whole(b, 64<<10)
		err, b = p.Put(string(b[:n])), b[n:]
	}
	return err
}

// whole returns how many bytes at the beginning of b are at most n and end with a rune.
func whole(b []byte, n int) int {
	if len(b) <= n {
		return len(b)
	}
	for end := n; end > n-utf8.UTFMax; end-- {
		if utf8.RuneStart(b[end]) {
			return end
		}
	}
	return n // it is not UTF-8
}

// getRaw returns the whole body of a response.
func getRaw(ctx context.Context, c *client.Client, r *client.Request) ([]byte, error) {
	resp, err := c.Do(ctx, r)
	if err == nil {
		defer resp.Body.Close()
		var b []byte
		if b, err = io.ReadAll(io.LimitReader(resp.Body, maxRaw+1)); err == nil && len(b) <= maxRaw {
			return b, nil
		}
		if err == nil {
			err = fmt.Errorf("GET %s: the response is larger than %d MiB: ask for pages, by limit= and continue= in the path", r.Path, maxRaw>>20)
		}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return nil, exit.Failed(err)
}
