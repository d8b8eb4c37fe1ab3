package compat_test

import (
	"strings"
)

// odd makes a creation one that is wrong in some way, or nearly.
func (g *generator) odd(k randomKind, name string, r request) request {
	body := r.body
	switch g.dice.IntN(15) {
	case 0:
		body = g.object(k, g.pick("A", "a_b", "-a", "", "a.b", strings.Repeat("x", 254), strings.Repeat("y", 64), "a/b", "%", "..", "a b", "9"), "")
	case 1:
		body = g.object(k, name, `,"resourceVersion":"5"`)
	case 2:
		body = g.object(k, name, `,"namespace":"other"`)
	case 3:
		body = strings.Replace(body, `"kind":"`, `"kind":"Not`, 1)
	case 4:
		body = strings.Replace(body, `"apiVersion":"`, `"apiVersion":"not/`, 1)
	case 5:
		body = g.pick(body[:len(body)-2], body[:10], `{`, ``, `[]`, `"x"`, `null`, body+`x`, strings.Replace(body, `"metadata"`, `metadata`, 1))
	case 6:
		body = g.head(k, `"generateName":"`+g.pick("A-", "", "a_b", "-")+`"`, "")
	case 7:
		body = g.object(k, name, `,"finalizers":[`+g.pick(`"compat.example.com/hold"`, `"compat.example.com/hold","compat.example.com/other"`, `"hold"`, `""`)+`]`)
	case 8:
		body = g.object(k, name, `,"annotations":{"`+g.pick("a/b/c", "", "a b", "/x", "x/", "X/y", "compat.example.com/ok")+`":"x"}`)
	case 9:
		body = strings.Replace(body, `"labels":`, `"labels":{"`+g.pick(`bad key":"x`, `a":"b c`, `":"x`, `a":"`+strings.Repeat("v", 64), `x/y/z":"`, `k8s.io/`+strings.Repeat("n", 64)+`":"`)+`"},"annotations":`, 1)
	case 10:
		body = g.object(k, name, `,"uid":"12345678-1234-1234-1234-123456789012","creationTimestamp":"2020-01-01T00:00:00Z","generation":7,"deletionTimestamp":"2020-01-01T00:00:00Z"`)
	case 11:
		body = strings.Replace(body, `"kind":"`+k.kind+`",`, "", 1)
	case 12:
		body = strings.Replace(body, `"apiVersion":"`+k.apiVersion+`",`, "", 1)
	case 13:
		body = g.object(k, name, `,"ownerReferences":[`+g.pick(`{"apiVersion":"v1","kind":"ConfigMap","name":"x","uid":"12345678-1234-1234-1234-123456789012"}`, `{"apiVersion":"v1","kind":"ConfigMap","name":"x"}`,
			`{"apiVersion":"v1","kind":"ConfigMap","name":"x","uid":"1","controller":true},{"apiVersion":"v1","kind":"ConfigMap","name":"y","uid":"2","controller":true}`)+`]`)
	case 14:
		if !k.cluster {
			r.path = strings.Replace(r.path, "/random/", "/none/", 1)
		}
	}
	if k.kind == "Service" && (body == "null" || strings.Contains(body, `ame":""`)) {
		return r // what is wrong then is the address that kube-apiserver fails to allocate
	}
	r.body = body
	return r
}

// strange adds fields to a body that its type has not, or has already.
func (g *generator) strange(k randomKind, body string) string {
	switch g.dice.IntN(6) {
	case 0:
		return strings.Replace(body, `"metadata":{`, `"unknown":{"a":1},"metadata":{"strange":1,`, 1)
	case 1:
		return strings.Replace(body, `"metadata":{`, `"metadata":{"annotations":{"a":"1","a":"2"},`, 1)
	case 2:
		return strings.Replace(body, `"labels":`, `"labels":{"x":"y"},"labels":`, 1)
	case 3:
		return strings.Replace(body, `"spec":{`, `"spec":{"strange":{"a":[1]},"other":"x",`, 1)
	case 4:
		return strings.Replace(body, `"kind":`, `"kind":"First","kind":`, 1)
	}
	return strings.Replace(body, `"metadata":{`, `"metadata":{"clusterName":"x",`, 1)
}

// yaml makes the body of a creation YAML.
func (g *generator) yaml(k randomKind, name string, r request) request {
	r.contentType = "application/yaml"
	head := "apiVersion: " + k.apiVersion + "\nkind: " + k.kind + "\nmetadata:\n  name: " + name + "\n"
	n := g.dice.IntN(5)
	if k.kind == "Node" { // kube-apiserver makes none without a taint
		return r
	}
	switch n {
	case 0:
		r.body = head + "  labels: {tier: \"0\"}\n"
	case 1:
		r.body = head + "  labels:\n    tier: 1\n"
	case 2:
		r.body = head + "  name: " + name + "\n"
	case 3:
		r.body = head + "strange: 1\n"
	}
	return r // it is JSON, which is YAML too
}
