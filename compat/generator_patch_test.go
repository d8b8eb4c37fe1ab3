package compat_test

import (
	"fmt"
	"strings"
)

// metaPatches are merge patches of any kind.
var metaPatches = []string{
	`{}`, `{"metadata":{"labels":{"tier":"1"}}}`, `{"metadata":{"labels":{"tier":null}}}`, `{"metadata":{"labels":null}}`, `{"metadata":{"annotations":{"n":"1"}}}`,
	`{"metadata":{"finalizers":["compat.example.com/hold"]}}`, `{"metadata":{"finalizers":null}}`, `{"metadata":{"resourceVersion":"5"}}`, `{"metadata":{"name":"other"}}`,
	`{"metadata":{"uid":"12345678-1234-1234-1234-123456789012"}}`, `{"metadata":{"generation":9}}`, `{"kind":"Other"}`, `{"metadata":{"labels":{"tier":1}}}`, `{"metadata":null}`,
	`{"metadata":{"managedFields":[]}}`, `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"x","uid":"12345678-1234-1234-1234-123456789012"}]}}`,
}

var jsonPatches = []string{
	`[]`, `[{"op":"add","path":"/metadata/labels","value":{"tier":"1"}}]`, `[{"op":"replace","path":"/metadata/labels/tier","value":"0"}]`, `[{"op":"remove","path":"/metadata/labels"}]`,
	`[{"op":"add","path":"/metadata/annotations","value":{"a~b":"x"}},{"op":"replace","path":"/metadata/annotations/a~0b","value":"y"}]`,
	`[{"op":"test","path":"/metadata/name","value":"a"},{"op":"add","path":"/metadata/labels","value":{"was":"a"}}]`, `[{"op":"copy","from":"/metadata/name","path":"/metadata/annotations"}]`,
	`[{"op":"other","path":"/a"}]`, `[{"op":"remove","path":"/nothing"}]`, `[{"op":"add","path":"/metadata/finalizers/-","value":"compat.example.com/hold"}]`, `{}`, `[`, `[{"op":"replace","path":"/metadata/name","value":"other"}]`,
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
	case g.chance(2):
		r.contentType = "application/json"
	case g.chance(5):
		r.body = fmt.Sprintf(`{"metadata":{"resourceVersion":"{rv:%s/%s}","labels":{"tier":"0"}}}`, k.plural, name)
	}
	return one(strings.TrimSuffix(strings.TrimPrefix(r.contentType, "application/"), "+json")+" "+k.plural, r)
}

// apply applies on the server's side as one of two managers.
func (g *generator) apply(k randomKind) operation {
	name := g.name()
	r := request{method: "PATCH", path: k.path() + "/" + name, contentType: "application/apply-patch+yaml",
		query: "fieldManager=" + g.pick("one", "two") + g.pick("", "", "&force=true", "&force=x", "&dryRun=All")}
	if g.chance(5) {
		r.query = g.pick("", "force=true")
	}
	r.body = g.object(k, name, "")
	if g.chance(15) {
		r.body = g.pick(
			fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":"other"}}`, k.apiVersion, k.kind), fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"labels":{"own":"x"}}}`, k.apiVersion, k.kind),
			fmt.Sprintf(`{"apiVersion":%q,"metadata":{"name":%q}}`, k.apiVersion, name), fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata:\n  name: %s\n  labels: {own: w}\n", k.apiVersion, k.kind, name),
			`{}`, `a: [`, fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q,"managedFields":[{"manager":"x"}]}}`, k.apiVersion, k.kind, name))
	}
	return one("apply "+k.plural, r)
}

func (g *generator) subresource(k randomKind) operation {
	name, sub := g.name(), g.pick("status", "scale")
	key := k.plural + "/" + name
	r := request{method: g.pick("GET", "PUT", "PATCH", "PATCH", "DELETE", "POST"), path: k.path() + "/" + name + "/" + sub}
	switch {
	case r.method == "PATCH":
		r.contentType = "application/merge-patch+json"
		r.body = g.pick(`{"status":{"observedGeneration":3}}`, `{"status":{"replicas":2}}`, `{"spec":{"replicas":3}}`, `{"spec":{"replicas":-3}}`, `{"metadata":{"labels":{"sub":"x"}}}`, `{"status":null}`, `{"spec":{"size":4}}`)
		if sub == "scale" && strings.Contains(r.body, "size") { // kube-apiserver writes the object anew, though nothing of it changes
			r.body = `{}`
		}
	case r.method == "GET" || r.method == "DELETE":
	case sub == "scale":
		r = jsonBody(r, fmt.Sprintf(`{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":%q,"namespace":"random"%s},"spec":{"replicas":%s}}`, name, g.pick("", `,"resourceVersion":"{rv:`+key+`}"`, `,"resourceVersion":"5"`), g.pick("1", "2", "-1")))
	default:
		body := g.object(k, name, g.pick("", `,"resourceVersion":"{rv:`+key+`}"`))
		r = jsonBody(r, strings.TrimSuffix(body, "}")+`,"status":{"observedGeneration":2}}`)
	}
	return one(sub+" "+k.plural, r)
}
