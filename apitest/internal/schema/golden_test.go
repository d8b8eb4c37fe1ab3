package schema_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest/internal/schema"
	"github.com/listwatch/listwatch/kube"
)

// The files in testdata hold requests and what kube-apiserver answered; the
// command cmd/schema of the e2e module asks again.

func TestStrategicMergeAsKubeAPIServer(t *testing.T) { testStories(t, "strategic.json") }
func TestApplyAsKubeAPIServer(t *testing.T)          { testStories(t, "apply.json") }
func TestKindsAsKubeAPIServer(t *testing.T)          { testStories(t, "kinds.json") }
func TestStrictAsKubeAPIServer(t *testing.T)         { testStories(t, "strict.json") }
func TestCustomAsKubeAPIServer(t *testing.T)         { testStories(t, "custom.json") }

type story struct {
	Name, Kind string
	CRD        json.RawMessage
	Status     bool
	Steps      []step
}

type step struct {
	Do, Sub, Query, Text string
	Body                 json.RawMessage
	Code                 int
	Warnings             []string
	Answer               json.RawMessage
}

func testStories(t *testing.T, file string) {
	for _, s := range stories(t, file) {
		t.Run(s.Name, func(t *testing.T) { s.play(t) })
	}
}

// now is the time of every write in the answers.
var now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func (s *story) play(t *testing.T) {
	var catalog schema.Catalog
	words := strings.Fields(s.Kind)
	group, version, found := strings.Cut(words[0], "/")
	if !found {
		group, version = "", group
	}
	res := kube.Resource{Group: group, Version: version, Kind: words[1], Plural: words[2], Namespaced: true}
	typ, err := catalog.Type(res)
	if s.CRD != nil {
		typ, err = catalog.Custom(res, s.CRD)
	}
	if err != nil {
		t.Fatal(err)
	}
	srv := &server{Type: typ, kind: words[1], group: group, version: version, status: s.Status || typ.BuiltIn()}
	for i, st := range s.Steps {
		answer := decode(t, st.Answer)
		if foreseen(st, answer) {
			continue
		}
		name := fmt.Sprintf("step %d, %s", i+1, st.Do)
		srv.answer = answer
		before := schema.Copy(srv.live)
		got, warnings, err := srv.do(st)
		if diff := gocmp.Diff(before, srv.live); diff != "" {
			t.Errorf("%s: the live object was changed (-before +after):\n%s", name, diff)
		}
		if diff := gocmp.Diff(st.Warnings, warnings); diff != "" && st.Code < 400 {
			t.Errorf("%s: warnings (-want +got):\n%s", name, diff)
		}
		if st.Code >= 400 {
			checkStatus(t, name, answer, err)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else {
			if srv.BuiltIn() && (st.Do == "create" || st.Do == "apply" || st.Do == "strategic") {
				addDefaults(got, answer, st.Do == "create")
			}
			meta, want := got["metadata"].(map[string]any), answer["metadata"].(map[string]any)
			for _, n := range []string{"uid", "resourceVersion", "creationTimestamp", "generation", "namespace"} {
				if want[n] != nil {
					meta[n] = want[n]
				}
			}
			sortManaged(meta)
			if diff := gocmp.Diff(answer, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
		srv.live = answer
	}
}

// foreseen reports whether the answer is none of this package's.
func foreseen(st step, answer map[string]any) bool {
	reason, _ := answer["reason"].(string)
	message, _ := answer["message"].(string)
	return reason == "NotFound" || reason == "UnsupportedMediaType" || strings.HasPrefix(message, "PatchOptions")
}

// server does with a request what an API server does, by the package's means.
type server struct {
	*schema.Type
	kind, group, version string
	status               bool
	live                 map[string]any
	answer               map[string]any
}

func (s *server) do(st step) (object map[string]any, warnings []string, err error) {
	query, err := url.ParseQuery(st.Query)
	if err != nil {
		return nil, nil, err
	}
	w := schema.Write{Manager: cmp.Or(query.Get("fieldManager"), "tester"), Subresource: st.Sub, HasStatus: s.status,
		Force: query.Get("force") == "true", Now: now}
	body := []byte(cmp.Or(st.Text, string(st.Body)))
	var next map[string]any
	var strict []string
	switch st.Do {
	case "create", "update":
		next, strict, err = s.Read(body)
		if err == nil && len(strict) > 0 && query.Get("fieldValidation") == "Strict" {
			err = errors.New("strict decoding error: " + strings.Join(strict, ", "))
		}
		if err != nil {
			return nil, nil, &kube.Status{Code: 400, Reason: "BadRequest",
				Message: fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", s.kind, s.version, s.kind, err)}
		}
	case "merge":
		next, err = schema.MergePatch(s.live, body)
	case "json":
		next, err = schema.JSONPatch(s.live, body)
	case "strategic":
		var patch map[string]any
		if patch, err = schema.DecodeObject(body); err != nil {
			return nil, nil, &kube.Status{Code: 400, Reason: "BadRequest", Message: "invalid JSON patch"}
		}
		next, err = s.StrategicMerge(s.live, patch)
	case "apply":
		var config map[string]any
		if config, err = schema.DecodeObject(body); err != nil {
			return nil, nil, err
		}
		next, err = s.Apply(s.live, config, w)
	}
	if err != nil {
		return nil, nil, err
	}
	if st.Do != "create" && st.Do != "update" {
		for _, path := range s.Prune(next) {
			strict = append(strict, `unknown field "`+path+`"`)
		}
		if len(strict) > 0 && query.Get("fieldValidation") == "Strict" {
			return nil, nil, &kube.Status{Code: 422, Message: strings.Join(strict, ", ")}
		}
	}
	for _, text := range strict {
		warnings = append(warnings, "299 - "+fmt.Sprintf("%q", text))
	}
	next = s.prepare(next, st, w)
	if causes := s.Validate(next, s.live); len(causes) > 0 {
		meta, _ := next["metadata"].(map[string]any)
		name, _ := meta["name"].(string)
		return nil, nil, invalid(s.kind+"."+s.group, name, causes)
	}
	return next, warnings, nil
}

// prepare notes the manager and then does what create and update strategies do. What code
// in kube-apiserver adds to a new built-in object comes from the answer.
func (s *server) prepare(next map[string]any, st step, w schema.Write) map[string]any {
	s.Default(next)
	if s.BuiltIn() && st.Do == "create" && s.answer["kind"] != "Status" {
		next = schema.Copy(s.answer)
		if spec, _ := next["spec"].(map[string]any); s.kind == "Pod" {
			for _, late := range []string{"preemptionPolicy", "priority", "tolerations"} {
				delete(spec, late) // from admission, which owns nothing
			}
		} else if s.kind == "PersistentVolumeClaim" {
			delete(next["metadata"].(map[string]any), "finalizers")
		}
		delete(next["metadata"].(map[string]any), "managedFields")
	}
	if st.Do != "apply" {
		s.Update(s.live, next, w)
	}
	keep := func(name string) {
		if v, ok := s.live[name]; ok {
			next[name] = schema.Copy(v)
		} else {
			delete(next, name)
		}
	}
	switch {
	case !s.status:
	case st.Sub == "status":
		keep("spec")
		if !s.BuiltIn() {
			managed := next["metadata"].(map[string]any)["managedFields"]
			keep("metadata")
			next["metadata"].(map[string]any)["managedFields"] = managed
		} else if s.kind == "Deployment" {
			delete(next["metadata"].(map[string]any), "labels")
		}
	case !s.BuiltIn() || st.Do != "create":
		keep("status")
	}
	return next
}

// addDefaults adds to got what only want has, where defaults are made in code: in
// new objects and in new elements of lists.
func addDefaults(got, want any, all bool) {
	switch want := want.(type) {
	case map[string]any:
		got, _ := got.(map[string]any)
		for name, v := range want {
			if _, ok := got[name]; !ok && got != nil && name != "managedFields" {
				got[name] = v
			} else if name != "managedFields" {
				addDefaults(got[name], v, all)
			}
		}
	case []any:
		got, _ := got.([]any)
		for i := range min(len(got), len(want)) {
			addDefaults(got[i], want[i], all)
		}
	}
}

func invalid(kind, name string, causes []kube.StatusCause) *kube.Status {
	return &kube.Status{Code: 422, Reason: "Invalid", Message: kind + " " + fmt.Sprintf("%q", name) + " is invalid",
		Details: &kube.StatusDetails{Causes: causes}}
}

// checkStatus compares an error with a Status. Of an invalid object the causes
// count, in any order: kube-apiserver has none.
func checkStatus(t *testing.T, name string, want map[string]any, err error) {
	t.Helper()
	var got *kube.Status
	if !errors.As(err, &got) {
		t.Errorf("%s: got %v, want %v", name, err, want["message"])
		return
	}
	code, _ := want["code"].(int64)
	message, _ := want["message"].(string)
	reason, _ := want["reason"].(string)
	if code == 422 && strings.Contains(message, "strict decoding error: "+got.Message) {
		return // the text quotes the whole object
	}
	causes := func(st *kube.Status) []kube.StatusCause {
		if st.Details == nil {
			return nil
		}
		list := slices.Clone(st.Details.Causes)
		slices.SortFunc(list, func(a, b kube.StatusCause) int {
			return strings.Compare(a.Field+a.Message, b.Field+b.Message)
		})
		return list
	}
	b, _ := json.Marshal(want) // it was JSON
	expected := new(kube.Status)
	if err := json.Unmarshal(b, expected); err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(causes(expected), causes(got)); diff != "" {
		t.Errorf("%s: causes (-want +got):\n%s", name, diff)
	}
	if code == 422 && len(causes(expected)) > 0 {
		message, got.Message = "", ""
	}
	if int(code) != got.Code || reason != got.Reason || message != got.Message {
		t.Errorf("%s:\ngot  %d %s %q\nwant %d %s %q", name, got.Code, got.Reason, got.Message, code, reason, message)
	}
}

// sortManaged brings managedFields into the order of the answers, whose times are
// all the same.
func sortManaged(meta map[string]any) {
	list, _ := meta["managedFields"].([]any)
	key := func(v any) string {
		e := v.(map[string]any)
		sub, _ := e["subresource"].(string)
		return fmt.Sprint(e["operation"], e["manager"], e["apiVersion"], sub)
	}
	slices.SortFunc(list, func(a, b any) int { return cmp.Compare(key(a), key(b)) })
}

func decode(t *testing.T, b []byte) map[string]any {
	t.Helper()
	v, err := schema.DecodeObject(bytes.TrimSpace(b))
	if err != nil {
		t.Fatal(err)
	}
	return v
}
