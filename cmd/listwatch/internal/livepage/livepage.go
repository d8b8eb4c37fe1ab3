// Package livepage is the command ui: it serves the live page, opens browsers, starts fake
// servers of moments, and plays a cluster for the demo.
package livepage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net"
	"net/http"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/messages"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/past"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/discovery"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/guard"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/replay"
	"github.com/listwatch/listwatch/ui"
	"github.com/listwatch/listwatch/watch"
)

// types returns the types that names mean, in the form of the page.
func types(ctx context.Context, c *client.Client, names []string) ([]string, error) {
	if len(names) == 0 {
		return nil, nil
	}
	api, err := discovery.Fetch(ctx, c)
	if err != nil {
		return nil, exit.Failed(err)
	}
	var ids []string
	for _, list := range names {
		for name := range strings.SplitSeq(list, ",") {
			found, err := api.Resolve(name)
			if err != nil {
				return nil, exit.Usage("%w", err)
			}
			for _, r := range found {
				ids = append(ids, r.GroupResource())
			}
		}
	}
	return ids, nil
}

// listenAndServe serves h on l until ctx ends; the channel has why it ended.
func listenAndServe(ctx context.Context, l net.Listener, h http.Handler) <-chan error {
	srv := guard.Server(ctx, h)
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(guard.Listen(l, 0)) }()
	context.AfterFunc(ctx, func() { srv.Close() })
	return ended
}

// browse opens a page in the user's browser.
func browse(ctx context.Context, url string) error {
	name, args := "xdg-open", []string{url}
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", url}
	}
	cmd := exec.CommandContext(ctx, name, args...)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("open a browser: %w", err)
	}
	go func() { _ = cmd.Wait() }() // what it says is not for us
	return nil
}

// recorded yields the events of a recording.
func recorded(rec *replay.Recording) iter.Seq2[ui.Recorded, error] {
	return func(yield func(ui.Recorded, error) bool) {
		streams := map[int]kube.Resource{}
		for _, e := range rec.Entries {
			switch r, known := streams[e.ID]; {
			case e.Kind == replay.KindStream && e.Target != nil:
				streams[e.ID] = e.Target.Resource
			case e.Kind == replay.KindEvent && known:
				if ev, ok := eventOf(e); ok && !yield(ui.Recorded{At: rec.Header.TimeBase.Add(e.At), Resource: r, Event: ev}, nil) {
					return
				}
			}
		}
		if rec.Truncated {
			yield(ui.Recorded{}, errors.New("it was cut"))
		}
	}
}

// eventOf returns the event of an entry. An object that cannot be read is left out.
func eventOf(e *replay.Entry) (watch.Event[codec.RawFull], bool) {
	ev := watch.Event[codec.RawFull]{Type: watch.Type(e.Type), Key: kube.Key{Namespace: e.Namespace, Name: e.Name}, UID: e.UID, Revision: kube.Revision(e.Revision)}
	if e.Failure != nil {
		ev.Cause = errors.New(e.Failure.Text)
	}
	if len(e.Object) > 0 {
		o, err := codec.ParseRawFull(e.Object)
		if err == nil {
			ev.Object, ev.Key, ev.UID = o, kube.Key{Namespace: o.GetNamespace(), Name: o.GetName()}, o.GetUID()
			if ev.Revision == "" {
				ev.Revision = kube.Revision(o.GetResourceVersion())
			}
		}
	}
	return ev, ev.Type != ""
}

// maxMoments is how many fake servers run at once.
const maxMoments = 8

// openMoment returns what starts fake servers for moments of the past. They end with ctx.
func openMoment(ctx context.Context) func(context.Context, time.Time, []ui.Object) (ui.Moment, error) {
	var mu sync.Mutex
	open := 0
	return func(_ context.Context, at time.Time, objects []ui.Object) (ui.Moment, error) {
		mu.Lock()
		defer mu.Unlock()
		if open == maxMoments {
			return ui.Moment{}, fmt.Errorf("%d moments are open: stop this program and start it again", open)
		}
		list, known := make([]past.Object, len(objects)), map[string]bool{}
		for i, o := range objects {
			list[i] = past.Object(o)
			if o.Resource == kube.Secrets {
				list[i].JSON = encoded(o.JSON)
			}
			known[o.Resource.GroupResource()] = true
		}
		srv, left, err := past.Serve(list, nil, at, false)
		if err != nil {
			return ui.Moment{}, err
		}
		unknown, err := refuseOthers(ctx, srv, known)
		if err != nil {
			srv.Close()
			return ui.Moment{}, err
		}
		open++
		context.AfterFunc(ctx, srv.Close)
		return ui.Moment{Server: srv.URL, Kubeconfig: string(srv.Kubeconfig()), Unknown: unknown, LeftOut: texts(left),
			Commands: []string{"kubectl -s " + srv.URL + " get pods -A", "listwatch watch pods -A -s " + srv.URL}}, nil
	}
}

// texts returns what is said of the first objects that a moment lacks, and how many more it
// lacks.
func texts(left []past.Left) (list []string) {
	for i, l := range left {
		if i == messages.MaxRepeated {
			return append(list, printable.Count(len(left)-i, "more object")+" left out")
		}
		list = append(list, l.String())
	}
	return list
}

// refuseOthers lets srv refuse the types that are not known, which it would say have no objects,
// and returns their names.
func refuseOthers(ctx context.Context, srv *apitest.Server, known map[string]bool) (names []string, err error) {
	c, err := client.New(client.Config{Server: srv.URL})
	if err != nil {
		return nil, err
	}
	defer c.CloseIdleConnections()
	api, err := discovery.Fetch(ctx, c)
	if err != nil {
		return nil, err
	}
	for r := range api.All() {
		name := r.GroupResource()
		if known[name] || slices.Contains(names, name) {
			continue
		}
		names = append(names, name)
		srv.On(apitest.Match{Resource: name}, faults.Answer(&kube.Status{Code: http.StatusServiceUnavailable, Reason: "ServiceUnavailable",
			Message: "the " + name + " of this moment are not known: they were not watched then, or the history does not reach back so far"}))
	}
	return names, nil
}

// encoded returns a Secret with what stands for its values in base64, as clients decode them.
func encoded(secret []byte) []byte {
	var o map[string]json.RawMessage
	var texts map[string]string
	if json.Unmarshal(secret, &o) != nil || json.Unmarshal(o["data"], &texts) != nil {
		return secret // nil, or without data
	}
	data := map[string][]byte{} // which json encodes
	for name, text := range texts {
		data[name] = []byte(text)
	}
	b, err := json.Marshal(data)
	if err != nil {
		return secret
	}
	o["data"] = b
	if b, err = json.Marshal(o); err != nil {
		return secret
	}
	return b
}
