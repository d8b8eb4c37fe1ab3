package crd

import "cmp"

// fill does to v what a server does before it validates an object: it sets the defaults that v
// lacks, also in defaults, and drops nulls that are no values.
func (s *Schema) fill(v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, m := range v {
			switch p := cmp.Or(s.Properties[name], s.AdditionalProperties); {
			case p == nil:
			case m != nil || p.Nullable:
				p.fill(m)
			case p.hasDefault():
				v[name] = p.made()
			default:
				delete(v, name)
			}
		}
		for name, p := range s.Properties {
			if _, ok := v[name]; !ok && p.hasDefault() {
				v[name] = p.made()
			}
		}
	case []any:
		for i, e := range v {
			switch of := s.Items; {
			case of == nil:
			case e == nil && !of.Nullable && of.hasDefault():
				v[i] = of.made()
			default:
				of.fill(e)
			}
		}
	}
}

// made returns the default of s with those of its members.
func (s *Schema) made() any {
	v, _ := decode(s.Default) // Validate reports what is no JSON
	s.fill(v)
	return v
}
