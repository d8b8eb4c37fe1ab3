package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

// deployment knows a little of a Deployment, as programs do.
type deployment struct {
	kube.Meta `json:"metadata"`
	Spec      struct {
		Replicas *int `json:"replicas,omitempty"`
		Template struct {
			Spec struct {
				Containers []container `json:"containers"`
			} `json:"spec"`
		} `json:"template"`
	} `json:"spec"`
	Status struct {
		Replicas      int `json:"replicas,omitempty"`
		ReadyReplicas int `json:"readyReplicas,omitempty"`
	} `json:"status"`
}

type container struct {
	Name  string `json:"name"`
	Image string `json:"image"`
}

const webDeployment = `{"metadata":{"namespace":"a","name":"web","labels":{"app":"web"}},"spec":{"replicas":2,"selector":{"matchLabels":{"app":"web"}},
	"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[
		{"name":"log","image":"log:1","env":[{"name":"LEVEL","value":"1"}]},
		{"name":"web","image":"web:1","ports":[{"containerPort":80}]}]}}}}`

type configMap struct {
	kube.Meta `json:"metadata"`
	Data      map[string]string `json:"data,omitempty"`
}

func configMapOf(ns, name string, data map[string]string) configMap {
	return configMap{Meta: kube.Meta{Namespace: ns, Name: name}, Data: data}
}

// fake returns a server that takes writes as kube-apiserver does, and a client of it.
func fake(t *testing.T, fixtures ...apitest.Fixture) (*apitest.Server, *client.Client) {
	srv := apitest.NewInMemory(t, fixtures...)
	return srv, newClient(t, client.Config{Server: srv.URL, Dial: srv.Dial})
}

// bubble runs f in virtual time.
func bubble(t *testing.T, f func(t *testing.T)) { synctest.Test(t, f) }

// text returns the member of the stored object at path.
func text(t *testing.T, srv *apitest.Server, r kube.Resource, k kube.Key, path ...string) string {
	t.Helper()
	b := srv.Get(r, k)
	if b == nil {
		t.Fatalf("there is no %s %s", r, k)
	}
	return lookup(t, b, path...)
}

// lookup returns the member of an object at path, where a number is an index.
func lookup(t *testing.T, object []byte, path ...string) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(object, &v); err != nil {
		t.Fatal(err)
	}
	for _, name := range path {
		switch in := v.(type) {
		case map[string]any:
			v = in[name]
		case []any:
			i, _ := strconv.Atoi(name)
			v = in[i]
		}
	}
	return fmt.Sprint(v)
}

var web = kube.Key{Namespace: "a", Name: "web"}

func TestCreate(t *testing.T) {
	bubble(t, func(t *testing.T) {
		_, c := fake(t)
		maps := client.Of[configMap](c, kube.ConfigMaps)
		got, err := maps.In("a").Create(t.Context(), configMapOf("", "web", map[string]string{"k": "<v>"}))
		if err != nil {
			t.Fatal(err)
		}
		if got.Namespace != "a" || got.UID == "" || got.ResourceVersion == "" || got.Data["k"] != "<v>" {
			t.Errorf("created %+v", got)
		}
		if _, err := maps.Create(t.Context(), got); !errors.Is(err, kube.ErrExists) {
			t.Errorf("create again: %v", err)
		}
		named := configMap{Meta: kube.Meta{Namespace: "a", GenerateName: "web-"}}
		if got, err = maps.Create(t.Context(), named); err != nil || !strings.HasPrefix(got.Name, "web-") || len(got.Name) != 9 {
			t.Errorf("generateName: %q, %v", got.Name, err)
		}
		if _, err = maps.Create(t.Context(), configMapOf("", "web", nil)); err == nil || !strings.Contains(err.Error(), "has no namespace") {
			t.Errorf("without a namespace: %v", err)
		}
	})
}

func TestCreateReportsEachCauseOfAnInvalidObject(t *testing.T) {
	bubble(t, func(t *testing.T) {
		_, c := fake(t)
		_, err := client.Of[deployment](c, kube.Deployments).Create(t.Context(), deployment{Meta: kube.Meta{Namespace: "a", Name: "web"}})
		var st *kube.Status
		if !errors.Is(err, kube.ErrInvalid) || !errors.As(err, &st) || st.Details == nil {
			t.Fatalf("error: %v", err)
		}
		var fields []string
		for _, cause := range st.Details.Causes {
			fields = append(fields, cause.Field)
		}
		if diff := cmp.Diff([]string{"spec.selector", "spec.template.metadata.labels", "spec.template.spec.containers"}, fields); diff != "" {
			t.Errorf("causes (-want +got):\n%s", diff)
		}
	})
}

