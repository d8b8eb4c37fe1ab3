package compat_test

import (
	"fmt"
	"strings"
)

// metaPatches are merge patches of any kind. None sets a time of deletion: where an
// object has one, kube-apiserver keeps it, and yet notes who wanted another.
var metaPatches = []string{
	`{}`, `{"metadata":{"labels":{"tier":"1"}}}`, `{"metadata":{"labels":{"tier":null}}}`, `{"metadata":{"labels":null}}`, `{"metadata":{"annotations":{"n":"1"}}}`,
	`{"metadata":{"finalizers":["compat.example.com/hold"]}}`, `{"metadata":{"finalizers":null}}`, `{"metadata":{"resourceVersion":"5"}}`, `{"metadata":{"name":"other"}}`,
	`{"metadata":{"uid":"12345678-1234-1234-1234-123456789012"}}`, `{"metadata":{"generation":9}}`, `{"kind":"Other"}`, `{"metadata":{"labels":{"tier":1}}}`, `{"metadata":null}`,
	`{"metadata":{"managedFields":[]}}`, `{"metadata":{"managedFields":[{}]}}`, `{"metadata":{"managedFields":null}}`, `{"metadata":{"annotations":{"a/b/c":"x"}}}`, `{"metadata":{"annotations":{"n":null,"kubectl.kubernetes.io/last-applied-configuration":"{}"}}}`, `{"apiVersion":"v9"}`,
	`{"metadata":{"strange":1}}`, `{"metadata":{"finalizers":["hold"]}}`, `{"metadata":{"deletionTimestamp":null}}`, `{"metadata":{"creationTimestamp":"2020-01-01T00:00:00Z"}}`, `{"metadata":{"namespace":"other"}}`, `{"metadata":{"generateName":"x-"}}`, `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"x","uid":"12345678-1234-1234-1234-123456789012"}]}}`,
}

var jsonPatches = []string{
	`[]`, `[{"op":"add","path":"/metadata/labels","value":{"tier":"1"}}]`, `[{"op":"replace","path":"/metadata/labels/tier","value":"0"}]`, `[{"op":"remove","path":"/metadata/labels"}]`,
	`[{"op":"add","path":"/metadata/annotations","value":{"a~b":"x"}},{"op":"replace","path":"/metadata/annotations/a~0b","value":"y"}]`,
	`[{"op":"test","path":"/metadata/name","value":"a"},{"op":"add","path":"/metadata/labels","value":{"was":"a"}}]`, `[{"op":"copy","from":"/metadata/name","path":"/metadata/annotations"}]`,
	`[{"op":"other","path":"/a"}]`, `[{"op":"remove","path":"/nothing"}]`, `[{"op":"add","path":"/metadata/finalizers/-","value":"compat.example.com/hold"}]`, `{}`, `[`, `[{"op":"replace","path":"/metadata/name","value":"other"}]`,
	`[{"op":"replace","path":"","value":{}}]`, `[{"op":"add","path":"/spec/replicas","value":7}]`, `[{"op":"add","path":"/metadata/labels/x","value":1}]`, `[{"op":"add","path":"/metadata/labels/own","value":"1"},{"op":"test","path":"/metadata/labels/own","value":"2"}]`,
	`[{"op":"remove","path":"/metadata/name"}]`, `[{"op":"replace","path":"/metadata/resourceVersion","value":"5"}]`, `[{"path":"/a"}]`, `[{"op":"add","path":"metadata","value":1}]`, `[{"op":"remove","path":"/metadata/finalizers/0"}]`,
	`[{"op":"add","path":"/unknown","value":1}]`, `[{"op":"move","from":"/metadata/labels","path":"/metadata/annotations"}]`,
}

func (g *generator) patch(k randomKind) operation {
	name := g.name()
	r := request{method: "PATCH", path: k.path() + "/" + name, query: g.options()}
	switch g.dice.IntN(3) {
	case 0:
		r.contentType, r.body = "application/json-patch+json", g.pick(jsonPatches...)
		return one("json patch "+k.plural, r)
	case 1:
		r.contentType = "application/merge-patch+json"
	case 2:
		r.contentType = "application/strategic-merge-patch+json"
	}
	if g.chance(50) {
		r.body = g.pick(metaPatches...)
	} else {
		r.body = g.pick(k.patches...)
	}
	switch {
	case g.chance(3):
		r.body = g.pick(`[]`, `{`, `"x"`, ``)
	case g.chance(4):
		r.contentType = g.pick("application/json", "", "application/yaml", "text/plain", "application/merge-patch+json; charset=utf-8")
		return one("patch of a strange type "+k.plural, r)
	case g.chance(5):
		r.body = fmt.Sprintf(`{"metadata":{"resourceVersion":"{rv:%s/%s}","labels":{"tier":"0"}}}`, k.plural, name)
	}
	return one(strings.TrimSuffix(strings.TrimPrefix(r.contentType, "application/"), "+json")+" "+k.plural, r)
}

