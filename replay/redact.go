package replay

import "strings"

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// filler is what stands in place of a secret, again and again. It is text of
// base64, so that the data of a Secret still decodes.
const filler = "REDACTED"

// maxHeld bounds what a redactor holds back: beyond it, what is undecided counts
// as secret.
const maxHeld = 4 << 20

// A redactor, made by newRedactor, replaces secrets in JSON that comes in pieces,
// values one behind the other, by as many other bytes. It decides by names: data
// and stringData of a Secret, the last-applied annotation, the token of a
// TokenReview or TokenRequest, and, if asked to, values of environment variables.
// Data of an object that may still turn out to be a Secret is held back until it
// ends.
//
// It knows just enough grammar to notice what is no JSON. From there on, what is
// neither white space nor punctuation is replaced, until the brackets that were
// open are closed: codec restarts there, too.
type redactor struct {
	rules Redaction
	// forced: the body comes from a place where Secrets are; typed: a list may
	// leave out the kind of its items, because the path has it.
	forced, typed bool

	buf  []byte // what is held back
	base int64  // where it begins in the body
	at   int    // how much of buf has been looked at

	stack  []level
	expect expectation
	str    bool // within a string
	escape bool
	scalar string // what is left of a literal; "0" within a number
	mode   mode
	owner  int    // the undecided object that the value under way belongs to; -1 = none
	word   []byte // a key or kind
	count  int    // bytes replaced in this string
	base64 bool   // its padding stays
	lost   bool   // it is no JSON
	open   []byte // when lost: the brackets that are to come
}

// level is an object or array that is open.
type level struct {
	array  bool
	name   string // of the member whose value, or an element of whose value, it is
	key    string // of the member under way
	kind   string
	secret bool // it is a Secret whatever its kind says
	fill   bool // all within is secret
	base64 bool // what is within may be base64
	outer  int  // the undecided object that it is within the data of; -1 = none
	spans  []span
	first  int64 // where the first of them begins
}

// span is an undecided string or scalar, as offsets in the body.
type span struct {
	lo, hi int64 // hi -1 = it goes on
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
	undecided // an owner says whose
)

// feed takes the next piece of a body and returns what is fit to be kept; it may
// be less or more than the piece, and is valid until the next call.
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
	if len(r.buf) > maxHeld {
		r.giveUp()
	}
	return r.buf[:r.fit()]
}

// taken forgets the n bytes that feed or finish returned.
func (r *redactor) taken(n int) {
	r.base += int64(n)
	r.buf = append(r.buf[:0], r.buf[n:]...)
	r.at = len(r.buf)
}

// finish returns the rest at the end of the body. Of an object that was cut
// before its kind came, nobody knows that it was no Secret.
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

// fit is how much of buf is decided.
func (r *redactor) fit() int {
	n := len(r.buf)
	for i := range r.stack {
		if l := &r.stack[i]; len(l.spans) > 0 {
			n = min(n, int(l.first-r.base))
		}
	}
	return n
}

// giveUp takes all that is undecided for secret.
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

// fill returns what stands for the i-th byte of a secret. The padding of base64
// stays, as do signs and literals outside strings.
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

// add puts undecided spans to those of l.
func (l *level) add(spans ...span) {
	for _, s := range spans {
		if len(l.spans) == 0 || s.lo < l.first {
			l.first = s.lo
		}
		l.spans = append(l.spans, s)
	}
}

// decide notes a kind that an object says it has; it may say several.
func (r *redactor) decide(l *level, kind string) {
	l.kind = kind
	if strings.EqualFold(kind, "Secret") {
		l.secret = true
		r.replace(l.spans)
		l.spans = nil
	}
}

// classify says how to treat the value in l that begins with c.
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
	if l.outer >= 0 {
		return undecided, l.outer
	}
	return plain, -1
}
