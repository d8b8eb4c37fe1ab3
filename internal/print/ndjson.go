package print

import (
	"bytes"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/record"
)

// NdjsonEncoder prints one record a line, version 1:
//
//	{"v":1,"seq":1,"time":"...Z","type":"ADDED","resource":"pods","apiVersion":"v1","kind":"Pod",
//	 "namespace":"d","name":"a","uid":"...","rv":"8812","initial":true,"synthetic":"","object":{...}}
//
// Members may be added, never changed. An object is printed as the server sent
// it, member for member.
type NdjsonEncoder struct {
	Format *Format
	past   past
	Seq    int64
}

type ndjsonHead struct {
	V          int    `json:"v"`
	Seq        int64  `json:"seq"`
	Time       string `json:"time"`
	Type       string `json:"type"`
	Cluster    string `json:"cluster,omitempty"`
	Resource   string `json:"resource"`
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
	UID        string `json:"uid"`
	RV         string `json:"rv"`
}

type ndjsonObject struct {
	Initial           bool   `json:"initial"`
	Synthetic         string `json:"synthetic"`
	FinalStateUnknown bool   `json:"finalStateUnknown,omitempty"`
	Unmatched         bool   `json:"unmatched,omitempty"`
}

const ndjsonTime = "2006-01-02T15:04:05.000Z"

func (e *NdjsonEncoder) Encode(b []byte, r *record.Record) ([]byte, error) {
	head := ndjsonHead{
		V: 1, Seq: e.Seq + 1, Time: r.Time.UTC().Format(ndjsonTime), Type: r.Type,
		Cluster: r.Cluster, Resource: r.Resource.GroupResource(), APIVersion: r.Resource.APIVersion(), Kind: r.Resource.Kind,
		Namespace: r.ID.Namespace, Name: r.ID.Name, UID: r.ID.UID, RV: r.ID.ResourceVersion,
	}
	detail := r.Detail
	var object []byte
	if r.IsObject() {
		detail = ndjsonObject{r.Initial, r.Synthetic, r.Last, r.Unmatched}
		var err error
		if object, err = record.RawObject(r, e.Format.Redact); err != nil {
			return b, err
		}
	}
	line, err := members(head, detail)
	if err != nil {
		return b, err
	}
	patch, err := e.patch(r)
	if err != nil {
		return b, err
	}
	var old []byte
	if e.Format.ShowOld && r.Old.GetName() != "" {
		before := *r
		before.Object = r.Old
		if old, err = record.RawObject(&before, e.Format.Redact); err != nil {
			return b, err
		}
	}
	e.Seq++
	b = append(b, line...)
	if patch != nil {
		b = append(append(b, `,"patch":`...), patch...)
	}
	if old != nil {
		b = append(append(b, `,"old":`...), old...)
	}
	if object != nil {
		b = append(append(b, `,"object":`...), object...)
	}
	return append(b, "}\n"...), nil
}

// patch returns member patch of --diff, nil where there is none.
func (e *NdjsonEncoder) patch(r *record.Record) ([]byte, error) {
	if e.Format.Diff.style == "" {
		return nil, nil
	}
	old, ok := e.past.of(r)
	if !ok {
		return nil, nil
	}
	before, now, err := e.Format.pair(r, old)
	if err != nil {
		return nil, err
	}
	return patchOf(e.Format.Diff.style, before, now)
}

// members returns the members of both values as one object that is not closed.
func members(head, detail any) ([]byte, error) {
	b, err := codec.Encode(head)
	if err != nil {
		return nil, err
	}
	b = bytes.TrimSuffix(b, []byte("}"))
	if detail == nil {
		return b, nil
	}
	d, err := codec.Encode(detail)
	if err != nil {
		return nil, err
	}
	b = append(append(b, ','), d[1:len(d)-1]...)
	return b, nil
}

func (e *NdjsonEncoder) Flush(b []byte) []byte        { return b }
func (e *NdjsonEncoder) End(b []byte) ([]byte, error) { return b, nil }
