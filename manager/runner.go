package manager

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// isNil reports whether v, in an interface, is a nil pointer or function.
func isNil(v any) bool {
	r := reflect.ValueOf(v)
	return (r.Kind() == reflect.Pointer || r.Kind() == reflect.Func) && r.IsNil()
}

// busy is a part that has not returned yet, and the context by which it is asked to.
type busy struct {
	name string
	ctx  context.Context
}

// enter notes that the part with a name runs, until the function that it returns is called.
func (m *Manager) enter(ctx context.Context, name string) (left func()) {
	b := &busy{name, ctx}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.busy[b] = true
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.busy, b)
	}
}

// left names the parts that still run: those that were asked to stop, and those that wait until
// these have stopped.
func (m *Manager) left() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	asked, waiting := make(map[string]int), make(map[string]int)
	for b := range m.busy {
		if b.ctx.Err() != nil {
			asked[b.name]++
		} else {
			waiting[b.name]++
		}
	}
	switch {
	case len(waiting) == 0:
		return counted(asked)
	case len(asked) == 0: // the last one has just stopped
		return counted(waiting)
	}
	return counted(asked) + "; waiting for that: " + counted(waiting)
}

// counted lists names, with their numbers.
func counted(parts map[string]int) string {
	var names []string
	for name, n := range parts {
		if n > 1 {
			name = fmt.Sprintf("%d of %s", n, name)
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
