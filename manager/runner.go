package manager

import (
	"fmt"
	"reflect"
	"slices"
)

// isNil reports whether v, in an interface, is a nil pointer or function.
func isNil(v any) bool {
	r := reflect.ValueOf(v)
	return (r.Kind() == reflect.Pointer || r.Kind() == reflect.Func) && r.IsNil()
}

// enter notes that the part with a name runs, until the function that it returns is called.
func (m *Manager) enter(name string) (left func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.busy[name]++
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.busy[name]--; m.busy[name] == 0 {
			delete(m.busy, name)
		}
	}
}

// left returns the names of the parts that still run.
func (m *Manager) left() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var names []string
	for name, n := range m.busy {
		if n > 1 {
			name = fmt.Sprintf("%d of %s", n, name)
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
