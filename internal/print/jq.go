package print

import "github.com/listwatch/listwatch/internal/jq"

// compileJQ reads a jq filter, whose results are printed one a line: strings as
// they are, the rest as JSON. See https://jqlang.org/manual/.
func compileJQ(text string) (func(*Format) Encoder, error) {
	code, err := jq.JQCode(text)
	return expression(func(b []byte, v any, most int) ([]byte, error) {
		patience := jq.OfObject
		if most > maxExpressed {
			patience = jq.OfList
		}
		return jq.AppendJQ(b, code, v, most, patience)
	}).encoder(err)
}
