package webhook_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/webhook"
	"github.com/listwatch/listwatch/webhook/webhooktest"
)

// The hub is v1. v1beta1 has another name for the text, v1alpha1 no parts, which it keeps
// in an annotation.
type greetingBeta struct {
	kube.Meta `json:"metadata"`
	Spec      struct {
		Message string         `json:"message,omitempty"`
		Parts   []greetingPart `json:"parts,omitempty"`
	} `json:"spec"`
}

type greetingAlpha struct {
	kube.Meta `json:"metadata"`
	Text      string `json:"text,omitempty"`
}

func fromBeta(b greetingBeta) (g greeting, err error) {
	g.Meta, g.Spec.Text, g.Spec.Parts = b.Meta, b.Spec.Message, b.Spec.Parts
	if b.Spec.Message == "bad" {
		err = errors.New("it is bad")
	}
	return g, err
}

func toBeta(g greeting) (b greetingBeta, err error) {
	b.Meta, b.Spec.Message, b.Spec.Parts = g.Meta, g.Spec.Text, g.Spec.Parts
	return b, nil
}

func fromAlpha(a greetingAlpha) (g greeting, err error) {
	g.Meta, g.Spec.Text = a.Meta, a.Text
	g.Name, g.UID = "other", "other" // the server's own is kept
	return g, nil
}

func toAlpha(g greeting) (a greetingAlpha, err error) {
	a.Meta, a.Text = g.Meta, g.Spec.Text
	a.Annotations = map[string]string{"parts": fmt.Sprint(len(g.Spec.Parts))}
	return a, nil
}

func convertServer(t *testing.T) *webhook.Server {
	s, _ := newServer(t)
	webhook.Convert(s, greetings, "v1beta1", fromBeta, toBeta)
	webhook.Convert(s, greetings, "v1alpha1", fromAlpha, toAlpha)
	return s
}

func convertReview(desired, objects string) *strings.Reader {
	return strings.NewReader(fmt.Sprintf(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"u1","desiredAPIVersion":%q,"objects":[%s]}}`, desired, objects))
}

// TestConvertGoesByWayOfTheHub: in all directions, several objects at a time. Metadata
// stays, except for labels and annotations.
func TestConvertGoesByWayOfTheHub(t *testing.T) {
	s := convertServer(t)
	const (
		meta  = `"name":"a","uid":"u","generation":12345678901234567,"managedFields":[{"manager":"x"}]`
		hub   = `{"apiVersion":"example.com/v1","kind":"Greeting","metadata":{` + meta + `},"spec":{"text":"hi","parts":[{"name":"p"}]}}`
		beta  = `{"apiVersion":"example.com/v1beta1","kind":"Greeting","metadata":{` + meta + `},"spec":{"message":"hi","parts":[{"name":"p"}]}}`
		alpha = `{"apiVersion":"example.com/v1alpha1","kind":"Greeting","metadata":{` + meta + `,"annotations":{"parts":"1"}},"text":"hi"}`
		plain = `{"apiVersion":"example.com/v1","kind":"Greeting","metadata":{` + meta + `,"annotations":{"parts":"1"}},"spec":{"text":"hi"}}`
	)
	for desired, tt := range map[string]struct{ objects, want string }{
		"v1":       {hub + "," + beta + "," + alpha, hub + "," + hub + "," + plain},
		"v1beta1":  {hub + "," + beta, beta + "," + beta},
		"v1alpha1": {hub + "," + beta + "," + alpha, alpha + "," + alpha + "," + alpha},
	} {
		code, body := post(t, s, "/convert/greetings.example.com", "application/json", convertReview("example.com/"+desired, tt.objects))
		want := fmt.Sprintf(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","response":{"uid":"u1","convertedObjects":[%s],"result":{"status":"Success"}}}`, tt.want)
		if code != 200 {
			t.Errorf("%s: %d %s", desired, code, body)
		} else if diff := cmp.Diff(tree(t, want), tree(t, body)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", desired, diff)
		}
	}
}

