package events

import "container/list"

// lru is a map that drops the least recently used entry.
type lru[K comparable, V any] struct {
	size  int
	at    map[K]*list.Element
	order *list.List // of *entry[K, V], the most recently used at the front
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

func newLRU[K comparable, V any](size int) *lru[K, V] {
	return &lru[K, V]{size: size, at: make(map[K]*list.Element), order: list.New()}
}

// get returns the value of k; fresh makes a missing one.
func (l *lru[K, V]) get(k K, fresh func() V) V {
	if el, ok := l.at[k]; ok {
		l.order.MoveToFront(el)
		return el.Value.(*entry[K, V]).value
	}
	v := fresh()
	l.at[k] = l.order.PushFront(&entry[K, V]{k, v})
	if l.order.Len() > l.size {
		last := l.order.Remove(l.order.Back()).(*entry[K, V])
		delete(l.at, last.key)
	}
	return v
}
