package webhook

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"

	"github.com/listwatch/listwatch/apitest/internal/intake"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/wire"
	"github.com/listwatch/listwatch/kube"
)

// Webhook is a webhook of a configuration.
type Webhook struct {
	Name         string `json:"name"`
	ClientConfig struct {
		URL      string `json:"url"`
		CABundle []byte `json:"caBundle"`
	} `json:"clientConfig"`
	Rules             []rule          `json:"rules"`
	FailurePolicy     string          `json:"failurePolicy"` // default: Fail
	SideEffects       string          `json:"sideEffects"`
	TimeoutSeconds    int             `json:"timeoutSeconds"` // default: 10
	NamespaceSelector json.RawMessage `json:"namespaceSelector"`
	ObjectSelector    json.RawMessage `json:"objectSelector"`
	Reinvocation      string          `json:"reinvocationPolicy"` // default: Never
	MatchPolicy       string          `json:"matchPolicy"`        // default: Equivalent

	as kube.Resource // the version of its rule, in which it gets the object
}

type rule struct {
	Operations  []string `json:"operations"`
	APIGroups   []string `json:"apiGroups"`
	APIVersions []string `json:"apiVersions"`
	Resources   []string `json:"resources"`
	Scope       string   `json:"scope"`
}

// Write is a write for webhooks. Object is nil for a DELETE, Old for a CREATE.
type Write struct {
	Operation   string // CREATE, UPDATE or DELETE
	Resource    kube.Resource
	Subresource string
	Key         kube.Key
	User        string
	DryRun      bool
	Object, Old []byte
	Warnings    []string // for the client
}

// Configured returns the webhooks of the configurations that have a rule for such a write
// of a resource or subresource, or with the policy Equivalent of another version of it,
// which others returns.
func Configured(configurations iter.Seq[*object.Object], operation string, res kube.Resource, sub string, others func() []kube.Resource) (list []*Webhook) {
	for o := range configurations {
		raw, _ := o.Field("webhooks")
		var hooks []*Webhook
		if json.Unmarshal(raw, &hooks) != nil {
			continue
		}
		for _, h := range hooks {
			if h.matches(operation, sub, res) || h.MatchPolicy != "Exact" && h.matches(operation, sub, others()...) {
				list = append(list, h)
			}
		}
	}
	return list
}

// matches reports whether h has a rule for one of the versions, and notes which.
func (h *Webhook) matches(operation, sub string, versions ...kube.Resource) bool {
	for _, r := range h.Rules {
		for _, res := range versions {
			if r.matches(operation, res, sub) {
				h.as = res
				return true
			}
		}
	}
	return false
}

// matches reports whether r is for the operation on the resource.
func (r *rule) matches(operation string, res kube.Resource, sub string) bool {
	name := res.Plural
	if sub != "" {
		name += "/" + sub
	}
	has := func(list []string, v string) bool { return slices.Contains(list, v) || slices.Contains(list, "*") }
	scoped := r.Scope == "" || r.Scope == "*" || (r.Scope == "Namespaced") == res.Namespaced
	named := slices.Contains(r.Resources, name) || slices.Contains(r.Resources, "*/*") ||
		sub == "" && slices.Contains(r.Resources, "*") || sub != "" && slices.Contains(r.Resources, res.Plural+"/*") ||
		sub != "" && slices.Contains(r.Resources, "*/"+sub)
	return scoped && named && has(r.Operations, operation) && has(r.APIGroups, res.Group) && has(r.APIVersions, res.Version)
}

type admissionRequest struct {
	UID         string           `json:"uid"`
	Kind        groupVersionKind `json:"kind"`
	Resource    groupVersionRes  `json:"resource"`
	SubResource string           `json:"subResource,omitempty"`
	Name        string           `json:"name,omitempty"`
	Namespace   string           `json:"namespace,omitempty"`
	Operation   string           `json:"operation"`

	RequestKind        groupVersionKind `json:"requestKind"`
	RequestResource    groupVersionRes  `json:"requestResource"`
	RequestSubResource string           `json:"requestSubResource,omitempty"`

	UserInfo  any             `json:"userInfo"`
	Object    json.RawMessage `json:"object"`
	OldObject json.RawMessage `json:"oldObject"`
	DryRun    bool            `json:"dryRun"`
	Options   any             `json:"options"`
}

type groupVersionKind struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

type groupVersionRes struct {
	Group    string `json:"group"`
	Version  string `json:"version"`
	Resource string `json:"resource"`
}

type admissionResponse struct {
	UID     string `json:"uid"`
	Allowed bool   `json:"allowed"`
	Status  *struct {
		Code    int                 `json:"code"`
		Reason  string              `json:"reason"`
		Message string              `json:"message"`
		Details *kube.StatusDetails `json:"details"`
	} `json:"status"`
	Patch     []byte   `json:"patch"`
	PatchType string   `json:"patchType"`
	Warnings  []string `json:"warnings"`
}

