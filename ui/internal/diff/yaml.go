package diff

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// YAML prints an object in kubectl's layout: names sorted, two spaces, lists not
// indented. What is above limit bytes is cut at the end of a line, and truncated true.
func YAML(v map[string]any, limit int) (text string, truncated bool) {
	p := &printer{limit: limit}
	p.object(v, 0)
	if p.b.Len() <= limit {
		return p.b.String(), false
	}
	return p.b.String()[:strings.LastIndexByte(p.b.String()[:limit], '\n')+1], true
}

type printer struct {
	b     strings.Builder
	limit int
}

// full: nothing that follows is shown, nor is more of this depth.
func (p *printer) full(indent int) bool { return p.b.Len() > p.limit || indent > 2*maxDepth }

func (p *printer) object(m map[string]any, indent int) {
	for i, k := range slices.Sorted(maps.Keys(m)) {
		if p.full(0) {
			return
		}
		if i > 0 || indent == 0 {
			p.space(indent)
		}
		p.b.WriteString(scalar(k))
		p.b.WriteByte(':')
		p.member(m[k], indent)
	}
}

func (p *printer) space(n int) {
	for range n {
		p.b.WriteByte(' ')
	}
}

// member prints what stands behind a name.
func (p *printer) member(v any, indent int) {
	switch v := v.(type) {
	case map[string]any:
		if len(v) > 0 && !p.full(indent) {
			p.b.WriteByte('\n')
			p.space(indent + 2)
			p.object(v, indent+2)
			return
		}
	case []any:
		if len(v) > 0 && !p.full(indent) {
			p.b.WriteByte('\n')
			p.list(v, indent)
			return
		}
	case string:
		if literal(v) {
			p.literal(v, indent+2)
			return
		}
	}
	p.b.WriteByte(' ')
	p.b.WriteString(scalar(v))
	p.b.WriteByte('\n')
}

func (p *printer) list(l []any, indent int) {
	for _, e := range l {
		if p.full(0) {
			return
		}
		p.space(indent)
		p.b.WriteByte('-')
		if m, ok := e.(map[string]any); ok && len(m) > 0 && !p.full(indent) {
			p.b.WriteByte(' ')
			p.object(m, indent+2)
			continue
		}
		if inner, ok := e.([]any); ok && len(inner) > 0 {
			p.b.WriteString(" " + flow(inner) + "\n") // a list of lists is rare
			continue
		}
		p.member(e, indent)
	}
}

// literal reports whether s has lines that a block shows as they are.
func literal(s string) bool {
	if !strings.Contains(s, "\n") || strings.HasPrefix(s, " ") || strings.HasPrefix(s, "\n") || strings.HasSuffix(s, "\n\n") {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool { return r != '\n' && special(r) })
}

func special(r rune) bool {
	return r < ' ' || r >= 0x7f && r <= 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xfeff || r == 0xfffd || r >= 0xd800 && r < 0xe000 || r > 0xffff
}

func (p *printer) literal(s string, indent int) {
	head := " |-\n"
	if t, ok := strings.CutSuffix(s, "\n"); ok {
		s, head = t, " |\n"
	}
	p.b.WriteString(head)
	for line := range strings.SplitSeq(s, "\n") {
		if line != "" {
			p.space(indent)
		}
		p.b.WriteString(line + "\n")
	}
}

// plain strings mean themselves without quotes; words are those that mean something else.
var (
	plain = regexp.MustCompile(`^[A-Za-z_/][A-Za-z0-9_./@+-]*(:[A-Za-z0-9_./@+-]+)*( [A-Za-z0-9_./@+(),-]+)*$`)
	words = map[string]bool{"true": true, "false": true, "null": true, "yes": true, "no": true, "on": true, "off": true, "y": true, "n": true}
)

func scalar(v any) string {
	switch v := v.(type) {
	case string:
		if plain.MatchString(v) && !words[strings.ToLower(v)] {
			return v
		}
	case json.Number:
		return v.String()
	}
	return flow(v)
}

// flow is v as JSON, which is YAML too, but for characters that YAML does not take as
// they are.
func flow(v any) string {
	var b strings.Builder
	for _, r := range string(encode(v)) {
		if special(r) && r <= 0xffff {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
