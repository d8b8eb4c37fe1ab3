package print

import (
	"encoding/base64"
	"errors"
	"reflect"
	"strings"
	"text/template"

	"github.com/listwatch/listwatch/codec"
)

// compileTemplate reads a template of Go's, with the two functions that kubectl
// adds. It prints no line break of its own. See package text/template.
func compileTemplate(text string) (func(*Format) Encoder, error) {
	t, err := template.New("output").Option("missingkey=default").
		Funcs(template.FuncMap{"exists": exists, "base64decode": base64decode}).Parse(text)
	if err != nil {
		return nil, templateError(err)
	}
	return expression(func(b []byte, v any, most int) ([]byte, error) {
		out := &limited{text: b, end: len(b) + most}
		if err := t.Execute(out, v); errors.Is(err, errLimit) {
			return b, &codec.LimitError{What: "text of the template", Limit: most}
		} else if err != nil {
			return b, templateError(err)
		}
		return out.text, nil
	}).encoder(nil)
}

// limited takes text up to a length.
type limited struct {
	text []byte
	end  int
}

var errLimit = errors.New("there is more text than the limit")

func (l *limited) Write(b []byte) (int, error) {
	if len(b) > l.end-len(l.text) {
		return 0, errLimit
	}
	l.text = append(l.text, b...)
	return len(b), nil
}

// templateError is err with the place in the template, and without the name that
// only we know.
func templateError(err error) error {
	text := strings.TrimPrefix(err.Error(), "template: output:")
	text = strings.Replace(text, `executing "output" at `, "", 1)
	return errors.New("template, line " + text)
}

// exists reports whether index of the same arguments finds something.
func exists(item any, indices ...any) bool {
	for _, index := range indices {
		switch v := item.(type) {
		case map[string]any:
			name, ok := index.(string)
			if !ok {
				return false
			}
			item = v[name]
		case []any:
			at := reflect.ValueOf(index)
			if !at.CanInt() || at.Int() < 0 || at.Int() >= int64(len(v)) {
				return false
			}
			item = v[at.Int()]
		default:
			return false
		}
	}
	return item != nil
}

func base64decode(s string) (string, error) {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return "", errors.New("base64decode: not valid base64")
	}
	return string(b), nil
}
