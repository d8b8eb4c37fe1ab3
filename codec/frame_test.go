package codec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// A chunked reader hands out at most n bytes a read; 0 means random sizes.
type chunked struct {
	b []byte
	n int
	r *rand.Rand
}

func (c *chunked) Read(p []byte) (int, error) {
	if len(c.b) == 0 {
		return 0, io.EOF
	}
	n := c.n
	if n == 0 {
		n = 1 + c.r.IntN(64)
	}
	n = copy(p[:min(n, len(p))], c.b)
	c.b = c.b[n:]
	return n, nil
}

// size looks at nothing.
func size(f Frame) (int, error) { return len(f.Object), nil }

type gotFrame struct{ Type, Object string }

// errNotJSON is the error of copied for an object that is not JSON.
var errNotJSON = errors.New("not JSON")

func copied(f Frame) (gotFrame, error) {
	got := gotFrame{f.Type, string(f.Object)}
	if !json.Valid(f.Object) {
		return got, errNotJSON
	}
	return got, nil
}

func frames(r io.Reader, max int) ([]gotFrame, error) {
	var got []gotFrame
	for f, err := range Frames(r, max, copied) {
		if err != nil && err != errNotJSON {
			return got, err
		}
		got = append(got, f)
	}
	return got, nil
}

func TestFrames(t *testing.T) {
	tests := []struct {
		name, body string
		want       []gotFrame
	}{
		{"empty body", "", nil},
		{"blank lines only", "\n\r\n \t\n", nil},
		{"one", `{"type":"ADDED","object":{"a":1}}` + "\n", []gotFrame{{"ADDED", `{"a":1}`}}},
		{"two on two lines", "{\"type\":\"ADDED\",\"object\":{}}\n{\"type\":\"DELETED\",\"object\":{}}\n", []gotFrame{{"ADDED", "{}"}, {"DELETED", "{}"}}},
		{"nothing between", `{"type":"ADDED","object":{}}{"type":"MODIFIED","object":{}}`, []gotFrame{{"ADDED", "{}"}, {"MODIFIED", "{}"}}},
		{"CRLF and blank lines", "\r\n{\"type\":\"ADDED\",\"object\":{}}\r\n\r\n{\"type\":\"ERROR\",\"object\":{}}\r\n", []gotFrame{{"ADDED", "{}"}, {"ERROR", "{}"}}},
		{"pretty-printed", "{\n  \"type\" : \"ADDED\" ,\n  \"object\" : {\n    \"a\": [1, 2]\n  }\n}\n", []gotFrame{{"ADDED", "{\n    \"a\": [1, 2]\n  }"}}},
		{"object before type", `{"object":{"a":"}"},"type":"BOOKMARK"}`, []gotFrame{{"BOOKMARK", `{"a":"}"}`}}},
		{"unknown members", `{"x":[{"type":"no"}],"type":"ADDED","y":1.5e3,"z":true,"object":{},"w":null}`, []gotFrame{{"ADDED", "{}"}}},
		{"the last of two counts", `{"type":"ADDED","type":"DELETED","object":{"a":1},"object":{"b":2}}`, []gotFrame{{"DELETED", `{"b":2}`}}},
		{"escaped names", `{"\u0074ype":"ADDE\u0044","obj\u0065ct":{}}`, []gotFrame{{"ADDED", "{}"}}},
		{"quotes and backslashes in strings", `{"type":"ADDED","object":{"a":"\\\"{[","b\\":"\\\\"}}`, []gotFrame{{"ADDED", `{"a":"\\\"{[","b\\":"\\\\"}`}}},
		{"unknown type", `{"type":"CUSTOM","object":{}}`, []gotFrame{{"CUSTOM", "{}"}}},
		{"names differ in letter case", `{"Type":"X","type":"ADDED","OBJECT":1,"object":{}}`, []gotFrame{{"ADDED", "{}"}}},
		{"inside of the object is not checked", `{"type":"ADDED","object":{"a" oops [}]}`, []gotFrame{{"ADDED", `{"a" oops [}]`}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for n := 1; n <= len(test.body)+1; n++ {
				got, err := frames(&chunked{b: []byte(test.body), n: n}, 0)
				if err != nil {
					t.Fatalf("chunks of %d: %v", n, err)
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Fatalf("chunks of %d (-want +got):\n%s", n, diff)
				}
			}
		})
	}
}

