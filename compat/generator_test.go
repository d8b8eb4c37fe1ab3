package compat_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// randomKind is a resource that random operations act on.
type randomKind struct {
	plural, group, apiVersion, kind string

	content func(dice *rand.Rand) string // the members of a valid object besides its head
	patches []string                     // merge patches, some of them wrong
	status  bool
	scale   bool
}

func (k randomKind) path() string {
	if k.group == "" {
		return "/api/" + k.apiVersion + "/namespaces/random/" + k.plural
	}
	return "/apis/" + k.apiVersion + "/namespaces/random/" + k.plural
}

var randomKinds = []randomKind{
	{plural: "configmaps", apiVersion: "v1", kind: "ConfigMap",
		content: func(dice *rand.Rand) string { return fmt.Sprintf(`,"data":{"a":"%d","b":"x"}`, dice.IntN(3)) },
		patches: []string{`{"data":{"a":"9"}}`, `{"data":{"a":null}}`, `{"data":{"c":"1"}}`, `{"data":null}`, `{"data":{"a":9}}`, `{"data":"x"}`, `{"dota":{"a":"1"}}`, `{"binaryData":{"b":"AQI="}}`, `{"immutable":true}`}},
	{plural: "secrets", apiVersion: "v1", kind: "Secret",
		content: func(dice *rand.Rand) string {
			return fmt.Sprintf(`,"type":"Opaque","stringData":{"a":"%d"}`, dice.IntN(3))
		},
		patches: []string{`{"data":{"a":"AQI="}}`, `{"stringData":{"b":"x"}}`, `{"data":{"a":"!"}}`, `{"type":"other"}`, `{"data":null}`}},
	{plural: "deployments", group: "apps", apiVersion: "apps/v1", kind: "Deployment", status: true, scale: true,
		content: func(dice *rand.Rand) string {
			return fmt.Sprintf(`,"spec":{"replicas":%d,"selector":{"matchLabels":{"app":"x"}},"progressDeadlineSeconds":600,"revisionHistoryLimit":10,`+
				`"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":"25%%","maxUnavailable":1}},"template":{"metadata":{"labels":{"app":"x"}},"spec":{`+podContent+`,"containers":[%s]}}}`,
				dice.IntN(3), container("main", dice.IntN(3)))
		},
		patches: []string{`{"spec":{"replicas":4}}`, `{"spec":{"replicas":-1}}`, `{"spec":{"replicas":"x"}}`, `{"spec":{"paused":true}}`,
			`{"spec":{"template":{"spec":{"containers":[` + container("side", 1) + `]}}}}`, `{"spec":{"selector":{"matchLabels":{"app":"y"}}}}`,
			`{"spec":{"template":{"spec":{"containers":[{"name":"main","$patch":"delete"},` + container("new", 2) + `]}}}}`, `{"spec":{"strategy":{"type":"Recreate","rollingUpdate":null}}}`, `{"spec":{"unknown":1}}`}},
	{plural: "widgets", group: "compat.example.com", apiVersion: "compat.example.com/v1", kind: "Widget", status: true, scale: true,
		content: func(dice *rand.Rand) string {
			return fmt.Sprintf(`,"spec":{"size":%d,"parts":[{"name":"p","weight":%d}]}`, dice.IntN(5), dice.IntN(3))
		},
		patches: []string{`{"spec":{"size":6}}`, `{"spec":{"size":null}}`, `{"spec":{"size":600}}`, `{"spec":{"size":"x"}}`, `{"spec":{"colour":"red"}}`, `{"spec":{"colour":"green"}}`,
			`{"spec":{"unknown":{"a":1}}}`, `{"spec":{"parts":[{"name":"q"},{"name":"q"}]}}`, `{"spec":{"parts":[{"weight":1}]}}`, `{"other":1}`}},
}

// podContent and container leave nothing to the server's defaults, which are
// compared by the stories of kubectl.
const podContent = `"restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","securityContext":{},"schedulerName":"default-scheduler"`

func container(name string, image int) string {
	return fmt.Sprintf(`{"name":%q,"image":"i:%d","resources":{},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"IfNotPresent"}`, name, image)
}

// generator makes operations. It knows nothing of the servers' state: that an
// object exists is a matter of luck, for both of them the same.
type generator struct{ dice *rand.Rand }

func (g *generator) pick(all ...string) string { return all[g.dice.IntN(len(all))] }

func (g *generator) chance(percent int) bool { return g.dice.IntN(100) < percent }

func (g *generator) name() string { return g.pick("a", "b", "c", "d") }

// next returns an operation; writes come as often as reads.
func (g *generator) next() operation {
	k := randomKinds[g.dice.IntN(len(randomKinds))]
	switch n := g.dice.IntN(100); {
	case n < 18:
		return g.create(k)
	case n < 30:
		return g.update(k)
	case n < 50:
		return g.patch(k)
	case n < 58:
		return g.apply(k)
	case n < 66:
		return g.delete(k)
	case n < 72:
		return g.get(k)
	case n < 86:
		return g.list(k)
	case n < 92:
		return g.watch(k)
	case n < 97:
		return g.subresource(k)
	}
	return g.nonsense(k)
}

func one(name string, r request) operation { return operation{name, []request{r}} }

func jsonBody(r request, body string) request {
	r.contentType, r.body = "application/json", body
	return r
}

