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
	"strings"
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

// Companion keeps the positions, the table, and the history, from which records are posted; see
// the sinks sqlite and postgres. It has a mark for each scope: the number of the last record that
// the receiver has acknowledged. Numbers grow in the order of the commits to the scope.
type Companion interface {
	sink.Sink
	sink.Reader

	// Address makes receiver the one to which the records of p.Scope are sent, where p is what
	// Open has returned. If it was another or none, the mark moves to the end of the history,
	// and the stored position changes so that the Runner writes each object again, as by
	// sink.Backfill, unless nothing was committed. Address returns the stored position. The
	// error is sink.ErrFenced if it has another generation than p, here, in Unsent and in Sent.
	// A companion that loses records which were not sent forgets the receiver.
	Address(ctx context.Context, p sink.Position, receiver string) (sink.Position, error)

	// Unsent returns the first records of the history of p.Scope after the mark, in their
	// order, and the number of each; none if there are none. It returns as many as have about
	// that number of bytes, at least one.
	Unsent(ctx context.Context, p sink.Position, bytes int) (records []sink.Record, numbers []int64, err error)

	// Sent moves the mark of p.Scope to a number. The mark does not move, with an error, if
	// the scope has another receiver, or the number is lower.
	Sent(ctx context.Context, p sink.Position, receiver string, number int64) error
}

// Sink commits records to its companion, and posts them from there. Its sink.Reader is that of
// the companion, whose history may have records that were not posted yet. Its methods may be
// called from any goroutine.
type Sink struct {
	sink.Reader
	companion Companion
	url       string
	host      string
	receiver  string // the name of the server in the companion
	o         Options
}

// New returns a sink that posts to the URL of a server. The companion knows the server by the
// scheme, the host and the path of the URL.
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
	receiver := url.URL{Scheme: u.Scheme, Host: strings.ToLower(u.Host), Path: u.Path, RawPath: u.RawPath}
	if receiver.Path == "" {
		receiver.Path = "/"
	}
	return &Sink{companion, companion, to, u.Host, receiver.String(), o}, nil
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

// Open takes possession of a scope, and posts what its last possessor has committed and not
// posted; see sink.Sink. Each request that succeeds counts, also if Open fails later. A server
// that the companion does not know gets no former record, but the state of each object: the
// position is in phase LOADING then. For Pause, Resume and Backfill, and while the scope is paused,
// nothing is posted.
func (s *Sink) Open(ctx context.Context, scope sink.Scope) (sink.Position, sink.Known, error) {
	p, known, err := s.companion.Open(ctx, scope)
	if err != nil || scope.Release || p.Control == sink.Paused {
		return p, known, err
	}
	if p, err = s.companion.Address(ctx, p, s.receiver); err != nil {
		return sink.Position{}, nil, fmt.Errorf("name the receiver of %s: %w", scope, err)
	}
	if err := s.send(ctx, p); err != nil {
		return sink.Position{}, nil, err
	}
	return p, known, nil
}

// Commit commits the records to the companion, and posts them until the server has acknowledged
// all of them; see sink.Sink. After an error in between, the next Open posts them.
func (s *Sink) Commit(ctx context.Context, records []sink.Record, p sink.Position) error {
	if err := s.companion.Commit(ctx, records, p); err != nil || len(records) == 0 || p.Scope.Release {
		return err
	}
	return s.send(ctx, p)
}

// maxUnsent is about how many bytes of records are read from the companion at a time.
const maxUnsent = 8 << 20

// send posts the records of a scope that were committed and not posted.
func (s *Sink) send(ctx context.Context, p sink.Position) error {
	for {
		records, numbers, err := s.companion.Unsent(ctx, p, maxUnsent)
		if err != nil {
			return fmt.Errorf("read what was not sent of %s: %w", p.Scope, err)
		}
		if len(records) == 0 {
			return nil
		}
		var pending [][]byte
		size := 0
		for i := range records {
			b, err := encode(records[i], p.Scope.Shards)
			if err != nil {
				return err
			}
			if size+len(b) > s.o.BatchBytes && len(pending) > 0 {
				if err := s.batch(ctx, p, pending, numbers[i-1]); err != nil {
					return err
				}
				pending, size = nil, 0
			}
			pending, size = append(pending, b), size+len(b)
		}
		if err := s.batch(ctx, p, pending, numbers[len(numbers)-1]); err != nil {
			return err
		}
	}
}

// batch posts events, of which the last has this number, and moves the mark.
func (s *Sink) batch(ctx context.Context, p sink.Position, events [][]byte, number int64) error {
	if err := s.post(ctx, p, events); err != nil {
		return err
	}
	if err := s.companion.Sent(ctx, p, s.receiver, number); err != nil {
		return fmt.Errorf("note what was sent of %s: %w", p.Scope, err)
	}
	return nil
}

// maxEvent limits the bytes of an event.
const maxEvent = 64 << 20

// encode returns a record of one of so many shards as an event; what has no JSON form is
// quarantined.
func encode(r sink.Record, shards int) ([]byte, error) {
	r, _, err := wire.EncodeRecord(r, maxEvent)
	if err != nil {
		return nil, err
	}
	e := FromRecord(r)
	if r.Type == sink.Gap && shards > 1 {
		e.Shards = shards
	}
	return marshal(e)
}

func marshal(e Event) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(e)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
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

// post sends events until the server has acknowledged them, or another process has opened the
// scope.
func (s *Sink) post(ctx context.Context, p sink.Position, events [][]byte) error {
	for failures := 0; ; failures++ {
		err := s.once(ctx, events)
		var status *statusError
		switch {
		case err == nil:
			return nil
		case errors.As(err, &status) && status.code == http.StatusRequestEntityTooLarge:
			return s.divide(ctx, p, events, err)
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
		if _, _, fenced := s.companion.Unsent(ctx, p, 1); errors.Is(fenced, sink.ErrFenced) {
			return fmt.Errorf("post %d events to %s: %w, and %w", len(events), s.host, err, fenced)
		}
	}
}

// divide posts the halves of what is too large, and one event without its data.
func (s *Sink) divide(ctx context.Context, p sink.Position, events [][]byte, tooLarge error) error {
	if n := len(events); n > 1 {
		if err := s.post(ctx, p, events[:n/2]); err != nil {
			return err
		}
		return s.post(ctx, p, events[n/2:])
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
	return s.post(ctx, p, [][]byte{b})
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
