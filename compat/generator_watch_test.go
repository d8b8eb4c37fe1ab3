package compat_test

import "strings"

// watch reads a window of events, up to a write that follows the request.
func (g *generator) watch(k randomKind) operation {
	fresh := request{method: "GET", path: k.path(), silent: true}
	name := g.name()
	r := request{method: "GET", path: k.path(), accept: g.pick(streamTypes...)}
	switch g.dice.IntN(7) {
	case 0: // refused
		r.query = "watch=true&" + g.pick("resourceVersion=x", "sendInitialEvents=true", "sendInitialEvents=true&resourceVersionMatch=Exact", "resourceVersionMatch=NotOlderThan",
			"labelSelector=%3D%3D", "fieldSelector=data.a%3Db", "resourceVersion={list}&sendInitialEvents=false", "timeoutSeconds=x", "limit=x")
		if strings.Contains(r.query, "timeoutSeconds=x") || strings.Contains(r.query, "limit=x") {
			r.query += "&resourceVersion=x"
		}
		return operation{"watch, refused, " + k.plural, []request{fresh, r}}
	case 3: // the state, up to the bookmark that ends it
		r.query = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&" + g.pick("resourceVersion=", "resourceVersion=0", "resourceVersion={list}") +
			g.pick("", "", "&labelSelector=tier%3D0", "&fieldSelector=metadata.name%3Da", "&includeObject=Object")
		r.until = endOfState
		return operation{"watch to a bookmark " + k.plural, []request{fresh, r}}
	case 1, 2: // the state, up to an object that there is
		create := jsonBody(request{method: "POST", path: k.path(), silent: true}, g.object(k, "zz", ""))
		r.query = "watch=true&" + g.pick("resourceVersion=0", "resourceVersion=", "allowWatchBookmarks=true&resourceVersion=0", "fieldSelector=metadata.name%3Dzz", "includeObject=Object&resourceVersion=0")
		r.until = "zz"
		remove := jsonBody(request{method: "DELETE", path: k.path() + "/zz", silent: true}, `{"propagationPolicy":"Background"}`)
		return operation{"watch from now " + k.plural, []request{create, fresh, r, remove}}
	}
	// What happens between a list and now.
	patch := request{method: "PATCH", path: k.path() + "/" + name, contentType: "application/merge-patch+json",
		body: `{"metadata":{"labels":{"tier":"` + g.pick("0", "1", "2") + `"},"annotations":{"n":"` + g.pick("1", "2", "3") + `"}}}`, silent: true}
	create := jsonBody(request{method: "POST", path: k.path(), silent: true}, strings.Replace(g.object(k, "zz", ""), `"labels":null`, `"labels":{"tier":"0"}`, 1))
	remove := jsonBody(request{method: "DELETE", path: k.path() + "/" + g.name(), silent: true}, `{"propagationPolicy":"Background"}`)
	clear := jsonBody(request{method: "DELETE", path: k.path() + "/zz", silent: true}, remove.body)
	r.query = "watch=true&resourceVersion={list}"
	if g.chance(40) {
		r.query += "&labelSelector=tier+in+(0,1)"
	} else if g.chance(20) {
		r.query += "&includeObject=Object"
	}
	r.until = "zz"
	return operation{"watch from then " + k.plural, []request{fresh, patch, remove, create, r, clear}}
}
