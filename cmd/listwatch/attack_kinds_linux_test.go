package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

const (
	listHead = `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[`
	itemHead = `{"metadata":{"name":"a","namespace":"default","uid":"u","resourceVersion":"7"},`
	rowsHead = `{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"7"},"columnDefinitions":[{"name":"Name","type":"string","format":"name"}],"rows":[`
	okPod    = itemHead + `"spec":{}}`
	added    = `{"type":"ADDED","object":`
)

// rows writes rows whose cells have so many bytes.
func bigRows(size int) func(*sender) {
	return func(s *sender) {
		s.put(rowsHead)
		cell := strings.Repeat("x", size)
		for i := 0; s.put(fmt.Sprintf(`{"cells":[%q],"object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a%d","namespace":"default","uid":"%d","resourceVersion":"7"}}},`, cell, i, i)); i++ {
		}
	}
}

// items writes items with a body, each of another object.
func items(body string) func(*sender) {
	return func(s *sender) {
		s.put(listHead)
		for i := 0; s.put(fmt.Sprintf(`{"metadata":{"name":"a%d","namespace":"default","uid":"%[1]d","resourceVersion":"7"},%[2]s},`, i, body)); i++ {
		}
	}
}

// pages writes endless pages, each with a new token and of so many items.
func pages(n int) func(*sender) {
	return func(s *sender) {
		at, _ := strconv.Atoi(s.req.URL.Query().Get("continue"))
		s.put(fmt.Sprintf(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7","continue":"%d"},"items":[%s]}`, at+1, strings.TrimSuffix(strings.Repeat(okPod+",", n), ",")))
	}
}

// namesBelowNames is a text below 400 members called name: a path that descends to them
// prints it as often.
func namesBelowNames(size int) string {
	return `"spec":` + strings.Repeat(`{"name":`, 400) + `"` + strings.Repeat("x", size) + `"` + strings.Repeat("}", 400)
}

var nestedNames = namesBelowNames(30 << 10)

var deepItem = `"spec":` + strings.Repeat("[", 400) + strings.TrimSuffix(strings.Repeat("1,", 300_000), ",") + strings.Repeat("]", 400)

func listingAs(format string) []string {
	return []string{"list", "pods", "-A", "-s", "SERVER", "-o", format}
}

func kubectlGet(format string) []string { return []string{"get", "pods", "-A", "-o", format} }

func watching(format string, more ...string) []string {
	return append([]string{"watch", "pods", "-A", "-s", "SERVER", "-o", format}, more...)
}

// event is one of object name.
func event(kind, name string, rv int, body string) string {
	return fmt.Sprintf(`{"type":%q,"object":{"metadata":{"name":%q,"namespace":"default","uid":%[2]q,"resourceVersion":"%d"},%s}}`+"\n", kind, name, rv, body)
}

// inTurn has an object change from a to b and back.
func inTurn(a, b string) func(*sender) {
	return func(s *sender) {
		for i := 8; s.put(event("MODIFIED", "a", i, a)) && s.put(event("MODIFIED", "a", i+1, b)); i += 2 {
		}
	}
}

// comesAndGoes adds and deletes objects of 1 MB.
func comesAndGoes(s *sender) {
	body := `"spec":"` + strings.Repeat("x", 1<<20) + `"`
	for i := 8; s.put(event("ADDED", fmt.Sprint("a", i), i, body)) && s.put(event("DELETED", fmt.Sprint("a", i), i+1, body)); i += 2 {
	}
}

// longPaths is a name of 1 MB that is in the path to each of many values.
func longPaths(value string) string {
	return `"spec":{"` + strings.Repeat("x", 1<<20) + `":[` + strings.Repeat(value+",", 10_000) + "0]}"
}

// attacks are by servers unless they have a file.
var attacks = []attack{
	{name: "items without end, as names", args: listingAs("name"), kubectl: kubectlGet("name"), list: items(`"spec":{}`)},
	{name: "items without end, as JSON", args: listingAs("json"), kubectl: kubectlGet("json"), list: items(`"spec":{"a":"b"}`)},
	{name: "items without end, as YAML", args: listingAs("yaml"), list: items(`"spec":{"text":"` + strings.Repeat("x", 4000) + `"}`)},
	{name: "one item without end", args: listingAs("json"), kubectl: kubectlGet("json"), list: inside(listHead+itemHead+`"spec":"`, "x", "")},
	{name: "an item of empty lists", args: listingAs("json"), kubectl: kubectlGet("json"), list: inside(listHead+itemHead+`"spec":[`, "[],", "")},
	{name: "an item of nesting", says: "nested too deeply", args: listingAs("json"), kubectl: kubectlGet("json"), list: inside(listHead+itemHead+`"spec":`, "[", "")},
	{name: "items of 7 MB of empty lists", args: listingAs("json"), list: items(`"spec":[` + strings.Repeat("[],", 7<<20/3) + `0]`)},
	{name: "items of 3 MB of empty lists", args: listingAs("json"), list: items(`"spec":[` + strings.Repeat("[],", 1<<20) + `0]`)},
	{name: "events of 3 MB of empty lists, by jq", args: watching("jq=.spec|length"), watch: func(s *sender) {
		lists := strings.Repeat("[],", 1<<20)
		for i := 8; s.put(fmt.Sprintf(`{"type":"MODIFIED","object":{"metadata":{"name":"a","namespace":"default","uid":"u","resourceVersion":"%d"},"spec":[%s0]}}`+"\n", i, lists)); i++ {
		}
	}},
	{name: "events of 3 MB of small objects, by jq", least: 60 << 20, args: watching("jq=.spec|length"), watch: inTurn(`"spec":[`+strings.Repeat(`{"":0},`, 3<<20/7)+"0]", `"spec":0`)},
	{name: "items that are not UTF-8", args: listingAs("json"), list: items(`"spec":"` + strings.Repeat("\xff", 3<<20) + `"`)},
	{name: "rows of large objects", args: listingAs(""), table: true, least: 400 << 20, list: func(s *sender) {
		s.put(rowsHead)
		text := strings.Repeat("x", 1<<20)
		for i := 0; s.put(fmt.Sprintf(`{"cells":["a"],"object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a%d","namespace":"default","uid":"%[1]d","resourceVersion":"7","annotations":{"a":%q}}}},`, i, text)); i++ {
		}
	}},
	{name: "deep items, as JSON", args: listingAs("json"), kubectl: kubectlGet("json"), list: items(deepItem)},
	{name: "deep items, as YAML", args: listingAs("yaml"), list: items(deepItem)},
	{name: "deep items, as KYAML", args: listingAs("kyaml"), list: items(deepItem)},
	{name: "a name without end", says: "item above the limit", args: listingAs("name"), kubectl: kubectlGet("name"), list: inside(listHead+`{"metadata":{"name":"`, "x", "")},
	{name: "names of 1 MB", args: listingAs("name"), list: func(s *sender) {
		s.put(listHead)
		name := strings.Repeat("x", 1<<20)
		for s.put(`{"metadata":{"name":"` + name + `","uid":"u"}},`) {
		}
	}},
	{name: "a kind without end", says: "kind above the limit", args: listingAs("json"), kubectl: kubectlGet("json"), list: inside(`{"kind":"`, "x", "")},
	{name: "a kind of 20 MB before many items", says: "kind above the limit", args: listingAs("json"), list: func(s *sender) {
		s.put(`{"kind":"` + strings.Repeat("x", 20<<20) + `List","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[`)
		s.repeat(okPod + ",")
	}},
	{name: "an apiVersion of 20 MB before many items", says: "above the limit of 256", args: listingAs("json"), list: func(s *sender) {
		s.put(`{"kind":"PodList","apiVersion":"` + strings.Repeat("x", 20<<20) + `","metadata":{"resourceVersion":"7"},"items":[`)
		s.repeat(okPod + ",")
	}},
	{name: "a continue token without end", says: "above the limit", args: listingAs("name"), list: inside(`{"kind":"PodList","apiVersion":"v1","metadata":{"continue":"`, "x", "")},
	{name: "a revision without end", says: "above the limit", args: listingAs("name"), list: inside(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"`, "x", "")},
	{name: "pages without end", args: listingAs("name"), kubectl: kubectlGet("name"), list: pages(100)},
	{name: "white space without end", args: listingAs("name"), kubectl: kubectlGet("name"), list: inside(listHead, " ", "")},
	{name: "members without end", args: listingAs("name"), list: func(s *sender) {
		s.put(`{"kind":"PodList"`)
		for i := 0; s.put(fmt.Sprintf(`,"k%d":1`, i)); i++ {
		}
	}},
	{name: "no JSON", args: listingAs("name"), list: inside("", "x", "")},
	{name: "cells of 6 MB", says: "item above the limit", args: listingAs(""), table: true, kubectl: []string{"get", "pods", "-A"}, list: bigRows(6 << 20)},
	{name: "cells of 4 KB", args: listingAs(""), table: true, list: bigRows(4 << 10)},
	{name: "cells of 6 MB, watched", args: watching(""), table: true, list: func(s *sender) { s.put(rowsHead + "]}") }, watch: func(s *sender) {
		cell := strings.Repeat("x", 6<<20)
		for i := 8; s.put(fmt.Sprintf(`{"type":"MODIFIED","object":%s{"cells":[%q],"object":{"metadata":{"name":"a","namespace":"default","uid":"1","resourceVersion":"%d"}}}]}}`+"\n", rowsHead, cell, i)); i++ {
		}
	}},
	{name: "one cell of 3 MB", args: listingAs(""), table: true, list: func(s *sender) {
		s.put(strings.Replace(rowsHead, "}]", `},{"name":"B"},{"name":"C"}]`, 1) + `{"cells":["a","` + strings.Repeat("x", 3<<20) + `","c"],"object":` + okPod + `}`)
		s.repeat(`,{"cells":["a","b","c"],"object":` + okPod + `}`)
	}},
	{name: "one text of 3 MB, in a column of the user's", args: listingAs("custom-columns=A:.spec,B:.metadata.name"), list: func(s *sender) {
		s.put(listHead + itemHead + `"spec":"` + strings.Repeat("x", 3<<20) + `"}`)
		s.repeat("," + okPod)
	}},
	{name: "names below names, in a column of the user's", args: listingAs("custom-columns=A:..name,B:.metadata.name"), list: items(nestedNames)},
	{name: "names below names, by jsonpath", args: watching("jsonpath={..name}"), watch: inTurn(nestedNames, `"spec":0`)},
	{name: "names below names, by jsonpath as JSON", args: watching("jsonpath-as-json={..name}"), watch: inTurn(nestedNames, `"spec":0`)},
	{name: "large names below names, by jsonpath as JSON", least: 60 << 20, args: watching("jsonpath-as-json={..name}"), watch: inTurn(namesBelowNames(3<<20), `"spec":0`)},
	{name: "deep events, by jsonpath as JSON", args: watching("jsonpath-as-json={.spec}"), watch: inTurn(deepItem, `"spec":0`)},
	{name: "names below names, by jq", args: watching("jq=.."), watch: inTurn(namesBelowNames(3<<20), `"spec":0`)},
	{name: "names below names, by a template", args: watching(`go-template={{define "d"}}{{.}}{{with .name}}{{template "d" .}}{{end}}{{end}}{{with .spec}}{{template "d" .}}{{end}}`), watch: inTurn(namesBelowNames(3<<20), `"status":0`)},
	{name: "300,000 columns", args: listingAs(""), table: true, list: func(s *sender) {
		s.put(strings.Replace(rowsHead, "}]", "}"+strings.Repeat(",{}", 300_000)+"]", 1) + `{"cells":["a"],"object":` + okPod + `}`)
		s.repeat(`,{"cells":["a"],"object":` + okPod + `}`)
	}},
	{name: "columns without end", says: "column definitions above the limit", args: listingAs(""), table: true, list: inside(`{"kind":"Table","apiVersion":"meta.k8s.io/v1","columnDefinitions":[`, `{"name":"Name","type":"string"},`, "")},
	{name: "an error without end", args: listingAs("name"), kubectl: kubectlGet("name"), list: func(s *sender) {
		s.w.(http.ResponseWriter).WriteHeader(500)
		inside(`{"kind":"Status","message":"`, "x", "")(s)
	}},
	{name: "an event without end", args: watching("ndjson"), watch: inside(added+itemHead+`"spec":"`, "x", "")},
	{name: "events of 7 MB", args: watching("ndjson"), watch: func(s *sender) {
		text := strings.Repeat("x", 7<<20)
		for i := 8; s.put(fmt.Sprintf(`{"type":"MODIFIED","object":{"metadata":{"name":"a","namespace":"default","uid":"u","resourceVersion":"%d"},"spec":%q}}`+"\n", i, text)); i++ {
		}
	}},
	{name: "deep events, as a diff", args: watching("diff"), watch: func(s *sender) {
		for i := 8; s.put(fmt.Sprintf(`{"type":"MODIFIED","object":{"metadata":{"name":"a","namespace":"default","uid":"u","resourceVersion":"%d"},"status":"%d",%s}}`+"\n", i, i, deepItem)); i++ {
		}
	}},
	{name: "long paths, as a diff of paths", args: watching("diff", "--diff", "paths"), watch: inTurn(longPaths("1"), longPaths("2"))},
	{name: "long paths, as a JSON patch", args: watching("diff", "--diff", "json-patch"), watch: inTurn(longPaths("1"), longPaths("2"))},
	{name: "events of other lines, as a diff", args: watching("diff"), watch: inTurn(`"spec":["7"`+strings.Repeat(",1", 1_000_000)+"]", `"spec":["7"`+strings.Repeat(",7,1", 500_000)+"]")},
	{name: "events of 3 MB of empty lists, as YAML", args: watching("yaml"), watch: inTurn(`"spec":[`+strings.Repeat("[],", 1<<20)+"0]", `"spec":0`)},
	{name: "events of 3 MB of empty lists, as KYAML", args: watching("kyaml"), watch: inTurn(`"spec":[`+strings.Repeat("[],", 1<<20)+"0]", `"spec":0`)},
	{name: "events of 3 MB of empty lists, if changed", args: watching("name", "--changed-only"), watch: inTurn(`"spec":[`+strings.Repeat("[],", 1<<20)+"0]", `"spec":[`+strings.Repeat("[],", 1<<20)+"1]")},
	{name: "events of 3 MB of empty lists, on a change", args: watching("name", "--on-change", ".spec"), watch: inTurn(`"spec":[`+strings.Repeat("[],", 1<<20)+"0]", `"spec":[`+strings.Repeat("[],", 1<<20)+"1]")},
	{name: "bad namespaces without end", args: listingAs("name"), list: badNamespaces},
	{name: "bad namespaces without end, watched", args: watching("name"), list: badNamespaces},
	{name: "what no expression prints", says: "(--memory)", least: 64 << 20, ends: true, args: watching("jsonpath={.spec[7]}", "--memory", "16"), list: items(`"spec":[]`)},
	{name: "what no expression selects", says: "(--memory)", least: 64 << 20, ends: true, args: watching("name", "--where", ".spec[7].x.y", "--memory", "16"), list: items(`"spec":["x",1,2,3,4,5,6,7]`)},
	{name: "what comes and goes, debounced", least: 400 << 20, args: watching("name", "--debounce", "1h"), watch: comesAndGoes},
	{name: "what comes and goes, before slow hooks", args: watching("none", "--exec-initial", "--exec", "sleep 2"), watch: comesAndGoes},
	{name: "white space between events", args: watching("name"), watch: inside("", "\n", "")},
	{name: "bookmarks without end", args: watching("name"), watch: inside("", `{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"9"}}}`+"\n", "")},
	{name: "the error of a watch without end", args: watching("name"), watch: inside(`{"type":"ERROR","object":{"kind":"Status","message":"`, "x", "")},
	{name: "the continue token of a list without end", says: "list metadata above the limit of 1048576 bytes", ends: true, args: listingAs("name"), list: inside(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7","continue":"`, "x", `"},"items":[]}`)},
	{name: "column definitions without end", says: "column definitions above the limit of 1048576 bytes", ends: true, args: listingAs("wide"), list: inside(`{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"7"},"columnDefinitions":[{"name":"`, "x", `"}],"rows":[]}`)},
	{name: "errors of a watch, of 2 MB", says: "an ERROR of 2097", ends: true, args: watching("name", "--max-failures", "1"), watch: func(s *sender) {
		s.put(`{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","code":500,"message":"` + strings.Repeat("x", 2<<20) + `"}}` + "\n")
	}},
	{name: "names of 2 MB", says: "at most 1024 are allowed", ends: true, args: listingAs("name"), list: atMost(12<<20, func(s *sender) {
		s.put(listHead)
		for s.put(`{"metadata":{"name":"` + strings.Repeat("x", 2<<20) + `","namespace":"default","uid":"u","resourceVersion":"7"}},`) {
		}
		s.left = 1 << 10
		s.put(okPod + "]}")
	})},
	{name: "items of 3 MB that are not UTF-8", says: "UTF-8", ends: true, args: listingAs("json"), list: atMost(12<<20, func(s *sender) {
		s.put(listHead)
		for s.put(itemHead + `"spec":"` + strings.Repeat("\xff", 3<<20) + `"},`) {
		}
		s.left = 1 << 10
		s.put(okPod + "]}")
	})},
	{name: "groups without end", args: listingAs("name"), kubectl: kubectlGet("name"), other: map[string]func(*sender){"/apis": inside(`{"kind":"APIGroupList","groups":[`, `{"name":"a.io","versions":[{"groupVersion":"a.io/v1","version":"v1"}]},`, "")}},
	{name: "resources without end", args: listingAs("name"), other: map[string]func(*sender){"/api/v1": inside(`{"kind":"APIResourceList","groupVersion":"v1","resources":[`, `{"name":"a","kind":"A","namespaced":true,"verbs":["list"]},`, "")}},
	{name: "a resource's name without end", args: listingAs("name"), other: map[string]func(*sender){"/api/v1": inside(`{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"`, "x", "")}},
	{name: "a version without end", args: []string{"auth", "check", "-s", "SERVER"}, other: map[string]func(*sender){"/version": inside(`{"gitVersion":"`, "x", "")}},
	{name: "a raw response without end", says: "larger than 32 MiB", least: 33 << 20, ends: true, args: rawSecrets, other: raw(inside(`{"kind":"SecretList","items":[`, `{"data":{"a":"YQ=="}},`, ""))},
	{name: "a raw list of Secrets", ends: true, args: rawSecrets, other: raw(atMost(31<<20, inside(`{"kind":"SecretList","items":[`, `{"data":{"a":"YQ=="}},`, "{}]}")))},
	{name: "a raw response of undecided values", ends: true, args: rawSecrets, other: raw(atMost(31<<20, inside(`{"data":[`, "1,", "1]}")))},
	{name: "a raw response of nesting", ends: true, args: rawSecrets, other: raw(atMost(31<<20, inside("", "[", "")))},
	{name: "6,000 types, all followed", says: "more than 5000 types", args: []string{"watch", "*", "-A", "-s", "SERVER", "-o", "none", "--exit-after", "20s"}, other: map[string]func(*sender){"/api/v1": func(s *sender) {
		s.put(`{"kind":"APIResourceList","groupVersion":"v1","resources":[`)
		for i := range 6000 {
			s.put(fmt.Sprintf(`{"name":"a%d","kind":"A%[1]d","namespaced":true,"verbs":["list","watch"]},`, i))
		}
		s.put(`{"name":"pods","kind":"Pod","namespaced":true,"verbs":["list","watch"]}]}`)
	}}},
	{name: "a user's name without end", says: "cannot be read", args: []string{"auth", "check", "-s", "SERVER"}, other: map[string]func(*sender){
		"/apis/authentication.k8s.io/v1/selfsubjectreviews": inside(`{"status":{"userInfo":{"username":"`, "x", `"}}}`),
	}},
	{name: "a recording of words, as a page", says: "memory for a recording above the limit", args: []string{"ui", "--recording", "FILE"}, file: zipped(`{"t":"mark","label":"x"}` + "\n")},
	{name: "a recording of words", says: "memory for a recording above the limit", args: []string{"replay", "FILE", "--fast", "-o", "none"}, file: zipped(`{"t":"mark","label":"x"}` + "\n")},
	{name: "a recording of words, its summary", args: []string{"replay", "FILE", "--info"}, file: zipped(`{"t":"mark","label":"x"}` + "\n")},
	{name: "a recording of one line, its summary", says: "longer than 41943040 bytes", least: 400 << 20, ends: true, args: []string{"replay", "FILE", "--info"}, file: zipped("x")},
	{name: "a recording of one line", args: []string{"replay", "FILE", "--fast"}, file: zipped("x")},
	{name: "a kubeconfig of aliases", says: "expand to more than 1 MiB", args: []string{"list", "pods", "--kubeconfig", "FILE"}, kubectl: []string{"get", "pods", "--kubeconfig", "FILE"}, file: aliased("clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1', extensions: [{name: e, extension: [", "]}]}}]\n")},
	{name: "a kubeconfig that names a device", says: "/dev/zero is larger", args: []string{"list", "pods", "--kubeconfig", "FILE"}, file: naming("{certificate-authority: /dev/zero, ", "{token: a")},
	{name: "a kubeconfig that names a device, checked", says: "/dev/zero is larger", args: []string{"auth", "check", "--kubeconfig", "FILE"}, file: naming("{", "{tokenFile: /dev/zero, client-certificate: /dev/zero, client-key: /dev/zero")},
	{name: "a manifest of aliases", says: "expand to more than 1 MiB", args: []string{"fake", "serve", "-f", "FILE"}, file: aliased("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: default}\ndata: [", "]\n")},
	{name: "a manifest of aliases of aliases", says: "expand to more than 1 MiB", args: []string{"fake", "serve", "-f", "FILE"}, file: func(s *sender) {
		s.put("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n")
		for i := range 12 {
			s.put(fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i), 10), ",")))
		}
	}},
	{name: "manifests without end", says: "/dev/zero is larger", args: []string{"fake", "serve", "-f", "/dev/zero"}, file: rubbish},
	{name: "a device of manifests to list", says: "/dev/zero is larger", args: []string{"list", "-f", "/dev/zero", "-s", "http://127.0.0.1:1"}, file: rubbish},
	{name: "faults without end", says: "/dev/zero is larger", args: []string{"fake", "serve", "--faults", "/dev/zero"}, file: rubbish},
	{name: "a saved state without end", says: "is no file", args: []string{"fake", "serve", "--save", "/dev/zero"}, file: rubbish},
	{name: "a kubeconfig without end", says: "larger than 16 MiB", args: []string{"list", "pods", "--kubeconfig", "/dev/zero"}, file: rubbish},
	{name: "an expression without end", says: "/dev/zero is larger", args: []string{"list", "pods", "-o", "jq-file=/dev/zero", "-s", "http://127.0.0.1:1"}, file: rubbish},
	{name: "a recording without end", says: "longer than 20971520 bytes", args: []string{"replay", "/dev/zero", "--fast"}, file: rubbish},
	{name: "a recording without end, served", says: "longer than 20971520 bytes", args: []string{"replay", "/dev/zero", "--serve", "state", "--listen", "127.0.0.1:0"}, file: rubbish},
	{name: "a checkpoint without end", says: "not a regular file", args: []string{"watch", "pods", "-A", "-s", "SERVER", "--checkpoint", "/dev/zero", "--once"}, file: rubbish},
	{name: "manifests of one List of small objects", says: "more than 100000 objects", args: loads, file: atMost(60<<20, inside(`{"kind":"ConfigMapList","apiVersion":"v1","items":[`, `{"metadata":{"name":"a"}},`, `{"metadata":{"name":"a"}}]}`))},
	{name: "manifests of small objects", says: "more than 100000 objects", args: loads, file: atMost(60<<20, inside("", `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"}}`, ""))},
	{name: "manifests of small objects, as YAML", says: "more than 100000", args: loads, file: atMost(31<<20, inside("", "---\nkind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\n", ""))},
	{name: "a manifest of empty lists", says: "larger than 3145728 bytes", args: loads, file: atMost(60<<20, inside(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"},"data":[`, "[],", "[]]}"))},
	{name: "manifests of 3 MB of empty lists", says: "more than 300000 values", args: loads, file: atMost(60<<20, inside("", `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"generateName":"a","namespace":"default"},"x":[`+strings.Repeat("[],", 1_000_000)+`0]}`, ""))},
	{name: "a manifest of empty objects", says: "larger than 3145728 bytes", args: loads, file: atMost(60<<20, inside(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"},"data":[`, `{"":0},`, "0]}"))},
	{name: "a manifest of empty lists, as YAML", says: "more than 300000", args: loads, file: atMost(31<<20, inside("kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\ndata: [", "[],", "[]]\n"))},
	{name: "a manifest of members, as YAML", says: "larger than 3145728 bytes", args: loads, file: atMost(60<<20, func(s *sender) {
		s.put("kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\ndata: {")
		for i := range 299_990 { // as many as are allowed
			s.put(fmt.Sprintf("a%d,", i))
		}
		s.put("}")
	})},
	{name: "a manifest of one text", says: "larger than 3145728 bytes", args: loads, file: atMost(31<<20, inside("kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\ndata: ", "x", "\n"))},
	{name: "a manifest of 60 MB of one text", says: "larger than 32 MiB", ends: true, args: loads, file: atMost(60<<20, inside("kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\ndata: ", "x", "\n"))},
	{name: "manifests of large texts", args: loads, file: largeTexts("", "", "")},
	{name: "manifests of large texts in a List", args: loads, file: largeTexts(`{"kind":"List","apiVersion":"v1","items":[`, ",", "]}")},
	{name: "a saved state of large texts", args: []string{"fake", "serve", "--save", "FILE"}, file: largeTexts(`{"kind":"List","apiVersion":"v1","items":[`, ",", "]}")},
	{name: "a saved state of small objects", says: "more than 100000 objects", args: []string{"fake", "serve", "--save", "FILE"}, file: atMost(60<<20, func(s *sender) {
		s.put(`{"kind":"List","apiVersion":"v1","items":[`)
		for i := 0; s.put(fmt.Sprintf(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a%d","namespace":"default"}},`, i)); i++ {
		}
		s.left = 2
		s.put(`0]}`)
	})},
	{name: "a checkpoint of rubbish", says: "cannot be used", args: []string{"watch", "pods", "-A", "-s", "SERVER", "--checkpoint", "FILE", "--exit-after", "1s"}, file: func(s *sender) {
		s.put("listwatch checkpoint 1\n")
		s.repeat("x")
	}},
}

// badNamespaces lists objects that are in no namespace that there can be.
func badNamespaces(s *sender) {
	s.put(listHead)
	for i := 0; s.put(fmt.Sprintf(`{"metadata":{"name":"a%d","namespace":"NO/%[1]d","uid":"%[1]d","resourceVersion":"7"}},`, i)); i++ {
	}
}

func rubbish(s *sender) { s.put("x") }

var rawSecrets = []string{"list", "--raw", "/api/v1/secrets", "-s", "SERVER"}

func raw(write func(*sender)) map[string]func(*sender) {
	return map[string]func(*sender){"/api/v1/secrets": write}
}

// loads are the arguments of a server that loads FILE.
var loads = []string{"fake", "serve", "-f", "FILE"}

// atMost writes no more than bytes, however large the attack is.
func atMost(bytes int64, write func(*sender)) func(*sender) {
	return func(s *sender) {
		s.left = bytes
		write(s)
	}
}

// largeTexts writes objects of 1 MB, as large as ConfigMaps may be, 60 MB in all.
func largeTexts(head, between, tail string) func(*sender) {
	return func(s *sender) {
		s.left = 100 << 20
		s.put(head)
		for i := range 60 {
			if i > 0 {
				s.put(between)
			}
			s.put(fmt.Sprintf(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a%d","namespace":"default"},"data":{"a":%q}}`, i, strings.Repeat("x", 1_000_000)))
		}
		s.put(tail)
	}
}

// zipped writes text until the attack is over, compressed: one part again and again.
func zipped(text string) func(*sender) {
	pack := func(write func(*sender), size int64) string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		write(&sender{w: z, left: size})
		z.Close()
		return b.String()
	}
	return func(s *sender) {
		_, _ = io.WriteString(s.w, pack(func(s *sender) { s.put(`{"t":"header","format":"lwrec","version":1}` + "\n") }, 1<<10))
		size := min(s.left, 64<<20)
		part := pack(func(s *sender) { s.repeat(text) }, size)
		for ; s.left > 0; s.left -= size {
			_, _ = io.WriteString(s.w, part)
		}
	}
}

// aliased writes a scalar of 1 MB with many aliases between a head and a tail.
func aliased(head, tail string) func(*sender) {
	return func(s *sender) {
		s.put("x: &x " + strings.Repeat("x", 1<<20) + "\n" + head + strings.TrimSuffix(strings.Repeat("*x,", 4000), ",") + tail)
	}
}

// naming writes a kubeconfig with what a cluster and a user begin with.
func naming(cluster, user string) func(*sender) {
	return func(s *sender) {
		s.put("clusters: [{name: c, cluster: " + cluster + "server: 'https://127.0.0.1:1'}}]\n")
		s.put("users: [{name: u, user: " + user + "}}]\ncontexts: [{name: c, context: {cluster: c, user: u}}]\ncurrent-context: c\n")
	}
}
