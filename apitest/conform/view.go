package conform

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"slices"
	"strings"
)

func viewChecks() []check {
	return []check{
		{"list as a Table", tableList},
		{"watch as Tables, with the columns in the first", tableWatch},
		{"list as metadata", partialList},
		{"watch as metadata", partialWatch},
		{"accept takes the first form that fits", accept},
		{"a large list is compressed", compressed},
		{"discovery finds ConfigMaps", discovery},
	}
}

const (
	asTable       = "application/json;as=Table;v=v1;g=meta.k8s.io"
	asPartial     = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
	asPartialList = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
)

// table has the fields of a Table that the checks compare.
type table struct {
	Kind, APIVersion string
	Metadata         metadata
	Columns          []struct{ Name, Type string } `json:"columnDefinitions"`
	Rows             []struct {
		Cells  []any
		Object *object
	}
}

func (t *table) columns() string {
	var names []string
	for _, c := range t.Columns {
		names = append(names, c.Name)
	}
	return strings.Join(names, " ")
}

func tableList(e *env) {
	e.create("a", "l=1", "1")
	e.create("b", "", "1")
	for include, kind := range map[string]string{
		"": "PartialObjectMetadata", "&includeObject=Metadata": "PartialObjectMetadata",
		"&includeObject=Object": "ConfigMap", "&includeObject=None": "",
	} {
		tab := &table{}
		e.send("GET", e.path("?limit=1"+include), "", "Accept", asTable).want(200).decode(tab)
		same(e, "kind", tab.Kind+" "+tab.APIVersion, "Table meta.k8s.io/v1")
		same(e, "columns", tab.columns(), "Name Data Age")
		if len(tab.Rows) != 1 || len(tab.Rows[0].Cells) != 3 || tab.Rows[0].Cells[0] != "a" || tab.Rows[0].Cells[1] != 1.0 {
			e.Fatalf("rows: %+v", tab.Rows)
		}
		if tab.Metadata.Continue == "" || tab.Metadata.ResourceVersion == "" || tab.Metadata.RemainingItemCount == nil {
			e.Errorf("metadata: %+v", tab.Metadata)
		}
		o := tab.Rows[0].Object
		if kind == "" {
			if o != nil {
				e.Errorf("includeObject=None: %+v", o)
			}
			continue
		}
		if o == nil {
			e.Fatalf("no object for %q", include)
		}
		same(e, "object", o.Kind+" "+o.Metadata.Name+" "+o.Metadata.Labels["l"], kind+" a 1")
	}
	e.send("GET", e.path("?includeObject=Everything"), "", "Accept", asTable).refused(400, "BadRequest")
	tab := &table{}
	e.send("GET", e.path("/a"), "", "Accept", asTable).want(200).decode(tab)
	same(e, "rows of one object", len(tab.Rows), 1)
	e.send("GET", e.path("?labelSelector=none"), "", "Accept", asTable).want(200).decode(tab)
	same(e, "rows of an empty list", len(tab.Rows), 0)
}

func tableWatch(e *env) {
	e.create("a", "", "1")
	e.create("b", "", "1")
	s := e.watch(e.path("?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"), "Accept", asTable)
	var got []string
	for i := range 4 {
		if i == 3 {
			e.delete("a")
		}
		ev := s.next()
		tab := &table{}
		if err := json.Unmarshal(ev.Raw, tab); err != nil {
			e.Fatal(err)
		}
		if tab.Kind != "Table" || len(tab.Rows) != 1 || tab.Rows[0].Object == nil {
			e.Fatalf("frame %d: %s", i, ev.Raw)
		}
		o := tab.Rows[0].Object
		same(e, "revision of the Table", tab.Metadata.ResourceVersion, o.Metadata.ResourceVersion)
		same(e, "kind", o.Kind, "PartialObjectMetadata")
		got = append(got, strings.TrimSpace(sprint("%s %v %s%s", ev.Type, tab.Rows[0].Cells[0], tab.columns(), o.Metadata.Annotations["k8s.io/initial-events-end"])))
	}
	same(e, "frames", got, []string{"ADDED a Name Data Age", "ADDED b", "BOOKMARK  true", "DELETED a"})
}

func partialList(e *env) {
	e.create("a", "l=1", "1")
	e.create("b", "", "1")
	l := &list{}
	a := e.send("GET", e.path("?limit=1"), "", "Accept", asPartialList).want(200)
	a.decode(l)
	same(e, "kind", l.Kind+" "+l.APIVersion, "PartialObjectMetadataList meta.k8s.io/v1")
	same(e, "names", strings.Join(l.names(), " "), "a")
	same(e, "item", l.Items[0].Kind+" "+l.Items[0].APIVersion+" "+l.Items[0].Metadata.Labels["l"], "PartialObjectMetadata meta.k8s.io/v1 1")
	if strings.Contains(string(a.body), `"data":`) || l.Metadata.Continue == "" {
		e.Errorf("list: %s", a.body)
	}
	o := &object{}
	e.send("GET", e.path("/a"), "", "Accept", asPartial).want(200).decode(o)
	same(e, "object", o.Kind+" "+o.Metadata.Name+" "+o.Data["k"], "PartialObjectMetadata a ")
}