// options returns query parameters that a write may have.
func (g *generator) options() string {
	var all []string
	if g.chance(8) {
		all = append(all, "dryRun="+g.pick("All", "All", "Some", ""))
	}
	if g.chance(15) {
		all = append(all, "fieldManager="+g.pick("one", "two", "", strings.Repeat("m", 130)))
	}
	if g.chance(15) {
		all = append(all, "fieldValidation="+g.pick("Strict", "Warn", "Ignore", "Other"))
	}
	return strings.Join(all, "&")
}

func (g *generator) object(k randomKind, name, more string) string {
	labels := g.pick(`{"tier":"0"}`, `{"tier":"1"}`, `{"tier":"0","app":"x"}`, `null`)
	return fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q,"labels":%s%s}%s}`, k.apiVersion, k.kind, name, labels, more, k.content(g.dice))
}

func (g *generator) create(k randomKind) operation {
	r := request{method: "POST", path: k.path(), query: g.options()}
	name, kind := g.name(), "create"
	body := g.object(k, name, "")
	if g.chance(30) {
		kind = "create, odd"
		switch g.dice.IntN(12) {
		case 0:
			body = g.object(k, g.pick("A", "a_b", "-a", "", "a.b", strings.Repeat("x", 254)), "")
		case 1:
			body = g.object(k, name, `,"resourceVersion":"5"`)
		case 2:
			body = g.object(k, name, `,"namespace":"other"`)
		case 3:
			body = strings.Replace(body, `"kind":"`, `"kind":"Not`, 1)
		case 4:
			body = strings.Replace(body, `"apiVersion":"`, `"apiVersion":"not/`, 1)
		case 5:
			body = body[:len(body)-2]
		case 6:
			body = strings.Replace(body, `"metadata":{`, `"unknown":{"a":1},"metadata":{"strange":1,`, 1)
		case 7:
			body = g.object(k, name, `,"finalizers":["compat.example.com/hold"]`)
		case 8:
			body = g.object(k, name, `,"annotations":{"a/b/c":"x"}`)
		case 9:
			body = strings.Replace(body, `"labels":`, `"labels":{"bad key":"x"},"annotations":`, 1)
		case 10:
			body = g.object(k, name, `,"uid":"12345678-1234-1234-1234-123456789012","creationTimestamp":"2020-01-01T00:00:00Z","generation":7,"deletionTimestamp":"2020-01-01T00:00:00Z"`)
		case 11:
			if k.plural != "widgets" { // apitest takes those too
				body = strings.Replace(body, `"kind":"`+k.kind+`",`, "", 1)
			}
		}
	}
	r = jsonBody(r, body)
	if g.chance(3) {
		r.contentType = g.pick("text/plain", "application/xml", "application/json; charset=utf-8", "")
	}
	return one(kind+" "+k.plural, r)
}

func (g *generator) update(k randomKind) operation {
	name := g.name()
	key := k.plural + "/" + name
	more, kind := `,"resourceVersion":"{rv:`+key+`}"`, "update"
	if g.chance(30) {
		kind = "update, odd"
		more = g.pick(``, `,"resourceVersion":"5"`, `,"resourceVersion":"x"`, `,"resourceVersion":"0"`, `,"resourceVersion":""`,
			`,"resourceVersion":"{rv:`+key+`}","uid":"{uid:`+key+`}"`, `,"uid":"12345678-1234-1234-1234-123456789012"`,
			`,"resourceVersion":"{rv:`+key+`}","finalizers":["compat.example.com/hold"]`, `,"resourceVersion":"{rv:`+key+`}","generation":50`,
			`,"resourceVersion":"{rv:`+key+`}","namespace":"other"`)
	}
	body := g.object(k, name, more)
	if g.chance(4) {
		body = strings.Replace(body, `"name":"`+name+`"`, `"name":"other"`, 1)
	}
	return one(kind+" "+k.plural, jsonBody(request{method: "PUT", path: k.path() + "/" + name, query: g.options()}, body))
}

func (g *generator) delete(k randomKind) operation {
	name := g.name()
	key := k.plural + "/" + name
	r := request{method: "DELETE", path: k.path() + "/" + name}
	if g.chance(10) {
		r.path, r.query = k.path(), g.pick("labelSelector=tier%3D0", "fieldSelector=metadata.name%3Db", "limit=1", "dryRun=All")
		return one("deletecollection "+k.plural, r)
	}
	if g.chance(50) {
		r = jsonBody(r, g.pick(`{}`, `{"dryRun":["All"]}`, `{"dryRun":["Some"]}`, `{"gracePeriodSeconds":0}`, `{"gracePeriodSeconds":-1}`, `{"propagationPolicy":"Background"}`, `{"propagationPolicy":"Orphan"}`,
			`{"propagationPolicy":"Foreground"}`, `{"propagationPolicy":"Other"}`, `{"orphanDependents":false}`, `{"orphanDependents":true,"propagationPolicy":"Orphan"}`,
			`{"preconditions":{"uid":"{uid:`+key+`}"}}`, `{"preconditions":{"uid":"12345678-1234-1234-1234-123456789012"}}`,
			`{"preconditions":{"resourceVersion":"{rv:`+key+`}"}}`, `{"preconditions":{"resourceVersion":"5"}}`, `{"kind":"DeleteOptions","apiVersion":"v1"}`, `{"kind":"ConfigMap","apiVersion":"v1"}`, `{`))
	}
	return one("delete "+k.plural, r)
}
