package apitest

import (
	"net/http"

	"github.com/listwatch/listwatch/apitest/internal/kinds"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/store"
	"github.com/listwatch/listwatch/apitest/internal/view"
	"github.com/listwatch/listwatch/apitest/internal/wire"
	"github.com/listwatch/listwatch/kube"
)

func (s *Server) create(x *Exchange, w http.ResponseWriter, v *view.View) *kube.Status {
	if _, st := bodyType(x, wire.TypeJSON, wire.TypeYAML); st != nil {
		return st
	}
	opts, st := parseWriteOptions(x, "CreateOptions", wire.TypeJSON)
	if st != nil {
		return st
	}
	b, st := readBody(x, wire.TypeJSON, wire.TypeYAML)
	if st != nil {
		return st
	}
	c := s.change(x, opts, creates)
	c.next = func(*object.Object) (*object.Object, *kube.Status) { return c.decode(b) }
	return c.answer(w, v, http.StatusCreated)
}

func (s *Server) update(x *Exchange, w http.ResponseWriter, v *view.View) *kube.Status {
	opts, st := parseWriteOptions(x, "UpdateOptions", wire.TypeJSON)
	if st != nil {
		return st
	}
	b, st := readBody(x, wire.TypeJSON, wire.TypeYAML)
	if st != nil {
		return st
	}
	c := s.change(x, opts, updates)
	if x.target.sub == "scale" {
		c.next = func(old *object.Object) (*object.Object, *kube.Status) { return c.scaled(old, b.json) }
		return c.answer(w, v, http.StatusOK)
	}
	if kinds.StrategyOf(x.target.info).Upserts && x.target.sub == "" {
		c.mode = upserts
	}
	o, st := c.decode(b) // its errors precede those of a missing object
	if st != nil {
		c.warn(w)
		return st
	}
	rv := o.Meta.ResourceVersion
	c.next = func(*object.Object) (*object.Object, *kube.Status) {
		if _, err := store.ParseRevision(rv); err != nil {
			return nil, wire.Raw("%v", err)
		}
		if first := o; first != nil {
			o = nil
			return first, nil
		}
		return c.decode(b)
	}
	return c.answer(w, v, http.StatusOK)
}

// warn sends the warnings. Several attempts may have had the same.
func (c *change) warn(w http.ResponseWriter) { wire.Warn(w.Header(), c.warnings...) }

// answer runs the change and sends the result.
func (c *change) answer(w http.ResponseWriter, v *view.View, code int) *kube.Status {
	o, created, st := c.run()
	c.warn(w)
	if st != nil {
		return st
	}
	if created {
		code = http.StatusCreated
	}
	body := v.Object(o)
	if c.target.sub == "scale" {
		body = v.Scale(o)
	}
	v.Send(w, code, append(body, '\n'))
	return nil
}
