package store

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/wire"
	"github.com/listwatch/listwatch/kube"
)

// ContinueToken is the content of a continue token. RV is -1 for a list that continues
// at the current revision.
type ContinueToken struct {
	APIVersion string `json:"v"`
	RV         int64  `json:"rv"`
	Start      string `json:"start"` // the first key of the page is at or after it
}

func (t ContinueToken) encode() string {
	return base64.RawURLEncoding.EncodeToString(object.Marshal(t))
}

// ParseToken decodes a continue token.
func ParseToken(s string) (ContinueToken, *kube.Status) {
	var t ContinueToken
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err == nil {
		err = json.Unmarshal(b, &t)
	}
	switch {
	case err != nil:
		return t, wire.BadRequest("invalid continue token: continue key is not valid: %v", err)
	case t.APIVersion != "meta.k8s.io/v1":
		return t, wire.BadRequest("invalid continue token: continue key is not valid: server does not recognize this encoded version %v", t.APIVersion)
	case t.Start == "":
		return t, wire.BadRequest("invalid continue token: continue key is not valid: encoded start key empty (version meta.k8s.io/v1)")
	case t.RV == 0:
		return t, wire.BadRequest("invalid continue token: continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)")
	}
	return t, nil
}

const continueExpired = "The provided continue parameter is too old to display a consistent list result. " +
	"You can start a new list without the continue parameter, or use the continue token in this response to " +
	"retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - " +
	"objects that were created, modified, or deleted between the time the first chunk was returned and now may " +
	"show up in the list."

func statusContinueExpired(t ContinueToken) *kube.Status {
	st := &kube.Status{Code: http.StatusGone, Reason: "Expired", Message: continueExpired}
	if t.Start != "" {
		t.RV = -1
		t.Start = strings.TrimPrefix(t.Start, "/")
		st.Metadata.Continue = t.encode()
	}
	return st
}

// ExpiredToken returns the response to a LIST whose continue token is too old; "" is a
// list without a token.
func ExpiredToken(token string) *kube.Status {
	var t ContinueToken
	if token != "" {
		var st *kube.Status
		if t, st = ParseToken(token); st != nil {
			return st
		}
	}
	return statusContinueExpired(t)
}

// Page is the result of a LIST.
type Page struct {
	RV        uint64
	Objects   []*object.Object
	Token     string
	Remaining *int64
	Sharding  *Sharding // the requested one
}

// Size returns the bytes of the objects.
func (p *Page) Size() (n int) {
	for _, o := range p.Objects {
		n += len(o.Body)
	}
	return n
}

// Emptied removes the objects, so that the continue token returns them.
func (p *Page) Emptied() {
	first := p.Objects[0].Key
	p.Token = ContinueToken{"meta.k8s.io/v1", int64(p.RV), startOf(first)}.encode()
	p.Objects, p.Remaining = nil, nil
}

// startOf is the Start of a token for key itself; with a zero byte after it,
// the Start for what follows key. Namespaces are part of it, unlike in
// kube-apiserver's, since one table holds them all.
func startOf(key kube.Key) string { return "/" + key.Namespace + "/" + key.Name }

func keyOf(start string) kube.Key {
	ns, name, _ := strings.Cut(strings.TrimPrefix(start, "/"), "/")
	if !strings.Contains(strings.TrimPrefix(start, "/"), "/") {
		ns, name = "", ns
	}
	return kube.Key{Namespace: ns, Name: name}
}

// Page collects the objects that q selects: at q.rv if it must be exact, otherwise the
// current ones. It does not block writers.
func (st *Store) Page(t *Table, q *Query, token ContinueToken) (*Page, *kube.Status) {
	objects, rv, later, gone := st.at(t, q, token)
	if gone != nil {
		return nil, gone
	}
	objects = objects.back(later)
	p := &Page{RV: rv, Sharding: q.Sharding}
	start := kube.Key{Namespace: q.namespace}
	if q.Token != "" {
		start = keyOf(token.Start)
	}
	for o := range objects.from(start) {
		if q.namespace != "" && o.Key.Namespace != q.namespace {
			break
		}
		if q.Limit > 0 && int64(len(p.Objects)) == q.Limit { // whether further objects match is not known
			if q.One() {
				break
			}
			last := p.Objects[len(p.Objects)-1].Key
			p.Token = ContinueToken{"meta.k8s.io/v1", int64(p.RV), startOf(last) + "\x00"}.encode()
			if q.simple {
				end := objects.size
				if q.namespace != "" {
					end = objects.rank(kube.Key{Namespace: q.namespace, Name: "\xff"})
				}
				p.Remaining = new(int64(end - objects.rank(o.Key)))
			}
			break
		}
		if q.Matches(o) {
			p.Objects = append(p.Objects, o)
		}
	}
	return p, nil
}

// at returns the current objects of t and, if q requests an earlier revision, rv, the
// events since then.
func (st *Store) at(t *Table, q *Query, token ContinueToken) (objects Collection, rv uint64, later []Event, gone *kube.Status) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if gone := st.removed(t); gone != nil {
		return Collection{}, 0, nil, gone
	}
	if q.Match != Exact || q.RV == 0 { // 00 is no revision, but not the "0" that is forbidden
		if q.Limit > 0 && int64(t.sorted.size) > q.Limit {
			t.remember(st.rev, t.sorted) // for the following pages
		}
		return t.sorted, st.rev, nil, nil
	}
	if past := t.remembered(q.RV); past != nil && q.RV >= t.floor {
		return *past, q.RV, nil, nil
	}
	if q.RV >= t.floor && q.RV <= st.rev {
		return t.sorted, q.RV, t.since(q.RV), nil
	}
	if q.Token != "" {
		return objects, 0, nil, statusContinueExpired(token)
	}
	return objects, 0, nil, &kube.Status{Code: http.StatusGone, Reason: "Expired",
		Message: "The resourceVersion for the provided list is too old."}
}
