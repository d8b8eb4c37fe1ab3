package schema

// Valid reports whether b is JSON, like json.Valid, but faster.
func Valid(b []byte) bool {
	s := scanner{b: b}
	s.space()
	if !s.value(0) {
		return false
	}
	s.space()
	return s.i == len(b)
}

// nestedLimit is how deep encoding/json goes.
const nestedLimit = 10_000

// scanner checks JSON from i on. Its methods report false for what is none.
type scanner struct {
	b []byte
	i int
}

func (s *scanner) space() {
	for s.i < len(s.b) && (s.b[s.i] == ' ' || s.b[s.i] == '\n' || s.b[s.i] == '\t' || s.b[s.i] == '\r') {
		s.i++
	}
}

// take passes over c, if it is next.
func (s *scanner) take(c byte) bool {
	if s.i < len(s.b) && s.b[s.i] == c {
		s.i++
		return true
	}
	return false
}

func (s *scanner) word(w string) bool {
	if len(s.b)-s.i < len(w) || string(s.b[s.i:s.i+len(w)]) != w {
		return false
	}
	s.i += len(w)
	return true
}

func (s *scanner) value(depth int) bool {
	if s.i >= len(s.b) || depth > nestedLimit {
		return false
	}
	switch s.b[s.i] {
	case '{':
		return s.object(depth + 1)
	case '[':
		return s.list(depth + 1)
	case '"':
		return s.string()
	case 't':
		return s.word("true")
	case 'f':
		return s.word("false")
	case 'n':
		return s.word("null")
	}
	return s.number()
}

func (s *scanner) object(depth int) bool {
	s.i++
	if s.space(); s.take('}') {
		return depth <= nestedLimit
	}
	for {
		if s.space(); s.i >= len(s.b) || s.b[s.i] != '"' || !s.string() {
			return false
		}
		if s.space(); !s.take(':') {
			return false
		}
		if s.space(); !s.value(depth) {
			return false
		}
		if s.space(); s.take('}') {
			return true
		}
		if !s.take(',') {
			return false
		}
	}
}

func (s *scanner) list(depth int) bool {
	s.i++
	if s.space(); s.take(']') {
		return depth <= nestedLimit
	}
	for {
		if s.space(); !s.value(depth) {
			return false
		}
		if s.space(); s.take(']') {
			return true
		}
		if !s.take(',') {
			return false
		}
	}
}

func (s *scanner) string() bool {
	for s.i++; s.i < len(s.b); s.i++ {
		switch c := s.b[s.i]; {
		case c == '"':
			s.i++
			return true
		case c < ' ':
			return false
		case c == '\\':
			if s.i++; s.i >= len(s.b) {
				return false
			}
			switch s.b[s.i] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				for range 4 {
					if s.i++; s.i >= len(s.b) || !isHex(s.b[s.i]) {
						return false
					}
				}
			default:
				return false
			}
		}
	}
	return false
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func (s *scanner) number() bool {
	s.take('-')
	if !s.take('0') && !s.digits() {
		return false
	}
	if s.take('.') && !s.digits() {
		return false
	}
	if s.take('e') || s.take('E') {
		if !s.take('+') {
			s.take('-')
		}
		return s.digits()
	}
	return true
}

// digits passes over digits, of which there must be one.
func (s *scanner) digits() bool {
	start := s.i
	for s.i < len(s.b) && s.b[s.i] >= '0' && s.b[s.i] <= '9' {
		s.i++
	}
	return s.i > start
}
