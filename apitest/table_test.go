package apitest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
)

// cellsOf returns the cells of the rows of a list.
func cellsOf(t *testing.T, srv *apitest.Server, path string) [][]any {
	t.Helper()
	_, body := get(t, srv, path, "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	var table struct {
		Rows []struct{ Cells []any }
	}
	if err := json.Unmarshal([]byte(body), &table); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	var out [][]any
	for _, r := range table.Rows {
		out = append(out, r.Cells)
	}
	return out
}

func TestAgeHasASecondUnitWhereItMatters(t *testing.T) {
	const day = 24 * time.Hour
	for d, want := range map[time.Duration]string{
		-5 * time.Second: "<invalid>", -time.Second: "0s", 0: "0s", 119 * time.Second: "119s", 120 * time.Second: "2m",
		9*time.Minute + 59*time.Second: "9m59s", 10*time.Minute + 59*time.Second: "10m", 179 * time.Minute: "179m",
		180 * time.Minute: "3h", 7*time.Hour + 59*time.Minute: "7h59m", 8*time.Hour + 59*time.Minute: "8h", 47 * time.Hour: "47h",
		48 * time.Hour: "2d", 7*day + 23*time.Hour: "7d23h", 8*day + 23*time.Hour: "8d", 729 * day: "729d",
		730 * day: "2y", 731 * day: "2y1d", 2919 * day: "7y364d", 2921 * day: "8y",
	} {
		story(t, apitest.Options{}, func(t *testing.T, srv *apitest.Server) {
			created := time.Now().Add(-d).Format(time.RFC3339)
			srv.Put(kube.ServiceAccounts, `{"metadata":{"namespace":"a","name":"s","creationTimestamp":"`+created+`"}}`)
			if diff := cmp.Diff([][]any{{"s", want}}, cellsOf(t, srv, "/api/v1/serviceaccounts")); diff != "" {
				t.Errorf("%v: %s", d, diff)
			}
		})
	}
}

func TestTheYoungestOfSeveralDefaultStorageClassesIsTheDefault(t *testing.T) {
	classes := kube.Resource{Group: "storage.k8s.io", Version: "v1", Plural: "storageclasses", Kind: "StorageClass"}
	story(t, apitest.Options{}, func(t *testing.T, srv *apitest.Server) {
		put := func(name, mark string) {
			srv.Put(classes, `{"metadata":{"name":"`+name+`","annotations":{"`+mark+`":"true"}},"provisioner":"p"}`)
		}
		names := func() (out []any) {
			for _, cells := range cellsOf(t, srv, "/apis/storage.k8s.io/v1/storageclasses") {
				out = append(out, cells[0])
			}
			return out
		}
		put("c", "other")
		if diff := cmp.Diff([]any{"c"}, names()); diff != "" {
			t.Error(diff)
		}
		put("d", "storageclass.kubernetes.io/is-default-class")
		put("b", "storageclass.beta.kubernetes.io/is-default-class")
		if diff := cmp.Diff([]any{"b (default)", "c", "d"}, names()); diff != "" {
			t.Error(diff)
		}
		time.Sleep(time.Second)
		put("e", "storageclass.kubernetes.io/is-default-class")
		if diff := cmp.Diff([]any{"b", "c", "d", "e (default)"}, names()); diff != "" {
			t.Error(diff)
		}
	})
}

