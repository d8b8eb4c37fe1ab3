package compare

// Align returns old with the elements of its lists in the order of those of now,
// where they are matched by keys, so that a text of both shows changes only.
func Align(old, now any) any {
	switch old := old.(type) {
	case map[string]any:
		now, ok := now.(map[string]any)
		if !ok {
			return old
		}
		m := make(map[string]any, len(old))
		for k, v := range old {
			m[k] = Align(v, now[k])
		}
		return m
	case []any:
		now, ok := now.([]any)
		if !ok {
			return old
		}
		keys := keysOf(old, now)
		if keys == nil {
			return old
		}
		before, after := byKey(old, keys), byKey(now, keys)
		list := make([]any, 0, len(old))
		next := 0        // of old
		gone := func() { // keep their place
			for ; next < len(old); next++ {
				id := identity(old[next], keys)
				if after[id] == nil {
					list = append(list, old[next])
				} else if before[id] != nil { // not moved yet
					return
				}
			}
		}
		for _, e := range now {
			gone()
			id := identity(e, keys)
			if e, was := before[id]; was {
				list = append(list, Align(e, after[id]))
				delete(before, id)
			}
		}
		gone()
		return list
	}
	return old
}
