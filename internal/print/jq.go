package print

import (
	"time"

	"github.com/listwatch/listwatch/internal/jq"
)

// compileJQ reads a jq filter, whose results are printed one a line: strings as
// they are, the rest as JSON. See https://jqlang.org/manual/.
func compileJQ(text string) (func(*Format) Encoder, error) {
	code, err := jq.JQCode(text)
	return expression(func(b []byte, v any, most int, ended <-chan struct{}) ([]byte, error) {
		return jq.AppendJQ(ended, b, code, v, most, patience(most))
	}).encoder(err)
}

// patience is how long the next part of what an expression prints may take; most is as
// for an expression.
func patience(most int) time.Duration {
	if most > maxExpressed {
		return jq.OfList
	}
	return jq.OfObject
}
