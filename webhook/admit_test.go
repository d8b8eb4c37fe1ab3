package webhook_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/webhook"
)

var greetings = kube.Resource{Group: "example.com", Version: "v1", Plural: "greetings", Kind: "Greeting", Namespaced: true}

type greeting struct {
	kube.Meta `json:"metadata"`
	Spec      struct {
		Text  string         `json:"text,omitempty"`
		Parts []greetingPart `json:"parts,omitempty"`
	} `json:"spec"`
}

type greetingPart struct {
	Name string `json:"name"`
}

// newServer returns a server that does not run, and the log.
func newServer(t *testing.T) (*webhook.Server, *strings.Builder) {
	t.Helper()
	log := &strings.Builder{}
	s, err := webhook.New(nil, webhook.Options{Name: "hooks", Service: kube.Key{Namespace: "shop", Name: "hooks"}, CertFile: "x", KeyFile: "y",
		Logger: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	return s, log
}

// post sends a body to a path.
func post(t *testing.T, s *webhook.Server, path, contentType string, body io.Reader) (int, string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, body)
	r.Header.Set("Content-Type", contentType)
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

const reviewOf = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u1","kind":{"group":"example.com","version":"v1","kind":"Greeting"},
	"resource":{"group":"example.com","version":"v1","resource":"greetings"},"name":"hello","namespace":"shop","operation":"UPDATE","dryRun":true,
	"userInfo":{"username":"jane","uid":"7","groups":["g"],"extra":{"scopes":["a"]}},"object":%s,"oldObject":%s}}`

func TestRequestHasWhatTheServerSends(t *testing.T) {
	s, _ := newServer(t)
	var got webhook.Request[greeting]
	webhook.Validate(s, greetings, webhook.Rule{}, func(_ context.Context, r *webhook.Request[greeting]) error {
		got.UID, got.Operation, got.Resource, got.Key, got.User, got.DryRun, got.Object, got.Old = r.UID, r.Operation, r.Resource, r.Key, r.User, r.DryRun, r.Object, r.Old
		r.Warn("%d is %s", 1, "odd")
		return nil
	})
	code, body := post(t, s, "/validate/validate.greetings.example.com", "application/json; charset=utf-8",
		strings.NewReader(fmt.Sprintf(reviewOf, `{"metadata":{"name":"hello"},"spec":{"text":"new"}}`, `{"metadata":{"name":"hello"},"spec":{"text":"old"}}`)))
	want := `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"u1","allowed":true,"warnings":["1 is odd"]}}`
	if code != 200 || body != want {
		t.Errorf("got %d %s", code, body)
	}
	wantRequest := webhook.Request[greeting]{UID: "u1", Operation: webhook.Update, Resource: greetings, Key: kube.Key{Namespace: "shop", Name: "hello"}, DryRun: true,
		User: webhook.User{Name: "jane", UID: "7", Groups: []string{"g"}, Extra: map[string][]string{"scopes": {"a"}}}}
	wantRequest.Object.Name, wantRequest.Old.Name, wantRequest.Object.Spec.Text, wantRequest.Old.Spec.Text = "hello", "hello", "new", "old"
	if diff := cmp.Diff(wantRequest, got, cmp.AllowUnexported(webhook.Request[greeting]{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestKeyOfANamespace: the API server names the namespace of a Namespace, which is the object
// itself. Its key has none, as that of every object that is cluster scoped.
func TestKeyOfANamespace(t *testing.T) {
	s, _ := newServer(t)
	var got kube.Key
	webhook.Validate(s, kube.Namespaces, webhook.Rule{}, func(_ context.Context, r *webhook.Request[kube.Partial]) error {
		got = r.Key
		return nil
	})
	body := strings.NewReplacer(`"group":"example.com"`, `"group":""`, `"resource":"greetings"`, `"resource":"namespaces"`, `"name":"hello"`, `"name":"shop"`).Replace(reviewOf)
	code, text := post(t, s, "/validate/validate.namespaces.core", "application/json", strings.NewReader(fmt.Sprintf(body, `{"metadata":{"name":"shop"}}`, `null`)))
	if want := (kube.Key{Name: "shop"}); code != http.StatusOK || got != want {
		t.Errorf("code %d, key %v, want %v; response %s", code, got, want, text)
	}
}

// TestKeyInADeletedCollection: the API server names no object when it deletes a collection.
func TestKeyInADeletedCollection(t *testing.T) {
	s, _ := newServer(t)
	var got kube.Key
	f := func(_ context.Context, r *webhook.Request[greeting]) error {
		got = r.Key
		return &webhook.FieldError{Field: "metadata.name", Message: "it is needed"}
	}
	rule := webhook.Rule{Operations: []webhook.Operation{webhook.Delete}}
	webhook.Validate(s, greetings, rule, f)
	webhook.Mutate(s, greetings, rule, f)
	body := strings.NewReplacer(`"name":"hello",`, ``, "UPDATE", "DELETE").Replace(reviewOf)
	for _, kind := range []string{"validate", "mutate"} {
		got = kube.Key{}
		_, text := post(t, s, "/"+kind+"/"+kind+".greetings.example.com", "application/json", strings.NewReader(fmt.Sprintf(body, `null`, `{"metadata":{"namespace":"shop","name":"hello"},"spec":{}}`)))
		if want := (kube.Key{Namespace: "shop", Name: "hello"}); got != want || !strings.Contains(text, `Greeting.example.com \"hello\"`) {
			t.Errorf("%s: key %v, want %v; response %s", kind, got, want, text)
		}
	}
}

