package kubelet

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/listwatch/listwatch/apitest/internal/wire"
	"github.com/listwatch/listwatch/kube"
)

// Options are PodLogOptions. See
// https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/#get-read-log-of-the-specified-pod.
type Options struct {
	container                    string
	previous, follow, timestamps bool
	since, tail, limit           *int64
}

// ParseOptions reads the options of a request for the log of the Pod with a name.
func ParseOptions(q url.Values, name string) (Options, *kube.Status) {
	o := Options{container: q.Get("container"), previous: wire.QueryBool(q, "previous"),
		follow: wire.QueryBool(q, "follow"), timestamps: wire.QueryBool(q, "timestamps")}
	var causes []kube.StatusCause
	for _, p := range []struct {
		name string
		into **int64
		min  int64
		why  string
	}{
		{"tailLines", &o.tail, 0, "must be greater than or equal to 0"},
		{"limitBytes", &o.limit, 1, "must be greater than 0"},
		{"sinceSeconds", &o.since, 1, "must be greater than 0"},
	} {
		if !q.Has(p.name) {
			continue
		}
		n, err := strconv.ParseInt(q.Get(p.name), 10, 64)
		if err != nil {
			return o, wire.BadRequest("%v", err)
		}
		if *p.into = &n; n < p.min {
			causes = append(causes, kube.StatusCause{Reason: "FieldValueInvalid", Message: fmt.Sprintf("Invalid value: %d: %s", n, p.why), Field: p.name})
		}
	}
	if len(causes) > 0 {
		return o, wire.Invalid("", "PodLogOptions", name, causes...)
	}
	return o, nil
}

// choose sets the container if the Pod has only one, and returns an error for one that it
// does not have.
func (o *Options) choose(name string, pod []byte) *kube.Status {
	type container struct{ Name string }
	var p struct {
		Spec struct{ Containers, InitContainers, EphemeralContainers []container }
	}
	_ = json.Unmarshal(pod, &p) // it is stored, so it is valid
	names := func(list []container) (out []string) {
		for _, c := range list {
			out = append(out, c.Name)
		}
		return out
	}
	all := slices.Concat(names(p.Spec.InitContainers), names(p.Spec.Containers), names(p.Spec.EphemeralContainers))
	switch own := p.Spec.Containers; {
	case o.container == "" && len(own) == 1:
		o.container = own[0].Name
	case o.container == "":
		return wire.BadRequest("a container name must be specified for pod %s, choose one of: %s", name, all)
	case !slices.Contains(all, o.container):
		return wire.BadRequest("container %s is not valid for pod %s", o.container, name)
	}
	if o.previous {
		return wire.BadRequest("previous terminated container %q in pod %q not found", o.container, name)
	}
	return nil
}

// Logs are the logs of all containers. The zero value has none.
type Logs struct {
	mu   sync.Mutex
	logs map[place]*log
}

type place struct {
	pod       kube.Key
	container string
}

type log struct {
	lines []line
	ended bool
	more  chan struct{} // closed and replaced when there is more, or the log has ended
}

type line struct {
	at   time.Time
	text string
}

// change changes the log of a container, and wakes who follows it.
func (l *Logs) change(pod kube.Key, container string, f func(*log)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.logs == nil {
		l.logs = make(map[place]*log)
	}
	at := place{pod, container}
	if l.logs[at] == nil {
		l.logs[at] = &log{more: make(chan struct{})}
	}
	g := l.logs[at]
	f(g)
	close(g.more)
	g.more = make(chan struct{})
}

// Write adds the lines of text to the log of a container.
func (l *Logs) Write(pod kube.Key, container, text string) {
	l.change(pod, container, func(g *log) {
		for t := range strings.Lines(text) {
			g.lines = append(g.lines, line{time.Now(), strings.TrimSuffix(t, "\n")})
		}
	})
}

// End ends the log of a container.
func (l *Logs) End(pod kube.Key, container string) {
	l.change(pod, container, func(g *log) { g.ended = true })
}

// after returns the lines of a log from the nth, and a channel that is closed when there
// may be more; nil if the log has ended. A container that has written nothing has ended.
func (l *Logs) after(at place, n int) ([]line, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	g := l.logs[at]
	switch {
	case g == nil:
		return []line{{time.Now(), "this server runs no containers"}}[min(n, 1):], nil
	case g.ended:
		return g.lines[n:], nil
	}
	return g.lines[n:], g.more
}

// Send sends the log that o selects of a Pod with that name. flush is called before it
// waits for more.
func (l *Logs) Send(ctx context.Context, w io.Writer, flush func(), key kube.Key, pod []byte, o Options) *kube.Status {
	if st := o.choose(key.Name, pod); st != nil {
		return st
	}
	sent, left := 0, int64(-1)
	if o.limit != nil {
		left = *o.limit
	}
	for first := true; ; first = false {
		lines, more := l.after(place{key, o.container}, sent)
		sent += len(lines)
		if first {
			lines = o.selected(lines)
		}
		for _, line := range lines {
			text := line.text + "\n"
			if o.timestamps {
				text = line.at.UTC().Format(time.RFC3339Nano) + " " + text
			}
			if left >= 0 {
				text = text[:min(int64(len(text)), left)]
				left -= int64(len(text))
			}
			if _, err := io.WriteString(w, text); err != nil || left == 0 {
				return nil
			}
		}
		if !o.follow || more == nil {
			return nil
		}
		if len(lines) > 0 {
			flush() // a kubelet sends no headers before the first line
		}
		select {
		case <-more:
		case <-ctx.Done():
			return nil
		}
	}
}

// selected returns the lines that are new enough, and of these the last.
func (o *Options) selected(lines []line) []line {
	if o.since != nil {
		from := time.Now().Add(-time.Duration(min(*o.since, 1<<32)) * time.Second)
		lines = slices.DeleteFunc(slices.Clone(lines), func(l line) bool { return l.at.Before(from) })
	}
	if o.tail != nil {
		lines = lines[max(0, int64(len(lines))-*o.tail):]
	}
	return lines
}
