package hide

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
)

// span is a part of data.
type span struct{ start, end int }

// rules say what is found.
type rules struct {
	whole int  // the least bytes of a credential
	part  int  // the least bytes of the beginning of one that is cut
	json  bool // a quote without a backslash may be the end of a string

	latest atomic.Pointer[known]
}

// find returns the parts of b that are credentials, in order. The bytes at the end from open on may
// begin one, unless this is the last of the data.
func (r *rules) find(b []byte, secrets []string, last bool) (found []span, open int) {
	v := views.Get().(*view)
	defer views.Put(v)
	k := r.known(secrets)
	open, wait := len(b), len(b)-k.most // what begins before wait is not waited for
	for q, texts := range k.all {
		if len(texts) == 0 || quotes(q) == inJSON && !inJSON.in(b) {
			continue // no credentials, or none in this form
		}
		v.resolve(b, quotes(q), last)
		open = min(open, v.size)
		for _, text := range texts {
			matches, rest := text.scan(v.text, r.part)
			if start := len(v.text) - rest; rest > 0 && !last && v.start(start) >= wait {
				open = min(open, v.start(start))
			} else if rest >= r.part {
				matches = matched(matches, start, len(v.text), false)
			}
			for _, m := range matches {
				if s, ok := r.span(b, v, m); ok {
					found = append(found, s)
				}
			}
		}
	}
	found, open = merge(found), max(open, wait)
	for n := len(found); n > 0 && found[n-1].end > open; n-- { // what is undecided may be more of it
		if found[n-1].start < wait {
			open = found[n-1].end
			break
		}
		open = min(open, found[n-1].start)
		found = found[:n-1]
	}
	if r.json && open < len(b) { // a part of an escape is not seen to be one
		open = span{open, len(b)}.escapes(b).start
	}
	return found, open
}

// known are the patterns of secrets.
type known struct {
	secrets []string
	all     [3][]pattern // in each view, see quotes
	most    int          // bytes of data that one is looked for in
}

// A quoted byte of a credential takes up to maxQuoted bytes on average: data without an end of what
// begins as one is not held back, nor looked at again and again.
const (
	maxQuoted = 32
	leastMost = 4 << 10
)

// known returns the patterns of secrets, which are mostly those of the last call.
func (r *rules) known(secrets []string) *known {
	k := r.latest.Load()
	if k == nil || !slices.Equal(k.secrets, secrets) {
		k = &known{secrets: slices.Clone(secrets), all: r.look(secrets)}
		for _, s := range secrets {
			k.most = max(k.most, leastMost+maxQuoted*len(s))
		}
		r.latest.Store(k)
	}
	return k
}

// look returns the patterns of secrets in each view.
func (r *rules) look(secrets []string) (all [3][]pattern) {
	for _, s := range secrets {
		if len(s) < r.whole {
			continue
		}
		quoted := strconv.Quote(s) // which changes control characters; kube.CleanName, each %
		for q := range quotes(len(all)) {
			for _, form := range []string{s, quoted[1 : len(quoted)-1], strings.ReplaceAll(s, "%", "/")} {
				if q == asIs && form != s {
					continue
				}
				var v view
				v.resolve([]byte(form), q, true)
				if len(v.text) >= r.whole/2 && !slices.ContainsFunc(all[q], func(old pattern) bool { return bytes.Equal(old.bytes, v.text) }) {
					all[q] = append(all[q], newPattern(v.text))
				}
			}
		}
	}
	return all
}

// pattern is a text that is looked for by the algorithm of Knuth, Morris and Pratt, which takes
// linear time whatever the text and the data are.
type pattern struct {
	bytes  []byte
	border []int32 // of its first n bytes: how many at their end are also their beginning
}

func newPattern(text []byte) pattern {
	border := make([]int32, len(text)+1)
	for n, k := 1, int32(0); n < len(text); {
		switch {
		case text[n] == text[k]:
			k, n = k+1, n+1
			border[n] = k
		case k > 0:
			k = border[k]
		default:
			n++
		}
	}
	return pattern{text, border}
}

// match is a part of a text that is a pattern, or several that overlap; whole, unless there are
// only beginnings of it.
type match struct {
	span
	whole bool
}

// matched adds a match, which begins behind the others or overlaps the last one.
func matched(all []match, start, end int, whole bool) []match {
	if n := len(all) - 1; n >= 0 && start < all[n].end {
		all[n] = match{span{all[n].start, end}, whole || all[n].whole}
		return all
	}
	return append(all, match{span{start, end}, whole})
}

// scan returns where the pattern is, and its beginning of at least part bytes, and how many bytes
// at the end of text are its beginning.
func (p pattern) scan(text []byte, part int) (all []match, n int) {
	for i := 0; i < len(text); {
		switch {
		case n == 0:
			skip := p.first(text[i:])
			if skip < 0 {
				return all, 0
			}
			i, n = i+skip+1, 1
		case text[i] == p.bytes[n]:
			i, n = i+1, n+1
		default:
			if n >= part {
				all = matched(all, i-n, i, false)
			}
			n = int(p.border[n])
		}
		if n == len(p.bytes) {
			all = matched(all, i-n, i, true)
			n = int(p.border[n])
		}
	}
	return all, n
}

// first returns where the pattern may begin in text, -1 if nowhere. Many texts have its first byte,
// few its first four.
func (p pattern) first(text []byte) int {
	head := p.bytes[:min(4, len(p.bytes))]
	if i := bytes.Index(text, head); i >= 0 {
		return i
	}
	for n := min(len(head)-1, len(text)); n > 0; n-- {
		if bytes.HasSuffix(text, head[:n]) {
			return len(text) - n
		}
	}
	return -1
}

// span returns the part of b that a match in its view is.
func (r *rules) span(b []byte, v *view, m match) (span, bool) {
	start, end := m.start, m.end
	quote := func(i int) bool { // without a backslash
		text, ok := bytes.CutSuffix(b[v.start(i):v.end(i+1)], []byte(`"`))
		return r.json && ok && !odd(text)
	}
	if !m.whole {
		for i := start + 1; i < end; i++ {
			if quote(i) {
				end = i
			}
		}
		if end-start < r.part {
			return span{}, false
		}
	}
	if quote(start) {
		start++
	}
	if end > start && quote(end-1) {
		end--
	}
	if end <= start {
		return span{}, false
	}
	s := span{v.start(start), v.end(end)}
	if r.json {
		s = s.escapes(b)
	}
	return s, true
}

// escapes returns s with all of each escape of JSON that it has a part of: what is left of one
// would be none, or would escape what follows.
func (s span) escapes(b []byte) span {
	for i := max(0, s.start-5); i < s.start; i++ {
		size := 2 // as \n, or \u0041
		if b[i+1] == 'u' {
			size = 6
		}
		if b[i] == '\\' && !odd(b[:i]) && i+size > s.start {
			s.start = i
			break
		}
	}
	if s.end < len(b) && odd(b[:s.end]) {
		s.end++
	}
	return s
}

// odd reports whether b ends with an odd number of backslashes.
func odd(b []byte) bool { return (len(b)-len(bytes.TrimRight(b, `\`)))%2 == 1 }

// merge returns spans in order, and as one those that overlap.
func merge(all []span) (merged []span) {
	slices.SortFunc(all, func(a, b span) int { return a.start - b.start })
	for _, s := range all {
		if n := len(merged); n > 0 && s.start < merged[n-1].end {
			merged[n-1].end = max(merged[n-1].end, s.end)
		} else {
			merged = append(merged, s)
		}
	}
	return merged
}
