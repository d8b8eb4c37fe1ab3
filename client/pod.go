package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

// Evict deletes a Pod if its PodDisruptionBudget permits that, as kubectl drain does.
// Otherwise nothing is deleted, and the error is [kube.ErrThrottled]: retry after some
// seconds. A Pod with several budgets is never evicted: the server responds with code 500.
// See https://kubernetes.io/docs/concepts/scheduling-eviction/api-eviction/.
func (c Collection[T]) Evict(ctx context.Context, k kube.Key, o DeleteOptions) error {
	k = c.keyIn(k)
	c.Subresource, c.Accept = "eviction", Accept{}
	what := "evict " + c.Resource.String() + " " + k.String()
	path, err := c.subresourceOf(kube.Pods, k)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	options, err := c.deletion(o)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	eviction := map[string]any{"metadata": map[string]string{"name": k.Name, "namespace": k.Namespace}, "deleteOptions": json.RawMessage(options)}
	if _, err := c.post(ctx, path, eviction); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// LogOptions select the container and the lines of a log. The zero value is all lines of
// the only container.
type LogOptions struct {
	Container  string        // its name, which is required if the Pod has several
	Previous   bool          // of the instance before the last restart
	Follow     bool          // continue with new lines until the container ends
	Timestamps bool          // begin each line with its time, in RFC 3339
	Since      time.Duration // no older lines; rounded up to whole seconds; 0 = all
	Tail       *int          // this many lines from the end; nil = all
	Limit      int64         // of the log, in bytes; 0 = no limit
}

func (o LogOptions) query() url.Values {
	q := url.Values{}
	if o.Container != "" {
		q.Set("container", o.Container)
	}
	for name, set := range map[string]bool{"previous": o.Previous, "follow": o.Follow, "timestamps": o.Timestamps} {
		if set {
			q.Set(name, "true")
		}
	}
	if o.Since != 0 {
		q.Set("sinceSeconds", strconv.FormatFloat(math.Ceil(o.Since.Seconds()), 'f', 0, 64))
	}
	if o.Tail != nil {
		q.Set("tailLines", strconv.Itoa(*o.Tail))
	}
	if o.Limit != 0 {
		q.Set("limitBytes", strconv.FormatInt(o.Limit, 10))
	}
	return q
}

// Logs returns the log of a container of a Pod, as text. It can be read while it arrives;
// the caller must close it. Cancelling ctx ends the log.
//
// With Follow, Logs returns when the server begins to respond, which may be only when the
// first line is written. The log may be silent for any time, and the request does not wait
// for the rate limit. If the connection to the server is lost, reading fails. If the
// connection between the server and the kubelet is lost, the log ends without an error, as at
// the end of the container. To continue, call Logs again with Since or Tail.
//
// For a container without a log the error is [kube.ErrInvalid], for a kubelet that cannot be
// reached a [kube.Status] with code 500 or 502.
func (c Collection[T]) Logs(ctx context.Context, k kube.Key, o LogOptions) (io.ReadCloser, error) {
	k = c.keyIn(k)
	c = c.Sub("log")
	path, err := c.subresourceOf(kube.Pods, k)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", c.named(k), err)
	}
	r := &Request{Path: path, Query: o.query(), Accept: "application/json, */*", Watch: o.Follow}
	if o.Follow {
		r.Idle, r.slow = math.MaxInt64, true // a kubelet sends no headers before the first line
	}
	resp, err := c.Client.Do(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", c.named(k), err)
	}
	return resp.Body, nil
}

// TokenOptions are the properties of a requested token.
type TokenOptions struct {
	Audiences  []string      // who may accept it; default: the API server
	Expiration time.Duration // at least 10 minutes, rounded up to whole seconds; the server may change it. Default 1 hour
	BoundTo    *BoundObject  // the token is valid while this object exists; nil = while the ServiceAccount does
}

// BoundObject is a Pod, Secret or Node that a token is bound to.
type BoundObject struct {
	APIVersion string `json:"apiVersion"` // "v1"
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	UID        string `json:"uid,omitempty"` // default: that of the object with this name
}

// ServiceAccountToken is a token that a server has issued. All forms of fmt, log/slog and
// encoding/json hide it.
type ServiceAccountToken struct {
	Token   string
	Expires time.Time
}

// String returns no token.
func (t ServiceAccountToken) String() string { return "client.ServiceAccountToken(...)" }

// Format writes String, for every verb.
func (t ServiceAccountToken) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, t.String()) }

// MarshalText returns String, for logs in JSON.
func (t ServiceAccountToken) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// RequestToken requests a token for the ServiceAccount k; c is a collection of
// [kube.ServiceAccounts]. See
// https://kubernetes.io/docs/reference/kubernetes-api/authentication-resources/token-request-v1/.
func (c Collection[T]) RequestToken(ctx context.Context, k kube.Key, o TokenOptions) (ServiceAccountToken, error) {
	k = c.keyIn(k)
	c.Subresource, c.Accept = "token", Accept{}
	what := "request " + c.named(k)
	path, err := c.subresourceOf(kube.ServiceAccounts, k)
	if err != nil {
		return ServiceAccountToken{}, fmt.Errorf("%s: %w", what, err)
	}
	spec := map[string]any{"audiences": o.Audiences}
	if o.Expiration != 0 {
		spec["expirationSeconds"] = int64(math.Ceil(o.Expiration.Seconds()))
	}
	if o.BoundTo != nil {
		spec["boundObjectRef"] = o.BoundTo
	}
	b, err := c.post(ctx, path, map[string]any{"spec": spec})
	if err != nil {
		return ServiceAccountToken{}, fmt.Errorf("%s: %w", what, err)
	}
	var answer struct {
		Status struct {
			Token               string    `json:"token"`
			ExpirationTimestamp time.Time `json:"expirationTimestamp"`
		} `json:"status"`
	}
	if json.Unmarshal(b, &answer) != nil || answer.Status.Token == "" { // its error may quote the token
		return ServiceAccountToken{}, fmt.Errorf("%s: the response of %d bytes contains no token", what, len(b))
	}
	return ServiceAccountToken{answer.Status.Token, answer.Status.ExpirationTimestamp}, nil
}

// subresourceOf returns the path of a subresource that only objects of r have.
func (c Collection[T]) subresourceOf(r kube.Resource, k kube.Key) (string, error) {
	if c.Resource.Group != r.Group || c.Resource.Plural != r.Plural {
		return "", fmt.Errorf("only %s have the subresource %q", r.Plural, c.Subresource)
	}
	return c.objectPath(k)
}

// post sends the body that the subresource is created from.
func (c Collection[T]) post(ctx context.Context, path string, body map[string]any) ([]byte, error) {
	if err := identifySub(body, c.Subresource); err != nil {
		return nil, err
	}
	b, err := codec.Encode(body)
	if err != nil {
		return nil, err
	}
	return c.answer(ctx, &Request{Method: http.MethodPost, Path: path, Query: c.writes(), Accept: c.Accept.Object, Body: b})
}
