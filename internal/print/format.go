package print

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/disk"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/internal/record"
)

// format is a format without an expression. kubectl spells those with one as in
// jsonpath={.metadata.name}.
type format struct {
	name    string
	objects bool // it prints the objects of events, and events with --output-watch-events only, as kubectl
	encoder func(*Format) Encoder
}

var formats = []format{
	{"wide", false, func(o *Format) Encoder { return NewTable(o) }},
	{"name", true, func(o *Format) Encoder { return nameEncoder{o} }},
	{"json", true, func(o *Format) Encoder { return &jsonEncoder{format: o} }},
	{"yaml", true, func(o *Format) Encoder { return &yamlEncoder{format: o} }},
	{"kyaml", true, func(o *Format) Encoder { return &kyamlEncoder{format: o} }},
	{"ndjson", false, func(o *Format) Encoder { return &NdjsonEncoder{Format: o, past: o.past()} }},
	{"diff", false, func(o *Format) Encoder { return &diffEncoder{format: o, past: o.past()} }},
	{"none", false, func(*Format) Encoder { return noRows{} }},
}

type expressionFormat struct {
	name    string
	example string
	compile func(string) (func(*Format) Encoder, error)
}

// expression formats by name; each makes the encoders of an expression.
var expressionFormats = []expressionFormat{
	{"custom-columns", "NAME:.metadata.name,NODE:.spec.nodeName", compileColumns},
	{"jsonpath", `{.metadata.name}{"\n"}`, compileJSONPath},
	{"jsonpath-as-json", "{.metadata.labels}", compileJSONPathAsJSON},
	{"go-template", `{{.metadata.name}}{{"\n"}}`, compileTemplate},
	{"jq", ".metadata.name", compileJQ},
}

// synonyms of kubectl.
var synonyms = map[string]string{"template": "go-template", "templatefile": "go-template-file"}

// maxExpression bounds a file with an expression.
const maxExpression = 1 << 20

// ParseFormat returns what makes the encoders of s, which may be nil for those
// that need nothing. Template is --template, which is for a format that names none.
func ParseFormat(s, template string) (func(*Format) Encoder, error) {
	if s == "" || slices.ContainsFunc(formats, func(f format) bool { return f.name == s }) {
		if template != "" {
			return nil, exit.Usage("--template is for -o go-template, -o jsonpath and their like")
		}
		return nil, nil
	}
	name, expr, given := strings.Cut(s, "=")
	if long, ok := synonyms[name]; ok {
		name = long
	}
	base, fromFile := strings.CutSuffix(name, "-file")
	for _, f := range expressionFormats {
		if f.name != base || fromFile && f.name == "jsonpath-as-json" {
			continue
		}
		if !given {
			expr = template
		}
		if expr == "" {
			return nil, exit.Usage("--output %s: the expression is missing: %s=%s", name, name, map[bool]string{false: f.example, true: "FILE"}[fromFile])
		}
		compile := f.compile
		if fromFile {
			b, err := disk.ReadFile(expr, maxExpression)
			if err != nil {
				return nil, exit.Usage("--output %s: %w", name, err)
			}
			expr = string(b)
			if f.name == "custom-columns" {
				compile = compileColumnsFile
			}
		}
		make, err := compile(expr)
		if err != nil { // which names the language once more
			return nil, exit.Usage("--output %s: %s", name, strings.TrimPrefix(strings.TrimPrefix(err.Error(), "jsonpath: "), "jq: "))
		}
		return make, nil
	}
	return nil, exit.Usage("--output %q: want one of %s, or nothing for columns", printable.Clip(s), strings.Join(FormatNames(), ", "))
}

// LikeKubectl reports whether the expression of a format is one of kubectl's, which sees
// managedFields: kubectl leaves them out of JSON and YAML only.
func LikeKubectl(format string) bool {
	name, _, _ := strings.Cut(format, "=")
	name = strings.TrimSuffix(cmp.Or(synonyms[name], name), "-file")
	return slices.ContainsFunc(expressionFormats, func(f expressionFormat) bool { return f.name == name && name != "jq" })
}

// OfObjects reports whether a format prints the objects of events, and not the events,
// unless it is asked for: as kubectl does.
func OfObjects(name string) bool {
	return slices.ContainsFunc(formats, func(f format) bool { return f.objects && f.name == name })
}

// FormatNames are all that -o takes.
func FormatNames() []string {
	var names []string
	for _, f := range formats {
		names = append(names, f.name)
	}
	for _, f := range expressionFormats {
		names = append(names, f.name+"=")
	}
	return names
}

// seen is what an expression looks at: the object, or with --output-watch-events
// the event as kubectl has it.
func (o *Format) seen(r *record.Record) (map[string]any, error) {
	object := r.Object
	if r.Complete != (codec.Raw{}) {
		object = r.Complete
	}
	m, err := o.object(r, object)
	if err != nil || !o.WatchEvents {
		return m, err
	}
	return eventMap(r, m), nil
}

// expression appends what it makes of an object, or of a List, to b, and no more bytes
// than most, if it can make of an object more than there is. It may fail with jq.ErrEnded
// when ended is closed.
type expression func(b []byte, v any, most int, ended <-chan struct{}) ([]byte, error)

// maxExpressed is how many bytes an expression makes of one object. What it makes of a
// List has no limit.
const maxExpressed = 16 << 20

// encoder returns what makes the encoders of e.
func (e expression) encoder(err error) (func(*Format) Encoder, error) {
	return func(o *Format) Encoder { return &expressionEncoder{format: o, print: e} }, err
}

// expressionEncoder prints each object through an expression, or a list of objects
// as a whole, which is a List as kubectl makes it.
type expressionEncoder struct {
	format *Format
	print  expression
	items  []any
}

func (e *expressionEncoder) Encode(b []byte, r *record.Record) ([]byte, error) {
	v, err := e.format.seen(r)
	if err != nil {
		return b, err
	}
	if e.format.List && !e.format.Single {
		e.items = append(e.items, v)
		return b, nil
	}
	return e.print(b, v, maxExpressed, e.format.Ended)
}

func (e *expressionEncoder) Flush(b []byte) []byte { return b }

func (e *expressionEncoder) End(b []byte) ([]byte, error) {
	if !e.format.List || e.format.Single {
		return b, nil
	}
	items := append([]any{}, e.items...)
	return e.print(b, map[string]any{"apiVersion": "v1", "kind": "List", "metadata": map[string]any{"resourceVersion": ""}, "items": items}, math.MaxInt-len(b), e.format.Ended)
}