// TestTablesOfGarbage: what a test stores need not fit its type; a Table has all
// the same a cell for each column.
func TestTablesOfGarbage(t *testing.T) {
	values := []string{`null`, `1`, `"x"`, `[]`, `{}`, `[null,1,"x",{}]`}
	members := []string{"spec", "status", "template", "subsets", "ports", "endpoints", "data", "metrics", "webhooks", "roleRef",
		"subjects", "value", "revision", "type", "count", "involvedObject", "series", "lastTimestamp", "provisioner", "message"}
	deep := []string{`"containers":%s`, `"containerStatuses":%s`, `"initContainerStatuses":[{"state":%s}]`, `"conditions":%s`, `"template":{"spec":%s}`,
		`"selector":%s`, `"replicas":%s`, `"metrics":[{"type":"Pods","pods":%s}]`, `"capacity":{"storage":%s}`, `"hard":{"x":%s}`, `"rules":%s`}
	story(t, apitest.Options{}, func(t *testing.T, srv *apitest.Server) {
		_, body := get(t, srv, "/api/v1")
		for _, group := range []string{"/apis/apps/v1", "/apis/batch/v1", "/apis/autoscaling/v2", "/apis/policy/v1", "/apis/networking.k8s.io/v1", "/apis/discovery.k8s.io/v1"} {
			_, more := get(t, srv, group)
			body += more
		}
		dec := json.NewDecoder(strings.NewReader(body))
		tables := 0
		for {
			var list struct {
				GroupVersion string
				Resources    []struct {
					Name, Kind string
					Namespaced bool
					Verbs      []string
				}
			}
			if dec.Decode(&list) != nil {
				break
			}
			for _, r := range list.Resources {
				if strings.Contains(r.Name, "/") || len(r.Verbs) < 3 {
					continue
				}
				group, version, found := strings.Cut(list.GroupVersion, "/")
				if !found {
					group, version = "", group
				}
				res := kube.Resource{Group: group, Version: version, Plural: r.Name, Kind: r.Kind, Namespaced: r.Namespaced}
				for _, v := range values {
					var object []string
					for _, m := range members {
						object = append(object, fmt.Sprintf("%q:%s", m, v))
					}
					srv.Put(res, `{"metadata":{"namespace":"a","name":"g"},`+strings.Join(object, ",")+`}`)
					checkRow(t, srv, res)
					object = nil
					for _, d := range deep {
						object = append(object, fmt.Sprintf(d, v))
					}
					all := strings.Join(object, ",")
					srv.Put(res, `{"metadata":{"namespace":"a","name":"g"},"spec":{`+all+`},"status":{`+all+`}}`)
					checkRow(t, srv, res)
				}
				tables++
			}
		}
		if tables < 25 {
			t.Errorf("%d tables", tables)
		}
	})
}

// checkRow wants a Table with as many cells as columns.
func checkRow(t *testing.T, srv *apitest.Server, res kube.Resource) {
	t.Helper()
	_, body := get(t, srv, res.Path(""), "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	var table struct {
		ColumnDefinitions []struct{ Name string }
		Rows              []struct {
			Cells  []any
			Object struct{ Metadata struct{ Name string } }
		}
	}
	if err := json.Unmarshal([]byte(body), &table); err != nil {
		t.Fatalf("%s: %v in %s", res, err, body)
	}
	for _, r := range table.Rows {
		if len(r.Cells) != len(table.ColumnDefinitions) {
			t.Errorf("%s: %d cells in %d columns: %v", res, len(r.Cells), len(table.ColumnDefinitions), r.Cells)
		}
	}
	if len(table.Rows) == 0 {
		t.Errorf("%s: no rows", res)
	}
}

func TestTextOfCellsIsWrittenAsJSON(t *testing.T) {
	story(t, apitest.Options{}, func(t *testing.T, srv *apitest.Server) {
		text := "plain <b> & \"quoted\" back\\slash \t\u2028 é \x7f end"
		srv.Put(kube.Secrets, map[string]any{"metadata": map[string]any{"namespace": "a", "name": "s"}, "type": text})
		cells := cellsOf(t, srv, "/api/v1/secrets")
		if diff := cmp.Diff([][]any{{"s", text, 0.0, "0s"}}, cells); diff != "" {
			t.Error(diff)
		}
	})
}

