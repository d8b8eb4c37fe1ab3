package discovery

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/internal/clip"
)

// AmbiguousError means that several groups serve a name and none has precedence.
type AmbiguousError struct {
	Name       string
	Candidates []Resource // in the server's order
}

// Error lists unambiguous names.
func (e *AmbiguousError) Error() string {
	var list []string
	for _, r := range e.Candidates {
		list = append(list, r.GroupResource())
	}
	return fmt.Sprintf("%q may be any of %s: say which", clip.Text(e.Name, 200), some(list))
}

// UnknownError means that the server has no resource of a name.
type UnknownError struct {
	Name        string
	Suggestions []string // similar names, the most similar first
	Broken      []string // group versions that could not be read and may contain it
	Cause       error    // why the first of Broken could not be read
}

// Error suggests similar names and how to list all names, or says what could not be read.
func (e *UnknownError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "the server has no resource type %q", clip.Text(e.Name, 200))
	if len(e.Suggestions) > 0 {
		fmt.Fprintf(&b, "; did you mean %s?", strings.Join(e.Suggestions, " or "))
	} else if len(e.Broken) == 0 {
		b.WriteString(`; "kubectl api-resources" lists those it has`)
	}
	if len(e.Broken) > 0 {
		fmt.Fprintf(&b, " (it could not list the groups %s", some(e.Broken))
		if e.Cause != nil {
			fmt.Fprintf(&b, "; %s: %s", e.Broken[0], clip.Text(e.Cause.Error(), 300))
		}
		b.WriteString(")")
	}
	return b.String()
}

// some joins at most 10 elements of a list.
func some(list []string) string {
	const most = 10
	if n := len(list) - most; n > 0 {
		list = append(slices.Clip(list[:most]), fmt.Sprintf("%d more", n))
	}
	return strings.Join(list, ", ")
}

const maxSuggestions = 3

// unknown returns the error for name, whose first part is base.
func (a *API) unknown(name, base string) error {
	e := &UnknownError{Name: name, Broken: slices.Sorted(maps.Keys(a.broken))}
	if len(e.Broken) > 0 {
		e.Cause = a.broken[e.Broken[0]]
	}
	type near struct {
		distance int
		text     string
	}
	var found []near
	for _, r := range a.resources {
		d := tooFar
		for _, known := range append([]string{r.Plural, r.Singular, r.Kind}, r.ShortNames...) {
			// Two edits of three letters make another word.
			if n := distance(base, strings.ToLower(known)); 2*n <= min(len(base), len(known)) {
				d = min(d, n)
			}
		}
		if d == tooFar || base == "" {
			continue
		}
		text := r.GroupResource()
		if d == 0 {
			text = r.String() // the name exists in another group or version
		}
		found = append(found, near{d, text})
	}
	slices.SortStableFunc(found, func(x, y near) int { return cmp.Compare(x.distance, y.distance) })
	for _, n := range found {
		if len(e.Suggestions) < maxSuggestions && !slices.Contains(e.Suggestions, n.text) {
			e.Suggestions = append(e.Suggestions, n.text)
		}
	}
	return e
}

const tooFar = 3

// distance returns the number of single-byte edits between a and b, at most tooFar.
func distance(a, b string) int {
	if len(a)-len(b) >= tooFar || len(b)-len(a) >= tooFar {
		return tooFar
	}
	prev, row := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			edit := prev[j]
			if a[i] != b[j] {
				edit++
			}
			row[j+1] = min(edit, prev[j+1]+1, row[j]+1)
		}
		prev, row = row, prev
	}
	return min(prev[len(b)], tooFar)
}
