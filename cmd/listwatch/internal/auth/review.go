package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/kube"
)

// maxReview bounds the answer to a review.
const maxReview = 1 << 20

// review posts one of the questions that Kubernetes has the form of objects for;
// spec is nil for one that has none.
func review[T any](ctx context.Context, c *client.Client, group, version, plural, kind string, spec any) (T, error) {
	var got struct {
		Status T `json:"status"`
	}
	question := map[string]any{"apiVersion": group + "/" + version, "kind": kind}
	if spec != nil {
		question["spec"] = spec
	}
	body, err := json.Marshal(question)
	if err != nil {
		return got.Status, err
	}
	resp, err := c.Do(ctx, &client.Request{Method: http.MethodPost, Path: "/apis/" + group + "/" + version + "/" + plural, Body: body})
	if err != nil {
		return got.Status, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxReview))
	if err == nil {
		err = json.Unmarshal(b, &got)
	}
	switch {
	case errors.As(err, new(*endlessError)):
		return got.Status, fmt.Errorf("POST %s/%s: %w", c.Server(), plural, err)
	case err != nil:
		return got.Status, fmt.Errorf("POST %s/%s: the answer cannot be read", c.Server(), plural)
	}
	return got.Status, nil
}

type userInfo struct {
	Username string              `json:"username"`
	UID      string              `json:"uid"`
	Groups   []string            `json:"groups"`
	Extra    map[string][]string `json:"extra"`
}

// identity asks who we are.
func (c *check) identity(ctx context.Context) error {
	step := &c.report.Identity
	type status struct {
		UserInfo userInfo `json:"userInfo"`
	}
	var got status
	var err error
	for _, version := range []string{"v1", "v1beta1"} { // v1 since Kubernetes 1.28
		got, err = review[status](ctx, c.client, "authentication.k8s.io", version, "selfsubjectreviews", "SelfSubjectReview", nil)
		if !errors.Is(err, kube.ErrNotFound) {
			break
		}
	}
	u := got.UserInfo
	switch {
	case err == nil:
		step.Status, step.User, step.UID, step.Groups, step.Extra = statusOK, u.Username, u.UID, u.Groups, u.Extra
	case errors.Is(err, kube.ErrNotFound):
		step.Status = statusOK
		step.warn("the server cannot say who we are: it has no SelfSubjectReview, which came with Kubernetes 1.28")
	case errors.Is(err, kube.ErrForbidden) && !impersonationRefused(err): // who is anonymous may not even ask
		step.Status, step.User = statusOK, userIn(err)
		if step.User != anonymousUser {
			step.warn("the server does not say more: " + err.Error())
		}
	default:
		step.fail(err, c.advice(err))
		return exit.Failed(fmt.Errorf("auth check: %w", err))
	}
	if step.User == anonymousUser {
		step.warn("the server knows us as nobody: " + notKnown(configOf(c.p)))
	}
	return nil
}

// anonymousUser is whoever shows no credentials.
const anonymousUser = "system:anonymous"

// cannot is how kube-apiserver begins the reason of a 403.
var cannot = regexp.MustCompile(`[Uu]ser "([^"]+)" cannot (\w+)`)

// userIn returns whom a 403 is about.
func userIn(err error) string {
	var st *kube.Status
	if errors.As(err, &st) {
		if m := cannot.FindStringSubmatch(st.Message); m != nil {
			return printable.Line(m[1])
		}
	}
	return ""
}

// impersonationRefused reports whether a 403 means that we may not be somebody else.
func impersonationRefused(err error) bool {
	var st *kube.Status
	if !errors.As(err, &st) {
		return false
	}
	m := cannot.FindStringSubmatch(st.Message)
	return m != nil && m[2] == "impersonate"
}
