package codec

import "strings"

// item consumes an item, sets the mark at its start, and adds the kind if neither it
// nor a member has one.
func (l *items) item() ([]byte, error) {
	w := l.w
	if c, _ := w.peek(); c != '{' || l.prefix == nil {
		_, err := w.value()
		return w.held(), err
	}
	w.pos++
	named, empty := false, true
	for first := true; ; first = false {
		more, err := w.more('}', first)
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
		empty = false
		key, err := w.key()
		if err != nil {
			return nil, err
		}
		named = named || string(key) == "kind" || string(key) == "apiVersion"
		if _, err := w.value(); err != nil {
			return nil, err
		}
	}
	if named {
		return w.held(), nil
	}
	l.reuse(len(w.held()))
	l.out = append(l.out, l.prefix...)
	if !empty {
		l.out = append(l.out, ',')
	}
	l.out = append(l.out, w.held()[1:]...)
	return l.out, nil
}

// row consumes a row of a Table, and sets the mark at its start.
func (l *items) row() ([]byte, error) {
	if _, err := l.w.value(); err != nil {
		return nil, err
	}
	l.reuse(len(l.w.held()) + len(l.columns))
	l.out = append(l.out, l.prefix...)
	if l.columns == nil {
		l.out = append(l.out, "null"...) // as in the later events of a WATCH
	}
	l.out = append(l.out, l.columns...)
	l.columns = nil
	l.out = append(l.out, `,"rows":[`...)
	l.out = append(l.out, l.w.held()...)
	return append(l.out, `]}`...), nil
}

// tooLarge skips the item at the mark, which exceeds the limit, and returns its
// *ItemError, or why the list cannot continue.
func (l *items) tooLarge(limit *LimitError) error {
	w := l.w
	id := l.identify(w.buf[w.mark:min(w.mark+w.max, len(w.buf))]) // however much has arrived after it
	if id.Name == "" {
		return limit
	}
	w.pos = w.mark
	w.release()
	from := w.offset()
	if _, err := w.value(); err != nil {
		return err
	}
	return &ItemError{Identity: id.clean(), Size: int(w.offset() - from), Err: limit}
}

// identify reads the identity from the start of an item or row, as Skim would read it
// from the yielded item.
func (l *items) identify(start []byte) Identity {
	var (
		o   outline
		ids [parts]span
	)
	table := l.meta.Kind == "Table"
	if table {
		o.row(&parser{b: start}, &ids)
	} else {
		_ = o.read(start) // it is truncated
		ids = o.ids
	}
	id := identity(start, ids)
	switch {
	case table:
		id.Kind, id.APIVersion = l.meta.Kind, l.meta.APIVersion
	case l.prefix != nil && id.Kind == "" && id.APIVersion == "":
		id.Kind, id.APIVersion = strings.TrimSuffix(l.meta.Kind, "List"), l.meta.APIVersion
	}
	return id
}

// reuse empties out, and releases it if it is much too large.
func (l *items) reuse(need int) {
	if cap(l.out) > keepAtEnd && need < cap(l.out)/8 {
		l.out = nil
	}
	l.out = l.out[:0]
}

// typeMeta returns the start of an object with kind and apiVersion.
func typeMeta(kind, apiVersion string) []byte {
	b, err := Encode(struct {
		Kind       string `json:"kind"`
		APIVersion string `json:"apiVersion"`
	}{kind, apiVersion})
	if err != nil { // two strings can always be encoded
		return []byte(`{"kind":""`)
	}
	return b[:len(b)-1]
}