type admissionReview struct {
	Kind       string             `json:"kind"`
	APIVersion string             `json:"apiVersion"`
	Request    *admissionRequest  `json:"request,omitempty"`
	Response   *admissionResponse `json:"response,omitempty"`
}

// Caller calls the webhooks for a write.
type Caller struct {
	User      any                      // UserInfo
	Options   any                      // CreateOptions, UpdateOptions or DeleteOptions
	ID        func() string            // returns the UID of a request
	Namespace func(name string) []byte // returns a Namespace, nil if it does not exist

	// Kind is that of the object of a subresource which has one of its own; it exists in one
	// version only.
	Kind kube.Resource

	// Nameless leaves the name of the object out of the request, as a deletion of a
	// collection does.
	Nameless bool

	// InVersion returns an object, nil for none, in another version.
	InVersion func(b []byte, to kube.Resource) []byte

	// Turn of Turns is given back while the write waits for a webhook, and taken again before a
	// patch is decoded, and at the end.
	Turns *intake.Turns
	Turn  *intake.Turn

	waited bool
	answer intake.Turn // of a large one
}

// Yield lets others have the turn while the write waits.
func (c *Caller) Yield() {
	c.waited = true
	c.Turn.Yield()
}

// Call calls the webhooks for a, in their order, and lets those that mutate change it:
// after a change, earlier ones with the policy IfNeeded are called again, once.
func (c *Caller) Call(ctx context.Context, hooks []*Webhook, a *Write, mutates bool) *kube.Status {
	if st := c.all(ctx, hooks, a, mutates); st != nil || !c.waited {
		return st
	}
	return c.Turn.Take(c.Turns, ctx, len(a.Object))
}

func (c *Caller) all(ctx context.Context, hooks []*Webhook, a *Write, mutates bool) *kube.Status {
	var ran, again []*Webhook // those with the policy, since the last change and before
	for _, h := range hooks {
		if !h.selects(a, c.Namespace) {
			continue
		}
		before := a.Object
		if st := c.call(ctx, h, a, mutates); st != nil {
			return st
		}
		if !same(before, a.Object) {
			again, ran = append(again, ran...), nil
		}
		if h.Reinvocation == "IfNeeded" {
			ran = append(ran, h)
		}
	}
	for _, h := range again {
		if !h.selects(a, c.Namespace) {
			continue
		}
		if st := c.call(ctx, h, a, mutates); st != nil {
			return st
		}
	}
	return nil
}

// same reports whether two objects have the same values.
func same(a, b []byte) bool {
	return bytes.Equal(a, b) || reflect.DeepEqual(object.DecodeValue(a), object.DecodeValue(b))
}

// call calls h for a, and lets it change a if it mutates.
func (c *Caller) call(ctx context.Context, h *Webhook, a *Write, mutates bool) *kube.Status {
	if a.DryRun && h.SideEffects != "None" && h.SideEffects != "NoneOnDryRun" {
		return wire.BadRequest("admission webhook %q does not support dry run", h.Name)
	}
	defer c.answer.Release()
	answer, err := c.ask(ctx, h, a)
	if st := (*kube.Status)(nil); errors.As(err, &st) { // too many answers are large
		return st
	} else if err != nil {
		err = fmt.Errorf("failed to call webhook: %w", err)
	} else if err = answer.check(mutates); err != nil {
		err = fmt.Errorf("received invalid webhook response: %w", err)
	}
	if err != nil {
		if h.FailurePolicy == "Ignore" {
			return nil
		}
		return wire.Internal(fmt.Sprintf("failed calling webhook %q: %v", h.Name, err))
	}
	a.Warnings = append(a.Warnings, answer.Warnings...)
	if !answer.Allowed {
		return denied(h, answer)
	}
	if len(answer.Patch) == 0 {
		return nil
	}
	if st := c.Turn.TakePatch(c.Turns, ctx, len(a.Object), answer.Patch); st != nil {
		return st
	}
	return c.patch(h, a, answer.Patch)
}

// patch changes the object of a as h wants it.
func (c *Caller) patch(h *Webhook, a *Write, b []byte) *kube.Status {
	patch, err := jsonpatch.DecodePatch(b)
	switch {
	case err != nil && h.FailurePolicy == "Ignore" || err == nil && len(patch) == 0:
		return nil
	case err != nil:
		return wire.Internal(fmt.Sprintf("failed calling webhook %q: received undecodable patch in webhook response: %v", h.Name, err))
	case a.Object == nil:
		return wire.Internal(fmt.Sprintf("admission webhook %q attempted to modify the object, which is not supported for this operation", h.Name))
	}
	changed, err := patch.Apply(c.seen(h, a, a.Object))
	if err != nil {
		return wire.Internal(err.Error())
	}
	if a.Object = changed; c.converts(h, a) {
		a.Object = c.InVersion(changed, a.Resource)
	}
	return nil
}