func TestUpdateKeepsWhatTheStructDoesNotKnow(t *testing.T) {
	bubble(t, func(t *testing.T) {
		srv, c := fake(t, apitest.Fixture{Resource: kube.Deployments, Object: webDeployment})
		deployments := client.Of[deployment](c, kube.Deployments)
		d, err := deployments.Get(t.Context(), web)
		if err != nil {
			t.Fatal(err)
		}
		replicas := 5
		d.Spec.Replicas = &replicas
		containers := d.Spec.Template.Spec.Containers
		containers[1].Image = "web:2"
		d.Spec.Template.Spec.Containers = append([]container{{"new", "new:1"}}, containers...)
		if d, err = deployments.Update(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if *d.Spec.Replicas != 5 {
			t.Errorf("returned %d replicas", *d.Spec.Replicas)
		}
		want := [][]string{
			{"5", "spec", "replicas"},
			{"web", "spec", "selector", "matchLabels", "app"},
			{"new:1", "spec", "template", "spec", "containers", "0", "image"},
			{"log:1", "spec", "template", "spec", "containers", "1", "image"},
			{"LEVEL", "spec", "template", "spec", "containers", "1", "env", "0", "name"},
			{"web:2", "spec", "template", "spec", "containers", "2", "image"},
			{"80", "spec", "template", "spec", "containers", "2", "ports", "0", "containerPort"},
		}
		stored := srv.Get(kube.Deployments, web)
		for _, w := range want {
			if got := lookup(t, stored, w[1:]...); got != w[0] {
				t.Errorf("%s is %q, want %q", strings.Join(w[1:], "."), got, w[0])
			}
		}
	})
}

func TestUpdateOfAStaleObjectConflicts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		srv, c := fake(t, apitest.Fixture{Resource: kube.ConfigMaps, Object: `{"metadata":{"namespace":"a","name":"web"},"data":{"k":"1"}}`})
		maps := client.Of[configMap](c, kube.ConfigMaps)
		stale, err := maps.Get(t.Context(), web)
		if err != nil {
			t.Fatal(err)
		}
		srv.Put(kube.ConfigMaps, `{"metadata":{"namespace":"a","name":"web"},"data":{"k":"2"}}`)
		stale.Data["k"] = "3"
		var st *kube.Status
		if _, err := maps.Update(t.Context(), stale); !errors.Is(err, kube.ErrConflict) || !errors.As(err, &st) || st.Details.Name != "web" {
			t.Errorf("update of a stale struct: %v", err)
		}
		raw, err := codec.ParseRaw([]byte(`{"metadata":{"namespace":"a","name":"web","resourceVersion":"` + stale.ResourceVersion + `"}}`))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Of[codec.Raw](c, kube.ConfigMaps).Update(t.Context(), raw); !errors.Is(err, kube.ErrConflict) {
			t.Errorf("update of a stale Raw: %v", err)
		}
		if got := text(t, srv, kube.ConfigMaps, web, "data", "k"); got != "2" {
			t.Errorf("stored %q", got)
		}
		stale.ResourceVersion = ""
		if _, err := maps.Update(t.Context(), stale); err == nil || !strings.Contains(err.Error(), "no resourceVersion") {
			t.Errorf("without a resourceVersion: %v", err)
		}
	})
}

// A write between the read and the write of Update is a conflict, too.
func TestUpdateLosesARace(t *testing.T) {
	bubble(t, func(t *testing.T) {
		srv, c := fake(t, apitest.Fixture{Resource: kube.ConfigMaps, Object: `{"metadata":{"namespace":"a","name":"web"},"data":{"k":"1"}}`})
		maps := client.Of[configMap](c, kube.ConfigMaps)
		o, err := maps.Get(t.Context(), web)
		if err != nil {
			t.Fatal(err)
		}
		srv.On(apitest.Match{Verb: "update"}, between(srv, `{"metadata":{"namespace":"a","name":"web"},"data":{"k":"2"}}`)).Times(1)
		o.Data["k"] = "3"
		if _, err := maps.Update(t.Context(), o); !errors.Is(err, kube.ErrConflict) {
			t.Errorf("update: %v", err)
		}
	})
}

