package schema

// managed writes metadata.managedFields: with the members of entries in the order of
// Go's struct, of built-in types, or sorted.
func (e *encoder) managed(m *managed, builtIn bool) {
	e.b = append(e.b, '[')
	for i, entry := range m.entries() {
		if i > 0 {
			e.b = append(e.b, ',')
		}
		e.b = append(e.b, '{')
		text := func(name, v string) {
			if e.b[len(e.b)-1] != '{' {
				e.b = append(e.b, ',')
			}
			e.string("", name)
			e.b = append(e.b, ':')
			e.string("", v)
		}
		fields := func() {
			text("fieldsType", "FieldsV1")
			e.b = append(e.b, `,"fieldsV1":`...)
			if s, ok := entry.set.(*writtenSet); ok && s.json != nil {
				e.b = append(e.b, s.json...)
			} else {
				e.set(entry.set.Set(), false)
			}
		}
		at := func() {
			if entry.time != "" {
				text("time", entry.time)
			}
		}
		subresource := func() {
			if entry.Subresource != "" {
				text("subresource", entry.Subresource)
			}
		}
		if builtIn {
			if entry.Manager != "" {
				text("manager", entry.Manager)
			}
			text("operation", entry.Operation)
			text("apiVersion", entry.APIVersion)
			at()
			fields()
			subresource()
		} else {
			text("apiVersion", entry.APIVersion)
			fields()
			text("manager", entry.Manager)
			text("operation", entry.Operation)
			subresource()
			at()
		}
		e.b = append(e.b, '}')
	}
	e.b = append(e.b, ']')
}

// plain reports whether s stands for itself in JSON.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			return false
		}
	}
	return true
}
