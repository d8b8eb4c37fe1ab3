package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// The part of the main README that a full run writes is between these lines.
const (
	readmeBegin = "<!-- Between these marks is what make bench has found; (cd bench && go run ./cmd/bench -render) writes it anew. -->\n"
	readmeEnd   = "<!-- End of what make bench has found. -->\n"
)

var readmePath = filepath.Join("..", "README.md")

// render writes the tables anew from what the last full run has found.
func render(o options) error {
	r, err := readReport(filepath.Join(o.out, "full.json"))
	if err != nil {
		return err
	}
	if err := r.save(o, "full"); err != nil {
		return err
	}
	return r.intoReadme(readmePath)
}

func readReport(file string) (r report, err error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(b, &r); err != nil {
		return r, fmt.Errorf("%s: %w", file, err)
	}
	return r, nil
}

// checkReadme says whether a file has the marks.
func checkReadme(file string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if _, _, _, err := readmePart(string(b)); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// intoReadme replaces what is between the marks in a file.
func (r report) intoReadme(file string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, _, after, err := readmePart(string(b))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return os.WriteFile(file, []byte(before+r.readme()+after), 0o644)
}

// readmePart cuts a text at the marks, which stay with what is around them.
func readmePart(text string) (before, part, after string, err error) {
	before, rest, ok1 := strings.Cut(text, readmeBegin)
	part, after, ok2 := strings.Cut(rest, readmeEnd)
	if !ok1 || !ok2 {
		return "", "", "", fmt.Errorf("the results of bench need these two lines around them:\n%s%s", readmeBegin, strings.TrimSuffix(readmeEnd, "\n"))
	}
	return before + readmeBegin, part, readmeEnd + after, nil
}

// readme is the report for who has a minute.
func (r report) readme() string {
	var b strings.Builder
	fmt.Fprintf(&b, "`make bench` on %d cores (%s, %s; client-go %s), 30,000 pods of 6.5 KB and changes to them:\n\n",
		r.Machine.Cores, r.Machine.CPU, r.Machine.Date, r.Machine.ClientGo)
	b.WriteString("| | CPU a change | heap | peak RSS in sync | allocations a change |\n|---|---:|---:|---:|---:|\n")
	for _, row := range []struct{ name, client string }{
		{"listwatch, objects kept as bytes", "ours-raw"},
		{"listwatch, the same, compressed", "ours-compressed"},
		{"listwatch, a struct of eight fields", "ours-struct8"},
		{"listwatch, `*corev1.Pod`", "ours-typed"},
		{"client-go, typed, protobuf", "clientgo-typed-protobuf"},
		{"client-go, typed, JSON", "clientgo-typed-json"},
		{"client-go, dynamic", "clientgo-dynamic"},
	} {
		cells := []string{row.name}
		for _, m := range []metric{perEvent, wholeMegabytes(heap), wholeMegabytes(peakSync), wholeNumber(allocs)} {
			if v, ok := r.median("pods", row.client, m); ok {
				cells = append(cells, m.text(v))
			}
		}
		if len(cells) > 1 {
			fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
		}
	}
	if rows := append(r.readmeViews(), r.readmeSizes()...); len(rows) > 0 {
		b.WriteString("\n| | listwatch | theirs | |\n|---|---:|---:|---|\n" + strings.Join(rows, ""))
	}
	met, missed := 0, 0
	for _, t := range r.targets() {
		switch {
		case t.limit == noTarget:
		case t.ratio > t.limit:
			missed++
		default:
			met++
		}
	}
	fmt.Fprintf(&b, "\nOf %d targets that we set ourselves %d are met and %d missed: [all of them](bench/results/full.md),\n"+
		"and [why those are missed, and how it is measured](bench/README.md).\n", met+missed, met, missed)
	return b.String()
}

// readmeViews are the lines beside kubectl.
func (r report) readmeViews() (out []string) {
	for _, v := range r.Views {
		if v.Output != nil {
			continue
		}
		for _, line := range []struct{ metric, text string }{
			{"first row", "watching " + v.What + ": first row"},
			{"peak RSS in all", "watching " + v.What + ": peak memory"},
		} {
			for _, m := range viewMetrics {
				if m.what == line.metric {
					out = append(out, fmt.Sprintf("| %s | %s | %s | `kubectl get -A -w` |\n", line.text, m.text(medianBy(v.Ours, m.of)), m.text(medianBy(v.Theirs, m.of))))
				}
			}
		}
	}
	return out
}

// readmeSizes are the lines of the smallest program with an informer.
func (r report) readmeSizes() (out []string) {
	if len(r.Sizes) != 2 {
		return nil
	}
	ours, theirs := r.Sizes[0], r.Sizes[1]
	line := func(what string, a, b float64, text func(float64) string) {
		if a > 0 && b > 0 {
			out = append(out, fmt.Sprintf("| smallest program with an informer: %s | %s | %s | client-go |\n", what, text(a), text(b)))
		}
	}
	line("size", float64(ours.Bytes), float64(theirs.Bytes), megabytes)
	line("packages", float64(ours.Packages), float64(theirs.Packages), count)
	line("build from nothing, CPU", ours.ColdCPU, theirs.ColdCPU, seconds)
	return out
}

func wholeMegabytes(m metric) metric {
	return metric{m.of, func(v float64) string { return fmt.Sprintf("%.0f MB", v/1e6) }}
}

func wholeNumber(m metric) metric { return metric{m.of, count} }