func TestUpdateStatus(t *testing.T) {
	bubble(t, func(t *testing.T) {
		srv, c := fake(t, apitest.Fixture{Resource: kube.Deployments, Object: webDeployment})
		deployments := client.Of[deployment](c, kube.Deployments)
		d, err := deployments.Get(t.Context(), web)
		if err != nil {
			t.Fatal(err)
		}
		d.Status.Replicas, d.Status.ReadyReplicas = 2, 2
		d.Spec.Replicas = nil
		if d, err = deployments.UpdateStatus(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if d.Status.ReadyReplicas != 2 || *d.Spec.Replicas != 2 {
			t.Errorf("status %+v, replicas %d", d.Status, *d.Spec.Replicas)
		}
		if _, err = deployments.PatchStatus(t.Context(), web, map[string]any{"readyReplicas": 1}); err != nil {
			t.Fatal(err)
		}
		if got := text(t, srv, kube.Deployments, web, "status", "readyReplicas"); got != "1" {
			t.Errorf("stored %s", got)
		}
	})
}

func TestScale(t *testing.T) {
	bubble(t, func(t *testing.T) {
		srv, c := fake(t, apitest.Fixture{Resource: kube.Deployments, Object: webDeployment})
		scales := client.Of[kube.Scale](c, kube.Deployments).Sub("scale")
		s, err := scales.Get(t.Context(), web)
		if err != nil || s.Spec.Replicas != 2 || s.Status.Selector != "app=web" {
			t.Fatalf("scale %+v, %v", s, err)
		}
		s.Spec.Replicas = 0
		if s, err = scales.Update(t.Context(), s); err != nil || s.Spec.Replicas != 0 {
			t.Fatalf("scale %+v, %v", s, err)
		}
		if got := text(t, srv, kube.Deployments, web, "spec", "replicas"); got != "0" {
			t.Errorf("stored %q", got)
		}
	})
}

// between lets somebody else write before the request is served.
func between(srv *apitest.Server, object string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		srv.Put(kube.ConfigMaps, object)
		apitest.Continue(w, r)
	}
}

func TestEditTriesAgainAfterAConflict(t *testing.T) {
	bubble(t, func(t *testing.T) {
		srv, c := fake(t, apitest.Fixture{Resource: kube.ConfigMaps, Object: `{"metadata":{"namespace":"a","name":"web"},"data":{"n":"1"}}`})
		srv.On(apitest.Match{Verb: "update"}, between(srv, `{"metadata":{"namespace":"a","name":"web"},"data":{"n":"10"}}`)).Times(1)
		var saw []string
		got, err := client.Of[configMap](c, kube.ConfigMaps).Edit(t.Context(), web, func(o *configMap) error {
			saw = append(saw, o.Data["n"])
			o.Data["n"] += "+"
			return nil
		})
		if err != nil || got.Data["n"] != "10+" {
			t.Errorf("%+v, %v", got.Data, err)
		}
		if diff := cmp.Diff([]string{"1", "10"}, saw); diff != "" {
			t.Errorf("f saw (-want +got):\n%s", diff)
		}
	})
}

func TestEditWritesNothingWhereNothingChanged(t *testing.T) {
	bubble(t, func(t *testing.T) {
		srv, c := fake(t, apitest.Fixture{Resource: kube.ConfigMaps, Object: `{"metadata":{"namespace":"a","name":"web"}}`})
		maps := client.Of[configMap](c, kube.ConfigMaps)
		if _, err := maps.Edit(t.Context(), web, func(*configMap) error { return nil }); err != nil {
			t.Error(err)
		}
		refused := errors.New("refused")
		if _, err := maps.Edit(t.Context(), web, func(*configMap) error { return refused }); !errors.Is(err, refused) {
			t.Errorf("f failed, and Edit said %v", err)
		}
		for _, r := range srv.Requests() {
			if r.Verb != "get" {
				t.Errorf("request %s %s", r.Verb, r.Path)
			}
		}
	})
}

