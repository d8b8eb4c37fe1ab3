package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

// Operation is what the client does to an object.
type Operation string

// The operations of the API server.
const (
	Create  Operation = "CREATE"
	Update  Operation = "UPDATE"
	Delete  Operation = "DELETE"
	Connect Operation = "CONNECT" // such as pods/exec
)

// User is who sends the request.
type User struct {
	Name   string              `json:"username"`
	UID    string              `json:"uid,omitempty"`
	Groups []string            `json:"groups,omitempty"`
	Extra  map[string][]string `json:"extra,omitempty"`
}

// Rule selects the requests that the API server sends to a webhook. The zero value selects
// each creation and update of the object itself, and the API server refuses a request if the
// webhook does not answer. See
// https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/.
type Rule struct {
	// Name distinguishes several webhooks of a kind for one resource. It is a DNS name
	// with at least two dots. Default: "validate." or "mutate.", the plural and the group
	// of the resource, such as "validate.greetings.example.com".
	Name string

	Operations   []Operation // default: Create and Update
	Subresources []string    // such as "status"; "" = the object itself. Default: only that

	// Ignore accepts a request if the webhook cannot be reached or fails. Default: the
	// API server refuses it.
	Ignore bool

	// Namespaces and Objects select by labels. The API server matches the labels of the
	// namespace and of the object. Default: all.
	Namespaces, Objects kube.LabelSelector

	// Conditions are CEL expressions that the API server evaluates; all must be true.
	Conditions []Condition

	// SideEffects says that the function changes more than the object, except if
	// Request.DryRun is set. Default: it changes nothing else.
	SideEffects bool

	// Reinvoke calls a mutating webhook again after later ones have changed the object.
	Reinvoke bool

	// Timeout is how long the API server waits, in whole seconds from 1 to 30. Default
	// 10 s.
	Timeout time.Duration
}

// Condition is a CEL expression with a name, which the API server shows in errors.
type Condition struct {
	Name       string `json:"name"`
	Expression string `json:"expression"` // such as "request.userInfo.username != 'admin'"
}

// Request is a request that the API server sends for admission.
type Request[T kube.Object] struct {
	UID         string // of the request, not of the object
	Operation   Operation
	Resource    kube.Resource
	Subresource string   // "" = the object itself
	Key         kube.Key // the name is empty if the server has yet to generate it
	User        User
	DryRun      bool // nothing will be stored: the function must have no side effects

	Object T // the new state; the zero T for Delete
	Old    T // the stored state; the zero T for Create and Connect

	warnings []string
}

// maxWarnings limits the warnings of one request.
const maxWarnings = 20

// Warn adds a warning for the client, whether the request is accepted or not. kubectl
// prints it. The API server truncates long warnings: 120 characters are a good limit.
// Warnings after the twentieth of a request are dropped.
func (r *Request[T]) Warn(format string, args ...any) {
	if len(r.warnings) < maxWarnings {
		r.warnings = append(r.warnings, clip(fmt.Sprintf(format, args...)))
	}
}

// Validate adds a webhook that accepts or refuses writes of res. f is called
// concurrently, must not change the objects, and should return before ctx ends. An error
// of f refuses the request: a [*FieldError], or several joined, with 422 and a cause for
// each field, a *[kube.Status] with its own code, any other error with 403. The text of
// the error is sent to the client.
//
// An object that does not fit T is refused. Validate panics if s runs, or if res has a
// webhook of that name.
func Validate[T kube.Object](s *Server, res kube.Resource, rule Rule, f func(ctx context.Context, r *Request[T]) error) {
	s.add(admission(validate, res, rule, func(ctx context.Context, q *admissionRequest) (*admissionResponse, error) {
		r, err := requestOf[T](res, q)
		if err == nil {
			err = f(ctx, r)
		}
		return &admissionResponse{Warnings: r.warnings}, err
	}))
}

