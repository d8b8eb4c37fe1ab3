package recording

import (
	"encoding/json"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/replay"
)

// Rows makes the rows of recorded objects. A recording has objects, not the rows in which
// the server printed them: the cells are those of a fake server, with the columns that the
// definitions of custom resources had at the start, or that definitions have which are
// recorded themselves.
type Rows struct {
	srv     *apitest.Server
	base    time.Time
	tried   map[kube.Resource]bool
	columns map[int]string // the last ones, by stream

	recorded map[kube.Resource][]apitest.Column // those that a definition had
}

// NewRows returns those of rec. The caller closes them.
func NewRows(rec *replay.Recording) (*Rows, error) {
	srv, err := apitest.Start(apitest.Options{InMemory: true, NoValidation: true})
	if err != nil {
		return nil, err
	}
	r := &Rows{srv: srv, base: rec.Header.TimeBase, tried: map[kube.Resource]bool{}, columns: map[int]string{}, recorded: map[kube.Resource][]apitest.Column{}}
	definitions := map[int]bool{} // streams
	for _, e := range rec.Entries {
		switch {
		case e.Kind == replay.KindStream:
			definitions[e.ID] = e.Target.Resource == kube.CustomResourceDefinitions
			r.recorded[e.Target.Resource] = e.Target.Columns
		case e.Kind == replay.KindEvent && definitions[e.ID]:
			if o, err := codec.ParseRaw(e.Object); err == nil && !r.tried[kube.Resource{Plural: o.GetName()}] {
				r.tried[kube.Resource{Plural: o.GetName()}] = true // the first state, until another one is played
				r.define(e.Object)
			}
		}
	}
	return r, nil
}

// Close ends the fake server.
func (r *Rows) Close() { r.srv.Close() }

// define has a type printed as its definition says.
func (r *Rows) define(object []byte) {
	var d struct {
		Metadata struct{ Name string }
		Spec     struct {
			Group string
			Names struct{ Plural string }
		}
	}
	_, err := r.srv.Table(kube.CustomResourceDefinitions, object, time.Time{})
	if err != nil || json.Unmarshal(object, &d) != nil || d.Spec.Group == kube.CustomResourceDefinitions.Group || d.Metadata.Name != d.Spec.Names.Plural+"."+d.Spec.Group {
		return // no server has accepted it
	}
	_, _ = r.srv.TryPut(kube.CustomResourceDefinitions, object) // as if it had not been recorded
}

// Of returns o, an object of res in a stream, as a Table of one row that has it. The first
// Table of a stream has the columns, a later one only if they have changed. Ages are those
// at the time since the recording began. What cannot be printed is returned as it is, and
// so are Tables.
func (r *Rows) Of(stream int, res kube.Resource, o codec.Raw, at time.Duration) codec.Raw {
	row, ok := r.row(stream, res, o, at)
	if !ok {
		delete(r.columns, stream)
		return o
	}
	return row
}

// row is Of; it returns false for what cannot be printed.
func (r *Rows) row(stream int, res kube.Resource, o codec.Raw, at time.Duration) (row codec.Raw, ok bool) {
	if o.GetKind() == "Table" {
		return o, false
	}
	object := []byte(o.JSON())
	if res == kube.CustomResourceDefinitions {
		r.define(object)
	}
	b, err := r.srv.Table(res, object, r.base.Add(at))
	if err != nil && res.Kind != "" && !r.tried[res] {
		r.tried[res] = true
		r.srv.RemoveResource(res) // another version of it
		r.srv.AddResource(apitest.ResourceInfo{Resource: res, Columns: r.recorded[res], Defined: r.recorded[res] != nil})
		b, err = r.srv.Table(res, object, r.base.Add(at))
	}
	if err != nil {
		return o, false
	}
	var t struct {
		ColumnDefinitions json.RawMessage
		Rows              []struct{ Cells json.RawMessage }
	}
	if json.Unmarshal(b, &t) != nil || len(t.Rows) != 1 {
		return o, false
	}
	columns := string(t.ColumnDefinitions)
	if columns == r.columns[stream] {
		columns = "null"
	} else {
		r.columns[stream] = columns
	}
	b = append(b[:0], `{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{},"columnDefinitions":`...)
	b = append(append(append(b, columns...), `,"rows":[{"cells":`...), t.Rows[0].Cells...)
	b = append(append(append(b, `,"object":`...), object...), "}]}"...)
	full, err := codec.ParseRawFull(b)
	if err != nil {
		return o, false
	}
	return full.Raw, true
}
