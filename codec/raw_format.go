package codec

import (
	"fmt"
	"io"
	"log/slog"
)

// Format writes the kind and the name of the object, whatever the verb, and nothing that
// it holds: it may be a Secret. [Raw.JSON] is the object.
func (r Raw) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, r.title()) }

// LogValue is what Format writes.
func (r Raw) LogValue() slog.Value { return slog.StringValue(r.title()) }

// title names the object: "v1 Secret shop/db".
func (r Raw) title() string {
	if r.IsZero() {
		return "no object"
	}
	name := r.GetName()
	if ns := r.GetNamespace(); ns != "" {
		name = ns + "/" + name
	}
	return r.GetAPIVersion() + " " + r.GetKind() + " " + name
}
