package compat_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// kindsAtOnce is how many kinds an epoch plays: few, so that writes meet.
const kindsAtOnce = 3

// generator makes operations. It knows nothing of the servers' state: that an
// object exists is a matter of luck, for both of them the same.
type generator struct {
	dice  *rand.Rand
	kinds []randomKind
	made  int // names that servers were to make
}

func newGenerator(dice *rand.Rand) *generator {
	g := &generator{dice: dice}
	for _, i := range dice.Perm(len(randomKinds))[:kindsAtOnce-1] {
		g.kinds = append(g.kinds, randomKinds[i])
	}
	g.kinds = append(g.kinds, randomKinds[dice.IntN(5)]) // of those that clients use most, one is there
	return g
}

func (g *generator) pick(all ...string) string { return all[g.dice.IntN(len(all))] }

func (g *generator) chance(percent int) bool { return g.dice.IntN(100) < percent }

func (g *generator) name() string { return g.pick("a", "b", "c", "d") }

// next returns an operation; writes come as often as reads.
func (g *generator) next() operation {
	k := g.kinds[g.dice.IntN(len(g.kinds))]
	switch n := g.dice.IntN(100); {
	case n < 19:
		return g.create(k)
	case n < 29:
		return g.update(k)
	case n < 47:
		return g.patch(k)
	case n < 56:
		return g.apply(k)
	case n < 63:
		return g.delete(k)
	case n < 66:
		return g.deleteCollection(k)
	case n < 71:
		return g.get(k)
	case n < 84:
		return g.list(k)
	case n < 91:
		return g.watch(k)
	case n < 98:
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
		all = append(all, "fieldManager="+g.pick("one", "two", "", strings.Repeat("m", 130), "a\tb"))
	}
	if g.chance(20) {
		all = append(all, "fieldValidation="+g.pick("Strict", "Strict", "Warn", "Ignore", "Other"))
	}
	return strings.Join(all, "&")
}

func (g *generator) object(k randomKind, name, more string) string {
	return g.head(k, `"name":"`+name+`"`, more)
}

// head is object for one that is named otherwise.
func (g *generator) head(k randomKind, name, more string) string {
	labels := g.pick(`{"tier":"0"}`, `{"tier":"1"}`, `{"tier":"0","app":"x"}`, `null`)
	return fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{%s,"labels":%s%s}%s}`, k.apiVersion, k.kind, name, labels, more, k.content(g.dice))
}

func (g *generator) create(k randomKind) operation {
	r := request{method: "POST", path: k.path(), query: g.options()}
	name, kind := g.name(), "create"
	r = jsonBody(r, g.object(k, name, ""))
	switch {
	case g.chance(10):
		kind = "create, generated"
		g.made++ // the names sort as they are made
		r.body = g.head(k, fmt.Sprintf(`"generateName":"gen%d-"`, g.made), "")
	case g.chance(8):
		kind = "create, strange"
		r.body = g.strange(k, r.body)
	case g.chance(6):
		kind = "create, yaml"
		r = g.yaml(k, name, r)
	case g.chance(25):
		kind = "create, odd"
		r = g.odd(k, name, r)
	}
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
	r := jsonBody(request{method: "PUT", path: k.path() + "/" + name, query: g.options()}, g.object(k, name, more))
	switch {
	case g.chance(4):
		r.body = strings.Replace(r.body, `"name":"`+name+`"`, `"name":"other"`, 1)
	case g.chance(8):
		kind = "update, strange"
		r.body = g.strange(k, r.body)
	case g.chance(2):
		r.contentType = g.pick("text/plain", "", "application/merge-patch+json")
	}
	return one(kind+" "+k.plural, r)
}

func (g *generator) delete(k randomKind) operation {
	name := g.name()
	key := k.plural + "/" + name
	r := request{method: "DELETE", path: k.path() + "/" + name}
	switch {
	case g.chance(50):
		r = jsonBody(r, g.pick(`{}`, `{"dryRun":["All"]}`, `{"dryRun":["Some"]}`, `{"gracePeriodSeconds":0}`, `{"gracePeriodSeconds":-1}`, `{"propagationPolicy":"Background"}`, `{"propagationPolicy":"Orphan"}`,
			`{"propagationPolicy":"Foreground"}`, `{"propagationPolicy":"Other"}`, `{"orphanDependents":false}`, `{"orphanDependents":true,"propagationPolicy":"Orphan"}`,
			`{"preconditions":{"uid":"{uid:`+key+`}"}}`, `{"preconditions":{"uid":"12345678-1234-1234-1234-123456789012"}}`,
			`{"preconditions":{"resourceVersion":"{rv:`+key+`}"}}`, `{"preconditions":{"resourceVersion":"5"}}`, `{"preconditions":{"uid":"{uid:`+key+`}","resourceVersion":"{rv:`+key+`}"}}`,
			`{"kind":"DeleteOptions","apiVersion":"v1"}`, `{"kind":"ConfigMap","apiVersion":"v1"}`, `{`, `[]`, `{"unknown":1}`))
	case g.chance(15):
		r.query = g.pick("dryRun=All", "dryRun=Some", "propagationPolicy=Foreground", "propagationPolicy=Other", "gracePeriodSeconds=0", "orphanDependents=true")
	}
	return one("delete "+k.plural, r)
}

// deleteCollection deletes what a selector finds; where there are objects of
// others, only of ours.
func (g *generator) deleteCollection(k randomKind) operation {
	r := request{method: "DELETE", path: k.path(), query: g.pick("labelSelector=tier%3D0", "labelSelector=tier+in+(0,1)", "fieldSelector=metadata.name%3Db", "labelSelector=tier%3D1&limit=1",
		"labelSelector=tier&dryRun=All", "labelSelector=%3D%3D", "fieldSelector=data.a%3Db", "labelSelector=tier&resourceVersion={list}&resourceVersionMatch=Exact", "labelSelector=tier&propagationPolicy=Orphan")}
	if g.chance(40) || strings.Contains(r.query, "{list}") { // without a body it would be a precondition, and have a name by chance
		r = jsonBody(r, g.pick(`{}`, `{"propagationPolicy":"Background"}`, `{"propagationPolicy":"Foreground"}`, `{"dryRun":["All"]}`, `{"propagationPolicy":"Other"}`, `{"gracePeriodSeconds":0}`, `{`))
	}
	return one("deletecollection "+k.plural, r)
}