// TestSigningRequestsArePrinted: the fixture of real tables has none, as the two
// servers have users of other names.
func TestSigningRequestsArePrinted(t *testing.T) {
	story(t, apitest.Options{}, func(t *testing.T, srv *apitest.Server) {
		const path = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
		for name, conditions := range map[string]string{
			"a": `[{"type":"Approved","status":"True"}]`, "b": `[{"type":"Denied","status":"True"},{"type":"Failed","status":"True"}]`, "c": `[]`,
		} {
			do(t, srv, "POST", path, `{"metadata":{"name":"`+name+`"},"spec":{"request":"eA==","signerName":"example.com/x","expirationSeconds":700}}`)
			do(t, srv, "PATCH", path+"/"+name+"/approval", `{"status":{"conditions":`+conditions+`}}`, "Content-Type", "application/merge-patch+json")
		}
		do(t, srv, "PATCH", path+"/a/status", `{"status":{"certificate":"eA=="}}`, "Content-Type", "application/merge-patch+json")
		var states []any
		for _, cells := range cellsOf(t, srv, path) {
			states = append(states, cells[2], cells[4], cells[5])
		}
		want := []any{"example.com/x", "11m", "Approved,Issued", "example.com/x", "11m", "Denied,Failed", "example.com/x", "11m", "Pending"}
		if diff := cmp.Diff(want, states); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestTableOfAnObjectIsPrintedAsInAList, and the object is not stored.
func TestTableOfAnObjectIsPrintedAsInAList(t *testing.T) {
	const web = `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"namespace":"d","name":"a","creationTimestamp":"2026-01-02T03:04:05Z"},"spec":{"replicas":3,"selector":{"matchLabels":{"app":"a"}},"template":{"spec":{"containers":[{"name":"c","image":"i"}]}}},"status":{"readyReplicas":2}}`
	at := time.Date(2026, 1, 2, 3, 5, 35, 0, time.UTC)
	story(t, apitest.Options{AgesAt: at}, func(t *testing.T, srv *apitest.Server) {
		b, err := srv.Table(kube.Deployments, web, at)
		if err != nil {
			t.Fatal(err)
		}
		if rows := cellsOf(t, srv, "/apis/apps/v1/deployments"); len(rows) != 0 {
			t.Errorf("it is stored: %v", rows)
		}
		var table struct {
			ColumnDefinitions []struct{ Name string }
			Rows              []struct {
				Cells  []any
				Object kube.Partial
			}
		}
		if err := json.Unmarshal(b, &table); err != nil {
			t.Fatal(err)
		}
		srv.Put(kube.Deployments, web)
		want := cellsOf(t, srv, "/apis/apps/v1/deployments")[0]
		if diff := cmp.Diff(want, table.Rows[0].Cells); diff != "" || len(table.ColumnDefinitions) != len(want) || table.Rows[0].Object.GetName() != "a" || want[1] != "2/3" {
			t.Errorf("%s (-listed +got):\n%s", b, diff)
		}
		for what, r := range map[string]kube.Resource{"another kind": kube.Pods, "a type that is not served": {Version: "v1", Plural: "x", Kind: "Deployment"}} {
			if b, err := srv.Table(r, web, at); err == nil {
				t.Errorf("%s: %s, want an error", what, b)
			}
		}
		if b, err := srv.Table(kube.Deployments, "{", at); err == nil {
			t.Errorf("no JSON: %s, want an error", b)
		}
	})
}

// TestTableOfAScale: kubectl get and patch with --subresource=scale.
func TestTableOfAScale(t *testing.T) {
	srv := apitest.NewWith(t, apitest.Options{InMemory: true, NoValidation: true, AgesAt: time.Date(2026, 1, 1, 0, 1, 0, 0, time.UTC)})
	srv.Put(kube.Deployments, `{"metadata":{"namespace":"a","name":"d","creationTimestamp":"2026-01-01T00:00:00Z"},"spec":{"replicas":3},"status":{"replicas":2}}`)
	const d, table = "/apis/apps/v1/namespaces/a/deployments/d/scale", "application/json;as=Table;g=meta.k8s.io;v=v1"
	for _, method := range []string{http.MethodGet, http.MethodPatch} {
		_, body := do(t, srv, method, d, "{}", "Accept", table, "Content-Type", "application/merge-patch+json")
		var got struct {
			Kind              string
			ColumnDefinitions []struct{ Name, Type string }
			Rows              []struct {
				Cells  []any
				Object kube.Partial
			}
		}
		if err := json.Unmarshal([]byte(body), &got); err != nil || got.Kind != "Table" || len(got.Rows) != 1 {
			t.Fatalf("%s: %v in %s", method, err, body)
		}
		if diff := cmp.Diff([]struct{ Name, Type string }{{"Name", "string"}, {"Desired", "integer"}, {"Available", "integer"}, {"Age", "string"}}, got.ColumnDefinitions); diff != "" {
			t.Errorf("%s: columns (-want +got):\n%s", method, diff)
		}
		if diff := cmp.Diff([]any{"d", 3.0, 2.0, "60s"}, got.Rows[0].Cells); diff != "" || got.Rows[0].Object.Name != "d" {
			t.Errorf("%s: of %q, cells (-want +got):\n%s", method, got.Rows[0].Object.Name, diff)
		}
	}
}
