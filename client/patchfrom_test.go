package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

var widgets = kube.Resource{Group: "example.com", Version: "v1", Plural: "widgets", Kind: "Widget", Namespaced: true}

// widget knows a part of a Widget.
type widget struct {
	kube.Meta `json:"metadata"`
	Spec      struct {
		Size   int                    `json:"size,omitempty"`
		Parts  []widgetPart           `json:"parts,omitempty"`
		Tags   []string               `json:"tags,omitempty"`
		Extra  map[string]int         `json:"extra,omitempty"`
		Groups map[string]widgetGroup `json:"groups,omitempty"`
	} `json:"spec,omitzero"`
	Status struct {
		Phase      string           `json:"phase,omitempty"`
		Conditions []kube.Condition `json:"conditions,omitempty"`
	} `json:"status,omitzero"`
}

type widgetGroup struct {
	Members []string `json:"members,omitempty"`
}

type widgetPart struct {
	Name string `json:"name"`
	Size int    `json:"size,omitempty"`
}

const webWidget = `{"metadata":{"namespace":"a","name":"web","uid":"1","labels":{"app":"web","old":"x"}},
	"spec":{"size":1,"color":"red","tags":["a"],"extra":{"x":1,"y":2},"parts":[{"name":"p","size":1,"color":"blue"}]},
	"status":{"phase":"New","seen":1,"conditions":[{"type":"Ready","status":"False","reason":"No","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`

// patchedWidgets returns the requests of a client, and the stored object after f has
// changed a copy of web and PatchFrom has sent that.
func patchedWidgets(t *testing.T, srv *apitest.Server) (col client.Collection[widget], requests *[]string) {
	t.Helper()
	requests = new([]string)
	c := newClient(t, client.Config{Server: srv.URL, Dial: srv.Dial, Trace: &client.Trace{Done: func(r client.RoundTrip) {
		*requests = append(*requests, r.Method+" "+r.Path)
	}}})
	srv.AddResource(apitest.ResourceInfo{Resource: widgets, Status: true})
	srv.Put(widgets, webWidget)
	return client.Of[widget](c, widgets).In("a"), requests
}

func TestPatchFrom(t *testing.T) {
	const path = "/apis/example.com/v1/namespaces/a/widgets/web"
	for name, c := range map[string]struct {
		change   func(*widget)
		with     client.WriteOptions
		status   bool
		requests []string
		want     map[string]string // members of the object, as text
	}{
		"nothing": {change: func(*widget) {}, want: map[string]string{"spec.size": "1"}},
		"a member, an omitted one and a map key": {
			change: func(w *widget) {
				w.Spec.Size = 0
				delete(w.Labels, "old")
				w.Labels["new"] = "y"
				delete(w.Spec.Extra, "x")
				w.Status.Phase = "Ignored"
			},
			requests: []string{"PATCH " + path},
			want:     map[string]string{"spec.size": "", "spec.color": "red", "metadata.labels.old": "", "metadata.labels.new": "y", "spec.extra.x": "", "spec.extra.y": "2", "status.phase": "New"},
		},
		"a list of plain values": {
			change: func(w *widget) { w.Spec.Tags = nil }, requests: []string{"PATCH " + path},
			want: map[string]string{"spec.tags": "", "spec.color": "red"},
		},
		"a list of objects": {
			change:   func(w *widget) { w.Spec.Parts = []widgetPart{{"q", 2}, {"p", 3}} },
			requests: []string{"GET " + path, "PATCH " + path},
			want:     map[string]string{"spec.parts": `[{"name":"q","size":2},{"color":"blue","name":"p","size":3}]`},
		},
		"a list of a whole type": {
			change: func(w *widget) { w.Spec.Parts[0].Size = 4 }, with: client.WriteOptions{Whole: true},
			requests: []string{"PATCH " + path},
			want:     map[string]string{"spec.parts": `[{"name":"p","size":4}]`, "spec.color": "red"},
		},
		"a status": {
			change: func(w *widget) {
				w.Status.Phase = ""
				w.Spec.Size = 7
				w.Labels["new"] = "y"
			},
			status: true, requests: []string{"PATCH " + path + "/status"},
			want: map[string]string{"status.phase": "", "status.seen": "1", "spec.size": "1", "metadata.labels.new": ""},
		},
		"a whole status": {
			change: func(w *widget) { *w = widget{Meta: w.Meta, Spec: w.Spec} },
			status: true, requests: []string{"GET " + path + "/status", "PATCH " + path + "/status"},
			want: map[string]string{"status": `{"seen":1}`, "spec.size": "1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			srv := apitest.NewInMemory(t)
			col, requests := patchedWidgets(t, srv)
			before, err := col.Get(t.Context(), kube.Key{Name: "web"})
			if err != nil {
				t.Fatal(err)
			}
			after, err := col.Get(t.Context(), kube.Key{Name: "web"})
			if err != nil {
				t.Fatal(err)
			}
			*requests = nil
			c.change(&after)
			write := col.With(c.with).PatchFrom
			if c.status {
				write = col.With(c.with).PatchStatusFrom
			}
			if _, err := write(t.Context(), before, after, client.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.requests, *requests); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			stored := srv.Get(widgets, kube.Key{Namespace: "a", Name: "web"})
			for path, want := range c.want {
				if got := memberOf(t, stored, path); got != want {
					t.Errorf("%s is %s, want %s", path, got, want)
				}
			}
		})
	}
}

