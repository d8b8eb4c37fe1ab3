package print

import (
	"fmt"
	"strings"

	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/jsonpath"
	"github.com/listwatch/listwatch/kube"
)

// customEncoder prints columns of the user's: a table whose cells are found by
// paths, with one header for all types.
type customEncoder struct {
	*Table
	headers []string
	paths   []*jsonpath.Template
	layout  *Layout
}

// compileColumns reads HEADER:PATH,HEADER:PATH.
func compileColumns(spec string) (func(*Format) Encoder, error) {
	var headers, paths []string
	for part := range strings.SplitSeq(spec, ",") {
		header, path, ok := strings.Cut(part, ":")
		if !ok {
			return nil, fmt.Errorf("%q: want HEADER:PATH, such as NAME:.metadata.name", printable.Clip(part))
		}
		headers, paths = append(headers, header), append(paths, path)
	}
	return CustomColumns(headers, paths)
}

// compileColumnsFile reads a line of headers and a line of paths.
func compileColumnsFile(text string) (func(*Format) Encoder, error) {
	lines := strings.Split(strings.TrimRight(text, "\r\n"), "\n")
	if len(lines) < 2 {
		return nil, fmt.Errorf("the file wants a line of headers and a line of paths")
	}
	headers, paths := strings.Fields(lines[0]), strings.Fields(lines[1])
	if len(headers) != len(paths) {
		return nil, fmt.Errorf("the file has %d headers and %d paths", len(headers), len(paths))
	}
	return CustomColumns(headers, paths)
}

func CustomColumns(headers, paths []string) (func(*Format) Encoder, error) {
	var compiled []*jsonpath.Template
	for _, p := range paths {
		t, err := jsonpath.ParsePath(p)
		if err != nil {
			return nil, err
		}
		compiled = append(compiled, t)
	}
	return func(o *Format) Encoder { return &customEncoder{Table: NewTable(o), headers: headers, paths: compiled} }, nil
}

func (e *customEncoder) Encode(b []byte, r *record.Record) ([]byte, error) {
	m, err := e.Table.format.seen(r)
	if err != nil {
		return b, err
	}
	if e.layout == nil {
		e.begin()
	}
	var cells []string
	if e.Table.format.Extra.stamps != "" {
		cells = append(cells, e.Table.format.Extra.stamp(r))
	}
	if e.Table.format.Events {
		cells = append(cells, r.Type)
	}
	if e.Table.format.Clusters {
		cells = append(cells, printable.Cell(r.Cluster))
	}
	for _, p := range e.paths {
		found, err := p.Find(m)
		if err != nil {
			return b, err
		}
		cells = append(cells, customCell(found))
	}
	e.layout.Fit(cells)
	e.add(row{Layout: e.layout, event: r.Type, cells: cells})
	return b, nil
}

// begin makes the header, which stands also where there are no rows.
func (e *customEncoder) begin() {
	l := &Layout{}
	if e.Table.format.Extra.stamps != "" {
		l.Header = append(l.Header, "TIME")
	}
	if e.Table.format.Events {
		l.Header = append(l.Header, "EVENT")
	}
	if e.Table.format.Clusters {
		l.Header = append(l.Header, "CLUSTER")
	}
	for _, h := range e.headers {
		l.Header = append(l.Header, printable.Cell(h))
	}
	l.Widths = make([]int, len(l.Header))
	if e.Table.format.Events {
		l.grow(e.eventAt(), len("MODIFIED"))
	}
	if e.Table.format.Headers {
		l.Fit(l.Header)
		e.add(row{Layout: l})
	}
	e.layout = l
	e.layouts[kube.Resource{}] = l
}

// End prints the header of a list without objects, as kubectl does.
func (e *customEncoder) End(b []byte) ([]byte, error) {
	if e.Table.format.List && e.layout == nil {
		e.begin()
		return e.Flush(b), nil
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
