package replay

import (
	"encoding/json"
	"strings"

	"github.com/listwatch/listwatch/codec"
)

// This file is the JSON parser of a redactor. It reads byte by byte, because a body
// arrives in pieces; redact.go decides what to replace.

type expectation byte

const (
	wantValue expectation = iota
	wantElement
	wantKeyOrEnd
	wantKey
	wantColon
	wantCommaOrEnd
)

// ordinary returns how many bytes at the beginning of b neither end a string nor are
// special in it.
func ordinary(b []byte) int {
	for i, c := range b {
		if c == '"' || c == '\\' || c < ' ' {
			return i
		}
	}
	return len(b)
}

func (r *redactor) top() *level {
	if len(r.stack) == 0 {
		return nil
	}
	return &r.stack[len(r.stack)-1]
}

// step processes the byte at buf[i].
func (r *redactor) step(i int) {
	c := r.buf[i]
	switch {
	case r.lost:
		r.stepLost(i)
	case r.str:
		r.stepString(i, c)
	case r.scalar != "" && r.stepScalar(i, c):
	case c == ' ' || c == '\n' || c == '\r' || c == '\t':
	default:
		r.stepToken(i, c)
	}
}

func (r *redactor) stepLost(i int) {
	c := r.buf[i]
	if !strings.ContainsRune(" \n\r\t{}[],:\"", rune(c)) {
		r.buf[i] = filler[r.count%len(filler)]
		r.count++
	}
	switch {
	case r.str:
		r.str = c != '"' || r.escape
		r.escape = c == '\\' && !r.escape
	case c == '"':
		r.str, r.escape = true, false
	case len(r.open) == 0: // there is no place to restart
	case c == '{' || c == '[':
		if r.open = append(r.open, c+2); len(r.open) > 2*codec.MaxDepth { // it has no end, perhaps
			r.open = nil
		}
	case c == '}' || c == ']':
		if last := len(r.open) - 1; r.open[last] == c {
			r.open = r.open[:last]
			r.lost, r.expect = last > 0, wantValue
		} else {
			r.open = nil
		}
	}
}

// lose is called at the first byte that is invalid JSON.
func (r *redactor) lose(i int) {
	r.giveUp()
	r.open = r.open[:0]
	for _, l := range r.stack {
		if l.array {
			r.open = append(r.open, ']')
		} else {
			r.open = append(r.open, '}')
		}
	}
	r.lost, r.stack, r.scalar = true, r.stack[:0], ""
	r.stepLost(i)
}

func (r *redactor) stepString(i int, c byte) {
	if c == '"' && !r.escape {
		r.str = false
		r.endString(i)
		return
	}
	if c < ' ' { // a control character
		r.lose(i)
		return
	}
	r.escape = c == '\\' && !r.escape
	switch r.mode {
	case secret:
		r.buf[i] = fill(c, r.count, false, r.base64)
		r.count++
	case isKey, isKind:
		if len(r.word) < 1<<10 {
			r.word = append(r.word, c)
		}
	case message:
		if r.word = append(r.word[max(0, len(r.word)-8):], c); r.quotes(r.word) {
			r.mode = secret
		}
	}
}

func (r *redactor) endString(i int) {
	l := r.top()
	switch r.mode {
	case isKey:
		l.key = unquote(r.word)
		r.expect = wantColon
		return
	case isKind:
		r.close(i)
		r.decide(l, unquote(r.word))
	default:
		r.close(i)
	}
	r.expect = wantCommaOrEnd
	if l == nil {
		r.expect = wantValue
	}
}

// close ends the current undecided span, if there is one, before buf[i].
func (r *redactor) close(i int) {
	if r.owner < 0 {
		return
	}
	s := r.stack[r.owner].spans
	s[len(s)-1].hi = r.base + int64(i)
	r.owner = -1
}

