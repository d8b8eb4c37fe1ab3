package main

// compileJQ reads a jq filter, whose results are printed one a line: strings as
// they are, the rest as JSON. See https://jqlang.org/manual/.
func compileJQ(text string) (func(*format) encoder, error) {
	code, err := jqCode(text)
	return expression(func(b []byte, v any, most int) ([]byte, error) { return appendJQ(b, code, v, most) }).encoder(err)
}
