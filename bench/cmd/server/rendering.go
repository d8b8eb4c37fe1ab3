package main

import "sync"

// mostHeld is how many bytes of a rendering are held. Of a larger one each piece
// is rendered when it is sent.
const mostHeld = 3 << 30

// rendering is all objects with what stands around each.
type rendering struct {
	render func(lo, hi int) arena
	held   func() arena // nil = too many bytes
}

// slice returns objects lo to hi-1, without a gap.
func (r rendering) slice(lo, hi int) []byte {
	if r.held == nil {
		return r.render(lo, hi).bytes
	}
	a := r.held()
	return a.bytes[a.start[lo]:a.start[hi]]
}

// arena holds many pieces without a gap: the i-th begins at start[i].
type arena struct {
	bytes []byte
	start []int
}

// rendering returns the one in which add appends an object of a variant.
func (s *stock) rendering(add func(dst []byte, variant int, obj []byte) []byte) rendering {
	most := 0 // bytes of an object
	for v, t := range s.templates {
		most = max(most, t.Len()+len(s.added[v].head)+len(s.added[v].tail)+16)
	}
	r := rendering{render: func(lo, hi int) arena {
		a := arena{bytes: make([]byte, 0, most*(hi-lo)), start: make([]int, 1, hi-lo+1)}
		var obj []byte
		for i := lo; i < hi; i++ {
			v := variant(i)
			obj = s.templates[v].Append(obj[:0], i, s.n, base+1+int64(i))
			a.bytes = add(a.bytes, v, obj)
			a.start = append(a.start, len(a.bytes))
		}
		return a
	}}
	if most*s.n <= mostHeld {
		r.held = sync.OnceValue(func() arena { return r.render(0, s.n) })
	}
	return r
}
