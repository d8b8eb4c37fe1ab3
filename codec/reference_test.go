package codec

import "io"

// The parser and the scanner look at eight bytes at a time. Here is what they
// have to agree with: the same rules byte by byte, written to be read.

// A plainParser checks the grammar of one value, by recursion.
type plainParser struct{ parser }

func (p *plainParser) skip() {
	if p.err != nil {
		return
	}
	switch c := p.peek(); c {
	case '{':
		for more := p.enter('{'); more; more = p.next('}') {
			p.str()
			if p.peek() != ':' {
				p.fail("colon expected")
				return
			}
			p.i++
			p.skip()
		}
	case '[':
		for more := p.enter('['); more; more = p.next(']') {
			p.skip()
		}
	case '"':
		p.str()
	case 't':
		p.literal("true")
	case 'f':
		p.literal("false")
	case 'n':
		p.literal("null")
	default:
		p.number()
	}
}

func (p *plainParser) str() (s span) {
	if p.err != nil {
		return s
	}
	if p.peek() != '"' {
		p.fail("string expected")
		return s
	}
	p.i++
	for lo := p.i; p.i < len(p.b); p.i++ {
		switch c := p.b[p.i]; {
		case c == '"':
			p.i++
			return span{lo: lo, hi: p.i - 1, escaped: s.escaped}
		case c < ' ':
			p.fail("control character in a string")
			return span{}
		case c == '\\':
			n := escapeLen(p.b[p.i:])
			if n == 0 {
				p.fail("invalid escape in a string")
				return span{}
			}
			s.escaped = true
			p.i += n - 1
		}
	}
	p.fail("string without an end")
	return span{}
}

// plainFrames finds the end of every frame byte by byte.
func plainFrames(r io.Reader, max int) (got []gotFrame, err error) {
	if max <= 0 {
		max = DefaultMaxFrame
	}
	w := newWindow(r, "frame", max)
	for {
		if _, err := w.peek(); err == io.EOF {
			return got, nil
		} else if err != nil {
			return got, err
		}
		w.hold()
		f, err := w.frame()
		if err != nil {
			return got, w.cut(err)
		}
		got = append(got, gotFrame{f.Type, string(f.Object)})
		w.release()
	}
}

// A plainScanner finds the end of a value.
type plainScanner struct{ scanner }

func (s *plainScanner) scan(b []byte) (n int, done bool, bad string) {
	for i, c := range b {
		kind := kindOf[c]
		switch {
		case s.escaped:
			s.escaped = false
		case s.str && c == '\\':
			s.escaped = true
		case s.str:
			if s.str = kind != quote; !s.str && s.depth == 0 {
				return i + 1, true, ""
			}
		case kind == other, kind == delimiter && s.depth > 0:
			s.scalar = s.scalar || s.depth == 0
		case s.scalar:
			return i, true, ""
		case kind == quote:
			s.str = true
		case kind == open:
			if s.depth++; s.depth > MaxDepth {
				return i, false, "nested too deeply"
			}
		case s.depth == 0:
			return i, false, "value expected"
		default:
			if s.depth--; s.depth == 0 {
				return i + 1, true, ""
			}
		}
	}
	return len(b), false, ""
}
