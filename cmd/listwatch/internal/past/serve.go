package past

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/internal/target"
	"github.com/listwatch/listwatch/kube"
)

// Object is one of a moment.
type Object struct {
	Resource kube.Resource
	JSON     []byte // nil = the type, which has no objects
}

// Columns are those of custom resources, as far as they are known.
type Columns map[kube.Resource][]apitest.Column

// Left is an object that a server cannot have: one of another kind, for instance, which a
// server gave that is no real one.
type Left struct {
	resource kube.Resource
	key      kube.Key
	why      error
}

func (l Left) String() string {
	name := record.KubectlName(l.resource, kube.CleanName(l.key.Name))
	if l.key.Namespace != "" {
		name += " in " + kube.CleanName(l.key.Namespace)
	}
	return printable.Line(name + " is left out: " + printable.Cut(l.why.Error(), 200))
}

// of reports whether l could be one of a target.
func (l *Left) of(t target.Target) bool {
	return l.resource.GroupResource() == t.Resource.GroupResource() && (t.Namespace == "" || l.key.Namespace == "" || l.key.Namespace == t.Namespace)
}

// Serve starts a server with the objects of a time, to which the ages in its Tables count.
// They have the resourceVersions that they had then. It returns those that the server lacks.
func Serve(objects []Object, columns Columns, at time.Time, inMemory bool) (srv *apitest.Server, left []Left, err error) {
	srv, err = apitest.Start(apitest.Options{NoValidation: true, InMemory: inMemory, AgesAt: at, Revision: 1, Prepare: func(srv *apitest.Server) error {
		served := map[string]bool{}
		for _, o := range objects {
			if id := o.Resource.GroupResource(); !served[id] {
				served[id] = true
				srv.RemoveResource(o.Resource)
				srv.AddResource(apitest.ResourceInfo{Resource: o.Resource, Columns: columns[o.Resource], Defined: columns[o.Resource] != nil})
			}
		}
		put := map[string]bool{}
		for _, o := range inOrder(objects) {
			id := o.Resource.GroupResource() + " " + o.key.String()
			err := errTwice
			if !put[id] {
				err = o.put(srv)
			}
			if err != nil {
				left = append(left, Left{o.Resource, o.key, err})
				continue
			}
			put[id] = true
		}
		return nil
	}})
	return srv, left, err
}

var (
	errNoNamespace = errors.New("it has no namespace")
	errTwice       = errors.New("another object has its name")
	errNamespace   = errors.New("it has a namespace, and its type has none")
)

// put stores an object, unless no server can have it.
func (o *written) put(srv *apitest.Server) error {
	switch {
	case o.err != nil:
		return o.err
	case o.key.Namespace == "" && o.Resource.Namespaced:
		return errNoNamespace
	case o.key.Namespace != "" && !o.Resource.Namespaced:
		return errNamespace
	}
	if o.revision > 0 {
		srv.Advance(kube.Revision(strconv.FormatUint(o.revision-1, 10)))
	}
	_, err := srv.TryPut(o.Resource, o.JSON)
	return err
}

// written is an object and its revision, 0 = it is no number.
type written struct {
	Object
	key      kube.Key
	revision uint64
	err      error // its identity cannot be read, or is none
}

// inOrder returns those with JSON in the order of their revisions, in which a server gives
// them out.
func inOrder(objects []Object) []*written {
	var all []*written
	for _, o := range objects {
		if o.JSON == nil {
			continue
		}
		w := &written{Object: o}
		raw, err := codec.ParseRaw(o.JSON)
		if w.err = err; err == nil {
			w.key = kube.KeyOf(raw)
			w.err = kube.CheckIdentity(w.key, raw.GetUID(), kube.Revision(raw.GetResourceVersion()))
			if w.revision, err = strconv.ParseUint(raw.GetResourceVersion(), 10, 63); err != nil {
				w.revision = 0
			}
		}
		all = append(all, w)
	}
	slices.SortStableFunc(all, func(a, b *written) int {
		return cmp.Compare(cmp.Or(a.revision, math.MaxUint64), cmp.Or(b.revision, math.MaxUint64))
	})
	return all
}
