package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// recording is what a terminal showed.
type recording struct {
	width, height int
	title         string
	frames        []frame
}

// frame is a screen from a time on, in seconds.
type frame struct {
	at   float64
	rows []row
}

// hold is how long the last frame is shown.
const hold = 4

func (r *recording) length() float64 {
	return r.frames[len(r.frames)-1].at + hold
}

// add appends a screen, unless it is that of the last frame.
func (r *recording) add(at float64, rows []row) {
	if n := len(r.frames); n > 0 && equal(r.frames[n-1].rows, rows) {
		return
	}
	r.frames = append(r.frames, frame{math.Round(at*100) / 100, rows})
}

// header is the first line of an asciicast.
type header struct {
	Version int    `json:"version"`
	Width   int    `json:"width"`
	Height  int    `json:"height"`
	Title   string `json:"title"`
}

// marshal returns the asciicast: each frame writes the rows that are other ones.
func (r *recording) marshal() []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.Encode(header{2, r.width, r.height, r.title}) // a buffer takes all
	shown := make([]string, r.height)
	for _, f := range r.frames {
		var out strings.Builder
		for i, row := range f.rows {
			if text := row.ansi(); text != shown[i] {
				fmt.Fprintf(&out, "\x1b[%d;1H\x1b[2K%s", i+1, text)
				shown[i] = text
			}
		}
		e.Encode([]any{f.at, "o", out.String()})
	}
	return b.Bytes()
}

var rowStart = regexp.MustCompile(`\x1b\[(\d+);1H\x1b\[2K`)

// parse reads what marshal wrote.
func parse(b []byte) (*recording, error) {
	lines := bytes.Split(bytes.TrimSpace(b), []byte("\n"))
	var h header
	if err := json.Unmarshal(lines[0], &h); err != nil || h.Version != 2 {
		return nil, fmt.Errorf("the first line is not that of an asciicast: %v", err)
	}
	r := &recording{width: h.Width, height: h.Height, title: h.Title}
	rows := make([]row, h.Height)
	for i, line := range lines[1:] {
		var at float64
		var kind, out string
		if err := json.Unmarshal(line, &[]any{&at, &kind, &out}); err != nil || kind != "o" {
			return nil, fmt.Errorf("line %d is no output: %v", i+2, err)
		}
		rows = append([]row{}, rows...)
		at0 := rowStart.FindAllStringSubmatchIndex(out, -1)
		for j, m := range at0 {
			end := len(out)
			if j+1 < len(at0) {
				end = at0[j+1][0]
			}
			n, err := strconv.Atoi(out[m[2]:m[3]])
			if err != nil || n < 1 || n > h.Height {
				return nil, fmt.Errorf("line %d writes row %s", i+2, out[m[2]:m[3]])
			}
			rows[n-1] = screen(out[m[1]:end])[0]
		}
		r.add(at, rows)
	}
	if len(r.frames) == 0 {
		return nil, fmt.Errorf("nothing is recorded")
	}
	return r, nil
}
