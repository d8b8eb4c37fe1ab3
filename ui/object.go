package ui

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/shell"
	"github.com/listwatch/listwatch/internal/yamltext"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/ui/internal/diff"
	"github.com/listwatch/listwatch/ui/internal/history"
)

// maxYAML is how many bytes of an object's YAML are shown.
const maxYAML = 1 << 20

// subject is the object that a request is about.
type subject struct {
	kind *kind
	life *life
	name string // of the kind, such as Pod
}

// subject finds the object that parameters name.
func (u *UI) subject(ctx context.Context, s *session, v url.Values) (subject, error) {
	return u.find(ctx, s, objectRef{Type: v.Get("type"), NS: v.Get("ns"), Name: v.Get("name"), UID: v.Get("uid")})
}

func (u *UI) find(ctx context.Context, s *session, ref objectRef) (subject, error) {
	k := u.kind(ref.Type)
	if k == nil {
		return subject{}, notFound("the server does not serve %s", ref.Type)
	}
	sees, err := s.sees(ctx, k)
	if err != nil {
		return subject{}, err
	}
	if sees != nil && !sees(ref.NS) {
		return subject{}, errForbidden
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	l := k.life(kube.Key{Namespace: ref.NS, Name: ref.Name}, ref.UID)
	if l == nil {
		if !k.watched() || k.state == stateLoading {
			k.start() // the page asks again
			return subject{}, &refusal{http.StatusServiceUnavailable, "unavailable", "the type is being listed: try again in a moment"}
		}
		return subject{}, notFound("%s %s was not seen since this page's process watches them", k.res.Kind, kube.Key{Namespace: ref.NS, Name: ref.Name})
	}
	return subject{k, l, k.res.Kind}, nil
}

// wireObject is an object as PROTOCOL.md has it.
type wireObject struct {
	Type       string            `json:"type"`
	Kind       string            `json:"kind"`
	NS         string            `json:"ns,omitempty"`
	Name       string            `json:"name"`
	UID        string            `json:"uid"`
	N          int64             `json:"n"`
	Created    int64             `json:"created,omitempty"`
	Pos        int64             `json:"pos"`
	At         int64             `json:"at"`
	Op         string            `json:"op"`
	Exists     bool              `json:"exists"`
	Redacted   bool              `json:"redacted"`
	YAML       string            `json:"yaml"`
	Truncated  bool              `json:"truncated"`
	By         string            `json:"by,omitempty"`
	Labels     map[string]string `json:"labels,omitempty"`
	Revision   string            `json:"revision"`
	Conditions []condition       `json:"conditions"`
	Containers []container       `json:"containers,omitempty"`
	Commands   []command         `json:"commands"`
}

type condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	Since   int64  `json:"since,omitempty"`
	Good    bool   `json:"good"`
}

type container struct {
	Name     string `json:"name"`
	Init     bool   `json:"init"`
	Restarts int64  `json:"restarts"`
	State    string `json:"state"`
}

type command struct {
	Title string `json:"title"`
	Text  string `json:"text"`
}

func (u *UI) getObject(s *session, r *http.Request) (any, error) {
	v := r.URL.Query()
	sub, err := u.subject(r.Context(), s, v)
	if err != nil {
		return nil, err
	}
	var pos, at int64
	for name, p := range map[string]*int64{"pos": &pos, "at": &at} {
		if err := number(v, name, p); err != nil {
			return nil, err
		}
	}
	states, _ := u.history.States(&sub.life.past)
	if len(states) == 0 {
		return nil, errNotKept
	}
	st := states[len(states)-1]
	if pos > 0 || at > 0 {
		i := slices.IndexFunc(states, func(s history.State) bool { return s.Pos == pos })
		if pos == 0 {
			for i = len(states) - 1; i >= 0 && states[i].At > at; i-- {
			}
		}
		if i < 0 {
			return nil, errNotKept
		}
		st = states[i]
	}
	text, err := u.history.JSON(&sub.life.past, st.Pos)
	if err != nil {
		return nil, errNotKept
	}
	return sub.describe(st, text)
}

