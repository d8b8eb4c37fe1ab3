package cloudevents

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/listwatch/listwatch/internal/wait"
	"github.com/listwatch/listwatch/sink"
	"github.com/listwatch/listwatch/sink/internal/wire"
)

// Options say how events are posted. The zero value is the recommended setting.
type Options struct {
	// Client posts the events. Default: one that waits 30 s for a response, follows no
	// redirects, and gives up a server over HTTP/2 that reads nothing for 10 s.
	Client *http.Client

	// Header is sent with each request: credentials, for instance.
	Header http.Header

	// BatchBytes limits the body of a request, unless one event is larger. Default 1 MiB.
	BatchBytes int
}

// Companion keeps positions and table; see the sinks sqlite and postgres.
type Companion interface {
	sink.Sink
	sink.Reader
}

// Sink posts records and commits them to its companion, whose sink.Reader it has: the
// history there is what the server has acknowledged. Its methods may be called from any
// goroutine.
type Sink struct {
	Companion
	url  string
	host string
	o    Options
}

// New returns a sink that posts to the URL of a server.
func New(to string, companion Companion, o Options) (*Sink, error) {
	u, err := url.Parse(to)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("cloudevents: the URL is not that of an HTTP server") // it may hold a password
	}
	if o.Client == nil {
		o.Client = newClient()
	}
	if o.BatchBytes <= 0 {
		o.BatchBytes = 1 << 20
	}
	return &Sink{companion, to, u.Host, o}, nil
}

// newClient returns the default of Options.Client.
func newClient() *http.Client {
	c := &http.Client{Timeout: 30 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if t, ok := http.DefaultTransport.(*http.Transport); ok { // unless the program has replaced it
		t = t.Clone()
		// While a write is blocked, as an ACK to one that reads nothing, nothing ends a request.
		t.HTTP2 = &http.HTTP2Config{WriteByteTimeout: 10 * time.Second}
		c.Transport = t
	}
	return c
}

// Commit posts the records until the server has acknowledged all of them, and commits them
// to the companion; see sink.Sink.
func (s *Sink) Commit(ctx context.Context, records []sink.Record, p sink.Position) error {
	if err := s.current(ctx, p); err != nil {
		return err
	}
	var pending [][]byte
	size := 0
	send := func() error {
		err := s.post(ctx, pending)
		pending, size = nil, 0
		return err
	}
	for i := range records {
		r := records[i]
		if p.Scope.Mode == sink.ModeTable && r.Type != sink.Gap && r.Type != sink.Quarantined {
			continue
		}
		b, err := encode(r)
		if err != nil {
			return err
		}
		if size+len(b) > s.o.BatchBytes && len(pending) > 0 {
			if err := send(); err != nil {
				return err
			}
		}
		pending, size = append(pending, b), size+len(b)
	}
	if len(pending) > 0 {
		if err := send(); err != nil {
			return err
		}
	}
	return s.Companion.Commit(ctx, records, p)
}

// maxEvent limits the bytes of an event.
const maxEvent = 64 << 20

// encode returns a record as an event; what has no JSON form is quarantined.
func encode(r sink.Record) ([]byte, error) {
	r, _, err := wire.EncodeRecord(r, maxEvent)
	if err != nil {
		return nil, err
	}
	return marshal(FromRecord(r))
}

func marshal(e Event) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(e)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// current returns ErrFenced where the companion holds another position than that before p:
// nothing is posted then.
func (s *Sink) current(ctx context.Context, p sink.Position) error {
	all, err := s.Positions(ctx)
	if err != nil {
		return err
	}
	for _, q := range all {
		a, b := q.Scope, p.Scope
		if a.Cluster == b.Cluster && a.Resource.Group == b.Resource.Group && a.Resource.Plural == b.Resource.Plural && a.Shard == b.Shard &&
			q.Generation == p.Generation && q.Sequence == p.Sequence-1 {
			return nil
		}
	}
	return fmt.Errorf("%s, generation %d, commit %d: %w", p.Scope, p.Generation, p.Sequence, sink.ErrFenced)
}

// statusError is a response that is no success.
type statusError struct {
	code  int
	after time.Duration // Retry-After
}

func (e *statusError) Error() string {
	return fmt.Sprintf("the server responds %d %s", e.code, http.StatusText(e.code))
}

func (e *statusError) temporary() bool {
	return e.code == http.StatusTooManyRequests || e.code == http.StatusRequestTimeout || e.code >= 500
}

// post sends events until the server has acknowledged them.
func (s *Sink) post(ctx context.Context, events [][]byte) error {
	for failures := 0; ; failures++ {
		err := s.once(ctx, events)
		var status *statusError
		switch {
		case err == nil:
			return nil
		case errors.As(err, &status) && status.code == http.StatusRequestEntityTooLarge:
			return s.divide(ctx, events, err)
		case errors.As(err, &status) && !status.temporary():
			return fmt.Errorf("post %d events to %s: %w", len(events), s.host, err)
		}
		pause := min(100*time.Millisecond<<min(failures, 10), 10*time.Second)
		pause = pause/2 + rand.N(pause/2)
		if status != nil {
			pause = max(pause, status.after)
		}
		if ended := wait.For(ctx, pause); ended != nil {
			return fmt.Errorf("post %d events to %s: %w, and %w", len(events), s.host, err, ended)
		}
	}
}

// divide posts the halves of what is too large, and one event without its data.
func (s *Sink) divide(ctx context.Context, events [][]byte, tooLarge error) error {
	if n := len(events); n > 1 {
		if err := s.post(ctx, events[:n/2]); err != nil {
			return err
		}
		return s.post(ctx, events[n/2:])
	}
	var e Event
	if err := json.Unmarshal(events[0], &e); err != nil {
		return err
	}
	if e.Trimmed && len(e.Data) == 0 {
		return fmt.Errorf("post event %s without data to %s: %w", e.ID, s.host, tooLarge)
	}
	e.Data, e.DataContentType, e.Labels, e.Trimmed = nil, "", "", true
	b, err := marshal(e)
	if err != nil {
		return err
	}
	return s.post(ctx, [][]byte{b})
}

// once sends one request.
func (s *Sink) once(ctx context.Context, events [][]byte) error {
	body := append([]byte{'['}, bytes.Join(events, []byte{','})...)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(append(body, ']')))
	if err != nil {
		return errors.New("the request cannot be made") // err quotes the URL
	}
	for name, values := range s.o.Header {
		req.Header[name] = values
	}
	req.Header.Set("Content-Type", "application/cloudevents-batch+json; charset=utf-8")
	resp, err := s.o.Client.Do(req)
	if err != nil {
		if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
			err = wrapped.Err // without the URL
		}
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusSwitchingProtocols { // whose body no timeout ends
		_, _ = io.CopyN(io.Discard, resp.Body, 64<<10) // so that the connection can be used again
	}
	if resp.StatusCode/100 == 2 {
		return nil
	}
	return &statusError{resp.StatusCode, retryAfter(resp.Header.Get("Retry-After"))}
}

// maxRetryAfter limits how long a server can make the sink wait.
const maxRetryAfter = time.Minute

// retryAfter reads a Retry-After header: seconds, or a date.
func retryAfter(v string) time.Duration {
	if n, err := strconv.Atoi(v); err == nil {
		return min(max(0, time.Duration(min(n, 3600))*time.Second), maxRetryAfter)
	}
	if at, err := http.ParseTime(v); err == nil {
		return min(max(0, time.Until(at)), maxRetryAfter)
	}
	return 0
}