// lines are bodies that are, or nearly are, what a line is taken for.
var lines = []string{
	`{"type":"ADDED","object":{"a":1}}` + "\n" + `{"type":"MODIFIED","object":{"b":[{}]}}` + "\n",
	`{"type":"ADDED","object":{}}{"type":"DELETED","object":{}}` + "\n", // two on a line
	`{"type":"ADDED","object":{"a":"}{"}} {"type":"DELETED","object":{}}` + "\n",
	`{"type":"ADDED","object":{}}{"type":"DELETED","object":{` + "\n" + `}}` + "\n",
	`{"type":"ADDED","object":{"metadata":[]}}{"type":"DELETED","object":{}}` + "\n",
	`{"type":"ADDED","object":{"a":{` + "\n" + `}}}` + "\n", // a line ends in mid-object
	`{"type":"ADDED","object":{"a":{}}` + "\n" + `}` + "\n",
	`{"type":"ADDED","object":{"a":"}}` + "\n" + `"}}` + "\n",
	`{"type":"ADDED","object":{"a":1},"object":{"b":2}}` + "\n", // twice
	`{"type":"ADDED","object":{"a":1},"x":{"b":{}}}` + "\n",
	`{"type":"ADDED","type":"DELETED","object":{}}` + "\n",
	`{"type":"ADDED","x":1,"object":{}}` + "\n",
	`{"type":"ADDED","object":{},"type":"DELETED"}` + "\n",
	`{"object":{},"type":"ADDED"}` + "\n",
	`{"type":"AD\u0044ED","object":{}}` + "\n",
	`{"type":"A\","object":{}}` + "\n", // not where the type ends
	`{"type":"A\\","object":{}}` + "\n",
	`{"type":"","object":{}}` + "\n",
	`{"type":"CUSTOM","object":{}}` + "\n",
	"{\"type\":\"\xff\",\"object\":{\"a\":\"\xff\"}}\n",
	`{"type":"ADDED","object":{}}` + "\r\n" + ` {"type":"ADDED","object":{}} ` + "\n\n",
	`{"type":"ADDED","object":{} }` + "\n" + `{"type":"ADDED","object": {}}` + "\n" + `{"type": "ADDED","object":{}}` + "\n",
	`{"type":"ADDED","object":null}` + "\n", `{"type":"ADDED","object":}` + "\n", `{"type":"ADDED","object":[{}]}` + "\n", `{"type":"ADDED","object":}}` + "\n",
	`{"type":"ADDED","object":{"a" oops [}]}}` + "\n" + `{"type":"ADDED","object":{01}}` + "\n", // balanced, no JSON
	`{"type":"ADDED","object":{]}` + "\n" + `{"type":"ADDED","object":{}}` + "\n",
	`{"type":"ADDED","object":{}}}` + "\n",
	`{"type":"ADDED","object":{"a":"` + strings.Repeat("x", 1000-34) + `"}}` + "\n", // at the limit of the fuzz target
	`{"type":"ADDED","object":{"a":"` + strings.Repeat("x", 1000-33) + `"}}` + "\n",
	`{"type":"ADDED","object":` + strings.Repeat(`{"":`, MaxDepth) + "{" + strings.Repeat("}", MaxDepth+1) + "}\n",
}

