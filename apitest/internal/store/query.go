package store

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/listwatch/listwatch/apitest/internal/kinds"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/rules"
	"github.com/listwatch/listwatch/apitest/internal/wire"
	"github.com/listwatch/listwatch/kube"
)

// Query is the ListOptions of a LIST, WATCH or DELETE of a collection.
type Query struct {
	filter
	Revision  string // as sent
	RV        uint64 // 0 for "" and "0"
	Match     string
	Limit     int64
	Token     string // continue
	Timeout   time.Duration
	Bookmarks bool
	Initial   *bool // sendInitialEvents
}

// filter selects the objects to list or watch.
type filter struct {
	namespace, name string // "" = any
	labels          kube.Selector
	fields          kube.FieldSelector
	stored          func(path string) string // the path in stored objects of a name in fields; nil = the same
	absent          map[string]string        // what fields select at a path where an object has nothing
	simple          bool                     // no selectors except namespace and name
	Sharding        *Sharding                // nil = all objects
}

func (f *filter) Matches(o *object.Object) bool {
	switch {
	case o == nil,
		f.namespace != "" && o.Key.Namespace != f.namespace,
		f.name != "" && o.Key.Name != f.name,
		!f.labels.Empty() && !f.labels.Matches(o.Meta.Labels),
		!f.Sharding.matches(o):
		return false
	}
	return f.fields.Empty() || f.fields.Matches(func(path string) string {
		if f.stored != nil {
			path = f.stored(path)
		}
		return cmp.Or(o.FieldText(path), f.absent[path])
	})
}

// One reports whether the fields select a single object, which is read without a limit.
func (f *filter) One() bool {
	_, one := f.fields.Requires("metadata.name")
	return one
}

const (
	notOlderThan = "NotOlderThan"
	Exact        = "Exact"
)

// QueryOf is the target of a query.
type QueryOf struct {
	Form      *object.Info // as the resource is served
	Verb      string       // list, watch or deletecollection
	Namespace string       // "" = all
	Name      string       // of the watched object, if the path has it
	Shards    bool         // the feature gate ShardedListAndWatch
}

// ParseQuery parses the parameters of a request.
func ParseQuery(v url.Values, t QueryOf) (*Query, *kube.Status) {
	q := &Query{
		filter:   filter{namespace: t.Namespace, name: t.Name},
		Revision: v.Get("resourceVersion"), Match: v.Get("resourceVersionMatch"), Token: v.Get("continue"),
		Bookmarks: wire.QueryBool(v, "allowWatchBookmarks"),
	}
	var err error
	if v.Has("limit") {
		if q.Limit, err = strconv.ParseInt(v.Get("limit"), 10, 64); err != nil {
			return nil, wire.BadRequest("%v", err)
		}
	}
	if v.Has("timeoutSeconds") {
		n, err := strconv.ParseInt(v.Get("timeoutSeconds"), 10, 64)
		if err != nil {
			return nil, wire.BadRequest("%v", err)
		}
		q.Timeout = time.Duration(n) * time.Second
	}
	if v.Has("sendInitialEvents") {
		b := wire.QueryBool(v, "sendInitialEvents")
		q.Initial = &b
	}
	if q.labels, err = kube.ParseSelector(v.Get("labelSelector")); err != nil {
		return nil, wire.BadRequest("unable to parse requirement: %v", err)
	}
	if q.fields, err = kube.ParseFieldSelector(v.Get("fieldSelector")); err != nil && len(oddPaths(v.Get("fieldSelector"))) == 0 {
		return nil, wire.BadRequest("%s", fieldSelectorError(v.Get("fieldSelector"), err))
	}
	if q.absent = t.Form.Absent; t.Form.Core.Plural != "" || t.Form.Resource == kube.Jobs {
		q.stored = kinds.StoredPath
	}
	if st := q.validate(t.Verb); st != nil {
		return nil, st
	}
	for _, path := range append(oddPaths(v.Get("fieldSelector")), q.fields.Paths()...) {
		switch info := t.Form; {
		case info.Selectable(path):
		case len(info.Fields) == 0 && info.BuiltIn:
			return nil, wire.BadRequest("%q is not a known field selector: only \"metadata.name\", \"metadata.namespace\"", path)
		case info.Plural == "resourceslices" && info.BuiltIn:
			return nil, wire.BadRequest("field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: %s", path)
		case info.Resource == kube.Jobs:
			return nil, wire.BadRequest("field label %q not supported for Job", path)
		default:
			return nil, wire.BadRequest("field label not supported: %s", path)
		}
	}
	if q.RV, err = ParseRevision(q.Revision); err != nil {
		if _, st := ParseToken(q.Token); q.Token != "" && st != nil {
			return nil, st
		}
		if q.Token != "" && t.Verb == "list" {
			return nil, wire.BadRequest("specifying resource version is not allowed when using continue")
		}
		text := fmt.Sprintf("resourceVersion: Invalid value: %q: %v", q.Revision, err)
		if t.Verb == "watch" {
			return nil, wire.Raw("%s", text)
		}
		return nil, wire.BadRequest("invalid resource version: %s", text)
	}
	q.simple = q.labels.Empty() && q.fields.Empty()
	if s := v.Get("shardSelector"); s != "" && t.Shards {
		var st *kube.Status
		if q.Sharding, st = parseSharding(s); st != nil {
			return nil, st
		}
		q.simple = false
	}
	return q, nil
}

