package main

import (
	"bytes"
	"fmt"
	"image/color"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/listwatch/listwatch/bench/probe"
)

// chartPath is where README's charts are; each has a form for light and dark pages.
var chartPath = filepath.Join("..", "docs", "images")

// theme is the colours of a chart. The background is the page's.
type theme struct {
	suffix            string
	ink, ours, theirs color.Color
}

var themes = []theme{
	{"", color.Gray{0x33}, color.RGBA{0x0a, 0x66, 0xc2, 0xff}, color.RGBA{0xb0, 0xb4, 0xba, 0xff}},
	{"-dark", color.Gray{0xdd}, color.RGBA{0x6c, 0xb6, 0xff, 0xff}, color.RGBA{0x6e, 0x76, 0x81, 0xff}},
}

// bar is one client in a chart of bars.
type bar struct {
	name  string
	ours  bool
	value float64
	text  string
}

// line is one client in a chart of growth.
type line struct {
	name string
	ours bool
	at   plotter.XYs
}

// A chart is drawn in each theme.
type chart struct {
	file, title string
	draw        func(title string, t theme) (*plot.Plot, vg.Length)
}

// charts writes what the report has numbers for into dir.
func (r report) charts(dir string) error {
	for _, c := range r.drawings() {
		for _, t := range themes {
			p, height := c.draw(c.title, t)
			file := c.file + t.suffix + ".svg"
			w, err := p.WriterTo(16*vg.Centimeter, height, "svg")
			if err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			var b bytes.Buffer
			if _, err := w.WriteTo(&b); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			// Fonts of the same widths, for who does not have this one.
			text := strings.ReplaceAll(b.String(), "font-family:Liberation Sans;", "font-family:Liberation Sans,Arial,Helvetica,sans-serif;")
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

var kilobytesAnObject = metric{func(r probe.Result) float64 { return perObject.of(r) / 1e3 }, number}

// drawings are the charts that the report has numbers for.
func (r report) drawings() (out []chart) {
	clients := []struct {
		name, client string
		ours         bool
	}{
		{"listwatch, a struct of eight fields", "ours-struct8", true},
		{"listwatch, metadata only", "ours-partial", true},
		{"listwatch, objects kept as bytes", "ours-raw", true},
		{"listwatch, *corev1.Pod", "ours-typed", true},
		{"client-go, metadata only", "clientgo-metadata", false},
		{"client-go, protobuf", "clientgo-typed-protobuf", false},
		{"client-go, JSON", "clientgo-typed-json", false},
	}
	for _, c := range []struct {
		file, title string
		metric      metric
	}{
		{"bench-cpu", "Processor time of a change (µs)", perEvent},
		{"bench-heap", "Heap of an object (KB)", kilobytesAnObject},
	} {
		var bars []bar
		for _, cl := range clients {
			if v, ok := r.median("pods", cl.client, c.metric); ok {
				bars = append(bars, bar{cl.name, cl.ours, v, digits(v)})
			}
		}
		if len(bars) > 1 {
			out = append(out, chart{c.file, c.title, func(title string, t theme) (*plot.Plot, vg.Length) { return barChart(title, bars, t) }})
		}
	}
	var rows []bar
	for _, v := range r.Views {
		if v.Output == nil && len(v.Ours) > 0 && len(v.Theirs) > 0 {
			first := func(v view) float64 { return v.First }
			a, b := medianBy(v.Ours, first), medianBy(v.Theirs, first)
			rows = append(rows, bar{"listwatch watch, " + v.What, true, a, seconds(a)}, bar{"kubectl get -w, " + v.What, false, b, seconds(b)})
		}
	}
	if len(rows) > 0 {
		out = append(out, chart{"bench-first-row", "Time to the first row (s)", func(title string, t theme) (*plot.Plot, vg.Length) { return barChart(title, rows, t) }})
	}
	for _, c := range []struct {
		file, title string
		metric      metric
	}{
		{"bench-growth-cpu", "Processor time of a change (µs), by objects in the cache", perEvent},
		{"bench-growth-heap", "Heap of an object (KB), by objects in the cache", kilobytesAnObject},
	} {
		var lines []line
		for _, cl := range clients {
			l := line{name: cl.name, ours: cl.ours}
			for _, o := range r.Cases {
				if v, ok := r.median(o.Case.Name, cl.client, c.metric); ok && o.Case.Group == growth {
					l.at = append(l.at, plotter.XY{X: float64(o.Case.Objects), Y: v})
				}
			}
			if len(l.at) > 1 {
				lines = append(lines, l)
			}
		}
		if len(lines) > 1 {
			out = append(out, chart{c.file, c.title, func(title string, t theme) (*plot.Plot, vg.Length) { return lineChart(title, lines, t) }})
		}
	}
	return out
}

// digits is v with three digits, or all of those before the point.
func digits(v float64) string {
	if v >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

// blank returns a plot in the colours of a theme.
func blank(title string, t theme) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	sans := font.Font{Typeface: "Liberation", Variant: "Sans", Size: 10}
	p.Title.Text = title
	p.Title.TextStyle.Font, p.Title.TextStyle.Color, p.Title.Padding = sans, t.ink, 8
	p.Title.TextStyle.Font.Size = 12
	p.Legend.TextStyle.Font, p.Legend.TextStyle.Color = sans, t.ink
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Color, a.Tick.Color, a.Tick.Label.Color = t.ink, t.ink, t.ink
		a.Tick.Label.Font, a.Label.TextStyle.Font = sans, sans
		a.LineStyle.Width = 0
	}
	return p
}

func barChart(title string, bars []bar, t theme) (*plot.Plot, vg.Length) {
	p := blank(title, t)
	bars = slices.Clone(bars)
	slices.Reverse(bars) // the first is at the top
	names, most := make([]string, len(bars)), 0.
	for i, b := range bars {
		names[i], most = b.name+"      ", max(most, b.value) // room for wider fonts
		chart, err := plotter.NewBarChart(plotter.Values{b.value}, 0.5*vg.Centimeter)
		if err != nil {
			panic(err) // values that are no numbers: medians are
		}
		chart.Horizontal, chart.XMin, chart.LineStyle.Width = true, float64(i), 0
		if chart.Color = t.theirs; b.ours {
			chart.Color = t.ours
		}
		label := &plotter.Labels{XYs: plotter.XYs{{X: b.value, Y: float64(i)}}, Labels: []string{" " + b.text}, TextStyle: []draw.TextStyle{p.X.Tick.Label}}
		label.TextStyle[0].YAlign, label.TextStyle[0].XAlign = draw.YCenter, draw.XLeft
		p.Add(chart, label)
	}
	p.NominalY(names...)
	p.X.Min, p.X.Max = 0, 1.2*most
	p.HideX()
	p.Y.LineStyle.Width = 0
	return p, vg.Length(len(bars))*0.8*vg.Centimeter + 1.5*vg.Centimeter
}

func lineChart(title string, lines []line, t theme) (*plot.Plot, vg.Length) {
	p := blank(title, t)
	ours, theirs := 0, 0
	for _, l := range lines {
		curve, points, err := plotter.NewLinePoints(l.at)
		if err != nil {
			panic(err) // values that are no numbers: medians are
		}
		n := &theirs
		if curve.Color = t.theirs; l.ours {
			curve.Color, n = t.ours, &ours
		}
		curve.Width = 2
		curve.Dashes = [][]vg.Length{nil, {6, 3}, {2, 2}, {8, 3, 2, 3}}[*n%4]
		points.Shape, points.Color, points.Radius = draw.CircleGlyph{}, curve.Color, 3
		*n++
		p.Add(curve, points)
		p.Legend.Add(l.name, curve, points)
	}
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, counts(lines)
	p.Y.Min = 0
	p.Legend.Top, p.Legend.Left = true, true
	p.Y.Max *= 1.5 // room for the legend
	return p, 8 * vg.Centimeter
}

// counts are the ticks of the numbers of objects.
func counts(lines []line) plot.ConstantTicks {
	var out plot.ConstantTicks
	for _, at := range lines[0].at {
		out = append(out, plot.Tick{Value: at.X, Label: fmt.Sprintf("%.0fk", at.X/1000)})
	}
	return out
}