// TestLinesAreFramesAsBytesAre: what is taken for a frame because of its line is
// what is found byte by byte.
func TestLinesAreFramesAsBytesAre(t *testing.T) {
	for _, text := range append(lines, oddities...) {
		bodies := []string{text, text + text, "\n " + text + "}\n"}
		for n := 0; n < len(text) && len(text) < MaxDepth; n += 1 + len(text)/100 {
			bodies = append(bodies, text[:n]+"\n"+text) // cut
		}
		for i, body := range bodies {
			for _, max := range []int{0, 34, 1000} {
				want, wantErr := plainFrames(strings.NewReader(body), max)
				got, err := frames(strings.NewReader(body), max)
				if diff := cmp.Diff(want, got); diff != "" || fmt.Sprint(err) != fmt.Sprint(wantErr) {
					t.Fatalf("%.200q, at most %d: %v, want %v (-want +got):\n%.500s", body, max, err, wantErr, diff)
				}
				if i >= 3 {
					break // limits have been tried
				}
			}
		}
	}
}

// TestFramesLooksTwiceBeforeItReportsAnObject: what decode refuses may be more than
// one frame.
func TestFramesLooksTwiceBeforeItReportsAnObject(t *testing.T) {
	const body = `{"type":"ADDED","object":{"metadata":[]}}{"type":"DELETED","object":{"metadata":{"name":"b"}}}` + "\n"
	var got []string
	for raw, err := range Frames(strings.NewReader(body), 0, func(f Frame) (Raw, error) { return ParseRaw(f.Object) }) {
		got = append(got, fmt.Sprint(raw.GetName(), " ", err))
	}
	if diff := cmp.Diff([]string{" decode metadata: array into object", "b <nil>"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestFramesTakesALineAtOnce: each object is looked at once.
func TestFramesTakesALineAtOnce(t *testing.T) {
	body := strings.Repeat(`{"type":"ADDED","object":{"a":1}}`+"\n", 10)
	n := 0
	w := newWindow(strings.NewReader(body), "frame", 100)
	for {
		if _, err := w.peek(); err != nil {
			break
		}
		f, size := w.line()
		if string(f.Object) != `{"a":1}` || f.Type != "ADDED" {
			t.Fatalf("got %+v, %d", f, size)
		}
		w.pos += size
		n++
	}
	if n != 10 {
		t.Errorf("%d frames", n)
	}
}

func TestFramesYieldsWhatCameBeforeAnErrorAndEnds(t *testing.T) {
	const good = `{"type":"ADDED","object":{}}`
	tests := []struct{ name, bad, want string }{
		{"HTML", "<html>secret</html>", "invalid JSON at byte 28: frame expected"},
		{"an array", `[]`, "invalid JSON at byte 28: frame expected"},
		{"no type", `{"object":{}}`, "invalid JSON at byte 41: frame without a type"},
		{"no object", `{"type":"ADDED"}`, "invalid JSON at byte 44: frame without an object"},
		{"null object", `{"type":"ADDED","object":null}`, "invalid JSON at byte 58: frame without an object"},
		{"type is a number", `{"type":1,"object":{}}`, "invalid JSON at byte 37: type of a frame is not a string"},
		{"no quotes", `{type:"ADDED"}`, "invalid JSON at byte 29: name of a member expected"},
		{"no colon", `{"type" "ADDED"}`, "invalid JSON at byte 36: colon expected"},
		{"no comma", `{"type":"ADDED" "object":{}}`, "invalid JSON at byte 44: comma or closing bracket expected"},
		{"trailing comma", `{"type":"ADDED",}`, "invalid JSON at byte 44: value expected after the comma"},
		{"no value", `{"type":}`, "invalid JSON at byte 36: value expected"},
		{"too deep", `{"type":"ADDED","object":` + strings.Repeat("[", MaxDepth+1), fmt.Sprintf("invalid JSON at byte %d: nested too deeply", 28+25+MaxDepth)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			body := good + test.bad + good
			var got []string
			for f, err := range Frames(iotest.OneByteReader(strings.NewReader(body)), 0, copied) {
				if err != nil {
					got = append(got, err.Error())
					if syntax := (*SyntaxError)(nil); !errors.As(err, &syntax) {
						t.Errorf("%T is not a *SyntaxError", err)
					}
				} else {
					got = append(got, f.Type)
				}
			}
			if diff := cmp.Diff([]string{"ADDED", test.want}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestFramesCutAnywhereIsUnexpectedEOF(t *testing.T) {
	const frame = `{"type":"ADDED","object":{"a":"\"","b":[1,null]}}`
	for n := 1; n < len(frame); n++ {
		got, err := frames(strings.NewReader(frame+"\n"+frame[:n]), 0)
		if !errors.Is(err, io.ErrUnexpectedEOF) || len(got) != 1 {
			t.Errorf("cut at %d: %d frames, %v", n, len(got), err)
		}
	}
}

func TestFramesPassesTheReadersErrorOn(t *testing.T) {
	reset := errors.New("connection reset")
	body := `{"type":"ADDED","object":{}}`
	for _, cut := range []int{len(body), len(body) - 1} {
		got, err := frames(io.MultiReader(strings.NewReader(body[:cut]), iotest.ErrReader(reset)), 0)
		if !errors.Is(err, reset) {
			t.Errorf("cut at %d: %v", cut, err)
		}
		if want := cut / len(body); len(got) != want {
			t.Errorf("cut at %d: %d frames, want %d", cut, len(got), want)
		}
	}
}

func TestFramesGivesUpOnAReaderWithoutProgress(t *testing.T) {
	if _, err := frames(stuck{}, 0); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("got %v", err)
	}
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

func TestFramesYieldsAFrameBeforeReadingOn(t *testing.T) {
	r, w := io.Pipe()
	defer r.Close()
	go w.Write([]byte(`{"type":"ADDED","object":{}}`)) // and then nothing
	for f, err := range Frames(r, 0, copied) {
		if f.Type != "ADDED" || err != nil {
			t.Errorf("got %v, %v", f, err)
		}
		break
	}
}

func TestFramesOfEveryChunkSize(t *testing.T) {
	var body []byte
	var want []gotFrame
	for i := range 24 {
		body = fmt.Appendf(body, "{\"type\":\"MODIFIED\",\"object\":%s}\n", podJSON(i))
		want = append(want, gotFrame{"MODIFIED", string(podJSON(i))})
	}
	for n := 1; n <= 64<<10; n += 1 + n/16 {
		got, err := frames(&chunked{b: body, n: n}, 0)
		if err != nil {
			t.Fatalf("chunks of %d: %v", n, err)
		}
		if !cmp.Equal(want, got) {
			t.Fatalf("chunks of %d differ", n)
		}
	}
}

func TestFramesLimitIsExact(t *testing.T) {
	frame := `{"type":"ADDED","object":{"a":"` + strings.Repeat("x", 100000) + `"}}`
	for _, n := range []int{1000, 64 << 10, 1 << 20} {
		if _, err := frames(&chunked{b: []byte(frame + frame), n: n}, len(frame)); err != nil {
			t.Errorf("chunks of %d: %v", n, err)
		}
		_, err := frames(&chunked{b: []byte(frame), n: n}, len(frame)-1)
		var limit *LimitError
		if !errors.Is(err, ErrTooLarge) || !errors.As(err, &limit) || limit.What != "frame" {
			t.Errorf("chunks of %d: %v", n, err)
		}
	}
}

func TestFrameAboveTheLimitDoesNotTakeTheMemory(t *testing.T) {
	const max = 1 << 20
	body := io.MultiReader(strings.NewReader(`{"type":"ADDED","object":"`), &repeat{b: bytes.Repeat([]byte("x"), 4096), n: 100000})
	w := newWindow(body, "frame", max)
	w.hold()
	_, err := w.frame()
	if !errors.Is(err, ErrTooLarge) {
		t.Fatalf("got %v", err)
	}
	if cap(w.buf) > max+chunk {
		t.Errorf("buffer of %d bytes for a limit of %d", cap(w.buf), max)
	}
}

func TestFramesOneLargeObjectAndThenSmallOnes(t *testing.T) {
	large := `{"a":"` + strings.Repeat("0123456789abcdef", 50<<20/16) + `"}`
	body := io.MultiReader(
		strings.NewReader(`{"type":"ADDED","object":`), strings.NewReader(large), strings.NewReader("}\n"),
		&repeat{b: []byte(`{"type":"MODIFIED","object":{}}`), n: 10000})
	w := newWindow(body, "frame", 64<<20)
	for i := range 10001 {
		w.hold()
		f, err := w.frame()
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 && string(f.Object) != large {
			t.Fatal("large object differs")
		}
		w.release()
		if _, err := w.peek(); err != nil && err != io.EOF {
			t.Fatal(err)
		}
	}
	if cap(w.buf) > keepAtEnd {
		t.Errorf("a buffer of %d bytes is kept for small frames", cap(w.buf))
	}
}

func TestFramesDoesNotAllocate(t *testing.T) {
	frame := fmt.Appendf(nil, "{\"type\":\"MODIFIED\",\"object\":%s}\n", podJSON(1))
	const n = 10000
	var before, after runtime.MemStats
	stream := &repeat{b: frame, n: n + 1}
	i := 0
	for _, err := range Frames(stream, 0, size) {
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			runtime.ReadMemStats(&before)
		}
		i++
	}
	runtime.ReadMemStats(&after)
	if got := after.Mallocs - before.Mallocs; got > n/100 { // other goroutines may allocate a little
		t.Errorf("%d allocations for %d frames", got, n)
	}
}

func FuzzFrames(f *testing.F) {
	f.Add([]byte(`{"type":"ADDED","object":{"a":"\"}"}}`), uint64(1))
	f.Add([]byte("{\"object\":[1,2,{}],\"type\":\"X\"}\r\n\r\n{\"type\":\"ERROR\",\"object\":0 }"), uint64(2))
	f.Add([]byte(`{"type":"A\u00e4","object":-1e5,"x":null}{}`), uint64(3))
	for i, text := range append(lines, oddities...) {
		if len(text) < MaxDepth { // which limit is met first, of depth or size, is a matter of boundaries
			f.Add([]byte(text), uint64(i))
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, seed uint64) {
		whole, wholeErr := frames(bytes.NewReader(body), 1000)
		split, splitErr := frames(&chunked{b: body, r: rand.New(rand.NewPCG(seed, 0))}, 1000)
		plain, plainErr := plainFrames(bytes.NewReader(body), 1000)
		if diff := cmp.Diff(plain, whole); diff != "" {
			t.Errorf("lines matter (-plain +lines):\n%s", diff)
		}
		if fmt.Sprint(plainErr) != fmt.Sprint(wholeErr) {
			t.Errorf("lines matter: %v, %v", plainErr, wholeErr)
		}
		if diff := cmp.Diff(whole, split); diff != "" {
			t.Errorf("boundaries matter (-whole +split):\n%s", diff)
		}
		if fmt.Sprint(wholeErr) != fmt.Sprint(splitErr) {
			t.Errorf("boundaries matter: %v, %v", wholeErr, splitErr)
		}
		// What encoding/json accepts is yielded the same.
		d := json.NewDecoder(bytes.NewReader(body))
		for i := 0; ; i++ {
			var want map[string]json.RawMessage
			from := d.InputOffset()
			if err := d.Decode(&want); err != nil || want == nil {
				return
			}
			var typ string
			if d.InputOffset()-from > 1000 || json.Unmarshal(want["type"], &typ) != nil || typ == "" ||
				string(want["type"]) == "null" || want["object"] == nil || string(want["object"]) == "null" ||
				strings.Contains(typ, "\ufffd") {
				return
			}
			if i >= len(whole) {
				t.Fatalf("frame %d is missing: %v", i, wholeErr)
			}
			if diff := cmp.Diff(gotFrame{typ, string(want["object"])}, whole[i]); diff != "" {
				t.Errorf("frame %d (-want +got):\n%s", i, diff)
			}
		}
	})
}