// TestErrorsBecomeStatuses: with a code, a reason and the causes of fields.
func TestErrorsBecomeStatuses(t *testing.T) {
	conflict := &kube.Status{Code: 409, Reason: "Conflict", Message: "changed", Details: &kube.StatusDetails{Name: "x"}}
	for name, tt := range map[string]struct {
		err  error
		want *kube.Status
	}{
		"any":      {errors.New("no"), &kube.Status{Code: 403, Reason: "Forbidden", Message: "no"}},
		"status":   {fmt.Errorf("look: %w", conflict), &kube.Status{Code: 409, Reason: "Conflict", Message: "look: server: changed (409 Conflict)", Details: &kube.StatusDetails{Name: "x"}}},
		"deadline": {fmt.Errorf("look: %w", context.DeadlineExceeded), &kube.Status{Code: 504, Reason: "Timeout", Message: "look: context deadline exceeded"}},
		"fields": {fmt.Errorf("check: %w", errors.Join(&webhook.FieldError{Field: "spec.text", Reason: webhook.Required},
			fmt.Errorf("and: %w", &webhook.FieldError{Field: "spec.parts[0]", Reason: webhook.NotSupported, Message: "want a or b"}))),
			&kube.Status{Code: 422, Reason: "Invalid", Message: `Greeting.example.com "hello" is invalid: spec.text: Required value, spec.parts[0]: Unsupported value: want a or b`,
				Details: &kube.StatusDetails{Causes: []kube.StatusCause{{Reason: "FieldValueRequired", Message: "Required value", Field: "spec.text"},
					{Reason: "FieldValueNotSupported", Message: "Unsupported value: want a or b", Field: "spec.parts[0]"}}}}},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := newServer(t)
			webhook.Validate(s, greetings, webhook.Rule{}, func(context.Context, *webhook.Request[greeting]) error { return tt.err })
			_, body := post(t, s, "/validate/validate.greetings.example.com", "application/json", strings.NewReader(fmt.Sprintf(reviewOf, `{"metadata":{}}`, "null")))
			if diff := cmp.Diff(tt.want, response(t, body).Status); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

type answer struct {
	Allowed   bool
	Status    *kube.Status
	Patch     []byte
	PatchType string
}

func response(t *testing.T, body string) answer {
	t.Helper()
	var review struct{ Response *answer }
	if err := json.Unmarshal([]byte(body), &review); err != nil || review.Response == nil {
		t.Fatalf("%s: %v", body, err)
	}
	return *review.Response
}

// TestMutateRefusesWhatIsTooLarge, and not as if the function had.
func TestMutateRefusesWhatIsTooLarge(t *testing.T) {
	s, _ := newServer(t)
	webhook.Mutate(s, greetings, webhook.Rule{}, func(_ context.Context, r *webhook.Request[greeting]) error {
		r.Object.Spec.Text = "hello"
		return nil
	})
	many := strings.Repeat(`{"name":"0"},`, 400_000) + `{"name":"0"}`
	review := `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","operation":"CREATE","name":"a",` +
		`"resource":{"group":"example.com","version":"v1","resource":"greetings"},"object":{"metadata":{"name":"a"},"spec":{"parts":[` + many + `]}}}}`
	code, body := post(t, s, "/mutate/mutate.greetings.example.com", "application/json", strings.NewReader(review))
	if code != http.StatusOK || !strings.Contains(body, `"code":413`) || !strings.Contains(body, "the webhook cannot take the object: decoded object above the limit") {
		t.Errorf("%d %.400s", code, body)
	}
}

// TestMutateKeepsWhatTheTypeDoesNotHave: members of the object, and of the elements of
// its lists.
func TestMutateKeepsWhatTheTypeDoesNotHave(t *testing.T) {
	s, _ := newServer(t)
	webhook.Mutate(s, greetings, webhook.Rule{}, func(_ context.Context, r *webhook.Request[greeting]) error {
		switch r.Object.Spec.Text {
		case "same":
		case "panic":
			panic("a secret")
		default:
			r.Object.Spec.Text = "changed"
			r.Object.Spec.Parts = r.Object.Spec.Parts[:1]
			r.Object.Labels = map[string]string{"example.com/a~b": "c"}
		}
		return nil
	})
	send := func(object string) answer {
		t.Helper()
		code, body := post(t, s, "/mutate/mutate.greetings.example.com", "application/json", strings.NewReader(fmt.Sprintf(reviewOf, object, "null")))
		if code != 200 {
			t.Fatal(code, body)
		}
		return response(t, body)
	}
	if got := send(`{"metadata":{"name":"hello"},"spec":{"text":"same","more":1}}`); !got.Allowed || got.Patch != nil || got.PatchType != "" {
		t.Errorf("without a change there is a patch: %+v", got)
	}
	object := `{"apiVersion":"example.com/v1","kind":"Greeting","metadata":{"name":"hello","managedFields":[{"manager":"x"}]},"spec":{"text":"a","big":12345678901234567890,"parts":[{"name":"a","x":1},{"name":"b","x":2}]},"more":{"a":null}}`
	got := send(object)
	patch, err := jsonpatch.DecodePatch(got.Patch)
	if err != nil || got.PatchType != "JSONPatch" {
		t.Fatal(err, got)
	}
	changed, err := patch.Apply([]byte(object))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"apiVersion":"example.com/v1","kind":"Greeting","metadata":{"name":"hello","managedFields":[{"manager":"x"}],"labels":{"example.com/a~b":"c"}},"spec":{"text":"changed","big":12345678901234567890,"parts":[{"name":"a","x":1}]},"more":{"a":null}}`
	if diff := cmp.Diff(tree(t, want), tree(t, string(changed))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func tree(t *testing.T, b string) map[string]any {
	t.Helper()
	m, err := codec.Decode[map[string]any]([]byte(b))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestPanicIsAnErrorWithoutItsValue: for the client and in the log.
func TestPanicIsAnErrorWithoutItsValue(t *testing.T) {
	s, log := newServer(t)
	webhook.Mutate(s, greetings, webhook.Rule{}, func(context.Context, *webhook.Request[greeting]) error { panic("sesame") })
	_, body := post(t, s, "/mutate/mutate.greetings.example.com", "application/json", strings.NewReader(fmt.Sprintf(reviewOf, `{"metadata":{}}`, "null")))
	want := answer{Status: &kube.Status{Code: 500, Reason: "InternalError", Message: "the webhook failed; its log has the reason"}}
	if diff := cmp.Diff(want, response(t, body)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if text := log.String(); strings.Contains(text, "sesame") || !strings.Contains(text, "admit_test.go") || !strings.Contains(text, "a panic with a string") {
		t.Errorf("logged %s", text)
	}
	if n := s.Stats().Panics; n != 1 {
		t.Errorf("%d panics", n)
	}
}

// A nil pointer of a function that returns *FieldError is an error without a text. It is
// logged and counted as a panic, and the API server gets an answer; so it does of a nil
// *kube.Status.
func TestErrorWithoutATextIsAPanic(t *testing.T) {
	for nothing, panics := range map[error]int{(*webhook.FieldError)(nil): 1, (*kube.Status)(nil): 0, errors.Join(errors.New("a"), (*webhook.FieldError)(nil)): 1} {
		s, _ := newServer(t)
		webhook.Validate(s, greetings, webhook.Rule{}, func(context.Context, *webhook.Request[greeting]) error { return nothing })
		_, body := post(t, s, "/validate/validate.greetings.example.com", "application/json", strings.NewReader(fmt.Sprintf(reviewOf, `{"metadata":{}}`, "null")))
		if got := response(t, body); got.Allowed || got.Status == nil || got.Status.Code != 500 || s.Stats().Panics != panics {
			t.Errorf("%T: %+v, %d panics", nothing, got, s.Stats().Panics)
		}
	}
}

// TestWhatIsNoReviewIsRefused: with a code of HTTP, and without the function being called.
func TestWhatIsNoReviewIsRefused(t *testing.T) {
	s, _ := newServer(t)
	var answers []webhook.Review
	s.Observe(webhook.Trace{Reviewed: func(a webhook.Review) {
		a.Duration, a.Err = 0, nil
		answers = append(answers, a)
	}})
	webhook.Validate(s, greetings, webhook.Rule{}, func(context.Context, *webhook.Request[greeting]) error {
		t.Error("it was called")
		return nil
	})
	const path, media = "/validate/validate.greetings.example.com", "application/json"
	good := fmt.Sprintf(reviewOf, `{"metadata":{}}`, "null")
	for name, tt := range map[string]struct {
		path, media, body string
		want              int
	}{
		"path":        {"/validate/other", media, good, 404},
		"media type":  {path, "text/plain", good, 415},
		"no JSON":     {path, media, "{", 400},
		"no object":   {path, media, "[]", 400},
		"version":     {path, media, strings.Replace(good, "k8s.io/v1", "k8s.io/v1beta1", 1), 400},
		"kind":        {path, media, strings.Replace(good, "AdmissionReview", "TokenReview", 1), 400},
		"no UID":      {path, media, strings.Replace(good, "u1", "", 1), 400},
		"no request":  {path, media, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`, 400},
		"resource":    {path, media, strings.Replace(good, `"resource":"greetings"`, `"resource":"pods"`, 1), 400},
		"operation":   {path, media, strings.Replace(good, "UPDATE", "DELETE", 1), 400},
		"subresource": {path, media, strings.Replace(good, `"name"`, `"subResource":"status","name"`, 1), 400},
	} {
		if code, body := post(t, s, tt.path, tt.media, strings.NewReader(tt.body)); code != tt.want {
			t.Errorf("%s: %d %s", name, code, body)
		}
	}
	if len(answers) != 10 { // of all but the unknown path
		t.Errorf("%d answers: %v", len(answers), answers)
	}
	r := httptest.NewRequest(http.MethodGet, path, nil)
	w := httptest.NewRecorder()
	if s.Handler().ServeHTTP(w, r); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("GET: %d", w.Code)
	}
}