// describe shows a state of an object.
func (sub subject) describe(st history.State, text string) (*wireObject, error) {
	l, k := sub.life, sub.kind
	w := &wireObject{Type: k.id, Kind: sub.name, NS: l.key.Namespace, Name: l.key.Name, UID: l.uid, N: l.n, Created: l.created, Pos: st.Pos, At: st.At, Op: st.Op,
		Exists: st.Op != opDeleted, Redacted: k.secret(), By: st.By, Revision: st.Revision, Conditions: []condition{}}
	m, err := diff.Parse(text)
	if err != nil {
		return nil, err
	}
	sorted, err := codec.Encode(m)
	if err != nil {
		return nil, err
	}
	if w.YAML, w.Truncated, err = yamltext.Of(sorted, maxYAML); err != nil {
		return nil, err
	}
	var o struct {
		Metadata struct {
			Labels map[string]string `json:"labels"`
		} `json:"metadata"`
		Status struct {
			Conditions []struct {
				Type, Status, Reason, Message string
				LastTransitionTime            time.Time `json:"lastTransitionTime"`
			} `json:"conditions"`
			Init       []containerStatus `json:"initContainerStatuses"`
			Containers []containerStatus `json:"containerStatuses"`
		} `json:"status"`
	}
	// Another kind may have other types in these fields: what fits is shown.
	_ = json.Unmarshal([]byte(text), &o)
	w.Labels = o.Metadata.Labels
	for _, c := range o.Status.Conditions {
		w.Conditions = append(w.Conditions, condition{c.Type, c.Status, c.Reason, c.Message, millis(c.LastTransitionTime), good(c.Type, c.Status)})
	}
	for _, c := range o.Status.Init {
		w.Containers = append(w.Containers, container{c.Name, true, c.Restarts, c.state()})
	}
	for _, c := range o.Status.Containers {
		w.Containers = append(w.Containers, container{c.Name, false, c.Restarts, c.state()})
	}
	w.Commands = sub.commands(w.Containers)
	return w, nil
}

type containerStatus struct {
	Name     string `json:"name"`
	Restarts int64  `json:"restartCount"`
	State    map[string]struct {
		Reason   string `json:"reason"`
		ExitCode int    `json:"exitCode"`
	} `json:"state"`
}

func (c *containerStatus) state() string {
	for name, s := range c.State {
		if s.Reason != "" {
			name += ": " + s.Reason
		}
		return name
	}
	return ""
}

// good reports whether a condition has its healthy status: those that name a fault should
// be false.
func good(name, status string) bool {
	bad := strings.HasSuffix(name, "Pressure") || strings.HasSuffix(name, "Failed") || strings.HasSuffix(name, "Failure") || strings.HasSuffix(name, "Unavailable") ||
		slices.Contains([]string{"Degraded", "Stalled", "Failing", "Suspended", "DisruptionTarget"}, name)
	return (status == "True") != bad
}

// commands are those of kubectl for what the page does not do.
func (sub subject) commands(containers []container) []command {
	k, l := sub.kind, sub.life
	in := ""
	if l.key.Namespace != "" {
		in = " -n " + shell.Quote(l.key.Namespace)
	}
	name := shell.Quote(k.id + "/" + l.key.Name) // with its type: a name may look like a flag
	list := []command{
		{"Read it", "kubectl get " + name + in + " -o yaml"},
		{"Describe it", "kubectl describe " + name + in},
	}
	if k.id == "pods" {
		for _, c := range containers {
			if !c.Init {
				list = append(list, command{"Open a shell in " + c.Name, "kubectl exec -it" + in + " " + name + " -c " + shell.Quote(c.Name) + " -- sh"})
			}
		}
		list = append(list, command{"Forward a port", "kubectl port-forward" + in + " " + name + " 8080"})
	}
	if slices.Contains([]string{"deployments.apps", "statefulsets.apps", "daemonsets.apps"}, k.id) {
		list = append(list, command{"Follow its rollout", "kubectl rollout status" + in + " " + name})
	}
	return list
}