// oddPaths returns the paths of a field selector that have white space around them, or
// are empty: other parsers accept the first, but kube-apiserver does not.
func oddPaths(selector string) (odd []string) {
	for term := range strings.SplitSeq(selector, ",") {
		if i := strings.IndexByte(term, '='); i >= 0 {
			if path := strings.TrimSuffix(term[:i], "!"); path == "" || strings.TrimSpace(path) != path {
				odd = append(odd, path)
			}
		}
	}
	return odd
}

// fieldSelectorError returns kube-apiserver's error for a field selector that cannot be
// parsed.
func fieldSelectorError(selector string, err error) string {
	if strings.HasSuffix(selector, `\`) {
		return `invalid field selector: invalid escape sequence: \`
	}
	for term := range strings.SplitSeq(selector, ",") {
		if term != "" && !strings.Contains(term, "=") {
			return fmt.Sprintf("invalid selector: '%s'; can't understand '%s'", selector, term)
		}
	}
	return err.Error()
}

// validate checks the combinations that kube-apiserver forbids.
func (q *Query) validate(verb string) *kube.Status {
	var causes []kube.StatusCause
	add := func(c kube.StatusCause) { causes = append(causes, c) }
	const field = "resourceVersionMatch"
	if verb == "watch" {
		switch {
		case q.Initial == nil && q.Match != "":
			add(rules.ForbiddenField(field, "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"))
		case q.Initial != nil && q.Match != notOlderThan:
			add(rules.ForbiddenField(field, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"))
		case q.Token != "" && (q.Initial != nil || q.Revision == "" || q.Revision == "0"): // it has initial events
			add(rules.ForbiddenField(field, "resourceVersionMatch is forbidden when continue is provided"))
		}
		if q.Match != "" && q.Match != notOlderThan {
			add(kube.StatusCause{Reason: "FieldValueNotSupported", Field: field,
				Message: fmt.Sprintf("Unsupported value: %q: supported values: %q", q.Match, notOlderThan)})
		}
	} else {
		if q.Match != "" {
			if q.Revision == "" {
				add(rules.ForbiddenField(field, "resourceVersionMatch is forbidden unless resourceVersion is provided"))
			}
			if q.Token != "" {
				add(rules.ForbiddenField(field, "resourceVersionMatch is forbidden when continue is provided"))
			}
			if q.Match != Exact && q.Match != notOlderThan {
				add(kube.StatusCause{Reason: "FieldValueNotSupported", Field: field,
					Message: fmt.Sprintf("Unsupported value: %q: supported values: \"Exact\", \"NotOlderThan\", \"\"", q.Match)})
			}
			if q.Match == Exact && q.Revision == "0" {
				add(rules.ForbiddenField(field, `resourceVersionMatch "exact" is forbidden for resourceVersion "0"`))
			}
		}
		if q.Initial != nil {
			add(rules.ForbiddenField("sendInitialEvents", "sendInitialEvents is forbidden for list"))
		}
	}
	if len(causes) == 0 {
		return nil
	}
	return wire.Invalid("meta.k8s.io", "ListOptions", "", causes...)
}

// ParseRevision reads a resourceVersion; "" is 0.
func ParseRevision(s string) (uint64, error) {
	if s == "" || s == "0" {
		return 0, nil
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0, err
	}
	return n, nil
}

// freshness is how long a read waits for a future revision.
const freshness = 3 * time.Second

// WaitFor returns nil once st is at rv.
func (st *Store) WaitFor(ctx context.Context, rv uint64) *kube.Status {
	timer := time.NewTimer(freshness)
	defer timer.Stop()
	for {
		st.mu.Lock()
		current, changed := st.rev, st.changed
		st.mu.Unlock()
		if current >= rv {
			return nil
		}
		select {
		case <-changed:
		case <-timer.C:
			return wire.TooLarge(rv, current)
		case <-ctx.Done():
			return &kube.Status{Code: http.StatusGatewayTimeout, Reason: "Timeout", Message: "the request was given up"}
		}
	}
}