func TestObjectThatDoesNotFitIsRefused(t *testing.T) {
	s, _ := newServer(t)
	webhook.Validate(s, greetings, webhook.Rule{}, func(context.Context, *webhook.Request[greeting]) error {
		t.Error("it was called")
		return nil
	})
	for _, objects := range [][2]string{{`{"metadata":{},"spec":{"text":["sesame"]}}`, "null"}, {`{"metadata":{}}`, `{"metadata":{},"spec":{"text":["sesame"]}}`}} {
		_, body := post(t, s, "/validate/validate.greetings.example.com", "application/json", strings.NewReader(fmt.Sprintf(reviewOf, objects[0], objects[1])))
		got := response(t, body)
		if got.Allowed || got.Status.Code != 422 || !strings.Contains(got.Status.Message, "spec.text") || strings.Contains(got.Status.Message, "sesame") {
			t.Errorf("%+v", got.Status)
		}
	}
}

// endless is a body without an end.
type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = ' '
	}
	return len(b), nil
}

func TestBodiesAreLimited(t *testing.T) {
	s, _ := newServer(t)
	webhook.Validate(s, greetings, webhook.Rule{}, func(context.Context, *webhook.Request[greeting]) error { return nil })
	const path = "/validate/validate.greetings.example.com"
	if code, body := post(t, s, path, "application/json", endless{}); code != 400 || !strings.Contains(body, "larger than 8388608 bytes") {
		t.Errorf("without an end: %d %s", code, body)
	}
	if code, _ := post(t, s, path, "application/json", strings.NewReader(strings.Repeat(" ", 8<<20+1))); code != 413 {
		t.Errorf("one byte too many: %d", code)
	}
	if code, _ := post(t, s, path, "application/json", strings.NewReader(strings.Repeat(" ", 8<<20-1000)+fmt.Sprintf(reviewOf, `{"metadata":{}}`, "null"))); code != 200 {
		t.Errorf("below the limit: %d", code)
	}
}

