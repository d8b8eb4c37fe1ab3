package apitest

import (
	"fmt"
	"time"

	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/view"
	"github.com/listwatch/listwatch/kube"
)

// Table returns obj, an object of r in the form of the argument of Put, as the server
// prints it: as JSON of a Table with all columns, those of -o wide too, and one row that has
// the object. Ages count to at. Nothing is stored. It fails if the server does not serve r,
// and if obj is no object of it.
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
