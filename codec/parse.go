package codec

import "bytes"

// A parser reads a complete JSON text once and checks its grammar. After the first
// error every method does nothing and every loop ends:
//
//	for more := p.enter('{'); more; more = p.next('}') {
//		key := p.key()
//		p.skip()
//	}
type parser struct {
	b      []byte
	i      int
	depth  int
	spaced bool  // white space was skipped
	err    error // the first error
}

func (p *parser) fail(msg string) {
	if p.err == nil {
		p.err = &SyntaxError{Offset: int64(p.i), Msg: msg}
	}
}

// peek skips white space and returns the next byte, 0 at the end.
func (p *parser) peek() byte {
	if p.i < len(p.b) {
		if c := p.b[p.i]; c > ' ' {
			return c
		}
	}
	return p.peekSpaced()
}

func (p *parser) peekSpaced() byte {
	for ; p.i < len(p.b); p.i++ {
		if c := p.b[p.i]; !isSpace(c) {
			if c == 0 {
				p.fail("invalid character")
			}
			return c
		}
		p.spaced = true
	}
	return 0
}

// enter consumes an opening bracket. It reports whether a member or element follows.
func (p *parser) enter(open byte) bool {
	if p.err != nil {
		return false
	}
	if p.peek() != open {
		p.fail("bracket expected")
		return false
	}
	p.i++
	if p.depth++; p.depth > MaxDepth {
		p.fail("nested too deeply")
		return false
	}
	if p.peek() == open+2 { // in ASCII both closing brackets are the opening one plus 2
		p.i++
		p.depth--
		return false
	}
	return true
}

// next consumes a comma or the closing bracket. It reports whether another member or
// element follows.
func (p *parser) next(shut byte) bool {
	if p.err != nil {
		return false
	}
	switch p.peek() {
	case ',':
		p.i++
		return true
	case shut:
		p.i++
		p.depth--
		return false
	}
	p.fail("comma or closing bracket expected")
	return false
}

// key consumes a member's name and the colon, and returns the name.
func (p *parser) key() []byte {
	s := p.str()
	if p.err != nil {
		return nil
	}
	if p.peek() != ':' {
		p.fail("colon expected")
		return nil
	}
	p.i++
	if s.escaped {
		return unescape(nil, s.of(p.b))
	}
	return s.of(p.b)
}

// A span is a part of the text; for a string, without the quotes.
type span struct {
	lo, hi  int
	escaped bool
}

func (s span) of(b []byte) []byte { return b[s.lo:s.hi] }
func (s span) len() int           { return s.hi - s.lo }

// str consumes a string.
func (p *parser) str() (s span) {
	if p.err != nil {
		return s
	}
	if p.peek() != '"' {
		p.fail("string expected")
		return s
	}
	lo := p.i + 1
	if i := p.pass(lo); i >= 0 {
		p.i = i
		s = span{lo: lo, hi: i - 1}
		s.escaped = bytes.IndexByte(s.of(p.b), '\\') >= 0
	}
	return s
}

// escape returns the index after the escape sequence at i. If there is none, the parser
// fails and the result is -1.
func (p *parser) escape(i int) int {
	n := 0
	switch p.i = i; {
	case i >= len(p.b):
		p.fail("string without an end")
	case p.b[i] != '\\':
		p.fail("control character in a string")
	default:
		if n = escapeLen(p.b[i:]); n == 0 {
			p.fail("invalid escape in a string")
		}
	}
	if n == 0 {
		return -1
	}
	return i + n
}

func (p *parser) literal(word string) {
	if len(p.b)-p.i < len(word) || string(p.b[p.i:p.i+len(word)]) != word {
		p.fail("invalid literal")
		return
	}
	p.i += len(word)
}

func (p *parser) number() {
	if p.i < len(p.b) && p.b[p.i] == '-' {
		p.i++
	}
	if p.i < len(p.b) && p.b[p.i] == '0' {
		p.i++
	} else {
		p.digits()
	}
	if p.i < len(p.b) && p.b[p.i] == '.' {
		p.i++
		p.digits()
	}
	if p.i < len(p.b) && p.b[p.i]|0x20 == 'e' {
		p.i++
		if p.i < len(p.b) && (p.b[p.i] == '+' || p.b[p.i] == '-') {
			p.i++
		}
		p.digits()
	}
}

func (p *parser) digits() {
	start := p.i
	for p.i < len(p.b) && p.b[p.i]-'0' <= 9 {
		p.i++
	}
	if p.i == start {
		p.fail("value expected")
	}
}

// null consumes null if it is next.
func (p *parser) null() bool {
	if p.err != nil || p.peek() != 'n' {
		return false
	}
	p.literal("null")
	return true
}

// end checks that only white space is left.
func (p *parser) end() {
	if p.err == nil && (p.peek() != 0 || p.i < len(p.b)) {
		p.fail("more than one value")
	}
}
