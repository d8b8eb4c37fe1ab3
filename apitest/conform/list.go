package conform

import (
	"strings"
)

func listChecks() []check {
	return []check{
		{"list shows every write, sorted by name", listIsFresh},
		{"list takes revisions as documented", listRevisions},
		{"pages share one snapshot", pagesShareOneSnapshot},
		{"remaining items are counted without selectors only", remainingItems},
		{"list refuses what makes no sense", listRefuses},
		{"list ahead of the server gets 504", listAhead},
		{"selectors select", listSelects},
		{"a common prefix of names and namespaces does not confuse", listPrefixes},
		{"get takes a revision", getRevisions},
	}
}

func listIsFresh(e *env) {
	e.create("b", "", "1")
	last := e.create("a", "", "1")
	l := e.list("")
	same(e, "names", l.names(), []string{"a", "b"})
	same(e, "kind", l.Kind+" "+l.APIVersion, "ConfigMapList v1")
	if l.Metadata.ResourceVersion != last.Metadata.ResourceVersion && !newer(l.Metadata.ResourceVersion, last.Metadata.ResourceVersion) {
		e.Errorf("the list is at %s, before the last write at %s", l.Metadata.ResourceVersion, last.Metadata.ResourceVersion)
	}
	for _, o := range l.Items {
		if o.Kind != "" || o.APIVersion != "" {
			e.Errorf("an item of a typed list has kind %q and apiVersion %q", o.Kind, o.APIVersion)
		}
	}
	e.delete("a")
	e.delete("b")
	a := e.send("GET", e.path(""), "").want(200)
	if !strings.Contains(string(a.body), `"items":[]`) {
		e.Errorf("an empty list: %s", a.body)
	}
}

func listRevisions(e *env) {
	a := e.create("a", "", "1").Metadata.ResourceVersion
	b := e.create("b", "", "1").Metadata.ResourceVersion
	e.delete("a")
	e.update("b", "", "2")
	now := e.list("").Metadata.ResourceVersion
	for _, c := range []struct {
		query, names string
		exactly      string // the list's revision; "" = the current one or later
	}{
		{"", "b", ""},
		{"resourceVersion=", "b", ""},
		{"resourceVersion=" + now, "b", ""},
		{"resourceVersion=" + now + "&resourceVersionMatch=NotOlderThan", "b", ""},
		{"resourceVersion=" + now + "&resourceVersionMatch=NotOlderThan&limit=1", "b", ""},
		{"resourceVersion=" + a + "&resourceVersionMatch=Exact", "a", a},
		{"resourceVersion=" + b + "&resourceVersionMatch=Exact", "a b", b},
		{"resourceVersion=" + b + "&resourceVersionMatch=Exact&limit=1", "a", b},
		{"resourceVersion=" + b + "&limit=1", "a", b}, // a limit makes it exact
	} {
		l := e.list(c.query)
		same(e, "names for "+c.query, strings.Join(l.names(), " "), c.names)
		rv := l.Metadata.ResourceVersion
		if c.exactly != "" && rv != c.exactly || c.exactly == "" && newer(now, rv) {
			e.Errorf("%s: the list is at %s, want %s or newer than %s", c.query, rv, c.exactly, now)
		}
	}
	if l := e.list("resourceVersion=00&resourceVersionMatch=Exact"); newer(now, l.Metadata.ResourceVersion) {
		e.Errorf("revision 00 is older than the latest")
	}
	// Any state is valid for "0", but as a whole: the watch cache has no pages.
	e.list("resourceVersion=0&resourceVersionMatch=NotOlderThan")
	if l := e.list("resourceVersion=0&limit=1"); l.Metadata.Continue != "" {
		e.Errorf("resourceVersion=0 was paged")
	}
}

func pagesShareOneSnapshot(e *env) {
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		e.create(name, "", "1")
	}
	var names, values []string
	var rv string
	query, pages := "limit=2", 0
	for ; ; pages++ {
		l := e.list(query)
		names = append(names, l.names()...)
		for _, o := range l.Items {
			values = append(values, o.Data["k"])
		}
		if rv != "" && rv != l.Metadata.ResourceVersion {
			e.Errorf("page %d is at %s, the first at %s", pages, l.Metadata.ResourceVersion, rv)
		}
		rv = l.Metadata.ResourceVersion
		if l.Metadata.Continue == "" {
			if l.Metadata.RemainingItemCount != nil {
				e.Errorf("the last page says that %d items remain", *l.Metadata.RemainingItemCount)
			}
			break
		}
		if n := l.Metadata.RemainingItemCount; n == nil || *n != 5-len(names) {
			e.Errorf("page %d has remainingItemCount %v, want %d", pages, n, 5-len(names))
		}
		if pages == 0 {
			e.delete("d")
			e.update("e", "", "2")
			e.create("c1", "", "1")
		}
		query = "limit=2&continue=" + l.Metadata.Continue
	}
	same(e, "names", strings.Join(names, " "), "a b c d e")
	same(e, "values", strings.Join(values, " "), "1 1 1 1 1")
	same(e, "pages", pages+1, 3)
}

func remainingItems(e *env) {
	e.create("a", "l=1", "1")
	e.create("b", "l=1", "1")
	e.create("c", "", "1")
	l := e.list("limit=1&labelSelector=l%3D1")
	same(e, "names", strings.Join(l.names(), " "), "a")
	if l.Metadata.Continue == "" || l.Metadata.RemainingItemCount != nil {
		e.Errorf("with a selector: continue %q, remainingItemCount %v", l.Metadata.Continue, l.Metadata.RemainingItemCount)
	}
	l = e.list("limit=1&labelSelector=l%3D1&continue=" + l.Metadata.Continue)
	same(e, "names of page 2", strings.Join(l.names(), " "), "b")
}

