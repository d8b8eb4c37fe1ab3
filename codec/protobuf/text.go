package protobuf

import (
	"reflect"
	"unicode/utf8"
)

// string sets a string.
func (f *fastDecoder) string(v reflect.Value, b []byte, _ uint64) {
	if len(b) == 0 {
		return
	}
	if len(f.parts) >= maxStrings || len(f.text)+len(b) > shared {
		f.assignStrings()
	}
	f.part(b)
	f.later = append(f.later, filled{v, len(f.parts) - 1, len(f.parts)})
}

// part adds a string. A byte that is not UTF-8 becomes U+FFFD, as in the JSON of a
// server.
func (f *fastDecoder) part(b []byte) {
	if len(b) > short {
		f.parts = append(f.parts, part{own: text(b)})
		return
	}
	lo := len(f.text)
	if utf8.Valid(b) {
		f.text = append(f.text, b...)
	} else {
		f.text = append(f.text, text(b)...)
	}
	f.parts = append(f.parts, part{lo: lo, hi: len(f.text)})
}

// text returns b as a string with its own allocation.
func text(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return string([]rune(string(b)))
}

// assignStrings sets all deferred strings and maps.
func (f *fastDecoder) assignStrings() {
	if len(f.later) == 0 {
		return
	}
	text := string(f.text)
	of := func(p part) string {
		if p.own != "" {
			return p.own
		}
		return text[p.lo:p.hi]
	}
	for _, l := range f.later {
		if l.v.Kind() == reflect.String {
			l.v.SetString(of(f.parts[l.from]))
			continue
		}
		m := l.v.Addr().Interface().(*map[string]string)
		if *m == nil {
			*m = make(map[string]string, (l.to-l.from)/2)
		}
		for i := l.from; i < l.to; i += 2 {
			(*m)[of(f.parts[i])] = of(f.parts[i+1])
		}
	}
	clear(f.parts)
	clear(f.later)
	f.text, f.parts, f.later = f.text[:0], f.parts[:0], f.later[:0]
}