// TestConvertsWhatHasNoMetadata: server-side apply converts objects without the fields that a
// manager applied earlier, and these may be all of the metadata. The API server wants some.
func TestConvertsWhatHasNoMetadata(t *testing.T) {
	s := convertServer(t)
	for _, tt := range []struct{ from, desired, want string }{
		{`{"apiVersion":"example.com/v1beta1","kind":"Greeting","spec":{"message":"hi"}}`, "v1", `{"apiVersion":"example.com/v1","kind":"Greeting","metadata":{},"spec":{"text":"hi"}}`},
		{`{"apiVersion":"example.com/v1","kind":"Greeting","metadata":null}`, "v1alpha1", `{"apiVersion":"example.com/v1alpha1","kind":"Greeting","metadata":{"annotations":{"parts":"0"}}}`},
	} {
		code, body := post(t, s, "/convert/greetings.example.com", "application/json", convertReview("example.com/"+tt.desired, tt.from))
		want := fmt.Sprintf(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","response":{"uid":"u1","convertedObjects":[%s],"result":{"status":"Success"}}}`, tt.want)
		if code != 200 {
			t.Errorf("%s: %d %s", tt.from, code, body)
		} else if diff := cmp.Diff(tree(t, want), tree(t, body)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.from, diff)
		}
	}
}

// TestConversionThatFailsNamesTheObject: without a part of it.
func TestConversionThatFailsNamesTheObject(t *testing.T) {
	s := convertServer(t)
	for objects, want := range map[string]string{
		`{"apiVersion":"example.com/v1beta1","kind":"Greeting","metadata":{"namespace":"shop","name":"a"},"spec":{"message":"bad"}}`:                                "convert Greeting shop/a from v1beta1: it is bad",
		`{"apiVersion":"example.com/v1beta1","kind":"Greeting","metadata":{"name":"a"},"spec":{"message":["sesame"]}}`:                                              "convert Greeting a from v1beta1: read it: decode spec.message",
		`{"apiVersion":"example.com/v9","kind":"Greeting","metadata":{"name":"a"}}`:                                                                                 "another version",
		`{"apiVersion":"example.com/v1beta1","kind":"Pod","metadata":{"name":"a"}}`:                                                                                 "another version",
		`{"apiVersion":"example.com/v1","kind":"Greeting","metadata":{"name":"a"}},{"apiVersion":"example.com/v1beta1","kind":"Greeting","spec":{"message":"bad"}}`: "it is bad",
		`1`: "read an object to convert",
	} {
		code, body := post(t, s, "/convert/greetings.example.com", "application/json", convertReview("example.com/v1", objects))
		got, _ := tree(t, body)["response"].(map[string]any)
		result, _ := got["result"].(map[string]any)
		message, _ := result["message"].(string)
		if code != 200 || result["status"] != "Failure" || !strings.Contains(message, want) || strings.Contains(message, "sesame") || len(got["convertedObjects"].([]any)) != 0 {
			t.Errorf("%s: %d %s, want %q", objects, code, body, want)
		}
	}
}

func TestWhatIsNoConversionReviewIsRefused(t *testing.T) {
	s := convertServer(t)
	for _, body := range []string{"{", "{}", `{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview"}`, `{"apiVersion":"apiextensions.k8s.io/v1beta1","kind":"ConversionReview","request":{"uid":"u"}}`} {
		if code, text := post(t, s, "/convert/greetings.example.com", "application/json", strings.NewReader(body)); code != 400 {
			t.Errorf("%s: %d %s", body, code, text)
		}
	}
	for _, desired := range []string{"example.com/v9", "other.com/v1", "v1"} {
		if code, text := post(t, s, "/convert/greetings.example.com", "application/json", convertReview(desired, "")); code != 400 {
			t.Errorf("%s: %d %s", desired, code, text)
		}
	}
}

