// Package reviews creates TokenReviews and SubjectAccessReviews, which say whose a token is
// and what a user may do. See
// https://kubernetes.io/docs/reference/kubernetes-api/authentication-resources/token-review-v1/
// and
// https://kubernetes.io/docs/reference/kubernetes-api/authorization-resources/subject-access-review-v1/.
package reviews

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

// Tokens and Accesses are what is created.
var (
	Tokens   = kube.Resource{Group: "authentication.k8s.io", Version: "v1", Plural: "tokenreviews", Kind: "TokenReview"}
	Accesses = kube.Resource{Group: "authorization.k8s.io", Version: "v1", Plural: "subjectaccessreviews", Kind: "SubjectAccessReview"}
)

// User is whom a TokenReview names, and whom a SubjectAccessReview is about.
type User struct {
	Name   string              `json:"username"`
	UID    string              `json:"uid"`
	Groups []string            `json:"groups"`
	Extra  map[string][]string `json:"extra"`
}

// maxResponse limits a response in bytes.
const maxResponse = 1 << 20

// Token returns the user of a token; ok is false if the server does not accept it, or not
// for one of audiences. Without audiences those of the server count.
func Token(ctx context.Context, c *client.Client, token string, audiences []string) (u User, ok bool, err error) {
	spec := map[string]any{"token": token}
	if len(audiences) > 0 {
		spec["audiences"] = audiences
	}
	s, err := create(ctx, c, Tokens, spec)
	if err != nil || !s.Authenticated || s.User.Name == "" {
		return User{}, false, err
	}
	if len(audiences) > 0 && !slices.ContainsFunc(s.Audiences, func(a string) bool { return slices.Contains(audiences, a) }) {
		return User{}, false, nil // a server that names no audience has compared none
	}
	return s.User, true, nil
}

// Resource is what a user wants to do with a resource.
type Resource struct {
	Verb        string `json:"verb"`
	Group       string `json:"group"`
	Resource    string `json:"resource"`
	Subresource string `json:"subresource"`
	Namespace   string `json:"namespace"`
}

// Path is what a user wants to do with a path that is no resource.
type Path struct {
	Path string `json:"path"`
	Verb string `json:"verb"`
}

// Access reports whether a user may do something.
func Access[A Resource | Path](ctx context.Context, c *client.Client, u User, a A) (bool, error) {
	spec := map[string]any{"user": u.Name, "uid": u.UID, "groups": u.Groups, "extra": u.Extra}
	switch any(a).(type) {
	case Resource:
		spec["resourceAttributes"] = a
	case Path:
		spec["nonResourceAttributes"] = a
	}
	s, err := create(ctx, c, Accesses, spec)
	return s.Allowed, err
}

// status is that of both reviews.
type status struct {
	Authenticated bool     `json:"authenticated"`
	Audiences     []string `json:"audiences"`
	User          User     `json:"user"`

	Allowed bool `json:"allowed"`
}

// create creates a review, and returns its status.
func create(ctx context.Context, c *client.Client, r kube.Resource, spec map[string]any) (status, error) {
	body, err := codec.Encode(map[string]any{"apiVersion": r.APIVersion(), "kind": r.Kind, "spec": spec})
	if err != nil {
		return status{}, err
	}
	resp, err := c.Do(ctx, &client.Request{Method: http.MethodPost, Path: r.Path(""), Body: body})
	if err != nil {
		return status{}, fmt.Errorf("create %s: %w", r.Plural, err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse+1))
	if err == nil && len(b) > maxResponse {
		err = errors.New("the response is too large")
	}
	var review struct {
		Status status `json:"status"`
	}
	if err == nil {
		err = json.Unmarshal(b, &review)
	}
	if err != nil {
		return status{}, fmt.Errorf("create %s: %w", r.Plural, err)
	}
	return review.Status, nil
}
