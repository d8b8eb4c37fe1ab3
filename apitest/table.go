package apitest

import (
	"fmt"
	"time"

	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/view"
	"github.com/listwatch/listwatch/kube"
)

// Table returns a Table as JSON, as the server would print obj: with all columns, those of -o wide
// too, and one row, which has the object. obj is an object of r, like the argument of Put. Ages
// count to at. Nothing is stored. It fails if the server does not serve r, or obj is not one of
// its objects.
func (s *Server) Table(r kube.Resource, obj any, at time.Time) ([]byte, error) {
	b, err := objectBytes(obj)
	if err != nil {
		return nil, fmt.Errorf("apitest: print %s: %w", r, err)
	}
	info := s.store.Form(r)
	if info == nil {
		return nil, fmt.Errorf("apitest: print %s: the server does not print it", r)
	}
	o, err := object.Parse(r, b)
	if err != nil {
		return nil, fmt.Errorf("apitest: print %s: %w", r, err)
	}
	o.Seal(info, 0)
	return view.Row(info, o, at), nil
}
