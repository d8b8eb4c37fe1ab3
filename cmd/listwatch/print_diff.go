package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/internal/exit"

	udiff "github.com/aymanbagabas/go-udiff"

	jsonmerge "github.com/evanphx/json-patch/v5"
	"github.com/spf13/pflag"
	"gomodules.xyz/jsonpatch/v2"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/watch"
)

// diffing are the flags of -o diff.
type diffing struct {
	ignore  [][]string // fields that are not compared
	style   string
	against string
	context int
}

var diffStyles = []string{"unified", "paths", "merge-patch", "json-patch"}

func (d *diffing) register(f *pflag.FlagSet) {
	f.StringVar(&d.style, "diff", "", "how -o diff shows what has changed: "+strings.Join(diffStyles, ", ")+"; the last two are also for -o ndjson, as member patch")
	f.StringVar(&d.against, "diff-against", "previous", "what -o diff compares with: the previous state, or the first that was seen")
	f.IntVar(&d.context, "context-lines", 3, "lines around a change in -o diff")
}

// check refuses what makes no sense.
func (d *diffing) check(format string) error {
	patch := strings.HasSuffix(d.style, "patch")
	switch {
	case d.style != "" && !slices.Contains(diffStyles, d.style):
		return exit.Usage("--diff %q: want one of %s", printable.Clip(d.style), strings.Join(diffStyles, ", "))
	case d.style != "" && format != "diff" && !(format == "ndjson" && patch):
		return exit.Usage("--diff %s is for -o diff%s", d.style, map[bool]string{true: " and -o ndjson"}[patch])
	case d.against != "previous" && d.against != "first":
		return exit.Usage("--diff-against %q: want previous or first", printable.Clip(d.against))
	case d.context < 0:
		return exit.Usage("--context-lines %d is negative", d.context)
	}
	return nil
}

// diffEncoder prints what has changed in each object. What a Secret holds is
// masked, but not that it has changed.
type diffEncoder struct {
	format *format
	past   past
}

// past knows what an object is compared with.
type past struct {
	first map[string]codec.Raw // by UID; nil = the state before is meant
}

func (o *format) past() past {
	if o.diff.against == "first" {
		return past{first: map[string]codec.Raw{}}
	}
	return past{}
}

// of returns what r is compared with, false where there is nothing.
func (p *past) of(r *record) (codec.Raw, bool) {
	old := r.old
	if p.first != nil {
		switch watch.Type(r.Type) {
		case watch.Deleted:
			delete(p.first, r.id.UID)
		case watch.Added:
			p.first[r.id.UID] = r.object
		case watch.Modified:
			if seen, ok := p.first[r.id.UID]; ok {
				old = seen
			} else if old.GetName() != "" {
				p.first[r.id.UID] = old
			} else {
				p.first[r.id.UID] = r.object
			}
		}
	}
	return old, r.Type == string(watch.Modified) && old.GetName() != ""
}

func (e *diffEncoder) encode(b []byte, r *record) ([]byte, error) {
	old, ok := e.past.of(r)
	head := r.Type + " " + printable.Cell(kubectlName(r.resource, r.id.Name))
	if e.format.namespaces && r.id.Namespace != "" {
		head += " in " + printable.Cell(r.id.Namespace)
	}
	b = e.format.extra.stamped(b, r)
	if !ok {
		if r.Type == string(watch.Modified) {
			head += " (nobody knows from what)"
		}
		return e.paint(b, r.Type, head), nil
	}
	before, now, err := e.format.pair(r, old)
	if err != nil {
		return b, err
	}
	if reflect.DeepEqual(before, now) {
		return e.paint(b, r.Type, head+e.format.unseen(r, old)), nil
	}
	switch e.format.diff.style {
	case "paths":
		b = e.paint(b, r.Type, head)
		for _, d := range differences(before, now) {
			b = e.difference(b, d)
		}
		return b, nil
	case "merge-patch", "json-patch":
		patch, err := patchOf(e.format.diff.style, before, now)
		if err != nil {
			return b, err
		}
		return e.paint(b, r.Type, head+" "+string(printable.Escape(nil, patch))), nil
	}
	text, err := e.unified(r, old, before, now)
	if err != nil {
		return b, err
	}
	b = e.paint(b, r.Type, head)
	for line := range strings.Lines(text) {
		b = append(b, e.shade(strings.TrimSuffix(line, "\n"))...)
		b = append(b, '\n')
	}
	return b, nil
}

// pair returns what is compared: without the fields that are ignored.
func (e *format) pair(r *record, old codec.Raw) (before, now map[string]any, err error) {
	if before, err = r.decode(old, false); err != nil {
		return nil, nil, err
	}
	if now, err = mapOf(r, false); err != nil {
		return nil, nil, err
	}
	forget(before, e.diff.ignore)
	forget(now, e.diff.ignore)
	if e.redact && isSecret(r.resource) {
		maskPair(before, now)
	}
	return before, now, nil
}

func patchOf(style string, before, now map[string]any) ([]byte, error) {
	a, err := json.Marshal(before)
	if err != nil {
		return nil, err
	}
	b, err := json.Marshal(now)
	if err != nil {
		return nil, err
	}
	if style == "merge-patch" {
		return jsonmerge.CreateMergePatch(a, b)
	}
	if tangled(before, now) {
		return json.Marshal([]jsonpatch.Operation{{Operation: "replace", Path: "", Value: now}})
	}
	ops, err := jsonpatch.CreatePatch(a, b)
	if err != nil {
		return nil, err
	}
	return json.Marshal(ops)
}

func (e *diffEncoder) unified(r *record, old codec.Raw, before, now map[string]any) (string, error) {
	a, err := yamlOf(aligned(before, now))
	if err != nil {
		return "", err
	}
	b, err := yamlOf(now)
	if err != nil {
		return "", err
	}
	name := kubectlName(r.resource, r.id.Name)
	from, to := fmt.Sprintf("%s %s", name, old.GetResourceVersion()), fmt.Sprintf("%s %s", name, r.id.ResourceVersion)
	return udiff.ToUnified(from, to, string(a), udiff.Lines(string(a), string(b)), e.format.diff.context)
}

// difference appends a line of --diff=paths.
func (e *diffEncoder) difference(b []byte, d difference) []byte {
	text := func(v any) string {
		j, err := json.Marshal(v)
		if err != nil {
			return "?"
		}
		return string(j)
	}
	line := fmt.Sprintf("  %s: %s -> %s", d.path, text(d.old), text(d.new))
	switch {
	case d.added:
		line = fmt.Sprintf("+ %s: %s", d.path, text(d.new))
	case d.removed:
		line = fmt.Sprintf("- %s: %s", d.path, text(d.old))
	}
	return append(append(b, e.shade(line)...), '\n')
}

// shade colours a line by how it begins.
func (e *diffEncoder) shade(line string) string {
	line = printable.Cell(line)
	if !e.format.color || line == "" {
		return line
	}
	switch line[0] {
	case '+':
		return "\x1b[32m" + line + "\x1b[0m"
	case '-':
		return "\x1b[31m" + line + "\x1b[0m"
	case '@':
		return "\x1b[36m" + line + "\x1b[0m"
	}
	return line
}

// paint appends a line that begins with what happened.
func (e *diffEncoder) paint(b []byte, event, line string) []byte {
	if color := eventColor(event); e.format.color && color != "" {
		line = color + event + "\x1b[0m" + strings.TrimPrefix(line, event)
	}
	return append(append(b, line...), '\n')
}

func (e *diffEncoder) flush(b []byte) []byte        { return b }
func (e *diffEncoder) end(b []byte) ([]byte, error) { return b, nil }