func TestEditGivesUpAfterSixConflicts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		srv, c := fake(t, apitest.Fixture{Resource: kube.ConfigMaps, Object: `{"metadata":{"namespace":"a","name":"web"}}`})
		n := 0
		srv.On(apitest.Match{Verb: "update"}, func(w http.ResponseWriter, r *http.Request) {
			n++
			between(srv, fmt.Sprintf(`{"metadata":{"namespace":"a","name":"web"},"data":{"n":"%d"}}`, n))(w, r)
		})
		_, err := client.Of[configMap](c, kube.ConfigMaps).Edit(t.Context(), web, func(o *configMap) error {
			o.Data = map[string]string{"mine": "1"}
			return nil
		})
		if !errors.Is(err, kube.ErrConflict) || n != 6 {
			t.Errorf("after %d writes: %v", n, err)
		}
	})
}

func TestCreateOrUpdate(t *testing.T) {
	for name, write := range map[string]func(client.Collection[configMap], context.Context, kube.Key, func(*configMap) error) (configMap, client.Outcome, error){
		"CreateOrUpdate": client.Collection[configMap].CreateOrUpdate,
		"CreateOrPatch":  client.Collection[configMap].CreateOrPatch,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				srv, c := fake(t)
				maps := client.Of[configMap](c, kube.ConfigMaps).In("a")
				want := func(v string) func(*configMap) error {
					return func(o *configMap) error {
						if o.Data == nil {
							o.Data = map[string]string{}
						}
						o.Data["k"] = v
						return nil
					}
				}
				var outcomes []client.Outcome
				for _, v := range []string{"1", "1", "2"} {
					o, outcome, err := write(maps, t.Context(), kube.Key{Name: "web"}, want(v))
					if err != nil || o.Data["k"] != v {
						t.Errorf("%s: %+v, %v", v, o, err)
					}
					outcomes = append(outcomes, outcome)
				}
				if diff := cmp.Diff([]client.Outcome{client.Created, client.Unchanged, client.Updated}, outcomes); diff != "" {
					t.Errorf("outcomes (-want +got):\n%s", diff)
				}
				if got := text(t, srv, kube.ConfigMaps, web, "data", "k"); got != "2" {
					t.Errorf("stored %q", got)
				}
			})
		})
	}
}

// An owner is compared with the namespace of what it is to own.
func TestCreateOrUpdateGivesTheNameAtFirst(t *testing.T) {
	bubble(t, func(t *testing.T) {
		_, c := fake(t)
		var got []kube.Key
		note := func(o *configMap) error {
			got = append(got, kube.KeyOf(*o))
			return o.SetControllerReference(kube.Deployments, kube.Partial{Meta: kube.Meta{Namespace: "a", Name: "web", UID: "1"}})
		}
		maps := client.Of[configMap](c, kube.ConfigMaps)
		_, first, err := maps.CreateOrUpdate(t.Context(), web, note)
		if err != nil {
			t.Error(err)
		}
		_, second, err := maps.In("a").CreateOrPatch(t.Context(), kube.Key{Name: "other"}, note)
		if err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([]kube.Key{web, {Namespace: "a", Name: "other"}}, got); diff != "" || first != client.Created || second != client.Created {
			t.Errorf("%s, %s, keys (-want +got):\n%s", first, second, diff)
		}
	})
}

// The function's own requests may be answered with ErrNotFound: the object is there.
func TestCreateOrUpdateReturnsTheErrorOfItsFunction(t *testing.T) {
	bubble(t, func(t *testing.T) {
		srv, c := fake(t)
		srv.Put(kube.ConfigMaps, `{"metadata":{"namespace":"a","name":"web"}}`)
		var uids []string
		maps := client.Of[configMap](c, kube.ConfigMaps)
		_, outcome, err := maps.CreateOrUpdate(t.Context(), web, func(o *configMap) error {
			uids = append(uids, o.UID)
			_, err := maps.Get(t.Context(), kube.Key{Namespace: "a", Name: "missing"})
			return err
		})
		if !errors.Is(err, kube.ErrNotFound) || outcome != client.Unchanged || len(uids) != 1 || uids[0] == "" {
			t.Errorf("%v, %s, f was called with UIDs %q, want that of the object", err, outcome, uids)
		}
	})
}

