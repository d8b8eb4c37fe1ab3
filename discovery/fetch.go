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
	"time"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/clip"
	"github.com/listwatch/listwatch/kube"
)

const (
	acceptJSON = "application/json"
	acceptAny  = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList," +
		"application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList," + acceptJSON

	maxRoot      = 16 << 20 // bytes of the answer of /api or /apis; a few MiB with thousands of CRDs
	maxVersion   = 4 << 20  // bytes of the answer for one group version in the legacy form
	maxAll       = 32 << 20 // bytes of all these responses together
	maxVersions  = 5000     // group versions
	maxResources = 50_000   // resources of all group versions together
	maxMessage   = 1 << 10  // bytes of the message of a Status that is kept
	parallel     = 8        // requests at a time in the legacy form

	patience    = 5 * time.Second  // for one group version in the legacy form
	maxPatience = 30 * time.Second // for the next of them, while none responds
)

// FetchError means that the resources of a server could not be read.
type FetchError struct{ Err error }

func (e *FetchError) Error() string { return "discover the API: " + e.Err.Error() }
func (e *FetchError) Unwrap() error { return e.Err }

// Fetch reads the resources of a server. It returns a *[FetchError] if /api or /apis
// cannot be read; a group that cannot be read is reported by [API.Broken] instead.
func Fetch(ctx context.Context, c *client.Client) (*API, error) {
	return (&Known{}).Fetch(ctx, c)
}

// Fetch is the function Fetch, except that the server sends only the documents of k that
// have changed. Afterwards k has the current documents.
func (k *Known) Fetch(ctx context.Context, c *client.Client) (*API, error) {
	f := &fetcher{c: c, bytes: maxAll, resources: maxResources}
	var core, groups page
	var coreErr, groupsErr error
	var wg sync.WaitGroup
	wg.Go(func() { core, coreErr = f.root(ctx, "/api", &k.Core) })
	wg.Go(func() { groups, groupsErr = f.root(ctx, "/apis", &k.Groups) })
	wg.Wait()
	if errors.Is(coreErr, kube.ErrNotFound) && errors.Is(groupsErr, kube.ErrNotFound) {
		return nil, &FetchError{fmt.Errorf("the server has neither /api nor /apis, so it is no Kubernetes API server: %w", coreErr)}
	}
	// A server may have only one of the two.
	for _, err := range []error{coreErr, groupsErr} {
		if err != nil && !errors.Is(err, kube.ErrNotFound) {
			return nil, &FetchError{c.Conceal(err)}
		}
	}
	for _, p := range []page{core, groups} {
		if err := p.complete(ctx, f); err != nil {
			return nil, &FetchError{err}
		}
	}
	return newAPI(core, groups), nil
}

func newAPI(pages ...page) *API {
	a := &API{broken: make(map[string]error)}
	for _, p := range pages {
		for _, v := range p.versions {
			a.add(v)
		}
	}
	return a
}

// page is the response of /api or /apis, in the server's order.
type page struct{ versions []version }

// version is one version of a group.
type version struct {
	group, name string
	preferred   bool
	path        string // path of its resources; empty = they are known
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
			a.broken[name] = fmt.Errorf("the server has a resource with a name that is not allowed, and it was omitted: %w", err)
			continue
		}
		r.Preferred = v.preferred
		a.resources = append(a.resources, r)
	}
}

// check returns a kube.ErrBadName if Kubernetes does not allow a name of r.
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

// root reads /api or /apis in the form that the server supports. It replaces d by what the
// server responds.
func (f *fetcher) root(ctx context.Context, path string, d *Document) (page, error) {
	old := *d
	*d = Document{}
	if old.ETag != "" {
		current, err := f.unchanged(ctx, path, old, d)
		if err != nil {
			return page{}, err
		}
		if current {
			if p, err := f.parse(path, old); err == nil {
				*d = old
				return p, nil
			}
			*d = Document{} // it is damaged
		}
	}
	if d.Body == nil {
		var err error
		if *d, err = f.get(ctx, path, acceptAny, maxRoot, ""); err != nil {
			if s := (*kube.Status)(nil); !errors.As(err, &s) || s.Code != http.StatusNotAcceptable {
				return page{}, err
			}
			if *d, err = f.get(ctx, path, acceptJSON, maxRoot, ""); err != nil {
				return page{}, err
			}
		}
	}
	p, err := f.parse(path, *d)
	if err != nil || !isAggregated(d.ContentType) {
		*d = Document{}
	}
	return p, err
}

// unchanged asks whether old is current; if not, d is the document that is.
func (f *fetcher) unchanged(ctx context.Context, path string, old Document, d *Document) (bool, error) {
	var err error
	*d, err = f.get(ctx, path, acceptAny, maxRoot, old.ETag)
	if s := (*kube.Status)(nil); errors.As(err, &s) && s.Code == http.StatusNotAcceptable {
		return false, nil
	}
	return err == nil && d.Body == nil, err
}

