package apitest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/reviews"
	"github.com/listwatch/listwatch/apitest/internal/schema"
	"github.com/listwatch/listwatch/apitest/internal/wire"
	"github.com/listwatch/listwatch/kube"
)

// review handles a review: all authenticated users may do everything, except as set by
// Deny.
func (s *Server) review(x *Exchange, w http.ResponseWriter) *kube.Status {
	res := x.target.res
	if x.target.verb != "create" {
		return wire.MethodNotAllowed()
	}
	p, st := readBody(x, wire.TypeJSON, wire.TypeYAML)
	if st != nil {
		return st
	}
	o, _, err := x.target.info.Type().Read(p.json)
	if err != nil {
		return wire.BadRequest("%s in version %q cannot be handled as a %s: %v", res.Kind, res.Version, res.Kind, err)
	}
	o["kind"], o["apiVersion"] = res.Kind, res.APIVersion()
	if _, ok := o["metadata"].(map[string]any); !ok {
		o["metadata"] = map[string]any{}
	}
	if st := reviews.Check(res, x.target.key.Namespace, o); st != nil {
		return st
	}
	spec, _ := o["spec"].(map[string]any)
	switch res.Plural {
	case "selfsubjectreviews":
		o["metadata"] = map[string]any{"creationTimestamp": time.Now().UTC().Format(time.RFC3339)}
		o["status"] = map[string]any{"userInfo": s.userInfo(x.r)}
	case "tokenreviews":
		token, _ := spec["token"].(string)
		status := map[string]any{"user": map[string]any{}}
		if token != "" && token == s.Token() {
			status = map[string]any{"authenticated": true, "user": map[string]any{"username": tokenUser, "groups": []any{"system:authenticated"}}}
		}
		o["status"] = status
	case "selfsubjectrulesreviews":
		o["status"] = reviews.Everything()
	default:
		o["status"] = s.accessStatus(x, spec)
	}
	body, err := schema.Encode(o)
	if err != nil {
		return wire.Raw("%v", err)
	}
	wire.WriteJSON(w, http.StatusCreated, "application/json", append(body, '\n'))
	return nil
}

// accessStatus returns whether the access in spec would be allowed.
func (s *Server) accessStatus(x *Exchange, spec map[string]any) map[string]any {
	attributes, _ := spec["resourceAttributes"].(map[string]any)
	text := func(name string) string { v, _ := attributes[name].(string); return v }
	if attributes != nil {
		asked := access{verb: text("verb"), res: kube.Resource{Group: text("group"), Plural: text("resource")}, namespace: text("namespace"), name: text("name"), sub: text("subresource")}
		user, _ := spec["user"].(string)
		if user == "" {
			user = s.username(x.r)
		}
		if reason, denied := s.denied(user, asked); denied {
			return map[string]any{"allowed": false, "reason": reason}
		}
	}
	return map[string]any{"allowed": true}
}

// access is the access that a request needs.
type access struct {
	verb, namespace, name, sub string
	res                        kube.Resource
}

// denial is a rule of Deny.
type denial struct {
	user  string
	match Match
}

// Deny forbids requests that m selects by verb, resource, namespace and name to a user;
// "" = to all users. Requests get 403, access reviews the corresponding result. As in
// RBAC, a resource is "pods", "pods/status" or, with its group, "deployments.apps".
func (s *Server) Deny(user string, m Match) (remove func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := &denial{user, m}
	s.denials = append(slices.Clip(s.denials), d)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.denials = slices.DeleteFunc(slices.Clone(s.denials), func(o *denial) bool { return o == d })
	}
}

// denied reports whether user is denied the access.
func (s *Server) denied(user string, a access) (reason string, denied bool) {
	s.mu.Lock()
	denials := s.denials
	s.mu.Unlock()
	name := a.res.Plural
	if a.sub != "" {
		name += "/" + a.sub
	}
	for _, d := range denials {
		m := d.match
		if (d.user == "" || d.user == user) && (m.Verb == "" || m.Verb == a.verb) &&
			(m.Resource == "" || m.Resource == name || m.Resource == a.res.GroupResource()) &&
			(m.Namespace == "" || m.Namespace == a.namespace) && (m.Name == "" || m.Name == a.name) {
			return "denied by the test", true
		}
	}
	return "", false
}

