package discovery

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

const (
	acceptJSON = "application/json"
	acceptAny  = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList," +
		"application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList," + acceptJSON

	maxBody     = 64 << 20 // a cluster with thousands of CRDs answers some MiB
	maxVersions = 5000     // group-versions that the legacy form may make us ask for
	parallel    = 8        // requests at a time in the legacy form
)

// FetchError is why a server's types are not known.
type FetchError struct{ Err error }

func (e *FetchError) Error() string { return "discover the API: " + e.Err.Error() }
func (e *FetchError) Unwrap() error { return e.Err }

// Fetch asks the server what it serves. It fails, with a *[FetchError], if /api or
// /apis cannot be read; a group that cannot is reported by [API.Broken] instead.
func Fetch(ctx context.Context, c *client.Client) (*API, error) {
	var core, groups page
	var coreErr, groupsErr error
	var wg sync.WaitGroup
	wg.Go(func() { core, coreErr = fetchRoot(ctx, c, "/api") })
	wg.Go(func() { groups, groupsErr = fetchRoot(ctx, c, "/apis") })
	wg.Wait()
	if errors.Is(coreErr, kube.ErrNotFound) && errors.Is(groupsErr, kube.ErrNotFound) {
		return nil, &FetchError{fmt.Errorf("the server has neither /api nor /apis, so it is no Kubernetes API server: %w", coreErr)}
	}
	// A server with only one of the two is a lean one, not a broken one.
	for _, err := range []error{coreErr, groupsErr} {
		if err != nil && !errors.Is(err, kube.ErrNotFound) {
			return nil, &FetchError{err}
		}
	}
	a := &API{broken: make(map[string]error)}
	for _, p := range []page{core, groups} {
		if err := p.complete(ctx, c); err != nil {
			return nil, &FetchError{err}
		}
		for _, v := range p.versions {
			a.add(v)
		}
	}
	return a, nil
}

// page is the answer of /api or /apis, in the order of the server.
type page struct{ versions []version }

// version is one version of a group.
type version struct {
	group, name string
	preferred   bool
	path        string // where its resources are listed; empty = we have them
	resources   []Resource
	err         error
}

func (a *API) add(v version) {
	name := groupVersion(kube.CleanName(v.group), kube.CleanName(v.name))
	if v.err != nil {
		a.broken[name] = v.err
	}
	for _, r := range v.resources {
		if err := check(r); err != nil {
			a.broken[name] = fmt.Errorf("the server has a resource with a name that is not allowed, which is left out: %w", err)
			continue
		}
		r.Preferred = v.preferred
		a.resources = append(a.resources, r)
	}
}

// check returns a kube.ErrBadName if a name of r is none that Kubernetes allows.
func check(r Resource) error {
	if err := kube.CheckResource(r.Resource); err != nil {
		return err
	}
	for _, names := range [][]string{{r.Singular}, r.ShortNames, r.Categories, r.Verbs} {
		for _, name := range names {
			if name != "" && !kube.IsLabel(name) {
				return fmt.Errorf("%s has another name or a verb %q: %w: want a DNS label", r.GroupResource(), kube.CleanName(name), kube.ErrBadName)
			}
		}
	}
	return nil
}

// fetchRoot reads path, /api or /apis, in whichever form the server has.
func fetchRoot(ctx context.Context, c *client.Client, path string) (page, error) {
	b, contentType, err := get(ctx, c, path, acceptAny)
	if s := (*kube.Status)(nil); errors.As(err, &s) && s.Code == http.StatusNotAcceptable {
		b, contentType, err = get(ctx, c, path, acceptJSON)
	}
	if err != nil {
		return page{}, err
	}
	var p page
	switch {
	case isAggregated(contentType):
		p, err = parseAggregated(b)
	case path == "/api":
		p, err = parseVersions(b)
	default:
		p, err = parseGroups(b)
	}
	if err != nil {
		return page{}, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

// isAggregated knows the aggregated form by the parameters of its media type:
// an old server answers the same request with plain JSON.
func isAggregated(contentType string) bool {
	_, params, err := mime.ParseMediaType(contentType)
	return err == nil && params["g"] == "apidiscovery.k8s.io" && params["as"] == "APIGroupDiscoveryList" &&
		(params["v"] == "v2" || params["v"] == "v2beta1")
}

// complete asks for the versions that the legacy form only names. It fails if
// ctx ends; a version that cannot be read keeps its error.
func (p page) complete(ctx context.Context, c *client.Client) error {
	slots := make(chan struct{}, parallel)
	var wg sync.WaitGroup
	for i := range p.versions {
		v := &p.versions[i]
		if v.path == "" {
			continue
		}
		if v.err = kube.CheckResource(kube.Resource{Group: v.group, Version: v.name, Plural: "any", Kind: "Any"}); v.err != nil {
			continue // it is not asked for
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			v.resources, v.err = fetchVersion(ctx, c, v)
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

func fetchVersion(ctx context.Context, c *client.Client, v *version) ([]Resource, error) {
	b, _, err := get(ctx, c, v.path, acceptJSON)
	if err != nil {
		return nil, err
	}
	rs, err := parseResources(b, v.group, v.name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", v.path, err)
	}
	return rs, nil
}

// get returns a body of at most maxBody and its content type.
func get(ctx context.Context, c *client.Client, path, accept string) ([]byte, string, error) {
	resp, err := c.Do(ctx, &client.Request{Method: http.MethodGet, Path: path, Accept: accept})
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err != nil {
		return nil, "", fmt.Errorf("read %s: %w", path, err)
	}
	if len(b) > maxBody {
		return nil, "", fmt.Errorf("read %s: the answer is larger than %d MiB", path, maxBody>>20)
	}
	return b, resp.Header.Get("Content-Type"), nil
}

// decode reads b as T, whose kind must be one of kinds.
func decode[T interface{ kind() string }](b []byte, kind string) (T, error) {
	v, err := codec.Decode[T](b)
	if bad := (*codec.DecodeError)(nil); errors.As(err, &bad) && bad.Path == "" {
		bad.Want = kind // for who knows the API, and not our types
	}
	if err != nil {
		return v, err
	}
	if v.kind() != kind {
		return v, fmt.Errorf("want kind %s, got %q: this is no Kubernetes API server", kind, clip(strings.ToValidUTF8(v.kind(), "?"), 80))
	}
	return v, nil
}
