package codec

import (
	"encoding/binary"
	"math/bits"
)

// levels is how many levels of nesting one call of skip follows; it is the width of its
// stack of bits.
const levels = 64

// skip consumes one value and checks its grammar. Most bytes are read here, so it is
// one loop that keeps its position in a register; a bit for every open bracket is its
// kind. White space, which servers do not send, and errors are handled by gap and
// failAt.
func (p *parser) skip() {
	if p.err != nil {
		return
	}
	var (
		b, i    = p.b, p.i
		objects uint64 // a bit for each level, the innermost is the lowest: it is an object
		level   int    // open brackets in this call
		c       byte
	)
	for {
		// A member of an object or an element of an array, or the value itself.
		if objects&1 != 0 {
			if i < len(b) && b[i] == '"' {
				i++
			} else {
				if i, c = p.gap(i); c != '"' {
					p.failAt(i, "string expected")
					return
				}
				i++
			}
			if i = p.pass(i); i < 0 {
				return
			}
			if i < len(b) && b[i] == ':' {
				i++
			} else {
				if i, c = p.gap(i); c != ':' {
					p.failAt(i, "colon expected")
					return
				}
				i++
			}
		}
		if i < len(b) && b[i] > ' ' {
			c = b[i]
		} else {
			i, c = p.gap(i)
		}
		switch c {
		case '"':
			if i = p.pass(i + 1); i < 0 {
				return
			}
		case '{', '[':
			if level == levels { // a call of its own for the next levels
				p.i, p.depth = i, p.depth+level
				p.skip()
				p.depth -= level
				if i = p.i; p.err != nil {
					return
				}
				break
			}
			i++
			if p.depth+level >= MaxDepth {
				p.failAt(i, "nested too deeply")
				return
			}
			shut := c + 2
			if i < len(b) && b[i] > ' ' {
				c = b[i]
			} else {
				i, c = p.gap(i)
			}
			if c == shut {
				i++
				break
			}
			level++
			objects = objects<<1 | uint64(shut>>5&1)
			continue
		case 't', 'f', 'n', '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
			p.i = i
			p.scalar(c)
			if i = p.i; p.err != nil {
				return
			}
		default:
			p.failAt(i, "value expected")
			return
		}

		// A value has ended: brackets may close behind it.
		for {
			if level == 0 {
				p.i = i
				return
			}
			if i < len(b) && b[i] > ' ' {
				c = b[i]
			} else {
				i, c = p.gap(i)
			}
			if c == ',' {
				i++
				break
			}
			if c != ']'|byte(objects&1)<<5 {
				p.failAt(i, "comma or closing bracket expected")
				return
			}
			i++
			level--
			objects >>= 1
		}
	}
}

// pass returns the index after the string whose content starts at i, -1 after an error.
func (p *parser) pass(i int) int {
	b := p.b
	for {
		stop := uint64(0)
		for ; i <= len(b)-8; i += 8 {
			if stop = special(binary.LittleEndian.Uint64(b[i : i+8 : i+8])); stop != 0 {
				i += bits.TrailingZeros64(stop) / 8
				break
			}
		}
		if stop == 0 { // the last few bytes of the text
			for i < len(b) && b[i] >= ' ' && b[i] != '"' && b[i] != '\\' {
				i++
			}
		}
		if i < len(b) && b[i] == '"' {
			return i + 1
		}
		if i = p.escape(i); i < 0 {
			return i
		}
	}
}

// gap skips white space from i on. It returns the next index and byte, as peek does.
func (p *parser) gap(i int) (int, byte) {
	p.i = i
	c := p.peek()
	return p.i, c
}

func (p *parser) failAt(i int, msg string) {
	p.i = i
	p.fail(msg)
}

// scalar consumes a number or literal that starts with c.
func (p *parser) scalar(c byte) {
	switch c {
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