// Somebody else creates the object after we have found none.
func TestCreateOrUpdateLosesTheRaceToCreate(t *testing.T) {
	bubble(t, func(t *testing.T) {
		srv, c := fake(t)
		srv.On(apitest.Match{Verb: "create"}, between(srv, `{"metadata":{"namespace":"a","name":"web"},"data":{"theirs":"1"}}`)).Times(1)
		o, outcome, err := client.Of[configMap](c, kube.ConfigMaps).CreateOrUpdate(t.Context(), web, func(o *configMap) error {
			if o.Data == nil {
				o.Data = map[string]string{}
			}
			o.Data["ours"] = "1"
			return nil
		})
		if err != nil || outcome != client.Updated {
			t.Errorf("%s, %v", outcome, err)
		}
		if diff := cmp.Diff(map[string]string{"ours": "1", "theirs": "1"}, o.Data); diff != "" {
			t.Errorf("data (-want +got):\n%s", diff)
		}
	})
}

func TestCreateOrPatchSendsWhatChanged(t *testing.T) {
	bubble(t, func(t *testing.T) {
		srv, c := fake(t, apitest.Fixture{Resource: kube.Deployments, Object: webDeployment})
		deployments := client.Of[deployment](c, kube.Deployments)
		var bodies []string
		srv.On(apitest.Match{Verb: "patch"}, func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			bodies = append(bodies, string(b))
			r.Body = io.NopCloser(bytes.NewReader(b))
			apitest.Continue(w, r)
		})
		for _, change := range []func(*deployment) error{
			func(d *deployment) error { *d.Spec.Replicas = 3; return nil },
			func(d *deployment) error { d.Labels = nil; return nil },
			func(d *deployment) error { d.Spec.Template.Spec.Containers[0].Image = "log:2"; return nil },
		} {
			if _, _, err := deployments.CreateOrPatch(t.Context(), web, change); err != nil {
				t.Fatal(err)
			}
		}
		o, err := deployments.Get(t.Context(), web)
		if err != nil {
			t.Fatal(err)
		}
		uid := `"` + o.UID + `"`
		want := []string{`{"metadata":{"uid":` + uid + `},"spec":{"replicas":3}}`, `{"metadata":{"labels":{"app":null},"uid":` + uid + `}}`}
		if diff := cmp.Diff(want, bodies[:2]); diff != "" {
			t.Errorf("patches (-want +got):\n%s", diff)
		}
		if !strings.Contains(bodies[2], `"LEVEL"`) || !strings.Contains(bodies[2], `"resourceVersion"`) {
			t.Errorf("the patch of a list is not all of it, or has no resourceVersion: %s", bodies[2])
		}
	})
}

func TestPatch(t *testing.T) {
	bubble(t, func(t *testing.T) {
		srv, c := fake(t, apitest.Fixture{Resource: kube.Deployments, Object: webDeployment})
		deployments := client.Of[deployment](c, kube.Deployments)
		for _, p := range []struct {
			typ   client.PatchType
			patch any
		}{
			{client.JSONPatch, `[{"op":"replace","path":"/spec/replicas","value":3}]`},
			{client.MergePatch, []byte(`{"metadata":{"labels":{"tier":"front"}}}`)},
			{client.StrategicMergePatch, map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
				"containers": []container{{"web", "web:3"}}}}}}},
		} {
			if _, err := deployments.Patch(t.Context(), web, p.typ, p.patch); err != nil {
				t.Errorf("%s: %v", p.typ, err)
			}
		}
		stored := srv.Get(kube.Deployments, web)
		for want, path := range map[string][]string{
			"3": {"spec", "replicas"}, "front": {"metadata", "labels", "tier"},
			"web:3": {"spec", "template", "spec", "containers", "1", "image"},
		} {
			if got := lookup(t, stored, path...); got != want {
				t.Errorf("%v is %q, want %q", path, got, want)
			}
		}
		if _, err := deployments.Patch(t.Context(), web, client.MergePatch, `{"a":`); err == nil || !strings.Contains(err.Error(), "not valid JSON") {
			t.Errorf("a cut patch: %v", err)
		}
	})
}