// forbidden is the 403 for a request that its user may not make.
func (s *Server) forbidden(x *Exchange) *kube.Status {
	t := x.target
	user := s.username(x.r)
	if _, denied := s.denied(user, access{verb: t.verb, res: t.res, namespace: t.key.Namespace, name: t.key.Name, sub: t.sub}); !denied {
		return nil
	}
	st := wire.Forbidden(user, t.verb, t.res, t.key.Namespace)
	if t.key.Name != "" {
		st.Details.Name = t.key.Name
		st.Message = strings.Replace(st.Message, t.res.GroupResource()+" is forbidden", t.res.GroupResource()+` "`+t.key.Name+`" is forbidden`, 1)
	}
	return st
}

// Users of the server: with its token, and with its certificate or without
// authentication.
const (
	tokenUser = "apitest"
	anonymous = "system:anonymous"
)

// username returns the user of r, impersonation included.
func (s *Server) username(r *http.Request) string {
	if u := r.Header.Get("Impersonate-User"); u != "" {
		return u
	}
	if r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		return r.TLS.VerifiedChains[0][0].Subject.CommonName
	}
	if token := s.Token(); token != "" && r.Header.Get("Authorization") == "Bearer "+token {
		return tokenUser
	}
	return anonymous
}

func (s *Server) userInfo(r *http.Request) map[string]any {
	name := s.username(r)
	groups := []any{"system:authenticated"}
	if name == anonymous {
		groups = []any{"system:unauthenticated"}
	}
	info := map[string]any{"username": name, "groups": groups}
	if given := r.Header.Values("Impersonate-Group"); len(given) > 0 {
		groups = nil
		for _, g := range given {
			groups = append(groups, g)
		}
		info["groups"] = append(groups, "system:authenticated")
	}
	if uid := r.Header.Get("Impersonate-Uid"); uid != "" {
		info["uid"] = uid
	}
	return info
}

// tokenRequest handles a create of serviceaccounts/x/token with a realistic token that
// is valid only for this server, if that has a token.
func (s *Server) tokenRequest(x *Exchange, w http.ResponseWriter) *kube.Status {
	var ask struct {
		Spec struct {
			Audiences         []string `json:"audiences,omitempty"`
			ExpirationSeconds *int64   `json:"expirationSeconds"`
		} `json:"spec"`
	}
	if _, st := readAction(x, "TokenRequest", "authentication.k8s.io/v1", &ask); st != nil {
		return st
	}
	found := s.current(x.target)
	id := s.store.NewUID()
	if found == nil {
		return wire.NotFound(x.target.res, x.target.key.Name)
	}
	lives := int64(3600)
	if ask.Spec.ExpirationSeconds != nil {
		lives = *ask.Spec.ExpirationSeconds
	}
	ask.Spec.ExpirationSeconds = &lives
	if why := badLifetime(lives); why != "" {
		return wire.Invalid("authentication.k8s.io", "TokenRequest", "",
			kube.StatusCause{Reason: "FieldValueInvalid", Message: fmt.Sprintf("Invalid value: %d: %s", lives, why), Field: "spec.expirationSeconds"})
	}
	token := s.Token()
	if token == "" {
		token = "apitest." + id
	}
	wire.WriteJSON(w, http.StatusCreated, "application/json", append(object.Marshal(map[string]any{
		"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1",
		"metadata": map[string]any{"name": x.target.key.Name, "namespace": x.target.key.Namespace, "creationTimestamp": object.Timestamp()},
		"spec":     ask.Spec,
		"status": map[string]any{"token": token,
			"expirationTimestamp": time.Now().Add(time.Duration(lives) * time.Second).UTC().Format(time.RFC3339)},
	}), '\n'))
	return nil
}

// badLifetime returns why no token can live for that many seconds, "" if one can.
func badLifetime(seconds int64) string {
	switch {
	case seconds < 600:
		return "may not specify a duration less than 10 minutes"
	case seconds > 1<<32:
		return "may not specify a duration larger than 2^32 seconds"
	}
	return ""
}
