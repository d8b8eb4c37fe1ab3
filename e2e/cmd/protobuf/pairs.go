package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// wire is what all types of the table can do.
type wire interface {
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
	Reset()
}

// encode returns what a client sends for o, a pointer to an object of kind k, and
// the JSON of what a server makes of that.
func (k kind) encode(o reflect.Value) (sent, text []byte, err error) {
	raw, err := o.Interface().(wire).Marshal()
	if err != nil {
		return nil, nil, err
	}
	if sent, err = k.envelope(raw); err != nil {
		return nil, nil, err
	}
	text, err = k.json(raw)
	return sent, text, err
}

// envelope puts an encoded object into what is sent.
func (k kind) envelope(raw []byte) ([]byte, error) {
	unknown := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: k.version.String(), Kind: k.name}, Raw: raw}
	b, err := unknown.Marshal()
	return append([]byte("k8s\x00"), b...), err
}

// json returns the JSON of an encoded object.
func (k kind) json(raw []byte) ([]byte, error) {
	read := reflect.New(k.typ)
	if err := read.Interface().(wire).Unmarshal(raw); err != nil {
		return nil, err
	}
	read.Interface().(runtime.Object).GetObjectKind().SetGroupVersionKind(k.version.WithKind(k.name))
	return json.Marshal(read.Interface())
}

// pair is an object in both forms, for the tests of internal/protojson.
type pair struct {
	version, kind string
	json          string // what the object is made from
}

func pairs() []pair {
	return []pair{
		{"v1", "Pod", `{"metadata":{"name":"p","namespace":"a","labels":{"app":"web"},"creationTimestamp":"2026-01-02T03:04:05Z",
			"managedFields":[{"manager":"m","operation":"Update","apiVersion":"v1","time":"2026-01-02T03:04:05Z","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{}}}]},
			"spec":{"containers":[{"name":"c","image":"i","command":["a","b"],"env":[{"name":"E","value":"1"}],
				"resources":{"requests":{"cpu":"100m","memory":"1Gi"}},"livenessProbe":{"httpGet":{"path":"/","port":"http"},"periodSeconds":5}}],
				"volumes":[{"name":"v","configMap":{"name":"cm","optional":true}}],"securityContext":{"runAsUser":0,"supplementalGroups":[1,2]},"hostNetwork":true}}`},
		{"v1", "Secret", `{"metadata":{"name":"s"},"data":{"k":"AP8=","empty":""},"type":"Opaque"}`},
		{"apps/v1", "Deployment", `{"metadata":{"name":"d","ownerReferences":[{"apiVersion":"v1","kind":"K","name":"n","uid":"u","controller":true}]},
			"spec":{"replicas":0,"selector":{"matchLabels":{"a":"b"}},"strategy":{"rollingUpdate":{"maxSurge":1,"maxUnavailable":"25%"}},"template":{"spec":{"containers":[]}}}}`},
		{"apps/v1", "ControllerRevision", `{"metadata":{"name":"r"},"data":{"spec":{"x":[1,2.5]}},"revision":3}`},
		{"coordination.k8s.io/v1", "Lease", `{"metadata":{"name":"l"},"spec":{"holderIdentity":"me","leaseDurationSeconds":15,"renewTime":"2026-01-02T03:04:05.000006Z"}}`},
		{"apps/v1", "DeleteOptions", `{"gracePeriodSeconds":0,"preconditions":{"uid":"u"},"propagationPolicy":"Foreground","dryRun":["All"]}`},
		{"autoscaling/v1", "Scale", `{"metadata":{"name":"d"},"spec":{"replicas":4}}`},
		{"authorization.k8s.io/v1", "SubjectAccessReview", `{"spec":{"user":"u","groups":["g"],"extra":{"scopes":["a","b"]},"resourceAttributes":{"verb":"get","resource":"pods"}}}`},
		{"policy/v1", "Eviction", `{"metadata":{"name":"p"},"deleteOptions":{"gracePeriodSeconds":7}}`},
		{"apiextensions.k8s.io/v1", "CustomResourceDefinition", `{"metadata":{"name":"ks.g.io"},"spec":{"group":"g.io","names":{"kind":"K","plural":"ks"},"scope":"Namespaced",
			"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{
				"a":{"type":"array","items":{"type":"string"}},"b":{"type":"object","additionalProperties":{"type":"number","minimum":0.5}},
				"c":{"type":"object","additionalProperties":true,"default":{"x":1}}},"x-kubernetes-preserve-unknown-fields":true}}}]}}`},
	}
}

// name is that of its files.
func (p pair) name() string { return p.kind }

func (p pair) encode() (sent, text []byte, err error) {
	for _, k := range kinds() {
		if k.name != p.kind || k.version.String() != p.version && k.name != "DeleteOptions" {
			continue
		}
		o := reflect.New(k.typ)
		if err := json.Unmarshal([]byte(p.json), o.Interface()); err != nil {
			return nil, nil, err
		}
		if k.version, err = schema.ParseGroupVersion(p.version); err != nil {
			return nil, nil, err
		}
		if sent, text, err = k.encode(o); err != nil {
			return nil, nil, err
		}
		var b bytes.Buffer
		err := json.Indent(&b, text, "", " ")
		b.WriteByte('\n')
		return sent, b.Bytes(), err
	}
	return nil, nil, fmt.Errorf("no %s %s", p.version, p.kind)
}