// TestApplyToASubresource: what is applied needs the kind of the subresource, which a
// program does not have to say.
func TestApplyToASubresource(t *testing.T) {
	bubble(t, func(t *testing.T) {
		srv, c := fake(t)
		var got []string
		srv.On(apitest.Match{}, func(w http.ResponseWriter, r *http.Request) {
			b, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			got = append(got, string(b))
			faults.Answer(&kube.Status{Code: http.StatusConflict})(w, r)
		})
		mine := client.WriteOptions{FieldManager: "mine"}
		scales := client.Of[kube.Scale](c, kube.Deployments).Sub("scale").With(mine)
		pods := client.Of[kube.Partial](c, kube.Pods).Sub("resize").With(mine)
		_, _ = scales.Apply(t.Context(), web, `{"spec":{"replicas":7}}`, client.ApplyOptions{})
		_, _ = pods.Apply(t.Context(), web, `{}`, client.ApplyOptions{})
		want := []string{
			`{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"web","namespace":"a"},"spec":{"replicas":7}}`,
			`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"a"}}`,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestApply(t *testing.T) {
	bubble(t, func(t *testing.T) {
		srv, c := fake(t)
		maps := client.Of[configMap](c, kube.ConfigMaps)
		ours := maps.With(client.WriteOptions{FieldManager: "ours"})
		theirs := maps.With(client.WriteOptions{FieldManager: "theirs"})
		said := func(v string) map[string]any { return map[string]any{"data": map[string]string{"k": v}} }
		if _, err := maps.Apply(t.Context(), web, said("1"), client.ApplyOptions{}); err == nil || !strings.Contains(err.Error(), "needs a field manager") {
			t.Errorf("without a manager: %v", err)
		}
		if o, err := ours.Apply(t.Context(), web, said("1"), client.ApplyOptions{}); err != nil || o.Data["k"] != "1" {
			t.Fatalf("%+v, %v", o, err)
		}
		var st *kube.Status
		if _, err := theirs.Apply(t.Context(), web, said("2"), client.ApplyOptions{}); !errors.Is(err, kube.ErrConflict) || !errors.As(err, &st) || len(st.Details.Causes) != 1 {
			t.Errorf("without force: %v", err)
		}
		if _, err := theirs.Apply(t.Context(), web, said("2"), client.ApplyOptions{Force: true}); err != nil {
			t.Error(err)
		}
		if got := text(t, srv, kube.ConfigMaps, web, "data", "k"); got != "2" {
			t.Errorf("stored %q", got)
		}
	})
}

func TestApplyOnlyCreates(t *testing.T) {
	bubble(t, func(t *testing.T) {
		srv, c := fake(t)
		maps := client.Of[configMap](c, kube.ConfigMaps).With(client.WriteOptions{FieldManager: "ours"})
		create := client.ApplyOptions{Force: true, Create: true}
		if o, err := maps.Apply(t.Context(), web, map[string]any{"data": map[string]string{"k": "1"}}, create); err != nil || o.ResourceVersion == "1" {
			t.Fatalf("%+v, %v", o, err)
		}
		if _, err := maps.Apply(t.Context(), web, map[string]any{"data": map[string]string{"l": "2"}}, create); !errors.Is(err, kube.ErrConflict) {
			t.Errorf("an object that exists: %v", err)
		}
		if got := text(t, srv, kube.ConfigMaps, web, "data", "l"); got != "<nil>" {
			t.Errorf("it was changed to %q", got)
		}
	})
}

func TestDryRunStoresNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		srv, c := fake(t, apitest.Fixture{Resource: kube.ConfigMaps, Object: `{"metadata":{"namespace":"a","name":"web"}}`})
		before := srv.Revision()
		maps := client.Of[configMap](c, kube.ConfigMaps).With(client.WriteOptions{DryRun: true, FieldManager: "m"})
		if o, err := maps.Create(t.Context(), configMapOf("a", "new", nil)); err != nil || o.UID == "" {
			t.Errorf("create: %+v, %v", o, err)
		}
		if _, err := maps.Apply(t.Context(), web, map[string]any{"data": map[string]string{"k": "1"}}, client.ApplyOptions{}); err != nil {
			t.Error(err)
		}
		if err := maps.Delete(t.Context(), web, client.DeleteOptions{}); err != nil {
			t.Error(err)
		}
		if after := srv.Revision(); after != before {
			t.Errorf("the server went from %s to %s", before, after)
		}
	})
}

func TestStrictValidationRefusesAnUnknownMember(t *testing.T) {
	bubble(t, func(t *testing.T) {
		_, c := fake(t, apitest.Fixture{Resource: kube.ConfigMaps, Object: `{"metadata":{"namespace":"a","name":"web"}}`})
		strict := client.Of[configMap](c, kube.ConfigMaps).With(client.WriteOptions{Validation: "Strict"})
		_, err := strict.Patch(t.Context(), web, client.MergePatch, `{"date":{"k":"1"}}`)
		if !errors.Is(err, kube.ErrInvalid) || !strings.Contains(err.Error(), "date") {
			t.Errorf("error: %v", err)
		}
	})
}

func TestDelete(t *testing.T) {
	bubble(t, func(t *testing.T) {
		srv, c := fake(t, apitest.Fixture{Resource: kube.ConfigMaps, Object: `{"metadata":{"namespace":"a","name":"web","finalizers":["example.com/f"]}}`})
		maps := client.Of[configMap](c, kube.ConfigMaps)
		o, err := maps.Get(t.Context(), web)
		if err != nil {
			t.Fatal(err)
		}
		if err := maps.Delete(t.Context(), web, client.DeleteOptions{UID: "another"}); !errors.Is(err, kube.ErrConflict) {
			t.Errorf("another UID: %v", err)
		}
		if err := maps.Delete(t.Context(), web, client.DeleteOptions{ResourceVersion: "1"}); !errors.Is(err, kube.ErrConflict) {
			t.Errorf("another revision: %v", err)
		}
		if err := maps.Delete(t.Context(), web, client.DeleteOptions{UID: o.UID, Propagation: client.Foreground}); err != nil {
			t.Fatal(err)
		}
		if o, err = maps.Get(t.Context(), web); err != nil || o.DeletionTimestamp == nil {
			t.Fatalf("after the deletion: %+v, %v", o, err)
		}
		if diff := cmp.Diff([]string{"example.com/f", "foregroundDeletion"}, o.Finalizers); diff != "" {
			t.Errorf("finalizers (-want +got):\n%s", diff)
		}
		o, err = maps.Edit(t.Context(), web, func(o *configMap) error { o.Finalizers = nil; return nil })
		if err != nil {
			t.Fatal(err)
		}
		if srv.Get(kube.ConfigMaps, web) != nil {
			t.Error("it is still there without its finalizers")
		}
		if err := maps.Delete(t.Context(), web, client.DeleteOptions{}); !errors.Is(err, kube.ErrNotFound) {
			t.Errorf("delete again: %v", err)
		}
	})
}

func TestDeleteAll(t *testing.T) {
	bubble(t, func(t *testing.T) {
		srv, c := fake(t)
		maps := client.Of[configMap](c, kube.ConfigMaps)
		for _, name := range []string{"a", "b", "c"} {
			o := configMapOf("a", name, nil)
			o.Labels = map[string]string{"app": name}
			if _, err := maps.Create(t.Context(), o); err != nil {
				t.Fatal(err)
			}
		}
		sel, err := kube.ParseSelector("app in (a,b)")
		if err != nil {
			t.Fatal(err)
		}
		if err := maps.Where(sel, kube.FieldSelector{}).DeleteAll(t.Context(), client.DeleteOptions{}); err == nil || !strings.Contains(err.Error(), "use In") {
			t.Errorf("without a namespace: %v", err)
		}
		if err := maps.In("a").Where(sel, kube.FieldSelector{}).DeleteAll(t.Context(), client.DeleteOptions{}); err != nil {
			t.Error(err)
		}
		for name, want := range map[string]bool{"a": false, "b": false, "c": true} {
			if got := srv.Get(kube.ConfigMaps, kube.Key{Namespace: "a", Name: name}) != nil; got != want {
				t.Errorf("%s is there: %v", name, got)
			}
		}
	})
}

// Errors must not show what was sent: it may be a Secret.
func TestWriteErrorsDoNotShowTheObject(t *testing.T) {
	bubble(t, func(t *testing.T) {
		srv, c := fake(t)
		srv.On(apitest.Match{Verb: "create"}, faults.Hangup())
		secrets := client.Of[configMap](c, kube.Secrets)
		_, err := secrets.Create(t.Context(), configMapOf("a", "web", map[string]string{"password": "swordfish"}))
		if err == nil || strings.Contains(err.Error(), "swordfish") {
			t.Errorf("error: %v", err)
		}
	})
}
