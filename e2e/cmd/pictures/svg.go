package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"
)

// The size of a cell, and of the margin, in the units of the picture.
const (
	cellWidth  = 8.4
	cellHeight = 18
	margin     = 12
)

// look is the style sheet. What a reader's system prefers chooses the colours; who
// prefers no motion sees the last frame.
const look = `
svg{--b:#fff;--e:#d0d7de;--f:#1f2328;--c1:#24292f;--c2:#cf222e;--c3:#116329;--c4:#7d4e00;--c5:#0969da;--c6:#8250df;--c7:#1b7c83;--c8:#6e7781;--c9:#57606a}
@media(prefers-color-scheme:dark){svg{--b:#0d1117;--e:#30363d;--f:#e6edf3;--c1:#484f58;--c2:#ff7b72;--c3:#3fb950;--c4:#d29922;--c5:#58a6ff;--c6:#bc8cff;--c7:#39c5cf;--c8:#b1bac4;--c9:#8b949e}}
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono","Liberation Mono",monospace;fill:var(--f);white-space:pre}
.b{font-weight:bold}.d{opacity:.6}.u{text-decoration:underline}.v{fill:var(--b)}
`

// svg returns the recording as an animation: its frames, one below the other, move
// behind a window.
func (r *recording) svg() []byte {
	width, height := cellWidth*float64(r.width), cellHeight*r.height
	step := height + cellHeight // nothing of a frame is seen at the edge of the next one
	var b, lines, film, moves bytes.Buffer
	known := map[string]int{} // lines that were written
	for i, f := range r.frames {
		fmt.Fprintf(&moves, "%.3f%%{transform:translateY(%dpx)}", 100*f.at/r.length(), -i*step)
		for n, row := range f.rows {
			if len(row) == 0 {
				continue
			}
			text := row.svg()
			id, ok := known[text]
			if !ok {
				id = len(known)
				known[text] = id
				fmt.Fprintf(&lines, `<g id="%d">%s</g>`+"\n", id, text)
			}
			fmt.Fprintf(&film, `<use href="#%d" y="%d"/>`, id, i*step+n*cellHeight)
		}
		film.WriteByte('\n')
	}
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" xml:space="preserve" viewBox="0 0 %.0f %d" role="img">`, width+2*margin, height+2*margin)
	fmt.Fprintf(&b, "<title>%s</title><style>%s", escaped(r.title), look)
	for i := 1; i <= 16; i++ {
		c := i
		if i > 9 {
			c = i - 8 // the bright ones
		}
		fmt.Fprintf(&b, ".f%d{fill:var(--c%d)}", i, c)
	}
	fmt.Fprintf(&b, "#film{transform:translateY(%dpx)}@media(prefers-reduced-motion:no-preference){#film{animation:film %.2fs step-end infinite}}@keyframes film{%s}", -(len(r.frames)-1)*step, r.length(), moves.String())
	fmt.Fprintf(&b, "</style>\n<defs>\n%s</defs>\n", lines.String())
	fmt.Fprintf(&b, `<rect x=".5" y=".5" width="%.0f" height="%d" rx="6" fill="var(--b)" stroke="var(--e)"/>`, width+2*margin-1, height+2*margin-1)
	fmt.Fprintf(&b, "\n"+`<svg x="%d" y="%d" width="%.0f" height="%d"><g id="film">`+"\n%s</g></svg></svg>\n", margin, margin, width, height, film.String())
	return b.Bytes()
}

// svg returns the row as text at the top of the picture.
func (r row) svg() string {
	var b strings.Builder
	for _, part := range r {
		x, n := float64(part.column)*cellWidth, len([]rune(part.text))
		fg, class := part.fg, ""
		if fg > 0 {
			class = fmt.Sprint(" f", fg)
		}
		if part.reverse || part.bg > 0 {
			fill := "var(--f)"
			if c := part.bg; part.reverse && part.fg > 0 {
				fill = fmt.Sprintf("var(--c%d)", (part.fg-1)%8+1)
			} else if !part.reverse {
				fill = fmt.Sprintf("var(--c%d)", (c-1)%8+1)
			}
			fmt.Fprintf(&b, `<rect x="%.1f" width="%.1f" height="%d" fill="%s"/>`, x, float64(n)*cellWidth, cellHeight, fill)
			class = " v"
		}
		if part.bold {
			class += " b"
		}
		if part.dim {
			class += " d"
		}
		if part.underline {
			class += " u"
		}
		// Fonts are of several widths: the length keeps the columns.
		text := strings.TrimLeft(part.text, " ")
		x += float64(n-len([]rune(text))) * cellWidth
		if text = strings.TrimRight(text, " "); text == "" {
			continue
		}
		if class != "" {
			class = ` class="` + class[1:] + `"`
		}
		fmt.Fprintf(&b, `<text x="%.1f" y="14" textLength="%.1f" lengthAdjust="spacingAndGlyphs"%s>%s</text>`, x, float64(len([]rune(text)))*cellWidth, class, escaped(text))
	}
	return b.String()
}

func escaped(text string) string {
	var b strings.Builder
	xml.EscapeText(&b, []byte(text)) // a builder takes all
	return b.String()
}
