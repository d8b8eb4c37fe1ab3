package live

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/listwatch/listwatch/internal/filter"
	"github.com/listwatch/listwatch/internal/jq"
	"github.com/listwatch/listwatch/internal/print"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/internal/record"
)

// query is what rows must match: an expression of --where.
type query struct {
	text  string
	holds func(map[string]any) (bool, error) // nil = every row matches

	failed int    // rows for which it fails, and which do not match
	why    string // of one of them
}

// word is what nobody types as an expression: it selects by name.
var word = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// parseQuery returns the query of text, or what is wrong with it. A word that is no
// expression stands for one.
func parseQuery(text string) (q query, problem string) {
	if text = strings.TrimSpace(text); text == "" {
		return query{}, ""
	}
	var w filter.Criteria
	err := w.Compile([]string{text}, nil)
	if err != nil && word.MatchString(text) {
		text = fmt.Sprintf(".metadata.name | contains(%q)", text)
		err = nil
	}
	q.text = text
	if err == nil {
		q.holds, err = jq.Condition(text)
	}
	if err != nil { // names the flag and the text, which stands beside it
		return query{}, printable.Line(strings.TrimPrefix(err.Error(), fmt.Sprintf("--where %q: ", printable.Clip(text))))
	}
	return q, ""
}

// selects reports whether row matches the query.
func (b *board) selects(row *liveRow) bool {
	if row.failed {
		b.query.failed--
	}
	row.failed = false
	if b.query.holds == nil || row.gone {
		return !row.gone
	}
	m, err := record.MapOf(&row.last, b.format.Redact)
	holds := false
	if err == nil {
		holds, err = b.query.holds(m)
	}
	if err != nil {
		row.failed, b.query.why = true, printable.Clip(printable.Line(err.Error()))
		b.query.failed++
	}
	return holds && err == nil
}

// filter shows only the rows that match q.
func (b *board) filter(q query) {
	if q.text == b.query.text {
		return
	}
	b.query = q
	for _, s := range b.sections {
		for _, row := range s.rows {
			row.failed = false
		}
	}
	b.again()
}

// write edits what is typed after /. The query changes with Enter, if there is nothing
// wrong with it.
func (b *board) write(key, typed string) {
	switch key {
	case "enter":
		if q, problem := parseQuery(b.typed); problem == "" {
			b.typing = false
			b.filter(q)
		}
	case "esc":
		b.typing = false
	case "backspace", "ctrl+h":
		if r := []rune(b.typed); len(r) > 0 {
			b.typed = string(r[:len(r)-1])
		}
	case "ctrl+u":
		b.typed = ""
	case "ctrl+w":
		b.typed = b.typed[:strings.LastIndexByte(strings.TrimRight(b.typed, " "), ' ')+1]
	default:
		if len(b.typed)+len(typed) <= maxTyped {
			b.typed += strings.Map(func(r rune) rune {
				if printable.Unsafe(r) {
					return -1
				}
				return r
			}, typed)
		}
	}
}

// maxTyped is how many bytes may be typed.
const maxTyped = 4096

// prompt returns the lines of what is typed, with what is wrong with it, in at most so
// many lines. The end of what is typed is seen.
func (b *board) prompt(width, most int) []string {
	text := "/" + b.typed + "_"
	if over := print.DisplayWidth(text) - width; over > 0 {
		text, _ = dropTo(text, over+1)
		text = "…" + text
	}
	lines := []string{clipTo(text, width)}
	if most < 2 {
		return lines
	}
	q, problem := parseQuery(b.typed)
	switch {
	case problem != "":
		for _, l := range wrapTo(problem, width, most-1) {
			lines = append(lines, b.shade(l, red))
		}
	case q.text != strings.TrimSpace(b.typed):
		lines = append(lines, clipTo("Enter filters by "+q.text+"; Esc leaves the filter as it is", width))
	default:
		lines = append(lines, clipTo("an expression of jq, as for --where, or a part of a name; Enter filters, Esc leaves the filter as it is", width))
	}
	return lines
}

// stepTime ends a step of work: an expression may take long for each row.
const stepTime = 50 * time.Millisecond
