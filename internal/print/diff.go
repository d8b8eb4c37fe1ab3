package print

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/internal/compare"
	"github.com/listwatch/listwatch/internal/edits"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/internal/secret"

	udiff "github.com/aymanbagabas/go-udiff"

	jsonmerge "github.com/evanphx/json-patch/v5"
	"github.com/spf13/pflag"
	"gomodules.xyz/jsonpatch/v2"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/watch"
)

// Diffing are the flags of -o diff.
type Diffing struct {
	Ignore  [][]string // fields that are not compared
	style   string
	against string
	context int
}

var DiffStyles = []string{"unified", "paths", "merge-patch", "json-patch"}

func (d *Diffing) Register(f *pflag.FlagSet) {
	d.RegisterStyle(f)
	f.StringVar(&d.against, "diff-against", "previous", "compare in -o diff with the previous state, or with the first one that was seen: previous or first")
}

// RegisterStyle registers those that do not say what is compared.
func (d *Diffing) RegisterStyle(f *pflag.FlagSet) {
	d.against = "previous"
	f.StringVar(&d.style, "diff", "", "show changes in -o diff as: "+strings.Join(DiffStyles, ", ")+"; the last two also apply to -o ndjson, as member patch")
	f.IntVar(&d.context, "context-lines", 3, "print this many lines around a change in -o diff")
}

// Check refuses what makes no sense.
func (d *Diffing) Check(format string) error {
	patch := strings.HasSuffix(d.style, "patch")
	switch {
	case d.style != "" && !slices.Contains(DiffStyles, d.style):
		return exit.Usage("--diff %q: want one of %s", printable.Clip(d.style), strings.Join(DiffStyles, ", "))
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
	format *Format
	past   past
}

// past knows what an object is compared with.
type past struct {
	first map[string]codec.Raw // by UID; nil = the state before is meant
}

func (o *Format) past() past {
	if o.Diff.against == "first" {
		return past{first: map[string]codec.Raw{}}
	}
	return past{}
}

// of returns what r is compared with, false where there is nothing.
func (p *past) of(r *record.Record) (codec.Raw, bool) {
	old := r.Old
	if p.first != nil {
		switch watch.Type(r.Type) {
		case watch.Deleted:
			delete(p.first, r.ID.UID)
		case watch.Added:
			p.first[r.ID.UID] = r.Object
		case watch.Modified:
			if seen, ok := p.first[r.ID.UID]; ok {
				old = seen
			} else if old.GetName() != "" {
				p.first[r.ID.UID] = old
			} else {
				p.first[r.ID.UID] = r.Object
			}
		}
	}
	return old, r.Type == string(watch.Modified) && old.GetName() != ""
}

func (e *diffEncoder) Encode(b []byte, r *record.Record) ([]byte, error) {
	old, ok := e.past.of(r)
	head := r.Type + " "
	if e.format.Clusters {
		head += printable.Cell(r.Cluster) + " "
	}
	head += printable.Cell(record.KubectlName(r.Resource, r.ID.Name))
	if e.format.Namespaces && r.ID.Namespace != "" {
		head += " in " + printable.Cell(r.ID.Namespace)
	}
	b = e.format.Extra.stamped(b, r)
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
	switch e.format.Diff.style {
	case "paths":
		b = e.paint(b, r.Type, head)
		for _, d := range differences(before, now) {
			b = e.difference(b, d)
		}
		return b, nil
	case "merge-patch", "json-patch":
		patch, err := patchOf(e.format.Diff.style, before, now)
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
func (e *Format) pair(r *record.Record, old codec.Raw) (before, now map[string]any, err error) {
	if before, err = r.Decode(old, false); err != nil {
		return nil, nil, err
	}
	if now, err = record.MapOf(r, false); err != nil {
		return nil, nil, err
	}
	record.Forget(before, e.Diff.Ignore)
	record.Forget(now, e.Diff.Ignore)
	if e.Redact && secret.Is(r.Resource) {
		record.MaskPair(before, now)
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

func (e *diffEncoder) unified(r *record.Record, old codec.Raw, before, now map[string]any) (string, error) {
	a, err := yamlOf(compare.Align(before, now))
	if err != nil {
		return "", err
	}
	b, err := yamlOf(now)
	if err != nil {
		return "", err
	}
	name := record.KubectlName(r.Resource, r.ID.Name)
	from, to := fmt.Sprintf("%s %s", name, old.GetResourceVersion()), fmt.Sprintf("%s %s", name, r.ID.ResourceVersion)
	return udiff.ToUnified(from, to, string(a), edits.Of(string(a), string(b)), e.format.Diff.context)
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
	if !e.format.Color || line == "" {
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
	if color := EventColor(event); e.format.Color && color != "" {
		line = color + event + "\x1b[0m" + strings.TrimPrefix(line, event)
	}
	return append(append(b, line...), '\n')
}

func (e *diffEncoder) Flush(b []byte) []byte        { return b }
func (e *diffEncoder) End(b []byte) ([]byte, error) { return b, nil }

// unseen says why nothing is shown of a change.
func (o *Format) unseen(r *record.Record, old codec.Raw) string {
	if o.Redact && secret.Is(r.Resource) {
		before, err := r.Decode(old, false)
		for _, part := range secret.Parts {
			for k, v := range part.In(before) {
				if err == nil && part.Holds(k) && v == secret.Placeholder {
					return " (in nothing that the checkpoint holds: of Secrets it has no values)"
				}
			}
		}
	}
	return " (only in fields that are ignored)"
}