// unquote returns the decoded content of a string.
func unquote(b []byte) string {
	if !strings.Contains(string(b), `\`) {
		return string(b)
	}
	var s string
	if json.Unmarshal([]byte(`"`+string(b)+`"`), &s) != nil {
		return string(b)
	}
	return s
}

// stepScalar reports false at the first byte after a scalar.
func (r *redactor) stepScalar(i int, c byte) bool {
	switch {
	case c == ',' || c == '}' || c == ']' || c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '{' || c == '[' || c == '"' || c == ':':
		if r.scalar != "0" && r.scalar != "." { // a truncated literal
			r.lose(i)
			return true
		}
		r.scalar = ""
		r.close(i)
		r.expect = wantCommaOrEnd
		if r.top() == nil {
			r.expect = wantValue
		}
		return false
	case r.scalar == "0":
		if !strings.ContainsRune("0123456789+-.eE", rune(c)) {
			r.lose(i)
			return true
		}
	case c == r.scalar[0] && r.scalar != ".":
		if r.scalar = r.scalar[1:]; r.scalar == "" {
			r.scalar = "."
		}
	default:
		r.lose(i)
		return true
	}
	if r.mode == secret {
		r.buf[i] = fill(c, 0, true, false)
	}
	return true
}

// stepToken processes the first byte of a token.
func (r *redactor) stepToken(i int, c byte) {
	l := r.top()
	switch r.expect {
	case wantKeyOrEnd, wantKey:
		switch {
		case c == '"':
			r.str, r.escape, r.mode, r.word = true, false, isKey, r.word[:0]
		case c == '}' && r.expect == wantKeyOrEnd:
			r.pop()
		default:
			r.lose(i)
		}
	case wantColon:
		if c != ':' {
			r.lose(i)
			return
		}
		r.expect = wantValue
	case wantCommaOrEnd:
		switch {
		case c == ',' && l.array:
			r.expect = wantValue
		case c == ',':
			r.expect = wantKey
		case c == ']' && l.array || c == '}' && !l.array:
			r.pop()
		default:
			r.lose(i)
		}
	case wantElement:
		if c == ']' {
			r.pop()
			return
		}
		r.value(i, c)
	case wantValue:
		r.value(i, c)
	}
}

// value processes the first byte of a value.
func (r *redactor) value(i int, c byte) {
	l := r.top()
	r.mode, r.owner = r.classify(l, c)
	r.base64 = l != nil && (l.base64 || !l.array && strings.EqualFold(l.key, "data"))
	r.count, r.word, r.escape = 0, r.word[:0], false
	switch c {
	case '{', '[':
		r.push(i, c == '[')
		return
	case '"':
		r.str = true
		i++ // the span begins after the quote
	case 't':
		r.scalar = "rue"
	case 'f':
		r.scalar = "alse"
	case 'n':
		r.scalar = "ull"
	default:
		if c != '-' && (c < '0' || c > '9') {
			r.lose(i)
			return
		}
		r.scalar = "0"
		if r.mode == secret {
			r.buf[i] = fill(c, 0, true, false)
		}
	}
	if r.owner >= 0 {
		r.stack[r.owner].add(span{r.base + int64(i), -1, r.scalar != "", r.base64})
	}
}

func (r *redactor) push(i int, array bool) {
	n := level{array: array, fill: r.mode == secret, base64: r.base64, outer: r.owner}
	r.owner = -1
	if l := r.top(); l != nil {
		n.name = l.key
		if l.array {
			n.name = l.name
		}
		// An item of a SecretList is a Secret without having the kind.
		if l.array && l.name == "items" && len(r.stack) > 1 {
			n.secret = strings.EqualFold(r.stack[len(r.stack)-2].kind, "SecretList")
		}
	}
	if r.forced && !array && (len(r.stack) == 0 || n.name == "items" || n.name == "object") {
		n.secret = true
	}
	if len(r.stack) >= codec.MaxDepth {
		r.lose(i)
		return
	}
	r.stack = append(r.stack, n)
	r.expect = wantKeyOrEnd
	if array {
		r.expect = wantElement
	}
}

// pop closes the innermost object or array. An object without the kind Secret is none,
// but it may be part of a Secret's data.
func (r *redactor) pop() {
	l := r.top()
	switch {
	case l.secret:
		r.replace(l.spans)
	case l.outer >= 0:
		r.stack[l.outer].add(l.spans...)
	}
	*l = level{}
	r.stack = r.stack[:len(r.stack)-1]
	r.expect = wantCommaOrEnd
	if len(r.stack) == 0 {
		r.expect = wantValue
	}
}
