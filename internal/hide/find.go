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

	latest atomic.Pointer[patterns]
}

// find returns the parts of b that are credentials, in order. The bytes at the end from open on may
// begin one, unless this is the last of the data.
func (r *rules) find(b []byte, secrets []string, last bool) (found []span, open int) {
	v := views.Get().(*view)
	defer views.Put(v)
	v.resolve(b, last)
	open = v.size
	for _, p := range r.patternsOf(secrets) {
		part := min(r.part, len(p))
		for at := 0; ; {
			i := bytes.Index(v.text[at:], p[:part])
			if i < 0 {
				break
			}
			at += i
			n := common(v.text[at:], p)
			if n < len(p) && at+n == len(v.text) && !last {
				open = min(open, v.start(at))
			} else if s, ok := r.span(b, v, at, at+n, n == len(p)); ok {
				found = append(found, s)
			}
			at++
		}
		for n := min(part-1, len(v.text)); n > 0 && !last; n-- {
			if bytes.HasPrefix(p, v.text[len(v.text)-n:]) {
				open = min(open, v.start(len(v.text)-n))
				break
			}
		}
	}
	found = merge(found)
	for n := len(found); n > 0 && found[n-1].end > open; n-- { // what is undecided may be more of it
		open = min(open, found[n-1].start)
		found = found[:n-1]
	}
	return found, open
}

// patterns are the views of secrets.
type patterns struct {
	secrets []string
	views   [][]byte
}

// patternsOf returns the views of secrets, which are mostly those of the last call.
func (r *rules) patternsOf(secrets []string) [][]byte {
	p := r.latest.Load()
	if p == nil || !slices.Equal(p.secrets, secrets) {
		p = &patterns{slices.Clone(secrets), r.look(secrets)}
		r.latest.Store(p)
	}
	return p.views
}

func (r *rules) look(secrets []string) (all [][]byte) {
	for _, s := range secrets {
		if len(s) < r.whole {
			continue
		}
		quoted := strconv.Quote(s) // which changes control characters; kube.CleanName, each %
		for _, form := range []string{s, quoted[1 : len(quoted)-1], strings.ReplaceAll(s, "%", "/")} {
			var v view
			v.resolve([]byte(form), true)
			if p := v.text; len(p) >= r.whole/2 && !slices.ContainsFunc(all, func(old []byte) bool { return bytes.Equal(old, p) }) {
				all = append(all, p)
			}
		}
	}
	return all
}

// span returns the part of b that text[start:end] is, the whole of a credential or its beginning.
func (r *rules) span(b []byte, v *view, start, end int, whole bool) (span, bool) {
	quote := func(i int) bool { // without a backslash
		unit := b[v.start(i):v.end(i+1)]
		run := backslashes(unit)
		return r.json && run%2 == 0 && string(unit[run:]) == `"`
	}
	if !whole {
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
	return span{v.start(start), v.end(end)}, true
}

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

// common returns how many bytes a and b begin with in common.
func common(a, b []byte) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}