// apply applies on the server's side as one of three managers, a whole object or a
// part of it.
func (g *generator) apply(k randomKind) operation {
	name := g.name()
	r := request{method: "PATCH", path: k.path() + "/" + name, contentType: "application/apply-patch+yaml",
		query: "fieldManager=" + g.pick("one", "two", "three") + g.pick("", "", "", "&force=true", "&force=true", "&force=x", "&dryRun=All", "&fieldValidation=Strict")}
	if g.chance(4) {
		r.query = g.pick("", "force=true", "fieldManager=one&fieldManager=two")
	}
	head := fmt.Sprintf(`"apiVersion":%q,"kind":%q`, k.apiVersion, k.kind)
	switch {
	case g.chance(50) || k.kind == "Node": // kube-apiserver makes no node without a taint
		r.body = g.object(k, name, "")
	case g.chance(60):
		r.body = "{" + head + `,"metadata":{"name":"` + name + `"},` + g.pick(k.patches...)[1:]
		if strings.HasPrefix(r.body[strings.LastIndex(r.body, `"},`)+3:], `"metadata"`) {
			r.body = "{" + head + "," + g.pick(`"metadata":{"labels":{"part":"y"}}}`, `"metadata":{"name":"`+name+`","annotations":{"part":"z"}}}`)
		}
	case g.chance(40):
		r.body = g.object(k, name, g.pick(`,"finalizers":["compat.example.com/hold"]`, `,"resourceVersion":"5"`, `,"resourceVersion":"{rv:`+k.plural+"/"+name+`}"`, `,"uid":"12345678-1234-1234-1234-123456789012"`, `,"generation":9`, `,"strange":1`, `,"namespace":"other"`))
	default:
		r.body = g.pick("{"+head+`,"metadata":{"name":"other"}}`, "{"+head+`,"metadata":{"labels":{"own":"x"}}}`,
			fmt.Sprintf(`{"apiVersion":%q,"metadata":{"name":%q}}`, k.apiVersion, name), fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata:\n  name: %s\n  labels: {own: w}\n", k.apiVersion, k.kind, name),
			`{}`, `a: [`, `[]`, ``, "{"+head+`,"metadata":{"name":"`+name+`","managedFields":[{"manager":"x"}]}}`, "{"+head+`,"metadata":{"name":"`+name+`"},"strange":{"a":1}}`)
	}
	return one("apply "+k.plural, r)
}

func (g *generator) subresource(k randomKind) operation {
	name, sub := g.name(), g.pick("status", "status", "scale")
	if k.cluster && k.kind == "Namespace" && g.chance(30) {
		sub = "finalize"
	}
	key := k.plural + "/" + name
	r := request{method: g.pick("GET", "PUT", "PATCH", "PATCH", "PATCH", "DELETE", "POST"), path: k.path() + "/" + name + "/" + sub, query: g.pick("", "", "", "dryRun=All", "fieldManager=sub")}
	if k.kind == "Service" && r.method == "PUT" { // kube-apiserver makes a Service that is not there of its status
		r.method = "GET"
	}
	switch {
	case r.method == "PATCH" && sub == "scale":
		r.contentType = g.pick("application/merge-patch+json", "application/merge-patch+json", "application/json-patch+json", "application/strategic-merge-patch+json")
		r.body = g.pick(`{"spec":{"replicas":11}}`, `{"spec":{"replicas":-3}}`, `{"spec":{"replicas":"x"}}`, `{"metadata":{"labels":{"sub":"x"}}}`, `{"status":{"replicas":7}}`, `{}`)
		// A Scale that changes nothing, of an object to which a create or update gave its
		// size, splits and then loses their entries in managedFields: a fault of
		// kube-apiserver. So each writes sizes that no other request does.
		if !strings.Contains(r.body, "spec") {
			r.body = `{"spec":{"replicas":9}}`
		}
		if r.contentType == "application/json-patch+json" {
			r.body = `[{"op":"replace","path":"/spec/replicas","value":` + g.pick("8", "12", "5", "-1") + `}]`
		}
	case r.method == "PATCH":
		r.contentType = g.pick("application/merge-patch+json", "application/merge-patch+json", "application/strategic-merge-patch+json", "application/apply-patch+yaml")
		if k.kind == "Service" {
			r.contentType = "application/merge-patch+json"
		}
		all := append([]string{`{"spec":{"replicas":3}}`, `{"metadata":{"labels":{"sub":"x"}}}`, `{"status":null}`, `{"metadata":{"resourceVersion":"5"}}`, `{"metadata":{"finalizers":["compat.example.com/hold"]}}`}, k.statuses...)
		r.body = all[g.dice.IntN(len(all))]
		if r.contentType == "application/apply-patch+yaml" {
			r.query = "fieldManager=" + g.pick("one", "two") + g.pick("", "&force=true")
			r.body = fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q},`, k.apiVersion, k.kind, name) + append(k.statuses, `{"status":{}}`)[g.dice.IntN(len(k.statuses)+1)][1:]
		}
	case r.method == "GET" || r.method == "DELETE":
		r.query = ""
	case sub == "scale":
		r = jsonBody(r, fmt.Sprintf(`{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":%q,"namespace":"random"%s},"spec":{"replicas":%s}}`, name, g.pick("", `,"resourceVersion":"{rv:`+key+`}"`, `,"resourceVersion":"5"`), g.pick("13", "14", "-1")))
	default:
		body := g.object(k, name, g.pick("", `,"resourceVersion":"{rv:`+key+`}"`, `,"resourceVersion":"{rv:`+key+`}"`))
		if len(k.statuses) > 0 && !strings.Contains(body, `"status":`) {
			body = strings.TrimSuffix(body, "}") + "," + k.statuses[g.dice.IntN(len(k.statuses))][1:]
		}
		r = jsonBody(r, body)
	}
	return one(sub+" "+k.plural, r)
}
