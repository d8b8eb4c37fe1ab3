package main

import (
	"slices"

	"github.com/listwatch/listwatch/cmd/listwatch/internal/messages"
	"github.com/listwatch/listwatch/internal/print"
	"github.com/listwatch/listwatch/internal/secret"
	"github.com/listwatch/listwatch/internal/target"
)

// noteRedaction says that values of Secrets are not what the server has, to whom they
// may be missing.
func (o *output) noteRedaction(t *messages.Writer, targets []target.Target) {
	values := !print.IsTable(o.format.Name) && o.format.Name != "name" && o.format.Name != "none" || o.where.Asks()
	if o.format.Redact && values && slices.ContainsFunc(targets, func(t target.Target) bool { return secret.Is(t.Resource) }) {
		t.Note("the values of Secrets are replaced by " + secret.Placeholder + "; --redact none shows them")
	}
}