func listRefuses(e *env) {
	e.create("a", "", "1")
	e.create("b", "", "1")
	token := e.list("limit=1").Metadata.Continue
	const match, unless = "resourceVersionMatch", "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided"
	for _, c := range []struct {
		query  string
		causes []cause
	}{
		{"resourceVersionMatch=NotOlderThan", []cause{{"FieldValueForbidden", unless, match}}},
		{"resourceVersionMatch=Exact", []cause{{"FieldValueForbidden", unless, match}}},
		{"resourceVersionMatch=Exact&resourceVersion=0", []cause{
			{"FieldValueForbidden", `Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"`, match}}},
		{"resourceVersionMatch=Never&resourceVersion=1", []cause{
			{"FieldValueNotSupported", `Unsupported value: "Never": supported values: "Exact", "NotOlderThan", ""`, match}}},
		{"resourceVersionMatch=Exact&resourceVersion=1&continue=" + token, []cause{
			{"FieldValueForbidden", "Forbidden: resourceVersionMatch is forbidden when continue is provided", match}}},
		{"sendInitialEvents=true", []cause{
			{"FieldValueForbidden", "Forbidden: sendInitialEvents is forbidden for list", "sendInitialEvents"}}},
	} {
		st := e.send("GET", e.path("?"+c.query), "").refused(422, "Invalid")
		same(e, "causes of "+c.query, st.Details.Causes, c.causes)
		same(e, "subject", st.Details.Group+" "+st.Details.Kind, "meta.k8s.io ListOptions")
	}
	for _, query := range []string{
		"continue=nonsense",
		"resourceVersion=1&continue=" + token,
		"limit=many",
		"limit=",
		"timeoutSeconds=",
		"labelSelector=a%3Db%3Dc",
		"fieldSelector=spec.nothing%3Da",
		"fieldSelector=nonsense",
	} {
		e.send("GET", e.path("?"+query), "").refused(400, "BadRequest")
	}
	if a := e.send("GET", e.path("?resourceVersion=nonsense"), ""); a.code < 400 {
		e.Errorf("a revision that is no number was accepted: %d", a.code)
	}
}

func listAhead(e *env) {
	for _, query := range []string{"resourceVersion=999999999", "resourceVersion=999999999&resourceVersionMatch=NotOlderThan"} {
		a := e.send("GET", e.path("?"+query), "")
		st := a.refused(504, "Timeout")
		same(e, "causes", st.Details.Causes, []cause{{"ResourceVersionTooLarge", "Too large resource version", ""}})
		same(e, "Retry-After", a.header.Get("Retry-After"), "1")
	}
}

func listSelects(e *env) {
	e.create("a", "tier=web,env=test", "1")
	e.create("b", "tier=db,env=test", "1")
	e.create("c", "", "1")
	for query, names := range map[string]string{
		"labelSelector=tier%3Dweb":                           "a",
		"labelSelector=tier!%3Dweb":                          "b c",
		"labelSelector=tier+in+(web,db)":                     "a b",
		"labelSelector=tier+notin+(web)":                     "b c",
		"labelSelector=tier":                                 "a b",
		"labelSelector=!tier":                                "c",
		"labelSelector=tier%3Dweb,env%3Dtest":                "a",
		"labelSelector=tier%3Dweb,env%3Dprod":                "",
		"fieldSelector=metadata.name%3Db":                    "b",
		"fieldSelector=metadata.name!%3Db":                   "a c",
		"fieldSelector=metadata.namespace%3D" + e.ns:         "a b c",
		"fieldSelector=metadata.namespace%3Dother":           "",
		"fieldSelector=metadata.name%3Da&labelSelector=tier": "a",
	} {
		same(e, "names for "+query, strings.Join(e.list(query).names(), " "), names)
	}
}

func listPrefixes(e *env) {
	short := e.ns
	e.create("a", "", "1")
	e.create("ab", "", "1")
	e.create("a.b", "", "1")
	e.ns = short + "-b"
	e.namespace(e.ns)
	e.create("z", "", "1")
	e.ns = short
	same(e, "names", strings.Join(e.list("").names(), " "), "a a.b ab")
	same(e, "names by field", strings.Join(e.list("fieldSelector=metadata.name%3Da").names(), " "), "a")
	var names []string
	for query := "limit=1"; ; {
		l := e.list(query)
		names = append(names, l.names()...)
		if l.Metadata.Continue == "" {
			break
		}
		query = "limit=1&continue=" + l.Metadata.Continue
	}
	same(e, "names by page", strings.Join(names, " "), "a a.b ab")
}

func getRevisions(e *env) {
	first := e.create("a", "", "1")
	second := e.update("a", "", "2")
	// The second one before the first: a cache that has not seen the update may serve the first.
	for _, query := range []string{"", "?resourceVersion=" + second.Metadata.ResourceVersion, "?resourceVersion=" + first.Metadata.ResourceVersion} {
		o := &object{}
		e.send("GET", e.path("/a"+query), "").want(200).decode(o)
		same(e, "value for "+query, o.Data["k"], "2")
	}
	e.send("GET", e.path("/a?resourceVersion=0"), "").want(200)
	e.send("GET", e.path("/a?resourceVersion=999999999"), "").refused(504, "Timeout")
}
