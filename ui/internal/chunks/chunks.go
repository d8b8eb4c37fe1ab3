// Package chunks has long lists of which the beginning is freed while the end grows.
package chunks

import (
	"iter"
	"slices"
)

// Size is how many elements are allocated at once, and freed.
const Size = 256

// List is a list in chunks. None of them is empty. Elements are never changed, so that a
// Clone has what the list had.
type List[T any] [][]T

// Append appends an element.
func (l *List[T]) Append(v T) {
	end := len(*l) - 1
	if end < 0 || len((*l)[end]) == cap((*l)[end]) {
		*l, end = append(*l, make([]T, 0, Size)), end+1
	}
	(*l)[end] = append((*l)[end], v)
}

// First returns the first element of a list that is not empty.
func (l List[T]) First() *T { return &l[0][0] }

// Drop removes the first element of a list that is not empty.
func (l *List[T]) Drop() {
	if (*l)[0] = (*l)[0][1:]; len((*l)[0]) == 0 {
		*l = slices.Delete(*l, 0, 1)
	}
}

// Clone returns the list as it is now.
func (l List[T]) Clone() List[T] { return slices.Clone(l) }

// Last returns the last n elements, or all if there are less, as they are now.
func (l List[T]) Last(n int64) List[T] {
	var list List[T]
	for _, c := range slices.Backward(l) {
		if n <= 0 {
			break
		}
		c = c[max(0, int64(len(c))-n):]
		list, n = append(list, c), n-int64(len(c))
	}
	slices.Reverse(list)
	return list
}

// All yields the elements from the first to the last.
func (l List[T]) All() iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for _, c := range l {
			for i := range c {
				if !yield(&c[i]) {
					return
				}
			}
		}
	}
}

// Backward yields the elements from the last to the first.
func (l List[T]) Backward() iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for _, c := range slices.Backward(l) {
			for i := range slices.Backward(c) {
				if !yield(&c[i]) {
					return
				}
			}
		}
	}
}
