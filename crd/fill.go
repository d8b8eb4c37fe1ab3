package crd

import "cmp"

// fill does to v what a server does before it validates an object: it sets the defaults that v
// lacks, also in defaults, and drops nulls that are no values.
func (s *Schema) fill(v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, p := range s.Properties {
			if m, ok := v[name]; p.hasDefault() && (!ok || m == nil && !p.Nullable) {
				v[name], _ = decode(p.Default) // Validate reports what is no JSON
			}
		}
		for name, m := range v {
			switch p := cmp.Or(s.Properties[name], s.AdditionalProperties); {
			case p == nil:
			case m == nil && !p.Nullable:
				delete(v, name)
			default:
				p.fill(m)
			}
		}
	case []any:
		for i, e := range v {
			switch of := s.Items; {
			case of == nil:
			case e == nil && !of.Nullable && of.hasDefault():
				v[i], _ = decode(of.Default)
				of.fill(v[i])
			default:
				of.fill(e)
			}
		}
	}
}