// seen returns an object of a in the version that h gets.
func (c *Caller) seen(h *Webhook, a *Write, b []byte) []byte {
	if !c.converts(h, a) {
		return b
	}
	return c.InVersion(b, h.as)
}

// converts reports whether h gets the objects of a in another version than that of the
// request.
func (c *Caller) converts(h *Webhook, a *Write) bool {
	return h.as != a.Resource && c.Kind.Kind == ""
}

// inside returns the namespace that a namespace counts as being in: itself.
func (a *Write) inside() string {
	if a.Resource == kube.Namespaces {
		return a.Key.Name
	}
	return ""
}

// check reports what a response may not have, of a webhook that mutates or not.
func (r *admissionResponse) check(mutates bool) error {
	switch {
	case len(r.Patch) > 0 && !mutates:
		return errors.New("validating webhook may not return response.patch")
	case len(r.Patch) > 0 && r.PatchType == "":
		return errors.New("webhook returned response.patch but not response.patchType")
	case r.PatchType != "" && !mutates:
		return errors.New("validating webhook may not return response.patchType")
	case r.PatchType != "" && len(r.Patch) == 0:
		return errors.New("webhook returned response.patchType but not response.patch")
	case r.PatchType != "" && r.PatchType != "JSONPatch":
		return fmt.Errorf("invalid response.patchType of %q", r.PatchType)
	}
	return nil
}

func denied(h *Webhook, r *admissionResponse) *kube.Status {
	st := &kube.Status{Code: http.StatusBadRequest, Message: fmt.Sprintf("admission webhook %q denied the request without explanation", h.Name)}
	if r.Status != nil {
		st.Code, st.Reason, st.Details = max(r.Status.Code, st.Code), r.Status.Reason, r.Status.Details
		if text := cmp.Or(r.Status.Message, r.Status.Reason); text != "" {
			st.Message = fmt.Sprintf("admission webhook %q denied the request: %s", h.Name, text)
		}
	}
	return st
}

func (c *Caller) ask(ctx context.Context, h *Webhook, a *Write) (*admissionResponse, error) {
	if c.waited && c.converts(h, a) {
		if st := c.Turn.Take(c.Turns, ctx, len(a.Object)+len(a.Old)); st != nil {
			return nil, st
		}
	}
	ctx, cancel := context.WithTimeout(ctx, h.timeout())
	defer cancel()
	id, res, asked := c.ID(), h.as, a.Resource
	ask := admissionReview{Kind: "AdmissionReview", APIVersion: "admission.k8s.io/v1", Request: &admissionRequest{
		UID: id, Kind: groupVersionKind{res.Group, res.Version, res.Kind}, Resource: groupVersionRes{res.Group, res.Version, res.Plural},
		SubResource: a.Subresource, Name: a.Key.Name, Namespace: cmp.Or(a.Key.Namespace, a.inside()), Operation: a.Operation,
		RequestKind: groupVersionKind{asked.Group, asked.Version, asked.Kind}, RequestResource: groupVersionRes{asked.Group, asked.Version, asked.Plural},
		RequestSubResource: a.Subresource, UserInfo: c.User, Options: c.Options,
		Object: c.seen(h, a, a.Object), OldObject: c.seen(h, a, a.Old), DryRun: a.DryRun}}
	if k := c.Kind; k.Kind != "" {
		ask.Request.Kind = groupVersionKind{k.Group, k.Version, k.Kind}
		ask.Request.RequestKind = ask.Request.Kind
	}
	if c.Nameless {
		ask.Request.Name = ""
	}
	if a.Object == nil {
		ask.Request.Object = json.RawMessage("null")
	}
	if a.Old == nil {
		ask.Request.OldObject = json.RawMessage("null")
	}
	body := object.Marshal(ask)
	c.Yield()
	b, err := h.post(ctx, body, func() *kube.Status { return c.answer.TakeAnswer(c.Turns, ctx) })
	if err != nil {
		return nil, err
	}
	var review admissionReview
	switch err := json.Unmarshal(b, &review); {
	case err != nil:
		return nil, fmt.Errorf("its answer is no AdmissionReview")
	case review.Response == nil || review.Response.UID != id:
		return nil, fmt.Errorf("its answer has no response, or one to another request")
	}
	return review.Response, nil
}

// timeout is how long h may take.
func (h *Webhook) timeout() time.Duration {
	return time.Duration(cmp.Or(h.TimeoutSeconds, 10)) * time.Second
}

func joined(list []string) string { return strings.Join(list, ",") }