// memberOf returns a member of an object: a string as it is, another value as JSON.
func memberOf(t *testing.T, object []byte, path string) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(object, &v); err != nil {
		t.Fatal(err)
	}
	for name := range strings.SplitSeq(path, ".") {
		in, _ := v.(map[string]any)
		v = in[name]
	}
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A change by somebody else is a conflict with OptimisticLock, where a list is sent, and
// where the object was created again.
func TestPatchFromConflicts(t *testing.T) {
	key := kube.Key{Namespace: "a", Name: "web"}
	size := func(w *widget) { w.Spec.Size++ }
	for name, c := range map[string]struct {
		change   func(*widget)
		meantime string
		o        client.PatchOptions
		conflict bool
	}{
		"a member":                   {change: size, meantime: "1"},
		"a member, locked":           {change: size, meantime: "1", o: client.PatchOptions{OptimisticLock: true}, conflict: true},
		"created again":              {change: size, meantime: "2", conflict: true},
		"a plain list":               {change: func(w *widget) { w.Spec.Tags = nil }, meantime: "1", conflict: true},
		"a list of objects":          {change: func(w *widget) { w.Spec.Parts = nil }, meantime: "1", conflict: true},
		"a list in a new map":        {change: func(w *widget) { w.Spec.Groups = map[string]widgetGroup{"g": {[]string{"x"}}} }, meantime: "1", conflict: true},
		"a struct that becomes zero": {change: func(w *widget) { *w = widget{Meta: w.Meta, Spec: w.Spec} }, meantime: "1", conflict: true},
		"locked, not changed":        {change: size, o: client.PatchOptions{OptimisticLock: true}},
	} {
		t.Run(name, func(t *testing.T) {
			srv := apitest.NewInMemory(t)
			col, _ := patchedWidgets(t, srv)
			before, err := col.Get(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			after, err := col.Get(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			if c.meantime != "" {
				if c.meantime != before.UID {
					srv.Delete(widgets, key)
				}
				srv.Put(widgets, strings.NewReplacer(`"red"`, `"green"`, `"uid":"1"`, `"uid":"`+c.meantime+`"`).Replace(webWidget))
			}
			c.change(&after)
			_, err = col.PatchFrom(t.Context(), before, after, c.o)
			if errors.Is(err, kube.ErrConflict) != c.conflict || !c.conflict && err != nil {
				t.Errorf("error %v, want a conflict: %v", err, c.conflict)
			}
		})
	}
}

// emptying has maps of each form, which all become empty.
type emptying struct {
	kube.Meta `json:"metadata"`
	Spec      struct {
		Plain  map[string]int            `json:"plain"`
		Empty  map[string]int            `json:"empty,omitempty"`
		Zero   map[string]int            `json:"zero,omitzero"`
		Ports  map[int]string            `json:"ports,omitempty"`
		Nested map[string]map[string]int `json:"nested,omitempty"`
		Bare   map[string]int            `json:"bare"`
		Any    any                       `json:"any,omitempty"`
	} `json:"spec"`
	Status struct {
		Phase string `json:"phase,omitempty"`
	} `json:"status,omitzero"`
}

// The entries of a map that becomes empty are removed, and not those that somebody else
// adds between the read and the patch. Whoever removes a map that is an entry of another
// removes all of it, and so does whoever removes a value of any type. A struct that becomes
// zero is not removed with members of others.
func TestEmptiedMapsKeepEntriesOfOthers(t *testing.T) {
	const (
		stored = `{"metadata":{"namespace":"a","name":"web","uid":"1","labels":{"a":"1"}},"spec":{
			"plain":{"a":1},"empty":{"a":1},"zero":{"a":1},"ports":{"1":"a"},"nested":{"a":{"b":1},"c":{"d":1}},"bare":{},"any":{"a":1}},"status":{"phase":"x"}}`
		theirs = `{"metadata":{"namespace":"a","name":"web","uid":"1","labels":{"a":"1","z":"9"}},"spec":{
			"plain":{"a":1,"z":9},"empty":{"a":1,"z":9},"zero":{"a":1,"z":9},"ports":{"1":"a","9":"z"},"nested":{"a":{"b":1},"c":{"d":1,"z":9}},"bare":{"z":9},"any":{"a":1,"z":9}},"status":{"phase":"x","z":9}}`
	)
	want := map[string]string{
		"metadata.labels": `{"z":"9"}`, "spec.plain": `{"z":9}`, "spec.empty": `{"z":9}`, "spec.zero": `{"z":9}`,
		"spec.ports": `{"9":"z"}`, "spec.nested": `{"c":{"z":9}}`, "spec.bare": `{"z":9}`, "spec.any": "", "status": `{"phase":"x","z":9}`,
	}
	emptied := func(o *emptying) error {
		o.Labels, o.Spec.Plain, o.Spec.Empty, o.Spec.Zero, o.Spec.Ports = nil, nil, nil, nil, nil
		o.Spec.Bare, o.Spec.Any = nil, nil
		delete(o.Spec.Nested, "a")
		delete(o.Spec.Nested["c"], "d")
		return nil
	}
	for name, c := range map[string]struct {
		write func(t *testing.T, col client.Collection[emptying], meanwhile func()) error
		want  map[string]string
	}{
		"PatchFrom": {func(t *testing.T, col client.Collection[emptying], meanwhile func()) error {
			before, err := col.Get(t.Context(), kube.Key{Name: "web"})
			if err != nil {
				return err
			}
			after := kube.Clone(before)
			meanwhile()
			_ = emptied(&after)
			_, err = col.PatchFrom(t.Context(), before, after, client.PatchOptions{})
			return err
		}, want},
		"CreateOrPatch": {func(t *testing.T, col client.Collection[emptying], meanwhile func()) error {
			_, _, err := col.CreateOrPatch(t.Context(), kube.Key{Name: "web"}, func(o *emptying) error {
				meanwhile()
				return emptied(o)
			})
			return err
		}, want},
		"CreateOrPatch of a struct": {func(t *testing.T, col client.Collection[emptying], meanwhile func()) error {
			_, _, err := col.CreateOrPatch(t.Context(), kube.Key{Name: "web"}, func(o *emptying) error {
				meanwhile()
				o.Status.Phase = ""
				return nil
			})
			return err
		}, map[string]string{"status": `{"z":9}`, "metadata.labels": `{"a":"1","z":"9"}`}},
	} {
		t.Run(name, func(t *testing.T) {
			srv := apitest.NewInMemory(t)
			srv.AddResource(apitest.ResourceInfo{Resource: widgets})
			srv.Put(widgets, stored)
			col := client.Of[emptying](newClient(t, client.Config{Server: srv.URL, Dial: srv.Dial}), widgets).In("a")
			var once sync.Once
			if err := c.write(t, col, func() { once.Do(func() { srv.Put(widgets, theirs) }) }); err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for path := range c.want {
				got[path] = memberOf(t, srv.Get(widgets, kube.Key{Namespace: "a", Name: "web"}), path)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("stored (-want +got):\n%s", diff)
			}
		})
	}
}

// A struct whose maps and lists are empty has no members in its encoding, but is not zero.
func TestPatchFromKeepsMembersBesideEmptyOnes(t *testing.T) {
	srv := apitest.NewInMemory(t)
	srv.AddResource(apitest.ResourceInfo{Resource: widgets})
	srv.Put(widgets, `{"metadata":{"namespace":"a","name":"web","uid":"1"},"spec":{"extra":{},"color":"red"},"status":{"conditions":[],"seen":1}}`)
	col := client.Of[widget](newClient(t, client.Config{Server: srv.URL, Dial: srv.Dial}), widgets).In("a")
	before, err := col.Get(t.Context(), kube.Key{Name: "web"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := col.PatchFrom(t.Context(), before, widget{Meta: before.Meta}, client.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	stored := srv.Get(widgets, kube.Key{Namespace: "a", Name: "web"})
	if spec, status := memberOf(t, stored, "spec.color"), memberOf(t, stored, "status.seen"); spec != "red" || status != "1" {
		t.Errorf("stored %s", stored)
	}
}

func TestPatchFromRefuses(t *testing.T) {
	srv := apitest.NewInMemory(t)
	col, requests := patchedWidgets(t, srv)
	before, err := col.Get(t.Context(), kube.Key{Name: "web"})
	if err != nil {
		t.Fatal(err)
	}
	*requests = nil
	renamed, unread, listed := before, before, before
	renamed.Name = "other"
	unread.ResourceVersion = ""
	listed.Spec.Tags = []string{"b"}
	sized := unread
	sized.Spec.Size = 9
	for want, c := range map[string]struct {
		before, after widget
		o             client.PatchOptions
	}{
		"patch widgets.v1.example.com a/web: before and after are different objects: they differ in metadata.name":                                                                                     {before: before, after: renamed},
		"patch widgets.v1.example.com a/web: a list changes, a struct becomes zero, or OptimisticLock is set, but the object before the change has no resourceVersion: read it from the server first":  {before: unread, after: listed},
		"patch widgets.v1.example.com a/web: a list changes, a struct becomes zero, or OptimisticLock is set, but the object before the change has no resourceVersion: read it from the server first ": {before: unread, after: sized, o: client.PatchOptions{OptimisticLock: true}},
	} {
		if _, err := col.PatchFrom(t.Context(), c.before, c.after, c.o); fmt.Sprint(err) != strings.TrimSpace(want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	if len(*requests) != 0 {
		t.Errorf("requests %v", *requests)
	}
}

// A controller changes a copy of the cached object, and sends the difference.
func ExampleCollection_PatchStatusFrom() {
	srv, err := apitest.Start(apitest.Options{InMemory: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	srv.AddResource(apitest.ResourceInfo{Resource: widgets, Status: true})
	srv.Put(widgets, `{"metadata":{"namespace":"a","name":"web"},"spec":{"size":1},"status":{"phase":"Failed"}}`)
	c, err := client.New(client.Config{Server: srv.URL, Dial: srv.Dial})
	if err != nil {
		fmt.Println(err)
		return
	}
	col := client.Of[widget](c, widgets)

	before, err := col.Get(context.Background(), kube.Key{Namespace: "a", Name: "web"}) // or Store.Get
	after := before
	after.Status.Phase = ""
	if err == nil {
		_, err = col.PatchStatusFrom(context.Background(), before, after, client.PatchOptions{}) // GET, then {"status":null}
	}
	fmt.Println(err)
	raw, err := client.Of[codec.Raw](c, widgets).Get(context.Background(), kube.KeyOf(before))
	_, has := raw.Text("status", "phase")
	fmt.Println(has, err)
	// Output:
	// <nil>
	// false <nil>
}
