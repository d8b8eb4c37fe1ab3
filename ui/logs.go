package ui

import (
	"context"
	"net/http"
	"time"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/ui/internal/refusal"
	"github.com/listwatch/listwatch/ui/internal/review"
)

const (
	maxTail = 5000    // lines of a log that are asked for
	maxLog1 = 8 << 20 // bytes of a log that is not followed
)

// logs copies the log of a container to the page, as the server sends it.
func (u *UI) logs(s *session, w http.ResponseWriter, r *http.Request) error {
	if u.recorded {
		return refusal.NotFound("a recording has no logs")
	}
	v := r.URL.Query()
	key, err := nameOf(v.Get("ns"), v.Get("name"))
	if err != nil {
		return err
	}
	if err := s.reads(r.Context(), kube.Pods, key.Namespace, "log"); err != nil {
		return err
	}
	done, err := u.turn(s, maxLogs)
	if err != nil {
		return err
	}
	defer done()
	tail := 500
	if err := number(v, "tail", &tail); err != nil || tail > maxTail {
		return refusal.Invalid("tail is 0 to %d lines", maxTail)
	}
	o := client.LogOptions{Container: printable.Cut(v.Get("container"), 253), Tail: &tail, Previous: v.Get("previous") == "1"}
	o.Follow = v.Get("follow") == "1" && !o.Previous
	if !o.Follow {
		o.Limit = maxLog1
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	go func() {
		defer cancel()
		s.mayRead(ctx, key.Namespace)
	}()
	body, err := client.Of[kube.Partial](u.client, kube.Pods).Logs(ctx, key, o)
	if err != nil {
		return err
	}
	defer body.Close()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	control := http.NewResponseController(w)
	_ = control.Flush() // the first write returns the error, too
	buf := make([]byte, 32<<10)
	for sum := 0; o.Follow || sum < maxLog1; {
		n, err := body.Read(buf)
		sum += n
		_ = control.SetWriteDeadline(time.Now().Add(writeTime)) // an error: there are no deadlines
		if _, e := w.Write(buf[:n]); e != nil || control.Flush() != nil {
			return nil // the client has left
		}
		if err != nil {
			return nil // the log ends, or the connection: its end is what the page sees
		}
	}
	return nil
}

// mayRead returns when the session ends, when it may not read logs of the namespace any
// more, and with ctx.
func (s *session) mayRead(ctx context.Context, namespace string) {
	tick := time.NewTicker(review.For)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.ended:
			return
		case <-tick.C:
			if s.reads(ctx, kube.Pods, namespace, "log") != nil {
				return
			}
		}
	}
}