// Mutate adds a webhook that may change objects of res before they are validated and
// stored: f changes r.Object. Members that T does not have are kept; if it is not certain
// which list element such a member belongs to, the request is refused with a
// *[client.AmbiguousError]. f must be idempotent. For errors see [Validate].
func Mutate[T kube.Object](s *Server, res kube.Resource, rule Rule, f func(ctx context.Context, r *Request[T]) error) {
	s.add(admission(mutate, res, rule, func(ctx context.Context, q *admissionRequest) (*admissionResponse, error) {
		r, err := requestOf[T](res, q)
		if err != nil {
			return &admissionResponse{}, err
		}
		if absent(q.Object) {
			err = f(ctx, r)
			return &admissionResponse{Warnings: r.warnings}, err
		}
		changed, differs, err := client.Change(q.Object, func(o *T) error {
			r.Object = *o
			err := f(ctx, r)
			*o = r.Object
			return err
		})
		out := &admissionResponse{Warnings: r.warnings}
		if err != nil || !differs {
			return out, err
		}
		if out.Patch, err = patchOf(q.Object, changed); err != nil {
			return out, fmt.Errorf("make the patch: %w", err)
		}
		out.PatchType = "JSONPatch"
		return out, nil
	}))
}

// requestOf returns the request with its objects as T. It is never nil.
func requestOf[T kube.Object](res kube.Resource, q *admissionRequest) (*Request[T], error) {
	r := &Request[T]{UID: q.UID, Operation: q.Operation, Resource: res, Subresource: q.Subresource,
		Key: kube.Key{Namespace: q.Namespace, Name: q.Name}, User: q.UserInfo, DryRun: q.DryRun}
	if !res.Namespaced { // the API server says that a Namespace is in itself
		r.Key.Namespace = ""
	}
	for _, part := range []struct {
		name string
		raw  json.RawMessage
		into *T
	}{{"object", q.Object, &r.Object}, {"stored object", q.OldObject, &r.Old}} {
		if absent(part.raw) {
			continue
		}
		o, err := codec.Decode[T](part.raw)
		if err != nil {
			return r, &kube.Status{Code: http.StatusUnprocessableEntity, Reason: "Invalid", Message: clip(fmt.Sprintf("the %s does not fit: %v", part.name, err))}
		}
		*part.into = o
	}
	if r.Key.Name == "" && !absent(q.OldObject) { // a collection is deleted
		r.Key.Name = r.Old.GetName()
		q.Name = r.Key.Name
	}
	return r, nil
}

// absent reports whether a member of a review is missing or null.
func absent(b json.RawMessage) bool { return len(b) == 0 || string(b) == "null" }

// admission returns the hook of a rule.
func admission(k kind, res kube.Resource, rule Rule, f func(context.Context, *admissionRequest) (*admissionResponse, error)) *hook {
	if len(rule.Operations) == 0 {
		rule.Operations = []Operation{Create, Update}
	}
	if len(rule.Subresources) == 0 {
		rule.Subresources = []string{""}
	}
	if rule.Timeout <= 0 {
		rule.Timeout = defaultTimeout
	}
	if rule.Name == "" {
		group := res.Group
		if group == "" {
			group = "core"
		}
		rule.Name = string(k) + "." + res.Plural + "." + group
	}
	h := &hook{kind: k, name: rule.Name, path: "/" + string(k) + "/" + rule.Name, resource: res, rule: rule, limit: maxAdmission}
	h.handle = func(ctx context.Context, body []byte) (any, outcome, error) {
		q, err := parseAdmission(body, res, rule.Subresources)
		if err != nil {
			return nil, outcome{}, err
		}
		if !slices.Contains(rule.Operations, q.Operation) && !slices.Contains(rule.Operations, "*") {
			return nil, outcome{}, fmt.Errorf("the AdmissionReview is about an operation on %s that this webhook does not handle", res)
		}
		out := &admissionResponse{}
		failure := guarded(func() (err error) {
			var answer *admissionResponse
			answer, err = f(ctx, q)
			if answer != nil {
				out = answer
			}
			return err
		})
		out.UID, out.Allowed = q.UID, failure == nil
		result := outcome{allowed: out.Allowed, err: failure}
		if failure != nil {
			out.Patch, out.PatchType = nil, ""
			out.Status = statusOf(failure, name(res, q))
		}
		return admissionReview{APIVersion: admissionVersion, Kind: "AdmissionReview", Response: out}, result, nil
	}
	return h
}

// name is what a refusal is about: Greeting.example.com "hello".
func name(res kube.Resource, q *admissionRequest) string {
	kind := res.Kind
	if res.Group != "" {
		kind += "." + res.Group
	}
	return fmt.Sprintf("%s %q", kind, clip(q.Name))
}
