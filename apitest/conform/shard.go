package conform

import (
	"net/url"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/kube"
)

// Server-side sharding (KEP-5866) has a feature gate, ShardedListAndWatch. The checks
// pass with the gate on and off: if it is off, shardSelector is ignored.

func shardChecks() []check {
	return []check{
		{"a list of a shard has its objects, or shardSelector is ignored", shardList},
		{"a watch of a shard has its events, or shardSelector is ignored", shardWatch},
		{"a shardSelector that makes no sense is refused, or ignored", shardRefuses},
	}
}

func shardQuery(s string) string { return "shardSelector=" + url.QueryEscape(s) }

// sharded reports whether the gate is on.
func (e *env) sharded() bool {
	e.Helper()
	return e.send("GET", e.path("?"+shardQuery(kube.EqualShard(0, 2).String())), "").want(200).at("metadata", "shardInfo") != ""
}

// inShard returns the names of the objects in s, or of all if the gate is off.
func inShard(objects []*object, s kube.Shard, gate bool) []string {
	names := []string{}
	for _, o := range objects {
		if !gate || s.Has(o.Metadata.UID) {
			names = append(names, o.Metadata.Name)
		}
	}
	return names
}

func (e *env) createMany() (objects []*object) {
	e.Helper()
	for _, name := range strings.Fields("a b c d e f g h i j k l") {
		objects = append(objects, e.create(name, "", "1"))
	}
	return objects
}

func shardList(e *env) {
	objects := e.createMany()
	gate := e.sharded()
	ends, err := kube.NewShard(append(kube.EqualShard(0, 4).Ranges(), kube.EqualShard(3, 4).Ranges()...)...)
	if err != nil {
		e.Fatal(err)
	}
	for _, s := range []kube.Shard{kube.EqualShard(0, 3), kube.EqualShard(1, 3), kube.EqualShard(2, 3), ends} {
		query := shardQuery(s.String())
		l := e.list(query)
		same(e, "names for "+query, l.names(), inShard(objects, s, gate))
		if got, want := e.send("GET", e.path("?"+query), "").word("metadata", "shardInfo", "selector"), s.String(); gate && got != want {
			e.Errorf("shardInfo repeats %q, want %q", got, want)
		}
		paged := []string{} // of a shard that has no object, too
		for query := query + "&limit=2"; ; {
			l := e.list(query)
			if paged = append(paged, l.names()...); gate && l.Metadata.RemainingItemCount != nil {
				e.Error("a page of a shard has a remainingItemCount")
			}
			if l.Metadata.Continue == "" {
				break
			}
			query = shardQuery(s.String()) + "&limit=2&continue=" + l.Metadata.Continue
		}
		same(e, "names by page for "+query, paged, l.names())
	}
	byNamespace := strings.ReplaceAll(kube.EqualShard(0, 2).String(), "uid", "namespace")
	want := inShard(objects, kube.Shard{}, true)
	if gate && !kube.EqualShard(0, 2).Has(e.ns) {
		want = []string{}
	}
	same(e, "names by namespace", e.list(shardQuery(byNamespace)).names(), want)
}

func shardWatch(e *env) {
	gate := e.sharded()
	rv := e.list("").Metadata.ResourceVersion
	half := kube.EqualShard(1, 2)
	s := e.watch(e.path("?watch=true&resourceVersion=" + rv + "&" + shardQuery(half.String())))
	objects := e.createMany()
	e.update("c", "", "2")
	for _, o := range objects {
		e.delete(o.Metadata.Name)
	}
	names := inShard(objects, half, gate)
	for _, name := range names {
		s.want("ADDED " + name + "=1")
	}
	values := map[string]string{}
	if slices.Contains(names, "c") {
		s.want("MODIFIED c=2")
		values["c"] = "2"
	}
	for _, name := range names {
		value := "1"
		if v, changed := values[name]; changed {
			value = v
		}
		s.want("DELETED " + name + "=" + value)
	}
	// No object of the other half is sent later either.
	for {
		o := e.create("last", "", "1")
		if !gate || half.Has(o.Metadata.UID) {
			break
		}
		e.delete("last")
	}
	s.want("ADDED last=1")
}

func shardRefuses(e *env) {
	gate := e.sharded()
	const whole = "'0x0000000000000000', '0x10000000000000000')"
	for _, bad := range []string{
		" ",
		"nonsense",
		"shardRange(object.metadata.uid)",
		"other(object.metadata.uid, " + whole,
		"shardRange(metadata.uid, " + whole,
		"shardRange(object.metadata.name, " + whole,
		"shardRange(object.metadata.uid, " + whole + " && shardRange(object.metadata.uid, " + whole,
		"shardRange(object.metadata.uid, " + whole + " || shardRange(object.metadata.namespace, " + whole,
		"shardRange(object.metadata.uid, '0x0', '0x8000000000000000')",
		"shardRange(object.metadata.uid, '0x000000000000000A', '0x8000000000000000')",
		"shardRange(object.metadata.uid, '0000000000000000', '0x8000000000000000')",
		"shardRange(object.metadata.uid, '0x8000000000000000', '0x8000000000000000')",
		"shardRange(object.metadata.uid, '0x0000000000000000', '0x20000000000000000')",
		"shardRange(object.metadata.uid, 0, 1)",
	} {
		for _, watch := range []string{"", "watch=true&timeoutSeconds=1&"} {
			a := e.send("GET", e.path("?"+watch+shardQuery(bad)), "")
			if !gate {
				a.want(200)
				continue
			}
			if st := a.refused(500, ""); !strings.HasPrefix(st.Message, "invalid shard selector: ") {
				e.Errorf("%s: the message is %q", bad, st.Message)
			}
		}
	}
}
