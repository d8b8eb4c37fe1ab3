package main

import (
	"fmt"
	"strings"

	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/jsonpath"
	"github.com/listwatch/listwatch/kube"
)

// customEncoder prints columns of the user's: a table whose cells are found by
// paths, with one header for all types.
type customEncoder struct {
	*table
	headers []string
	paths   []*jsonpath.Template
	layout  *layout
}

// compileColumns reads HEADER:PATH,HEADER:PATH.
func compileColumns(spec string) (func(*format) encoder, error) {
	var headers, paths []string
	for part := range strings.SplitSeq(spec, ",") {
		header, path, ok := strings.Cut(part, ":")
		if !ok {
			return nil, fmt.Errorf("%q: want HEADER:PATH, such as NAME:.metadata.name", printable.Clip(part))
		}
		headers, paths = append(headers, header), append(paths, path)
	}
	return customColumns(headers, paths)
}

// compileColumnsFile reads a line of headers and a line of paths.
func compileColumnsFile(text string) (func(*format) encoder, error) {
	lines := strings.Split(strings.TrimRight(text, "\r\n"), "\n")
	if len(lines) < 2 {
		return nil, fmt.Errorf("the file wants a line of headers and a line of paths")
	}
	headers, paths := strings.Fields(lines[0]), strings.Fields(lines[1])
	if len(headers) != len(paths) {
		return nil, fmt.Errorf("the file has %d headers and %d paths", len(headers), len(paths))
	}
	return customColumns(headers, paths)
}

func customColumns(headers, paths []string) (func(*format) encoder, error) {
	var compiled []*jsonpath.Template
	for _, p := range paths {
		t, err := jsonpath.ParsePath(p)
		if err != nil {
			return nil, err
		}
		compiled = append(compiled, t)
	}
	return func(o *format) encoder { return &customEncoder{table: newTable(o), headers: headers, paths: compiled} }, nil
}

func (e *customEncoder) encode(b []byte, r *record) ([]byte, error) {
	m, err := e.table.format.seen(r)
	if err != nil {
		return b, err
	}
	if e.layout == nil {
		e.begin()
	}
	var cells []string
	if e.table.format.extra.stamps != "" {
		cells = append(cells, e.table.format.extra.stamp(r))
	}
	if e.table.format.events {
		cells = append(cells, r.Type)
	}
	for _, p := range e.paths {
		found, err := p.Find(m)
		if err != nil {
			return b, err
		}
		cells = append(cells, customCell(found))
	}
	e.layout.fit(cells)
	e.add(row{layout: e.layout, event: r.Type, cells: cells})
	return b, nil
}

// begin makes the header, which stands also where there are no rows.
func (e *customEncoder) begin() {
	l := &layout{}
	if e.table.format.extra.stamps != "" {
		l.header = append(l.header, "TIME")
	}
	if e.table.format.events {
		l.header = append(l.header, "EVENT")
	}
	for _, h := range e.headers {
		l.header = append(l.header, printable.Cell(h))
	}
	l.widths = make([]int, len(l.header))
	if e.table.format.events {
		l.grow(e.eventAt(), len("MODIFIED"))
	}
	if e.table.format.headers {
		l.fit(l.header)
		e.add(row{layout: l})
	}
	e.layout = l
	e.layouts[kube.Resource{}] = l
}

// end prints the header of a list without objects, as kubectl does.
func (e *customEncoder) end(b []byte) ([]byte, error) {
	if e.table.format.list && e.layout == nil {
		e.begin()
		return e.flush(b), nil
	}
	return b, nil
}

// customCell prints what a path leads to as kubectl does.
func customCell(found [][]any) string {
	if len(found) == 0 || len(found[0]) == 0 {
		return "<none>"
	}
	var texts []string
	for _, values := range found {
		for _, v := range values {
			texts = append(texts, printable.Cell(fmt.Sprint(v)))
		}
	}
	return strings.Join(texts, ",")
}
