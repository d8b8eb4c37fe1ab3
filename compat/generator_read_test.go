package compat_test

import (
	"slices"
	"strings"
)

// mediaTypes are what a read may accept.
var mediaTypes = []string{
	"", "", "", "application/json",
	"application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
	"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
	"application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json",
	"application/json;as=Table;v=v1beta1;g=meta.k8s.io",
	"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1beta1",
	"application/json;as=Table;v=v2;g=meta.k8s.io",
	"application/json;as=Table;v=v2;g=meta.k8s.io,*/*",
	"text/html",
}

// streamTypes are what a watch may accept: without lists, over which
// kube-apiserver breaks the stream.
var streamTypes = slices.DeleteFunc(slices.Clone(mediaTypes), func(s string) bool { return strings.Contains(s, "List") || s == "text/html" })

func (g *generator) get(k randomKind) operation {
	r := request{method: "GET", path: k.path() + "/" + g.pick("a", "b", "c", "d", "none", "A"), accept: g.pick(mediaTypes...)}
	fresh := request{method: "GET", path: k.path(), silent: true} // and so what a cache serves is
	if g.chance(25) {
		r.query = g.pick("includeObject=Object", "includeObject=None", "includeObject=Other", "resourceVersion=0", "resourceVersion=x", "resourceVersion={list}", "pretty=true", "export=true", "resourceVersion=-1")
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
	if k.cluster {
		add(60, "labelSelector=tier%3D0", "labelSelector=tier+in+(0,1)", "labelSelector=tier+notin+(0),tier", "labelSelector=tier>0", "labelSelector=tier,tier<1")
	}
	add(25, "labelSelector=tier%3D0", "labelSelector=tier+notin+(0)", "labelSelector=tier>0", "labelSelector=tier+in+()", "labelSelector=a+b", "labelSelector=-x%3D1", "labelSelector=tier%3D%3D1", "labelSelector=x/y/z", "labelSelector=tier+in+(0,1)", "labelSelector=!tier", "labelSelector=tier!%3D0", "labelSelector=tier%3D%3D%3D", "labelSelector=app,tier%3D0")
	add(15, "fieldSelector=metadata.name%3Da", "fieldSelector=metadata.name!%3Da", "fieldSelector=data.a%3Db", "fieldSelector=metadata.namespace%3Drandom", "fieldSelector=x", "fieldSelector=metadata.name%3Da,metadata.name!%3Db", "fieldSelector=metadata.name%3D%3Dc", "fieldSelector=status.phase%3DPending", "fieldSelector=spec.nodeName%3D", "fieldSelector=type%3DOpaque", "fieldSelector=metadata.name%3D")
	add(45, "resourceVersion=0", "resourceVersion={list}", "resourceVersion={list}", "resourceVersion={old}", "resourceVersion=x", "resourceVersion=", "resourceVersion=-1")
	add(30, "resourceVersionMatch=Exact", "resourceVersionMatch=Exact", "resourceVersionMatch=NotOlderThan", "resourceVersionMatch=Other")
	add(4, "continue=x", "sendInitialEvents=true", "timeoutSeconds=10", "timeoutSeconds=x", "pretty=true", "allowWatchBookmarks=true")
	add(8, "includeObject=Object", "includeObject=None", "includeObject=Other")
	if k.cluster && !strings.Contains(strings.Join(q, "&"), "Selector=") {
		q = append(q, "labelSelector=tier") // of the others there are some
	}
	query := strings.Join(q, "&")
	fresh := request{method: "GET", path: k.path(), silent: true}
	list := request{method: "GET", path: k.path(), query: query, accept: g.pick(mediaTypes...)}
	all := []request{fresh, list}
	if strings.Contains(query, "limit=1") || strings.Contains(query, "limit=2") {
		// A token of an earlier page, or none, is an answer like any other.
		more := list
		more.query = "limit=2&continue={continue:" + k.plural + "}"
		if i := strings.Index(query, "labelSelector="); i >= 0 {
			selector, _, _ := strings.Cut(query[i:], "&")
			more.query += "&" + selector
		}
		all = append(all, more)
	}
	return operation{"list " + k.plural, all}
}

// nonsense asks for what there is not.
func (g *generator) nonsense(k randomKind) operation {
	r := request{method: g.pick("GET", "POST", "PUT", "DELETE", "PATCH"), path: g.pick(k.path()+"/a/nothing", k.path()+"/a/status", k.path()+"s", "/api/v1/namespaces/none/configmaps",
		"/apis/none/v1/things", "/apis/apps/v9/deployments", "/nothing", "/api/v2", "/apis/apps", "/api/v1/namespaces/random/pods/none/log")}
	if r.method != "GET" && r.method != "DELETE" {
		r = jsonBody(r, `{}`)
	}
	return one("nonsense "+k.plural, r)
}
