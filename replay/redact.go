package replay

import (
	"bytes"
	"strings"
)

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// filler is repeated in place of a secret. It is valid base64, so that the data of a
// Secret can still be decoded.
const filler = "REDACTED"

// maxHeld limits the bytes that a redactor holds back, and maxUndecided the values: beyond
// them, undecided values count as secret.
const (
	maxHeld      = 4 << 20
	maxUndecided = 1 << 18
)

// A redactor replaces secrets in JSON values that arrive in pieces, by as many other
// bytes. It decides by names: data and stringData of a Secret, and values of environment variables,
// each if requested, the last-applied annotation if either is requested, and always the token of a
// TokenReview or TokenRequest. Data of an object that may still turn out to be a Secret is held
// back until the object ends.
//
// It checks just enough grammar to detect invalid JSON. From there on, everything
// except white space and punctuation is replaced, until the open brackets are closed:
// codec restarts there, too.
type redactor struct {
	rules Redaction
	// forced: the body contains Secrets; typed: a list may omit the kind of its items,
	// because the path has it; failed: it is an error, whose messages may quote objects.
	forced, typed, failed bool

	buf  []byte // the bytes that are held back
	base int64  // offset of buf in the body
	at   int    // how much of buf was processed

	stack  []level
	expect expectation
	str    bool // within a string
	escape bool
	scalar string // rest of a literal; "0" = within a number
	mode   mode
	owner  int    // index of the undecided object that the current value belongs to; -1 = none
	word   []byte // a key or kind, or the end of a message
	count  int    // bytes replaced in this string
	base64 bool   // keep its padding
	lost   bool   // the JSON is invalid
	open   []byte // if lost: the closing brackets that must follow
}

// level is an open object or array.
type level struct {
	array  bool
	name   string // of the member that it is the value of, or in the value of
	key    string // of the current member
	kind   string
	secret bool // it is a Secret, whatever its kind
	fill   bool // everything inside is secret
	base64 bool // its content may be base64
	outer  int  // index of the undecided object in whose data it is; -1 = none
	spans  []span
	first  int64 // offset of the first span
}

// span is an undecided string or scalar, as offsets in the body.
type span struct {
	lo, hi int64 // hi: -1 = not ended
	scalar bool
	base64 bool
}

func newRedactor(rules Redaction, forced, typed bool) *redactor {
	return &redactor{rules: rules, forced: forced, typed: typed, owner: -1}
}

type mode byte

const (
	plain mode = iota
	isKey
	isKind
	secret
	undecided // owner is the object that decides
	message   // secret from the first object on that it quotes
)

// feed processes the next piece of a body and returns the redacted bytes that are
// ready: fewer or more than the piece, valid until the next call.
func (r *redactor) feed(b []byte) []byte {
	from := len(r.buf)
	r.buf = append(r.buf, b...)
	for r.at = from; r.at < len(r.buf); r.at++ {
		if r.str && (r.mode == plain || r.mode == undecided) && !r.escape && !r.lost {
			if r.at += ordinary(r.buf[r.at:]); r.at == len(r.buf) {
				break
			}
		}
		r.step(r.at)
	}
	if len(r.buf) > maxHeld || r.undecided() > maxUndecided {
		r.giveUp()
	}
	return r.buf[:r.fit()]
}

// taken removes the n bytes that feed or finish returned.
func (r *redactor) taken(n int) {
	r.base += int64(n)
	r.buf = append(r.buf[:0], r.buf[n:]...)
	r.at = len(r.buf)
}

// finish returns the rest at the end of the body. An object that was truncated before
// its kind may have been a Secret.
func (r *redactor) finish() []byte {
	for i := range r.stack {
		l := &r.stack[i]
		if item := r.typed && !r.forced && l.name == "items"; l.secret || l.kind == "" && !item {
			r.replace(l.spans)
		}
		l.spans = nil
	}
	return r.buf
}

// fit returns how many bytes of buf are decided.
func (r *redactor) fit() int {
	n := len(r.buf)
	for i := range r.stack {
		if l := &r.stack[i]; len(l.spans) > 0 {
			n = min(n, int(l.first-r.base))
		}
	}
	return n
}

func (r *redactor) undecided() (n int) {
	for i := range r.stack {
		n += len(r.stack[i].spans)
	}
	return n
}

// giveUp treats everything undecided as secret.
func (r *redactor) giveUp() {
	for i := range r.stack {
		l := &r.stack[i]
		if len(l.spans) > 0 {
			r.replace(l.spans)
			l.spans, l.secret = nil, true
		}
	}
	if r.owner >= 0 && r.mode != isKind {
		r.mode = secret
	}
	r.owner = -1
}

func (r *redactor) replace(spans []span) {
	for _, s := range spans {
		hi := s.hi
		if hi < 0 {
			hi = r.base + int64(r.at)
		}
		part := r.buf[s.lo-r.base : hi-r.base]
		for i := range part {
			part[i] = fill(part[i], i, s.scalar, s.base64)
		}
	}
}

// fill returns the replacement for the i-th byte of a secret. The padding of base64 is
// kept, and so are signs and literals outside of strings.
func fill(c byte, i int, scalar, base64 bool) byte {
	switch {
	case scalar && (c < '0' || c > '9'):
		return c
	case scalar:
		return '1'
	case c == '=' && base64:
		return c
	}
	return filler[i%len(filler)]
}

// quotes reports whether a message, which ends in text, quotes an object from here on. A
// refusal of a patch quotes the patched object in JSON or the patch as Go prints it, and a
// refusal to decode a Secret the beginning of the body, in parentheses.
func (r *redactor) quotes(text []byte) bool {
	for _, s := range []string{"{", "map[", `\u007b`, `\u007B`} {
		if bytes.HasSuffix(text, []byte(s)) {
			return true
		}
	}
	return r.forced && bytes.HasSuffix(text, []byte("("))
}

// add adds undecided spans to those of l.
func (l *level) add(spans ...span) {
	for _, s := range spans {
		if len(l.spans) == 0 || s.lo < l.first {
			l.first = s.lo
		}
		l.spans = append(l.spans, s)
	}
}

// decide notes a kind of an object; an object may have several.
func (r *redactor) decide(l *level, kind string) {
	l.kind = kind
	if strings.EqualFold(kind, "Secret") {
		l.secret = true
		r.replace(l.spans)
		l.spans = nil
	}
}

// classify returns how to treat the value in l that begins with c.
func (r *redactor) classify(l *level, c byte) (mode, int) {
	switch {
	case l == nil && r.forced && c != '{':
		return secret, -1
	case l == nil:
		return plain, -1
	case l.fill:
		return secret, -1
	}
	if !l.array {
		switch key := l.key; {
		case strings.EqualFold(key, "token") && (l.name == "status" || l.name == "spec"):
			return secret, -1
		case key == lastApplied && (r.rules.Secrets || r.rules.Env):
			return secret, -1
		case key == "value" && l.name == "env" && r.rules.Env:
			return secret, -1
		case strings.EqualFold(key, "kind"):
			return isKind, l.outer
		case r.rules.Secrets && (strings.EqualFold(key, "data") || strings.EqualFold(key, "stringData")):
			if l.secret {
				return secret, -1
			}
			return undecided, len(r.stack) - 1
		}
	}
	switch {
	case l.outer >= 0 && r.stack[l.outer].secret: // it has been decided meanwhile
		return secret, -1
	case l.outer >= 0:
		return undecided, l.outer
	case r.failed && !l.array && strings.EqualFold(l.key, "message") && (r.rules.Secrets || r.rules.Env):
		return message, -1
	}
	return plain, -1
}
