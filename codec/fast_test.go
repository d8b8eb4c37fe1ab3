package codec

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// oddities are texts in which something is unusual, JSON or not.
var oddities = []string{
	`{"type":"MODIFIED","object":{"kind":"Pod","metadata":{"name":"a","managedFields":[{"f:x":{},"k:{\"a\":\"b\\\\\"}":{".":{}}}]},"spec":{"n":-1.5E+3}}}` + "\n",
	`{"type":"ADDED","object":{}}{"type":"DELETED","object":{"a":[]}}` + "\r\n\r\n",
	"{ \"type\" : \"ADDED\" ,\n\t\"object\" : { \"a\" : [ 1 , true, false,null ] } }",
	"{\"ü\u2028\":\"\xff\xfe\xed\xa0\x80 \x7f\",\"😀\":\"\\ud83d\\ude00\\ud800\\u0000\"}",
	`{"a":"\\","b":"\\\"","c":"\"","d":"\\\\\\\"{[","\\":[],"":{}}`,
	`"` + strings.Repeat(`\\`, 20) + `\"` + strings.Repeat("x", 20) + `\"`,
	`{"a" oops \" [}]}`,
	`[01,-,1.,1e,.5,+1,tru,nulll]`,
	"[\"\x00\",\x00]",
	"{\"¢\":[\"\xa2\xdb\xdc\xdd\xfb\xfc\xfd\",\xa2\xdb\xdc\xdd\xfb\xfc\xfd        ]}", // each is ASCII but for its top bit
	"{\"a\":\"line\nbreak\"}",
	`{"a":1,"a":2,}`,
	`[1,]`, `{,}`, `{"a"}`, `{"a":}`, `{1:2}`, `]`, `}`, `,`, `:`, ``, ` `, `"`, `\`, "\xff", `{]`, `[}`, `[[1],{"a":[}]`,
	`^_|~{}[]`, "\x1b\x1d{\x5b", `[^_|~[],"{\\}",{}]`,
	strings.Repeat(`[{"a":`, 70) + `"` + strings.Repeat("}]", 70),
	strings.Repeat(`{"a":[`, 70) + `{"b":[]}` + strings.Repeat("]}", 70),
	strings.Repeat("[", 64) + strings.Repeat("]", 64),
	strings.Repeat("[", 65) + "{}" + strings.Repeat("]", 65),
	strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth),
	strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1),
	strings.Repeat(`{"":`, MaxDepth+1),
}

func TestFastAgreesWithPlain(t *testing.T) {
	for _, text := range append(oddities, string(podJSON(1))) {
		step := 1 // but of the long ones only some places
		switch {
		case len(text) >= MaxDepth:
			step = len(text) / 7
		case len(text) > 300:
			step = len(text) / 30
		}
		for n := 0; n <= len(text); n += step { // cut
			agree(t, []byte(text[:n]), uint64(n))
		}
		if len(text) >= MaxDepth {
			continue
		}
		for k, c := range []byte("\"\\{}[]:,0 \x00\x1f\xa2\xff") { // changed
			for n := k % 3; n < len(text); n += 3 * step {
				b := []byte(text)
				b[n] = c
				agree(t, b, uint64(n))
			}
		}
	}
}

func FuzzFast(f *testing.F) {
	f.Add(podJSON(1), uint64(0))
	for i, text := range oddities {
		f.Add([]byte(text), uint64(i))
	}
	f.Fuzz(func(t *testing.T, b []byte, seed uint64) { agree(t, b, seed) })
}

// agree reads b in both ways.
func agree(t *testing.T, b []byte, seed uint64) {
	t.Helper()
	type reading struct {
		end    int // of what was read without an error
		depth  int
		spaced bool
		s      span
		err    string
	}
	for _, start := range []int{0, min(int(seed%8), len(b))} {
		fast, plain := parser{b: b, i: start}, plainParser{parser{b: b, i: start}}
		fast.skip()
		plain.skip()
		got, want := reading{err: fmt.Sprint(fast.err)}, reading{err: fmt.Sprint(plain.err)}
		if fast.err == nil && plain.err == nil {
			got.end, got.depth, got.spaced = fast.i, fast.depth, fast.spaced
			want.end, want.depth, want.spaced = plain.i, plain.depth, plain.spaced
		}
		if got != want {
			t.Fatalf("skip of %q from %d: %+v, want %+v", b, start, got, want)
		}

		fast, plain = parser{b: b, i: start}, plainParser{parser{b: b, i: start}}
		got, want = reading{s: fast.str(), end: fast.i}, reading{s: plain.str(), end: plain.i}
		got.err, want.err = fmt.Sprint(fast.err), fmt.Sprint(plain.err)
		if got != want {
			t.Fatalf("string of %q from %d: %+v, want %+v", b, start, got, want)
		}
	}

	// As Frames does, with whatever pieces arrive.
	rnd := rand.New(rand.NewPCG(seed, 0))
	for _, size := range []int{1, 8, 9, 50, len(b) + 1} {
		var fast scanner
		var plain plainScanner
		for piece := range slices.Chunk(b, size) {
			piece = piece[rnd.IntN(2)*rnd.IntN(len(piece)):]
			n, done, bad := fast.scan(piece)
			n2, done2, bad2 := plain.scan(piece)
			if n != n2 || done != done2 || bad != bad2 {
				t.Fatalf("scan of %q in %q, pieces of %d: %d %t %q, want %d %t %q", piece, b, size, n, done, bad, n2, done2, bad2)
			}
			if done || bad != "" {
				break
			}
			if fast != plain.scanner {
				t.Fatalf("scan of %q in %q, pieces of %d: %+v, want %+v", piece, b, size, fast, plain.scanner)
			}
		}
	}
}

// TestErrorsInAnnotations: the annotation that a BOOKMARK is asked for is looked
// at while the text may still be invalid.
func TestErrorsInAnnotations(t *testing.T) {
	for _, end := range []string{`"tru`, `"\x"}}}`, "\"\x01\"}}}", `"`} {
		object := []byte(`{"metadata":{"annotations":{"k8s.io/initial-events-end":` + end)
		if _, err := ParseRaw(object); err == nil {
			t.Errorf("%q was taken", object)
		}
		revision := func(f Frame) (string, error) {
			rv, _, err := ResourceVersion(f.Object)
			return string(rv), err
		}
		for _, end := range []string{"", "\n"} {
			for rv, err := range Frames(bytes.NewReader(fmt.Appendf(nil, `{"type":"BOOKMARK","object":%s}%s`, object, end)), 0, revision) {
				if err == nil {
					t.Errorf("%q was taken: %q", object, rv)
				}
			}
		}
	}
}