// TestDeadlineIsThatOfTheServer: which says it in the query, at most 30 s.
func TestDeadlineIsThatOfTheServer(t *testing.T) {
	s, _ := newServer(t)
	var left time.Duration
	webhook.Validate(s, greetings, webhook.Rule{}, func(ctx context.Context, _ *webhook.Request[greeting]) error {
		end, _ := ctx.Deadline()
		left = time.Until(end).Round(time.Second)
		return nil
	})
	for query, want := range map[string]time.Duration{"": 10 * time.Second, "?timeout=3s": 3 * time.Second, "?timeout=3h": 30 * time.Second, "?timeout=-1s": 10 * time.Second} {
		post(t, s, "/validate/validate.greetings.example.com"+query, "application/json", strings.NewReader(fmt.Sprintf(reviewOf, `{"metadata":{}}`, "null")))
		if left != want {
			t.Errorf("%q: %v, want %v", query, left, want)
		}
	}
}

func TestPatchIsBase64(t *testing.T) {
	s, _ := newServer(t)
	webhook.Mutate(s, greetings, webhook.Rule{}, func(_ context.Context, r *webhook.Request[greeting]) error {
		r.Object.Spec.Text = "<b>"
		return nil
	})
	_, body := post(t, s, "/mutate/mutate.greetings.example.com", "application/json", strings.NewReader(fmt.Sprintf(reviewOf, `{"metadata":{"name":"a"}}`, "null")))
	want := base64.StdEncoding.EncodeToString([]byte(`[{"op":"add","path":"/spec","value":{"text":"<b>"}}]`))
	if !strings.Contains(body, want) {
		t.Errorf("got %s, want %s", body, want)
	}
}
