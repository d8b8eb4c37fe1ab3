package compat_test

import "strings"

// mediaTypes are what a read may accept.
var mediaTypes = []string{
	"", "", "", "application/json",
	"application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
	"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
	"application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json",
	"text/html",
}

func (g *generator) get(k randomKind) operation {
	r := request{method: "GET", path: k.path() + "/" + g.pick("a", "b", "c", "d", "none", "A"), accept: g.pick(mediaTypes...)}
	fresh := request{method: "GET", path: k.path(), silent: true} // and so what a cache serves is
	if g.chance(20) {
		r.query = g.pick("resourceVersion=0", "resourceVersion=x", "resourceVersion={list}", "pretty=true", "export=true", "resourceVersion=-1")
	}
	return operation{"get " + k.plural, []request{fresh, r}}
}

func (g *generator) list(k randomKind) operation {
	var q []string
	add := func(percent int, all ...string) {
		if g.chance(percent) {
			q = append(q, g.pick(all...))
		}
	}
	add(35, "limit=1", "limit=2", "limit=0", "limit=x", "limit=-1")
	add(25, "labelSelector=tier%3D0", "labelSelector=tier+in+(0,1)", "labelSelector=!tier", "labelSelector=tier!%3D0", "labelSelector=tier%3D%3D%3D", "labelSelector=app,tier%3D0")
	add(15, "fieldSelector=metadata.name%3Da", "fieldSelector=metadata.name!%3Da", "fieldSelector=data.a%3Db", "fieldSelector=metadata.namespace%3Drandom", "fieldSelector=x")
	add(35, "resourceVersion=0", "resourceVersion={list}", "resourceVersion=x", "resourceVersion=")
	add(25, "resourceVersionMatch=Exact", "resourceVersionMatch=NotOlderThan", "resourceVersionMatch=Other")
	add(4, "continue=x", "sendInitialEvents=true", "timeoutSeconds=10")
	query := strings.Join(q, "&")
	fresh := request{method: "GET", path: k.path(), silent: true}
	list := request{method: "GET", path: k.path(), query: query, accept: g.pick(mediaTypes...)}
	all := []request{fresh, list}
	if strings.Contains(query, "limit=1") || strings.Contains(query, "limit=2") {
		// A token of an earlier page, or none, is an answer like any other.
		more := list
		more.query = "limit=2&continue={continue}"
		if i := strings.Index(query, "labelSelector="); i >= 0 {
			selector, _, _ := strings.Cut(query[i:], "&")
			more.query += "&" + selector
		}
		all = append(all, more)
	}
	return operation{"list " + k.plural, all}
}

// watch reads a window of events, up to a write that follows the request.
func (g *generator) watch(k randomKind) operation {
	fresh := request{method: "GET", path: k.path(), silent: true}
	name := g.name()
	r := request{method: "GET", path: k.path(), accept: g.pick(mediaTypes[:6]...)}
	switch g.dice.IntN(6) {
	case 0: // refused
		r.query = "watch=true&" + g.pick("resourceVersion=x", "sendInitialEvents=true", "sendInitialEvents=true&resourceVersionMatch=Exact", "resourceVersionMatch=NotOlderThan",
			"labelSelector=%3D%3D", "fieldSelector=data.a%3Db", "resourceVersion={list}&sendInitialEvents=false", "timeoutSeconds=x", "limit=x")
		if strings.Contains(r.query, "timeoutSeconds=x") || strings.Contains(r.query, "limit=x") {
			r.query += "&resourceVersion=x"
		}
		return operation{"watch, refused, " + k.plural, []request{fresh, r}}
	case 1, 2: // the state, up to an object that there is
		create := jsonBody(request{method: "POST", path: k.path(), silent: true}, g.object(k, "zz", ""))
		r.query = "watch=true&" + g.pick("resourceVersion=0", "resourceVersion=", "allowWatchBookmarks=true&resourceVersion=0")
		r.until = "zz"
		remove := request{method: "DELETE", path: k.path() + "/zz", silent: true}
		return operation{"watch from now " + k.plural, []request{create, fresh, r, remove}}
	}
	// What happens between a list and now.
	patch := request{method: "PATCH", path: k.path() + "/" + name, contentType: "application/merge-patch+json",
		body: `{"metadata":{"labels":{"tier":"` + g.pick("0", "1", "2") + `"},"annotations":{"n":"` + g.pick("1", "2", "3") + `"}}}`, silent: true}
	create := jsonBody(request{method: "POST", path: k.path(), silent: true}, strings.Replace(g.object(k, "zz", ""), `"labels":null`, `"labels":{"tier":"0"}`, 1))
	remove := request{method: "DELETE", path: k.path() + "/" + g.name(), silent: true}
	clear := request{method: "DELETE", path: k.path() + "/zz", silent: true}
	r.query = "watch=true&resourceVersion={list}"
	if g.chance(40) {
		r.query += "&labelSelector=tier+in+(0,1)"
	}
	r.until = "zz"
	return operation{"watch from then " + k.plural, []request{fresh, patch, remove, create, r, clear}}
}

// nonsense asks for what there is not.
func (g *generator) nonsense(k randomKind) operation {
	r := request{method: g.pick("GET", "POST", "PUT", "DELETE", "PATCH"), path: g.pick(k.path()+"/a/nothing", k.path()+"/a/status", k.path()+"s", "/api/v1/namespaces/none/configmaps",
		"/apis/none/v1/things", "/apis/apps/v9/deployments", "/nothing", "/api/v2", "/apis/apps", "/api/v1/namespaces/random/pods/a/log")}
	if r.method != "GET" && r.method != "DELETE" {
		r = jsonBody(r, `{}`)
		if k.plural == "widgets" { // apitest takes what has no kind
			r.body = `{"apiVersion":"compat.example.com/v1","kind":"Widget"}`
		}
	}
	return one("nonsense "+k.plural, r)
}