// FuzzConversionReview: a body is refused, or the response has its uid, and a state or an
// error: all objects converted, in order, with their names and the version that was asked
// for, or none.
func FuzzConversionReview(f *testing.F) {
	for _, objects := range []string{`{"apiVersion":"example.com/v1","kind":"Greeting","metadata":{"name":"a"}},{"apiVersion":"example.com/v1alpha1","kind":"Greeting","metadata":{"name":"b","uid":"u"},"text":"hi"}`, `1`, ``, `null`, `{"metadata":[]}`,
		`{"apiVersion":"example.com/v1","kind":"Greeting","metadata":{"nAme":"a"}},{"apiVersion":"example.com/v1","kind":"Greeting","metAdAtA":{"name":"b"}}`} {
		for _, version := range []string{"v1", "v1beta1", "v1alpha1", "v9"} {
			body, _ := io.ReadAll(convertReview("example.com/"+version, objects))
			f.Add(body)
		}
	}
	type identity struct {
		APIVersion string `json:"apiVersion"`
		Metadata   struct {
			Name string `json:"name"`
		} `json:"metadata"`
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		code, text := post(t, convertServer(t), "/convert/greetings.example.com", "application/json", bytes.NewReader(body))
		if code == 400 {
			return
		}
		asked, err := codec.Decode[struct {
			Request struct {
				UID               string     `json:"uid"`
				DesiredAPIVersion string     `json:"desiredAPIVersion"`
				Objects           []identity `json:"objects"`
			} `json:"request"`
		}](body)
		if err != nil {
			return // of an object, see the others
		}
		got, err := codec.Decode[struct {
			Response struct {
				UID              string     `json:"uid"`
				ConvertedObjects []identity `json:"convertedObjects"`
				Result           struct {
					Status  string `json:"status"`
					Message string `json:"message"`
				} `json:"result"`
			} `json:"response"`
		}]([]byte(text)) // encoding/json also takes names of another case, which objects may have
		if code != 200 || err != nil || got.Response.UID != asked.Request.UID {
			t.Fatalf("%d %s, %v", code, text, err)
		}
		if got.Response.Result.Status == "Failure" && got.Response.Result.Message != "" && len(got.Response.ConvertedObjects) == 0 {
			return
		}
		want := asked.Request.Objects
		for i := range want {
			want[i].APIVersion = asked.Request.DesiredAPIVersion
		}
		if diff := cmp.Diff(want, got.Response.ConvertedObjects, cmpopts.EquateEmpty()); diff != "" || got.Response.Result.Status != "Success" {
			t.Fatalf("%s (-want +got):\n%s", text, diff)
		}
	})
}

// notes is what RoundTrip reports.
type notes struct{ list []string }

func (*notes) Helper() {}
func (n *notes) Errorf(format string, args ...any) {
	n.list = append(n.list, fmt.Sprintf(format, args...))
}

func TestRoundTripFindsWhatIsLost(t *testing.T) {
	webhooktest.RoundTrip(t, func(b greetingBeta) (g greeting, err error) {
		g.Meta, g.Spec.Text, g.Spec.Parts = b.Meta, b.Spec.Message, b.Spec.Parts
		return g, nil
	}, toBeta, webhooktest.Options[greeting, greetingBeta]{})
	var n notes
	webhooktest.RoundTrip(&n, fromAlpha, toAlpha, webhooktest.Options[greeting, greetingAlpha]{})
	if len(n.list) != 1 || !strings.Contains(n.list[0], "from the hub to the spoke and back, object 0") {
		t.Errorf("got %q", n.list)
	}
	n = notes{}
	webhooktest.RoundTrip(&n, func(b greetingBeta) (greeting, error) {
		g, err := fromBeta(b)
		if p := g.Spec.Parts; len(p) > 1 {
			p[0], p[1] = p[1], p[0]
		}
		return g, err
	}, toBeta, webhooktest.Options[greeting, greetingBeta]{})
	if len(n.list) != 1 {
		t.Errorf("another order is not noticed")
	}
}

// TestSecondRegistrationPanics: of a path, and of a version.
func TestSecondRegistrationPanics(t *testing.T) {
	s := convertServer(t)
	for name, f := range map[string]func(){
		"version": func() { webhook.Convert(s, greetings, "v1beta1", fromBeta, toBeta) },
		"hub":     func() { webhook.Convert(s, greetings, "v1", fromBeta, toBeta) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}
