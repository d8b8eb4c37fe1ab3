package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/printable"
)

// columnFlags are the flags about columns besides those that the server sends,
// spelled as kubectl's.
type columnFlags struct {
	showLabels   bool
	labelColumns []string
	showKind     bool
	serverPrint  bool
	timestamps   string
}

// extraColumns is what they mean to whoever prints.
type extraColumns struct {
	showLabels   bool     // a last column with all labels
	labelColumns []string // a column each
	plain        bool     // NAME and AGE instead of the server's columns
	stamps       string   // a first column with the time, in this style; "" = none
	began        time.Time
}

func (c *columnFlags) register(f *pflag.FlagSet) {
	f.BoolVar(&c.showLabels, "show-labels", false, "all labels as the last column")
	f.StringSliceVarP(&c.labelColumns, "label-columns", "L", nil, "labels to print as columns, such as app,tier; may be repeated")
	f.BoolVar(&c.showKind, "show-kind", false, "names are printed as TYPE/NAME also where there is one type")
}

// registerServer is for what asks a server.
func (c *columnFlags) registerServer(f *pflag.FlagSet) {
	f.BoolVar(&c.serverPrint, "server-print", true, "the server says what the columns are; with false they are NAME and AGE")
}

// registerStamps is for what tells of events.
func (c *columnFlags) registerStamps(f *pflag.FlagSet) {
	f.StringVarP(&c.timestamps, "timestamps", "t", "", "when each event came, in front of it: "+strings.Join(stampStyles, ", ")+"; the value is given by =, as in -t=time")
	f.Lookup("timestamps").NoOptDefVal = stampStyles[0]
}

// isTable reports whether format is that of the server's columns, or others.
func isTable(format string) bool { return format == "" || format == "wide" }

// apply checks the flags and tells out.
func (c *columnFlags) apply(out *output) error {
	name, _, _ := strings.Cut(out.format.name, "=")
	custom := strings.HasPrefix(name, "custom-columns")
	switch {
	case c.showLabels && !isTable(out.format.name):
		return exit.Usage("--show-labels is a column of tables: not with --output %s", printable.Clip(name))
	case len(c.labelColumns) > 0 && !isTable(out.format.name):
		return exit.Usage("--label-columns are columns of tables: not with --output %s", printable.Clip(name))
	case c.timestamps != "" && !slices.Contains(stampStyles, c.timestamps):
		return exit.Usage("--timestamps %q: want one of %s", printable.Clip(c.timestamps), strings.Join(stampStyles, ", "))
	case c.timestamps != "" && !isTable(out.format.name) && !custom && name != "name" && name != "diff":
		return exit.Usage("--timestamps is for people: not with --output %s; each line of --output ndjson has a time", printable.Clip(name))
	}
	for _, l := range c.labelColumns {
		if l == "" || strings.ContainsAny(l, " =,") {
			return exit.Usage("--label-columns %q: want names of labels, such as app,tier", printable.Clip(l))
		}
	}
	out.format.extra = extraColumns{showLabels: c.showLabels, labelColumns: c.labelColumns, plain: !c.serverPrint, stamps: c.timestamps, began: time.Now()}
	return nil
}

// mistaken refuses args that begin with what --timestamps should have been given.
func (c *columnFlags) mistaken(args []string) error {
	if c.timestamps == stampStyles[0] && len(args) > 1 && slices.Contains(stampStyles, args[0]) {
		return exit.Usage("%q is not what --timestamps is: write -t=%s", args[0], args[0])
	}
	return nil
}

// stampStyles are the values of --timestamps; the first one is what it means
// without any.
var stampStyles = []string{"rfc3339", "rfc3339ms", "time", "relative", "unix"}

// stamp prints when r came.
func (c *extraColumns) stamp(r *record) string {
	switch c.stamps {
	case "rfc3339ms":
		return r.time.UTC().Format(ndjsonTime)
	case "time":
		return r.time.Local().Format(time.TimeOnly)
	case "relative":
		return fmt.Sprintf("+%.3fs", max(0, r.time.Sub(c.began)).Seconds())
	case "unix":
		return strconv.FormatFloat(float64(r.time.UnixMilli())/1000, 'f', 3, 64)
	}
	return r.time.UTC().Format(time.RFC3339)
}

// stamped appends the time in front of a line, if it is asked for.
func (c *extraColumns) stamped(b []byte, r *record) []byte {
	if c.stamps == "" {
		return b
	}
	return append(append(b, c.stamp(r)...), ' ')
}

// labelHeaders are those above the columns of labels: what follows the prefix.
func (c *extraColumns) labelHeaders() []string {
	var headers []string
	for _, l := range c.labelColumns {
		headers = append(headers, strings.ToUpper(printable.Cell(l[strings.LastIndexByte(l, '/')+1:])))
	}
	if c.showLabels {
		headers = append(headers, "LABELS")
	}
	return headers
}

// labelCells are r's cells below them.
func (c *extraColumns) labelCells(r *record) ([]string, error) {
	if len(c.labelColumns) == 0 && !c.showLabels {
		return nil, nil
	}
	meta, err := metaOf(r.object)
	if err != nil {
		return nil, err
	}
	labels := meta.Labels
	var cells []string
	for _, l := range c.labelColumns {
		cells = append(cells, printable.Cell(labels[l]))
	}
	if c.showLabels {
		all := make([]string, 0, len(labels))
		for _, k := range slices.Sorted(maps.Keys(labels)) {
			all = append(all, k+"="+labels[k])
		}
		text := "<none>"
		if len(all) > 0 {
			text = strings.Join(all, ",")
		}
		cells = append(cells, printable.Cell(text))
	}
	return cells, nil
}