func partialWatch(e *env) {
	e.create("a", "", "1")
	s := e.watch(e.path("?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"), "Accept", asPartial)
	for _, want := range []string{"ADDED a=", "MARKER"} {
		ev := s.next()
		same(e, "event", ev.String(), want)
		same(e, "kind", ev.Object.Kind+" "+ev.Object.APIVersion, "PartialObjectMetadata meta.k8s.io/v1")
	}
	e.delete("a")
	s.want("DELETED a=")
}

func accept(e *env) {
	e.create("a", "", "1")
	for header, kind := range map[string]string{
		"": "ConfigMapList", "*/*": "ConfigMapList", "application/json": "ConfigMapList",
		asTable + ",application/json":                                           "Table",
		"application/json;as=Table;v=v9;g=meta.k8s.io,application/json":         "ConfigMapList",
		"application/json;as=Table;v=v1beta1;g=meta.k8s.io," + asTable + ",*/*": "Table",
		"text/html,application/json;q=0.9":                                      "ConfigMapList",
		"application/json;drop=metadata.managedFields":                          "ConfigMapList", // known or not
		asPartialList + ";drop=metadata.managedFields":                          "PartialObjectMetadataList",
		"application/json;as=Other;v=v1;g=meta.k8s.io," + asPartialList:         "PartialObjectMetadataList",
	} {
		l := &list{}
		e.send("GET", e.path(""), "", "Accept", header).want(200).decode(l)
		same(e, "kind for "+header, l.Kind, kind)
	}
	for _, header := range []string{"text/html", "application/json;as=Table;v=v9;g=meta.k8s.io"} {
		e.send("GET", e.path(""), "", "Accept", header).refused(406, "NotAcceptable")
	}
}

// compressed requests gzip itself, so that the client does not decompress it.
func compressed(e *env) {
	e.create("a", "", strings.Repeat("large ", 50_000))
	a := e.send("GET", e.path(""), "", "Accept-Encoding", "gzip")
	same(e, "encoding", a.want(200).header.Get("Content-Encoding"), "gzip")
	gz, err := gzip.NewReader(strings.NewReader(string(a.body)))
	if err != nil {
		e.Fatal(err)
	}
	b, err := io.ReadAll(gz)
	if err != nil {
		e.Fatal(err)
	}
	l := &list{}
	if err := json.Unmarshal(b, l); err != nil {
		e.Fatal(err)
	}
	same(e, "names", strings.Join(l.names(), " "), "a")
	same(e, "encoding of a small answer", e.send("GET", "/api", "", "Accept-Encoding", "gzip").header.Get("Content-Encoding"), "")
}

func discovery(e *env) {
	var core struct {
		Resources []struct {
			Name, SingularName, Kind string
			Namespaced               bool
			Verbs, ShortNames        []string
		}
	}
	e.send("GET", "/api/v1", "").want(200).decode(&core)
	found := false
	for _, r := range core.Resources {
		if r.Name != "configmaps" {
			continue
		}
		found = true
		same(e, "resource", sprint("%s %s %v %v", r.SingularName, r.Kind, r.Namespaced, r.ShortNames), "configmap ConfigMap true [cm]")
		for _, verb := range []string{"create", "delete", "deletecollection", "get", "list", "update", "watch"} {
			if !slices.Contains(r.Verbs, verb) {
				e.Errorf("verb %s is missing", verb)
			}
		}
	}
	if !found {
		e.Error("/api/v1 has no configmaps")
	}
	var versions struct {
		Kind     string
		Versions []string
	}
	e.send("GET", "/api", "").want(200).decode(&versions)
	same(e, "versions", versions.Kind+" "+strings.Join(versions.Versions, " "), "APIVersions v1")
	var groups struct {
		Kind   string
		Groups []struct {
			Name             string
			PreferredVersion struct{ GroupVersion string }
		}
	}
	e.send("GET", "/apis", "").want(200).decode(&groups)
	same(e, "kind of /apis", groups.Kind, "APIGroupList")
	preferred := map[string]string{}
	for _, g := range groups.Groups {
		preferred[g.Name] = g.PreferredVersion.GroupVersion
	}
	same(e, "version of apps", preferred["apps"], "apps/v1")
	const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	for path, resource := range map[string]string{"/api": "v1 configmaps configmap Namespaced ConfigMap", "/apis": "v1 deployments deployment Namespaced Deployment"} {
		a := e.send("GET", path, "", "Accept", aggregated+",application/json").want(200)
		same(e, "content type of "+path, a.header.Get("Content-Type"), aggregated)
		var d struct {
			Items []struct {
				Versions []struct {
					Version   string
					Resources []struct {
						Resource, SingularResource, Scope string
						ResponseKind                      struct{ Kind string }
					}
				}
			}
		}
		a.decode(&d)
		found := false
		for _, item := range d.Items {
			for _, v := range item.Versions {
				for _, r := range v.Resources {
					found = found || resource == sprint("%s %s %s %s %s", v.Version, r.Resource, r.SingularResource, r.Scope, r.ResponseKind.Kind)
				}
			}
		}
		if !found {
			e.Errorf("aggregated %s has no %s", path, resource)
		}
	}
	e.send("GET", "/version", "").want(200)
	for _, path := range []string{"/healthz", "/livez", "/readyz"} {
		same(e, path, string(e.send("GET", path, "").want(200).body), "ok")
	}
}
