package main

import (
	"bytes"

	"github.com/listwatch/listwatch/codec"
)

// ndjsonEncoder prints one record a line, version 1:
//
//	{"v":1,"seq":1,"time":"...Z","type":"ADDED","resource":"pods","apiVersion":"v1","kind":"Pod",
//	 "namespace":"d","name":"a","uid":"...","rv":"8812","initial":true,"synthetic":"","object":{...}}
//
// Members may be added, never changed. An object is printed as the server sent
// it, member for member.
type ndjsonEncoder struct {
	format *format
	past   past
	seq    int64
}

type ndjsonHead struct {
	V          int    `json:"v"`
	Seq        int64  `json:"seq"`
	Time       string `json:"time"`
	Type       string `json:"type"`
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

func (e *ndjsonEncoder) encode(b []byte, r *record) ([]byte, error) {
	head := ndjsonHead{
		V: 1, Seq: e.seq + 1, Time: r.time.UTC().Format(ndjsonTime), Type: r.Type,
		Resource: r.resource.GroupResource(), APIVersion: r.resource.APIVersion(), Kind: r.resource.Kind,
		Namespace: r.id.Namespace, Name: r.id.Name, UID: r.id.UID, RV: r.id.ResourceVersion,
	}
	detail := r.detail
	var object []byte
	if r.isObject() {
		detail = ndjsonObject{r.initial, r.synthetic, r.last, r.unmatched}
		var err error
		if object, err = rawObject(r, e.format.redact); err != nil {
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
	if e.format.showOld && r.old.GetName() != "" {
		before := *r
		before.object = r.old
		if old, err = rawObject(&before, e.format.redact); err != nil {
			return b, err
		}
	}
	e.seq++
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
func (e *ndjsonEncoder) patch(r *record) ([]byte, error) {
	if e.format.diff.style == "" {
		return nil, nil
	}
	old, ok := e.past.of(r)
	if !ok {
		return nil, nil
	}
	before, now, err := e.format.pair(r, old)
	if err != nil {
		return nil, err
	}
	return patchOf(e.format.diff.style, before, now)
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

func (e *ndjsonEncoder) flush(b []byte) []byte        { return b }
func (e *ndjsonEncoder) end(b []byte) ([]byte, error) { return b, nil }
