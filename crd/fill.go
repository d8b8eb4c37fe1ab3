package crd

import "cmp"

// maxFilled limits the values that one default makes: defaults of nested lists multiply them.
const maxFilled = 10_000

// fill does to v what a server does before it validates an object: it sets the defaults that v
// lacks, also in defaults, and drops nulls that are no values. It reports whether no default makes
// more than maxFilled values; v is incomplete if one does.
func (s *Schema) fill(v any) bool {
	var f filler
	f.value(s, v)
	return f.made <= maxFilled
}

type filler struct {
	within int // defaults around
	made   int // values of the outermost of them, or of the last one
}

func (f *filler) value(s *Schema, v any) {
	if f.within > 0 {
		f.made++
	}
	if f.made > maxFilled {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		for name, m := range v {
			switch p := cmp.Or(s.Properties[name], s.AdditionalProperties); {
			case p == nil:
			case m != nil || p.Nullable:
				f.value(p, m)
			case p.hasDefault():
				v[name] = f.byDefault(p)
			default:
				delete(v, name)
			}
		}
		for name, p := range s.Properties {
			if _, ok := v[name]; !ok && p.hasDefault() {
				v[name] = f.byDefault(p)
			}
		}
	case []any:
		for i, e := range v {
			switch of := s.Items; {
			case of == nil:
			case e == nil && !of.Nullable && of.hasDefault():
				v[i] = f.byDefault(of)
			default:
				f.value(of, e)
			}
		}
	}
}

// byDefault returns the default of s with those of its members.
func (f *filler) byDefault(s *Schema) any {
	if f.made > maxFilled {
		return nil
	}
	if f.within == 0 {
		f.made = 0
	}
	v, _ := decode(s.Default) // Validate reports what is no JSON
	f.within++
	f.value(s, v)
	f.within--
	return v
}
