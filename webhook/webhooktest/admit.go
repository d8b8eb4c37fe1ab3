package webhooktest

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"

	jsonpatch "github.com/evanphx/json-patch/v5"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/webhook"
)

// Admit makes srv call the admission webhooks of s for each write that their rules select:
// mutating ones first, then validating ones, each in the order in which they were added,
// until remove is called. s need not run. The webhooks may send requests to srv. A rule
// selects by resource and version, subresources, operations and the labels of the object before
// and after the write; its selector of namespaces and its CEL conditions are not evaluated.
// Webhooks are not called for evictions, bindings and requests for tokens: for these, srv needs
// a webhook configuration that leads to a running s.
func Admit(srv *apitest.Server, s *webhook.Server) (remove func()) {
	var all []func()
	handler := s.Handler()
	for _, h := range s.Webhooks() {
		if h.Converts {
			continue
		}
		set := srv.Validate
		if h.Mutates {
			set = srv.Mutate
		}
		all = append(all, set(apitest.Match{Resource: h.Resource.GroupResource()}, func(a *apitest.Admission) error {
			if !selects(h, a) {
				return nil
			}
			return ask(handler, h, a)
		}))
	}
	return func() {
		for _, f := range all {
			f()
		}
	}
}

func selects(h webhook.Webhook, a *apitest.Admission) bool {
	objects, err := h.Rule.Objects.Selector()
	return err == nil && h.Resource.Version == a.Resource.Version && slices.Contains(h.Rule.Subresources, a.Subresource) &&
		(slices.Contains(h.Rule.Operations, webhook.Operation(a.Operation)) || slices.Contains(h.Rule.Operations, "*")) &&
		(matches(objects, a.Object) || matches(objects, a.Old))
}

// matches reports whether s selects an object; nil is none.
func matches(s kube.Selector, object []byte) bool {
	var o struct {
		Metadata struct {
			Labels map[string]string `json:"labels"`
		} `json:"metadata"`
	}
	_ = json.Unmarshal(object, &o) // the server's own
	return object != nil && s.Matches(o.Metadata.Labels)
}

// ask sends an AdmissionReview to the handler, and applies the response to a.
func ask(handler http.Handler, h webhook.Webhook, a *apitest.Admission) error {
	uid := rand.Text()
	request := map[string]any{
		"uid": uid, "operation": a.Operation, "subResource": a.Subresource, "name": a.Key.Name, "namespace": a.Key.Namespace, "dryRun": a.DryRun,
		"kind":     map[string]any{"group": a.Resource.Group, "version": a.Resource.Version, "kind": a.Resource.Kind},
		"resource": map[string]any{"group": a.Resource.Group, "version": a.Resource.Version, "resource": a.Resource.Plural},
		"userInfo": map[string]any{"username": a.User},
		"object":   json.RawMessage("null"), "oldObject": json.RawMessage("null"),
	}
	if a.Object != nil {
		request["object"] = json.RawMessage(a.Object)
	}
	if a.Old != nil {
		request["oldObject"] = json.RawMessage(a.Old)
	}
	body, err := json.Marshal(map[string]any{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})
	if err != nil {
		return failed(h, err)
	}
	r := httptest.NewRequest(http.MethodPost, h.Path+"?timeout="+h.Rule.Timeout.String(), bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	var review struct {
		Response struct {
			UID      string       `json:"uid"`
			Allowed  bool         `json:"allowed"`
			Status   *kube.Status `json:"status"`
			Patch    []byte       `json:"patch"`
			Warnings []string     `json:"warnings"`
		} `json:"response"`
	}
	if w.Code != http.StatusOK {
		return failed(h, fmt.Errorf("code %d: %s", w.Code, w.Body))
	}
	if err := json.Unmarshal(w.Body.Bytes(), &review); err != nil {
		return failed(h, err)
	}
	resp := review.Response
	a.Warnings = append(a.Warnings, resp.Warnings...)
	switch {
	case resp.UID != uid:
		return failed(h, fmt.Errorf("the response has the UID %q", resp.UID))
	case !resp.Allowed && resp.Status != nil:
		st := *resp.Status
		st.Message = fmt.Sprintf("admission webhook %q denied the request: %s", h.Name, st.Message)
		return &st
	case !resp.Allowed:
		return failed(h, fmt.Errorf("it refused without a status"))
	case len(resp.Patch) == 0:
		return nil
	}
	patch, err := jsonpatch.DecodePatch(resp.Patch)
	if err == nil {
		a.Object, err = patch.Apply(a.Object)
	}
	if err != nil {
		return failed(h, fmt.Errorf("its patch does not apply: %w", err))
	}
	return nil
}

// failed is what an API server says of a webhook that does not answer; nil if the rule
// ignores that.
func failed(h webhook.Webhook, err error) error {
	if h.Rule.Ignore {
		return nil
	}
	return &kube.Status{Code: http.StatusInternalServerError, Reason: "InternalError", Message: fmt.Sprintf("failed calling webhook %q: %v", h.Name, err)}
}
