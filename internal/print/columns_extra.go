package print

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
	"github.com/listwatch/listwatch/internal/record"
)

// ColumnFlags are the flags about columns besides those that the server sends,
// spelled as kubectl's.
type ColumnFlags struct {
	showLabels   bool
	labelColumns []string
	ShowKind     bool
	serverPrint  bool
	Narrow       bool
	Timestamps   string
}

// extraColumns is what they mean to whoever prints.
type extraColumns struct {
	showLabels   bool     // a last column with all labels
	labelColumns []string // a column each
	Plain        bool     // NAME and AGE instead of the server's columns
	narrow       bool     // NAME, STATUS and AGE of every type
	stamps       string   // a first column with the time, in this style; "" = none
	began        time.Time
}

func (c *ColumnFlags) Register(f *pflag.FlagSet) {
	f.BoolVar(&c.showLabels, "show-labels", false, "print all labels as the last column")
	f.StringSliceVarP(&c.labelColumns, "label-columns", "L", nil, "print these labels as columns, such as app,tier; may be repeated")
	f.BoolVar(&c.ShowKind, "show-kind", false, "print names as TYPE/NAME even if there is only one type")
	f.BoolVar(&c.Narrow, "narrow", false, "print all types under one header: NAME, as TYPE/NAME, STATUS and AGE")
}

// RegisterServer is for what asks a server.
func (c *ColumnFlags) RegisterServer(f *pflag.FlagSet) {
	f.BoolVar(&c.serverPrint, "server-print", true, "print the columns that the server defines; if false, NAME and AGE")
}

// RegisterStamps registers the flags of commands that print events.
func (c *ColumnFlags) RegisterStamps(f *pflag.FlagSet) {
	f.StringVarP(&c.Timestamps, "timestamps", "t", "", "begin each line with the time of its event: "+strings.Join(StampStyles, ", ")+"; give the value with =, as in -t=time")
	f.Lookup("timestamps").NoOptDefVal = StampStyles[0]
}

// IsTable reports whether format prints columns.
func IsTable(format string) bool { return format == "" || format == "wide" }

// Apply checks the flags and completes f.
func (c *ColumnFlags) Apply(f *Format) error {
	name, _, _ := strings.Cut(f.Name, "=")
	custom := strings.HasPrefix(name, "custom-columns")
	switch {
	case c.showLabels && !IsTable(f.Name):
		return exit.Usage("--show-labels is a column of tables: not with --output %s", printable.Clip(name))
	case len(c.labelColumns) > 0 && !IsTable(f.Name):
		return exit.Usage("--label-columns are columns of tables: not with --output %s", printable.Clip(name))
	case c.Narrow && f.Name != "":
		return exit.Usage("--narrow has columns of its own: not with --output %s", printable.Clip(name))
	case c.Timestamps != "" && !slices.Contains(StampStyles, c.Timestamps):
		return exit.Usage("--timestamps %q: want one of %s", printable.Clip(c.Timestamps), strings.Join(StampStyles, ", "))
	case c.Timestamps != "" && !IsTable(f.Name) && !custom && name != "name" && name != "diff":
		return exit.Usage("--timestamps is for people: not with --output %s; each line of --output ndjson has a time", printable.Clip(name))
	}
	for _, l := range c.labelColumns {
		if l == "" || strings.ContainsAny(l, " =,") {
			return exit.Usage("--label-columns %q: want names of labels, such as app,tier", printable.Clip(l))
		}
	}
	f.Extra = extraColumns{showLabels: c.showLabels, labelColumns: c.labelColumns, Plain: !c.serverPrint, narrow: c.Narrow, stamps: c.Timestamps, began: time.Now()}
	return nil
}

// Mistaken refuses args that begin with what --timestamps should have been given.
func (c *ColumnFlags) Mistaken(args []string) error {
	if c.Timestamps == StampStyles[0] && len(args) > 1 && slices.Contains(StampStyles, args[0]) {
		return exit.Usage("%q is not what --timestamps is: write -t=%s", args[0], args[0])
	}
	return nil
}

// StampStyles are the values of --timestamps; the first one is what it means
// without any.
var StampStyles = []string{"rfc3339", "rfc3339ms", "time", "relative", "unix"}

// stamp prints when r came.
func (c *extraColumns) stamp(r *record.Record) string {
	switch c.stamps {
	case "rfc3339ms":
		return r.Time.UTC().Format(ndjsonTime)
	case "time":
		return r.Time.Local().Format(time.TimeOnly)
	case "relative":
		return fmt.Sprintf("+%.3fs", max(0, r.Time.Sub(c.began)).Seconds())
	case "unix":
		return strconv.FormatFloat(float64(r.Time.UnixMilli())/1000, 'f', 3, 64)
	}
	return r.Time.UTC().Format(time.RFC3339)
}

// stamped appends the time in front of a line, if it is asked for.
func (c *extraColumns) stamped(b []byte, r *record.Record) []byte {
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

// LabelCells are r's cells below them.
func (c *extraColumns) LabelCells(r *record.Record) ([]string, error) {
	if len(c.labelColumns) == 0 && !c.showLabels {
		return nil, nil
	}
	meta, err := record.MetaOf(r.Object)
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