// parse reads the response of path.
func (f *fetcher) parse(path string, d Document) (page, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var p page
	var err error
	switch {
	case isAggregated(d.ContentType):
		p, err = parseAggregated(d.Body)
	case path == "/api":
		p, err = parseVersions(d.Body)
	default:
		p, err = parseGroups(d.Body)
	}
	for _, v := range p.versions {
		if err == nil {
			err = f.count(len(v.resources))
		}
	}
	if err != nil {
		return page{}, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

// isAggregated recognises the aggregated form by the parameters of its media type: an old
// server answers the same request with plain JSON.
func isAggregated(contentType string) bool {
	_, params, err := mime.ParseMediaType(contentType)
	return err == nil && params["g"] == "apidiscovery.k8s.io" && params["as"] == "APIGroupDiscoveryList" &&
		(params["v"] == "v2" || params["v"] == "v2beta1")
}

// complete reads the versions that the legacy form only names. It fails if ctx ends; a
// version that cannot be read, or that does not respond in time, keeps its error.
func (p page) complete(ctx context.Context, f *fetcher) error {
	reading, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	progress := time.AfterFunc(maxPatience, func() { cancel(client.ErrIdle) })
	defer progress.Stop()
	slots := make(chan struct{}, parallel)
	var wg sync.WaitGroup
	for i := range p.versions {
		v := &p.versions[i]
		if v.path == "" {
			continue
		}
		if v.err = kube.CheckResource(kube.Resource{Group: v.group, Version: v.name, Plural: "any", Kind: "Any"}); v.err != nil {
			continue // not requested
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			resources, err := f.version(reading, v)
			if !errors.Is(err, client.ErrIdle) {
				progress.Reset(maxPatience)
			}
			v.resources, v.err = resources, f.c.Conceal(err)
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// version reads the resources of v. Its error is a client.ErrIdle if the response is not
// complete in time.
func (f *fetcher) version(ctx context.Context, v *version) ([]Resource, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, client.ErrIdle)
	defer cancel()
	d, err := f.get(ctx, v.path, acceptJSON, maxVersion, "")
	switch {
	case err != nil && errors.Is(context.Cause(ctx), client.ErrIdle):
		return nil, fmt.Errorf("GET %s%s: %w: no complete response within %v", f.c.Server(), v.path, client.ErrIdle, patience)
	case err != nil:
		return nil, brief(v.path, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.bytes -= len(d.Body); f.bytes < 0 {
		return nil, fmt.Errorf("%s: %w: its answers have more than %d MiB", v.path, errTooMuch, maxAll>>20)
	}
	rs, err := parseResources(d.Body, v.group, v.name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", v.path, err)
	}
	if err := f.count(len(rs)); err != nil {
		return nil, fmt.Errorf("%s: %w", v.path, err)
	}
	return rs, nil
}

// brief shortens the Status in err: there may be one for each group version.
func brief(path string, err error) error {
	st := (*kube.Status)(nil)
	if !errors.As(err, &st) || len(st.Message) <= maxMessage && (st.Details == nil || len(st.Details.Causes) == 0) {
		return err
	}
	return fmt.Errorf("GET %s: %w", path, &kube.Status{Code: st.Code, Reason: clip.Text(st.Reason, 80), Message: clip.Text(st.Message, maxMessage), RetryAfter: st.RetryAfter})
}

// fetcher reads responses within the limits.
type fetcher struct {
	c *client.Client

	mu        sync.Mutex // held while a response is parsed: one at a time, to limit memory
	bytes     int        // left for responses of group versions in the legacy form
	resources int        // left
}

var errTooMuch = errors.New("the server describes more than a Kubernetes API server serves")

// count subtracts n from the resources that are left. The caller holds mu.
func (f *fetcher) count(n int) error {
	if n > f.resources {
		return fmt.Errorf("%w: more than %d resources", errTooMuch, maxResources)
	}
	f.resources -= n
	return nil
}

// get returns a document with a body of at most limit bytes; none where the one with the
// ETag have is current.
func (f *fetcher) get(ctx context.Context, path, accept string, limit int, have string) (Document, error) {
	resp, err := f.c.Do(ctx, &client.Request{Method: http.MethodGet, Path: path, Accept: accept, IfNoneMatch: have})
	if err != nil {
		return Document{}, err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNotModified {
		return Document{}, nil
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, int64(limit)+1))
	if err != nil {
		return Document{}, fmt.Errorf("read %s: %w", path, err)
	}
	if len(b) > limit {
		return Document{}, fmt.Errorf("read %s: the answer is larger than %d MiB", path, limit>>20)
	}
	return Document{resp.Header.Get("ETag"), resp.Header.Get("Content-Type"), b}, nil
}

// decode decodes b as T and checks its kind.
func decode[T interface{ kind() string }](b []byte, kind string) (T, error) {
	v, err := codec.Decode[T](b)
	if bad := (*codec.DecodeError)(nil); errors.As(err, &bad) && bad.Path == "" {
		bad.Want = kind // the API's name, not ours
	}
	if err != nil {
		return v, err
	}
	if v.kind() != kind {
		return v, fmt.Errorf("want kind %s, got %q: this is no Kubernetes API server", kind, clip.Text(strings.ToValidUTF8(v.kind(), "?"), 80))
	}
	return v, nil
}
