package main

import (
	"slices"

	"github.com/listwatch/listwatch/cmd/listwatch/internal/messages"
)

// noteRedaction says that values of Secrets are not what the server has, to whom they
// may be missing.
func (o *output) noteRedaction(t *messages.Writer, targets []target) {
	values := !isTable(o.format.name) && o.format.name != "name" && o.format.name != "none" || o.where.asks()
	if o.format.redact && values && slices.ContainsFunc(targets, func(t target) bool { return isSecret(t.resource) }) {
		t.Note("the values of Secrets are replaced by " + placeholder + "; --redact none shows them")
	}
}
