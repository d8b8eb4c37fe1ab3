package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const pictures = "../../../docs/pictures"

// TestPicturesAreThoseOfTheirRecordings: each is well-formed, small and in README.md.
func TestPicturesAreThoseOfTheirRecordings(t *testing.T) {
	readme, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range scenes {
		cast, err := os.ReadFile(filepath.Join(pictures, s.name+".cast"))
		if err != nil {
			t.Fatal(err)
		}
		svg, err := os.ReadFile(filepath.Join(pictures, s.name+".svg"))
		if err != nil {
			t.Fatal(err)
		}
		r, err := parse(cast)
		if err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		if !bytes.Equal(r.marshal(), cast) {
			t.Errorf("%s: the recording is not written as it was read", s.name)
		}
		if !bytes.Equal(r.svg(), svg) {
			t.Errorf("%s: the picture is not that of its recording: make pictures", s.name)
		}
		if len(svg) > 150_000 {
			t.Errorf("%s has %d bytes", s.name, len(svg))
		}
		if r.title != s.title {
			t.Errorf("%s is called %q, and its scene %q", s.name, r.title, s.title)
		}
		if !strings.Contains(string(readme), "](docs/pictures/"+s.name+".svg)") {
			t.Errorf("README.md does not show %s", s.name)
		}
		d := xml.NewDecoder(bytes.NewReader(svg))
		for err == nil {
			_, err = d.Token()
		}
		if !errors.Is(err, io.EOF) {
			t.Errorf("%s: %v", s.name, err)
		}
		if bytes.Contains(svg, []byte("<script")) || bytes.Contains(svg, []byte("127.0.0.1")) {
			t.Errorf("%s has a script, or an address of the machine that made it", s.name)
		}
	}
}

func TestScreen(t *testing.T) {
	got := screen("plain  \n\x1b[1mbold \x1b[31mred\x1b[39m\x1b[22m x\n\x1b[7m rev \n on\x1b[0m\n\x1b[38;5;9mbright\x1b[m\n")
	want := []row{
		{{0, "plain", style{}}},
		{{0, "bold ", style{bold: true}}, {5, "red", style{fg: 2, bold: true}}, {8, " x", style{}}},
		{{0, " rev ", style{reverse: true}}},
		{{0, " on", style{reverse: true}}},
		{{0, "bright", style{fg: 10}}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(span{}, style{})); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	for _, r := range want {
		if diff := cmp.Diff(r, screen(r.ansi())[0], cmp.AllowUnexported(span{}, style{})); diff != "" {
			t.Errorf("after ansi: -want +got\n%s", diff)
		}
	}
}

// TestFramesThatAreTheSameAreOne, and the time of the first one is kept.
func TestFramesThatAreTheSameAreOne(t *testing.T) {
	r := &recording{width: 4, height: 1}
	for i, text := range []string{"a", "a ", "b"} {
		r.add(float64(i), screen(text))
	}
	if len(r.frames) != 2 || r.frames[1].at != 2 || r.length() != 2+hold {
		t.Errorf("%+v", r.frames)
	}
}

func TestDamagedRecordingIsRefused(t *testing.T) {
	for _, text := range []string{"", "{}", `{"version":2,"height":1}`, `{"version":2,"height":1}` + "\n[0]", `{"version":2,"height":1}` + "\n" + `[0,"o","\u001b[9;1H\u001b[2Kx"]`} {
		if _, err := parse([]byte(text)); err == nil {
			t.Errorf("%q is read", text)
		}
	}
}
