package yamljson

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// Decoder reads the documents of one input.
type Decoder struct {
	limits Limits
	yaml   *yaml.Decoder
	err    error
}

// NewDecoder returns a Decoder of b.
func NewDecoder(b []byte, l Limits) *Decoder {
	d := &Decoder{limits: l.withDefaults(), err: l.Scan(b)}
	d.yaml = yaml.NewDecoder(bytes.NewReader(b))
	return d
}

// Node returns the next document as the parser made it, with what its aliases expand
// to measured and within the limits; io.EOF at the end. Nothing is expanded: whoever
// decodes it further does that. An error that is not an *[Error] is the parser's own,
// which may quote the input: see [Clean].
func (d *Decoder) Node() (*yaml.Node, error) {
	if d.err != nil {
		return nil, d.err
	}
	var n yaml.Node
	if d.err = d.yaml.Decode(&n); d.err == nil {
		d.err = d.limits.check(&n)
	}
	if d.err != nil {
		return nil, d.err
	}
	return &n, nil
}

// Value returns the next document as JSON has it: nil, bool, string, json.Number,
// float64, []any and map[string]any; io.EOF at the end. Dates stay text. A key that
// occurs twice in a mapping, and a number that JSON has not, are errors. Each value is
// a copy of its own, also where aliases made several of it.
func (d *Decoder) Value() (any, error) {
	v, _, err := d.ValueAt()
	return v, err
}

// ValueAt is Value with the line that the document begins at.
func (d *Decoder) ValueAt() (v any, line int, err error) {
	n, err := d.Node()
	if errors.Is(err, io.EOF) {
		return nil, 0, io.EOF
	}
	if err == nil {
		v, err = Value(n)
		line = n.Line
	}
	return v, line, Clean(err)
}

var parserLine = regexp.MustCompile(`^yaml: (?:unmarshal errors:\s*)?line (\d+): `)

// Clean returns err without what it may quote of the input: an *[Error] as it is, one
// of the parser with its line only.
func Clean(err error) error {
	var own *Error
	if err == nil || errors.As(err, &own) {
		return err
	}
	line := 0
	if m := parserLine.FindStringSubmatch(err.Error()); m != nil {
		line, _ = strconv.Atoi(m[1])
	}
	return &Error{line, "not valid YAML"}
}

// check returns an error if n is too deep, or its aliases expand to too much.
func (l Limits) check(n *yaml.Node) error {
	m := measure{limits: l, targets: make(map[*yaml.Node]extent)}
	whole, err := m.node(n, 0)
	if err != nil {
		return err
	}
	if whole.deep > l.Depth {
		return &Error{n.Line, fmt.Sprintf("nested more than %d levels deep", l.Depth)}
	}
	if whole.aliased > l.Aliased {
		return &Error{n.Line, fmt.Sprintf("its aliases expand to more than %s", size(l.Aliased))}
	}
	return nil
}

// extent is what a node becomes with its aliases expanded.
type extent struct {
	bytes   int // as JSON, at most
	aliased int // those of bytes that aliases add
	deep    int // levels
}

// measure visits each node once, however many aliases lead to it.
type measure struct {
	limits  Limits
	targets map[*yaml.Node]extent // of aliases; deep < 0 while a target is measured
}

func (m *measure) node(n *yaml.Node, depth int) (extent, error) {
	if depth > m.limits.Depth {
		return extent{}, &Error{n.Line, fmt.Sprintf("nested more than %d levels deep", m.limits.Depth)}
	}
	if n.Kind == yaml.AliasNode {
		e, err := m.target(n.Alias, depth)
		if err != nil {
			return e, err
		}
		return extent{e.bytes, e.bytes, e.deep}, nil
	}
	e := extent{bytes: add(encodedLen(n.Value), 2)}
	for _, c := range n.Content {
		of, err := m.node(c, depth+1)
		if err != nil {
			return e, err
		}
		e.bytes, e.aliased, e.deep = add(e.bytes, of.bytes), add(e.aliased, of.aliased), max(e.deep, add(of.deep, 1))
	}
	return e, nil
}

func (m *measure) target(n *yaml.Node, depth int) (extent, error) {
	e, known := m.targets[n]
	if known && e.deep < 0 {
		return e, &Error{n.Line, "an anchor contains itself"}
	}
	if known {
		return e, nil
	}
	m.targets[n] = extent{deep: -1}
	e, err := m.node(n, depth)
	m.targets[n] = e
	return e, err
}
